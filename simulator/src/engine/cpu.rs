// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens on a CPU: a task starts, makes progress and leaves; cores fall idle and wake up.

use super::governor::utilisation_after;
use super::scheduler::{AfterSlice, Scheduler};
use super::task::{State, Task};
use super::time::Alarm;
use super::world::World;
use crate::outcome::TraceEvent;
use crate::power::CoreState;

/// Why a task leaves its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Still runnable: its slice is over, it yields, or it has to move.
    Preempted,
    /// It waits or sleeps.
    Blocked,
    Exited,
}

/// Rounds up, and saturates. Converting to an integer and back is quicker than a call of `ceil`.
fn whole_ns(ns: f64) -> u64 {
    let below = ns as u64;
    below.saturating_add(u64::from((below as f64) < ns))
}

impl<S: Scheduler> World<'_, S> {
    /// Accounts for the running task's progress up to now.
    pub(super) fn settle(&mut self, cpu: usize) {
        let state = &mut self.cores.cpus[cpu];
        let passed = self.time.now_ns - state.settled_ns;
        state.settled_ns = self.time.now_ns;
        let Some(id) = state.task else { return };
        if passed == 0 {
            return;
        }
        let overhead = passed.min(state.overhead_ns);
        state.overhead_ns -= overhead;
        let ran = passed - overhead;
        S::ran(self, id, cpu, passed);
        let state = &mut self.cores.cpus[cpu];
        let task = &mut self.work.tasks[id as usize];
        if self.speeds.averages() {
            let opps = &self.machine.kinds[state.kind].opps;
            let (khz, top_khz) = (opps[state.opp].khz as f64, opps[state.top_opp].khz as f64);
            task.utilisation = utilisation_after(task.utilisation, passed, khz / top_khz);
            task.utilisation_at_ns += passed;
            state.utilisation = utilisation_after(state.utilisation, passed, khz / top_khz);
            state.utilisation_at_ns = self.time.now_ns;
        }
        if task.spinning {
            self.stats.spin_ns += ran;
            if task.spin_left_ns != u64::MAX {
                task.spin_left_ns = task.spin_left_ns.saturating_sub(ran);
            }
            return;
        }
        let work = (ran as f64 * state.rate).min(task.remaining);
        task.remaining -= work;
        self.stats.work += work;
        self.stats.work_by_class[usize::from(task.class)] += work;
        let speed = self.machine.kinds[state.kind].fastest.speed;
        self.stats.stall_ns += work * state.memory_share / speed;
        let pace = self.contention.pace(cpu);
        self.stats.lost_contention_ns += pace.map_or(0.0, |pace| ran as f64 * pace.lost_share);
        if self.scheduler.reads_counters() {
            match pace {
                Some(pace) => (task.counters).count(ran as f64 * pace.instructions_per_ns, pace.misses),
                None => {
                    let (per_work_ns, misses) = self.rates.counted(task.class);
                    task.counters.count(work * per_work_ns, misses);
                }
            }
        }
        if state.opp == state.top_opp {
            self.stats.work_at_top += work;
            return;
        }
        let class = task.class;
        self.count_lost(cpu, class, ran);
    }

    /// Counts the run time lost below the highest OPP. Problem A: from a start until the governor's next sample, on a core whose clock domain had had
    /// less work in the governor's period than the others together: the load was elsewhere. It does not occur with a single clock domain. Problem B: the
    /// rest, under a governor that measures load. Speeds that were chosen count as neither: a fixed one, that of a reserved, green or high core, the highest of the moment.
    fn count_lost(&mut self, cpu: usize, class: u16, ran: u64) {
        let state = &self.cores.cpus[cpu];
        let relative = match self.contention.pace(cpu) {
            Some(pace) => pace.relative,
            None => self.rates.relative(class, state.kind, state.opp),
        };
        let lost_ns = ran as f64 * (1.0 - relative);
        let held = self.speeds.clocks.of_cpu(cpu).is_held();
        if held || self.speeds.fixed() || S::has_chosen_speed(self, cpu) {
            self.stats.lost_by_choice_ns += lost_ns;
        } else if !self.speeds.measures() || (state.load_was_elsewhere && !state.measured) {
            self.stats.lost_slow_start_ns += lost_ns;
        } else {
            self.stats.lost_mismeasured_ns += lost_ns;
        }
    }

    /// After a change of speed, sibling or step on `cpu`: updates the rates, here and on CPUs that it contends with, and the next alarms.
    pub(super) fn reschedule(&mut self, cpu: usize) {
        if self.contention.possible() {
            self.contend(cpu);
        }
        self.plan_step(cpu);
    }

    /// Updates the rate of the running task, and arms the alarm for the end of its step or slice.
    pub(super) fn plan_step(&mut self, cpu: usize) {
        let Some(id) = self.cores.cpus[cpu].task else { return };
        let using_core = self.cores.using_core(cpu, &self.work.tasks);
        let task = &self.work.tasks[id as usize];
        let state = &mut self.cores.cpus[cpu];
        (state.rate, state.memory_share) = match self.contention.pace(cpu) {
            Some(pace) => (pace.rate, pace.memory_share),
            None => (
                self.rates.rate(task.class, state.kind, state.opp, using_core),
                self.rates.memory_shares[usize::from(task.class)],
            ),
        };
        state.step_ends_ns = match task {
            Task {
                spinning: true,
                granted: false,
                spin_left_ns,
                ..
            } => self
                .time
                .now_ns
                .saturating_add(state.overhead_ns)
                .saturating_add(*spin_left_ns),
            Task { spinning: true, .. } => self.time.now_ns + state.overhead_ns,
            _ => {
                let begins_ns = self.time.now_ns + state.overhead_ns;
                match state.slice_ends_ns {
                    // The slice ends first, and the step's end is computed anew after it.
                    Some(end_ns) if task.remaining > state.rate * (end_ns.saturating_sub(begins_ns) + 2) as f64 => {
                        u64::MAX
                    }
                    _ => begins_ns.saturating_add(whole_ns(task.remaining / state.rate)),
                }
            }
        };
        let at_ns = state.step_ends_ns.min(state.slice_ends_ns.unwrap_or(u64::MAX));
        if at_ns != u64::MAX {
            self.time.set(at_ns, Alarm::Cpu, cpu);
        } else {
            self.time.cancel(Alarm::Cpu, cpu);
        }
    }

    /// The CPU's alarm: a step, spinning or a slice ends.
    pub(super) fn cpu_event(&mut self, cpu: usize) {
        self.settle(cpu);
        let Some(id) = self.cores.cpus[cpu].task else { return };
        if self.time.now_ns >= self.cores.cpus[cpu].step_ends_ns {
            let task = &mut self.work.tasks[id as usize];
            task.remaining = 0.0;
            if task.spinning && !task.granted && task.notifies {
                self.raise_flag(cpu, id);
                return;
            }
            if task.spinning && !task.granted {
                self.stop_spinning_and_block(cpu, id);
                return;
            }
            if task.spinning {
                task.spinning = false;
                task.granted = false;
                task.waits_for = None;
                if std::mem::take(&mut task.flag_raised) {
                    S::spins(self, id, false);
                }
            }
            if let Some(leaving) = self.advance(id) {
                self.leave(cpu, leaving);
                return;
            }
        }
        if self.cores.cpus[cpu]
            .slice_ends_ns
            .is_some_and(|end| self.time.now_ns >= end)
        {
            self.slice_over(cpu, id);
        } else {
            self.reschedule(cpu);
        }
    }

    /// The task spins on with its SPINNING flag raised.
    fn raise_flag(&mut self, cpu: usize, id: u32) {
        let task = &mut self.work.tasks[id as usize];
        task.flag_raised = true;
        task.spin_left_ns = u64::MAX;
        S::spins(self, id, true);
        self.reschedule(cpu);
    }

    fn stop_spinning_and_block(&mut self, cpu: usize, id: u32) {
        let task = &mut self.work.tasks[id as usize];
        task.spinning = false;
        task.state = State::Blocked;
        self.leave(cpu, Leaving::Blocked);
    }

    fn slice_over(&mut self, cpu: usize, id: u32) {
        self.pay(cpu);
        match S::after_slice(self, cpu, id) {
            AfterSlice::Same => {}
            AfterSlice::Leaves => return self.leave(cpu, Leaving::Preempted),
            AfterSlice::Taken(next) => return self.leave_for(cpu, Leaving::Preempted, Some(next)),
        }
        let slice_ns = S::next_slice_ns(self, cpu, id);
        let state = &mut self.cores.cpus[cpu];
        state.slice_began_ns = self.time.now_ns;
        state.slice_ns = slice_ns;
        let always = S::watches_slices(self, cpu, id);
        self.cores.watch_slice(cpu, always, self.time.now_ns);
        self.reschedule(cpu);
    }

    /// A task waits now, so slices without an end get one.
    fn watch_all(&mut self) {
        let mut unwatched = std::mem::take(&mut self.cores.unwatched);
        for cpu in unwatched.drain(..).map(|cpu| cpu as usize) {
            if self.cores.end_unwatched(cpu, self.time.now_ns) {
                self.settle(cpu);
                self.reschedule(cpu);
            }
        }
        self.cores.unwatched = unwatched;
    }

    /// Charges the running task for its run time since the last charge.
    pub(super) fn pay(&mut self, cpu: usize) {
        let state = &mut self.cores.cpus[cpu];
        let ran = self.time.now_ns - state.charged_ns;
        state.charged_ns = self.time.now_ns;
        if let Some(id) = state.task {
            S::charge(self, id, cpu, ran);
        }
    }

    /// One more task waits for a CPU.
    pub(super) fn one_more_waits(&mut self) {
        self.cores.waiting += 1;
        if !self.cores.unwatched.is_empty() {
            self.watch_all();
        }
    }

    /// Places a task that became runnable: on an idle CPU, or in a queue.
    pub(super) fn place(&mut self, id: u32) {
        let position = self.trace.position();
        let task = &self.work.tasks[id as usize];
        let last_cpu = task.has_run.then_some(task.last_cpu);
        let cpu = S::wake(self, id);
        self.stats.woken_on_last_cpu += u64::from(last_cpu == Some(cpu));
        let wakeup = TraceEvent::Wakeup {
            at_ns: self.time.now_ns,
            task: self.work.tasks[id as usize].serial,
            cpu: cpu as u16,
        };
        self.trace.add_before(position, wakeup);
    }

    /// The task blocks, sleeps or exits.
    fn inactive(&mut self, id: u32) {
        let now_ns = self.time.now_ns;
        self.work.tasks[id as usize].counters.active(false, now_ns);
        S::block(self, id);
    }

    /// An idle CPU was told to look for work.
    pub(super) fn kicked(&mut self, cpu: usize) {
        if self.cores.cpus[cpu].task.is_some() {
            return;
        }
        if let Some(id) = S::dispatch(self, cpu) {
            self.cores.waiting -= 1;
            self.start_on_idle(cpu, id, self.scheduler.slice_ns());
        }
    }

    /// The task leaves. The CPU runs the next one, or falls idle.
    pub(super) fn leave(&mut self, cpu: usize, why: Leaving) {
        self.leave_for(cpu, why, None);
    }

    /// The same where the next one was taken from its queue before.
    fn leave_for(&mut self, cpu: usize, why: Leaving, taken: Option<u32>) {
        let Some(id) = self.cores.cpus[cpu].task else { return };
        self.pay(cpu);
        let serial = self.work.tasks[id as usize].serial;
        let at_ns = self.time.now_ns;
        self.trace.add(at_ns, || TraceEvent::Stop {
            at_ns,
            task: serial,
            cpu: cpu as u16,
        });
        self.work.tasks[id as usize].on_cpu = None;
        self.work.tasks[id as usize].last_cpu = cpu as u32;
        self.cores.cpus[cpu].task = None;
        S::stopped(self, id, cpu, why);
        match why {
            Leaving::Preempted => S::enqueue(self, id, cpu as u32),
            Leaving::Blocked => self.inactive(id),
            Leaving::Exited => {
                self.inactive(id);
                self.scheduler.exited(id);
                self.reap(id);
            }
        }
        match taken.or_else(|| S::dispatch(self, cpu)) {
            Some(next) => {
                self.cores.waiting -= 1;
                self.switch_to(cpu, next, self.scheduler.slice_ns(), 0);
                if next != id {
                    self.stats.context_switches += 1;
                }
            }
            None => self.fall_idle(cpu),
        }
    }

    /// Starts a task on an idle CPU.
    pub(super) fn start_on_idle(&mut self, cpu: usize, id: u32, slice_ns: u64) {
        let (core, now_ns) = (self.cores.cpus[cpu].core, self.time.now_ns);
        let exit_ns = self.power.exit_ns(core, now_ns);
        let busy = self.cores.fill(cpu, now_ns);
        self.speeds.busy_changes(cpu, 1, now_ns);
        if busy == 1 {
            self.core_changes(core, true);
        }
        self.power.set_state(core, CoreState::Busy(busy), &mut self.time);
        S::cpu_busy(self, cpu);
        self.siblings_changed(cpu);
        self.stats.context_switches += 1;
        self.switch_to(cpu, id, slice_ns, exit_ns);
    }

    /// The CPU runs the task from now on. `exit_ns`: how long its core takes to wake up.
    fn switch_to(&mut self, cpu: usize, id: u32, slice_ns: u64, exit_ns: u64) {
        let cost = self.machine.cost;
        let memory_domain = |c: usize| self.machine.cpus[c].memory_domain;
        let task = &mut self.work.tasks[id as usize];
        let mut overhead_ns = exit_ns + cost.context_switch_ns;
        if task.has_run && task.last_cpu as usize != cpu {
            self.stats.migrations += 1;
            overhead_ns += cost.migration_ns;
            if memory_domain(task.last_cpu as usize) != memory_domain(cpu) {
                overhead_ns += cost.memory_domain_ns;
            }
        }
        task.on_cpu = Some(cpu as u32);
        task.has_run = true;
        if let Some(woken_ns) = task.woken_at_ns.take() {
            self.stats.latencies.add(self.time.now_ns + exit_ns - woken_ns);
        }
        let serial = task.serial;
        let load_was_elsewhere = self.speeds.load_is_elsewhere(cpu, self.time.now_ns);
        let state = &mut self.cores.cpus[cpu];
        state.task = Some(id);
        state.overhead_ns = overhead_ns;
        state.settled_ns = self.time.now_ns;
        state.charged_ns = self.time.now_ns;
        state.slice_began_ns = self.time.now_ns;
        state.slice_ns = slice_ns;
        state.load_was_elsewhere = load_was_elsewhere;
        state.measured = false;
        let at_ns = self.time.now_ns;
        self.trace.add(at_ns, || TraceEvent::Start {
            at_ns,
            task: serial,
            cpu: cpu as u16,
            exit_ns,
        });
        S::running(self, id, cpu);
        let always = S::watches_slices(self, cpu, id);
        self.cores.watch_slice(cpu, always, self.time.now_ns);
        self.governor_sees_start(cpu, id);
        self.reschedule(cpu);
        if self.cores.stalls {
            self.siblings_go_on(cpu);
        }
    }

    fn fall_idle(&mut self, cpu: usize) {
        self.time.cancel(Alarm::Cpu, cpu);
        if self.contention.possible() {
            self.contend(cpu);
        }
        self.speeds.busy_changes(cpu, -1, self.time.now_ns);
        let core = self.cores.cpus[cpu].core;
        let busy = self.cores.clear(cpu, self.time.now_ns);
        if busy > 0 {
            self.power.set_state(core, CoreState::Busy(busy), &mut self.time);
            self.siblings_changed(cpu);
        } else {
            self.power.set_state(core, CoreState::Idle(0), &mut self.time);
            self.core_changes(core, false);
        }
        self.governor_sees_idle(cpu);
        S::cpu_idle(self, cpu, busy > 0);
        self.sink_if_idle(core);
    }

    pub(super) fn sink_if_idle(&mut self, core: usize) {
        let about = &self.cores.cores[core];
        if about.busy == 0 {
            let parks = self.machine.park.is_some() && self.scheduler.is_low(&about.cpus);
            self.power.sink(core, parks, &mut self.time);
        }
    }

    pub(super) fn deepen(&mut self, core: usize) {
        if self.power.deepen(core, &mut self.time) {
            self.sink_if_idle(core);
        }
    }

    /// Wakes a parked core up.
    pub(super) fn unpark(&mut self, core: usize) {
        if self.power.unpark(core, &mut self.time) {
            self.sink_if_idle(core);
        }
    }

    /// `cpu` became busy or idle, which its siblings and the scheduler have to know.
    fn siblings_changed(&mut self, cpu: usize) {
        self.siblings_go_on(cpu);
        for &sibling in self.cores.of(cpu).cpus.iter().filter(|&&sibling| sibling != cpu) {
            (self.scheduler).sibling_changed(sibling, self.cores.beside_busy(sibling));
        }
    }

    /// `cpu` began or ceased to use its core: settles its siblings at their old rates, and goes on at new ones.
    pub(super) fn siblings_go_on(&mut self, cpu: usize) {
        for at in 0..self.cores.of(cpu).cpus.len() {
            let sibling = self.cores.of(cpu).cpus[at];
            if sibling != cpu && self.cores.cpus[sibling].task.is_some() {
                self.settle(sibling);
                self.reschedule(sibling);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::whole_ns;

    #[test]
    fn a_started_nanosecond_counts_whole() {
        for (ns, whole) in [
            (0.0, 0),
            (0.25, 1),
            (1.0, 1),
            (7.000001, 8),
            (9e15 + 1.0, 9_000_000_000_000_001),
        ] {
            assert_eq!(whole_ns(ns), whole);
        }
        for endless in [f64::INFINITY, 2f64.powi(64), 1e30] {
            assert_eq!(whole_ns(endless), u64::MAX);
        }
    }
}
