// SPDX-License-Identifier: MIT OR Apache-2.0
//! One timeline on the page: markup around the canvas, and the data that its script draws.

use super::escape::{escape, fill};
use super::pack::island;
use crate::error::ReportError;
use crate::model::{CpuSetName, Timeline};
use serde::Serialize;

const MARKUP: &str = include_str!("../../assets/timeline.html");

/// The timeline by columns. What happens at one instant names it by its place in `after_ns`, which has each instant once: a run often starts when
/// another one stops, a task wakes and the power changes. All of `after_ns`, `at` and `task` are differences to the entry before, the first to 0.
/// So they compress to a third of plain times.
#[derive(Serialize)]
struct Columns<'a> {
    end_ns: u64,
    nr_cpus: usize,
    cpu_kinds: &'a [String],
    min_khz: u64,
    max_khz: u64,
    truncated_at_ns: Option<u64>,
    task_names: &'a [String],
    after_ns: Vec<i64>,
    speeds: Speeds,
    sets: Sets,
    runs: Runs,
    wakeups: Wakeups,
    power: Powers<'a>,
}

#[derive(Serialize)]
struct Speeds {
    at: Vec<i64>,
    cpu: Vec<u32>,
    khz: Vec<u64>,
}

#[derive(Serialize)]
struct Sets {
    at: Vec<i64>,
    cpu: Vec<u32>,
    set: Vec<CpuSetName>,
}

/// `instants`: how many later the run ends than it starts.
#[derive(Serialize)]
struct Runs {
    at: Vec<i64>,
    instants: Vec<usize>,
    cpu: Vec<u32>,
    task: Vec<i64>,
}

#[derive(Serialize)]
struct Powers<'a> {
    at: Vec<i64>,
    millionths: Vec<u64>,
    unit: &'a str,
}

#[derive(Serialize)]
struct Wakeups {
    at: Vec<i64>,
    task: Vec<i64>,
    cpu: Vec<u32>,
    latency_ns: Vec<u64>,
}

/// Values are below 2^53 (see `check`).
fn differences(values: impl Iterator<Item = u64>) -> Vec<i64> {
    let mut last = 0;
    let difference = |value| value - std::mem::replace(&mut last, value);
    values.map(|value| value as i64).map(difference).collect()
}

pub(crate) fn data(timeline: &Timeline, number: usize) -> Result<String, ReportError> {
    let (speeds, sets, runs, wakeups) = (&timeline.speeds, &timeline.sets, &timeline.runs, &timeline.wakeups);
    let changes = speeds.iter().map(|s| s.at_ns).chain(sets.iter().map(|s| s.at_ns));
    let others = wakeups
        .iter()
        .map(|w| w.at_ns)
        .chain(timeline.power.iter().map(|p| p.at_ns));
    let mut instants: Vec<u64> = runs
        .iter()
        .flat_map(|r| [r.start_ns, r.end_ns])
        .chain(changes)
        .chain(others)
        .collect();
    instants.sort_unstable();
    instants.dedup();
    // Every time of the timeline is among them.
    let place = |at_ns: u64| instants.partition_point(|&instant| instant < at_ns);
    let at = |at_ns: u64| place(at_ns) as u64;
    let columns = Columns {
        end_ns: timeline.end_ns,
        nr_cpus: timeline.nr_cpus,
        cpu_kinds: &timeline.cpu_kinds,
        min_khz: timeline.min_khz,
        max_khz: timeline.max_khz,
        truncated_at_ns: timeline.truncated_at_ns,
        task_names: &timeline.task_names,
        after_ns: differences(instants.iter().copied()),
        speeds: Speeds {
            at: differences(speeds.iter().map(|s| at(s.at_ns))),
            cpu: speeds.iter().map(|s| s.cpu).collect(),
            khz: speeds.iter().map(|s| s.khz).collect(),
        },
        sets: Sets {
            at: differences(sets.iter().map(|s| at(s.at_ns))),
            cpu: sets.iter().map(|s| s.cpu).collect(),
            set: sets.iter().map(|s| s.set).collect(),
        },
        runs: Runs {
            at: differences(runs.iter().map(|r| at(r.start_ns))),
            instants: runs.iter().map(|r| place(r.end_ns) - place(r.start_ns)).collect(),
            cpu: runs.iter().map(|r| r.cpu).collect(),
            task: differences(runs.iter().map(|r| r.task.into())),
        },
        wakeups: Wakeups {
            at: differences(wakeups.iter().map(|w| at(w.at_ns))),
            task: differences(wakeups.iter().map(|w| w.task.into())),
            cpu: wakeups.iter().map(|w| w.cpu).collect(),
            latency_ns: wakeups.iter().map(|w| w.latency_ns).collect(),
        },
        power: Powers {
            at: differences(timeline.power.iter().map(|p| at(p.at_ns))),
            millionths: timeline.power.iter().map(|p| p.millionths).collect(),
            unit: &timeline.power_unit,
        },
    };
    island(&format!("timeline-{number}-data"), &serde_json::to_string(&columns)?)
}

