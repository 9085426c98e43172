// SPDX-License-Identifier: GPL-2.0-only
//! Does ordinary work stay off low CPUs?

use super::{ms, share, Speeds, Verdict, LISTED};
use crate::classes::Class;
use crate::replay::Replay;
use crate::steps::Steps;
use crate::trace::{Cpu, Pid};
use anyhow::Result;
use serde::Serialize;

/// When a CPU counts as low, and how long a task may run on one.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A CPU is low from this long after its speed fell below top until top speed is requested again, ns.
    pub settle_ns: u64,
    /// A task may run this long on a low CPU without pause, ns, which allows for its promotion.
    pub grace_ns: u64,
    /// Share of all ordinary run time that may be on low CPUs, including the grace times: many short stretches cannot all be promotions
    /// in progress.
    pub share: f64,
}

#[derive(Serialize)]
struct Violation {
    at_ns: u64,
    length_ns: u64,
    cpu: Cpu,
    pid: Pid,
    comm: String,
}

#[derive(Serialize)]
struct Figures {
    ordinary_runs: usize,
    ordinary_ms: f64,
    /// Run time on low CPUs, including the grace times.
    low_ms: f64,
    violations: usize,
    violating_ms: f64,
    /// The longest ones.
    longest: Vec<Violation>,
}

/// No ordinary task ran on a low CPU for longer than the grace time, and all of them together ran there for at most their share.
///
/// # Errors
/// A run was on a CPU without a known speed.
pub fn check(replay: &Replay, speeds: &Speeds, limits: Limits) -> Result<Verdict> {
    let ordinary: Vec<_> = replay.runs.iter().filter(|run| run.class == Class::Ordinary).collect();
    let mut low_ns = 0;
    let mut found = Vec::new();
    for run in &ordinary {
        let stretches = low_stretches(speeds.of(run.cpu)?, run.time.from_ns, run.time.to_ns, limits.settle_ns);
        low_ns += stretches.iter().map(|(_, length_ns)| length_ns).sum::<u64>();
        for (at_ns, length_ns) in stretches
            .into_iter()
            .filter(|(_, length_ns)| *length_ns > limits.grace_ns)
        {
            found.push(Violation {
                at_ns,
                length_ns,
                cpu: run.cpu,
                pid: run.pid,
                comm: run.comm.clone(),
            });
        }
    }
    let total_ns: u64 = ordinary.iter().map(|run| run.time.length_ns()).sum();
    let violating_ns: u64 = found.iter().map(|violation| violation.length_ns).sum();
    let violations = found.len();
    found.sort_by_key(|violation| (std::cmp::Reverse(violation.length_ns), violation.at_ns));
    found.truncate(LISTED);
    let in_all = format!(
        "{:.3} of {:.1} ms on low CPUs, allowed {:.2} % of the time and {} ms in one stretch",
        ms(low_ns),
        ms(total_ns),
        limits.share * 100.0,
        ms(limits.grace_ns)
    );
    let reason = match (ordinary.len(), found.first()) {
        (0, _) => "no ordinary task ran: nothing to judge".to_owned(),
        (runs, None) => format!("{runs} ordinary runs, {in_all}"),
        (runs, Some(v)) => format!(
            "{violations} of {runs} ordinary runs too long, {in_all}; longest {:.3} ms: `{}` ({}) on CPU {} at {} ns",
            ms(v.length_ns),
            v.comm,
            v.pid,
            v.cpu,
            v.at_ns
        ),
    };
    let holds = violations == 0 && !ordinary.is_empty() && share(low_ns, total_ns) <= limits.share;
    let figures = Figures {
        ordinary_runs: ordinary.len(),
        ordinary_ms: ms(total_ns),
        low_ms: ms(low_ns),
        violations,
        violating_ms: ms(violating_ns),
        longest: found,
    };
    Ok(Verdict::new("low", holds, reason, figures))
}

