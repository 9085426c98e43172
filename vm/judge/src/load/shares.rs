// SPDX-License-Identifier: GPL-2.0-only
//! Busy processes of different kinds at the same time: the share of CPU time that each gets.
//!
//! Each task is a process that runs this program again, sets its own properties, reports that, waits for the start, and
//! computes until it is ended. All are measured over the same window.

use super::busy::{name_thread, work};
use super::control_group::ControlGroups;
use super::ms;
use super::task_spec::TaskSpec;
use crate::shares::{Share, Shares};
use anyhow::{bail, Context, Result};
use clap::Args;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Name of the tasks.
pub const COMM: &str = "lop-share";
const READY: &str = "ready";

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct SharesLoad {
    /// A task: nice=, policy=other|batch|idle|fifo|rr|ext, cpus=0+2-3, cgroup=NAME:WEIGHT, session, threads=, name=; may be repeated.
    #[arg(long = "task", required = true)]
    pub tasks: Vec<TaskSpec>,
    /// Length of the window.
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    /// Time before the window, ms.
    #[arg(long, default_value_t = 1000)]
    pub warm_up_ms: u64,
}

/// One of the tasks; for internal use.
#[derive(Debug, Clone, Args)]
pub struct Burn {
    pub task: TaskSpec,
}

/// Runs the load and measures.
///
/// # Errors
/// A task cannot get its properties, or ended early.
pub fn run(load: &SharesLoad) -> Result<Shares> {
    let wanted: Vec<_> = load.tasks.iter().filter_map(|task| task.cgroup.clone()).collect();
    let groups = if wanted.is_empty() {
        None
    } else {
        Some(ControlGroups::new(&wanted)?)
    };
    let mut tasks = Vec::new();
    for spec in &load.tasks {
        tasks.push(Task::start(spec, groups.as_ref())?);
    }
    for task in &mut tasks {
        task.go()?;
    }
    thread::sleep(Duration::from_millis(load.warm_up_ms));
    let before = tasks.iter().map(Task::cpu_ns).collect::<Result<Vec<_>>>()?;
    thread::sleep(Duration::from_secs(load.seconds));
    let after = tasks.iter().map(Task::cpu_ns).collect::<Result<Vec<_>>>()?;
    drop(tasks);
    let spent: Vec<u64> = after
        .iter()
        .zip(&before)
        .map(|(after, before)| after - before)
        .collect();
    shares(&load.tasks, &spent)
}

fn shares(specs: &[TaskSpec], spent_ns: &[u64]) -> Result<Shares> {
    let total_ns: u64 = spent_ns.iter().sum();
    if total_ns == 0 {
        bail!("no task ran during the window: make it longer");
    }
    let share = |(spec, ns): (&TaskSpec, &u64)| Share {
        task: spec.text.clone(),
        cpu_ms: ms(*ns),
        share: *ns as f64 / total_ns as f64,
    };
    Ok(Shares {
        tasks: specs.iter().zip(spent_ns).map(share).collect(),
    })
}

/// A running task, which is ended when this is dropped.
struct Task {
    child: Child,
    text: String,
}

impl Task {
    fn start(spec: &TaskSpec, groups: Option<&ControlGroups>) -> Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg("burn")
            .arg(&spec.text)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut task = Task {
            child: command.spawn().context("start a task")?,
            text: spec.text.clone(),
        };
        if let (Some(groups), Some((name, _))) = (groups, &spec.cgroup) {
            groups.enter(name, task.child.id())?;
        }
        task.wait_until_ready()?;
        Ok(task)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take().context("output of a task")?).read_line(&mut line)?;
        match line.trim() {
            READY => Ok(()),
            _ => bail!("task `{}` could not be made so, see above", self.text),
        }
    }

    fn go(&mut self) -> Result<()> {
        let mut input = self.child.stdin.take().context("input of a task")?;
        input
            .write_all(b"\n")
            .with_context(|| format!("start task `{}`", self.text))
    }

    fn cpu_ns(&self) -> Result<u64> {
        let clock = clock_getcpuclockid(Pid::from_raw(self.child.id() as i32));
        let time = clock
            .and_then(clock_gettime)
            .with_context(|| format!("CPU time of task `{}`", self.text))?;
        Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            eprintln!("lop-load: task `{}` could not be ended: {error}", self.text);
        }
    }
}

/// Runs one task, until its parent ends it or is gone.
///
/// # Errors
/// It cannot get its properties.
pub fn burn(burn: &Burn) -> Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("end with the parent")?;
    name_thread(COMM)?;
    burn.task.apply()?;
    println!("{READY}");
    if std::io::stdin().read(&mut [0]).context("wait for the start")? == 0 {
        bail!("the parent ended before the start");
    }
    for _ in 1..burn.task.threads.unwrap_or(1) {
        thread::Builder::new()
            .spawn(|| compute_for_ever())
            .context("start a thread")?;
    }
    compute_for_ever()
}

fn compute_for_ever() -> ! {
    loop {
        work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_window() {
        let specs: Vec<TaskSpec> = ["nice=0", "nice=5"].iter().map(|text| text.parse().unwrap()).collect();
        let found = shares(&specs, &[3_000_000, 1_000_000]).unwrap();
        assert_eq!(found.tasks[0].task, "nice=0");
        assert_eq!((found.tasks[0].cpu_ms, found.tasks[1].share), (3.0, 0.25));
        assert!(shares(&specs, &[0, 0]).is_err());
    }
}
