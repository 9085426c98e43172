// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings of scheduling: who ran when and where, who was preempted or blocked, who forked, exited and woke whom.
//!
//! A [`Trace`] is what `lop record` writes ([`write`], [`read`]; docs/recording.md describes the file). [`lives`] combines its events
//! into lives of tasks, [`to_workload`] makes the workload that replays them, and [`Summary`] tells what was recorded and what a
//! replay cannot know.

mod event;
mod format;
mod lives;
#[cfg(test)]
mod scripted;
mod steps;
mod summary;
mod workload;

pub use event::{Event, Header, Host, Trace, What, MAX_CPU, MAX_NAME, MAX_TASK, MAX_TIME_NS};
pub use format::{is_trace, load, read, write, MAGIC, MAX_FILE_BYTES};
pub use lives::{lives, Life, Moment, Waker};
pub use steps::{steps, Plan, Step, LATENCY_NS};
pub use summary::Summary;
pub use workload::to_workload;
