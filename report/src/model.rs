// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is reported: results, and the timeline of one run.

use crate::published::ComparedTable;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A set of results with what they have in common: `lop simulate`, `lop reproduce`. Serialises to the JSON contract: one
/// object with `results`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Experiment id or "simulate".
    pub title: String,
    pub description: String,
    pub machine: String,
    pub workload: String,
    /// Where the energies come from; "modelled" for the simulator.
    pub energy_source: String,
    pub seed: u64,
    pub runs: u32,
    /// What a second is worth to `auto`, where it was asked for: energy, balanced, speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// In order: sweep point by sweep point, policies in the order they were named.
    pub results: Vec<RunResult>,
    /// Only for a study that judges one policy against all others: how it did at each point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// Only for a study that varies a sweep: what its other values change, by cell and policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variations: Vec<Variation>,
    /// Figures that sources published of this experiment, beside those of these results. Left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<ComparedTable>,
    /// The recording that was replayed, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Replayed>,
}

/// A recording that was replayed. Times are s.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    pub file: String,
    /// How long it lasted.
    pub recorded_s: f64,
    /// Time on CPUs, of all its tasks.
    pub cpu_s: f64,
    /// In which a task was ready while a CPU ran something that was not recorded.
    pub others_s: f64,
    pub cpus: u32,
    pub tasks: usize,
    pub wakers_known: bool,
    /// What the replay cannot know, one sentence each.
    pub unknown: Vec<String>,
}

/// One point of a study that judges a policy.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    pub point: BTreeMap<String, PointValue>,
    pub judged: String,
    /// The policy of the lowest energy-delay product.
    pub best: String,
    /// EDP of the judged policy over the lowest, and its time over that of the first policy.
    pub edp_over_best: f64,
    pub time_over_first: f64,
    /// The clock sets the end of the workload: time, in EDP too, is the mean response.
    pub responses: bool,
    /// Only then: its energy over the lowest of policies whose mean response is no more than 1 % longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_over_in_time: Option<f64>,
    /// Its EDP is not nearly the lowest, or it is slower than the first policy.
    pub behind: bool,
    /// Only where it is behind: its figures beside those of the policy with the lowest EDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// The judged policy relative to the one with the lowest EDP, and counters of both, those of the judged policy first. EDP is power times the
/// square of the time, or times the mean response.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Beside {
    pub time: f64,
    pub power: f64,
    pub wakeups: [f64; 2],
    pub migrations: [f64; 2],
    pub high_set_mean: [f64; 2],
    /// Core-seconds that work lost until its core was at the highest speed.
    pub lost_slow_start_s: [f64; 2],
}

/// What the other values of a varied sweep change beside its first, for one policy at one point of the other sweeps.
#[derive(Debug, Clone, Serialize)]
pub struct Variation {
    pub point: BTreeMap<String, PointValue>,
    pub policy: String,
    /// Values beside the first, and of these, those with which the policy has other rules, another order of costs, and an energy that differs by more than
    /// 2 %.
    pub values: usize,
    pub other_rules: usize,
    pub other_order: usize,
    pub other_energy: usize,
    /// Lowest and highest, over that of the first value.
    pub energy: [f64; 2],
    /// Only of a judged policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VariedVerdict>,
}

/// EDP of the judged policy over the lowest: with the first value, lowest and highest with the others. And with how many of them the verdict is another.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct VariedVerdict {
    pub edp: f64,
    pub range: [f64; 2],
    pub others: usize,
}

/// One policy at one sweep point. Means over `runs` seeds.
#[derive(Debug, Clone, Serialize)]
pub struct RunResult {
    /// As it is named on the command line.
    pub policy: String,
    /// What `linux` is on this machine: "fair class, schedutil". Left out of all other policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
    /// What is swept, by name (`machine`, `placement`, `jobs`); left out where nothing is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub point: BTreeMap<String, PointValue>,
    pub time_s: f64,
    /// `None`: only ratios are known ([`RunResult::only_ratios`]).
    #[serde(flatten)]
    pub energy: Option<Energy>,
    /// Against the first policy of the same sweep point.
    pub relative: Relative,
    pub bounds: Bounds,
    /// The bounds, and their product, over the figures of the first policy of the same sweep point.
    pub relative_bounds: Relative,
    pub energy_source: String,
    pub counters: serde_json::Map<String, serde_json::Value>,
    /// 95 % confidence intervals of the means, from low to high; absent for a single run. What does not vary is not written.
    #[serde(skip_serializing_if = "Interval::is_absent")]
    pub ci95: Option<Interval>,
    /// 95 % confidence intervals of the ratios to the first policy, in pairs of runs with the same seed; absent for a single run. What does not vary is not
    /// written.
    #[serde(skip_serializing_if = "RelativeRange::is_absent")]
    pub relative_ci95: Option<RelativeRange>,
    /// Class of the application, where half of the cores are slow and the study asks for classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
}

