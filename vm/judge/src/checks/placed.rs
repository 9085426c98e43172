// SPDX-License-Identifier: GPL-2.0-only
//! Does a woken task run on the CPU whose queue it was woken to?

use super::{share, Verdict};
use crate::trace::{Trace, What};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Figures {
    /// How many wakeups were followed by a run within the recording.
    wakeups: usize,
    /// After how many of these the task first ran on another CPU.
    elsewhere: usize,
}

/// From each sched_wakeup (or sched_wakeup_new) of a task called `comm` to the sched_switch that runs it. Holds if there are any, and
/// `wanted` of them run on the CPU of the wakeup.
pub fn check(trace: &Trace, comm: &str, wanted: f64) -> Verdict {
    let mut names = BTreeMap::new();
    let mut woken_to = BTreeMap::new();
    let (mut wakeups, mut elsewhere) = (0, 0);
    for event in &trace.events {
        match &event.what {
            What::Name { pid, comm, .. } => drop(names.insert(*pid, comm.as_str())),
            What::Wakeup { pid, target } => drop(woken_to.insert(*pid, *target)),
            What::Switch { next, .. } => {
                let Some(target) = woken_to.remove(next) else { continue };
                if names.get(next).copied() == Some(comm) {
                    wakeups += 1;
                    elsewhere += usize::from(target != event.cpu);
                }
            }
            _ => {}
        }
    }
    let found = share((wakeups - elsewhere) as u64, wakeups as u64);
    let reason = match wakeups {
        0 => format!("no wakeup of {comm}: nothing to judge"),
        _ => format!(
            "{} of {wakeups} woken tasks ran where they were placed, {:.2} %; wanted {:.1} %",
            wakeups - elsewhere,
            found * 100.0,
            wanted * 100.0
        ),
    };
    Verdict::new(
        "placed",
        wakeups > 0 && found >= wanted,
        reason,
        Figures { wakeups, elsewhere },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{trace, TOP};

    /// 7 is woken to CPU 0 and runs there, then to 0 and runs on 1; runs without a wakeup and tasks with another name do not count.
    #[test]
    fn who_runs_on_another_cpu_was_not_placed() {
        let lines = r#"
            50 0 name 7 120 "works"
            50 0 name 8 120 "other"
            100 0 wakeup 7 0
            200 0 switch 0 R 7
            300 0 switch 7 B 0
            400 0 wakeup 7 0
            410 0 wakeup 8 0
            500 1 switch 0 R 7
            510 1 switch 7 R 8
            600 1 switch 8 B 7
        "#;
        let trace = trace(&[TOP, TOP], 0, 1000, lines);
        for (wanted, holds) in [(0.5, true), (0.51, false)] {
            let verdict = check(&trace, "works", wanted);
            assert_eq!(
                (
                    verdict.figures["wakeups"].as_u64(),
                    verdict.figures["elsewhere"].as_u64()
                ),
                (Some(2), Some(1))
            );
            assert_eq!(verdict.holds, holds);
        }
        assert!(!check(&trace, "nobody", 0.0).holds, "nothing to judge");
    }
}
