// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A small world around the policy: queues, a clock, CPUs that run or are idle, and a log of what the policy asked for.

use lop_policy::{
    App, Config, CpuBits, CpuPlace, Domains, Env, GreenWork, Group, Next, Point, Policy, PolicyHandle, Reserve, Rung,
    Set, Sizing, Task, NONE, RESERVE_SPEEDS, WEIGHT_DEFAULT,
};
use std::collections::{BTreeMap, VecDeque};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;
pub const HOLD: u64 = 10 * MS;
pub const LAST_HOLD: u64 = S;
pub const TRANSITION: u64 = 100 * US;

/// What the policy asked the world for, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Started { task: u32, cpu: u32 },
    Queued { task: u32, queue: u32 },
    Changed { cpu: u32, set: Set },
    Raised { cpu: u32, raised: u32 },
    Kicked(u32),
    Preempted(u32),
    Armed(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    vtime_ns: u64,
    order: u64,
    task: u32,
    since_ns: u64,
}

/// The answers to policy/core/env.h.
#[derive(Default)]
pub struct World {
    pub now_ns: u64,
    queues: BTreeMap<u32, Vec<Waiting>>,
    inserted: u64,
    /// By task; `None`: all CPUs.
    pub allowed: Vec<Option<CpuBits>>,
    pub log: Vec<Asked>,
    pub timer_at_ns: Option<u64>,
    pub temperature_mc: BTreeMap<u32, i32>,
    pub slice_ns: u64,
    started: Vec<(u32, u32)>,
    taken: Option<u32>,
    kicked: Vec<u32>,
    preempted: VecDeque<u32>,
    /// What another CPU does while this one changes the membership and holds the lock.
    pub meanwhile: Option<Box<dyn FnOnce()>>,
    /// Another CPU takes the first task of a queue after this CPU has seen it.
    pub seen_is_gone: bool,
}

impl Env for World {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn insert_local(&mut self, task: u32, cpu: u32, slice_ns: u64) {
        self.slice_ns = slice_ns;
        self.log.push(Asked::Started { task, cpu });
        self.started.push((task, cpu));
    }
    fn insert(&mut self, task: u32, queue: u32, slice_ns: u64, vtime_ns: u64) {
        self.slice_ns = slice_ns;
        self.log.push(Asked::Queued { task, queue });
        self.inserted += 1;
        let order = self.inserted;
        let waiting = self.queues.entry(queue).or_default();
        let since_ns = self.now_ns;
        waiting.push(Waiting {
            vtime_ns,
            order,
            task,
            since_ns,
        });
        // Virtual times may wrap around to 0.
        waiting.sort_by_key(|w| (w.vtime_ns.wrapping_sub(vtime_ns) as i64, w.order));
    }
    fn take(&mut self, queue: u32, cpu: u32, until_ns: u64) -> bool {
        let Some(waiting) = self.queues.get_mut(&queue) else {
            return false;
        };
        let fits = |w: &Waiting| self.allowed[w.task as usize].is_none_or(|cpus| cpus.has(cpu as usize));
        let Some(at) = waiting.iter().position(fits) else {
            return false;
        };
        if until_ns != u64::MAX && (until_ns.wrapping_sub(waiting[at].vtime_ns) as i64) < 0 {
            return false;
        }
        self.taken = Some(waiting.remove(at).task);
        true
    }
    fn take_overdue(&mut self, queue: u32, cpu: u32, before_ns: u64) -> bool {
        let Some(waiting) = self.queues.get_mut(&queue) else {
            return false;
        };
        let may = |w: &Waiting| self.allowed[w.task as usize].is_none_or(|cpus| cpus.has(cpu as usize));
        let Some(at) = waiting.iter().position(|w| w.since_ns <= before_ns && may(w)) else {
            return false;
        };
        self.taken = Some(waiting.remove(at).task);
        true
    }
    fn first_ns(&mut self, queue: u32) -> u64 {
        let waiting = self.queues.get_mut(&queue).filter(|waiting| !waiting.is_empty());
        waiting.map_or(u64::MAX, |waiting| match self.seen_is_gone {
            true => waiting.remove(0).vtime_ns,
            false => waiting[0].vtime_ns,
        })
    }
    fn queued(&mut self, queue: u32) -> u32 {
        self.queues.get(&queue).map_or(0, Vec::len) as u32
    }
    fn kick(&mut self, cpu: u32) {
        self.log.push(Asked::Kicked(cpu));
        self.kicked.push(cpu);
    }
    fn preempt(&mut self, cpu: u32) {
        self.log.push(Asked::Preempted(cpu));
        self.preempted.push_back(cpu);
    }
    fn set_changed(&mut self, cpu: u32, set: Set) {
        self.log.push(Asked::Changed { cpu, set });
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile();
        }
    }
    fn reserved_speed(&mut self, cpu: u32, raised: u32) {
        self.log.push(Asked::Raised { cpu, raised });
    }
    fn arm_timer(&mut self, at_ns: u64) {
        self.log.push(Asked::Armed(at_ns));
        self.timer_at_ns = Some(at_ns);
    }
    fn temperature_mc(&mut self, cpu: u32) -> i32 {
        self.temperature_mc.get(&cpu).copied().unwrap_or(40_000)
    }
}

