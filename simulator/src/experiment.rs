// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: one machine, one workload, some policies, and sweeps. They are read from TOML or built in code, and run on all host cores. The result
//! is the same to the byte for any number of them.

mod builtin;
mod classes;
mod judge;
mod merge;
mod placements;
mod plan;
mod read;
mod resolve;
mod run;
mod setting;
pub mod suggest;
mod vary;

pub use builtin::{builtin_names, builtin_text, load_builtin, open, open_builtin, Any};
pub use classes::{Class, ClassName};
pub use judge::{Cell, NEARLY_AS_FAST, NEARLY_LOWEST_EDP};
pub(crate) use merge::{mean_bounds, merge_counters};
pub use merge::{Half, Measures, RelativeRange};
pub use read::read;
pub use resolve::{open_machine, open_workload};
pub(crate) use run::pool;
pub use run::{record, run, ExperimentError, PolicyResult, Recorded, RunControl, Study};
pub use setting::{Origin, PolicyKey, Setting, SettingKey};
pub use vary::{Variation, Verdict, CHANGED};

use crate::{Placing, PolicyChoice};
use lop_machine::InputError;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Largest number of runs of a policy at a point.
pub const MAX_RUNS: u32 = 10_000;
/// Where an experiment does not say how many runs: the fewest with an interval that means something.
pub const DEFAULT_RUNS: u32 = 3;
/// Largest number of sweep points of an experiment.
pub const MAX_POINTS: usize = 100_000;

/// What to run. Checked as far as possible without opening machine and workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub id: String,
    pub title: String,
    pub description: String,
    pub machine: Reference,
    pub workload: Reference,
    /// Not empty, each named once; results are relative to the first.
    pub policies: Vec<PolicyChoice>,
    /// Seed of the first run; the runs after it count up from there.
    pub seed: u64,
    /// Runs of each policy at each point, 1..=[`MAX_RUNS`].
    pub runs: u32,
    /// Instead of drawing placements for `random`, counts them all; equivalent ones are simulated once.
    pub every_placement: bool,
    /// The policy that is compared with all others at each point. Results then keep no counters.
    pub judged: Option<PolicyChoice>,
    /// The sweep whose first value is taken for true: what its other values change is told for each cell of the other sweeps. Results then keep no
    /// counters.
    pub varied: Option<String>,
    /// Points to leave out. Each entry has labels by sweep name, and a point that has all of them is left out.
    pub left_out: Vec<BTreeMap<String, Vec<String>>>,
    /// Applied to every point, in this order.
    pub settings: Vec<Setting>,
    /// Their Cartesian product is run, the first sweep outermost.
    pub sweeps: Vec<Sweep>,
    /// Applied after sweeps.
    pub last: Vec<Setting>,
    /// The sweep whose three values are all, half and none of the cores fast. The times there give the class of each application.
    pub classes: Option<String>,
    /// What is assumed and decides results, each with the range in which it might lie. [`run`] takes the values of `settings` and `sweeps`.
    pub assumed: Vec<Assumption>,
}

/// Settings that no source gives: both ends of their range.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumption {
    /// With the ends, as text for people.
    pub what: String,
    /// Where the range comes from.
    pub source: String,
    /// The low and the high end, neither empty.
    pub ends: [Vec<Setting>; 2],
}

/// A machine or workload by name or path, and where it was named.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// As the user wrote it, which results show.
    pub name: String,
    /// What to open: the name, or the path relative to the working directory.
    pub target: String,
    pub origin: Origin,
}

impl Reference {
    /// A name or path from the command line; `origin` is the option.
    pub fn given(name: impl Into<String>, origin: &str) -> Self {
        let name = name.into();
        Self {
            target: name.clone(),
            name,
            origin: Origin::option(origin),
        }
    }

    /// A name or path in a file. Relative paths start at that file's folder.
    fn in_file(name: &str, folder: Option<&Path>, origin: Origin) -> Self {
        let target = match folder {
            Some(folder) if is_path(name) => folder.join(name).display().to_string(),
            _ => name.to_string(),
        };
        Self {
            name: name.to_string(),
            target,
            origin,
        }
    }
}

/// Whether this names a file, not a built-in machine, workload or experiment.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml") || name.ends_with(".json") || name.ends_with(".trace")
}

/// One dimension of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Its name in results (`jobs`, `machine`, `placement`).
    pub point: String,
    pub axis: Axis,
    pub values: Vec<SweepValue>,
    pub origin: Origin,
}

/// What a sweep changes.
#[derive(Debug, Clone, PartialEq)]
pub enum Axis {
    Machine,
    Workload,
    Setting(SettingKey),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SweepValue {
    pub label: PointValue,
    pub change: Change,
    /// Further settings that belong to this value.
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Machine(Reference),
    Workload(Reference),
    Setting(Setting),
}

/// Position of a result on an axis. Numbers are finite.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum PointValue {
    Number(f64),
    Text(String),
}

impl std::fmt::Display for PointValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Experiment {
    /// Sweep points, at least 1.
    pub fn nr_points(&self) -> usize {
        self.sweeps.iter().map(|s| s.values.len()).product()
    }

    /// Policies that run once with each seed.
    fn drawn(&self) -> Vec<&PolicyChoice> {
        let counted =
            |policy: &&PolicyChoice| self.every_placement && **policy == PolicyChoice::Placed(Placing::Random);
        self.policies.iter().filter(|policy| !counted(policy)).collect()
    }

