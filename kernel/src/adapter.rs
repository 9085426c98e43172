// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler as the service sees it: a function that attaches, sleeps until there is a request, and detaches.

use crate::options::Options;
use crate::requests::Inbox;
use crate::status::Status;
use std::fmt;

/// Attaches, tells the observer, answers the inbox until it is asked to stop, and detaches. However it returns, even by a panic
/// that unwinds, the kernel's own scheduler is back and speeds are restored.
pub type Run<'a> = dyn FnMut(&Options, &Inbox, &mut dyn Observer) -> Result<Exit, KernelError> + 'a;

/// Observes a run. Called on the scheduler's thread, so it must not block.
pub trait Observer {
    /// The scheduler is in charge. Called once, however often CPUs come and go after that.
    ///
    /// # Errors
    /// A reason to detach at once, because the next step is impossible.
    fn attached(&mut self, status: &Status) -> Result<(), KernelError>;

    /// Something that users should know, such as a restart or a speed that cannot be set.
    fn note(&mut self, line: &str);

    /// The kernel's own scheduler is in charge for now, for the reason in `line`. The policy takes over again by itself.
    ///
    /// # Errors
    /// A reason to end instead, because the caller needs the scheduler in charge all the time.
    fn handed_back(&mut self, line: &str) -> Result<(), KernelError> {
        self.note(line);
        Ok(())
    }
}

/// The result of a run that ended on request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// The last status before it detached.
    pub last: Status,
    /// Whether it was in charge and its observer was told; false if it was asked to end before that.
    pub was_in_charge: bool,
    pub restored: Restored,
}

/// Whether the speeds were restored, for people, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    pub done: Vec<String>,
    pub failed: Vec<String>,
}

impl Restored {
    /// Reports what could not be restored.
    pub fn tell_failures(&self, observer: &mut dyn Observer) {
        self.failed.iter().for_each(|line| observer.note(line));
    }
}

/// Why the scheduler could not start, or ended without being asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelError {
    /// The thing and the reason, in one line.
    pub message: String,
    /// What to do about it.
    pub mend: Option<String>,
    /// The exit dump of sched_ext, many lines.
    pub dump: Option<String>,
    pub ended_by: EndedBy,
}

/// What ended a scheduler that was in charge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EndedBy {
    /// An error of its own, or it never was in charge.
    #[default]
    Itself,
    /// An administrator, by SysRq-S.
    SysRq,
    /// The kernel's watchdog, because a task had waited too long.
    Watchdog,
}

impl KernelError {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            mend: None,
            dump: None,
            ended_by: EndedBy::Itself,
        }
    }

    #[must_use]
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    #[must_use]
    pub fn ended_by(mut self, ended_by: EndedBy) -> Self {
        self.ended_by = ended_by;
        self
    }

    #[must_use]
    pub fn dump(mut self, dump: impl Into<String>) -> Self {
        self.dump = Some(dump.into());
        self
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.mend {
            Some(mend) => write!(f, ": {mend}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for KernelError {}
