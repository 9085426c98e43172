// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steers interrupts to one CPU, as far as the machine allows, and back.

use super::files::{number_after, Files};
use super::journal::{Entry, Journal};
use super::restore::put_back;
use super::{SpeedError, Speeds};
use std::collections::BTreeMap;

const FOLDER: &str = "proc/irq";
const FILE: &str = "smp_affinity_list";

/// How many interrupts go where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Steered {
    /// To the requested CPU.
    pub there: usize,
    /// To where they went before: the machine binds them, or does not tell.
    pub elsewhere: usize,
}

/// Whether this is the file with an interrupt's CPUs.
pub(super) fn is_interrupt(path: &str) -> bool {
    let parts = path.strip_prefix(FOLDER).and_then(|inside| inside.strip_prefix('/'));
    matches!(parts.and_then(|inside| inside.split_once('/')), Some((number, FILE)) if number_after(number, "").is_some())
}

fn interrupts(files: &dyn Files) -> Vec<String> {
    let names = files.list(FOLDER).unwrap_or_default();
    let numbers = names.into_iter().filter(|name| number_after(name, "").is_some());
    numbers.map(|number| format!("{FOLDER}/{number}/{FILE}")).collect()
}

impl Speeds {
    /// Sends every interrupt to `cpu` that can be sent there. Interrupts that are set up later go where the kernel sends them.
    ///
    /// # Errors
    /// The journal cannot be written; then nothing was changed.
    pub fn steer_interrupts(&mut self, cpu: usize) -> Result<Steered, SpeedError> {
        let value = cpu.to_string();
        let mut steered = Steered::default();
        let mut entries = Vec::new();
        for path in interrupts(self.files.as_ref()) {
            match self.read(&path) {
                Ok(current) if current.trim() == value => steered.there += 1,
                Ok(current) => entries.push(self.entry_of_interrupt(path, current, &value)),
                Err(_) => steered.elsewhere += 1,
            }
        }
        self.note(entries.clone())?;
        for entry in entries {
            match self.files.write(&entry.path, &format!("{value}\n")) {
                Ok(()) => steered.there += 1,
                Err(_) => steered.elsewhere += 1,
            }
        }
        Ok(steered)
    }

    fn entry_of_interrupt(&self, path: String, current: String, value: &str) -> Entry {
        let known = self.journal.entries.get(&path).cloned();
        let mut entry = known.unwrap_or_else(|| Entry {
            path,
            original: current,
            written: Vec::new(),
        });
        entry.remember(value);
        entry
    }

    /// Sends interrupts where they went before. Returns an error for each that could not be restored, as [`Speeds::restore`] does.
    pub fn release_interrupts(&mut self) -> Vec<SpeedError> {
        let entries = std::mem::take(&mut self.journal.entries);
        let (of_interrupts, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            entries.into_iter().partition(|(path, _)| is_interrupt(path));
        let mut part = Journal {
            boot_id: self.journal.boot_id.clone(),
            entries: of_interrupts,
        };
        let mut errors = put_back(self.files.as_ref(), &mut part).into_errors();
        self.journal.entries = others;
        self.journal.entries.extend(part.entries);
        errors.extend(self.journal.save(&self.journal_path).err());
        errors
    }
}
