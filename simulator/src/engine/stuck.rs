// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlocks: whether the workload is stuck, and who waits for whom.

use super::task::{State, Task, WaitsFor};
use super::work::Work;
use crate::workload::Step;
use crate::SimulationError;

impl Work<'_> {
    /// No task makes progress, and no start will bring one that does.
    pub fn is_stuck(&self) -> bool {
        self.live > 0 && self.progressing == 0 && self.pending_starts == 0 && !self.spinner_will_block()
    }

    /// A task whose wait was granted goes on, and one that spins for a limited time will block.
    fn spinner_will_block(&self) -> bool {
        self.tasks
            .iter()
            .any(|t| t.state == State::Runnable && (t.granted || t.spin_left_ns != u64::MAX))
    }

    /// Who waits for whom, one line for each task.
    pub fn deadlock(&self, at_ns: u64) -> SimulationError {
        let stuck = self
            .tasks
            .iter()
            .filter(|t| t.state != State::Exited && t.waits_for.is_some());
        let waits = stuck.map(|task| {
            let name = self.task_name(task);
            let how = if task.spinning { "spins on" } else { "waits for" };
            format!("{name} {how} {}", self.explain(task))
        });
        SimulationError::Deadlock {
            at_ns,
            waits: waits.take(20).collect(),
        }
    }

    pub fn task_name(&self, task: &Task) -> String {
        format!("{}#{}", self.workload.programs[task.program as usize].name, task.serial)
    }

    /// Tasks that could end the wait: their programs have such a step, and they do not wait for the same thing.
    fn others(&self, has: impl Fn(&Step) -> bool, waits_for: Option<WaitsFor>) -> String {
        let could = |task: &&Task| {
            let steps = &self.workload.programs[task.program as usize].steps;
            task.waits_for != waits_for && steps.iter().any(&has)
        };
        let named = self.tasks.iter().filter(could).take(5).map(|task| {
            let ended = if task.state == State::Exited {
                " (has ended)"
            } else {
                ""
            };
            format!("{}{ended}", self.task_name(task))
        });
        match named.collect::<Vec<_>>() {
            none if none.is_empty() => ", and no other task could".to_string(),
            some => format!(", of {}", some.join(", ")),
        }
    }

    fn explain(&self, task: &Task) -> String {
        let holder = |id: u32| self.task_name(&self.tasks[id as usize]);
        let w = self.workload;
        match task.waits_for {
            Some(WaitsFor::Mutex(m)) => {
                let name = &w.mutexes[m as usize].name;
                match self.mutexes[m as usize].owner {
                    Some(owner) => format!("mutex '{name}' held by {}", holder(owner)),
                    None => format!("mutex '{name}'"),
                }
            }
            Some(WaitsFor::Barrier(b)) => {
                let about = &w.barriers[b as usize];
                let came = self.barriers[b as usize].waiting.len();
                let absent = self.others(|step| *step == Step::Barrier(b), task.waits_for);
                format!(
                    "barrier '{}' where {came} of {} have come{absent}",
                    about.name, about.parties
                )
            }
            Some(WaitsFor::Condition(c)) => {
                let absent = self.others(|s| *s == Step::Signal(c) || *s == Step::Broadcast(c), task.waits_for);
                format!("a signal on condition '{}'{absent}", w.conditions[c as usize].name)
            }
            Some(WaitsFor::AllChildren | WaitsFor::AnyChild) => {
                format!(
                    "its children ({} live)",
                    task.children.iter().map(|c| c.live).sum::<u32>()
                )
            }
            Some(WaitsFor::Program(p)) => format!("its children of '{}'", w.programs[p as usize].name),
            Some(WaitsFor::Pool(p)) => format!("pool '{}'", w.pools[p as usize].name),
            None => "a CPU that it may run on".to_string(),
        }
    }
}
