// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the engine asks of whoever places tasks: the policy (`policy.rs`), or the kernel's scheduler as a baseline (`fair.rs`).
//!
//! Methods that may start tasks or change speeds take the whole world, of which the scheduler is a part: the policy calls back into it
//! (`lop_policy::Env`) while it decides.

use super::cpu::Leaving;
use super::time::Turn;
use super::world::World;
use crate::workload::Workload;

pub(crate) trait Scheduler: Sized {
    /// Speeds and sets before anything runs.
    fn set_up(_world: &mut World<'_, Self>) {}
    /// Time begins.
    fn begin(_world: &mut World<'_, Self>) {}

    /// A new task that is not runnable yet.
    fn created(_world: &mut World<'_, Self>, _id: u32) {}
    /// A task became runnable: starts it on an idle CPU, or queues it. Returns the CPU that it was placed on.
    fn wake(world: &mut World<'_, Self>, id: u32) -> u32;
    /// A task that lost `cpu` is still runnable.
    fn enqueue(world: &mut World<'_, Self>, id: u32, cpu: u32);
    /// Takes the next task for a CPU from its queue.
    fn dispatch(world: &mut World<'_, Self>, cpu: usize) -> Option<u32>;
    fn anything_waits(&self, cpu: usize) -> bool;
    /// Slice of the task that was dispatched last.
    fn slice_ns(&self) -> u64;

    /// The task is on the CPU from now on.
    fn running(world: &mut World<'_, Self>, id: u32, cpu: usize);
    /// The task pays for what it ran.
    fn charge(world: &mut World<'_, Self>, id: u32, cpu: usize, ran_ns: u64);
    /// The task has left the CPU, and is not queued, blocked or gone yet.
    fn stopped(_world: &mut World<'_, Self>, _id: u32, _cpu: usize, _why: Leaving) {}
    /// The task blocks, sleeps or exits.
    fn block(world: &mut World<'_, Self>, id: u32);
    /// The task has exited and blocked.
    fn exited(&mut self, _id: u32) {}
    /// The task raises its SPINNING flag, or drops it.
    fn spins(_world: &mut World<'_, Self>, _id: u32, _spins: bool) {}
    /// Others wait for a mutex that the task holds, or no longer do.
    fn waited_for(_world: &mut World<'_, Self>, _id: u32, _waited_for: bool) {}

    fn cpu_busy(world: &mut World<'_, Self>, cpu: usize);
    /// `beside_busy`: an SMT sibling is busy.
    fn cpu_idle(world: &mut World<'_, Self>, cpu: usize, beside_busy: bool);
    /// An SMT sibling of the CPU became busy or idle.
    fn sibling_changed(&mut self, _cpu: usize, _beside_busy: bool) {}

    /// Whether the core of these CPUs parks when it is idle.
    fn is_low(&self, cpus: &[usize]) -> bool;
    /// Whether the CPU runs at the speed that was chosen for the reserved core.
    fn on_reserved_core(&self, _cpu: usize) -> bool {
        false
    }
    /// Whether it reads counters of instructions and misses.
    fn reads_counters(&self) -> bool {
        false
    }

    /// Its timer expired.
    fn timer(_world: &mut World<'_, Self>) {}
    /// An event that it pushed itself comes due.
    fn turn(_world: &mut World<'_, Self>, _turn: Turn, _index: u32) {}
    /// Temperatures are new.
    fn heated(_world: &mut World<'_, Self>) {}
    fn counts(&self) -> SchedulerCounts {
        SchedulerCounts::default()
    }
}

/// What a scheduler counted by the end of a run.
#[derive(Debug, Default)]
pub(crate) struct SchedulerCounts {
    pub promotions: u64,
    pub demotions: u64,
    pub heat_swaps: u64,
    /// How often the reserved core was raised, and whether it was given up; `None`: none was ever reserved.
    pub reserved: Option<(u32, bool)>,
}

/// By application: the weight of its cgroup (policy/queue/weight.h), where a program of it names one.
pub(super) fn group_weights(workload: &Workload) -> impl Iterator<Item = Option<u32>> + '_ {
    (0..workload.apps.len()).map(|app| {
        let of_app = workload.programs.iter().filter(|p| usize::from(p.app) == app);
        of_app
            .map(|p| p.cgroup_weight)
            .find(|&weight| weight != 100)
            .map(lop_policy::weight_of_share)
    })
}
