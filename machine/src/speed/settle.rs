// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency limits take effect a moment after they were written: a worker of the kernel applies them, and until then the files show the old
//! values.

use super::files::Files;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The worker needs microseconds, unless real-time tasks hold its CPU.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

pub(super) fn takes_effect_later(path: &str) -> bool {
    path.ends_with("/scaling_max_freq") || path.ends_with("/scaling_min_freq")
}

/// By when limits that are written now must be shown.
pub(super) fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// What a limit shows (trimmed) once `is_there` holds for it, or at the deadline.
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
