// SPDX-License-Identifier: GPL-2.0-only
//! Threads of different lengths, which the scheduler is told before each thread is created.

use super::busy::{name_thread, wall_ns, work};
use super::ms;
use anyhow::{ensure, Context, Result};
use clap::Args;
use serde::Serialize;
use std::process::Command;
use std::thread;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Lengths {
    /// Work of each thread in units, in order of creation, separated by commas. Threads are called lop-LENGTH.
    #[arg(value_delimiter = ',', required = true)]
    pub lengths: Vec<u32>,
    /// Turns of a short computation in a unit.
    #[arg(long, default_value_t = 500)]
    pub unit: u32,
    /// The command that tells the scheduler; its arguments are the creator's number, --next-length and the length.
    #[arg(long, default_value = "lop hint")]
    pub tell: String,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub threads: Vec<Thread>,
}

#[derive(Debug, Serialize)]
pub struct Thread {
    pub length: u32,
    pub wall_ms: f64,
}

/// Runs the load: each thread computes as soon as it is created.
///
/// # Errors
/// The command fails, or a thread cannot be started.
pub fn run(load: &Lengths) -> Result<Outcome> {
    let mut threads = Vec::new();
    for &length in &load.lengths {
        tell(&load.tell, length)?;
        let turns = u64::from(length) * u64::from(load.unit);
        let compute = move || -> Result<Thread> {
            let begin_ns = wall_ns();
            name_thread(&format!("lop-{length}"))?;
            (0..turns).for_each(|_| work());
            let wall_ms = ms(wall_ns() - begin_ns);
            Ok(Thread { length, wall_ms })
        };
        threads.push(thread::Builder::new().spawn(compute).context("start a thread")?);
    }
    let joined = threads.into_iter().map(|thread| {
        thread
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("a thread panicked")))
    });
    Ok(Outcome {
        threads: joined.collect::<Result<_>>()?,
    })
}

fn tell(command: &str, length: u32) -> Result<()> {
    let mut words = command.split_whitespace();
    let program = words.next().context("no command that tells")?;
    let creator = nix::unistd::gettid().to_string();
    let status = Command::new(program)
        .args(words)
        .args([&creator, "--next-length", &length.to_string()])
        .status()
        .with_context(|| format!("run {program}"))?;
    ensure!(status.success(), "{command} {creator} --next-length {length}: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(tell: &str) -> Lengths {
        Lengths {
            lengths: vec![1, 2],
            unit: 1,
            tell: tell.to_owned(),
        }
    }

    #[test]
    fn every_length_is_told_and_done() {
        let done: Vec<u32> = run(&load("true"))
            .unwrap()
            .threads
            .iter()
            .map(|thread| thread.length)
            .collect();
        assert_eq!(done, [1, 2]);
    }

    #[test]
    fn who_cannot_tell_fails() {
        let error = run(&load("false")).unwrap_err().to_string();
        assert!(error.contains("--next-length 1"), "{error}");
    }
}
