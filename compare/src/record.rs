// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recorder: the process tree of a real command, as a workload for the simulator.
//!
//! [`record`] runs a command under ptrace, unprivileged, and notes for every process and thread its start, its end, its CPU
//! time, its parent and its waits. [`to_workload`] writes that down as a workload file.
//!
//! **How.** The command stops only where it forks, executes a program, waits for a child, takes a signal or exits. A seccomp
//! filter picks `wait4` and `waitid` out of its system calls; all others run at full speed. The filter needs `no_new_privs`,
//! so set-user-ID programs such as `sudo` inside the command get no privilege. CPU time is read in ns from
//! `/proc/TID/schedstat` at each stop, once more when the process is a zombie, so that tearing down its memory is counted;
//! without that file from `/proc/TID/stat`, in clock ticks. The time that a task stands still for the recorder is not counted
//! as elapsed.
//!
//! **What it costs.** `make -j2` of 40 C files of nginx (121 processes) on two Xeon cores: elapsed 2.63 s against 2.58 s (1.02
//! times), CPU time 5.08 s against 5.02 s (1.01 times); medians of five interleaved pairs. The worst case, a shell that starts
//! `/bin/true` 500 times and does nothing else: elapsed 1.4 times, CPU time 1.5 times, 0.5 ms a process. What the processes
//! spend on stopping is part of their CPU time as recorded; what the recorder itself spends is not.
//!
//! **What it does not see.** Reads and futexes are not traced. The time a task was blocked in them is known as a sum between
//! two stops: elapsed minus CPU time minus time spent runnable; [`to_workload`] says what it makes of that. Processes that run
//! under a 32-bit system call interface are timed, but their waits are not seen. A program that itself traces (gdb, strace)
//! does not work inside the command.
//!
//! **Ends.** Processes that outlive their parent are followed. [`RecordOptions::linger`] after the command itself has ended,
//! those still alive are killed: they could not wait for children without their tracer. When the recording process dies, so
//! does the whole tree (`PTRACE_O_EXITKILL`); Ctrl-C at its default action therefore kills everything and leaves no file.

mod calls;
mod error;
mod keeper;
mod launch;
mod ledger;
pub mod proc_files;
mod steps;
mod to_workload;
mod tracer;

pub use error::RecordError;
pub use to_workload::{to_workload, SLEEP_THRESHOLD_NS};

use serde::Serialize;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What a recording needs beside the command.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// How long processes may outlive the command before they are killed.
    pub linger: Duration,
    /// Raised by somebody (a signal handler): the tree is killed and [`record`] returns [`RecordError::Interrupted`]. Looked
    /// at every 50 ms. `None`: leave Ctrl-C at its default action, which does the same.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(10),
            interrupt: None,
        }
    }
}

/// Where CPU times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CpuClock {
    /// `/proc/TID/schedstat`: ns, and the time spent runnable but not running.
    Schedstat,
    /// `/proc/TID/stat`: clock ticks (10 ms as a rule); time spent runnable counts as blocked.
    Ticks,
}

/// A command that was recorded. All times are ns; points in time count from its start.
#[derive(Debug, Clone, Serialize)]
pub struct Recording {
    pub command: Vec<String>,
    pub started: SystemTime,
    pub wall_ns: u64,
    /// Sum over `processes`.
    pub cpu_ns: u64,
    /// User and system time that the kernel accounts to the command and all children it waited for; an independent check of
    /// `cpu_ns`, from which processes are missing that nobody waited for.
    pub rusage_cpu_ns: u64,
    /// What a shell would report: the command's own exit code, or 128 + the signal that killed it.
    pub exit_code: i32,
    /// Processes and threads in order of creation; the first is the command itself.
    pub processes: Vec<Process>,
    /// Processes that outlived the command by [`RecordOptions::linger`] and were killed.
    pub killed_leftovers: usize,
    pub clock: CpuClock,
    pub cpus: usize,
    /// As `/proc/cpuinfo` says; empty where it does not.
    pub cpu_model: String,
}

/// One process or thread.
#[derive(Debug, Clone, Serialize)]
pub struct Process {
    /// Thread ID at the time; may occur twice, since the system reuses them.
    pub tid: i32,
    /// Index of the task that created it; `None` for the command itself.
    pub parent: Option<usize>,
    /// Shares the process of its parent.
    pub thread: bool,
    /// File name of the program it executed last; that of its parent where it executed none.
    pub program: String,
    /// Numbers of the pipes that are its standard input and output; they tell who reads what whom writes.
    pub input_pipe: Option<u64>,
    pub output_pipe: Option<u64>,
    pub start_ns: u64,
    /// When it began to exit.
    pub end_ns: u64,
    pub cpu_ns: u64,
    /// Its life without gaps, but for the time it stood still for the recorder.
    pub segments: Vec<Segment>,
}

/// A stretch of a task's life, up to an event.
#[derive(Debug, Clone, Serialize)]
pub struct Segment {
    pub start_ns: u64,
    pub end_ns: u64,
    pub cpu_ns: u64,
    /// Neither running nor runnable.
    pub blocked_ns: u64,
    pub event: Event,
}

/// What ends a segment. Tasks are named by their index in [`Recording::processes`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Event {
    Fork {
        child: usize,
    },
    /// End of the time in which a parent stands still after `vfork`, until its child executes a program or exits.
    VforkDone,
    WaitBegin,
    WaitEnd {
        /// The call named the child it waits for.
        named: bool,
        /// The child it returned; `None`: none (interrupted, no child, or not willing to wait).
        reaped: Option<usize>,
    },
    Exec,
    Exit,
}

/// Runs `command` to its end and records it; standard input and outputs are the caller's.
///
/// Errors: the command cannot be run ([`RecordError::exit_code`] 127 or 126, as in a shell), this system does not allow tracing,
/// or the recording was interrupted. A command that ran and failed is no error: see [`Recording::exit_code`].
pub fn record(command: &[OsString], options: &RecordOptions) -> Result<Recording, RecordError> {
    // A thread of its own: waiting for its children cannot take those of the caller, and its end kills what is left.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("recorder".into())
            .spawn_scoped(scope, || tracer::run(command, options))
            .map_err(|error| RecordError::system("start a thread", error))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
