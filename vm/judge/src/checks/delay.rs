// SPDX-License-Identifier: GPL-2.0-only
//! How long do woken tasks wait for a CPU?

use super::{ms, percentile, Verdict};
use crate::classes::Class;
use crate::replay::Replay;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Distribution {
    wakeups: usize,
    p50_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    max_ms: f64,
}

impl Distribution {
    fn new(mut delays_ns: Vec<u64>) -> Self {
        delays_ns.sort_unstable();
        let at = |share| percentile(&delays_ns, share).map_or(0.0, ms);
        Distribution {
            wakeups: delays_ns.len(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: at(1.0),
        }
    }
}

#[derive(Serialize)]
struct Figures {
    all: Distribution,
    /// Woken but not run by the end; see `lost`.
    unfinished: usize,
    by_comm: BTreeMap<String, Distribution>,
}

/// Delay from sched_wakeup (or sched_wakeup_new) to the sched_switch that runs the task, for ordinary tasks, either those called `comm`
/// or all. Holds if there are any and, if there is a limit, the 99.9th percentile is at most `max_p999_ns`.
pub fn check(replay: &Replay, comm: Option<&str>, max_p999_ns: Option<u64>) -> Verdict {
    let mut by_comm: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut unfinished = 0;
    for wait in replay
        .waits
        .iter()
        .filter(|wait| wait.woken && wait.class == Class::Ordinary)
    {
        if comm.is_some_and(|comm| comm != wait.comm) {
            continue;
        }
        match wait.until_ns {
            Some(until_ns) => by_comm
                .entry(wait.comm.clone())
                .or_default()
                .push(until_ns - wait.from_ns),
            None => unfinished += 1,
        }
    }
    let all = Distribution::new(by_comm.values().flatten().copied().collect());
    let within = max_p999_ns.is_none_or(|limit_ns| all.p999_ms <= ms(limit_ns));
    let asked = max_p999_ns.map_or("nothing asked".to_owned(), |limit| format!("asked {:.3} ms", ms(limit)));
    let reason = match all.wakeups {
        0 => "no wakeup of such a task: nothing to judge".to_owned(),
        wakeups => format!("p99.9 of {wakeups} wakeups {:.3} ms, {asked}", all.p999_ms),
    };
    let holds = all.wakeups > 0 && within;
    let by_comm = by_comm
        .into_iter()
        .map(|(comm, delays)| (comm, Distribution::new(delays)))
        .collect();
    Verdict::new(
        "delay",
        holds,
        reason,
        Figures {
            all,
            unfinished,
            by_comm,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, TOP};

    /// 7 waits 1 ms and, after a preemption, 8 ms more; 8 waits 3 ms; 9 never runs; 6 is real-time.
    const LINES: &str = r#"
        500000 0 name 6 49 "rt"
        500000 0 name 7 120 "a"
        500000 0 name 8 120 "b"
        1000000 0 wakeup 7 0
        1000000 0 wakeup 6 0
        2000000 0 switch 0 R 7
        3000000 0 wakeup 8 0
        6000000 0 switch 7 R 8
        7000000 0 wakeup 9 0
        14000000 0 switch 8 B 7
        20000000 0 switch 7 B 6
        21000000 0 switch 6 B 0
    "#;

    #[test]
    fn wakeups_count_and_preemptions_do_not() {
        let replay = replay(&trace(&[TOP], 0, 30_000_000, LINES));
        let figures = check(&replay, None, None).figures;
        assert_eq!(figures["all"]["wakeups"], 2);
        assert_eq!(
            (&figures["all"]["p50_ms"], &figures["all"]["max_ms"]),
            (&1.0.into(), &3.0.into())
        );
        assert_eq!(figures["by_comm"]["a"]["max_ms"], 1.0);
        assert_eq!(figures["unfinished"], 1);
    }

    #[test]
    fn the_limit_decides() {
        let replay = replay(&trace(&[TOP], 0, 30_000_000, LINES));
        for (comm, limit_ns, holds) in [
            (None, 3_000_000, true),
            (None, 2_999_999, false),
            (Some("a"), 1_000_000, true),
            (Some("a"), 999_999, false),
            (Some("nobody"), 1_000_000, false),
        ] {
            assert_eq!(check(&replay, comm, Some(limit_ns)).holds, holds, "{comm:?} {limit_ns}");
        }
    }
}
