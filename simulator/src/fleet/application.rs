// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applications that arrive, drawn from a seed.

use super::Fleet;
use crate::random::{child_key, Stream};
use crate::workload::{memory, Amount, MemoryUse};
use lop_policy::{MemoryClass, Thread};

#[derive(Debug, Clone, Copy)]
pub(super) struct Application {
    pub arrives_ns: u64,
    pub cores: u32,
    pub memory_use: &'static MemoryUse,
    /// Work of each of its cores, in ns of the reference core.
    pub work: f64,
}

impl Application {
    /// As policy/domains/arrive.h sees it: its intensity was measured.
    pub fn thread(&self) -> Thread {
        Thread::arriving(Some(mpmi(self.memory_use)), 1000 * self.cores)
    }
}

fn mpmi(memory_use: &MemoryUse) -> u32 {
    (memory_use.mpki * 1000.0).round() as u32
}

/// In order of arrival. Each has a stream of its own, so that another share of intensive ones changes nothing else.
pub(super) fn draw(fleet: &Fleet, seed: u64) -> Vec<Application> {
    let setup = &fleet.setup;
    let is_intensive =
        |memory_use: &&MemoryUse| Thread::arriving(Some(mpmi(memory_use)), 1000).memory == MemoryClass::Intensive as u8;
    let (intensive, calm): (Vec<_>, Vec<_>) = memory::built_in_uses().partition(is_intensive);
    let gap = Amount::Exponential {
        mean_ns: mean_gap_ns(fleet),
    };
    let work = Amount::Exponential {
        mean_ns: setup.run_s * 1e9,
    };
    let nr = u64::from(setup.machines) * u64::from(setup.arrivals_per_machine);
    let mut arrives_ns = 0;
    (0..nr)
        .map(|number| {
            let mut stream = Stream::new(child_key(seed, number));
            arrives_ns += stream.draw(&gap);
            let cores = setup.cores[stream.below(setup.cores.len() as u64) as usize];
            let work = stream.draw(&work).max(1) as f64;
            // 2^32 values are fine enough for a share.
            let uses = match (stream.below(1 << 32) as f64) < setup.intensive * (1u64 << 32) as f64 {
                true => &intensive,
                false => &calm,
            };
            Application {
                arrives_ns,
                cores,
                memory_use: uses[stream.below(uses.len() as u64) as usize],
                work,
            }
        })
        .collect()
}

/// mean work of an arrival / (load * what the fleet does in a ns)
fn mean_gap_ns(fleet: &Fleet) -> f64 {
    let setup = &fleet.setup;
    let mean_cores = setup.cores.iter().sum::<u32>() as f64 / setup.cores.len() as f64;
    let capacity: f64 = fleet.machines().map(|(_, model)| model.capacity()).sum();
    mean_cores * setup.run_s * 1e9 / (setup.load * capacity)
}
