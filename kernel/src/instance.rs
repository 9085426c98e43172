// SPDX-License-Identifier: GPL-2.0-only
//! Allows one instance on a machine: a lock that is released when its holder dies, in a file with the holder's process id.

use crate::adapter::KernelError;
use nix::fcntl::{fcntl, FcntlArg};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder of the instance's lock, socket, log and journal of speeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir(PathBuf);

impl RunDir {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The socket of the status server.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.0.join("status.sock")
    }

    /// The socket of the status server that changes the goal.
    #[must_use]
    pub fn goal_socket(&self) -> PathBuf {
        self.0.join("goal.sock")
    }

    /// Where the tools of sched_ext look for statistics; a non-default run folder has its own socket.
    #[must_use]
    pub fn statistics(&self) -> PathBuf {
        match *self == Self::default() {
            true => PathBuf::from("/var/run/scx/root/stats"),
            false => self.0.join("scx/root/stats"),
        }
    }

    /// The daemon's log if there is no journal.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// The journal of changed speeds and knobs.
    #[must_use]
    pub fn speed_journal(&self) -> PathBuf {
        self.0.join("speeds.journal")
    }

    /// The folder of the socket for hints of programs, which the library in hints/ knows.
    #[must_use]
    pub fn hints(&self) -> PathBuf {
        self.0.join("hints")
    }

    /// Ends by the kernel's watchdog, see [`crate::stalls`].
    #[must_use]
    pub fn stalls(&self) -> PathBuf {
        self.0.join("stalls")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Creates the folder if it is missing.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(&self) -> Result<(), KernelError> {
        let create = || {
            std::fs::create_dir_all(&self.0)?;
            std::fs::set_permissions(&self.0, Permissions::from_mode(0o755))
        };
        create().map_err(|error| refused(&self.0, "cannot be made", &error))
    }
}

impl Default for RunDir {
    fn default() -> Self {
        Self::new("/run/lopsided")
    }
}

/// The right to be the one instance, held until this is dropped or the process dies.
#[derive(Debug)]
pub struct Instance {
    lock: File,
}

impl Instance {
    /// Takes the lock and writes the id of this process into its file. Creates the folder.
    ///
    /// # Errors
    /// Another instance runs, or the folder is not writable.
    pub fn acquire(dir: &RunDir) -> Result<Self, KernelError> {
        dir.create()?;
        let path = dir.lock();
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| refused(&path, "cannot be opened", &error))?;
        // Anyone who can read the file could lock it, and so keep every instance from starting.
        lock.set_permissions(Permissions::from_mode(0o600))
            .map_err(|error| refused(&path, "cannot be kept from others", &error))?;
        match fcntl(&lock, FcntlArg::F_OFD_SETLK(&whole_file())) {
            Ok(_) => {}
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => return Err(already_running(dir)),
            Err(error) => return Err(refused(&path, "cannot be locked", &error.into())),
        }
        let mut instance = Self { lock };
        instance
            .write_pid()
            .map_err(|error| refused(&path, "cannot be written", &error))?;
        Ok(instance)
    }

    fn write_pid(&mut self) -> io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.write_all(format!("{}\n", std::process::id()).as_bytes())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A number that is left behind does not count without the lock.
        let _ = self.lock.set_len(0);
        // Closing the file is not enough: a child that this process is just starting has it open too, until its exec.
        let mut free = whole_file();
        free.l_type = libc::F_UNLCK as libc::c_short;
        let _ = fcntl(&self.lock, FcntlArg::F_OFD_SETLK(&free));
    }
}

/// The process id of the running instance, 0 while it starts or ends; `None` if none runs.
///
/// # Errors
/// The lock belongs to another user, and only they may check it.
pub fn running(dir: &RunDir) -> Result<Option<u32>, KernelError> {
    let path = dir.lock();
    match File::open(&path) {
        Ok(lock) => Ok(holder(&lock)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(refused(&path, "cannot be read", &error)),
        Err(_) => Ok(None),
    }
}

fn holder(lock: &File) -> Option<u32> {
    let mut found = whole_file();
    // F_OFD_GETLK tests the lock without taking it, so that checking never keeps an instance from starting.
    fcntl(lock, FcntlArg::F_OFD_GETLK(&mut found)).ok()?;
    if i32::from(found.l_type) == libc::F_UNLCK {
        return None;
    }
    let pid = io::read_to_string(lock).ok()?;
    Some(pid.trim().parse().unwrap_or(0))
}

/// The error where somebody has the lock and nothing else: an instance takes it first and frees it last.
#[must_use]
pub fn starts_or_ends() -> KernelError {
    KernelError::new("Lopsided is just starting or ending").mend("try again in a moment")
}

/// The error for a second instance.
#[must_use]
pub fn already_running(dir: &RunDir) -> KernelError {
    let who = match running(dir) {
        Err(_) | Ok(None | Some(0)) => String::new(),
        Ok(Some(pid)) => format!(" (pid {pid})"),
    };
    KernelError::new(format!("Lopsided is running already{who}")).mend("'lop stop' ends it")
}

fn whole_file() -> libc::flock {
    // SAFETY: a C struct of integers, for which all zeros is valid: the whole file, without a process.
    let mut flock: libc::flock = unsafe { std::mem::zeroed() };
    flock.l_type = libc::F_WRLCK as libc::c_short;
    flock.l_whence = libc::SEEK_SET as libc::c_short;
    flock
}

/// An error about the run folder; suggests sudo if permission is missing.
pub(crate) fn refused(path: &Path, what: &str, error: &io::Error) -> KernelError {
    let message = format!("{}: {what}: {error}", path.display());
    match error.kind() {
        ErrorKind::PermissionDenied => KernelError::new(message).mend("run it with sudo"),
        _ => KernelError::new(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instance_and_the_second_is_told_who_runs() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path().join("lopsided"));
        assert_eq!(running(&dir), Ok(None), "no folder yet");

        let first = Instance::acquire(&dir).unwrap();
        assert_eq!(running(&dir), Ok(Some(std::process::id())));
        let refused = Instance::acquire(&dir).unwrap_err().to_string();
        assert!(refused.contains(&format!("pid {}", std::process::id())), "{refused}");
        assert!(refused.contains("lop stop"), "{refused}");

        drop(first);
        assert_eq!(running(&dir), Ok(None));
        Instance::acquire(&dir).unwrap();
    }

    /// An earlier version created the file readable for all.
    #[test]
    fn nobody_else_may_lock_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        std::fs::write(dir.lock(), "").unwrap();
        std::fs::set_permissions(dir.lock(), Permissions::from_mode(0o644)).unwrap();
        let _instance = Instance::acquire(&dir).unwrap();
        assert_eq!(
            std::fs::metadata(dir.lock()).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_number_left_behind_by_the_dead_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        std::fs::write(dir.lock(), "1\n").unwrap();
        assert_eq!(running(&dir), Ok(None));
        Instance::acquire(&dir).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let message = Instance::acquire(&RunDir::new(file.join("run")))
            .unwrap_err()
            .to_string();
        assert!(message.contains("file/run: cannot be made"), "{message}");
    }
}
