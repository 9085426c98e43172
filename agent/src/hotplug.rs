// SPDX-License-Identifier: GPL-2.0-only
//! Notices when CPUs come or go.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pause between two looks for a change that must show soon.
const SOON_PAUSE: Duration = Duration::from_millis(5);

/// The list of online CPUs at the beginning.
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

    /// Waits for a change, for at most a period: a CPU that goes offline first leaves the cpusets, and only later the list of online CPUs.
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
