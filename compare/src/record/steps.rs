// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns what a task did into the steps that replay it, by the rules in `to_workload`.

mod tree;

use super::{Event, Process, Segment};
use std::collections::BTreeSet;
use tree::Tree;

/// Resolution of a workload file.
const UNIT_NS: i64 = 1_000;

/// A step of a task; tasks are given by their index in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    RunUs(i64),
    SleepUs(i64),
    Fork(usize),
    Join(usize),
    JoinAny,
    /// Waits until this task, whose output the waiting one reads, releases it.
    AwaitWriter(usize),
    /// Releases a task that reads this one's output.
    ReleaseReader(usize),
}

/// The steps of every task, in the order of `processes`. Blocked times below `threshold_ns` are noise.
pub fn steps_of_all(processes: &[Process], threshold_ns: u64) -> Vec<Vec<Step>> {
    let tree = Tree::new(processes, threshold_ns);
    (0..processes.len())
        .map(|index| Walk::new(&tree, index).steps())
        .collect()
}

/// Walks through the segments of one task.
struct Walk<'a> {
    tree: &'a Tree<'a>,
    index: usize,
    steps: Vec<Step>,
    /// CPU time that has not been written yet; negative if rounding wrote too much.
    pending_ns: i64,
    /// Its children that have not been waited for yet.
    outstanding: BTreeSet<usize>,
    /// Those of them that were outstanding at a wait for any of several children. The schedule decides which of them is left, so
    /// later waits for them are for `any` too.
    interchangeable: BTreeSet<usize>,
    /// When to release which readers; those done are removed.
    releases: &'a [(u64, usize)],
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree<'a>, index: usize) -> Self {
        Self {
            tree,
            index,
            steps: Vec::new(),
            pending_ns: 0,
            outstanding: BTreeSet::new(),
            interchangeable: BTreeSet::new(),
            releases: tree.releases.get(&index).map_or(&[], Vec::as_slice),
        }
    }

    fn steps(mut self) -> Vec<Step> {
        let segments = &self.tree.processes[self.index].segments;
        for (at, segment) in segments.iter().enumerate() {
            match segment.event {
                Event::WaitEnd {
                    named,
                    reaped: Some(child),
                } if self.outstanding.contains(&child) => {
                    self.run(segment, segment.cpu_ns);
                    self.join(child, named);
                }
                Event::VforkDone => self.run(segment, segment.cpu_ns),
                _ => self.untraced(segment, &segments[at + 1..]),
            }
            if let Event::Fork { child } = segment.event {
                self.push(Step::Fork(child));
                self.outstanding.insert(child);
            }
        }
        for &child in self.tree.unreported.get(&self.index).into_iter().flatten() {
            self.push(Step::Fork(child));
        }
        self.release_until(u64::MAX);
        self.flush(true);
        self.steps
    }

    /// Runs for this long, which is the last part of the segment or all of it, and releases readers at their times.
    fn run(&mut self, segment: &Segment, cpu_ns: u64) {
        let mut left_ns = cpu_ns;
        while let Some(&(at_ns, _)) = self.releases.first().filter(|&&(at_ns, _)| at_ns <= segment.end_ns) {
            let after_ns = left_ns.min(segment.end_ns - at_ns);
            self.pending_ns += signed(left_ns - after_ns);
            left_ns = after_ns;
            self.release_until(at_ns);
        }
        self.pending_ns += signed(left_ns);
    }

    fn release_until(&mut self, time_ns: u64) {
        while let Some((&(_, reader), rest)) = self.releases.split_first().filter(|((at_ns, _), _)| *at_ns <= time_ns) {
            self.releases = rest;
            self.push(Step::ReleaseReader(reader));
        }
    }

    /// A segment in which the task may have been blocked for a reason that was not traced.
    fn untraced(&mut self, segment: &Segment, rest: &[Segment]) {
        let threshold_ns = self.tree.threshold_ns;
        if segment.blocked_ns < threshold_ns {
            return self.run(segment, segment.cpu_ns);
        }
        let awaited = self.awaited(segment, rest);
        let last_end_ns = awaited.iter().map(|&(step, _)| self.end_of(step, segment)).max();
        // As much of it as fits after the end of the last awaited task came after that; if there was none, all of it came before.
        let after_ns = last_end_ns.map_or(0, |end_ns| segment.cpu_ns.min(segment.end_ns.saturating_sub(end_ns)));
        self.pending_ns += signed(segment.cpu_ns - after_ns);
        // Before the join, since the awaited task may itself be a reader.
        self.release_until(last_end_ns.unwrap_or(segment.start_ns));
        for (step, named) in awaited {
            match step {
                Step::Join(child) => self.join(child, named),
                other => self.push(other),
            }
        }
        let explained_ns = last_end_ns.unwrap_or(segment.start_ns) - segment.start_ns;
        let left_ns = segment.blocked_ns.saturating_sub(explained_ns);
        if left_ns >= threshold_ns {
            self.push(Step::SleepUs((signed(left_ns) + UNIT_NS / 2) / UNIT_NS));
        }
        self.run(segment, after_ns);
    }

    /// When an awaited task let this one go on.
    fn end_of(&self, step: Step, segment: &Segment) -> u64 {
        match step {
            Step::Join(task) => self.tree.processes[task].end_ns,
            _ => self
                .tree
                .waits
                .get(&(self.index, segment.start_ns))
                .map_or(segment.start_ns, |wait| wait.at_ns),
        }
    }

    /// What the task was waiting for in this segment, and whether by name: threads that ended, one child, or else the task at the
    /// other end of its standard input.
    fn awaited(&self, segment: &Segment, rest: &[Segment]) -> Vec<(Step, bool)> {
        let ended = self
            .outstanding
            .iter()
            .copied()
            .filter(|&child| self.tree.ended_in(child, segment));
        let (threads, children): (Vec<usize>, Vec<usize>) = ended.partition(|&child| self.tree.processes[child].thread);
        let mut awaited: Vec<(Step, bool)> = threads.into_iter().map(|thread| (Step::Join(thread), true)).collect();
        awaited.extend(
            self.awaited_child(&children, rest)
                .map(|(child, named)| (Step::Join(child), named)),
        );
        if awaited.is_empty() {
            let wait = self.tree.waits.get(&(self.index, segment.start_ns));
            awaited.extend(wait.map(|wait| (Step::AwaitWriter(wait.writer), true)));
        }
        awaited
    }

    /// The child it reaps first afterwards; if it reaps none of them, the last to end.
    fn awaited_child(&self, ended: &[usize], rest: &[Segment]) -> Option<(usize, bool)> {
        let reaped = rest.iter().find_map(|segment| match segment.event {
            Event::WaitEnd {
                named,
                reaped: Some(child),
            } if ended.contains(&child) => Some((child, named)),
            _ => None,
        });
        let last = ended.iter().max_by_key(|&&child| self.tree.processes[child].end_ns);
        reaped.or_else(|| Some((*last?, true)))
    }

    fn join(&mut self, child: usize, named: bool) {
        let free_choice = self.outstanding.len() > 1 || self.interchangeable.contains(&child);
        if named || !free_choice {
            self.push(Step::Join(child));
        } else {
            self.interchangeable.extend(&self.outstanding);
            self.push(Step::JoinAny);
        }
        self.outstanding.remove(&child);
    }

    fn push(&mut self, step: Step) {
        self.flush(false);
        self.steps.push(step);
    }

    /// Writes the CPU time so far, rounded, and carries the rest on, so that the sum is right. A task has at least one step.
    fn flush(&mut self, at_end: bool) {
        let units = (self.pending_ns + UNIT_NS / 2).div_euclid(UNIT_NS);
        let units = if at_end && self.steps.is_empty() {
            units.max(1)
        } else {
            units
        };
        if units > 0 {
            self.steps.push(Step::RunUs(units));
            self.pending_ns -= units * UNIT_NS;
        }
    }
}

fn signed(time_ns: u64) -> i64 {
    i64::try_from(time_ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
