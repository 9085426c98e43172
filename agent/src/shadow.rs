// SPDX-License-Identifier: GPL-2.0-only
//! A model of the machine in which the policy's decisions take effect at once: CPUs that each run one task, and queues. It shows where the policy
//! wants each task; enforce.rs passes that on to the kernel.

use crate::cpus::Cpus;
use crate::policy::{App, Asked, CpuPlace, Facts, Planned, Policy, Task, NONE};
use std::collections::BTreeMap;

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Blocked,
    /// On this CPU.
    Runs(u32),
    /// Runnable, but not on a CPU.
    Waits,
}

struct Entry {
    task: Task,
    app: u32,
    place: Place,
    /// When it arrived on its CPU.
    since_ns: u64,
    last_cpu: u32,
    flags: u32,
    parallelism: u32,
}

struct Members {
    /// Of a fixed address, by which records tell it from others.
    app: Box<App>,
    tasks: u32,
    /// The last task that declared the parallelism.
    declared_by: Option<u32>,
}

/// No single event leads to more steps than this; a faulty rule must not hang the agent.
const MOST_STEPS: usize = 10_000;

pub(crate) struct Shadow {
    policy: Policy,
    tasks: BTreeMap<u32, Entry>,
    apps: BTreeMap<u32, Members>,
    /// The task on each CPU.
    runs: BTreeMap<u32, Option<u32>>,
    /// Kind and speed of each CPU.
    kinds: BTreeMap<u32, (u16, u16)>,
    /// CPUs of each memory domain.
    domains: BTreeMap<u16, Cpus>,
}

/// Why a task leaves its CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Preempted,
    Blocked,
    Ended,
}

impl Shadow {
    pub fn new(asked: &Asked, cpus: &[(u32, CpuPlace)], now_ns: u64) -> Self {
        let mut policy = Policy::new(asked, cpus);
        policy.start(now_ns);
        let mut domains: BTreeMap<u16, Cpus> = BTreeMap::new();
        for (cpu, place) in cpus {
            domains.entry(place.memory_domain).or_default().insert(*cpu);
        }
        Self {
            policy,
            tasks: BTreeMap::new(),
            apps: BTreeMap::new(),
            runs: cpus.iter().map(|&(cpu, _)| (cpu, None)).collect(),
            kinds: (cpus.iter().map(|&(cpu, place)| (cpu, (place.tier, place.permille)))).collect(),
            domains,
        }
    }

    pub fn time_is(&mut self, now_ns: u64) {
        self.policy.answers.now_ns = now_ns;
        self.policy.answers.changes.clear();
    }

    fn now_ns(&self) -> u64 {
        self.policy.answers.now_ns
    }

    /// Adds a blocked task; tasks of one application share its number, and its memory.
    pub fn add(&mut self, id: u32, app: u32, allowed: &Cpus, length: u32) {
        let members = self.apps.entry(app).or_insert_with(|| Members {
            app: Box::new(App::new(0)),
            tasks: 0,
            declared_by: None,
        });
        let mut task = self.policy.task(id, &members.app, allowed);
        members.tasks += 1;
        if members.tasks > 1 && !members.app.shares_memory {
            self.policy.share_memory(&task, &mut members.app);
        }
        if length > 0 {
            self.policy.declare_length(&mut task, &mut members.app, length);
        }
        let all: Cpus = self.runs.keys().copied().collect();
        if all.and(allowed) != all {
            self.policy.answers.allowed.insert(id, *allowed);
        }
        let entry = Entry {
            task,
            app,
            place: Place::Blocked,
            since_ns: 0,
            last_cpu: 0,
            flags: 0,
            parallelism: 0,
        };
        self.tasks.insert(id, entry);
    }

    pub fn remove(&mut self, id: u32) {
        self.stop(id, Leaving::Ended);
        let Some(entry) = self.tasks.remove(&id) else { return };
        self.policy.answers.allowed.remove(&id);
        if let Some(members) = self.apps.get_mut(&entry.app) {
            if members.declared_by == Some(id) {
                self.policy.declare(&mut members.app, 0);
            }
            members.tasks -= 1;
            if members.tasks == 0 {
                self.policy.app_ends(&members.app);
                self.apps.remove(&entry.app);
            }
            self.follow();
        }
    }

    /// Adds the task once more, blocked, with another affinity and length. What it declared counts as before, and is not newer.
    pub fn add_anew(&mut self, id: u32, allowed: &Cpus, length: u32) {
        let Some(entry) = self.tasks.get(&id) else { return };
        let (app, parallelism) = (entry.app, entry.parallelism);
        let members = self.apps.get_mut(&app);
        let counts = members.is_some_and(|members| members.declared_by.take_if(|by| *by == id).is_some());
        self.remove(id);
        self.add(id, app, allowed, length);
        if counts {
            self.declare(id, Some(parallelism));
        } else if let Some(entry) = self.tasks.get_mut(&id) {
            entry.parallelism = parallelism;
        }
    }

    pub fn place(&self, id: u32) -> Option<Place> {
        self.tasks.get(&id).map(|entry| entry.place)
    }

