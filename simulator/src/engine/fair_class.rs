// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's fair class as a baseline (`linux.placement = "fair-class"`): a queue for each CPU, woken tasks near where they ran, and load balancing.
//!
//! Placement (`place.rs`), by the names of kernel/sched/fair.c:
//! - a task that ran before (`select_task_rq_fair`, `select_idle_sibling`): its last CPU if that is idle; else, in the same cache domain, the CPU before
//!   that, a whole idle core, the idle sibling of its last CPU, or an idle CPU, of which fewer are looked at the more the domain is used, and none in a busy
//!   one (SIS_UTIL); else it queues at its last CPU. In a synchronous wakeup (the waker runs alone, signals and waits next) the waker's CPU and cache domain
//!   take the place of the last CPU's. Wakeups by locks, barriers (futex) and tasks that exit are never synchronous;
//! - where kinds of cores differ (`select_idle_capacity`): any idle CPU of the machine, one whose capacity the task's utilisation fits if there is one
//!   (1.25 * utilisation < capacity), else the largest;
//! - a new task (`find_idlest_group`, `find_idlest_cpu`): the cache domain with most idle CPUs, there the idlest CPU.
//!
//! Balancing (`balance.rs`), in a domain of n CPUs: a CPU about to fall idle takes a waiting task of its cache domain, else of the machine; idle CPUs take
//! one every n ms, at least a tick; a busy CPU takes one every 16 n ms if it has fewer than the mean, so that tasks that share a CPU and tasks that have
//! one change places; and at its tick a running task that does not fit goes to a larger idle CPU. What ran within 0.5 ms stays.
//!
//! `linux:eas` places woken tasks by energy instead, while no CPU is over-utilised (`energy.rs`).
//!
//! Utilisation is tracked as in the kernel (`pelt.rs`), and `schedutil` goes by it when a task comes to a CPU or leaves it, and at the tick.
//!
//! A woken task preempts as EEVDF has it: where the running one is ahead of the average. Asym packing (`asym-packing`; ITMT, preferred cores) is that of
//! running tasks at the tick.
//!
//! Left out: that the kernel bounds lag by its own slice, which is not rounded up to ticks, and scales the lag that a task brings from another queue as that
//! of a wakeup; slices that end between ticks (HRTICK, which newer kernels have on); deadlines of slices of unequal length (a queue is in order of virtual time);
//! asym packing when a CPU falls idle; `wake_wide` and `wake_affine_weight` (a waker that is busy with more draws no task near); weights in balancing, which counts tasks;
//! that a CPU which is never idle for long takes nothing when it falls idle (`avg_idle`); active balancing of siblings that share a core but for asym packing; NUMA imbalance that
//! is allowed, and NUMA balancing; exec; uclamp; what schedutil adds for tasks that wait (runnable_avg, iowait boost), and that it holds the speed of a CPU
//! that was not idle.

mod balance;
mod energy;
mod place;

use super::cpu::Leaving;
use super::fair::{base_slice_ns, Shares, TICK_NS};
use super::pelt::{estimate_after, Utilisation, FULL, NEVER_IDLE};
use super::scheduler::Scheduler;
use super::task::State;
use super::time::{Alarm, Kind, OwnEvent};
use super::world::World;
use crate::waiting::WaitingTasks;
use crate::workload::Workload;
use lop_machine::{Machine, Placement};
use std::collections::BTreeMap;

/// How often the speeds of idle CPUs are looked at (LOAD_AVG_PERIOD).
const IDLE_SPEEDS_NS: u64 = 32_000_000;

/// A CPU has room for work of this multiple of its utilisation.
const MARGIN: f64 = 1.25;

fn has_smt(machine: &Machine) -> bool {
    machine.cpus.len() > machine.nr_cores
}

/// By kind of core: work per time at the top, 1024 for the largest. With SMT the kernel knows no capacities (intel_pstate sets them on hybrids without it), and
/// no Arm machine has both.
fn capacities(machine: &Machine) -> Vec<u64> {
    if has_smt(machine) {
        return vec![FULL as u64; machine.kinds.len()];
    }
    let capacity = |kind: &lop_machine::Kind| (FULL * kind.top_rate() / machine.top_speed()).round() as u64;
    machine.kinds.iter().map(capacity).collect()
}

