// SPDX-License-Identifier: GPL-2.0-only
//! What a person at the command line may rely on: help, exit codes, errors, formats, files.

#[path = "cli/affinity.rs"]
mod affinity;
#[path = "cli/agent.rs"]
mod agent;
#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/cgroup.rs"]
mod cgroup;
#[path = "cli/compare.rs"]
mod compare;
#[path = "cli/compare_enforced.rs"]
mod compare_enforced;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/donor.rs"]
mod donor;
#[path = "cli/goal.rs"]
mod goal;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/kernel.rs"]
mod kernel;
#[path = "cli/kills.rs"]
mod kills;
#[path = "cli/live.rs"]
mod live;
#[path = "cli/measure.rs"]
mod measure;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/record.rs"]
mod record;
#[path = "cli/results.rs"]
mod results;
#[path = "cli/top.rs"]
mod top;

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// `lop` with arguments, in a folder of its own so that anything it writes there is seen.
fn lop(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lop").expect("the binary of this crate is built");
    command.current_dir(folder).args(arguments).env_remove("COLUMNS");
    command
}

/// The answer of a command that must succeed, in a terminal so wide.
fn good_in(folder: &Path, columns: usize, arguments: &[&str]) -> Answer {
    let output = lop(folder, arguments)
        .env("COLUMNS", columns.to_string())
        .output()
        .unwrap();
    let answer = answered(&output);
    assert_eq!(answer.code, 0, "lop {}: {}", arguments.join(" "), answer.stderr);
    answer
}

struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

fn answer(folder: &Path, arguments: &[&str]) -> Answer {
    answered(&lop(folder, arguments).output().unwrap())
}

fn answered(output: &std::process::Output) -> Answer {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// The answer of a command that must succeed.
fn good(folder: &Path, arguments: &[&str]) -> Answer {
    let answer = answer(folder, arguments);
    assert_eq!(answer.code, 0, "lop {}: {}", arguments.join(" "), answer.stderr);
    answer
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&good(folder, arguments).stdout).unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Asks until there is an answer.
fn within<T>(time: Duration, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + time;
    loop {
        match found() {
            Some(found) => return found,
            None if Instant::now() > end => panic!("nothing after {time:?}"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Sends a signal; no program is needed for it.
fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A small workload that takes a few milliseconds to simulate.
const SMALL: &str = r#"name = "small"
description = "Three tasks that run and sleep."

[task.worker]
count = 3
steps = [{ repeat = 20, steps = [{ run_ms = 2 }, { sleep_ms = { mean = 3 } }] }]
"#;

/// Writes the small workload and returns the name to give to `--workload`.
fn small(folder: &Path) -> &'static str {
    std::fs::write(folder.join("small.toml"), SMALL).unwrap();
    "./small.toml"
}
