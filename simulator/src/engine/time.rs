// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated time: now, and the events to come, ordered by time, then by creation.
//!
//! A CPU, core or timer has at most one alarm of a kind, which is often set anew. Alarms lie in a heap that knows where each of them is, so that a
//! new one replaces the old. All other events happen once created.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A task's sleep ends.
    TaskWake,
    /// A frequency transition ends.
    Transition,
    /// The `ondemand` governors sample.
    Sample,
    /// A window of `hwp` ends (index of the clock domain).
    Window,
    Kick,
    /// A start comes due (index into `Workload::starts`).
    Start,
    /// Temperatures are updated.
    Heat,
    /// The scheduler's own events.
    Scheduler(OwnEvent),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnEvent {
    /// A busy CPU checks whether its task has to leave.
    Preempt,
    /// The policy reads counters and plans where threads run.
    Plan,
}

/// At most one of each for an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The running task's step ends, its slice ends, or it stops spinning.
    Cpu,
    /// A busy CPU's scheduler tick, for `schedutil` and the fair class.
    Tick,
    /// An idle core goes to its next deeper idle state.
    Deepen,
    /// The scheduler's timer, at which the policy reviews its sets.
    Scheduler,
    /// Mean power reaches a limit, or is low enough for more speed.
    PowerLimit,
}

const ALARMS: [Alarm; 5] = [
    Alarm::Cpu,
    Alarm::Tick,
    Alarm::Deepen,
    Alarm::Scheduler,
    Alarm::PowerLimit,
];

/// What comes due, and for which index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Event(Kind, u32),
    Alarm(Alarm, u32),
}

/// Time above, order of creation below, so that one comparison orders events.
fn key(at_ns: u64, order: u64) -> u128 {
    u128::from(at_ns) << 64 | u128::from(order)
}

fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

#[derive(Debug, Clone, Copy)]
struct Event {
    key: u128,
    kind: Kind,
    index: u32,
}

// Reversed, as `BinaryHeap` pops the greatest and the earliest is wanted.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Event {}

/// Most events at one instant. More of them come from tasks that only yield to one another.
const MAX_EVENTS_AT_ONCE: u32 = 20_000_000;

#[derive(Debug)]
pub(crate) struct Time {
    pub now_ns: u64,
    /// Events so far, in all and at this instant.
    pub handled: u64,
    at_once: u32,
    events: BinaryHeap<Event>,
    alarms: AlarmHeap,
    /// The alarm of kind k with index i has number k * stride + i.
    stride: usize,
    made: u64,
}

impl Time {
    /// Indices of alarms are below `nr_indices`.
    pub fn new(nr_indices: usize) -> Self {
        Self {
            now_ns: 0,
            handled: 0,
            at_once: 0,
            events: BinaryHeap::new(),
            alarms: AlarmHeap::new(ALARMS.len() * nr_indices),
            stride: nr_indices,
            made: 0,
        }
    }
    pub fn after(&mut self, delay_ns: u64, kind: Kind, index: u32) {
        self.at(self.now_ns.saturating_add(delay_ns), kind, index);
    }
    pub fn at(&mut self, at_ns: u64, kind: Kind, index: u32) {
        self.made += 1;
        self.events.push(Event {
            key: key(at_ns, self.made),
            kind,
            index,
        });
    }
    /// Replaces the earlier alarm.
    pub fn set(&mut self, at_ns: u64, alarm: Alarm, index: usize) {
        self.made += 1;
        let number = alarm as usize * self.stride + index;
        self.alarms.set(Pending::new(at_ns, self.made, number));
    }
    pub fn cancel(&mut self, alarm: Alarm, index: usize) {
        self.alarms.cancel(alarm as usize * self.stride + index);
    }
    /// Goes on to the time of an event. Returns false if too many events happened at one instant.
    pub fn advance(&mut self, at_ns: u64) -> bool {
        self.handled += 1;
        self.at_once = if at_ns == self.now_ns { self.at_once + 1 } else { 0 };
        self.now_ns = at_ns;
        self.at_once <= MAX_EVENTS_AT_ONCE
    }
    fn due(&self, number: usize) -> Due {
        let mut kind = 0;
        let mut index = number;
        while index >= self.stride {
            index -= self.stride;
            kind += 1;
        }
        Due::Alarm(ALARMS[kind], index as u32)
    }
    /// Takes the next event or alarm, with its time.
    pub fn pop(&mut self) -> Option<(u64, Due)> {
        self.alarms.drop_fired();
        match (self.alarms.first(), self.events.peek()) {
            (Some(alarm), event) if event.is_none_or(|event| alarm.key() < event.key) => {
                self.alarms.fire();
                Some((alarm.at_ns(), self.due(alarm.number())))
            }
            _ => {
                let event = self.events.pop()?;
                Some((time_of(event.key), Due::Event(event.kind, event.index)))
            }
        }
    }
}

/// Bits of an alarm's number.
const NUMBER_BITS: u32 = 12;

/// An alarm that is set: time, order of creation and alarm number in one integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending(u128);

impl Pending {
    fn new(at_ns: u64, order: u64, number: usize) -> Self {
        Self(key(at_ns, order << NUMBER_BITS | number as u64))
    }
    fn at_ns(self) -> u64 {
        time_of(self.0)
    }
    fn number(self) -> usize {
        self.0 as usize & ((1 << NUMBER_BITS) - 1)
    }
    /// Comparable with the keys of events.
    fn key(self) -> u128 {
        key(self.at_ns(), self.0 as u64 >> NUMBER_BITS)
    }
}

