//! The event queue: by time, then in the order they were made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The running task's step ends, its slice ends, or it stops spinning.
    Cpu,
    /// A sleeping task's time is over.
    TaskWake,
    /// A frequency transition ends.
    Transition,
    /// An idle core sinks into its next idle state.
    Deepen,
    /// All polling governors sample.
    Sample,
    /// A busy CPU's scheduler tick, for `schedutil`.
    Tick,
    PolicyTimer,
    Kick,
    /// A start comes due (index into `Workload::starts`).
    Start,
    /// Temperatures are brought up to date.
    Heat,
}

/// `stamp` must equal its owner's when it comes due, else the event is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub at_ns: u64,
    order: u64,
    pub kind: Kind,
    pub index: u32,
    pub stamp: u32,
}

#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Event>>,
    made: u64,
}

impl EventQueue {
    pub fn push(&mut self, at_ns: u64, kind: Kind, index: u32, stamp: u32) {
        self.made += 1;
        self.heap.push(Reverse(Event { at_ns, order: self.made, kind, index, stamp }));
    }
    pub fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse(event)| event)
    }
}
