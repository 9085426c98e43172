// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments on a fleet: read from TOML, run on all host cores, with the same result for any number of them.

use super::{Fleet, Outcome, Policy, Setup};
use crate::experiment::{
    chosen, is_path, mean_bounds, merge_counters, pool, ExperimentError, Half, Measures, PointValue, RunControl,
    MAX_POINTS, MAX_RUNS,
};
use crate::Bounds;
use lop_machine::input::{self, Override};
use lop_machine::{InputError, Machine};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What to run. Figures are checked, machines are opened when it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub id: String,
    pub title: String,
    pub description: String,
    /// Not empty; results are relative to the first.
    pub policies: Vec<Policy>,
    /// Seed of the first run; the runs after it count up from there.
    pub seed: u64,
    pub runs: u32,
    file: String,
    text: String,
    /// Where paths of machines start.
    folder: Option<PathBuf>,
    /// Of the file, `fleet.KEY`, and of each of its machines, `machine.KEY`.
    settings: Vec<Override>,
    sweeps: Vec<Sweep>,
}

/// Figures of the fleet that take several values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    point: String,
    key: String,
    values: Vec<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: String,
    title: String,
    #[serde(default)]
    description: String,
    policies: Vec<String>,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default = "one")]
    runs: u32,
    fleet: Setup,
    #[serde(default)]
    set: std::collections::BTreeMap<String, toml::Value>,
    #[serde(default)]
    sweep: Vec<Sweep>,
}

fn one<T: From<u8>>() -> T {
    1.into()
}

/// Results by point, then by policy in the order given.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// Names of the machines used, each once.
    pub machines: Vec<String>,
    pub results: Vec<PolicyResult>,
}

/// One policy at one sweep point. `time_s` of measures and bounds is the mean response, in EDP too; power is that until the last application has
/// ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyResult {
    pub policy: Policy,
    /// A machine whose watts were taken, if it has another processor.
    pub donor: Option<String>,
    /// In the order of the sweeps; empty without sweeps.
    pub point: Vec<(String, PointValue)>,
    pub mean: Measures,
    /// `None` for a single run.
    pub ci95: Option<Half>,
    pub bounds: Bounds,
    /// [`super::Counters`], means over runs.
    pub counters: Map<String, Value>,
}

/// A sweep point, ready to run.
struct Point {
    labels: Vec<(String, PointValue)>,
    fleet: Fleet,
}

impl Experiment {
    /// Whether a text is about a fleet: it has a table of that name.
    pub fn is_one(text: &str) -> bool {
        let table = text.parse::<toml::Table>();
        table.is_ok_and(|table| table.contains_key("fleet"))
    }

    /// `folder`: where paths of machines start; `None`: at the working directory.
    ///
    /// # Errors
    /// Invalid TOML, unknown or missing keys, wrong types, unknown policies, numbers out of range; with file and key.
    pub fn read(file: &str, text: &str, folder: Option<&Path>) -> Result<Self, InputError> {
        let parsed: File = input::parse(file, text)?;
        let about = |key: &str, message: String| InputError::new(file, message).key(key);
        if !(1..=MAX_RUNS).contains(&parsed.runs) {
            return Err(about("runs", format!("{}, expected 1 to {MAX_RUNS}", parsed.runs)));
        }
        parsed.fleet.check().map_err(|e| about("fleet", e))?;
        let mut experiment = Self {
            id: parsed.id,
            title: parsed.title,
            description: parsed.description,
            policies: Vec::new(),
            seed: parsed.seed,
            runs: parsed.runs,
            file: file.into(),
            text: text.into(),
            folder: folder.map(Path::to_path_buf),
            settings: Vec::new(),
            sweeps: parsed.sweep,
        };
        experiment.set_policies(&parsed.policies)?;
        for (key, value) in parsed.set {
            experiment.set(&key, &value.to_string())?;
        }
        let points = experiment.nr_points();
        if !(1..=MAX_POINTS).contains(&points) {
            return Err(about("sweep", format!("{points} points, expected 1 to {MAX_POINTS}")));
        }
        Ok(experiment)
    }

    /// `all` stands for every policy of fleets.
    ///
    /// # Errors
    /// An unknown name, one that is there twice, or none.
    pub fn set_policies(&mut self, names: &[String]) -> Result<(), InputError> {
        let every = || Policy::NAMES.map(|(name, _)| name).to_vec();
        self.policies = chosen(names, every, str::parse)
            .map_err(|(_, message)| InputError::new(&self.file, message).key("policies"))?;
        Ok(())
    }

