//! Does one CPU run the system's own work alone, and all of that?

use super::{ms, share, Verdict};
use crate::classes::Class;
use crate::replay::Replay;
use crate::trace::{Cpu, Pid, TaskInfo, Trace};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// How much may be where it should not be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of the run time of user threads on the reserved CPU.
    pub user_share: f64,
    /// Of the run time of the system's threads on other CPUs.
    pub system_share: f64,
}

#[derive(Default, Serialize)]
struct Side {
    run_time_ms: f64,
    /// Where it should not be.
    astray_ms: f64,
    share_astray: f64,
    /// The names that ran there, with their times, ms.
    astray: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Figures {
    user: Side,
    system: Side,
}

/// Who a thread belongs to, for this rule.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    User,
    System,
    /// It may run on one side only.
    Bound,
}

struct Owners<'a> {
    known: HashMap<Pid, &'a TaskInfo>,
    cpu: Cpu,
    daemons: &'a [String],
}

impl Owners<'_> {
    /// Who came and went between the snapshots counts as a user's: threads of the kernel that may move last longer.
    fn of(&self, pid: Pid, comm: &str) -> Owner {
        let task = self.known.get(&pid);
        let may_be_there = task.is_none_or(|task| task.cpus.contains(&self.cpu));
        let may_be_elsewhere = task.is_none_or(|task| task.cpus.iter().any(|cpu| *cpu != self.cpu));
        if !may_be_there || !may_be_elsewhere {
            Owner::Bound
        } else if task.is_some_and(|task| task.kernel_thread) || self.daemons.iter().any(|name| name == comm) {
            Owner::System
        } else {
            Owner::User
        }
    }
}

/// Of the run time of ordinary user threads on `cpu`, and of that of the system's threads elsewhere, no more than the limits. The system's
/// are threads of the kernel and those called `daemons`. What may run on one side only is not judged.
pub fn check(trace: &Trace, replay: &Replay, cpu: Cpu, daemons: &[String], limits: Limits) -> Verdict {
    let known = trace.header.tasks.iter().map(|task| (task.pid, task)).collect();
    let owners = Owners { known, cpu, daemons };
    let (mut user, mut system) = (Times::default(), Times::default());
    for run in replay.runs.iter().filter(|run| run.class == Class::Ordinary) {
        let (times, astray) = match owners.of(run.pid, &run.comm) {
            Owner::User => (&mut user, run.cpu == cpu),
            Owner::System => (&mut system, run.cpu != cpu),
            Owner::Bound => continue,
        };
        times.add(run.time.length_ns(), astray, &run.comm);
    }
    let (user, system) = (user.side(), system.side());
    let reason = match (user.run_time_ms > 0.0, system.run_time_ms > 0.0) {
        (true, true) => format!(
            "{:.3} % of {:.1} ms of user threads on CPU {cpu}, asked {:.3} %; {:.3} % of {:.1} ms of the system's elsewhere, asked {:.3} %",
            user.share_astray * 100.0,
            user.run_time_ms,
            limits.user_share * 100.0,
            system.share_astray * 100.0,
            system.run_time_ms,
            limits.system_share * 100.0
        ),
        (false, _) => "no user thread ran: nothing to judge".to_owned(),
        (_, false) => "no thread of the system's ran that may move: nothing to judge".to_owned(),
    };
    let holds = user.run_time_ms > 0.0
        && system.run_time_ms > 0.0
        && user.share_astray <= limits.user_share
        && system.share_astray <= limits.system_share;
    Verdict::new("reserved", holds, reason, Figures { user, system })
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

    /// CPU 0 is reserved. User thread 7 runs 1000 on CPU 1 and `user_there` on CPU 0; 8, of the kernel, 100 on CPU 0 and
    /// `system_elsewhere` on CPU 1; 9, bound to CPU 0, and 10, bound to CPU 1, run where they must; daemon 11 runs 100 on CPU 0.
    fn judge(user_there: u64, system_elsewhere: u64, daemons: &[&str]) -> Verdict {
        let lines = format!(
            r#"
            0 1 name 7 120 "app"
            0 1 name 8 120 "rcu"
            0 1 name 11 120 "daemon"
            0 1 switch 0 R 7
            0 0 switch 0 R 8
            100 0 switch 8 B 9
            150 0 switch 9 B 11
            250 0 switch 11 B 0
            1000 1 switch 7 B 10
            1100 1 switch 10 B 8
            1100 0 switch 0 R 7
            {} 0 switch 7 B 0
            {} 1 switch 8 B 0
        "#,
            1100 + user_there,
            1100 + system_elsewhere
        );
        let mut sorted: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        sorted.sort_by_key(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
        let mut trace = trace(&[TOP, TOP], 0, 3000, &sorted.join("\n"));
        trace.header.tasks = vec![
            task(7, false, &[0, 1]),
            task(8, true, &[0, 1]),
            task(9, false, &[0]),
            task(10, true, &[1, 2]),
            task(11, false, &[0, 1]),
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
        for (user_there, system_elsewhere, holds) in
            [(0, 0, true), (1, 0, true), (2, 0, false), (0, 2, true), (0, 3, false)]
        {
            let verdict = judge(user_there, system_elsewhere, &["daemon"]);
            assert_eq!(
                verdict.holds, holds,
                "{user_there} {system_elsewhere}: {}",
                verdict.reason
            );
            assert_eq!(verdict.figures["user"]["astray_ms"], ms(user_there));
            assert_eq!(verdict.figures["system"]["astray_ms"], ms(system_elsewhere));
        }
    }

    #[test]
    fn a_daemon_is_the_systems_only_if_it_is_named() {
        let verdict = judge(0, 0, &[]);
        assert!(!verdict.holds);
        assert_eq!(verdict.figures["user"]["astray"]["daemon"], ms(100));
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
