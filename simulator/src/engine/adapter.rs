// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator's side of policy/core/env.h, and the same questions put to either scheduler.

use super::cpu::Leaving;
use super::world::{parallelism_of, PolicySide, Scheduler, World};
use crate::choice::{PolicyParameters, ReservedSpeed, SetsVariant};
use crate::events::{Alarm, Kind};
use crate::outcome::{TraceEvent, TraceSet};
use crate::waiting::WaitingTasks;
use crate::workload::Workload;
use crate::{PowerCap, SimulationError};
use lop_machine::Machine;
use lop_policy::{self as policy, Env, Set};

/// Temperatures are brought up to date this often.
pub(super) const HEAT_PERIOD_NS: u64 = 1_000_000_000;

/// The policy's configuration for a variant of sets.
pub(super) fn config(
    machine: &Machine,
    workload: &Workload,
    variant: SetsVariant,
    parameters: &PolicyParameters,
) -> policy::Config {
    let fixed_size = match variant {
        SetsVariant::Simple { size } => size.unwrap_or_else(|| parallelism_of(workload)),
        _ => 0,
    };
    let rise_ns = machine.cpufreq.transition_ns + machine.park.map_or(0, |park| park.exit_ns);
    let default_hold_ns = policy::default_hold_ns(machine.cpufreq.transition_ns);
    let mut chosen = policy::Config::of(variant.named(), parameters.hold_ns.unwrap_or(default_hold_ns));
    if let SetsVariant::Auto(without) = variant {
        let all = chosen;
        chosen = all.leave_out(&super::traits::traits(machine, rise_ns));
        without.leave_out(&mut chosen, &all);
    }
    policy::Config {
        nr_cpus: machine.cpus.len() as u32,
        fixed_size,
        spare: parameters.spare.unwrap_or(chosen.spare),
        most_high: PowerCap::asked(machine, parameters).map_or(0, |cap| cap.most_high),
        green: parameters.green || chosen.green,
        transition_ns: rise_ns,
        heat_period_ns: parameters.heat_period_ns.unwrap_or(chosen.heat_period_ns),
        hot_mc: machine
            .thermal
            .map_or(i32::MAX, |thermal| (thermal.limit_c * 1000.0) as i32),
        migration_ns: migration_ns(machine),
        reserve: parameters.reserve.unwrap_or(chosen.reserve),
        reserve_raises: reserved_khz(machine, variant).len() as u32 - 1,
        ..chosen
    }
}

/// What a running task loses that goes on at another CPU: two switches and the migration, to another memory domain if there are several.
fn migration_ns(machine: &Machine) -> u64 {
    let cost = machine.cost;
    let elsewhere_ns = if machine.nr_memory_domains > 1 {
        cost.memory_domain_ns
    } else {
        0
    };
    2 * cost.context_switch_ns + cost.migration_ns + elsewhere_ns
}

/// Frequencies of the reserved core, from its own to the highest of its kind, in kHz: the slowest kind, as policy/reserved/reserved.h has it.
pub(super) fn reserved_khz(machine: &Machine, variant: SetsVariant) -> Vec<u64> {
    let slowest = machine.cpus.iter().map(|cpu| cpu.kind).max().unwrap_or(0);
    let khz: Vec<u64> = (machine.kinds[usize::from(slowest)].opps.iter().map(|opp| opp.khz)).collect();
    let highest = khz[khz.len() - 1];
    let speed = match variant {
        SetsVariant::Reserved(speed) => speed,
        _ => ReservedSpeed::DEFAULT,
    };
    let own = match speed {
        ReservedSpeed::Khz(khz) => khz.min(highest),
        ReservedSpeed::Share { part, of } => (highest * u64::from(part)).div_ceil(u64::from(of)),
    };
    khz.into_iter().filter(|&khz| khz >= own).collect()
}

/// Limits of policy/core/topology.h that a machine must keep within.
fn check_limits(machine: &Machine) -> Result<(), SimulationError> {
    let limits = [
        ("CPUs", machine.cpus.len(), policy::MAX_CPUS),
        ("kinds of cores", machine.kinds.len(), policy::MAX_TIERS),
        ("memory domains", machine.nr_memory_domains, policy::MAX_MEMORY_DOMAINS),
        ("nodes", machine.nr_nodes, policy::MAX_NODES),
        ("sockets", machine.nr_sockets, policy::MAX_NODES),
    ];
    match limits.iter().find(|(_, has, most)| has > most) {
        None => Ok(()),
        Some((what, has, most)) => Err(SimulationError::Mismatch(format!(
            "machine '{}' has {has} {what}, expected at most {most}",
            machine.name
        ))),
    }
}

