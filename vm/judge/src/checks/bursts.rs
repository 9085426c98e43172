// SPDX-License-Identifier: GPL-2.0-only
//! Does work run on CPUs whose requested speed is the top one at that time?

use super::{ms, share, Speeds, Verdict};
use crate::replay::{Replay, Run};
use anyhow::Result;
use serde::Serialize;

#[derive(Serialize)]
struct Figures {
    runs: usize,
    run_time_ms: f64,
    at_top_ms: f64,
    share_at_top: f64,
    /// Longest single stretch of one run below top speed.
    longest_below_top_ms: f64,
}

/// At least `share_wanted` of the run time of the tasks called `comm` was on CPUs at top speed. A run counts under the name that
/// the task had when it left the CPU.
///
/// # Errors
/// A run was on a CPU without a known speed.
pub fn check(replay: &Replay, speeds: &Speeds, comm: &str, share_wanted: f64) -> Result<Verdict> {
    let runs: Vec<&Run> = replay.runs.iter().filter(|run| run.comm == comm).collect();
    let (mut total_ns, mut top_ns, mut longest_ns) = (0, 0, 0);
    for run in &runs {
        total_ns += run.time.length_ns();
        for (stretch, at_top) in speeds.of(run.cpu)?.stretches(run.time.from_ns, run.time.to_ns) {
            if at_top {
                top_ns += stretch.length_ns();
            } else {
                longest_ns = longest_ns.max(stretch.length_ns());
            }
        }
    }
    let found = share(top_ns, total_ns);
    let figures = Figures {
        runs: runs.len(),
        run_time_ms: ms(total_ns),
        at_top_ms: ms(top_ns),
        share_at_top: found,
        longest_below_top_ms: ms(longest_ns),
    };
    let reason = if total_ns == 0 {
        format!("no task called `{comm}` ran: nothing to judge")
    } else {
        format!(
            "{:.3} % of {:.1} ms at top speed, asked {:.3} %",
            found * 100.0,
            ms(total_ns),
            share_wanted * 100.0
        )
    };
    Ok(Verdict::new(
        "bursts",
        total_ns > 0 && found >= share_wanted,
        reason,
        figures,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, LOW};

    /// Task 7 runs from 100 to 200 on CPU 1, whose speed rises at `rise`; task 8, with another name, runs on CPU 0 at low speed.
    fn judge(rise: u64, comm: &str) -> Verdict {
        let lines = format!(
            r#"
            50 0 name 7 120 "lop-burst"
            60 0 wakeup 7 1
            {rise} 1 speed 1 2000
            100 1 switch 0 R 7
            110 0 switch 0 R 8
            150 0 switch 8 B 0
            200 1 switch 7 B 0
        "#
        );
        let mut sorted: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        sorted.sort_by_key(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
        let trace = trace(&[LOW, LOW], 0, 300, &sorted.join("\n"));
        let replay = replay(&trace);
        check(&replay, &Speeds::new(&trace, &replay, None).unwrap(), comm, 0.99).unwrap()
    }

    #[test]
    fn share_by_the_moment_of_promotion() {
        for (rise, at_top, holds) in [(99, 1.0, true), (100, 1.0, true), (101, 0.99, true), (110, 0.9, false)] {
            let verdict = judge(rise, "lop-burst");
            assert_eq!(verdict.holds, holds, "{}", verdict.reason);
            assert_eq!(verdict.figures["share_at_top"], at_top);
        }
    }

    #[test]
    fn nothing_to_judge_does_not_hold() {
        assert!(!judge(99, "other").holds);
    }
}
