// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recorder: the process tree of a real command, as a workload for the simulator.
//!
//! [`record`] runs a command under ptrace, unprivileged, and notes for every process and thread its start, its end, its CPU
//! time, its parent and its waits. [`to_workload`] writes that down as a workload file.
//!
//! **How.** The command stops only when it forks, executes a program, waits for a child, gets a signal or exits. Of its system
//! calls, a seccomp filter only stops `wait4` and `waitid`; all others run at full speed. The filter needs `no_new_privs`,
//! so set-user-ID programs such as `sudo` inside the command get no privilege. CPU time is read in ns from
//! `/proc/TID/schedstat` at each stop, once more when the process is a zombie, so that tearing down its memory is counted;
//! without that file it is read from `/proc/TID/stat`, in clock ticks. The time for which the recorder stops a task does not
//! count as elapsed.
//!
//! **What it costs.** `make -j2` of 40 C files of nginx (121 processes) on two Xeon cores: elapsed 2.63 s against 2.58 s (1.02
//! times), CPU time 5.08 s against 5.02 s (1.01 times); medians of five interleaved pairs. The worst case, a shell that starts
//! `/bin/true` 500 times and does nothing else: elapsed 1.4 times, CPU time 1.5 times, 0.5 ms a process. The recorded
//! CPU time of a process includes what stopping costs it, but not what the recorder itself spends.
//!
//! **What it does not see.** Reads and futexes are not traced. Only the sum of the time that a task was blocked in them between
//! two stops is known: elapsed minus CPU time minus time spent runnable. [`to_workload`] tells how that is used. Processes that run
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

/// Settings of a recording.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// How long processes may outlive the command before they are killed.
    pub linger: Duration,
    /// Set it, for example in a signal handler, to kill the tree; [`record`] then returns [`RecordError::Interrupted`]. Checked
    /// every 50 ms. `None` leaves Ctrl-C at its default action, which does the same.
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

/// The source of CPU times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CpuClock {
    /// `/proc/TID/schedstat`: ns, and the time spent runnable but not running.
    Schedstat,
    /// `/proc/TID/stat`: clock ticks (usually 10 ms); time spent runnable counts as blocked.
    Ticks,
}

/// A recorded command. All times are in ns; points in time count from its start.
#[derive(Debug, Clone, Serialize)]
pub struct Recording {
    pub command: Vec<String>,
    pub started: SystemTime,
    pub wall_ns: u64,
    /// Sum over `processes`.
    pub cpu_ns: u64,
    /// User and system time of the command and all children it waited for, from the kernel's accounting. An independent check of
    /// `cpu_ns`, but without processes that nobody waited for.
    pub rusage_cpu_ns: u64,
    /// As in a shell: the command's exit code, or 128 + the signal that killed it.
    pub exit_code: i32,
    /// Processes and threads in order of creation; the first is the command itself.
    pub processes: Vec<Process>,
    /// How many processes outlived the command by [`RecordOptions::linger`] and were killed.
    pub killed_leftovers: usize,
    pub clock: CpuClock,
    pub cpus: usize,
    /// From `/proc/cpuinfo`; empty if it does not tell.
    pub cpu_model: String,
}

/// One process or thread.
#[derive(Debug, Clone, Serialize)]
pub struct Process {
    /// Its thread ID; may occur twice, since the system reuses them.
    pub tid: i32,
    /// Index of the task that created it; `None` for the command itself.
    pub parent: Option<usize>,
    /// Whether it is a thread of its parent's process.
    pub thread: bool,
    /// File name of the program it executed last; that of its parent if it executed none.
    pub program: String,
    /// The pipe that is its standard input. Together with `output_pipe` it tells who reads whose output.
    pub input_pipe: Option<u64>,
    pub output_pipe: Option<u64>,
    pub start_ns: u64,
    /// When it began to exit.
    pub end_ns: u64,
    pub cpu_ns: u64,
    /// Its life without gaps, except for the time for which the recorder stopped it.
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

/// The end of a segment. Tasks are given by their index in [`Recording::processes`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Event {
    Fork {
        child: usize,
    },
    /// The parent goes on after a `vfork`, because its child executed a program or exited.
    VforkDone,
    WaitBegin,
    WaitEnd {
        /// Whether the call named the child.
        named: bool,
        /// The child that it returned; `None` if it returned none (interrupted, no child, or WNOHANG).
        reaped: Option<usize>,
    },
    Exec,
    Exit,
}

/// Runs `command` to its end and records it; standard input and outputs are the caller's.
///
/// Errors: the command cannot be run ([`RecordError::exit_code`] 127 or 126, as in a shell), this system does not allow tracing,
/// or the recording was interrupted. A command that ran and failed is not an error: see [`Recording::exit_code`].
pub fn record(command: &[OsString], options: &RecordOptions) -> Result<Recording, RecordError> {
    // In its own thread: its waits cannot reap the caller's children, and its end kills the rest of the tree.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("recorder".into())
            .spawn_scoped(scope, || tracer::run(command, options))
            .map_err(|error| RecordError::system("start a thread", error))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
