// SPDX-License-Identifier: MIT OR Apache-2.0
//! Range checks on values that somebody wrote, with errors that name file, line, key and what was expected.

use crate::InputError;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;

/// The file that is being read; turns a place in it into an error.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at a place of the text. `key` is the path that `--set` takes too (`kind.0.opp.1.mhz`).
    pub fn error(&self, span: Range<usize>, key: impl Into<String>, message: impl Into<String>) -> InputError {
        InputError::new(self.file, message)
            .at_line(InputError::line_of(self.text, span.start))
            .key(key)
    }

    /// A finite number within `range`; `unit` is named in the error.
    pub fn number(
        &self,
        value: &Spanned<f64>,
        key: &str,
        range: RangeInclusive<f64>,
        unit: &str,
    ) -> Result<f64, InputError> {
        let number = *value.get_ref();
        if range.contains(&number) {
            return Ok(number);
        }
        let message = format!(
            "{}, expected {} to {}{}",
            short(number),
            range.start(),
            range.end(),
            spaced(unit)
        );
        Err(self.error(value.span(), key, message))
    }

    /// A finite number above 0 and at most `most`.
    pub fn positive(&self, value: &Spanned<f64>, key: &str, most: f64, unit: &str) -> Result<f64, InputError> {
        let number = *value.get_ref();
        if number > 0.0 && number <= most {
            return Ok(number);
        }
        let message = format!(
            "{}, expected a number above 0 and at most {most}{}",
            short(number),
            spaced(unit)
        );
        Err(self.error(value.span(), key, message))
    }

    /// A whole number within `range`.
    pub fn count(&self, value: &Spanned<i64>, key: &str, range: RangeInclusive<i64>) -> Result<usize, InputError> {
        let number = *value.get_ref();
        match usize::try_from(number) {
            Ok(count) if range.contains(&number) => Ok(count),
            _ => {
                let message = format!(
                    "{number}, expected a whole number from {} to {}",
                    range.start(),
                    range.end()
                );
                Err(self.error(value.span(), key, message))
            }
        }
    }

    /// Text without control characters, of 1 to `most` characters.
    pub fn line<'t>(&self, value: &'t Spanned<String>, key: &str, most: usize) -> Result<&'t str, InputError> {
        let text = value.get_ref().as_str();
        let length = text.chars().count();
        if length == 0 || length > most || text.trim().is_empty() {
            let message = format!("{length} characters, expected 1 to {most}");
            return Err(self.error(value.span(), key, message));
        }
        if text.chars().any(char::is_control) {
            let message = "control character found, expected plain text on one line";
            return Err(self.error(value.span(), key, message));
        }
        Ok(text)
    }
}

/// A number as people write it: 1e300 without its hundreds of digits.
fn short(number: f64) -> String {
    if number.abs() < 1e9 {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() {
        String::new()
    } else {
        format!(" {unit}")
    }
}
