// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy meters: what tells how much energy this machine used. Each names itself, and one that cannot be read says why: no meter
//! ever answers zero because it could not be read.
//!
//! [`find`] tells which meters this machine has, [`open`] takes one, the best or the one that was asked for, and reads it as often as it
//! needs: a consumer asks for [`OpenMeter::total_uj`] and nothing else. `meter/README.md` says what is read where.

mod battery;
mod choose;
mod command;
mod hwmon;
mod integral;
mod ipmi;
mod modelled;
mod nvml;
pub mod parse;
mod perf;
mod powercap;
mod residency;
mod rising;
mod sampler;
#[cfg(test)]
pub(crate) mod tests;
mod world;

pub use choose::{find, find_with, open, Found, Setup, Wraps};
pub(crate) use modelled::OWN_MODEL;
pub use sampler::OpenMeter;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Where energy comes from, best first: the order in which a meter is chosen. What measures GPUs only is last, and chosen by name only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeterKind {
    /// Energy counters of the processor through the kernel's `perf` events (`power/energy-pkg/` and others).
    Perf,
    /// Energy counters of the processor through `/sys/class/powercap`.
    Powercap,
    /// Sensors of the board: `/sys/class/hwmon`.
    Hwmon,
    /// What a laptop's battery gives: `/sys/class/power_supply`.
    Battery,
    /// The power reading of a server's management controller (IPMI DCMI).
    Ipmi,
    /// A command of the user's, for a wall meter.
    Command,
    /// Not measured: the machine's model applied to measured residencies.
    Modelled,
    /// NVIDIA's GPUs, by the library of their driver.
    Nvml,
}

impl MeterKind {
    /// All of them, in the order in which one is chosen.
    pub const ALL: [Self; 8] = [
        Self::Perf,
        Self::Powercap,
        Self::Hwmon,
        Self::Battery,
        Self::Ipmi,
        Self::Command,
        Self::Modelled,
        Self::Nvml,
    ];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::Powercap => "powercap",
            Self::Hwmon => "hwmon",
            Self::Battery => "battery",
            Self::Ipmi => "ipmi",
            Self::Command => "command",
            Self::Modelled => "modelled",
            Self::Nvml => "nvml",
        }
    }

    /// Whether it tells of GPUs, and of nothing that a scheduler places work on.
    pub fn is_of_gpus(self) -> bool {
        self == Self::Nvml
    }
}

impl FromStr for MeterKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("unknown meter '{name}', expected one of {}", names()))
    }
}

impl fmt::Display for MeterKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a meter says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub kind: MeterKind,
    /// What is read, for people: `powercap package-0 + dram`, `modelled from phenom-9750`.
    pub name: String,
    /// Whether the whole system is measured (a battery, a wall meter), or the processor and its memory only, or ([`MeterKind::is_of_gpus`]) the GPUs.
    pub whole_system: bool,
    /// How often the meter has something new, where that is known.
    pub update_period: Option<Duration>,
}

/// A meter in use.
pub trait Meter: Send {
    fn source(&self) -> &Source;

    /// Energy in microjoules since the meter was opened. Has to be called at least once in `read_within()`.
    ///
    /// # Errors
    /// A meter that vanished, may not be read any more, or gives what cannot be.
    fn read_uj(&mut self) -> Result<u64, MeterError>;

    /// The longest time between two readings in which a counter that wraps does not do so twice, or a power that is sampled is not
    /// missed. None: as long as one likes.
    fn read_within(&self) -> Option<Duration>;
}

/// Why a meter cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterError {
    pub kind: MeterKind,
    /// The file, event or command.
    pub what: String,
    pub reason: String,
    /// The way out: a command, an option, a package.
    pub mend: String,
}

impl MeterError {
    fn new(kind: MeterKind, what: impl Into<String>, reason: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            reason: reason.into(),
            mend: mend.into(),
        }
    }
}

impl fmt::Display for MeterError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "meter {}: {}: {}; {}", self.kind, self.what, self.reason, self.mend)
    }
}

impl std::error::Error for MeterError {}
