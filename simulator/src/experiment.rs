// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: one machine, one workload, some policies and what is swept; read from TOML or put together by hand, run on
//! all cores of the machine at hand with the same bytes as result whatever their number.

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

pub use builtin::{builtin_names, builtin_text, load, load_builtin};
pub use classes::{Class, ClassName};
pub use judge::{Cell, Price, NEARLY_AS_FAST, NEARLY_LOWEST_EDP};
pub use merge::{Half, Measures};
pub use read::read;
pub use resolve::{open_machine, open_workload};
pub use run::{record, run, ExperimentError, PolicyResult, Recorded, RunControl, Study};
pub use setting::{Origin, PolicyKey, Setting, SettingKey};

use crate::{Placing, PolicyChoice};
use lop_machine::InputError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most runs of one policy at one point.
pub const MAX_RUNS: u32 = 10_000;
/// Most sweep points of one experiment.
pub const MAX_POINTS: usize = 100_000;

/// What to run. Everything is checked as far as it can be without opening machine and workload.
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
    /// `random` is not drawn: each placement of the tasks counts, those that are alike once for all of them.
    pub every_placement: bool,
    /// One of the policies, which is judged beside all others at each point; results then keep no counters.
    pub judged: Option<PolicyChoice>,
    /// Points that are left out: those whose labels are all among these, by the names of sweeps.
    pub left_out: Vec<BTreeMap<String, Vec<String>>>,
    /// Applied to every point, in this order.
    pub settings: Vec<Setting>,
    /// Cartesian product, the first outermost.
    pub sweeps: Vec<Sweep>,
    /// The sweep whose three values are all cores fast, half of them, none: the class of each application follows from its times there.
    pub classes: Option<String>,
}

/// A machine or workload by name or path, and where that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// As the person wrote it; this is what results show.
    pub name: String,
    /// What to open: the name again, or the path seen from the working directory.
    pub target: String,
    pub origin: Origin,
}

impl Reference {
    /// A name or path given outside of any file, `origin` being the option that named it.
    pub fn given(name: impl Into<String>, origin: &str) -> Self {
        let name = name.into();
        Self {
            target: name.clone(),
            name,
            origin: Origin::option(origin),
        }
    }

    /// A name or path inside a file: relative paths count from the folder of that file.
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

/// Whether a machine, workload or experiment is meant as a path rather than as a built-in name.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml") || name.ends_with(".json") || name.ends_with(".trace")
}

/// One dimension of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// What results call it (`jobs`, `machine`, `placement`).
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

/// Where on an axis a result lies. Numbers are finite.
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

    /// Those that run once with each seed.
    fn drawn(&self) -> Vec<&PolicyChoice> {
        let counted =
            |policy: &&PolicyChoice| self.every_placement && **policy == PolicyChoice::Placed(Placing::Random);
        self.policies.iter().filter(|policy| !counted(policy)).collect()
    }

    /// Simulations that [`run`] does, at most; where placements are counted, there may be more of them than seeds.
    pub fn nr_simulations(&self) -> usize {
        self.nr_points() * self.runs as usize * self.policies.len()
    }

    /// Adds a setting after all others.
    ///
    /// # Errors
    /// A sweep changes the same key, so that the setting would be lost.
    pub fn add_setting(&mut self, setting: Setting) -> Result<(), InputError> {
        let axis = Axis::Setting(setting.key.clone());
        if let Some(sweep) = self.sweeps.iter().find(|s| s.axis == axis) {
            return Err(setting.origin.error(swept(&self.id, sweep)));
        }
        self.settings.push(setting);
        Ok(())
    }

    /// Takes another machine than the file's.
    ///
    /// # Errors
    /// The machine is swept.
    pub fn set_machine(&mut self, machine: Reference) -> Result<(), InputError> {
        if let Some(sweep) = self.sweeps.iter().find(|s| s.axis == Axis::Machine) {
            return Err(machine.origin.error(swept(&self.id, sweep)));
        }
        self.machine = machine;
        Ok(())
    }

    /// Takes another workload than the file's.
    ///
    /// # Errors
    /// The workload is swept.
    pub fn set_workload(&mut self, workload: Reference) -> Result<(), InputError> {
        if let Some(sweep) = self.sweeps.iter().find(|s| s.axis == Axis::Workload) {
            return Err(workload.origin.error(swept(&self.id, sweep)));
        }
        self.workload = workload;
        Ok(())
    }
}

fn swept(id: &str, sweep: &Sweep) -> String {
    format!(
        "experiment '{id}' sweeps this as '{}'; leave it out, or edit the sweep",
        sweep.point
    )
}

/// Policies from names; `all` stands for every known one.
///
/// # Errors
/// The message for the first name that is unknown (with the nearest known one) or given twice, or that there is none.
pub fn policies<S: AsRef<str>>(names: &[S]) -> Result<Vec<PolicyChoice>, (usize, String)> {
    let mut chosen: Vec<PolicyChoice> = Vec::new();
    for (index, name) in names.iter().map(AsRef::as_ref).enumerate() {
        let named: Vec<&str> = if name == "all" {
            crate::choice::policy_names()
        } else {
            vec![name]
        };
        for name in named {
            let policy: PolicyChoice = name.parse().map_err(|message| (index, unknown_policy(name, message)))?;
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

/// Folder that relative paths of an experiment file count from.
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
        assert_eq!(all[0].to_string(), "linux:performance");
    }

    #[test]
    fn policy_names_are_checked_with_their_place() {
        let (index, message) = policies(&["highlow", "hihglow-spare"]).unwrap_err();
        assert_eq!(index, 1);
        assert!(message.ends_with("did you mean 'highlow-spare'?"), "{message}");
        assert!(policies(&["linux", "linux:schedutil"])
            .unwrap_err()
            .1
            .contains("named twice"));
        assert!(policies::<&str>(&[]).unwrap_err().1.contains("at least one"));
    }
}
