//! From what a task did to the steps that replay it; `to_workload` says by which rules.

use super::{Event, Process, Segment};
use std::collections::{BTreeMap, BTreeSet};

/// Resolution of a workload file.
const UNIT_NS: i64 = 1_000;

/// A step of a task; tasks are indices into the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    RunUs(i64),
    SleepUs(i64),
    Fork(usize),
    Join(usize),
    JoinAny,
    /// Until this task, which writes what the waiting one reads, releases it.
    AwaitWriter(usize),
    /// Lets a task go on that reads what this one writes.
    ReleaseReader(usize),
}

/// The steps of every task, in the order of `processes`. Shorter blocks than `threshold_ns` are noise.
pub fn steps_of_all(processes: &[Process], threshold_ns: u64) -> Vec<Vec<Step>> {
    let tree = Tree::new(processes, threshold_ns);
    (0..processes.len())
        .map(|index| Walk::new(&tree, index).steps())
        .collect()
}

/// A task was blocked until another one, which writes what it reads, let it go on.
#[derive(Debug, Clone, Copy)]
struct PipeWait {
    writer: usize,
    /// When it went on, as near as can be told.
    at_ns: u64,
}

/// What the walks along single tasks look up in the whole.
struct Tree<'a> {
    processes: &'a [Process],
    threshold_ns: u64,
    /// Children that no fork event names: their parent was killed before it could report them. They are forked at its end.
    unreported: BTreeMap<usize, Vec<usize>>,
    /// Writers of each pipe.
    writers: BTreeMap<u64, Vec<usize>>,
    children: Vec<Vec<usize>>,
    /// By reader and start of its segment.
    waits: BTreeMap<(usize, u64), PipeWait>,
    /// By writer: when it lets which reader go on, in order.
    releases: BTreeMap<usize, Vec<(u64, usize)>>,
}

impl<'a> Tree<'a> {
    fn new(processes: &'a [Process], threshold_ns: u64) -> Self {
        let mut writers: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, process) in processes.iter().enumerate() {
            if let Some(pipe) = process.output_pipe {
                writers.entry(pipe).or_default().push(index);
            }
        }
        let mut children = vec![Vec::new(); processes.len()];
        for (index, process) in processes.iter().enumerate() {
            if let Some(parent) = process.parent {
                children[parent].push(index);
            }
        }
        let mut tree = Self {
            processes,
            threshold_ns,
            unreported: unreported_children(processes),
            writers,
            children,
            waits: BTreeMap::new(),
            releases: BTreeMap::new(),
        };
        tree.note_releases();
        tree
    }

    fn ended_in(&self, task: usize, segment: &Segment) -> bool {
        let end_ns = self.processes[task].end_ns;
        end_ns > segment.start_ns && end_ns <= segment.end_ns
    }

    /// What a reader was waiting for in a segment in which it was blocked: the end of the last of its writers that ended
    /// meanwhile. If none did, the one started last has fed it or closed the pipe, not later than the reader began to use the
    /// CPU time of this segment.
    fn pipe_wait(&self, reader: usize, segment: &Segment) -> Option<PipeWait> {
        let writers = self.writers.get(&self.processes[reader].input_pipe?)?;
        let others = || writers.iter().copied().filter(|&writer| writer != reader);
        let ended = others().filter(|&writer| self.ended_in(writer, segment));
        if let Some(writer) = ended.max_by_key(|&writer| self.processes[writer].end_ns) {
            return Some(PipeWait {
                writer,
                at_ns: self.processes[writer].end_ns,
            });
        }
        let at_ns = segment.end_ns.saturating_sub(segment.cpu_ns).max(segment.start_ns);
        let alive = others().filter(|&writer| {
            let process = &self.processes[writer];
            process.start_ns < at_ns && process.end_ns > at_ns
        });
        alive
            .max_by_key(|&writer| self.processes[writer].start_ns)
            .map(|writer| PipeWait { writer, at_ns })
    }

    /// Notes at each writer when it lets whom go on. At recorded times, so that no circle of waits can come about.
    fn note_releases(&mut self) {
        for reader in 0..self.processes.len() {
            for segment in &self.processes[reader].segments {
                let blocked = segment.blocked_ns >= self.threshold_ns && segment.event != Event::VforkDone;
                let waited = matches!(segment.event, Event::WaitEnd { reaped: Some(_), .. });
                let own_child = || self.children[reader].iter().any(|&child| self.ended_in(child, segment));
                if !blocked || waited || own_child() {
                    continue;
                }
                if let Some(wait) = self.pipe_wait(reader, segment) {
                    self.waits.insert((reader, segment.start_ns), wait);
                    self.releases.entry(wait.writer).or_default().push((wait.at_ns, reader));
                }
            }
        }
        self.releases.values_mut().for_each(|releases| releases.sort_unstable());
    }
}

