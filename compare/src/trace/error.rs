// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there is no recording.

use crate::process::code_of_refusal;
use std::fmt;
use std::io;

/// `Display` names the thing, the reason and what to do.
#[derive(Debug)]
pub enum TraceError {
    NoCommand,
    /// The command could not be executed.
    Execute {
        program: String,
        error: io::Error,
    },
    /// The kernel refuses the event. `paranoid`: `kernel.perf_event_paranoid`; empty if it does not exist.
    Refused {
        machine: bool,
        error: io::Error,
        paranoid: String,
    },
    /// How many records the kernel had no room for.
    Lost(u64),
    /// A record in an unknown format.
    Record(&'static str),
    System(&'static str, io::Error),
}

impl TraceError {
    /// Exit code for the recording program; as a shell's if the command could not be run.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoCommand => 2,
            Self::Execute { error, .. } => code_of_refusal(error),
            _ => 1,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => write!(f, "no command to record: name one after `--`, or say --machine"),
            Self::Execute { program, error } => write!(
                f,
                "cannot run {program:?}: {error}; check its spelling, its execute permission and PATH"
            ),
            Self::Refused { machine, error, paranoid } => refused(f, *machine, error, paranoid),
            Self::Lost(records) => write!(
                f,
                "{records} records were lost, so nothing was written: more was scheduled than this program could read in time; \
                 record as root, who gets larger buffers, or less at once"
            ),
            Self::Record(what) => write!(f, "the kernel wrote a record that cannot be read: {what}; record on another kernel"),
            Self::System(what, error) => write!(f, "cannot {what}: {error}"),
        }
    }
}

fn refused(f: &mut fmt::Formatter<'_>, machine: bool, error: &io::Error, paranoid: &str) -> fmt::Result {
    let what = if machine {
        "this machine's scheduling"
    } else {
        "a command's scheduling"
    };
    write!(
        f,
        "the kernel does not let {what} be recorded (perf_event_open: {error}): "
    )?;
    match (machine, paranoid) {
        (_, "") => write!(f, "it has no performance events; use a kernel with CONFIG_PERF_EVENTS, or 'lop workload record'"),
        (true, level) => write!(
            f,
            "kernel.perf_event_paranoid is {level}; record as root, or record one command, which needs no privilege"
        ),
        (false, level) => write!(
            f,
            "kernel.perf_event_paranoid is {level}; allow it with `sudo sysctl kernel.perf_event_paranoid=2`, record as root, or, in a \
             container that forbids it, with 'lop workload record'"
        ),
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Execute { error, .. } | Self::Refused { error, .. } | Self::System(_, error) => Some(error),
            _ => None,
        }
    }
}
