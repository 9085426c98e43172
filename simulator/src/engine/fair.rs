// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's scheduler as a baseline: fair queueing, and by default a woken task goes to the CPU that has been idle longest.

use super::scheduler::{group_weights, Scheduler};
use super::world::World;
use crate::homes::Homes;
use crate::random::Stream;
use crate::waiting::WaitingTasks;
use crate::workload::Workload;
use crate::RunOptions;
use lop_machine::{Machine, Placement};
use lop_policy::{CpuBits, WEIGHT_DEFAULT};
use std::collections::BTreeSet;

/// The scheduler's tick, 250 Hz.
pub(super) const TICK_NS: u64 = 4_000_000;
/// `sched_base_slice` of one CPU.
const BASE_SLICE_NS: u64 = 700_000;

/// Linux's base slice, 0.7 ms * (1 + log2(min(CPUs, 8))), rounded up to a tick.
pub(super) fn base_slice_ns(nr_cpus: usize) -> u64 {
    (BASE_SLICE_NS * u64::from(1 + nr_cpus.clamp(1, 8).ilog2())).next_multiple_of(TICK_NS)
}

/// Active tasks of an application whose cgroup has a weight of its own share that weight.
#[derive(Debug, Clone)]
struct GroupShare {
    weight: u32,
    active_weight: u64,
}

impl GroupShare {
    /// group weight * task weight / sum of the weights of the group's active tasks, at least 1
    fn of(&self, weight: u32) -> u64 {
        let all = self.active_weight.max(u64::from(weight)).max(1);
        (u64::from(self.weight) * u64::from(weight) / all).max(1)
    }
}

/// By application: the weight of its cgroup. `None`: its tasks count by their own weights.
#[derive(Debug)]
pub(super) struct Shares(Vec<Option<GroupShare>>);

impl Shares {
    pub fn new(workload: &Workload) -> Self {
        let share = |weight| GroupShare {
            weight,
            active_weight: 0,
        };
        Self(group_weights(workload).map(|weight| weight.map(share)).collect())
    }
    /// A task of an application became active.
    pub fn enter(&mut self, app: u16, weight: u32) {
        if let Some(group) = &mut self.0[usize::from(app)] {
            group.active_weight += u64::from(weight);
        }
    }
    pub fn leave(&mut self, app: u16, weight: u32) {
        if let Some(group) = &mut self.0[usize::from(app)] {
            group.active_weight = group.active_weight.saturating_sub(u64::from(weight));
        }
    }
    /// The weight by which a task of this application and weight has its share.
    pub fn weight(&self, app: u16, weight: u32) -> u64 {
        let of_group = self.0[usize::from(app)].as_ref().map(|group| group.of(weight));
        of_group.unwrap_or(u64::from(weight.max(1)))
    }
    /// Virtual time that running for `ran_ns` costs a task of this application and weight.
    pub fn cost_ns(&self, app: u16, weight: u32, ran_ns: u64) -> u64 {
        ran_ns.saturating_mul(u64::from(WEIGHT_DEFAULT)) / self.weight(app, weight)
    }
    /// Bounded lag: a task that slept is at most one slice behind the clock. One that ran while no other waited is at most a slice and its own
    /// cost of a slice ahead.
    pub fn bound_lag(&self, (clock_ns, slice_ns): (u64, u64), (app, weight): (u16, u32), vtime_ns: u64) -> u64 {
        let most_ns = slice_ns + self.cost_ns(app, weight, slice_ns);
        vtime_ns.clamp(clock_ns.saturating_sub(slice_ns), clock_ns.saturating_add(most_ns))
    }
}

/// Start-time fair queueing with one queue for all CPUs.
#[derive(Debug)]
pub(crate) struct Fair {
    waiting: WaitingTasks,
    placement: Placement,
    random: Stream,
    /// Idle CPUs whose SMT siblings are idle too, longest idle first; then those beside a busy sibling.
    idle_cores: BTreeSet<(u64, u32)>,
    idle_threads: BTreeSet<(u64, u32)>,
    idle_since_ns: Vec<Option<u64>>,
    clock_ns: u64,
    slice_ns: u64,
    homes: Option<Homes>,
    shares: Shares,
}

impl Fair {
    /// `homes`: the core to which each task is bound for life, if it is.
    pub fn new(machine: &Machine, workload: &Workload, options: &RunOptions, homes: Option<Homes>) -> Self {
        let nr_cpus = machine.cpus.len();
        Self {
            waiting: WaitingTasks::default(),
            placement: options.placement_on(machine),
            random: Stream::new(options.seed ^ 0x70_6c61_6365),
            idle_cores: (0..nr_cpus as u32).map(|cpu| (0, cpu)).collect(),
            idle_threads: BTreeSet::new(),
            idle_since_ns: vec![Some(0); nr_cpus],
            clock_ns: 0,
            slice_ns: base_slice_ns(nr_cpus),
            homes,
            shares: Shares::new(workload),
        }
    }

    /// CPUs that a task may run on: its home, where tasks have one, else those `allowed`. `None`: all.
    fn cpus_of(&mut self, task: u32, allowed: Option<&CpuBits>) -> Option<CpuBits> {
        match &mut self.homes {
            Some(homes) => Some(homes.of(task, allowed)),
            None => allowed.copied(),
        }
    }

