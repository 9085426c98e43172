// SPDX-License-Identifier: MIT OR Apache-2.0
use std::fmt;

/// Why a machine could not be read. `Display` prints `file: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveError {
    /// Path with the root that was given.
    pub file: String,
    /// What was found, what was expected instead, the way out.
    pub message: String,
}

impl LiveError {
    pub(crate) fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.message)
    }
}

impl std::error::Error for LiveError {}
