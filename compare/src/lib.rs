// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures real commands.

pub mod analysis;
pub mod bootstrap;
pub mod enforcement;
pub mod gauge;
pub mod interrupt;
pub mod journal;
pub mod plan;
pub mod process;
pub mod record;
pub mod session;
pub mod statistics;
pub mod surroundings;
pub mod trace;

pub use record::{record, to_workload, RecordError, RecordOptions, Recording};
pub use trace::TraceError;
