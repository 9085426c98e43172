// SPDX-License-Identifier: GPL-2.0-only
//! How each CPU spent its time: speeds and work.

use super::{ms, share, Verdict};
use crate::classes::Class;
use crate::replay::Replay;
use crate::trace::Cpu;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize)]
struct OfCpu {
    /// Time at each requested speed, ms by kHz.
    speed_ms: BTreeMap<u64, f64>,
    /// Share of the recording in which each class of tasks ran.
    busy: BTreeMap<String, f64>,
    /// Share of the recording in each idle state.
    idle_state: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Figures {
    recording_ms: f64,
    cpus: BTreeMap<Cpu, OfCpu>,
}

/// Only gives figures; holds if the recording has CPUs.
pub fn check(replay: &Replay) -> Verdict {
    let recording = replay.recording;
    let length_ns = recording.length_ns();
    let mut cpus: BTreeMap<Cpu, OfCpu> = BTreeMap::new();
    for (cpu, steps) in &replay.asked_khz {
        for (stretch, khz) in steps.stretches(recording.from_ns, recording.to_ns) {
            *cpus.entry(*cpu).or_default().speed_ms.entry(khz).or_default() += ms(stretch.length_ns());
        }
    }
    for run in &replay.runs {
        let busy = &mut cpus.entry(run.cpu).or_default().busy;
        *busy.entry(name(run.class)).or_default() += share(run.time.length_ns(), length_ns);
    }
    for (cpu, steps) in &replay.idle_state {
        for (stretch, state) in steps.stretches(recording.from_ns, recording.to_ns) {
            let Some(state) = state else { continue };
            let idle = &mut cpus.entry(*cpu).or_default().idle_state;
            *idle.entry(state.to_string()).or_default() += share(stretch.length_ns(), length_ns);
        }
    }
    let reason = format!("{} CPUs over {:.1} ms", cpus.len(), ms(length_ns));
    let holds = length_ns > 0 && !cpus.is_empty();
    Verdict::new(
        "residency",
        holds,
        reason,
        Figures {
            recording_ms: ms(length_ns),
            cpus,
        },
    )
}

fn name(class: Class) -> String {
    let name = serde_json::to_value(class).expect("a class has a name");
    name.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, LOW, TOP};

    #[test]
    fn worked_example() {
        let lines = r#"
            10 0 name 6 49 "rt"
            100 0 switch 0 R 7
            200 1 speed 1 2000
            250 1 idle 1 2
            300 0 switch 7 B 6
            400 0 switch 6 B 0
            500 1 idle 1 out
        "#;
        let replay = replay(&trace(&[TOP, LOW], 0, 1000, lines));
        let figures = check(&replay).figures;
        let (first, second) = (&figures["cpus"]["0"], &figures["cpus"]["1"]);
        assert_eq!(first["busy"], serde_json::json!({ "ordinary": 0.2, "real_time": 0.1 }));
        assert_eq!(first["speed_ms"], serde_json::json!({ "2000": 0.001 }));
        assert_eq!(
            second["speed_ms"],
            serde_json::json!({ "1000": 0.0002, "2000": 0.0008 })
        );
        assert_eq!(second["idle_state"], serde_json::json!({ "2": 0.25 }));
    }

    #[test]
    fn an_empty_recording_does_not_hold() {
        assert!(!check(&replay(&trace(&[], 0, 0, ""))).holds);
    }
}
