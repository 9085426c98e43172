// SPDX-License-Identifier: GPL-2.0-only
//! Judges a scheduler by the kernel's own tracepoints, and has the loads for that.
//!
//! Everything between a trace and a verdict is pure, and works on copied traces on any machine: [`trace`] is the file,
//! [`replay`] reconstructs who ran, waited and blocked when, and [`checks`] compare that with promises. [`record`] and
//! [`bpf_stats`] read the live kernel; [`load`] creates work for it.

pub mod bpf_stats;
pub mod checks;
pub mod classes;
pub mod decisions;
pub mod decode;
pub mod format;
pub mod load;
pub mod placement;
pub mod record;
pub mod replay;
pub mod ring;
pub mod shares;
pub mod snapshot;
pub mod steps;
#[cfg(test)]
mod testing;
pub mod trace;
