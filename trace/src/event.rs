// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a recording holds.

use serde::{Deserialize, Serialize};

/// Highest task number that Linux gives out.
pub const MAX_TASK: u32 = 1 << 22;
/// Highest CPU number that is taken.
pub const MAX_CPU: u16 = 4095;
/// Longest name of a task, in bytes; the kernel's own are shorter.
pub const MAX_NAME: usize = 64;
/// Longest recording: eleven days.
pub const MAX_TIME_NS: u64 = 1_000_000_000_000_000;

/// A recording: what is known of it as a whole, and its events in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub header: Header,
    pub events: Vec<Event>,
}

/// What is known of a recording as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The command and its arguments; empty: the whole machine was recorded.
    pub command: Vec<String>,
    /// When it began, in s since 1970 (UTC).
    pub began_unix_s: u64,
    /// How long it lasted.
    pub wall_ns: u64,
    /// What a shell would report of the command.
    pub exit_code: Option<i32>,
    /// User and system time that the kernel accounts to the command and all children waited for; a check from another source.
    pub rusage_ns: Option<u64>,
    /// Whether events say who woke whom.
    pub wakers: bool,
    pub host: Host,
}

/// The machine that was recorded; events are in its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// As `/proc/cpuinfo` says; empty where it does not.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: u32,
    /// Work of a second there, in ms of the reference core; `None`: version 1, which did not say.
    #[serde(default)]
    pub speed_permille: Option<u32>,
    /// Highest frequency that cpufreq tells; the one that work ran at is not recorded.
    pub max_khz: Option<u64>,
    /// Release of the kernel.
    pub kernel: String,
}

impl Host {
    /// In times the reference core.
    pub fn speed(&self) -> Option<f64> {
        self.speed_permille.map(|permille| f64::from(permille) / 1000.0)
    }
}

/// One event, at a time from the beginning of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at_ns: u64,
    pub cpu: u16,
    pub what: What,
}

/// What happened. Tasks are threads, by the number that Linux gives them; 0 is a CPU's idle loop.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Begins to run on this CPU.
    In { task: u32 },
    /// Leaves the CPU and is not runnable.
    Blocked { task: u32 },
    /// Leaves the CPU while it could run on.
    Preempted { task: u32 },
    /// `thread`: of the parent's process.
    Fork { parent: u32, child: u32, thread: bool },
    /// Begins to exit; what follows until another task runs there is its end.
    Exit { task: u32 },
    /// `exec`: by executing a program.
    Name { task: u32, exec: bool, name: String },
    /// `waker` 0: an interrupt, or a task that is not recorded.
    Wake { waker: u32, woken: u32 },
}
