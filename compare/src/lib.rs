//! Measuring commands for real.

pub mod record;

pub use record::{record, to_workload, RecordError, RecordOptions, Recording};
