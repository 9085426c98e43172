// SPDX-License-Identifier: GPL-2.0-only
//! The few operations on the cgroup filesystem, so that tests can imitate a kernel.

use super::Lack;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Files and folders, named by paths relative to the root of cgroup v2.
pub(crate) trait Groups: Send {
    fn read(&self, file: &str) -> io::Result<String>;
    /// One write, as `echo` does; never creates a file.
    fn write(&self, file: &str, text: &str) -> io::Result<()>;
    fn make(&self, group: &str) -> io::Result<()>;
    fn remove(&self, group: &str) -> io::Result<()>;
    fn exists(&self, group: &str) -> bool;
    /// The whole path, for people.
    fn shown(&self, name: &str) -> String;
}

/// The mount point of cgroup v2.
pub(crate) struct System(PathBuf);

impl System {
    /// # Errors
    /// It is not mounted.
    pub fn find(root: &Path) -> Result<Self, Lack> {
        let mounts = root.join("proc/self/mountinfo");
        let text = fs::read_to_string(&mounts)
            .map_err(|error| Lack::new(format!("{}: {error}", mounts.display()), "mount /proc"))?;
        match text.lines().find_map(mount_point) {
            Some(at) => Ok(Self(root.join(at.trim_start_matches('/')))),
            None => Err(Lack::new(
                "no cgroup v2 is mounted",
                "sudo mount -t cgroup2 none /sys/fs/cgroup; for good boot with systemd.unified_cgroup_hierarchy=1",
            )),
        }
    }

    /// Whether this process may create cgroups there.
    ///
    /// # Errors
    /// It may not.
    pub fn may_change(&self) -> io::Result<()> {
        Ok(rustix::fs::access(&self.0, rustix::fs::Access::WRITE_OK)?)
    }

    /// The cgroups inside one, at any depth; empty if it is gone.
    pub fn below(&self, group: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(group)).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
        let children = names.map(|name| format!("{group}/{name}"));
        children
            .flat_map(|child| {
                let inside = self.below(&child);
                std::iter::once(child).chain(inside)
            })
            .collect()
    }
}

/// The mount point in a line of mountinfo, if it is that of cgroup v2: `ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS`.
fn mount_point(line: &str) -> Option<String> {
    let (about, of) = line.split_once(" - ")?;
    let is_v2 = of.split_whitespace().next() == Some("cgroup2");
    is_v2.then(|| about.split_whitespace().nth(4).map(unescaped)).flatten()
}

/// Replaces escapes such as `\040` for a blank.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| first == b'\\');
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Groups for System {
    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.0.join(file))
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).truncate(true).open(self.0.join(file))?;
        file.write_all(format!("{text}\n").as_bytes())
    }

    fn make(&self, group: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(group))
    }

    fn remove(&self, group: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(group))
    }

    fn exists(&self, group: &str) -> bool {
        self.0.join(group).exists()
    }

    fn shown(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_found_wherever_it_is() {
        let v1 = "31 24 0:27 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset";
        let v2 = "42 24 0:39 / /mnt/all\\040groups rw,relatime shared:9 - cgroup2 cgroup2 rw";
        assert_eq!(mount_point(v1), None);
        assert_eq!(mount_point(v2), Some("/mnt/all groups".into()));
        assert_eq!(unescaped("a\\x\\1"), "a\\x\\1");
    }
}
