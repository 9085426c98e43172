//! The policy core (policy/, compiled natively by native.c) as the agent calls it, and what it is answered.

use crate::cpus::Cpus;
use std::collections::BTreeMap;
use std::ffi::c_void;

/// Memory of a C structure, zeroed.
pub(crate) struct Memory(Box<[u64]>);

impl Memory {
    fn new(bytes: usize) -> Self {
        Self(vec![0; bytes.div_ceil(8)].into_boxed_slice())
    }
    fn at(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
    fn of(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

/// `enum lop_policy`: the rules that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Named {
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

/// `struct agent_config`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    pub policy: Named,
    pub fixed_size: u32,
    /// Below 0: the policy's own.
    pub spare: i32,
    pub nr_cpus: u32,
    pub nr_memory_domains: u32,
    pub nr_tiers: u32,
    pub threads: u32,
    /// Power cap: so many CPUs are high at most; 0: no cap.
    pub most_high: u32,
    /// 0: the policy's own.
    pub hold_ns: u64,
    pub transition_ns: u64,
    pub migration_ns: u64,
}

/// `struct agent_cpu`: where a CPU lies, and its speed over that of the fastest, x 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct CpuPlace {
    pub tier: u16,
    pub voltage_domain: u16,
    pub memory_domain: u16,
    pub node: u16,
    pub socket: u16,
    pub next_sibling: u16,
    pub permille: u16,
}

/// `struct agent_facts`: the policy's own numbers, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Facts {
    /// Active tasks.
    pub active: u32,
    /// CPUs that the high set should have.
    pub target: u32,
    pub spare: u32,
    /// T_hold.
    pub hold_ns: u64,
    pub promotions: u64,
    pub demotions: u64,
}

/// `struct lop_listed`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Listed {
    pub left: u64,
    pub core: i32,
    pub wanted: i32,
}

/// `struct lop_planned`: a thread as a plan sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Planned {
    measured_ns: u64,
    mpmi: u32,
    /// `enum lop_memory_class`; 0: nothing was declared.
    pub declared: u8,
    /// When a plan moved it last; 0: never.
    pub moved_ns: u64,
    /// The answer: what it gains from speed, x 1000; 0: unknown.
    pub speedup_permille: u32,
    /// Share of the last second in which it wanted to run.
    pub demand_permille: u32,
    pub cpu: i32,
    /// The answer: memory domain that it is to run in, and CPU that it changes to; [`NONE`]: it stays.
    pub wanted_domain: i32,
    pub wanted_cpu: i32,
    pub runs: bool,
    /// May not run everywhere.
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
        unsafe { lop_agent_note_counters(self, misses, instructions, passed_ns) }
    }
}

/// `LOP_MAX_PLANNED`: threads beyond it are not planned.
pub(crate) const MAX_PLANNED: usize = 512;
/// `LOP_MAX_LISTED`.
pub(crate) const MAX_LISTED: usize = 512;
/// `enum lop_rules`.
pub(crate) const LONGEST: u32 = 2;
/// `LOP_NONE`.
pub(crate) const NONE: i32 = -1;

/// What the policy asked for since somebody looked, and the queues that it keeps.
#[derive(Default)]
pub(crate) struct Answers {
    pub now_ns: u64,
    /// Tasks to start, each on a CPU that is claimed for it.
    pub starts: Vec<(u32, u32)>,
    pub kicks: Vec<u32>,
    pub preempts: Vec<u32>,
    /// CPUs whose set changed, and whether they are high now.
    pub changes: Vec<(u32, bool)>,
    pub timer_at_ns: Option<u64>,
    pub taken: Option<u32>,
    /// By queue, in order of virtual time.
    queues: BTreeMap<u32, Vec<Waiting>>,
    /// Of tasks that may not run everywhere.
    pub allowed: BTreeMap<u32, Cpus>,
}

struct Waiting {
    task: u32,
    vtime_ns: u64,
    since_ns: u64,
}

impl Answers {
    fn insert(&mut self, task: u32, queue: u32, vtime_ns: u64) {
        let since_ns = self.now_ns;
        let queue = self.queues.entry(queue).or_default();
        // Virtual times come round to 0: as lop_before() has it.
        let at = queue.partition_point(|other| (other.vtime_ns.wrapping_sub(vtime_ns) as i64) <= 0);
        queue.insert(
            at,
            Waiting {
                task,
                vtime_ns,
                since_ns,
            },
        );
    }

