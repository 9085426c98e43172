// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs one command to its end, and measures its time, CPU time, memory and exit while reading the meter in time.

use crate::gauge::{mean_w, Gauge};
use crate::interrupt::Interrupt;
use crate::plan::CommandLine;
use lop_machine::meter::MeterError;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{pidfd_open, Pid, PidfdFlags, Signal};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

mod tree;

/// How long an interrupted command may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Where a command's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Null,
    /// To the caller's standard output and error.
    Inherit,
    /// Appended to a file.
    File(PathBuf),
}

/// Where a command's input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Null,
    /// Each run reads it from its beginning.
    File(PathBuf),
}

/// A command's standard streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    pub input: Input,
    pub output: Output,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// From before its process was created until it was gone.
    pub time_s: f64,
    /// CPU time of the command and of all children it waited for.
    pub user_s: f64,
    pub system_s: f64,
    /// The largest resident set of the command and its children.
    pub memory_usage_byte: u64,
    /// As a shell says it: the exit code, or 128 + the signal.
    pub exit_code: i32,
    /// [`mean_w`] times `time_s`, since the meter's answers before and after take time that is not part of the run. 0 if the meter did not move.
    pub energy_j: Option<f64>,
}

/// Why a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// By this signal; the command was ended.
    Interrupted(i32),
    /// With code 127 or 126, as in shells.
    NotStarted {
        program: String,
        code: u8,
        error: io::Error,
    },
    Meter(MeterError),
    System(io::Error),
}

impl From<MeterError> for RunError {
    fn from(error: MeterError) -> Self {
        Self::Meter(error)
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<rustix::io::Errno> for RunError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::System(error.into())
    }
}

/// Makes the environment of a measured command longer by so many bytes.
///
/// The environment lies above the stack, so its size moves the stack, which can change the time of a run by several per cent (Mytkowicz et al. 2009,
/// Producing wrong data without doing anything obviously wrong). A policy that sets a variable would have such a shift in all of its runs.
pub const PADDING: &str = "LOP_PADDING";

/// Something that acts on the process of a command.
pub struct Companion<'a> {
    /// A variable that the command's environment must have.
    pub variable: Option<(String, PathBuf)>,
    /// Length of [`PADDING`]; `None`: the environment stays as it is.
    pub padding: Option<usize>,
    /// Called with its process number, within the timed part.
    pub started: &'a mut dyn FnMut(u32),
}

/// Runs a command to its end, with its companion.
///
/// # Errors
/// It cannot be started, the meter fails, or the interrupt was raised, which ends the command and all its descendants.
pub fn run(
    line: &CommandLine,
    streams: &Streams,
    gauge: &mut Gauge,
    interrupt: &Interrupt,
    companion: Companion,
) -> Result<Ran, RunError> {
    let mut command = command(line, streams)?;
    command.envs(companion.variable);
    command.envs(companion.padding.map(|bytes| (PADDING, "x".repeat(bytes))));
    let before = gauge.read()?;
    let begin = Instant::now();
    let child = command.spawn().map_err(|error| not_started(line, error))?;
    (companion.started)(child.id());
    let process = Process::of(child.id())?;
    let waited = wait(Some(&process), None, gauge, interrupt);
    if waited.is_err() {
        process.end()?;
    }
    let (status, usage) = process.reap()?;
    let time_s = begin.elapsed().as_secs_f64();
    waited?;
    // After Ctrl-C the command may end before the signal reaches this process.
    if let Some(signal) = interrupt.signal() {
        return Err(RunError::Interrupted(signal));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Ran {
        time_s,
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        memory_usage_byte: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        exit_code: exit_code(status),
        energy_j: mean_w(before, gauge.read()?).map(|power_w| power_w * time_s),
    })
}

/// Waits for this long without running anything.
///
/// # Errors
/// The meter fails, or the interrupt was raised.
pub fn rest(time: Duration, gauge: &mut Gauge, interrupt: &Interrupt) -> Result<(), RunError> {
    wait(None, Some(Instant::now() + time), gauge, interrupt)
}

