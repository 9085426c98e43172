// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of the workload: its tasks, and the objects on which they synchronise.

use super::ideal::{after_join, Ideal};
use super::sync::{BarrierState, ConditionState, LoopState, MutexState, PoolState, StartState};
use super::task::{Owner, State, Task, WaitsFor};
use crate::random::{child_key, Stream};
use crate::workload::{Amount, Join, Waiting, Workload};

pub(super) struct Work<'a> {
    pub workload: &'a Workload,
    pub tasks: Vec<Task>,
    /// Slots of tasks that have exited.
    free: Vec<u32>,
    pub barriers: Vec<BarrierState>,
    pub mutexes: Vec<MutexState>,
    pub conditions: Vec<ConditionState>,
    pub loops: Vec<LoopState>,
    pub pools: Vec<PoolState>,
    pub starts: Vec<StartState>,
    /// By start: the starts that wait for it.
    followers: Vec<Vec<u32>>,
    start_streams: Vec<Stream>,
    seed_key: u64,
    pub live: u64,
    /// Tasks that need no other task to go on: runnable and not spinning, or sleeping.
    pub progressing: u64,
    /// Starts whose next tasks are scheduled.
    pub pending_starts: u64,
    pub last_exit_ns: u64,
    pub ideal: Ideal,
}

impl<'a> Work<'a> {
    pub fn new(workload: &'a Workload, seed: u64) -> Self {
        let seed_key = child_key(0x6c_6f70, seed);
        let starts: Vec<StartState> = (workload.starts.iter())
            .map(|start| StartState {
                missing: start.after.len() as u32,
                open: true,
                ..StartState::default()
            })
            .collect();
        let mut followers = vec![Vec::new(); starts.len()];
        for (index, start) in workload.starts.iter().enumerate() {
            for &before in &start.after {
                followers[before as usize].push(index as u32);
            }
        }
        let stream = |start| Stream::new(child_key(seed_key ^ 1, start as u64));
        Self {
            workload,
            tasks: Vec::new(),
            free: Vec::new(),
            barriers: workload.barriers.iter().map(|_| BarrierState::default()).collect(),
            mutexes: workload.mutexes.iter().map(|_| MutexState::default()).collect(),
            conditions: workload.conditions.iter().map(|_| ConditionState::default()).collect(),
            loops: vec![LoopState::default(); workload.loops.len()],
            pools: workload.pools.iter().map(|_| PoolState::default()).collect(),
            start_streams: (0..starts.len()).map(stream).collect(),
            starts,
            followers,
            seed_key,
            live: 0,
            progressing: 0,
            pending_starts: 0,
            last_exit_ns: 0,
            ideal: Ideal::new(workload),
        }
    }

    pub fn is_over(&self) -> bool {
        self.live == 0 && self.pending_starts == 0
    }

    /// Some tasks may stall.
    pub fn can_stall(&self) -> bool {
        let mutexes = self.workload.mutexes.iter().map(|mutex| mutex.waiting);
        let barriers = self.workload.barriers.iter().map(|barrier| barrier.waiting);
        let conditions = self.workload.conditions.iter().map(|condition| condition.waiting);
        (mutexes.chain(barriers).chain(conditions)).any(|waiting| waiting == Waiting::Stall)
    }

    /// The slot of the next task, and its generation there.
    pub fn new_slot(&mut self) -> (u32, u32) {
        match self.free.pop() {
            Some(id) => (id, self.tasks[id as usize].generation.wrapping_add(1)),
            None => (self.tasks.len() as u32, 0),
        }
    }
    pub fn add(&mut self, id: u32, task: Task) {
        match self.tasks.get_mut(id as usize) {
            Some(slot) => *slot = task,
            None => self.tasks.push(task),
        }
        self.live += 1;
    }
    /// Frees the slot of a task that exited and left its CPU.
    pub fn remove(&mut self, id: u32, now_ns: u64) {
        self.live -= 1;
        self.last_exit_ns = now_ns;
        self.free.push(id);
        self.ideal.exited(self.tasks[id as usize].ideal_ns);
    }

    /// Counts a new child of the parent. Returns the child's owner and key.
    pub fn bear(&mut self, parent: u32, program: u32) -> (Owner, u64) {
        let task = &mut self.tasks[parent as usize];
        let key = child_key(task.key, task.born);
        task.born += 1;
        task.children_of(program).live += 1;
        let owner = Owner::Parent {
            task: parent,
            generation: task.generation,
        };
        (owner, key)
    }

    /// Whether the holders of mutexes wait for one another in a cycle that includes this task.
    pub fn locks_itself_out(&self, id: u32) -> bool {
        let mut task = id;
        for _ in 0..=self.mutexes.len() {
            let Some(WaitsFor::Mutex(m)) = self.tasks[task as usize].waits_for else {
                return false;
            };
            let Some(owner) = self.mutexes[m as usize].owner else {
                return false;
            };
            if owner == id {
                return true;
            }
            task = owner;
        }
        false
    }

