// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a command could not be recorded.

use crate::process::code_of_refusal;
use std::fmt;
use std::io;

/// Why there is no recording. `Display` names the thing, the reason and what to do.
#[derive(Debug)]
pub enum RecordError {
    NoCommand,
    /// The command could not be executed.
    Execute {
        program: String,
        error: io::Error,
    },
    /// The system does not let a process trace its own children. `scope` is `kernel.yama.ptrace_scope`, if it exists.
    TracingDenied {
        error: io::Error,
        scope: Option<u32>,
    },
    /// The system call filter was refused.
    FilterDenied {
        error: io::Error,
    },
    /// The processor architecture or the kernel lacks something that the recorder needs.
    Unsupported {
        what: String,
    },
    Interrupted,
    /// A system call failed that does not fail on a healthy system.
    System {
        what: &'static str,
        error: io::Error,
    },
}

impl RecordError {
    pub(super) fn system(what: &'static str, error: impl Into<io::Error>) -> Self {
        Self::System {
            what,
            error: error.into(),
        }
    }

    /// Exit code for the recording program; as a shell's if the command could not be run.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NoCommand => 2,
            Self::Execute { error, .. } => code_of_refusal(error).into(),
            Self::Interrupted => 130,
            _ => 1,
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => write!(f, "no command to record: name one after `--`"),
            Self::Execute { program, error } => write!(
                f,
                "cannot run {program:?}: {error}; check its spelling, its execute permission and PATH"
            ),
            Self::TracingDenied { error, scope } => write_denied(f, error, *scope),
            Self::FilterDenied { error } => write!(
                f,
                "the kernel refused the recorder's system call filter: {error}; it needs CONFIG_SECCOMP_FILTER, and a container \
                 must allow seccomp(2) (docker run --security-opt seccomp=unconfined)"
            ),
            Self::Unsupported { what } => write!(f, "commands cannot be recorded here: {what}"),
            Self::Interrupted => write!(f, "recording interrupted: the command was killed, nothing was written"),
            Self::System { what, error } => write!(f, "cannot {what}: {error}"),
        }
    }
}

fn write_denied(f: &mut fmt::Formatter<'_>, error: &io::Error, scope: Option<u32>) -> fmt::Result {
    write!(
        f,
        "this system does not let a process trace its children (ptrace: {error}): "
    )?;
    match scope {
        Some(3) => write!(
            f,
            "kernel.yama.ptrace_scope is 3, which lasts until the next boot; set it to 1 in /etc/sysctl.d and boot"
        ),
        Some(2) => write!(
            f,
            "kernel.yama.ptrace_scope is 2; allow it with `sudo sysctl kernel.yama.ptrace_scope=1`, or record as root"
        ),
        _ => write!(
            f,
            "in a container, start it with `--cap-add=SYS_PTRACE` or `--security-opt seccomp=unconfined`; under a debugger or \
             strace, record without it"
        ),
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Execute { error, .. }
            | Self::TracingDenied { error, .. }
            | Self::FilterDenied { error }
            | Self::System { error, .. } => Some(error),
            Self::NoCommand | Self::Unsupported { .. } | Self::Interrupted => None,
        }
    }
}
