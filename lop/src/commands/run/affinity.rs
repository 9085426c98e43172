//! `lop run` without a kernel that takes schedulers: the command's threads are bound to CPUs.

use super::{ignore, passed_on, refused};
use crate::commands::enforce;
use crate::failure::{Failure, FAILED};
use crate::terminal;
use lop_agent::{Affinity, AgentError, Report};
use lop_kernel::options::Options;
use lop_kernel::signals::{on_signals, SignalGuard, ENDING, SIGINT, SIGQUIT};
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};

pub fn run(options: &Options, run_dir: Option<PathBuf>, command: &[OsString]) -> Result<(), Failure> {
    let mut affinity = Affinity::new(lop_agent::Options {
        sizes: enforce::sizes(options)?,
        root: options.root.clone(),
        run_dir,
        tell: terminal::note,
    })
    .map_err(|error| Failure::new(FAILED, error.to_string()))?;
    if options.verbose > 0 {
        terminal::note(&format!("policy {} by affinity: {}", options.policy, affinity.lost()));
    }
    let [program, arguments @ ..] = command else {
        return Err(Failure::new(FAILED, "no command"));
    };
    let process = Arc::new(OnceLock::new());
    let _signals =
        forward_signals(&process).map_err(|error| Failure::new(FAILED, format!("cannot handle signals: {error}")))?;
    let mut program = Command::new(program);
    match affinity.run_with(program.args(arguments), |pid| keep(&process, pid)) {
        Ok(status) => {
            if options.verbose > 0 {
                terminal::note(&told(&affinity.report()));
            }
            passed_on(status)
        }
        Err(AgentError::Command(error)) => Err(refused(command, &error)),
        Err(AgentError::Setup(sentence)) => Err(Failure::new(FAILED, sentence)),
    }
}

/// A handle of the command's process, so that no signal meets another process of the same number.
fn keep(process: &OnceLock<OwnedFd>, pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(fd) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
        let _ = process.set(fd);
    }
}

/// Ctrl-C and Ctrl-\ reach the command from the terminal; what was sent to this process alone is passed on.
fn forward_signals(process: &Arc<OnceLock<OwnedFd>>) -> io::Result<SignalGuard> {
    let process = process.clone();
    on_signals(&ENDING, move |signal| match (process.get(), signal) {
        (None, _) | (Some(_), SIGINT | SIGQUIT) => {}
        (Some(process), _) => {
            if let Some(signal) = Signal::from_named_raw(signal) {
                ignore(pidfd_send_signal(process, signal));
            }
        }
    })
}

fn told(report: &Report) -> String {
    let share = report.own_cpu.as_secs_f64() / report.wall.as_secs_f64().max(1e-9);
    format!(
        "looked {} times in {:.2} s, at most {:.0} ms apart; changed {} affinities; took {:.3} % of one CPU",
        report.looks,
        report.wall.as_secs_f64(),
        report.longest_wait.as_secs_f64() * 1000.0,
        report.changes,
        100.0 * share
    )
}
