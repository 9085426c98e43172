// SPDX-License-Identifier: GPL-2.0-only
//! The service around a scheduler: a single instance, its status socket, its statistics, its signals, and a clean end in every case.

use crate::adapter::{Exit, KernelError, Observer, Run};
use crate::instance::{self, already_running, Instance, RunDir};
use crate::options::Options;
use crate::requests::{requests, Inbox, Requests};
use crate::statistics_server::StatisticsServer;
use crate::status_server::{self, StatusServer};
use crate::support::{self, Missing};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// An instance that is about to run. Dropping it releases the socket and the lock.
pub struct Service {
    dir: RunDir,
    requests: Requests,
    inbox: Inbox,
    _server: StatusServer,
    /// The last field, so that the lock is released after everything else.
    _instance: Instance,
}

/// Checks whether a scheduler can start here; changes nothing.
///
/// # Errors
/// One line: what is missing and how to fix that, or which scheduler is already in charge.
pub fn check(options: &Options, dir: &RunDir) -> Result<(), KernelError> {
    let missing = support::lacks(options);
    if !missing.is_empty() {
        return Err(cannot_start(&missing));
    }
    if instance::running(dir)?.is_some() {
        return Err(already_running(dir));
    }
    match support::attached(&options.root) {
        Some(other) => Err(KernelError::new(format!("{other} is attached")).mend("stop it first")),
        None => Ok(()),
    }
}

fn cannot_start(missing: &[Missing]) -> KernelError {
    let join = |part: fn(&Missing) -> &str| missing.iter().map(part).collect::<Vec<_>>().join("; ");
    KernelError::new(format!("cannot start: {}", join(|missing| &missing.what))).mend(join(|missing| &missing.mend))
}

impl Service {
    /// Becomes the single instance and serves its status.
    ///
    /// # Errors
    /// Another instance runs, or the run folder cannot be used.
    pub fn open(dir: &RunDir) -> Result<Self, KernelError> {
        let instance = Instance::acquire(dir)?;
        let (requests, inbox) = requests().map_err(|error| KernelError::new(format!("eventfd: {error}")))?;
        Ok(Self {
            dir: dir.clone(),
            _server: StatusServer::start(dir, requests.clone())?,
            requests,
            inbox,
            _instance: instance,
        })
    }

    /// For other threads, to get the status or end the run.
    #[must_use]
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// Runs the scheduler until it is asked to end or fails, and restores everything. Notifies systemd if that waits for it.
    ///
    /// # Errors
    /// Those of the scheduler; a panic in it becomes an error.
    pub fn run(self, options: &Options, scheduler: &mut Run, observer: &mut dyn Observer) -> Result<Exit, KernelError> {
        let mut observer = ForSystemd(observer);
        // Its threads start here, before the scheduler's thread raises its priority, since they would inherit it.
        let _statistics = serve_statistics(&self.dir, &mut observer);
        let run = || scheduler(options, &self.inbox, &mut observer);
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(internal_error(panic.as_ref())));
        tell_systemd(&[sd_notify::NotifyState::Stopping]);
        result
    }
}

/// `None` if statistics cannot be served, which is reported but does not keep the scheduler from running.
fn serve_statistics(dir: &RunDir, observer: &mut dyn Observer) -> Option<StatisticsServer> {
    let asked = dir.clone();
    let status = move || status_server::fetch(&asked)?.ok_or_else(|| KernelError::new("Lopsided has ended"));
    StatisticsServer::start(&dir.statistics(), status)
        .map_err(|error| observer.note(&error.to_string()))
        .ok()
}

fn internal_error(panic: &(dyn Any + Send)) -> KernelError {
    let said = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given");
    KernelError::new(format!("internal error: {said}")).mend("please report it; the kernel's own scheduler is back")
}

struct ForSystemd<'a>(&'a mut dyn Observer);

impl Observer for ForSystemd<'_> {
    fn attached(&mut self, status: &crate::status::Status) -> Result<(), KernelError> {
        self.0.attached(status)?;
        let text = format!("{} on {}", status.policy, status.kernel);
        tell_systemd(&[sd_notify::NotifyState::Ready, sd_notify::NotifyState::Status(&text)]);
        Ok(())
    }

    fn note(&mut self, line: &str) {
        self.0.note(line);
    }

    fn handed_back(&mut self, line: &str) -> Result<(), KernelError> {
        self.0.handed_back(line)
    }
}

/// Does nothing if systemd does not wait for it.
fn tell_systemd(states: &[sd_notify::NotifyState]) {
    let _ = sd_notify::notify(states);
}

#[cfg(test)]
mod tests;
