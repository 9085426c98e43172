// SPDX-License-Identifier: GPL-2.0-only
//! Does the number of CPUs at top speed follow falling demand in time?
//!
//! active(t) is the number of ordinary tasks that run or wait at t, see [`crate::replay`]; target(t) is
//! min(CPUs, active + spare), and top(t) the number of CPUs at top speed.
//!
//! A case, for a size k above the floor: at an instant t0 the target falls below k (k CPUs were wanted until then, fewer from then
//! on) while top(t0) >= k, and it stays below k for longer than the limit, hold + slack. The case is in time if top falls below k
//! at some t1 with t1 - t0 <= limit. If the target is back at k before the limit, the CPU was
//! needed, and this is not a case. A fall by several opens a case for each size: from 5 to 2 is three cases.
//!
//! Worked example: spare 1, hold 10 ms, slack 5 ms. Three tasks run until t = 100 ms, then one: target 4, then 2. Cases: k = 4 and
//! k = 3, both opened at 100 ms. CPUs leave top speed at 110 and 118 ms: top < 4 after 10 ms, in time; top < 3 after 18 ms, late.

use super::{ms, percentile, share, Speeds, Verdict, LISTED};
use crate::replay::Replay;
use crate::steps::Steps;
use serde::Serialize;

/// The promise.
#[derive(Debug, Clone, Copy)]
pub struct Promise {
    /// CPUs kept at top speed in addition to those that active tasks need.
    pub spare: u32,
    /// How long a surplus is kept, ns.
    pub hold_ns: u64,
    /// How much later a CPU may leave, ns.
    pub slack_ns: u64,
    /// Sizes up to this one have other rules (one CPU stays high for a second) and are not cases.
    pub floor: u32,
    /// Share of the cases that must be in time.
    pub share: f64,
}

impl Promise {
    fn limit_ns(&self) -> u64 {
        self.hold_ns + self.slack_ns
    }
}

/// A case: the target fell below `size` at `at_ns`.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Case {
    at_ns: u64,
    size: u32,
    /// How long top stayed at `size` or above; `None` if it did so until the end of the judged time.
    after_ns: Option<u64>,
}

#[derive(Serialize)]
struct Figures {
    cases: usize,
    in_time: usize,
    share_in_time: f64,
    /// Cases in which a CPU left before the hold time was over.
    early: usize,
    after_ms_p50: Option<f64>,
    after_ms_p95: Option<f64>,
    max_active: u32,
    max_at_top: u32,
    /// The first ones.
    late: Vec<Case>,
}

/// At least `promise.share` of the cases above are in time.
pub fn check(replay: &Replay, speeds: &Speeds, promise: Promise) -> Verdict {
    let top = speeds.number_at_top(replay.recording.from_ns);
    let target = target(replay, speeds.cpus() as u32, promise.spare);
    let cases = cases(&target, &top, replay.recording.to_ns, promise);
    let mut after: Vec<u64> = cases.iter().filter_map(|case| case.after_ns).collect();
    after.sort_unstable();
    let found = share(after.len() as u64, cases.len() as u64);
    let (from_ns, to_ns) = (replay.recording.from_ns, replay.recording.to_ns);
    let most = |steps: &Steps<u32>| {
        steps
            .stretches(from_ns, to_ns)
            .map(|(_, value)| value)
            .max()
            .unwrap_or(0)
    };
    let figures = Figures {
        cases: cases.len(),
        in_time: after.len(),
        share_in_time: found,
        early: after.iter().filter(|after_ns| **after_ns < promise.hold_ns).count(),
        after_ms_p50: percentile(&after, 0.5).map(ms),
        after_ms_p95: percentile(&after, 0.95).map(ms),
        max_active: most(&replay.active),
        max_at_top: most(&top),
        late: cases
            .iter()
            .filter(|case| case.after_ns.is_none())
            .take(LISTED)
            .cloned()
            .collect(),
    };
    let reason = match cases.len() {
        0 => "demand never fell for long enough while more CPUs were at top speed: nothing to judge".to_owned(),
        all => format!(
            "{} of {all} falls of demand followed within {:.1} ms, {:.2} %, asked {:.2} %",
            after.len(),
            ms(promise.limit_ns()),
            found * 100.0,
            promise.share * 100.0
        ),
    };
    Verdict::new("shrink", !cases.is_empty() && found >= promise.share, reason, figures)
}

fn target(replay: &Replay, cpus: u32, spare: u32) -> Steps<u32> {
    let (from_ns, to_ns) = (replay.recording.from_ns, replay.recording.to_ns);
    let size = |active: u32| (active + spare).min(cpus);
    let mut target = Steps::new(from_ns, size(replay.active.at(from_ns)));
    for (stretch, active) in replay.active.stretches(from_ns, to_ns) {
        target.set(stretch.from_ns, size(active));
    }
    target
}

