// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one error type for faults in input files: file, line, key, what was expected.

use std::fmt;

/// An input that was rejected. `Display` prints `file:line: key: message`, without the parts that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    pub file: String,
    /// 1-based; `None` if the fault is in the file as a whole (too large, unreadable).
    pub line: Option<usize>,
    /// Dotted path of the key, as written in the file (`pool.build.slots`).
    pub key: Option<String>,
    /// What was found and what was expected instead.
    pub message: String,
}

impl InputError {
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            key: None,
            message: message.into(),
        }
    }
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
    /// Line of a byte offset in `text`, 1-based.
    pub fn line_of(text: &str, offset: usize) -> usize {
        text.as_bytes().iter().take(offset).filter(|&&b| b == b'\n').count() + 1
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for InputError {}
