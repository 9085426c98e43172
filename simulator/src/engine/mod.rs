// SPDX-License-Identifier: MIT OR Apache-2.0
//! The discrete-event engine: simulated CPUs run tasks of a workload under a scheduler, in integer nanoseconds.

mod adapter;
mod contend;
mod cpu;
mod governor;
mod ideal;
mod list;
mod plan;
mod program;
mod rates;
mod report;
mod stats;
mod sync;
mod task;
mod traits;
mod world;

pub(crate) use rates::Rates;
pub(crate) use world::World;

use crate::{PolicyChoice, PolicyParameters};
use lop_machine::Machine;
use lop_policy as policy;

/// Configuration of the policy core, for policies that it runs, and whether it knows which cores are faster and sets speeds: two of
/// the same do the same.
pub(crate) fn config_of(
    machine: &Machine,
    workload: &crate::workload::Workload,
    policy: &PolicyChoice,
    parameters: &PolicyParameters,
) -> Option<(policy::Config, [bool; 2])> {
    match policy {
        PolicyChoice::Sets(variant) => Some((
            adapter::config(machine, workload, *variant, parameters),
            [machine.kinds.len() > 1 && variant.knows_kinds(), variant.sets_speeds()],
        )),
        _ => None,
    }
}
