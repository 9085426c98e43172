// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who waited for whom, according to a recording.

use crate::record::{Event, Process, Segment};
use std::collections::{BTreeMap, BTreeSet};

/// A task was blocked until another one, whose output it reads, let it go on.
#[derive(Debug, Clone, Copy)]
pub struct PipeWait {
    pub writer: usize,
    /// When it went on, as far as can be told.
    pub at_ns: u64,
}

/// Relations between tasks, for the walks through single tasks.
pub struct Tree<'a> {
    pub processes: &'a [Process],
    pub threshold_ns: u64,
    /// Children without a fork event, because their parent was killed before it could report them. They are forked at its end.
    pub unreported: BTreeMap<usize, Vec<usize>>,
    /// Writers of each pipe.
    writers: BTreeMap<u64, Vec<usize>>,
    children: Vec<Vec<usize>>,
    /// By reader and the start of its segment.
    pub waits: BTreeMap<(usize, u64), PipeWait>,
    /// By writer: when it releases which reader, in order.
    pub releases: BTreeMap<usize, Vec<(u64, usize)>>,
}

impl<'a> Tree<'a> {
    pub fn new(processes: &'a [Process], threshold_ns: u64) -> Self {
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

    pub fn ended_in(&self, task: usize, segment: &Segment) -> bool {
        let end_ns = self.processes[task].end_ns;
        end_ns > segment.start_ns && end_ns <= segment.end_ns
    }

    /// What a reader waited for in a segment in which it was blocked: the end of the last of its writers that ended meanwhile.
    /// If none did, the writer that was started last has fed it or closed the pipe, at the latest when the reader began to use the
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

    /// Notes for each writer when it releases which reader. These are recorded times, so waits cannot form a cycle.
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
