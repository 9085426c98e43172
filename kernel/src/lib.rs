// SPDX-License-Identifier: GPL-2.0-only
//! The policy in the running kernel: what it needs, how it is asked to start, what it says while it runs, and the service
//! around it.

pub mod adapter;
pub mod daemon;
pub mod hinted;
pub mod hints;
pub mod instance;
mod jobs;
pub mod options;
pub mod requests;
pub mod scheduler;
pub mod service;
pub mod signals;
pub mod statistics;
pub mod statistics_server;
pub mod status;
pub mod status_server;
pub mod stop;
pub mod support;
