//! The subcommands, one module each: its arguments, and what it does with them.

pub mod generate;
pub mod hint;
pub mod kernel;
pub mod machine;
pub mod reproduce;
pub mod restore;
pub mod run;
pub mod simulate;
pub mod start;
pub mod status;
pub mod stop;
pub mod workload;
