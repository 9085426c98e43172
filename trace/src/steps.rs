// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns lives into steps: what each task does on any machine, and what it waits for if that is known or can be inferred.
//!
//! - **A child.** A task that was blocked while one of its children ended, and ran within [`LATENCY_NS`] of that end, waited for that
//!   child; if several fit, for the first. If other children are alive, and none has ended earlier without waking it, it waits for
//!   any child, as `make` does; else for this one. If it stayed blocked for longer, it sleeps for the rest.
//! - **A program to begin.** Blocked from right after a fork until the child executed a program: `vfork`.
//! - **A recorded waker.** It waits until that task has got as far as it had then.
//! - **Outside.** Everything else, known or not, becomes a sleep of the recorded length.

use crate::lives::{Life, Moment, Waker};
use std::collections::HashMap;

/// A task that runs this soon after a child's end was waiting for it; allows for a few turns of others on its CPU.
pub const LATENCY_NS: u64 = 10_000_000;
/// How long a parent may still run between a `vfork` and blocking.
const VFORK_NS: u64 = 200_000;

/// One step of a task; other tasks are given by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Run(u64),
    Sleep(u64),
    Fork(usize),
    Join(usize),
    JoinAny,
    /// Waits until this task has released it once more.
    Await(usize),
    Release(usize),
}

/// The steps of all tasks, and statistics of the waits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// One list for each life.
    pub steps: Vec<Vec<Step>>,
    pub waits_for_children: u64,
    /// Waits for a program to begin, or for a task that is known to have woken the waiting one.
    pub waits_for_tasks: u64,
    /// Waits for timers and devices, according to recorded wakers.
    pub waits_for_outside: u64,
    /// Waits with an unknown cause.
    pub waits_unknown: u64,
    /// Total sleep in the last two.
    pub slept_ns: u64,
}

/// The cause that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cause {
    Child { child: usize, any: bool, rest_ns: u64 },
    Task { task: usize, at_ns: u64 },
    Outside { sleep_ns: u64 },
    Unknown { sleep_ns: u64 },
}

/// The steps of these lives.
pub fn steps(lives: &[Life]) -> Plan {
    let mut plan = Plan::default();
    let mut writers: Vec<Writer> = Vec::with_capacity(lives.len());
    let mut releases = Releases::default();
    for life in 0..lives.len() {
        writers.push(Writer::write(lives, life, &mut plan, &mut releases));
    }
    plan.steps = (writers.into_iter().enumerate())
        .map(|(life, writer)| writer.with_releases(life, &mut releases))
        .collect();
    plan
}

/// Points at which a task releases others: task and time, to the released tasks.
type Releases = HashMap<(usize, u64), Vec<usize>>;

/// A step, or a point that may become one.
enum Draft {
    Step(Step),
    Point(u64),
}

struct Writer<'a> {
    lives: &'a [Life],
    drafts: Vec<Draft>,
    /// Children that were forked but not waited for.
    outstanding: Vec<usize>,
    /// Whether it has waited for any of several children.
    takes_any: bool,
    last_fork: Option<(u64, usize)>,
}

impl<'a> Writer<'a> {
    fn write(lives: &'a [Life], life: usize, plan: &mut Plan, releases: &mut Releases) -> Self {
        let mut writer = Self {
            lives,
            drafts: Vec::new(),
            outstanding: Vec::new(),
            takes_any: false,
            last_fork: None,
        };
        for moment in &lives[life].moments {
            match *moment {
                Moment::Run { from_ns, to_ns } => writer.step(Step::Run(to_ns - from_ns)),
                Moment::Ready { .. } => {}
                Moment::Fork { at_ns, child } => writer.fork(at_ns, child),
                Moment::Exec { at_ns } | Moment::Woke { at_ns, .. } => writer.drafts.push(Draft::Point(at_ns)),
                Moment::Wait { from_ns, to_ns, waker } => {
                    let cause = writer.cause(from_ns, to_ns, waker);
                    plan.count(cause);
                    if let Cause::Task { task, at_ns } = cause {
                        releases.entry((task, at_ns)).or_default().push(life);
                    }
                    writer.wait(cause, from_ns);
                }
            }
        }
        writer
    }

    fn step(&mut self, step: Step) {
        self.drafts.push(Draft::Step(step));
    }

    fn fork(&mut self, at_ns: u64, child: usize) {
        if self.takes_any {
            self.join_ended(at_ns);
        }
        self.step(Step::Fork(child));
        self.outstanding.push(child);
        self.last_fork = Some((at_ns, child));
    }

    /// Children that ended while nobody waited count as waited for, so that later waits match later ends.
    fn join_ended(&mut self, at_ns: u64) {
        let lives = self.lives;
        let before = self.outstanding.len();
        self.outstanding.retain(|&child| !ended_by(&lives[child], at_ns));
        for _ in self.outstanding.len()..before {
            self.step(Step::JoinAny);
        }
    }

