// SPDX-License-Identifier: GPL-2.0-only
//! Asks the scheduler for memory in which a process gives hints: well-behaved processes by the library, and one that floods the socket.

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use nix::unistd::{fork, pause, ForkResult};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Most connections that a client which never reads has at a time.
const MOST_OPEN: usize = 1000;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Asks {
    /// So many processes give a hint by the library, and stay until this one is killed. Otherwise this one floods the socket until then.
    #[arg(long, conflicts_with = "as_client")]
    pub processes: Option<u64>,
    /// What this client does with each connection.
    #[arg(long, value_enum, default_value = "reads")]
    pub as_client: Client,
    #[arg(long, default_value = "/run/lopsided/hints/socket")]
    pub socket: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Waits for the answer.
    Reads,
    /// Never reads, and holds the last thousand connections.
    Silent,
    /// Sends random bytes, then waits for the answer.
    Garbage,
}

/// Floods the socket from one process, and prints after each thousand of connections how many these were, and how many had an answer.
///
/// # Errors
/// Nobody listens there.
pub fn flood(load: &Asks, seed: u64) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut answered, mut open) = (0, VecDeque::new());
    for connections in 0u64.. {
        if connections % 1000 == 0 {
            println!("{connections} {answered}");
        }
        let connect = || UnixStream::connect(&load.socket);
        let mut connection = connect().with_context(|| format!("connect to {}", load.socket.display()))?;
        match load.as_client {
            Client::Silent => {
                open.truncate(MOST_OPEN - 1);
                open.push_front(connection);
                continue;
            }
            Client::Garbage => {
                let mut bytes = [0; 512];
                random.fill(&mut bytes);
                // The other side may be done already.
                let _ = connection.write(&bytes);
            }
            Client::Reads => {}
        }
        answered += u64::from(connection.read(&mut [0]).is_ok_and(|bytes| bytes > 0));
    }
    Ok(())
}

/// Starts the processes from one of a single thread, and stays until this one is killed; they end with it.
///
/// # Errors
/// The kernel refuses another process.
pub fn crowd(processes: u64) -> Result<()> {
    for _ in 0..processes {
        // SAFETY: this process has one thread, so the child's copy of it is whole.
        if let ForkResult::Child = unsafe { fork() }.context("fork: see ulimit -u and pids.max")? {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).context("end with the parent")?;
            lopsided::length(7);
            // A hint is read when its thread runs.
            loop {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }
    loop {
        pause();
    }
}