fn command(line: &CommandLine, streams: &Streams) -> Result<Command, RunError> {
    let words = line.words();
    let mut command = Command::new(words.first().copied().unwrap_or_default());
    command.args(words.iter().skip(1)).stdin(match &streams.input {
        Input::Null => Stdio::null(),
        Input::File(path) => Stdio::from(File::open(path)?),
    });
    match &streams.output {
        Output::Null => command.stdout(Stdio::null()).stderr(Stdio::null()),
        Output::Inherit => &mut command,
        Output::File(path) => {
            let file = File::options().create(true).append(true).open(path)?;
            command.stderr(file.try_clone()?).stdout(file)
        }
    };
    Ok(command)
}

fn not_started(line: &CommandLine, error: io::Error) -> RunError {
    RunError::NotStarted {
        program: line.words().first().copied().unwrap_or_default().to_string(),
        code: code_of_refusal(&error),
        error,
    }
}

/// The exit code of shells for a command that could not be run.
pub(crate) fn code_of_refusal(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

/// A child of this process that nothing else waits for.
struct Process {
    pid: u32,
    handle: OwnedFd,
}

impl Process {
    fn of(pid: u32) -> Result<Self, RunError> {
        let named = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let named = named.ok_or_else(|| io::Error::other(format!("{pid} is not a process")))?;
        Ok(Self {
            pid,
            handle: pidfd_open(named, PidfdFlags::empty())?,
        })
    }

    /// Ends the process and its descendants: asks them to end, and kills the rest after [`GRACE`].
    fn end(&self) -> Result<(), RunError> {
        let all = tree::handles(self.pid);
        all.iter().for_each(|process| tree::tell(process, Signal::TERM));
        let limit = Instant::now() + GRACE;
        for process in &all {
            if !has_ended_by(process, limit)? {
                tree::tell(process, Signal::KILL);
            }
        }
        Ok(())
    }

    fn reap(&self) -> io::Result<(i32, libc::rusage)> {
        let mut status = 0;
        // SAFETY: the structure consists of plain numbers, for which all zeros is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: waits for a child of ours, writes into the two variables.
            let waited = unsafe { libc::wait4(self.pid as libc::pid_t, &raw mut status, 0, &raw mut usage) };
            match waited {
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return Err(io::Error::last_os_error()),
                _ => return Ok((status, usage)),
            }
        }
    }
}

/// Waits until then at most; true if the process has ended.
fn has_ended_by(process: &OwnedFd, limit: Instant) -> io::Result<bool> {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    loop {
        let left = limit.saturating_duration_since(Instant::now());
        match poll(&mut fds, timespec(left).as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return Ok(ended? > 0),
        }
    }
}

fn exit_code(status: i32) -> i32 {
    match libc::WIFSIGNALED(status) {
        true => 128 + libc::WTERMSIG(status),
        false => libc::WEXITSTATUS(status),
    }
}

/// Waits until the process has ended or the time has come, reading the meter in time. It sleeps in between, so the energy of a run
/// contains no polling beyond what the meter needs.
fn wait(
    process: Option<&Process>,
    until: Option<Instant>,
    gauge: &mut Gauge,
    interrupt: &Interrupt,
) -> Result<(), RunError> {
    loop {
        if let Some(signal) = interrupt.signal() {
            return Err(RunError::Interrupted(signal));
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
        let patience = [left, gauge.patience()].into_iter().flatten().min();
        let wake = interrupt.wake();
        let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        fds.extend(process.map(|process| PollFd::new(&process.handle, PollFlags::IN)));
        match poll(&mut fds, patience.and_then(timespec).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
            return Ok(());
        }
        gauge.read()?;
    }
}

/// `None` if the time is too long for the system's type.
fn timespec(time: Duration) -> Option<Timespec> {
    Timespec::try_from(time).ok()
}