/// Figures that hold watts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Energy {
    pub cpu_energy_j: f64,
    pub system_energy_j: f64,
    pub system_power_w: f64,
    pub edp_js: f64,
}

#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub enum PointValue {
    Number(f64),
    Text(String),
}

impl Serialize for PointValue {
    /// Untagged; whole numbers without a decimal point (`"jobs": 4`), as they were written.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                serializer.serialize_i64(*number as i64)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Relative {
    pub time: f64,
    pub system_energy: f64,
    pub edp: f64,
}

/// From low to high.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RelativeRange {
    #[serde(skip_serializing_if = "is_point")]
    pub time: [f64; 2],
    #[serde(skip_serializing_if = "is_point")]
    pub system_energy: [f64; 2],
    #[serde(skip_serializing_if = "is_point")]
    pub edp: [f64; 2],
    /// Of the mean response, where the clock sets the end of the workload.
    #[serde(skip_serializing_if = "is_none_or_point")]
    pub response: Option<[f64; 2]>,
}

impl RelativeRange {
    fn is_absent(range: &Option<Self>) -> bool {
        range.is_none_or(|range| {
            let known = [range.time, range.system_energy, range.edp];
            known.iter().chain(&range.response).all(is_point)
        })
    }
}

impl Report {
    /// Whether the goal of `auto` was speed, so that less time for more energy is what was asked for.
    pub(crate) fn is_speed_asked(&self) -> bool {
        self.goal.as_deref() == Some("speed")
    }
}

/// What no schedule can beat on this machine and workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    pub time_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_energy_j: Option<f64>,
}

/// How much time an application loses with half of the cores slow, as a share of what it loses with all of them slow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// "slow-limited", "middle", "unstable".
    pub name: String,
    /// Mean over runs: 0 as if all cores were fast, 1 as if all were slow.
    pub loss: f64,
    /// Standard deviation over runs.
    pub deviation: f64,
}

/// From low to high.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    #[serde(skip_serializing_if = "is_point")]
    pub time_s: [f64; 2],
    #[serde(skip_serializing_if = "is_none_or_point")]
    pub system_energy_j: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "is_none_or_point")]
    pub edp_js: Option<[f64; 2]>,
}

impl Interval {
    fn is_absent(interval: &Option<Self>) -> bool {
        interval.is_none_or(|interval| {
            let known = [Some(interval.time_s), interval.system_energy_j, interval.edp_js];
            known.iter().all(is_none_or_point)
        })
    }
}

/// Nothing varied: the ends, which are above 0, differ by rounding only.
pub(crate) fn is_point([low, high]: &[f64; 2]) -> bool {
    high - low <= 1e-9 * high.abs()
}

fn is_none_or_point(ends: &Option<[f64; 2]>) -> bool {
    ends.as_ref().is_none_or(is_point)
}

/// Everything that happened in one run, for the HTML timeline and Perfetto. All times in simulated ns from 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Title of the report it belongs to: timelines of one study share a time scale. May be empty.
    pub study: String,
    pub policy: String,
    /// Where in a sweep it was recorded: "machine i7-940, jobs 4". May be empty.
    pub point: String,
    pub end_ns: u64,
    pub nr_cpus: usize,
    /// Kind of each CPU's core; empty where all cores are of one kind.
    pub cpu_kinds: Vec<String>,
    /// Lowest and highest frequency of the machine, for the colour scale.
    pub min_khz: u64,
    pub max_khz: u64,
    pub task_names: Vec<String>,
    /// In order of time. A CPU's first entry is at 0.
    pub speeds: Vec<SpeedChange>,
    /// In order of time; empty for policies without sets.
    pub sets: Vec<SetChange>,
    /// In order of start.
    pub runs: Vec<RunSpan>,
    /// In order of time.
    pub wakeups: Vec<Wakeup>,
    /// In order of time; empty where it is not known.
    pub power: Vec<PowerChange>,
    /// "W", or what 1 stands for.
    pub power_unit: String,
    /// Set when recording stopped early because the run had too many events: nothing after this time is recorded.
    pub truncated_at_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SpeedChange {
    pub at_ns: u64,
    pub cpu: u32,
    pub khz: u64,
}

/// Power of all cores and voltage domains, without base load and memory, from this time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PowerChange {
    pub at_ns: u64,
    /// In millionths of [`Timeline::power_unit`].
    pub millionths: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SetChange {
    pub at_ns: u64,
    pub cpu: u32,
    pub set: CpuSetName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuSetName {
    High,
    Low,
    Green,
    Offline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RunSpan {
    pub start_ns: u64,
    pub end_ns: u64,
    pub cpu: u32,
    /// Index into `task_names`.
    pub task: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Wakeup {
    pub at_ns: u64,
    pub task: u32,
    /// Where it was placed.
    pub cpu: u32,
    /// Time from waking to running.
    pub latency_ns: u64,
}
