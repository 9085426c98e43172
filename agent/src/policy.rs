// SPDX-License-Identifier: GPL-2.0-only
//! The policy core as the agent calls it, and the environment that it gets.

use crate::cpus::Cpus;
use lop_policy::{Env, PolicyHandle, Set, WEIGHT_DEFAULT};
use std::collections::BTreeMap;

pub(crate) use lop_policy::{hint_flags, App, CpuPlace, Named, Planned, Task, NONE};

/// The user's settings, and properties of the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub policy: Named,
    pub fixed_size: u32,
    /// `None`: the policy's default.
    pub spare: Option<u32>,
    pub nr_cpus: u32,
    pub nr_memory_domains: u32,
    pub nr_tiers: u32,
    pub threads: u32,
    /// Power cap: the most high CPUs; 0: no cap.
    pub most_high: u32,
    /// `None`: the policy's default.
    pub hold_ns: Option<u64>,
    pub transition_ns: u64,
    pub migration_ns: u64,
}

impl Asked {
    /// Nothing here has measured watts or follows a goal, and the speed of the reserved core is left to its governor.
    pub fn config(&self) -> lop_policy::Config {
        let hold_ns = self.hold_ns.unwrap_or(lop_policy::default_hold_ns(self.transition_ns));
        let (domains, tiers, threads) = (self.nr_memory_domains, self.nr_tiers, self.threads);
        let config = lop_policy::Config::on_unmeasured(
            self.policy,
            lop_policy::Goal::Balanced,
            hold_ns,
            domains,
            tiers,
            threads,
        );
        lop_policy::Config {
            nr_cpus: self.nr_cpus,
            fixed_size: self.fixed_size,
            spare: self.spare.unwrap_or(config.spare),
            most_high: self.most_high,
            transition_ns: self.transition_ns,
            migration_ns: self.migration_ns,
            reserve_window_ns: 0,
            ..config
        }
    }
}

/// The policy's own numbers, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Active tasks.
    pub active: u32,
    /// The target size of the high set.
    pub target: u32,
    pub spare: u32,
    /// T_hold.
    pub hold_ns: u64,
    pub promotions: u64,
    pub demotions: u64,
}

/// The policy's requests since they were last taken, and its queues.
#[derive(Default)]
pub(crate) struct Answers {
    pub now_ns: u64,
    /// Tasks to start, each on a CPU that is claimed for it.
    pub starts: Vec<(u32, u32)>,
    pub kicks: Vec<u32>,
    pub preempts: Vec<u32>,
    /// CPUs that changed sets, and whether they are high now.
    pub changes: Vec<(u32, bool)>,
    pub timer_at_ns: Option<u64>,
    pub taken: Option<u32>,
    /// The tasks of each queue, in order of virtual time.
    queues: BTreeMap<u32, Vec<Waiting>>,
    /// The affinities of tasks that may not run everywhere.
    pub allowed: BTreeMap<u32, Cpus>,
}

struct Waiting {
    task: u32,
    vtime_ns: u64,
    since_ns: u64,
}

