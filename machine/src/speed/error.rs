// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors in setting speeds, each with the thing, the reason and what to do.

use super::describe::named_cpus;
use super::high::HighSpeed;
use crate::InputError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why speeds could not be set, put back or taken over.
#[derive(Debug)]
pub enum SpeedError {
    /// Another living process sets the speeds of this machine.
    Busy { lock: PathBuf, holder: String },
    /// The journal is incomplete, or not from this program; nothing was changed.
    Damaged(InputError),
    /// The journal or its lock could not be read or written. No file is changed without an entry in the journal.
    Journal {
        file: PathBuf,
        action: &'static str,
        source: io::Error,
    },
    /// A file below `/sys` could not be read or written.
    File {
        file: PathBuf,
        action: &'static str,
        source: io::Error,
    },
    /// A file was not restored, because it no longer holds what was written to it.
    Changed { file: PathBuf, found: String },
    /// A limit could not be restored, because it would cross the other limit, which somebody changed.
    OutOfOrder { file: PathBuf, value: String },
    /// Speeds could not be set because the governor was changed since the start; with all CPUs concerned.
    Governor { cpus: Vec<usize>, text: String },
    /// The wanted speed of high CPUs is not known or cannot be set.
    HighSpeed { wanted: HighSpeed, reason: String },
    /// The new high speed is not that of all CPUs: these keep their former one, since their files cannot be written. With the first reason.
    KeptSpeed { cpus: Vec<usize>, first: Box<SpeedError> },
    /// A CPU that does not exist or is not online.
    UnknownCpu { cpu: usize },
}

impl fmt::Display for SpeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { lock, holder } => write!(
                f,
                "{}: process {holder} already sets the speeds of this machine; end it with `lop stop` first",
                lock.display()
            ),
            Self::Damaged(error) => write!(
                f,
                "{error}; nothing was changed: look at this file, restore what it lists by hand, then remove it"
            ),
            Self::Journal { file, action, source } | Self::File { file, action, source } => {
                write!(f, "{}: cannot {action}: {}", file.display(), explain(source))
            }
            Self::Changed { file, found } => write!(
                f,
                "{}: left at {found:?}, which somebody else wrote meanwhile; if that is not intended, change it yourself",
                file.display()
            ),
            Self::OutOfOrder { file, value } => write!(
                f,
                "{}: not put back to {value}: the other limit was changed meanwhile, and the two would cross; set both yourself",
                file.display()
            ),
            Self::Governor { text, .. } => f.write_str(text),
            Self::HighSpeed { wanted, reason } => {
                write!(f, "--high-speed {wanted}: {reason}; --high-speed max always works")
            }
            Self::KeptSpeed { cpus, first } => {
                let keep = if cpus.len() == 1 { "keeps its" } else { "keep their" };
                write!(f, "{} {keep} former high speed: {first}", named_cpus(cpus))
            }
            Self::UnknownCpu { cpu } => write!(
                f,
                "CPU {cpu} was not online when speeds were read; start again after CPUs came or went"
            ),
        }
    }
}

impl std::error::Error for SpeedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Damaged(error) => Some(error),
            Self::KeptSpeed { first, .. } => Some(first.as_ref()),
            Self::Journal { source, .. } | Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The system's reason, and what to do about it if known.
pub(super) fn explain(error: &io::Error) -> String {
    let way_out = match error.kind() {
        io::ErrorKind::PermissionDenied => "run it as root; if you are root, the kernel keeps this file read-only",
        io::ErrorKind::ReadOnlyFilesystem => "mounted read-only, as in a container: run it on the host",
        io::ErrorKind::NotFound => "the CPU went offline, or the driver was unloaded: start again",
        io::ErrorKind::ResourceBusy => {
            "the CPU is offline, or governor performance holds it: choose governor powersave"
        }
        io::ErrorKind::InvalidInput => "the driver refuses the value: another program may have narrowed its limits",
        io::ErrorKind::StorageFull => "free some space",
        _ => return error.to_string(),
    };
    format!("{error} ({way_out})")
}
