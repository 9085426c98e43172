// SPDX-License-Identifier: GPL-2.0-only
//! Does the holder of a contended lock get a fast CPU in time?

use super::fast::FastCpus;
use super::sequential::{in_time, Promise, Stretch};
use super::Verdict;
use crate::replay::Replay;
use crate::steps::Interval;
use crate::trace::{Pid, Trace, What};
use std::collections::HashMap;

/// Mask of the operation, without the flags for private futexes and for the clock.
const OPERATION: i64 = 127;
const WAIT: i64 = 0;
const WAKE: i64 = 1;
const WAIT_BITSET: i64 = 9;
const WAKE_BITSET: i64 = 10;

/// A thread's relation to a futex.
#[derive(Clone, Copy)]
enum State {
    Waits {
        address: u64,
    },
    /// It was woken while others kept waiting.
    Woken {
        address: u64,
        from_ns: u64,
    },
}

/// A thread called `comm` holds a lock from when it is woken at a futex at which others keep waiting, until it wakes one there itself. In
/// `wanted` of the cases it is on a fast CPU at once or at most `limit_ns` later. A thread that waits again did not get the lock.
pub fn check(trace: &Trace, replay: &Replay, fast: &FastCpus, comm: &str, limit_ns: u64, wanted: f64) -> Verdict {
    let promise = Promise {
        check: "holders",
        what: "times that a contended lock was held",
        comm,
        limit_ns,
        share: wanted,
    };
    in_time(replay, fast, &holds(trace, comm), &promise)
}

fn holds(trace: &Trace, comm: &str) -> Vec<Stretch> {
    let mut follower = Follower {
        comm,
        ..Follower::default()
    };
    for event in &trace.events {
        let at_ns = event.at_ns;
        match &event.what {
            What::Name { pid, comm, .. } => {
                follower.names.insert(*pid, comm);
            }
            What::Futex {
                pid,
                op,
                address,
                count,
            } => follower.calls(at_ns, *pid, op & OPERATION, *address, *count),
            What::FutexDone { pid, result } => follower.returns(*pid, *result),
            What::Wakeup { pid, .. } => follower.wakes(at_ns, *pid),
            _ => {}
        }
    }
    follower.found
}

#[derive(Default)]
struct Follower<'a> {
    comm: &'a str,
    names: HashMap<Pid, &'a str>,
    states: HashMap<Pid, State>,
    found: Vec<Stretch>,
}

impl Follower<'_> {
    fn calls(&mut self, at_ns: u64, pid: Pid, operation: i64, address: u64, count: i64) {
        let before = self.states.get(&pid).copied();
        match (operation, before) {
            (WAIT | WAIT_BITSET, _) => {
                self.states.insert(pid, State::Waits { address });
            }
            (WAKE | WAKE_BITSET, Some(State::Woken { address: at, from_ns })) if at == address && count == 1 => {
                let time = Interval { from_ns, to_ns: at_ns };
                self.found.push(Stretch { time, pid: Some(pid) });
                self.states.remove(&pid);
            }
            // Any other operation: it still holds what it holds.
            _ => {}
        }
    }

    /// The thread no longer waits, whether it slept or found the futex changed. If it gave up, it got nothing.
    fn returns(&mut self, pid: Pid, result: i64) {
        match self.states.get(&pid) {
            Some(State::Woken { .. }) if result >= 0 => {}
            _ => {
                self.states.remove(&pid);
            }
        }
    }

    fn wakes(&mut self, at_ns: u64, pid: Pid) {
        let Some(&State::Waits { address }) = self.states.get(&pid) else {
            return;
        };
        self.states.remove(&pid);
        let waits_too = |(other, state): (&Pid, &State)| {
            let is_there = matches!(state, State::Waits { address: at } if *at == address);
            is_there && self.names.get(other) == Some(&self.comm)
        };
        if self.names.get(&pid) == Some(&self.comm) && self.states.iter().any(waits_too) {
            let from_ns = at_ns;
            self.states.insert(pid, State::Woken { address, from_ns });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace_of_kinds, TOP};

    /// CPU 0 is fast and runs 7; CPU 1 runs 8 and then nothing. 7 holds the lock at address 64, for which 8 and 9 wait. 7 wakes 8 at 1000 and goes on.
    const BEGIN: &str = r#"
        10 0 name 7 120 "sum"
        10 0 name 8 120 "sum"
        10 0 name 9 120 "sum"
        10 0 switch 0 R 7
        20 1 switch 0 R 8
        20 2 switch 0 R 9
        30 1 futex 8 128 64 2
        40 1 switch 8 B 0
        50 2 futex 9 128 64 2
        60 2 switch 9 B 0
        1000 0 futex 7 129 64 1
        1000 0 wakeup 8 1
        1001 0 futex-done 7 1
        1010 1 switch 0 R 8
        1011 1 futex-done 8 0
    "#;
    /// 8 takes the fast CPU from 7 at 1100 and releases the lock at 2000.
    const TAKES: &str =
        "1100 1 switch 8 R 0\n1110 0 switch 7 R 8\n1120 1 switch 0 R 7\n2000 0 futex 8 129 64 1\n2000 0 wakeup 9 2";
    const STAYS: &str = "2000 1 futex 8 129 64 1\n2000 1 wakeup 9 2";

    fn judge(lines: &str, limit_ns: u64) -> Verdict {
        let trace = trace_of_kinds(&[TOP, TOP / 2, TOP / 2], 0, 4000, lines);
        check(
            &trace,
            &replay(&trace),
            &FastCpus::of(&trace).unwrap(),
            "sum",
            limit_ns,
            0.95,
        )
    }

    #[test]
    fn table() {
        let takes = format!("{BEGIN}\n{TAKES}");
        let stays = format!("{BEGIN}\n{STAYS}");
        for (lines, limit_ns, holds, judged) in [
            (&takes, 110, true, 1),
            (&takes, 109, false, 1),
            (&stays, 500, false, 1),
            // The lock is held for less than the limit.
            (&stays, 1000, false, 0),
            // All are woken, so it is not a lock.
            (&stays.replace("129 64 1\n2000", "129 64 9\n2000"), 500, false, 0),
            // It wakes a waiter of another futex.
            (&stays.replace("futex 8 129 64", "futex 8 129 72"), 500, false, 0),
            // It did not get the lock and waits again.
            (
                &stays.replace("2000 1 futex 8 129", "1500 1 futex 8 128 64 2\n2000 1 futex 8 129"),
                500,
                false,
                0,
            ),
            // No other thread waits.
            (&stays.replace("50 2 futex 9", "50 2 futex 5"), 500, false, 0),
            // It gave up, and was not woken by the holder.
            (&stays.replace("futex-done 8 0", "futex-done 8 -110"), 500, false, 0),
        ] {
            let verdict = judge(lines, limit_ns);
            assert_eq!(verdict.holds, holds, "{lines}: {}", verdict.reason);
            let number = |name: &str| verdict.figures[name].as_u64().unwrap();
            assert_eq!(
                number("in_time") + number("late"),
                judged,
                "{lines}: {}",
                verdict.reason
            );
        }
    }
}
