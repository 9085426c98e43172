// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The scheduler's rules (the headers of policy/), compiled natively and called from Rust.
//!
//! All types are those of the headers. An adapter owns a [`Policy`], implements [`Env`], and reports each event
//! through a [`PolicyHandle`].

mod arrive;
mod callbacks;
mod described;
mod names;
mod plan;
pub mod record;
mod task;

/// The headers, as bindgen describes them (build.rs).
#[allow(non_camel_case_types, dead_code, clippy::all, clippy::pedantic)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/headers.rs"));
}

pub use arrive::{DomainLoad, Fit, NodeState};
pub use callbacks::Env;
pub use described::CpuPlace;
pub use ffi::{
    lop_app as App, lop_class as class, lop_config as Config, lop_cpus as CpuBits, lop_domains as Domains,
    lop_goal as Goal, lop_goal_config as GoalConfig, lop_green_work as GreenWork, lop_group as Group, lop_hint as Hint,
    lop_hint_flags as hint_flags, lop_mean as Mean, lop_memory_class as MemoryClass, lop_next as Next,
    lop_point as Point, lop_policy as Named, lop_power as Power, lop_rank as Rank, lop_reserve as Reserve,
    lop_role as role, lop_rules as rules, lop_rung as Rung, lop_sched as Sched, lop_set as Set, lop_sizing as Sizing,
    lop_traits as Traits,
};
pub use names::PolicyName;
pub use plan::{
    has_basis, is_planned, keep_active, measured_speedup, root, Domain, Intensity, Planned, Planner, Thread,
};
pub use task::{born, clamp_speedup, declare_length, displaces, median_length, weight_of_nice, weight_of_share, Task};

use callbacks::Call;
use record::{Kind, Record, Recorder};
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::NonNull;

pub const NONE: i32 = ffi::LOP_NONE;
pub const NO_TEMPERATURE: i32 = ffi::LOP_NO_TEMPERATURE;
pub const MAX_CPUS: usize = ffi::LOP_MAX_CPUS as usize;
/// SF of a task of which nothing is known, x 1000 (policy/fast/uclamp.h).
pub const UNMEASURED_SPEEDUP: u32 = ffi::LOP_UNMEASURED_SPEEDUP;
pub const CPU_WORDS: usize = ffi::LOP_CPU_WORDS as usize;
pub const MAX_TIERS: usize = ffi::LOP_MAX_TIERS as usize;
pub const MAX_MEMORY_DOMAINS: usize = ffi::LOP_MAX_MEMORY_DOMAINS as usize;
pub const MAX_NODES: usize = ffi::LOP_MAX_NODES as usize;
pub const QUEUES: usize = ffi::LOP_QUEUES as usize;
pub const MAX_RUNGS: usize = ffi::LOP_MAX_RUNGS as usize;
pub const RESERVE_SPEEDS: usize = ffi::LOP_RESERVE_SPEEDS as usize;
/// Light work is placed on machines of so many CPUs at most (policy/sets/light.h).
pub const LIGHT_CPUS: usize = ffi::LOP_LIGHT_CPUS as usize;
/// On the scale of the kernel's uclamp.
pub const FULL_SPEED: u32 = ffi::LOP_FULL_SPEED;
/// More threads than this are not planned.
pub const MAX_PLANNED: usize = ffi::LOP_MAX_PLANNED as usize;
/// How often plans are made, while there is anything to plan.
pub const PLAN_PERIOD_NS: u64 = ffi::LOP_PLAN_PERIOD_NS as u64;
/// Limit for groups that are parents of others ([`PolicyHandle::group`]).
pub const MAX_GROUPS: usize = 1024;
/// A task of nice 0, and a group with cpu.weight 100.
pub const WEIGHT_DEFAULT: u32 = ffi::LOP_WEIGHT_DEFAULT;

/// T_hold if none is asked for (policy/core/config.h).
#[must_use]
pub fn default_hold_ns(transition_ns: u64) -> u64 {
    unsafe { ffi::lop_default_hold_ns(transition_ns) }
}

