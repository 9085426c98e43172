// SPDX-License-Identifier: GPL-2.0-only
//! What was restored from a journal and what was not, in the same words for every command.

use crate::failure::{Failure, FAILED};
use crate::terminal::counted;
use lop_machine::speed::{Restored, Skipped};

/// A line for each file that was restored, or was not and why.
pub fn told(restored: &Restored) -> String {
    let mut text = match restored.files.len() {
        0 => "nothing had to be put back\n".to_string(),
        count => format!("put back {}:\n", counted(count, "file", "files")),
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
/// Something is left in the journal; `again`: who tries again.
pub fn all_is_back(restored: &Restored, again: &str) -> Result<(), Failure> {
    let kept: Vec<String> = restored
        .skipped
        .iter()
        .filter(|skipped| skipped.kept)
        .map(left)
        .collect();
    if kept.is_empty() {
        return Ok(());
    }
    let count = counted(kept.len(), "file", "files");
    let message = format!("{count} could not be put back yet: {}", kept.join("; "));
    Err(Failure::new(FAILED, message).hint(again))
}
