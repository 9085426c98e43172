// SPDX-License-Identifier: MIT OR Apache-2.0
//! lop-policy as the scheduler of a simulated machine. [`Scheduler`] reports events to the policy, [`Env`] (policy/core/env.h) is what the policy calls
//! in return.

use super::configure::{config, describe_cpus, green_indices, high_requests, live_machine, reserved_khz};
use super::cpu::Leaving;
use super::scheduler::{group_weights, AfterSlice, Scheduler, SchedulerCounts};
use super::time::{Alarm, Kind, OwnEvent};
use super::world::World;
use super::Rates;
use crate::choice::SetsVariant;
use crate::clocks::Range;
use crate::outcome::{Decisions, TraceEvent, TraceSet};
use crate::waiting::WaitingTasks;
use crate::workload::{Program, Step, Workload};
use crate::{RunOptions, SimulationError};
use lop_machine::costs::Control;
use lop_machine::{EnergyPreference, Machine};
use lop_policy::{
    hint_flags, rules, App, Config, CpuBits, Env, GreenWork, Group, Next, Planner, PolicyHandle, Set, PLAN_PERIOD_NS,
    UNMEASURED_SPEEDUP,
};

pub(crate) struct Policy {
    /// Owns what `handle` points to.
    _owner: lop_policy::Policy,
    pub(super) handle: PolicyHandle,
    pub(super) config: Config,
    variant: SetsVariant,
    /// By queue number.
    queues: Vec<WaitingTasks>,
    /// Slice of the task that was queued last.
    queue_slice_ns: u64,
    /// Boxed, as the policy writes to them while the world is borrowed.
    #[allow(clippy::vec_box)]
    pub(super) apps: Vec<Box<App>>,
    /// By application; `None`: none of its programs has a cgroup weight of its own.
    groups: Vec<Option<Box<Group>>>,
    /// By program, see `speedup_permille()`.
    pub(super) speedup_permille: Vec<u32>,
    all_cpus: CpuBits,
    /// The policy sets the speeds; otherwise a governor does.
    sets_speeds: bool,
    /// By clock domain: frequency index for green cores, and what high ones request.
    green_index: Vec<usize>,
    high_request: Vec<Range>,
    /// A core was reserved at some time.
    has_reserved: bool,
    /// Frequencies of the reserved core in kHz, from its own one upwards.
    reserved_khz: Vec<u64>,
    /// Before time 0, when speeds take effect at once.
    starting: bool,
    /// Set during a call to the policy: a CPU that it claimed, the task to start there, and the slice.
    start_here: Option<(u32, u32, u64)>,
    /// Set during a call to the policy: the task that it took from a queue for the CPU that asked.
    taken: Option<u32>,
    /// Only if the policy plans where threads run.
    pub(super) planner: Option<Planner>,
}

/// SF = T(f_low) / T(f_high) of a program's first work on the fastest kind of core, in thousandths; 0: it has no work. What counters will tell is not
/// known before.
fn speedup_permille(program: &Program, workload: &Workload, rates: &Rates, config: &Config) -> u32 {
    let class = program.steps.iter().find_map(|step| match *step {
        Step::Run { class, .. } => Some(class),
        Step::Loop(l) => Some(workload.loops[l as usize].class),
        _ => None,
    });
    match class {
        None => 0,
        Some(class) if config.rules & rules::SPEEDUP != 0 && workload.memory_uses.contains_key(&class) => {
            UNMEASURED_SPEEDUP
        }
        Some(class) => (1000.0 / rates.relative(class, 0, 0)).round() as u32,
    }
}

