// SPDX-License-Identifier: GPL-2.0-only
//! Random changes of affinity under load, and a check that affinities are kept.
//!
//! A single thread changes affinities, and writes the present mask into each worker's slot: "in flux" before a change, and the
//! number of the change and the mask after it. If a worker reads the same slot before and after it asked for its CPU, the mask
//! was valid all the while.

use super::busy::{name_thread, wall_ns, work};
use super::ms;
use anyhow::{anyhow, Context, Result};
use clap::Args;
use fastrand::Rng;
use nix::sched::{sched_getaffinity, sched_getcpu, sched_setaffinity, CpuSet};
use nix::unistd::{gettid, Pid};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Name of the workers.
pub const COMM: &str = "lop-churn";
const IN_FLUX: u64 = u64::MAX;
/// Low bits of a slot: the index of its mask; above: the number of the change.
const MASK_BITS: u32 = 16;
/// Turns of computing between two sleeps.
const TURNS_AWAKE: u64 = 500;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct AffinityChurn {
    #[arg(long, default_value_t = 16)]
    pub threads: usize,
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    /// Time between two changes, us.
    #[arg(long, default_value_t = 1000)]
    pub interval_us: u64,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub changes: u64,
    /// How often workers looked at their CPU while no change was under way.
    pub looks: u64,
    /// How often the CPU was outside the mask.
    pub outside: u64,
    pub without_progress: usize,
    pub longest_gap_ms: f64,
}

impl Outcome {
    /// What is wrong with the result; `None` if nothing is.
    pub fn complaint(&self) -> Option<String> {
        if self.outside > 0 {
            Some(format!(
                "{} of {} looks found a task outside its affinity",
                self.outside, self.looks
            ))
        } else if self.without_progress > 0 {
            Some(format!("{} tasks made no progress", self.without_progress))
        } else {
            (self.looks == 0 || self.changes == 0).then(|| "nothing was seen: run longer".to_owned())
        }
    }
}

#[derive(Default)]
struct Worker {
    thread_id: AtomicI32,
    slot: AtomicU64,
}

#[derive(Default)]
struct Seen {
    turns: u64,
    looks: u64,
    outside: u64,
    longest_gap_ns: u64,
}

/// Runs the load.
///
/// # Errors
/// Threads cannot be started, or an affinity is refused.
pub fn run(load: &AffinityChurn, seed: u64) -> Result<Outcome> {
    let masks: Arc<Vec<Vec<usize>>> = Arc::new(masks(&online()?, &mut Rng::with_seed(seed)));
    let workers: Vec<Arc<Worker>> = (0..load.threads).map(|_| Arc::default()).collect();
    let over = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for worker in &workers {
        let (worker, masks, over) = (Arc::clone(worker), Arc::clone(&masks), Arc::clone(&over));
        threads.push(thread::Builder::new().spawn(move || watch(&worker, &masks, &over))?);
    }
    let changes = churn(load, &workers, &masks, seed);
    over.store(true, Ordering::SeqCst);
    let seen = threads
        .into_iter()
        .map(|thread| thread.join().map_err(|_| anyhow!("a worker panicked"))?);
    let seen = seen.collect::<Result<Vec<_>>>()?;
    Ok(Outcome {
        comm: COMM,
        changes: changes?,
        looks: seen.iter().map(|worker| worker.looks).sum(),
        outside: seen.iter().map(|worker| worker.outside).sum(),
        without_progress: seen.iter().filter(|worker| worker.turns == 0).count(),
        longest_gap_ms: ms(seen.iter().map(|worker| worker.longest_gap_ns).max().unwrap_or(0)),
    })
}

fn online() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("own affinity")?;
    Ok((0..CpuSet::count())
        .filter(|cpu| set.is_set(*cpu).unwrap_or(false))
        .collect())
}

/// Mask 0 is all CPUs; then each CPU alone, then as many random ones.
fn masks(cpus: &[usize], random: &mut Rng) -> Vec<Vec<usize>> {
    let mut masks = vec![cpus.to_vec()];
    masks.extend(cpus.iter().map(|cpu| vec![*cpu]));
    for _ in cpus {
        let size = random.usize(1..=cpus.len());
        masks.push(random.choose_multiple(cpus.iter().copied(), size));
    }
    masks
}

