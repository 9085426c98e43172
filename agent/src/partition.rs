// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that no task may use: an empty cgroup whose CPUs are an isolated partition (cgroup v2, controller cpuset, Linux 6.1).
//!
//! The kernel takes the CPUs of such a partition from all other cgroups and moves the tasks there elsewhere. It gives them back when the
//! partition or its cgroup is removed. A journal records beforehand that the cgroup is created, and whether the controller was switched on for it.

mod groups;

pub(crate) use groups::{Groups, System};

use crate::cpus::Cpus;
use crate::folder::{boot_id, replace};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroup's name, below the root of cgroup v2.
const NAME: &str = "lopsided";
const CPUS: &str = "lopsided/cpuset.cpus";
const PARTITION: &str = "lopsided/cpuset.cpus.partition";
const PROCESSES: &str = "lopsided/cgroup.procs";
const CONTROLLERS: &str = "cgroup.controllers";
const CONTROLLED: &str = "cgroup.subtree_control";
const USABLE: &str = "cpuset.cpus.effective";
const ISOLATED: &str = "isolated";
const MEMBER: &str = "member";

/// Why CPUs cannot be parked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// A clause.
    pub what: String,
    /// A command or other remedy; empty if none is known.
    pub mend: String,
}

impl Lack {
    fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            mend: mend.into(),
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mend.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", self.what, self.mend),
        }
    }
}

impl From<Lack> for String {
    fn from(lack: Lack) -> Self {
        lack.to_string()
    }
}

/// The cgroups of the machine below `root`.
///
/// # Errors
/// No cgroup v2 is mounted.
pub(crate) fn groups(root: &Path) -> Result<Box<dyn Groups>, Lack> {
    Ok(Box::new(System::find(root)?))
}

/// The path of the journal in a run folder.
#[must_use]
pub fn journal(run_dir: &Path) -> PathBuf {
    run_dir.join("partition.journal")
}

/// The changes to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    boot_id: String,
    /// Whether cpuset was switched on below the root, and was not before.
    switched_on: bool,
}

/// Whether CPUs can be parked on the machine below `root`; changes nothing.
///
/// # Errors
/// The first thing that is missing.
pub fn check(root: &Path) -> Result<(), Lack> {
    let groups = System::find(root)?;
    has_cpuset(&groups).map_err(|lack| where_cpuset_is(root, lack))?;
    groups.may_change().map_err(|error| lack(&groups, "", &error))
}

/// Chooses the remedy by what the kernel tells of cgroup v1 (cgroups(7), /proc/cgroups): the controller belongs to one of its hierarchies, or is
/// missing.
fn where_cpuset_is(root: &Path, lack: Lack) -> Lack {
    let Ok(text) = std::fs::read_to_string(root.join("proc/cgroups")) else {
        return lack;
    };
    let line = text.lines().find(|line| line.starts_with("cpuset\t"));
    match line.map(|line| line.split('\t').nth(1)) {
        None => Lack::new(lack.what, "boot a kernel with CONFIG_CPUSETS=y"),
        Some(Some("0")) => lack,
        Some(_) => Lack::new(
            lack.what,
            "cgroup v1 has it: boot with cgroup_no_v1=cpuset; in a container run it on the host",
        ),
    }
}

fn has_cpuset(groups: &dyn Groups) -> Result<(), Lack> {
    let controllers = groups
        .read(CONTROLLERS)
        .map_err(|error| lack(groups, CONTROLLERS, &error))?;
    if controllers.split_whitespace().any(|name| name == "cpuset") {
        return Ok(());
    }
    Err(Lack::new(
        format!("{} has no cpuset ('{}')", groups.shown(CONTROLLERS), controllers.trim()),
        "if cgroup v1 has it (mount | grep cpuset), boot with cgroup_no_v1=cpuset, else take a kernel with CONFIG_CPUSETS=y; in a container run it on \
         the host",
    ))
}

