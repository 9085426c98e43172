// SPDX-License-Identifier: GPL-2.0-only
//! Ends by the kernel's watchdog, kept across starts: after one the service starts the scheduler again, but not without end.

use crate::instance::RunDir;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// So many ends in [`WITHIN`] are followed by a start; after one more the kernel's own scheduler stays in charge.
pub const MOST_RESTARTS: usize = 3;
pub const WITHIN: Duration = Duration::from_secs(3600);

/// Notes one, and returns how many there were in the last hour, with it.
///
/// # Errors
/// The file cannot be written.
pub fn note(dir: &RunDir, now: SystemTime) -> io::Result<usize> {
    let mut times = recent(dir, now);
    times.push(now);
    let seconds = |time: &SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let lines: String = times.iter().map(|time| format!("{}\n", seconds(time))).collect();
    std::fs::write(dir.stalls(), lines)?;
    // For everybody's `lop status`.
    std::fs::set_permissions(dir.stalls(), Permissions::from_mode(0o644))?;
    Ok(times.len())
}

/// When they happened in the last hour, the oldest first. Lines that are no time, or one in the future, do not count.
#[must_use]
pub fn recent(dir: &RunDir, now: SystemTime) -> Vec<SystemTime> {
    let text = std::fs::read_to_string(dir.stalls()).unwrap_or_default();
    let times = text.lines().filter_map(|line| line.parse().ok());
    times
        .filter_map(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
        .filter(|&time| now.duration_since(time).is_ok_and(|age| age < WITHIN))
        .collect()
}

/// For people: that the scheduler was ended by the watchdog, and what follows. `None`: not in the last hour.
#[must_use]
pub fn describe(dir: &RunDir, now: SystemTime) -> Option<String> {
    let stalls = recent(dir, now);
    let last = now.duration_since(*stalls.last()?).unwrap_or_default().as_secs() / 60;
    let times = match stalls.len() {
        1 => "once".to_string(),
        times => format!("{times} times"),
    };
    let follows = match stalls.len() > MOST_RESTARTS {
        true => "it is not started again; 'sudo systemctl start lopsided' starts it",
        false => "as a service it is started again",
    };
    Some(format!(
        "the kernel's watchdog ended Lopsided {times} in the last hour, {last} min ago, because a task had waited too long: {follows}; \
         'journalctl -u lopsided' shows which task"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_the_last_hour_count() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let start = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let minute = |n: u64| start + Duration::from_secs(60 * n);
        assert_eq!(describe(&dir, start), None);
        assert_eq!([0, 1, 2].map(|n| note(&dir, minute(n)).unwrap()), [1, 2, 3]);
        let said = describe(&dir, minute(4)).unwrap();
        assert!(
            said.contains("3 times") && said.contains("2 min ago") && said.contains("is started again"),
            "{said}"
        );
        assert_eq!(note(&dir, minute(5)).unwrap(), MOST_RESTARTS + 1);
        assert!(describe(&dir, minute(5)).unwrap().contains("not started again"));
        assert_eq!(note(&dir, minute(62)).unwrap(), 2, "those of minutes 0 to 2 are over");
        assert!(recent(&dir, minute(200)).is_empty());
    }

    #[test]
    fn a_damaged_file_counts_for_what_it_still_has() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let now = UNIX_EPOCH + Duration::from_secs(10_000);
        std::fs::write(dir.stalls(), "9000\nnonsense\n\n-1\n99999\n18446744073709551615\n9999").unwrap();
        assert_eq!(recent(&dir, now).len(), 2);
        std::fs::write(dir.stalls(), [0xff, 0xfe, b'\n']).unwrap();
        assert!(recent(&dir, now).is_empty());
    }
}
