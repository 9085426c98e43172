// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contents of a recording.

use serde::{Deserialize, Serialize};

/// Highest task number that Linux gives out.
pub const MAX_TASK: u32 = 1 << 22;
/// Highest CPU number that is accepted.
pub const MAX_CPU: u16 = 4095;
/// Longest name of a task, in bytes; the kernel's own are shorter.
pub const MAX_NAME: usize = 64;
/// Longest recording: eleven days.
pub const MAX_TIME_NS: u64 = 1_000_000_000_000_000;

/// A recording: its header, and its events in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub header: Header,
    pub events: Vec<Event>,
}

/// The header of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The command and its arguments; empty if the whole machine was recorded.
    pub command: Vec<String>,
    /// When it began, in s since 1970 (UTC).
    pub began_unix_s: u64,
    /// How long it lasted.
    pub wall_ns: u64,
    /// The command's exit code, as in a shell.
    pub exit_code: Option<i32>,
    /// User and system time of the command and all children waited for, from the kernel's accounting; an independent check.
    pub rusage_ns: Option<u64>,
    /// Whether events tell who woke whom.
    pub wakers: bool,
    pub host: Host,
}

/// The recorded machine; events are in its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// From `/proc/cpuinfo`; empty if it does not tell.
    pub cpu_model: String,
    /// Number of online CPUs.
    pub cpus: u32,
    /// Work per second, in ms of the reference core; `None` in version 1, which did not have it.
    #[serde(default)]
    pub speed_permille: Option<u32>,
    /// Highest frequency according to cpufreq; the actual frequencies are not recorded.
    pub max_khz: Option<u64>,
    /// Release of the kernel.
    pub kernel: String,
}

impl Host {
    /// The speed relative to the reference core.
    pub fn speed(&self) -> Option<f64> {
        self.speed_permille.map(|permille| f64::from(permille) / 1000.0)
    }
}

/// One event, with its time since the beginning of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at_ns: u64,
    pub cpu: u16,
    pub what: What,
}

/// What happened. Tasks are threads, with the number that Linux gives them; 0 is a CPU's idle loop.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Begins to run on this CPU.
    In { task: u32 },
    /// Leaves the CPU because it blocks.
    Blocked { task: u32 },
    /// Leaves the CPU while still runnable.
    Preempted { task: u32 },
    /// `thread`: the child is a thread of the parent's process.
    Fork { parent: u32, child: u32, thread: bool },
    /// Begins to exit; it goes on exiting until another task runs there.
    Exit { task: u32 },
    /// `exec`: by executing a program.
    Name { task: u32, exec: bool, name: String },
    /// `waker` 0: an interrupt, or a task that is not recorded.
    Wake { waker: u32, woken: u32 },
}
