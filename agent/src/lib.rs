// SPDX-License-Identifier: GPL-2.0-only
//! Enforcement of a policy from user space, where the kernel has no sched_ext: the same policy core (policy/), told what polling sees, and
//! carried out by affinities of a command's threads, or for the whole machine by a partition of the CPUs that nobody is to run on.

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
mod pace;
pub mod partition;
mod plan;
mod policy;
mod proc;
mod rules;
mod shadow;
mod whole;
mod world;

pub use affinity::{Affinity, AgentError, Options, Report};
pub use cpus::Cpus;
pub use folder::{base, restore};
pub use follower::Follower;
pub use hints::VARIABLE as HINT_VARIABLE;
pub use machine::Sizes;
pub use policy::Facts;
pub use rules::{for_machine, reaction};
pub use whole::{run_above_others, MemberIs, Step, Whole, WholeOptions};
