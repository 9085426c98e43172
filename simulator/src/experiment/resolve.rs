// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens the machine and the workload of a sweep point. Errors name their cause: the reference to nothing, the setting of a key that does not exist.

use super::{is_path, suggest, Reference, Setting, SettingKey};
use crate::workload::{self, Spec};
use lop_machine::{input::Override, InputError, Machine};
use std::sync::Arc;

/// A machine by name or path with settings applied, the same way as in experiments.
///
/// # Errors
/// Unknown name (the message has the nearest one), unreadable or invalid file, settings that the machine does not accept or that are not about a
/// machine.
pub fn open_machine(reference: &Reference, settings: &[Setting]) -> Result<Arc<Machine>, InputError> {
    check_all(settings, "machine", |key| matches!(key, SettingKey::Machine(_)))?;
    Opened::default().machine(reference, &settings.iter().collect::<Vec<_>>())
}

/// A workload by name or path with settings applied, the same way as in experiments.
///
/// # Errors
/// As [`open_machine`].
pub fn open_workload(reference: &Reference, settings: &[Setting]) -> Result<Arc<Spec>, InputError> {
    check_all(settings, "workload", |key| matches!(key, SettingKey::Workload(_)))?;
    Opened::default().workload(reference, &settings.iter().collect::<Vec<_>>())
}

fn check_all(settings: &[Setting], what: &str, is_about: fn(&SettingKey) -> bool) -> Result<(), InputError> {
    match settings.iter().find(|setting| !is_about(&setting.key)) {
        Some(other) => Err(other.origin.error(format!("expected a key of the {what} ({what}.KEY)"))),
        None => Ok(()),
    }
}

/// What was opened so far: sweep points share equal machines and workloads.
#[derive(Default)]
pub(super) struct Opened {
    machines: Vec<(Key, Arc<Machine>)>,
    workloads: Vec<(Key, Arc<Spec>)>,
}

#[derive(PartialEq)]
struct Key {
    target: String,
    overrides: Vec<Override>,
}

impl Opened {
    pub(super) fn machine(&mut self, reference: &Reference, settings: &[&Setting]) -> Result<Arc<Machine>, InputError> {
        if reference.target != lop_machine::THIS {
            check_name(reference, "machine", &lop_machine::builtin_names())?;
        }
        open(
            &mut self.machines,
            reference,
            settings,
            Setting::machine_override,
            lop_machine::load,
        )
    }

    pub(super) fn workload(&mut self, reference: &Reference, settings: &[&Setting]) -> Result<Arc<Spec>, InputError> {
        check_name(reference, "workload", &workload::builtin_names())?;
        open(
            &mut self.workloads,
            reference,
            settings,
            Setting::workload_override,
            workload::load,
        )
    }
}

fn check_name(reference: &Reference, what: &str, known: &[&str]) -> Result<(), InputError> {
    if is_path(&reference.target) || known.contains(&reference.target.as_str()) {
        return Ok(());
    }
    Err(reference
        .origin
        .error(suggest::unknown_or_path(what, &reference.target, known)))
}

type Load<T> = fn(&str, &[Override]) -> Result<T, InputError>;

fn open<T>(
    opened: &mut Vec<(Key, Arc<T>)>,
    reference: &Reference,
    settings: &[&Setting],
    to_override: fn(&Setting) -> Option<Override>,
    load: Load<T>,
) -> Result<Arc<T>, InputError> {
    let (relevant, overrides): (Vec<&Setting>, Vec<Override>) = settings
        .iter()
        .filter_map(|setting| Some((*setting, to_override(setting)?)))
        .unzip();
    let key = Key {
        target: reference.target.clone(),
        overrides,
    };
    if let Some((_, known)) = opened.iter().find(|(other, _)| *other == key) {
        return Ok(known.clone());
    }
    let value = load(&key.target, &key.overrides).map_err(|error| blame(&key, &relevant, load, error))?;
    let value = Arc::new(value);
    opened.push((key, value.clone()));
    Ok(value)
}

/// Line numbers of a text that settings changed mean nothing to its author. So the error names the first setting such that the text is valid with the
/// settings before it only.
fn blame<T>(key: &Key, settings: &[&Setting], load: Load<T>, error: InputError) -> InputError {
    for count in 0..=settings.len() {
        let Err(error) = load(&key.target, &key.overrides[..count]) else {
            continue;
        };
        return match count {
            0 => error,
            _ => settings[count - 1]
                .origin
                .error(format!("'{}': {}", settings[count - 1].value, error.message)),
        };
    }
    error
}