impl Policy {
    pub fn new(
        (machine, rates): (&Machine, &Rates),
        workload: &Workload,
        variant: SetsVariant,
        options: &RunOptions,
    ) -> Result<Self, SimulationError> {
        let config = config(machine, workload, variant, &options.policy);
        let mut owner = lop_policy::Policy::new(config);
        describe_cpus(owner.sched(), machine, variant)?;
        if options.decisions {
            owner.record();
        }
        let apps = workload.apps.iter().map(|app| {
            Box::new(App {
                shares_memory: app.shares_memory,
                ..App::new(app.declared_parallelism.unwrap_or(0))
            })
        });
        let speedups = (workload.programs.iter()).map(|program| speedup_permille(program, workload, rates, &config));
        Ok(Self {
            handle: owner.handle(),
            _owner: owner,
            config,
            variant,
            queues: (0..lop_policy::QUEUES).map(|_| WaitingTasks::default()).collect(),
            queue_slice_ns: 0,
            apps: apps.collect(),
            groups: group_weights(workload)
                .map(|weight| weight.map(|weight| Box::new(Group::new(weight))))
                .collect(),
            speedup_permille: speedups.collect(),
            all_cpus: CpuBits::of(0..machine.cpus.len()),
            sets_speeds: variant.sets_speeds(),
            high_request: high_requests(machine, variant, &options.policy),
            green_index: green_indices(machine, rates),
            has_reserved: false,
            reserved_khz: reserved_khz(machine, variant),
            starting: true,
            start_here: None,
            taken: None,
            planner: config.plans().then(Planner::default),
        })
    }

    pub(super) fn queue_mut(&mut self, queue: u32) -> &mut WaitingTasks {
        &mut self.queues[queue as usize]
    }
}

/// Arguments of a call to the policy about a task. The pointers lead into boxes, which live as long as the task and the scheduler, and which no
/// callback reaches through the world for writing.
struct Call {
    handle: PolicyHandle,
    task: *mut lop_policy::Task,
    app: *mut App,
    group: *mut Group,
    now_ns: u64,
}