fn cases(target: &Steps<u32>, top: &Steps<u32>, end_ns: u64, promise: Promise) -> Vec<Case> {
    let mut cases = Vec::new();
    // open[k]: when the target fell below k, for sizes that are still to be judged.
    let mut open: Vec<Option<u64>> = Vec::new();
    let mut before = target.at(0);
    for (stretch, value) in target.stretches(0, end_ns) {
        open.resize(open.len().max(value.max(before) as usize + 1), None);
        for size in value + 1..=before {
            open[size as usize] = Some(stretch.from_ns).filter(|at_ns| size > promise.floor && top.at(*at_ns) >= size);
        }
        for size in before + 1..=value {
            cases.extend(
                open[size as usize]
                    .take()
                    .and_then(|at| judge(top, at, size, stretch.from_ns, promise)),
            );
        }
        before = value;
    }
    for (size, at_ns) in open.iter().enumerate() {
        cases.extend(at_ns.and_then(|at_ns| judge(top, at_ns, size as u32, end_ns, promise)));
    }
    cases.sort_by_key(|case| (case.at_ns, case.size));
    cases
}

/// The target was below `size` from `at_ns` to `until_ns`.
fn judge(top: &Steps<u32>, at_ns: u64, size: u32, until_ns: u64, promise: Promise) -> Option<Case> {
    if until_ns - at_ns <= promise.limit_ns() {
        return None;
    }
    let after_ns = top.first(at_ns, |number| number < size).map(|left_ns| left_ns - at_ns);
    Some(Case {
        at_ns,
        size,
        after_ns: after_ns.filter(|after_ns| *after_ns <= promise.limit_ns()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, LOW, TOP};

    const PROMISE: Promise = Promise {
        spare: 1,
        hold_ns: 10,
        slack_ns: 5,
        floor: 1,
        share: 0.95,
    };

    /// The worked example above, with 1 ns for 1 ms: tasks 7, 8, 9 run on CPUs 0 to 2 of 5; 8 and 9 block at 100.
    /// `after` are lines after that.
    fn judge_example(after: &str, promise: Promise) -> Verdict {
        let lines = format!(
            "
            50 0 switch 0 R 7
            50 1 switch 0 R 8
            50 2 switch 0 R 9
            100 1 switch 8 B 0
            100 2 switch 9 B 0
            {after}
        "
        );
        let trace = trace(&[TOP, TOP, TOP, TOP, LOW], 0, 300, &lines);
        let replay = replay(&trace);
        check(&replay, &Speeds::new(&trace, &replay, None).unwrap(), promise)
    }

    fn figures(verdict: &Verdict) -> (u64, u64, u64) {
        let number = |name: &str| verdict.figures[name].as_u64().unwrap();
        (number("cases"), number("in_time"), number("early"))
    }

    #[test]
    fn worked_examples() {
        for (after, expected, holds) in [
            ("110 0 speed 3 1000\n118 0 speed 2 1000", (2, 1, 0), false),
            ("110 0 speed 3 1000\n115 0 speed 2 1000", (2, 2, 0), true),
            ("109 0 speed 3 1000\n110 0 speed 2 1000", (2, 2, 1), true),
            ("", (2, 0, 0), false),
            // Demand is back within the limit: no case for size 3, and none for 4 if both come back.
            ("112 1 wakeup 8 1\n112 1 switch 0 R 8", (1, 0, 0), false),
            ("112 1 wakeup 8 1\n113 2 wakeup 9 2", (0, 0, 0), false),
            // Back exactly at the limit is not a case, just after it is one.
            ("115 1 wakeup 8 1", (1, 0, 0), false),
            ("116 1 wakeup 8 1", (2, 0, 0), false),
            // Back after the limit is judged anyway.
            (
                "110 0 speed 3 1000\n111 0 speed 2 1000\n150 1 wakeup 8 1\n160 0 speed 2 2000",
                (2, 2, 0),
                true,
            ),
        ] {
            let verdict = judge_example(after, PROMISE);
            assert_eq!(figures(&verdict), expected, "{after}: {}", verdict.reason);
            assert_eq!(verdict.holds, holds, "{after}: {}", verdict.reason);
        }
    }

    #[test]
    fn a_set_that_is_small_enough_already_is_no_case() {
        // Without a spare the target falls from 3 to 1, with four CPUs at top speed: cases 2 and 3.
        let none = Promise { spare: 0, ..PROMISE };
        assert_eq!(figures(&judge_example("", none)), (2, 0, 0));
        // With a large spare the target is always all CPUs.
        assert_eq!(figures(&judge_example("", Promise { spare: 9, ..PROMISE })), (0, 0, 0));
        assert_eq!(figures(&judge_example("", Promise { floor: 3, ..PROMISE })), (1, 0, 0));
    }

    #[test]
    fn the_share_decides() {
        let after = "110 0 speed 3 1000\n118 0 speed 2 1000";
        assert!(judge_example(after, Promise { share: 0.5, ..PROMISE }).holds);
        assert!(!judge_example(after, Promise { share: 0.51, ..PROMISE }).holds);
    }

    #[test]
    fn what_the_end_cuts_off_is_no_case() {
        let trace = trace(
            &[TOP, TOP, LOW],
            0,
            100,
            "50 0 switch 0 R 7\n50 1 switch 0 R 8\n90 1 switch 8 B 0",
        );
        let replay = replay(&trace);
        let verdict = check(&replay, &Speeds::new(&trace, &replay, None).unwrap(), PROMISE);
        assert_eq!(figures(&verdict), (0, 0, 0));
    }
}
