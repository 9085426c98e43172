// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads values of a tree, collects notes, phrases errors.

use super::{cpulist, LiveError, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::RangeInclusive;

/// How much of a wrong value an error repeats.
const SHOWN_CHARS: usize = 60;

pub struct Reader<'a> {
    tree: &'a dyn Tree,
    notes: Vec<String>,
    /// By the last part of the path, since each CPU has such a file: the first one, the reason, and how many more.
    unreadable: BTreeMap<String, (String, String, usize)>,
}

/// Path of a file of a CPU.
pub fn cpu_file(cpu: u32, name: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/{name}")
}

impl<'a> Reader<'a> {
    pub fn new(tree: &'a dyn Tree) -> Self {
        Self {
            tree,
            notes: Vec::new(),
            unreadable: BTreeMap::new(),
        }
    }

    pub fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    pub fn into_notes(self) -> Vec<String> {
        let unreadable = self.unreadable.into_values().map(|(file, reason, more)| match more {
            0 => format!("{file} could not be read ({reason}) and counts as missing."),
            _ => format!("{file} and {more} more of this name could not be read ({reason}) and count as missing."),
        });
        self.notes.into_iter().chain(unreadable).collect()
    }

    /// `path` as a person would name it.
    pub fn shown(&self, path: &str) -> String {
        self.tree.shown(path)
    }

    /// Contents without the line end. `None` if the file is missing; also if it cannot be read, with a note.
    pub fn text(&mut self, path: &str) -> Option<String> {
        match self.tree.read(path) {
            Ok(text) => Some(text.trim_end().to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                let name = path.rsplit('/').next().unwrap_or(path).to_string();
                let first = || (self.tree.shown(path), error.to_string(), 0);
                let entry = self.unreadable.entry(name);
                entry.and_modify(|(_, _, more)| *more += 1).or_insert_with(first);
                None
            }
        }
    }

    /// Contents of an indispensable file.
    pub fn needed(&mut self, path: &str, expected: &str) -> Result<String, LiveError> {
        match self.tree.read(path) {
            Ok(text) => Ok(text.trim_end().to_string()),
            Err(error) => {
                let message = format!("{error}; expected {expected}; mount sysfs: 'mount -t sysfs sysfs /sys'");
                Err(LiveError::new(self.tree.shown(path), message))
            }
        }
    }

    /// A list such as `0-3,8`.
    pub fn list(&mut self, path: &str) -> Result<Option<BTreeSet<u32>>, LiveError> {
        let Some(text) = self.text(path) else { return Ok(None) };
        self.parsed_list(path, &text).map(Some)
    }

    pub fn parsed_list(&self, path: &str, text: &str) -> Result<BTreeSet<u32>, LiveError> {
        cpulist::parse(text).ok_or_else(|| self.unexpected(path, text, "a list such as 0-3,8"))
    }

    /// CPUs that `cpu` shares something with, including itself.
    pub fn sharing(&mut self, path: &str, cpu: u32) -> Result<Option<BTreeSet<u32>>, LiveError> {
        match self.list(path)? {
            Some(list) => self.with_itself(path, list, cpu).map(Some),
            None => Ok(None),
        }
    }

    /// The same for cpufreq's lists, which are separated by blanks.
    pub fn sharing_blanks(&mut self, path: &str, cpu: u32) -> Result<Option<BTreeSet<u32>>, LiveError> {
        let Some(text) = self.text(path) else { return Ok(None) };
        let list = cpulist::parse_blanks(&text)
            .ok_or_else(|| self.unexpected(path, &text, "numbers of CPUs separated by blanks"))?;
        self.with_itself(path, list, cpu).map(Some)
    }

    fn with_itself(&self, path: &str, list: BTreeSet<u32>, cpu: u32) -> Result<BTreeSet<u32>, LiveError> {
        if list.contains(&cpu) {
            return Ok(list);
        }
        let found = cpulist::format(list);
        Err(self.unexpected(path, &found, &format!("a list with CPU {cpu} in it")))
    }

    /// A whole number; `what` is the error's word for what was expected.
    pub fn number(&mut self, path: &str, range: RangeInclusive<i64>, what: &str) -> Result<Option<i64>, LiveError> {
        let Some(text) = self.text(path) else { return Ok(None) };
        match text.parse() {
            Ok(n) if range.contains(&n) => Ok(Some(n)),
            _ => {
                let expected = format!("{what} from {} to {}", range.start(), range.end());
                Err(self.unexpected(path, &text, &expected))
            }
        }
    }

    /// The kernel writes these files, so there is little that a user can fix.
    pub fn unexpected(&self, path: &str, found: &str, expected: &str) -> LiveError {
        let message = format!(
            "found '{}', expected {expected}; run again in case a CPU just went on- or offline; if it happens again, report the machine",
            shown(found)
        );
        LiveError::new(self.tree.shown(path), message)
    }

    /// The machine has more of something than the policy has room for.
    pub fn too_many(&self, path: &str, what: &str, most: usize, way_out: &str) -> LiveError {
        LiveError::new(
            self.tree.shown(path),
            format!("{what}, at most {most} are supported; {way_out}"),
        )
    }
}

/// Shortened, with control characters escaped.
fn shown(found: &str) -> String {
    let mut text: String = found.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if found.chars().nth(SHOWN_CHARS).is_some() {
        text += "...";
    }
    text
}
