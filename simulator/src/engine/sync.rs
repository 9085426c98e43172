// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of barriers, mutexes, conditions, parallel loops and pools.

use crate::workload::{ParallelLoop, Pool, Schedule};
use std::collections::{BTreeSet, VecDeque};

#[derive(Debug, Default)]
pub(super) struct BarrierState {
    pub waiting: Vec<u32>,
    /// Serial numbers of all tasks that have come here.
    pub users: BTreeSet<u32>,
}

#[derive(Debug, Default)]
pub(super) struct MutexState {
    pub owner: Option<u32>,
    pub queue: VecDeque<u32>,
}

#[derive(Debug, Default)]
pub(super) struct ConditionState {
    /// Signals kept for later (counting conditions only).
    pub kept: u64,
    /// Waiting tasks, each with the mutex that it takes again once woken.
    pub queue: VecDeque<(u32, Option<u32>)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LoopState {
    next: u64,
    /// In this round: tasks that came, and those that left as no iterations remained.
    arrived: u32,
    left: u32,
    /// More tasks came than there are parties, so the schedule decides which of them get a share.
    pub overfull: bool,
}

impl LoopState {
    /// Iterations of a task's next chunk, 0 if there is none for it. `first`: the task has just come to the loop.
    pub fn take(&mut self, about: &ParallelLoop, first: bool) -> u64 {
        let place = u64::from(self.arrived);
        self.arrived += u32::from(first);
        self.overfull |= self.arrived > about.parties;
        let parties = u64::from(about.parties.max(1));
        let remaining = about.iterations - self.next.min(about.iterations);
        let chunk = match about.schedule {
            Schedule::Static if !first => 0,
            // With more tasks than parties the last ones get nothing.
            Schedule::Static if place >= parties => 0,
            Schedule::Static => about.iterations / parties + u64::from(place < about.iterations % parties),
            Schedule::Dynamic { chunk } => chunk.max(1),
            Schedule::Guided { chunk } => (remaining / (2 * parties)).max(chunk.max(1)),
        };
        let taken = chunk.min(remaining);
        self.next += taken;
        taken
    }
    /// A task leaves. Once all parties have left, the loop can run again.
    pub fn leave(&mut self, about: &ParallelLoop) {
        self.left += 1;
        if self.left >= about.parties {
            *self = Self {
                overfull: self.overfull,
                ..Self::default()
            };
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PoolState {
    pub running: bool,
    pub slots_free: u32,
    /// Items that wait for no other item, in order.
    pub ready: BTreeSet<u32>,
    missing: Vec<u32>,
    successors: Vec<Vec<u32>>,
    pub unfinished: u32,
    pub helpers: u32,
    pub waiter: Option<u32>,
    /// In the ideal world: when each item can start at the earliest, and when all are done.
    pub ideal_item_ns: Vec<f64>,
    pub ideal_done_ns: f64,
    /// How often the pool was started: each start has its own draws.
    pub round: u64,
}

impl PoolState {
    pub fn begin(&mut self, about: &Pool, waiter: u32, ideal_ns: f64) {
        let mut successors = vec![Vec::new(); about.items.len()];
        for (index, item) in about.items.iter().enumerate() {
            for &before in &item.after {
                successors[before as usize].push(index as u32);
            }
        }
        *self = Self {
            running: true,
            slots_free: about.slots,
            ready: (0..about.items.len() as u32)
                .filter(|&i| about.items[i as usize].after.is_empty())
                .collect(),
            missing: about.items.iter().map(|item| item.after.len() as u32).collect(),
            successors,
            unfinished: about.items.len() as u32,
            helpers: 0,
            waiter: Some(waiter),
            ideal_item_ns: vec![ideal_ns; about.items.len()],
            ideal_done_ns: ideal_ns,
            round: self.round + 1,
        };
    }
    pub fn item_done(&mut self, item: u32, ideal_ns: f64) {
        self.ideal_done_ns = self.ideal_done_ns.max(ideal_ns);
        self.unfinished -= 1;
        self.slots_free += 1;
        for at in 0..self.successors[item as usize].len() {
            let next = self.successors[item as usize][at];
            self.missing[next as usize] -= 1;
            let may_start = &mut self.ideal_item_ns[next as usize];
            *may_start = may_start.max(ideal_ns);
            if self.missing[next as usize] == 0 {
                self.ready.insert(next);
            }
        }
    }
    pub fn done(&self) -> bool {
        self.running && self.unfinished == 0 && self.helpers == 0
    }
}

/// Progress of one of the workload's starts.
#[derive(Debug, Default, Clone)]
pub(super) struct StartState {
    pub missing: u32,
    pub live: u64,
    pub arrivals: u64,
    /// More arrivals will come.
    pub open: bool,
    /// In the ideal world: when the next arrival is due, and the latest exit.
    pub ideal_due_ns: f64,
    pub ideal_exit_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_loop(schedule: Schedule) -> ParallelLoop {
        ParallelLoop {
            name: "l".into(),
            iterations: 50,
            work_ns: 1,
            class: 0,
            parties: 8,
            schedule,
        }
    }

    #[test]
    fn static_parts_of_50_over_8_are_7_7_6_6_6_6_6_6() {
        let about = a_loop(Schedule::Static);
        let mut state = LoopState::default();
        let parts: Vec<u64> = (0..8).map(|_| state.take(&about, true)).collect();
        assert_eq!(parts, [7, 7, 6, 6, 6, 6, 6, 6]);
        assert_eq!(state.take(&about, false), 0);
    }

    #[test]
    fn dynamic_and_guided_hand_out_all_iterations_once() {
        for schedule in [Schedule::Dynamic { chunk: 3 }, Schedule::Guided { chunk: 1 }] {
            let about = a_loop(schedule);
            let mut state = LoopState::default();
            let mut total = 0;
            loop {
                let chunk = state.take(&about, true);
                if chunk == 0 {
                    break;
                }
                total += chunk;
            }
            assert_eq!(total, 50);
        }
    }

    #[test]
    fn guided_starts_with_a_sixteenth() {
        assert_eq!(
            LoopState::default().take(&a_loop(Schedule::Guided { chunk: 1 }), true),
            3
        );
    }
}
