// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload between file and engine: names are resolved to indices, and places in the file are kept for errors.

use super::model::*;
use super::pools::Plan;
use lop_machine::{input, InputError};
use std::collections::{BTreeMap, HashMap};

/// Largest number of tasks of a workload, and of items of a pool.
pub(super) const MAX_TASKS: u64 = 1_000_000;

/// Deepest nesting of `repeat`.
pub(super) const MAX_NESTING: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Toml,
    Json,
}

/// The text being read, for errors that name a place in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub form: Form,
}

impl<'a> Source<'a> {
    pub fn toml(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            form: Form::Toml,
        }
    }

    /// An error at byte `offset`. `key` is used if the text has no key there.
    pub fn error(&self, offset: usize, key: &str, message: impl Into<String>) -> InputError {
        match self.form {
            Form::Toml => {
                let error = input::error_at(self.file, self.text, offset..offset, message);
                match error.key {
                    Some(_) => error,
                    None => error.key(key),
                }
            }
            Form::Json => {
                let line = InputError::line_of(self.text, offset);
                InputError::new(self.file, message).at_line(line).key(key)
            }
        }
    }

    /// An error about the file as a whole.
    pub fn error_in_file(&self, message: impl Into<String>) -> InputError {
        InputError::new(self.file, message)
    }
}

/// A place in the text: byte offset and dotted key.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub offset: usize,
    pub key: String,
}

/// What a reader passes to the checks. `workload.pools` has the items of explicit pools only.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub workload: Workload,
    pub plans: Vec<Plan>,
    pub notes: Vec<String>,
    pub program_places: Vec<Place>,
    /// Byte offsets of the steps of each program, as long as its steps.
    pub step_offsets: Vec<Vec<usize>>,
    /// Keys of steps if the text does not give them (JSON); otherwise empty.
    pub step_keys: Vec<Vec<String>>,
    pub barrier_places: Vec<Place>,
    pub loop_places: Vec<Place>,
    pub pool_places: Vec<Place>,
    pub pins: Vec<Pin>,
}

/// The highest CPU that a task is pinned to, with the error for machines that do not have it.
#[derive(Debug, Clone)]
pub(super) struct Pin {
    pub cpu: u16,
    pub missing: InputError,
}

impl Draft {
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            workload: Workload {
                name: name.to_string(),
                description: description.to_string(),
                duration_ns: None,
                memory_shares: Vec::new(),
                memory_uses: BTreeMap::new(),
                apps: Vec::new(),
                programs: Vec::new(),
                starts: Vec::new(),
                pools: Vec::new(),
                barriers: Vec::new(),
                mutexes: Vec::new(),
                conditions: Vec::new(),
                loops: Vec::new(),
            },
            plans: Vec::new(),
            notes: Vec::new(),
            program_places: Vec::new(),
            step_offsets: Vec::new(),
            step_keys: Vec::new(),
            barrier_places: Vec::new(),
            loop_places: Vec::new(),
            pool_places: Vec::new(),
            pins: Vec::new(),
        }
    }

    /// An error about one step of a program.
    pub fn step_error(&self, source: &Source, program: usize, step: usize, message: impl Into<String>) -> InputError {
        let place = &self.program_places[program];
        let offset = self.step_offsets[program].get(step).copied().unwrap_or(place.offset);
        let key = self
            .step_keys
            .get(program)
            .and_then(|keys| keys.get(step))
            .unwrap_or(&place.key);
        source.error(offset, key, message)
    }
}

/// What distinguishes classes of work.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ClassKey {
    /// Bits of a memory share.
    Share(u64),
    /// Name of a memory use.
    Use(String),
}

/// Distinct memory shares and uses, by index.
#[derive(Debug, Default)]
pub(super) struct Classes {
    index: HashMap<ClassKey, u16>,
    pub shares: Vec<f64>,
    pub uses: BTreeMap<u16, MemoryUse>,
}

impl Classes {
    /// Index of `share`; `None`: there are more classes than indices.
    pub fn intern(&mut self, share: f64) -> Option<u16> {
        self.class(ClassKey::Share(share.to_bits()), share)
    }

    /// Index of a memory use. Their names are distinct.
    pub fn intern_use(&mut self, memory_use: &MemoryUse) -> Option<u16> {
        let key = ClassKey::Use(memory_use.name.clone());
        let class = self.class(key, super::memory::reference_share(memory_use))?;
        self.uses.entry(class).or_insert_with(|| memory_use.clone());
        Some(class)
    }

    fn class(&mut self, key: ClassKey, share: f64) -> Option<u16> {
        if let Some(&class) = self.index.get(&key) {
            return Some(class);
        }
        let class = u16::try_from(self.shares.len()).ok()?;
        self.index.insert(key, class);
        self.shares.push(share);
        Some(class)
    }
}
