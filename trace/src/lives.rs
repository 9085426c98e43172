// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns events into lives: when each task ran, was ready or was blocked, and what it did meanwhile.

use crate::event::{Trace, What};
use std::collections::HashMap;

/// Longest time that the end of a task may last (giving back its memory, which the kernel does not record); a longer time has
/// another cause.
const MAX_ENDING_NS: u64 = 20_000_000;
/// A task may be woken this long before it has left its CPU.
const EARLY_WAKE_NS: u64 = 100_000;

/// One task from its birth, or from when it was first seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    pub task: u32,
    /// Its last name; that of its parent if it has none.
    pub name: String,
    /// Index of the task that forked it; `None` if it existed before, or if this is not known.
    pub parent: Option<usize>,
    /// Whether it is a thread of its parent's process.
    pub thread: bool,
    pub born_ns: u64,
    /// When it began to exit; `None` if it outlived the recording.
    pub exit_ns: Option<u64>,
    /// The end of its last run.
    pub end_ns: u64,
    /// In order of time.
    pub moments: Vec<Moment>,
}

/// A stretch or a point of a task's life. Other tasks are given by their index.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    Run {
        from_ns: u64,
        to_ns: u64,
    },
    /// Runnable, without a CPU.
    Ready {
        from_ns: u64,
        to_ns: u64,
    },
    /// Blocked, then ready after it was woken, until it ran again.
    Wait {
        from_ns: u64,
        to_ns: u64,
        waker: Option<Waker>,
    },
    Fork {
        at_ns: u64,
        child: usize,
    },
    Exec {
        at_ns: u64,
    },
    Woke {
        at_ns: u64,
        whom: usize,
    },
}

/// The recorded waker that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waker {
    pub at_ns: u64,
    /// `None` for an interrupt or a task that was not recorded.
    pub task: Option<usize>,
}

/// Lives in order of birth. Accepts any events: a contradiction (a task on two CPUs) ends the earlier state.
pub fn lives(trace: &Trace) -> Vec<Life> {
    let mut builder = Builder::default();
    for event in &trace.events {
        builder.event(event.at_ns, event.cpu, &event.what);
        builder.seen_ns.insert(event.cpu, event.at_ns);
    }
    let end_ns = trace
        .events
        .last()
        .map_or(0, |event| event.at_ns.max(trace.header.wall_ns));
    builder.finish(end_ns)
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    /// Not seen yet.
    Unknown,
    Cpu {
        since_ns: u64,
    },
    Ready {
        since_ns: u64,
    },
    Blocked {
        since_ns: u64,
        waker: Option<Waker>,
    },
    Gone,
}

#[derive(Default)]
struct Builder {
    lives: Vec<Life>,
    at: Vec<At>,
    early: Vec<Option<Waker>>,
    /// For tasks that exit: when their CPU went to another task.
    freed_ns: Vec<Option<u64>>,
    by_task: HashMap<u32, usize>,
    on_cpu: HashMap<u16, usize>,
    /// The last event of each CPU.
    seen_ns: HashMap<u16, u64>,
}

impl Builder {
    fn event(&mut self, at_ns: u64, cpu: u16, what: &What) {
        match *what {
            What::In { task } => self.comes(task, cpu, at_ns),
            What::Blocked { task } => {
                if let Some(life) = self.leaves(task, cpu, at_ns) {
                    let waker = self.early[life].take();
                    let waker = waker.filter(|waker| at_ns - waker.at_ns <= EARLY_WAKE_NS);
                    self.at[life] = At::Blocked { since_ns: at_ns, waker };
                }
            }
            What::Preempted { task } => {
                if let Some(life) = self.leaves(task, cpu, at_ns) {
                    self.at[life] = At::Ready { since_ns: at_ns };
                }
            }
            What::Fork { parent, child, thread } => self.forks(parent, child, thread, cpu, at_ns),
            What::Exit { task } => {
                if let Some(life) = self.leaves(task, cpu, at_ns) {
                    self.lives[life].exit_ns = Some(at_ns);
                    self.at[life] = At::Gone;
                    self.by_task.remove(&task);
                    self.on_cpu.insert(cpu, life);
                }
            }
            What::Name { task, exec, ref name } => {
                let Some(life) = self.running(task, cpu, at_ns) else {
                    return;
                };
                self.lives[life].name = name.clone();
                if exec {
                    self.point(life, at_ns, Moment::Exec { at_ns });
                }
            }
            What::Wake { waker, woken } => self.wakes(waker, woken, cpu, at_ns),
        }
    }

