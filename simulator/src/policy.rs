//! The policy core (policy/, compiled natively) as Rust sees it: mirrors of its types, the world it asks, thin calls.

mod app;
mod inside;
mod native;
pub mod plan;
mod ranks;

pub use app::{App, Rounds};
pub use inside::Inside;
use native::*;
pub use ranks::*;
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ffi::c_void;
use std::ptr::NonNull;

pub const MAX_CPUS: usize = 512;
pub const CPU_WORDS: usize = MAX_CPUS / 64;
pub const NONE: i32 = -1;
/// `LOP_QUEUES`.
pub const QUEUES: usize = MAX_CPUS + 2 * 256;

/// `enum lop_set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Set {
    Low = 0,
    High = 1,
    Green = 2,
    Offline = 3,
}

impl Set {
    fn from_raw(raw: u32) -> Self {
        match raw {
            1 => Self::High,
            2 => Self::Green,
            3 => Self::Offline,
            _ => Self::Low,
        }
    }
}

/// `struct lop_cpus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CpuBits {
    pub word: [u64; CPU_WORDS],
}

impl CpuBits {
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Self {
        let mut bits = Self::default();
        for cpu in cpus {
            bits.word[cpu / 64] |= 1 << (cpu % 64);
        }
        bits
    }
    pub fn has(&self, cpu: usize) -> bool {
        self.word[cpu / 64] >> (cpu % 64) & 1 == 1
    }
    pub fn cpus(&self) -> Vec<usize> {
        (0..MAX_CPUS).filter(|&cpu| self.has(cpu)).collect()
    }
}

/// `struct lop_config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Config {
    pub nr_cpus: u32,
    /// 0: by demand, 1: fixed, 2: all.
    pub sizing: u32,
    pub fixed_size: u32,
    pub spare: u32,
    /// Power cap, in cores (policy/cap.h); 0: none.
    pub most_high: u32,
    pub green: bool,
    /// 0: as tasks come, 1: by spread, 2: by gather.
    pub domains: u32,
    pub room_permille: u32,
    pub only_known: bool,
    pub specialise: bool,
    pub transition_ns: u64,
    pub hold_ns: u64,
    pub last_hold_ns: u64,
    pub slice_min_ns: u64,
    pub slice_max_ns: u64,
    pub period_ns: u64,
    pub heat_period_ns: u64,
    pub hot_mc: i32,
    /// `enum lop_rules`, see [`rules`].
    pub rules: u32,
    pub migration_ns: u64,
    pub grace_ns: u64,
    pub turn_ns: u64,
    /// 0: never, 1: by size, 2: asked for, 3: while the load is barrier-bound.
    pub reserve: u32,
    /// Steps from the reserved core's speed to the highest.
    pub reserve_raises: u32,
    /// More than 90 % busy for so long, it is raised; 0: never.
    pub reserve_window_ns: u64,
}

/// `enum lop_policy` (policy/config.h): names that stand for a choice of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Named {
    SimpleSets = 0,
    HighLow = 1,
    HighLowSpare = 2,
    ReservedCore = 3,
    Phase = 4,
    LongestFirst = 5,
    FairShare = 6,
    Specialise = 7,
    Spread = 8,
    Gather = 9,
    Auto = 10,
}

impl Config {
    /// The rules that a name stands for and the policy's times for this T_hold (policy/config.h), and nothing else.
    pub fn of(policy: Named, hold_ns: u64) -> Self {
        let mut config = Self::default();
        unsafe { lop_native_configure(&mut config, policy as u32, hold_ns) };
        config
    }
    /// Of all rules, without those that such a machine has no use for (policy/auto.h).
    pub fn leave_out(mut self, machine: &Traits) -> Self {
        unsafe { lop_native_leave_out(&mut self, machine) };
        self
    }
}

/// `struct lop_traits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Traits {
    pub nr_memory_domains: u32,
    /// Kinds of cores.
    pub nr_tiers: u32,
    /// Of a core, where it has most; 1: no SMT.
    pub threads: u32,
    /// Of the machine with one core busy at the highest speed.
    pub machine_mw: u32,
    /// Of an idle core that is kept high, beyond that of a low one.
    pub core_mw: u32,
    /// The same of its voltage domain.
    pub domain_mw: u32,
    /// Until a low core is at the highest speed.
    pub rise_ns: u64,
    /// Until the first core of a domain is.
    pub domain_rise_ns: u64,
    /// The most energy-efficient speed for the work that gains least from speed, and the highest, for the same work.
    pub green: GreenOpp,
    pub top: GreenOpp,
}

