// SPDX-License-Identifier: GPL-2.0-only
//! Plans for memory domains and kinds of cores, once a second: measures the threads that ran, and lets the policy decide where each should run.

use crate::policy::Planned;
use crate::shadow::Shadow;
use lop_machine::counters::Measured;
use lop_policy::{has_basis, keep_active, PLAN_PERIOD_NS};
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of a thread from one plan to the next.
#[derive(Default)]
struct Kept {
    /// How long it wanted to run since the last plan, according to the looks.
    active_ns: u64,
    /// Facts and state of the last plan.
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

    /// Makes a plan once a period and has the shadow carry it out. With nothing to plan by, the last plan is dropped. `declared`: the `enum lop_memory_class` that a
    /// thread declares.
    pub fn follow(&mut self, shadow: &mut Shadow, declared: impl Fn(u32) -> u8) {
        let passed_ns = self.looked_ns - self.planned_ns;
        if passed_ns < PLAN_PERIOD_NS {
            return;
        }
        self.planned_ns = self.looked_ns;
        let active = self.active(passed_ns, declared);
        self.measure(&active, passed_ns);
        let mut threads: Vec<Planned> = active.iter().map(|tid| self.known[tid].planned).collect();
        if !has_basis(&threads, self.measured.source.is_some()) {
            return shadow.end_plans();
        }
        shadow.plan(&active, &mut threads, passed_ns);
        for (tid, planned) in active.iter().zip(threads) {
            self.known.entry(*tid).or_default().planned = planned;
        }
    }

    /// Threads that demanded enough to be planned.
    fn active(&mut self, passed_ns: u64, declared: impl Fn(u32) -> u8) -> Vec<u32> {
        for (&tid, kept) in &mut self.known {
            kept.planned.active_ns = std::mem::take(&mut kept.active_ns);
            kept.planned.intensity.declare(declared(tid).into());
        }
        let mut active: Vec<u32> = self.known.keys().copied().collect();
        keep_active(&mut active, passed_ns, |tid| self.known[tid].planned.active_ns);
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
