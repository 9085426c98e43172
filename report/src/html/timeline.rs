// SPDX-License-Identifier: MIT OR Apache-2.0
//! One timeline on the page: markup around the canvas, and the data that its script draws.

use super::escape::{escape, fill, island};
use crate::error::ReportError;
use crate::model::{CpuSetName, Timeline};
use serde::Serialize;

const MARKUP: &str = include_str!("../../assets/timeline.html");

/// The timeline by columns: a fifth of the size of one object per span, and typed arrays in the browser at once.
#[derive(Serialize)]
struct Columns<'a> {
    policy: &'a str,
    end_ns: u64,
    nr_cpus: usize,
    min_khz: u64,
    max_khz: u64,
    truncated_at_ns: Option<u64>,
    task_names: &'a [String],
    speeds: Speeds,
    sets: Sets,
    runs: Runs,
    wakeups: Wakeups,
}

#[derive(Serialize)]
struct Speeds {
    at_ns: Vec<u64>,
    cpu: Vec<u32>,
    khz: Vec<u64>,
}

#[derive(Serialize)]
struct Sets {
    at_ns: Vec<u64>,
    cpu: Vec<u32>,
    set: Vec<CpuSetName>,
}

#[derive(Serialize)]
struct Runs {
    start_ns: Vec<u64>,
    end_ns: Vec<u64>,
    cpu: Vec<u32>,
    task: Vec<u32>,
}

#[derive(Serialize)]
struct Wakeups {
    at_ns: Vec<u64>,
    task: Vec<u32>,
    cpu: Vec<u32>,
    latency_ns: Vec<u64>,
}

pub(crate) fn data(timeline: &Timeline, number: usize) -> Result<String, ReportError> {
    let (speeds, sets, runs, wakeups) = (&timeline.speeds, &timeline.sets, &timeline.runs, &timeline.wakeups);
    let columns = Columns {
        policy: &timeline.policy,
        end_ns: timeline.end_ns,
        nr_cpus: timeline.nr_cpus,
        min_khz: timeline.min_khz,
        max_khz: timeline.max_khz,
        truncated_at_ns: timeline.truncated_at_ns,
        task_names: &timeline.task_names,
        speeds: Speeds {
            at_ns: speeds.iter().map(|s| s.at_ns).collect(),
            cpu: speeds.iter().map(|s| s.cpu).collect(),
            khz: speeds.iter().map(|s| s.khz).collect(),
        },
        sets: Sets {
            at_ns: sets.iter().map(|s| s.at_ns).collect(),
            cpu: sets.iter().map(|s| s.cpu).collect(),
            set: sets.iter().map(|s| s.set).collect(),
        },
        runs: Runs {
            start_ns: runs.iter().map(|r| r.start_ns).collect(),
            end_ns: runs.iter().map(|r| r.end_ns).collect(),
            cpu: runs.iter().map(|r| r.cpu).collect(),
            task: runs.iter().map(|r| r.task).collect(),
        },
        wakeups: Wakeups {
            at_ns: wakeups.iter().map(|w| w.at_ns).collect(),
            task: wakeups.iter().map(|w| w.task).collect(),
            cpu: wakeups.iter().map(|w| w.cpu).collect(),
            latency_ns: wakeups.iter().map(|w| w.latency_ns).collect(),
        },
    };
    Ok(island(
        &format!("timeline-{number}-data"),
        &serde_json::to_string(&columns)?,
    ))
}

pub(crate) fn markup(timeline: &Timeline, number: usize) -> String {
    let speed = |khz: u64| format!("{} MHz", khz as f64 / 1e3);
    fill(
        MARKUP,
        &[
            ("number", &number.to_string()),
            ("study", &escape(&timeline.study)),
            ("policy", &escape(&timeline.policy)),
            ("facts", &escape(&facts(timeline))),
            ("slowest", &speed(timeline.min_khz)),
            ("fastest", &speed(timeline.max_khz)),
            ("sets", &set_keys(timeline)),
        ],
    )
}

fn facts(timeline: &Timeline) -> String {
    let mut text = format!(
        "{} CPUs, {:.3} s, {} runs, {} wakeups",
        timeline.nr_cpus,
        timeline.end_ns as f64 / 1e9,
        timeline.runs.len(),
        timeline.wakeups.len()
    );
    if let Some(at) = timeline.truncated_at_ns {
        text += &format!("; too many events, nothing recorded after {:.3} s", at as f64 / 1e9);
    }
    text
}

/// Only the sets that occur, so that the legend explains what is there to see.
fn set_keys(timeline: &Timeline) -> String {
    let kinds = [
        (CpuSetName::High, "high", "high set"),
        (CpuSetName::Low, "low", "low set"),
        (CpuSetName::Green, "green", "green set"),
        (CpuSetName::Offline, "offline", "offline"),
    ];
    let occurs = |set: CpuSetName| timeline.sets.iter().any(|change| change.set == set);
    kinds
        .into_iter()
        .filter(|(set, _, _)| occurs(*set))
        .map(|(_, class, label)| {
            format!("<span class=\"key\"><span class=\"swatch {class}\" aria-hidden=\"true\"></span>{label}</span>\n")
        })
        .collect()
}