impl Answers {
    fn insert_by_time(&mut self, task: u32, queue: u32, vtime_ns: u64) {
        let since_ns = self.now_ns;
        let queue = self.queues.entry(queue).or_default();
        // Virtual times wrap, so compare like lop_before().
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

    /// Starts the first task that may run on `cpu`, has waited since `before_ns` or longer, and is not ahead of `until_ns`. `u64::MAX` means no bound.
    fn take_first(&mut self, queue: u32, cpu: u32, before_ns: u64, until_ns: u64) -> bool {
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

/// The kernel decides how long a task runs, and no temperature is read.
impl Env for Answers {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn insert_local(&mut self, task: u32, cpu: u32, _slice_ns: u64) {
        self.starts.push((task, cpu));
    }
    fn insert(&mut self, task: u32, queue: u32, _slice_ns: u64, vtime_ns: u64) {
        self.insert_by_time(task, queue, vtime_ns);
    }
    fn take(&mut self, queue: u32, cpu: u32, until_ns: u64) -> bool {
        self.take_first(queue, cpu, u64::MAX, until_ns)
    }
    fn take_overdue(&mut self, queue: u32, cpu: u32, before_ns: u64) -> bool {
        self.take_first(queue, cpu, before_ns, u64::MAX)
    }
    fn queued(&mut self, queue: u32) -> u32 {
        self.queues.get(&queue).map_or(0, |queue| queue.len() as u32)
    }
    fn first_ns(&mut self, queue: u32) -> u64 {
        let first = self.queues.get(&queue).and_then(|queue| queue.first());
        first.map_or(u64::MAX, |first| first.vtime_ns)
    }
    fn kick(&mut self, cpu: u32) {
        self.kicks.push(cpu);
    }
    fn preempt(&mut self, cpu: u32) {
        self.preempts.push(cpu);
    }
    fn set_changed(&mut self, cpu: u32, set: Set) {
        self.changes.push((cpu, set == Set::High));
    }
    fn arm_timer(&mut self, at_ns: u64) {
        self.timer_at_ns = Some(at_ns);
    }
}

/// Owns the policy's state. Every call happens at the time in `answers`.
pub(crate) struct Policy {
    owner: lop_policy::Policy,
    planner: lop_policy::Planner,
    pub answers: Answers,
}

const NO_GROUP: *mut lop_policy::Group = std::ptr::null_mut();

// Tasks and applications are borrowed for a call, and the policy keeps no pointers to them.
impl Policy {
    pub fn new(asked: &Asked, cpus: &[(u32, CpuPlace)]) -> Self {
        let mut owner = lop_policy::Policy::new(asked.config());
        for &(cpu, place) in cpus {
            owner.sched().add_cpu(cpu as usize, place);
        }
        if cfg!(test) {
            owner.record();
        }
        Self {
            owner,
            planner: lop_policy::Planner::default(),
            answers: Answers::default(),
        }
    }
    fn handle(&self) -> PolicyHandle {
        self.owner.handle()
    }
    pub fn start(&mut self, now_ns: u64) {
        self.answers.now_ns = now_ns;
        self.handle().start(&mut self.answers, now_ns);
    }
    /// Bits of `enum lop_rules`.
    pub fn rules(&self) -> u32 {
        self.handle().config.rules
    }
    pub fn period_ns(&self) -> u64 {
        self.handle().config.period_ns
    }
    pub fn task(&mut self, id: u32, app: &App, allowed: &Cpus) -> Task {
        let mut task = Task::new(id, WEIGHT_DEFAULT);
        task.set_measured_speedup(0);
        unsafe { self.handle().set_allowed(&mut task, &allowed.bits()) };
        self.handle().introduce(&task, app, self.answers.now_ns);
        task
    }
    /// The last task of the application was removed.
    pub fn app_ends(&mut self, app: &App) {
        self.handle().app_ends(app);
    }
    /// What was recorded of the calls, in tests.
    #[cfg(test)]
    pub fn take_records(&mut self) -> Vec<lop_policy::record::Record> {
        self.handle().take_records()
    }
    pub fn wake(&mut self, task: &mut Task, app: &mut App, last_cpu: u32) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        unsafe { policy.wake(&mut self.answers, task, app, NO_GROUP, last_cpu, now_ns) };
    }
    pub fn block(&mut self, task: &mut Task, app: &mut App) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        unsafe { policy.block(&mut self.answers, task, app, NO_GROUP, now_ns) }
    }
    pub fn enqueue(&mut self, task: &mut Task, cpu: u32) {
        let policy = self.handle();
        unsafe { policy.enqueue(&mut self.answers, task, NO_GROUP, cpu) }
    }
    /// The task that the CPU runs next.
    pub fn dispatch(&mut self, cpu: u32) -> Option<u32> {
        self.answers.taken = None;
        let policy = self.handle();
        policy.dispatch(&mut self.answers, cpu);
        self.answers.taken.take()
    }
    pub fn running(&mut self, task: &mut Task, app: &mut App, cpu: u32) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        unsafe {
            policy.running(&mut self.answers, task, cpu, now_ns);
            policy.started(&mut self.answers, task, app, cpu, now_ns);
        }
    }
    pub fn stopped(&mut self, task: &mut Task, app: &mut App, cpu: u32, runnable: bool, ran_ns: u64) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        unsafe {
            policy.stopping(&mut self.answers, task, NO_GROUP, cpu, ran_ns);
            policy.stopped(task, app, cpu, runnable, now_ns);
        }
    }
    pub fn ended(&mut self, task: &mut Task, app: &mut App) {
        unsafe { self.handle().ended(task, app) }
    }
    pub fn dequeue(&mut self, task: &mut Task) {
        let policy = self.handle();
        unsafe { policy.dequeue(&mut self.answers, task) }
    }
    pub fn cpu_idle(&mut self, cpu: u32, idle: bool) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        policy.cpu_idle(&mut self.answers, cpu, idle, now_ns);
    }
    pub fn timer(&mut self) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        policy.timer(&mut self.answers, now_ns);
    }
    pub fn must_go(&self, cpu: u32) -> bool {
        self.handle().must_go(cpu)
    }
    pub fn anything_waits(&self, cpu: u32) -> bool {
        self.handle().anything_waits(cpu)
    }
    /// A thread's hints: flags of `enum lop_hint_flags`.
    pub fn set_hints(&mut self, task: &mut Task, app: &mut App, flags: u32) {
        let (policy, now_ns, changed) = (self.handle(), self.answers.now_ns, task.hint.flags ^ flags);
        unsafe {
            if changed & hint_flags::SPINNING != 0 {
                let spins = flags & hint_flags::SPINNING != 0;
                policy.spin(&mut self.answers, task, app, NO_GROUP, spins, now_ns);
            }
            if changed & !hint_flags::SPINNING != 0 {
                policy.set_hints(&mut self.answers, task, app, flags & !hint_flags::SPINNING, now_ns);
            }
        }
    }
    /// How many tasks of the application want to run at once; 0: not known.
    pub fn declare(&mut self, app: &mut App, parallelism: u32) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        // Nobody else changes the application meanwhile, so the first try succeeds.
        unsafe { policy.declare(&mut self.answers, app, parallelism, now_ns) };
    }
    pub fn declare_length(&mut self, task: &mut Task, app: &mut App, length: u32) {
        self.handle().declare_length(task, app, length);
    }
    /// The tasks of the application share its memory.
    pub fn share_memory(&mut self, task: &Task, app: &mut App) {
        self.handle().share_memory(task, app, NONE);
    }
    /// The active tasks that the high set is sized for.
    pub fn active(&self) -> u32 {
        self.handle().active(Set::High)
    }
    pub fn facts(&self) -> Facts {
        let policy = self.handle();
        Facts {
            active: policy.active(Set::High),
            target: policy.target(Set::High),
            spare: policy.config.spare,
            hold_ns: policy.config.hold_ns,
            promotions: policy.membership.promotions,
            demotions: policy.membership.demotions,
        }
    }
    /// When the `level`-th member, counted from 1, leaves if it remains surplus.
    pub fn leaves_ns(&self, level: u32) -> u64 {
        self.handle().due_at_ns(Set::High, level)
    }
    /// The high set.
    pub fn members(&self) -> Cpus {
        self.handle().members(Set::High).into()
    }
    pub fn reserved(&self) -> Option<u32> {
        self.handle().reserved().0
    }
    /// Whether it plans where threads run: in which memory domain, or on which kind of core.
    pub fn plans(&self) -> bool {
        self.handle().config.plans()
    }
    /// Fills in the facts about a thread that its task has.
    pub fn note_task(&self, thread: &mut Planned, task: &Task) {
        thread.note_task(&self.handle(), task);
    }
    /// Fills in where each of the threads, at most [`lop_policy::MAX_PLANNED`], should run. Their facts are about the last `period_ns`.
    pub fn plan(&mut self, threads: &mut [Planned], period_ns: u64) {
        self.planner
            .plan(&self.owner.handle(), threads, period_ns, self.answers.now_ns);
    }
    /// Memory domains to switch on before the threads of the last plan move, or off after that.
    pub fn switches(&mut self, on: bool) -> Vec<u16> {
        let domains = self.planner.switches(&self.owner.handle(), on).into_iter();
        domains.map(|domain| domain as u16).collect()
    }
    pub fn set_domain_on(&mut self, domain: u16, on: bool) {
        let (policy, now_ns) = (self.handle(), self.answers.now_ns);
        policy.set_domain_on(&mut self.answers, domain.into(), on, now_ns);
    }
    /// Assigns the task to a memory domain; [`NONE`] means any. True if it is elsewhere (on `cpu`) and must be queued again.
    pub fn set_domain(&mut self, task: &mut Task, domain: i32, cpu: u32) -> bool {
        self.handle().set_domain(task, domain, cpu)
    }
    /// The memory domain that a plan assigns to the task.
    pub fn domain(&self, task: &Task) -> Option<u16> {
        self.handle().domain_of(task).map(|domain| domain as u16)
    }
    /// Drops the plan for memory domains; all tasks have been released from it.
    pub fn end_plans(&mut self) {
        self.handle().end_plans();
    }
}
