// SPDX-License-Identifier: GPL-2.0-only
//! Do threads run whenever they can?

use super::{ms, share, Verdict};
use crate::replay::Replay;
use serde::Serialize;

#[derive(Serialize)]
struct Figures {
    run_ms: f64,
    waited_ms: f64,
    share: f64,
}

/// Threads called `comm` ran for `wanted` of the time in which they could: run / (run + waits for a CPU).
pub fn check(replay: &Replay, comm: &str, wanted: f64) -> Verdict {
    let end_ns = replay.recording.to_ns;
    let runs = replay.runs.iter().filter(|run| run.comm == comm);
    let waits = replay.waits.iter().filter(|wait| wait.comm == comm);
    let run_ns: u64 = runs.map(|run| run.time.length_ns()).sum();
    let waited_ns: u64 = waits
        .map(|wait| wait.until_ns.unwrap_or(end_ns).saturating_sub(wait.from_ns))
        .sum();
    let found = share(run_ns, run_ns + waited_ns);
    let reason = match run_ns + waited_ns {
        0 => format!("no thread called `{comm}` ran or waited: nothing to judge"),
        _ => format!(
            "`{comm}` ran for {:.1} ms and waited for {:.1} ms, {:.2} % of the time in which it could run; wanted {:.2} %",
            ms(run_ns),
            ms(waited_ns),
            found * 100.0,
            wanted * 100.0
        ),
    };
    let figures = Figures {
        run_ms: ms(run_ns),
        waited_ms: ms(waited_ns),
        share: found,
    };
    Verdict::new("served", run_ns > 0 && found >= wanted, reason, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, TOP};

    /// 7 waits from 100 to 200 and runs from 200 to 1000, beside 8, which runs from 0 to 200.
    const LINES: &str = r#"
        0 0 name 7 120 "one"
        0 0 name 8 120 "other"
        0 0 switch 0 R 8
        100 0 wakeup 7 0
        200 0 switch 8 B 7
        1000 0 switch 7 B 0
    "#;

    #[test]
    fn share_of_the_time_in_which_it_could_run() {
        let replay = replay(&trace(&[TOP], 0, 1000, LINES));
        for (comm, wanted, holds) in [
            ("one", 0.888, true),
            ("one", 0.889, false),
            ("other", 1.0, true),
            ("nobody", 0.0, false),
        ] {
            let verdict = check(&replay, comm, wanted);
            assert_eq!(verdict.holds, holds, "{comm} {wanted}: {}", verdict.reason);
        }
    }
}
