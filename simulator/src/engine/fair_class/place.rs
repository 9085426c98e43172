// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the fair class places a task.

use super::{has_smt, FairClass};
use crate::engine::world::World;
use crate::workload::Step;
use std::cmp::Reverse;

/// Most steps that are looked at to see whether a waker waits next.
const STEPS_AHEAD: usize = 4;

impl World<'_, FairClass> {
    pub(super) fn choose(&mut self, id: u32) -> usize {
        let task = &self.work.tasks[id as usize];
        let last = task.last_cpu as usize;
        if !task.has_run {
            return self.idlest(id, self.waker.unwrap_or(last));
        }
        if self.saves_energy() {
            return self.efficient(id, last);
        }
        self.idle_sibling(id, last, self.affine(id, last))
    }

    pub(super) fn may_run(&self, id: u32, cpu: usize) -> bool {
        let program = self.work.tasks[id as usize].program;
        self.allowed[program as usize].as_ref().is_none_or(|cpus| cpus.has(cpu))
    }
    pub(super) fn takes(&self, id: u32, cpu: usize) -> bool {
        self.scheduler.cpus[cpu].idle && self.may_run(id, cpu)
    }
    pub(super) fn whole_core_idle(&self, cpu: usize) -> bool {
        self.cores.of(cpu).cpus.iter().all(|&cpu| self.scheduler.cpus[cpu].idle)
    }
    fn domain(&self, cpu: usize) -> usize {
        usize::from(self.machine.cpus[cpu].memory_domain)
    }
    pub(super) fn needs(&self, id: u32) -> f64 {
        self.scheduler.expected(id, self.time.now_ns)
    }

    /// Near which CPU a woken task goes (`wake_affine_idle`): the waker's if that runs alone and its wakeup is synchronous, else the task's last one. A
    /// waker's CPU is never idle here, as the clock wakes without one.
    fn affine(&self, id: u32, last: usize) -> usize {
        let waker = self.waker.filter(|&cpu| self.may_run(id, cpu));
        let sync = |&cpu: &usize| self.nr_runnable(cpu) <= 1 && self.signals_and_waits(cpu);
        waker.filter(sync).unwrap_or(last)
    }

    /// Whether the task that runs on a CPU signals and waits right after (it may find that it need not): the writer of a pipe or socket, whose wakeups are
    /// synchronous. Those by futex, of locks and barriers, never are, nor are those of a task that exits (`PF_EXITING`), which has left its CPU here.
    fn signals_and_waits(&self, cpu: usize) -> bool {
        let Some(id) = self.cores.cpus[cpu].task else {
            return false;
        };
        let task = &self.work.tasks[id as usize];
        let steps = &self.workload.programs[task.program as usize].steps;
        let mut pc = task.pc as usize;
        let signals = |step: &Step| matches!(step, Step::Signal(_) | Step::Broadcast(_));
        if !pc.checked_sub(1).and_then(|at| steps.get(at)).is_some_and(signals) {
            return false;
        }
        for _ in 0..STEPS_AHEAD {
            match steps.get(pc) {
                None | Some(Step::Wait { .. } | Step::Sleep(_) | Step::Timer { .. } | Step::Join(_)) => return true,
                Some(Step::EndRepeat { start }) if task.repeats.last() != Some(&Some(0)) => pc = *start as usize + 1,
                Some(Step::EndRepeat { .. } | Step::Unlock(_) | Step::Signal(_) | Step::Broadcast(_)) => pc += 1,
                Some(_) => return false,
            }
        }
        false
    }

    /// An idle CPU that shares a cache with `target`, or else `target` (`select_idle_sibling`).
    fn idle_sibling(&mut self, id: u32, last: usize, target: usize) -> usize {
        let needs = self.needs(id);
        let near = |cpu: usize| self.domain(cpu) == self.domain(target);
        let takes = |&cpu: &usize| near(cpu) && self.takes(id, cpu) && self.scheduler.fits(needs, cpu);
        if let Some(cpu) = [target, last].into_iter().find(takes) {
            return cpu;
        }
        let recent = self.scheduler.tasks[id as usize].recent_cpu as usize;
        let found = Some(recent).filter(takes);
        let found = found.or_else(|| match self.scheduler.asymmetric {
            true => self.idle_by_capacity(id, target, 0),
            false => self.idle_in_domain(id, last, target),
        });
        self.scheduler.tasks[id as usize].recent_cpu = last as u32;
        found.unwrap_or(target)
    }

    /// A whole idle core, the idle sibling of the last CPU, or an idle CPU among the first few from `target` on: the more the domain is used, the fewer
    /// are looked at, and none, nor any core, from a use of 85 % on (`select_idle_cpu`, SIS_UTIL).
    fn idle_in_domain(&self, id: u32, last: usize, target: usize) -> Option<usize> {
        let domain = self.domain(target);
        let (cpus, most) = (&self.scheduler.domains[domain], self.scheduler.searched[domain]);
        let (before, behind) = cpus.split_at(cpus.partition_point(|&cpu| cpu <= target));
        let allowed = || (behind.iter().chain(before).copied()).filter(|&cpu| self.may_run(id, cpu));
        let idle = |&cpu: &usize| self.scheduler.cpus[cpu].idle;
        if has_smt(self.machine) && cpus.iter().any(|&cpu| self.whole_core_idle(cpu)) {
            let whole = allowed().find(|&cpu| self.whole_core_idle(cpu));
            return whole.or_else(|| allowed().find(idle)).filter(|_| most > 0);
        }
        let core = |cpu: usize| self.machine.cpus[cpu].core;
        let sibling = allowed().find(|cpu| idle(cpu) && core(*cpu) == core(last));
        sibling.or_else(|| allowed().take(most).find(idle))
    }

    /// An idle CPU of more than this capacity: one that the task fits, else the largest (`select_idle_capacity`). Whole cores first.
    pub(super) fn idle_by_capacity(&self, id: u32, target: usize, above: u64) -> Option<usize> {
        let needs = self.needs(id);
        let class = &self.scheduler;
        let idle = (0..class.cpus.len()).filter(|&cpu| class.cpus[cpu].capacity > above && self.takes(id, cpu));
        idle.min_by_key(|&cpu| {
            let short = !class.fits(needs, cpu);
            let largest = if short { class.cpus[cpu].capacity } else { 0 };
            let at = distance(target, cpu, class.cpus.len());
            (short, Reverse(largest), !self.whole_core_idle(cpu), at)
        })
    }

    /// The CPU for a new task: in the cache domain with most idle CPUs, that of `near` if several have as many (`find_idlest_group`); where none is
    /// idle, in the one with the fewest runnable tasks.
    fn idlest(&self, id: u32, near: usize) -> usize {
        let nr_domains = self.machine.nr_memory_domains;
        let count = |domain: usize, of: &dyn Fn(usize) -> usize| -> usize {
            let cpus = self.scheduler.domains[domain].iter();
            cpus.filter(|&&cpu| self.may_run(id, cpu)).map(|&cpu| of(cpu)).sum()
        };
        let rank = |domain: usize| {
            let idle = count(domain, &|cpu| usize::from(self.scheduler.cpus[cpu].idle));
            let allowed = count(domain, &|_| 1);
            let runnable = count(domain, &|cpu| self.nr_runnable(cpu));
            (
                allowed == 0,
                Reverse(idle),
                runnable * self.scheduler.cpus.len() / allowed.max(1),
                domain != self.domain(near),
            )
        };
        let domain = (0..nr_domains).min_by_key(|&domain| rank(domain)).unwrap_or(0);
        let cpus = self.scheduler.domains[domain]
            .iter()
            .copied()
            .filter(|&cpu| self.may_run(id, cpu));
        let now_ns = self.time.now_ns;
        let idlest = cpus.min_by_key(|&cpu| {
            let idle = self.scheduler.cpus[cpu].idle;
            let used = self.scheduler.utilisation(cpu, now_ns) as u64;
            let at = distance(near, cpu, self.scheduler.cpus.len());
            (!idle, self.nr_runnable(cpu), !self.whole_core_idle(cpu), used, at)
        });
        idlest.unwrap_or(near)
    }
}

/// How far a search that begins at `from` and wraps around has to go.
pub(super) fn distance(from: usize, cpu: usize, nr_cpus: usize) -> usize {
    (cpu + nr_cpus - from) % nr_cpus
}
