// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns a recording into a workload file of the simulator.
//!
//! Each task of the file is a task of the recording, forked by its parent. Work is time on the recorded machine times its speed, or just that
//! time if the speed is not known.

use crate::event::Trace;
use crate::lives::{lives, Life};
use crate::steps::{steps, Step};
use crate::summary::Summary;
use lop_machine::InputError;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The workload with this name, in the schema of `lop workload show --toml`, and a summary of the recording.
///
/// # Errors
/// Nothing ran in the recording. `file` is used in errors.
pub fn to_workload(file: &str, trace: &Trace, name: &str) -> Result<(String, Summary), InputError> {
    let lives = lives(trace);
    if lives.is_empty() {
        return Err(InputError::new(
            file,
            "no task runs in this recording; record for longer",
        ));
    }
    let plan = steps(&lives);
    let summary = Summary::of(trace, &lives, &plan);
    let mut text = header(trace, &summary, name);
    write_conditions(&mut text, &plan.steps);
    let names: Vec<String> = (lives.iter().enumerate())
        .map(|(index, life)| task_name(index, life))
        .collect();
    write_apps(&mut text, &lives, &names);
    let founders = founders(&lives);
    let speed = trace.header.host.speed().unwrap_or(1.0);
    for (index, steps) in plan.steps.iter().enumerate() {
        write_task(
            &mut text,
            speed,
            &lives[index],
            &names[founders[index]],
            &names,
            index,
            steps,
        );
    }
    Ok((text, summary))
}

fn header(trace: &Trace, summary: &Summary, name: &str) -> String {
    let what = match trace.header.command.is_empty() {
        true => "the whole machine".to_string(),
        false => format!("`{}`", trace.header.command.join(" ")),
    };
    let model = match trace.header.host.cpu_model.as_str() {
        "" => "unknown",
        model => model,
    };
    let description = format!(
        "replay of {what}: {}, {:.2} CPU s in {:.2} s on {} CPUs ({model})",
        summary.tasks_text(),
        summary.cpu_s,
        summary.recorded_s,
        trace.header.host.cpus
    );
    let mut text = String::from("# Made from a recording of lop record.\n");
    text.extend(summary.unknown().iter().map(|line| format!("# {line}\n")));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "name = {}\ndescription = {}", quoted(name), quoted(&description));
    text
}

/// A TOML string on one line.
fn quoted(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    toml::Value::String(line).to_string()
}

/// `t12-cc1`; characters that a bare key cannot hold become `_`.
fn task_name(index: usize, life: &Life) -> String {
    let bare = |c: char| match c.is_ascii_alphanumeric() || c == '-' {
        true => c,
        false => '_',
    };
    let name: String = life.name.chars().take(24).map(bare).collect();
    format!("t{index}-{name}")
}

fn condition_name(from: usize, to: usize) -> String {
    format!("t{from}-t{to}")
}

/// One counting condition for each pair of tasks: a task that is released before it waits goes on at once.
fn write_conditions(text: &mut String, all: &[Vec<Step>]) {
    let mut pairs = BTreeSet::new();
    for (index, steps) in all.iter().enumerate() {
        pairs.extend(steps.iter().filter_map(|step| match *step {
            Step::Await(from) => Some((from, index)),
            Step::Release(to) => Some((index, to)),
            _ => None,
        }));
    }
    for (from, to) in pairs {
        let _ = writeln!(text, "\n[condition.{}]\ncounting = true", condition_name(from, to));
    }
}

/// Each task that existed before is an application, together with its descendants; a command is one application.
fn write_apps(text: &mut String, lives: &[Life], names: &[String]) {
    for (life, name) in lives.iter().zip(names).filter(|(life, _)| life.parent.is_none()) {
        let _ = writeln!(text, "\n[app.{name}] # {} when first seen", life.task);
    }
}

/// For each task its earliest ancestor; parents come before their children.
fn founders(lives: &[Life]) -> Vec<usize> {
    let mut founders: Vec<usize> = Vec::with_capacity(lives.len());
    for (index, life) in lives.iter().enumerate() {
        founders.push(life.parent.map_or(index, |parent| founders[parent]));
    }
    founders
}

fn write_task(text: &mut String, speed: f64, life: &Life, app: &str, names: &[String], index: usize, steps: &[Step]) {
    let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    let step_text = |step: &Step| match *step {
        // Work below a ns would be written as 0, which is not allowed.
        Step::Run(ns) => format!("{{ run_us = {} }}", us(((ns as f64 * speed).round() as u64).max(1))),
        Step::Sleep(ns) => format!("{{ sleep_us = {} }}", us(ns)),
        Step::Fork(child) => format!("{{ fork = \"{}\" }}", names[child]),
        Step::Join(child) => format!("{{ join = \"{}\" }}", names[child]),
        Step::JoinAny => "{ join = \"any\" }".into(),
        Step::Await(from) => format!("{{ wait = \"{}\" }}", condition_name(from, index)),
        Step::Release(to) => format!("{{ signal = \"{}\" }}", condition_name(index, to)),
    };
    let steps: Vec<String> = match steps {
        // A task has at least one step.
        [] => vec!["{ run_us = 0.001 }".into()],
        _ => steps.iter().map(step_text).collect(),
    };
    let start = match life.parent {
        Some(_) => "count = 0".to_string(),
        None => format!("start_us = {}", us(life.born_ns)),
    };
    let _ = writeln!(
        text,
        "\n[task.{}]\n{start}\napp = \"{}\"\nsteps = [{}]",
        names[index],
        app,
        steps.join(", ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::scripted;

    /// 100 us on a machine of 2.5 times the speed are 250 us of the reference core; a sleep has the same length on both.
    #[test]
    fn runs_count_by_the_speed_of_the_machine_recorded() {
        let mut trace = scripted("0 0 in 7\n100 0 blocked 7\n400 0 in 7\n500 0 exit 7");
        let text = |trace: &Trace| to_workload("a.trace", trace, "a").unwrap().0;
        assert!(
            text(&trace).contains("run_us = 100.000 }, { sleep_us = 300.000 }, { run_us = 100.000"),
            "{}",
            text(&trace)
        );
        trace.header.host.speed_permille = Some(2500);
        assert!(
            text(&trace).contains("run_us = 250.000 }, { sleep_us = 300.000 }, { run_us = 250.000"),
            "{}",
            text(&trace)
        );
        assert!(
            text(&trace).contains("a simulated core of speed 2.50, as a loop measured"),
            "{}",
            text(&trace)
        );
    }
}
