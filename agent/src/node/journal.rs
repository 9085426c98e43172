// SPDX-License-Identifier: GPL-2.0-only
//! The sets that cgroups were given, in the order in which they were written: the number of the boot, and for each a line `0-3 GROUP`. Its lock is
//! released when its holder dies. At the end the file is emptied and not removed, since a lock on a removed file keeps nobody out.

use super::{give_back, Cpus};
use crate::folder::{boot_id, lock};
use crate::partition::System;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{create_dir_all, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

const NAME: &str = "node.journal";

pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Locked, and empty after what it listed was given back.
    pub fn begin(run_dir: &Path, groups: &System) -> Result<Self, String> {
        let path = run_dir.join(NAME);
        let open = || {
            create_dir_all(run_dir)?;
            OpenOptions::new().read(true).append(true).create(true).open(&path)
        };
        let file = open().map_err(|error| said(&path, &error))?;
        if !lock(&file).map_err(|error| said(&path, &error))? {
            return Err(format!("{}: another 'lop agent --node' runs", path.display()));
        }
        let mut journal = Self { path, file };
        journal.give_back(groups)?;
        let begun = journal.file.write_all(format!("{}\n", boot_id()).as_bytes());
        begun.map_err(|error| said(&journal.path, &error))?;
        Ok(journal)
    }

    pub fn note(&mut self, group: &str, cpus: &Cpus) -> Result<(), String> {
        let noted = self.file.write_all(format!("{cpus} {group}\n").as_bytes());
        noted.map_err(|error| said(&self.path, &error))
    }

    pub fn end(&mut self) -> Result<(), String> {
        self.file.set_len(0).map_err(|error| said(&self.path, &error))
    }

    /// How many cgroups had a set that they were given.
    fn give_back(&mut self, groups: &System) -> Result<u32, String> {
        let mut text = String::new();
        let read = self.file.rewind().and_then(|()| self.file.read_to_string(&mut text));
        read.map_err(|error| said(&self.path, &error))?;
        let mut count = 0;
        for (group, sets) in &listed(&self.path, &text)? {
            count += u32::from(give_back(groups, group, sets)?);
        }
        self.end().map(|()| count)
    }
}

/// The sets of each cgroup. A last line without its end was not written whole, so its set was not written at all. After a reboot no cgroup is as it was.
fn listed(path: &Path, text: &str) -> Result<BTreeMap<String, BTreeSet<Cpus>>, String> {
    let mut sets: BTreeMap<String, BTreeSet<Cpus>> = BTreeMap::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(&boot_id()) {
        return Ok(sets);
    }
    for (index, line) in lines {
        let entry = line
            .split_once(' ')
            .and_then(|(cpus, group)| Some((Cpus::parse(cpus)?, group)));
        let (cpus, group) = entry.ok_or_else(|| {
            format!(
                "{}:{}: expected CPUs and a cgroup, found '{line}': empty the cpuset.cpus of the cgroups that it lists, then remove the file",
                path.display(),
                index + 1
            )
        })?;
        sets.entry(group.to_string()).or_default().insert(cpus);
    }
    Ok(sets)
}

/// Gives back what a killed one took; how many cgroups that were. `None`: there is nothing to do, or one runs that will do it.
///
/// # Errors
/// A sentence: a cgroup cannot be restored, or the journal cannot be read.
pub fn restore(root: &Path, run_dir: &Path) -> Result<Option<u32>, String> {
    let path = run_dir.join(NAME);
    let open = || -> io::Result<Option<File>> {
        let file = match OpenOptions::new().read(true).append(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        Ok((file.metadata()?.len() > 0 && lock(&file)?).then_some(file))
    };
    let Some(file) = open().map_err(|error| said(&path, &error))? else {
        return Ok(None);
    };
    Journal { path, file }.give_back(&System::find(root)?).map(Some)
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
