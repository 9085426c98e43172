// SPDX-License-Identifier: GPL-2.0-only
//! Whether CPUs came or went.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks for a change that must be about to show.
const SOON_PAUSE: Duration = Duration::from_millis(5);

/// The list of CPUs that are online, as it was at the beginning.
pub(crate) struct Hotplug {
    online: PathBuf,
    was: String,
    seen: Instant,
}

impl Hotplug {
    /// How often to look.
    pub const PERIOD: Duration = Duration::from_secs(1);

    pub fn of(root: &Path) -> Self {
        let online = root.join("sys/devices/system/cpu/online");
        Self {
            was: std::fs::read_to_string(&online).unwrap_or_default(),
            seen: Instant::now(),
            online,
        }
    }

    /// Looks once a period.
    pub fn has_changed_lately(&mut self) -> bool {
        if self.seen.elapsed() < Self::PERIOD {
            return false;
        }
        self.seen = Instant::now();
        self.has_changed()
    }

    /// Waits for a change, a period at most: a CPU that goes leaves the cpusets first, and the list of those that are online later.
    pub fn changes_soon(&self) -> bool {
        let end = Instant::now() + Self::PERIOD;
        while !self.has_changed() {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(SOON_PAUSE);
        }
        true
    }

    fn has_changed(&self) -> bool {
        std::fs::read_to_string(&self.online).is_ok_and(|now| now != self.was)
    }
}
