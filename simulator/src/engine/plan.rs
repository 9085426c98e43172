// SPDX-License-Identifier: MIT OR Apache-2.0
//! Once a second the policy reads counters, as hardware would show them, and plans which thread runs in which memory domain or on which kind of
//! core. A running task that is to move loses its CPU and is queued anew, as in a kernel.

use super::configure::kind_permille;
use super::policy::Policy;
use super::task::{State, Task};
use super::time::{Kind, OwnEvent};
use super::world::World;
use lop_machine::Machine;
use lop_policy::{
    is_planned, speedup_of_mpmi, Config, Domain, Domains, MemoryClass, Planner, PolicyHandle, Specialist, Thread,
    MAX_PLANNED, NONE,
};

/// How often the policy plans.
pub(super) const PERIOD_NS: u64 = 1_000_000_000;

pub(super) struct Planning {
    config: Config,
    planner: Planner,
    domains: Vec<Domain>,
}

/// By memory domain. SMT siblings count as one core. Speed is the mean of that of the domain's cores, as in plan.h.
fn domains(machine: &Machine) -> Vec<Domain> {
    let mut cores = vec![std::collections::BTreeMap::new(); machine.nr_memory_domains];
    let mut node = vec![0; machine.nr_memory_domains];
    for cpu in &machine.cpus {
        cores[usize::from(cpu.memory_domain)].insert(cpu.core, u32::from(kind_permille(machine, cpu.kind)));
        node[usize::from(cpu.memory_domain)] = u32::from(cpu.node);
    }
    let of_domain = cores.iter().zip(node);
    of_domain
        .map(|(cores, node)| Domain {
            permille: cores.values().sum::<u32>() / cores.len().max(1) as u32,
            ..Domain::new(cores.len() as u32, node)
        })
        .collect()
}

impl Planning {
    /// `None`: this configuration needs no plans.
    pub fn new(config: &Config, machine: &Machine) -> Option<Self> {
        config.plans().then(|| Self {
            config: *config,
            planner: Planner::default(),
            domains: domains(machine),
        })
    }
}

