//! The policy's own rules, compiled natively (`native.c`), about the types of the BPF program.

use super::program::skeleton::types::{lop_app, lop_config, lop_sched};
use crate::options::Policy;
use std::ffi::c_void;

/// `LOP_HIGH` and `LOP_GREEN`.
pub const HIGH: usize = 1;
pub const GREEN: usize = 2;

/// `enum lop_rules` (policy/state.h).
pub const PHASES: u32 = 1;
pub const LONGEST: u32 = 2;
pub const SPEEDUP: u32 = 4;
pub const TURNS: u32 = 8;
pub const WHOLE: u32 = 16;

/// `LOP_AWAITED` of `enum lop_class` (policy/state.h).
pub const AWAITED: u8 = 2;

/// T_hold where nobody asks for another (policy/config.h).
pub fn default_hold_ns(transition_ns: u64) -> u64 {
    unsafe { lop_loader_default_hold_ns(transition_ns) }
}

/// A configuration with the policy's times for this T_hold (policy/config.h), and nothing else.
pub fn times(hold_ns: u64) -> lop_config {
    let mut config = lop_config::default();
    unsafe { lop_loader_set_times(&mut config, hold_ns) };
    config
}

/// `enum lop_policy` (policy/config.h).
fn named(policy: Policy) -> u32 {
    match policy {
        Policy::SimpleSets(_) => 0,
        Policy::HighLow => 1,
        Policy::HighLowSpare => 2,
        Policy::ReservedCore => 3,
        Policy::Phase => 4,
        Policy::LongestFirst => 5,
        Policy::FairShare => 6,
        Policy::Specialise => 7,
        Policy::Spread => 8,
        Policy::Gather => 9,
        Policy::Auto => 10,
    }
}

/// The rules that a policy stands for on a machine with so many memory domains, kinds of cores and threads of a core (policy/config.h, policy/auto.h), and
/// nothing else.
pub fn choice(policy: Policy, nr_memory_domains: u16, nr_tiers: u16, threads: u16) -> lop_config {
    let mut config = lop_config::default();
    unsafe {
        lop_loader_choose(
            &mut config,
            named(policy),
            nr_memory_domains.into(),
            nr_tiers.into(),
            threads.into(),
        )
    };
    config
}

/// Size that the high set should have (policy/demand.h).
pub fn high_target(sched: &lop_sched) -> u32 {
    unsafe { lop_loader_target(sched, HIGH as u32) }
}

/// When the `level`-th member of the high set may leave, if it is beyond the target (policy/sets.h), on the clock of [`super::state::now_ns`].
pub fn high_due_ns(sched: &lop_sched, level: u32) -> u64 {
    unsafe { lop_loader_due_ns(sched, HIGH as u32, level) }
}

/// `LOP_MAX_PLANNED`: threads beyond it are not planned.
pub const MAX_PLANNED: usize = 512;
/// `LOP_NONE`
pub const NONE: i32 = -1;

/// A thread as a plan sees it (`struct lop_planned` of policy/plan.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Planned {
    measured_ns: u64,
    mpmi: u32,
    /// `enum lop_memory_class`; 0: nothing was declared.
    pub declared: u8,
    pub moved_ns: u64,
    /// The answer: what it gains from speed, x 1000; 0: unknown.
    pub speedup_permille: u32,
    pub demand_permille: u32,
    pub cpu: i32,
    /// The answer: memory domain that it is to run in, and CPU that it changes to; `NONE`: it stays.
    pub wanted_domain: i32,
    pub wanted_cpu: i32,
    pub runs: bool,
    pub fixed: bool,
}

impl Default for Planned {
    fn default() -> Self {
        Self {
            measured_ns: 0,
            mpmi: 0,
            declared: 0,
            moved_ns: 0,
            speedup_permille: 0,
            demand_permille: 0,
            cpu: NONE,
            wanted_domain: NONE,
            wanted_cpu: NONE,
            runs: false,
            fixed: false,
        }
    }
}

impl Planned {
    /// What counters showed in the last `passed_ns`.
    pub fn note_counters(&mut self, misses: u64, instructions: u64, passed_ns: u64) {
        unsafe { lop_loader_note_counters(self, misses, instructions, passed_ns) }
    }
}

