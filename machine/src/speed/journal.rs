// SPDX-License-Identifier: MIT OR Apache-2.0
//! The journal of changes: a file of JSON lines, written as a whole and renamed into place before a change.
//!
//! Line 1 is the header with the number of entries, so that a truncated file is noticed; each further line is an entry.
//! Root reads it back, so it is not trusted: it may only name files that this program writes.

use super::error::SpeedError;
use super::files::{number_after, Files};
use super::interrupts::is_interrupt;
use crate::{input, InputError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FORMAT: &str = "lopsided-speeds";
const VERSION: u32 = 1;
const CPU_FOLDER: &str = "sys/devices/system/cpu/";
/// Longest value of a file that is changed; the kernel's words are shorter.
const MAX_VALUE_BYTES: usize = 64;
/// How many values are remembered for a file: those of the two sets, and their latest roundings.
const MAX_WRITTEN: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    boot_id: String,
    entries: usize,
}

/// A file that was changed or is about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Relative to the root: `sys/devices/system/cpu/...`.
    pub path: String,
    /// What it held before, byte for byte.
    pub original: String,
    /// Values that it may hold because of us: those written, and what they read back as. Trimmed.
    pub written: Vec<String>,
}

impl Entry {
    pub(super) fn is_ours(&self, current: &str) -> bool {
        self.written.iter().any(|value| value == current.trim())
    }

    pub(super) fn holds_original(&self, current: &str) -> bool {
        self.original.trim() == current.trim()
    }

    /// Remembers a value that the file holds or will hold because of us; true if it was new.
    pub(super) fn remember(&mut self, value: &str) -> bool {
        if self.is_ours(value) {
            return false;
        }
        if self.written.len() == MAX_WRITTEN {
            // The first two are those of the sets, and stay.
            self.written.remove(2);
        }
        self.written.push(value.trim().to_string());
        true
    }
}

/// All entries, and the boot in which they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    pub boot_id: String,
    pub entries: BTreeMap<String, Entry>,
}

impl Journal {
    pub(super) fn new(boot_id: String) -> Self {
        Self {
            boot_id,
            entries: BTreeMap::new(),
        }
    }

    /// Reads the text of a journal; `file` is named in errors.
    ///
    /// # Errors
    /// With the line: the header is missing, the format or version differs, there are too few or too many lines, a path is not one of
    /// the files by which speeds are set, or a value is one that no such file can hold.
    pub fn parse(file: &str, text: &str) -> Result<Self, InputError> {
        let at = |line: usize, message: String| InputError::new(file, message).at_line(line);
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let (_, first) = lines
            .next()
            .ok_or_else(|| at(1, "empty, expected a journal of speeds".into()))?;
        let header: Header =
            serde_json::from_str(first).map_err(|e| at(1, format!("not the header of a journal: {e}")))?;
        check_header(&header).map_err(|message| at(1, message))?;
        let mut journal = Self::new(header.boot_id);
        for (number, line) in lines {
            let entry: Entry =
                serde_json::from_str(line).map_err(|e| at(number, format!("not an entry of a journal: {e}")))?;
            check_entry(&entry).map_err(|message| at(number, message))?;
            if let Some(twice) = journal.entries.insert(entry.path.clone(), entry) {
                return Err(at(number, format!("{}: named twice", twice.path)));
            }
        }
        if journal.entries.len() != header.entries || !text.ends_with('\n') {
            let message = format!(
                "{} entries, expected {} whole lines",
                journal.entries.len(),
                header.entries
            );
            return Err(at(text.lines().count(), message));
        }
        Ok(journal)
    }

    /// The text that [`Journal::parse`] reads.
    pub fn to_text(&self) -> String {
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            boot_id: self.boot_id.clone(),
            entries: self.entries.len(),
        };
        let mut text = json(&header);
        for entry in self.entries.values() {
            text.push_str(&json(entry));
        }
        text
    }

    /// The journal at `path`; `None` if there is none.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, SpeedError> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(journal_error(path, "read it", error)),
            Ok(_) => {}
        }
        let text = input::read_text(path).map_err(SpeedError::Damaged)?;
        let journal = Self::parse(&path.display().to_string(), &text).map_err(SpeedError::Damaged)?;
        Ok(Some(journal))
    }

    /// Writes it to disk, all or nothing. An empty journal is removed.
    pub(super) fn save(&self, path: &Path) -> Result<(), SpeedError> {
        if self.entries.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(journal_error(path, "remove it", error)),
                _ => Ok(()),
            };
        }
        replace(path, &self.to_text()).map_err(|error| journal_error(path, "write it", error))
    }
}