impl World<'_, Policy> {
    fn call(&mut self, id: u32) -> Call {
        let task = &mut self.work.tasks[id as usize];
        let app = usize::from(task.app);
        let group = self.scheduler.groups[app].as_deref_mut();
        Call {
            group: group.map_or(std::ptr::null_mut(), |group| group),
            handle: self.scheduler.handle,
            task: &mut *task.policy,
            app: &mut *self.scheduler.apps[app],
            now_ns: self.time.now_ns,
        }
    }
    /// For calls that only rules about running tasks need; `None`: the policy has none of them.
    fn ranking_call(&mut self, id: u32) -> Option<Call> {
        (self.scheduler.config.rules != 0).then(|| self.call(id))
    }

    /// Starts the task for which the policy claimed an idle CPU, if it did.
    fn start_where_claimed(&mut self) {
        if let Some((cpu, task, slice_ns)) = self.scheduler.start_here.take() {
            self.start_on_idle(cpu as usize, task, slice_ns);
        }
    }

    /// Moves a waiting task to another queue.
    fn queue_waiting_anew(&mut self, id: u32) {
        let policy = &self.work.tasks[id as usize].policy;
        let (queue, cpu) = (policy.queue as u32, policy.given - 1);
        let queue = self.scheduler.queue_mut(queue);
        // A task that is no longer queued is about to start elsewhere, and gives its claim up then.
        if queue.take_first_of(cpu as usize, |task| task == id).is_none() {
            return;
        }
        self.cores.waiting -= 1;
        let call = self.call(id);
        unsafe { call.handle.dequeue(self, call.task) };
        Policy::enqueue(self, id, cpu);
    }

    /// The tasks that run on these CPUs lose them.
    pub(super) fn queue_anew(&mut self, cpus: &[u32]) {
        for cpu in cpus.iter().map(|&cpu| cpu as usize) {
            self.settle(cpu);
            self.leave(cpu, Leaving::Preempted);
        }
    }

    /// Preempts the running task if the policy still wants it. The task may have left since.
    fn preempted(&mut self, cpu: usize) {
        let Some(id) = self.cores.cpus[cpu].task else {
            self.kicked(cpu);
            return;
        };
        let task = &self.work.tasks[id as usize].policy;
        let (handle, watched) = (self.scheduler.handle, Policy::watches_slices(self, cpu, id));
        if handle.must_go(cpu as u32) || (watched && !handle.may_go_on(task, cpu as u32)) {
            self.queue_anew(&[cpu as u32]);
        }
    }

    fn set_speed_of_set(&mut self, cpu: usize, set: Set) {
        if self.scheduler.handle.on_reserved_core(cpu as u32) {
            return;
        }
        let processor_chooses = self.machine.ships.control() == Control::Processor;
        let request = match set {
            Set::High => self.scheduler.high_request[self.speeds.clocks.domain_index(cpu)],
            Set::Green if processor_chooses => Range::up_to(Some(self.green_index(cpu))),
            Set::Green => Range::only(self.green_index(cpu)),
            // By its preference alone.
            Set::Low if processor_chooses => Range::up_to(None),
            Set::Low | Set::Offline => Range::only(0),
        };
        self.ask_speed(cpu, request);
    }

    /// The speed of a home of paced tasks is that of its rung, any other green core's the most efficient one.
    fn green_index(&self, cpu: usize) -> usize {
        let (config, domain) = (&self.scheduler.config, self.speeds.clocks.of_cpu(cpu));
        if config.green != GreenWork::Paced {
            return self.scheduler.green_index[self.speeds.clocks.domain_index(cpu)];
        }
        let rung = &config.rung[self.scheduler.handle.pace.rung[cpu] as usize];
        let opps = &self.machine.kinds[usize::from(self.machine.cpus[cpu].kind)].opps;
        // Rounded to thousandths: the nearest is the one that the rung was made of.
        let wanted = opps[opps.len() - 1].khz * u64::from(rung.speed_permille) / 1000;
        let nearest = opps
            .iter()
            .min_by_key(|opp| opp.khz.abs_diff(wanted))
            .map_or(0, |opp| opp.khz);
        domain.at_least(nearest)
    }

    fn ask_speed(&mut self, cpu: usize, request: Range) {
        if !self.scheduler.sets_speeds {
            return;
        }
        if self.scheduler.starting {
            self.speeds.clocks.ask_at_once(cpu, request);
        } else {
            self.speeds.ask(cpu, request, &mut self.time);
        }
    }
}

impl Scheduler for Policy {
    fn set_up(world: &mut World<'_, Self>) {
        world.scheduler.handle.start(world, 0);
        world.scheduler.starting = false;
    }
    /// What high CPUs have is as shipped, all others are to save power (`energy_performance_preference` in machine/src/speed).
    fn preference(world: &World<'_, Self>, domain: usize, shipped: EnergyPreference) -> EnergyPreference {
        let high = world.scheduler.handle.members(Set::High);
        match world.speeds.clocks.domains[domain]
            .cpus
            .iter()
            .any(|&cpu| high.has(cpu))
        {
            true => shipped,
            false => EnergyPreference::BalancePower,
        }
    }
    fn begin(world: &mut World<'_, Self>) {
        if world.scheduler.planner.is_some() {
            world.time.at(PLAN_PERIOD_NS, Kind::Scheduler(OwnEvent::Plan), 0);
        }
    }

