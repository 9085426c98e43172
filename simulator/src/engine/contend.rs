// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that contend for a memory domain: when one starts, leaves or changes, the rates of all change.

use super::rates::{work_per_ns, Rates};
use super::scheduler::Scheduler;
use super::world::World;
use crate::contention::{Cost, Demand, Solver};
use crate::workload::Workload;
use lop_machine::{Kind, Machine, Memory};

/// The contending tasks of each memory domain. Empty if the machine has no figures for its memory, or the workload none for how it
/// uses memory.
#[derive(Debug, Default)]
pub(super) struct Contention {
    memory: Option<Memory>,
    /// By memory domain: CPUs that run a contending task, in ascending order.
    members: Vec<Vec<usize>>,
    /// By CPU.
    contenders: Vec<Option<Contender>>,
    /// Buffers that are reused.
    demands: Vec<Demand>,
    solver: Solver,
}

/// What determines the demand of a running task on a given CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Running {
    class: u16,
    opp: usize,
    busy_on_core: usize,
}

#[derive(Debug, Clone, Copy)]
struct Contender {
    running: Running,
    demand: Demand,
    pace: Pace,
}

/// The rate of a task beside the others in its domain, and what it loses to them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Work per ns.
    pub rate: f64,
    /// Time waiting for misses, over the time that the work takes alone at the rated frequency.
    pub memory_share: f64,
    /// Rate over the rate at the highest OPP beside the same others.
    pub relative: f64,
    /// Share of its time that it loses to the others.
    pub lost_share: f64,
    /// What hardware counters would show. `misses`: per instruction.
    pub instructions_per_ns: f64,
    pub misses: f64,
}

impl Contention {
    pub fn new(machine: &Machine, workload: &Workload) -> Self {
        if machine.memory.is_none() || workload.memory_uses.is_empty() {
            return Self::default();
        }
        Self {
            memory: machine.memory,
            members: vec![Vec::new(); machine.nr_memory_domains],
            contenders: vec![None; machine.cpus.len()],
            ..Self::default()
        }
    }

    /// Whether any work of this workload contends on this machine. Cheap, so ask before anything else here.
    pub fn possible(&self) -> bool {
        self.memory.is_some()
    }

    /// `None`: the task on this CPU does not contend.
    pub fn pace(&self, cpu: usize) -> Option<&Pace> {
        let contender = self.contenders.get(cpu)?.as_ref()?;
        Some(&contender.pace)
    }

    /// Sets the contender on `cpu`.
    fn set(&mut self, domain: usize, cpu: usize, contender: Option<Contender>) {
        let members = &mut self.members[domain];
        match (members.binary_search(&cpu), &contender) {
            (Err(at), Some(_)) => members.insert(at, cpu),
            (Ok(at), None) => drop(members.remove(at)),
            _ => {}
        }
        self.contenders[cpu] = contender;
    }

    /// Computes the pace of every contender of a domain.
    fn solve(&mut self, domain: usize, machine: &Machine, rates: &Rates) {
        let Some(memory) = &self.memory else { return };
        let contenders = &mut self.contenders;
        self.demands.clear();
        for &cpu in &self.members[domain] {
            self.demands.extend(contenders[cpu].map(|contender| contender.demand));
        }
        self.solver.solve(memory, &self.demands);
        let costs = self.solver.costs.iter().zip(&self.solver.misses);
        for (&cpu, (&cost, &misses)) in self.members[domain].iter().zip(costs) {
            let kind = usize::from(machine.cpus[cpu].kind);
            if let Some(contender) = &mut contenders[cpu] {
                let pace = pace(contender.running, cost, (kind, &machine.kinds[kind]), rates);
                contender.pace = Pace { misses, ..pace };
            }
        }
    }
}

/// At the highest OPP, beside the same others, computing takes less time and waiting the same.
fn pace(running: Running, cost: Cost, (number, kind): (usize, &Kind), rates: &Rates) -> Pace {
    let Some(alone) = rates.alone(running.class, number) else {
        return Pace::default();
    };
    let opp_khz = |opp: usize| kind.opps[opp].khz as f64;
    let at_top_ns = cost.wait_ns + cost.compute_ns * opp_khz(running.opp) / opp_khz(kind.opps.len() - 1);
    let core_share = rates.core_share(number, running.busy_on_core);
    let rate = work_per_ns(kind, core_share, alone.instruction_ns, cost);
    let rate_alone = rates.rate(running.class, number, running.opp, running.busy_on_core);
    Pace {
        rate,
        memory_share: cost.wait_ns / alone.instruction_ns,
        relative: at_top_ns / cost.total_ns(),
        lost_share: (1.0 - rate / rate_alone).max(0.0),
        instructions_per_ns: core_share / cost.total_ns(),
        misses: 0.0,
    }
}

impl<S: Scheduler> World<'_, S> {
    /// The task or the speed of `cpu` may have changed. If so, settles the others that contend in its memory domain at their old rates, and goes on
    /// at new ones.
    pub(super) fn contend(&mut self, cpu: usize) {
        let running = self.contending_on(cpu);
        let before = self.contention.contenders[cpu]
            .as_ref()
            .map(|contender| contender.running);
        if running == before {
            return;
        }
        let domain = usize::from(self.machine.cpus[cpu].memory_domain);
        for at in 0..self.contention.members[domain].len() {
            self.settle(self.contention.members[domain][at]);
        }
        let contender = running.map(|running| self.contender(cpu, running));
        self.contention.set(domain, cpu, contender);
        self.contention.solve(domain, self.machine, &self.rates);
        for at in 0..self.contention.members[domain].len() {
            let other = self.contention.members[domain][at];
            if other != cpu {
                self.plan_step(other);
            }
        }
    }

    /// A task contends while it works. One that spins reads only its own cache.
    fn contending_on(&self, cpu: usize) -> Option<Running> {
        let state = &self.cores.cpus[cpu];
        let task = &self.work.tasks[state.task? as usize];
        self.rates.alone(task.class, state.kind)?;
        (!task.spinning).then(|| Running {
            class: task.class,
            opp: state.opp,
            busy_on_core: self.cores.using_core(cpu, &self.work.tasks),
        })
    }

    fn contender(&self, cpu: usize, running: Running) -> Contender {
        let state = &self.cores.cpus[cpu];
        let khz = self.machine.kinds[state.kind].equal_khz(running.opp);
        let core_share = self.rates.core_share(state.kind, running.busy_on_core);
        Contender {
            running,
            demand: Demand::new(&self.workload.memory_uses[&running.class], khz, core_share),
            pace: Pace::default(),
        }
    }
}
