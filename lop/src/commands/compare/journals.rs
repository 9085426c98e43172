// SPDX-License-Identifier: GPL-2.0-only
//! Where journals lie, and when they are removed.

use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::terminal;
use lop_compare::journal::{Header, Journal};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// # Errors
/// The file exists, or cannot be written.
pub fn begin(path: Option<&Path>, header: Header) -> Result<Journal, Failure> {
    let path = path.map_or_else(|| default_path(header.started_s), Path::to_path_buf);
    Journal::begin(&path, header).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(
            BAD_INPUT,
            format!(
                "--journal: {0}: exists, and no journal is overwritten; name another file ('lop compare --show {0}' prints this one)",
                path.display()
            ),
        ),
        _ => Failure::new(FAILED, format!("{}: cannot begin a journal: {error}", path.display()))
            .hint("name another file with --journal"),
    })
}

/// Removes a journal that was not asked for once everything in it was printed. Otherwise it stays, and a note says where.
pub fn end(journal: &Journal, own: bool, good: bool) {
    match own && (good || journal.measured.runs.is_empty()) {
        true => {
            // A file that stays does no harm.
            let _ = std::fs::remove_file(journal.path());
        }
        false => terminal::note(&format!(
            "the runs are in {0}; 'lop compare --show {0}' prints them",
            journal.path().display()
        )),
    }
}

fn default_path(started_s: u64) -> PathBuf {
    let state = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    let folder = state.or_else(home).unwrap_or_else(std::env::temp_dir).join("lopsided");
    folder.join(format!("compare-{started_s}-{}.jsonl", std::process::id()))
}