    fn comes(&mut self, task: u32, cpu: u16, at_ns: u64) {
        self.cpu_goes_to_another(cpu, at_ns);
        if task == 0 {
            return;
        }
        let life = match self.by_task.get(&task) {
            Some(&life) => life,
            None => self.born(task, None, false, at_ns),
        };
        self.close(life, at_ns);
        self.at[life] = At::Cpu { since_ns: at_ns };
        self.on_cpu.insert(cpu, life);
    }

    /// The task that was on this CPU is no longer there.
    fn cpu_goes_to_another(&mut self, cpu: u16, at_ns: u64) {
        let Some(life) = self.on_cpu.remove(&cpu) else { return };
        match self.at[life] {
            At::Gone => {
                self.freed_ns[life].get_or_insert(at_ns);
            }
            At::Cpu { .. } => {
                self.close(life, at_ns);
                self.at[life] = At::Ready { since_ns: at_ns };
            }
            _ => {}
        }
    }

    /// Ends a task's present stretch and notes it.
    fn close(&mut self, life: usize, at_ns: u64) {
        let moment = match self.at[life] {
            At::Unknown | At::Gone => return,
            At::Cpu { since_ns } => Moment::Run {
                from_ns: since_ns,
                to_ns: at_ns,
            },
            At::Ready { since_ns } => Moment::Ready {
                from_ns: since_ns,
                to_ns: at_ns,
            },
            At::Blocked { since_ns, waker } => Moment::Wait {
                from_ns: since_ns,
                to_ns: at_ns,
                waker,
            },
        };
        let about = &mut self.lives[life];
        if matches!(moment, Moment::Run { .. }) {
            about.end_ns = at_ns;
        }
        about.moments.push(moment);
    }

    /// A task that is on a CPU at this time. If its arrival was not seen, it has run since the last event on that CPU.
    fn running(&mut self, task: u32, cpu: u16, at_ns: u64) -> Option<usize> {
        if task == 0 {
            return None;
        }
        let seen_ns = self.seen_ns.get(&cpu).copied().unwrap_or(0);
        let life = match self.by_task.get(&task) {
            Some(&life) => life,
            None => {
                self.cpu_goes_to_another(cpu, at_ns);
                self.born(task, None, false, seen_ns)
            }
        };
        if !matches!(self.at[life], At::Cpu { .. }) {
            let since_ns = seen_ns
                .max(self.lives[life].end_ns)
                .max(self.lives[life].born_ns)
                .min(at_ns);
            self.close(life, since_ns);
            self.at[life] = At::Cpu { since_ns };
            self.on_cpu.insert(cpu, life);
        }
        Some(life)
    }

    /// This task, if it is exiting on this CPU.
    fn at_its_end(&self, task: u32, cpu: u16) -> Option<usize> {
        let life = self.on_cpu.get(&cpu).copied();
        life.filter(|&life| self.at[life] == At::Gone && self.lives[life].task == task)
    }

    /// A task on a CPU leaves it; `None` if it has begun to exit, or is not a task.
    fn leaves(&mut self, task: u32, cpu: u16, at_ns: u64) -> Option<usize> {
        if self.at_its_end(task, cpu).is_some() {
            self.cpu_goes_to_another(cpu, at_ns);
            return None;
        }
        let life = self.running(task, cpu, at_ns)?;
        self.close(life, at_ns);
        self.on_cpu.remove(&cpu);
        Some(life)
    }