/// A thread of declared length, for a list (`struct lop_declared` of native.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Declared {
    /// Work done so far, ns on the fastest kind of core.
    pub done_ns: u64,
    pub length: u32,
    /// It runs there, or waits there by a list; `NONE`: nowhere yet.
    pub cpu: i32,
    /// The answer: CPU where it waits; `NONE`: where any task does.
    pub wanted: i32,
}

/// Room in which lists are made.
pub struct ListRoom(Vec<u64>);

impl Default for ListRoom {
    fn default() -> Self {
        Self(vec![0; unsafe { lop_loader_list_size() }.div_ceil(8)])
    }
}

impl ListRoom {
    /// At which CPU each thread of one application waits, in the order of their creation (policy/list.h); returns how many do.
    pub fn list(&mut self, sched: &lop_sched, app: &lop_app, threads: &mut [Declared]) -> u32 {
        let count = threads.len() as u32;
        unsafe { lop_loader_list(self.0.as_mut_ptr().cast(), sched, app, threads.as_mut_ptr(), count) }
    }
}

/// Room in which plans are made.
pub struct Room {
    plan: Vec<u64>,
    cast: Vec<u64>,
}

impl Default for Room {
    fn default() -> Self {
        let words = |bytes: usize| vec![0; bytes.div_ceil(8)];
        unsafe {
            Self {
                plan: words(lop_loader_plan_size()),
                cast: words(lop_loader_cast_size()),
            }
        }
    }
}

impl Room {
    /// Where each thread is to run, by the plans that the program is configured for; returns how many move.
    pub fn plan(&mut self, sched: &lop_sched, threads: &mut [Planned], now_ns: u64) -> u32 {
        let count = threads.len().min(MAX_PLANNED) as u32;
        let (plan, cast) = (self.plan.as_mut_ptr().cast(), self.cast.as_mut_ptr().cast());
        unsafe { lop_loader_plan(plan, cast, sched, threads.as_mut_ptr(), count, now_ns) }
    }

    /// Whether the last plan wants a thread in this memory domain.
    pub fn wants(&mut self, domain: u32) -> bool {
        unsafe { lop_loader_is_wanted(self.plan.as_mut_ptr().cast(), domain) }
    }
}

/// Whether a gain from speed is another one, x 1000, and no noise of its measurement.
pub fn gains_differ(a_permille: u32, b_permille: u32) -> bool {
    unsafe { lop_loader_gains_more(a_permille, b_permille) || lop_loader_gains_more(b_permille, a_permille) }
}

/// Whether a memory domain is off.
pub fn is_off(sched: &lop_sched, domain: u32) -> bool {
    unsafe { lop_loader_is_off(sched, domain) }
}

extern "C" {
    fn lop_loader_plan_size() -> usize;
    fn lop_loader_cast_size() -> usize;
    fn lop_loader_is_off(s: *const lop_sched, domain: u32) -> bool;
    fn lop_loader_is_wanted(p: *mut c_void, domain: u32) -> bool;
    fn lop_loader_gains_more(a_permille: u32, b_permille: u32) -> bool;
    fn lop_loader_note_counters(t: *mut Planned, misses: u64, instructions: u64, passed_ns: u64);
    fn lop_loader_plan(
        p: *mut c_void,
        c: *mut c_void,
        s: *const lop_sched,
        t: *mut Planned,
        nr: u32,
        now_ns: u64,
    ) -> u32;
    fn lop_loader_list_size() -> usize;
    fn lop_loader_list(l: *mut c_void, s: *const lop_sched, app: *const lop_app, t: *mut Declared, nr: u32) -> u32;
    fn lop_loader_default_hold_ns(transition_ns: u64) -> u64;
    fn lop_loader_set_times(config: *mut lop_config, hold_ns: u64);
    fn lop_loader_choose(config: *mut lop_config, policy: u32, nr_memory_domains: u32, nr_tiers: u32, threads: u32);
    fn lop_loader_target(sched: *const lop_sched, set: u32) -> u32;
    fn lop_loader_due_ns(s: *const lop_sched, set: u32, level: u32) -> u64;
}

#[cfg(test)]
mod tests;
