// SPDX-License-Identifier: GPL-2.0-only
//! One task that may only run on one CPU, and alternately sleeps and computes.

use super::bursts::MsRange;
use super::busy::{name_thread, wall_ns, BusyClock};
use super::ms;
use anyhow::{Context, Result};
use clap::Args;
use fastrand::Rng;
use nix::sched::{sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use serde::Serialize;
use std::thread::sleep;
use std::time::Duration;

/// Name of the task.
pub const COMM: &str = "lop-pinned";

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Pinned {
    /// The CPU.
    #[arg(long)]
    pub cpu: usize,
    #[arg(long, default_value_t = 20)]
    pub rounds: u64,
    /// Computing time in each round, ms.
    #[arg(long, default_value_t = 20)]
    pub busy_ms: u64,
    /// Sleeping time before it, ms.
    #[arg(long, default_value = "50..200")]
    pub idle_ms: MsRange,
    #[arg(long, value_enum, default_value = "cpu")]
    pub clock: BusyClock,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub cpu: usize,
    pub rounds: u64,
    pub wall_ms: f64,
    pub round_wall_ms_max: f64,
}

/// Runs the load in the calling thread.
///
/// # Errors
/// There is no such CPU, or it is offline.
pub fn run(load: &Pinned, seed: u64) -> Result<Outcome> {
    pin(&[load.cpu])?;
    name_thread(COMM)?;
    let mut random = Rng::with_seed(seed);
    let begin_ns = wall_ns();
    let mut longest_ns = 0;
    for _ in 0..load.rounds {
        sleep(Duration::from_nanos(load.idle_ms.draw_ns(&mut random)));
        let round_ns = wall_ns();
        load.clock.spend(load.busy_ms * 1_000_000);
        longest_ns = longest_ns.max(wall_ns() - round_ns);
    }
    Ok(Outcome {
        comm: COMM,
        cpu: load.cpu,
        rounds: load.rounds,
        wall_ms: ms(wall_ns() - begin_ns),
        round_wall_ms_max: ms(longest_ns),
    })
}

/// Restricts the calling thread to these CPUs.
///
/// # Errors
/// None of them is online.
pub fn pin(cpus: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu).with_context(|| format!("CPU {cpu}"))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("run on CPUs {cpus:?} only"))
}
