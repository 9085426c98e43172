//! Plans of the policy core as Rust sees them: which thread in which memory domain (`spread.h`, `gather.h`), which on which kind of core
//! (`specialise.h`), or waits at which CPU (`list.h`). Pure: arrays in, arrays out.

use super::{App, Config, CpuBits, Env, PolicyHandle, Sched, Task, World, NONE};
use std::ffi::c_void;

/// `LOP_MAX_PLANNED`: threads beyond it are not planned.
pub const MAX_PLANNED: usize = 512;

/// `enum lop_memory_class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum MemoryClass {
    #[default]
    Unknown,
    /// Below 0.1 MPKI.
    VeryLow,
    Moderate,
    /// Above 1 MPKI.
    Intensive,
}

/// `struct lop_intensity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Intensity {
    pub measured_ns: u64,
    /// Misses per million instructions, smoothed.
    pub mpmi: u32,
    pub declared: MemoryClass,
}

impl Intensity {
    /// What counters showed in the last `passed_ns`.
    pub fn note(&mut self, misses: u64, instructions: u64, passed_ns: u64) {
        unsafe { lop_native_note_counters(self, misses, instructions, passed_ns) }
    }
    pub fn class(&self) -> MemoryClass {
        match unsafe { lop_native_memory_class(self) } {
            1 => MemoryClass::VeryLow,
            2 => MemoryClass::Moderate,
            3 => MemoryClass::Intensive,
            _ => MemoryClass::Unknown,
        }
    }
    /// Misses per million instructions to plan with.
    pub fn planned_mpmi(&self) -> u32 {
        unsafe { lop_native_planned_mpmi(self) }
    }
}

/// `struct lop_thread`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Thread {
    /// When a plan moved it last, 0: never.
    pub moved_ns: u64,
    pub mpmi: u32,
    /// Share of the last second in which it ran or waited to run.
    pub demand_permille: u32,
    /// Where it is, `NONE`: nowhere yet.
    pub domain: i32,
    /// The answer.
    pub wanted: i32,
    /// Threads of the same number share data, 0: none.
    pub together: u32,
    /// The answer of the best plan so far.
    pub kept: i32,
    pub memory: MemoryClass,
    /// May not run in every domain.
    pub fixed: bool,
}

impl Thread {
    /// Always runnable, free to move, never moved.
    pub fn new(mpmi: u32, domain: i32) -> Self {
        let intensity = Intensity {
            measured_ns: u64::MAX,
            mpmi,
            declared: MemoryClass::Unknown,
        };
        Self {
            moved_ns: 0,
            mpmi,
            demand_permille: 1000,
            domain,
            wanted: NONE,
            together: 0,
            kept: NONE,
            memory: intensity.class(),
            fixed: false,
        }
    }
}

/// `struct lop_domain`: what is known of it, and room for a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Domain {
    sum_mpmi: u64,
    /// Online.
    pub cores: u32,
    /// What is switched off with it.
    pub node: u32,
    threads: u32,
    intensive: u32,
    demand_permille: u32,
    open: bool,
}

impl Domain {
    pub fn new(cores: u32, node: u32) -> Self {
        Self {
            cores,
            node,
            ..Self::default()
        }
    }
}

/// `struct lop_native_power`: of the machine whatever is off, of each node that is on, of each busy core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Power {
    pub base_mw: u32,
    pub node_mw: u32,
    pub core_mw: u32,
}

/// `struct lop_specialist`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Specialist {
    pub moved_ns: u64,
    /// Time on a slow core over time on a fast one, x 1000; 0: unknown.
    pub speedup_permille: u32,
    pub cpu: i32,
    /// The answer: CPU that it changes to, `NONE`: it stays.
    pub wanted: i32,
    /// Kind of that CPU, 0 the fastest.
    pub tier: u16,
    pub fixed: bool,
    /// `enum lop_class`: it changes with its like only.
    pub class: u8,
}

/// `struct lop_listed`: a thread of declared length, for list scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Listed {
    /// Work, in any unit that is the same for all.
    pub left: u64,
    /// Index of the core where it is, `NONE`: nowhere yet.
    pub core: i32,
    /// The answer.
    pub wanted: i32,
}

/// `LOP_MAX_LISTED`: threads beyond it are not listed.
pub const MAX_LISTED: usize = 512;

