// SPDX-License-Identifier: GPL-2.0-only
//! Creates work for a scheduler, and prints its own times as JSON.

use anyhow::{anyhow, Result};
use clap::{Parser, Subcommand};
use lop_vm_judge::load::{
    affinity_churn, asks, bursts, fork_storm, frames, hogs, idle_count, lengths, pinned, says, shares, storm, wakeups,
};
use serde::Serialize;
use std::process::ExitCode;

/// Creates work for a scheduler; prints its own times as JSON.
#[derive(Parser)]
#[command(name = "lop-load", version)]
struct Cli {
    /// Random seed; the same seed gives the same sequence.
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
    #[command(subcommand)]
    load: Load,
}

#[derive(Subcommand)]
enum Load {
    /// Bursts of work after random idle times.
    Bursts(bursts::Bursts),
    /// Short-lived processes in phases of different parallelism, as in a make.
    ForkStorm(fork_storm::ForkStorm),
    /// Many forks, as fast as possible.
    Storm(storm::Storm),
    /// Message threads wake workers: wake-up delays.
    Wakeups(wakeups::Wakeups),
    /// Busy processes of different kinds: what share of the CPU time each gets.
    Shares(shares::SharesLoad),
    #[command(hide = true)]
    Burn(shares::Burn),
    /// A task pinned to one CPU that sleeps and computes.
    Pinned(pinned::Pinned),
    /// Threads that a clock wakes at equal intervals: how many were late.
    Frames(frames::Frames),
    /// Many busy threads: whether each made progress, and how long they waited.
    Hogs(hogs::Hogs),
    /// Threads of different lengths, told to the scheduler before they are created.
    Lengths(lengths::Lengths),
    /// Four busy threads, the first of which says that the others wait for it.
    Says(says::Says),
    /// Processes that give hints, or one that floods the socket where they ask for their memory.
    Asks(asks::Asks),
    /// Random changes of affinity under load, and whether they are kept.
    AffinityChurn(affinity_churn::AffinityChurn),
    /// Counts what the machine does by itself: wakeups, switches, exits from idle.
    IdleCount(idle_count::IdleCount),
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lop-load: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    match &cli.load {
        Load::Bursts(load) => print(&bursts::run(load, cli.seed)?),
        Load::ForkStorm(load) => print(&fork_storm::run(load, cli.seed)?),
        Load::Storm(load) => print(&storm::run(load)?),
        Load::Wakeups(load) => print(&wakeups::run(load)?),
        Load::Shares(load) => print(&shares::run(load)?),
        Load::Burn(load) => shares::burn(load),
        Load::Pinned(load) => print(&pinned::run(load, cli.seed)?),
        Load::Frames(load) => print(&frames::run(load)?),
        Load::Hogs(load) => {
            let outcome = hogs::run(load)?;
            print(&outcome)?;
            refuse(outcome.complaint(load.max_gap_ms))
        }
        Load::Lengths(load) => print(&lengths::run(load)?),
        Load::Says(load) => says::run(load),
        Load::Asks(load) => match load.processes {
            Some(processes) => asks::crowd(processes),
            None => asks::flood(load, cli.seed),
        },
        Load::AffinityChurn(load) => {
            let outcome = affinity_churn::run(load, cli.seed)?;
            print(&outcome)?;
            refuse(outcome.complaint())
        }
        Load::IdleCount(load) => print(&idle_count::run(load)?),
    }
}

fn refuse(complaint: Option<String>) -> Result<()> {
    complaint.map_or(Ok(()), |complaint| Err(anyhow!(complaint)))
}

fn print(outcome: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(outcome)?);
    Ok(())
}
