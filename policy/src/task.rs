// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tasks, applications and groups: how each begins, and what its owner declares about it.

use super::{ffi, role, App, Group, Rank, NONE};
use std::ops::{Deref, DerefMut};

/// `struct lop_task`, followed by the adapter's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    policy: ffi::lop_task,
    /// For the adapter: which task this is.
    pub id: u32,
}

impl Task {
    #[must_use]
    pub fn new(id: u32, weight: u32) -> Self {
        let policy = ffi::lop_task {
            weight,
            user_weight: weight,
            anchor: NONE,
            last_queue: NONE,
            queue: NONE,
            wanted_domain: NONE,
            ..Default::default()
        };
        Self { policy, id }
    }
    /// The part that the policy's C code uses.
    pub fn policy(&mut self) -> &mut ffi::lop_task {
        &mut self.policy
    }
    /// Gain from speed, x 1000, as a plan measured it; 0: unknown (policy/fast/uclamp.h).
    pub fn set_measured_speedup(&mut self, permille: u32) {
        self.speedup_permille = if permille == 0 {
            ffi::LOP_UNMEASURED_SPEEDUP
        } else {
            permille
        };
    }
}

impl Deref for Task {
    type Target = ffi::lop_task;
    fn deref(&self) -> &ffi::lop_task {
        &self.policy
    }
}

impl DerefMut for Task {
    fn deref_mut(&mut self) -> &mut ffi::lop_task {
        &mut self.policy
    }
}

impl ffi::lop_task {
    /// Its present role is that of work that nobody waits for (policy/sets/role.h).
    #[must_use]
    pub fn is_background(&self) -> bool {
        u32::from(self.role) == role::BACKGROUND
    }
}

impl App {
    #[must_use]
    pub fn new(declared: u32) -> Self {
        Self {
            demand: u64::from(declared) << 32,
            home_node: NONE,
            ..Self::default()
        }
    }
    /// Its tasks share its memory, which may be on this node only; `NONE`: on several.
    pub fn share_memory(&mut self, only_node: i32) {
        unsafe { ffi::lop_share_memory(self, only_node) }
    }
    #[must_use]
    pub fn active(&self) -> u32 {
        self.demand as u32
    }
    /// Parallelism; 0: not declared.
    #[must_use]
    pub fn declared(&self) -> u32 {
        (self.demand >> 32) as u32
    }
}

impl Group {
    #[must_use]
    pub fn new(weight: u32) -> Self {
        Self {
            load: u64::from(weight) << 32,
            parent: NONE,
            ..Self::default()
        }
    }
    /// Sum of the weights of its active tasks and groups.
    #[must_use]
    pub fn active_weight(&self) -> u32 {
        self.load as u32
    }
    #[must_use]
    pub fn weight(&self) -> u32 {
        (self.load >> 32) as u32
    }
}

/// Weight of a nice value, -20 to 19. Values outside get the nearest weight (policy/queue/weight.h).
#[must_use]
pub fn weight_of_nice(nice: i8) -> u32 {
    unsafe { ffi::lop_weight_of_nice(nice.into()) }
}

/// Weight of a group by its cpu.weight, 1 to 10000.
#[must_use]
pub fn weight_of_share(cpu_weight: u32) -> u32 {
    unsafe { ffi::lop_weight_of_share(cpu_weight) }
}

/// The first task takes a core from the second at once (policy/fast/rank.h).
#[must_use]
pub fn displaces(a: &Rank, b: &Rank) -> bool {
    unsafe { ffi::lop_displaces(a, b) }
}

/// Before the first wakeup: relative length of a thread (policy/fast/longest.h).
pub fn declare_length(task: &mut Task, app: &mut App, length: u32) {
    unsafe { ffi::lop_declare_length(&mut **task, app, length) }
}

/// A thread is created: it gets the length that its creator declared for its next child.
pub fn born(task: &mut Task, creator: &mut Task, app: &mut App) {
    unsafe { ffi::lop_born(&mut **task, &mut **creator, app) }
}

/// Median of the lengths that the application's threads declared.
#[must_use]
pub fn median_length(app: &App) -> u32 {
    unsafe { ffi::lop_median_length(app) }
}

/// Gain of a task from speed, x 1000 (0: unknown), limited to its owner's wishes: `sched_util_min` and
/// `sched_util_max`, 0 to 1024.
#[must_use]
pub fn clamp_speedup(speedup_permille: u32, min: u32, max: u32) -> u32 {
    unsafe { ffi::lop_clamp_speedup(speedup_permille, min, max) }
}