fn json(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("strings and numbers always become JSON");
    line.push('\n');
    line
}

fn journal_error(path: &Path, action: &'static str, source: io::Error) -> SpeedError {
    SpeedError::Journal {
        file: path.to_path_buf(),
        action,
        source,
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(folder_of(path))?.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn check_header(header: &Header) -> Result<(), String> {
    if header.format != FORMAT || header.version != VERSION {
        return Err(format!(
            "format {:?} version {}, expected {FORMAT:?} version {VERSION}",
            header.format, header.version
        ));
    }
    Ok(())
}

fn check_entry(entry: &Entry) -> Result<(), String> {
    if !is_speed_file(&entry.path) {
        return Err(format!(
            "{:?} is not a file by which speeds, idle states or interrupts are set",
            entry.path
        ));
    }
    if entry.written.len() > MAX_WRITTEN {
        return Err(format!(
            "{} written values, expected at most {MAX_WRITTEN}",
            entry.written.len()
        ));
    }
    let original = entry.original.strip_suffix('\n').unwrap_or(&entry.original);
    for value in entry.written.iter().map(String::as_str).chain([original]) {
        if !is_value(value) {
            return Err(format!("{value:?} is not a value of {}", entry.path));
        }
    }
    Ok(())
}

/// A word, a number or `n/a`: one line of printable ASCII.
pub(super) fn is_value(text: &str) -> bool {
    text.len() <= MAX_VALUE_BYTES && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
}

/// Whether this is one of the files that this program writes. It writes no other, whatever a journal says.
fn is_speed_file(path: &str) -> bool {
    let Some(inside) = path.strip_prefix(CPU_FOLDER) else {
        return is_interrupt(path);
    };
    match inside.split('/').collect::<Vec<_>>()[..] {
        ["cpufreq", policy, file] => {
            number_after(policy, "policy").is_some()
                && [
                    "scaling_setspeed",
                    "scaling_min_freq",
                    "scaling_max_freq",
                    "energy_performance_preference",
                ]
                .contains(&file)
        }
        [cpu, "cpuidle", state, "disable"] => {
            number_after(cpu, "cpu").is_some() && number_after(state, "state").is_some()
        }
        [cpu, "power", "pm_qos_resume_latency_us"] => number_after(cpu, "cpu").is_some(),
        _ => false,
    }
}

/// The kernel's id of this boot; empty if it does not tell.
pub(super) fn boot_id(files: &dyn Files) -> String {
    files.read_trimmed("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Held while speeds are set. The kernel releases it when the process dies, however it dies. The file is removed too, except by a killed process.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    pub(super) fn take(journal: &Path) -> Result<Self, SpeedError> {
        let path = beside(journal, ".lock");
        fs::create_dir_all(folder_of(journal))
            .map_err(|error| journal_error(folder_of(journal), "make this folder", error))?;
        let mut file = locked(&path)?;
        // Its last holder may have removed the file between our open and our lock; such a lock excludes nobody.
        while !is_at(&file, &path) {
            file = locked(&path)?;
        }
        let name = format!("{}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.write_all(name.as_bytes()))
            .map_err(|error| journal_error(&path, "write it", error))?;
        Ok(Self { file, path })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if is_at(&self.file, &self.path) {
            // A file that stays does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn locked(path: &Path) -> Result<File, SpeedError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options
        .open(path)
        .map_err(|error| journal_error(path, "open it", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(busy(path.to_path_buf(), &mut file)),
        Err(TryLockError::Error(error)) => Err(journal_error(path, "lock it", error)),
    }
}

/// Whether the path still names this file.
fn is_at(file: &File, path: &Path) -> bool {
    let named = |about: fs::Metadata| (about.dev(), about.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => named(ours) == named(there),
        _ => false,
    }
}

fn busy(lock: PathBuf, file: &mut File) -> SpeedError {
    let mut holder = String::new();
    let known = file.take(32).read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
    SpeedError::Busy {
        lock,
        holder: if known {
            holder.trim().into()
        } else {
            "(unknown)".into()
        },
    }
}
