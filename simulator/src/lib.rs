//! Simulated cores, workloads, frequency governors and power around the policy core.

pub mod choice;
pub mod experiment;
pub mod outcome;
pub mod workload;

pub use choice::{Governor, Placement, PolicyChoice, SetsVariant};
pub use outcome::{Bounds, Counters, Outcome, SimulationError, TraceEvent, TraceSet};

use lop_machine::Machine;
use workload::Workload;

/// What one run needs beside machine, workload and policy.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// Seeds the draws of the workload (the same for every policy) and random placement.
    pub seed: u64,
    /// Where the baseline puts a woken task.
    pub placement: Placement,
    /// Record at most this many events; 0: none.
    pub trace_limit: usize,
}

/// Runs `workload` on `machine` under `policy`. Same input, same outcome, bit for bit.
pub fn simulate(
    machine: &Machine,
    workload: &Workload,
    policy: &PolicyChoice,
    options: &RunOptions,
) -> Result<Outcome, SimulationError> {
    let _ = (machine, workload, policy, options);
    unimplemented!("engine lands next")
}
