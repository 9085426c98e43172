// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recorder of scheduling: who ran when and where, through the kernel's performance events, without stopping any program.
//!
//! [`of_command`] records a command and its descendants, without privilege. [`of_machine`] records everything, which the kernel
//! allows for root (or if `kernel.perf_event_paranoid` is 0 or less). Who woke whom is recorded if the tracepoint `sched_waking`
//! may be read: by root, with tracefs mounted.
//!
//! **How.** A software event that counts nothing (`dummy`) carries the kernel's records of switches, forks, exits and names, with
//! time, thread and CPU, in one ring for each CPU, which is emptied every [`DRAIN`]. If the kernel lost records,
//! the whole recording is an error. A command's events are inherited by its descendants, and begin when it executes its program.
//!
//! **What is not seen.** What a task does after it has begun to exit (giving back its memory) leaves no record. Only root can record
//! a program with more privileges than the caller (set-user-ID).

mod bytes;
mod error;
mod rings;
mod sched_waking;

pub use error::TraceError;

use crate::interrupt::Interrupt;
use crate::record::proc_files::parse_cpu_model;
use lop_machine::live::parse_cpu_list;
use lop_trace::{Event, Header, Host, Trace, What};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use rings::{Rings, Scope};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often rings are emptied. The smallest ring holds 4000 records, so this allows some hundred thousand a second.
pub const DRAIN: Duration = Duration::from_millis(10);

/// Runs `command` to its end and records it; standard input and outputs are the caller's. Signals that end the caller are passed on
/// to the command, except for SIGINT, which a terminal sends to both.
///
/// # Errors
/// The command cannot be run, or the kernel refuses to record it, or lost records. A command that ran and failed is not an error:
/// see [`Header::exit_code`].
pub fn of_command(command: &[OsString], interrupt: &Interrupt) -> Result<Trace, TraceError> {
    let began = SystemTime::now();
    let (send, news) = mpsc::channel();
    let (mut events, ended, wakers) = std::thread::scope(|scope| {
        // Events belong to the thread that opens them and to its descendants; this thread reads them.
        std::thread::Builder::new()
            .name("starter".into())
            .spawn_scoped(scope, || start(command, &send))
            .map_err(|error| TraceError::System("start a thread", error))?;
        follow(&news, interrupt)
    })?;
    let start_ns = events.first().map_or(0, |event| event.at_ns);
    events.iter_mut().for_each(|event| event.at_ns -= start_ns);
    let end_ns = events.last().map_or(0, |event| event.at_ns);
    let words = command.iter().map(|word| word.to_string_lossy().into_owned());
    Ok(Trace {
        header: Header {
            command: words.collect(),
            began_unix_s: unix_s(began),
            wall_ns: end_ns.max(ended.wall_ns),
            exit_code: Some(exit_code(ended.status)),
            rusage_ns: ended.cpu_ns,
            wakers,
            host: host(),
        },
        events,
    })
}

/// Messages of the thread that starts the command.
enum News {
    Opened(Box<Rings>),
    Started(u32),
    Ended(Ended),
    Failed(TraceError),
}

struct Ended {
    status: ExitStatus,
    wall_ns: u64,
    cpu_ns: Option<u64>,
}

fn start(command: &[OsString], send: &Sender<News>) {
    let tell = |news| {
        // If the receiver is gone, it has failed and reports that itself.
        let _ = send.send(news);
    };
    let rings = match Rings::open(Scope::ThisThread) {
        Ok(rings) => rings,
        Err(error) => return tell(News::Failed(error)),
    };
    tell(News::Opened(Box::new(rings)));
    let before_ns = children_ns();
    let began = Instant::now();
    let spawned = match command.split_first() {
        Some((program, arguments)) => Command::new(program).args(arguments).spawn(),
        None => return tell(News::Failed(TraceError::NoCommand)),
    };
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let program = command[0].to_string_lossy().into_owned();
            return tell(News::Failed(TraceError::Execute { program, error }));
        }
    };
    tell(News::Started(child.id()));
    tell(match child.wait() {
        Ok(status) => News::Ended(Ended {
            status,
            wall_ns: began.elapsed().as_nanos() as u64,
            cpu_ns: children_ns().zip(before_ns).map(|(after, before)| after - before),
        }),
        Err(error) => News::Failed(TraceError::System("wait for the command", error)),
    });
}

/// CPU time of all children that were waited for.
fn children_ns() -> Option<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let ns = |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000;
    Some(ns(usage.user_time()) + ns(usage.system_time()))
}