    fn cause(&self, from_ns: u64, to_ns: u64, waker: Option<Waker>) -> Cause {
        if let Some(known) = waker.and_then(|waker| self.known(from_ns, waker)) {
            return known;
        }
        if let Some(vfork) = self.vfork(from_ns, to_ns) {
            return vfork;
        }
        let mut ended: Vec<usize> = self.outstanding.clone();
        ended.retain(|&child| {
            let about = &self.lives[child];
            about.exit_ns.is_some() && from_ns < about.end_ns && about.end_ns <= to_ns
        });
        ended.sort_by_key(|&child| self.lives[child].end_ns);
        let soon = |&child: &usize| to_ns - self.lives[child].end_ns <= LATENCY_NS;
        let Some(child) = ended.iter().copied().find(soon).or(ended.last().copied()) else {
            return Cause::Unknown {
                sleep_ns: to_ns - from_ns,
            };
        };
        let rest_ns = Some(to_ns - self.lives[child].end_ns).filter(|&rest_ns| rest_ns > LATENCY_NS);
        let first = ended.first() == Some(&child);
        Cause::Child {
            child,
            any: first && !self.lives[child].thread && (self.takes_any || self.outstanding.len() > 1),
            rest_ns: rest_ns.unwrap_or(0),
        }
    }

    /// The cause by a recorded waker; `None` if that was a child at its end, which is recognised in another way.
    fn known(&self, from_ns: u64, waker: Waker) -> Option<Cause> {
        match waker.task {
            None => Some(Cause::Outside {
                sleep_ns: waker.at_ns.saturating_sub(from_ns),
            }),
            Some(task) => {
                let exits = self.lives[task].exit_ns.is_some_and(|exit_ns| exit_ns <= waker.at_ns);
                (!exits).then_some(Cause::Task {
                    task,
                    at_ns: waker.at_ns,
                })
            }
        }
    }

    fn vfork(&self, from_ns: u64, to_ns: u64) -> Option<Cause> {
        let (forked_ns, child) = self.last_fork.filter(|&(at_ns, _)| from_ns - at_ns <= VFORK_NS)?;
        let began = self.lives[child].moments.iter().find_map(|moment| match *moment {
            Moment::Exec { at_ns } => Some(at_ns),
            _ => None,
        })?;
        (forked_ns <= began && from_ns <= began && began <= to_ns && to_ns - began <= LATENCY_NS).then_some(
            Cause::Task {
                task: child,
                at_ns: began,
            },
        )
    }

    fn wait(&mut self, cause: Cause, from_ns: u64) {
        match cause {
            Cause::Child { child, any, rest_ns } => {
                if any || self.takes_any {
                    self.takes_any = true;
                    self.join_ended(from_ns);
                }
                self.step(if any { Step::JoinAny } else { Step::Join(child) });
                self.outstanding.retain(|&other| other != child);
                if rest_ns > 0 {
                    self.step(Step::Sleep(rest_ns));
                }
            }
            Cause::Task { task, .. } => self.step(Step::Await(task)),
            Cause::Outside { sleep_ns } | Cause::Unknown { sleep_ns } => self.step(Step::Sleep(sleep_ns)),
        }
    }

    /// Turns points into releases if others wait for them, and merges neighbouring runs.
    fn with_releases(self, life: usize, releases: &mut Releases) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::with_capacity(self.drafts.len());
        for draft in self.drafts {
            match draft {
                Draft::Step(Step::Run(0)) | Draft::Step(Step::Sleep(0)) => {}
                Draft::Step(Step::Run(more_ns)) => match steps.last_mut() {
                    Some(Step::Run(ns)) => *ns += more_ns,
                    _ => steps.push(Step::Run(more_ns)),
                },
                Draft::Step(step) => steps.push(step),
                Draft::Point(at_ns) => {
                    let whom = releases.remove(&(life, at_ns)).unwrap_or_default();
                    steps.extend(whom.into_iter().map(Step::Release));
                }
            }
        }
        steps
    }
}

fn ended_by(life: &Life, at_ns: u64) -> bool {
    life.exit_ns.is_some() && life.end_ns <= at_ns
}

impl Plan {
    fn count(&mut self, cause: Cause) {
        match cause {
            Cause::Child { rest_ns, .. } => {
                self.waits_for_children += 1;
                self.slept_ns = self.slept_ns.saturating_add(rest_ns);
            }
            Cause::Task { .. } => self.waits_for_tasks += 1,
            Cause::Outside { sleep_ns } => {
                self.waits_for_outside += 1;
                self.slept_ns = self.slept_ns.saturating_add(sleep_ns);
            }
            Cause::Unknown { sleep_ns } => {
                self.waits_unknown += 1;
                self.slept_ns = self.slept_ns.saturating_add(sleep_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests;
