// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the fair class moves tasks to CPUs that have less to do.

use super::FairClass;
use crate::engine::cpu::Leaving;
use crate::engine::fair::TICK_NS;
use crate::engine::world::World;
use std::cmp::Ordering;

/// Domains with so many CPUs are balanced every so many ms.
const NS_PER_CPU: u64 = 1_000_000;

/// Runnable tasks on CPUs of these capacities: a/b and c/d compared.
fn compare((a, b): (u64, u64), (c, d): (u64, u64)) -> Ordering {
    (a * d).cmp(&(c * b))
}

impl World<'_, FairClass> {
    /// A waiting task for a CPU that has none (`sched_balance_newidle`): of its cache domain, else of the machine, where the load is highest.
    pub(super) fn pull(&mut self, cpu: usize) -> Option<u32> {
        if self.cores.waiting == 0 || self.saves_energy() {
            return None;
        }
        let levels = [
            usize::from(self.machine.cpus[cpu].memory_domain),
            self.machine.nr_memory_domains,
        ];
        let id = levels
            .into_iter()
            .find_map(|level| self.take_from_busiest(level, cpu))?;
        self.carry_over(id, cpu);
        Some(id)
    }

    /// Load of a CPU with so many tasks more.
    fn load(&self, cpu: usize, more: usize) -> (u64, u64) {
        ((self.nr_runnable(cpu) + more) as u64, self.scheduler.cpus[cpu].capacity)
    }

    /// The CPUs of a domain on which tasks wait, the highest load first.
    fn busiest_first(&self, level: usize) -> Vec<usize> {
        let cpus = self.scheduler.domains[level].iter().copied();
        let mut busy: Vec<usize> = cpus
            .filter(|&cpu| !self.scheduler.cpus[cpu].waiting.is_empty())
            .collect();
        busy.sort_by(|&a, &b| compare(self.load(b, 0), self.load(a, 0)));
        busy
    }

    fn take_from_busiest(&mut self, level: usize, to: usize) -> Option<u32> {
        let from = self.busiest_first(level);
        from.into_iter()
            .find_map(|from| self.scheduler.cpus[from].waiting.take(to, u64::MAX))
    }

    /// At a tick: the domains of a CPU whose time has come.
    pub(super) fn balance(&mut self, cpu: usize) {
        if self.saves_energy() {
            return;
        }
        for level in [
            usize::from(self.machine.cpus[cpu].memory_domain),
            self.machine.nr_memory_domains,
        ] {
            if self.time.now_ns >= self.scheduler.balance_ns[level] {
                let period_ns = self.scheduler.domains[level].len() as u64 * NS_PER_CPU;
                self.scheduler.balance_ns[level] = self.time.now_ns + period_ns.max(TICK_NS);
                while self.cores.waiting > 0 && self.balance_once(level) {}
            }
        }
    }

    /// Moves a waiting task to the CPU with the lowest load, if that is then lower than where it waits now. Returns whether one moved.
    fn balance_once(&mut self, level: usize) -> bool {
        let least = |&a: &usize, &b: &usize| {
            let whole = |cpu| !self.whole_core_idle(cpu);
            compare(self.load(a, 0), self.load(b, 0)).then(whole(a).cmp(&whole(b)))
        };
        let Some(to) = self.scheduler.domains[level].iter().copied().min_by(least) else {
            return false;
        };
        let gains = |from: &usize| compare(self.load(to, 1), self.load(*from, 0)).is_lt();
        let from: Vec<usize> = self.busiest_first(level).into_iter().filter(gains).collect();
        let taken = from
            .into_iter()
            .find_map(|from| self.scheduler.cpus[from].waiting.take(to, u64::MAX));
        let Some(id) = taken else { return false };
        self.carry_over(id, to);
        if self.scheduler.cpus[to].idle {
            self.cores.waiting -= 1;
            self.start_on_idle(to, id, self.scheduler.slice_ns);
        } else {
            self.wait_at(id, to);
        }
        true
    }

    /// Active balance: a running task that does not fit its CPU goes to an idle larger one.
    pub(super) fn lift_misfit(&mut self, cpu: usize) {
        let Some(id) = self.cores.cpus[cpu].task else { return };
        if self.scheduler.fits(self.needs(id), cpu) {
            return;
        }
        let capacity = self.scheduler.cpus[cpu].capacity;
        if let Some(larger) = self.idle_by_capacity(id, cpu, capacity) {
            self.scheduler.moving_to = Some(larger);
            self.leave(cpu, Leaving::Preempted);
        }
    }
}
