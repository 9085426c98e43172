// SPDX-License-Identifier: GPL-2.0-only
//! Control groups (version 2) with weights, which are removed at the end of a run.

use anyhow::{bail, Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Our own group below the root, with one subgroup for each name.
pub struct ControlGroups {
    top: PathBuf,
    groups: BTreeMap<String, PathBuf>,
}

impl ControlGroups {
    /// Creates a group for each name, with its weight.
    ///
    /// # Errors
    /// Not root, no mounted cgroup2 with a free cpu controller, or two weights for one name.
    pub fn new(wanted: &[(String, u32)]) -> Result<Self> {
        let root = mount_point(&fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?)?;
        write(&root.join("cgroup.subtree_control"), "+cpu")?;
        let top = root.join(format!("lop-load-{}", std::process::id()));
        fs::create_dir(&top).with_context(|| format!("create {}", top.display()))?;
        let mut all = ControlGroups {
            top,
            groups: BTreeMap::new(),
        };
        write(&all.top.join("cgroup.subtree_control"), "+cpu")?;
        for (name, weight) in weights(wanted)? {
            let group = all.top.join(&name);
            fs::create_dir(&group).with_context(|| format!("create {}", group.display()))?;
            all.groups.insert(name, group.clone());
            write(&group.join("cpu.weight"), &weight.to_string())?;
        }
        Ok(all)
    }

    /// Moves a process into the group with that name.
    ///
    /// # Errors
    /// No such group, or the kernel refuses.
    pub fn enter(&self, name: &str, pid: u32) -> Result<()> {
        let group = self.groups.get(name).with_context(|| format!("no cgroup `{name}`"))?;
        write(&group.join("cgroup.procs"), &pid.to_string())
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        for folder in self.groups.values().chain([&self.top]) {
            if let Err(error) = fs::remove_dir(folder) {
                eprintln!("lop-load: {} stays: {error}; remove it with rmdir", folder.display());
            }
        }
    }
}

fn weights(wanted: &[(String, u32)]) -> Result<BTreeMap<String, u32>> {
    let mut weights = BTreeMap::new();
    for (name, weight) in wanted {
        let known = *weights.entry(name.clone()).or_insert(*weight);
        anyhow::ensure!(
            known == *weight,
            "cgroup `{name}` has two weights, {known} and {weight}: give one"
        );
    }
    Ok(weights)
}

fn mount_point(mounts: &str) -> Result<PathBuf> {
    let of_line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, point, "cgroup2", ..] => Some(PathBuf::from(point)),
        _ => None,
    };
    match mounts.lines().find_map(of_line) {
        Some(point) => Ok(point),
        None => bail!("no cgroup2 is mounted: mount -t cgroup2 cgroup2 /sys/fs/cgroup"),
    }
}

fn write(file: &Path, value: &str) -> Result<()> {
    fs::write(file, value).with_context(|| format!("write `{value}` to {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is_mounted() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        assert_eq!(mount_point(mounts).unwrap(), Path::new("/sys/fs/cgroup"));
        assert!(mount_point("cgroup /a cgroup rw 0 0")
            .unwrap_err()
            .to_string()
            .contains("mount -t cgroup2"));
    }

    #[test]
    fn one_weight_for_each_name() {
        let of = |all: &[(&str, u32)]| weights(&all.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect::<Vec<_>>());
        assert_eq!(of(&[("a", 1), ("b", 2), ("a", 1)]).unwrap().len(), 2);
        assert!(of(&[("a", 1), ("a", 2)]).is_err());
    }
}
