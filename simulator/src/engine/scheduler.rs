// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface between the engine and a scheduler. There are three: the policy (`policy.rs`), and as
//! baselines fair queueing (`fair.rs`) and Linux's fair class (`fair_class.rs`).
//!
//! The scheduler is a part of the world. Calls that can lead to callbacks (`lop_policy::Env`), start tasks or change speeds take the whole world, the
//! others take only the scheduler.

use super::cpu::Leaving;
use super::time::OwnEvent;
use super::world::World;
use crate::workload::Workload;
use crate::Decisions;
use lop_machine::{EnergyPreference, Machine};

/// What follows the end of a slice.
pub(crate) enum AfterSlice {
    /// The task goes on.
    Same,
    /// It is queued, and then the CPU looks for work.
    Leaves,
    /// This one was taken from its queue, and runs next.
    Taken(u32),
}

pub(crate) trait Scheduler: Sized {
    /// A task that runs alone for longer than its slice has another one, and so on; else it leaves as soon as a task waits.
    const RENEWS_SLICES: bool = false;

    /// Sets speeds and sets of CPUs before anything runs.
    fn set_up(_world: &mut World<'_, Self>) {}
    /// The run begins, at time 0.
    fn begin(_world: &mut World<'_, Self>) {}

    /// The energy preference of a clock domain whose speed the processor chooses.
    fn preference(_world: &World<'_, Self>, _domain: usize, shipped: EnergyPreference) -> EnergyPreference {
        shipped
    }

    /// A task was created and is not runnable yet.
    fn created(_world: &mut World<'_, Self>, _id: u32) {}
    /// A task became runnable: starts it on an idle CPU, or queues it. Returns its CPU, or the one that it is queued for.
    fn wake(world: &mut World<'_, Self>, id: u32) -> u32;
    /// When the cycle began of a task that a clock paces; 0: the scheduler knows of none.
    fn clock_of(_world: &World<'_, Self>, _waker: u32) -> u64 {
        0
    }
    /// Queues a task that lost `cpu` and is still runnable.
    fn enqueue(world: &mut World<'_, Self>, id: u32, cpu: u32);
    /// Takes the next task for a CPU from a queue.
    fn dispatch(world: &mut World<'_, Self>, cpu: usize) -> Option<u32>;
    fn anything_waits(&self, cpu: usize) -> bool;
    /// The scheduler looks at the end of each slice of this task on this CPU, even if no task waits.
    fn watches_slices(_world: &World<'_, Self>, _cpu: usize, _id: u32) -> bool {
        false
    }
    /// The task has paid for its slice.
    fn after_slice(world: &mut World<'_, Self>, cpu: usize, _id: u32) -> AfterSlice {
        match world.scheduler.anything_waits(cpu) {
            true => AfterSlice::Leaves,
            false => AfterSlice::Same,
        }
    }
    /// Slice of a task that goes on.
    fn next_slice_ns(world: &World<'_, Self>, cpu: usize, _id: u32) -> u64 {
        world.cores.cpus[cpu].slice_ns
    }
    /// Slice of the task that was dispatched last.
    fn slice_ns(&self) -> u64;

    /// The task starts on the CPU.
    fn running(_world: &mut World<'_, Self>, _id: u32, _cpu: usize) {}
    /// The task has run on the CPU for the last `passed_ns`, at one speed.
    fn ran(_world: &mut World<'_, Self>, _id: u32, _cpu: usize, _passed_ns: u64) {}
    /// A busy CPU's tick.
    fn tick(world: &mut World<'_, Self>, cpu: usize) {
        world.update_schedutil(cpu);
    }
    /// Charges the task for its run time.
    fn charge(world: &mut World<'_, Self>, id: u32, cpu: usize, ran_ns: u64);
    /// The task leaves the CPU: before `enqueue`, `block` or `exited`.
    fn stopped(_world: &mut World<'_, Self>, _id: u32, _cpu: usize, _why: Leaving) {}
    /// The task blocks, sleeps or exits.
    fn block(world: &mut World<'_, Self>, id: u32);
    /// The task has exited: after `block`.
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

    /// Whether the core with these CPUs is low, so that it parks when it is idle.
    fn is_low(&self, cpus: &[usize]) -> bool;
    /// Whether the CPU has the speed that the scheduler chose for it.
    fn has_chosen_speed(_world: &World<'_, Self>, _cpu: usize) -> bool {
        false
    }
    /// Whether the scheduler reads counters of instructions and misses.
    fn reads_counters(&self) -> bool {
        false
    }

    /// The scheduler's timer expired.
    fn timer(_world: &mut World<'_, Self>) {}
    /// An event that the scheduler pushed comes due.
    fn own_event(_world: &mut World<'_, Self>, _event: OwnEvent, _index: u32) {}
    /// Temperatures were updated.
    fn heated(_world: &mut World<'_, Self>) {}
    fn counts(&self) -> SchedulerCounts {
        SchedulerCounts::default()
    }
    /// What was recorded of a policy's decisions, if that was requested.
    fn decisions(&self, _machine: &Machine) -> Option<Decisions> {
        None
    }
}

/// What a scheduler counted by the end of a run.
#[derive(Debug, Default)]
pub(crate) struct SchedulerCounts {
    pub promotions: u64,
    pub demotions: u64,
    pub heat_swaps: u64,
    /// How often the reserved core's speed was raised, and whether the reservation was given up; `None`: no core was ever reserved.
    pub reserved: Option<(u32, bool)>,
}

/// By application: the weight of its cgroup (policy/queue/weight.h), if one of its programs sets a cgroup weight.
pub(super) fn group_weights(workload: &Workload) -> impl Iterator<Item = Option<u32>> + '_ {
    (0..workload.apps.len()).map(|app| {
        let of_app = workload.programs.iter().filter(|p| usize::from(p.app) == app);
        of_app
            .map(|p| p.cgroup_weight)
            .find(|&weight| weight != 100)
            .map(lop_policy::weight_of_share)
    })
}