    pub fn members(&self) -> Cpus {
        self.policy.members()
    }

    pub fn facts(&self) -> Facts {
        self.policy.facts()
    }

    /// When the `level`-th member, counted from 1, leaves if it remains surplus.
    pub fn leaves_ns(&self, level: u32) -> u64 {
        self.policy.leaves_ns(level)
    }

    /// Whether a task runs there.
    pub fn is_busy(&self, cpu: u32) -> bool {
        matches!(self.runs.get(&cpu), Some(Some(_)))
    }

    /// Where the task runs or last ran.
    pub fn last_cpu(&self, id: u32) -> Option<u32> {
        let entry = self.tasks.get(&id)?;
        Some(match entry.place {
            Place::Runs(cpu) => cpu,
            _ => entry.last_cpu,
        })
    }

    pub fn reserved(&self) -> Option<u32> {
        self.policy.reserved()
    }

    pub fn active(&self) -> u32 {
        self.policy.active()
    }

    /// Whether rules decide who gets the fast CPUs, and there are some.
    pub fn ranks(&self) -> bool {
        self.policy.rules() != 0 && self.kinds.values().any(|(tier, _)| *tier > 0)
    }

    /// CPUs of the same kind.
    pub fn kind_of(&self, cpu: u32) -> Cpus {
        let tier = self.kinds.get(&cpu).map(|(tier, _)| *tier);
        let same = self.kinds.iter().filter(|(_, (other, _))| Some(*other) == tier);
        same.map(|(&cpu, _)| cpu).collect()
    }

