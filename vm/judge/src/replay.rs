// SPDX-License-Identifier: GPL-2.0-only
//! Reconstructs from a trace who ran, waited and blocked when.
//!
//! What a task did before its first event follows from that event. If it is switched out, it had been running since the start;
//! if it is switched in without a wakeup, it had been waiting; if it is woken, it had been blocked. A task without any event is
//! not known, even if it runs undisturbed through the whole recording.

use crate::classes::{Class, Classifier};
use crate::steps::{Interval, Steps};
use crate::trace::{Cpu, Event, Pid, Trace, What};
use anyhow::{bail, Result};
use std::collections::{BTreeMap, HashMap, HashSet};

/// An uninterrupted run of a task on a CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub pid: Pid,
    pub cpu: Cpu,
    pub time: Interval,
    pub class: Class,
    /// Name when it left the CPU.
    pub comm: String,
}

/// A time in which a task was runnable without running.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub pid: Pid,
    pub from_ns: u64,
    /// When it ran; `None` if it did not run until the end of the recording.
    pub until_ns: Option<u64>,
    /// Whether it begins with a recorded wakeup or fork, not with a preemption.
    pub woken: bool,
    pub class: Class,
    pub comm: String,
}

/// A reconstructed trace. All times are within the recording unless noted.
#[derive(Debug, Clone)]
pub struct Replay {
    pub recording: Interval,
    /// In order of their ends.
    pub runs: Vec<Run>,
    /// In order of their ends; may begin before the recording.
    pub waits: Vec<Wait>,
    /// Number of ordinary tasks that run or wait.
    pub active: Steps<u32>,
    /// Requested speed of each CPU that has one, kHz.
    pub asked_khz: BTreeMap<Cpu, Steps<u64>>,
    /// Idle state of each CPU with such events.
    pub idle_state: BTreeMap<Cpu, Steps<Option<u32>>>,
}

impl Replay {
    /// Reconstructs `trace`.
    ///
    /// # Errors
    /// Events contradict each other, which happens if some are missing.
    pub fn new(trace: &Trace, classifier: &Classifier) -> Result<Self> {
        let mut builder = Builder::new(trace, classifier);
        for event in &trace.events {
            builder.apply(event)?;
        }
        Ok(builder.finish())
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Blocked,
    Waiting { from_ns: u64, woken: bool },
    Running { cpu: Cpu, from_ns: u64 },
}

struct Task {
    state: State,
    prio: i32,
    comm: String,
    class: Class,
}

impl Task {
    fn counts(&self) -> bool {
        self.class == Class::Ordinary && self.state != State::Blocked
    }
}

struct Builder<'a> {
    classifier: &'a Classifier,
    tasks: HashMap<Pid, Task>,
    running: HashMap<Cpu, Pid>,
    count: u32,
    replay: Replay,
}

impl<'a> Builder<'a> {
    fn new(trace: &Trace, classifier: &'a Classifier) -> Self {
        let header = &trace.header;
        let begin_ns = trace
            .events
            .first()
            .map_or(header.start_ns, |event| event.at_ns.min(header.start_ns));
        let asked = |cpu: &crate::trace::CpuSpeed| Some((cpu.cpu, Steps::new(begin_ns, cpu.asked_khz?)));
        let replay = Replay {
            recording: Interval {
                from_ns: header.start_ns,
                to_ns: header.end_ns,
            },
            runs: Vec::new(),
            waits: Vec::new(),
            active: Steps::new(begin_ns, 0),
            asked_khz: header.cpus.iter().filter_map(asked).collect(),
            idle_state: BTreeMap::new(),
        };
        let mut builder = Builder {
            classifier,
            tasks: HashMap::new(),
            running: HashMap::new(),
            count: 0,
            replay,
        };
        for (pid, state) in first_states(&trace.events, begin_ns) {
            builder.begin(pid, state, begin_ns);
        }
        builder
    }

    fn begin(&mut self, pid: Pid, state: State, begin_ns: u64) {
        if let State::Running { cpu, .. } = state {
            self.running.insert(cpu, pid);
        }
        self.change(begin_ns, pid, |task| task.state = state);
    }

    /// Changes a task and updates the number of active tasks; the idle task has no state.
    fn change(&mut self, at_ns: u64, pid: Pid, mend: impl FnOnce(&mut Task)) {
        if pid == 0 {
            return;
        }
        let fresh = || Task {
            state: State::Blocked,
            prio: 120,
            comm: String::new(),
            class: self.classifier.class(pid, 120, ""),
        };
        let task = self.tasks.entry(pid).or_insert_with(fresh);
        let counted = task.counts();
        mend(task);
        self.count = self.count + u32::from(task.counts()) - u32::from(counted);
        self.replay.active.set(at_ns, self.count);
    }

