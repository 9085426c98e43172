// SPDX-License-Identifier: MIT OR Apache-2.0
//! The TOML schema of a workload for serde: names are not resolved, numbers not checked, and every value has its place.
//!
//! Maps keep the order of the file, so that programs and starts are numbered as they were written.

use indexmap::IndexMap;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use std::fmt;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub name: Option<String>,
    #[serde(default)]
    pub description: String,
    pub duration_s: Option<Spanned<f64>>,
    pub scale: Option<Spanned<f64>>,
    pub memory_share: Option<Spanned<f64>>,
    #[serde(default)]
    pub app: IndexMap<String, Spanned<RawApp>>,
    #[serde(default)]
    pub memory: IndexMap<String, Spanned<RawMemoryUse>>,
    #[serde(default)]
    pub barrier: IndexMap<String, Spanned<RawBarrier>>,
    #[serde(default)]
    pub mutex: IndexMap<String, Spanned<RawMutex>>,
    #[serde(default)]
    pub condition: IndexMap<String, Spanned<RawCondition>>,
    #[serde(default, rename = "loop")]
    pub loops: IndexMap<String, Spanned<RawLoop>>,
    #[serde(default)]
    pub task: IndexMap<String, Spanned<RawTask>>,
    #[serde(default)]
    pub pool: IndexMap<String, Spanned<RawPool>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawApp {
    /// How many of its tasks want to run at once.
    pub parallelism: Option<Spanned<u64>>,
    /// Its tasks share data.
    #[serde(default)]
    pub shares_memory: bool,
    /// Its tasks are the operating system's own work.
    #[serde(default)]
    pub system: bool,
    /// Memory intensity of its tasks as it declares it, which a policy prefers to counters.
    pub memory_class: Option<RawMemoryClass>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawMemoryClass {
    VeryLow,
    Moderate,
    Intensive,
}

/// How an application uses memory. What is left out is taken from the built-in one of that name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMemoryUse {
    pub mpki: Option<Spanned<f64>>,
    pub cpi0: Option<Spanned<f64>>,
    pub mlp: Option<Spanned<f64>>,
    pub cache_sensitivity: Option<Spanned<f64>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawWaiting {
    Block,
    Spin,
    /// Spin, but leave the core's throughput to its SMT siblings.
    Stall,
    /// Spin this long, then block.
    SpinUs(f64),
    /// Spin this long, then raise a flag and spin on.
    NotifyUs(f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBarrier {
    pub parties: Spanned<u64>,
    pub waiting: Option<Spanned<RawWaiting>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMutex {
    pub waiting: Option<Spanned<RawWaiting>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCondition {
    pub waiting: Option<Spanned<RawWaiting>>,
    #[serde(default)]
    pub counting: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawSchedule {
    Static,
    Dynamic(u64),
    Guided(u64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoop {
    pub iterations: Spanned<u64>,
    /// Work of one iteration.
    pub work_us: Spanned<f64>,
    pub schedule: Option<Spanned<RawSchedule>>,
    pub parties: Spanned<u64>,
    pub memory_share: Option<Spanned<f64>>,
    pub memory: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTask {
    /// Number of tasks that the workload starts by itself (per arrival); 0: the program is only forked or run by a pool.
    pub count: Option<Spanned<u64>>,
    pub start_s: Option<Spanned<RawAmount>>,
    pub start_ms: Option<Spanned<RawAmount>>,
    pub start_us: Option<Spanned<RawAmount>>,
    #[serde(default)]
    pub after: Vec<Spanned<String>>,
    pub arrivals: Option<Spanned<RawArrivals>>,
    pub nice: Option<Spanned<i64>>,
    pub cgroup_weight: Option<Spanned<i64>>,
    pub cpus: Option<Spanned<Vec<Spanned<i64>>>>,
    /// Relative length of each of its tasks, declared before it is created.
    pub length: Option<Spanned<u64>>,
    pub app: Option<Spanned<String>>,
    pub memory_share: Option<Spanned<f64>>,
    /// Instead of `memory_share`: the name of a memory use.
    pub memory: Option<Spanned<String>>,
    pub steps: Vec<Spanned<RawStep>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawArrivals {
    pub every_s: Option<Spanned<RawAmount>>,
    pub every_ms: Option<Spanned<RawAmount>>,
    pub every_us: Option<Spanned<RawAmount>>,
    pub limit: Option<Spanned<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPool {
    pub slots: Spanned<u64>,
    pub app: Option<Spanned<String>>,
    pub memory_share: Option<Spanned<f64>>,
    pub memory: Option<Spanned<String>>,
    /// Number of processes.
    pub phases: Option<Spanned<u64>>,
    /// Their total work.
    pub work_s: Option<Spanned<f64>>,
    /// Coefficient of variation of the phases (of the objects, in a graph).
    pub cv: Option<Spanned<f64>>,
    /// Share of phases and work that comes after all the rest, one after the other.
    pub serial_tail: Option<Spanned<f64>>,
    /// Work of `make` itself, one process per item, as a share of `work_s`.
    pub helper: Option<Spanned<f64>>,
    pub graph: Option<Spanned<RawGraph>>,
    pub items: Option<Spanned<Vec<Spanned<RawItem>>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGraph {
    pub directories: Spanned<u64>,
    /// Share of the work in the archive steps, one per directory.
    pub archive: Option<Spanned<f64>>,
    /// The processes of an object, in order, each with its share of the object's work.
    pub stages: Spanned<IndexMap<String, Spanned<f64>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawItem {
    pub name: Option<Spanned<String>>,
    pub stages: Vec<Spanned<String>>,
    #[serde(default)]
    pub after: Vec<Spanned<String>>,
    pub helper: Option<Spanned<String>>,
}

/// A number, or a distribution: `{ mean, cv }` lognormal, `{ mean }` exponential, `{ min, max }` uniform. In the unit of its key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RawAmount {
    Fixed(f64),
    Uniform { min: f64, max: f64 },
    Exponential { mean: f64 },
    Lognormal { mean: f64, cv: f64 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDistribution {
    mean: Option<f64>,
    cv: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
}

impl<'de> Deserialize<'de> for RawAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl<'de> Visitor<'de> for AmountVisitor {
    type Value = RawAmount;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, { mean, cv }, { mean } or { min, max }")
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<RawAmount, E> {
        Ok(RawAmount::Fixed(v as f64))
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<RawAmount, E> {
        Ok(RawAmount::Fixed(v as f64))
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<RawAmount, E> {
        Ok(RawAmount::Fixed(v))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawAmount, A::Error> {
        let raw = RawDistribution::deserialize(de::value::MapAccessDeserializer::new(map))?;
        match (raw.mean, raw.cv, raw.min, raw.max) {
            (Some(mean), Some(cv), None, None) => Ok(RawAmount::Lognormal { mean, cv }),
            (Some(mean), None, None, None) => Ok(RawAmount::Exponential { mean }),
            (None, None, Some(min), Some(max)) => Ok(RawAmount::Uniform { min, max }),
            _ => Err(de::Error::custom(
                "expected { mean, cv } (lognormal), { mean } (exponential) or { min, max } (uniform)",
            )),
        }
    }
}

/// Largest number of passes of a `repeat`.
const MAX_TIMES: u64 = 1_000_000_000;

/// How often a `repeat` runs its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawTimes {
    Times(u64),
    Forever,
}

impl<'de> Deserialize<'de> for RawTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimesVisitor)
    }
}

struct TimesVisitor;

impl Visitor<'_> for TimesVisitor {
    type Value = RawTimes;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a whole number from 1 to 1000000000 or \"forever\"")
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<RawTimes, E> {
        match u64::try_from(v) {
            Ok(v) if (1..=MAX_TIMES).contains(&v) => Ok(RawTimes::Times(v)),
            _ => Err(E::invalid_value(de::Unexpected::Signed(v), &self)),
        }
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<RawTimes, E> {
        match v {
            "forever" => Ok(RawTimes::Forever),
            _ => Err(E::invalid_value(de::Unexpected::Str(v), &self)),
        }
    }
}

/// A table of the file that a step refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Lock,
    Unlock,
    Barrier,
    Wait,
    Signal,
    Broadcast,
    Loop,
    Pool,
    Fork,
    Join,
}

#[derive(Debug)]
pub(super) enum Action {
    /// Amount and ns per unit.
    Run(Spanned<RawAmount>, f64),
    Sleep(Spanned<RawAmount>, f64),
    Timer(Spanned<RawAmount>, f64),
    Name(Verb, Spanned<String>),
    Repeat(Spanned<RawTimes>),
    Yield,
}

/// One step: exactly one action, and what modifies it.
#[derive(Debug)]
pub(super) struct RawStep {
    pub action: Action,
    pub count: Option<Spanned<u64>>,
    pub mutex: Option<Spanned<String>>,
    pub memory_share: Option<Spanned<f64>>,
    pub memory: Option<Spanned<String>>,
    pub timer: Option<Spanned<String>>,
    pub steps: Option<Vec<Spanned<RawStep>>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum StepKey {
    RunS,
    RunMs,
    RunUs,
    SleepS,
    SleepMs,
    SleepUs,
    TimerS,
    TimerMs,
    TimerUs,
    Timer,
    Lock,
    Unlock,
    Barrier,
    Wait,
    Mutex,
    Signal,
    Broadcast,
    Loop,
    Pool,
    Fork,
    Count,
    Join,
    Repeat,
    Steps,
    Yield,
    MemoryShare,
    Memory,
}

const SECOND: f64 = 1e9;
const MILLISECOND: f64 = 1e6;
const MICROSECOND: f64 = 1e3;

impl<'de> Deserialize<'de> for RawStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = RawStep;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a step such as { run_ms = 5 }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawStep, A::Error> {
        let mut action = None;
        let (mut count, mut mutex, mut timer, mut steps) = (None, None, None, None);
        let (mut memory_share, mut memory) = (None, None);
        while let Some(key) = map.next_key::<StepKey>()? {
            match key {
                StepKey::Count => count = Some(map.next_value()?),
                StepKey::Mutex => mutex = Some(map.next_value()?),
                StepKey::MemoryShare => memory_share = Some(map.next_value()?),
                StepKey::Memory => memory = Some(map.next_value()?),
                StepKey::Timer => timer = Some(map.next_value()?),
                StepKey::Steps => steps = Some(map.next_value()?),
                _ => {
                    let next = action_of(key, &mut map)?;
                    if action.replace(next).is_some() {
                        return Err(de::Error::custom(
                            "two actions in one step; expected one (put each in its own { })",
                        ));
                    }
                }
            }
        }
        let action =
            action.ok_or_else(|| de::Error::custom("a step without an action; expected one such as { run_ms = 5 }"))?;
        Ok(RawStep {
            action,
            count,
            mutex,
            memory_share,
            memory,
            timer,
            steps,
        })
    }
}

fn action_of<'de, A: MapAccess<'de>>(key: StepKey, map: &mut A) -> Result<Action, A::Error> {
    let name = |verb, map: &mut A| Ok(Action::Name(verb, map.next_value()?));
    match key {
        StepKey::RunS => Ok(Action::Run(map.next_value()?, SECOND)),
        StepKey::RunMs => Ok(Action::Run(map.next_value()?, MILLISECOND)),
        StepKey::RunUs => Ok(Action::Run(map.next_value()?, MICROSECOND)),
        StepKey::SleepS => Ok(Action::Sleep(map.next_value()?, SECOND)),
        StepKey::SleepMs => Ok(Action::Sleep(map.next_value()?, MILLISECOND)),
        StepKey::SleepUs => Ok(Action::Sleep(map.next_value()?, MICROSECOND)),
        StepKey::TimerS => Ok(Action::Timer(map.next_value()?, SECOND)),
        StepKey::TimerMs => Ok(Action::Timer(map.next_value()?, MILLISECOND)),
        StepKey::TimerUs => Ok(Action::Timer(map.next_value()?, MICROSECOND)),
        StepKey::Lock => name(Verb::Lock, map),
        StepKey::Unlock => name(Verb::Unlock, map),
        StepKey::Barrier => name(Verb::Barrier, map),
        StepKey::Wait => name(Verb::Wait, map),
        StepKey::Signal => name(Verb::Signal, map),
        StepKey::Broadcast => name(Verb::Broadcast, map),
        StepKey::Loop => name(Verb::Loop, map),
        StepKey::Pool => name(Verb::Pool, map),
        StepKey::Fork => name(Verb::Fork, map),
        StepKey::Join => name(Verb::Join, map),
        StepKey::Repeat => Ok(Action::Repeat(map.next_value()?)),
        StepKey::Yield => match map.next_value::<bool>()? {
            true => Ok(Action::Yield),
            false => Err(de::Error::custom(
                "`yield = false` does nothing; expected true, or no such step",
            )),
        },
        StepKey::Timer | StepKey::Mutex | StepKey::Count => Err(de::Error::custom("expected an action")),
        StepKey::Steps | StepKey::MemoryShare | StepKey::Memory => Err(de::Error::custom("expected an action")),
    }
}
