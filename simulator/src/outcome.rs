// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a run.

use lop_machine::live::LiveMachine;
use lop_policy::record::Record;
use lop_policy::Config;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub time_ns: u64,
    /// Cores and voltage domains; modelled.
    pub cpu_energy_j: f64,
    /// Also base and DRAM; modelled.
    pub system_energy_j: f64,
    pub bounds: Bounds,
    pub counters: Counters,
    /// Number of events handled.
    pub events: u64,
    /// Ordered by time; empty unless requested.
    pub trace: Vec<TraceEvent>,
    /// When `trace_limit` was reached, so that the trace ends; `None`: it is complete.
    pub trace_truncated_at_ns: Option<u64>,
    /// Names of the tasks by their ids in `trace`; empty unless requested.
    pub task_names: Vec<String>,
    /// Power of all cores and voltage domains from each time (ns) on; empty unless asked for, and as far as the trace goes.
    pub power_uw: Vec<(u64, u64)>,
    /// `None` unless requested, and for baselines.
    pub decisions: Option<Decisions>,
}

/// What the policy was told and what it decided, as `lop start --log-decisions` logs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decisions {
    pub machine: LiveMachine,
    pub config: Config,
    pub records: Vec<Record>,
}

/// Lower bounds that no schedule can beat on that machine and workload (docs/model.md).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    pub time_s: f64,
    pub system_energy_j: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counters {
    pub tasks: u64,
    pub promotions: u64,
    pub demotions: u64,
    pub heat_swaps: u64,
    pub migrations: u64,
    pub context_switches: u64,
    /// New tasks too.
    pub wakeups: u64,
    /// To the CPU that the task last ran on.
    pub woken_on_last_cpu: u64,
    /// Mean number of busy CPUs while any was busy.
    pub cpus_used: f64,
    pub frequency_transitions: u64,
    /// Largest number of CPUs in the high set at once, and its mean over time; 0 for policies without sets.
    pub high_set_max: u32,
    pub high_set_mean: f64,
    pub wakeup_latency_us: Percentiles,
    /// Only if the workload's duration ended the run. Response time of jobs that the clock starts: from an arrival or the end of a sleep until the task
    /// waits for the clock again or exits. In this mean a job that a timer starts counts until the timer expires again: nobody waits for it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_response_s: Option<f64>,
    /// The same without jobs that a timer starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_us: Option<Percentiles>,
    /// Of the jobs that a timer started, the share that was not done when it expired again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_share: Option<f64>,
    /// Core-seconds of busy time by frequency ("2400 MHz") over all busy core-seconds.
    pub run_share_by_speed: BTreeMap<String, f64>,
    /// Share of all core time at each frequency, busy or idle.
    pub frequency_residency: BTreeMap<String, f64>,
    /// Share of all core time: "busy" and each idle state by name ("parked" too).
    pub idle_state_residency: BTreeMap<String, f64>,
    /// Share of work done while its core was at its highest OPP.
    pub full_speed_share: f64,
    /// Problem A: run time lost below the highest OPP between a start and the governor's next sample, where the load of its period was elsewhere.
    pub lost_slow_start_s: f64,
    /// Problem B: the rest of the run time lost below the highest OPP, under a governor that measures load.
    pub lost_mismeasured_s: f64,
    /// Run time lost to a speed below the highest that was chosen: powersave, userspace, a reserved core.
    pub lost_fixed_speed_s: f64,
    /// Run time minus what the work would have taken alone in its memory domain, at the same speed.
    pub lost_contention_s: f64,
    /// Time for which tasks spun.
    pub spin_s: f64,
    /// By application: time from its first task to its last exit; and the mean of that. Only if there are several applications.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub app_time_s: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_app_time_s: Option<f64>,
    pub core_energy_j: Vec<f64>,
    pub voltage_domain_energy_j: Vec<f64>,
    pub base_energy_j: f64,
    pub dram_energy_j: f64,
    /// Only if a core was reserved: steps by which its speed was raised, and 1 if the reservation was given up, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_core_raises: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_core_given_up: Option<u32>,
    /// Highest modelled core temperature, if the machine has a thermal model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hottest_core_c: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEvent {
    Speed {
        at_ns: u64,
        cpu: u16,
        khz: u64,
    },
    Set {
        at_ns: u64,
        cpu: u16,
        set: TraceSet,
    },
    /// A task became runnable, and was placed on a CPU or queued for it.
    Wakeup {
        at_ns: u64,
        task: u32,
        cpu: u16,
    },
    /// The task has the CPU from now on, and runs `exit_ns` later, once the core has left its idle state.
    Start {
        at_ns: u64,
        task: u32,
        cpu: u16,
        exit_ns: u64,
    },
    Stop {
        at_ns: u64,
        task: u32,
        cpu: u16,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceSet {
    High,
    Low,
    Green,
    Offline,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SimulationError {
    /// Tasks are left and none can go on. `waits`: who waits for whom, one line each.
    Deadlock { at_ns: u64, waits: Vec<String> },
    /// The machine does not have what the workload or the policy needs, or the workload never takes time.
    Mismatch(String),
    /// A policy's name asks for what this machine does not have (cores, a frequency); says what it has.
    Choice(String),
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock { at_ns, waits } => {
                write!(f, "deadlock at {:.6} s: nothing can go on", *at_ns as f64 / 1e9)?;
                for wait in waits {
                    write!(f, "\n  {wait}")?;
                }
                Ok(())
            }
            Self::Mismatch(message) | Self::Choice(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for SimulationError {}