    /// The first that may run on `cpu`, waits since `before_ns` or longer and is not ahead of `until_ns`; `u64::MAX`: whatever it is.
    fn take(&mut self, queue: u32, cpu: u32, before_ns: u64, until_ns: u64) -> bool {
        let allowed = &self.allowed;
        let is_ahead = |waiting: &Waiting| (until_ns.wrapping_sub(waiting.vtime_ns) as i64) < 0;
        let may = |waiting: &Waiting| {
            waiting.since_ns <= before_ns
                && allowed.get(&waiting.task).is_none_or(|cpus| cpus.has(cpu))
                && (until_ns == u64::MAX || !is_ahead(waiting))
        };
        let queue = self.queues.entry(queue).or_default();
        self.taken = queue.iter().position(may).map(|at| queue.remove(at).task);
        self.taken.is_some()
    }

    /// The queue that a task waits in.
    pub fn queue_of(&self, task: u32) -> Option<u32> {
        let waits = |waiting: &Waiting| waiting.task == task;
        self.queues
            .iter()
            .find(|(_, queue)| queue.iter().any(waits))
            .map(|(&number, _)| number)
    }

    pub fn remove(&mut self, task: u32) {
        self.queues
            .values_mut()
            .for_each(|queue| queue.retain(|waiting| waiting.task != task));
    }
}

extern "C" {
    fn lop_agent_sched_size() -> usize;
    fn lop_agent_task_size() -> usize;
    fn lop_agent_app_size() -> usize;
    fn lop_agent_list_size() -> usize;
    fn lop_agent_configure(s: *mut c_void, asked: *const Config);
    fn lop_agent_rules(s: *const c_void) -> u32;
    fn lop_agent_period_ns(s: *const c_void) -> u64;
    fn lop_agent_add_cpu(s: *mut c_void, cpu: u32, about: *const CpuPlace);
    fn lop_agent_start(s: *mut c_void, agent: *mut c_void, now_ns: u64);
    fn lop_agent_task_init(t: *mut c_void, id: u32);
    fn lop_agent_app_init(app: *mut c_void);
    fn lop_agent_set_allowed(s: *mut c_void, t: *mut c_void, allowed: *const Cpus);
    fn lop_agent_wake(s: *mut c_void, a: *mut c_void, t: *mut c_void, app: *mut c_void, last_cpu: u32, now_ns: u64);
    fn lop_agent_block(s: *mut c_void, a: *mut c_void, t: *mut c_void, app: *mut c_void, now_ns: u64);
    fn lop_agent_enqueue(s: *mut c_void, a: *mut c_void, t: *mut c_void, cpu: u32);
    fn lop_agent_dispatch(s: *mut c_void, a: *mut c_void, cpu: u32) -> bool;
    fn lop_agent_running(s: *mut c_void, a: *mut c_void, t: *mut c_void, app: *mut c_void, cpu: u32, now_ns: u64);
    fn lop_agent_stopped(
        s: *mut c_void,
        a: *mut c_void,
        t: *mut c_void,
        app: *mut c_void,
        cpu: u32,
        runnable: bool,
        ran_ns: u64,
        now_ns: u64,
    );
    fn lop_agent_ended(s: *mut c_void, t: *mut c_void, app: *mut c_void);
    fn lop_agent_dequeue(s: *mut c_void, a: *mut c_void, t: *mut c_void);
    fn lop_agent_cpu_idle(s: *mut c_void, a: *mut c_void, cpu: u32, idle: bool, now_ns: u64);
    fn lop_agent_timer(s: *mut c_void, a: *mut c_void, now_ns: u64);
    fn lop_agent_must_go(s: *const c_void, cpu: u32) -> bool;
    fn lop_agent_anything_waits(s: *const c_void, cpu: u32) -> bool;
    fn lop_agent_says(s: *mut c_void, a: *mut c_void, t: *mut c_void, app: *mut c_void, flags: u32, now_ns: u64);
    fn lop_agent_declare_length(t: *mut c_void, app: *mut c_void, length: u32);
    fn lop_agent_active(s: *const c_void) -> u32;
    fn lop_agent_facts(s: *const c_void, out: *mut Facts);
    fn lop_agent_leaves_ns(s: *const c_void, level: u32) -> u64;
    fn lop_agent_members(s: *const c_void, out: *mut Cpus);
    fn lop_agent_reserved(s: *const c_void) -> i32;
    fn lop_agent_left(s: *const c_void, t: *const c_void, app: *const c_void, now_ns: u64) -> u64;
    fn lop_agent_list(
        s: *const c_void,
        app: *const c_void,
        list: *mut c_void,
        threads: *mut Listed,
        nr_threads: u32,
        permille: *const u32,
        nr_cores: u32,
    );
    fn lop_agent_put_on_list(s: *mut c_void, t: *mut c_void, cpu: i32) -> bool;
    #[cfg(test)]
    fn lop_agent_planned_size() -> usize;
    fn lop_agent_plan_size() -> usize;
    fn lop_agent_cast_size() -> usize;
    fn lop_agent_plans(s: *const c_void) -> bool;
    fn lop_agent_gathers(s: *const c_void) -> bool;
    fn lop_agent_note_counters(t: *mut Planned, misses: u64, instructions: u64, passed_ns: u64);
    fn lop_agent_plan(s: *const c_void, p: *mut c_void, c: *mut c_void, threads: *mut Planned, nr: u32, now_ns: u64);
    fn lop_agent_is_wanted(p: *mut c_void, domain: u32) -> bool;
    fn lop_agent_set_domain_on(s: *mut c_void, a: *mut c_void, domain: u32, on: bool, now_ns: u64);
    fn lop_agent_set_domain(s: *mut c_void, t: *mut c_void, domain: i32, cpu: u32) -> bool;
    fn lop_agent_domain(s: *const c_void, t: *const c_void) -> i32;
    fn lop_agent_go_to(s: *const c_void, t: *mut c_void, cpu: u32);
    fn lop_agent_rest_plans(s: *mut c_void);
    fn lop_agent_set_speedup(t: *mut c_void, permille: u32);
    fn lop_agent_listed(t: *const c_void) -> i32;
}

