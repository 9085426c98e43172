// SPDX-License-Identifier: GPL-2.0-only
//! How many tasks of the machine want to run, from /proc/loadavg: the cheapest source, which does not tell which tasks they are.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longest line of the file.
const LINE_BYTES: usize = 128;

pub(crate) struct Demand(File);

impl Demand {
    /// # Errors
    /// A sentence: /proc is not mounted.
    pub fn open(root: &Path) -> Result<Self, String> {
        let path = root.join("proc/loadavg");
        let file = File::open(&path).map_err(|error| format!("{}: {error}: mount /proc", path.display()))?;
        Ok(Self(file))
    }

    /// Tasks that run or wait for a CPU now, without the calling thread.
    ///
    /// # Errors
    /// The file can no longer be read, or its contents are wrong.
    pub fn now(&self) -> io::Result<u32> {
        let mut line = [0; LINE_BYTES];
        let read = self.0.read_at(&mut line, 0)?;
        let text = String::from_utf8_lossy(&line[..read]);
        let running =
            running(&text).ok_or_else(|| io::Error::other(format!("/proc/loadavg: no count of tasks in '{text}'")))?;
        Ok(running.saturating_sub(1))
    }
}

/// `0.20 0.18 0.12 3/312 4711`: 3 of 312 tasks run or wait.
fn running(text: &str) -> Option<u32> {
    text.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let path = folder.path().join("proc/loadavg");
        std::fs::write(&path, "0.20 0.18 0.12 3/312 4711\n").unwrap();
        let demand = Demand::open(folder.path()).unwrap();
        assert_eq!(demand.now().unwrap(), 2);
        std::fs::write(&path, "0.20 0.18 0.12 1/312 4711\n").unwrap();
        assert_eq!(demand.now().unwrap(), 0);
        std::fs::write(&path, "nothing\n").unwrap();
        assert!(demand.now().unwrap_err().to_string().contains("'nothing"));
    }
}
