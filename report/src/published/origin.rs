// SPDX-License-Identifier: MIT OR Apache-2.0
//! data/origins.toml: what the numbers of data/ rest on, and the figures by which some of them were chosen.

use super::Table;
use lop_machine::{input, InputError};
use serde::Deserialize;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub origin: Vec<Origin>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// Paths in data/; `*` is any text, as in `keys`.
    pub files: Vec<String>,
    /// Dotted keys, with the index where a table is one of a list.
    pub keys: Vec<String>,
    /// What the numbers rest on.
    rests_on: Spanned<String>,
    /// Day of the choice; none: the numbers are the source's, or follow from others.
    chosen: Option<toml::value::Datetime>,
    /// Figures that were looked at: "study", or "study: figure", which stands for all whose names begin with it and a comma, too.
    #[serde(default)]
    fitted_to: Vec<Spanned<String>>,
    /// Figures of those that were left out.
    #[serde(default)]
    but: Vec<Spanned<String>>,
}

/// Marks the figures of `tables` that the origins of `text` name as fitted.
///
/// # Errors
/// What is no TOML, unknown or missing keys, wrong types, an origin without files, keys, what it rests on or the day of an assumption, and a figure that
/// is not there: with file, line and key.
pub fn mark(file: &str, text: &str, tables: &mut [Table]) -> Result<(), InputError> {
    let error = |at: &Spanned<String>, message: String| input::error_at(file, text, at.span(), message);
    let parsed: File = input::parse(file, text)?;
    for origin in &parsed.origin {
        let rests_on = origin.rests_on.get_ref();
        if origin.files.is_empty() || origin.keys.is_empty() || rests_on.trim().is_empty() {
            return Err(error(
                &origin.rests_on,
                "expected files, keys and what they rest on".to_string(),
            ));
        }
        if rests_on.contains("assumed") && origin.chosen.is_none() {
            return Err(error(
                &origin.rests_on,
                "expected chosen, the day of the choice".to_string(),
            ));
        }
        for (names, is_fitted) in [(&origin.fitted_to, true), (&origin.but, false)] {
            for name in names {
                if !mark_one(name.get_ref(), is_fitted, tables) {
                    return Err(error(
                        name,
                        format!("'{}', expected a published figure as 'study: figure'", name.get_ref()),
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Whether any figure has this name.
fn mark_one(name: &str, is_fitted: bool, tables: &mut [Table]) -> bool {
    let (study, what) = name.split_once(": ").unwrap_or((name, ""));
    let named = |figure: &str| match figure.strip_prefix(what) {
        Some(rest) => what.is_empty() || rest.is_empty() || rest.starts_with(','),
        None => false,
    };
    let mut any = false;
    for table in tables.iter_mut().filter(|table| table.study == study) {
        for figure in table.figures.iter_mut().filter(|figure| named(&figure.what)) {
            figure.is_fitted = is_fitted;
            any = true;
        }
    }
    any
}
