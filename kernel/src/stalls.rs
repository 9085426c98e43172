// SPDX-License-Identifier: GPL-2.0-only
//! Ends by the kernel's watchdog, kept across starts: after one the service starts the scheduler again, but not without end.

use crate::instance::RunDir;
use rustix::time::{clock_gettime, ClockId};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

/// The service starts the scheduler again after this many stalls within [`WITHIN_S`]; after one more it stays off.
pub const MOST_RESTARTS: usize = 3;
pub const WITHIN_S: u64 = 3600;

/// Returns the seconds since the machine booted. The run folder lives as long, and no correction of the clock counts.
#[must_use]
pub fn now_s() -> u64 {
    u64::try_from(clock_gettime(ClockId::Boottime).tv_sec).unwrap_or(0)
}

/// Notes a stall, and returns whether the scheduler stays off now.
///
/// # Errors
/// The file cannot be written.
pub fn note(dir: &RunDir, now_s: u64) -> io::Result<bool> {
    let mut stalls = read(dir);
    stalls.push(now_s);
    let lines: String = stalls.iter().map(|at_s| format!("{at_s}\n")).collect();
    let new = dir.stalls().with_extension("new");
    std::fs::write(&new, lines)?;
    // `lop status` reads it as any user.
    std::fs::set_permissions(&new, Permissions::from_mode(0o644))?;
    std::fs::rename(&new, dir.stalls())?;
    Ok(stays_off(&last_ones(&stalls)))
}

/// Forgets all stalls if the scheduler stayed off because of them, since an administrator starts it again.
///
/// # Errors
/// The file cannot be removed.
pub fn begin(dir: &RunDir) -> io::Result<()> {
    match stays_off(&last_ones(&read(dir))) {
        true => std::fs::remove_file(dir.stalls()),
        false => Ok(()),
    }
}

/// Describes in one line, for people, the stalls within an hour and what follows from them. `None`: the last one was more than an hour ago, and the
/// scheduler may run.
#[must_use]
pub fn describe(dir: &RunDir, now_s: u64) -> Option<String> {
    let stalls = last_ones(&read(dir));
    let age_s = now_s.saturating_sub(*stalls.last()?);
    let follows = match stays_off(&stalls) {
        true => {
            "it is not started again; 'sudo systemctl reset-failed lopsided; sudo systemctl start lopsided' starts it"
        }
        false if age_s < WITHIN_S => "as a service it is started again",
        false => return None,
    };
    let times = match stalls.len() {
        1 => "once".to_string(),
        times => format!("{times} times within an hour"),
    };
    Some(format!(
        "the kernel's watchdog ended Lopsided {times}, {} min ago, because a task had waited too long: {follows}; 'journalctl -u lopsided' shows which task",
        age_s / 60
    ))
}

fn stays_off(stalls: &[u64]) -> bool {
    stalls.len() > MOST_RESTARTS
}

/// Reads the times of all stalls. A line that is no number does not count.
fn read(dir: &RunDir) -> Vec<u64> {
    let bytes = std::fs::read(dir.stalls()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Returns those in the hour up to the last one.
fn last_ones(stalls: &[u64]) -> Vec<u64> {
    let last_s = stalls.last().copied().unwrap_or(0);
    let is_near = |&&at_s: &&u64| at_s <= last_s && last_s - at_s < WITHIN_S;
    stalls.iter().filter(is_near).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, RunDir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        (folder, dir)
    }

    #[test]
    fn the_fourth_within_an_hour_keeps_it_off_until_it_is_started_by_hand() {
        let (_folder, dir) = folder();
        assert_eq!(describe(&dir, 100), None);
        let stays_off = [0, 600, 1200].map(|at_s| note(&dir, at_s).unwrap());
        assert_eq!(stays_off, [false; 3]);
        begin(&dir).unwrap();
        let line = describe(&dir, 1320).unwrap();
        assert!(
            line.contains("3 times within an hour, 2 min ago") && line.contains("is started again"),
            "{line}"
        );
        assert!(note(&dir, 1800).unwrap());
        for at_s in [1800, 1800 + WITHIN_S, 1800 + 100 * WITHIN_S] {
            assert!(
                describe(&dir, at_s).unwrap().contains("4 times within an hour"),
                "however long ago"
            );
        }
        begin(&dir).unwrap();
        assert_eq!(describe(&dir, 1900), None);
        assert!(!note(&dir, 1900).unwrap());
    }

    #[test]
    fn an_hour_without_a_stall_ends_the_count() {
        let (_folder, dir) = folder();
        let stays_off = [0, 10, 20, WITHIN_S + 15, WITHIN_S + 25].map(|at_s| note(&dir, at_s).unwrap());
        assert_eq!(stays_off, [false; 5]);
        assert!(describe(&dir, WITHIN_S + 30).unwrap().contains("2 times"));
        assert_eq!(describe(&dir, 3 * WITHIN_S), None);
    }

    #[test]
    fn a_damaged_file_counts_for_what_it_still_has() {
        let (_folder, dir) = folder();
        std::fs::write(
            dir.stalls(),
            b"9000\nnonsense\n\n-1\n\xff\xfe\n99999999999999999999999\n9999\n",
        )
        .unwrap();
        assert!(!note(&dir, 10_000).unwrap());
        assert!(describe(&dir, 10_000).unwrap().contains("3 times"));
        std::fs::write(dir.stalls(), "5\n18446744073709551615\n3\n").unwrap();
        assert!(!note(&dir, 7).unwrap());
    }
}