    fn created(world: &mut World<'_, Self>, id: u32) {
        let program = world.work.tasks[id as usize].program as usize;
        let about = &world.workload.programs[program];
        let allowed = world.allowed[program].unwrap_or(world.scheduler.all_cpus);
        let policy = &mut world.work.tasks[id as usize].policy;
        policy.speedup_permille = world.scheduler.speedup_permille[program];
        policy.system = world.workload.apps[usize::from(about.app)].system;
        unsafe { world.scheduler.handle.set_allowed(&mut **policy, &allowed) };
        let group = world.scheduler.groups[usize::from(about.app)].as_deref();
        policy.nobody_waits = (world.scheduler.handle).owner_says_nobody_waits(policy, group, lop_policy::FULL_SPEED);
        let app = &mut world.scheduler.apps[usize::from(about.app)];
        (world.scheduler.handle).introduce(policy, app, world.time.now_ns);
        // As a program declares it when it creates a thread.
        if about.length > 0 {
            world.scheduler.handle.declare_length(policy, app, about.length);
        }
    }
    fn wake(world: &mut World<'_, Self>, id: u32) -> u32 {
        let last_cpu = world.work.tasks[id as usize].last_cpu;
        let call = world.call(id);
        let (cpu, _) = unsafe { (call.handle).wake(world, call.task, call.app, call.group, last_cpu, call.now_ns) };
        if cpu < 0 {
            let name = world.work.task_name(&world.work.tasks[id as usize]);
            world.failure = Some(SimulationError::Mismatch(format!(
                "{name}: no CPU that it may run on is online"
            )));
            return last_cpu;
        }
        world.start_where_claimed();
        cpu as u32
    }
    fn clock_of(world: &World<'_, Self>, waker: u32) -> u64 {
        (world.scheduler.handle).clock_of(&world.work.tasks[waker as usize].policy)
    }
    fn enqueue(world: &mut World<'_, Self>, id: u32, cpu: u32) {
        if world.scheduler.handle.wakes_anew(&world.work.tasks[id as usize].policy) {
            Self::wake(world, id);
            return;
        }
        let call = world.call(id);
        unsafe { call.handle.enqueue(world, call.task, call.group, cpu) };
        world.start_where_claimed();
    }
    fn dispatch(world: &mut World<'_, Self>, cpu: usize) -> Option<u32> {
        world.scheduler.taken = None;
        world.scheduler.handle.dispatch(world, cpu as u32);
        world.scheduler.taken.take()
    }
    fn anything_waits(&self, cpu: usize) -> bool {
        self.handle.anything_waits(cpu as u32)
    }
    fn watches_slices(world: &World<'_, Self>, cpu: usize, id: u32) -> bool {
        let is_green = || world.scheduler.handle.members(Set::Green).has(cpu);
        let (paces, task) = (
            world.scheduler.config.green == GreenWork::Paced,
            &world.work.tasks[id as usize].policy,
        );
        paces && (task.pace.home != 0 || task.is_background() || is_green())
    }
    fn after_slice(world: &mut World<'_, Self>, cpu: usize, id: u32) -> AfterSlice {
        let call = world.call(id);
        world.scheduler.taken = None;
        let next = unsafe { call.handle.dispatch_running(world, &*call.task, cpu as u32) };
        match (next, world.scheduler.taken.take()) {
            (Next::Same, _) => AfterSlice::Same,
            (Next::Taken, Some(next)) => AfterSlice::Taken(next),
            _ => AfterSlice::Leaves,
        }
    }
    fn next_slice_ns(world: &World<'_, Self>, _cpu: usize, id: u32) -> u64 {
        let (handle, task) = (world.scheduler.handle, &world.work.tasks[id as usize].policy);
        handle.slice_ns().min(handle.until_late_ns(task, world.time.now_ns))
    }
    fn slice_ns(&self) -> u64 {
        self.queue_slice_ns
    }

