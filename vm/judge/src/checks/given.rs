// SPDX-License-Identifier: GPL-2.0-only
//! Is a fast CPU given to another thread when the one there is marked as spinning?

use super::fast::FastCpus;
use super::{ms, percentile, share, Verdict};
use crate::replay::{Replay, Run};
use crate::trace::{Pid, Trace, What};
use serde::Serialize;

/// `BPF_MAP_UPDATE_ELEM`, with which `lop hint` stores a hint.
const MAP_UPDATE: i64 = 2;

#[derive(Serialize)]
struct Figures {
    /// How often the flag was raised, and in how many of these cases the thread was on a fast CPU.
    raised: usize,
    raised_on_fast: usize,
    in_time: usize,
    after_us_p50: Option<f64>,
    after_us_max: Option<f64>,
}

/// The first update of a map raises a flag of thread `spinner`, the next one drops it, and so on. Whenever the flag is raised while the thread
/// runs on a fast CPU, another thread of its name starts on that CPU within `limit_ns`, in `wanted` of the cases.
pub fn check(trace: &Trace, replay: &Replay, fast: &FastCpus, spinner: Pid, limit_ns: u64, wanted: f64) -> Verdict {
    let is_update = |what: &What| matches!(what, What::Bpf { command, .. } if *command == MAP_UPDATE);
    let updates = trace.events.iter().filter(|event| is_update(&event.what));
    let raised: Vec<u64> = updates.map(|event| event.at_ns).step_by(2).collect();
    let (mut after, mut late) = (Vec::new(), 0);
    for &at_ns in &raised {
        let runs_then = |run: &&Run| run.pid == spinner && run.time.from_ns <= at_ns && at_ns < run.time.to_ns;
        let Some(run) = replay.runs.iter().find(runs_then).filter(|run| fast.has(run.cpu)) else {
            continue;
        };
        let comes = |other: &&Run| {
            other.cpu == run.cpu && other.pid != spinner && other.comm == run.comm && other.time.from_ns > at_ns
        };
        let given_ns = replay
            .runs
            .iter()
            .filter(comes)
            .map(|other| other.time.from_ns - at_ns)
            .min();
        match given_ns.filter(|after_ns| *after_ns <= limit_ns) {
            Some(after_ns) => after.push(after_ns),
            None => late += 1,
        }
    }
    after.sort_unstable();
    let judged = after.len() + late;
    let found = share(after.len() as u64, judged as u64);
    let reason = match judged {
        0 => format!("thread {spinner} was never on a fast CPU when its flag was raised: nothing to judge"),
        _ => format!(
            "the fast CPU was given on within {} ms in {} of {judged} cases; wanted {:.1} %",
            ms(limit_ns),
            after.len(),
            wanted * 100.0
        ),
    };
    let us = |ns: u64| ns as f64 / 1e3;
    let figures = Figures {
        raised: raised.len(),
        raised_on_fast: judged,
        in_time: after.len(),
        after_us_p50: percentile(&after, 0.5).map(us),
        after_us_max: after.last().copied().map(us),
    };
    Verdict::new("given", judged > 0 && found >= wanted, reason, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace_of_kinds, TOP};

    /// CPU 0 is fast and runs 7 from 10 on, CPU 1 runs 8 of the same name; `lines` follow. Another program updates the map on CPU 1.
    fn judge(lines: &str, limit_ns: u64) -> Verdict {
        let begin = "10 0 name 7 120 \"hog\"\n10 0 switch 0 R 7\n10 1 name 8 120 \"hog\"\n10 1 switch 0 R 8\n";
        let trace = trace_of_kinds(&[TOP, TOP / 2], 0, 1000, &format!("{begin}{lines}"));
        check(
            &trace,
            &replay(&trace),
            &FastCpus::of(&trace).unwrap(),
            7,
            limit_ns,
            0.95,
        )
    }

    #[test]
    fn table() {
        let exchanged = "100 1 bpf 9 2\n150 1 switch 8 R 0\n160 0 switch 7 R 8\n170 1 switch 0 R 7\n";
        let stays = "100 1 bpf 9 2\n";
        let other_comes = "100 1 bpf 9 2\n120 0 name 5 120 \"other\"\n120 0 switch 7 R 5\n";
        let twice = format!("{exchanged}300 1 bpf 9 2\n400 1 bpf 9 2\n");
        for (lines, limit_ns, holds, judged) in [
            (exchanged, 60, true, 1),
            (exchanged, 59, false, 1),
            (stays, 500, false, 1),
            // A thread with another name gets the CPU.
            (other_comes, 500, false, 1),
            // A lookup does not raise the flag.
            (&exchanged.replace("bpf 9 2", "bpf 9 1"), 60, false, 0),
            // Dropped at 300, and raised again at 400 while 7 is on the slow CPU.
            (&twice, 60, true, 1),
        ] {
            let verdict = judge(lines, limit_ns);
            assert_eq!(verdict.holds, holds, "{lines}: {}", verdict.reason);
            assert_eq!(verdict.figures["raised_on_fast"], judged, "{lines}");
        }
    }
}
