// SPDX-License-Identifier: GPL-2.0-only
//! The sets that cgroups were given: the number of the boot, and for each set a line `0-3 GROUP`.
//!
//! The file is replaced by rename before a set is written and after one was taken back. So it is complete whenever the agent is killed, and does not
//! grow. The lock is on another file that is never replaced, since a lock on the old file would keep nobody out; the kernel releases it when the agent
//! dies. No sync of the folder is needed: after a reboot there are no sets to take back.

use super::{give_back, Cpus};
use crate::folder::{boot_id, lock, replace};
use crate::partition::System;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{create_dir_all, read_to_string, remove_file, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "node.journal";
const LOCK: &str = "node.lock";

/// Of each cgroup; several while one set replaces another.
type Given = BTreeMap<String, BTreeSet<Cpus>>;

pub(super) struct Journal {
    path: PathBuf,
    given: Given,
    _lock: File,
}

/// What became of the cgroups that had been confined.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// How many had a set that they were given, and have it no more.
    pub cgroups: u32,
    /// A sentence for each that could not be restored; the journal still has it.
    pub failed: Vec<String>,
}

impl Journal {
    /// With the sets that a killed agent left. `None`: another agent holds the lock.
    pub fn open(run_dir: &Path) -> Result<Option<Self>, String> {
        let (path, at) = (run_dir.join(NAME), run_dir.join(LOCK));
        let locked = || {
            create_dir_all(run_dir)?;
            let file = OpenOptions::new().append(true).create(true).open(&at)?;
            Ok(lock(&file)?.then_some(file))
        };
        let Some(lock) = locked().map_err(|error| said(&at, &error))? else {
            return Ok(None);
        };
        Ok(Some(Self {
            given: read(&path)?,
            path,
            _lock: lock,
        }))
    }

    pub fn groups(&self) -> Vec<String> {
        self.given.keys().cloned().collect()
    }

    pub fn given(&self, group: &str) -> Option<&BTreeSet<Cpus>> {
        self.given.get(group)
    }

    /// Notes that a cgroup is to have these CPUs instead of those that it has `now`.
    pub fn note(&mut self, group: &str, now: &Cpus, cpus: &Cpus) -> Result<(), String> {
        let sets = [*now, *cpus].into_iter().filter(|set| !set.is_empty());
        self.change(|given| drop(given.insert(group.to_string(), sets.collect())))
    }

    /// It has these now.
    pub fn written(&mut self, group: &str, cpus: &Cpus) {
        self.given.insert(group.to_string(), BTreeSet::from([*cpus]));
    }

    pub fn forget(&mut self, group: &str) -> Result<(), String> {
        if !self.given.contains_key(group) {
            return Ok(());
        }
        self.change(|given| drop(given.remove(group)))
    }

    fn change(&mut self, change: impl FnOnce(&mut Given)) -> Result<(), String> {
        let mut given = self.given.clone();
        change(&mut given);
        self.save(&given)?;
        self.given = given;
        Ok(())
    }

    /// Gives back what is known to be given. What cannot be is left to the next one: it is in the file, and here no more.
    pub fn give_all_back(&mut self, groups: &System) -> Restored {
        let mut restored = Restored::default();
        if self.given.is_empty() {
            return restored;
        }
        let mut kept = std::mem::take(&mut self.given);
        kept.retain(|group, sets| match give_back(groups, group, sets) {
            Ok(was_ours) => {
                restored.cgroups += u32::from(was_ours);
                false
            }
            Err(why) => {
                restored.failed.push(why);
                true
            }
        });
        restored.failed.extend(self.save(&kept).err());
        restored
    }

    fn save(&self, given: &Given) -> Result<(), String> {
        let lines = given
            .iter()
            .flat_map(|(group, sets)| sets.iter().map(move |cpus| format!("{cpus} {group}\n")));
        let saved = match given.is_empty() {
            true => match remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            false => replace(&self.path, &format!("{}\n{}", boot_id(), lines.collect::<String>())),
        };
        saved.map_err(|error| said(&self.path, &error))
    }
}

fn read(path: &Path) -> Result<Given, String> {
    match read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Given::new()),
        Err(error) => Err(said(path, &error)),
        Ok(text) => listed(path, &text),
    }
}

/// After a reboot no cgroup is as it was.
fn listed(path: &Path, text: &str) -> Result<Given, String> {
    let mut given = Given::new();
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(&boot_id()) {
        return Ok(given);
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
        given.entry(group.to_string()).or_default().insert(cpus);
    }
    Ok(given)
}

/// Gives back what a killed one took. `None`: there is nothing to do, or one runs that will do it.
///
/// # Errors
/// A sentence: the journal cannot be read, or there is no cgroup v2.
pub fn restore(root: &Path, run_dir: &Path) -> Result<Option<Restored>, String> {
    if !run_dir.join(NAME).exists() {
        return Ok(None);
    }
    match Journal::open(run_dir)? {
        Some(mut journal) if !journal.given.is_empty() => Ok(Some(journal.give_all_back(&System::find(root)?))),
        _ => Ok(None),
    }
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
