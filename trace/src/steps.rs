// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lives into steps: what each task does on any machine, with what it waited for where that is known or can be told.
//!
//! - **A child.** A task that was blocked while a child of it ended, and ran within [`LATENCY_NS`] after that end, waited for that
//!   child; of several it is the first that fits. With others of its children alive, and none that had ended before without
//!   waking it, it waits for any child, as `make` does; else for this one. Where it stayed blocked for longer, it sleeps for the rest.
//! - **A program to begin.** Blocked from right after a fork until the child executed a program: `vfork`.
//! - **Who woke it**, where recorded: it waits until that task has come as far as it had then.
//! - **Outside.** All else, known or not, is a sleep of the length recorded.

use crate::lives::{Life, Moment, Waker};
use std::collections::HashMap;

/// A task that runs so soon after a child's end was waiting for it: a few turns of a CPU that others use.
pub const LATENCY_NS: u64 = 10_000_000;
/// What a parent still does between a `vfork` and standing still.
const VFORK_NS: u64 = 200_000;

/// One step of a task; others are named by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Run(u64),
    Sleep(u64),
    Fork(usize),
    Join(usize),
    JoinAny,
    /// Until this task has released it once more.
    Await(usize),
    Release(usize),
}

/// The steps of all tasks, and what they were made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// As many as lives.
    pub steps: Vec<Vec<Step>>,
    pub waits_for_children: u64,
    /// For a program to begin, or a task that is known to have woken it.
    pub waits_for_tasks: u64,
    /// For timers and devices, as recorded wakers say.
    pub waits_for_outside: u64,
    /// Nobody knows for what.
    pub waits_unknown: u64,
    /// Slept in these two, in all.
    pub slept_ns: u64,
}

/// What ended a wait.
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

/// Points of lives at which others go on: task, time, whom.
type Releases = HashMap<(usize, u64), Vec<usize>>;

/// A step, or a point that may become one.
enum Draft {
    Step(Step),
    Point(u64),
}

struct Writer<'a> {
    lives: &'a [Life],
    drafts: Vec<Draft>,
    /// Children forked and not waited for.
    outstanding: Vec<usize>,
    /// It has waited for any of several.
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

    /// Those that ended while nobody waited count as waited for, so that later waits are for later ends.
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

    /// By a recorded waker; `None`: it was a child at its end, which is told by other means.
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

    /// Points become releases where others wait for them; neighbouring runs become one.
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
