//! `lop`: the command line. Parses, calls the rooms, prints.

mod commands;
mod convert;
mod failure;
mod interrupt;
mod output;
mod progress;
mod study;
mod terminal;
mod timeline;

use clap::{Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// Energy-aware scheduling: what it does to time, power, energy and energy-delay product.
#[derive(Parser)]
#[command(name = "lop", version, propagate_version = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lop simulate
  lop simulate --machine i7-940 --workload bursts --policy linux,highlow-spare
  lop reproduce compile-governors --html governors.html
  lop machine list
  lop workload record -o my-build.toml -- make -j2

Exit codes: 0 success; 1 failure (a deadlock, a file that cannot be written);
2 wrong usage or input; 130 interrupted. 'lop workload record' passes on the
exit code of its command.";

#[derive(Subcommand)]
enum Command {
    /// Run a workload on a simulated machine under one or more policies
    Simulate(commands::simulate::Arguments),
    /// Rebuild a published experiment
    Reproduce(commands::reproduce::Arguments),
    /// Machines: list, show, fit power parameters
    #[command(subcommand, after_help = commands::machine::EXAMPLES)]
    Machine(commands::machine::Command),
    /// Workloads: list, show, record a real command
    #[command(subcommand, after_help = commands::workload::EXAMPLES)]
    Workload(commands::workload::Command),
}

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}

/// Help and version are no failures, but end the program too.
fn parse() -> Result<Option<Command>, Failure> {
    match Arguments::try_parse() {
        Ok(arguments) => Ok(Some(arguments.command)),
        Err(error) if error.use_stderr() => Err(Failure::usage(&error)),
        Err(help) => terminal::print(&help.render().to_string()).map(|()| None),
    }
}

fn run(command: Option<Command>) -> Result<(), Failure> {
    match command {
        None => Ok(()),
        Some(Command::Simulate(arguments)) => commands::simulate::run(arguments),
        Some(Command::Reproduce(arguments)) => commands::reproduce::run(arguments),
        Some(Command::Machine(command)) => commands::machine::run(command),
        Some(Command::Workload(command)) => commands::workload::run(command),
    }
}
