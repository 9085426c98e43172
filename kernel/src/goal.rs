// SPDX-License-Identifier: GPL-2.0-only
//! The goal that policy `auto` goes by: what was chosen at the start or since, else the user's power profile, else mains or battery.
//!
//! Nothing is polled: changes of the profile come over D-Bus, those of the supply as the kernel's events (uevents).

mod profile;

use crate::options::{Goal, GoalChoice, Named, Options};
use profile::Profiles;
use rustix::net::netlink::{SocketAddrNetlink, KOBJECT_UEVENT};
use rustix::net::{bind, recv, socket_with, AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The group of netlink in which the kernel itself sends events; udev sends in another.
const KERNEL_EVENTS: u32 = 1;

/// A goal, and for people why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aim {
    pub goal: Goal,
    pub why: String,
}

/// Follows the goal while the scheduler runs.
pub struct Follower {
    root: PathBuf,
    is_auto: bool,
    asked: Option<Goal>,
    profiles: Option<Profiles>,
    supply: Option<OwnedFd>,
}

impl Follower {
    /// Starts threads for D-Bus, so call it before the caller's priority rises.
    #[must_use]
    pub fn begin(options: &Options) -> Self {
        let is_auto = options.policy.policy == Named::Auto;
        Self {
            root: options.root.clone(),
            is_auto,
            asked: options.goal,
            profiles: is_auto.then(|| Profiles::follow(&options.root)).flatten(),
            supply: is_auto.then(|| listen().ok()).flatten(),
        }
    }

    /// Another choice takes the place of that of the options.
    pub fn choose(&mut self, choice: GoalChoice) {
        self.asked = choice.0;
    }

    /// The present goal; `None`: the policy has none.
    #[must_use]
    pub fn aim(&self) -> Option<Aim> {
        if !self.is_auto {
            return None;
        }
        if let Some(goal) = self.asked {
            let why = "as asked for".to_string();
            return Some(Aim { goal, why });
        }
        let of_profile = self.profiles.as_ref().and_then(Profiles::aim);
        let mut aim = of_profile.unwrap_or_else(|| of_supply(&self.root));
        aim.why.insert_str(0, "auto: ");
        Some(aim)
    }

    /// Readable when the goal may have changed; [`Follower::quiet`] resets them.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let bell = self.profiles.iter().map(Profiles::bell);
        bell.chain(self.supply.iter().map(AsFd::as_fd))
    }

    /// Takes what there is to read. What it says is not needed, since [`Follower::aim`] looks for itself.
    pub fn quiet(&self) {
        self.profiles.iter().for_each(Profiles::quiet);
        // Fails once nothing is left. Lost events are an error too, and others follow them.
        while self
            .supply
            .as_ref()
            .is_some_and(|supply| recv(supply, &mut [0_u8; 1], RecvFlags::DONTWAIT).is_ok())
        {}
    }
}

/// The kernel's events, of all devices.
fn listen() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let events = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT))?;
    bind(&events, &SocketAddrNetlink::new(0, KERNEL_EVENTS))?;
    Ok(events)
}

/// Energy on battery, else balanced. Batteries of mice and headsets do not count. A charger counts if it is online; where the machine tells of none, a
/// battery that discharges says the same.
fn of_supply(root: &Path) -> Aim {
    let folder = root.join("sys/class/power_supply");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let supplies: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let word = |supply: &Path, file: &str| {
        fs::read_to_string(supply.join(file))
            .unwrap_or_default()
            .trim()
            .to_string()
    };
    let own = || supplies.iter().filter(|supply| word(supply, "scope") != "Device");
    let mut batteries = own().filter(|supply| word(supply, "type") == "Battery").peekable();
    let chargers: Vec<_> = own()
        .filter(|supply| word(supply, "type") == "Mains" || word(supply, "type").starts_with("USB"))
        .collect();
    let discharges = match (batteries.peek(), chargers.is_empty()) {
        (None, _) => {
            let why = "no battery".to_string();
            return Aim {
                goal: Goal::Balanced,
                why,
            };
        }
        (_, true) => batteries.any(|battery| word(battery, "status") == "Discharging"),
        (_, false) => chargers.iter().all(|charger| word(charger, "online") == "0"),
    };
    let (goal, why) = match discharges {
        true => (Goal::Energy, "on battery"),
        false => (Goal::Balanced, "on mains"),
    };
    Aim {
        goal,
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests;
