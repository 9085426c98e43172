// SPDX-License-Identifier: GPL-2.0-only
//! `lop run`: the policy in charge for the life of one command, in the kernel or from user space.

mod affinity;
mod target;

use super::enforce::{self, Enforce};
use super::kernel::SchedulerArguments;
use crate::failure::{Failure, FAILED, INTERRUPTED};
use crate::{signals, terminal};
use clap::Args;
use lop_agent::qos::Qos;
use lop_kernel::adapter::{KernelError, Observer, Run};
use lop_kernel::instance::RunDir;
use lop_kernel::options::Options;
use lop_kernel::requests::Requests;
use lop_kernel::signals::SignalGuard;
use lop_kernel::status::Status;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use target::Target;

pub const EXAMPLES: &str = "\
Examples:
  lop run -- make -j8
  lop run --policy highlow -- sh -c './build && ./check'
  lop run --enforce affinity -- make -j8

The policy is in force while the command runs. The command's exit code is passed on
(128 + N when signal N ended it), and Ctrl-C goes to the command. Without sched_ext,
root can have the CPUs that are not needed parked for the whole machine meanwhile
(cgroup); otherwise the command's threads are restricted to CPUs (affinity). Both
react later. Notes say which way was taken, why, and what is lost. If the way that
--enforce names does not work here, the command is not run.";

/// The way out where nothing reads the file of --qos.
const QOS_ELSEWHERE: &str =
    "--enforce affinity reads them; in the kernel 'sudo lop hint PID --qos FILE' gives them to a program that runs";

/// Exit codes of shells for a command that does not exist, or cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    scheduler: SchedulerArguments,
    /// How the policy is enforced: kernel, cgroup (parks CPUs for the whole machine while the command runs) or affinity [default: the first that works here]
    #[arg(long, value_name = "WAY")]
    enforce: Option<Enforce>,
    /// By affinity: hints for threads by the names of programs and threads, a file as Sched QoS has them (docs/enforcement.md)
    #[arg(long, value_name = "FILE", value_parser = super::hint::read_qos)]
    qos: Option<Arc<Qos>>,
    /// The command and its arguments; everything after it belongs to it
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.scheduler.options()?;
    let dir = arguments.scheduler.place.run_dir();
    let chosen = enforce::choose(
        arguments.enforce,
        &enforce::FOR_COMMAND,
        std::slice::from_ref(&options),
        &dir,
    )?;
    chosen.tell();
    if arguments.qos.is_some() && chosen.way != Enforce::Affinity {
        let message = format!(
            "--qos: the policy is enforced by {}, which looks at no names",
            chosen.way
        );
        return Err(Failure::new(FAILED, message).hint(QOS_ELSEWHERE));
    }
    match chosen.way {
        way @ (Enforce::Kernel | Enforce::Cgroup) => {
            run_under(&mut *enforce::scheduler(way, &dir), &options, &dir, &arguments.command)
        }
        Enforce::Affinity => affinity::run(
            &options,
            arguments.qos.clone(),
            arguments.scheduler.place.asked(),
            &arguments.command,
        ),
    }
}

/// Runs the command while `scheduler` is attached.
fn run_under(scheduler: &mut Run, options: &Options, dir: &RunDir, command: &[OsString]) -> Result<(), Failure> {
    let service = enforce::open_service(options, dir)?;
    let mut companion = Companion::new(command, service.requests(), options.verbose);
    let _signals = companion.forward_signals()?;
    let result = service.run(options, scheduler, &mut companion);
    match (companion.end(), result) {
        (Outcome::NotStarted, Err(error)) => Err(error.into()),
        (Outcome::NotStarted, Ok(_)) => Err(Failure::new(INTERRUPTED, "interrupted; the command was not run")),
        (Outcome::Ended(status), Ok(exit)) => {
            exit.restored.failed.iter().for_each(|line| terminal::note(line));
            passed_on(status)
        }
        (Outcome::Ended(status), Err(error)) => {
            Failure::from(error).print();
            terminal::note("the command went on under the kernel's own scheduler");
            passed_on(status)
        }
        (Outcome::Refused(error), _) => Err(refused(command, &error)),
    }
}

fn passed_on(status: ExitStatus) -> Result<(), Failure> {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::silent(code)),
        Err(_) => Err(Failure::silent(FAILED)),
    }
}

fn refused(command: &[OsString], error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    };
    let name = command
        .first()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    Failure::new(code, format!("{name}: cannot be run: {error}"))
}

/// How the command ended.
enum Outcome {
    NotStarted,
    Refused(io::Error),
    Ended(ExitStatus),
}

/// Runs the command while the scheduler is attached.
struct Companion {
    requests: Requests,
    verbose: u8,
    target: Target,
    starter: Starter,
}

/// The thread that starts the command and waits for it. It is created before the scheduler's thread rises above others,
/// since the kernel resets the nice value of everything that such a thread starts.
struct Starter {
    go: Sender<()>,
    /// The command runs, or was refused.
    tried: Receiver<()>,
    thread: JoinHandle<Option<io::Result<ExitStatus>>>,
}

impl Starter {
    fn new(command: &[OsString], target: Target, requests: Requests) -> Self {
        let (go, begin) = channel();
        let (say, tried) = channel();
        let command = command.to_vec();
        let thread = std::thread::spawn(move || {
            // Fails if the scheduler was never attached.
            begin.recv().ok()?;
            let child = spawn(&command, &target);
            // The receiver waits for nothing else.
            let _ = say.send(());
            let ended = child.and_then(|mut child| child.wait());
            requests.stop();
            Some(ended)
        });
        Self { go, tried, thread }
    }
}

fn spawn(command: &[OsString], target: &Target) -> io::Result<Child> {
    let [program, arguments @ ..] = command else {
        return Err(io::Error::other("no command"));
    };
    target.start(Command::new(program).args(arguments))
}

impl Companion {
    fn new(command: &[OsString], requests: Requests, verbose: u8) -> Self {
        let target = Target::default();
        Self {
            starter: Starter::new(command, target.clone(), requests.clone()),
            requests,
            verbose,
            target,
        }
    }

    /// Signals go to the command; before it runs, each of them ends the run.
    fn forward_signals(&self) -> Result<SignalGuard, Failure> {
        let (target, requests) = (self.target.clone(), self.requests.clone());
        signals::on_ending(move |signal| {
            if !target.pass_on(signal) {
                requests.stop();
            }
        })
    }

    /// Waits for the command, which may outlive the scheduler.
    fn end(self) -> Outcome {
        let Starter { go, thread, .. } = self.starter;
        drop(go);
        match thread.join() {
            Ok(None) => Outcome::NotStarted,
            Ok(Some(Ok(status))) => Outcome::Ended(status),
            Ok(Some(Err(error))) => Outcome::Refused(error),
            Err(_) => Outcome::Refused(io::Error::other("it cannot be waited for")),
        }
    }
}

impl Observer for Companion {
    fn attached(&mut self, status: &Status) -> Result<(), KernelError> {
        match &status.lost {
            _ if self.verbose > 0 => crate::status_text::introduction(status)
                .lines()
                .for_each(terminal::note),
            Some(lost) => terminal::note(&enforce::loss(Enforce::Cgroup, lost)),
            None => {}
        }
        // A thread that is gone says nothing, and its end tells why.
        let _ = self.starter.go.send(()).map(|()| self.starter.tried.recv());
        Ok(())
    }

    fn note(&mut self, line: &str) {
        terminal::note(line);
    }
}

#[cfg(test)]
mod tests;
