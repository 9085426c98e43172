//! What a person at the command line may rely on: help, exit codes, errors, formats, files.

#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/kernel.rs"]
mod kernel;
#[path = "cli/live.rs"]
mod live;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/results.rs"]
mod results;

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// `lop` with arguments, in a folder of its own so that anything it writes there is seen.
fn lop(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lop").expect("the binary of this crate is built");
    command.current_dir(folder).args(arguments);
    command
}

struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

fn answer(folder: &Path, arguments: &[&str]) -> Answer {
    let output = lop(folder, arguments).output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
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
