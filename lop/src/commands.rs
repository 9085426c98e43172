//! The subcommands, one module each: its arguments, and what it does with them.

pub mod machine;
pub mod reproduce;
pub mod simulate;
pub mod workload;