/// By CPU: its rank in asym packing, the highest first. Cores rank by their speed at the top. Where all do the same work in a cycle, as on AMD's processors with
/// preferred cores, each core ranks above the next one of its kind.
fn ranks(machine: &Machine) -> Vec<u64> {
    let per_khz = |kind: &lop_machine::Kind| kind.speed / kind.rated_khz as f64;
    let alike = |kind| (per_khz(kind) / per_khz(&machine.kinds[0]) - 1.0).abs() < 0.01;
    let has_preferred_cores = machine.kinds.iter().all(alike);
    let rank = |cpu: &lop_machine::Cpu| {
        let rate = (1e6 * machine.kinds[usize::from(cpu.kind)].top_rate()).round() as u64;
        let among_equals = if has_preferred_cores {
            machine.nr_cores as u64 - u64::from(cpu.core)
        } else {
            0
        };
        rate * machine.nr_cores as u64 + among_equals
    };
    machine.cpus.iter().map(rank).collect()
}

/// Kinds of cores differ in capacity.
pub(crate) fn is_asymmetric(machine: &Machine) -> bool {
    let capacities = capacities(machine);
    capacities.iter().any(|&capacity| capacity != capacities[0])
}

#[derive(Debug, Default)]
struct Cpu {
    waiting: WaitingTasks,
    idle: bool,
    /// Virtual time: the average of its tasks when one last came or left.
    clock_ns: u64,
    capacity: u64,
    /// How far its clock for utilisation is behind the time (`pelt.rs`).
    behind_ns: u64,
    /// Of the tasks that ran here last, asleep or not.
    utilisation: Utilisation,
    /// Sum of the estimates of runnable tasks.
    estimate: f64,
    /// Of its memory domain, and of the machine.
    balances: [Balance; 2],
}

/// When tasks are moved next, and how often in a row one had to move and did not.
#[derive(Debug, Clone, Copy, Default)]
struct Balance {
    next_ns: u64,
    failed: u32,
}

/// What the class knows of a task, by slot.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    utilisation: Utilisation,
    estimate: f64,
    /// Whose queue and utilisation it belongs to; `None`: it has not run yet.
    cpu: Option<u32>,
    /// The last CPU before one that was busy when it woke.
    recent_cpu: u32,
    /// How far it was behind the average when it last went to sleep, at most two slices; 0 if it was ahead.
    lag_ns: u64,
    /// When it ran last.
    ran_ns: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct FairClass {
    cpus: Vec<Cpu>,
    tasks: Vec<Load>,
    shares: Shares,
    slice_ns: u64,
    /// Kinds of cores differ in capacity.
    asymmetric: bool,
    /// `linux:eas`.
    energy: bool,
    /// By CPU, under asym packing; empty without it.
    ranks: Vec<u64>,
    /// When threads of a busy core are next given a core each.
    spread_ns: u64,
    /// CPUs of one kind on one clock.
    performance_domains: Vec<Vec<usize>>,
    /// CPUs of each memory domain, and of the machine; the parts of each whose loads are compared: CPUs, or memory domains; and the balance of its idle
    /// CPUs.
    domains: Vec<Vec<usize>>,
    parts: Vec<Vec<Vec<usize>>>,
    idle_balances: Vec<Balance>,
    /// Of each memory domain: how many CPUs a search for an idle one looks at.
    searched: Vec<usize>,
    /// When the speeds of idle CPUs are looked at next.
    idle_speeds_ns: u64,
    /// A running task that leaves its CPU for this one.
    moving_to: Option<usize>,
}

