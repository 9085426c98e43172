// SPDX-License-Identifier: GPL-2.0-only
//! Short-lived child processes by plain fork, from a process that has one thread.

use super::busy::{name_thread, BusyClock};
use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::{fork, ForkResult, Pid};

/// Name of the children.
pub const COMM: &str = "lop-child";

/// Forks a child that computes for `busy_ns` by `clock` and ends.
///
/// # Errors
/// The kernel refuses another process.
pub fn start(busy_ns: u64, clock: BusyClock) -> Result<Pid> {
    // SAFETY: the caller's process has one thread, so the child's copy of it is whole.
    match unsafe { fork() }.context("fork: see ulimit -u and pids.max")? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let code = i32::from(name_thread(COMM).is_err());
            clock.spend(busy_ns);
            // SAFETY: ends the child at once, without running the parent's exit handlers or flushing its buffers.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Waits until a child has ended.
///
/// # Errors
/// The child did not end with code 0, or there is none.
pub fn reap() -> Result<()> {
    loop {
        match waitpid(None, None::<WaitPidFlag>) {
            Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
            Ok(other) => anyhow::bail!("a child ended with {other:?}"),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("wait for a child"),
        }
    }
}
