// SPDX-License-Identifier: GPL-2.0-only
//! What `lop top` shows: sampled once an interval, drawn as text that fits the terminal.

pub mod sample;
pub mod screen;

mod cpus;
mod history;

pub use sample::Sampler;
pub use screen::{draw, View};