/// Room in which plans are made.
pub struct Planner {
    plan: Vec<u64>,
    cast: Vec<u64>,
    list: Vec<u64>,
}

impl Default for Planner {
    fn default() -> Self {
        let words = |bytes: usize| vec![0; bytes.div_ceil(8)];
        unsafe {
            Self {
                plan: words(lop_native_plan_size()),
                cast: words(lop_native_cast_size()),
                list: words(lop_native_list_size()),
            }
        }
    }
}

impl Planner {
    fn plan(&mut self, gather: bool, threads: &mut [Thread], domains: &[Domain], power: Power, now_ns: u64) -> u32 {
        unsafe {
            lop_native_plan(
                self.plan.as_mut_ptr().cast(),
                gather,
                threads.as_mut_ptr(),
                threads.len() as u32,
                domains.as_ptr(),
                domains.len() as u32,
                &power,
                now_ns,
            )
        }
    }
    /// Fills `wanted` of each thread; returns how many move.
    pub fn spread(&mut self, threads: &mut [Thread], domains: &[Domain], now_ns: u64) -> u32 {
        self.plan(false, threads, domains, Power::default(), now_ns)
    }
    /// The same by gather.h.
    pub fn gather(&mut self, threads: &mut [Thread], domains: &[Domain], power: Power, now_ns: u64) -> u32 {
        self.plan(true, threads, domains, power, now_ns)
    }
    /// Of the threads where they are, in the units of gather.h.
    pub fn predicted_edp(&mut self, threads: &[Thread], domains: &[Domain], power: Power) -> u64 {
        unsafe {
            lop_native_predicted_edp(
                self.plan.as_mut_ptr().cast(),
                threads.as_ptr(),
                threads.len() as u32,
                domains.as_ptr(),
                domains.len() as u32,
                &power,
            )
        }
    }
    /// Fills `wanted` of each thread; returns how many change cores.
    pub fn specialise(&mut self, threads: &mut [Specialist], now_ns: u64) -> u32 {
        let nr_threads = threads.len() as u32;
        unsafe { lop_native_specialise(self.cast.as_mut_ptr().cast(), threads.as_mut_ptr(), nr_threads, now_ns) }
    }
    /// Fills `wanted` of each thread, at most [`MAX_LISTED`] in the order of their creation. `permille`: speed of each core, at least one, over that
    /// of the fastest kind, x 1000. `least_gain`: what the last core must be done earlier for threads to change cores.
    pub fn list(&mut self, threads: &mut [Listed], permille: &[u32], least_gain: u64) {
        unsafe {
            lop_native_list(
                self.list.as_mut_ptr().cast(),
                threads.as_mut_ptr(),
                threads.len() as u32,
                permille.as_ptr(),
                permille.len() as u32,
                least_gain,
            )
        }
    }
}

/// SF of a thread of this intensity on a core that is `ratio_permille` / 1000 times as fast.
pub fn speedup_of_mpmi(mpmi: u32, ratio_permille: u32) -> u32 {
    unsafe { lop_native_speedup_of_mpmi(mpmi, ratio_permille) }
}

impl PolicyHandle {
    /// The task is to run in `domain`. True: it is elsewhere (`cpu`), and has to be queued anew.
    pub fn set_domain(self, task: &mut Task, domain: i32, cpu: u32) -> bool {
        unsafe { lop_native_set_domain(self.0, task, domain, cpu) }
    }
    /// The task changes to `cpu` when it is queued the next time, and to its memory domain, where the task has one by a plan.
    pub fn go_to(self, task: &mut Task, cpu: u32) {
        unsafe { lop_native_go_to(self.0, task, cpu) }
    }
    pub fn set_domain_on(self, env: &mut dyn Env, domain: i32, on: bool, now_ns: u64) {
        let mut world = World {
            scratch: std::mem::MaybeUninit::uninit(),
            env,
        };
        unsafe { lop_native_set_domain_on(self.0, (&raw mut world).cast(), domain, on, now_ns) }
    }
    /// No plan for memory domains holds any more; all tasks have been told.
    pub fn rest_plans(self) {
        unsafe { lop_native_rest_plans(self.0) }
    }
    /// Work that a thread has left: ns on the fastest kind of core, or units of length while nobody knows what one takes.
    pub fn listed_left(self, task: &Task, app: &App, now_ns: u64) -> u64 {
        unsafe { lop_native_listed_left(self.0, task, app, now_ns) }
    }
    /// The task waits at `cpu` from now on, `NONE`: where any does. True: it runs elsewhere, and has to be queued anew.
    pub fn put_on_list(self, task: &mut Task, cpu: i32) -> bool {
        unsafe { lop_native_put_on_list(self.0, task, cpu) }
    }
    /// What a plan for the threads of this application must gain, in the same unit.
    pub fn least_gain(self, app: &App) -> u64 {
        unsafe { lop_native_least_gain(self.0, app) }
    }
    /// Work that a CPU does in that time, in ns on the fastest kind of core.
    pub fn work_ns(self, cpu: u32, ran_ns: u64) -> u64 {
        unsafe { lop_native_work_ns(self.0, cpu, ran_ns) }
    }
    /// CPUs of memory domains that are off.
    pub fn off(self) -> CpuBits {
        unsafe { *lop_native_off(self.0) }
    }
}

