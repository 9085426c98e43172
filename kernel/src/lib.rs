// SPDX-License-Identifier: GPL-2.0-only
//! The policy in the running kernel: its requirements, its options, its status, and the service around it.

pub mod adapter;
pub mod daemon;
pub mod goal;
pub mod hinted;
pub mod hints;
pub mod instance;
pub mod options;
pub mod requests;
pub mod scheduler;
pub mod service;
pub mod signals;
pub mod stalls;
pub mod statistics;
pub mod statistics_server;
pub mod status;
pub mod status_server;
pub mod stop;
pub mod support;
