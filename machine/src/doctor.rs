// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine can do for Lopsided, what it lacks, what that costs, and the command that would mend it.
//!
//! Nothing is changed. Speeds are judged by whether their files are writable, unless the caller tried them ([`Report::add_trial`]).

mod checks;
mod counters;
mod distribution;
mod idle;
mod rivals;
mod text;
mod trial;

pub use text::text;
pub use trial::Trial;

use crate::live::{self, LiveMachine};
use crate::meter::{find_with, Found, MeterError, MeterKind, Setup};
use distribution::Distribution;
use serde::Serialize;
use serde_json::{json, Value};
use std::path::Path;

/// How far something can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Yes,
    /// In part, or by some users only.
    Partly,
    No,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// `scheduler`, `speeds`, `idle`, `meters`, `counters`, `cgroup`, `affinity`, `paranoid`, `rivals`; `slowed` where CPUs are.
    pub area: &'static str,
    /// For people.
    pub title: &'static str,
    pub state: State,
    /// What was found, one sentence each.
    pub found: Vec<String>,
    /// What is lost; empty if nothing is.
    pub costs: Vec<String>,
    /// What would fix it: commands, kernel options, packages.
    pub mends: Vec<String>,
    /// This distribution's commands for fixes that need a reboot.
    pub commands: Vec<String>,
}

impl Finding {
    pub fn new(area: &'static str, title: &'static str, state: State) -> Self {
        Self {
            area,
            title,
            state,
            found: Vec::new(),
            costs: Vec::new(),
            mends: Vec::new(),
            commands: Vec::new(),
        }
    }

    pub fn found(mut self, text: impl Into<String>) -> Self {
        self.found.push(text.into());
        self
    }

    pub fn costs(mut self, text: impl Into<String>) -> Self {
        self.costs.push(text.into());
        self
    }

    pub fn mend(mut self, text: impl Into<String>) -> Self {
        self.mends.push(text.into());
        self
    }
}

/// All that was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The CPUs, or why they cannot be read.
    pub machine: Result<LiveMachine, String>,
    pub findings: Vec<Finding>,
    /// Every kind of meter, in the order of choice.
    pub meters: Vec<Result<Found, MeterError>>,
    /// The outcome of trying the speeds; None if they were not tried.
    pub trial: Option<Trial>,
}

/// Areas with which work can be steered or its energy measured.
const USEFUL: [&str; 5] = ["scheduler", "cgroup", "affinity", "speeds", "meters"];

impl Report {
    /// Looks at the machine that `setup` names. `enforcement`: findings about ways to enforce a policy, which this crate knows nothing about.
    pub fn look(setup: &Setup, enforcement: Vec<Finding>) -> Self {
        let root = &setup.root;
        let machine = live::read(root).map_err(|error| error.to_string());
        let meters = find_with(setup);
        let checked = vec![
            checks::affinity(&machine),
            checks::speeds(root),
            idle::idle(root),
            checks::meters(&meters),
            counters::counters(root),
            checks::paranoid(root),
            rivals::rivals(root),
        ];
        let mut report = Self {
            machine,
            findings: enforcement.into_iter().chain(checked).collect(),
            meters,
            trial: None,
        };
        report.name_commands(root);
        report
    }

    /// Replaces what was concluded about speeds by the outcome of trying them on the machine below `root`.
    pub fn add_trial(&mut self, root: &Path, trial: Trial) {
        let speeds = self.findings.iter_mut().find(|finding| finding.area == "speeds");
        speeds.into_iter().for_each(|finding| trial::add(finding, root, &trial));
        self.trial = Some(trial);
        self.name_commands(root);
    }

    fn name_commands(&mut self, root: &Path) {
        let distribution = Distribution::of(root);
        for finding in &mut self.findings {
            let commands = finding.mends.iter().filter_map(|mend| distribution.command(mend));
            finding.commands = commands.collect();
        }
    }

    /// The useful areas that work, fully or in part.
    pub fn usable(&self) -> Vec<&'static str> {
        let useful = self
            .findings
            .iter()
            .filter(|finding| finding.state != State::No && USEFUL.contains(&finding.area));
        useful.map(|finding| finding.area).collect()
    }

    /// One object: `usable`, `machine`, `findings`, `meters`, `speed_trial`.
    pub fn json(&self) -> Value {
        let machine = match &self.machine {
            Ok(machine) => json!(machine),
            Err(error) => json!({ "error": error }),
        };
        let meters: Vec<Value> = MeterKind::ALL
            .into_iter()
            .zip(&self.meters)
            .map(|(kind, meter)| meter_json(kind, meter))
            .collect();
        json!({
            "usable": self.usable(),
            "machine": machine,
            "findings": self.findings,
            "meters": meters,
            "speed_trial": self.trial.as_ref().map(trial::json),
        })
    }
}

fn meter_json(kind: MeterKind, meter: &Result<Found, MeterError>) -> Value {
    match meter {
        Ok(found) => json!({
            "kind": kind.name(),
            "usable": true,
            "name": found.source.name,
            "whole_system": found.source.whole_system,
            "update_period_s": found.source.update_period.map(|period| period.as_secs_f64()),
            "permission": found.permission,
            "wraps_after_s": found.wraps.map(|wraps| wraps.after.as_secs_f64()),
            "wraps_at_w": found.wraps.map(|wraps| wraps.most_w),
            "read_every_s": found.wraps.map(|wraps| wraps.read_every.as_secs_f64()),
        }),
        Err(error) => json!({
            "kind": kind.name(),
            "usable": false,
            "what": error.what,
            "reason": error.reason,
            "mend": error.mend,
        }),
    }
}

#[cfg(test)]
mod tests;
