//! What the policy knows of an application.

use super::{Mean, NONE};

/// `struct lop_rounds`: how often the threads of an application meet (policy/barrier.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Rounds {
    /// Of its last round.
    pub threads: u32,
    /// Active in this one; 0: none has begun.
    pub most: u32,
    pub all_active: bool,
    pub began_ns: u64,
    pub full_ns: u64,
    pub length: Mean,
    pub full: Mean,
}

/// `struct lop_app`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct App {
    /// Active tasks, and above bit 32 the declared parallelism.
    pub demand: u64,
    pub shares_memory: bool,
    pub home_node: i32,
    pub number: u32,
    /// 1 + CPU of its sequential phase, 0.
    pub boosted: u32,
    /// Sum of the CPUs that its active tasks run on, and above bit 32 how many do.
    pub running: u64,
    pub alone_since_ns: u64,
    /// Lengths of its sequential phases, and times for which its threads held what others waited for.
    pub phases: Mean,
    pub holds: Mean,
    /// Work of a unit of length, ns on the fastest kind of core; 0: not known.
    pub unit_ns: u64,
    pub lengths: [u32; 16],
    pub nr_lengths: u32,
    pub rounds: Rounds,
}

impl App {
    pub fn new(declared: u32) -> Self {
        Self {
            demand: u64::from(declared) << 32,
            shares_memory: false,
            home_node: NONE,
            ..Self::default()
        }
    }
    pub fn active(&self) -> u32 {
        self.demand as u32
    }
    /// Parallelism, 0: not declared.
    pub fn declared(&self) -> u32 {
        (self.demand >> 32) as u32
    }
}
