// SPDX-License-Identifier: GPL-2.0-only
//! `lop compare`: commands, measured for real under several policies, or a workload simulated under them; the same table of both.

mod convert;
mod enforce;
mod exports;
mod journals;
mod plan;
mod shown;
mod simulated;

use super::amp;
use super::enforce::Enforce;
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::format::TableFormat;
use crate::meter::{Found, MeterArguments};
use crate::policies;
use crate::progress;
use crate::signals::cannot_handle;
use crate::suggested::Suggested;
use crate::terminal;
use clap::Args;
use exports::{ExportArguments, Exports};
use lop_compare::analysis::analyse;
use lop_compare::enforcement::LINUX;
use lop_compare::gauge::Gauge;
use lop_compare::interrupt::Interrupt;
use lop_compare::journal::{self, Header, Measured, MeterUsed};
use lop_compare::session::{measure, Tools};
use lop_compare::surroundings::Surroundings;
use lop_machine::meter::Meter;
use lop_report::comparison::{comparison_csv, comparison_json, comparison_text, Comparison};
use lop_report::Replayed;
use plan::PlanArguments;
use shown::{ShownArguments, Sort};
use std::path::{Path, PathBuf};

pub const EXAMPLES: &str = "\
Examples:
  sudo lop compare --policy linux,auto -- make -j4
  lop compare --policy linux,linux --runs 10 -- ./bench      how large is the noise?
  lop compare --policy linux,highlow-spare --enforce affinity -- make -j2
  lop compare -N --warmup 2 './old --fast' './new --fast'
  lop compare --reference ./old --sort mean-time -u ms './new -1' './new -2'
  lop compare -L jobs 1,2,4 --prepare 'make clean' 'make -j{jobs}'
  lop compare --runs 20 --export-json runs.json --export-html runs.html 'sort words'
  lop compare --machine i7-940 --workload bursts --policy linux,highlow --runs 10
  lop compare --show FILE                                    print a journal

Commands are given as with hyperfine, each one a line for a shell, or one after
'--' as words, without a shell. The time to start the shell is included. Each round
runs every combination of policy, command and parameters once, in random order.
Ratios are taken within a round, so that what disturbs a round disturbs both sides.

A failing command ends the comparison with its exit code. With --ignore-failure,
failed runs are counted and left out of the means. --setup runs once for each
command before all rounds and --cleanup after them, since rounds mix the commands.

Policies are enforced in the kernel or, where that is not possible, from user space:
by parking CPUs (cgroup, as root) or binding the command's threads (affinity). The
result says which way, and why.

Every run is recorded at once. Ctrl-C ends the running command, restores the machine
and prints what was measured. After 'kill -9', --show prints the journal, which lies
in $XDG_STATE_HOME/lopsided or ~/.local/state/lopsided.

Exit code 1 if no run succeeds with --ignore-failure.";

#[derive(Args)]
pub struct Arguments {
    /// Policies, separated by commas; linux is what this machine runs by itself. Results are relative to the first
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', default_value = "linux", value_parser = Suggested::text(policies::compared), hide_possible_values = true)]
    policy: Vec<String>,
    /// How policies are enforced: kernel, cgroup or affinity [default: the first that works here]
    #[arg(long, value_name = "WAY")]
    enforce: Option<Enforce>,
    #[command(flatten)]
    plan: PlanArguments,
    #[command(flatten)]
    meter: MeterArguments,
    #[command(flatten)]
    simulated: simulated::SimulatedArguments,
    #[command(flatten)]
    exports: ExportArguments,
    /// Aligned tables for people, one JSON object with `results`, or a CSV line for each result
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
    #[command(flatten)]
    shown: ShownArguments,
    /// Seed of the order of runs, or of the first simulation [default: from the clock; 1 with --machine]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// File to record every run in; it is kept [default: one that is removed if all goes well]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Print and export a journal, and measure nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["commands", "words", "command"])]
    show: Option<PathBuf>,
    #[command(flatten)]
    place: super::kernel::Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let exports = Exports::check(&arguments.exports)?;
    if let Some(path) = &arguments.show {
        let read = journal::read(path);
        let measured = read.map_err(|error| Failure::new(BAD_INPUT, format!("--show: {}: {error}", path.display())))?;
        return give(arguments, &exports, &measured, None);
    }
    if arguments.simulated.wanted() {
        arguments.plan.refuse_commands()?;
        let seed = arguments.seed.unwrap_or(1);
        let measured = arguments
            .simulated
            .measure(&arguments.policy, seed, arguments.plan.runs)?;
        return give(arguments, &exports, &measured, arguments.simulated.replayed()?);
    }
    for_real(arguments, &exports)
}