/// A plan for memory domains is made for threads of this class.
pub fn is_planned(config: &Config, class: MemoryClass) -> bool {
    unsafe { lop_native_is_planned(config, class as u32) }
}

/// Names, and sizes in bytes in C and of the mirrors here: equal, or a mirror is wrong.
pub fn sizes() -> [(&'static str, usize, usize); 5] {
    use std::mem::size_of;
    unsafe {
        [
            ("thread", lop_native_thread_size(), size_of::<Thread>()),
            ("domain", lop_native_domain_size(), size_of::<Domain>()),
            ("specialist", lop_native_specialist_size(), size_of::<Specialist>()),
            ("listed", lop_native_listed_size(), size_of::<Listed>()),
            ("intensity", lop_native_intensity_size(), size_of::<Intensity>()),
        ]
    }
}

extern "C" {
    fn lop_native_plan_size() -> usize;
    fn lop_native_cast_size() -> usize;
    fn lop_native_list_size() -> usize;
    fn lop_native_listed_size() -> usize;
    fn lop_native_thread_size() -> usize;
    fn lop_native_domain_size() -> usize;
    fn lop_native_specialist_size() -> usize;
    fn lop_native_intensity_size() -> usize;
    fn lop_native_note_counters(i: *mut Intensity, misses: u64, instructions: u64, passed_ns: u64);
    fn lop_native_memory_class(i: *const Intensity) -> u32;
    fn lop_native_planned_mpmi(i: *const Intensity) -> u32;
    fn lop_native_speedup_of_mpmi(mpmi: u32, ratio_permille: u32) -> u32;
    fn lop_native_plan(
        p: *mut c_void,
        gather: bool,
        threads: *mut Thread,
        nr_threads: u32,
        domains: *const Domain,
        nr_domains: u32,
        power: *const Power,
        now_ns: u64,
    ) -> u32;
    fn lop_native_predicted_edp(
        p: *mut c_void,
        threads: *const Thread,
        nr_threads: u32,
        domains: *const Domain,
        nr_domains: u32,
        power: *const Power,
    ) -> u64;
    fn lop_native_is_planned(config: *const Config, memory: u32) -> bool;
    fn lop_native_specialise(c: *mut c_void, threads: *mut Specialist, nr_threads: u32, now_ns: u64) -> u32;
    fn lop_native_list(
        l: *mut c_void,
        threads: *mut Listed,
        nr_threads: u32,
        permille: *const u32,
        nr_cores: u32,
        least_gain: u64,
    );
    fn lop_native_listed_left(s: *const Sched, t: *const Task, app: *const App, now_ns: u64) -> u64;
    fn lop_native_least_gain(s: *const Sched, app: *const App) -> u64;
    fn lop_native_work_ns(s: *const Sched, cpu: u32, ran_ns: u64) -> u64;
    fn lop_native_put_on_list(s: *mut Sched, t: *mut Task, cpu: i32) -> bool;
    fn lop_native_set_domain(s: *mut Sched, t: *mut Task, domain: i32, cpu: u32) -> bool;
    fn lop_native_set_domain_on(s: *mut Sched, world: *mut c_void, domain: i32, on: bool, now_ns: u64);
    fn lop_native_rest_plans(s: *mut Sched);
    fn lop_native_go_to(s: *const Sched, t: *mut Task, cpu: u32);
    fn lop_native_off(s: *const Sched) -> *const CpuBits;
}
