// SPDX-License-Identifier: GPL-2.0-only
//! Does a task that is pinned to a low CPU promote it?

use super::{ms, percentile, share, Speeds, Verdict};
use crate::replay::Replay;
use crate::trace::Cpu;
use anyhow::Result;
use serde::Serialize;

#[derive(Serialize)]
struct Figures {
    /// How many runs the task had on the CPU.
    runs: usize,
    /// Runs that ended within the limit before any request, which do not count either way.
    too_short: usize,
    /// Runs that were at top speed at once or in time.
    in_time: usize,
    late: usize,
    /// Times at which the CPU rose to top speed.
    promotions: usize,
    /// Time from the beginning of a run to the request, us; 0 if that came before.
    after_us_p50: Option<f64>,
    after_us_max: Option<f64>,
}

/// When a task called `comm` begins to run on `cpu`, the CPU is at top speed at once or at most `limit_ns` later, in at least this
/// share of cases. The CPU must rise to top speed at least once; otherwise nothing is shown.
///
/// # Errors
/// The CPU has no speed.
pub fn check(replay: &Replay, speeds: &Speeds, comm: &str, cpu: Cpu, limit_ns: u64, least: f64) -> Result<Verdict> {
    let at_top = speeds.of(cpu)?;
    let (mut after, mut too_short, mut late) = (Vec::new(), 0, 0);
    let runs: Vec<_> = replay
        .runs
        .iter()
        .filter(|run| run.cpu == cpu && run.comm == comm)
        .collect();
    for run in &runs {
        match at_top
            .first(run.time.from_ns, |top| top)
            .map(|risen_ns| risen_ns - run.time.from_ns)
        {
            Some(after_ns) if after_ns <= limit_ns && after_ns <= run.time.length_ns() => after.push(after_ns),
            _ if run.time.length_ns() <= limit_ns => too_short += 1,
            _ => late += 1,
        }
    }
    after.sort_unstable();
    let stretches = at_top.stretches(replay.recording.from_ns, replay.recording.to_ns);
    let promotions = stretches.skip(1).filter(|(_, top)| *top).count();
    let us = |ns: u64| ns as f64 / 1e3;
    let figures = Figures {
        runs: runs.len(),
        too_short,
        in_time: after.len(),
        late,
        promotions,
        after_us_p50: percentile(&after, 0.5).map(us),
        after_us_max: after.last().copied().map(us),
    };
    let reason = match (after.len() + late, promotions) {
        (0, _) => format!("no run of `{comm}` on CPU {cpu} that lasted: nothing to judge"),
        (_, 0) => format!("CPU {cpu} never rose to top speed during the recording: nothing shown"),
        (judged, _) => format!(
            "{late} of {judged} runs of `{comm}` on CPU {cpu} without top speed after the limit, the others after {:.3} ms at most",
            after.last().copied().map_or(0.0, ms)
        ),
    };
    let holds = !after.is_empty() && share(after.len() as u64, (after.len() + late) as u64) >= least && promotions > 0;
    Ok(Verdict::new("promoted", holds, reason, figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, LOW, TOP};

    /// Two runs of 7 on CPU 1, 100 to 200 and 400 to 500; `speeds` are its speed events.
    fn judge(speeds: &[(u64, u64)], limit_ns: u64, least: f64) -> Verdict {
        let mut lines: Vec<(u64, String)> = [
            (50, r#"1 name 7 120 "pin""#),
            (100, "1 switch 0 R 7"),
            (200, "1 switch 7 B 0"),
            (400, "1 switch 0 R 7"),
            (500, "1 switch 7 B 0"),
        ]
        .map(|(at, text)| (at, text.to_owned()))
        .into();
        lines.extend(speeds.iter().map(|(at, khz)| (*at, format!("0 speed 1 {khz}"))));
        lines.sort_by_key(|line| line.0);
        let text: Vec<String> = lines.iter().map(|(at, text)| format!("{at} {text}")).collect();
        let trace = trace(&[TOP, LOW], 0, 600, &text.join("\n"));
        let replay = replay(&trace);
        check(
            &replay,
            &Speeds::new(&trace, &replay, None).unwrap(),
            "pin",
            1,
            limit_ns,
            least,
        )
        .unwrap()
    }

    #[test]
    fn table() {
        for (speeds, limit, holds, in_time, late) in [
            // Promoted before each run.
            (&[(90, TOP), (300, LOW), (399, TOP)][..], 0, true, 2, 0),
            // 20 after it began to run.
            (&[(120, TOP), (300, LOW), (390, TOP)], 20, true, 2, 0),
            (&[(120, TOP), (300, LOW), (390, TOP)], 19, false, 1, 1),
            // Only after the run was over.
            (&[(250, TOP), (300, LOW), (390, TOP)], 20, false, 1, 1),
            // Never.
            (&[], 20, false, 0, 2),
            // Both runs are shorter than the limit, without any request: nothing to judge.
            (&[], 100, false, 0, 0),
            // Always at top speed: nothing is shown.
            (&[(0, TOP)], 20, false, 2, 0),
        ] {
            let verdict = judge(speeds, limit, 1.0);
            assert_eq!(verdict.holds, holds, "{speeds:?}: {}", verdict.reason);
            let number = |name: &str| verdict.figures[name].as_u64().unwrap();
            assert_eq!((number("in_time"), number("late")), (in_time, late), "{speeds:?}");
        }
    }

    /// One of two in time is a share of one half.
    #[test]
    fn a_share_may_be_late() {
        let speeds = [(120, TOP), (300, LOW), (390, TOP)];
        for (least, holds) in [(0.5, true), (0.51, false)] {
            assert_eq!(judge(&speeds, 19, least).holds, holds, "{least}");
        }
    }
}
