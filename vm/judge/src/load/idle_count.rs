// SPDX-License-Identifier: GPL-2.0-only
//! What an idle machine does by itself: wakeups and switches, counted by the kernel's tracepoints.

use crate::bpf_stats::{self, Spent};
use crate::decode::Tracepoint;
use crate::record::Recorder;
use crate::trace::{Trace, What};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

const BUFFER_KB: u64 = 4096;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct IdleCount {
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
}

/// The counts.
#[derive(Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub wall_ms: f64,
    /// sched_switch.
    pub switches: u64,
    /// Switches to and from the idle task.
    pub switches_to_idle: u64,
    pub switches_from_idle: u64,
    /// sched_wakeup and sched_wakeup_new.
    pub wakeups: u64,
    /// How often a CPU left an idle state.
    pub idle_exits: u64,
    /// Context switches that /proc/stat counted.
    pub stat_switches: u64,
    /// Interrupts that /proc/stat counted.
    pub stat_interrupts: u64,
    /// Wakeups by task name.
    pub woken: BTreeMap<String, u64>,
    /// What BPF programs did in the same time, if the kernel counts it (`lop-judge bpf-stats --enable true`).
    pub bpf: Vec<Spent>,
}

/// Sleeps and counts.
///
/// # Errors
/// Not root, or events were lost.
pub fn run(load: &IdleCount) -> Result<Outcome> {
    let points = [
        Tracepoint::SchedSwitch,
        Tracepoint::SchedWakeup,
        Tracepoint::SchedWakeupNew,
        Tracepoint::CpuIdle,
    ];
    let recorder = Recorder::start(&points, BUFFER_KB)?;
    let before = (StatCounts::read()?, bpf_stats::programs()?);
    std::thread::sleep(Duration::from_secs(load.seconds));
    let after = (StatCounts::read()?, bpf_stats::programs()?);
    let mut outcome = count(&recorder.stop()?, &before.0, &after.0);
    outcome.bpf = bpf_stats::difference(&before.1, &after.1)?;
    Ok(outcome)
}

fn count(trace: &Trace, before: &StatCounts, after: &StatCounts) -> Outcome {
    let mut outcome = Outcome {
        wall_ms: super::ms(trace.header.end_ns - trace.header.start_ns),
        switches: 0,
        switches_to_idle: 0,
        switches_from_idle: 0,
        wakeups: 0,
        idle_exits: 0,
        stat_switches: after.switches.saturating_sub(before.switches),
        stat_interrupts: after.interrupts.saturating_sub(before.interrupts),
        woken: BTreeMap::new(),
        bpf: Vec::new(),
    };
    let mut names = BTreeMap::new();
    for event in &trace.events {
        let counts = event.at_ns >= trace.header.start_ns;
        match &event.what {
            What::Name { pid, comm, .. } => {
                names.insert(*pid, comm.clone());
            }
            What::Switch { prev, next, .. } if counts => {
                outcome.switches += 1;
                outcome.switches_to_idle += u64::from(*next == 0);
                outcome.switches_from_idle += u64::from(*prev == 0);
            }
            What::Idle { state: None, .. } => outcome.idle_exits += u64::from(counts),
            What::Wakeup { pid, .. } if counts => {
                outcome.wakeups += 1;
                *outcome
                    .woken
                    .entry(names.get(pid).cloned().unwrap_or_default())
                    .or_default() += 1;
            }
            _ => {}
        }
    }
    outcome
}

struct StatCounts {
    switches: u64,
    interrupts: u64,
}

impl StatCounts {
    fn read() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/stat").context("/proc/stat")?;
        StatCounts::parse(&text).context("/proc/stat lacks ctxt or intr")
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.split(' ').next()?.parse().ok()
        };
        Some(StatCounts {
            switches: number("ctxt")?,
            interrupts: number("intr")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    #[test]
    fn events_after_the_start_are_counted() {
        let lines = r#"
            50 0 name 7 120 "a"
            50 0 wakeup 7 0
            60 0 switch 0 R 7
            110 0 switch 7 B 0
            120 0 idle 0 1
            150 0 idle 0 out
            150 0 wakeup 7 0
            160 0 switch 0 R 7
        "#;
        let stat = |text| StatCounts::parse(text).unwrap();
        let before = stat("cpu 1 2\nintr 100 5 6\nctxt 1000\n");
        let after = stat("cpu 1 2\nintr 130 5 6\nctxt 1004\n");
        let outcome = count(&trace(&[], 100, 200, lines), &before, &after);
        assert_eq!((outcome.switches, outcome.wakeups, outcome.idle_exits), (2, 1, 1));
        assert_eq!((outcome.switches_to_idle, outcome.switches_from_idle), (1, 1));
        assert_eq!((outcome.stat_switches, outcome.stat_interrupts), (4, 30));
        assert_eq!(outcome.woken, BTreeMap::from([("a".to_owned(), 1)]));
        assert!(StatCounts::parse("intr 5").is_none());
    }
}
