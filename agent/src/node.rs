// SPDX-License-Identifier: GPL-2.0-only
//! Confines cgroups to memory domains that another program chose: what `lop agent --node` does for Kubernetes, whose pods are cgroups.
//!
//! A cgroup (v2) is confined by its `cpuset.cpus`, and only while that file is empty there and in all cgroups below, since then nobody else has chosen
//! CPUs for it. So to restore it is to empty the file. A journal records each set before it is written. The cgroups that a killed agent left
//! in it count as confined, until a request leaves them out.
//!
//! And counts how intensively cgroups use memory, for the program to choose by.

mod journal;

pub use journal::{restore, Restored};

use crate::cpus::{Cpus, MAX_CPUS};
use crate::partition::{about, check, Groups, System};
use journal::Journal;
use lop_machine::counters::{CountsCgroups, OfCgroups};
use lop_machine::intensity::Counts;
use lop_machine::live::{self, LiveMachine};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// What the other program wants; a request replaces the one before.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Cgroups, by their path below the mount point, and the memory domain of each, from 0 in the order of [`Answer::domains`]. All other cgroups are
    /// given their CPUs back.
    pub confine: BTreeMap<String, usize>,
    /// Cgroups whose misses of the last-level cache and instructions are counted, until a request leaves them out.
    pub count: BTreeSet<String>,
}

/// What is so, after a request.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// CPUs of each memory domain that has been seen since the start, as `0-3,8`: those that are online and not isolated, so it may be empty.
    pub domains: Vec<String>,
    /// Where cgroup v2 is mounted.
    pub cgroups: String,
    /// What each cgroup counted since the last request, if it was counted then.
    pub counted: BTreeMap<String, Counts>,
    /// Cgroups that are not confined or counted as requested, and why: a sentence.
    pub left: BTreeMap<String, String>,
}

/// The cgroups that are confined now. They get their CPUs back by [`Node::end`], or when this is dropped.
pub struct Node {
    root: PathBuf,
    groups: System,
    journal: Journal,
    /// CPUs of each memory domain, ascending. Nothing tells where one belongs while it is offline, so they stay where they were seen.
    domains: Vec<Cpus>,
    counters: Box<dyn CountsCgroups>,
}

impl Node {
    /// Changes nothing yet. `root`: where `sys` and `proc` are.
    ///
    /// # Errors
    /// A sentence: cgroup v2 or its cpuset is missing, another one runs, or the journal cannot be read.
    pub fn begin(root: &Path, run_dir: &Path) -> Result<Self, String> {
        check(root)?;
        let groups = System::find(root)?;
        let another = || format!("{}: another 'lop agent --node' runs", run_dir.display());
        Ok(Self {
            root: root.to_path_buf(),
            journal: Journal::open(run_dir)?.ok_or_else(another)?,
            groups,
            domains: Vec::new(),
            counters: Box::new(OfCgroups::begin()),
        })
    }

    /// Brings about what is wanted, as far as possible.
    ///
    /// # Errors
    /// A sentence: the machine cannot be read.
    pub fn serve(&mut self, request: &Request) -> Result<Answer, String> {
        let machine = live::read(&self.root).map_err(|error| error.to_string())?;
        let domains = self.usable_domains(&machine);
        let mut left = BTreeMap::new();
        let held = self.journal.groups();
        for group in held.iter().filter(|group| !request.confine.contains_key(*group)) {
            if let Err(why) = self.give_back(group) {
                left.insert(group.clone(), why);
            }
        }
        for (group, &domain) in &request.confine {
            let confined = match cpus_of_domain(&domains, domain) {
                Ok(cpus) => self.confine(group, cpus),
                Err(why) => self.give_back(group).and(Err(why)),
            };
            if let Err(why) = confined {
                left.insert(group.clone(), why);
            }
        }
        let counted = self.count(&request.count, &mut left);
        Ok(Answer {
            domains: domains.iter().map(Cpus::to_string).collect(),
            cgroups: self.groups.shown("").trim_end_matches('/').to_string(),
            counted,
            left,
        })
    }

    fn count(&mut self, wanted: &BTreeSet<String>, left: &mut BTreeMap<String, String>) -> BTreeMap<String, Counts> {
        let folder = |group: &String| PathBuf::from(self.groups.shown(group));
        let folders: BTreeMap<PathBuf, &String> = wanted.iter().map(|group| (folder(group), group)).collect();
        self.counters.keep(&|folder| folders.contains_key(folder));
        let mut counted = BTreeMap::new();
        for (folder, &group) in &folders {
            match check_path(group).and_then(|()| self.counters.read(folder)) {
                Ok(counts) => counted.extend(counts.map(|counts| (group.clone(), counts))),
                Err(why) => drop(left.insert(group.clone(), why)),
            }
        }
        counted
    }

    /// CPUs that tasks may use now, of each domain.
    fn usable_domains(&mut self, machine: &LiveMachine) -> Vec<Cpus> {
        let mut seen: BTreeMap<u16, Cpus> = BTreeMap::new();
        let online = || {
            machine
                .cpus
                .iter()
                .filter(|cpu| cpu.online && (cpu.number as usize) < MAX_CPUS)
        };
        online().for_each(|cpu| seen.entry(cpu.memory_domain).or_default().insert(cpu.number));
        for cpus in seen.into_values() {
            let (same, others): (Vec<Cpus>, Vec<Cpus>) =
                self.domains.iter().partition(|known| !known.and(&cpus).is_empty());
            self.domains = others;
            self.domains
                .push(same.iter().chain([&cpus]).flat_map(Cpus::iter).collect());
        }
        self.domains.sort_by_key(|cpus| cpus.iter().next());
        let usable: Cpus = online().filter(|cpu| !cpu.isolated).map(|cpu| cpu.number).collect();
        self.domains.iter().map(|cpus| cpus.and(&usable)).collect()
    }