    fn running(world: &mut World<'_, Self>, id: u32, cpu: usize) {
        let call = world.call(id);
        unsafe { call.handle.running(world, call.task, cpu as u32, call.now_ns) };
        if let Some(call) = world.ranking_call(id) {
            unsafe { (call.handle).started(world, call.task, call.app, cpu as u32, call.now_ns) };
        }
    }
    fn charge(world: &mut World<'_, Self>, id: u32, cpu: usize, ran_ns: u64) {
        let call = world.call(id);
        unsafe { (call.handle).stopping(world, call.task, call.group, cpu as u32, ran_ns) };
    }
    fn stopped(world: &mut World<'_, Self>, id: u32, cpu: usize, why: Leaving) {
        if why == Leaving::Exited {
            let call = world.call(id);
            unsafe { call.handle.pace_exits(world, call.task, call.now_ns) };
        }
        if let Some(call) = world.ranking_call(id) {
            let runnable = why == Leaving::Preempted;
            unsafe { (call.handle).stopped(call.task, call.app, cpu as u32, runnable, call.now_ns) };
            if why == Leaving::Exited {
                unsafe { call.handle.ended(call.task, call.app) };
            }
        }
    }
    fn block(world: &mut World<'_, Self>, id: u32) {
        let call = world.call(id);
        unsafe { (call.handle).block(world, call.task, call.app, call.group, call.now_ns) };
    }
    fn spins(world: &mut World<'_, Self>, id: u32, spins: bool) {
        let call = world.call(id);
        unsafe { (call.handle).spin(world, call.task, call.app, call.group, spins, call.now_ns) };
    }
    fn waited_for(world: &mut World<'_, Self>, id: u32, waited_for: bool) {
        let Some(call) = world.ranking_call(id) else { return };
        let flags = if waited_for { hint_flags::LOCK_HOLDER } else { 0 };
        unsafe { (call.handle).set_hints(world, call.task, call.app, flags, call.now_ns) };
        if waited_for && unsafe { call.handle.claim_late(world, call.task, call.app) } {
            world.queue_waiting_anew(id);
        }
    }

    fn cpu_busy(world: &mut World<'_, Self>, cpu: usize) {
        let (handle, now_ns) = (world.scheduler.handle, world.time.now_ns);
        handle.cpu_idle(world, cpu as u32, false, now_ns);
    }
    fn cpu_idle(world: &mut World<'_, Self>, cpu: usize, _beside_busy: bool) {
        let (handle, now_ns) = (world.scheduler.handle, world.time.now_ns);
        handle.cpu_idle(world, cpu as u32, true, now_ns);
    }

    fn is_low(&self, cpus: &[usize]) -> bool {
        let (high, green) = (self.handle.members(Set::High), self.handle.members(Set::Green));
        let reserved = self.handle.reserved().0.map(|cpu| cpu as usize);
        let is_low = |&cpu: &usize| !high.has(cpu) && !green.has(cpu) && reserved != Some(cpu);
        self.sets_speeds && cpus.iter().all(is_low)
    }
    /// On the reserved core, a green one, and a high one whose one frequency is reached.
    fn has_chosen_speed(world: &World<'_, Self>, cpu: usize) -> bool {
        let (scheduler, domain) = (&world.scheduler, world.speeds.clocks.domain_index(cpu));
        let is_in = |set| scheduler.handle.members(set).has(cpu);
        let now = Range::only(world.speeds.clocks.domains[domain].now);
        scheduler.handle.on_reserved_core(cpu as u32)
            || is_in(Set::Green)
            || is_in(Set::High) && scheduler.high_request[domain] == now
    }
    fn reads_counters(&self) -> bool {
        self.planner.is_some()
    }

    fn timer(world: &mut World<'_, Self>) {
        let (handle, now_ns) = (world.scheduler.handle, world.time.now_ns);
        handle.timer(world, now_ns);
    }
    fn own_event(world: &mut World<'_, Self>, event: OwnEvent, index: u32) {
        match event {
            OwnEvent::Preempt => world.preempted(index as usize),
            OwnEvent::Plan => world.plan(),
        }
    }
    fn heated(world: &mut World<'_, Self>) {
        let (handle, now_ns) = (world.scheduler.handle, world.time.now_ns);
        handle.rotate_heat(world, now_ns);
    }
    fn decisions(&self, machine: &Machine) -> Option<Decisions> {
        let records = self.handle.take_records();
        (!records.is_empty()).then(|| Decisions {
            machine: live_machine(machine, self.variant),
            config: self.config,
            records,
        })
    }
    fn counts(&self) -> SchedulerCounts {
        let reserved = self.has_reserved.then(|| self.handle.reserved());
        SchedulerCounts {
            promotions: self.handle.membership.promotions,
            demotions: self.handle.membership.demotions,
            heat_swaps: self.handle.heat.swaps,
            reserved: reserved.map(|(cpu, raised)| (raised, cpu.is_none())),
        }
    }
}