/// Place of an alarm that is not set.
const NOWHERE: u32 = u32::MAX;
/// Children of a heap entry. More than two make the heap flatter, so that entries move less often.
const WIDTH: usize = 4;

/// A heap of alarms by number, each at most once.
#[derive(Debug)]
struct AlarmHeap {
    heap: Vec<Pending>,
    /// By number: where it is in the heap.
    place: Vec<u32>,
    /// The first alarm came due but is still in the heap: mostly it is set again at once, which then costs one move instead of two.
    fired: bool,
}

impl AlarmHeap {
    fn new(nr_alarms: usize) -> Self {
        Self {
            heap: Vec::with_capacity(nr_alarms),
            place: vec![NOWHERE; nr_alarms],
            fired: false,
        }
    }
    fn first(&self) -> Option<Pending> {
        self.heap.first().copied()
    }
    fn fire(&mut self) {
        self.fired = true;
    }
    fn drop_fired(&mut self) {
        if self.fired {
            self.cancel(self.heap[0].number());
        }
    }
    fn set(&mut self, entry: Pending) {
        match self.place[entry.number()] {
            NOWHERE => {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
            place => self.replace(place as usize, entry),
        }
    }
    fn cancel(&mut self, number: usize) {
        let place = self.place[number];
        if place == NOWHERE {
            return;
        }
        self.place[number] = NOWHERE;
        let Some(last) = self.heap.pop() else { return };
        if last.number() != number {
            self.replace(place as usize, last);
        } else if place == 0 {
            self.fired = false;
        }
    }
    /// Puts `entry` where the one at `place` was, and restores the order of the heap.
    fn replace(&mut self, place: usize, entry: Pending) {
        if place == 0 {
            self.fired = false;
        }
        if place > 0 && entry < self.heap[(place - 1) / WIDTH] {
            self.rise(place, entry);
        } else {
            self.sink(place, entry);
        }
    }
    fn rise(&mut self, mut place: usize, entry: Pending) {
        while place > 0 {
            let parent = (place - 1) / WIDTH;
            if self.heap[parent] < entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }
    fn sink(&mut self, mut place: usize, entry: Pending) {
        loop {
            let first = place * WIDTH + 1;
            let end = self.heap.len().min(first + WIDTH);
            let Some((&eldest, others)) = self.heap.get(first..end).and_then(<[Pending]>::split_first) else {
                break;
            };
            let (mut least, mut at) = (eldest, first);
            for (number, &other) in others.iter().enumerate() {
                if other < least {
                    (least, at) = (other, first + 1 + number);
                }
            }
            if least > entry {
                break;
            }
            self.put(place, least);
            place = at;
        }
        self.put(place, entry);
    }
    fn put(&mut self, place: usize, entry: Pending) {
        self.heap[place] = entry;
        self.place[entry.number()] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn by_time_then_in_order_of_making() {
        let mut time = Time::new(2);
        time.at(5, Kind::Kick, 0);
        time.set(5, Alarm::Cpu, 1);
        time.at(3, Kind::Heat, 0);
        time.set(9, Alarm::Tick, 0);
        time.set(4, Alarm::Tick, 0);
        assert_eq!(time.pop(), Some((3, Due::Event(Kind::Heat, 0))));
        assert_eq!(time.pop(), Some((4, Due::Alarm(Alarm::Tick, 0))));
        assert_eq!(time.pop(), Some((5, Due::Event(Kind::Kick, 0))));
        assert_eq!(time.pop(), Some((5, Due::Alarm(Alarm::Cpu, 1))));
        assert_eq!(time.pop(), None);
    }

    #[test]
    fn an_alarm_that_came_due_can_be_set_again_or_cancelled() {
        let mut time = Time::new(1);
        time.set(1, Alarm::Cpu, 0);
        assert_eq!(time.pop(), Some((1, Due::Alarm(Alarm::Cpu, 0))));
        time.set(2, Alarm::Cpu, 0);
        assert_eq!(time.pop(), Some((2, Due::Alarm(Alarm::Cpu, 0))));
        time.cancel(Alarm::Cpu, 0);
        assert_eq!(time.pop(), None);
        time.set(3, Alarm::Cpu, 0);
        assert_eq!(time.pop(), Some((3, Due::Alarm(Alarm::Cpu, 0))));
        assert_eq!(time.pop(), None);
    }

    /// Compared with a plain list that is searched in full.
    #[test]
    fn alarms_come_as_from_a_plain_list() {
        let mut random = Stream::new(3);
        let mut time = Time::new(40);
        let mut list: Vec<Option<(u64, u64)>> = vec![None; 40];
        let mut now_ns = 0;
        for order in 0..20_000 {
            let index = random.below(40) as usize;
            match random.below(4) {
                0 => {
                    time.cancel(Alarm::Cpu, index);
                    list[index] = None;
                }
                1 => {
                    let expected = (0..40).filter(|&i| list[i].is_some()).min_by_key(|&i| list[i]);
                    let due = expected.and_then(|i| list[i].take().map(|(at_ns, _)| (at_ns, i as u32)));
                    now_ns = due.map_or(now_ns, |(at_ns, _)| at_ns);
                    assert_eq!(time.pop(), due.map(|(at_ns, i)| (at_ns, Due::Alarm(Alarm::Cpu, i))));
                }
                _ => {
                    let at_ns = now_ns + random.below(50);
                    time.set(at_ns, Alarm::Cpu, index);
                    list[index] = Some((at_ns, order));
                }
            }
        }
    }
}
