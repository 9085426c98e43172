// SPDX-License-Identifier: GPL-2.0-only
//! What the agent sees of threads and does to them: the real one is proc.rs, tests bring their own.

use crate::cpus::Cpus;
use std::io;

/// A thread as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Start of the thread in the kernel's own unit: tells it from a later one of the same number.
    pub started: u64,
    /// It runs there or ran there last.
    pub cpu: u32,
    /// It runs or waits for a CPU.
    pub runnable: bool,
}

/// What a thread says of itself (loads/hint.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Said {
    /// 1 spinning, 2 sequential, 4 lock holder.
    pub flags: u32,
    /// Its work, in a unit of its application; 0: not declared.
    pub length: u32,
    /// `enum lop_memory_class`; 0: not declared.
    pub memory: u8,
}

pub trait World {
    /// Nanoseconds of a clock that never goes back.
    fn now_ns(&mut self) -> u64;
    /// All threads at this moment.
    ///
    /// # Errors
    /// They cannot be listed any more.
    fn look(&mut self) -> io::Result<Vec<Seen>>;
    /// The last look left out somebody of whom it could not be told yet whether he belongs here.
    fn is_undecided(&self) -> bool {
        false
    }
    /// What the thread says of itself, as of the last look.
    fn said(&mut self, tid: u32) -> Said;
    /// # Errors
    /// The thread is gone, or another user's.
    fn affinity(&mut self, tid: u32) -> io::Result<Cpus>;
    /// # Errors
    /// As [`World::affinity`], or none of these CPUs may be used.
    fn set_affinity(&mut self, tid: u32, cpus: &Cpus) -> io::Result<()>;
    /// Called before this set is given to a thread for the first time: it is written down, so that it is known as the agent's.
    ///
    /// # Errors
    /// It cannot be written down.
    fn note_set(&mut self, cpus: &Cpus) -> io::Result<()>;
}
