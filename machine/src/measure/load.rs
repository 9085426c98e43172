// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load: a loop of integer multiplications whose time on the reference core is known, one thread on each CPU.

use crate::calibration::{steps, work_s, MULTIPLIER};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Steps between two checks whether to end; about a tenth of a millisecond.
const CHUNK: u32 = 50_000;

/// Runs until dropped.
#[derive(Default)]
pub struct Load {
    ends: Arc<AtomicBool>,
    steps: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// # Errors
    /// A thread cannot be started or bound to its CPU.
    pub fn begin(cpus: &[u32]) -> Result<Self, String> {
        let mut load = Self::default();
        for &cpu in cpus {
            let (ends, steps) = (load.ends.clone(), load.steps.clone());
            let (bound, answer) = channel();
            let thread = std::thread::Builder::new().spawn(move || compute(cpu, &bound, &ends, &steps));
            load.threads
                .push(thread.map_err(|error| format!("no thread can be started: {error}"))?);
            // A thread that died sends nothing.
            answer.recv().unwrap_or_else(|_| Err("the thread ended".to_string())).map_err(|reason| {
                format!("CPU {cpu} cannot be loaded: {reason}; run outside of taskset and cpusets, where all CPUs may be used")
            })?;
        }
        Ok(load)
    }

    /// Work done so far, in seconds of the reference core.
    pub fn work_s(&self) -> f64 {
        work_s(self.steps.load(Relaxed))
    }
}

fn compute(cpu: u32, bound: &Sender<Result<(), String>>, ends: &AtomicBool, done: &AtomicU64) {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    let result = sched_setaffinity(None, &set).map_err(|error| error.to_string());
    let failed = result.is_err();
    if bound.send(result).is_err() || failed {
        return;
    }
    let mut x = 1;
    while !ends.load(Relaxed) {
        x = black_box(steps(x, black_box(MULTIPLIER), CHUNK));
        done.fetch_add(u64::from(CHUNK), Relaxed);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // A panic in the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}
