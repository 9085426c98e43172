// SPDX-License-Identifier: GPL-2.0-only
//! `lop workload`: lists and shows workloads, and records new ones.

use super::record::nearly_nothing;
use crate::failure::{Failure, BAD_INPUT};
use crate::format::{print_list, Entry, ListArguments};
use crate::output::OutputFile;
use crate::suggested::Suggested;
use crate::terminal::{self, counted};
use clap::{Args, Subcommand};
use lop_compare::{RecordOptions, Recording};
use lop_simulator::experiment::{self, Reference, Setting};
use lop_simulator::workload;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub const EXAMPLES: &str = "\
Examples:
  lop workload list
  lop workload show kernel-build
  lop workload record -o my-build.toml -- make -j2
  lop simulate --workload my-build.toml";

const SHOW_EXAMPLES: &str = "\
Examples:
  lop workload show bursts
  lop workload show ./my-build.toml
  lop workload show kernel-build --set workload.pool.build.slots=4
  lop workload show periodic --toml > my-workload.toml";

const RECORD_EXAMPLES: &str = "\
Examples:
  lop workload record -- make -j2               writes make.toml
  lop workload record -o my-build.toml -- make -j2
  lop workload record --name site -- sh -c './build && ./check'
  lop simulate --workload ./make.toml

The command runs as usual, with its own input and output, and its exit code is
passed on. It needs no privileges. 'lop record' stops no program and sees threads
and preemption, but has to infer who waits for whom.";

#[derive(Subcommand)]
pub enum Command {
    /// List the workloads that are built in
    #[command(after_help = "Examples:\n  lop workload list\n  lop workload list --format json")]
    List(ListArguments),
    /// Describe a workload: tasks, work, pools, what they synchronise on
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// A name ('lop workload list'), a TOML file, an rt-app JSON file or a recording
        #[arg(value_parser = Suggested::text(workload::builtin_names), hide_possible_values = true)]
        name: String,
        /// Print the TOML of a built-in workload, as a start for your own
        #[arg(long, conflicts_with = "settings")]
        toml: bool,
        /// Seed of the random numbers that the workload is built with
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Change a key first (workload.KEY=VALUE); may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// Run a command and record its processes, their CPU times and waits as a workload
    #[command(after_help = RECORD_EXAMPLES)]
    Record(RecordArguments),
}

#[derive(Args)]
pub struct RecordArguments {
    /// File to write [default: NAME.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite a recording that is there
    #[arg(long)]
    force: bool,
    /// Name of the workload [default: the name of the command]
    #[arg(long)]
    name: Option<String>,
    /// The command and its arguments; everything after it belongs to it
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List(arguments) => list(&arguments),
        Command::Show { name, toml: true, .. } => show_toml(&name),
        Command::Show {
            name, seed, settings, ..
        } => show(&name, seed, &settings),
        Command::Record(arguments) => record(&arguments),
    }
}

fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let entry = |name: &str| {
        let text = workload::load(name, &[])?.description.clone();
        let facts = vec![("name", name.into()), ("description", text.clone().into())];
        Ok(Entry { text, facts })
    };
    let entries = workload::builtin_names().into_iter().map(entry);
    print_list(
        "workloads",
        &entries.collect::<Result<Vec<_>, Failure>>()?,
        arguments.format,
    )
}

fn show(name: &str, seed: u64, settings: &[String]) -> Result<(), Failure> {
    let settings = settings
        .iter()
        .map(|s| Setting::from_argument(s))
        .collect::<Result<Vec<_>, _>>()?;
    let spec = experiment::open_workload(&Reference::given(name, "workload"), &settings)?;
    spec.notes.iter().for_each(|note| terminal::note(note));
    terminal::print(&workload::describe(&spec.build(seed)))
}

fn show_toml(name: &str) -> Result<(), Failure> {
    match workload::builtin_text(name) {
        Some(text) => terminal::print(text),
        None => {
            let message = experiment::suggest::unknown("workload", name, &workload::builtin_names());
            Err(Failure::new(BAD_INPUT, message).hint("--toml prints built-in workloads only"))
        }
    }
}

fn record(arguments: &RecordArguments) -> Result<(), Failure> {
    let name = workload_name(arguments)?;
    let file = output_file(arguments, &name)?;
    let recording = lop_compare::record(&arguments.command, &RecordOptions::default())?;
    file.write(&lop_compare::to_workload(&recording, &name))?;
    terminal::note(&summary(&recording, &file.shown));
    match recording.exit_code {
        0 => Ok(()),
        code => Err(Failure::silent(u8::try_from(code).unwrap_or(crate::failure::FAILED))),
    }
}

/// The name given, or the command's own without its folder.
fn workload_name(arguments: &RecordArguments) -> Result<String, Failure> {
    let name = match (&arguments.name, arguments.command.first()) {
        (Some(name), _) => name.clone(),
        (None, Some(command)) => Path::new(command)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        (None, None) => String::new(),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let message = format!("--name: '{name}': expected letters, digits, '-', '_', '+' and '.'");
        return Err(Failure::new(BAD_INPUT, message).hint("give the workload a plain name with --name"));
    }
    Ok(name)
}

fn output_file(arguments: &RecordArguments, name: &str) -> Result<OutputFile, Failure> {
    let default = || PathBuf::from(format!("{name}.toml"));
    let path = arguments.output.clone().unwrap_or_else(default);
    OutputFile::check_recording("--output", &path, arguments.force)
}

fn summary(recording: &Recording, file: &Path) -> String {
    let mut text = format!(
        "wrote {}: {}, {:.2} s of CPU time in {:.2} s",
        file.display(),
        counted(recording.processes.len(), "process or thread", "processes and threads"),
        recording.cpu_ns as f64 / 1e9,
        recording.wall_ns as f64 / 1e9
    );
    if recording.killed_leftovers > 0 {
        text += &format!(
            "; {} outlived the command and had to be killed",
            counted(recording.killed_leftovers, "process", "processes")
        );
    }
    text += nearly_nothing(recording.cpu_ns as f64 / 1e9);
    if recording.exit_code != 0 {
        text += &format!("; the command itself failed with exit code {}", recording.exit_code);
    }
    text
}
