// SPDX-License-Identifier: GPL-2.0-only
//! `lop restore`: puts speeds, affinities, CPUs of cgroups, parked CPUs and limits of frequency back after a run was killed in a way that left it no time for it.

use super::put_back::{all_is_back, told};
use super::{agent, amp, kernel::Place};
use crate::failure::{Failure, FAILED};
use crate::terminal;
use clap::Args;
use lop_agent::partition;
use lop_kernel::adapter::KernelError;
use lop_kernel::instance;
use lop_machine::speed::restore_from_journal;
use std::path::Path;

pub const EXAMPLES: &str = "\
Example:
  lop restore

It restores speeds, parked CPUs, frequency limits, the CPUs of threads whose 'lop run'
was killed, and those of cgroups whose 'lop agent --node' was. The next 'lop start'
restores speeds and parked CPUs by itself, the next 'lop agent --node' cgroups. It
reports what it cannot restore, goes on with the rest, and fails; run it again to try
again.";

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let dir = arguments.place.run_dir();
    if instance::running(&dir)?.is_some() {
        let running = KernelError::new("Lopsided is running and needs the speeds as they are");
        return Err(running.mend("'lop stop' ends it and puts them back").into());
    }
    // None is to be left because another could not be put back.
    let steps = [
        give_back_cpus(arguments.place.asked().as_deref()),
        open_cgroups(&arguments.place.root, dir.path()),
        open_parked(&arguments.place.root, dir.path()),
        put_speeds_back(&arguments.place, &dir.speed_journal()),
        amp::restore(&arguments.place),
    ];
    let nothing = steps.iter().all(|step| matches!(step, Ok(false)));
    let mut failed: Vec<Failure> = steps.into_iter().filter_map(Result::err).collect();
    match failed.pop() {
        Some(last) => {
            failed.iter().for_each(Failure::print);
            Err(last)
        }
        None if nothing => {
            terminal::print("nothing to restore: no changed speeds, affinities, cgroups or parked CPUs were left\n")
        }
        None => Ok(()),
    }
}

/// True, here and below: there was something to restore.
fn put_speeds_back(place: &Place, journal: &Path) -> Result<bool, Failure> {
    if !journal.exists() {
        return Ok(false);
    }
    let restored = restore_from_journal(&place.root, journal)?;
    terminal::print(&told(&restored))?;
    all_is_back(&restored, "'lop restore' tries again, as does the next 'lop start'").map(|()| true)
}

fn open_parked(root: &Path, run_dir: &Path) -> Result<bool, Failure> {
    let opened = partition::restore(root, &partition::journal(run_dir));
    let opened = opened.map_err(|sentence| Failure::new(FAILED, sentence))?;
    if opened {
        terminal::print("CPUs that were parked are open again\n")?;
    }
    Ok(opened)
}

/// Threads of commands whose `lop run` was killed.
fn give_back_cpus(run_dir: Option<&Path>) -> Result<bool, Failure> {
    let base = lop_agent::base(run_dir);
    let failed = |error| {
        Failure::new(
            FAILED,
            format!("{}: cannot restore affinities: {error}", base.display()),
        )
    };
    let Some(threads) = lop_agent::restore(&base).map_err(failed)? else {
        return Ok(false);
    };
    terminal::print(&format!(
        "threads of a killed run that have all their CPUs back: {threads}\n"
    ))?;
    Ok(true)
}

/// Cgroups whose `lop agent --node` was killed.
fn open_cgroups(root: &Path, run_dir: &Path) -> Result<bool, Failure> {
    let restored = lop_agent::node::restore(root, run_dir).map_err(|sentence| Failure::new(FAILED, sentence))?;
    let Some(restored) = restored else { return Ok(false) };
    terminal::print(&format!(
        "cgroups that have all their CPUs back: {}\n",
        restored.cgroups
    ))?;
    match restored.failed.is_empty() {
        true => Ok(true),
        false => Err(agent::not_restored(&restored.failed)),
    }
}
