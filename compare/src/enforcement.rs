// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a policy is put in force for a run. Who can do that (the kernel's scheduler, affinity from user space) is no concern of
//! this crate: it is handed one.

use std::fmt;
use std::path::PathBuf;

/// Puts policies in force and takes them back.
pub trait Enforcement {
    /// What enforces, for people: `the kernel's scheduler (sched_ext)`.
    fn name(&self) -> &str;

    /// Why it was chosen, or what is lost by it: a clause.
    fn why(&self) -> &str;

    /// How long `policy` takes to act on what a command does, in seconds; `None`: at once. Never called for `linux`.
    fn reaction_s(&self, policy: &str) -> Option<f64> {
        let _ = policy;
        None
    }

    /// Puts `policy` in force; not timed. Never called for `linux`.
    ///
    /// # Errors
    /// It cannot be put in force; then nothing has to be taken back.
    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError>;

    /// A variable that the environment of the command has to have, and its value; asked after [`Enforcement::begin`].
    fn variable(&self) -> Option<(String, PathBuf)> {
        None
    }

    /// The command runs as process `pid` from now on; within the timed part. For those that act on the tree of a process.
    ///
    /// # Errors
    /// The process cannot be acted on. [`Enforcement::end`] is called nevertheless.
    fn started(&mut self, pid: u32) -> Result<(), EnforcementError> {
        let _ = pid;
        Ok(())
    }

    /// Takes the policy back, as before [`Enforcement::begin`]; not timed.
    ///
    /// # Errors
    /// It was lost while the command ran, or something could not be put back.
    fn end(&mut self) -> Result<(), EnforcementError>;
}

/// The policy that needs no enforcement: whatever this machine runs.
pub const LINUX: &str = "linux";

/// Nobody: for comparisons of `linux` alone.
pub struct Nothing;

impl Enforcement for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn why(&self) -> &str {
        "linux is what this machine runs"
    }

    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError> {
        Err(EnforcementError(format!("{policy}: nobody here can put it in force")))
    }

    fn end(&mut self) -> Result<(), EnforcementError> {
        Ok(())
    }
}

/// Why a policy is not in force: thing, reason, way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnforcementError(pub String);

impl fmt::Display for EnforcementError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnforcementError {}