    fn confine(&mut self, group: &str, cpus: &Cpus) -> Result<(), String> {
        check_path(group)?;
        let now = cpus_of(&self.groups, group)?;
        if !now.is_empty() && !self.journal.given(group).is_some_and(|given| given.contains(&now)) {
            self.journal.forget(group)?;
            return Err(taken(&self.groups, group, &now));
        }
        let below = self.groups.below(group).into_iter();
        let chosen = below.filter_map(|group| Some((cpus_of(&self.groups, &group).ok()?, group)));
        if let Some((others, below)) = chosen.into_iter().find(|(cpus, _)| !cpus.is_empty()) {
            self.give_back(group)?;
            return Err(taken(&self.groups, &below, &others));
        }
        if now == *cpus {
            return Ok(());
        }
        self.is_usable(group, cpus)?;
        self.journal.note(group, &now, cpus)?;
        let file = cpuset(group);
        self.groups
            .write(&file, &cpus.to_string())
            .map_err(|error| format!("writing '{cpus}': {}", about(&self.groups, &file, &error)))?;
        self.journal.written(group, cpus);
        Ok(())
    }

    /// The kernel accepts CPUs that the cgroup around does not have, and then ignores them.
    fn is_usable(&self, group: &str, cpus: &Cpus) -> Result<(), String> {
        let around = group.rsplit_once('/').map_or("", |(around, _)| around);
        let file = format!("{around}/cpuset.cpus.effective");
        let usable = read(&self.groups, file.trim_start_matches('/'))?;
        match usable.and(cpus) == *cpus {
            true => Ok(()),
            false => Err(format!(
                "the cgroup around it may use CPUs {usable} only ({}), the memory domain has {cpus}: left alone",
                self.groups.shown(file.trim_start_matches('/'))
            )),
        }
    }

    fn give_back(&mut self, group: &str) -> Result<(), String> {
        let Some(given) = self.journal.given(group) else {
            return Ok(());
        };
        give_back(&self.groups, group, given)?;
        self.journal.forget(group)
    }

    /// Gives all cgroups their CPUs back. There is nothing left to do when it is called again.
    ///
    /// # Errors
    /// A sentence for each that does not have them; `lop restore` and the next start try again.
    pub fn end(&mut self) -> Result<(), Vec<String>> {
        match self.journal.give_all_back(&self.groups).failed {
            failed if failed.is_empty() => Ok(()),
            failed => Err(failed),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for error in self.end().err().into_iter().flatten() {
            eprintln!("lop: {error}");
        }
    }
}

fn cpus_of_domain(domains: &[Cpus], number: usize) -> Result<&Cpus, String> {
    let Some(cpus) = domains.get(number) else {
        let count = domains.len();
        return Err(format!(
            "there is no memory domain {number}: this machine has {count}, counted from 0"
        ));
    };
    match cpus.is_empty() {
        true => Err(format!("all CPUs of memory domain {number} are offline or isolated")),
        false => Ok(cpus),
    }
}

/// It comes from another program and becomes a path.
fn check_path(group: &str) -> Result<(), String> {
    let is_below = Path::new(group)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    match is_below && !group.is_empty() && !group.contains(char::is_control) {
        true => Ok(()),
        false => Err("expected the path of a cgroup below the mount point, such as kubepods.slice/a.slice".into()),
    }
}

fn cpuset(group: &str) -> String {
    format!("{group}/cpuset.cpus")
}

fn cpus_of(groups: &System, group: &str) -> Result<Cpus, String> {
    read(groups, &cpuset(group))
}

fn read(groups: &System, file: &str) -> Result<Cpus, String> {
    let text = groups.read(file).map_err(|error| about(groups, file, &error))?;
    let bad = || {
        format!(
            "{}: expected a list of CPUs, found '{}'",
            groups.shown(file),
            text.trim()
        )
    };
    Cpus::parse(&text).ok_or_else(bad)
}

fn taken(groups: &System, group: &str, cpus: &Cpus) -> String {
    format!(
        "somebody else has set {} to {cpus}, as kubelet's static CPU manager does: left alone",
        groups.shown(&cpuset(group))
    )
}

/// Empties the cgroup's set if it is one of those that it was given; true if it was. A cgroup that is gone has nothing to give back.
fn give_back(groups: &System, group: &str, given: &BTreeSet<Cpus>) -> Result<bool, String> {
    let empty = || {
        let is_ours = given.contains(&cpus_of(groups, group)?);
        let file = cpuset(group);
        match is_ours {
            true => groups.write(&file, "").map_err(|error| about(groups, &file, &error)),
            false => Ok(()),
        }
        .map(|()| is_ours)
    };
    match empty() {
        Err(_) if !groups.exists(group) => Ok(false),
        done => done,
    }
}

#[cfg(test)]
mod tests;
