// SPDX-License-Identifier: GPL-2.0-only
//! `lop amp`: slows CPUs by hand, for an asymmetric machine.

use super::kernel::Place;
use super::put_back::{all_is_back, left, told as told_of};
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::terminal;
use clap::{Args, Subcommand};
use lop_agent::amp::{self, Amp, Asked, Holding, Slowed, Throttle, Way};
use lop_agent::Cpus;
use lop_kernel::instance;
use lop_kernel::signals::{on_signals, ENDING};
use lop_machine::speed::{limit_khz, restore_from_journal, Restored};
use rustix::process::{pidfd_open, pidfd_send_signal, setsid, Pid, PidfdFlags, Signal};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

pub const EXAMPLES: &str = "\
Examples:
  lop amp set 4-7=1.2GHz
  lop amp set 1=50%
  lop amp show
  lop amp reset

A frequency is an upper limit that the kernel enforces (cpufreq). A percentage, 10%
to 100%, is the speed that is left: a real-time thread takes the rest of the time of
each such CPU. That costs power instead of saving it, since the CPU is always busy.
Policies that give fast cores to some threads treat slowed CPUs as another kind of
core. 'lop amp reset' makes all CPUs fast again, and so does a reboot.";

const SET_EXAMPLES: &str = "\
Examples:
  lop amp set 4-7=1.2GHz
  lop amp set 0=80% 1=50%

CPUs that an earlier 'lop amp set' slowed stay slow unless they are named again; 100%
makes them fast.";

const SHOW_EXAMPLES: &str = "\
Example:
  lop amp show";

const RESET_EXAMPLES: &str = "\
Example:
  lop amp reset";

#[derive(Subcommand)]
pub enum Command {
    /// Slow some CPUs, by a limit of their frequency or a share of their time
    #[command(after_help = SET_EXAMPLES)]
    Set(SetArguments),
    /// List the slowed CPUs
    #[command(after_help = SHOW_EXAMPLES)]
    Show(PlaceArguments),
    /// Make all CPUs as fast as before
    #[command(after_help = RESET_EXAMPLES)]
    Reset(PlaceArguments),
    /// Started by 'set': takes time from CPUs until it is told to end
    #[command(hide = true, after_help = EXAMPLES)]
    Hold(SetArguments),
}

#[derive(Args)]
pub struct SetArguments {
    /// CPUs and their speed: 4-7=1.2GHz, 1=50%
    #[arg(required = true, value_name = "CPUS=SPEED", value_parser = amp::parse)]
    wanted: Vec<(Cpus, Asked)>,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub struct PlaceArguments {
    #[command(flatten)]
    place: Place,
}

impl Place {
    fn amp_folder(&self) -> PathBuf {
        amp::folder(self.asked().as_deref())
    }
}

/// How long to wait for a process that takes time from CPUs to end.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Set(arguments) => set(&arguments),
        Command::Show(arguments) => terminal::print(&told(&load(&arguments.place.amp_folder())?)),
        Command::Reset(arguments) => reset(&arguments.place),
        Command::Hold(arguments) => hold(&arguments),
    }
}

/// The right to slow CPUs and to make them fast again. A running scheduler knows CPUs as they were when it started, and
/// restores its own limits when it ends: meanwhile nobody else has the right.
fn lock(place: &Place) -> Result<File, Failure> {
    if instance::running(&place.run_dir())?.is_some() {
        return Err(instance::already_running(&place.run_dir()).into());
    }
    amp::lock(&place.amp_folder()).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => failed(error).hint("it needs root: run it with sudo"),
        _ => failed(error),
    })
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(FAILED, error.to_string())
}

fn load(folder: &Path) -> Result<Amp, Failure> {
    let unreadable = |error| failed(error).hint("'lop amp reset' restores what it can, and removes it");
    Amp::load(folder).map_err(unreadable)
}

/// CPUs that are slow already or will be, with their speeds.
fn merged(amp: &Amp, wanted: &[(Cpus, Asked)], online: &Cpus) -> Result<BTreeMap<u32, Asked>, Failure> {
    let before = |(cpu, slowed): (u32, Slowed)| match slowed.way {
        Way::LimitKhz(khz) => (cpu, Asked::Khz(khz)),
        Way::Duty => (cpu, Asked::Share(slowed.share)),
    };
    let mut all: BTreeMap<u32, Asked> = amp.iter().map(before).collect();
    for (cpus, asked) in wanted {
        let away = cpus.without(online);
        if !away.is_empty() {
            return Err(Failure::new(
                BAD_INPUT,
                format!("CPU {away} is not online; online are {online}"),
            ));
        }
        all.extend(cpus.iter().map(|cpu| (cpu, *asked)));
    }
    all.retain(|_, asked| *asked != Asked::Share(1.0));
    Ok(all)
}

