// SPDX-License-Identifier: GPL-2.0-only
//! Message threads that wake workers again and again: how long it takes until a woken worker runs, by its own clock.
//!
//! A worker's slot has its state: it waits, works, should stop, or was woken at a time. The message thread wakes each waiting
//! worker, and sleeps until one waits again.

use super::busy::{name_thread, wall_ns, BusyClock};
use anyhow::{anyhow, Context, Result};
use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle, Thread};

/// Names of the two kinds of threads.
pub const WORKER_COMM: &str = "lop-worker";
pub const MESSAGE_COMM: &str = "lop-message";
const WAITS: u64 = 0;
const WORKS: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const LONGEST_DELAY_NS: u64 = 600_000_000_000;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Wakeups {
    #[arg(long, default_value_t = 2)]
    pub message_threads: usize,
    /// Workers for each message thread.
    #[arg(long, default_value_t = 8)]
    pub workers: usize,
    /// Computing time of a worker after each wakeup, us of CPU time.
    #[arg(long, default_value_t = 100)]
    pub think_us: u64,
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub wakeups: u64,
    pub wakeups_per_s: f64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

struct Worker {
    slot: AtomicU64,
    message_thread: Thread,
}

/// Runs the load.
///
/// # Errors
/// Threads cannot be started.
pub fn run(load: &Wakeups) -> Result<Outcome> {
    anyhow::ensure!(
        load.message_threads > 0 && load.workers > 0,
        "at least one message thread and one worker"
    );
    let begin_ns = wall_ns();
    let groups: Vec<_> = (0..load.message_threads).map(|_| group(load)).collect::<Result<_>>()?;
    let mut delays = histogram()?;
    for group in groups {
        delays.add(join(group)?)?;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    Ok(Outcome {
        comm: WORKER_COMM,
        wakeups: delays.len(),
        wakeups_per_s: delays.len() as f64 / ((wall_ns() - begin_ns) as f64 / 1e9),
        mean_us: delays.mean() / 1e3,
        p50_us: us(delays.value_at_quantile(0.5)),
        p99_us: us(delays.value_at_quantile(0.99)),
        p999_us: us(delays.value_at_quantile(0.999)),
        max_us: us(delays.max()),
    })
}

fn histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, LONGEST_DELAY_NS, 3).map_err(|error| anyhow!("histogram: {error}"))
}

type Group = JoinHandle<Result<Histogram<u64>>>;

fn join(group: Group) -> Result<Histogram<u64>> {
    group.join().map_err(|_| anyhow!("a thread panicked"))?
}

/// Starts a message thread with its workers; it returns their delays.
fn group(load: &Wakeups) -> Result<Group> {
    let load = load.clone();
    let group = move || {
        name_thread(MESSAGE_COMM)?;
        let mut workers = Vec::new();
        for _ in 0..load.workers {
            workers.push(start_worker(&load)?);
        }
        send(&workers, wall_ns() + load.seconds * 1_000_000_000);
        let mut delays = histogram()?;
        for (_, thread) in workers {
            delays.add(join(thread)?)?;
        }
        Ok(delays)
    };
    thread::Builder::new().spawn(group).context("start a message thread")
}

fn start_worker(load: &Wakeups) -> Result<(Arc<Worker>, Group)> {
    let worker = Arc::new(Worker {
        slot: AtomicU64::new(WORKS),
        message_thread: thread::current(),
    });
    let (shared, think_ns) = (Arc::clone(&worker), load.think_us * 1000);
    let thread = thread::Builder::new().spawn(move || {
        name_thread(WORKER_COMM)?;
        work(&shared, think_ns)
    });
    Ok((worker, thread.context("start a worker")?))
}

fn work(worker: &Worker, think_ns: u64) -> Result<Histogram<u64>> {
    let mut delays = histogram()?;
    loop {
        worker.slot.store(WAITS, Ordering::SeqCst);
        worker.message_thread.unpark();
        while worker.slot.load(Ordering::SeqCst) == WAITS {
            thread::park();
        }
        match worker.slot.swap(WORKS, Ordering::SeqCst) {
            STOP => return Ok(delays),
            woken_ns => delays.saturating_record((wall_ns() - woken_ns).max(1)),
        }
        BusyClock::Cpu.spend(think_ns);
    }
}

/// Wakes waiting workers until `end_ns`, then tells all to stop.
fn send(workers: &[(Arc<Worker>, Group)], end_ns: u64) {
    let mut stopped = vec![false; workers.len()];
    while stopped.contains(&false) {
        let over = wall_ns() >= end_ns;
        for ((worker, thread), stopped) in workers.iter().zip(&mut stopped) {
            if !*stopped && worker.slot.load(Ordering::SeqCst) == WAITS {
                *stopped = over;
                worker.slot.store(if over { STOP } else { wall_ns() }, Ordering::SeqCst);
                thread.thread().unpark();
            }
        }
        if stopped.contains(&false) {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_stop_and_delays_are_counted() {
        let load = Wakeups {
            message_threads: 2,
            workers: 3,
            think_us: 0,
            seconds: 1,
        };
        // On a busy machine, one try of a second may be too short to wake every worker.
        let woke_all = (0..60).any(|_| {
            let outcome = run(&load).unwrap();
            assert!(outcome.p50_us <= outcome.p99_us && outcome.p999_us <= outcome.max_us * 1.001);
            outcome.wakeups >= 6
        });
        assert!(woke_all);
        assert!(run(&Wakeups { workers: 0, ..load }).is_err());
    }
}
