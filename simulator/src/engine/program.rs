// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks are created, go through the steps of their programs, synchronise and exit.

use super::cpu::Leaving;
use super::scheduler::Scheduler;
use super::task::{Children, Counters, Owner, State, Task, WaitsFor};
use super::time::Kind;
use super::world::{World, MAX_STEPS_AT_ONCE};
use crate::random::{child_key, Stream};
use crate::workload::{mean_ns, Amount, Join, Step, Waiting};
use crate::SimulationError;

/// What a step leads to.
enum Next {
    /// To the next step, at once.
    On,
    /// The task works on the CPU.
    Work,
    /// The task waits on the CPU.
    Spin,
    Leave(Leaving),
}

impl<S: Scheduler> World<'_, S> {
    /// Takes steps of a running task until one takes time. `None`: the task stays on the CPU.
    pub(super) fn advance(&mut self, id: u32) -> Option<Leaving> {
        for _ in 0..MAX_STEPS_AT_ONCE {
            match self.step(id) {
                Next::On => {}
                Next::Work => return None,
                Next::Spin => return None,
                Next::Leave(why) => return Some(why),
            }
        }
        let name = self.work.task_name(&self.work.tasks[id as usize]);
        self.failure = Some(SimulationError::Mismatch(format!(
            "{name} takes {MAX_STEPS_AT_ONCE} steps without any time passing; expected work or sleep in its loop"
        )));
        None
    }

    fn step(&mut self, id: u32) -> Next {
        let task = &mut self.work.tasks[id as usize];
        let program = &self.workload.programs[task.program as usize];
        let Some(step) = program.steps.get(task.pc as usize) else {
            return self.exit(id);
        };
        task.pc += 1;
        task.job_has_step |= !matches!(
            step,
            Step::Sleep(_) | Step::Timer { .. } | Step::Repeat { .. } | Step::EndRepeat { .. }
        );
        match *step {
            Step::Run { work, class } => {
                task.class = class;
                task.remaining = task.stream.draw(&work) as f64;
                self.work.ideal_work(id, &self.rates);
                Next::Work
            }
            Step::Sleep(amount) => {
                let length_ns = task.stream.draw(&amount);
                self.work.ideal_passes(id, length_ns as f64);
                let at_ns = self.time.now_ns.saturating_add(length_ns);
                self.next_job(id, at_ns, 0);
                self.sleep_until(id, at_ns)
            }
            Step::Timer { timer, period } => self.wait_for_timer(id, timer, &period),
            Step::Fork { program, count } => {
                self.fork(id, program, count);
                Next::On
            }
            Step::Join(join) => self.join(id, join),
            Step::Lock(m) => self.lock(id, m),
            Step::Unlock(m) => {
                self.unlock(id, m);
                Next::On
            }
            Step::Barrier(b) => self.come_to_barrier(id, b),
            Step::Wait { condition, mutex } => self.wait_condition(id, condition, mutex),
            Step::Signal(c) => {
                self.signal(c, false);
                Next::On
            }
            Step::Broadcast(c) => {
                self.signal(c, true);
                Next::On
            }
            Step::Loop(l) => self.take_chunk(id, l),
            Step::Repeat { times, end } => {
                if times == Some(0) {
                    task.pc = end;
                } else {
                    task.repeats.push(times.map(|n| n - 1));
                }
                Next::On
            }
            Step::EndRepeat { start } => {
                match task.repeats.last_mut() {
                    Some(Some(0)) | None => {
                        task.repeats.pop();
                    }
                    Some(left) => {
                        *left = left.map(|n| n - 1);
                        task.pc = start + 1;
                    }
                }
                Next::On
            }
            Step::Pool(p) => self.start_pool(id, p),
            Step::Yield => Next::Leave(Leaving::Preempted),
        }
    }

    /// The task waits for the clock, so its job is done. The next one begins at `at_ns`, which may have passed already. `timer_ns`: the mean period of the
    /// timer that starts it; 0: no timer does.
    fn next_job(&mut self, id: u32, at_ns: u64, timer_ns: u64) {
        let task = &mut self.work.tasks[id as usize];
        // The first job of a task begins with it, and is of the clock that ends it.
        if !std::mem::replace(&mut task.clocked, true) {
            task.timer_ns = timer_ns;
        }
        self.end_job(id);
        let task = &mut self.work.tasks[id as usize];
        (task.job_began_ns, task.timer_ns, task.job_has_step) = (at_ns, timer_ns, false);
    }

    /// The response time is counted from the job's beginning. A task that only waits, or exits at once, has done no job.
    fn end_job(&mut self, id: u32) {
        let task = &self.work.tasks[id as usize];
        if task.clocked && task.job_has_step {
            self.stats.job_took(self.time.now_ns - task.job_began_ns, task.timer_ns);
        }
    }

    fn sleep_until(&mut self, id: u32, at_ns: u64) -> Next {
        let task = &mut self.work.tasks[id as usize];
        task.state = State::Sleeping;
        self.time.at(at_ns, Kind::TaskWake, id);
        Next::Leave(Leaving::Blocked)
    }

    fn wait_for_timer(&mut self, id: u32, timer: u16, period: &Amount) -> Next {
        let task = &mut self.work.tasks[id as usize];
        let timer = usize::from(timer);
        if task.timers.len() <= timer {
            task.timers.resize(timer + 1, 0);
        }
        task.timers[timer] = task.timers[timer].saturating_add(task.stream.draw(period).max(1));
        let at_ns = task.created_at_ns.saturating_add(task.timers[timer]);
        task.ideal_ns = task.ideal_ns.max(task.ideal_created_ns + task.timers[timer] as f64);
        self.next_job(id, at_ns, mean_ns(*period) as u64);
        if at_ns <= self.time.now_ns {
            return Next::On;
        }
        self.sleep_until(id, at_ns)
    }

    fn fork(&mut self, parent: u32, program: u32, count: u32) {
        for _ in 0..count {
            let (owner, key) = self.work.bear(parent, program);
            let task = &self.work.tasks[parent as usize];
            let (cpu, ideal_ns) = (task.on_cpu.unwrap_or(task.last_cpu), task.ideal_ns);
            self.spawn(program, owner, key, cpu, ideal_ns);
        }
    }

    /// Creates a task, runnable at once.
    pub(super) fn spawn(&mut self, program: u32, owner: Owner, key: u64, near_cpu: u32, ideal_ns: f64) {
        let (id, generation) = self.work.new_slot();
        let about = &self.workload.programs[program as usize];
        let serial = self.stats.tasks as u32;
        self.stats.tasks += 1;
        self.stats.app_began_ns[usize::from(about.app)].get_or_insert(self.time.now_ns);
        if self.trace.wanted() {
            self.trace.task_names.push(about.name.clone());
        }
        let task = Task {
            policy: Box::new(lop_policy::Task::new(id, lop_policy::weight_of_nice(about.nice))),
            program,
            app: about.app,
            generation,
            serial,
            owner,
            state: State::Blocked,
            on_cpu: None,
            last_cpu: near_cpu,
            has_run: false,
            pc: 0,
            remaining: 0.0,
            class: 0,
            waits_for: None,
            spinning: false,
            stalled: false,
            granted: false,
            spin_left_ns: u64::MAX,
            notifies: false,
            flag_raised: false,
            repeats: Vec::new(),
            children: Vec::<Children>::new(),
            born: 0,
            key,
            stream: Stream::new(key),
            woken_at_ns: None,
            created_at_ns: self.time.now_ns,
            job_began_ns: self.time.now_ns,
            timer_ns: 0,
            job_has_step: false,
            clocked: matches!(owner, Owner::Start(start) if self.workload.starts[start as usize].arrivals.is_some()),
            timers: Vec::new(),
            in_loop: None,
            ideal_ns,
            ideal_created_ns: ideal_ns,
            held: Vec::new(),
            waited_for: false,
            utilisation: super::governor::FIRST_UTILISATION,
            utilisation_at_ns: self.time.now_ns,
            counters: Counters::declared(self.workload.apps[usize::from(about.app)].memory_class),
        };
        self.work.add(id, task);
        S::created(self, id);
        self.make_runnable(id);
    }

    /// A task that is new, sleeping or blocked becomes runnable.
    pub(super) fn make_runnable(&mut self, id: u32) {
        let now_ns = self.time.now_ns;
        let waker = self.waker.and_then(|cpu| self.cores.cpus[cpu].task);
        let clock_ns = match waker {
            _ if self.work.tasks[id as usize].state == State::Sleeping => now_ns,
            Some(waker) => S::clock_of(self, waker),
            None => 0,
        };
        let task = &mut self.work.tasks[id as usize];
        task.policy.clock_ns = clock_ns;
        task.state = State::Runnable;
        task.waits_for = None;
        task.counters.active(true, now_ns);
        task.woken_at_ns = Some(now_ns);
        self.work.progressing += 1;
        self.stats.wakeups += 1;
        self.place(id);
    }

    /// Ends the task's wait.
    fn grant(&mut self, id: u32) {
        let task = &mut self.work.tasks[id as usize];
        if !task.spinning {
            self.make_runnable(id);
            return;
        }
        task.granted = true;
        task.spin_left_ns = u64::MAX;
        self.work.progressing += 1;
        let stalled = std::mem::replace(&mut task.stalled, false);
        if let Some(cpu) = task.on_cpu {
            self.settle(cpu as usize);
            self.reschedule(cpu as usize);
            if stalled {
                self.siblings_go_on(cpu as usize);
            }
        }
    }

    /// The task waits, off the CPU or spinning on it.
    fn wait(&mut self, id: u32, what: WaitsFor, how: Waiting) -> Next {
        self.work.progressing -= 1;
        let task = &mut self.work.tasks[id as usize];
        task.waits_for = Some(what);
        let limit_ns = match how {
            Waiting::Block => {
                task.state = State::Blocked;
                return Next::Leave(Leaving::Blocked);
            }
            Waiting::Spin | Waiting::Stall => u64::MAX,
            Waiting::SpinThenBlock { limit_ns } => limit_ns,
            Waiting::SpinThenNotify { after_ns } => after_ns,
        };
        task.notifies = matches!(how, Waiting::SpinThenNotify { .. });
        task.spinning = true;
        task.granted = false;
        task.spin_left_ns = limit_ns;
        task.stalled = how == Waiting::Stall;
        if let Some(cpu) = task.on_cpu.filter(|_| task.stalled) {
            self.siblings_go_on(cpu as usize);
        }
        Next::Spin
    }

    fn lock(&mut self, id: u32, m: u32) -> Next {
        let mutex = &mut self.work.mutexes[m as usize];
        if mutex.owner.is_none() {
            mutex.owner = Some(id);
            self.work.tasks[id as usize].held.push(m);
            return Next::On;
        }
        let owner = mutex.owner;
        mutex.queue.push_back(id);
        if let Some(owner) = owner {
            self.holder_is_seen(owner);
        }
        let next = self.wait(id, WaitsFor::Mutex(m), self.workload.mutexes[m as usize].waiting);
        if self.work.locks_itself_out(id) {
            self.failure = Some(self.work.deadlock(self.time.now_ns));
        }
        next
    }

    /// Hands the mutex to the task that has waited longest.
    fn unlock(&mut self, id: u32, m: u32) {
        self.work.tasks[id as usize].held.retain(|&held| held != m);
        let mutex = &mut self.work.mutexes[m as usize];
        mutex.owner = mutex.queue.pop_front();
        let next = mutex.owner;
        self.holder_is_seen(id);
        if let Some(next) = next {
            self.work.tasks[next as usize].held.push(m);
            self.holder_is_seen(next);
            self.grant(next);
        }
    }

    fn holder_is_seen(&mut self, id: u32) {
        if let Some(waited_for) = self.work.holder_changes(id) {
            S::waited_for(self, id, waited_for);
        }
    }

    fn come_to_barrier(&mut self, id: u32, b: u32) -> Next {
        let about = &self.workload.barriers[b as usize];
        let barrier = &mut self.work.barriers[b as usize];
        barrier.users.insert(self.work.tasks[id as usize].serial);
        if barrier.waiting.len() as u32 + 1 < about.parties {
            barrier.waiting.push(id);
            return self.wait(id, WaitsFor::Barrier(b), about.waiting);
        }
        let others = std::mem::take(&mut self.work.barriers[b as usize].waiting);
        self.work.ideal_meet(id, &others);
        for other in others {
            self.grant(other);
        }
        Next::On
    }

    fn wait_condition(&mut self, id: u32, c: u32, mutex: Option<u32>) -> Next {
        let condition = &mut self.work.conditions[c as usize];
        if condition.kept > 0 {
            condition.kept -= 1;
            return Next::On;
        }
        condition.queue.push_back((id, mutex));
        if let Some(m) = mutex {
            self.unlock(id, m);
        }
        self.wait(id, WaitsFor::Condition(c), self.workload.conditions[c as usize].waiting)
    }

    fn signal(&mut self, c: u32, all: bool) {
        loop {
            let condition = &mut self.work.conditions[c as usize];
            let Some((id, mutex)) = condition.queue.pop_front() else {
                if !all && self.workload.conditions[c as usize].counting {
                    condition.kept += 1;
                }
                return;
            };
            self.regain(id, mutex);
            if !all {
                return;
            }
        }
    }

    /// A task that a condition woke goes on once it holds its mutex again.
    fn regain(&mut self, id: u32, mutex: Option<u32>) {
        let Some(m) = mutex else { return self.grant(id) };
        let state = &mut self.work.mutexes[m as usize];
        if state.owner.is_none() {
            state.owner = Some(id);
            self.work.tasks[id as usize].held.push(m);
            return self.grant(id);
        }
        let owner = state.owner;
        state.queue.push_back(id);
        self.work.tasks[id as usize].waits_for = Some(WaitsFor::Mutex(m));
        if let Some(owner) = owner {
            self.holder_is_seen(owner);
        }
    }

    fn take_chunk(&mut self, id: u32, l: u32) -> Next {
        let about = &self.workload.loops[l as usize];
        let task = &mut self.work.tasks[id as usize];
        let first = task.in_loop != Some(l);
        let iterations = self.work.loops[l as usize].take(about, first);
        if iterations == 0 {
            task.in_loop = None;
            self.work.loops[l as usize].leave(about);
            return Next::On;
        }
        task.in_loop = Some(l);
        task.pc -= 1;
        task.class = about.class;
        task.remaining = iterations as f64 * about.work_ns as f64;
        self.work.ideal_chunk(id, l, &self.rates);
        Next::Work
    }

    fn join(&mut self, id: u32, join: Join) -> Next {
        if self.work.take_joined(id, join) {
            return Next::On;
        }
        let what = match join {
            Join::All => WaitsFor::AllChildren,
            Join::Any => WaitsFor::AnyChild,
            Join::Program(p) => WaitsFor::Program(p),
        };
        self.wait(id, what, Waiting::Block)
    }

    fn exit(&mut self, id: u32) -> Next {
        let task = &mut self.work.tasks[id as usize];
        task.state = State::Exited;
        self.end_job(id);
        self.work.progressing -= 1;
        Next::Leave(Leaving::Exited)
    }

    /// An exited task has left its CPU: frees it, and ends the waits for it.
    pub(super) fn reap(&mut self, id: u32) {
        self.work.remove(id, self.time.now_ns);
        let task = &self.work.tasks[id as usize];
        let (owner, program, cpu) = (task.owner, task.program, task.last_cpu);
        self.stats.app_ended_ns[usize::from(task.app)] = Some(self.time.now_ns);
        let ideal_ns = task.ideal_ns;
        match owner {
            Owner::Start(start) => {
                self.work.start_task_exits(start, ideal_ns);
                self.begin_followers(start);
            }
            Owner::Parent { task, generation } => {
                if self.work.child_exits((task, generation), program, ideal_ns) {
                    self.grant(task);
                }
            }
            Owner::Item { pool, item, stage } => self.stage_exits((pool, item, stage), cpu, ideal_ns),
            Owner::Helper { pool } => {
                let state = &mut self.work.pools[pool as usize];
                state.helpers -= 1;
                state.ideal_done_ns = state.ideal_done_ns.max(ideal_ns);
                self.finish_pool(pool);
            }
        }
    }

    pub(super) fn schedule_start(&mut self, start: u32) {
        let delay_ns = self.work.draw_start(start);
        self.time.after(delay_ns, Kind::Start, start);
    }

    /// A start comes due: schedules its next arrival, and creates its tasks.
    pub(super) fn start_comes_due(&mut self, start: u32) {
        let arrival = self.work.arrive(start);
        if let Some(delay_ns) = arrival.next_in_ns {
            self.time.after(delay_ns, Kind::Start, start);
        }
        let about = &self.workload.starts[start as usize];
        for number in 0..about.count {
            let (cpu, key) = (
                number % self.cores.cpus.len() as u32,
                child_key(arrival.key, u64::from(number)),
            );
            self.spawn(about.program, Owner::Start(start), key, cpu, arrival.ideal_ns);
        }
        self.begin_followers(start);
    }

    fn begin_followers(&mut self, start: u32) {
        for follower in self.work.followers(start) {
            self.schedule_start(follower);
        }
    }

    fn start_pool(&mut self, id: u32, pool: u32) -> Next {
        if self.work.pools[pool as usize].running {
            let name = &self.workload.pools[pool as usize].name;
            self.failure = Some(SimulationError::Mismatch(format!(
                "pool '{name}' is started while it still runs; expected one task at a time to start it"
            )));
            return Next::Spin;
        }
        self.work.pools[pool as usize].begin(
            &self.workload.pools[pool as usize],
            id,
            self.work.tasks[id as usize].ideal_ns,
        );
        let cpu = self.work.tasks[id as usize].last_cpu;
        // The task waits before its items start, so they may run on its CPU.
        let next = self.wait(id, WaitsFor::Pool(pool), Waiting::Block);
        self.fill_slots(pool, cpu);
        next
    }

    /// Starts ready items while slots are free.
    fn fill_slots(&mut self, pool: u32, cpu: u32) {
        loop {
            let state = &mut self.work.pools[pool as usize];
            if state.slots_free == 0 {
                return;
            }
            let Some(item) = state.ready.pop_first() else { return };
            state.slots_free -= 1;
            let helper = self.workload.pools[pool as usize].items[item as usize].helper;
            let ideal_ns = state.ideal_item_ns[item as usize];
            self.start_stage((pool, item, 0), cpu, ideal_ns);
            if let Some(program) = helper {
                self.work.pools[pool as usize].helpers += 1;
                let key = child_key(self.work.pool_key(pool), 1 << 40 | u64::from(item));
                self.spawn(program, Owner::Helper { pool }, key, cpu, ideal_ns);
            }
        }
    }

    fn start_stage(&mut self, (pool, item, stage): (u32, u32, u32), cpu: u32, ideal_ns: f64) {
        let program = self.workload.pools[pool as usize].items[item as usize].stages[stage as usize];
        let key = child_key(child_key(self.work.pool_key(pool), u64::from(item)), u64::from(stage));
        self.spawn(program, Owner::Item { pool, item, stage }, key, cpu, ideal_ns);
    }

    fn stage_exits(&mut self, (pool, item, stage): (u32, u32, u32), cpu: u32, ideal_ns: f64) {
        let stages = self.workload.pools[pool as usize].items[item as usize].stages.len();
        if (stage as usize) + 1 < stages {
            self.start_stage((pool, item, stage + 1), cpu, ideal_ns);
            return;
        }
        self.work.pools[pool as usize].item_done(item, ideal_ns);
        self.fill_slots(pool, cpu);
        self.finish_pool(pool);
    }

    fn finish_pool(&mut self, pool: u32) {
        let state = &mut self.work.pools[pool as usize];
        if !state.done() {
            return;
        }
        state.running = false;
        let ideal_ns = state.ideal_done_ns;
        if let Some(waiter) = state.waiter.take() {
            let task = &mut self.work.tasks[waiter as usize];
            task.ideal_ns = task.ideal_ns.max(ideal_ns);
            self.grant(waiter);
        }
    }
}
