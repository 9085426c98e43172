// SPDX-License-Identifier: MIT OR Apache-2.0
//! The discrete-event engine: simulated CPUs run tasks of a workload under a scheduler, in integer nanoseconds.

mod configure;
mod contend;
mod cores;
mod cpu;
mod fair;
mod fair_class;
mod governor;
mod ideal;
mod pelt;
mod plan;
mod policy;
mod power;
mod power_limit;
mod program;
mod rates;
mod report;
mod scheduler;
mod stats;
mod stuck;
mod sync;
mod task;
mod time;
mod turbo;
mod work;
mod world;

pub(crate) use fair_class::is_asymmetric;
pub(crate) use rates::Rates;
pub(crate) use scheduler::Scheduler;
pub(crate) use world::World;

use crate::homes::Homes;
use crate::workload::Workload;
use crate::{Governor, Outcome, PolicyChoice, PolicyParameters, RunOptions, SimulationError};
use fair::Fair;
use fair_class::FairClass;
use lop_machine::Machine;
use policy::Policy;

/// Configuration of the policy core, for policies that it runs, and whether it knows which cores are faster and sets speeds: two of
/// the same do the same.
pub(crate) fn config_of(
    machine: &Machine,
    workload: &Workload,
    policy: &PolicyChoice,
    parameters: &PolicyParameters,
) -> Option<(lop_policy::Config, [bool; 2])> {
    match policy {
        PolicyChoice::Sets(variant) => Some((
            configure::config(machine, workload, *variant, parameters),
            [machine.kinds.len() > 1 && variant.knows_kinds(), variant.sets_speeds()],
        )),
        _ => None,
    }
}

/// Runs the world of this machine and workload under the scheduler that the choice names.
pub(crate) fn simulate(
    machine: &Machine,
    workload: &Workload,
    choice: &PolicyChoice,
    options: &RunOptions,
) -> Result<Outcome, SimulationError> {
    configure::check_choice(machine, choice)?;
    let rates = Rates::new(machine, workload);
    let fair = |homes| Fair::new(machine, workload, options, homes);
    match choice {
        PolicyChoice::Linux(_) if choice.is_fair_class(machine, options.placement) => {
            let by_energy = choice.governor_on(machine, options.policy.goal) == Some(Governor::Eas);
            let class = FairClass::new(machine, workload, by_energy, options.placement_on(machine));
            run(World::new(machine, workload, choice, options, rates, class)?)
        }
        PolicyChoice::Linux(_) => run(World::new(machine, workload, choice, options, rates, fair(None))?),
        PolicyChoice::Placed(placing) => {
            let homes = Homes::new(machine, *placing, options.seed);
            run(World::new(
                machine,
                workload,
                choice,
                options,
                rates,
                fair(Some(homes)),
            )?)
        }
        PolicyChoice::Sets(variant) => {
            let policy = Policy::new((machine, &rates), workload, *variant, options)?;
            run(World::new(machine, workload, choice, options, rates, policy)?)
        }
    }
}

fn run<S: Scheduler>(mut world: World<'_, S>) -> Result<Outcome, SimulationError> {
    world.run()?;
    Ok(world.outcome())
}
