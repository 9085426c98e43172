// SPDX-License-Identifier: GPL-2.0-only
//! Enforces a policy from user space, for kernels without sched_ext. The policy core (policy/) is the same; its events come from polling. Its
//! decisions are carried out by the affinities of a command's threads or, for the whole machine, by a partition of CPUs that no task may use. And
//! confines cgroups to memory domains that another program chose ([`node`]).

mod affinity;
pub mod amp;
mod cpus;
mod demand;
mod enforce;
mod folder;
mod follower;
mod hints;
mod hotplug;
mod machine;
pub mod node;
mod pace;
pub mod partition;
mod plan;
mod policy;
mod proc;
pub mod qos;
mod rules;
mod shadow;
mod whole;
mod world;

pub use affinity::{Affinity, AgentError, Options, Report};
pub use cpus::Cpus;
pub use folder::{base, restore};
pub use follower::Follower;
pub use hints::VARIABLE as HINT_VARIABLE;
#[cfg(fuzzing)]
pub use hints::{receive, Hints};
pub use machine::Sizes;
pub use policy::Facts;
pub use proc::program_of;
pub use rules::{for_machine, reaction};
pub use whole::{run_above_others, MemberIs, Step, Whole, WholeOptions};
