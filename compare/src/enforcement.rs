// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a policy is put in force for a run. The means (the kernel's scheduler, affinity from user space) are no concern of
//! this crate; the caller supplies them.

use std::fmt;
use std::path::PathBuf;

/// Puts policies in force and ends them.
pub trait Enforcement {
    /// The means, for people: `the kernel's scheduler (sched_ext)`.
    fn name(&self) -> &str;

    /// Why it was chosen, or what is lost by it; a clause.
    fn why(&self) -> &str;

    /// How long `policy` takes to act on what a command does, in seconds; `None` if it acts at once. Never called for `linux`.
    fn reaction_s(&self, policy: &str) -> Option<f64> {
        let _ = policy;
        None
    }

    /// Puts `policy` in force; not timed. Never called for `linux`.
    ///
    /// # Errors
    /// It cannot be put in force; then nothing needs to be ended.
    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError>;

    /// A variable that the command's environment must have, and its value; called after [`Enforcement::begin`].
    fn variable(&self) -> Option<(String, PathBuf)> {
        None
    }

    /// The command has started as process `pid`; called within the timed part. For means that act on a process tree.
    ///
    /// # Errors
    /// The policy cannot act on the process. [`Enforcement::end`] is called nevertheless.
    fn started(&mut self, pid: u32) -> Result<(), EnforcementError> {
        let _ = pid;
        Ok(())
    }

    /// Ends the policy; everything is then as before [`Enforcement::begin`]. Not timed.
    ///
    /// # Errors
    /// It was lost while the command ran, or something could not be restored.
    fn end(&mut self) -> Result<(), EnforcementError>;
}

/// The policy that needs no enforcement: the scheduler that this machine runs.
pub const LINUX: &str = "linux";

/// For comparisons of `linux` only.
pub struct Nothing;

impl Enforcement for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn why(&self) -> &str {
        "linux is what this machine runs"
    }

    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError> {
        Err(EnforcementError(format!("{policy}: nothing here can put it in force")))
    }

    fn end(&mut self) -> Result<(), EnforcementError> {
        Ok(())
    }
}

/// Why a policy is not in force: the thing, the reason, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnforcementError(pub String);

impl fmt::Display for EnforcementError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnforcementError {}
