// SPDX-License-Identifier: MIT OR Apache-2.0
//! Restores what a journal lists, in this process or after the death of another.

use super::change::{crosses, in_order, is_held_down, Change};
use super::describe::named_cpus;
use super::domain::CPU_FOLDER;
use super::error::SpeedError;
use super::files::{number_after, parse_cpus, Files, Tree};
use super::interrupts::is_interrupt;
use super::journal::{boot_id, Entry, Journal, Lock};
use super::settle::{deadline, shown_at_last, takes_effect_later};
use std::io;
use std::path::{Path, PathBuf};

/// The outcome for the files of a journal.
#[derive(Debug, Default)]
pub struct Restored {
    /// Restored to their original values.
    pub files: Vec<PathBuf>,
    /// Not restored, and why.
    pub skipped: Vec<Skipped>,
}

/// A file that was not restored.
#[derive(Debug)]
pub struct Skipped {
    pub file: PathBuf,
    pub reason: String,
    /// Whether it is still in the journal, to be tried again: the CPU was offline, or the write failed.
    pub kept: bool,
}

/// Restores what a dead run left changed; used by the next start and by `lop restore`.
///
/// A file is restored only if it still holds what was written to it. If its file cannot be read now, as that of an offline CPU,
/// the entry stays in the journal: when the CPU comes back, the kernel may use the old limits or fresh ones, and it does not show
/// which until then. A journal of another boot is discarded, since the kernel started afresh. Without a journal there is nothing
/// to do, and both lists are empty.
///
/// # Errors
/// Another living process sets speeds, or the journal is damaged or cannot be read or written. Then nothing was changed, except
/// that if only the journal's new state could not be written, files may have been restored.
pub fn restore_from_journal(root: &Path, journal: &Path) -> Result<Restored, SpeedError> {
    if !journal.exists() {
        return Ok(Restored::default());
    }
    let _lock = Lock::take(journal)?;
    take_over(&Tree::new(root), journal).map(|(_, restored)| restored)
}

/// For people: the files that a journal still lists, each with its CPUs. Changes nothing.
///
/// # Errors
/// The journal is damaged or cannot be read.
pub fn left_in_journal(root: &Path, journal: &Path) -> Result<Vec<String>, SpeedError> {
    let files = Tree::new(root);
    let journal = Journal::load(journal)?;
    let entries = journal.into_iter().flat_map(|journal| journal.entries.into_keys());
    let lines = entries.map(|path| match cpus_of(&files, &path) {
        Some(cpus) => format!("{} ({})", files.absolute(&path).display(), named_cpus(&cpus)),
        None => files.absolute(&path).display().to_string(),
    });
    Ok(lines.collect())
}

/// The CPUs of a file in a journal. A policy answers while one of its CPUs is online, and is named after its first CPU.
fn cpus_of(files: &dyn Files, path: &str) -> Option<Vec<usize>> {
    let mut folders = path.strip_prefix(CPU_FOLDER)?.trim_start_matches('/').split('/');
    match (folders.next()?, folders.next()?) {
        ("cpufreq", policy) => {
            let related = files.read(&format!("{CPU_FOLDER}/cpufreq/{policy}/related_cpus"));
            let related = related.ok().and_then(|text| parse_cpus(&text));
            related
                .filter(|cpus| !cpus.is_empty())
                .or_else(|| Some(vec![number_after(policy, "policy")?]))
        }
        (cpu, _) => Some(vec![number_after(cpu, "cpu")?]),
    }
}

/// Restores from the journal at `path` if there is one, and saves and returns what is left of it.
pub(super) fn take_over(files: &dyn Files, path: &Path) -> Result<(Journal, Restored), SpeedError> {
    let boot = boot_id(files);
    let Some(mut journal) = Journal::load(path)? else {
        return Ok((Journal::new(boot), Restored::default()));
    };
    let restored = if journal.boot_id == boot {
        put_back(files, &mut journal).into_restored(files)
    } else {
        discard(files, std::mem::replace(&mut journal, Journal::new(boot)))
    };
    journal.save(path)?;
    Ok((journal, restored))
}

fn discard(files: &dyn Files, journal: Journal) -> Restored {
    let skipped = journal.entries.into_keys().map(|path| Skipped {
        file: files.absolute(&path),
        reason: "was changed before the last reboot, which undid it; its journal is discarded".into(),
        kept: false,
    });
    Restored {
        files: Vec::new(),
        skipped: skipped.collect(),
    }
}

/// The outcome of [`put_back`]: paths relative to the root, and an error for each file that was left.
#[derive(Default)]
pub(super) struct PutBack {
    files: Vec<String>,
    left: Vec<(String, SpeedError, bool)>,
}

