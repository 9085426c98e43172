// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Plans: which thread runs in which memory domain (`spread.h`, `gather.h`), and what it gains from speed (`plan.h`). Plans are pure: slices come in, and the answers are written to them.

use super::ffi;
use super::{Config, MemoryClass, Power, Sched, Task, MAX_MEMORY_DOMAINS, MAX_PLANNED, NONE};

pub use ffi::{lop_domain as Domain, lop_intensity as Intensity, lop_planned as Planned, lop_thread as Thread};

impl Intensity {
    /// The class that the thread declares, of `enum lop_memory_class`; an unknown one is no declaration.
    pub fn declare(&mut self, class: u32) {
        unsafe { ffi::lop_declare_memory(self, class) }
    }
    #[must_use]
    pub fn is_declared(&self) -> bool {
        self.declared != MemoryClass::Unknown as u8
    }
    /// What counters showed in the last `passed_ns`.
    pub fn note(&mut self, misses: u64, instructions: u64, passed_ns: u64) {
        unsafe { ffi::lop_note_counters(self, misses, instructions, passed_ns) }
    }
    #[must_use]
    pub fn class(&self) -> MemoryClass {
        unsafe { ffi::lop_memory_class(self) }
    }
    /// Misses per million instructions to plan with.
    #[must_use]
    pub fn planned_mpmi(&self) -> u32 {
        unsafe { ffi::lop_planned_mpmi(self) }
    }
}

impl Thread {
    /// Always runnable, free to move, never moved.
    #[must_use]
    pub fn new(mpmi: u32, domain: i32) -> Self {
        let intensity = Intensity {
            measured_ns: u64::MAX,
            mpmi,
            declared: MemoryClass::Unknown as u8,
        };
        Self {
            mpmi,
            demand_permille: 1000,
            domain,
            wanted_domain: NONE,
            kept: NONE,
            memory: intensity.class() as u8,
            ..Self::default()
        }
    }
}

/// Unknown, and not placed yet.
impl Default for Planned {
    fn default() -> Self {
        Self {
            intensity: Intensity::default(),
            active_ns: 0,
            shares: 0,
            cpu: NONE,
            home: NONE,
            restricted: false,
            system: false,
            moved_ns: 0,
            speedup_permille: 0,
            wanted_domain: NONE,
        }
    }
}

impl Planned {
    /// Fills in the facts that the policy's own state of the task has.
    pub fn note_task(&mut self, sched: &Sched, task: &Task) {
        (self.restricted, self.system) = (task.restricted, task.system);
        self.home = unsafe { ffi::lop_home_of(sched, &**task) };
    }
}

/// Keeps the threads that demand enough to be planned; of too many those that demand most, of equals the first.
/// `active_ns`: how long each ran or waited to run in the last `period_ns`.
pub fn keep_active<T>(threads: &mut Vec<T>, period_ns: u64, active_ns: impl Fn(&T) -> u64) {
    let demand = |thread: &T| unsafe { ffi::lop_demand_permille(active_ns(thread), period_ns) };
    threads.retain(|thread| demand(thread) >= ffi::LOP_LEAST_DEMAND_PERMILLE);
    if threads.len() > MAX_PLANNED {
        threads.sort_by_key(|thread| std::cmp::Reverse(demand(thread)));
        threads.truncate(MAX_PLANNED);
    }
}

/// Whether there is something to plan by. If not, no plan holds. `measures`: intensity is measured.
#[must_use]
pub fn has_basis(threads: &[Planned], measures: bool) -> bool {
    unsafe { ffi::lop_has_basis(threads.as_ptr(), threads.len() as u32, measures) }
}

impl Domain {
    /// `node`: CPUs and domains that are switched off together.
    #[must_use]
    pub fn new(cores: u32, node: u32) -> Self {
        Self {
            cores,
            node,
            ..Self::default()
        }
    }
}

/// Scratch memory for plans, too large for a stack.
#[derive(Default)]
pub struct Planner {
    plan: Box<ffi::lop_plan>,
}

impl Planner {
    fn fill(&mut self, threads: &[Thread], domains: &[Domain], power: Power, now_ns: u64) -> usize {
        let (plan, nr_threads) = (&mut self.plan, threads.len().min(MAX_PLANNED));
        let nr_domains = domains.len().min(MAX_MEMORY_DOMAINS);
        plan.now_ns = now_ns;
        plan.nr_threads = nr_threads as u32;
        plan.nr_domains = nr_domains as u32;
        (plan.base_mw, plan.node_mw, plan.core_mw) = (power.base_mw, power.node_mw, power.core_mw);
        plan.thread[..nr_threads].copy_from_slice(&threads[..nr_threads]);
        plan.domain[..nr_domains].copy_from_slice(&domains[..nr_domains]);
        nr_threads
    }
    /// Fills in `wanted_domain` of each thread; returns how many move.
    pub fn spread(&mut self, threads: &mut [Thread], domains: &[Domain], now_ns: u64) -> u32 {
        let planned = self.fill(threads, domains, Power::default(), now_ns);
        let moves = unsafe { ffi::lop_spread(&mut *self.plan) };
        threads[..planned].copy_from_slice(&self.plan.thread[..planned]);
        moves
    }
    /// Fills in `wanted_domain` of each thread; returns how many move.
    pub fn gather(&mut self, threads: &mut [Thread], domains: &[Domain], power: Power, now_ns: u64) -> u32 {
        let planned = self.fill(threads, domains, power, now_ns);
        let moves = unsafe { ffi::lop_gather(&mut *self.plan) };
        threads[..planned].copy_from_slice(&self.plan.thread[..planned]);
        moves
    }
    /// For the threads where they are, in the units of gather.h.
    pub fn predicted_edp(&mut self, threads: &[Thread], domains: &[Domain], power: Power) -> u64 {
        self.fill(threads, domains, power, 0);
        unsafe { ffi::lop_predicted_edp(&mut *self.plan, true) }
    }
    /// Where each thread is to run (at most [`MAX_PLANNED`]) and what it gains, by the state's configuration (plan.h);
    /// returns how many move. The facts are about the last `period_ns`.
    pub fn plan(&mut self, sched: &Sched, threads: &mut [Planned], period_ns: u64, now_ns: u64) -> u32 {
        let planned = threads.len().min(MAX_PLANNED) as u32;
        unsafe { ffi::lop_plan_threads(&mut *self.plan, sched, threads.as_mut_ptr(), planned, period_ns, now_ns) }
    }
    /// Memory domains to switch on before the threads of the last plan move, or off after that.
    pub fn switches(&mut self, sched: &Sched, on: bool) -> Vec<u32> {
        let domains = 0..u32::from(sched.topology.nr_memory_domains);
        let must = |&domain: &u32| unsafe { ffi::lop_must_switch(&mut *self.plan, sched, domain as i32, on) };
        domains.filter(must).collect()
    }
}

/// SF of a thread of this intensity, x 1000, on the scale of uclamp.h.
#[must_use]
pub fn measured_speedup(mpmi: u32) -> u32 {
    unsafe { ffi::lop_measured_speedup(mpmi) }
}

/// Floor of the square root of a number below 2^62.
#[must_use]
pub fn root(of: u64) -> u64 {
    unsafe { ffi::lop_root(of) }
}

/// Whether plans for memory domains move threads of this class.
#[must_use]
pub fn is_planned(config: &Config, class: MemoryClass) -> bool {
    unsafe { ffi::lop_is_planned(config, class) }
}
