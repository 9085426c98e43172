// SPDX-License-Identifier: GPL-2.0-only
//! Short-lived processes as in a make: at most N at once, in phases of different parallelism.

use super::busy::{wall_ns, BusyClock};
use super::{children, ms};
use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use serde::Serialize;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct ForkStorm {
    /// Most children at once.
    #[arg(long, default_value_t = 8)]
    pub jobs: u64,
    /// Total number of children.
    #[arg(long, default_value_t = 500)]
    pub count: u64,
    /// Mean time that a child computes, us; drawn from 0.5 to 1.5 times this.
    #[arg(long, default_value_t = 5000)]
    pub busy_us: u64,
    /// Mean children of a phase; each phase draws its own parallelism, 1 to --jobs.
    #[arg(long, default_value_t = 30)]
    pub phase: u64,
    #[arg(long, value_enum, default_value = "cpu")]
    pub clock: BusyClock,
}

/// A time of constant parallelism; between two phases all children have ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    pub parallelism: u64,
    pub busy_us: Vec<u64>,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub children: u64,
    pub wall_ms: f64,
    pub busy_ms: f64,
    pub phases: Vec<PhaseOutcome>,
}

/// Times of a phase, on CLOCK_MONOTONIC.
#[derive(Debug, Serialize)]
pub struct PhaseOutcome {
    pub parallelism: u64,
    pub children: u64,
    pub begin_ns: u64,
    pub end_ns: u64,
}

/// The phases drawn from `seed`.
pub fn plan(load: &ForkStorm, seed: u64) -> Vec<Phase> {
    let mut random = Rng::with_seed(seed);
    let (mut phases, mut left) = (Vec::new(), load.count);
    while left > 0 {
        let parallelism = random.u64(1..=load.jobs.max(1));
        let children = random.u64(1..=(2 * load.phase).max(1)).min(left);
        let busy = |_| random.u64(load.busy_us / 2..=load.busy_us + load.busy_us / 2);
        phases.push(Phase {
            parallelism,
            busy_us: (0..children).map(busy).collect(),
        });
        left -= children;
    }
    phases
}

/// Runs the load from a process of one thread.
///
/// # Errors
/// A child cannot be started or fails.
pub fn run(load: &ForkStorm, seed: u64) -> Result<Outcome> {
    let phases = plan(load, seed);
    let begin_ns = wall_ns();
    let outcomes = phases
        .iter()
        .map(|phase| run_phase(phase, load.clock))
        .collect::<Result<Vec<_>>>()?;
    Ok(Outcome {
        comm: children::COMM,
        children: outcomes.iter().map(|phase| phase.children).sum(),
        wall_ms: ms(wall_ns() - begin_ns),
        busy_ms: phases.iter().flat_map(|phase| &phase.busy_us).sum::<u64>() as f64 / 1e3,
        phases: outcomes,
    })
}

fn run_phase(phase: &Phase, clock: BusyClock) -> Result<PhaseOutcome> {
    let begin_ns = wall_ns();
    let mut living = 0;
    for busy_us in &phase.busy_us {
        if living == phase.parallelism {
            children::reap()?;
            living -= 1;
        }
        children::start(busy_us * 1000, clock)?;
        living += 1;
    }
    (0..living).try_for_each(|_| children::reap())?;
    let children = phase.busy_us.len() as u64;
    Ok(PhaseOutcome {
        parallelism: phase.parallelism,
        children,
        begin_ns,
        end_ns: wall_ns(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> ForkStorm {
        ForkStorm {
            jobs: 4,
            count: 200,
            busy_us: 1000,
            phase: 20,
            clock: BusyClock::Cpu,
        }
    }

    #[test]
    fn a_seed_draws_one_plan_that_keeps_its_bounds() {
        let phases = plan(&load(), 5);
        assert_eq!(phases, plan(&load(), 5));
        assert_ne!(phases, plan(&load(), 6));
        assert_eq!(phases.iter().map(|phase| phase.busy_us.len()).sum::<usize>(), 200);
        assert!(phases.iter().all(|phase| (1..=4).contains(&phase.parallelism)));
        assert!(phases
            .iter()
            .flat_map(|phase| &phase.busy_us)
            .all(|us| (500..=1500).contains(us)));
        assert!(phases.windows(2).any(|pair| pair[0].parallelism != pair[1].parallelism));
    }
}