impl FairClass {
    pub fn new(machine: &Machine, workload: &Workload, energy: bool, placement: Placement) -> Self {
        let capacities = capacities(machine);
        let cpu = |about: &lop_machine::Cpu| Cpu {
            idle: true,
            capacity: capacities[usize::from(about.kind)],
            ..Cpu::default()
        };
        let cpus: Vec<Cpu> = machine.cpus.iter().map(cpu).collect();
        let all = 0..cpus.len();
        let of_domain = |d| {
            all.clone()
                .filter(|&c| usize::from(machine.cpus[c].memory_domain) == d)
                .collect()
        };
        let domains: Vec<Vec<usize>> = (0..machine.nr_memory_domains)
            .map(of_domain)
            .chain([all.clone().collect()])
            .collect();
        let memory_domains = &domains[..machine.nr_memory_domains];
        let cpus_of = |domain: &Vec<usize>| domain.iter().map(|&cpu| vec![cpu]).collect();
        let parts: Vec<Vec<Vec<usize>>> = memory_domains
            .iter()
            .map(cpus_of)
            .chain([memory_domains.to_vec()])
            .collect();
        let mut performance_domains = BTreeMap::<_, Vec<usize>>::new();
        for (number, cpu) in machine.cpus.iter().enumerate() {
            let domain = performance_domains.entry((cpu.clock_domain, cpu.kind)).or_default();
            domain.push(number);
        }
        Self {
            energy,
            ranks: match placement {
                Placement::AsymPacking => ranks(machine),
                _ => Vec::new(),
            },
            spread_ns: 0,
            performance_domains: performance_domains.into_values().collect(),
            asymmetric: is_asymmetric(machine),
            tasks: Vec::new(),
            shares: Shares::new(workload),
            slice_ns: base_slice_ns(cpus.len()),
            idle_balances: vec![Balance::default(); domains.len()],
            searched: memory_domains.iter().map(Vec::len).collect(),
            idle_speeds_ns: 0,
            parts,
            domains,
            cpus,
            moving_to: None,
        }
    }

    /// The most by which a task may be behind the average or ahead of it: two slices.
    fn most_lag_ns(&self, app: u16, weight: u32) -> u64 {
        self.shares.cost_ns(app, weight, 2 * self.slice_ns)
    }

    /// The time of a CPU's clock for utilisation.
    fn clock_ns(&self, cpu: usize, now_ns: u64) -> u64 {
        now_ns - self.cpus[cpu].behind_ns
    }

    /// Utilisation of a task now, if it does not run; 0 before it has.
    fn of_task(&self, id: u32, now_ns: u64) -> f64 {
        let load = &self.tasks[id as usize];
        load.cpu
            .map_or(0.0, |cpu| load.utilisation.now(self.clock_ns(cpu as usize, now_ns)))
    }

    /// What a task will need: what it had when it last went to sleep, even if that has decayed.
    fn expected(&self, id: u32, now_ns: u64) -> f64 {
        self.of_task(id, now_ns).max(self.tasks[id as usize].estimate)
    }

    /// Utilisation of a CPU; of a busy one as of its last update.
    fn tracked(&self, cpu: usize, now_ns: u64) -> f64 {
        let about = &self.cpus[cpu];
        match about.idle {
            true => about.utilisation.now(self.clock_ns(cpu, now_ns)),
            false => about.utilisation.last(),
        }
    }

    /// Whether a CPU has room for this utilisation (`fits_capacity`).
    fn fits(&self, utilisation: f64, cpu: usize) -> bool {
        !self.asymmetric || MARGIN * utilisation < self.cpus[cpu].capacity as f64
    }

    /// What a CPU is expected to have to do: 0 to its capacity.
    fn utilisation(&self, cpu: usize, now_ns: u64) -> f64 {
        let about = &self.cpus[cpu];
        self.tracked(cpu, now_ns).max(about.estimate).min(about.capacity as f64)
    }

    /// A runnable task comes to a CPU, which may expect it from now on.
    fn attach(&mut self, id: u32, cpu: usize, now_ns: u64) {
        let last = self.tasks[id as usize].cpu;
        if last != Some(cpu as u32) {
            let brings = match last {
                Some(_) => self.detach(id, now_ns),
                // A new task counts as half of what is spare.
                None => (self.cpus[cpu].capacity as f64 - self.tracked(cpu, now_ns)).max(0.0) / 2.0,
            };
            let clock_ns = self.clock_ns(cpu, now_ns);
            let load = &mut self.tasks[id as usize];
            (load.cpu, load.utilisation) = (Some(cpu as u32), Utilisation::new(brings, clock_ns));
            self.change(cpu, brings, now_ns);
        }
        self.cpus[cpu].estimate += self.tasks[id as usize].estimate;
    }

    /// Utilisation of a task comes to a CPU or leaves it.
    fn change(&mut self, cpu: usize, by: f64, now_ns: u64) {
        let clock_ns = self.clock_ns(cpu, now_ns);
        let about = &mut self.cpus[cpu];
        if about.idle {
            about.utilisation.idled(clock_ns);
        }
        about.utilisation.change(by);
    }