/// `struct lop_native_cpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CpuPlace {
    pub tier: u16,
    pub voltage_domain: u16,
    pub memory_domain: u16,
    pub node: u16,
    pub socket: u16,
    pub next_sibling: u16,
}

/// `struct lop_group`, its `load` as the two halves that it is on a little-endian machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Group {
    /// Sum of the weights of its active tasks and groups.
    pub active_weight: u32,
    pub weight: u32,
    /// That sum x 1024, as a mean of the last 17 ms in which anything was active, and when it last changed.
    pub mean_1024: u64,
    pub mean_at_ns: u64,
    /// Index among the policy's groups ([`PolicyHandle::set_group`]), `NONE`: beside the tasks of no group.
    pub parent: i32,
}

impl Group {
    pub fn new(weight: u32) -> Self {
        Self {
            active_weight: 0,
            weight,
            mean_1024: 0,
            mean_at_ns: 0,
            parent: NONE,
        }
    }
}

/// `struct lop_task` with the adapter's number behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    pub vtime_ns: u64,
    /// Since when it waits in `queue`.
    pub queued_at_ns: u64,
    pub weight: u32,
    pub nr_allowed: u32,
    pub speedup_permille: u32,
    pub anchor: i32,
    /// Where it waited last since it woke, `NONE`.
    pub last_queue: i32,
    /// Where it waits or came from, `NONE`.
    pub queue: i32,
    /// That it is to run in by a plan, `NONE`: any.
    pub memory_domain: i32,
    /// CPU that it changes to when it is queued the next time, `NONE`.
    pub goes_to: i32,
    pub set: u8,
    pub counted: bool,
    pub restricted: bool,
    pub brief: bool,
    /// The system's own work: for the reserved CPU, where there is one.
    pub system: bool,
    /// May run on isolated CPUs only.
    pub bound: bool,
    pub allowed: CpuBits,
    pub hint: Hint,
    /// 1 + the CPU that it runs on, 0.
    pub runs_on: u32,
    pub seen: bool,
    /// It waits in the queue of one CPU alone by a rule, and before what runs there.
    pub goes_first: bool,
    /// 1 + the CPU in whose queue it is put next, 0.
    pub given: u32,
    /// 1 + the CPU in whose queue it waits by a plan, 0.
    pub listed: u32,
    pub woke_ns: u64,
    /// Work done so far, ns on the fastest kind of core.
    pub done_ns: u64,
    /// When it last left a fast core.
    pub turn_ns: u64,
    pub holds_since_ns: u64,
    /// Who pays for its time on fast cores, and by what weight (policy/budget.h).
    pub user: u32,
    pub user_weight: u32,
    /// Not the policy's: which task this is.
    pub id: u32,
}

impl Task {
    pub fn new(id: u32, weight: u32) -> Self {
        Self {
            vtime_ns: 0,
            queued_at_ns: 0,
            weight,
            nr_allowed: 0,
            speedup_permille: 0,
            anchor: NONE,
            last_queue: NONE,
            queue: NONE,
            memory_domain: NONE,
            goes_to: NONE,
            set: Set::High as u8,
            counted: false,
            restricted: false,
            brief: false,
            system: false,
            bound: false,
            allowed: CpuBits::default(),
            hint: Hint::default(),
            runs_on: 0,
            seen: false,
            goes_first: false,
            given: 0,
            listed: 0,
            woke_ns: 0,
            done_ns: 0,
            turn_ns: 0,
            holds_since_ns: 0,
            user: 0,
            user_weight: weight,
            id,
        }
    }
}

/// `struct lop_opp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct GreenOpp {
    pub busy_mw: u32,
    pub idle_mw: u32,
    pub rate_permille: u32,
}