impl World {
    /// Queues that a task waits in.
    pub fn queues_of(&self, task: usize) -> Vec<u32> {
        let holds = |(_, waiting): &(&u32, &Vec<Waiting>)| waiting.iter().any(|w| w.task as usize == task);
        self.queues.iter().filter(holds).map(|(&queue, _)| queue).collect()
    }
    pub fn drop_waiting(&mut self, task: usize) {
        for waiting in self.queues.values_mut() {
            waiting.retain(|w| w.task as usize != task);
        }
    }
    pub fn drop_all_waiting(&mut self) -> Vec<usize> {
        let all = std::mem::take(&mut self.queues);
        all.into_values().flatten().map(|w| w.task as usize).collect()
    }
}

/// Speeds of the reserved core, of its highest, x 1000.
pub fn steps<const N: usize>(permille: [u16; N]) -> [u16; RESERVE_SPEEDS] {
    let mut all = [0; RESERVE_SPEEDS];
    all[..permille.len()].copy_from_slice(&permille);
    all
}

pub fn config() -> Config {
    Config {
        nr_cpus: 0,
        sizing: Sizing::ByDemand,
        fixed_size: 0,
        spare: 1,
        green: GreenWork::None,
        domains: Domains::AsCome,
        transition_ns: TRANSITION,
        hold_ns: HOLD,
        last_hold_ns: LAST_HOLD,
        slice_min_ns: MS,
        slice_max_ns: 5 * MS,
        period_ns: 20 * MS,
        heat_period_ns: 180 * S,
        hot_mc: 80_000,
        reserve: Reserve::Never,
        reserve_raises: 2,
        reserve_permille: steps([250, 500, 1000]),
        reserve_window_ns: 100 * MS,
        ..Config::default()
    }
}

/// A kind of core at a speed, which draws nothing else, and nothing asleep.
pub fn point(tier: u16, speed_permille: u16, rate_permille: u32, busy_mw: u32) -> Point {
    Point {
        at: Rung {
            tier,
            speed_permille,
            rate_permille,
        },
        busy_mw,
        sleep_mw: 0,
        shared_mw: 0,
    }
}

/// CPUs that share only memory, node and socket.
pub fn flat(cpu: usize) -> CpuPlace {
    CpuPlace {
        clock_domain: cpu as u16,
        voltage_domain: cpu as u16,
        next_sibling: cpu as u16,
        ..CpuPlace::default()
    }
}

/// Memory domains of two CPUs each: {0, 1}, {2, 3}, ..
pub fn domains_of_two(cpu: usize) -> CpuPlace {
    CpuPlace {
        memory_domain: (cpu / 2) as u16,
        ..flat(cpu)
    }
}

/// Cores of two SMT siblings each: {0, 1}, {2, 3}, ..
pub fn siblings(cpu: usize) -> CpuPlace {
    CpuPlace {
        next_sibling: (cpu ^ 1) as u16,
        ..flat(cpu)
    }
}

