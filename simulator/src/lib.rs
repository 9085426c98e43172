// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated cores, workloads, frequency governors and power around the policy core.

mod bounds;
mod cap;
pub mod choice;
mod clocks;
mod contention;
mod engine;
pub mod experiment;
mod homes;
pub mod outcome;
mod power;
mod random;
mod waiting;
pub mod workload;

pub use cap::PowerCap;
pub use choice::{
    policy_names, AutoRule, Governor, Placement, Placing, PolicyChoice, PolicyParameters, ReservedSpeed, SetsVariant,
    Without,
};
pub use outcome::{Bounds, Counters, Outcome, SimulationError, TraceEvent, TraceSet};

use lop_machine::Machine;
use workload::Workload;

/// What one run needs beside machine, workload and policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOptions {
    /// Seeds the draws of the workload (the same for every policy) and random placement.
    pub seed: u64,
    /// Where the baseline puts a woken task.
    pub placement: Placement,
    pub policy: PolicyParameters,
    /// Record at most this many events; 0: none.
    pub trace_limit: usize,
}

/// Runs `workload` on `machine` under `policy`. Same input, same outcome, bit for bit.
///
/// # Errors
/// The workload asks for what the machine does not have, or it comes to a state in which nothing can go on.
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    policy: &PolicyChoice,
    options: &RunOptions,
) -> Result<Outcome, SimulationError> {
    engine::simulate(machine, workload, policy, options)
}
