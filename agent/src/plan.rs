// SPDX-License-Identifier: GPL-2.0-only
//! Plans for memory domains and kinds of cores, once a second: measures the threads that ran, and lets the policy decide where each should run.

use crate::policy::{Planned, MAX_PLANNED};
use crate::shadow::Shadow;
use lop_machine::counters::Measured;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often plans are made.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
/// Of `enum lop_memory_class` the lowest known class and the highest; higher values, of later versions of hints, are ignored.
pub(crate) const VERY_LOW: u8 = 1;
pub(crate) const INTENSIVE: u8 = 3;
/// Threads that wanted to run for less than this share of the last second are not planned, x 1000 (our choice, the same as in the kernel).
const LEAST_DEMAND: u32 = 10;

/// What is remembered of a thread from one plan to the next.
#[derive(Default)]
struct Kept {
    /// How long it wanted to run since the last plan, according to the looks.
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

    /// Advances the time to `now_ns`; these threads wanted to run at the previous look.
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

    /// Makes a plan once a second and has the shadow carry it out. If nothing ran, the plan is dropped. `declared`: the `enum lop_memory_class` that a
    /// thread declares.
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

    /// Threads that are worth planning; those with the most demand, if there are too many.
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

    /// Measures these threads. A counter stays open as long as its thread is planned.
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