fn unreported_children(processes: &[Process]) -> BTreeMap<usize, Vec<usize>> {
    let forked = |segment: &Segment| match segment.event {
        Event::Fork { child } => Some(child),
        _ => None,
    };
    let reported: BTreeSet<usize> = processes
        .iter()
        .flat_map(|process| process.segments.iter().filter_map(forked))
        .collect();
    let mut lost: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, process) in processes.iter().enumerate().skip(1) {
        if !reported.contains(&index) {
            lost.entry(process.parent.unwrap_or(0)).or_default().push(index);
        }
    }
    lost
}

/// One task's segments, one after the other.
struct Walk<'a> {
    tree: &'a Tree<'a>,
    index: usize,
    steps: Vec<Step>,
    /// CPU time not written yet; below zero where rounding wrote too much.
    pending_ns: i64,
    /// Own children not waited for yet.
    outstanding: BTreeSet<usize>,
    /// Those of them that were outstanding when any of several was waited for: which one is left is the schedule's choice, so
    /// they are waited for as `any` from then on.
    interchangeable: BTreeSet<usize>,
    /// Readers to let go on, at which times; those done are taken off.
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

    /// Runs this much, the last of the segment or all of it, letting readers go on where their time comes.
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

    /// A segment in which the task may have stood still for a reason that was not traced.
    fn untraced(&mut self, segment: &Segment, rest: &[Segment]) {
        let threshold_ns = self.tree.threshold_ns;
        if segment.blocked_ns < threshold_ns {
            return self.run(segment, segment.cpu_ns);
        }
        let awaited = self.awaited(segment, rest);
        let last_end_ns = awaited.iter().map(|&(step, _)| self.end_of(step, segment)).max();
        // What fits behind the end of the last one awaited came after it; without one, all came before.
        let after_ns = last_end_ns.map_or(0, |end_ns| segment.cpu_ns.min(segment.end_ns.saturating_sub(end_ns)));
        self.pending_ns += signed(segment.cpu_ns - after_ns);
        // Before the join: what is awaited may itself be a reader.
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

    /// When an awaited one let the task go on.
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
    /// Whose end the task was waiting for in this segment, and whether by name: threads that ended, one child, or else the one
    /// at the other end of its standard input.
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

    /// Writes the CPU time so far, rounded; the difference is carried on, so that the sum stays right. A task has one step at
    /// least.
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
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A process with segments of (end, CPU, blocked) in ms, each up to an event.
    fn process(parent: Option<usize>, start_ms: u64, segments: &[(u64, u64, u64, Event)]) -> Process {
        let mut begin_ms = start_ms;
        let segments: Vec<Segment> = segments
            .iter()
            .map(|(end_ms, cpu_ms, blocked_ms, event)| Segment {
                start_ns: std::mem::replace(&mut begin_ms, *end_ms) * MS,
                end_ns: end_ms * MS,
                cpu_ns: cpu_ms * MS,
                blocked_ns: blocked_ms * MS,
                event: event.clone(),
            })
            .collect();
        Process {
            tid: 1,
            parent,
            thread: false,
            program: "x".into(),
            input_pipe: None,
            output_pipe: None,
            start_ns: start_ms * MS,
            end_ns: begin_ms * MS,
            cpu_ns: segments.iter().map(|segment| segment.cpu_ns).sum(),
            segments,
        }
    }

    fn child(start_ms: u64, end_ms: u64) -> Process {
        process(Some(0), start_ms, &[(end_ms, end_ms - start_ms, 0, Event::Exit)])
    }

    fn reaped(child: usize, named: bool) -> Event {
        Event::WaitEnd {
            named,
            reaped: Some(child),
        }
    }

    fn root_steps(segments: &[(u64, u64, u64, Event)], children: Vec<Process>) -> Vec<Step> {
        let mut processes = vec![process(None, 0, segments)];
        processes.extend(children);
        steps_of_all(&processes, MS).swap_remove(0)
    }

    #[test]
    fn an_only_child_is_joined_by_name() {
        let segments = [
            (1, 1, 0, Event::Fork { child: 1 }),
            (2, 1, 0, Event::WaitBegin),
            (9, 0, 7, reaped(1, false)),
            (10, 1, 0, Event::Exit),
        ];
        let expected = [
            Step::RunUs(1000),
            Step::Fork(1),
            Step::RunUs(1000),
            Step::Join(1),
            Step::RunUs(1000),
        ];
        assert_eq!(root_steps(&segments, vec![child(1, 8)]), expected);
    }

    #[test]
    fn any_of_several_stays_any_for_the_last() {
        let segments = [
            (0, 0, 0, Event::Fork { child: 1 }),
            (0, 0, 0, Event::Fork { child: 2 }),
            (5, 0, 5, reaped(2, false)),
            (9, 0, 4, reaped(1, false)),
            (9, 0, 0, Event::Fork { child: 3 }),
            (12, 0, 3, reaped(3, false)),
            (12, 0, 0, Event::Exit),
        ];
        let steps = root_steps(&segments, vec![child(0, 8), child(0, 4), child(9, 11)]);
        assert_eq!(
            steps,
            [
                Step::Fork(1),
                Step::Fork(2),
                Step::JoinAny,
                Step::JoinAny,
                Step::Fork(3),
                Step::Join(3)
            ]
        );
    }

    #[test]
    fn a_named_wait_among_several_is_by_name_and_once() {
        let segments = [
            (0, 0, 0, Event::Fork { child: 1 }),
            (0, 0, 0, Event::Fork { child: 2 }),
            (5, 0, 5, reaped(2, true)),
            (6, 0, 0, reaped(2, true)),
            (9, 0, 0, Event::Exit),
        ];
        assert_eq!(
            root_steps(&segments, vec![child(0, 8), child(0, 4)]),
            [Step::Fork(1), Step::Fork(2), Step::Join(2)]
        );
    }

    #[test]
    fn a_poll_broken_by_a_child_is_a_wait_and_its_reaping_none() {
        // make -j2 that waits for a free job in pselect, then reaps without waiting.
        let segments = [
            (0, 0, 0, Event::Fork { child: 1 }),
            (0, 0, 0, Event::Fork { child: 2 }),
            (6, 1, 5, Event::WaitBegin),
            (6, 0, 0, reaped(2, false)),
            (7, 1, 0, Event::Exit),
        ];
        let steps = root_steps(&segments, vec![child(0, 9), child(0, 5)]);
        assert_eq!(steps, [Step::Fork(1), Step::Fork(2), Step::JoinAny, Step::RunUs(2000)]);
    }

    #[test]
    fn blocked_without_a_child_is_sleep_and_short_blocks_are_nothing() {
        let segments = [(5, 2, 3, Event::Exec), (6, 1, 0, Event::Exit)];
        assert_eq!(
            root_steps(&segments, vec![]),
            [Step::RunUs(2000), Step::SleepUs(3000), Step::RunUs(1000)]
        );
        let mut short = process(None, 0, &[(5, 4, 0, Event::Exit)]);
        short.segments[0].blocked_ns = MS - 1;
        assert_eq!(steps_of_all(&[short], MS), [[Step::RunUs(4000)]]);
    }

    #[test]
    fn what_is_blocked_after_the_childs_end_is_sleep() {
        let segments = [(0, 0, 0, Event::Fork { child: 1 }), (20, 2, 18, Event::Exit)];
        let steps = root_steps(&segments, vec![child(0, 8)]);
        assert_eq!(
            steps,
            [Step::Fork(1), Step::Join(1), Step::SleepUs(10_000), Step::RunUs(2000)]
        );
    }

    #[test]
    fn vfork_does_not_hold_the_parent() {
        let segments = [
            (1, 1, 0, Event::Fork { child: 1 }),
            (9, 0, 8, Event::VforkDone),
            (10, 1, 0, Event::Exit),
        ];
        assert_eq!(
            root_steps(&segments, vec![child(1, 8)]),
            [Step::RunUs(1000), Step::Fork(1), Step::RunUs(1000)]
        );
    }

    #[test]
    fn a_reader_waits_for_its_writer() {
        let mut writer = child(0, 8);
        writer.output_pipe = Some(5);
        let mut reader = process(Some(0), 0, &[(10, 3, 7, Event::Exit)]);
        reader.input_pipe = Some(5);
        let root = process(
            None,
            0,
            &[
                (0, 0, 0, Event::Fork { child: 1 }),
                (0, 0, 0, Event::Fork { child: 2 }),
                (0, 0, 0, Event::Exit),
            ],
        );
        let all = steps_of_all(&[root, writer, reader], MS);
        assert_eq!(all[1], [Step::RunUs(8000), Step::ReleaseReader(2)]);
        assert_eq!(all[2], [Step::RunUs(1000), Step::AwaitWriter(1), Step::RunUs(2000)]);
    }

    #[test]
    fn a_writer_that_lives_on_lets_its_reader_go_when_that_went_on() {
        let mut writer = child(0, 20);
        writer.output_pipe = Some(5);
        let mut reader = process(Some(0), 0, &[(10, 3, 7, Event::Exit)]);
        reader.input_pipe = Some(5);
        let root = process(None, 0, &[(0, 0, 0, Event::Exit)]);
        let all = steps_of_all(&[root, writer, reader], MS);
        assert_eq!(all[1], [Step::RunUs(7000), Step::ReleaseReader(2), Step::RunUs(13_000)]);
        assert_eq!(all[2], [Step::AwaitWriter(1), Step::RunUs(3000)]);
    }

    #[test]
    fn threads_are_joined_together() {
        let (mut first, mut second) = (child(0, 4), child(0, 6));
        first.thread = true;
        second.thread = true;
        let segments = [
            (0, 0, 0, Event::Fork { child: 1 }),
            (0, 0, 0, Event::Fork { child: 2 }),
            (6, 0, 6, Event::Exit),
        ];
        assert_eq!(
            root_steps(&segments, vec![first, second]),
            [Step::Fork(1), Step::Fork(2), Step::Join(1), Step::Join(2)]
        );
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut many = process(None, 0, &[]);
        for _ in 0..1000 {
            let event = Event::Exec;
            many.segments.push(Segment {
                start_ns: 0,
                end_ns: 0,
                cpu_ns: 700,
                blocked_ns: MS,
                event,
            });
        }
        let steps = &steps_of_all(&[many], MS)[0];
        let run_us: i64 = steps
            .iter()
            .map(|step| if let Step::RunUs(us) = step { *us } else { 0 })
            .sum();
        assert_eq!(run_us, 700);
    }

    #[test]
    fn a_child_nobody_reported_is_forked_at_its_parents_end() {
        let segments = [(3, 3, 0, Event::Exit)];
        assert_eq!(
            root_steps(&segments, vec![child(3, 8)]),
            [Step::RunUs(3000), Step::Fork(1)]
        );
    }
}