fn lack(groups: &dyn Groups, file: &str, error: &io::Error) -> Lack {
    let mend = match error.kind() {
        io::ErrorKind::PermissionDenied => "this needs root: run it with sudo",
        io::ErrorKind::ReadOnlyFilesystem => "remount it writable, or run it on the host",
        _ => "",
    };
    Lack::new(format!("{}: {error}", groups.shown(file)), mend)
}

pub(crate) fn about(groups: &dyn Groups, file: &str, error: &io::Error) -> String {
    lack(groups, file, error).into()
}

/// The partition of parked CPUs. Removed by [`Partition::close`], and when dropped.
pub struct Partition {
    groups: Box<dyn Groups>,
    journal: PathBuf,
    switched_on: bool,
    /// The parked CPUs; `None` if the cgroup is not a partition now.
    parked: Option<Cpus>,
    is_open: bool,
}

impl Partition {
    /// Creates the cgroup without parking anything yet. First removes what a dead run left.
    ///
    /// # Errors
    /// A sentence: what is missing or refused, and what to do. Then nothing is left behind.
    pub(crate) fn open(groups: Box<dyn Groups>, journal: &Path) -> Result<Self, String> {
        has_cpuset(groups.as_ref())?;
        remove_left(groups.as_ref(), journal)?;
        if groups.exists(NAME) {
            remove(groups.as_ref())?;
        }
        let controlled = groups
            .read(CONTROLLED)
            .map_err(|error| about(groups.as_ref(), CONTROLLED, &error))?;
        let switched_on = !controlled.split_whitespace().any(|name| name == "cpuset");
        write_journal(journal, switched_on)?;
        let mut partition = Self {
            groups,
            journal: journal.to_path_buf(),
            switched_on,
            parked: None,
            is_open: true,
        };
        match partition.make() {
            Ok(()) => Ok(partition),
            Err(error) => {
                // If it cannot be removed, it is still in the journal.
                let _ = partition.close();
                Err(error)
            }
        }
    }

    fn make(&mut self) -> Result<(), String> {
        if self.switched_on {
            self.write(CONTROLLED, "+cpuset")?;
        }
        self.groups
            .make(NAME)
            .map_err(|error| about(self.groups.as_ref(), NAME, &error))
    }

    /// Parks exactly these CPUs. Only writes what differs; true if something did.
    ///
    /// # Errors
    /// A sentence with the kernel's answer and what to do. Then nothing may be parked.
    pub fn park(&mut self, cpus: &Cpus) -> Result<bool, String> {
        if self.parked.unwrap_or_default() == *cpus {
            return Ok(false);
        }
        // The kernel checks that newly parked CPUs leave one for the others, without counting those that are given back in the same write. So give back
        // first.
        let stays = self.parked().and(cpus);
        if stays != self.parked() && stays != *cpus {
            self.park(&stays)?;
        }
        if cpus.is_empty() {
            self.write(PARTITION, MEMBER)?;
            self.parked = None;
            return Ok(true);
        }
        self.write(CPUS, &cpus.to_string())?;
        if self.parked.is_none() {
            self.write(PARTITION, ISOLATED)?;
        }
        self.parked = Some(*cpus);
        self.check_answer(cpus).map(|()| true)
    }

    /// The kernel accepts any write, and reports the result in the same file.
    fn check_answer(&mut self, cpus: &Cpus) -> Result<(), String> {
        let groups = self.groups.as_ref();
        let answer = groups
            .read(PARTITION)
            .map_err(|error| about(groups, PARTITION, &error))?;
        if answer.trim() == ISOLATED {
            return Ok(());
        }
        Err(format!(
            "{}: the kernel answers '{}' for CPUs {cpus}: another cgroup may have claimed them (cpuset.cpus of those beside it, AllowedCPUs= of \
             systemd), or this is no root of cgroups (a container): free them, or run one command with 'lop run --enforce affinity'",
            groups.shown(PARTITION),
            answer.trim()
        ))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let groups = self.groups.as_ref();
        groups.write(file, text).map_err(|error| {
            let old = file == PARTITION && error.kind() == io::ErrorKind::InvalidInput;
            let way_out = if old {
                ": isolated partitions need Linux 6.1 or later"
            } else {
                ""
            };
            format!("writing '{text}': {}{way_out}", about(groups, file, &error))
        })
    }

