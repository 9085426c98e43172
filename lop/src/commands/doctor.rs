// SPDX-License-Identifier: GPL-2.0-only
//! `lop doctor`: what this machine can do, what it lacks, and what would mend that.

use super::amp;
use super::kernel::Place;
use crate::failure::{Failure, FAILED, INTERRUPTED};
use crate::format::Format;
use crate::meter::MeterSetup;
use crate::{signals, terminal};
use clap::Args;
use lop_agent::partition;
use lop_kernel::{stalls, support};
use lop_machine::doctor::{text, Finding, Report, State, Trial};
use lop_machine::speed::{self, Asker, Speeds};
use std::path::Path;
use std::sync::atomic::Ordering;

pub const EXAMPLES: &str = "\
Examples:
  lop doctor
  sudo lop doctor
  sudo lop doctor --try
  lop doctor --json
  lop doctor --meter-cmd 'my-meter --watts'

It changes nothing, except with --try. With sudo it checks what root can do. It
takes a few seconds, since each energy meter gets two seconds to show that it counts.

--try checks whether speed requests have any effect: one CPU of each kind computes at
the lowest and at the highest speed that its limits allow, for a second or two each.
It sets limits even where policies would only tell the processor a preference.
Settings are restored at the end, on Ctrl-C, and by 'lop restore' after a kill.

Exit code 0 if something works here (the scheduler in the kernel, CPUs of groups or
of single programs, speeds, a meter), otherwise 1.";

#[derive(Args)]
pub struct Arguments {
    /// Text for people, or one JSON object
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Set speeds for some seconds and check whether the CPUs follow; needs root
    #[arg(long = "try")]
    try_speeds: bool,
    #[command(flatten)]
    meter: MeterSetup,
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = &arguments.place.root;
    let setup = arguments.meter.below(root)?;
    let mut report = Report::look(&setup, vec![scheduler(root), cgroup(root)]);
    report.findings.extend(slowed(&arguments.place)?);
    report.findings.extend(stalled(&arguments.place));
    if arguments.try_speeds {
        report.add_trial(root, try_speeds(&arguments.place)?);
    }
    match arguments.json || arguments.format == Format::Json {
        false => terminal::print(&text(&report))?,
        true => terminal::print(&format!("{:#}\n", report.json()))?,
    }
    match report.usable().is_empty() {
        true => Err(Failure::silent(FAILED)),
        false => Ok(()),
    }
}

/// Speeds are put back before this returns, whatever ends it.
fn try_speeds(place: &Place) -> Result<Trial, Failure> {
    if place.root != Path::new("/") {
        return Ok(Err("these are files of another machine".into()));
    }
    let (ends, _signals) = signals::ending()?;
    let mut speeds = match Speeds::open_for(Asker::Trial, &place.root, &place.run_dir().speed_journal()) {
        Ok(speeds) => speeds,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let tried = speed::try_speeds(&mut speeds, &mut speed::Loop { ends: &ends });
    if !ends.load(Ordering::SeqCst) {
        return Ok(Ok(tried));
    }
    let left = match tried.notes.is_empty() {
        true => "speeds are as they were".to_string(),
        false => tried.notes.join("; "),
    };
    Err(Failure::new(INTERRUPTED, format!("interrupted; {left}")))
}

/// CPUs that somebody made slow and may have forgotten.
fn slowed(place: &Place) -> Result<Option<Finding>, Failure> {
    let lines = amp::told_to_who_measures(place)?;
    let mut finding = Finding::new("slowed", "CPUs slowed by hand", State::Partly);
    for line in &lines {
        finding = finding.found(line.clone());
    }
    finding = finding
        .costs("whoever measures here measures a slower machine")
        .mend("sudo lop amp reset");
    Ok((!lines.is_empty()).then_some(finding))
}

/// Finds ends by the kernel's watchdog (`lop_kernel::stalls`).
fn stalled(place: &Place) -> Option<Finding> {
    let line = stalls::describe(&place.run_dir(), stalls::now_s())?;
    Some(
        Finding::new("stalled", "ends by the kernel's watchdog", State::Partly)
            .found(line)
            .costs("after the fourth in an hour the kernel's own scheduler stays in charge")
            .mend("journalctl -u lopsided"),
    )
}

/// What the kernel says of sched_ext. Rights alone are missing to whoever forgot sudo.
fn scheduler(root: &Path) -> Finding {
    let missing = support::missing(root);
    let finding = |state| Finding::new("scheduler", "scheduling in the kernel (sched_ext)", state);
    if let (true, Some(limits)) = (missing.is_empty(), support::limits(root)) {
        return finding(State::Partly)
            .found(format!("kernel {} has it", support::release(root)))
            .found(limits.what)
            .costs("'lop start' leaves scheduling to the kernel, which keeps that limit, and parks CPUs")
            .mend(limits.mend);
    }
    if missing.is_empty() {
        let ready = match support::is_tried(root) {
            true => format!("kernel {} has it: 'lop start' works", support::release(root)),
            false => format!(
                "kernel {} has it, and is older than all that Lopsided was tried on (6.16): 'lop start' may work",
                support::release(root)
            ),
        };
        return match support::attached(root) {
            None => finding(State::Yes).found(ready),
            Some(name) => finding(State::Yes).found(ready).found(format!("in charge now: {name}")),
        };
    }
    let only_rights =
        root.join("sys/kernel/sched_ext").exists() && missing.len() == 1 && missing[0].mend.contains("sudo");
    let state = if only_rights { State::Partly } else { State::No };
    let mut finding = finding(state)
        .costs("'lop start' cannot schedule in the kernel: each wakeup is placed by the kernel's own scheduler");
    for lack in missing {
        finding = finding.found(lack.what).mend(lack.mend);
    }
    finding
}

/// Sets of CPUs for groups of processes: how a policy is enforced for the whole machine without sched_ext.
fn cgroup(root: &Path) -> Finding {
    let finding = |state| Finding::new("cgroup", "CPUs for groups of processes (cgroup v2)", state);
    let Err(lack) = partition::check(root) else {
        return finding(State::Yes).found("cpuset is there: CPUs that are not needed can be parked");
    };
    let only_rights = lack.mend.contains("run it with sudo");
    finding(if only_rights { State::Partly } else { State::No })
        .found(lack.what)
        .costs("without sched_ext, policies hold for the processes of 'lop run' only (affinity), not for the whole machine")
        .mend(lack.mend)
}