fn churn(load: &AffinityChurn, workers: &[Arc<Worker>], masks: &[Vec<usize>], seed: u64) -> Result<u64> {
    let mut random = Rng::with_seed(seed.wrapping_add(1));
    let end_ns = wall_ns() + load.seconds * 1_000_000_000;
    let mut changes = 0;
    while wall_ns() < end_ns {
        let worker = random.choice(workers).context("--threads 0: at least one")?;
        let thread_id = worker.thread_id.load(Ordering::SeqCst);
        if thread_id != 0 {
            changes += 1;
            let mask = random.usize(..masks.len());
            worker.slot.store(IN_FLUX, Ordering::SeqCst);
            set_affinity(thread_id, &masks[mask])?;
            worker.slot.store(changes << MASK_BITS | mask as u64, Ordering::SeqCst);
        }
        thread::sleep(Duration::from_micros(load.interval_us));
    }
    Ok(changes)
}

fn set_affinity(thread_id: i32, cpus: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|cpu| set.set(*cpu))?;
    sched_setaffinity(Pid::from_raw(thread_id), &set).with_context(|| format!("affinity of {thread_id} to {cpus:?}"))
}

fn watch(worker: &Worker, masks: &[Vec<usize>], over: &AtomicBool) -> Result<Seen> {
    name_thread(COMM)?;
    worker.thread_id.store(gettid().as_raw(), Ordering::SeqCst);
    let mut seen = Seen::default();
    let mut last_ns = wall_ns();
    while !over.load(Ordering::SeqCst) {
        look(worker, masks, &mut seen)?;
        work();
        seen.turns += 1;
        let now_ns = wall_ns();
        seen.longest_gap_ns = seen.longest_gap_ns.max(now_ns - last_ns);
        if seen.turns % TURNS_AWAKE == 0 {
            thread::sleep(Duration::from_micros(500));
        }
        last_ns = wall_ns();
    }
    Ok(seen)
}

fn look(worker: &Worker, masks: &[Vec<usize>], seen: &mut Seen) -> Result<()> {
    let before = worker.slot.load(Ordering::SeqCst);
    let cpu = sched_getcpu().context("own CPU")?;
    if before != IN_FLUX && before == worker.slot.load(Ordering::SeqCst) {
        let mask = (before & ((1 << MASK_BITS) - 1)) as usize;
        seen.looks += 1;
        seen.outside += u64::from(!masks[mask].contains(&cpu));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_subsets_and_never_empty() {
        let cpus = [0, 2, 5];
        let masks = masks(&cpus, &mut Rng::with_seed(1));
        assert_eq!(masks[..4], [vec![0, 2, 5], vec![0], vec![2], vec![5]]);
        assert_eq!(masks.len(), 7);
        assert!(masks
            .iter()
            .all(|mask| !mask.is_empty() && mask.iter().all(|cpu| cpus.contains(cpu))));
    }

    #[test]
    fn a_cpu_outside_the_mask_is_noticed() {
        let worker = Worker::default();
        let nowhere = [vec![usize::MAX]];
        let mut seen = Seen::default();
        look(&worker, &nowhere, &mut seen).unwrap();
        worker.slot.store(IN_FLUX, Ordering::SeqCst);
        look(&worker, &nowhere, &mut seen).unwrap();
        assert_eq!((seen.looks, seen.outside), (1, 1));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let good = Outcome {
            comm: COMM,
            changes: 5,
            looks: 9,
            outside: 0,
            without_progress: 0,
            longest_gap_ms: 1.0,
        };
        assert_eq!(good.complaint(), None);
        assert!(Outcome { outside: 1, ..good }.complaint().unwrap().contains("outside"));
        assert!(Outcome {
            without_progress: 2,
            outside: 0,
            ..good
        }
        .complaint()
        .unwrap()
        .contains("progress"));
        assert!(Outcome { looks: 0, ..good }.complaint().is_some());
    }
}
