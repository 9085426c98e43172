// SPDX-License-Identifier: GPL-2.0-only
//! Does a program's sequential phase get a fast CPU in time?

use super::fast::FastCpus;
use super::{ms, percentile, share, Verdict};
use crate::replay::{Replay, Run};
use crate::steps::Interval;
use crate::trace::Pid;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Figures {
    phases: usize,
    /// Phases that ended within the limit without a fast CPU, which do not count either way.
    too_short: usize,
    in_time: usize,
    late: usize,
    /// Time from the beginning of a phase to its first moment on a fast CPU; 0 if it was there already.
    after_us_p50: Option<f64>,
    after_us_p95: Option<f64>,
    after_us_max: Option<f64>,
    /// Share of the phases' run time on fast CPUs.
    share_on_fast: f64,
}

/// A time in which a thread, or any thread of the name, should be on a fast CPU.
pub(super) struct Stretch {
    pub time: Interval,
    pub pid: Option<Pid>,
}

/// Whose stretches these are, how soon they should be on a fast CPU, and how often.
pub(super) struct Promise<'a> {
    pub check: &'static str,
    /// The kind of stretch, for people.
    pub what: &'static str,
    pub comm: &'a str,
    pub limit_ns: u64,
    pub share: f64,
}

/// A phase is sequential from when all threads called `comm` except one have blocked until another one is woken. In `wanted` of the cases
/// that one is on a fast CPU at once or at most `limit_ns` later.
pub fn check(replay: &Replay, fast: &FastCpus, comm: &str, limit_ns: u64, wanted: f64) -> Verdict {
    let promise = Promise {
        check: "sequential",
        what: "sequential phases",
        comm,
        limit_ns,
        share: wanted,
    };
    let stretch = |time| Stretch { time, pid: None };
    let phases: Vec<Stretch> = phases(replay, comm).into_iter().map(stretch).collect();
    in_time(replay, fast, &phases, &promise)
}

/// Enough of the stretches are on a fast CPU in time.
pub(super) fn in_time(replay: &Replay, fast: &FastCpus, phases: &[Stretch], promise: &Promise<'_>) -> Verdict {
    let &Promise { comm, limit_ns, .. } = promise;
    let (mut after, mut too_short, mut late) = (Vec::new(), 0, 0);
    let (mut run_ns, mut fast_ns) = (0, 0);
    for phase in phases {
        let mut first_ns = None;
        let is_of_it = |run: &&Run| run.comm == comm && phase.pid.is_none_or(|pid| run.pid == pid);
        for run in replay.runs.iter().filter(is_of_it) {
            let time = run.time.within(phase.time);
            if time.length_ns() == 0 {
                continue;
            }
            run_ns += time.length_ns();
            if fast.has(run.cpu) {
                fast_ns += time.length_ns();
                first_ns = first_ns.or(Some(time.from_ns - phase.time.from_ns));
            }
        }
        match first_ns {
            Some(after_ns) if after_ns <= limit_ns => after.push(after_ns),
            _ if phase.time.length_ns() <= limit_ns => too_short += 1,
            _ => late += 1,
        }
    }
    after.sort_unstable();
    let judged = after.len() + late;
    let found = share(after.len() as u64, judged as u64);
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    let what = promise.what;
    let reason = match judged {
        0 => format!("`{comm}` had no {what} that lasted: nothing to judge"),
        _ => format!(
            "{} of {judged} {what} of `{comm}` on a fast CPU within {} ms ({:.1} %, {too_short} shorter ones left out); wanted {:.1} %",
            after.len(),
            ms(limit_ns),
            found * 100.0,
            promise.share * 100.0
        ),
    };
    let figures = Figures {
        phases: phases.len(),
        too_short,
        in_time: after.len(),
        late,
        after_us_p50: us(percentile(&after, 0.5)),
        after_us_p95: us(percentile(&after, 0.95)),
        after_us_max: us(after.last().copied()),
        share_on_fast: share(fast_ns, run_ns),
    };
    Verdict::new(promise.check, judged > 0 && found >= promise.share, reason, figures)
}

