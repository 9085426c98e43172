// SPDX-License-Identifier: GPL-2.0-only
//! Limits of CPU time (`cpu.max`). Only the kernel's own scheduler enforces them here, so it is in charge while a group has one.

use super::program;
use crate::options::Options;
use crate::requests::Inbox;
use crate::support::{self, Missing};
use lop_policy::record::{Kind, Record};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at the groups, where nothing reports a change.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two looks that reports ask for.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How long no group may have had a limit before the scheduler comes back: this, doubled each time, up to the most.
const CALM: Duration = Duration::from_secs(1);
const MOST_CALM: Duration = Duration::from_secs(64);

/// Looks for limits while the scheduler is in charge.
pub struct Limits {
    root: PathBuf,
    /// Whether the kernel reports each limit that is set.
    is_reported: bool,
    /// `--ignore-cpu-max`
    is_ignored: bool,
    look_at: Option<Instant>,
    looked_at: Option<Instant>,
}

impl Limits {
    /// Looks at once, since a limit may have been set while the program was loaded.
    pub fn of(options: &Options, now: Instant) -> Self {
        Self::with_reports(options, program::reports_limits(), now)
    }

    fn with_reports(options: &Options, is_reported: bool, now: Instant) -> Self {
        Self {
            root: options.root.clone(),
            is_reported,
            is_ignored: options.ignore_cpu_max,
            look_at: (!options.ignore_cpu_max).then_some(now),
            looked_at: None,
        }
    }

    /// Looks soon: at once, or a while after the last look, since any user with a cgroup may cause looks.
    pub fn look(&mut self, now: Instant) {
        let earliest = self
            .looked_at
            .map_or(now, |looked_at| now.max(looked_at + LOOK_AGAIN_AFTER));
        self.look_at = (!self.is_ignored).then_some(earliest);
    }

    pub fn follow(&mut self, records: &[Record], now: Instant) {
        if records.iter().any(|record| record.kind == Kind::Limit) {
            self.look(now);
        }
    }

    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        Some(self.look_at?.saturating_duration_since(now))
    }

    /// The limits, once it is time to look.
    pub fn find(&mut self, now: Instant) -> Option<Missing> {
        if self.look_at.is_none_or(|at| at > now) {
            return None;
        }
        self.looked_at = Some(now);
        self.look_at = (!self.is_reported).then(|| now + LOOK_EVERY);
        support::limits(&self.root)
    }
}

/// How long no group may have had a limit after the scheduler has given the machine back so many times.
pub fn calm_after(times: u32) -> Duration {
    CALM.saturating_mul(1 << times.saturating_sub(1).min(16)).min(MOST_CALM)
}

/// Waits until no group below `root` has had a limit for so long. `answer`: called whenever there are requests. Returns early if it is asked to end.
///
/// # Errors
/// The system's own.
pub fn wait_until_gone(root: &Path, calm: Duration, inbox: &Inbox, mut answer: impl FnMut()) -> io::Result<()> {
    let mut limited = support::limited_group(root);
    let mut gone_since = Instant::now();
    while !inbox.stop_wanted() {
        let is_limited = limited.as_deref().is_some_and(support::has_limit);
        limited = if is_limited {
            limited
        } else {
            support::limited_group(root)
        };
        if limited.is_some() {
            gone_since = Instant::now();
        } else if gone_since.elapsed() >= calm {
            break;
        }
        inbox.wait_for(LOOK_EVERY)?;
        answer();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;
    use crate::requests::requests;

    fn machine(limit: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("sys/fs/cgroup/a/b")).unwrap();
        std::fs::write(root.path().join("sys/fs/cgroup/a/b/cpu.max"), limit).unwrap();
        root
    }

    fn options(root: &Path, ignore_cpu_max: bool) -> Options {
        Options {
            root: root.to_path_buf(),
            ignore_cpu_max,
            ..Options::default()
        }
    }

    #[test]
    fn it_looks_at_the_start_and_whenever_a_limit_is_reported() {
        let root = machine("max 100000\n");
        let options = options(root.path(), false);
        let now = Instant::now();
        let mut limits = Limits::with_reports(&options, true, now);
        assert_eq!(limits.due_in(now), Some(Duration::ZERO));
        assert!(limits.find(now).is_none() && limits.due_in(now).is_none());
        std::fs::write(root.path().join("sys/fs/cgroup/a/b/cpu.max"), "10000 100000\n").unwrap();
        limits.follow(&[report(Kind::Isolated)], now);
        assert!(limits.find(now).is_none());
        limits.follow(&[report(Kind::Limit)], now);
        assert_eq!(limits.due_in(now), Some(LOOK_AGAIN_AFTER), "it has just looked");
        assert!(limits.find(now).is_none());
        assert!(limits.find(now + LOOK_AGAIN_AFTER).unwrap().what.contains("a/b"));
    }

    #[test]
    fn where_nothing_reports_limits_it_looks_each_second() {
        let root = machine("max 100000\n");
        let now = Instant::now();
        let mut limits = Limits::with_reports(&options(root.path(), false), false, now);
        assert!(limits.find(now).is_none());
        assert_eq!(limits.due_in(now), Some(LOOK_EVERY));
        std::fs::write(root.path().join("sys/fs/cgroup/a/b/cpu.max"), "10000 100000\n").unwrap();
        assert!(limits.find(now).is_none() && limits.find(now + LOOK_EVERY).is_some());
    }

    #[test]
    fn it_never_looks_if_limits_are_to_be_ignored() {
        let root = machine("10000 100000\n");
        let options = options(root.path(), true);
        let now = Instant::now();
        let mut limits = Limits::with_reports(&options, false, now);
        limits.follow(&[report(Kind::Limit)], now);
        assert!(limits.due_in(now).is_none() && limits.find(now).is_none());
    }

    #[test]
    fn the_time_without_limits_doubles_up_to_the_most() {
        assert_eq!(
            [1, 2, 3, 7, 8, 1000].map(|times| calm_after(times).as_secs()),
            [1, 2, 4, 64, 64, 64]
        );
    }

    #[test]
    fn it_waits_until_the_limit_is_gone_or_until_it_is_asked_to_end() {
        let root = machine("10000 100000\n");
        let file = root.path().join("sys/fs/cgroup/a/b/cpu.max");
        let (asks, inbox) = requests().unwrap();
        let mut answers = 0;
        wait_until_gone(root.path(), Duration::ZERO, &inbox, || {
            answers += 1;
            std::fs::write(&file, "max 100000\n").unwrap();
        })
        .unwrap();
        assert_eq!(answers, 1);
        std::fs::write(&file, "10000 100000\n").unwrap();
        wait_until_gone(root.path(), Duration::ZERO, &inbox, || asks.stop()).unwrap();
        assert!(inbox.stop_wanted());
    }
}
