// SPDX-License-Identifier: GPL-2.0-only
//! Many forks, as fast as possible.

use super::busy::{wall_ns, BusyClock};
use super::{children, ms};
use anyhow::Result;
use clap::Args;
use serde::Serialize;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Storm {
    /// Total number of forks.
    #[arg(long, default_value_t = 10_000)]
    pub count: u64,
    /// Most children at once.
    #[arg(long, default_value_t = 64)]
    pub living: u64,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub forks: u64,
    pub wall_ms: f64,
    pub forks_per_s: f64,
}

/// Runs the load from a process of one thread; the children end at once.
///
/// # Errors
/// A child cannot be started or fails.
pub fn run(load: &Storm) -> Result<Outcome> {
    anyhow::ensure!(load.living > 0, "--living 0: at least one child at once");
    let begin_ns = wall_ns();
    for number in 0..load.count {
        if number >= load.living {
            children::reap()?;
        }
        children::start(0, BusyClock::Wall)?;
    }
    (0..load.count.min(load.living)).try_for_each(|_| children::reap())?;
    let wall_ns = wall_ns() - begin_ns;
    Ok(Outcome {
        forks: load.count,
        wall_ms: ms(wall_ns),
        forks_per_s: load.count as f64 / (wall_ns as f64 / 1e9),
    })
}
