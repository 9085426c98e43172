// SPDX-License-Identifier: GPL-2.0-only
//! Isolated CPUs change with cpuset partitions: the scheduler restarts if they differ from those at its start.

use lop_machine::live::{self, LiveMachine};
use lop_policy::record::{Kind, Record};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait after the program reported a change, which happens in several steps, and after the start, because the machine was read earlier.
const LOOK_AFTER: Duration = Duration::from_secs(1);

pub struct Isolation {
    root: PathBuf,
    known: BTreeSet<u32>,
    look_at: Option<Instant>,
}

impl Isolation {
    /// The isolated CPUs when `machine` was read.
    pub fn of(root: &Path, machine: &LiveMachine, now: Instant) -> Self {
        Self {
            root: root.to_path_buf(),
            known: machine.isolated(),
            look_at: Some(now + LOOK_AFTER),
        }
    }

    pub fn follow(&mut self, records: &[Record], now: Instant) {
        if records.iter().any(|record| record.kind == Kind::Isolated) {
            self.look_at.get_or_insert(now + LOOK_AFTER);
        }
    }

    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        Some(self.look_at?.saturating_duration_since(now))
    }

    /// Whether they have changed, once it is time to look. If the lists contradict each other while a CPU comes or goes, they are read again.
    pub fn has_changed(&mut self, now: Instant) -> bool {
        if self.look_at.is_none_or(|at| at > now) {
            return false;
        }
        let isolated = live::isolated(&self.root);
        self.look_at = isolated.is_err().then(|| now + LOOK_AFTER);
        isolated.is_ok_and(|isolated| isolated != self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    /// Four CPUs, at first without isolated ones, then with 2 and 3 isolated.
    #[test]
    fn what_changed_is_seen_a_second_after_the_start_and_after_it_was_said() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/present", "0-3\n");
        write("sys/devices/system/cpu/online", "0-3\n");
        let partition = |cpus: &str| write("sys/fs/cgroup/cpuset.cpus.isolated", cpus);
        partition("\n");
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let machine = live::read(root.path()).unwrap();
        let mut isolation = Isolation::of(root.path(), &machine, at(0));
        assert_eq!(isolation.due_in(at(0)), Some(Duration::from_secs(1)));
        assert!(!isolation.has_changed(at(1)));
        assert_eq!(isolation.due_in(at(1)), None, "no look without a report");

        partition("2-3\n");
        isolation.follow(&[], at(5));
        assert!(!isolation.has_changed(at(10)));
        isolation.follow(&[report(Kind::Isolated)], at(10));
        isolation.follow(&[report(Kind::Isolated)], at(10) + Duration::from_millis(900));
        assert_eq!(isolation.due_in(at(10)), Some(Duration::from_secs(1)));
        assert!(!isolation.has_changed(at(10)), "a change happens in several steps");
        assert!(isolation.has_changed(at(11)));

        let machine = live::read(root.path()).unwrap();
        let mut later = Isolation::of(root.path(), &machine, at(20));
        assert!(!later.has_changed(at(21)));
        let mut late = Isolation::of(root.path(), &machine, at(30));
        partition("0-4\n");
        assert!(
            !late.has_changed(at(31)),
            "no CPU would be left, so the lists are read again"
        );
        partition("1\n");
        assert!(late.has_changed(at(32)));
    }
}