/// What work costs at this kind of core and speed, uJ for a ms of the fastest core, if a second costs so much (policy/sets/green.h).
#[must_use]
pub fn cost_uj(point: &Point, second_mw: u32) -> u64 {
    unsafe { ffi::lop_cost_uj(point, second_mw) }
}

/// Index of the cheapest point; of equals the last (policy/sets/green.h).
#[must_use]
pub fn cheapest(points: &[Point], second_mw: u32) -> usize {
    unsafe { ffi::lop_cheapest(points.as_ptr(), points.len() as u32, second_mw) as usize }
}

impl Config {
    /// The rules that a name stands for, and the policy's times for this T_hold (policy/core/config.h).
    #[must_use]
    pub fn of(policy: Named, hold_ns: u64) -> Self {
        let mut config = Self::default();
        unsafe {
            ffi::lop_choose(&mut config, policy);
            ffi::lop_set_times(&mut config, hold_ns);
        }
        config
    }
    /// The same on a machine with so many memory domains, kinds of cores and threads per core whose power is not
    /// known: `auto` leaves out the rules that it has no use for, or that do not serve the goal.
    #[must_use]
    pub fn on_unmeasured(
        policy: Named,
        goal: Goal,
        hold_ns: u64,
        nr_memory_domains: impl Into<u32>,
        nr_tiers: impl Into<u32>,
        threads_per_core: impl Into<u32>,
    ) -> Self {
        let config = Self::of(policy, hold_ns);
        if policy != Named::Auto {
            return config;
        }
        config.leave_out(&Traits {
            goal,
            nr_memory_domains: nr_memory_domains.into(),
            nr_tiers: nr_tiers.into(),
            threads_per_core: threads_per_core.into(),
            ..Traits::default()
        })
    }
    /// Whether the adapter has to plan where threads run, or what they gain ([`Planner`]).
    #[must_use]
    pub fn plans(&self) -> bool {
        self.rules & rules::SPEEDUP != 0 || self.domains != Domains::AsCome
    }
    /// Whether plans switch memory domains off.
    #[must_use]
    pub fn gathers(&self) -> bool {
        self.domains == Domains::Gather
    }
    /// Whether it only decides how many CPUs are high, not which thread runs where.
    #[must_use]
    pub fn only_sizes(&self) -> bool {
        self.rules == 0 && !self.plans() && self.reserve == Reserve::Never
    }
    /// Whether the size of the high set never changes.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.sizing == Sizing::Fixed
    }
    /// Whether it uses the hints of threads.
    #[must_use]
    pub fn uses_hints(&self) -> bool {
        self.plans() || self.rules & !rules::WHOLE != 0 || self.green == GreenWork::Paced
    }
    /// Without the rules that such a machine has no use for (policy/core/auto.h).
    #[must_use]
    pub fn leave_out(mut self, machine: &Traits) -> Self {
        unsafe { ffi::lop_leave_out(&mut self, machine) };
        self
    }
    /// What changes in the running scheduler where the goal changes to that of `other` (policy/sets/goal.h). `None`: more does, so it starts again.
    #[must_use]
    pub fn goal_change(&self, other: &Self) -> Option<GoalConfig> {
        let changed = Self {
            spare: other.spare,
            last_hold_ns: other.last_hold_ns,
            keeps_kind: other.keeps_kind,
            domains: other.domains,
            ..*self
        };
        (changed == *other && self.plans() == other.plans()).then(|| GoalConfig {
            spare: other.spare.into(),
            last_hold_ns: other.last_hold_ns,
            keeps_kind: other.keeps_kind.into(),
            domains: other.domains as u64,
        })
    }
    /// With tasks paced that a clock paces, where some of these points cost less than the fastest (policy/sets/pace.h).
    #[must_use]
    pub fn with_ladder(mut self, points: &[Point]) -> Self {
        unsafe { ffi::lop_make_ladder(&mut self, points.as_ptr(), points.len() as u32) };
        self
    }
}

