// SPDX-License-Identifier: GPL-2.0-only
//! Passes signals that `lop run` receives on to its command.

use lop_kernel::signals::{SIGINT, SIGQUIT};
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The command, shared by the thread that starts it and the one that handles signals.
#[derive(Clone, Default)]
pub struct Target(Arc<Mutex<Process>>);

#[derive(Default)]
struct Process {
    /// So that no signal reaches another process with the same number.
    handle: Option<OwnedFd>,
    /// Received before there was a handle.
    missed: Option<Signal>,
}

impl Target {
    /// Starts the command. Signals wait meanwhile; one that was received before is sent to it.
    ///
    /// # Errors
    /// The command cannot be started, or the kernel gives no handle for its process.
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut process = self.process();
        let child = command.spawn()?;
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let handle = pidfd_open(pid, PidfdFlags::empty())?;
            if let Some(signal) = process.missed.take() {
                send(&handle, signal);
            }
            process.handle = Some(handle);
        }
        Ok(child)
    }

    /// Passes a signal on. Ctrl-C and Ctrl-\ reach a command that runs from the terminal. False: no command runs yet; if one is
    /// started, it gets the signal then.
    pub fn pass_on(&self, signal: i32) -> bool {
        let mut process = self.process();
        let named = Signal::from_named_raw(signal);
        match (&process.handle, named) {
            (None, _) => process.missed = named,
            (Some(handle), Some(named)) if ![SIGINT, SIGQUIT].contains(&signal) => send(handle, named),
            (Some(_), _) => {}
        }
        process.handle.is_some()
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that has ended needs no signal.
fn send(handle: &OwnedFd, signal: Signal) {
    let _ = pidfd_send_signal(handle, signal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use lop_kernel::signals::SIGTERM;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_signal_that_comes_before_the_command_is_not_lost() {
        let target = Target::default();
        assert!(!target.pass_on(SIGTERM));
        let mut command = target.start(Command::new("sleep").arg("600")).unwrap();
        assert_eq!(command.wait().unwrap().signal(), Some(SIGTERM));
    }
}
