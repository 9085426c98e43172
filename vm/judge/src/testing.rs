// SPDX-License-Identifier: GPL-2.0-only
//! Helpers for handwritten traces.

use crate::classes::{Allowed, Classifier};
use crate::replay::Replay;
use crate::trace::{CpuSpeed, Trace};

/// Two speeds of the CPUs in handwritten traces, kHz.
pub const LOW: u64 = 1000;
pub const TOP: u64 = 2000;

/// A trace of equal CPUs with these speeds at its start, from lines in the file's format; times in ns.
pub fn trace(asked_khz: &[u64], start_ns: u64, end_ns: u64, lines: &str) -> Trace {
    let tops = vec![TOP; asked_khz.len()];
    trace_of(asked_khz, &tops, start_ns, end_ns, lines)
}

/// The same with CPUs of these top speeds, at which they run.
pub fn trace_of_kinds(top_khz: &[u64], start_ns: u64, end_ns: u64, lines: &str) -> Trace {
    trace_of(top_khz, top_khz, start_ns, end_ns, lines)
}

fn trace_of(asked_khz: &[u64], top_khz: &[u64], start_ns: u64, end_ns: u64, lines: &str) -> Trace {
    let speed = |(cpu, khz): (usize, &u64)| CpuSpeed {
        cpu: cpu as u32,
        low_khz: Some(LOW),
        top_khz: Some(top_khz[cpu]),
        asked_khz: Some(*khz),
    };
    let cpus: Vec<_> = asked_khz.iter().enumerate().map(speed).collect();
    let header = serde_json::json!({ "start_ns": start_ns, "end_ns": end_ns, "cpus": cpus });
    let body: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let file = format!("lop-trace 1\n{header}\n{}\n", body.join("\n"));
    Trace::read(file.trim_end().as_bytes()).expect("a handmade trace is well-formed")
}

pub fn replay(trace: &Trace) -> Replay {
    replay_without(trace, &[])
}

/// A replay that does not judge the tasks named in `allowed`.
pub fn replay_without(trace: &Trace, allowed: &[&str]) -> Replay {
    let words: Vec<String> = allowed.iter().map(|word| (*word).to_owned()).collect();
    Replay::new(trace, &Classifier::new(trace, Allowed::new(&words))).expect("a handmade trace is consistent")
}