    fn apply(&mut self, event: &Event) -> Result<()> {
        let at_ns = event.at_ns;
        match &event.what {
            What::Switch {
                prev,
                prev_runnable,
                next,
            } => {
                self.switch_out(event, *prev, *prev_runnable)?;
                self.switch_in(event, *next)?;
            }
            What::Wakeup { pid, .. } => self.change(at_ns, *pid, |task| {
                if task.state == State::Blocked {
                    task.state = State::Waiting {
                        from_ns: at_ns,
                        woken: true,
                    };
                }
            }),
            What::Name { pid, prio, comm } => {
                let class = self.classifier.class(*pid, *prio, comm);
                self.change(at_ns, *pid, |task| {
                    (task.prio, task.class) = (*prio, class);
                    task.comm.clone_from(comm);
                });
            }
            What::Speed { cpu, khz } => {
                if let Some(steps) = self.replay.asked_khz.get_mut(cpu) {
                    steps.set(at_ns, *khz);
                }
            }
            What::Idle { cpu, state } => {
                let begin = || Steps::new(at_ns, None);
                self.replay
                    .idle_state
                    .entry(*cpu)
                    .or_insert_with(begin)
                    .set(at_ns, *state);
            }
            What::Fork { .. } | What::Bpf { .. } | What::Futex { .. } | What::FutexDone { .. } => {}
        }
        Ok(())
    }

    fn switch_out(&mut self, event: &Event, prev: Pid, runnable: bool) -> Result<()> {
        let (at_ns, cpu) = (event.at_ns, event.cpu);
        let running = self.running.get(&cpu).copied().unwrap_or(prev);
        if running != prev && self.was_offline(running, prev) {
            self.forget_run(running, at_ns);
        } else if running != prev {
            bail!("at {at_ns} ns CPU {cpu} switches from task {prev}, but {running} was running: events are missing");
        }
        self.close_run(prev, at_ns);
        let state = if runnable {
            State::Waiting {
                from_ns: at_ns,
                woken: false,
            }
        } else {
            State::Blocked
        };
        self.change(at_ns, prev, |task| task.state = state);
        Ok(())
    }

    /// A CPU that goes offline stops recording before its last switches, and starts again after its first ones when it comes back. In
    /// between only tasks that stay with the CPU run.
    fn was_offline(&self, running: Pid, prev: Pid) -> bool {
        let stays = |pid| {
            let comm = self.tasks.get(&pid).map_or("", |task| &task.comm);
            self.classifier.stays_with_its_cpu(pid, comm)
        };
        stays(running) && stays(prev)
    }

    /// Drops a run without a recorded end, since its length is unknown.
    fn forget_run(&mut self, pid: Pid, at_ns: u64) {
        self.change(at_ns, pid, |task| task.state = State::Blocked);
    }

    fn switch_in(&mut self, event: &Event, next: Pid) -> Result<()> {
        let (at_ns, cpu) = (event.at_ns, event.cpu);
        self.running.insert(cpu, next);
        if let Some(State::Running { cpu: other, .. }) = self.tasks.get(&next).map(|task| task.state) {
            bail!("at {at_ns} ns CPU {cpu} switches to task {next}, which runs on CPU {other}: events are missing");
        }
        self.close_wait(next, Some(at_ns));
        self.change(at_ns, next, |task| task.state = State::Running { cpu, from_ns: at_ns });
        Ok(())
    }

    fn close_run(&mut self, pid: Pid, at_ns: u64) {
        let Some(task) = self.tasks.get(&pid) else { return };
        let State::Running { cpu, from_ns } = task.state else {
            return;
        };
        let time = Interval { from_ns, to_ns: at_ns }.within(self.replay.recording);
        if time.length_ns() > 0 {
            self.replay.runs.push(Run {
                pid,
                cpu,
                time,
                class: task.class,
                comm: task.comm.clone(),
            });
        }
    }

    fn close_wait(&mut self, pid: Pid, until_ns: Option<u64>) {
        let Some(task) = self.tasks.get(&pid) else { return };
        let State::Waiting { from_ns, woken } = task.state else {
            return;
        };
        if until_ns.is_none_or(|until_ns| until_ns >= self.replay.recording.from_ns) {
            let comm = task.comm.clone();
            self.replay.waits.push(Wait {
                pid,
                from_ns,
                until_ns,
                woken,
                class: task.class,
                comm,
            });
        }
    }

    fn finish(mut self) -> Replay {
        let mut pids: Vec<Pid> = self.tasks.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            self.close_run(pid, self.replay.recording.to_ns);
            self.close_wait(pid, None);
        }
        self.replay
    }
}

/// State of each task before its first event, see above.
fn first_states(events: &[Event], begin_ns: u64) -> BTreeMap<Pid, State> {
    let mut states = BTreeMap::new();
    let mut switched = HashSet::new();
    for event in events {
        match event.what {
            What::Switch { prev, next, .. } => {
                if switched.insert(event.cpu) {
                    states.entry(prev).or_insert(State::Running {
                        cpu: event.cpu,
                        from_ns: begin_ns,
                    });
                }
                states.entry(next).or_insert(State::Waiting {
                    from_ns: begin_ns,
                    woken: false,
                });
            }
            What::Wakeup { pid, .. } => {
                states.entry(pid).or_insert(State::Blocked);
            }
            What::Fork { child, .. } => {
                states.entry(child).or_insert(State::Blocked);
            }
            What::Speed { .. }
            | What::Idle { .. }
            | What::Bpf { .. }
            | What::Futex { .. }
            | What::FutexDone { .. }
            | What::Name { .. } => {}
        }
    }
    states.remove(&0);
    states
}

#[cfg(test)]
mod tests;
