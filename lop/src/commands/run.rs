//! `lop run`: the kernel scheduler for the life of one command.

use super::kernel::SchedulerArguments;
use crate::failure::{Failure, FAILED, INTERRUPTED};
use crate::terminal;
use clap::Args;
use lop_kernel::adapter::{KernelError, Observer, Run};
use lop_kernel::instance::RunDir;
use lop_kernel::options::Options;
use lop_kernel::requests::Requests;
use lop_kernel::scheduler;
use lop_kernel::service::{self, Service};
use lop_kernel::signals::{on_signals, ENDING, SIGINT, SIGQUIT};
use lop_kernel::status::Status;
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

pub const EXAMPLES: &str = "\
Examples:
  lop run -- make -j8
  lop run --policy highlow -- sh -c './build && ./check'

The scheduler is attached for as long as the command runs, and its exit code is
passed on (128 + N when signal N ended it). Ctrl-C goes to the command. If the
scheduler cannot be attached, the command is not run.";

/// What shells say of a command that is not there, or cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    scheduler: SchedulerArguments,
    /// The command and its arguments, after '--'
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.scheduler.options()?;
    let dir = arguments.scheduler.place.run_dir();
    service::check(&options, &dir)?;
    run_under(&mut scheduler::run, &options, &dir, &arguments.command)
}

/// Runs the command while `scheduler` is attached.
fn run_under(scheduler: &mut Run, options: &Options, dir: &RunDir, command: &[OsString]) -> Result<(), Failure> {
    let service = Service::open(dir)?;
    let mut companion = Companion::new(command, service.requests(), options.verbose);
    let _signals = companion
        .forward_signals()
        .map_err(|error| Failure::new(FAILED, format!("cannot handle signals: {error}")))?;
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
struct Companion<'a> {
    command: &'a [OsString],
    requests: Requests,
    verbose: u8,
    /// The command's process once it runs: a handle, so that no signal meets another process of the same number.
    process: Arc<OnceLock<OwnedFd>>,
    waiting: Option<io::Result<JoinHandle<io::Result<ExitStatus>>>>,
}

impl<'a> Companion<'a> {
    fn new(command: &'a [OsString], requests: Requests, verbose: u8) -> Self {
        Self {
            command,
            requests,
            verbose,
            process: Arc::new(OnceLock::new()),
            waiting: None,
        }
    }

    /// Ctrl-C and Ctrl-\ reach the command from the terminal; what was sent to this process alone is passed on. Before the
    /// command runs, all of them end the whole.
    fn forward_signals(&self) -> io::Result<lop_kernel::signals::SignalGuard> {
        let (process, requests) = (self.process.clone(), self.requests.clone());
        on_signals(&ENDING, move |signal| match (process.get(), signal) {
            (None, _) => requests.stop(),
            (Some(_), SIGINT | SIGQUIT) => {}
            (Some(process), _) => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    ignore(pidfd_send_signal(process, signal));
                }
            }
        })
    }

    fn spawn(&self) -> io::Result<JoinHandle<io::Result<ExitStatus>>> {
        let [program, arguments @ ..] = self.command else {
            return Err(io::Error::other("no command"));
        };
        let mut child = Command::new(program).args(arguments).spawn()?;
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = self.process.set(pidfd_open(pid, PidfdFlags::empty())?);
        }
        let requests = self.requests.clone();
        Ok(std::thread::spawn(move || {
            let status = child.wait();
            requests.stop();
            status
        }))
    }

    /// Waits for the command, which may outlive the scheduler.
    fn end(self) -> Outcome {
        match self.waiting {
            None => Outcome::NotStarted,
            Some(Err(error)) => Outcome::Refused(error),
            Some(Ok(thread)) => match thread.join() {
                Ok(Ok(status)) => Outcome::Ended(status),
                Ok(Err(error)) => Outcome::Refused(error),
                Err(_) => Outcome::Refused(io::Error::other("it cannot be waited for")),
            },
        }
    }
}

/// A command that has ended meanwhile needs no signal.
fn ignore(_: rustix::io::Result<()>) {}

impl Observer for Companion<'_> {
    fn attached(&mut self, status: &Status) -> Result<(), KernelError> {
        if self.verbose > 0 {
            crate::status_text::introduction(status)
                .lines()
                .for_each(terminal::note);
        }
        let spawned = self.spawn();
        if spawned.is_err() {
            self.requests.stop();
        }
        self.waiting = Some(spawned);
        Ok(())
    }

    fn note(&mut self, line: &str) {
        terminal::note(line);
    }
}

#[cfg(test)]
mod tests;
