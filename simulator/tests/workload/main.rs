// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workload files: what they build, what is refused and how, and that no input makes the readers panic.

mod build;
mod errors;
mod mutation;
mod rtapp;
mod twins;
