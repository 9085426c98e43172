// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording as a workload file.
//!
//! Every process and thread becomes a task that is forked by its parent and runs for the recorded CPU time, split at its forks and
//! waits. The rest is mapped as follows:
//!
//! - **Waits.** A wait that named its child, or had only one to wait for, becomes a join of that child. A wait for any of several
//!   becomes `join = "any"`, as in wait(2): with another schedule another child may end first. Each child is waited for once.
//! - **Blocked for another reason** (a pipe, a futex, the disk): only the sum between two stops is known, and it counts if it is at
//!   least [`SLEEP_THRESHOLD_NS`]. If a child ended meanwhile, the task was waiting for that child: it was reading the child's output,
//!   or was in a poll that the child's end woke (make waiting for a free job), or joined threads. If not, but its standard input is a
//!   pipe that another task writes to (`a | b`, `gcc -pipe`), it waits for that task, through a condition, until the task's end or
//!   until it went on; so its input arrives late rather than bit by bit. Otherwise, and for the rest after such an end, it sleeps for
//!   as long as it was blocked. So does a make below another while it waits for a job slot of its parent.
//! - **vfork**: the parent goes on at once; in reality it waits until the child executes its program (some 0.1 ms).
//! - **Order in a segment**: as much CPU time as fits comes after the end that was waited for, the rest before it.

use super::steps::{steps_of_all, Step};
use super::{CpuClock, Recording};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::SystemTime;

/// Shortest blocked time between two events that counts as a wait; less is noise of the recording (page faults, wake-ups).
pub const SLEEP_THRESHOLD_NS: u64 = 1_000_000;
/// With CPU time in clock ticks, anything shorter than two ticks may be a reading error.
const SLEEP_THRESHOLD_TICKS_NS: u64 = 20_000_000;
/// Assumed for every task, since a recording does not tell it: the share fitted for compiling.
const MEMORY_SHARE: f64 = 0.058;
/// Programs that compile one source file per process.
const COMPILERS: [&str; 7] = ["cc1", "cc1plus", "clang", "clang++", "rustc", "f951", "tcc"];

/// The recording in the schema of workload files (`lop workload show`), under this name.
pub fn to_workload(recording: &Recording, name: &str) -> String {
    let threshold_ns = match recording.clock {
        CpuClock::Schedstat => SLEEP_THRESHOLD_NS,
        CpuClock::Ticks => SLEEP_THRESHOLD_TICKS_NS,
    };
    let all = steps_of_all(&recording.processes, threshold_ns);
    let names: Vec<String> = (0..recording.processes.len())
        .map(|index| task_name(recording, index))
        .collect();
    let mut text = header(recording, name);
    write_conditions(&mut text, &all);
    text.push_str("\n[task]\n");
    for (index, steps) in all.iter().enumerate() {
        write_task(&mut text, recording, &names, index, steps);
    }
    text
}

/// `p12-cc1`; characters that a bare key cannot hold become `_`.
fn task_name(recording: &Recording, index: usize) -> String {
    let bare = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '_'
        }
    };
    let program: String = recording.processes[index].program.chars().take(24).map(bare).collect();
    format!("p{index}-{program}")
}

fn header(recording: &Recording, name: &str) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let command = one_line(&recording.command.join(" "));
    let compiled = recording
        .processes
        .iter()
        .filter(|process| COMPILERS.contains(&process.program.as_str()))
        .count();
    let threads = recording.processes.iter().filter(|process| process.thread).count();
    let model = if recording.cpu_model.is_empty() {
        "unknown"
    } else {
        &recording.cpu_model
    };
    let mut text = String::new();
    let mut line = |content: String| {
        let _ = writeln!(text, "{content}");
    };
    line("# Recorded by `lop workload record`.".into());
    line(format!("# Command: {command}"));
    line(format!("# Date: {} (UTC)", date(recording.started)));
    line(format!("# Machine: {} CPUs, {}", recording.cpus, one_line(model)));
    line(format!(
        "# Processes: {}, threads beside them: {threads}",
        recording.processes.len() - threads
    ));
    line(format!(
        "# Source files compiled: {compiled} (processes of a compiler proper)"
    ));
    line(format!(
        "# CPU time: {:.3} s in {:.3} s on the clock; exit code {}",
        seconds(recording.cpu_ns),
        seconds(recording.wall_ns),
        recording.exit_code
    ));
    line("#".into());
    line("# One task per process. run_ms is the CPU time used up to the next fork or wait. A wait for a named or an only child is".into());
    line("# join = NAME, for any of several join = \"any\". Blocked otherwise (pipe, futex, disk) for 1 ms or more while a child ended:".into());
    line("# a join of that child; of the writer of its standard input: wait; else sleep_ms. vfork does not hold the parent. The memory share is that of kernel-build, assumed.".into());
    line(format!("name = {}", quoted(name)));
    let description = format!(
        "process tree of `{command}`: {} processes, {compiled} source files, {:.1} CPU s in {:.1} s on {} CPUs ({model})",
        recording.processes.len() - threads,
        seconds(recording.cpu_ns),
        seconds(recording.wall_ns),
        recording.cpus
    );
    line(format!("description = {}", quoted(&description)));
    line(format!("memory_share = {MEMORY_SHARE}"));
    line("scale = 1.0".into());
    text
}

/// Text without line breaks, for a comment line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

fn date(at: SystemTime) -> String {
    time::OffsetDateTime::from(at).date().to_string()
}

/// One condition per reader and writer. It counts, since the writer may end before the reader begins to wait.
fn write_conditions(text: &mut String, all: &[Vec<Step>]) {
    let mut pairs = BTreeSet::new();
    for (index, steps) in all.iter().enumerate() {
        for step in steps {
            match *step {
                Step::AwaitWriter(writer) => pairs.insert((writer, index)),
                Step::ReleaseReader(reader) => pairs.insert((index, reader)),
                _ => false,
            };
        }
    }
    if !pairs.is_empty() {
        text.push_str("\n[condition]\n");
    }
    for (writer, reader) in pairs {
        let _ = writeln!(text, "{} = {{ counting = true }}", pipe_name(writer, reader));
    }
}

fn pipe_name(writer: usize, reader: usize) -> String {
    format!("pipe-p{writer}-p{reader}")
}

fn write_task(text: &mut String, recording: &Recording, names: &[String], index: usize, steps: &[Step]) {
    let process = &recording.processes[index];
    let ms = |us: i64| format!("{}.{:03}", us / 1000, us % 1000);
    let step_text = |step: &Step| match *step {
        Step::RunUs(us) => format!("{{ run_ms = {} }}", ms(us)),
        Step::SleepUs(us) => format!("{{ sleep_ms = {} }}", ms(us)),
        Step::Fork(child) => format!("{{ fork = \"{}\" }}", names[child]),
        Step::Join(child) => format!("{{ join = \"{}\" }}", names[child]),
        Step::JoinAny => "{ join = \"any\" }".into(),
        Step::AwaitWriter(writer) => format!("{{ wait = \"{}\" }}", pipe_name(writer, index)),
        Step::ReleaseReader(reader) => format!("{{ signal = \"{}\" }}", pipe_name(index, reader)),
    };
    let steps: Vec<String> = steps.iter().map(step_text).collect();
    let _ = writeln!(
        text,
        "{} = {{ count = {}, steps = [{}] }} # {}, {:.3} s to {:.3} s",
        names[index],
        u32::from(index == 0),
        steps.join(", "),
        if process.thread { "thread" } else { "process" },
        process.start_ns as f64 / 1e9,
        process.end_ns as f64 / 1e9
    );
}

#[cfg(test)]
mod tests;
