// SPDX-License-Identifier: GPL-2.0-only
//! `lop`: the command line. Parses arguments, calls the other crates, prints.

mod commands;
mod convert;
mod failure;
mod format;
mod interrupt;
mod meter;
mod output;
mod policies;
mod progress;
mod replayed;
mod settings;
mod signals;
mod status_text;
mod study;
mod suggested;
mod terminal;
mod timeline;
mod top;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// Energy-aware scheduling for this machine, and what it does to time, power and energy
#[derive(Parser)]
#[command(name = "lop", version, propagate_version = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lop doctor
  sudo lop start
  lop status --watch
  sudo lop goal energy
  sudo lop run -- make -j8
  lop compare --policy linux,auto -- make -j4
  lop simulate
  lop simulate --machine i7-940 --workload bursts --policy linux,highlow-spare
  lop reproduce compile-governors --html governors.html
  lop machine list
  lop record -o my-build.trace -- make -j2
  lop simulate --trace my-build.trace

Exit codes: 0 success; 1 failure (a deadlock, a file that cannot be written, a
kernel without sched_ext); 2 wrong usage or input; 3 SysRq-S or the kernel's
watchdog ended 'lop start'; 130 interrupted. 'lop run', 'lop record' and 'lop
workload record' pass on the exit code of their command.";

#[derive(Subcommand)]
enum Command {
    /// Show what this machine can do, what it lacks, and how to mend that
    #[command(after_help = commands::doctor::EXAMPLES)]
    Doctor(commands::doctor::Arguments),
    /// Start the scheduler for the whole machine
    #[command(after_help = policies::with_table(commands::start::EXAMPLES))]
    Start(commands::start::Arguments),
    /// Stop the scheduler; the kernel's own takes over again
    #[command(after_help = commands::stop::EXAMPLES)]
    Stop(commands::stop::Arguments),
    /// Show what the scheduler does now
    #[command(after_help = commands::status::EXAMPLES)]
    Status(commands::status::Arguments),
    /// Show the goal of the running scheduler, or change it
    #[command(after_help = commands::goal::EXAMPLES)]
    Goal(commands::goal::Arguments),
    /// Show a live view of CPUs, sets, speeds and power
    #[command(after_help = commands::top::EXAMPLES)]
    Top(commands::top::Arguments),
    /// Restore what a killed scheduler left changed
    #[command(after_help = commands::restore::EXAMPLES)]
    Restore(commands::restore::Arguments),
    /// Tell the scheduler what it cannot see about a thread
    #[command(after_help = commands::hint::after_help())]
    Hint(commands::hint::Arguments),
    /// Run a command under the scheduler
    #[command(after_help = policies::with_table(commands::run::EXAMPLES))]
    Run(commands::run::Arguments),
    /// Slow some CPUs by hand, to make a machine whose cores differ
    #[command(subcommand, after_help = commands::amp::EXAMPLES)]
    Amp(commands::amp::Command),
    /// Measure commands under one or more policies, side by side
    #[command(after_help = commands::compare::EXAMPLES)]
    Compare(Box<commands::compare::Arguments>),
    /// Record the scheduling of a command or of this machine, to replay it with 'lop simulate --trace'
    #[command(after_help = commands::record::EXAMPLES)]
    Record(commands::record::Arguments),
    /// Run a workload on a simulated machine under one or more policies
    Simulate(commands::simulate::Arguments),
    /// Rebuild a published experiment
    Reproduce(commands::reproduce::Arguments),
    /// Machines: list, show, capture and measure this one, fit power parameters
    #[command(subcommand, after_help = commands::machine::EXAMPLES)]
    Machine(commands::machine::Command),
    /// Workloads: list, show, record a real command
    #[command(subcommand, after_help = commands::workload::EXAMPLES)]
    Workload(commands::workload::Command),
    /// Confine cgroups to memory domains, for the agent of a Kubernetes node
    #[command(after_help = commands::agent::EXAMPLES)]
    Agent(commands::agent::Arguments),
    /// Write man pages and shell completions, for packages
    #[command(hide = true, after_help = commands::generate::EXAMPLES)]
    Generate(commands::generate::Arguments),
}

fn main() -> ExitCode {
    lop_kernel::signals::hear_of_children();
    match parse().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}

/// Help and version end the program, but are no failures.
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
        Some(Command::Doctor(arguments)) => commands::doctor::run(&arguments),
        Some(Command::Start(arguments)) => commands::start::run(&arguments),
        Some(Command::Stop(arguments)) => commands::stop::run(&arguments),
        Some(Command::Hint(arguments)) => commands::hint::run(&arguments),
        Some(Command::Status(arguments)) => commands::status::run(&arguments),
        Some(Command::Goal(arguments)) => commands::goal::run(&arguments),
        Some(Command::Top(arguments)) => commands::top::run(&arguments),
        Some(Command::Restore(arguments)) => commands::restore::run(&arguments),
        Some(Command::Run(arguments)) => commands::run::run(&arguments),
        Some(Command::Amp(command)) => commands::amp::run(command),
        Some(Command::Compare(arguments)) => commands::compare::run(&arguments),
        Some(Command::Record(arguments)) => commands::record::run(&arguments),
        Some(Command::Simulate(arguments)) => commands::simulate::run(arguments),
        Some(Command::Reproduce(arguments)) => commands::reproduce::run(arguments),
        Some(Command::Machine(command)) => commands::machine::run(command),
        Some(Command::Workload(command)) => commands::workload::run(command),
        Some(Command::Agent(arguments)) => commands::agent::run(&arguments),
        Some(Command::Generate(arguments)) => commands::generate::run(&arguments, Arguments::command()),
    }
}
