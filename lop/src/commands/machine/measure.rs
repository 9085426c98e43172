// SPDX-License-Identifier: GPL-2.0-only
//! `lop machine measure`: known loads on this machine, fitted to the power model.

use super::{tree, unreadable};
use crate::commands::amp::told_to_who_measures;
use crate::commands::kernel::Place;
use crate::failure::{Failure, BAD_INPUT, FAILED, INTERRUPTED};
use crate::meter::MeasuringArguments;
use crate::output::OutputFile;
use crate::{progress, signals, terminal};
use clap::Args;
use lop_kernel::adapter::KernelError;
use lop_kernel::instance;
use lop_machine::measure::{disturbance, measure, table, Fitted, Host, How, Plan, Trouble};
use lop_machine::Machine;
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
Examples:
  sudo lop machine measure -o my-machine.toml
  lop machine measure --meter-cmd 'my-meter --watts' --seconds 10
  lop simulate --machine ./my-machine.toml --workload kernel-build

A loop of multiplications runs on 0, 1, 2, 4 and so on up to all cores of each kind,
at each operating point between the current limits. The other cores are idle at their
lowest point. The slope over the number of cores is the power of a busy core. Speeds
are restored at the end and on Ctrl-C; after a kill, 'lop restore' restores them. Leave
the machine alone meanwhile.";

#[derive(Args)]
pub struct Arguments {
    /// The machine file to write; without it only the table is printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(short, long)]
    force: bool,
    /// Name of the machine in the file
    #[arg(long, default_value = "measured")]
    name: String,
    /// How long each load runs, in seconds
    #[arg(long, value_name = "S", default_value = "3", value_parser = seconds)]
    seconds: f64,
    #[command(flatten)]
    meter: MeasuringArguments,
    /// The machine to take voltages from, and watts where no meter works: a built-in name or a file [default: the one with this processor, else phenom-9750]
    #[arg(long, value_name = "MACHINE")]
    watts_of: Option<String>,
    #[command(flatten)]
    place: Place,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.05 to 3600".to_string())
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let output = arguments.output.as_deref();
    let output = output.map(|path| OutputFile::check_recording("--output", path, arguments.force));
    let output = output.transpose()?;
    let tree = tree(&arguments.place.root)?;
    let like = lop_machine::donor(arguments.watts_of.as_deref(), tree.as_ref())?;
    refuse_what_disturbs(&arguments.place)?;
    let meter = arguments.meter.open(&arguments.place.root)?;
    let how = How {
        seconds: arguments.seconds,
        meter: meter.as_ref().map(|meter| meter.source().name.clone()),
        whole_system: meter.as_ref().is_some_and(|meter| meter.source().whole_system),
    };
    let (interrupted, _signals) = signals::ending()?;
    let journal = arguments.place.run_dir().speed_journal();
    let mut host = Host::open(&arguments.place.root, &journal, meter, interrupted)?;
    let plan = Plan::of(tree.as_ref(), &like, &|cpus| host.range(cpus)).map_err(unreadable)?;
    say(&plan, &how, &like);
    host.follow(&plan);
    let bar = progress::bar("measure", plan.settings().len());
    let rows = measure(&plan, arguments.seconds, &mut host, &|| bar.inc(1));
    bar.finish_and_clear();
    let rows = rows.map_err(failure)?;
    let fitted = Fitted::of(&plan, &rows);
    terminal::print(&table(&plan, &rows, fitted.as_ref()))?;
    let odd = fitted.as_ref().map(|fitted| fitted.below_zero(&plan));
    let odd = odd.into_iter().flatten().chain(disturbance(&plan, &rows));
    odd.for_each(|sentence| terminal::note(&sentence));
    let Some(file) = output else { return Ok(()) };
    let text = plan.toml(&arguments.name, &like, &rows, fitted.as_ref(), &how);
    // A file that is written must be readable.
    lop_machine::read("the measured machine", &text)?;
    file.write(&text)
}

/// A scheduler or a slowed CPU would be measured too.
fn refuse_what_disturbs(place: &Place) -> Result<(), Failure> {
    if instance::running(&place.run_dir())?.is_some() {
        let running = KernelError::new("Lopsided is running and sets speeds itself");
        return Err(running.mend("'lop stop' ends it").into());
    }
    match told_to_who_measures(place)?.first() {
        Some(line) => Err(Failure::new(BAD_INPUT, line.clone()).hint("'lop amp reset' ends that")),
        None => Ok(()),
    }
}

/// Printed before the time is spent.
fn say(plan: &Plan, how: &How, like: &Machine) {
    plan.notes().iter().for_each(|note| terminal::note(note));
    match &how.meter {
        Some(meter) => terminal::note(&format!("watts by {meter}")),
        None => terminal::note(&format!(
            "no meter measures here ('lop doctor' says what would mend that): watts are assumed, those of {}, a core at the same share of its \
             highest frequency",
            like.name
        )),
    }
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Interrupted => Failure::new(INTERRUPTED, "interrupted; speeds are as before, nothing was written"),
        _ => Failure::new(FAILED, trouble.to_string()).hint("speeds are as before, nothing was written"),
    }
}