pub(super) fn describe_cpus(
    sched: &mut policy::Sched,
    machine: &Machine,
    variant: SetsVariant,
) -> Result<(), SimulationError> {
    check_limits(machine)?;
    let mut of_core = vec![Vec::new(); machine.nr_cores];
    for (number, cpu) in machine.cpus.iter().enumerate() {
        of_core[usize::from(cpu.core)].push(number as u16);
    }
    let top_speed = |kind: &lop_machine::Kind| kind.rate(kind.opps.len() - 1, 0.0);
    let fastest = machine.kinds.iter().map(top_speed).fold(0.0, f64::max);
    for (number, cpu) in machine.cpus.iter().enumerate() {
        let tier = if variant.knows_kinds() { cpu.kind } else { 0 };
        let siblings = &of_core[usize::from(cpu.core)];
        let at = siblings.iter().position(|&s| usize::from(s) == number).unwrap_or(0);
        let place = policy::CpuPlace {
            tier,
            permille: (1000.0 * top_speed(&machine.kinds[usize::from(tier)]) / fastest).round() as u16,
            voltage_domain: cpu.voltage_domain,
            memory_domain: cpu.memory_domain,
            node: cpu.node,
            socket: cpu.socket,
            next_sibling: siblings[(at + 1) % siblings.len()],
        };
        sched.add_cpu(number, place);
    }
    Ok(())
}

impl PolicySide {
    pub(super) fn queue_mut(&mut self, queue: u32) -> &mut WaitingTasks {
        &mut self.queues[queue as usize]
    }

    /// Pointers that the policy takes for a task; the boxes they point into live as long as this.
    fn pointers(&mut self, app: usize) -> (*mut policy::App, *mut policy::Group) {
        let group = self.groups[app]
            .as_deref_mut()
            .map_or(std::ptr::null_mut(), |group| group as *mut policy::Group);
        (&mut *self.apps[app], group)
    }
}

/// What a call to the policy about a task needs.
struct PolicyCall {
    handle: policy::PolicyHandle,
    task: *mut policy::Task,
    app: *mut policy::App,
    group: *mut policy::Group,
}