/// Empties the rings until the command has ended. Returns the events, and whether wakers were recorded.
fn follow(news: &Receiver<News>, interrupt: &Interrupt) -> Result<(Vec<Event>, Ended, bool), TraceError> {
    let mut rings: Option<Box<Rings>> = None;
    let mut child = None;
    let mut passed_on = None;
    loop {
        if let Some(rings) = &mut rings {
            rings.drain()?;
        }
        if let (Some(signal), Some(pid)) = (interrupt.signal(), child) {
            if passed_on.replace(signal) != Some(signal) {
                pass_on(signal, pid);
            }
        }
        match news.recv_timeout(DRAIN) {
            Ok(News::Opened(opened)) => rings = Some(opened),
            Ok(News::Started(pid)) => child = Some(pid),
            Ok(News::Failed(error)) => return Err(error),
            Ok(News::Ended(ended)) => {
                let mut rings = rings.ok_or(TraceError::NoCommand)?;
                rings.drain()?;
                let wakers = rings.wakers;
                return Ok((rings.into_events()?, ended, wakers));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(TraceError::NoCommand),
        }
    }
}

fn pass_on(signal: i32, pid: u32) {
    let Ok(signal) = Signal::try_from(signal) else { return };
    if signal != Signal::SIGINT {
        // A process that is gone needs no signal.
        let _ = kill(Pid::from_raw(pid as i32), signal);
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Records everything on this machine except this process, for `length` or until interrupted.
///
/// # Errors
/// The kernel refuses to record, or lost records.
pub fn of_machine(length: Duration, interrupt: &Interrupt) -> Result<Trace, TraceError> {
    let mut names = names();
    let began = SystemTime::now();
    let mut rings = Rings::open(Scope::Machine)?;
    let clock = Instant::now();
    let start_ns = rings::now_ns()?;
    while clock.elapsed() < length && interrupt.signal().is_none() {
        std::thread::sleep(DRAIN.min(length.saturating_sub(clock.elapsed())));
        rings.drain()?;
    }
    let wall_ns = clock.elapsed().as_nanos() as u64;
    rings.stop()?;
    rings.drain()?;
    let wakers = rings.wakers;
    let mut events = rings.into_events()?;
    events
        .iter_mut()
        .for_each(|event| event.at_ns = event.at_ns.saturating_sub(start_ns));
    names.extend(self::names());
    let events = with_names(events, &names);
    let end_ns = events.last().map_or(0, |event| event.at_ns);
    Ok(Trace {
        header: Header {
            command: Vec::new(),
            began_unix_s: unix_s(began),
            wall_ns: end_ns.max(wall_ns),
            exit_code: None,
            rusage_ns: None,
            wakers,
            host: host(),
        },
        events,
    })
}

/// Names of the present threads, by number.
fn names() -> HashMap<u32, String> {
    let numbers = |folder: String| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let threads = numbers("/proc".into()).flat_map(|process| numbers(format!("/proc/{process}/task")));
    let named = |task: u32| {
        let name = std::fs::read(format!("/proc/{task}/comm")).ok()?;
        Some((task, String::from_utf8_lossy(&name).trim_end().to_string()))
    };
    threads.filter_map(named).collect()
}

/// Names a task that existed before when it is first seen on a CPU.
fn with_names(events: Vec<Event>, names: &HashMap<u32, String>) -> Vec<Event> {
    let mut known: HashSet<u32> = HashSet::new();
    let mut all = Vec::with_capacity(events.len());
    for event in events {
        let (seen, first) = match event.what {
            What::In { task } => (task, false),
            What::Blocked { task } | What::Preempted { task } | What::Exit { task } => (task, true),
            What::Fork { parent, child, .. } => {
                known.insert(child);
                (parent, true)
            }
            What::Name { task, .. } => {
                known.insert(task);
                (task, true)
            }
            What::Wake { waker, .. } => (waker, true),
        };
        let name = names
            .get(&seen)
            .filter(|_| seen != 0 && known.insert(seen))
            .map(|name| Event {
                what: What::Name {
                    task: seen,
                    exec: false,
                    name: name.clone(),
                },
                ..event.clone()
            });
        match first {
            true => all.extend(name.into_iter().chain([event])),
            false => all.extend([event].into_iter().chain(name)),
        }
    }
    all
}

fn unix_s(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// This machine, as far as its files tell.
fn host() -> Host {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = online();
    let khz = |cpu: &u32| {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq");
        text(&file).trim().parse::<u64>().ok()
    };
    Host {
        cpu_model: parse_cpu_model(&text("/proc/cpuinfo")).unwrap_or_default(),
        cpus: cpus.len().max(1) as u32,
        speed_permille: Some((1000.0 * lop_machine::calibration::speed()).round() as u32),
        max_khz: cpus.iter().filter_map(khz).max(),
        kernel: text("/proc/sys/kernel/osrelease").trim().to_string(),
    }
}

/// Online CPUs; empty if the system does not tell.
fn online() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    parse_cpu_list(list.trim()).into_iter().flatten().collect()
}
