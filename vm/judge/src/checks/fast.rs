// SPDX-License-Identifier: GPL-2.0-only
//! Do the tasks that should have the fast CPUs run there?

use super::{ms, share, Verdict};
use crate::replay::Replay;
use crate::trace::{Cpu, Trace};
use anyhow::{bail, Result};
use serde::Serialize;
use std::collections::BTreeSet;

/// The CPUs with the highest top speed, if not all have the same.
#[derive(Debug)]
pub struct FastCpus(BTreeSet<Cpu>);

impl FastCpus {
    /// # Errors
    /// A CPU has no known top speed, or all have the same.
    pub fn of(trace: &Trace) -> Result<Self> {
        let cpus = &trace.header.cpus;
        let fastest = cpus.iter().map(|cpu| cpu.top_khz).max().flatten();
        if cpus.iter().any(|cpu| cpu.top_khz.is_none()) {
            bail!("not every CPU tells its top speed: boot the guest with --max-mhz");
        }
        let (fast, slow): (Vec<_>, Vec<_>) = cpus.iter().partition(|cpu| cpu.top_khz == fastest);
        if slow.is_empty() {
            bail!("no CPU is faster than another: boot the guest with different --max-mhz");
        }
        Ok(FastCpus(fast.iter().map(|cpu| cpu.cpu).collect()))
    }

    pub fn has(&self, cpu: Cpu) -> bool {
        self.0.contains(&cpu)
    }
}

#[derive(Serialize)]
struct Figures {
    run_ms: f64,
    fast_ms: f64,
    /// How often one of them moved from a fast CPU to a slow one, or the other way.
    moves: usize,
}

/// Tasks of these names spent `wanted` of their run time on fast CPUs, judged from `after_ns` after the beginning.
pub fn check(replay: &Replay, fast: &FastCpus, comms: &[String], wanted: f64, after_ns: u64) -> Verdict {
    let from_ns = replay.recording.from_ns + after_ns;
    let (mut run_ns, mut fast_ns, mut moves) = (0, 0, 0);
    let mut last = std::collections::HashMap::new();
    for run in replay.runs.iter().filter(|run| comms.contains(&run.comm)) {
        let on_fast = fast.has(run.cpu);
        let judged_ns = run.time.to_ns.saturating_sub(run.time.from_ns.max(from_ns));
        run_ns += judged_ns;
        fast_ns += if on_fast { judged_ns } else { 0 };
        moves += usize::from(last.insert(run.pid, on_fast).is_some_and(|before| before != on_fast));
    }
    let (found, names) = (share(fast_ns, run_ns), comms.join(", "));
    let reason = match run_ns {
        0 => format!("{names} never ran: nothing to judge"),
        _ => format!(
            "{names}: {:.2} % of {:.1} ms on fast CPUs, {moves} moves; wanted {:.2} %",
            found * 100.0,
            ms(run_ns),
            wanted * 100.0
        ),
    };
    let figures = Figures {
        run_ms: ms(run_ns),
        fast_ms: ms(fast_ns),
        moves,
    };
    Verdict::new("fast", run_ns > 0 && found >= wanted, reason, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, trace_of_kinds, TOP};

    /// 7 runs on the slow CPU from 0 to 100, then on the fast one from 110 to 1010; 8 the other way round.
    const CHANGE: &str = r#"
        0 0 name 7 120 "one"
        0 0 name 8 120 "many"
        0 0 switch 0 R 8
        0 1 switch 0 R 7
        100 0 switch 8 R 0
        100 1 switch 7 R 0
        110 0 switch 0 R 7
        110 1 switch 0 R 8
        1010 0 switch 7 B 0
        1010 1 switch 8 B 0
    "#;

    #[test]
    fn share_of_run_time_on_fast_cpus() {
        let trace = trace_of_kinds(&[TOP, TOP / 2], 0, 1010, CHANGE);
        let replay = replay(&trace);
        let fast = FastCpus::of(&trace).unwrap();
        for (names, wanted, after_ns, holds) in [
            (&["one"][..], 0.9, 0, true),
            (&["one"], 0.901, 0, false),
            (&["one"], 1.0, 105, true),
            (&["many"], 0.1, 0, true),
            (&["many"], 0.101, 0, false),
            (&["many"], 0.001, 105, false),
            (&["one", "many"], 0.5, 0, true),
            (&["nobody"], 0.0, 0, false),
            (&["one"], 0.0, 2_000, false),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let verdict = check(&replay, &fast, &names, wanted, after_ns);
            assert_eq!(verdict.holds, holds, "{wanted}: {}", verdict.reason);
        }
    }

    #[test]
    fn equal_cpus_have_no_fast_ones() {
        let error = FastCpus::of(&trace(&[TOP, TOP], 0, 10, "")).unwrap_err();
        assert!(error.to_string().contains("no CPU is faster"));
        let error = FastCpus::of(&Trace {
            header: crate::trace::Header {
                cpus: vec![crate::trace::CpuSpeed::default()],
                ..Default::default()
            },
            ..Default::default()
        });
        assert!(error.unwrap_err().to_string().contains("--max-mhz"));
    }
}