impl World<'_> {
    fn policy_call(&mut self, id: u32) -> Option<PolicyCall> {
        let Scheduler::Policy(side) = &mut self.scheduler else {
            return None;
        };
        let task = &mut self.tasks[id as usize];
        let (app, group) = side.pointers(usize::from(task.app));
        Some(PolicyCall {
            handle: side.handle,
            task: &mut *task.policy,
            app,
            group,
        })
    }

    pub(super) fn side_mut(&mut self) -> Option<&mut PolicySide> {
        match &mut self.scheduler {
            Scheduler::Policy(side) => Some(side),
            Scheduler::Fair(_) => None,
        }
    }

    /// A runnable task is placed: on an idle CPU, or among those that wait.
    pub(super) fn place(&mut self, id: u32) {
        let last_cpu = self.tasks[id as usize].last_cpu;
        let position = self.trace.position();
        let cpu = match self.policy_call(id) {
            Some(call) => self.place_by_policy(id, call, last_cpu),
            None => self.place_fairly(id),
        };
        let wakeup = TraceEvent::Wakeup {
            at_ns: self.now_ns,
            task: self.tasks[id as usize].serial,
            cpu: cpu as u16,
        };
        self.trace.add_before(position, wakeup);
    }

    fn place_by_policy(&mut self, id: u32, call: PolicyCall, last_cpu: u32) -> u32 {
        let now_ns = self.now_ns;
        // The boxes behind the pointers are not reached through the world while the policy runs.
        let (cpu, _) = unsafe {
            call.handle
                .wake(self, call.task, call.app, call.group, last_cpu, now_ns)
        };
        if cpu < 0 {
            let name = self.task_name(&self.tasks[id as usize]);
            self.failure = Some(SimulationError::Mismatch(format!(
                "{name}: no CPU that it may run on is online"
            )));
            return last_cpu;
        }
        self.start_where_claimed();
        cpu as u32
    }

    /// The policy claimed an idle CPU for a task.
    fn start_where_claimed(&mut self) {
        if let Some((cpu, task, slice_ns)) = self.side_mut().and_then(|side| side.start_here.take()) {
            self.start_on_idle(cpu as usize, task, slice_ns);
        }
    }

    fn place_fairly(&mut self, id: u32) -> u32 {
        let Scheduler::Fair(fair) = &mut self.scheduler else {
            return 0;
        };
        let task = &mut self.tasks[id as usize];
        let allowed = fair.cpus_of(id, self.allowed[task.program as usize].as_ref());
        let allowed = allowed.as_ref();
        let app = self.workload.programs[task.program as usize].app;
        fair.enter(app, task.policy.weight);
        task.policy.vtime_ns = fair.bound_lag(app, task.policy.weight, task.policy.vtime_ns);
        match fair.pick_idle(allowed) {
            Some(cpu) => {
                let slice_ns = fair.slice_ns;
                self.start_on_idle(cpu as usize, id, slice_ns);
                cpu
            }
            None => {
                fair.waiting.insert(id, task.policy.vtime_ns, allowed);
                let cpu = task.last_cpu;
                self.one_more_waits();
                cpu
            }
        }
    }

    fn one_more_waits(&mut self) {
        self.waiting += 1;
        if !self.unwatched.is_empty() {
            self.watch_all();
        }
    }

    /// A task whose slice is over waits again.
    pub(super) fn requeue(&mut self, id: u32, cpu: u32) {
        match self.policy_call(id) {
            Some(call) => {
                unsafe { call.handle.enqueue(self, call.task, call.group, cpu) };
                self.start_where_claimed();
            }
            None => {
                let Scheduler::Fair(fair) = &mut self.scheduler else {
                    return;
                };
                let task = &mut self.tasks[id as usize];
                let allowed = fair.cpus_of(id, self.allowed[task.program as usize].as_ref());
                let allowed = allowed.as_ref();
                let app = self.workload.programs[task.program as usize].app;
                task.policy.vtime_ns = fair.bound_lag(app, task.policy.weight, task.policy.vtime_ns);
                fair.waiting.insert(id, task.policy.vtime_ns, allowed);
                self.one_more_waits();
            }
        }
    }

    /// The next task for a CPU that has none.
    pub(super) fn next_for(&mut self, cpu: usize) -> Option<u32> {
        match &mut self.scheduler {
            Scheduler::Policy(side) => {
                let handle = side.handle;
                side.taken = None;
                handle.dispatch(self, cpu as u32);
                self.side_mut().and_then(|side| side.taken.take())
            }
            Scheduler::Fair(fair) => fair.waiting.take(cpu, u64::MAX),
        }
    }

    pub(super) fn anything_waits(&self, cpu: usize) -> bool {
        match &self.scheduler {
            Scheduler::Policy(side) => side.handle.anything_waits(cpu as u32),
            Scheduler::Fair(fair) => !fair.waiting.is_empty(),
        }
    }

    /// Slice of a task that was taken from a queue.
    pub(super) fn slice_ns(&mut self) -> u64 {
        match &mut self.scheduler {
            Scheduler::Policy(side) => side.queue_slice_ns,
            Scheduler::Fair(fair) => fair.slice_ns,
        }
    }

    /// The task pays for what it ran on `cpu`, by weight.
    pub(super) fn charge(&mut self, id: u32, cpu: usize, ran_ns: u64) {
        match self.policy_call(id) {
            Some(call) => unsafe { call.handle.stopping(self, call.task, call.group, cpu as u32, ran_ns) },
            None => {
                let Scheduler::Fair(fair) = &self.scheduler else { return };
                let task = &mut self.tasks[id as usize];
                let app = self.workload.programs[task.program as usize].app;
                task.policy.vtime_ns += fair.cost_ns(app, task.policy.weight, ran_ns);
            }
        }
    }

    /// The task blocks, sleeps or exits.
    pub(super) fn inactive(&mut self, id: u32) {
        let now_ns = self.now_ns;
        self.tasks[id as usize].counters.active(false, now_ns);
        if let Some(call) = self.policy_call(id) {
            let now_ns = self.now_ns;
            unsafe { call.handle.block(self, call.task, call.app, call.group, now_ns) };
        } else if let Scheduler::Fair(fair) = &mut self.scheduler {
            let task = &self.tasks[id as usize];
            let app = self.workload.programs[task.program as usize].app;
            fair.leave(app, task.policy.weight);
        }
    }

    /// The task has ended: its core is free for another, where tasks have cores of their own.
    pub(super) fn leave_home(&mut self, id: u32) {
        if let Scheduler::Fair(fair) = &mut self.scheduler {
            if let Some(homes) = &mut fair.homes {
                homes.leave(id);
            }
        }
    }

    pub(super) fn tell_scheduler_running(&mut self, id: u32, cpu: usize) {
        let vtime_ns = self.tasks[id as usize].policy.vtime_ns;
        let now_ns = self.now_ns;
        match self.policy_call(id) {
            Some(call) => unsafe { call.handle.running(self, call.task, now_ns) },
            None => {
                let Scheduler::Fair(fair) = &mut self.scheduler else {
                    return;
                };
                fair.started(vtime_ns);
            }
        }
        if let Some(call) = self.ranking_call(id) {
            let now_ns = self.now_ns;
            unsafe { call.handle.started(self, call.task, call.app, cpu as u32, now_ns) };
        }
    }
    /// What a policy that moves running tasks is told; `None` under any other.
    fn ranking_call(&mut self, id: u32) -> Option<PolicyCall> {
        match &self.scheduler {
            Scheduler::Policy(side) if side.config.rules != 0 => self.policy_call(id),
            _ => None,
        }
    }
    /// Before the task is queued anew, blocks or is gone.
    pub(super) fn tell_scheduler_stopped(&mut self, id: u32, cpu: usize, why: Leaving) {
        let now_ns = self.now_ns;
        if let Some(call) = self.ranking_call(id) {
            let runnable = why == Leaving::Preempted;
            unsafe { call.handle.stopped(call.task, call.app, cpu as u32, runnable, now_ns) };
            if why == Leaving::Exited {
                unsafe { call.handle.ended(call.task, call.app) };
                self.list_if_declared(id);
            }
        }
    }
    /// The task raises its SPINNING flag, or drops it.
    pub(super) fn tell_scheduler_spinning(&mut self, id: u32, spinning: bool) {
        let now_ns = self.now_ns;
        if let Some(call) = self.policy_call(id) {
            unsafe {
                call.handle
                    .spin(self, call.task, call.app, call.group, spinning, now_ns)
            };
        }
    }
    /// Others wait for a mutex that the task holds, or do not any more.
    pub(super) fn tell_scheduler_waited_for(&mut self, id: u32, waited_for: bool) {
        let now_ns = self.now_ns;
        let flags = if waited_for { policy::says::LOCK_HOLDER } else { 0 };
        if let Some(call) = self.ranking_call(id) {
            unsafe { call.handle.set_hints(self, call.task, call.app, flags, now_ns) };
            if waited_for && unsafe { call.handle.claim_late(self, call.task, call.app) } {
                self.queue_waiting_anew(id);
            }
        }
    }
    /// It was taken out of its queue.
    pub(super) fn tell_scheduler_dequeued(&mut self, id: u32) {
        if let Some(call) = self.policy_call(id) {
            unsafe { call.handle.dequeue(self, call.task) };
        }
    }
    /// The creator of a thread said how much work it has.
    pub(super) fn tell_scheduler_length(&mut self, id: u32, length: u32) {
        if length > 0 {
            if let Some(call) = self.policy_call(id) {
                unsafe { policy::declare_length(&mut *call.task, &mut *call.app, length) };
            }
            self.list_if_declared(id);
        }
    }
    fn list_if_declared(&mut self, id: u32) {
        let task = &self.tasks[id as usize];
        if task.policy.hint.length > 0 {
            self.list_soon(task.app);
        }
    }
    pub(super) fn tell_scheduler_busy(&mut self, cpu: usize) {
        match &mut self.scheduler {
            Scheduler::Policy(side) => {
                let handle = side.handle;
                let now_ns = self.now_ns;
                handle.cpu_idle(self, cpu as u32, false, now_ns);
            }
            Scheduler::Fair(fair) => fair.set_busy(cpu as u32),
        }
    }
    pub(super) fn tell_scheduler_idle(&mut self, cpu: usize) {
        let core = usize::from(self.machine.cpus[cpu].core);
        let beside_busy = self.cores[core].busy > 0;
        match &mut self.scheduler {
            Scheduler::Policy(side) => {
                let handle = side.handle;
                let now_ns = self.now_ns;
                handle.cpu_idle(self, cpu as u32, true, now_ns);
            }
            Scheduler::Fair(fair) => fair.set_idle(cpu as u32, self.now_ns, beside_busy),
        }
    }

    pub(super) fn core_is_low(&self, core: usize) -> bool {
        match &self.scheduler {
            Scheduler::Fair(fair) => match &fair.homes {
                Some(homes) => self.cores[core].cpus.iter().all(|&cpu| homes.is_free(cpu)),
                None => false,
            },
            Scheduler::Policy(side) => {
                let (high, green) = (side.handle.members(Set::High), side.handle.members(Set::Green));
                let reserved = side.handle.reserved().0.map(|cpu| cpu as usize);
                side.sets_speeds
                    && self.cores[core]
                        .cpus
                        .iter()
                        .all(|&cpu| !high.has(cpu) && !green.has(cpu) && reserved != Some(cpu))
            }
        }
    }

    /// The CPU runs at the speed that was chosen for the reserved core.
    pub(super) fn on_reserved_core(&self, cpu: usize) -> bool {
        matches!(&self.scheduler, Scheduler::Policy(side) if side.handle.on_reserved_core(cpu as u32))
    }

    pub(super) fn policy_timer(&mut self) {
        if let Scheduler::Policy(side) = &self.scheduler {
            let handle = side.handle;
            let now_ns = self.now_ns;
            handle.timer(self, now_ns);
        }
    }

    /// An idle CPU was told to look for work.
    pub(super) fn kicked(&mut self, cpu: usize) {
        if self.cpus[cpu].task.is_some() {
            return;
        }
        if let Some(id) = self.next_for(cpu) {
            self.waiting -= 1;
            let slice_ns = self.slice_ns();
            self.start_on_idle(cpu, id, slice_ns);
        }
    }

    /// A CPU was told to look whether what runs there goes on. It may have gone by itself since.
    pub(super) fn preempted(&mut self, cpu: usize) {
        let Scheduler::Policy(side) = &self.scheduler else {
            return;
        };
        if self.cpus[cpu].task.is_none() {
            self.kicked(cpu);
        } else if side.handle.must_go(cpu as u32) {
            self.settle(cpu);
            self.leave(cpu, Leaving::Preempted);
        }
    }

    /// dT/dt = (ambient + c_per_w P - T) / tau with the mean power since the last time.
    pub(super) fn temperatures_follow(&mut self) {
        let Some(thermal) = self.machine.thermal else { return };
        let passed_ns = self.now_ns - self.heat_at_ns;
        if passed_ns == 0 {
            return;
        }
        self.heat_at_ns = self.now_ns;
        let kept = libm::exp(-(passed_ns as f64) / 1e9 / thermal.time_constant_s);
        for core in 0..self.cores.len() {
            let energy_fj = self.power.core_fj(core, self.now_ns);
            let watts = (energy_fj - self.cores[core].energy_at_heat_fj) as f64 / 1e6 / passed_ns as f64;
            let about = &mut self.cores[core];
            let target_c = thermal.ambient_c + thermal.c_per_w * watts;
            about.temperature_c = target_c + (about.temperature_c - target_c) * kept;
            about.energy_at_heat_fj = energy_fj;
            self.stats.hottest_c = self.stats.hottest_c.max(about.temperature_c);
        }
    }

    /// Temperatures, then the policy's turn.
    pub(super) fn heat(&mut self) {
        self.temperatures_follow();
        if let Scheduler::Policy(side) = &self.scheduler {
            let handle = side.handle;
            let now_ns = self.now_ns;
            handle.rotate_heat(self, now_ns);
        }
        self.events.push(self.now_ns + HEAT_PERIOD_NS, Kind::Heat, 0);
    }
}

