// SPDX-License-Identifier: GPL-2.0-only
//! `lop machine`: lists and shows machines, captures and measures this one, and fits power parameters.

mod measure;

use super::amp;
use super::kernel::Place;
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::format::{json, print_list, Entry, Format, ListArguments};
use crate::output::OutputFile;
use crate::suggested::{self, Suggested};
use crate::terminal;
use clap::Subcommand;
use lop_machine::live::{self, Folder, LiveError, LiveMachine, TextTree, Tree};
use lop_machine::{calibration, input};
use lop_simulator::experiment::{self, Reference, Setting};
use std::path::{Path, PathBuf};

pub const EXAMPLES: &str = "\
Examples:
  lop machine list
  lop machine show phenom-9750
  lop machine show phenom-9750 --toml > my-machine.toml
  lop machine live
  lop machine capture -o my-machine.toml
  sudo lop machine measure -o my-machine.toml
  lop machine fit data/machines/fits/phenom-9750.toml";

const SHOW_EXAMPLES: &str = "\
Examples:
  lop machine show laptop-hybrid
  lop machine show this
  lop machine show ./my-machine.toml
  lop machine show i7-940 --set machine.cpufreq.ondemand_period_ms=80
  lop machine show i7-940 --toml > my-machine.toml";

const LIVE_EXAMPLES: &str = "\
Examples:
  lop machine live
  lop machine live --format json
  lop machine live --toml > my-machine.toml";

const CAPTURE_EXAMPLES: &str = "\
Examples:
  lop machine capture -o my-machine.toml
  lop machine capture --watts-of i7-940 | less
  lop simulate --machine ./my-machine.toml --workload kernel-build

Topology, frequencies and idle states are those of this machine, and a loop measures
its speed. The kernel does not know watts: the file has those of another machine,
and says so. 'lop machine measure' measures them.";

const FIT_EXAMPLES: &str = "\
Example:
  lop machine fit rows.toml

  # rows.toml:
  [parameters]
  base = \"board and disks\"
  busy = \"one busy core\"

  [[row]]
  label = \"idle\"
  watts = 80.0
  state = { base = 1 }

  [[row]]
  label = \"two cores busy\"
  watts = 110.0
  state = { base = 1, busy = 2 }";

#[derive(Subcommand)]
pub enum Command {
    /// List the machines that are built in
    #[command(after_help = "Examples:\n  lop machine list\n  lop machine list --format json")]
    List(ListArguments),
    /// Draw a machine: domains, operating points, watts, where its figures come from
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// A name ('lop machine list'), a TOML file, or 'this'
        #[arg(value_parser = Suggested::text(suggested::machines), hide_possible_values = true)]
        name: String,
        /// Print the TOML of a built-in machine, as a start for your own
        #[arg(long, conflicts_with = "settings")]
        toml: bool,
        /// Change a key first (machine.KEY=VALUE); may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// Show the topology of this machine: kinds of cores, siblings, domains, nodes, and what had to be assumed
    #[command(after_help = LIVE_EXAMPLES)]
    Live {
        /// Text for people, or one JSON object
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
        /// Print a machine file, as 'lop machine capture' does
        #[arg(long, conflicts_with = "format")]
        toml: bool,
        /// Folder that holds another machine's sys, or a text that lists its files
        #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
        root: PathBuf,
    },
    /// Write this machine as a machine file, to simulate it
    #[command(after_help = CAPTURE_EXAMPLES)]
    Capture {
        /// The file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
        /// Name of the machine in the file
        #[arg(long, default_value = "captured")]
        name: String,
        /// The machine to take the watts from: a built-in name or a file [default: the one with this processor, else phenom-9750]
        #[arg(long, value_name = "MACHINE")]
        watts_of: Option<String>,
        /// Folder that holds another machine's sys, or a text that lists its files
        #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
        root: PathBuf,
    },
    /// Measure the power and speed of this machine: a known load at each operating point, fitted to the power model
    #[command(after_help = measure::EXAMPLES)]
    Measure(measure::Arguments),
    /// Fit power parameters to rows of (state, watts) by least squares and print the residuals
    #[command(after_help = FIT_EXAMPLES)]
    Fit {
        /// TOML file with parameters and rows
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List(arguments) => list(&arguments),
        Command::Show { name, toml: true, .. } => show_toml(&name),
        Command::Show { name, settings, .. } => show(&name, &settings),
        Command::Live { toml: true, root, .. } => capture(None, lop_machine::THIS, None, &root),
        Command::Live { format, root, .. } => {
            if root == Path::new("/") {
                amp::tell_who_measures(&Place::here())?;
            }
            show_live(format, &read_live(&root)?)
        }
        Command::Capture {
            output,
            force,
            name,
            watts_of,
            root,
        } => {
            let check = |path: &PathBuf| OutputFile::check_recording("--output", path, force);
            let output = output.as_ref().map(check).transpose()?;
            capture(output.as_ref(), &name, watts_of.as_deref(), &root)
        }
        Command::Measure(arguments) => measure::run(arguments),
        Command::Fit { file } => {
            let text = input::read_text(&file)?;
            let fit = lop_machine::fit(&file.display().to_string(), &text)?;
            terminal::print(&fit.to_string())
        }
    }
}

fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let entry = |name: &str| {
        let machine = lop_machine::load(name, &[])?;
        let cpus = machine.cpus.len();
        Ok(Entry {
            text: format!("{cpus:>3} CPUs  {}", machine.description),
            facts: vec![
                ("name", name.into()),
                ("cpus", cpus.into()),
                ("description", machine.description.into()),
            ],
        })
    };
    let entries = lop_machine::builtin_names().into_iter().map(entry);
    print_list(
        "machines",
        &entries.collect::<Result<Vec<_>, Failure>>()?,
        arguments.format,
    )
}

fn show(name: &str, settings: &[String]) -> Result<(), Failure> {
    let settings = settings
        .iter()
        .map(|s| Setting::from_argument(s))
        .collect::<Result<Vec<_>, _>>()?;
    let machine = experiment::open_machine(&Reference::given(name, "machine"), &settings)?;
    terminal::print(&lop_machine::draw(&machine))
}

fn show_toml(name: &str) -> Result<(), Failure> {
    match lop_machine::builtin_text(name) {
        Some(text) => terminal::print(text),
        None => {
            let message = experiment::suggest::unknown("machine", name, &lop_machine::builtin_names());
            Err(Failure::new(BAD_INPUT, message).hint("--toml prints built-in machines only"))
        }
    }
}

fn read_live(root: &Path) -> Result<LiveMachine, Failure> {
    live::read_tree(tree(root)?.as_ref()).map_err(unreadable)
}

/// A folder, or a text that lists files.
fn tree(root: &Path) -> Result<Box<dyn Tree>, Failure> {
    Ok(match root.is_file() {
        true => Box::new(TextTree::parse(&root.display().to_string(), &input::read_text(root)?)?),
        false => Box::new(Folder::new(root)),
    })
}

fn unreadable(error: LiveError) -> Failure {
    Failure::new(FAILED, error.to_string()).hint("'lop machine list' shows the machines that can be simulated instead")
}

fn capture(output: Option<&OutputFile>, name: &str, watts_of: Option<&str>, root: &Path) -> Result<(), Failure> {
    if root == Path::new("/") {
        amp::tell_who_measures(&Place::here())?;
    }
    let tree = tree(root)?;
    let like = lop_machine::donor(watts_of, tree.as_ref())?;
    // Nothing can be measured of another machine.
    let speed = (root == Path::new("/")).then(calibration::speed);
    let text = lop_machine::capture(tree.as_ref(), name, &like, speed).map_err(unreadable)?;
    // A file that is written must be readable.
    let machine = lop_machine::read("the captured machine", &text)?;
    terminal::note(&machine.title());
    match output {
        Some(file) => file.write(&text),
        None => terminal::print(&text),
    }
}

fn show_live(format: Format, machine: &LiveMachine) -> Result<(), Failure> {
    match format {
        Format::Text => terminal::print(&lop_machine::draw_live(machine)),
        Format::Json => terminal::print(&json(machine)?),
    }
}