    /// The idle CPU for a woken task: one on an idle core, else the idle sibling of a busy CPU.
    fn pick_idle(&mut self, allowed: Option<&CpuBits>) -> Option<u32> {
        self.pick_from(true, allowed).or_else(|| self.pick_from(false, allowed))
    }

    fn pick_from(&mut self, whole_cores: bool, allowed: Option<&CpuBits>) -> Option<u32> {
        let idle = if whole_cores {
            &self.idle_cores
        } else {
            &self.idle_threads
        };
        let fits = |&&(_, cpu): &&(u64, u32)| allowed.is_none_or(|cpus| cpus.has(cpu as usize));
        match self.placement {
            // The fair class comes here for tasks with a home only, which have no choice.
            Placement::LongestIdle | Placement::FairClass | Placement::AsymPacking => {
                idle.iter().find(fits).map(|&(_, cpu)| cpu)
            }
            Placement::Random => {
                let candidates: Vec<u32> = idle.iter().filter(fits).map(|&(_, cpu)| cpu).collect();
                (!candidates.is_empty()).then(|| candidates[self.random.below(candidates.len() as u64) as usize])
            }
        }
    }

    fn file(&mut self, cpu: u32, since_ns: u64, beside_busy: bool) {
        let (into, from) = if beside_busy {
            (&mut self.idle_threads, &mut self.idle_cores)
        } else {
            (&mut self.idle_cores, &mut self.idle_threads)
        };
        from.remove(&(since_ns, cpu));
        into.insert((since_ns, cpu));
    }
}

impl World<'_, Fair> {
    /// Bounds the lag of a task before it is placed. Returns the CPUs that it may run on, `None` for all.
    fn renew(&mut self, id: u32) -> Option<CpuBits> {
        let task = &mut self.work.tasks[id as usize];
        let (fair, policy) = (&mut self.scheduler, &mut task.policy);
        let clock = (fair.clock_ns, fair.slice_ns);
        policy.vtime_ns = fair.shares.bound_lag(clock, (task.app, policy.weight), policy.vtime_ns);
        fair.cpus_of(id, self.allowed[task.program as usize].as_ref())
    }

    fn queue(&mut self, id: u32, allowed: Option<&CpuBits>) {
        let vtime_ns = self.work.tasks[id as usize].policy.vtime_ns;
        self.scheduler.waiting.insert(id, vtime_ns, allowed);
        self.one_more_waits();
    }
}

impl Scheduler for Fair {
    fn wake(world: &mut World<'_, Self>, id: u32) -> u32 {
        let task = &world.work.tasks[id as usize];
        let last_cpu = task.last_cpu;
        world.scheduler.shares.enter(task.app, task.policy.weight);
        let allowed = world.renew(id);
        match world.scheduler.pick_idle(allowed.as_ref()) {
            Some(cpu) => {
                world.start_on_idle(cpu as usize, id, world.scheduler.slice_ns);
                cpu
            }
            None => {
                world.queue(id, allowed.as_ref());
                last_cpu
            }
        }
    }
    fn enqueue(world: &mut World<'_, Self>, id: u32, _cpu: u32) {
        let allowed = world.renew(id);
        world.queue(id, allowed.as_ref());
    }
    fn dispatch(world: &mut World<'_, Self>, cpu: usize) -> Option<u32> {
        world.scheduler.waiting.take(cpu, u64::MAX)
    }
    fn anything_waits(&self, _cpu: usize) -> bool {
        !self.waiting.is_empty()
    }
    fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    fn running(world: &mut World<'_, Self>, id: u32, _cpu: usize) {
        let clock_ns = &mut world.scheduler.clock_ns;
        *clock_ns = (*clock_ns).max(world.work.tasks[id as usize].policy.vtime_ns);
    }
    fn charge(world: &mut World<'_, Self>, id: u32, _cpu: usize, ran_ns: u64) {
        let task = &mut world.work.tasks[id as usize];
        task.policy.vtime_ns += world.scheduler.shares.cost_ns(task.app, task.policy.weight, ran_ns);
    }
    fn block(world: &mut World<'_, Self>, id: u32) {
        let task = &world.work.tasks[id as usize];
        world.scheduler.shares.leave(task.app, task.policy.weight);
    }
    /// Its home, if it had one, is free for another task.
    fn exited(&mut self, id: u32) {
        if let Some(homes) = &mut self.homes {
            homes.leave(id);
        }
    }

    fn cpu_busy(world: &mut World<'_, Self>, cpu: usize) {
        let (fair, cpu) = (&mut world.scheduler, cpu as u32);
        if let Some(since_ns) = fair.idle_since_ns[cpu as usize].take() {
            fair.idle_cores.remove(&(since_ns, cpu));
            fair.idle_threads.remove(&(since_ns, cpu));
        }
    }
    fn cpu_idle(world: &mut World<'_, Self>, cpu: usize, beside_busy: bool) {
        world.scheduler.idle_since_ns[cpu] = Some(world.time.now_ns);
        world.scheduler.sibling_changed(cpu, beside_busy);
    }
    fn sibling_changed(&mut self, cpu: usize, beside_busy: bool) {
        if let Some(since_ns) = self.idle_since_ns[cpu] {
            self.file(cpu as u32, since_ns, beside_busy);
        }
    }

    fn is_low(&self, cpus: &[usize]) -> bool {
        (self.homes.as_ref()).is_some_and(|homes| cpus.iter().all(|&cpu| homes.is_free(cpu)))
    }
}