impl Env for World<'_, Policy> {
    fn now_ns(&mut self) -> u64 {
        self.time.now_ns
    }
    fn insert_local(&mut self, task: u32, cpu: u32, slice_ns: u64) {
        self.scheduler.start_here = Some((cpu, task, slice_ns));
    }
    fn insert(&mut self, task: u32, queue: u32, slice_ns: u64, vtime_ns: u64) {
        let policy = &self.work.tasks[task as usize].policy;
        let allowed = policy.restricted.then_some(&policy.allowed);
        self.scheduler.queue_slice_ns = slice_ns;
        self.scheduler.queue_mut(queue).insert(task, vtime_ns, allowed);
        self.one_more_waits();
    }
    fn take(&mut self, queue: u32, cpu: u32, until_ns: u64) -> bool {
        self.scheduler.taken = self.scheduler.queue_mut(queue).take(cpu as usize, until_ns);
        self.scheduler.taken.is_some()
    }
    fn take_overdue(&mut self, queue: u32, cpu: u32, before_ns: u64) -> bool {
        let tasks = &self.work.tasks;
        let is_overdue = |task: u32| tasks[task as usize].policy.queued_at_ns <= before_ns;
        let queue = self.scheduler.queue_mut(queue);
        self.scheduler.taken = queue.take_first_of(cpu as usize, is_overdue);
        self.scheduler.taken.is_some()
    }
    fn queued(&mut self, queue: u32) -> u32 {
        self.scheduler.queue_mut(queue).len() as u32
    }
    fn first_ns(&mut self, queue: u32) -> u64 {
        self.scheduler
            .queue_mut(queue)
            .first()
            .map_or(u64::MAX, |(vtime_ns, _)| vtime_ns)
    }
    fn kick(&mut self, cpu: u32) {
        self.time.after(0, Kind::Kick, cpu);
    }
    fn preempt(&mut self, cpu: u32) {
        self.time.after(0, Kind::Scheduler(OwnEvent::Preempt), cpu);
    }
    fn set_changed(&mut self, cpu: u32, set: Set) {
        let at_ns = self.time.now_ns;
        let traced = match set {
            Set::High => TraceSet::High,
            Set::Low => TraceSet::Low,
            Set::Green => TraceSet::Green,
            Set::Offline => TraceSet::Offline,
        };
        self.trace.add(at_ns, || TraceEvent::Set {
            at_ns,
            cpu: cpu as u16,
            set: traced,
        });
        self.stats.high_set_now(self.scheduler.handle.size(Set::High), at_ns);
        self.set_speed_of_set(cpu as usize, set);
        let core = self.cores.cpus[cpu as usize].core;
        if set == Set::Low {
            self.sink_if_idle(core);
        } else {
            self.unpark(core);
        }
    }
    fn reserved_speed(&mut self, cpu: u32, raised: u32) {
        self.scheduler.has_reserved = true;
        let speeds = &self.scheduler.reserved_khz;
        let khz = speeds[(raised as usize).min(speeds.len() - 1)];
        let index = self.speeds.clocks.of_cpu(cpu as usize).at_least(khz);
        self.ask_speed(cpu as usize, Range::only(index));
    }
    fn arm_timer(&mut self, at_ns: u64) {
        self.time.set(at_ns, Alarm::Scheduler, 0);
    }
    fn temperature_mc(&mut self, cpu: u32) -> i32 {
        let core = self.cores.cpus[cpu as usize].core;
        (self.power.temperature_c(core) * 1000.0) as i32
    }
}
