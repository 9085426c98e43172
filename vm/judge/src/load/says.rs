// SPDX-License-Identifier: GPL-2.0-only
//! A process of four busy threads that executes itself anew, of which the first thread said by the library that the others wait for it.

use super::busy::work;
use anyhow::{Context, Result};
use clap::Args;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

/// Threads beside the first.
const OTHERS: usize = 3;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Says {
    /// The first thread says SEQUENTIAL, until this file exists; then the process executes the same program, which says nothing. Without it, it never does.
    #[arg(long)]
    pub sequential_until: Option<PathBuf>,
}

/// Runs until it is killed.
///
/// # Errors
/// No thread can be started, or the program cannot be executed.
pub fn run(load: &Says) -> Result<()> {
    let busy = || loop {
        work();
    };
    for _ in 0..OTHERS {
        thread::Builder::new().spawn(busy).context("start a thread")?;
    }
    let Some(until) = &load.sequential_until else { busy() };
    let _alone = lopsided::sequential();
    while !until.exists() {
        work();
    }
    let program = std::env::current_exe().context("find the own program")?;
    Err(Command::new(program).arg("says").exec()).context("execute it")
}