    /// Whether others wait for a mutex that the task holds, as a kernel sees it from futexes; `None`: unchanged.
    pub fn holder_changes(&mut self, id: u32) -> Option<bool> {
        let task = &mut self.tasks[id as usize];
        let waited_for = task.held.iter().any(|&m| !self.mutexes[m as usize].queue.is_empty());
        let changed = std::mem::replace(&mut task.waited_for, waited_for) != waited_for;
        changed.then_some(waited_for)
    }

    /// If the join is satisfied, marks the exited children as waited for. A join without children is satisfied.
    pub fn take_joined(&mut self, id: u32, join: Join) -> bool {
        let task = &mut self.tasks[id as usize];
        let children = &mut task.children;
        let joined = match join {
            Join::All => {
                let done = children.iter().all(|c| c.live == 0);
                children.iter_mut().filter(|_| done).for_each(|c| c.unwaited = 0);
                done
            }
            Join::Any => match children.iter_mut().find(|c| c.unwaited > 0) {
                Some(of_program) => {
                    of_program.unwaited -= 1;
                    true
                }
                None => children.iter().all(|c| c.live == 0),
            },
            Join::Program(p) => match children.iter_mut().find(|c| c.program == p) {
                Some(of_program) if of_program.live > 0 => false,
                Some(of_program) => {
                    of_program.unwaited = 0;
                    true
                }
                None => true,
            },
        };
        if joined {
            task.ideal_ns = task.ideal_ns.max(after_join(children, join));
        }
        joined
    }

    /// A child of the parent exits. Returns whether that ends the parent's wait.
    pub fn child_exits(&mut self, (parent, generation): (u32, u32), program: u32, ideal_ns: f64) -> bool {
        let task = &mut self.tasks[parent as usize];
        if task.generation != generation || task.state == State::Exited {
            return false;
        }
        let of_program = task.children_of(program);
        of_program.live -= 1;
        of_program.unwaited += 1;
        of_program.ideal_exit_ns = of_program.ideal_exit_ns.max(ideal_ns);
        let join = match task.waits_for {
            Some(WaitsFor::AllChildren) => Join::All,
            Some(WaitsFor::AnyChild) => Join::Any,
            Some(WaitsFor::Program(p)) => Join::Program(p),
            _ => return false,
        };
        self.take_joined(parent, join)
    }

    /// Draws the time until a start begins, from the start's own stream.
    pub fn draw_start(&mut self, start: u32) -> u64 {
        let at = self.workload.starts[start as usize].at;
        self.draw_due(start, &at)
    }
    fn draw_due(&mut self, start: u32, amount: &Amount) -> u64 {
        let delay_ns = self.start_streams[start as usize].draw(amount);
        self.starts[start as usize].ideal_due_ns += delay_ns as f64;
        self.pending_starts += 1;
        delay_ns
    }
    /// A start comes due. Draws its next arrival, if there is one.
    pub fn arrive(&mut self, start: u32) -> Arrival {
        self.pending_starts -= 1;
        let about = &self.workload.starts[start as usize];
        let state = &mut self.starts[start as usize];
        state.arrivals += 1;
        state.live += u64::from(about.count);
        let (arrival, ideal_ns) = (state.arrivals, state.ideal_due_ns);
        let more = about.arrivals.filter(|a| a.limit.is_none_or(|limit| arrival < limit));
        state.open = more.is_some();
        Arrival {
            key: child_key(child_key(self.seed_key, u64::from(start)), arrival),
            ideal_ns,
            next_in_ns: more.map(|arrivals| self.draw_due(start, &arrivals.every)),
        }
    }
    /// A task of the start exits.
    pub fn start_task_exits(&mut self, start: u32, ideal_ns: f64) {
        let state = &mut self.starts[start as usize];
        state.live -= 1;
        state.ideal_exit_ns = state.ideal_exit_ns.max(ideal_ns);
    }
    /// If a start is done, the starts that waited for it and now for no other.
    pub fn followers(&mut self, start: u32) -> Vec<u32> {
        let state = &self.starts[start as usize];
        if state.live > 0 || state.open {
            return vec![];
        }
        let ideal_ns = state.ideal_exit_ns;
        let mut free = self.followers[start as usize].clone();
        free.retain(|&follower| {
            let next = &mut self.starts[follower as usize];
            next.missing -= 1;
            next.ideal_due_ns = next.ideal_due_ns.max(ideal_ns);
            next.missing == 0
        });
        free
    }

    pub fn pool_key(&self, pool: u32) -> u64 {
        child_key(
            child_key(self.seed_key ^ 2, u64::from(pool)),
            self.pools[pool as usize].round,
        )
    }
}

/// The tasks of a start that begin together.
pub(super) struct Arrival {
    /// Key from which those of the tasks derive.
    pub key: u64,
    pub ideal_ns: f64,
    /// Time until the next arrival, if there is one.
    pub next_in_ns: Option<u64>,
}