    /// The CPU on which a task was last forgets it. Returns the utilisation that it takes along.
    fn detach(&mut self, id: u32, now_ns: u64) -> f64 {
        let takes = self.of_task(id, now_ns);
        if let Some(cpu) = self.tasks[id as usize].cpu.take() {
            self.change(cpu as usize, -takes, now_ns);
        }
        takes
    }

    /// A task is no longer runnable on its CPU.
    fn unexpect(&mut self, id: u32) -> Option<u32> {
        let load = &self.tasks[id as usize];
        let about = &mut self.cpus[load.cpu? as usize];
        about.estimate = (about.estimate - load.estimate).max(0.0);
        load.cpu
    }
}

impl World<'_, FairClass> {
    /// Tasks that run or wait on a CPU.
    fn nr_runnable(&self, cpu: usize) -> usize {
        self.scheduler.cpus[cpu].waiting.len() + usize::from(self.cores.cpus[cpu].task.is_some())
    }

    /// EEVDF's average (`avg_vruntime`): the mean virtual time of the tasks that run or wait on a CPU, by weight, and their weight. A task that runs has paid.
    fn average(&self, cpu: usize, also: Option<u32>) -> (u64, u64) {
        let (class, tasks) = (&self.scheduler, &self.work.tasks);
        let waiting = class.cpus[cpu].waiting.iter();
        let others = self.cores.cpus[cpu].task.into_iter().chain(also);
        let all = waiting.chain(others.map(|id| (tasks[id as usize].policy.vtime_ns, id)));
        let weighted = all.map(|(vtime_ns, id)| {
            let task = &tasks[id as usize];
            (vtime_ns, class.shares.weight(task.app, task.policy.weight))
        });
        let (sum, weights) = weighted.fold((0, 0), |(sum, weights), (vtime_ns, weight)| {
            (sum + u128::from(vtime_ns) * u128::from(weight), weights + weight)
        });
        match weights {
            0 => (class.cpus[cpu].clock_ns, 0),
            _ => ((sum / u128::from(weights)) as u64, weights),
        }
    }

    /// Sets the virtual time of a CPU to the average of its tasks, and of one that is about to leave. Without any it stays.
    fn update_clock(&mut self, cpu: usize, also: Option<u32>) {
        self.settle(cpu);
        self.pay(cpu);
        self.scheduler.cpus[cpu].clock_ns = self.average(cpu, also).0;
    }

    /// A task is no longer runnable on its CPU, which is returned.
    fn unqueue(&mut self, id: u32) -> Option<u32> {
        let cpu = self.scheduler.unexpect(id)?;
        self.update_clock(cpu as usize, Some(id));
        Some(cpu)
    }

    /// A woken task is behind the average by what it was when it went to sleep, however long it slept (`place_entity`): v = V - lag (W + w) / W, so that it is
    /// behind by its lag once it counts, too. One that was ahead stays ahead until the average has come to it (`DELAY_DEQUEUE`).
    fn wake_lag(&mut self, id: u32, cpu: usize) {
        let (average_ns, weights) = self.average(cpu, None);
        let (class, task) = (&self.scheduler, &mut self.work.tasks[id as usize]);
        let weight = class.shares.weight(task.app, task.policy.weight);
        let behind = u128::from(class.tasks[id as usize].lag_ns) * u128::from(weights + weight);
        // Alone it is the average.
        let lag_ns = behind.checked_div(u128::from(weights)).unwrap_or(0) as u64;
        task.policy.vtime_ns = match lag_ns {
            0 => task.policy.vtime_ns.max(average_ns),
            _ => average_ns.saturating_sub(lag_ns),
        };
    }

    /// Preemption at wakeup (`wakeup_preempt_fair`, RUN_TO_PARITY): a running task that is ahead of the average gives way to the first that waits, one that is
    /// not ends its slice.
    fn is_preempted(&mut self, cpu: usize) -> bool {
        let first = self.scheduler.cpus[cpu].waiting.first();
        let (Some(id), Some((first_ns, _))) = (self.cores.cpus[cpu].task, first) else {
            return false;
        };
        self.settle(cpu);
        self.pay(cpu);
        let vtime_ns = self.work.tasks[id as usize].policy.vtime_ns;
        first_ns < vtime_ns && vtime_ns > self.average(cpu, None).0
    }

    /// Carries a task's lag from the virtual time of its last CPU over to that of `cpu`, and bounds it (`update_entity_lag`: two slices).
    fn renew(&mut self, id: u32, cpu: usize) {
        let last = self.scheduler.tasks[id as usize].cpu.map_or(cpu, |last| last as usize);
        self.update_clock(last, None);
        self.update_clock(cpu, None);
        let (class, task) = (&self.scheduler, &mut self.work.tasks[id as usize]);
        let (here_ns, there_ns) = (class.cpus[cpu].clock_ns, class.cpus[last].clock_ns);
        let most_ns = class.most_lag_ns(task.app, task.policy.weight);
        let carried_ns = (here_ns + task.policy.vtime_ns).saturating_sub(there_ns);
        task.policy.vtime_ns = carried_ns.clamp(here_ns.saturating_sub(most_ns), here_ns + most_ns);
    }

    /// A runnable task goes to a CPU, whose virtual time it has: it starts if that is idle, and waits there if not.
    fn put(&mut self, id: u32, cpu: usize) {
        self.scheduler.attach(id, cpu, self.time.now_ns);
        if self.scheduler.cpus[cpu].idle {
            self.start_on_idle(cpu, id, self.scheduler.slice_ns);
        } else {
            self.wait_at(id, cpu);
            self.one_more_waits();
        }
        self.speed_follows(cpu);
    }

    fn wait_at(&mut self, id: u32, cpu: usize) {
        debug_assert!(!self.scheduler.cpus[cpu].idle, "a task would wait on an idle CPU");
        let task = &self.work.tasks[id as usize];
        let allowed = self.allowed[task.program as usize].as_ref();
        (self.scheduler.cpus[cpu].waiting).insert(id, task.policy.vtime_ns, allowed);
    }

    /// A waiting task was taken by another CPU.
    fn carry_over(&mut self, id: u32, to: usize) {
        let from = self.unqueue(id);
        self.renew(id, to);
        if let Some(from) = from {
            self.scheduler.attach(id, to, self.time.now_ns);
            self.speed_follows(from as usize);
        }
        self.speed_follows(to);
    }

    /// `schedutil` by the class's utilisation: a clock domain runs at 1.25 f_max u / capacity, of the CPU that needs most.
    fn speed_follows(&mut self, cpu: usize) {
        if !self.speeds.follows_class(cpu, self.time.now_ns) {
            return;
        }
        let of_domain = &self.speeds.clocks.of_cpu(cpu).cpus;
        let wanted_khz = of_domain.iter().map(|&cpu| {
            let about = &self.cores.cpus[cpu];
            let top_khz = self.machine.kinds[about.kind].opps[about.top_opp].khz as f64;
            let share = self.scheduler.utilisation(cpu, self.time.now_ns) / self.scheduler.cpus[cpu].capacity as f64;
            (MARGIN * share).min(1.0) * top_khz
        });
        let wanted_khz = wanted_khz.fold(0.0, f64::max).ceil() as u64;
        self.speeds.want_khz(cpu, wanted_khz, &mut self.time);
    }

    /// Utilisation decays on idle CPUs, and their speeds follow while any other CPU ticks or falls idle (`update_nohz_stats`). Otherwise the clock of a CPU that
    /// its task left would hold up the voltage that others share.
    fn idle_speeds_follow(&mut self) {
        if self.time.now_ns < self.scheduler.idle_speeds_ns {
            return;
        }
        self.scheduler.idle_speeds_ns = self.time.now_ns + IDLE_SPEEDS_NS;
        for domain in 0..self.speeds.clocks.domains.len() {
            self.speed_follows(self.speeds.clocks.domains[domain].cpus[0]);
        }
    }
}

