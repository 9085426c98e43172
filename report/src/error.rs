// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes a report impossible to write down.

use std::fmt;

/// A report or timeline that would come out wrong. Each of them is a fault of the program that made it, not of its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportError {
    /// A number that is infinite or not a number: neither JSON nor an axis can show it.
    NotFinite { place: String, value: String },
    /// A timeline that contradicts itself (a span on a CPU that does not exist, two tasks on one CPU at once).
    Timeline { policy: String, reason: String },
    /// A published figure that does not say which of the study's results it is about.
    Published {
        study: String,
        what: String,
        reason: String,
    },
    /// The serialiser gave up.
    Serialise(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { place, value } => write!(
                f,
                "{place} is {value}, expected a finite number; leave this result out and report the fault with the command that led to it"
            ),
            Self::Timeline { policy, reason } => write!(
                f,
                "timeline of '{policy}': {reason}; run again without the timeline and report the fault with the command that led to it"
            ),
            Self::Published { study, what, reason } => write!(
                f,
                "published figure '{what}' of {study}: {reason}; report the fault with the command that led to it"
            ),
            Self::Serialise(reason) => write!(f, "cannot write the report as JSON: {reason}"),
        }
    }
}

impl std::error::Error for ReportError {}

impl From<std::io::Error> for ReportError {
    fn from(error: std::io::Error) -> Self {
        Self::Serialise(error.to_string())
    }
}

impl From<serde_json::Error> for ReportError {
    fn from(error: serde_json::Error) -> Self {
        Self::Serialise(error.to_string())
    }
}
