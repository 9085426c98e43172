// SPDX-License-Identifier: GPL-2.0-only
//! How the agent sees threads and sets their affinities. proc.rs is the real implementation, tests have their own.

use crate::cpus::Cpus;
use crate::qos::Said;
use std::io;

/// A thread at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Start of the thread in the kernel's unit; distinguishes it from a later thread with the same number.
    pub started: u64,
    /// Where it runs or last ran.
    pub cpu: u32,
    /// Whether it runs or waits for a CPU.
    pub runnable: bool,
}

/// A thread's hints (`struct lop_hint_record`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hint {
    /// `enum lop_hint_bit`: spinning, sequential, lock holder, background.
    pub flags: u32,
    /// Its work, in a unit of its application; 0: not declared.
    pub length: u32,
    /// How many threads of its process want to run at once; 0: not declared.
    pub parallelism: u32,
    /// `enum lop_memory_class`; 0: not declared.
    pub memory: u8,
}

pub trait World {
    /// Nanoseconds of a clock that never goes back.
    fn now_ns(&mut self) -> u64;
    /// All threads at this moment.
    ///
    /// # Errors
    /// They can no longer be listed.
    fn look(&mut self) -> io::Result<Vec<Seen>>;
    /// Whether the last look left out a process because it is not yet known to whom it belongs.
    fn is_undecided(&self) -> bool {
        false
    }
    /// The thread's hints at the last look. `None`: it has no record, or none any more, as a thread that is about to end.
    fn hint(&mut self, tid: u32) -> Option<Hint>;
    /// What a file says of the thread by its name.
    fn said_of(&mut self, _tid: u32) -> Said {
        Said::default()
    }
    /// # Errors
    /// The thread is gone, or belongs to another user.
    fn affinity(&mut self, tid: u32) -> io::Result<Cpus>;
    /// # Errors
    /// As [`World::affinity`], or none of these CPUs may be used.
    fn set_affinity(&mut self, tid: u32, cpus: &Cpus) -> io::Result<()>;
    /// Records this set before a thread gets it for the first time, so that it is recognised as the agent's.
    ///
    /// # Errors
    /// It cannot be recorded.
    fn note_set(&mut self, cpus: &Cpus) -> io::Result<()>;
}
