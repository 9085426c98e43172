// SPDX-License-Identifier: GPL-2.0-only
//! Bursts of work after random idle times.

use super::busy::{name_thread, wall_ns, BusyClock};
use anyhow::{anyhow, Result};
use clap::Args;
use fastrand::Rng;
use serde::Serialize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

/// Name of the working threads.
pub const COMM: &str = "lop-burst";

/// A range of milliseconds, `5..200` or `5`.
#[derive(Debug, Clone, PartialEq)]
pub struct MsRange(RangeInclusive<u64>);

impl MsRange {
    /// A length from the range, ns.
    pub fn draw_ns(&self, random: &mut Rng) -> u64 {
        random.u64(self.0.start() * 1_000_000..=self.0.end() * 1_000_000)
    }
}

impl FromStr for MsRange {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let number = |word: &str| {
            word.parse::<u64>()
                .map_err(|_| anyhow!("`{text}`: write 5..200 or 5, in ms"))
        };
        let range = number(low)?..=number(high)?;
        anyhow::ensure!(!range.is_empty(), "`{text}`: the end is below the beginning");
        Ok(MsRange(range))
    }
}

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Bursts {
    /// Total number of bursts, divided among the threads.
    #[arg(long, default_value_t = 1000)]
    pub count: u64,
    /// Length of a burst, ms.
    #[arg(long, default_value_t = 50)]
    pub busy_ms: u64,
    /// Idle time before each burst, ms: a range to draw from, or one number.
    #[arg(long, default_value = "5..200")]
    pub idle_ms: MsRange,
    /// Number of threads, each with its own random sequence.
    #[arg(long, default_value_t = 1)]
    pub threads: u64,
    /// The clock for the length of a burst; CPU time means the same work under any scheduler.
    #[arg(long, value_enum, default_value = "cpu")]
    pub clock: BusyClock,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub bursts: u64,
    pub wall_ms: f64,
    pub busy_ms: f64,
    /// Wall time of a burst.
    pub burst_wall_ms_mean: f64,
    pub burst_wall_ms_max: f64,
}

/// Runs the load; the idle times are those of `seed`.
///
/// # Errors
/// A thread cannot be started.
pub fn run(load: &Bursts, seed: u64) -> Result<Outcome> {
    anyhow::ensure!(load.threads > 0, "--threads 0: at least one thread");
    let begin_ns = wall_ns();
    let parts: Vec<_> = (0..load.threads)
        .map(|index| part(load, seed, index))
        .collect::<Result<_>>()?;
    let mut walls = Vec::new();
    for part in parts {
        walls.extend(part.join().map_err(|_| anyhow!("a burst thread panicked"))??);
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    Ok(Outcome {
        comm: COMM,
        bursts: walls.len() as u64,
        wall_ms: ms(wall_ns() - begin_ns),
        busy_ms: (walls.len() as u64 * load.busy_ms) as f64,
        burst_wall_ms_mean: ms(walls.iter().sum::<u64>()) / walls.len().max(1) as f64,
        burst_wall_ms_max: ms(walls.iter().copied().max().unwrap_or(0)),
    })
}

/// Starts thread `index` with its part of the bursts; it returns the wall time of each, ns.
fn part(load: &Bursts, seed: u64, index: u64) -> Result<thread::JoinHandle<Result<Vec<u64>>>> {
    let load = load.clone();
    let count = load.count / load.threads + u64::from(index < load.count % load.threads);
    let mut random = Rng::with_seed(seed.wrapping_add(index));
    Ok(thread::Builder::new().spawn(move || {
        name_thread(COMM)?;
        let burst = |_| {
            thread::sleep(Duration::from_nanos(load.idle_ms.draw_ns(&mut random)));
            let begin_ns = wall_ns();
            load.clock.spend(load.busy_ms * 1_000_000);
            wall_ns() - begin_ns
        };
        Ok((0..count).map(burst).collect())
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!("5..200".parse::<MsRange>().unwrap(), MsRange(5..=200));
        assert_eq!("7".parse::<MsRange>().unwrap(), MsRange(7..=7));
        assert!("9..5".parse::<MsRange>().is_err() && "5-9".parse::<MsRange>().is_err());
        let draw = |seed| MsRange(5..=200).draw_ns(&mut Rng::with_seed(seed));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        assert!((5_000_000..=200_000_000).contains(&draw(3)));
    }

    #[test]
    fn every_burst_is_done_whatever_the_number_of_threads() {
        let idle_ms = MsRange(0..=1);
        let load = Bursts {
            count: 7,
            busy_ms: 1,
            idle_ms,
            threads: 3,
            clock: BusyClock::Cpu,
        };
        let outcome = run(&load, 1).unwrap();
        assert_eq!(outcome.bursts, 7);
        assert!(outcome.burst_wall_ms_mean >= 1.0);
    }
}