/// The policy, and CPUs that carry out its decisions.
pub struct Bench {
    pub owner: Policy,
    pub policy: PolicyHandle,
    pub world: World,
    pub tasks: Vec<Task>,
    pub apps: Vec<App>,
    pub groups: Vec<Group>,
    /// By task.
    pub app_of: Vec<Option<usize>>,
    pub group_of: Vec<Option<usize>>,
    pub last_cpu: Vec<u32>,
    /// By CPU.
    pub running: Vec<Option<usize>>,
    /// When the task running there started.
    pub came_ns: Vec<u64>,
    pub online: Vec<bool>,
}

impl Bench {
    /// `cpus` CPUs that were never high, a second after the start at 1 s, so that "never" (0) is long ago.
    pub fn new(cpus: usize, config: Config, place: impl Fn(usize) -> CpuPlace) -> Self {
        Self::isolating(&[], cpus, config, place)
    }
    /// The same, with CPUs that are isolated: only tasks that are bound there use them.
    pub fn isolating(isolated: &[usize], cpus: usize, config: Config, place: impl Fn(usize) -> CpuPlace) -> Self {
        let mut owner = Policy::new(Config {
            nr_cpus: cpus as u32,
            ..config
        });
        (0..cpus).for_each(|cpu| owner.sched().add_cpu(cpu, place(cpu)));
        isolated.iter().for_each(|&cpu| owner.sched().isolate(cpu));
        let policy = owner.handle();
        let mut bench = Self {
            owner,
            policy,
            world: World {
                now_ns: S,
                ..World::default()
            },
            tasks: Vec::new(),
            apps: Vec::new(),
            groups: Vec::new(),
            app_of: Vec::new(),
            group_of: Vec::new(),
            last_cpu: Vec::new(),
            running: vec![None; cpus],
            came_ns: vec![0; cpus],
            online: vec![true; cpus],
        };
        policy.start(&mut bench.world, S);
        bench.pass(S);
        bench.owner.sched().membership.left_ns.ns.fill(0);
        bench
    }
    pub fn flat(cpus: usize) -> Self {
        Self::new(cpus, config(), flat)
    }
    pub fn now(&self) -> u64 {
        self.world.now_ns
    }
    /// The CPU that runs only the system's own work.
    pub fn reserved(&self) -> Option<u32> {
        self.policy.reserved().0
    }
    /// Time passes; timers that are due expire.
    pub fn pass(&mut self, ns: u64) {
        let end_ns = self.world.now_ns + ns;
        while let Some(at_ns) = self.world.timer_at_ns.filter(|&at_ns| at_ns <= end_ns) {
            self.world.now_ns = at_ns.max(self.world.now_ns);
            self.world.timer_at_ns = None;
            let now_ns = self.world.now_ns;
            self.policy.timer(&mut self.world, now_ns);
            self.follow_kicks();
        }
        self.world.now_ns = end_ns;
    }
    pub fn task(&mut self) -> usize {
        let id = self.tasks.len();
        self.tasks.push(Task::new(id as u32, WEIGHT_DEFAULT));
        self.app_of.push(None);
        self.group_of.push(None);
        self.last_cpu.push(0);
        self.world.allowed.push(None);
        self.set_allowed(id, 0..512);
        id
    }
    pub fn tasks(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.task()).collect()
    }
    pub fn task_of(&mut self, app: usize) -> usize {
        let id = self.task();
        self.app_of[id] = Some(app);
        id
    }
    pub fn pinned(&mut self, cpus: impl IntoIterator<Item = usize>) -> usize {
        let id = self.task();
        self.set_allowed(id, cpus);
        id
    }
    pub fn app(&mut self, declared: u32) -> usize {
        self.apps.push(App::new(declared));
        self.apps.len() - 1
    }
    pub fn group(&mut self, weight: u32) -> usize {
        self.groups.push(Group::new(weight));
        self.groups.len() - 1
    }
    /// A waiting task leaves its queue, to be woken again.
    pub fn take_out(&mut self, id: usize) {
        self.world.drop_waiting(id);
        unsafe { self.policy.dequeue(&mut self.world, &mut self.tasks[id]) };
    }
    pub fn set_allowed(&mut self, id: usize, cpus: impl IntoIterator<Item = usize>) {
        let bits = CpuBits::of(cpus);
        self.world.allowed[id] = Some(bits);
        unsafe { self.policy.set_allowed(&mut self.tasks[id], &bits) }
    }
    /// The pointers that a call about a task takes.
    pub fn pointers(&mut self, id: usize) -> (*mut Task, *mut App, *mut Group) {
        let app = self.app_of[id].map_or(std::ptr::null_mut(), |app| &mut self.apps[app] as *mut App);
        let group = self.group_of[id].map_or(std::ptr::null_mut(), |group| &mut self.groups[group] as *mut Group);
        (&mut self.tasks[id], app, group)
    }
    /// Where the policy places the task; it starts there if the CPU was claimed.
    pub fn wake(&mut self, id: usize) -> (i32, bool) {
        let (task, app, group) = self.pointers(id);
        let (last_cpu, now_ns) = (self.last_cpu[id], self.now());
        let placed = unsafe { self.policy.wake(&mut self.world, task, app, group, last_cpu, now_ns) };
        self.follow_starts();
        self.follow_kicks();
        placed
    }
    pub fn wake_all(&mut self, ids: &[usize]) {
        for &id in ids {
            self.wake(id);
        }
    }
    fn follow_starts(&mut self) {
        for (task, cpu) in std::mem::take(&mut self.world.started) {
            self.start(task as usize, cpu as usize);
        }
    }
    fn start(&mut self, id: usize, cpu: usize) {
        let may = self.world.allowed[id].is_none_or(|cpus| cpus.has(cpu));
        assert!(may, "task {id} may not run on CPU {cpu}");
        assert!(self.online[cpu], "task {id} starts on CPU {cpu}, which is offline");
        assert_eq!(self.running[cpu], None, "CPU {cpu} was claimed but runs a task");
        self.running[cpu] = Some(id);
        self.last_cpu[id] = cpu as u32;
        let now_ns = self.now();
        self.policy.cpu_idle(&mut self.world, cpu as u32, false, now_ns);
        self.came_ns[cpu] = now_ns;
        let (task, app, _) = self.pointers(id);
        unsafe {
            self.policy.running(&mut self.world, task, cpu as u32, now_ns);
            self.policy.started(&mut self.world, task, app, cpu as u32, now_ns);
        }
    }
    /// Idle CPUs that were kicked look for work.
    pub fn follow_kicks(&mut self) {
        while let Some(cpu) = self.world.kicked.pop() {
            if self.running[cpu as usize].is_none() && self.online[cpu as usize] {
                if let Some(id) = self.dispatch(cpu as usize) {
                    self.start(id, cpu as usize);
                }
            }
        }
        while let Some(cpu) = self.world.preempted.pop_front() {
            let gives_way = |id: usize| self.tasks[id].is_background() && !self.policy.may_go_on(&self.tasks[id], cpu);
            let must_go = |id: usize| self.policy.must_go(cpu) || gives_way(id);
            if self.running[cpu as usize].is_some_and(must_go) {
                // In tests a slice ends only where a test ends it, and tasks pay only for those slices.
                self.stop(cpu as usize, 0, false);
            }
            self.follow_kicks();
        }
    }
    /// The task that the policy gives to a CPU that asks for one.
    pub fn dispatch(&mut self, cpu: usize) -> Option<usize> {
        let found = self.policy.dispatch(&mut self.world, cpu as u32);
        let taken = self.world.taken.take().map(|id| id as usize);
        assert_eq!(found, taken.is_some());
        taken
    }
    pub fn cpu_of(&self, id: usize) -> Option<usize> {
        self.running.iter().position(|&running| running == Some(id))
    }
    /// The task on `cpu` stops after `ran_ns`. The next task starts, or the CPU falls idle.
    fn stop(&mut self, cpu: usize, ran_ns: u64, blocks: bool) -> usize {
        let id = self.leave(cpu, ran_ns, blocks);
        self.next(cpu);
        id
    }
    /// The first half of `stop`: no task runs there until `next`.
    pub fn leave(&mut self, cpu: usize, ran_ns: u64, blocks: bool) -> usize {
        let id = self.running[cpu].take().expect("a task that runs");
        let (task, app, group) = self.pointers(id);
        let now_ns = self.now();
        unsafe {
            self.policy.stopping(&mut self.world, task, group, cpu as u32, ran_ns);
            self.policy.stopped(task, app, cpu as u32, !blocks, now_ns);
            let waits = !self.policy.wakes_anew(&*task);
            if blocks {
                self.policy.block(&mut self.world, task, app, group, now_ns);
            } else if waits {
                self.policy.enqueue(&mut self.world, task, group, cpu as u32);
            } else {
                self.policy.wake(&mut self.world, task, app, group, cpu as u32, now_ns);
            }
        }
        self.follow_starts();
        id
    }
    pub fn next(&mut self, cpu: usize) {
        match self.dispatch(cpu) {
            Some(next) => self.start(next, cpu),
            None => {
                let now_ns = self.now();
                self.policy.cpu_idle(&mut self.world, cpu as u32, true, now_ns);
            }
        }
        self.follow_kicks();
    }
    /// A task blocks, wherever it is.
    pub fn block(&mut self, id: usize) {
        if let Some(cpu) = self.cpu_of(id) {
            self.stop(cpu, 0, true);
            return;
        }
        self.world.drop_waiting(id);
        let (task, app, group) = self.pointers(id);
        let now_ns = self.now();
        unsafe { self.policy.block(&mut self.world, task, app, group, now_ns) };
        self.follow_kicks();
    }
    /// It leaves the policy.
    pub fn forget(&mut self, id: usize) {
        let (task, app, group) = self.pointers(id);
        let now_ns = self.now();
        unsafe { self.policy.forget(&mut self.world, task, app, group, now_ns) };
    }
    pub fn block_all(&mut self, ids: &[usize]) {
        for &id in ids {
            self.block(id);
        }
    }
    /// The task on `cpu` blocks after `ran_ns`.
    pub fn run_and_block(&mut self, cpu: usize, ran_ns: u64) -> usize {
        self.stop(cpu, ran_ns, true)
    }
    /// Moves the policy's virtual time up to that of this task.
    pub fn policy_clock_to(&mut self, id: usize) {
        let now_ns = self.world.now_ns;
        unsafe { self.policy.running(&mut self.world, &mut self.tasks[id], 0, now_ns) };
    }
    /// As in the kernel: the running task is charged, and goes on if no waiting task is further behind. Otherwise
    /// another one is picked while the running task is in no queue, and only then is that one queued. Returns the task
    /// that ran.
    pub fn run_on(&mut self, cpu: usize, ran_ns: u64) -> usize {
        let id = self.running[cpu].expect("runs");
        let (task, _, group) = self.pointers(id);
        unsafe { self.policy.stopping(&mut self.world, task, group, cpu as u32, ran_ns) };
        let ran = self.tasks[id];
        let next = self.policy.dispatch_running(&mut self.world, &ran, cpu as u32);
        let taken = self.world.taken.take().map(|id| id as usize);
        assert_eq!(
            next == Next::Taken,
            taken.is_some(),
            "taken is what it says, and only then is it"
        );
        if let Some(next) = taken {
            let (task, _, group) = self.pointers(id);
            unsafe { self.policy.enqueue(&mut self.world, task, group, cpu as u32) };
            self.running[cpu] = None;
            self.start(next, cpu);
            self.follow_kicks();
        } else {
            assert_eq!(next, Next::Same, "one that is counted goes on");
        }
        id
    }
    /// The slice of the task on `cpu` is over after `ran_ns`.
    pub fn run_and_preempt(&mut self, cpu: usize, ran_ns: u64) -> usize {
        self.stop(cpu, ran_ns, false)
    }
    pub fn spin(&mut self, id: usize, spinning: bool) {
        let (task, app, group) = self.pointers(id);
        let now_ns = self.now();
        unsafe { self.policy.spin(&mut self.world, task, app, group, spinning, now_ns) };
        self.follow_kicks();
    }
    /// Sets the hints of a task: flags of `policy::says`.
    pub fn set_hints(&mut self, id: usize, flags: u32) {
        let (task, app, _) = self.pointers(id);
        let now_ns = self.now();
        unsafe { self.policy.set_hints(&mut self.world, task, app, flags, now_ns) };
        if unsafe { self.policy.claim_late(&mut self.world, task, app) } {
            let cpu = self.tasks[id].given - 1;
            self.take_out(id);
            let (task, _, group) = self.pointers(id);
            unsafe { self.policy.enqueue(&mut self.world, task, group, cpu) };
        }
        self.follow_kicks();
    }
    pub fn set_weight(&mut self, id: usize, weight: u32) {
        let now_ns = self.now();
        let (task, _, group) = self.pointers(id);
        unsafe { self.policy.set_weight(task, group, weight, now_ns) };
    }
    /// A higher class takes the CPU, or releases it.
    pub fn cpu_taken(&mut self, cpu: usize, taken: bool) {
        let now_ns = self.now();
        self.policy.cpu_taken(&mut self.world, cpu as u32, taken, now_ns);
    }
    /// The thread ends, after it ran until now.
    pub fn end(&mut self, id: usize) {
        let cpu = self.cpu_of(id).expect("a task that runs");
        let ran_ns = self.now() - self.came_ns[cpu];
        let now_ns = self.now();
        self.running[cpu] = None;
        let (task, app, group) = self.pointers(id);
        unsafe {
            self.policy.stopping(&mut self.world, task, group, cpu as u32, ran_ns);
            self.policy.pace_exits(&mut self.world, task, now_ns);
            self.policy.stopped(task, app, cpu as u32, false, now_ns);
            self.policy.ended(task, app);
            self.policy.block(&mut self.world, task, app, group, now_ns);
        }
        self.next(cpu);
    }
    /// As if all tasks exited, where they are.
    pub fn all_leave_home(&mut self) {
        let now_ns = self.now();
        for task in &mut self.tasks {
            unsafe { self.policy.pace_exits(&mut self.world, task, now_ns) };
        }
        self.policy.timer(&mut self.world, now_ns);
    }
    pub fn declare(&mut self, app: usize, parallelism: u32) {
        let now_ns = self.now();
        let app: *mut App = &mut self.apps[app];
        assert!(unsafe { self.policy.declare(&mut self.world, app, parallelism, now_ns) });
        self.follow_kicks();
    }
    /// The CPU goes offline. The tasks that ran or waited are placed again, as an adapter has to do.
    pub fn offline(&mut self, cpu: usize) {
        let now_ns = self.now();
        self.online[cpu] = false;
        let was = self.running[cpu].take();
        self.policy.cpu_offline(&mut self.world, cpu as u32, now_ns);
        if let Some(id) = was {
            let (task, app, _) = self.pointers(id);
            unsafe { self.policy.stopped(task, app, cpu as u32, true, now_ns) };
        }
        self.follow_kicks();
        let waiting = self.world.drop_all_waiting();
        for &id in &waiting {
            unsafe { self.policy.dequeue(&mut self.world, &mut self.tasks[id]) };
        }
        for id in was.into_iter().chain(waiting) {
            self.wake(id);
        }
    }
    pub fn online(&mut self, cpu: usize) {
        let now_ns = self.now();
        self.online[cpu] = true;
        self.policy.cpu_online(&mut self.world, cpu as u32, now_ns);
        self.follow_kicks();
        if self.running[cpu].is_none() {
            self.next(cpu);
        }
    }
    pub fn high(&self) -> Vec<usize> {
        self.policy.members(Set::High).cpus()
    }
    pub fn green(&self) -> Vec<usize> {
        self.policy.members(Set::Green).cpus()
    }
    pub fn size(&self) -> u32 {
        self.policy.size(Set::High)
    }
    pub fn target(&self) -> u32 {
        self.policy.target(Set::High)
    }
    pub fn joiner(&self) -> i32 {
        self.policy.joiner(Set::High, &CpuBits::of(0..512), NONE)
    }
}
