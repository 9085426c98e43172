// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads: programs of steps, how they start, and what they synchronise on.
//!
//! A workload is a TOML file in the schema of [`schema`] or an rt-app JSON file ([`rtapp`]). Both are read into a [`Spec`] and checked while lines and
//! keys are known. For a seed, a [`Spec`] builds the [`Workload`] that the engine runs.

mod builtin;
mod check;
mod compile;
mod count;
mod describe;
mod draft;
mod expand;
mod locks;
pub(crate) mod memory;
pub mod model;
mod pools;
mod quantity;
mod random;
mod read;
pub mod rtapp;
mod schema;

pub use builtin::{builtin_names, builtin_text};
pub use describe::describe;
pub use model::*;
pub(crate) use quantity::mean_ns;
pub use read::{is_recording, load, read, Spec};