    /// Splits the run of a task at a point.
    fn point(&mut self, life: usize, at_ns: u64, moment: Moment) {
        self.close(life, at_ns);
        self.at[life] = At::Cpu { since_ns: at_ns };
        self.lives[life].moments.push(moment);
    }

    fn born(&mut self, task: u32, parent: Option<usize>, thread: bool, at_ns: u64) -> usize {
        let life = self.lives.len();
        self.lives.push(Life {
            task,
            name: parent.map_or_else(String::new, |parent| self.lives[parent].name.clone()),
            parent,
            thread,
            born_ns: at_ns,
            exit_ns: None,
            end_ns: at_ns,
            moments: Vec::new(),
        });
        self.at.push(At::Unknown);
        self.early.push(None);
        self.freed_ns.push(None);
        self.by_task.insert(task, life);
        life
    }

    fn forks(&mut self, parent: u32, child: u32, thread: bool, cpu: u16, at_ns: u64) {
        let parent = self.running(parent, cpu, at_ns);
        if child == 0 {
            return;
        }
        let child = self.born(child, parent, thread, at_ns);
        self.at[child] = At::Ready { since_ns: at_ns };
        if let Some(parent) = parent {
            self.point(parent, at_ns, Moment::Fork { at_ns, child });
        }
    }

    fn wakes(&mut self, waker: u32, woken: u32, cpu: u16, at_ns: u64) {
        let ending = self.at_its_end(waker, cpu);
        let task = match ending {
            None if waker != 0 => self.running(waker, cpu, at_ns),
            _ => ending,
        };
        let Some(&whom) = self.by_task.get(&woken) else { return };
        if task == Some(whom) {
            return;
        }
        let new = Some(Waker { at_ns, task });
        match &mut self.at[whom] {
            At::Blocked { waker, .. } if waker.is_none() => *waker = new,
            At::Cpu { .. } => self.early[whom] = new,
            _ => return,
        }
        if let Some(task) = task.filter(|_| ending.is_none()) {
            self.point(task, at_ns, Moment::Woke { at_ns, whom });
        }
    }

    fn finish(mut self, end_ns: u64) -> Vec<Life> {
        for life in 0..self.lives.len() {
            if matches!(self.at[life], At::Cpu { .. }) {
                self.close(life, end_ns);
            }
        }
        for life in 0..self.lives.len() {
            self.add_ending(life);
        }
        self.lives
    }

    /// Adds the run after the recorded exit: until the CPU went to another task, or until its sleeping parent ran.
    fn add_ending(&mut self, life: usize) {
        let Some(exit_ns) = self.lives[life].exit_ns else {
            return;
        };
        let parent_ns = self.lives[life]
            .parent
            .and_then(|parent| woken_over(&self.lives[parent], exit_ns));
        let end_ns = self.freed_ns[life].into_iter().chain(parent_ns).min();
        if let Some(end_ns) = end_ns.filter(|&end_ns| end_ns - exit_ns <= MAX_ENDING_NS) {
            let about = &mut self.lives[life];
            about.end_ns = end_ns;
            about.moments.push(Moment::Run {
                from_ns: exit_ns,
                to_ns: end_ns,
            });
        }
    }
}

impl Moment {
    /// When it ends.
    pub fn to_ns(&self) -> u64 {
        match *self {
            Self::Run { to_ns, .. } | Self::Ready { to_ns, .. } | Self::Wait { to_ns, .. } => to_ns,
            Self::Fork { at_ns, .. } | Self::Exec { at_ns } | Self::Woke { at_ns, .. } => at_ns,
        }
    }
}

/// When a task that was blocked at this time ran again.
fn woken_over(life: &Life, at_ns: u64) -> Option<u64> {
    let after = life.moments.partition_point(|moment| moment.to_ns() < at_ns);
    let wait = life.moments[after..].iter().find_map(|moment| match *moment {
        Moment::Wait { from_ns, to_ns, .. } => Some((from_ns, to_ns)),
        _ => None,
    });
    wait.filter(|&(from_ns, _)| from_ns <= at_ns).map(|(_, to_ns)| to_ns)
}

#[cfg(test)]
mod tests;