impl PutBack {
    fn into_restored(self, files: &dyn Files) -> Restored {
        let skipped = self.left.into_iter().map(|(path, error, kept)| Skipped {
            file: files.absolute(&path),
            reason: error.to_string(),
            kept,
        });
        Restored {
            skipped: skipped.collect(),
            files: self.files.iter().map(|path| files.absolute(path)).collect(),
        }
    }

    pub(super) fn into_errors(self) -> Vec<SpeedError> {
        self.left.into_iter().map(|(_, error, _)| error).collect()
    }
}

/// Restores every file of the journal and removes the settled entries.
pub(super) fn put_back(files: &dyn Files, journal: &mut Journal) -> PutBack {
    let mut done = PutBack::default();
    let (mut changes, mut hidden) = (Vec::new(), Vec::new());
    for entry in journal.entries.values() {
        match judge(files, entry) {
            Verdict::IsBack => {}
            Verdict::Write { held_down } => {
                if held_down {
                    hidden.push(entry.path.clone());
                }
                changes.push(Change {
                    path: entry.path.clone(),
                    value: entry.original.clone(),
                });
            }
            Verdict::Leave { error, keep } => done.left.push((entry.path.clone(), error, keep)),
        }
    }
    for change in in_order(|path| files.read_khz(path), changes) {
        match write_back(files, &change, hidden.contains(&change.path)) {
            Ok(()) => done.files.push(change.path),
            Err((error, keep)) => done.left.push((change.path, error, keep)),
        }
    }
    settle(files, journal, &done.files);
    let kept = |path: &String| done.left.iter().any(|(left, _, keep)| *keep && left == path);
    journal.entries.retain(|path, _| kept(path));
    done
}

/// Waits until restored limits are shown, so that the next reader does not take ours for the originals. If heat or another program keeps a limit
/// lower, it never shows.
fn settle(files: &dyn Files, journal: &Journal, written: &[String]) {
    let deadline = deadline();
    for path in written.iter().filter(|path| takes_effect_later(path)) {
        let Some(entry) = journal.entries.get(path) else {
            continue;
        };
        // A limit that cannot be read was written all the same: its CPU has just gone offline.
        let _ = shown_at_last(files, path, deadline, |shown| entry.holds_original(shown));
    }
}

enum Verdict {
    IsBack,
    Write { held_down: bool },
    Leave { error: SpeedError, keep: bool },
}

fn judge(files: &dyn Files, entry: &Entry) -> Verdict {
    let current = match files.read(&entry.path) {
        Ok(current) => current,
        // The interrupt no longer exists.
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_interrupt(&entry.path) => return Verdict::IsBack,
        Err(source) => {
            return Verdict::Leave {
                error: SpeedError::File {
                    file: files.absolute(&entry.path),
                    action: "read it to put it back",
                    source,
                },
                keep: true,
            }
        }
    };
    match entry.standing(files, &current) {
        // A file that still shows the original may show our value a moment later. So the original is written, which is harmless if it holds already.
        Standing::Original if takes_effect_later(&entry.path) => Verdict::Write { held_down: false },
        Standing::Original => Verdict::IsBack,
        Standing::Ours => Verdict::Write { held_down: false },
        Standing::HeldDown => Verdict::Write { held_down: true },
        Standing::Foreign => Verdict::Leave {
            error: SpeedError::Changed {
                file: files.absolute(&entry.path),
                found: current.trim().into(),
            },
            keep: false,
        },
    }
}

/// Whose value a file holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Original,
    Ours,
    /// Our lower limit, shown smaller because the upper one was lowered.
    HeldDown,
    Foreign,
}

impl Entry {
    pub(super) fn standing(&self, files: &dyn Files, current: &str) -> Standing {
        if is_held_down(files, &self.path, current, &self.written) {
            Standing::HeldDown
        } else if self.holds_original(current) {
            Standing::Original
        } else if self.is_ours(current) {
            Standing::Ours
        } else {
            Standing::Foreign
        }
    }
}

/// The error tells whether to keep the entry. A lower limit that is held down already exceeds the upper one, although the kernel
/// only shows the smaller of the two; then any smaller one is better.
fn write_back(files: &dyn Files, change: &Change, held_down: bool) -> Result<(), (SpeedError, bool)> {
    let file = files.absolute(&change.path);
    if !held_down && crosses(files, change) {
        let value = change.value.trim().to_string();
        return Err((SpeedError::OutOfOrder { file, value }, false));
    }
    let action = "put it back";
    let written = files.write(&change.path, &change.value);
    written.map_err(|source| (SpeedError::File { file, action, source }, true))
}