/// Intervals in which exactly one of the threads runs or waits for a CPU, after more than one did.
fn phases(replay: &Replay, comm: &str) -> Vec<Interval> {
    let mut changes: BTreeMap<u64, i32> = BTreeMap::new();
    let mut change = |at_ns, by| *changes.entry(at_ns).or_default() += by;
    for run in replay.runs.iter().filter(|run| run.comm == comm) {
        change(run.time.from_ns, 1);
        change(run.time.to_ns, -1);
    }
    for wait in replay.waits.iter().filter(|wait| wait.comm == comm) {
        change(wait.from_ns, 1);
        change(wait.until_ns.unwrap_or(replay.recording.to_ns), -1);
    }
    let (mut active, mut begin_ns, mut found) = (0, None, Vec::new());
    for (at_ns, by) in changes.into_iter().filter(|(_, by)| *by != 0) {
        if let Some(from_ns) = begin_ns.take() {
            found.push(Interval { from_ns, to_ns: at_ns });
        }
        active += by;
        begin_ns = (active == 1 && by < 0).then_some(at_ns);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace_of_kinds, TOP};

    /// CPU 0 is fast. 7 and 8 compute, 8 on the fast CPU; 8 blocks at 1000, and 7 moves there at `moves`, if it does; 8 is woken at 2000.
    fn judge(moves: Option<u64>, limit_ns: u64, wanted: f64) -> Verdict {
        let moved = moves.map_or(String::new(), |at| {
            format!("{at} 1 switch 7 R 0\n{} 0 switch 0 R 7\n", at + 10)
        });
        let (cpu, other) = if moves.is_some() { (0, 1) } else { (1, 0) };
        let lines = format!(
            "10 0 name 8 120 \"half\"\n10 0 switch 0 R 8\n10 1 name 7 120 \"half\"\n10 1 switch 0 R 7\n1000 0 switch 8 B 0\n{moved}\
             2000 {cpu} wakeup 8 {other}\n2010 {other} switch 0 R 8\n3000 {cpu} switch 7 B 0\n3100 {other} switch 8 B 0\n"
        );
        let trace = trace_of_kinds(&[TOP, TOP / 2], 0, 4000, &lines);
        check(
            &replay(&trace),
            &FastCpus::of(&trace).unwrap(),
            "half",
            limit_ns,
            wanted,
        )
    }

    /// The second phase is 8's after 3000, for 100 ns on the slow CPU or the fast one.
    #[test]
    fn table() {
        for (moves, limit_ns, wanted, holds, judged) in [
            // On the fast CPU 110 ns after the others blocked.
            (Some(1100), 110, 1.0, true, 1),
            (Some(1100), 109, 1.0, false, 1),
            // Half of the cases is enough if that is wanted; with a limit below 100 ns the second phase counts.
            (Some(1080), 90, 0.5, true, 2),
            (Some(1080), 90, 0.6, false, 2),
            // The first never; the one of 8 is on the fast CPU.
            (None, 500, 0.6, false, 2),
            (None, 500, 0.5, true, 2),
        ] {
            let verdict = judge(moves, limit_ns, wanted);
            assert_eq!(verdict.holds, holds, "{moves:?} {limit_ns}: {}", verdict.reason);
            let number = |name: &str| verdict.figures[name].as_u64().unwrap();
            assert_eq!(
                number("in_time") + number("late"),
                judged,
                "{moves:?}: {}",
                verdict.reason
            );
        }
    }

    #[test]
    fn no_phase_is_no_proof() {
        let trace = trace_of_kinds(
            &[TOP, TOP / 2],
            0,
            4000,
            "10 0 name 8 120 \"half\"\n10 0 switch 0 R 8\n90 0 switch 8 B 0\n",
        );
        let verdict = check(&replay(&trace), &FastCpus::of(&trace).unwrap(), "half", 10, 0.0);
        assert!(!verdict.holds && verdict.reason.contains("nothing to judge"));
    }
}