/// The world as `policy/env.h` describes it. Tasks by `Task::id`.
pub trait Env {
    fn now_ns(&mut self) -> u64;
    fn insert_local(&mut self, task: u32, cpu: u32, slice_ns: u64);
    fn insert(&mut self, task: u32, queue: u32, slice_ns: u64, vtime_ns: u64);
    /// Takes the first that may run on `cpu`, if its virtual time is not after `until_ns`; `u64::MAX`: whatever it is.
    fn take(&mut self, queue: u32, cpu: u32, until_ns: u64) -> bool;
    /// Takes the first that may run on `cpu` and was queued at `before_ns` or earlier.
    fn take_overdue(&mut self, queue: u32, cpu: u32, before_ns: u64) -> bool;
    fn queued(&mut self, queue: u32) -> u32;
    /// Virtual time of the first task that waits there; `u64::MAX` if none does.
    fn first_ns(&mut self, queue: u32) -> u64;
    fn kick(&mut self, cpu: u32);
    /// A busy CPU asks what to run, as if the slice there were over.
    fn preempt(&mut self, cpu: u32);
    fn set_changed(&mut self, cpu: u32, set: Set);
    /// `cpu` is on the reserved core: its speed, `raised` steps up. Of no interest to a world that never asks for one.
    fn reserved_speed(&mut self, _cpu: u32, _raised: u32) {}
    fn arm_timer(&mut self, at_ns: u64);
    fn temperature_mc(&mut self, cpu: u32) -> i32;
}

/// `struct lop_sched`, whose inside only the policy knows.
#[repr(C)]
pub struct Sched {
    _private: [u8; 0],
}

/// Owns the policy's state.
pub struct Policy {
    sched: NonNull<Sched>,
    layout: Layout,
}

// The state is plain memory that only its owner reaches.
unsafe impl Send for Policy {}

impl Policy {
    /// Zeroed state with this configuration; CPUs are added before `start`.
    pub fn new(config: Config) -> Self {
        let size = unsafe { lop_native_sched_size() };
        let layout = Layout::from_size_align(size, 64).expect("size of the policy's state");
        let raw = unsafe { alloc_zeroed(layout) }.cast::<Sched>();
        let sched = NonNull::new(raw).unwrap_or_else(|| std::alloc::handle_alloc_error(layout));
        unsafe { *lop_native_config(sched.as_ptr()) = config };
        Self { sched, layout }
    }
    pub fn handle(&self) -> PolicyHandle {
        PolicyHandle(self.sched.as_ptr())
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        unsafe { dealloc(self.sched.as_ptr().cast(), self.layout) }
    }
}

/// A way to call the policy while its owner lives. Callers keep the owner alive and pass pointers to live tasks.
#[derive(Clone, Copy)]
pub struct PolicyHandle(*mut Sched);

/// `struct lop_world` with the adapter's part behind it: whom the callbacks ask.
#[repr(C)]
struct World<'a> {
    scratch: std::mem::MaybeUninit<[CpuBits; 3]>,
    env: *mut (dyn Env + 'a),
}

macro_rules! with_world {
    ($env:ident, $call:expr) => {{
        let mut world = World {
            scratch: std::mem::MaybeUninit::uninit(),
            env: $env,
        };
        let world = (&raw mut world).cast::<c_void>();
        #[allow(clippy::redundant_closure_call)]
        unsafe {
            $call(world)
        }
    }};
}

