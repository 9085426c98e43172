// SPDX-License-Identifier: GPL-2.0-only
//! Does one CPU run the system's own work, all of it and nothing else?

use super::{ms, share, Verdict};
use crate::classes::Class;
use crate::replay::Replay;
use crate::trace::{Cpu, Pid, TaskInfo, Trace};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// How much work may be in the wrong place.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Share of the run time of user threads that may be on the reserved CPU.
    pub user_share: f64,
    /// Share of the run time of kernel threads, and of that of daemons, that may be on other CPUs.
    pub system_share: f64,
}

#[derive(Default, Serialize)]
struct Side {
    run_time_ms: f64,
    /// Run time in the wrong place.
    astray_ms: f64,
    share_astray: f64,
    /// The names that ran there, with their times, ms.
    astray: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Figures {
    user: Side,
    kernel: Side,
    daemons: Side,
}

/// To whom a thread belongs, for this rule.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    User,
    Kernel,
    Daemon,
    /// It may only run on one of the two sides.
    Bound,
}

struct Owners<'a> {
    known: HashMap<Pid, &'a TaskInfo>,
    cpu: Cpu,
    daemons: &'a [String],
}

impl Owners<'_> {
    /// A thread that began and ended between the snapshots counts as a user thread, since kernel threads that may move live longer.
    fn of(&self, pid: Pid, comm: &str) -> Owner {
        let task = self.known.get(&pid);
        let may_be_there = task.is_none_or(|task| task.cpus.contains(&self.cpu));
        let may_be_elsewhere = task.is_none_or(|task| task.cpus.iter().any(|cpu| *cpu != self.cpu));
        if !may_be_there || !may_be_elsewhere {
            Owner::Bound
        } else if task.is_some_and(|task| task.kernel_thread) {
            Owner::Kernel
        } else if self.daemons.iter().any(|name| name == comm) {
            Owner::Daemon
        } else {
            Owner::User
        }
    }
}

/// The shares of three kinds of run time in the wrong place are each within their limit: ordinary user threads on `cpu`, kernel threads elsewhere,
/// and threads called `daemons` elsewhere. So much work of one kind cannot hide misplaced work of another. Threads that may only run on one side
/// are not judged.
pub fn check(trace: &Trace, replay: &Replay, cpu: Cpu, daemons: &[String], limits: Limits) -> Verdict {
    let known = trace.header.tasks.iter().map(|task| (task.pid, task)).collect();
    let owners = Owners { known, cpu, daemons };
    let (mut user, mut kernel, mut of_daemons) = (Times::default(), Times::default(), Times::default());
    for run in replay.runs.iter().filter(|run| run.class == Class::Ordinary) {
        let (times, astray) = match owners.of(run.pid, &run.comm) {
            Owner::User => (&mut user, run.cpu == cpu),
            Owner::Kernel => (&mut kernel, run.cpu != cpu),
            Owner::Daemon => (&mut of_daemons, run.cpu != cpu),
            Owner::Bound => continue,
        };
        times.add(run.time.length_ns(), astray, &run.comm);
    }
    let figures = Figures {
        user: user.side(),
        kernel: kernel.side(),
        daemons: of_daemons.side(),
    };
    let mut judged = vec![
        ("user threads", "there", &figures.user, limits.user_share),
        (
            "the kernel's threads",
            "elsewhere",
            &figures.kernel,
            limits.system_share,
        ),
    ];
    if !daemons.is_empty() {
        judged.push(("daemons", "elsewhere", &figures.daemons, limits.system_share));
    }
    let reasons: Vec<String> = judged
        .iter()
        .map(|(whose, place, side, limit)| side.reason(whose, place, *limit))
        .collect();
    let holds = judged.iter().all(|(_, _, side, limit)| side.holds(*limit));
    Verdict::new("reserved", holds, format!("CPU {cpu}: {}", reasons.join("; ")), figures)
}

impl Side {
    fn holds(&self, limit: f64) -> bool {
        self.run_time_ms > 0.0 && self.share_astray <= limit
    }

    fn reason(&self, whose: &str, place: &str, limit: f64) -> String {
        if self.run_time_ms == 0.0 {
            return format!("{whose} did not run: nothing to judge");
        }
        let (astray, asked) = (self.share_astray * 100.0, limit * 100.0);
        format!(
            "{astray:.3} % of {:.1} ms of {whose} {place}, asked {asked:.3} %",
            self.run_time_ms
        )
    }
}