impl Scheduler for FairClass {
    const RENEWS_SLICES: bool = true;

    fn created(world: &mut World<'_, Self>, id: u32) {
        let tasks = &mut world.scheduler.tasks;
        tasks.resize(tasks.len().max(id as usize + 1), Load::default());
        tasks[id as usize] = Load::default();
    }
    fn wake(world: &mut World<'_, Self>, id: u32) -> u32 {
        let task = &world.work.tasks[id as usize];
        world.scheduler.shares.enter(task.app, task.policy.weight);
        let cpu = world.choose(id);
        world.renew(id, cpu);
        world.wake_lag(id, cpu);
        world.put(id, cpu);
        let is_first = (world.scheduler.cpus[cpu].waiting.first()).is_some_and(|(_, first)| first == id);
        if is_first && world.is_preempted(cpu) {
            world.time.after(0, Kind::Scheduler(OwnEvent::Preempt), cpu as u32);
        }
        cpu as u32
    }
    fn enqueue(world: &mut World<'_, Self>, id: u32, cpu: u32) {
        world.unqueue(id);
        let cpu = world.scheduler.moving_to.take().unwrap_or(cpu as usize);
        world.renew(id, cpu);
        world.put(id, cpu);
    }
    fn own_event(world: &mut World<'_, Self>, _event: OwnEvent, cpu: u32) {
        if world.is_preempted(cpu as usize) {
            world.leave(cpu as usize, Leaving::Preempted);
        }
    }
    fn dispatch(world: &mut World<'_, Self>, cpu: usize) -> Option<u32> {
        let own = world.scheduler.cpus[cpu].waiting.take(cpu, u64::MAX);
        own.or_else(|| world.pull(cpu))
    }
    fn anything_waits(&self, cpu: usize) -> bool {
        !self.cpus[cpu].waiting.is_empty()
    }
    fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    fn ran(world: &mut World<'_, Self>, id: u32, cpu: usize, passed_ns: u64) {
        let (state, now_ns) = (&world.cores.cpus[cpu], world.time.now_ns);
        let opps = &world.machine.kinds[state.kind].opps;
        let about = &mut world.scheduler.cpus[cpu];
        let speed = about.capacity as f64 / FULL * opps[state.opp].khz as f64 / opps[state.top_opp].khz as f64;
        let counts_ns = (passed_ns as f64 * speed).round() as u64;
        about.behind_ns += passed_ns - counts_ns.min(passed_ns);
        let clock_ns = now_ns - about.behind_ns;
        about.utilisation.ran(counts_ns, clock_ns);
        let load = &mut world.scheduler.tasks[id as usize];
        load.utilisation.ran(counts_ns, clock_ns);
        load.ran_ns = Some(now_ns);
    }
    fn charge(world: &mut World<'_, Self>, id: u32, _cpu: usize, ran_ns: u64) {
        let task = &mut world.work.tasks[id as usize];
        task.policy.vtime_ns += world.scheduler.shares.cost_ns(task.app, task.policy.weight, ran_ns);
    }
    fn block(world: &mut World<'_, Self>, id: u32) {
        let now_ns = world.time.now_ns;
        let cpu = world.unqueue(id);
        let (class, task) = (&mut world.scheduler, &world.work.tasks[id as usize]);
        if let Some(cpu) = cpu {
            let behind_ns = class.cpus[cpu as usize].clock_ns.saturating_sub(task.policy.vtime_ns);
            class.tasks[id as usize].lag_ns = behind_ns.min(class.most_lag_ns(task.app, task.policy.weight));
        }
        class.shares.leave(task.app, task.policy.weight);
        if task.state == State::Exited {
            world.scheduler.detach(id, now_ns);
        } else {
            let asleep_with = world.scheduler.of_task(id, now_ns);
            let load = &mut world.scheduler.tasks[id as usize];
            load.estimate = estimate_after(load.estimate, asleep_with);
        }
        if let Some(cpu) = cpu {
            world.speed_follows(cpu as usize);
        }
    }

    fn cpu_busy(world: &mut World<'_, Self>, cpu: usize) {
        world.scheduler.cpus[cpu].idle = false;
        let next_tick_ns = (world.time.now_ns / TICK_NS + 1) * TICK_NS;
        world.time.set(next_tick_ns, Alarm::Tick, cpu);
    }
    fn cpu_idle(world: &mut World<'_, Self>, cpu: usize, _beside_busy: bool) {
        let about = &mut world.scheduler.cpus[cpu];
        about.idle = true;
        if about.utilisation.last() < NEVER_IDLE {
            about.behind_ns = 0;
        }
        world.time.cancel(Alarm::Tick, cpu);
        world.idle_speeds_follow();
    }
    fn tick(world: &mut World<'_, Self>, cpu: usize) {
        world.speed_follows(cpu);
        world.idle_speeds_follow();
        world.lift_misfit(cpu);
        world.lift_by_rank(cpu);
        // One that its task left has looked for another, and is idle if there was none.
        if !world.scheduler.cpus[cpu].idle {
            world.balance(cpu);
        }
    }

    fn is_low(&self, _cpus: &[usize]) -> bool {
        false
    }
}
