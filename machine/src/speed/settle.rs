// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of frequency take effect a moment after they were written: a worker of the kernel takes them in, and until then they are shown as
//! they were.

use super::files::Files;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The worker needs microseconds, unless tasks of real-time priority hold its CPU.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

pub(super) fn takes_effect_later(path: &str) -> bool {
    path.ends_with("/scaling_max_freq") || path.ends_with("/scaling_min_freq")
}

/// Until when the limits that are written now have to be shown.
pub(super) fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// What a limit shows (trimmed) once `is_there` holds of it, or at last at the deadline.
pub(super) fn shown_at_last(
    files: &dyn Files,
    path: &str,
    deadline: Instant,
    is_there: impl Fn(&str) -> bool,
) -> io::Result<String> {
    loop {
        let shown = files.read_trimmed(path)?;
        if is_there(&shown) || Instant::now() >= deadline {
            return Ok(shown);
        }
        sleep(LOOK);
    }
}
