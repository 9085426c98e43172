// SPDX-License-Identifier: GPL-2.0-only
//! Values with known names, which completions offer; other values are accepted (`simple-sets:4`, a file).

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use lop_simulator::{experiment, workload};
use std::ffi::OsStr;

/// Reads with `parse`, and offers `names`.
#[derive(Clone, Copy)]
pub struct Suggested<T> {
    names: fn() -> Vec<&'static str>,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Suggested<T> {
    pub fn new(names: fn() -> Vec<&'static str>, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { names, parse }
    }
}

impl Suggested<String> {
    /// Any text.
    pub fn text(names: fn() -> Vec<&'static str>) -> Self {
        Self::new(names, |text| Ok(text.to_string()))
    }
}

/// Machines that have names.
pub fn machines() -> Vec<&'static str> {
    lop_machine::builtin_names()
        .into_iter()
        .chain([lop_machine::THIS])
        .collect()
}

/// Lists of names in whose place a file may stand.
pub const OR_FILES: [fn() -> Vec<&'static str>; 3] = [machines, workload::builtin_names, experiment::builtin_names];

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Suggested<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}
