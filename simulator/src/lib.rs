// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulates a machine's cores, frequency governors and power, with a workload on it, under lop-policy or a baseline.

mod bounds;
mod cap;
pub mod choice;
mod clocks;
mod contention;
mod engine;
pub mod experiment;
pub mod fleet;
mod homes;
pub mod outcome;
mod power;
mod random;
mod waiting;
mod watts;
pub mod workload;

pub use cap::PowerCap;
pub use choice::{
    policy_names, AutoRule, Placing, PolicyChoice, PolicyParameters, ReservedSpeed, SetsVariant, Without,
};
pub use outcome::{Bounds, Counters, Decisions, Outcome, SimulationError, TraceEvent, TraceSet};

pub use watts::Watts;

pub use lop_machine::{Governor, Placement};

use lop_machine::Machine;
use workload::Workload;

/// Options of a run besides machine, workload and policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOptions {
    /// Seed of the workload's draws, which are the same for every policy, and of random placement.
    pub seed: u64,
    /// How the baseline places a woken task; `None`: as the machine ships.
    pub placement: Option<Placement>,
    pub policy: PolicyParameters,
    /// Largest number of events to record.
    pub trace_limit: usize,
    /// Whether to record the calls of the policy and its decisions.
    pub decisions: bool,
}

impl RunOptions {
    pub(crate) fn placement_on(&self, machine: &Machine) -> Placement {
        self.placement.unwrap_or(machine.ships.placement)
    }
}

/// Runs `workload` on `machine` under `policy`. The same input gives the same outcome, bit for bit.
///
/// # Errors
/// The workload or the policy needs what the machine does not have, or the workload deadlocks or never takes time.
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    policy: &PolicyChoice,
    options: &RunOptions,
) -> Result<Outcome, SimulationError> {
    engine::simulate(machine, workload, policy, options)
}