/// The policy's state, followed by the groups that are parents of others, and by the record of its calls.
#[repr(C)]
struct State {
    sched: Sched,
    groups: [Group; MAX_GROUPS],
    /// `None`: calls are not recorded. Zeroed memory is that, too.
    recorder: Option<Box<Recorder>>,
}

/// Owns the policy's state.
pub struct Policy {
    state: NonNull<State>,
}

// The state is plain memory that only its owner reaches.
unsafe impl Send for Policy {}

impl Policy {
    /// Zeroed state with this configuration; CPUs are added before `start`.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let layout = Layout::new::<State>();
        let raw = unsafe { alloc_zeroed(layout) }.cast::<State>();
        let state = NonNull::new(raw).unwrap_or_else(|| std::alloc::handle_alloc_error(layout));
        unsafe { (*state.as_ptr()).sched.config = config };
        Self { state }
    }
    /// To be filled with the machine before [`PolicyHandle::start`].
    pub fn sched(&mut self) -> &mut Sched {
        unsafe { &mut (*self.state.as_ptr()).sched }
    }
    #[must_use]
    pub fn handle(&self) -> PolicyHandle {
        PolicyHandle(self.state.as_ptr().cast())
    }
    /// From now on calls and decisions are recorded, as the kernel logs its own.
    pub fn record(&mut self) {
        unsafe { (*self.state.as_ptr()).recorder = Some(Box::default()) }
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        unsafe { (*self.state.as_ptr()).recorder = None };
        unsafe { dealloc(self.state.as_ptr().cast(), Layout::new::<State>()) }
    }
}

/// Calls the policy while its owner lives, and reads its state (`Sched`) between two calls. Callers keep the owner
/// alive, pass pointers to live tasks, and keep no reference to the state while they call.
#[derive(Clone, Copy)]
pub struct PolicyHandle(*mut Sched);

impl std::ops::Deref for PolicyHandle {
    type Target = Sched;
    fn deref(&self) -> &Sched {
        unsafe { &*self.0 }
    }
}

