// SPDX-License-Identifier: GPL-2.0-only
//! Is there a task that is runnable for too long without running?

use super::{ms, Verdict, LISTED};
use crate::classes::Class;
use crate::replay::{Replay, Wait};
use crate::trace::Pid;
use serde::Serialize;

#[derive(Serialize)]
struct Lost {
    pid: Pid,
    comm: String,
    runnable_since_ns: u64,
    waited_ms: f64,
}

#[derive(Serialize)]
struct Figures {
    waits: usize,
    lost: usize,
    longest_wait_ms: f64,
    longest_wait_of: String,
    tasks: Vec<Lost>,
}

/// No ordinary task was runnable for longer than `limit_ns` without running, whether it ran afterwards or the recording ended.
pub fn check(replay: &Replay, limit_ns: u64) -> Verdict {
    let end_ns = replay.recording.to_ns;
    let length_ns = |wait: &Wait| wait.until_ns.unwrap_or(end_ns).saturating_sub(wait.from_ns);
    let waits: Vec<&Wait> = replay
        .waits
        .iter()
        .filter(|wait| wait.class == Class::Ordinary)
        .collect();
    let longest = waits.iter().max_by_key(|wait| length_ns(wait));
    let lost: Vec<&&Wait> = waits.iter().filter(|wait| length_ns(wait) > limit_ns).collect();
    let listed = lost.iter().take(LISTED).map(|wait| Lost {
        pid: wait.pid,
        comm: wait.comm.clone(),
        runnable_since_ns: wait.from_ns,
        waited_ms: ms(length_ns(wait)),
    });
    let figures = Figures {
        waits: waits.len(),
        lost: lost.len(),
        longest_wait_ms: longest.map_or(0.0, |wait| ms(length_ns(wait))),
        longest_wait_of: longest.map(|wait| wait.comm.clone()).unwrap_or_default(),
        tasks: listed.collect(),
    };
    let reason = match waits.len() {
        0 => "no task ever waited: nothing to judge".to_owned(),
        all => format!("{} of {all} waits longer than {:.0} ms", lost.len(), ms(limit_ns)),
    };
    Verdict::new("lost", lost.is_empty() && !waits.is_empty(), reason, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, replay_without, trace, TOP};

    /// 7 wakes at 100 and never runs; 8 is preempted at 300 and never runs again. The end is at 1000.
    const LINES: &str = "
        100 0 wakeup 7 0
        200 0 wakeup 8 0
        210 0 switch 0 R 8
        300 0 switch 8 R 9
        310 0 switch 9 B 0
    ";

    #[test]
    fn longer_than_the_limit_is_lost() {
        let replay = replay(&trace(&[TOP], 0, 1000, LINES));
        for (limit_ns, lost) in [(699, 2), (700, 1), (899, 1), (900, 0)] {
            let verdict = check(&replay, limit_ns);
            assert_eq!(verdict.figures["lost"], lost, "{limit_ns}");
            assert_eq!(verdict.holds, lost == 0);
        }
        assert_eq!(check(&replay, 900).figures["longest_wait_ms"], ms(900));
    }

    /// 8 waits from 200 to 210 before it runs. 9 runs at 300 without an earlier event, so it has waited since the recording began.
    #[test]
    fn a_wait_that_ended_counts_as_well() {
        let replay = replay(&trace(&[TOP], 0, 1000, LINES));
        for (limit_ns, lost) in [(300, 2), (299, 3), (10, 3), (9, 4)] {
            assert_eq!(check(&replay, limit_ns).figures["lost"], lost, "{limit_ns}");
        }
    }

    #[test]
    fn tasks_that_are_not_judged_are_not_lost() {
        let trace = trace(&[TOP], 0, 1000, LINES);
        assert!(check(&replay_without(&trace, &["7", "8"]), 300).holds);
        assert!(
            !check(&replay_without(&trace, &["7", "8", "9"]), 300).holds,
            "nothing to judge"
        );
    }
}
