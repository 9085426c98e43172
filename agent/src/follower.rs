// SPDX-License-Identifier: GPL-2.0-only
//! The same enforcement for a command that the caller starts and waits for: a thread of its own follows it.

use crate::affinity::{Affinity, AgentError, Ends, Options, Report};
use crate::hints::VARIABLE;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::thread::JoinHandle;

/// Follows one command. Dropped without [`Follower::end`] it ends with the command.
pub struct Follower {
    command: Sender<(u32, Ends)>,
    folder: PathBuf,
    thread: JoinHandle<Result<Report, AgentError>>,
}

impl Follower {
    /// Prepares for a command that is not started yet. Its environment must have [`Follower::variable`].
    ///
    /// # Errors
    /// Something that the agent needs is missing.
    pub fn begin(options: Options) -> Result<Self, AgentError> {
        let affinity = Affinity::new(options)?;
        let (command, commands) = channel();
        let (ready, folder) = sync_channel(1);
        let thread = std::thread::spawn(move || follow(affinity, &ready, &commands));
        match folder.recv() {
            Ok(folder) => Ok(Self {
                command,
                folder,
                thread,
            }),
            Err(_) => Err(joined(thread).err().unwrap_or_else(lost)),
        }
    }

    /// Name and value of a variable for the command's environment. By it the command's hints are found, and after a kill its processes.
    #[must_use]
    pub fn variable(&self) -> (&'static str, &Path) {
        (VARIABLE, &self.folder)
    }

    /// The command runs as this process, which has not been waited for yet.
    ///
    /// # Errors
    /// It cannot be followed.
    pub fn started(&self, pid: u32) -> Result<(), AgentError> {
        let handle = Ends::of(pid).map_err(|error| AgentError::Setup(format!("affinity: process {pid}: {error}")))?;
        self.command.send((pid, handle)).map_err(|_| lost())
    }

    /// Waits until the command has ended; returns at once if none was started. Its remaining threads have their own CPUs back.
    ///
    /// # Errors
    /// Its threads could not be followed to the end.
    pub fn end(self) -> Result<Report, AgentError> {
        drop(self.command);
        joined(self.thread)
    }
}

fn follow(
    mut affinity: Affinity,
    ready: &SyncSender<PathBuf>,
    commands: &Receiver<(u32, Ends)>,
) -> Result<Report, AgentError> {
    let mut prepared = affinity.prepare()?;
    // The caller waits for it.
    let _ = ready.send(prepared.folder().to_path_buf());
    if let Ok((pid, end)) = commands.recv() {
        let followed = affinity.follow(pid, &end, &mut prepared);
        followed.map_err(|error| AgentError::Setup(format!("affinity: threads could not be followed: {error}")))?;
    }
    Ok(affinity.report())
}

fn joined(thread: JoinHandle<Result<Report, AgentError>>) -> Result<Report, AgentError> {
    thread.join().unwrap_or_else(|_| Err(lost()))
}

fn lost() -> AgentError {
    AgentError::Setup("affinity: the thread that follows the command has crashed".to_string())
}
