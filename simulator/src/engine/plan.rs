// SPDX-License-Identifier: MIT OR Apache-2.0
//! Once a period the policy reads counters, as hardware would show them, and plans which thread runs in which memory domain and what it gains from
//! speed (`lop_plan_threads()` of policy/domains/plan.h). A running task that moves or gains otherwise loses its CPU and is queued again, as in a kernel.

use super::policy::Policy;
use super::task::State;
use super::time::{Kind, OwnEvent};
use super::world::World;
use lop_policy::{has_basis, keep_active, Planned, Planner, NONE, PLAN_PERIOD_NS};

impl World<'_, Policy> {
    pub(super) fn plan(&mut self) {
        self.time.after(PLAN_PERIOD_NS, Kind::Scheduler(OwnEvent::Plan), 0);
        (0..self.cores.cpus.len()).for_each(|cpu| self.settle(cpu));
        let Some(mut planner) = self.scheduler.planner.take() else {
            return;
        };
        let ids = self.active_tasks();
        self.read_counters(&ids);
        let mut threads: Vec<Planned> = ids.iter().map(|&id| self.facts_of(id)).collect();
        if has_basis(&threads, true) {
            planner.plan(&self.scheduler.handle, &mut threads, PLAN_PERIOD_NS, self.time.now_ns);
            self.carry_out(&mut planner, &ids, &threads);
        } else {
            self.end_plans();
        }
        self.scheduler.planner = Some(planner);
    }

    /// Tasks that demand enough to be planned.
    fn active_tasks(&mut self) -> Vec<u32> {
        let now_ns = self.time.now_ns;
        let tasks = &mut self.work.tasks;
        for task in tasks.iter_mut().filter(|task| task.state != State::Exited) {
            task.counters.planned.active_ns = task.counters.read_active_ns(now_ns);
        }
        let alive = |id: &u32| tasks[*id as usize].state != State::Exited;
        let mut ids: Vec<u32> = (0..tasks.len() as u32).filter(alive).collect();
        keep_active(&mut ids, PLAN_PERIOD_NS, |&id| {
            tasks[id as usize].counters.planned.active_ns
        });
        ids
    }

    /// Updates the intensities of these tasks. Those of others are lost: a kernel counts only for threads that are planned.
    fn read_counters(&mut self, ids: &[u32]) {
        let now_ns = self.time.now_ns;
        for &id in ids {
            let task = &mut self.work.tasks[id as usize];
            let (misses, instructions) = (task.counters.misses as u64, task.counters.instructions as u64);
            let passed_ns = PLAN_PERIOD_NS.min(now_ns - task.created_at_ns);
            task.counters.planned.intensity.note(misses, instructions, passed_ns);
        }
        for task in &mut self.work.tasks {
            (task.counters.misses, task.counters.instructions) = (0.0, 0.0);
        }
    }

    fn facts_of(&self, id: u32) -> Planned {
        let task = &self.work.tasks[id as usize];
        let mut thread = task.counters.planned;
        thread.note_task(&self.scheduler.handle, &task.policy);
        thread.shares = match self.workload.apps[usize::from(task.app)].shares_memory {
            true => u32::from(task.app) + 1,
            false => 0,
        };
        thread.cpu = match task.has_run {
            true => task.on_cpu.unwrap_or(task.last_cpu) as i32,
            false => NONE,
        };
        thread
    }

    fn carry_out(&mut self, planner: &mut Planner, ids: &[u32], threads: &[Planned]) {
        let (handle, now_ns) = (self.scheduler.handle, self.time.now_ns);
        for domain in planner.switches(&handle, true) {
            handle.set_domain_on(self, domain as i32, true, now_ns);
        }
        let mut moved = Vec::new();
        for (&id, thread) in ids.iter().zip(threads) {
            let task = &mut self.work.tasks[id as usize];
            let gains_otherwise = thread.speedup_permille != task.counters.planned.speedup_permille;
            if gains_otherwise {
                task.policy.speedup_permille = match thread.speedup_permille {
                    0 => self.scheduler.speedup_permille[task.program as usize],
                    measured => measured,
                };
            }
            task.counters.planned = *thread;
            let cpu = task.on_cpu.unwrap_or(task.last_cpu);
            if handle.set_domain(&mut task.policy, thread.wanted_domain, cpu) || gains_otherwise {
                moved.extend(task.on_cpu);
            }
        }
        self.queue_anew(&moved);
        for domain in planner.switches(&handle, false) {
            handle.set_domain_on(self, domain as i32, false, now_ns);
        }
    }

    /// Drops the last plan: tasks may run in any memory domain, and all domains are on.
    fn end_plans(&mut self) {
        let (handle, now_ns) = (self.scheduler.handle, self.time.now_ns);
        for domain in 0..u32::from(handle.topology.nr_memory_domains) {
            if handle.is_off(domain) {
                handle.set_domain_on(self, domain as i32, true, now_ns);
            }
        }
        for task in self.work.tasks.iter_mut().filter(|task| task.state != State::Exited) {
            handle.set_domain(&mut task.policy, NONE, task.last_cpu);
        }
        handle.end_plans();
    }
}
