// SPDX-License-Identifier: GPL-2.0-only
//! Threads that a clock wakes at equal intervals, as a player of video does: each computes, and may then wake another one that does. That has to be done
//! before the next time.

use super::busy::{name_thread, wall_ns, BusyClock};
use super::ms;
use anyhow::{ensure, Context, Result};
use clap::Args;
use nix::sys::time::TimeSpec;
use nix::time::{clock_nanosleep, ClockId, ClockNanosleepFlags};
use serde::Serialize;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Name of the threads.
pub const COMM: &str = "lop-frame";

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Frames {
    /// Number of threads.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// How often each is woken.
    #[arg(long, default_value_t = 100)]
    pub count: u64,
    /// Time from one to the next, ms.
    #[arg(long, default_value_t = 50)]
    pub interval_ms: u64,
    /// Computing time of each, ms.
    #[arg(long, default_value_t = 5)]
    pub busy_ms: u64,
    /// Computing time of a second thread, which the first one wakes then, ms; 0: there is none.
    #[arg(long, default_value_t = 0)]
    pub then_ms: u64,
    #[arg(long, value_enum, default_value = "cpu")]
    pub clock: BusyClock,
}

/// Result of the load, of all threads.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub frames: u64,
    /// Frames that were not done before the next one was due.
    pub late: u64,
    /// Longest time from when one was due until it was done.
    pub longest_ms: f64,
}

/// Runs the load.
///
/// # Errors
/// An interval of 0, or a thread cannot be started or named.
pub fn run(load: &Frames) -> Result<Outcome> {
    ensure!(load.interval_ms > 0, "--interval-ms 0: at least 1");
    let begin_ns = wall_ns();
    let start = |number| {
        let load = load.clone();
        // Apart, so that they are not due at the same moment.
        let first_ns = begin_ns + load.interval_ms * 1_000_000 * (1 + number as u64) / load.threads as u64;
        thread::spawn(move || draw(&load, first_ns))
    };
    let threads: Vec<_> = (0..load.threads).map(start).collect();
    let mut took_ns = Vec::new();
    for thread in threads {
        took_ns.extend(thread.join().expect("a frame does not panic")?);
    }
    Ok(Outcome {
        comm: COMM,
        frames: took_ns.len() as u64,
        late: took_ns.iter().filter(|&&ns| ns > load.interval_ms * 1_000_000).count() as u64,
        longest_ms: ms(took_ns.into_iter().max().unwrap_or(0)),
    })
}

/// From when each frame was due until it was done, ns.
fn draw(load: &Frames, first_ns: u64) -> Result<Vec<u64>> {
    name_thread(COMM)?;
    let (wakes, woken) = mpsc::channel();
    let then = (load.then_ms > 0).then(|| {
        let load = load.clone();
        thread::spawn(move || finish(&load, woken))
    });
    let frame = |number| {
        let due_ns = first_ns + number * load.interval_ms * 1_000_000;
        let due = TimeSpec::from_duration(Duration::from_nanos(due_ns));
        clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &due)
            .context("sleep until the next frame")?;
        load.clock.spend(load.busy_ms * 1_000_000);
        let took_ns = wall_ns() - due_ns;
        if then.is_some() {
            wakes.send(due_ns).context("the second thread has ended")?;
        }
        Ok(took_ns)
    };
    let took_ns = (0..load.count).map(frame).collect::<Result<_>>()?;
    drop(wakes);
    then.map_or(Ok(took_ns), |thread| thread.join().expect("a frame does not panic"))
}

/// The second thread of a frame. From when each was due until it was done, ns.
fn finish(load: &Frames, woken: mpsc::Receiver<u64>) -> Result<Vec<u64>> {
    name_thread(COMM)?;
    let frame = |due_ns| {
        load.clock.spend(load.then_ms * 1_000_000);
        wall_ns() - due_ns
    };
    Ok(woken.into_iter().map(frame).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_counted() {
        let load = Frames {
            threads: 2,
            count: 3,
            interval_ms: 2,
            busy_ms: 0,
            then_ms: 0,
            clock: BusyClock::Cpu,
        };
        let outcome = run(&load).unwrap();
        assert_eq!(outcome.frames, 6);
        let then = Frames {
            then_ms: 1,
            ..load.clone()
        };
        assert_eq!(run(&then).unwrap().frames, 6);
        assert!(outcome.late <= 6 && outcome.longest_ms > 0.0);
        assert!(run(&Frames { interval_ms: 0, ..load }).is_err());
    }
}