fn give(arguments: &Arguments, exports: &Exports, measured: &Measured, trace: Option<Replayed>) -> Result<(), Failure> {
    let method = arguments.shown.interval.into();
    let mut comparison: Comparison = convert::comparison(measured, &analyse(measured, method), method, trace);
    comparison.time_unit = arguments.shown.time_unit.map(Into::into);
    let sorted = match arguments.shown.sort {
        Sort::Auto | Sort::Command => comparison.clone(),
        Sort::MeanTime => comparison.by_mean_time(),
    };
    let written = exports.write(&comparison, &sorted);
    let text = match arguments.format {
        TableFormat::Text => comparison_text(&sorted, terminal::room("--format csv")),
        TableFormat::Json => comparison_json(&comparison),
        TableFormat::Csv => comparison_csv(&comparison),
    };
    terminal::print(&text).and(written)
}

/// Where no meter was asked for by name and none works.
const NO_METER: &str = "Energy is not measured: no meter works here. 'lop doctor' says why for each; --model MACHINE gives modelled energy.";

fn for_real(arguments: &Arguments, exports: &Exports) -> Result<(), Failure> {
    let plan = arguments.plan.plan(&arguments.policy)?;
    let settings = arguments.plan.settings()?;
    amp::tell_who_measures(&arguments.place)?;
    let (meter, no_meter) = match arguments.meter.open(&arguments.place.root)? {
        Found::Meter(meter) => (Some(Box::new(meter) as Box<dyn Meter>), None),
        Found::NotWanted => (None, Some("Energy is not measured: --meter none.".to_string())),
        Found::NoneWorks => (None, Some(NO_METER.to_string())),
    };
    let mut enforcement = enforce::choose(&arguments.policy, arguments.enforce, &arguments.place)?;
    let mut header = Header::new(arguments.seed.unwrap_or_else(seed_of_the_clock), plan.combinations);
    header.reference = plan.reference;
    header.meter = meter.as_ref().map(|meter| MeterUsed::from(meter.source()));
    header.no_meter = no_meter;
    let enforced = arguments.policy.iter().filter(|policy| *policy != LINUX);
    for policy in enforced {
        header.enforcement = Some(format!("{}: {}", enforcement.name(), enforcement.why()));
        let reaction_s = enforcement.reaction_s(policy);
        header
            .reactions_s
            .extend(reaction_s.map(|seconds| (policy.clone(), seconds)));
    }
    let interrupt = Interrupt::of_signals().map_err(cannot_handle)?;
    let mut journal = journals::begin(arguments.journal.as_deref(), header)?;
    let bar = progress::bar("compare", 1);
    let result = {
        let mut tools = Tools {
            gauge: Gauge::new(meter),
            enforcement: enforcement.as_mut(),
            interrupt: &interrupt,
            surroundings: Surroundings::new(Path::new("/")),
            progress: &mut |done, total| {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            },
        };
        measure(&mut journal, &settings, &mut tools)
    };
    bar.finish_and_clear();
    let given = match journal.measured.runs.is_empty() {
        true => Ok(()),
        false => give(arguments, exports, &journal.measured, None),
    };
    journals::end(&journal, arguments.journal.is_none(), result.is_ok() && given.is_ok());
    result.map_err(|error| Failure::new(error.exit_code(), error.to_string()))?;
    given.and_then(|()| some_succeeded(&journal.measured))
}

/// Failures may be ignored, but not all of them: the results then mean nothing.
fn some_succeeded(measured: &Measured) -> Result<(), Failure> {
    match measured.runs.iter().any(|run| run.exit_code == 0) {
        true => Ok(()),
        false => Err(Failure::new(FAILED, "no run succeeded").hint("--output inherit shows what the commands say")),
    }
}

/// Any number. It is printed, so that the order of runs can be repeated.
fn seed_of_the_clock() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| u64::from(since.subsec_nanos()))
}