impl PolicyHandle {
    pub fn add_cpu(self, cpu: usize, place: CpuPlace) {
        unsafe { lop_native_add_cpu(self.0, cpu as u32, &place) }
    }
    /// Before `start`: nobody uses this CPU but who is bound there.
    pub fn isolate(self, cpu: usize) {
        unsafe { lop_native_isolate(self.0, cpu as u32) }
    }
    /// Before `start`, after the last CPU: only `online` are online, and none is known to be idle, as a kernel begins.
    pub fn begin_busy(self, online: &CpuBits) {
        unsafe { lop_native_begin_busy(self.0, online) }
    }
    pub fn start(self, env: &mut dyn Env, now_ns: u64) {
        with_world!(env, |world| lop_native_start(self.0, world, now_ns))
    }
    /// Returns the CPU and whether it was idle and is claimed.
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn wake(
        self,
        env: &mut dyn Env,
        task: *mut Task,
        app: *mut App,
        group: *mut Group,
        last_cpu: u32,
        now_ns: u64,
    ) -> (i32, bool) {
        let mut claimed = false;
        let cpu = with_world!(env, |world| lop_native_wake(
            self.0,
            world,
            task,
            app,
            group,
            last_cpu,
            now_ns,
            &mut claimed
        ));
        (cpu, claimed)
    }
    /// `wake` of a task without group that is neither started nor queued yet.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn place(
        self,
        env: &mut dyn Env,
        task: *mut Task,
        app: *mut App,
        last_cpu: u32,
        now_ns: u64,
    ) -> (i32, bool) {
        let mut claimed = false;
        let cpu = with_world!(env, |world| lop_native_place(
            self.0,
            world,
            task,
            app,
            last_cpu,
            now_ns,
            &mut claimed
        ));
        (cpu, claimed)
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn enqueue(self, env: &mut dyn Env, task: *mut Task, group: *const Group, cpu: u32) {
        with_world!(env, |world| lop_native_enqueue(self.0, world, task, group, cpu))
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn wait_at_claimed(self, env: &mut dyn Env, task: *mut Task, cpu: u32) {
        with_world!(env, |world| lop_native_wait_at_claimed(self.0, world, task, cpu))
    }
    pub fn dispatch(self, env: &mut dyn Env, cpu: u32) -> bool {
        with_world!(env, |world| lop_native_dispatch(self.0, world, cpu))
    }
    pub fn anything_waits(self, cpu: u32) -> bool {
        unsafe { lop_native_anything_waits(self.0, cpu) }
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn running(self, env: &mut dyn Env, task: *mut Task, now_ns: u64) {
        with_world!(env, |world| lop_native_running(self.0, world, task, now_ns))
    }
    /// Takes a waiting task out of its queue, to be queued anew.
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn dequeue(self, env: &mut dyn Env, task: *mut Task) {
        with_world!(env, |world| lop_native_dequeue(self.0, world, task))
    }
    pub fn dispatch_running(self, env: &mut dyn Env, task: &Task, cpu: u32) -> u32 {
        with_world!(env, |world| lop_native_dispatch_running(self.0, world, cpu, task))
    }
    /// Whether a task whose slice is over goes on because nobody that waits is further behind.
    pub fn goes_on(self, env: &mut dyn Env, task: &Task, cpu: u32) -> bool {
        with_world!(env, |world| lop_native_goes_on(self.0, world, task, cpu))
    }
    /// Whether a task that starts on `cpu` is to leave it at once, because the CPU left its set while the task was on its way.
    pub fn came_too_late(self, task: &Task, cpu: u32) -> bool {
        unsafe { lop_native_came_too_late(self.0, task, cpu) }
    }
    /// The task pays for `ran_ns` on `cpu`, until now.
    /// # Safety
    /// The pointers are valid (`group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn stopping(self, env: &mut dyn Env, task: *mut Task, group: *const Group, cpu: u32, ran_ns: u64) {
        with_world!(env, |world| lop_native_stopping(
            self.0, world, task, group, cpu, ran_ns
        ))
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn block(self, env: &mut dyn Env, task: *mut Task, app: *mut App, group: *mut Group, now_ns: u64) {
        with_world!(env, |world| lop_native_block(self.0, world, task, app, group, now_ns))
    }
    /// The task is not the policy's any more.
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn forget(self, env: &mut dyn Env, task: *mut Task, app: *mut App, group: *mut Group, now_ns: u64) {
        with_world!(env, |world| lop_native_forget(self.0, world, task, app, group, now_ns))
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn spin(
        self,
        env: &mut dyn Env,
        task: *mut Task,
        app: *mut App,
        group: *mut Group,
        spinning: bool,
        now_ns: u64,
    ) {
        with_world!(env, |world| lop_native_spin(
            self.0, world, task, app, group, spinning, now_ns
        ))
    }
    /// After `running`: the task is compared with what runs elsewhere from now on.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn started(self, env: &mut dyn Env, task: *mut Task, app: *mut App, cpu: u32, now_ns: u64) {
        with_world!(env, |world| lop_native_started(self.0, world, task, app, cpu, now_ns))
    }
    /// Before the task is queued (`runnable`) or blocks.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn stopped(self, task: *mut Task, app: *mut App, cpu: u32, runnable: bool, now_ns: u64) {
        unsafe { lop_native_stopped(self.0, task, app, cpu, runnable, now_ns) }
    }
    /// A thread has ended, before `block` or `forget`.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn ended(self, task: *mut Task, app: *mut App) {
        unsafe { lop_native_ended(self.0, task, app) }
    }
    /// Flags of [`says`] without SPINNING.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn say(self, env: &mut dyn Env, task: *mut Task, app: *mut App, flags: u32, now_ns: u64) {
        with_world!(env, |world| lop_native_say(self.0, world, task, app, flags, now_ns))
    }
    /// A waiting task is waited for itself since [`Self::say`]; true: it is to be taken from its queue and queued anew.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn claim_late(self, env: &mut dyn Env, task: *mut Task, app: *mut App) -> bool {
        with_world!(env, |world| lop_native_claim_late(self.0, world, task, app))
    }
    /// Who runs on `cpu` has its core by length: no plan by SF moves it.
    pub fn has_core_by_length(self, cpu: u32) -> bool {
        unsafe { lop_native_has_core_by_length(self.0, cpu) }
    }
    /// `enum lop_class` of what runs on `cpu`; ordinary if nothing does.
    pub fn class_on(self, cpu: u32) -> u32 {
        unsafe { lop_native_class_on(self.0, cpu) }
    }
    /// What runs on `cpu` was sent elsewhere, or another task was given this CPU.
    pub fn must_go(self, cpu: u32) -> bool {
        unsafe { lop_native_must_go(self.0, cpu) }
    }
    /// Running tasks that were sent to another CPU.
    pub fn moves(self) -> u64 {
        unsafe { lop_native_moves(self.0) }
    }
    /// Before `start`: speed of a kind of core over that of the fastest.
    pub fn set_tier_speed(self, tier: usize, permille: u32) {
        unsafe { lop_native_set_tier_speed(self.0, tier as u32, permille) }
    }
    pub fn ranks_before(self, a: &Rank, b: &Rank) -> bool {
        unsafe { lop_native_ranks_before(self.0, a, b) }
    }
    pub fn cpu_idle(self, env: &mut dyn Env, cpu: u32, idle: bool, now_ns: u64) {
        with_world!(env, |world| lop_native_cpu_idle(self.0, world, cpu, idle, now_ns))
    }
    /// A higher class takes a CPU, or does not any more.
    pub fn cpu_taken(self, env: &mut dyn Env, cpu: u32, taken: bool, now_ns: u64) {
        with_world!(env, |world| lop_native_cpu_taken(self.0, world, cpu, taken, now_ns))
    }
    /// Whether a task that waits now waits for a member that something else took.
    pub fn is_short(self) -> bool {
        unsafe { lop_native_is_short(self.0) }
    }
    pub fn timer(self, env: &mut dyn Env, now_ns: u64) {
        with_world!(env, |world| lop_native_timer(self.0, world, now_ns))
    }
    pub fn rotate_heat(self, env: &mut dyn Env, now_ns: u64) {
        with_world!(env, |world| lop_native_rotate_heat(self.0, world, now_ns))
    }
    pub fn cpu_offline(self, env: &mut dyn Env, cpu: u32, now_ns: u64) {
        with_world!(env, |world| lop_native_cpu_offline(self.0, world, cpu, now_ns))
    }
    pub fn cpu_online(self, env: &mut dyn Env, cpu: u32, now_ns: u64) {
        with_world!(env, |world| lop_native_cpu_online(self.0, world, cpu, now_ns))
    }
    /// A waiting task of limited affinity counted on a CPU that went offline.
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn anchor_anew(self, env: &mut dyn Env, task: *mut Task, now_ns: u64) {
        with_world!(env, |world| lop_native_anchor_anew(self.0, world, task, now_ns))
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn set_allowed(self, task: *mut Task, allowed: &CpuBits) {
        unsafe { lop_native_set_allowed(self.0, task, allowed) }
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn set_weight(self, task: *mut Task, group: *mut Group, weight: u32, now_ns: u64) {
        unsafe { lop_native_set_weight(self.0, task, group, weight, now_ns) }
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn declare(self, env: &mut dyn Env, app: *mut App, parallelism: u32, now_ns: u64) -> bool {
        with_world!(env, |world| lop_native_declare(self.0, world, app, parallelism, now_ns))
    }
    pub fn members(self, set: Set) -> CpuBits {
        unsafe { *lop_native_members(self.0, set as u32) }
    }
    pub fn size(self, set: Set) -> u32 {
        unsafe { lop_native_size(self.0, set as u32) }
    }
    pub fn active(self, set: Set) -> u32 {
        unsafe { lop_native_active(self.0, set as u32) }
    }
    pub fn target(self, set: Set) -> u32 {
        unsafe { lop_native_target(self.0, set as u32) }
    }
    pub fn promotions(self) -> u64 {
        unsafe { lop_native_promotions(self.0) }
    }
    pub fn demotions(self) -> u64 {
        unsafe { lop_native_demotions(self.0) }
    }
    /// The CPU that is reserved for the operating system's own work, if one is, and by how many steps its speed was raised.
    pub fn reserved(self) -> (Option<u32>, u32) {
        let mut raised = 0;
        let cpu = unsafe { lop_native_reserved(self.0, &mut raised) };
        (u32::try_from(cpu).ok(), raised)
    }
    /// The CPU runs at the reserved core's speed: the reserved one, or an SMT sibling of it.
    pub fn on_reserved_core(self, cpu: u32) -> bool {
        unsafe { lop_native_on_reserved_core(self.0, cpu) }
    }
    pub fn swaps(self) -> u64 {
        unsafe { lop_native_swaps(self.0) }
    }
    /// Which CPU would join next (of `within`), and which would leave.
    pub fn joiner(self, set: Set, within: &CpuBits, home_node: i32) -> i32 {
        unsafe { lop_native_joiner(self.0, set as u32, within, home_node) }
    }
    pub fn leaver(self, set: Set) -> i32 {
        unsafe { lop_native_leaver(self.0, set as u32) }
    }
}

/// T_hold where nobody asks for another (policy/config.h).
pub fn default_hold_ns(transition_ns: u64) -> u64 {
    unsafe { lop_native_default_hold_ns(transition_ns) }
}

/// Index of the most energy-efficient OPP (policy/green.h).
pub fn green_opp(opps: &[GreenOpp], stays_on: bool) -> usize {
    unsafe { lop_native_green_opp(opps.as_ptr(), opps.len() as u32, stays_on) as usize }
}

/// Effective weight of a task in its group (policy/group.h).
impl PolicyHandle {
    pub fn effective_weight(self, task: &Task, group: Option<&Group>) -> f64 {
        let group = group.map_or(std::ptr::null(), |group| group as *const Group);
        f64::from(unsafe { lop_native_weight_1024(self.0, task, group) }) / 1024.0
    }
    /// What a ns of the task counts for between users (policy/budget.h).
    pub fn weight_of_user(self, task: &Task, group: Option<&Group>) -> u32 {
        let group = group.map_or(std::ptr::null(), |group| group as *const Group);
        unsafe { lop_native_weight_of_user(self.0, task, group) }
    }
    /// One of the groups that others lie in. Lives as long as the policy.
    pub fn group(self, index: usize) -> *mut Group {
        unsafe { lop_native_group(self.0, index as u32) }
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn set_group_weight(self, group: *mut Group, weight: u32, now_ns: u64) {
        unsafe { lop_native_set_group_weight(self.0, group, weight, now_ns) }
    }
}

/// Sizes of `struct lop_task` in C and of its mirror without the adapter's number, in bytes: equal, or the mirror is wrong.
pub fn task_sizes() -> (usize, usize) {
    let mirror = std::mem::offset_of!(Task, id);
    (unsafe { lop_native_task_size() }, mirror)
}

/// The same for `struct lop_config` and `struct lop_app`.
pub fn config_sizes() -> (usize, usize) {
    (unsafe { lop_native_config_size() }, std::mem::size_of::<Config>())
}
pub fn traits_sizes() -> (usize, usize) {
    (unsafe { lop_native_traits_size() }, std::mem::size_of::<Traits>())
}
pub fn group_sizes() -> (usize, usize) {
    (unsafe { lop_native_group_size() }, std::mem::size_of::<Group>())
}
pub fn app_sizes() -> (usize, usize) {
    (unsafe { lop_native_app_size() }, std::mem::size_of::<App>())
}