    /// Upper bound on the number of simulations of [`run`]. If placements are counted, there may be more of them than seeds.
    pub fn nr_simulations(&self) -> usize {
        self.nr_points() * self.runs as usize * self.policies.len()
    }

    /// Adds a setting that applies after all others.
    ///
    /// # Errors
    /// A sweep changes the same key and would override the setting.
    pub fn add_setting(&mut self, setting: Setting) -> Result<(), InputError> {
        let axis = Axis::Setting(setting.key.clone());
        if let Some(sweep) = self.sweeps.iter().find(|s| s.axis == axis) {
            return Err(setting.origin.error(swept(&self.id, sweep)));
        }
        self.settings.push(setting);
        Ok(())
    }

    /// This experiment with settings that apply after all others, those of sweeps too.
    #[must_use]
    pub fn at_end(&self, settings: &[Setting]) -> Self {
        Self {
            last: settings.to_vec(),
            ..self.clone()
        }
    }

    /// Leaves out other policies than these, and values of sweeps that are not needed, but for the one of `classes`. What stays has the results that it had.
    pub fn keep(&mut self, policies: &[&str], is_needed: impl Fn(&str, &PointValue) -> bool) {
        self.policies
            .retain(|policy| policies.contains(&policy.to_string().as_str()));
        let classes = self.classes.as_deref();
        for sweep in self.sweeps.iter_mut().filter(|sweep| Some(&*sweep.point) != classes) {
            sweep.values.retain(|value| is_needed(&sweep.point, &value.label));
        }
    }

    /// Replaces the machine, and clears what the study's file says about its own.
    ///
    /// # Errors
    /// The machine is swept.
    pub fn set_machine(&mut self, machine: Reference) -> Result<(), InputError> {
        if let Some(sweep) = self.sweeps.iter().find(|s| s.axis == Axis::Machine) {
            return Err(machine.origin.error(swept(&self.id, sweep)));
        }
        self.clear_words_unless(machine.target == self.machine.target);
        self.machine = machine;
        Ok(())
    }

    /// Replaces the workload, and clears what the study's file says about its own.
    ///
    /// # Errors
    /// The workload is swept.
    pub fn set_workload(&mut self, workload: Reference) -> Result<(), InputError> {
        if let Some(sweep) = self.sweeps.iter().find(|s| s.axis == Axis::Workload) {
            return Err(workload.origin.error(swept(&self.id, sweep)));
        }
        self.clear_words_unless(workload.target == self.workload.target);
        self.workload = workload;
        Ok(())
    }

    fn clear_words_unless(&mut self, is_same: bool) {
        if !is_same {
            self.title.clear();
            self.description.clear();
        }
    }
}

fn swept(id: &str, sweep: &Sweep) -> String {
    format!(
        "experiment '{id}' sweeps this as '{}'; leave it out, or edit the sweep",
        sweep.point
    )
}

/// Policies from names; `all` stands for every known policy.
///
/// # Errors
/// A message: about the first name that is unknown (with the nearest known one) or given twice, or that there are no names.
pub fn policies<S: AsRef<str>>(names: &[S]) -> Result<Vec<PolicyChoice>, (usize, String)> {
    chosen(names, crate::choice::policy_names, |name| {
        name.parse().map_err(|message| unknown_policy(name, message))
    })
}

/// The same for any kind of policies. `all`: the names that `all` stands for.
pub(crate) fn chosen<S: AsRef<str>, P: PartialEq + fmt::Display>(
    names: &[S],
    all: impl Fn() -> Vec<&'static str>,
    parse: impl Fn(&str) -> Result<P, String>,
) -> Result<Vec<P>, (usize, String)> {
    let mut chosen: Vec<P> = Vec::new();
    for (index, name) in names.iter().map(AsRef::as_ref).enumerate() {
        let named: Vec<&str> = if name == "all" { all() } else { vec![name] };
        for name in named {
            let policy = parse(name).map_err(|message| (index, message))?;
            if chosen.contains(&policy) {
                return Err((index, format!("policy '{policy}' is named twice; once is enough")));
            }
            chosen.push(policy);
        }
    }
    if chosen.is_empty() {
        return Err((0, "expected at least one policy".to_string()));
    }
    Ok(chosen)
}

/// Every known policy, the baseline first.
pub fn all_policies() -> Vec<PolicyChoice> {
    crate::choice::policy_names()
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect()
}

fn unknown_policy(name: &str, message: String) -> String {
    if !message.starts_with("unknown policy") {
        return message;
    }
    match suggest::nearest(name, &crate::choice::policy_names()) {
        Some(near) => format!("{message}; did you mean '{near}'?"),
        None => message,
    }
}

/// The folder at which relative paths of an experiment file start.
fn folder_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stands_for_every_policy_with_the_baseline_first() {
        let all = policies(&["all"]).unwrap();
        assert_eq!(all.len(), crate::choice::policy_names().len());
        assert_eq!(all[0].to_string(), "linux");
    }

    #[test]
    fn policy_names_are_checked_with_their_place() {
        let (index, message) = policies(&["highlow", "hihglow-spare"]).unwrap_err();
        assert_eq!(index, 1);
        assert!(message.ends_with("did you mean 'highlow-spare'?"), "{message}");
        assert!(policies(&["linux:eas", "linux:eas"])
            .unwrap_err()
            .1
            .contains("named twice"));
        assert!(policies::<&str>(&[]).unwrap_err().1.contains("at least one"));
    }
}