/// Runs that are the same in everything but the policy as one, under all their names.
pub(crate) fn merged(timelines: &[Timeline]) -> Vec<Timeline> {
    let mut found: Vec<(Timeline, Vec<&str>)> = Vec::new();
    for timeline in timelines {
        let anonymous = Timeline {
            policy: String::new(),
            ..timeline.clone()
        };
        match found.iter_mut().find(|(other, _)| *other == anonymous) {
            Some((_, names)) => names.push(&timeline.policy),
            None => found.push((anonymous, vec![&timeline.policy])),
        }
    }
    let named = |(timeline, names): (Timeline, Vec<&str>)| Timeline {
        policy: names.join(", "),
        ..timeline
    };
    found.into_iter().map(named).collect()
}

/// The timelines of one study with their numbers on the page, folded; empty where there is none.
pub(crate) fn folded(timelines: &[(usize, &Timeline)]) -> String {
    if timelines.is_empty() {
        return String::new();
    }
    let links = timelines
        .iter()
        .map(|(number, timeline)| format!("<a href=\"#timeline-{number}\">{}</a>", escape(&timeline.policy)));
    let linked = match timelines.len() {
        1 => "",
        _ => "<p><label><input type=\"checkbox\" class=\"link-timelines\" checked> Move and zoom these timelines together</label></p>\n",
    };
    let drawn = timelines.iter().map(|(number, timeline)| markup(timeline, *number));
    format!(
        "<details class=\"timelines\"><summary>Timelines ({}): what ran where, at which speed</summary>\n<p class=\"links\">{}</p>\n{HOW_TO_MOVE}{linked}{}</details>\n",
        timelines.len(),
        links.collect::<Vec<_>>().join("\n"),
        drawn.collect::<String>()
    )
}

const HOW_TO_MOVE: &str = "<p class=\"note\">Drag to move, wheel to zoom (click first, or hold Ctrl), pinch on a touch screen. Keys: arrows, + and -, 0 for the whole run, n and p for the next and previous wakeup.</p>\n<noscript><p>A script draws the timelines, and scripts are switched off.</p></noscript>\n";

fn power_key(unit: &str) -> String {
    format!(
        "<span class=\"key\"><span class=\"swatch power\" aria-hidden=\"true\"></span>power ({}) of cores and voltage domains, without base load and memory</span>\n",
        escape(unit)
    )
}

fn markup(timeline: &Timeline, number: usize) -> String {
    let speed = |khz: u64| format!("{} MHz", khz as f64 / 1e3);
    let power = match timeline.power.is_empty() {
        true => String::new(),
        false => power_key(&timeline.power_unit),
    };
    fill(
        MARKUP,
        &[
            ("number", &number.to_string()),
            ("policy", &escape(&timeline.policy)),
            ("facts", &escape(&facts(timeline))),
            ("slowest", &speed(timeline.min_khz)),
            ("fastest", &speed(timeline.max_khz)),
            ("sets", &set_keys(timeline)),
            ("power", &power),
        ],
    )
}

fn facts(timeline: &Timeline) -> String {
    let mut text = match timeline.point.as_str() {
        "" => String::new(),
        point => format!("{point}: "),
    };
    text += &format!(
        "{} CPUs{}, {:.3} s, {} runs, {} wakeups",
        timeline.nr_cpus,
        kinds(&timeline.cpu_kinds),
        timeline.end_ns as f64 / 1e9,
        timeline.runs.len(),
        timeline.wakeups.len()
    );
    if let Some(at) = timeline.truncated_at_ns {
        text += &format!("; too many events, nothing recorded after {:.3} s", at as f64 / 1e9);
    }
    text
}

/// " (8 performance, 8 efficiency)": CPUs of each kind.
fn kinds(of_cpus: &[String]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for kind in of_cpus {
        match counts.iter_mut().find(|(name, _)| name == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    let texts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    match texts.as_slice() {
        [] => String::new(),
        texts => format!(" ({})", texts.join(", ")),
    }
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
