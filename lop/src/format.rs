// SPDX-License-Identifier: GPL-2.0-only
//! What `--format` takes, and lists of what is built in.

use crate::failure::{Failure, FAILED};
use crate::terminal;
use clap::{Args, ValueEnum};
use lop_report::csv_line;
use serde_json::{Map, Value};

/// Of one object.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Of what has rows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    Text,
    Json,
    Csv,
}

#[derive(Args)]
pub struct ListArguments {
    /// Aligned columns for people, one JSON object, or CSV
    #[arg(long, value_enum, default_value = "text")]
    pub format: TableFormat,
}

/// Something that is built in.
pub struct Entry {
    /// What people see beside its name.
    pub text: String,
    /// What programs see, its name first; all entries of a list have the same keys.
    pub facts: Vec<(&'static str, Value)>,
}

impl Entry {
    fn name(&self) -> String {
        self.facts.first().map(|(_, name)| plain(name)).unwrap_or_default()
    }
}

/// `kind`: what JSON calls the list.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_list(kind: &str, entries: &[Entry], format: TableFormat) -> Result<(), Failure> {
    let text = match format {
        TableFormat::Text => {
            let rows: Vec<_> = entries.iter().map(|entry| (entry.name(), entry.text.clone())).collect();
            terminal::two_columns(&rows)
        }
        TableFormat::Json => {
            let object = |entry: &Entry| {
                entry
                    .facts
                    .iter()
                    .map(|(key, value)| (key.to_string(), value.clone()))
                    .collect()
            };
            let list: Vec<Map<String, Value>> = entries.iter().map(object).collect();
            let all = Map::from_iter([(kind.to_string(), Value::from(list))]);
            format!("{:#}\n", Value::Object(all))
        }
        TableFormat::Csv => {
            let heading = entries
                .iter()
                .take(1)
                .map(|entry| csv_line(&entry.facts.iter().map(|(key, _)| key).collect::<Vec<_>>()));
            let row = |entry: &Entry| csv_line(&entry.facts.iter().map(|(_, value)| plain(value)).collect::<Vec<_>>());
            heading.chain(entries.iter().map(row)).collect()
        }
    };
    terminal::print(&text)
}

/// Without the quotation marks of JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// What is serialised, as indented JSON.
///
/// # Errors
/// It has no form in JSON.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n")
        .map_err(|error| Failure::new(FAILED, format!("cannot write JSON: {error}")))
}
