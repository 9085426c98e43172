// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the fair class moves tasks to CPUs that have less to do.

use super::{Balance, FairClass, FULL};
use crate::engine::cpu::Leaving;
use crate::engine::fair::TICK_NS;
use crate::engine::world::World;
use std::cmp::{Ordering, Reverse};

/// Idle CPUs of a domain with so many CPUs are looked after every so many ms, and a busy one balances so many times less often (`sd_busy_factor`).
const NS_PER_CPU: u64 = 1_000_000;
const BUSY_FACTOR: u64 = 16;

/// A busy CPU that has more tasks than it can run takes none from one whose load is less than this multiple of its own (`imbalance_pct`).
const IMBALANCE: (u64, u64) = (117, 100);

/// What a task has in its CPU's cache counts for so long after it ran (`sched_migration_cost`), until balancing has failed so often (`cache_nice_tries`).
const HOT_NS: u64 = 500_000;
const HOT_TRIES: u32 = 1;

/// After so many times in vain a task moves however small the imbalance is (`need_active_balance`).
const MOST_FAILED: u32 = 4;

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
        let id = (self.levels(cpu).into_iter())
            .find_map(|level| self.take_from_busiest(&self.scheduler.domains[level].clone(), cpu, false))?;
        self.carry_over(id, cpu);
        Some(id)
    }

    /// Runnable tasks and capacity of these CPUs.
    fn load(&self, cpus: &[usize]) -> (u64, u64) {
        let of = |&cpu: &usize| (self.nr_runnable(cpu) as u64, self.scheduler.cpus[cpu].capacity);
        cpus.iter()
            .map(of)
            .fold((0, 0), |(n, c), (nr, capacity)| (n + nr, c + capacity))
    }

    /// Takes a waiting task that may run on `to` from one of these CPUs, the highest load first. Unless it is `urgent` one whose cache is still hot stays
    /// (`task_hot`), but for a sibling.
    fn take_from_busiest(&mut self, cpus: &[usize], to: usize, urgent: bool) -> Option<u32> {
        let waits = |&cpu: &usize| !self.scheduler.cpus[cpu].waiting.is_empty();
        let mut busy: Vec<usize> = cpus.iter().copied().filter(waits).collect();
        busy.sort_by(|&a, &b| compare(self.load(&[b]), self.load(&[a])));
        let (machine, class, now_ns) = (self.machine, &mut self.scheduler, self.time.now_ns);
        busy.into_iter().find_map(|from| {
            let moves_freely = urgent || machine.cpus[from].core == machine.cpus[to].core;
            let is_cold = |id: u32| {
                class.tasks[id as usize]
                    .ran_ns
                    .is_none_or(|ran_ns| now_ns - ran_ns >= HOT_NS)
            };
            (class.cpus[from].waiting).take_first_of(to, |id| moves_freely || is_cold(id))
        })
    }

    /// At a CPU's tick: idle CPUs take what waits (`nohz_balancer_kick`), and the CPU takes its share if its time has come.
    pub(super) fn balance(&mut self, cpu: usize) {
        if self.saves_energy() {
            return;
        }
        let now_ns = self.time.now_ns;
        for (at, level) in self.levels(cpu).into_iter().enumerate() {
            let period_ns = (self.scheduler.domains[level].len() as u64 * NS_PER_CPU).max(TICK_NS);
            let Balance { next_ns, failed } = self.scheduler.idle_balances[level];
            if self.cores.waiting > 0 && now_ns >= next_ns {
                self.limit_search(level);
                let failed = self.fill_idle(level, failed);
                let next_ns = now_ns + period_ns;
                self.scheduler.idle_balances[level] = Balance { next_ns, failed };
            }
            let Balance { next_ns, failed } = self.scheduler.cpus[cpu].balances[at];
            if now_ns >= next_ns {
                self.limit_search(level);
                let failed = self.take_share(cpu, level, failed);
                let next_ns = now_ns + BUSY_FACTOR * period_ns;
                self.scheduler.cpus[cpu].balances[at] = Balance { next_ns, failed };
            }
        }
    }

    /// So many CPUs of a memory domain are looked at for an idle one: all of them, less as many as the square of their use, over that of 1 / 1.17, is of
    /// these (`update_idle_cpu_scan`).
    fn limit_search(&mut self, level: usize) {
        if level >= self.scheduler.searched.len() {
            return;
        }
        let cpus = &self.scheduler.domains[level];
        let now_ns = self.time.now_ns;
        let used = cpus
            .iter()
            .map(|&cpu| self.scheduler.utilisation(cpu, now_ns))
            .sum::<f64>()
            / cpus.len() as f64;
        let full = used / FULL * IMBALANCE.0 as f64 / IMBALANCE.1 as f64;
        self.scheduler.searched[level] = ((1.0 - full * full).max(0.0) * cpus.len() as f64) as usize;
    }

    /// The domains that a CPU balances: its cache domain, then the machine.
    fn levels(&self, cpu: usize) -> [usize; 2] {
        [
            usize::from(self.machine.cpus[cpu].memory_domain),
            self.machine.nr_memory_domains,
        ]
    }

    /// Idle CPUs start what waits, whole idle cores first. `failed`: the periods in vain before this one. Returns those after it.
    fn fill_idle(&mut self, level: usize, mut failed: u32) -> u32 {
        let cpus = self.scheduler.domains[level].clone();
        let is_idle = |world: &Self, cpu: usize| world.scheduler.cpus[cpu].idle;
        while self.cores.waiting > 0 && cpus.iter().any(|&cpu| is_idle(self, cpu)) {
            let mut idle: Vec<usize> = cpus.iter().copied().filter(|&cpu| is_idle(self, cpu)).collect();
            idle.sort_by_key(|&cpu| !self.whole_core_idle(cpu));
            let urgent = failed > HOT_TRIES;
            let found = (idle.into_iter()).find_map(|to| Some((self.take_from_busiest(&cpus, to, urgent)?, to)));
            let Some((id, to)) = found else { return failed + 1 };
            self.carry_over(id, to);
            self.cores.waiting -= 1;
            self.start_on_idle(to, id, self.scheduler.slice_ns);
            failed = 0;
        }
        0
    }

    /// A busy CPU takes waiting tasks from the part of a domain with the highest load, as long as that has so much more than the mean, and its own so much
    /// less, that a task makes up for it (`calculate_imbalance`). Half of a task counts as one after a period in vain, a quarter after two: so of three tasks
    /// on two CPUs each runs alone in turn. `failed`: the periods in vain before this one. Returns those after it.
    fn take_share(&mut self, cpu: usize, level: usize, mut failed: u32) -> u32 {
        let (all, capacity) = self.load(&self.scheduler.domains[level]);
        while let Some((part, imbalance)) = self.busier_part(cpu, level, (all, capacity)) {
            let enough = imbalance << failed >= capacity || failed >= MOST_FAILED;
            let taken = enough
                .then(|| self.take_from_busiest(&part, cpu, failed > HOT_TRIES))
                .flatten();
            let Some(id) = taken else { return failed + 1 };
            self.carry_over(id, cpu);
            self.wait_at(id, cpu);
            failed = 0;
        }
        0
    }

    /// The part with the highest load of those where tasks wait, and by how many tasks, times the capacity of all, the loads of it and of the part that `cpu`
    /// balances for, the first of that, are from the mean. `None`: there is nothing to make up for.
    fn busier_part(&self, cpu: usize, level: usize, (all, capacity): (u64, u64)) -> Option<(Vec<usize>, u64)> {
        let parts = &self.scheduler.parts[level];
        let own = parts.iter().find(|part| part[0] == cpu)?;
        let waits = |part: &&Vec<usize>| part.iter().any(|&cpu| !self.scheduler.cpus[cpu].waiting.is_empty());
        let part = (parts.iter().filter(waits)).max_by(|a, b| compare(self.load(a), self.load(b)))?;
        let ((here, here_capacity), (there, there_capacity)) = (self.load(own), self.load(part));
        let about_equal = compare(
            (there * IMBALANCE.1, there_capacity),
            (here * IMBALANCE.0, here_capacity),
        )
        .is_lt();
        if here > own.len() as u64 && about_equal {
            return None;
        }
        let lacks = (all * here_capacity).checked_sub(here * capacity)?;
        let has_more = (there * capacity).checked_sub(all * there_capacity)?;
        let imbalance = lacks.min(has_more);
        (imbalance > 0).then(|| (part.clone(), imbalance))
    }

    /// Active balance: a running task that does not fit its CPU goes to an idle larger one.
    pub(super) fn lift_misfit(&mut self, cpu: usize) {
        let Some(id) = self.cores.cpus[cpu].task else { return };
        if self.scheduler.fits(self.needs(id), cpu) {
            return;
        }
        let capacity = self.scheduler.cpus[cpu].capacity;
        if let Some(larger) = self.idle_by_capacity(id, cpu, capacity) {
            self.move_running(cpu, larger);
        }
    }

    /// Asym packing (`sched_asym`, `asym_active_balance`): a running task goes to an idle core of higher rank than its CPU. Where several threads of its core are
    /// busy it goes to an idle core without siblings, of whatever rank (`smt_balance`), at most once in a period of the machine's balance.
    pub(super) fn lift_by_rank(&mut self, cpu: usize) {
        let Some(id) = self.cores.cpus[cpu].task else { return };
        let Some(&rank) = self.scheduler.ranks.get(cpu) else {
            return;
        };
        let ranks = &self.scheduler.ranks;
        let idle = (0..ranks.len()).filter(|&other| self.takes(id, other) && self.whole_core_idle(other));
        let Some(best) = idle.clone().max_by_key(|&other| (ranks[other], Reverse(other))) else {
            return;
        };
        if ranks[best] > rank {
            return self.move_running(cpu, best);
        }
        if self.cores.of(cpu).busy < 2 || self.time.now_ns < self.scheduler.spread_ns {
            return;
        }
        let single = idle.filter(|&other| self.cores.of(other).cpus.len() == 1);
        if let Some(to) = single.max_by_key(|&other| (ranks[other], Reverse(other))) {
            self.scheduler.spread_ns = self.time.now_ns + self.scheduler.cpus.len() as u64 * NS_PER_CPU;
            self.move_running(cpu, to);
        }
    }

    fn move_running(&mut self, cpu: usize, to: usize) {
        self.scheduler.moving_to = Some(to);
        self.leave(cpu, Leaving::Preempted);
    }
}