#[derive(Default)]
struct Times {
    all_ns: u64,
    astray_ns: BTreeMap<String, u64>,
}

impl Times {
    fn add(&mut self, length_ns: u64, astray: bool, comm: &str) {
        self.all_ns += length_ns;
        if astray {
            *self.astray_ns.entry(comm.to_owned()).or_default() += length_ns;
        }
    }

    fn side(self) -> Side {
        let astray_ns = self.astray_ns.values().sum();
        Side {
            run_time_ms: ms(self.all_ns),
            astray_ms: ms(astray_ns),
            share_astray: share(astray_ns, self.all_ns),
            astray: self.astray_ns.into_iter().map(|(comm, ns)| (comm, ms(ns))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, TOP};

    fn task(pid: Pid, kernel_thread: bool, cpus: &[Cpu]) -> TaskInfo {
        TaskInfo {
            pid,
            comm: String::new(),
            kernel_thread,
            cpus: cpus.to_vec(),
        }
    }

    /// CPU 0 is reserved. User thread 7 runs 1000 on CPU 1 and `user_there` on CPU 0; 8, of the kernel, 100 on CPU 0 and `kernel_elsewhere` on
    /// CPU 1; 9, bound to CPU 0, and 10, bound to CPU 1, run where they must; daemon 11 runs 1000 on CPU 0 and `daemon_elsewhere` on CPU 2.
    fn judge(user_there: u64, kernel_elsewhere: u64, daemon_elsewhere: u64, daemons: &[&str]) -> Verdict {
        let lines = format!(
            r#"
            0 1 name 7 120 "app"
            0 1 name 8 120 "rcu"
            0 1 name 11 120 "daemon"
            0 1 switch 0 R 7
            0 0 switch 0 R 8
            100 0 switch 8 B 9
            150 0 switch 9 B 11
            1000 1 switch 7 B 10
            1100 1 switch 10 B 8
            1150 0 switch 11 B 7
            {} 0 switch 7 B 0
            {} 1 switch 8 B 0
            1200 2 switch 0 R 11
            {} 2 switch 11 B 0
        "#,
            1150 + user_there,
            1100 + kernel_elsewhere,
            1200 + daemon_elsewhere
        );
        let mut sorted: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        sorted.sort_by_key(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
        let mut trace = trace(&[TOP, TOP, TOP], 0, 3000, &sorted.join("\n"));
        trace.header.tasks = vec![
            task(7, false, &[0, 1]),
            task(8, true, &[0, 1]),
            task(9, false, &[0]),
            task(10, true, &[1, 2]),
            task(11, false, &[0, 2]),
        ];
        let daemons: Vec<String> = daemons.iter().map(|name| (*name).to_owned()).collect();
        let limits = Limits {
            user_share: 0.001,
            system_share: 0.01,
        };
        check(&trace, &replay(&trace), 0, &daemons, limits)
    }

    #[test]
    fn table() {
        for (user_there, kernel_elsewhere, daemon_elsewhere, holds) in [
            (0, 0, 0, true),
            (1, 0, 0, true),
            (2, 0, 0, false),
            (0, 1, 0, true),
            (0, 2, 0, false), // 2 % of the kernel's, though 0.2 % of all of the system's
            (0, 0, 10, true),
            (0, 0, 11, false),
        ] {
            let verdict = judge(user_there, kernel_elsewhere, daemon_elsewhere, &["daemon"]);
            assert_eq!(verdict.holds, holds, "{}", verdict.reason);
            assert_eq!(verdict.figures["user"]["astray_ms"], ms(user_there));
            assert_eq!(verdict.figures["kernel"]["astray_ms"], ms(kernel_elsewhere));
            assert_eq!(verdict.figures["daemons"]["astray_ms"], ms(daemon_elsewhere));
        }
    }

    #[test]
    fn a_daemon_is_the_systems_only_if_it_is_named() {
        let verdict = judge(0, 0, 0, &[]);
        assert!(!verdict.holds);
        assert_eq!(verdict.figures["user"]["astray"]["daemon"], ms(1000));
    }

    #[test]
    fn nothing_to_judge_does_not_hold() {
        let trace = trace(&[TOP], 0, 1000, "");
        let limits = Limits {
            user_share: 1.0,
            system_share: 1.0,
        };
        assert!(!check(&trace, &replay(&trace), 0, &[], limits).holds);
    }
}
