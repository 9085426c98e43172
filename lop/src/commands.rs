// SPDX-License-Identifier: GPL-2.0-only
//! The subcommands, one module each: its arguments, and what it does with them.

pub mod agent;
pub mod amp;
pub mod cgroup;
pub mod compare;
pub mod doctor;
pub mod enforce;
pub mod generate;
pub mod goal;
pub mod hint;
pub mod kernel;
pub mod machine;
mod put_back;
pub mod record;
pub mod reproduce;
pub mod restore;
pub mod run;
pub mod simulate;
pub mod start;
pub mod status;
pub mod stop;
pub mod top;
pub mod workload;