/// The beginning and length of each stretch of a run from `from_ns` to `to_ns` in which the CPU was low.
fn low_stretches(at_top: &Steps<bool>, from_ns: u64, to_ns: u64, settle_ns: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for (stretch, top) in at_top.stretches(0, to_ns) {
        let settled_ns = if stretch.from_ns == 0 {
            0
        } else {
            stretch.from_ns + settle_ns
        };
        let begin_ns = settled_ns.max(from_ns);
        let length_ns = stretch.to_ns.saturating_sub(begin_ns);
        if !top && length_ns > 0 {
            found.push((begin_ns, length_ns));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay_without, trace, LOW, TOP};

    fn judge(lines: &str, allowed: &[&str], settle_ns: u64, grace_ns: u64) -> Verdict {
        let share = 1.0;
        judge_within(
            lines,
            allowed,
            Limits {
                settle_ns,
                grace_ns,
                share,
            },
        )
    }

    fn judge_within(lines: &str, allowed: &[&str], limits: Limits) -> Verdict {
        let trace = trace(&[TOP, LOW], 0, 1000, lines);
        let replay = replay_without(&trace, allowed);
        let speeds = Speeds::new(&trace, &replay, None).unwrap();
        check(&replay, &speeds, limits).unwrap()
    }

    /// CPU 0 falls at 300; 7 runs on it from 100 to 400.
    const FALLS: &str = "
        100 0 switch 0 R 7
        300 0 speed 0 1000
        400 0 switch 7 B 0
    ";
    /// CPU 1 is low and rises at 220; 7 runs on it from 200 to 400.
    const RISES: &str = "
        200 1 switch 0 R 7
        220 1 speed 1 2000
        400 1 switch 7 B 0
    ";

    #[test]
    fn settle_and_grace() {
        for (lines, settle, grace, holds) in [
            (FALLS, 0, 0, false),
            (FALLS, 99, 0, false),
            (FALLS, 100, 0, true),
            (FALLS, 50, 50, true),
            (FALLS, 50, 49, false),
            (RISES, 0, 0, false),
            (RISES, 500, 0, false),
            (RISES, 0, 19, false),
            (RISES, 0, 20, true),
        ] {
            let verdict = judge(lines, &[], settle, grace);
            assert_eq!(verdict.holds, holds, "{settle} {grace}: {}", verdict.reason);
        }
    }

    /// 20 of the 200 ns are low, in a stretch of allowed length, so only the share of all time matters.
    #[test]
    fn short_stretches_count_together() {
        for (share, settle_ns, holds) in [(0.1, 0, true), (0.099, 0, false), (0.0, 0, false), (0.0, 500, true)] {
            let limits = Limits {
                settle_ns,
                grace_ns: 20,
                share,
            };
            let lines = if settle_ns == 0 { RISES } else { FALLS };
            let verdict = judge_within(lines, &[], limits);
            assert_eq!(verdict.holds, holds, "{share} {settle_ns}: {}", verdict.reason);
            assert_eq!(verdict.figures["violations"], 0, "{}", verdict.reason);
        }
        let half = judge_within(
            RISES,
            &[],
            Limits {
                settle_ns: 0,
                grace_ns: 20,
                share: 0.05,
            },
        );
        assert!(half.reason.contains("allowed 5.00 % of the time"), "{}", half.reason);
    }

    #[test]
    fn a_violation_says_when_who_and_where() {
        let verdict = judge(FALLS, &[], 20, 0);
        let first = &verdict.figures["longest"][0];
        assert_eq!((&first["at_ns"], &first["length_ns"]), (&320.into(), &80.into()));
        assert_eq!((&first["cpu"], &first["pid"]), (&0.into(), &7.into()));
    }

    #[test]
    fn work_that_is_not_ordinary_may_run_anywhere() {
        let on_top = "500 0 switch 0 R 9\n600 0 switch 9 B 0";
        let real_time = format!("10 1 name 7 49 \"rt\"\n{RISES}\n{on_top}");
        assert!(judge(&real_time, &[], 0, 0).holds);
        assert!(judge(&format!("{RISES}\n{on_top}"), &["7"], 0, 0).holds);
        assert!(!judge(RISES, &["7"], 0, 0).holds, "nothing to judge");
    }
}
