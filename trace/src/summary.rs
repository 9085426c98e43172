// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was recorded, and what a replay cannot know.

use crate::event::Trace;
use crate::lives::{Life, Moment};
use crate::steps::Plan;
use serde::Serialize;

/// Figures of a recording, for people and programs. Times are s.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub recorded_s: f64,
    /// CPU time of all tasks.
    pub cpu_s: f64,
    /// Time in which a task was ready while an unrecorded task had a CPU.
    pub others_s: f64,
    pub tasks: usize,
    pub events: usize,
    /// Speed of the recorded machine, relative to the reference core.
    pub speed: Option<f64>,
    pub wakers_known: bool,
    pub waits_for_children: u64,
    pub waits_for_tasks: u64,
    pub waits_for_outside: u64,
    pub waits_unknown: u64,
    pub slept_s: f64,
}

impl Summary {
    /// "1 task" or "31 tasks".
    pub fn tasks_text(&self) -> String {
        match self.tasks {
            1 => "1 task".to_string(),
            several => format!("{several} tasks"),
        }
    }

    /// Sums up a recording, its lives and their steps.
    pub fn of(trace: &Trace, lives: &[Life], plan: &Plan) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            recorded_s: seconds(trace.header.wall_ns),
            cpu_s: lives
                .iter()
                .flat_map(|life| &life.moments)
                .map(|moment| seconds(run_ns(moment)))
                .sum(),
            others_s: seconds(others_ns(lives, trace.header.host.cpus)),
            tasks: lives.len(),
            events: trace.events.len(),
            speed: trace.header.host.speed(),
            wakers_known: trace.header.wakers,
            waits_for_children: plan.waits_for_children,
            waits_for_tasks: plan.waits_for_tasks,
            waits_for_outside: plan.waits_for_outside,
            waits_unknown: plan.waits_unknown,
            slept_s: seconds(plan.slept_ns),
        }
    }

    /// What a replay of this recording cannot know, one line each.
    pub fn unknown(&self) -> Vec<String> {
        let wakers = match self.wakers_known {
            true => "the waker of a waiting task is only known if it was recorded too".to_string(),
            false => "who woke whom was not recorded: the end of a child, or the start of its program, is assumed as the cause if it fits".to_string(),
        };
        vec![
            wakers,
            format!(
                "{} waits for a timer, a device or an unknown task are replayed as sleeps of the recorded length, {:.3} s in all, even if they were for another task",
                self.waits_for_outside + self.waits_unknown,
                self.slept_s
            ),
            format!(
                "a run is as long as recorded, on a simulated core of speed {}: which clock it had, and what it lost to others in caches and on \
                 siblings, is not known and does not change with the replay",
                match self.speed {
                    Some(speed) => format!("{speed:.2}, as a loop measured, at its highest frequency"),
                    None => "1 at its highest frequency, as no speed was recorded".to_string(),
                }
            ),
            "work is taken to gain from speed in full; spinning is replayed as work, and where a task was allowed to run, its nice value and the share of \
             its cgroup are forgotten: all are alike"
                .to_string(),
            format!(
                "other work on the machine is left out; it held CPUs for {:.3} s while a recorded task was ready",
                self.others_s
            ),
        ]
    }
}

fn run_ns(moment: &Moment) -> u64 {
    match *moment {
        Moment::Run { from_ns, to_ns } => to_ns - from_ns,
        _ => 0,
    }
}

/// Integral over time of min(ready tasks, CPUs without a recorded task): a ready task would have got such a CPU if others had not had it.
fn others_ns(lives: &[Life], cpus: u32) -> u64 {
    let mut changes: Vec<(u64, i64, i64)> = Vec::new();
    for moment in lives.iter().flat_map(|life| &life.moments) {
        let (from_ns, to_ns, running, ready) = match *moment {
            Moment::Run { from_ns, to_ns } => (from_ns, to_ns, 1, 0),
            Moment::Ready { from_ns, to_ns } => (from_ns, to_ns, 0, 1),
            _ => continue,
        };
        changes.push((from_ns, running, ready));
        changes.push((to_ns, -running, -ready));
    }
    changes.sort_unstable();
    let (mut before_ns, mut running, mut ready, mut sum_ns) = (0, 0i64, 0i64, 0u64);
    for (at_ns, more_running, more_ready) in changes {
        let free = (i64::from(cpus) - running).max(0);
        sum_ns += (at_ns - before_ns) * free.min(ready).max(0) as u64;
        before_ns = at_ns;
        running += more_running;
        ready += more_ready;
    }
    sum_ns
}
