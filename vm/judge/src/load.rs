// SPDX-License-Identifier: GPL-2.0-only
//! Work for a scheduler: each load has arguments, runs, and returns its own times as plain data for JSON.

pub mod affinity_churn;
pub mod asks;
pub mod bursts;
pub mod busy;
pub mod children;
pub mod control_group;
pub mod fork_storm;
pub mod frames;
pub mod hogs;
pub mod idle_count;
pub mod lengths;
pub mod pinned;
pub mod says;
pub mod shares;
pub mod storm;
pub mod task_spec;
pub mod unmovable;
pub mod wakeups;

/// Nanoseconds in milliseconds.
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
