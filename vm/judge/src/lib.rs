// SPDX-License-Identifier: GPL-2.0-only
//! Judging a scheduler from the kernel's own tracepoints, and the loads to judge it under.
//!
//! Everything between a trace and a verdict is pure and works on copied traces on any machine: [`trace`] is the file,
//! [`replay`] rebuilds who ran, waited and blocked when, [`checks`] compare that with what was promised. [`record`] and
//! [`bpf_stats`] read the live kernel; [`load`] makes work for it.

pub mod bpf_stats;
pub mod checks;
pub mod classes;
pub mod decisions;
pub mod decode;
pub mod format;
pub mod load;
pub mod record;
pub mod replay;
pub mod ring;
pub mod shares;
pub mod snapshot;
pub mod steps;
#[cfg(test)]
mod testing;
pub mod trace;