    pub fn wake(&mut self, id: u32, last_cpu: u32) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(members) = self.apps.get_mut(&entry.app) else {
            return;
        };
        if entry.place != Place::Blocked {
            return;
        }
        entry.place = Place::Waits;
        entry.last_cpu = last_cpu;
        self.policy.wake(&mut entry.task, &mut members.app, last_cpu);
        self.follow();
    }

    pub fn block(&mut self, id: u32) {
        self.stop(id, Leaving::Blocked);
    }

    /// The task's hints: `enum lop_hint_flags`.
    pub fn set_hints(&mut self, id: u32, flags: u32) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(members) = self.apps.get_mut(&entry.app) else {
            return;
        };
        if entry.flags == flags || entry.place == Place::Blocked {
            return;
        }
        entry.flags = flags;
        self.policy.set_hints(&mut entry.task, &mut members.app, flags);
        self.follow();
    }

    /// How many tasks of its application want to run at once, as the task says; 0: not known. The last task to say something else than before counts,
    /// until it is removed. `None`: the task has no record (any more), which takes back what itself declared, and nothing of others.
    pub fn declare(&mut self, id: u32, parallelism: Option<u32>) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(members) = self.apps.get_mut(&entry.app) else {
            return;
        };
        let said = parallelism.unwrap_or(0);
        if entry.parallelism == said {
            return;
        }
        entry.parallelism = said;
        if parallelism.is_none() && members.declared_by != Some(id) {
            return;
        }
        members.declared_by = Some(id);
        self.policy.declare(&mut members.app, said);
        self.follow();
    }

    /// To be called when time has passed: runs the policy's timer, and the turns of waiting tasks.
    pub fn tick(&mut self) {
        let now_ns = self.now_ns();
        if self.policy.answers.timer_at_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.policy.answers.timer_at_ns = None;
            self.policy.timer();
            self.follow();
        }
        let period_ns = self.policy.period_ns();
        let running: Vec<(u32, u32)> = self.runs.iter().filter_map(|(&cpu, id)| Some((cpu, (*id)?))).collect();
        for (cpu, id) in running {
            let over = self
                .tasks
                .get(&id)
                .is_some_and(|entry| now_ns >= entry.since_ns + period_ns);
            if over && self.runs[&cpu] == Some(id) && self.policy.anything_waits(cpu) {
                self.leave(cpu, Leaving::Preempted);
                self.follow();
            }
        }
    }

    fn stop(&mut self, id: u32, why: Leaving) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(members) = self.apps.get_mut(&entry.app) else {
            return;
        };
        match entry.place {
            Place::Blocked => {}
            Place::Runs(cpu) => self.leave(cpu, why),
            Place::Waits => {
                entry.place = Place::Blocked;
                entry.flags &= !1;
                self.policy.answers.remove(id);
                self.policy.dequeue(&mut entry.task);
                if why == Leaving::Ended {
                    self.policy.ended(&mut entry.task, &mut members.app);
                }
                self.policy.block(&mut entry.task, &mut members.app);
            }
        }
        self.follow();
    }

    /// Stops the task on the CPU and starts the next one.
    fn leave(&mut self, cpu: u32, why: Leaving) {
        let now_ns = self.now_ns();
        let Some(id) = self.runs.insert(cpu, None).flatten() else {
            return;
        };
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(members) = self.apps.get_mut(&entry.app) else {
            return;
        };
        let ran_ns = now_ns.saturating_sub(entry.since_ns);
        entry.last_cpu = cpu;
        let runnable = why == Leaving::Preempted;
        self.policy
            .stopped(&mut entry.task, &mut members.app, cpu, runnable, ran_ns);
        if runnable {
            entry.place = Place::Waits;
            self.policy.enqueue(&mut entry.task, cpu);
        } else {
            entry.place = Place::Blocked;
            entry.flags &= !1;
            if why == Leaving::Ended {
                self.policy.ended(&mut entry.task, &mut members.app);
            }
            self.policy.block(&mut entry.task, &mut members.app);
        }
        match self.policy.dispatch(cpu) {
            Some(next) => self.begin(next, cpu),
            None => self.policy.cpu_idle(cpu, true),
        }
    }

    fn begin(&mut self, id: u32, cpu: u32) {
        let since_ns = self.now_ns();
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(members) = self.apps.get_mut(&entry.app) else {
            return;
        };
        entry.place = Place::Runs(cpu);
        entry.since_ns = since_ns;
        self.runs.insert(cpu, Some(id));
        self.policy.running(&mut entry.task, &mut members.app, cpu);
    }

    /// Carries out the policy's requests, and those that follow from them.
    fn follow(&mut self) {
        for _ in 0..MOST_STEPS {
            if let Some((id, cpu)) = self.policy.answers.starts.pop() {
                self.policy.cpu_idle(cpu, false);
                self.begin(id, cpu);
            } else if let Some(cpu) = self.policy.answers.kicks.pop() {
                self.look_for_work(cpu);
            } else if let Some(cpu) = self.policy.answers.preempts.pop() {
                match self.runs.get(&cpu) {
                    Some(None) => self.look_for_work(cpu),
                    Some(Some(_)) if self.policy.must_go(cpu) => self.leave(cpu, Leaving::Preempted),
                    _ => {}
                }
            } else {
                break;
            }
        }
    }

    fn look_for_work(&mut self, cpu: u32) {
        if self.runs.get(&cpu) != Some(&None) {
            return;
        }
        if let Some(id) = self.policy.dispatch(cpu) {
            self.policy.cpu_idle(cpu, false);
            self.begin(id, cpu);
        }
    }

    /// The CPU that the task waits for, if it waits for a single one.
    pub fn waits_for(&self, id: u32) -> Option<u32> {
        let queue = self.policy.answers.queue_of(id)?;
        (queue < crate::cpus::MAX_CPUS as u32).then_some(queue)
    }

    /// Whether the policy plans, once a second, where tasks run.
    pub fn plans(&self) -> bool {
        self.policy.plans()
    }

    /// CPUs of the memory domain that a plan assigns to the task.
    pub fn domain_of(&self, id: u32) -> Option<Cpus> {
        let domain = self.policy.domain(&self.tasks.get(&id)?.task)?;
        self.domains.get(&domain).copied()
    }

    /// Plans where these tasks run, at most [`lop_policy::MAX_PLANNED`], and carries the plan out. `threads` has what is known of each.
    pub fn plan(&mut self, ids: &[u32], threads: &mut [Planned], period_ns: u64) {
        for (id, thread) in ids.iter().zip(&mut *threads) {
            let Some(entry) = self.tasks.get(id) else { continue };
            self.policy.note_task(thread, &entry.task);
            thread.cpu = self.last_cpu(*id).map_or(NONE, |cpu| cpu as i32);
        }
        self.policy.plan(threads, period_ns);
        self.switch_domains(true);
        let cpus: Vec<u32> = (ids.iter().zip(&*threads))
            .filter_map(|(&id, thread)| self.follow_plan(id, thread))
            .collect();
        self.queue_anew(&cpus);
        self.switch_domains(false);
    }

    /// Drops the last plan.
    pub fn end_plans(&mut self) {
        for entry in self.tasks.values_mut() {
            self.policy.set_domain(&mut entry.task, NONE, entry.last_cpu);
        }
        self.policy.end_plans();
        self.domains
            .keys()
            .for_each(|&domain| self.policy.set_domain_on(domain, true));
        self.follow();
    }

    fn switch_domains(&mut self, on: bool) {
        for domain in self.policy.switches(on) {
            self.policy.set_domain_on(domain, on);
        }
        self.follow();
    }

    /// Tells the task its domain and what it gains. Returns the CPU that it must leave for that.
    fn follow_plan(&mut self, id: u32, thread: &Planned) -> Option<u32> {
        let entry = self.tasks.get_mut(&id)?;
        let told_permille = entry.task.speedup_permille;
        entry.task.set_measured_speedup(thread.speedup_permille);
        let gains_otherwise = entry.task.speedup_permille != told_permille;
        let cpu = u32::try_from(thread.cpu).ok()?;
        let elsewhere = self.policy.set_domain(&mut entry.task, thread.wanted_domain, cpu);
        ((elsewhere || gains_otherwise) && matches!(entry.place, Place::Runs(_))).then_some(cpu)
    }

    /// Queues the tasks on these CPUs again, so that they go where they are sent.
    fn queue_anew(&mut self, cpus: &[u32]) {
        cpus.iter().for_each(|&cpu| self.leave(cpu, Leaving::Preempted));
        self.follow();
    }
}

#[cfg(test)]
mod tests;