impl World<'_, Policy> {
    pub(super) fn plan(&mut self) {
        self.time.after(PERIOD_NS, Kind::Scheduler(OwnEvent::Plan), 0);
        (0..self.cores.cpus.len()).for_each(|cpu| self.settle(cpu));
        let ids = self.read_counters();
        let handle = self.scheduler.handle;
        let Some(mut planning) = self.scheduler.planning.take() else {
            return;
        };
        if planning.config.domains != Domains::AsCome {
            self.plan_domains(&mut planning, &ids, handle);
        }
        if planning.config.specialise {
            self.plan_kinds(&mut planning, &ids, handle);
        }
        self.scheduler.planning = Some(planning);
    }

    /// Updates intensities. Returns the tasks that were runnable in the last period, and for how long. If they are too many to plan, those that were
    /// runnable longest.
    fn read_counters(&mut self) -> Vec<(u32, u64)> {
        let now_ns = self.time.now_ns;
        let mut active = Vec::new();
        for (id, task) in self.work.tasks.iter_mut().enumerate() {
            if task.state == State::Exited {
                continue;
            }
            let counters = &mut task.counters;
            let passed_ns = PERIOD_NS.min(now_ns - task.created_at_ns);
            let (misses, instructions) = (counters.misses as u64, counters.instructions as u64);
            counters.intensity.note(misses, instructions, passed_ns);
            (counters.misses, counters.instructions) = (0.0, 0.0);
            let active_ns = counters.read_active_ns(now_ns);
            if active_ns > 0 {
                active.push((id as u32, active_ns));
            }
        }
        if active.len() > MAX_PLANNED {
            active.sort_by_key(|&(id, active_ns)| (std::cmp::Reverse(active_ns), id));
            active.truncate(MAX_PLANNED);
            active.sort_unstable();
        }
        active
    }

    fn domain_of(&self, cpu: u32) -> i32 {
        i32::from(self.machine.cpus[cpu as usize].memory_domain)
    }

    /// Whether plans leave the task where it is: its affinity is restricted, or it is system work and a core is reserved for that.
    fn stays(&self, task: &Task) -> bool {
        let reserved = self.scheduler.handle.reserved().0.is_some();
        task.policy.restricted || (task.policy.system && reserved) || task.policy.pace.home != 0
    }

    fn thread(&self, (id, active_ns): (u32, u64)) -> Thread {
        let task = &self.work.tasks[id as usize];
        let intensity = &task.counters.intensity;
        let domain = match task.has_run {
            true => self.domain_of(task.on_cpu.unwrap_or(task.last_cpu)),
            false => NONE,
        };
        let shares = self.workload.apps[usize::from(task.app)].shares_memory;
        Thread {
            together: if shares { u32::from(task.app) + 1 } else { 0 },
            moved_ns: task.counters.moved_ns,
            demand_permille: (active_ns * 1000).div_ceil(PERIOD_NS).min(1000) as u32,
            memory: intensity.class() as u8,
            fixed: self.stays(task),
            ..Thread::new(intensity.planned_mpmi(), domain)
        }
    }

    fn plan_domains(&mut self, planning: &mut Planning, active: &[(u32, u64)], handle: PolicyHandle) {
        let now_ns = self.time.now_ns;
        let class_of = |id: u32| self.work.tasks[id as usize].counters.intensity.class();
        let (ids, mut threads): (Vec<u32>, Vec<Thread>) = active
            .iter()
            .filter(|(id, _)| is_planned(&planning.config, class_of(*id)))
            .map(|&of| (of.0, self.thread(of)))
            .unzip();
        let gathers = planning.config.gathers();
        if gathers {
            planning
                .planner
                .gather(&mut threads, &planning.domains, planning.config.power, now_ns);
        } else {
            planning.planner.spread(&mut threads, &planning.domains, now_ns);
        }
        let wanted = |domain: usize| threads.iter().any(|thread| thread.wanted_domain == domain as i32);
        if gathers {
            // Switched on before tasks move there.
            let on = (0..planning.domains.len()).filter(|&domain| wanted(domain));
            on.for_each(|domain| handle.set_domain_on(self, domain as i32, true, now_ns));
        }
        let mut moved = Vec::new();
        for (&id, thread) in ids.iter().zip(&threads) {
            let task = &mut self.work.tasks[id as usize];
            task.counters.moved_ns = thread.moved_ns;
            let cpu = task.on_cpu.unwrap_or(task.last_cpu);
            if handle.set_domain(&mut task.policy, thread.wanted_domain, cpu) {
                moved.extend(task.on_cpu);
            }
        }
        self.queue_anew(&moved);
        if gathers && !threads.is_empty() {
            let off = (0..planning.domains.len()).filter(|&domain| !wanted(domain));
            off.for_each(|domain| handle.set_domain_on(self, domain as i32, false, now_ns));
        }
    }

    /// SF between the fastest kind of core and the slowest, as in plan.h. Of work whose misses nobody knows it is what the model says: the rate on the one
    /// over that on the other, each at its highest operating point.
    fn speedup_of_kinds(&self, task: &Task) -> u32 {
        let intensity = &task.counters.intensity;
        if intensity.class() != MemoryClass::Unknown {
            let slowest = kind_permille(self.machine, self.machine.kinds.len() as u16 - 1);
            return speedup_of_mpmi(intensity.planned_mpmi(), 1_000_000 / u32::from(slowest));
        }
        let rate = |kind: usize| {
            self.rates
                .rate(task.class, kind, self.machine.kinds[kind].opps.len() - 1, 1)
        };
        (1000.0 * rate(0) / rate(self.machine.kinds.len() - 1)).round() as u32
    }

    fn plan_kinds(&mut self, planning: &mut Planning, active: &[(u32, u64)], handle: PolicyHandle) {
        let specialist = |&(id, _): &(u32, u64)| {
            let task = &self.work.tasks[id as usize];
            Specialist {
                moved_ns: task.counters.moved_ns,
                speedup_permille: self.speedup_of_kinds(task),
                cpu: task.on_cpu.map_or(NONE, |cpu| cpu as i32),
                wanted_cpu: NONE,
                tier: task.on_cpu.map_or(0, |cpu| self.machine.cpus[cpu as usize].kind),
                fixed: self.stays(task) || task.on_cpu.is_some_and(|cpu| handle.has_core_by_length(cpu)),
                class: task.on_cpu.map_or(0, |cpu| handle.class_on(cpu) as u8),
            }
        };
        let mut threads: Vec<Specialist> = active.iter().map(specialist).collect();
        planning.planner.specialise(&mut threads, self.time.now_ns);
        let mut moved = Vec::new();
        for (&(id, _), thread) in active.iter().zip(&threads) {
            let task = &mut self.work.tasks[id as usize];
            task.counters.moved_ns = thread.moved_ns;
            if thread.wanted_cpu != NONE {
                handle.go_to(&mut task.policy, thread.wanted_cpu as u32);
                moved.extend(task.on_cpu);
            }
        }
        self.queue_anew(&moved);
    }
}
