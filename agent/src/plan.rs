// SPDX-License-Identifier: GPL-2.0-only
//! Plans for memory domains and kinds of cores, once a second: measures the threads that ran, and has the policy say where each is to run.

use crate::policy::{Planned, MAX_PLANNED};
use crate::shadow::Shadow;
use lop_machine::counters::Measured;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often plans are made.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
/// `LOP_MEMORY_INTENSIVE`: what a later version of a hint may say is not said.
const INTENSIVE: u8 = 3;
/// Threads that wanted to run for less of the last second are not planned, x 1000 (ours): as in the kernel.
const LEAST_DEMAND: u32 = 10;

/// What is kept of a thread from one plan to the next.
#[derive(Default)]
struct Kept {
    /// Time in which it wanted to run since the last plan, as looks saw it.
    active_ns: u64,
    planned: Planned,
}

pub(crate) struct Planner {
    measured: Measured,
    known: BTreeMap<u32, Kept>,
    looked_ns: u64,
    planned_ns: u64,
}

impl Planner {
    pub fn new(measured: Measured, now_ns: u64) -> Self {
        Self {
            measured,
            known: BTreeMap::new(),
            looked_ns: now_ns,
            planned_ns: now_ns,
        }
    }

    /// The time has come to `now_ns`: these threads wanted to run at the look before.
    pub fn passed(&mut self, now_ns: u64, runnable: impl Iterator<Item = u32>) {
        let passed_ns = now_ns - self.looked_ns;
        self.looked_ns = now_ns;
        for tid in runnable {
            self.known.entry(tid).or_default().active_ns += passed_ns;
        }
    }

    pub fn forget(&mut self, tid: u32) {
        self.known.remove(&tid);
    }

    /// Once a second makes a plan and has the shadow carry it out; where nothing ran no plan holds any more. `declared`: `enum lop_memory_class` of a thread, as it says of itself.
    pub fn follow(&mut self, shadow: &mut Shadow, declared: impl Fn(u32) -> u8) {
        let passed_ns = self.looked_ns - self.planned_ns;
        if u128::from(passed_ns) < PERIOD.as_nanos() {
            return;
        }
        self.planned_ns = self.looked_ns;
        let active = self.active(passed_ns, declared);
        self.measure(&active, passed_ns);
        if active.is_empty() {
            return shadow.end_plans();
        }
        let mut threads: Vec<Planned> = active.iter().map(|tid| self.known[tid].planned).collect();
        shadow.plan(&active, &mut threads);
        for (tid, planned) in active.iter().zip(threads) {
            self.known.entry(*tid).or_default().planned = planned;
        }
    }

    /// Threads that are worth a plan; those of most demand, if there are too many.
    fn active(&mut self, passed_ns: u64, declared: impl Fn(u32) -> u8) -> Vec<u32> {
        let mut active = Vec::new();
        for (&tid, kept) in &mut self.known {
            let active_ns = std::mem::take(&mut kept.active_ns);
            let planned = &mut kept.planned;
            planned.demand_permille = (active_ns.saturating_mul(1000)).div_ceil(passed_ns).min(1000) as u32;
            planned.intensity.declared = Some(declared(tid)).filter(|class| *class <= INTENSIVE).unwrap_or(0);
            if planned.demand_permille >= LEAST_DEMAND {
                active.push(tid);
            }
        }
        if active.len() > MAX_PLANNED {
            active.sort_by_key(|tid| std::cmp::Reverse(self.known[tid].planned.demand_permille));
            active.truncate(MAX_PLANNED);
        }
        active
    }

    /// A counter is kept from one second to the next while its thread is planned.
    fn measure(&mut self, active: &[u32], passed_ns: u64) {
        let Some(source) = &mut self.measured.source else {
            return;
        };
        let planned: BTreeSet<u32> = active.iter().copied().collect();
        source.keep(&|tid| planned.contains(&tid));
        for tid in active {
            let (Some((misses, instructions)), Some(kept)) = (source.read(*tid), self.known.get_mut(tid)) else {
                continue;
            };
            kept.planned.intensity.note(misses, instructions, passed_ns);
        }
    }
}