/// What C calls back: `agent` is the pointer to the answers that it was called with.
mod callbacks {
    use super::Answers;

    #[no_mangle]
    unsafe extern "C" fn lop_agent_now_ns(agent: *mut Answers) -> u64 {
        (*agent).now_ns
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_insert_local(agent: *mut Answers, task: u32, cpu: u32) {
        (*agent).starts.push((task, cpu));
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_insert(agent: *mut Answers, task: u32, queue: u32, vtime_ns: u64) {
        (*agent).insert(task, queue, vtime_ns);
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_take(
        agent: *mut Answers,
        queue: u32,
        cpu: u32,
        before_ns: u64,
        until_ns: u64,
    ) -> bool {
        (*agent).take(queue, cpu, before_ns, until_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_queued(agent: *mut Answers, queue: u32) -> u32 {
        let queues = &(*agent).queues;
        queues.get(&queue).map_or(0, |queue| queue.len() as u32)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_first_ns(agent: *mut Answers, queue: u32) -> u64 {
        let queues = &(*agent).queues;
        let first = queues.get(&queue).and_then(|queue| queue.first());
        first.map_or(u64::MAX, |first| first.vtime_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_kick(agent: *mut Answers, cpu: u32) {
        (*agent).kicks.push(cpu);
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_preempt(agent: *mut Answers, cpu: u32) {
        (*agent).preempts.push(cpu);
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_set_changed(agent: *mut Answers, cpu: u32, set: u32) {
        const HIGH: u32 = 1;
        (*agent).changes.push((cpu, set == HIGH));
    }
    #[no_mangle]
    unsafe extern "C" fn lop_agent_arm_timer(agent: *mut Answers, at_ns: u64) {
        (*agent).timer_at_ns = Some(at_ns);
    }
}

/// `struct lop_task` with its number behind it.
pub(crate) struct Task(Memory);
/// `struct lop_app`.
pub(crate) struct App(Memory);

impl App {
    pub fn new() -> Self {
        let mut memory = Memory::new(unsafe { lop_agent_app_size() });
        unsafe { lop_agent_app_init(memory.at()) };
        Self(memory)
    }
}

/// Owns the policy's state. Every call names the time.
pub(crate) struct Policy {
    sched: Memory,
    list: Memory,
    plan: Memory,
    cast: Memory,
    pub answers: Box<Answers>,
}

// The memory behind every pointer is owned by the caller's values, which outlive the call; C keeps none of them.
impl Policy {
    pub fn new(config: &Config, cpus: &[(u32, CpuPlace)]) -> Self {
        let mut policy = Self {
            sched: Memory::new(unsafe { lop_agent_sched_size() }),
            list: Memory::new(unsafe { lop_agent_list_size() }),
            plan: Memory::new(unsafe { lop_agent_plan_size() }),
            cast: Memory::new(unsafe { lop_agent_cast_size() }),
            answers: Box::default(),
        };
        unsafe { lop_agent_configure(policy.sched.at(), config) };
        for (cpu, place) in cpus {
            unsafe { lop_agent_add_cpu(policy.sched.at(), *cpu, place) };
        }
        policy
    }
    fn world(&mut self) -> *mut c_void {
        (&raw mut *self.answers).cast()
    }
    pub fn start(&mut self, now_ns: u64) {
        self.answers.now_ns = now_ns;
        unsafe { lop_agent_start(self.sched.at(), self.world(), now_ns) }
    }
    /// Bits of `enum lop_rules`.
    pub fn rules(&self) -> u32 {
        unsafe { lop_agent_rules(self.sched.of()) }
    }
    pub fn period_ns(&self) -> u64 {
        unsafe { lop_agent_period_ns(self.sched.of()) }
    }
    pub fn task(&mut self, id: u32, allowed: &Cpus) -> Task {
        let mut memory = Memory::new(unsafe { lop_agent_task_size() });
        unsafe {
            lop_agent_task_init(memory.at(), id);
            lop_agent_set_allowed(self.sched.at(), memory.at(), allowed);
        }
        Task(memory)
    }
    pub fn wake(&mut self, task: &mut Task, app: &mut App, last_cpu: u32) {
        let now_ns = self.answers.now_ns;
        unsafe { lop_agent_wake(self.sched.at(), self.world(), task.0.at(), app.0.at(), last_cpu, now_ns) }
    }
    pub fn block(&mut self, task: &mut Task, app: &mut App) {
        let now_ns = self.answers.now_ns;
        unsafe { lop_agent_block(self.sched.at(), self.world(), task.0.at(), app.0.at(), now_ns) }
    }
    pub fn enqueue(&mut self, task: &mut Task, cpu: u32) {
        unsafe { lop_agent_enqueue(self.sched.at(), self.world(), task.0.at(), cpu) }
    }
    /// The task that the CPU runs next.
    pub fn dispatch(&mut self, cpu: u32) -> Option<u32> {
        self.answers.taken = None;
        unsafe { lop_agent_dispatch(self.sched.at(), self.world(), cpu) };
        self.answers.taken.take()
    }
    pub fn running(&mut self, task: &mut Task, app: &mut App, cpu: u32) {
        let now_ns = self.answers.now_ns;
        unsafe { lop_agent_running(self.sched.at(), self.world(), task.0.at(), app.0.at(), cpu, now_ns) }
    }
    pub fn stopped(&mut self, task: &mut Task, app: &mut App, cpu: u32, runnable: bool, ran_ns: u64) {
        let now_ns = self.answers.now_ns;
        let (s, answers) = (self.sched.at(), self.world());
        unsafe { lop_agent_stopped(s, answers, task.0.at(), app.0.at(), cpu, runnable, ran_ns, now_ns) }
    }
    pub fn ended(&mut self, task: &mut Task, app: &mut App) {
        unsafe { lop_agent_ended(self.sched.at(), task.0.at(), app.0.at()) }
    }
    pub fn dequeue(&mut self, task: &mut Task) {
        unsafe { lop_agent_dequeue(self.sched.at(), self.world(), task.0.at()) }
    }
    pub fn cpu_idle(&mut self, cpu: u32, idle: bool) {
        let now_ns = self.answers.now_ns;
        unsafe { lop_agent_cpu_idle(self.sched.at(), self.world(), cpu, idle, now_ns) }
    }
    pub fn timer(&mut self) {
        let now_ns = self.answers.now_ns;
        unsafe { lop_agent_timer(self.sched.at(), self.world(), now_ns) }
    }
    pub fn must_go(&self, cpu: u32) -> bool {
        unsafe { lop_agent_must_go(self.sched.of(), cpu) }
    }
    pub fn anything_waits(&self, cpu: u32) -> bool {
        unsafe { lop_agent_anything_waits(self.sched.of(), cpu) }
    }
    /// Flags of `enum lop_says`.
    pub fn says(&mut self, task: &mut Task, app: &mut App, flags: u32) {
        let now_ns = self.answers.now_ns;
        let (s, answers) = (self.sched.at(), self.world());
        unsafe { lop_agent_says(s, answers, task.0.at(), app.0.at(), flags, now_ns) }
    }
    pub fn declare_length(&mut self, task: &mut Task, app: &mut App, length: u32) {
        unsafe { lop_agent_declare_length(task.0.at(), app.0.at(), length) }
    }
    /// Tasks that are counted for the high set.
    pub fn active(&self) -> u32 {
        unsafe { lop_agent_active(self.sched.of()) }
    }
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        unsafe { lop_agent_facts(self.sched.of(), &mut facts) };
        facts
    }
    /// When the `level`-th member, counted from 1, leaves if it stays surplus.
    pub fn leaves_ns(&self, level: u32) -> u64 {
        unsafe { lop_agent_leaves_ns(self.sched.of(), level) }
    }
    /// The high set.
    pub fn members(&self) -> Cpus {
        let mut cpus = Cpus::default();
        unsafe { lop_agent_members(self.sched.of(), &mut cpus) };
        cpus
    }
    pub fn reserved(&self) -> Option<u32> {
        u32::try_from(unsafe { lop_agent_reserved(self.sched.of()) }).ok()
    }
    /// Work that a thread of declared length has left.
    pub fn left(&self, task: &Task, app: &App) -> u64 {
        unsafe { lop_agent_left(self.sched.of(), task.0.of(), app.0.of(), self.answers.now_ns) }
    }
    /// Fills in where each thread is to be; a core for each of `permille`.
    pub fn list(&mut self, app: &App, threads: &mut [Listed], permille: &[u32]) {
        unsafe {
            lop_agent_list(
                self.sched.of(),
                app.0.of(),
                self.list.at(),
                threads.as_mut_ptr(),
                threads.len() as u32,
                permille.as_ptr(),
                permille.len() as u32,
            )
        }
    }
    /// The CPU at whose queue the task waits from now on. True: it runs elsewhere and has to leave.
    pub fn put_on_list(&mut self, task: &mut Task, cpu: Option<u32>) -> bool {
        unsafe { lop_agent_put_on_list(self.sched.at(), task.0.at(), cpu.map_or(NONE, |cpu| cpu as i32)) }
    }
    pub fn listed(&self, task: &Task) -> Option<u32> {
        u32::try_from(unsafe { lop_agent_listed(task.0.of()) }).ok()
    }
    /// Whether it makes plans of where threads run: which memory domain, or which kind of core.
    pub fn plans(&self) -> bool {
        unsafe { lop_agent_plans(self.sched.of()) }
    }
    /// Whether its plans switch memory domains off.
    pub fn gathers(&self) -> bool {
        unsafe { lop_agent_gathers(self.sched.of()) }
    }
    /// Fills in where each of the threads, at most [`MAX_PLANNED`], is to run.
    pub fn plan(&mut self, threads: &mut [Planned]) {
        let (now_ns, count) = (self.answers.now_ns, threads.len() as u32);
        let (plan, cast) = (self.plan.at(), self.cast.at());
        unsafe { lop_agent_plan(self.sched.of(), plan, cast, threads.as_mut_ptr(), count, now_ns) }
    }
    /// Whether the last plan has a thread in the memory domain.
    pub fn is_wanted(&mut self, domain: u16) -> bool {
        unsafe { lop_agent_is_wanted(self.plan.at(), domain.into()) }
    }
    pub fn set_domain_on(&mut self, domain: u16, on: bool) {
        let now_ns = self.answers.now_ns;
        unsafe { lop_agent_set_domain_on(self.sched.at(), self.world(), domain.into(), on, now_ns) }
    }
    /// The memory domain that the task runs in from now on; [`NONE`]: any. True: it is elsewhere (`cpu`), and has to be queued anew.
    pub fn set_domain(&mut self, task: &mut Task, domain: i32, cpu: u32) -> bool {
        unsafe { lop_agent_set_domain(self.sched.at(), task.0.at(), domain, cpu) }
    }
    /// The memory domain that a plan has for the task.
    pub fn domain(&self, task: &Task) -> Option<u16> {
        u16::try_from(unsafe { lop_agent_domain(self.sched.of(), task.0.of()) }).ok()
    }
    /// The task changes to the CPU when it is queued the next time.
    pub fn go_to(&self, task: &mut Task, cpu: u32) {
        unsafe { lop_agent_go_to(self.sched.of(), task.0.at(), cpu) }
    }
    /// No plan for memory domains holds any more; all tasks have been told.
    pub fn rest_plans(&mut self) {
        unsafe { lop_agent_rest_plans(self.sched.at()) }
    }
    /// What the task gains from speed, x 1000; 0: nobody knows.
    pub fn set_speedup(&self, task: &mut Task, permille: u32) {
        unsafe { lop_agent_set_speedup(task.0.at(), permille) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_of_a_planned_thread_is_as_large_as_it() {
        assert_eq!(unsafe { lop_agent_planned_size() }, size_of::<Planned>());
    }
}
