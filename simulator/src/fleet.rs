// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fleet: applications arrive at many machines, run in a memory domain each, and leave. Coarser than the engine: nothing is switched or woken, an
//! application is as many busy cores as it asks for, at the speed that contention in its domain leaves it, with the clocks of a machine whose cores
//! are all busy. docs/model.md says what that leaves out.

mod application;
mod asked;
mod bound;
mod experiment;
mod model;
mod places;
mod run;
mod scored;

pub use asked::{Arrival, Place, Scheduler};
pub use experiment::{Experiment, PolicyResult, Results};

use crate::outcome::Bounds;
use application::Application;
use lop_machine::Machine;
use model::Model;
use run::Placer;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Who says where an application goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The machine with the largest share of its cores free: kube-scheduler's NodeResourcesFit as it is shipped.
    LeastAllocated,
    /// The one with the smallest that still fits: the same with the scoring strategy MostAllocated.
    MostAllocated,
    /// The one whose power grows least.
    PowerOnly,
    /// policy/domains/arrive.h.
    Gather,
    /// As `LeastAllocated`, and no machine is ever switched off.
    AlwaysOn,
}

impl Policy {
    pub const NAMES: [(&'static str, Self); 5] = [
        ("least-allocated", Self::LeastAllocated),
        ("most-allocated", Self::MostAllocated),
        ("power-only", Self::PowerOnly),
        ("gather", Self::Gather),
        ("always-on", Self::AlwaysOn),
    ];
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        let known = || Self::NAMES.map(|(name, _)| name).join(", ");
        found
            .map(|(_, policy)| *policy)
            .ok_or_else(|| format!("unknown policy '{text}' of a fleet; known: {}", known()))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::NAMES.iter().find(|(_, policy)| policy == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

/// What a file says of a fleet and of what arrives there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub machines: u32,
    /// Names or paths of machine files; the machines of the fleet are of these kinds in turn.
    pub machine: Vec<String>,
    /// A machine without applications is switched off after this time.
    pub off_after_s: f64,
    /// Until a machine that is switched on runs its applications. It draws what it draws with one core busy.
    pub boot_s: f64,
    /// What a machine draws that is off.
    pub off_w: f64,
    pub arrivals_per_machine: u32,
    /// Share of all cores that the work would keep busy if nobody waited and nobody contended. Applications arrive at random (Poisson) at that rate.
    pub load: f64,
    /// Share of applications whose use of memory is intensive; each is one of data/applications.toml.
    pub intensive: f64,
    /// Cores that applications ask for, each of these as often.
    pub cores: Vec<u32>,
    /// Mean time of an application on reference cores (exponential).
    pub run_s: f64,
}

/// A fleet with its machine files read.
#[derive(Debug, Clone)]
pub struct Fleet {
    setup: Setup,
    models: Vec<Model>,
}

/// What one policy came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// From arrival to end: waiting counts.
    pub mean_response_s: f64,
    /// Of the fleet, modelled, until the last application has ended; and of it what cores and voltage domains draw.
    pub energy_j: f64,
    pub cpu_energy_j: f64,
    /// `time_s`: of the mean response.
    pub bounds: Bounds,
    pub counters: Counters,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counters {
    pub arrivals: u64,
    pub placed: u64,
    pub ended: u64,
    /// Of those that nothing fitted for a while or whose machine was off, and the longest wait for both.
    pub waited: u64,
    pub longest_wait_s: f64,
    /// Running time over time alone in an idle memory domain of the fastest machine: mean and worst, and the share of applications beyond 1.05.
    pub mean_slowdown: f64,
    pub worst_slowdown: f64,
    pub late_share: f64,
    /// Mean over time, those that boot included.
    pub machines_on: f64,
    pub boots: u64,
    /// Until the last application ended.
    pub end_s: f64,
}

impl Fleet {
    /// `machines`: those of `setup.machine`, in that order.
    ///
    /// # Errors
    /// A message: figures out of range, or a machine whose cores are not of one kind.
    pub fn new(setup: Setup, machines: &[Machine]) -> Result<Self, String> {
        setup.check()?;
        let in_use = machines.iter().take(setup.machines as usize);
        let models = in_use.map(Model::new).collect::<Result<Vec<_>, _>>()?;
        let largest = models
            .iter()
            .flat_map(|model| &model.domains)
            .max()
            .copied()
            .unwrap_or(0);
        if let Some(cores) = setup.cores.iter().find(|&&cores| cores > largest) {
            return Err(format!(
                "cores: {cores} fit into no memory domain; the largest has {largest}"
            ));
        }
        if let Some(model) = models.iter().find(|model| model.power_w(0) < setup.off_w) {
            let idle = match model.donor {
                Some(_) => "less than that".to_string(),
                None => format!("{} W", model.power_w(0)),
            };
            return Err(format!(
                "off_w = {}, but '{}' draws {idle} idle",
                setup.off_w, model.title
            ));
        }
        Ok(Self { setup, models })
    }

    /// Runs the arrivals of this seed, which are the same for every policy. The same input gives the same outcome, bit for bit.
    pub fn simulate(&self, policy: Policy, seed: u64) -> Outcome {
        run::run(self, policy, &self.arrivals(seed))
    }

    /// The same with a scheduler from elsewhere. `always_on`: no machine is ever switched off.
    pub fn simulate_asking(&self, scheduler: &mut dyn Scheduler, always_on: bool, seed: u64) -> Outcome {
        let placer = Placer::asking(scheduler, self);
        run::run_by(self, placer, always_on, &self.arrivals(seed))
    }

    fn model_of(&self, machine: u32) -> usize {
        machine as usize % self.models.len()
    }

    /// Models of the machines of the fleet, one after the other.
    fn machines(&self) -> impl Iterator<Item = (usize, &Model)> {
        (0..self.setup.machines).map(|n| (self.model_of(n), &self.models[self.model_of(n)]))
    }

    fn arrivals(&self, seed: u64) -> Vec<Application> {
        application::draw(self, seed)
    }
}

impl Setup {
    const MOST_MACHINES: u32 = 100_000;

    fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: f64, from: f64, to: f64| match (from..=to).contains(&value) {
            true => Ok(()),
            false => Err(format!("{key} = {value}, expected {from} to {to}")),
        };
        within("machines", self.machines.into(), 1.0, Self::MOST_MACHINES.into())?;
        within("arrivals_per_machine", self.arrivals_per_machine.into(), 1.0, 10_000.0)?;
        within("off_after_s", self.off_after_s, 0.0, 1e6)?;
        within("boot_s", self.boot_s, 0.0, 1e4)?;
        within("off_w", self.off_w, 0.0, 1e4)?;
        within("load", self.load, 0.001, 10.0)?;
        within("intensive", self.intensive, 0.0, 1.0)?;
        within("run_s", self.run_s, 0.001, 1e7)?;
        if self.machine.is_empty() || self.cores.is_empty() || self.cores.contains(&0) {
            return Err("expected a machine at least, and numbers of cores from 1".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
