// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments that ship with the program.

use super::{folder_of, is_path, read, suggest, Experiment, Origin};
use crate::fleet;
use lop_machine::{input, InputError};
use std::path::Path;

const BUILTIN: [(&str, &str); 33] = [
    (
        "recorded-build",
        include_str!("../../../data/experiments/recorded-build.toml"),
    ),
    (
        "compile-governors",
        include_str!("../../../data/experiments/compile-governors.toml"),
    ),
    (
        "compile-transfer",
        include_str!("../../../data/experiments/compile-transfer.toml"),
    ),
    (
        "compile-parallelism",
        include_str!("../../../data/experiments/compile-parallelism.toml"),
    ),
    (
        "support-by-application",
        include_str!("../../../data/experiments/support-by-application.toml"),
    ),
    (
        "matmul-power",
        include_str!("../../../data/experiments/matmul-power.toml"),
    ),
    (
        "parallel-for",
        include_str!("../../../data/experiments/parallel-for.toml"),
    ),
    (
        "critical-sections",
        include_str!("../../../data/experiments/critical-sections.toml"),
    ),
    ("barriers", include_str!("../../../data/experiments/barriers.toml")),
    (
        "sections-and-barriers",
        include_str!("../../../data/experiments/sections-and-barriers.toml"),
    ),
    (
        "sequential-phases",
        include_str!("../../../data/experiments/sequential-phases.toml"),
    ),
    (
        "one-and-many",
        include_str!("../../../data/experiments/one-and-many.toml"),
    ),
    ("fast-core", include_str!("../../../data/experiments/fast-core.toml")),
    (
        "longest-job",
        include_str!("../../../data/experiments/longest-job.toml"),
    ),
    (
        "registration",
        include_str!("../../../data/experiments/registration.toml"),
    ),
    (
        "parsec-classes",
        include_str!("../../../data/experiments/parsec-classes.toml"),
    ),
    (
        "parsec-programs",
        include_str!("../../../data/experiments/parsec-programs.toml"),
    ),
    (
        "memory-domains",
        include_str!("../../../data/experiments/memory-domains.toml"),
    ),
    ("pairings", include_str!("../../../data/experiments/pairings.toml")),
    (
        "power-domains",
        include_str!("../../../data/experiments/power-domains.toml"),
    ),
    ("fleet", include_str!("../../../data/experiments/fleet.toml")),
    (
        "reserved-core",
        include_str!("../../../data/experiments/reserved-core.toml"),
    ),
    (
        "hybrid-laptop",
        include_str!("../../../data/experiments/hybrid-laptop.toml"),
    ),
    (
        "idle-screen",
        include_str!("../../../data/experiments/idle-screen.toml"),
    ),
    ("warm-cores", include_str!("../../../data/experiments/warm-cores.toml")),
    ("heat", include_str!("../../../data/experiments/heat.toml")),
    (
        "described-applications",
        include_str!("../../../data/experiments/described-applications.toml"),
    ),
    ("as-shipped", include_str!("../../../data/experiments/as-shipped.toml")),
    ("everything", include_str!("../../../data/experiments/everything.toml")),
    ("rules", include_str!("../../../data/experiments/rules.toml")),
    (
        "unknown-watts",
        include_str!("../../../data/experiments/unknown-watts.toml"),
    ),
    (
        "assumed-laptop",
        include_str!("../../../data/experiments/assumed-laptop.toml"),
    ),
    (
        "assumed-shipped",
        include_str!("../../../data/experiments/assumed-shipped.toml"),
    ),
];

/// Ids, in the order of the study.
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

pub fn builtin_text(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// An experiment on one machine, or on a fleet of machines: its file has a table `[fleet]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Any {
    Machine(Box<Experiment>),
    Fleet(Box<fleet::Experiment>),
}

impl Any {
    fn read(file: &str, text: &str, folder: Option<&Path>) -> Result<Self, InputError> {
        match fleet::Experiment::is_one(text) {
            true => fleet::Experiment::read(file, text, folder).map(|fleet| Self::Fleet(Box::new(fleet))),
            false => read(file, text, folder).map(|experiment| Self::Machine(Box::new(experiment))),
        }
    }

    fn of_machine(self) -> Result<Experiment, InputError> {
        match self {
            Self::Machine(experiment) => Ok(*experiment),
            Self::Fleet(fleet) => {
                let message = "is about a fleet, expected an experiment on one machine";
                Err(Origin::option(&fleet.id).error(message))
            }
        }
    }
}

/// A built-in experiment by its id.
///
/// # Errors
/// No such id. The message names the nearest one and all known ones.
pub fn open_builtin(id: &str) -> Result<Any, InputError> {
    match builtin_text(id) {
        Some(text) => Any::read(&format!("{id}.toml"), text, None),
        None => Err(Origin::option("experiment").error(suggest::unknown("experiment", id, &builtin_names()))),
    }
}

/// A built-in id, or a path when it has a slash or ends in `.toml`.
///
/// # Errors
/// Unknown id, unreadable file, or an error of [`read`].
pub fn open(name_or_path: &str) -> Result<Any, InputError> {
    if !is_path(name_or_path) {
        return match builtin_text(name_or_path) {
            Some(_) => open_builtin(name_or_path),
            None => Err(Origin::option("experiment").error(suggest::unknown_or_path(
                "experiment",
                name_or_path,
                &builtin_names(),
            ))),
        };
    }
    let path = Path::new(name_or_path);
    Any::read(name_or_path, &input::read_text(path)?, Some(&folder_of(path)))
}

/// As [`open_builtin`], on one machine.
///
/// # Errors
/// As there, or the experiment is about a fleet.
pub fn load_builtin(id: &str) -> Result<Experiment, InputError> {
    open_builtin(id)?.of_machine()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_under_its_id() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/experiments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry
                    .unwrap()
                    .file_name()
                    .into_string()
                    .unwrap()
                    .strip_suffix(".toml")
                    .map(String::from)
            })
            .collect();
        files.sort();
        let mut names = builtin_names();
        names.sort_unstable();
        assert_eq!(files, names);
        for name in names {
            let id = match open_builtin(name).unwrap() {
                Any::Machine(experiment) => experiment.id,
                Any::Fleet(experiment) => experiment.id,
            };
            assert_eq!(id, name);
        }
    }

    /// What a study shows, what is assumed in it and where the model ends, in the order of the list.
    #[test]
    fn every_experiment_is_told_in_the_documents() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/experiments.md");
        let text = std::fs::read_to_string(file).unwrap();
        let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
        for name in builtin_names() {
            let section = sections.iter().find(|section| section.lines().next() == Some(name));
            let section = section.unwrap_or_else(|| panic!("no section {name}"));
            for part in [
                &format!("\n    lop reproduce {name}\n"),
                "Assumed: ",
                "Where the model ends:",
            ] {
                assert!(section.contains(part), "{name}: no '{part}'");
            }
        }
        assert_eq!(sections.len(), builtin_names().len());
    }

    #[test]
    fn unknown_ids_suggest_the_nearest() {
        let error = load_builtin("compile-governor").unwrap_err().to_string();
        assert!(error.contains("did you mean 'compile-governors'?"), "{error}");
    }
}