fn set(arguments: &SetArguments) -> Result<(), Failure> {
    let place = &arguments.place;
    let folder = place.amp_folder();
    let online = std::fs::read_to_string(place.root.join("sys/devices/system/cpu/online")).map_err(failed)?;
    let online = Cpus::parse(&online).ok_or_else(|| failed("cpu/online: expected a list of CPUs"))?;
    let _lock = lock(place)?;
    let before = load(&folder)?;
    let all = merged(&before, &arguments.wanted, &online)?;
    put_back(place)?;
    match slow(&all, place) {
        Ok(amp) => terminal::print(&told(&amp)),
        Err(failure) => {
            // A partial result is not what was asked for.
            put_back(place)?;
            let before = merged(&before, &[], &online)?;
            if before.is_empty() || slow(&before, place).is_err() {
                put_back(place)?;
                return Err(failure.hint("no CPU is slowed by hand now"));
            }
            Err(failure.hint("only the CPUs of the earlier 'lop amp set' are slow"))
        }
    }
}

/// For commands that measure: `CPU 1 is slowed by hand to 50 %`, a line for each CPU.
///
/// # Errors
/// The records cannot be read.
pub fn told_to_who_measures(place: &Place) -> Result<Vec<String>, Failure> {
    let line = |(cpu, slowed): (u32, Slowed)| format!("CPU {cpu} is slowed by hand to {:.0} %", slowed.share * 100.0);
    Ok(load(&place.amp_folder())?.iter().map(line).collect())
}

/// Prints these lines as notes.
///
/// # Errors
/// As [`told_to_who_measures`].
pub fn tell_who_measures(place: &Place) -> Result<(), Failure> {
    for slowed in told_to_who_measures(place)? {
        terminal::note(&format!("{slowed}; 'lop amp reset' ends it"));
    }
    Ok(())
}

/// Slows these CPUs, none of which is slow yet, and records them.
fn slow(all: &BTreeMap<u32, Asked>, place: &Place) -> Result<Amp, Failure> {
    let folder = place.amp_folder();
    let mut amp = Amp::default();
    let limits: BTreeMap<usize, u32> = (all.iter())
        .filter_map(|(&cpu, asked)| match asked {
            Asked::Khz(khz) => Some((cpu as usize, *khz)),
            Asked::Share(_) => None,
        })
        .collect();
    if !limits.is_empty() {
        let limited = limit_khz(&place.root, &amp::journal(&folder), &limits)?;
        for (cpu, limited) in limited {
            let (share, way) = (limited.share, Way::LimitKhz(limited.khz));
            amp.set(cpu as u32, Slowed { share, way });
        }
    }
    let shares = all.iter().filter_map(|(&cpu, asked)| match asked {
        Asked::Share(share) => Some((cpu, *share)),
        Asked::Khz(_) => None,
    });
    let shares: BTreeMap<u32, f64> = shares.collect();
    if !shares.is_empty() {
        begin_holding(&folder, &shares)?;
        let way = Way::Duty;
        shares
            .iter()
            .for_each(|(&cpu, &share)| amp.set(cpu, Slowed { share, way }));
    }
    amp.save(&folder).map_err(failed)?;
    Ok(amp)
}

fn told(amp: &Amp) -> String {
    if amp.is_empty() {
        return "no CPU is slowed by hand\n".to_string();
    }
    let row = |(cpu, slowed): (u32, Slowed)| {
        let how = match slowed.way {
            Way::LimitKhz(khz) => format!("limit of frequency, {:.3} GHz", f64::from(khz) / 1e6),
            Way::Duty => "a thread takes the rest of its time, which costs power".to_string(),
        };
        (format!("CPU {cpu}"), format!("{:3.0} %  {how}", 100.0 * slowed.share))
    };
    terminal::two_columns(&amp.iter().map(row).collect::<Vec<_>>())
}

/// Starts the process that takes time, and waits until it is ready.
fn begin_holding(folder: &Path, shares: &BTreeMap<u32, f64>) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Program::new(program)
        .args(["amp", "hold", "--run-dir"])
        .arg(folder)
        .args(shares.iter().map(|(cpu, share)| format!("{cpu}={}%", share * 100.0)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    let out = child.stdout.take();
    out.map(|out| BufReader::new(out).read_line(&mut line));
    if line == READY {
        return Ok(());
    }
    let output = child.wait_with_output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(said.trim().trim_start_matches("lop: ")))
}

const READY: &str = "ready\n";