    /// The CPUs available to cgroups here while nothing is parked; `None` if the kernel does not tell.
    #[must_use]
    pub fn usable(&self) -> Option<Cpus> {
        let text = self.groups.read(USABLE).ok()?;
        Cpus::parse(&text).filter(|cpus| !cpus.is_empty())
    }

    /// The CPUs parked now.
    #[must_use]
    pub fn parked(&self) -> Cpus {
        self.parked.unwrap_or_default()
    }

    /// The cgroup, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        self.groups.shown(NAME)
    }

    /// Gives all CPUs back and removes the cgroup. May be called again.
    ///
    /// # Errors
    /// It cannot be removed, and is still in the journal.
    pub fn close(&mut self) -> Result<(), String> {
        if !self.is_open {
            return Ok(());
        }
        undo(self.groups.as_ref(), self.switched_on)?;
        self.is_open = false;
        self.parked = None;
        forget(&self.journal)
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            eprintln!("lop: {error}");
        }
    }
}

/// Removes what a dead run left, according to its journal; true if there was one.
///
/// # Errors
/// It cannot be removed, or the journal cannot be read.
pub fn restore(root: &Path, journal: &Path) -> Result<bool, String> {
    if !journal.exists() {
        return Ok(false);
    }
    remove_left(&System::find(root)?, journal)
}

fn remove_left(groups: &dyn Groups, journal: &Path) -> Result<bool, String> {
    let Some(entry) = read_journal(journal)? else {
        return Ok(false);
    };
    // After a reboot there is nothing to undo.
    if entry.boot_id == boot_id() {
        undo(groups, entry.switched_on)?;
    }
    forget(journal).map(|()| true)
}

fn undo(groups: &dyn Groups, switched_on: bool) -> Result<(), String> {
    remove(groups)?;
    if switched_on {
        match groups.write(CONTROLLED, "-cpuset") {
            // Somebody uses it now, so it stays.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            written => written.map_err(|error| about(groups, CONTROLLED, &error))?,
        }
    }
    Ok(())
}

/// A cgroup with processes in it is not ours.
fn remove(groups: &dyn Groups) -> Result<(), String> {
    if !groups.exists(NAME) {
        return Ok(());
    }
    let processes = groups.read(PROCESSES).unwrap_or_default();
    if !processes.trim().is_empty() {
        return Err(format!(
            "{}: it has processes, so it does not park CPUs: move them elsewhere and remove it with rmdir",
            groups.shown(NAME)
        ));
    }
    // Without the controller the file does not exist, and removing the cgroup is enough anyway.
    let _ = groups.write(PARTITION, MEMBER);
    groups.remove(NAME).map_err(|error| about(groups, NAME, &error))
}

fn write_journal(path: &Path, switched_on: bool) -> Result<(), String> {
    let entry = Entry {
        boot_id: boot_id(),
        switched_on,
    };
    let write = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        replace(path, &serde_json::to_string(&entry)?)
    };
    write().map_err(|error: io::Error| format!("{}: {error}", path.display()))
}

fn read_journal(path: &Path) -> Result<Option<Entry>, String> {
    let bad =
        |error: &dyn std::fmt::Display| format!("{}: {error}: remove it when no cgroup {NAME} is left", path.display());
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(bad(&error)),
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| bad(&error)),
    }
}

fn forget(journal: &Path) -> Result<(), String> {
    match fs::remove_file(journal) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", journal.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