    /// Changes a key of the fleet (`fleet.load`) or of each of its machines (`machine.base_w`). `value` is TOML, or plain text.
    ///
    /// # Errors
    /// It is a key of something else, or a sweep changes it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), InputError> {
        let error = |message: String| Err(InputError::new(&self.file, message).key(key));
        if !key.starts_with("fleet.") && !key.starts_with("machine.") {
            return error("unknown key, expected fleet.KEY or machine.KEY".into());
        }
        if let Some(sweep) = self.sweeps.iter().find(|sweep| sweep.key == key) {
            return error(format!("experiment '{}' sweeps this as '{}'", self.id, sweep.point));
        }
        self.settings.push(Override {
            key: key.into(),
            value: value.into(),
        });
        Ok(())
    }

    /// All machines are of this kind, a name or a path from the working directory.
    ///
    /// # Errors
    /// The machine is swept.
    pub fn set_machine(&mut self, name: &str) -> Result<(), InputError> {
        self.folder = None;
        self.set("fleet.machine", &toml::Value::Array(vec![name.into()]).to_string())
    }

    /// Simulations of [`Experiment::run`].
    pub fn nr_simulations(&self) -> usize {
        self.nr_points() * self.runs as usize * self.policies.len()
    }

    fn nr_points(&self) -> usize {
        self.sweeps.iter().map(|sweep| sweep.values.len()).product()
    }

    fn points(&self) -> Result<Vec<Point>, InputError> {
        let mut chosen: Vec<Vec<(&Sweep, &toml::Value)>> = vec![Vec::new()];
        for sweep in &self.sweeps {
            let with = |before: &Vec<_>| {
                let before = before.clone();
                sweep
                    .values
                    .iter()
                    .map(move |value| [before.as_slice(), &[(sweep, value)]].concat())
            };
            chosen = chosen.iter().flat_map(with).collect();
        }
        chosen.iter().map(|values| self.point(values)).collect()
    }

    fn point(&self, values: &[(&Sweep, &toml::Value)]) -> Result<Point, InputError> {
        let swept = values.iter().map(|(sweep, value)| Override {
            key: sweep.key.clone(),
            value: value.to_string(),
        });
        let all: Vec<Override> = self.settings.iter().cloned().chain(swept).collect();
        let (of_fleet, of_machines): (Vec<_>, Vec<_>) = all.into_iter().partition(|o| o.key.starts_with("fleet."));
        let text = input::apply_overrides(&self.file, &self.text, &of_fleet)?;
        // The file itself was right, so a line of it would mislead.
        let File { fleet: setup, .. } = input::parse(&self.file, &text).map_err(|error| InputError {
            file: "--set or a sweep".into(),
            line: None,
            ..error
        })?;
        let of_machines: Vec<Override> = of_machines
            .into_iter()
            .map(|o| Override {
                key: o.key.trim_start_matches("machine.").into(),
                ..o
            })
            .collect();
        let open = |name: &String| match self.folder.as_ref().filter(|_| is_path(name)) {
            Some(folder) => lop_machine::load(&folder.join(name).display().to_string(), &of_machines),
            None => lop_machine::load(name, &of_machines),
        };
        let machines = setup.machine.iter().map(open).collect::<Result<Vec<Machine>, _>>()?;
        let fleet = Fleet::new(setup, &machines);
        Ok(Point {
            labels: values
                .iter()
                .map(|(sweep, value)| (sweep.point.clone(), label(value)))
                .collect(),
            fleet: fleet.map_err(|message| InputError::new(&self.file, message).key("fleet"))?,
        })
    }

    /// Runs every policy at every point with every seed.
    ///
    /// # Errors
    /// A machine that cannot be opened, figures out of range, or the run was cancelled.
    pub fn run(&self, control: &RunControl) -> Result<Results, ExperimentError> {
        let points = self.points()?;
        let runs = self.runs as usize;
        let done = AtomicUsize::new(0);
        let one = |index: usize| {
            if control.cancelled.load(Ordering::Relaxed) {
                return Err(ExperimentError::Cancelled);
            }
            let (cell, seed) = (index / runs, self.seed + (index % runs) as u64);
            let (point, policy) = (
                &points[cell / self.policies.len()],
                self.policies[cell % self.policies.len()],
            );
            let outcome = point.fleet.simulate(policy, seed);
            (control.progress)(done.fetch_add(1, Ordering::Relaxed) + 1);
            Ok(outcome)
        };
        let all = 0..self.nr_simulations();
        let outcomes: Vec<_> = pool(control)?.install(|| all.into_par_iter().map(one).collect());
        let outcomes = outcomes.into_iter().collect::<Result<Vec<Outcome>, _>>()?;
        let result = |(cell, outcomes): (usize, &[Outcome])| {
            PolicyResult::of(
                self.policies[cell % self.policies.len()],
                &points[cell / self.policies.len()],
                outcomes,
            )
        };
        Ok(Results {
            machines: names(&points),
            results: outcomes.chunks(runs).enumerate().map(result).collect(),
        })
    }
}

fn label(value: &toml::Value) -> PointValue {
    match value {
        toml::Value::Integer(number) => PointValue::Number(*number as f64),
        toml::Value::Float(number) => PointValue::Number(*number),
        toml::Value::String(text) => PointValue::Text(text.clone()),
        toml::Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(|value| label(value).to_string()).collect();
            PointValue::Text(texts.join(", "))
        }
        other => PointValue::Text(other.to_string()),
    }
}

fn names(points: &[Point]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for model in points.iter().flat_map(|point| &point.fleet.models) {
        if !names.contains(&model.title) {
            names.push(model.title.clone());
        }
    }
    names
}

impl PolicyResult {
    /// `runs` is not empty.
    fn of(policy: Policy, point: &Point, runs: &[Outcome]) -> Self {
        let measures: Vec<Measures> = runs.iter().map(measures).collect();
        let bounds: Vec<Bounds> = runs.iter().map(|run| run.bounds).collect();
        // Counters are finite numbers, which JSON can always represent.
        let counters = runs
            .iter()
            .map(|run| serde_json::to_value(&run.counters).unwrap_or_default());
        Self {
            policy,
            donor: point.fleet.models.iter().find_map(|model| model.donor.clone()),
            point: point.labels.clone(),
            mean: Measures::mean(&measures),
            ci95: Half::of(&measures),
            bounds: mean_bounds(&bounds),
            counters: merge_counters(counters.collect()),
        }
    }
}

fn measures(outcome: &Outcome) -> Measures {
    Measures {
        time_s: outcome.mean_response_s,
        cpu_energy_j: outcome.cpu_energy_j,
        system_energy_j: outcome.energy_j,
        system_power_w: outcome.energy_j / outcome.counters.end_s,
        edp_js: outcome.energy_j * outcome.mean_response_s,
    }
}

#[cfg(test)]
mod tests;
