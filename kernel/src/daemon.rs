// SPDX-License-Identifier: GPL-2.0-only
//! Goes into the background by starting the same program again in a session of its own. The starter waits until that process is
//! attached, and prints its output until then. Afterwards the process writes to the journal, or to a file if there is none. This
//! needs no fork of the running program, so its threads are no problem.

use crate::adapter::KernelError;
use crate::instance::{refused, RunDir};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Marks the end of the new process's messages to its starter.
const ATTACHED: u8 = 0;

/// Identifies our lines in the journal.
const TAG: &str = "lop";

const JOURNAL_SOCKET: &str = "/run/systemd/journal/stdout";

/// Starts this program again with `arguments`, copies its output to `output`, and returns when it has detached, with 0, or
/// ended, with its exit code.
///
/// # Errors
/// The system cannot start or follow it.
pub fn launch(arguments: &[OsString], output: &mut dyn Write) -> io::Result<u8> {
    let mut child = Command::new("/proc/self/exe")
        .arg0(TAG)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let said = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    if copy_until_attached(said, output)? {
        return Ok(0);
    }
    // It has no code if a signal ended it.
    Ok(child
        .wait()?
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}

/// Copies until the end mark, true, or until the end of the stream, false.
fn copy_until_attached(mut said: impl Read, output: &mut dyn Write) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    loop {
        let read = said.read(&mut buffer)?;
        let (text, attached) = match buffer[..read].split_last() {
            None => return Ok(false),
            Some((&ATTACHED, text)) => (text, true),
            Some(_) => (&buffer[..read], false),
        };
        output.write_all(text)?;
        if attached {
            output.flush()?;
            return Ok(true);
        }
    }
}

/// Leaves the terminal; the first thing that the new process does.
///
/// # Errors
/// The system's own.
pub fn leave_terminal() -> io::Result<()> {
    rustix::process::setsid().map(|_| ()).map_err(io::Error::from)
}

/// The log of a detached process, and how to read it.
pub struct Log {
    sink: OwnedFd,
    /// A command that shows it.
    pub shown_by: String,
}

impl Log {
    /// The journal, or else the log file in the run folder, which is created if necessary.
    ///
    /// # Errors
    /// Neither can be written.
    pub fn open(dir: &RunDir) -> Result<Self, KernelError> {
        if let Ok(stream) = journal_stream(Path::new(JOURNAL_SOCKET)) {
            return Ok(Self {
                sink: stream.into(),
                shown_by: format!("journalctl -t {TAG}"),
            });
        }
        dir.create()?;
        let path = dir.log();
        let file = File::create(&path).map_err(|error| refused(&path, "cannot be written", &error))?;
        Ok(Self {
            sink: file.into(),
            shown_by: format!("cat {}", path.display()),
        })
    }

    /// Tells the starter that the process is attached, and writes to the log from now on.
    ///
    /// # Errors
    /// The starter is gone: it was interrupted, so the user no longer wants this.
    pub fn detach(&self) -> Result<(), KernelError> {
        let mut stdout = io::stdout();
        let detach = stdout
            .write_all(&[ATTACHED])
            .and_then(|()| stdout.flush())
            .and_then(|()| Ok(rustix::stdio::dup2_stdout(&self.sink)?))
            .and_then(|()| Ok(rustix::stdio::dup2_stderr(&self.sink)?))
            .and_then(|()| std::env::set_current_dir("/"));
        detach.map_err(|error| KernelError::new(format!("cannot go into the background: {error}")))
    }
}

/// A stream of lines to the journal, in its protocol: a few header lines, then text.
fn journal_stream(socket: &Path) -> io::Result<UnixStream> {
    const PRIORITY_INFO: u8 = 6;
    let mut stream = UnixStream::connect(socket)?;
    stream.shutdown(Shutdown::Read)?;
    // Identifier, unit, priority, level prefixes, forward to syslog, to the kernel's log, to the console.
    write!(stream, "{TAG}\n\n{PRIORITY_INFO}\n0\n0\n0\n0\n")?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_said_before_the_end_is_copied() {
        for (said, attached, copied) in [
            (&b"running\n\0"[..], true, &b"running\n"[..]),
            (b"\0", true, b""),
            (b"half a line", false, b"half a line"),
            (b"", false, b""),
        ] {
            let mut output = Vec::new();
            assert_eq!(copy_until_attached(said, &mut output).unwrap(), attached);
            assert_eq!(output, copied);
        }
    }

    #[test]
    fn the_journal_gets_a_header_and_lines() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("stdout");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut stream = journal_stream(&socket).unwrap();
        stream.write_all(b"a line\n").unwrap();
        drop(stream);
        let mut received = String::new();
        listener.accept().unwrap().0.read_to_string(&mut received).unwrap();
        assert_eq!(received, "lop\n\n6\n0\n0\n0\n0\na line\n");
    }
}
