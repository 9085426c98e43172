// SPDX-License-Identifier: GPL-2.0-only
//! What a journal gave back and what it could not, in the same words whoever asks.

use crate::failure::{Failure, FAILED};
use lop_machine::speed::{Restored, Skipped};

/// What came back, and what did not and why; a line each.
pub fn told(restored: &Restored) -> String {
    let mut text = match restored.files.len() {
        0 => "nothing had to be put back\n".to_string(),
        1 => "put back 1 file:\n".to_string(),
        count => format!("put back {count} files:\n"),
    };
    for file in &restored.files {
        text += &format!("  {}\n", file.display());
    }
    for skipped in &restored.skipped {
        text += &format!("{}\n", left(skipped));
    }
    text
}

/// A file that was left as it is, and why.
pub fn left(skipped: &Skipped) -> String {
    format!("left {}: {}", skipped.file.display(), skipped.reason)
}

/// # Errors
/// Something is in the journal still; `again`: who tries it again.
pub fn all_is_back(restored: &Restored, again: &str) -> Result<(), Failure> {
    let kept: Vec<String> = restored
        .skipped
        .iter()
        .filter(|skipped| skipped.kept)
        .map(left)
        .collect();
    let count = match kept.len() {
        0 => return Ok(()),
        1 => "1 file".to_string(),
        count => format!("{count} files"),
    };
    let message = format!("{count} could not be put back yet: {}", kept.join("; "));
    Err(Failure::new(FAILED, message).hint(again))
}