/// Takes time from CPUs until a signal asks for the end.
fn hold(arguments: &SetArguments) -> Result<(), Failure> {
    // This fails for a process that leads a session already, which is fine.
    let _ = setsid();
    let folder = arguments.place.amp_folder();
    let _holding = Holding::take(&folder).map_err(failed)?;
    let (end, ended) = std::sync::mpsc::channel();
    let _signals = on_signals(&ENDING, move |_| {
        // A second signal finds the receiver gone.
        let _ = end.send(());
    })
    .map_err(failed)?;
    let mut shares = BTreeMap::new();
    for (cpus, asked) in &arguments.wanted {
        if let Asked::Share(share) = asked {
            shares.extend(cpus.iter().map(|cpu| (cpu, *share)));
        }
    }
    let _throttle = Throttle::begin(&shares).map_err(failed)?;
    terminal::print(READY)?;
    ended.recv().map_err(failed)
}

fn reset(place: &Place) -> Result<(), Failure> {
    let folder = place.amp_folder();
    // Even if the records cannot be read, the journal and the lock show whether CPUs are slow.
    let slow = || Amp::load(&folder).map(|amp| amp.iter().count());
    let idle = !amp::journal(&folder).exists() && amp::holder(&folder).map_err(failed)?.is_none();
    if idle && matches!(slow(), Ok(0)) {
        return terminal::print("no CPU was slowed by hand\n");
    }
    let _lock = lock(place)?;
    let was = slow();
    put_back(place)?;
    terminal::print(&match was {
        Ok(0) => "what an interrupted 'lop amp set' left is restored\n".to_string(),
        Ok(1) => "as fast as before: 1 CPU\n".to_string(),
        Ok(count) => format!("as fast as before: {count} CPUs\n"),
        Err(error) => format!("{error}: removed, and what the journal of limits names is put back\n"),
    })
}

/// Ends the process that takes time, and restores limits.
fn put_back(place: &Place) -> Result<(), Failure> {
    let folder = place.amp_folder();
    end_holding(&folder)?;
    let restored = put_limits_back(place)?;
    all_is_back(&restored, AGAIN)?;
    restored
        .skipped
        .iter()
        .for_each(|skipped| terminal::note(&left(skipped)));
    Amp::default().save(&folder).map_err(failed)
}

fn put_limits_back(place: &Place) -> Result<Restored, Failure> {
    Ok(restore_from_journal(&place.root, &amp::journal(&place.amp_folder()))?)
}

/// The way out if something could not be restored.
const AGAIN: &str = "'lop amp reset' tries again";

/// For `lop restore`: restores limits that an interrupted `set` left, and names those that are still wanted. True: there were limits.
pub fn restore(place: &Place) -> Result<bool, Failure> {
    let folder = place.amp_folder();
    if !amp::journal(&folder).exists() {
        return Ok(false);
    }
    if load(&folder)?.iter().any(|(_, slowed)| slowed.way != Way::Duty) {
        terminal::print(
            "CPUs that were slowed by hand stay slow: 'lop amp show' lists them, 'lop amp reset' makes them fast\n",
        )?;
        return Ok(true);
    }
    let _lock = lock(place)?;
    let restored = put_limits_back(place)?;
    terminal::print(&format!(
        "limits of frequency that an interrupted 'lop amp set' left: {}",
        told_of(&restored)
    ))?;
    all_is_back(&restored, AGAIN)?;
    Ok(true)
}

fn end_holding(folder: &Path) -> Result<(), Failure> {
    let end = Instant::now() + PATIENCE;
    let mut told = 0;
    while let Some(pid) = amp::holder(folder).map_err(failed)? {
        if Instant::now() > end {
            return Err(failed(match takes_time(pid) {
                true => format!("process {pid} takes time from CPUs and does not end: kill -9 {pid}"),
                false => format!(
                    "another program holds the lock of 'lop amp': find it with fuser {}",
                    folder.join("amp.lock").display()
                ),
            }));
        }
        if pid != told {
            tell_to_end(pid)?;
            told = pid;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether that process is a `lop amp hold`. Anybody may lock the file that names it, and process numbers are reused: no other process may be ended.
fn takes_time(pid: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = arguments.split(|&byte| byte == 0).skip(1);
    words.next() == Some(b"amp") && words.next() == Some(b"hold")
}

/// A process that has ended is no error.
fn tell_to_end(pid: u32) -> Result<(), Failure> {
    if !takes_time(pid) {
        return Ok(());
    }
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    match pidfd_open(process, PidfdFlags::empty()).and_then(|fd| pidfd_send_signal(fd, Signal::TERM)) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(failed(format!(
            "process {pid}, which takes time from CPUs, cannot be ended: {error}: run it with sudo"
        ))),
    }
}