impl PolicyHandle {
    /// `None`: calls are not recorded.
    fn recorder<'a>(self) -> Option<&'a mut Recorder> {
        // Only a Policy's own state has a handle; a reference lives for one statement.
        unsafe { (*self.0.cast::<State>()).recorder.as_deref_mut() }
    }
    fn call<'a>(self, env: &'a mut (dyn Env + 'a)) -> Call<'a> {
        Call::new(self, env)
    }
    fn note(self, kind: Kind, now_ns: u64, cpu: u32, value: u32) {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.push(kind, 0, cpu as i32, value);
        }
    }
    unsafe fn note_task(self, kind: Kind, now_ns: u64, task: *const Task, cpu: u32, value: u32) {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.call(kind, &*task, cpu as i32, value);
        }
    }
    /// Records since the last call; none if calls are not recorded.
    #[must_use]
    pub fn take_records(self) -> Vec<Record> {
        self.recorder().map_or_else(Vec::new, Recorder::take)
    }
    /// A task begins, or another one of its number: only records need to know. Its CPUs and hints follow.
    pub fn introduce(self, task: &Task, app: &App, now_ns: u64) {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.introduce(task, app);
        }
    }
    /// The application of tasks that were introduced ends with the last of them: only records need to know.
    pub fn app_ends(self, app: &App) {
        if let Some(recorder) = self.recorder() {
            recorder.app_ends(app);
        }
    }
    /// The same as [`declare_length`], of a task that was introduced.
    pub fn declare_length(self, task: &mut Task, app: &mut App, length: u32) {
        if let Some(recorder) = self.recorder() {
            recorder.call(Kind::Length, task, 0, length);
        }
        declare_length(task, app, length);
    }
    /// The same as [`App::share_memory`], of the application of a task that was introduced.
    pub fn share_memory(self, task: &Task, app: &mut App, only_node: i32) {
        if let Some(recorder) = self.recorder() {
            recorder.call(Kind::Shares, task, 0, (only_node + 1) as u32);
        }
        app.share_memory(only_node);
    }
    pub fn start(self, env: &mut dyn Env, now_ns: u64) {
        self.note(Kind::Start, now_ns, 0, (self.idle == self.online).into());
        unsafe { ffi::lop_start(self.0, self.call(env).world(), now_ns) }
    }
    /// Counts the task, grows the set, places the task, and starts or queues it. Returns the CPU and whether it was
    /// idle and is claimed.
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
        ffi::lop_note_caught_up(self.0, task.cast());
        let place = self.place_in(env, task, app, group, last_cpu, now_ns);
        // A task that starts on the CPU that it claimed is not queued.
        let queues = !place.claimed && place.cpu >= 0;
        if queues {
            self.note_task(Kind::Enqueue, now_ns, task, place.cpu as u32, 0);
        }
        ffi::lop_put(self.0, self.call(env).world(), task.cast(), group, place);
        self.note_put(task, queues);
        (place.cpu, place.claimed)
    }
    /// The first half of [`Self::wake`], for callers that queue the task themselves.
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
        let place = self.place_in(env, task, app, std::ptr::null_mut(), last_cpu, now_ns);
        (place.cpu, place.claimed)
    }
    unsafe fn place_in(
        self,
        env: &mut dyn Env,
        task: *mut Task,
        app: *mut App,
        group: *mut Group,
        last_cpu: u32,
        now_ns: u64,
    ) -> ffi::lop_placement {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.wake(&*task, last_cpu);
        }
        let place = ffi::lop_wake(
            self.0,
            self.call(env).world(),
            task.cast(),
            app,
            group,
            last_cpu,
            now_ns,
        );
        if let Some(recorder) = self.recorder() {
            recorder.call(Kind::Placed, &*task, place.cpu, place.claimed.into());
        }
        place
    }
    unsafe fn note_put(self, task: *const Task, is_told: bool) {
        if let Some(recorder) = self.recorder() {
            recorder.end_put(&*task, is_told);
        }
    }
    /// # Safety
    /// The pointers are valid (`group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn enqueue(self, env: &mut dyn Env, task: *mut Task, group: *const Group, cpu: u32) {
        self.note_task(Kind::Enqueue, env.now_ns(), task, cpu, 0);
        ffi::lop_enqueue(self.0, self.call(env).world(), task.cast(), group, cpu);
        self.note_put(task, true);
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn wait_at_claimed(self, env: &mut dyn Env, task: *mut Task, cpu: u32) {
        self.note_task(Kind::Enqueue, env.now_ns(), task, cpu, 1);
        ffi::lop_wait_at_claimed(self.0, self.call(env).world(), task.cast(), cpu);
        self.note_put(task, true);
    }
    /// True: a task was taken for `cpu`. The task that ran there was queued before.
    pub fn dispatch(self, env: &mut dyn Env, cpu: u32) -> bool {
        let nobody = std::ptr::null();
        unsafe { ffi::lop_dispatch(self.0, self.call(env).world(), cpu, nobody) == Next::Taken }
    }
    /// The same if the slice of `task` on `cpu` is over.
    pub fn dispatch_running(self, env: &mut dyn Env, task: &Task, cpu: u32) -> Next {
        unsafe { ffi::lop_dispatch(self.0, self.call(env).world(), cpu, &**task) }
    }
    /// Whether a task whose slice is over goes on because no waiting task is further behind.
    pub fn goes_on(self, env: &mut dyn Env, task: &Task, cpu: u32) -> bool {
        unsafe { ffi::lop_goes_on(self.0, self.call(env).world(), &**task, cpu) }
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn running(self, env: &mut dyn Env, task: *mut Task, cpu: u32, now_ns: u64) {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.started(&*task, cpu);
        }
        ffi::lop_running(self.0, self.call(env).world(), task.cast(), cpu, now_ns)
    }
    /// Takes a waiting task out of its queue, to be queued again.
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn dequeue(self, env: &mut dyn Env, task: *mut Task) {
        self.note_task(Kind::Dequeue, env.now_ns(), task, 0, 0);
        ffi::lop_dequeue(self.0, self.call(env).world(), task.cast())
    }
    /// The task pays for `ran_ns` on `cpu`, until now.
    /// # Safety
    /// The pointers are valid (`group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn stopping(self, env: &mut dyn Env, task: *mut Task, group: *const Group, cpu: u32, ran_ns: u64) {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(env.now_ns());
            recorder.ran(&self, &*task, cpu, ran_ns);
        }
        ffi::lop_stopping(self.0, self.call(env).world(), task.cast(), group, cpu, ran_ns)
    }
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn block(self, env: &mut dyn Env, task: *mut Task, app: *mut App, group: *mut Group, now_ns: u64) {
        self.note_task(Kind::Block, now_ns, task, 0, 0);
        ffi::lop_block(self.0, self.call(env).world(), task.cast(), app, group, now_ns)
    }
    /// The task leaves the policy.
    /// # Safety
    /// The pointers are valid (`app` and `group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn forget(self, env: &mut dyn Env, task: *mut Task, app: *mut App, group: *mut Group, now_ns: u64) {
        self.note_task(Kind::Forget, now_ns, task, 0, 0);
        ffi::lop_forget(self.0, self.call(env).world(), task.cast(), app, group, now_ns)
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
        self.note_task(Kind::Spin, now_ns, task, 0, spinning.into());
        ffi::lop_spin(
            self.0,
            self.call(env).world(),
            task.cast(),
            app,
            group,
            spinning,
            now_ns,
        )
    }
    /// After `running`: from now on the task is compared with tasks that run elsewhere.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn started(self, env: &mut dyn Env, task: *mut Task, app: *mut App, cpu: u32, now_ns: u64) {
        ffi::lop_started(self.0, self.call(env).world(), task.cast(), app, cpu, now_ns)
    }
    /// Before the task is queued (`runnable`) or blocks.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn stopped(self, task: *mut Task, app: *mut App, cpu: u32, runnable: bool, now_ns: u64) {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.stopped(&*task, cpu, runnable);
        }
        ffi::lop_stopped(self.0, task.cast(), app, cpu, runnable, now_ns)
    }
    /// A thread has ended; before `block` or `forget`.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn ended(self, task: *mut Task, app: *mut App) {
        if let Some(recorder) = self.recorder() {
            recorder.call(Kind::Ended, &*task, 0, 0);
        }
        ffi::lop_ended(self.0, task.cast(), app)
    }
    /// Flags of [`says`] without SPINNING.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn set_hints(self, env: &mut dyn Env, task: *mut Task, app: *mut App, flags: u32, now_ns: u64) {
        self.note_task(Kind::Hints, now_ns, task, 0, flags);
        ffi::lop_set_hints(self.0, self.call(env).world(), task.cast(), app, flags, now_ns)
    }
    /// After [`Self::set_hints`], for a task that waits for a CPU. True: others wait for it, so take it from its queue
    /// and queue it again.
    /// # Safety
    /// The pointers are valid (`app` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn claim_late(self, env: &mut dyn Env, task: *mut Task, app: *mut App) -> bool {
        self.note_task(Kind::Late, env.now_ns(), task, 0, 0);
        ffi::lop_claim_late(self.0, self.call(env).world(), task.cast(), app)
    }
    pub fn cpu_idle(self, env: &mut dyn Env, cpu: u32, idle: bool, now_ns: u64) {
        self.note(Kind::Idle, now_ns, cpu, idle.into());
        unsafe { ffi::lop_cpu_idle(self.0, self.call(env).world(), cpu, idle, now_ns) }
    }
    /// A higher class takes a CPU, or releases it.
    pub fn cpu_taken(self, env: &mut dyn Env, cpu: u32, taken: bool, now_ns: u64) {
        self.note(Kind::Taken, now_ns, cpu, taken.into());
        unsafe { ffi::lop_cpu_taken(self.0, self.call(env).world(), cpu, taken, now_ns) }
    }
    pub fn timer(self, env: &mut dyn Env, now_ns: u64) {
        self.note(Kind::Timer, now_ns, 0, 0);
        unsafe { ffi::lop_timer(self.0, self.call(env).world(), now_ns) }
    }
    pub fn rotate_heat(self, env: &mut dyn Env, now_ns: u64) {
        self.note(Kind::Heat, now_ns, 0, 0);
        unsafe { ffi::lop_rotate_heat(self.0, self.call(env).world(), now_ns) }
    }
    /// Whether an adapter that is about to queue the task wakes it instead.
    #[must_use]
    pub fn wakes_anew(self, task: &Task) -> bool {
        unsafe { ffi::lop_wakes_anew(self.0, &**task) }
    }
    /// When the cycle of a task began that a clock paces, and so of whom it wakes, in ns; 0: it has no clock.
    #[must_use]
    pub fn clock_of(self, waker: &Task) -> u64 {
        unsafe { ffi::lop_clock_of(self.0, &**waker) }
    }
    /// Time until a paced task should be done, in ns; for any other, `u64::MAX`.
    #[must_use]
    pub fn until_late_ns(self, task: &Task, now_ns: u64) -> u64 {
        unsafe { ffi::lop_until_late_ns(self.0, &**task, now_ns) }
    }
    /// What an adapter puts into `nobody_waits` of a task. `most_speed`: its uclamp.max, of 1024.
    #[must_use]
    pub fn owner_says_nobody_waits(self, task: &Task, group: Option<&Group>, most_speed: u32) -> bool {
        let group = group.map_or(std::ptr::null(), std::ptr::from_ref);
        unsafe { ffi::lop_owner_says_nobody_waits(self.0, &**task, group, most_speed) }
    }
    /// Whether the task may run on after its slice on this CPU, if no other wants it.
    #[must_use]
    pub fn may_go_on(self, task: &Task, cpu: u32) -> bool {
        unsafe { ffi::lop_may_go_on(self.0, &**task, cpu) }
    }
    /// The task exits: [`PolicyHandle::block`] follows.
    /// # Safety
    /// `task` is valid, and nothing else uses what it points to meanwhile.
    pub unsafe fn pace_exits(self, env: &mut dyn Env, task: *mut Task, now_ns: u64) {
        self.note_task(Kind::Exits, now_ns, task, 0, 0);
        ffi::lop_pace_exits(self.0, self.call(env).world(), task.cast(), now_ns)
    }
    pub fn cpu_offline(self, env: &mut dyn Env, cpu: u32, now_ns: u64) {
        self.note(Kind::Offline, now_ns, cpu, 0);
        unsafe { ffi::lop_cpu_offline(self.0, self.call(env).world(), cpu, now_ns) }
    }
    pub fn cpu_online(self, env: &mut dyn Env, cpu: u32, now_ns: u64) {
        self.note(Kind::Online, now_ns, cpu, 0);
        unsafe { ffi::lop_cpu_online(self.0, self.call(env).world(), cpu, now_ns) }
    }
    /// A waiting task of limited affinity counted on a CPU that went offline.
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn anchor_anew(self, env: &mut dyn Env, task: *mut Task, now_ns: u64) {
        self.note_task(Kind::Anchor, now_ns, task, 0, 0);
        ffi::lop_anchor_anew(self.0, self.call(env).world(), task.cast(), now_ns)
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn set_allowed(self, task: *mut Task, allowed: &CpuBits) {
        ffi::lop_set_allowed(self.0, task.cast(), allowed);
        if let Some(recorder) = self.recorder() {
            recorder.allowed(&*task);
        }
    }
    /// # Safety
    /// The pointers are valid (`group` may be null) and nothing else uses what they point to meanwhile.
    pub unsafe fn set_weight(self, task: *mut Task, group: *mut Group, weight: u32, now_ns: u64) {
        ffi::lop_set_weight(self.0, task.cast(), group, weight, now_ns)
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn declare(self, env: &mut dyn Env, app: *mut App, parallelism: u32, now_ns: u64) -> bool {
        if let Some(recorder) = self.recorder() {
            recorder.time_is(now_ns);
            recorder.declared(&*app, parallelism);
        }
        ffi::lop_declare(self.0, self.call(env).world(), app, parallelism, now_ns)
    }
    /// A group that is a parent of others. Lives as long as the policy.
    #[must_use]
    pub fn group(self, number: usize) -> *mut Group {
        group_at(self.0, number)
    }
    /// Effective weight of a task in its group (policy/queue/group.h).
    #[must_use]
    pub fn effective_weight(self, task: &Task, group: Option<&Group>) -> f64 {
        let group = group.map_or(std::ptr::null(), std::ptr::from_ref);
        f64::from(unsafe { ffi::lop_weight_1024(self.0, &**task, group) }) / 1024.0
    }
    /// How much a ns of the task counts between users (policy/fast/budget.h).
    #[must_use]
    pub fn weight_of_user(self, task: &Task, group: Option<&Group>) -> u32 {
        let group = group.map_or(std::ptr::null(), std::ptr::from_ref);
        unsafe { ffi::lop_weight_of_user(self.0, &**task, group) }
    }
    /// # Safety
    /// The pointer is valid and nothing else uses what it points to meanwhile.
    pub unsafe fn set_group_weight(self, group: *mut Group, weight: u32, now_ns: u64) {
        ffi::lop_group_set_weight(self.0, group, weight, now_ns)
    }
    /// The task is to run in `domain`. True: it is elsewhere (`cpu`), and has to be queued again.
    pub fn set_domain(self, task: &mut Task, domain: i32, cpu: u32) -> bool {
        let leaves = unsafe { ffi::lop_set_domain(self.0, &mut **task, domain, cpu) };
        if let Some(recorder) = self.recorder() {
            recorder.sent(Kind::Domain, task, cpu as i32, domain as u32, leaves);
        }
        leaves
    }
    pub fn set_domain_on(self, env: &mut dyn Env, domain: i32, on: bool, now_ns: u64) {
        let kind = if on { Kind::DomainOn } else { Kind::DomainOff };
        self.note(kind, now_ns, 0, domain as u32);
        unsafe { ffi::lop_set_domain_on(self.0, self.call(env).world(), domain, on, now_ns) }
    }
    /// No plan for memory domains holds any more; all tasks have been told.
    pub fn end_plans(self) {
        if let Some(recorder) = self.recorder() {
            recorder.push(Kind::Rest, 0, 0, 0);
        }
        unsafe { ffi::lop_end_plans(self.0) }
    }
    /// The goal changes ([`Config::goal_change`]).
    pub fn set_goal(self, env: &mut dyn Env, goal: &GoalConfig, now_ns: u64) {
        self.note(Kind::Goal, now_ns, 0, 0);
        if let Some(recorder) = self.recorder() {
            recorder.has_words(record::words_of_goal(goal));
        }
        unsafe { ffi::lop_set_goal(self.0, self.call(env).world(), goal, now_ns) }
    }
    /// Whether the policy considers this queue to have tasks.
    #[must_use]
    pub fn waits(self, queue: u32) -> bool {
        unsafe { ffi::lop_queue_waits(self.0, queue) }
    }
    /// Takes the lock of the sets (`true`), as if another CPU were changing memberships, or releases it.
    pub fn hold_lock(self, held: bool) {
        unsafe { (*self.0).membership.lock = held.into() }
    }
}

/// The group with this number, behind the state.
fn group_at(sched: *mut Sched, number: usize) -> *mut Group {
    // Only a Policy's own state has groups with a parent.
    unsafe { &raw mut (*sched.cast::<State>()).groups[number % MAX_GROUPS] }
}
