// SPDX-License-Identifier: MIT OR Apache-2.0
mod chosen;
mod counters;
pub mod fake;
mod folders;
mod model;
mod nvml;
mod power;
