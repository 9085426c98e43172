//! What says who gets the fast cores: mirrors and thin calls, as in the module above.

use super::native::*;
use super::{App, Task};

/// `enum lop_rules`: which rules say who gets the fast cores.
pub mod rules {
    pub const PHASES: u32 = 1;
    pub const LONGEST: u32 = 2;
    pub const SPEEDUP: u32 = 4;
    pub const TURNS: u32 = 8;
    pub const WHOLE: u32 = 16;
}

/// `enum lop_says`: what a thread says of itself.
pub mod says {
    pub const SPINNING: u32 = 1;
    pub const SEQUENTIAL: u32 = 2;
    pub const LOCK_HOLDER: u32 = 4;
}

/// `struct lop_mean`: a mean that follows, and of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Mean {
    pub ns: u64,
    pub count: u32,
}

/// `struct lop_hint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Hint {
    /// See [`says`].
    pub flags: u32,
    /// Relative length, and that of the next thread that it creates; 0: not declared.
    pub length: u32,
    pub next_length: u32,
}

/// `struct lop_rank`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Rank {
    pub turn_ns: u64,
    /// `enum lop_class`: 0 only spins, 1 ordinary, 2 awaited.
    pub class: u8,
    pub by_plan: bool,
    /// [`Task::user`] modulo `LOP_USERS`.
    pub user: u16,
    pub app: u32,
    pub length: u32,
    pub speedup_permille: u32,
}

/// The first takes a core from the second at once (policy/rank.h).
pub fn displaces(a: &Rank, b: &Rank) -> bool {
    unsafe { lop_native_displaces(a, b) }
}

/// Before the first wakeup: relative length of a thread (policy/longest.h).
pub fn declare_length(task: &mut Task, app: &mut App, length: u32) {
    unsafe { lop_native_declare_length(task, app, length) }
}

/// A thread is created: it has the length that its creator declared of its next child.
pub fn born(task: &mut Task, creator: &mut Task, app: &mut App) {
    unsafe { lop_native_born(task, creator, app) }
}

/// Median of what the application's threads declared.
pub fn median_length(app: &App) -> u32 {
    unsafe { lop_native_median_length(app) }
}

/// What a task gains from speed, x 1000 (0: unknown), within what its owner wished: `sched_util_min` and `sched_util_max`, 0 to 1024.
#[must_use]
pub fn wished_speedup(speedup_permille: u32, min: u32, max: u32) -> u32 {
    unsafe { lop_native_wished_speedup(speedup_permille, min, max) }
}
