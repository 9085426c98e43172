// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a workload by name, file or text into a [`Spec`], which builds the workload for a seed.

use super::draft::{Draft, Pin, Source};
use super::expand::expand;
use super::model::Workload;
use super::pools::Plan;
use super::{builtin, check, compile, rtapp, schema};
use lop_machine::input::{self, Override};
use lop_machine::InputError;
use std::path::Path;

/// A workload that was read and checked. The draws of its pools need a seed.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: String,
    pub description: String,
    /// Notes on what is simulated only roughly or looks unusual, to be shown once.
    pub notes: Vec<String>,
    workload: Workload,
    plans: Vec<Plan>,
    pins: Vec<Pin>,
}

impl Spec {
    /// The workload for a seed. The same seed gives the same workload on any machine. Only drawn pools depend on it here; the engine draws the amounts in
    /// steps.
    pub fn build(&self, seed: u64) -> Workload {
        let mut workload = self.workload.clone();
        for (index, plan) in self.plans.iter().enumerate() {
            expand(&mut workload, index, plan, seed);
        }
        workload
    }

    /// Checks that a machine with `nr_cpus` CPUs (numbered from 0) has every CPU that a task is pinned to.
    ///
    /// # Errors
    /// The first place that names a CPU beyond them.
    pub fn check_cpus(&self, machine: &str, nr_cpus: usize) -> Result<(), InputError> {
        match self.pins.iter().find(|pin| usize::from(pin.cpu) >= nr_cpus) {
            None => Ok(()),
            Some(pin) => Err(InputError {
                message: format!(
                    "CPU {}, but machine '{machine}' has CPUs 0 to {}; expected only those",
                    pin.cpu,
                    nr_cpus - 1
                ),
                ..pin.missing.clone()
            }),
        }
    }

    /// Checks a draft as a whole.
    pub(super) fn from_draft(mut draft: Draft, source: &Source) -> Result<Self, InputError> {
        check::check(&mut draft, source)?;
        Ok(Self {
            name: draft.workload.name.clone(),
            description: draft.workload.description.clone(),
            notes: draft.notes,
            workload: draft.workload,
            plans: draft.plans,
            pins: draft.pins,
        })
    }
}

/// Reads a workload in the TOML schema. `file` is used in errors, and its stem as the name where the text gives none.
///
/// # Errors
/// The first error in the text, with line, key and what was expected.
pub fn read(file: &str, text: &str) -> Result<Spec, InputError> {
    let raw: schema::File = input::parse(file, text)?;
    let source = Source::toml(file, text);
    let draft = compile::compile(&raw, source, stem(file))?;
    Spec::from_draft(draft, &source)
}

/// Whether [`load`] takes this for a recording of `lop record`, by its extension or its first bytes.
#[must_use]
pub fn is_recording(name_or_path: &str) -> bool {
    let path = Path::new(name_or_path);
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension {
        "toml" | "json" => false,
        _ => builtin::builtin_text(name_or_path).is_none() && (extension == "trace" || lop_trace::is_trace(path)),
    }
}

/// A built-in workload by name, or a file by path: `.toml` in the schema of this module, `.json` in rt-app's, or a recording of
/// `lop record` ([`is_recording`]).
///
/// # Errors
/// An unknown name, an unreadable file, an error in it, or overrides of an rt-app file.
pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Spec, InputError> {
    let path = Path::new(name_or_path);
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match (builtin::builtin_text(name_or_path), extension) {
        (Some(text), _) => {
            let file = format!("{name_or_path}.toml");
            read(&file, &input::apply_overrides(&file, text, overrides)?)
        }
        (None, "toml") => {
            let text = input::read_text(path)?;
            read(name_or_path, &input::apply_overrides(name_or_path, &text, overrides)?)
        }
        (None, "json") => {
            let text = input::read_text(path)?;
            match overrides.first() {
                None => rtapp::read(name_or_path, &text),
                Some(change) => Err(InputError::new(
                    name_or_path,
                    "keys of an rt-app file cannot be set; edit the file",
                )
                .key(&change.key)),
            }
        }
        _ if is_recording(name_or_path) => {
            let (text, _) = lop_trace::to_workload(name_or_path, &lop_trace::load(path)?, stem(name_or_path))?;
            read(name_or_path, &input::apply_overrides(name_or_path, &text, overrides)?)
        }
        _ => Err(InputError::new(
            name_or_path,
            format!(
                "no such workload; expected a path to a .toml, .json (rt-app) or .trace ('lop record') file, or one of {}",
                builtin::builtin_names().join(", ")
            ),
        )),
    }
}

/// Name of a file without directory and extension.
pub(super) fn stem(file: &str) -> &str {
    Path::new(file)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(file)
}