impl World<'_> {
    fn set_of_cpu_speeds(&mut self, cpu: usize, set: Set) {
        let number = self.clocks.domain_index(cpu);
        let Some(side) = self.side_mut() else { return };
        if side.handle.on_reserved_core(cpu as u32) {
            return;
        }
        let green = side.green_index[number];
        let index = match set {
            Set::High => self.clocks.of_cpu(cpu).top(),
            Set::Green => green,
            Set::Low | Set::Offline => 0,
        };
        self.ask_speed(cpu, index);
    }

    /// The policy asks for a frequency index of the CPU's clock domain; with one clock for several CPUs the highest wish holds.
    fn ask_speed(&mut self, cpu: usize, index: usize) {
        let Some(side) = self.side_mut() else { return };
        if !side.sets_speeds {
            return;
        }
        let starting = side.starting;
        if let Some(domain) = self.clocks.ask(cpu, index) {
            if starting {
                let wanted = self.clocks.domains[domain].wanted;
                self.clocks.set_initial(domain, wanted);
            } else {
                self.begin_transition(domain);
            }
        }
    }
}

impl Env for World<'_> {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn insert_local(&mut self, task: u32, cpu: u32, slice_ns: u64) {
        if let Some(side) = self.side_mut() {
            side.start_here = Some((cpu, task, slice_ns));
        }
    }
    fn insert(&mut self, task: u32, queue: u32, slice_ns: u64, vtime_ns: u64) {
        let policy = &self.tasks[task as usize].policy;
        if let Scheduler::Policy(side) = &mut self.scheduler {
            side.queue_slice_ns = slice_ns;
            let allowed = policy.restricted.then_some(&policy.allowed);
            side.queue_mut(queue).insert(task, vtime_ns, allowed);
        }
        self.one_more_waits();
    }
    fn take(&mut self, queue: u32, cpu: u32, until_ns: u64) -> bool {
        let Scheduler::Policy(side) = &mut self.scheduler else {
            return false;
        };
        side.taken = side.queue_mut(queue).take(cpu as usize, until_ns);
        side.taken.is_some()
    }
    fn take_overdue(&mut self, queue: u32, cpu: u32, before_ns: u64) -> bool {
        let tasks = &self.tasks;
        let is_overdue = |task: u32| tasks[task as usize].policy.queued_at_ns <= before_ns;
        let Scheduler::Policy(side) = &mut self.scheduler else {
            return false;
        };
        side.taken = side.queue_mut(queue).take_first_of(cpu as usize, is_overdue);
        side.taken.is_some()
    }
    fn queued(&mut self, queue: u32) -> u32 {
        self.side_mut().map_or(0, |side| side.queue_mut(queue).len() as u32)
    }
    fn first_ns(&mut self, queue: u32) -> u64 {
        self.side_mut()
            .and_then(|side| side.queue_mut(queue).first_ns())
            .unwrap_or(u64::MAX)
    }
    fn kick(&mut self, cpu: u32) {
        self.events.push(self.now_ns, Kind::Kick, cpu);
    }
    fn preempt(&mut self, cpu: u32) {
        self.events.push(self.now_ns, Kind::Preempt, cpu);
    }
    fn set_changed(&mut self, cpu: u32, set: Set) {
        let at_ns = self.now_ns;
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
        if let Scheduler::Policy(side) = &self.scheduler {
            let size = side.handle.size(Set::High);
            self.stats.high_set_now(size, at_ns);
        }
        self.set_of_cpu_speeds(cpu as usize, set);
        let core = usize::from(self.machine.cpus[cpu as usize].core);
        if set == Set::Low {
            self.sink_if_core_idle(cpu as usize);
        } else {
            self.unpark(core);
        }
    }
    fn reserved_speed(&mut self, cpu: u32, raised: u32) {
        let Some(side) = self.side_mut() else { return };
        side.has_reserved = true;
        let khz = side.reserved_khz[(raised as usize).min(side.reserved_khz.len() - 1)];
        let index = self.clocks.of_cpu(cpu as usize).at_least(khz);
        self.ask_speed(cpu as usize, index);
    }
    fn arm_timer(&mut self, at_ns: u64) {
        self.events.set(at_ns, Alarm::PolicyTimer, 0);
    }
    fn temperature_mc(&mut self, cpu: u32) -> i32 {
        let core = usize::from(self.machine.cpus[cpu as usize].core);
        (self.cores[core].temperature_c * 1000.0) as i32
    }
}
