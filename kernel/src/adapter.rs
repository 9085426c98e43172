// SPDX-License-Identifier: GPL-2.0-only
//! What the service knows of a scheduler: a function that attaches, sleeps until it is asked something, and detaches.

use crate::options::Options;
use crate::requests::Inbox;
use crate::status::Status;
use std::fmt;

/// Attaches, tells the observer, answers the inbox until it is asked to stop, and detaches. On every way out, a panic that
/// unwinds included, the kernel's own scheduler is back and speeds are restored.
pub type Run<'a> = dyn FnMut(&Options, &Inbox, &mut dyn Observer) -> Result<Exit, KernelError> + 'a;

/// Who wants to know how a run goes. Called on the scheduler's thread, so it must not block.
pub trait Observer {
    /// The scheduler is in charge; once, however often CPUs come and go after that.
    ///
    /// # Errors
    /// A reason to detach at once: what should happen next cannot.
    fn attached(&mut self, status: &Status) -> Result<(), KernelError>;

    /// Something that people should know: a restart, a speed that cannot be set.
    fn note(&mut self, line: &str);
}

/// How a run ended that was asked to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// The last status before it detached.
    pub last: Status,
    /// It was in charge, and its observer has heard so. Not if it was asked to end before.
    pub was_in_charge: bool,
    pub restored: Restored,
}

/// What became of the speeds, for people, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    pub done: Vec<String>,
    pub failed: Vec<String>,
}

impl Restored {
    /// Says what is not as it was.
    pub fn tell_failures(&self, observer: &mut dyn Observer) {
        self.failed.iter().for_each(|line| observer.note(line));
    }
}

/// Why the scheduler could not start, or ended without being asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelError {
    /// The thing and the reason, in one line.
    pub message: String,
    /// The way out.
    pub mend: Option<String>,
    /// The exit dump of sched_ext, many lines.
    pub dump: Option<String>,
    /// Taken out of charge from outside: by SysRq-S or the kernel's watchdog. To be looked into before another start.
    pub ejected: bool,
}

impl KernelError {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            mend: None,
            dump: None,
            ejected: false,
        }
    }

    #[must_use]
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    #[must_use]
    pub fn ejected(mut self, ejected: bool) -> Self {
        self.ejected = ejected;
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
