// SPDX-License-Identifier: GPL-2.0-only
//! `lop record`: the scheduling of a command or of the machine, as a file that 'lop simulate --trace' replays.

use super::amp;
use super::kernel::Place;
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::output::OutputFile;
use crate::signals::cannot_handle;
use crate::terminal::{self, counted};
use clap::{Args, ValueEnum};
use lop_compare::interrupt::Interrupt;
use lop_compare::trace::{of_command, of_machine};
use lop_trace::{Summary, Trace};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const EXAMPLES: &str = "\
Examples:
  lop record -- make -j2                              writes make.trace
  lop record -o my-build.trace -- make -j2
  sudo lop record --machine --seconds 30 -o evening.trace
  lop simulate --trace my-build.trace --policy linux,auto
  lop record --format workload -- ./site              writes site.toml

The command runs as usual, no program is stopped, and its exit code is passed on.
Recording a command needs no privileges where kernel.perf_event_paranoid is 2 or
less; recording the machine needs root. A replay says what it cannot know. For a
build whose jobs wait for one another, use 'lop workload record': it sees every
wait(2), but stops programs to do so.";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecordFormat {
    /// The recording itself, a compact file
    Trace,
    /// The workload that replays it, as TOML, to read and change
    Workload,
}

#[derive(Args)]
pub struct Arguments {
    /// File to write [default: NAME.trace or NAME.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite a recording that is there
    #[arg(long)]
    force: bool,
    /// What to write
    #[arg(long, value_enum, default_value = "trace")]
    format: RecordFormat,
    /// Record everything that runs on this machine, for --seconds; Ctrl-C ends it early
    #[arg(long, requires = "seconds", conflicts_with = "command")]
    machine: bool,
    /// How long to record the machine, in s
    #[arg(long, value_name = "N", value_parser = length)]
    seconds: Option<Duration>,
    /// The command and its arguments; everything after it belongs to it
    #[arg(trailing_var_arg = true, required_unless_present = "machine", value_name = "CMD")]
    command: Vec<OsString>,
}

/// Up to a day, as rings and the file are held in memory.
fn length(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|&s| s > 0.0 && s <= 86_400.0);
    let seconds = seconds.ok_or("expected a time above 0 and up to 86400 s")?;
    Ok(Duration::from_secs_f64(seconds))
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.seconds.is_some() && !arguments.machine {
        let message =
            "--seconds: a command is recorded to its end; record the machine (--machine), or 'timeout' the command";
        return Err(Failure::new(BAD_INPUT, message));
    }
    amp::tell_who_measures(&Place::here())?;
    let name = name(arguments);
    let file = output_file(arguments, &name)?;
    let interrupt = Interrupt::of_signals().map_err(cannot_handle)?;
    let trace = match arguments.seconds {
        Some(length) if arguments.machine => of_machine(length, &interrupt)?,
        _ => of_command(&arguments.command, &interrupt)?,
    };
    let shown = file.shown.display().to_string();
    let (workload, summary) = lop_trace::to_workload(&shown, &trace, &name)?;
    match arguments.format {
        RecordFormat::Workload => file.write(&workload)?,
        RecordFormat::Trace => {
            let bytes = lop_trace::write(&trace);
            let bytes = bytes.map_err(|error| Failure::new(FAILED, format!("{shown}: cannot be written: {error}")))?;
            file.write(&bytes)?;
        }
    }
    terminal::note(&text(&trace, &summary, &file.shown));
    match trace.header.exit_code {
        None | Some(0) => Ok(()),
        Some(code) => Err(Failure::silent(u8::try_from(code).unwrap_or(FAILED))),
    }
}

/// The command's own name without its folder.
fn name(arguments: &Arguments) -> String {
    let command = arguments.command.first().filter(|_| !arguments.machine);
    let name = command.and_then(|command| Path::new(command).file_name());
    name.map_or_else(|| "machine".to_string(), |name| name.to_string_lossy().into_owned())
}

fn output_file(arguments: &Arguments, name: &str) -> Result<OutputFile, Failure> {
    let extension = match arguments.format {
        RecordFormat::Trace => "trace",
        RecordFormat::Workload => "toml",
    };
    let default = || PathBuf::from(format!("{name}.{extension}"));
    let path = arguments.output.clone().unwrap_or_else(default);
    OutputFile::check_recording("--output", &path, arguments.force)
}

/// Less CPU time than the start of a program takes.
const NEARLY_NOTHING_S: f64 = 0.05;

/// For a build that was up to date.
pub fn nearly_nothing(cpu_s: f64) -> &'static str {
    match cpu_s < NEARLY_NOTHING_S {
        true => "; almost nothing ran: if everything was up to date, clean up first (make clean)",
        false => "",
    }
}

fn text(trace: &Trace, summary: &Summary, file: &Path) -> String {
    let wakers = match summary.wakers_known {
        true => "with who woke whom",
        false => "without who woke whom, which needs root and a mounted tracefs (mount -t tracefs tracefs /sys/kernel/tracing)",
    };
    let mut text = format!(
        "wrote {}: {} of {}, {:.2} s of CPU time in {:.2} s, {wakers}",
        file.display(),
        counted(summary.events, "event", "events"),
        summary.tasks_text(),
        summary.cpu_s,
        summary.recorded_s
    );
    if summary.others_s > 0.02 * summary.recorded_s {
        text += &format!(
            "; {} was ready and had no CPU for {:.2} s",
            if trace.header.command.is_empty() {
                "what ran"
            } else {
                "it"
            },
            summary.others_s
        );
    }
    text += nearly_nothing(summary.cpu_s);
    if let Some(code) = trace.header.exit_code.filter(|&code| code != 0) {
        text += &format!("; the command itself failed with exit code {code}");
    }
    text
}
