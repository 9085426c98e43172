// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy meters: how much energy this machine used. Each names itself, and one that cannot be read says why. A meter that cannot be read
//! never answers zero.
//!
//! [`find`] lists the meters of this machine. [`open`] opens the best one, or the one asked for, and reads it as often as necessary; a consumer
//! only calls [`OpenMeter::total_uj`]. `meter/README.md` tells what is read where.

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

/// Kinds of meters in the order in which one is chosen, best first. The meter of GPUs is last, and only used if named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeterKind {
    /// Energy counters of the processor through the kernel's `perf` events (`power/energy-pkg/` and others).
    Perf,
    /// Energy counters of the processor through `/sys/class/powercap`.
    Powercap,
    /// Sensors of the board: `/sys/class/hwmon`.
    Hwmon,
    /// What a laptop's battery delivers: `/sys/class/power_supply`.
    Battery,
    /// The power reading of a server's management controller (IPMI DCMI).
    Ipmi,
    /// A command of the user, for a wall meter.
    Command,
    /// Not measured: the machine's model applied to measured residencies.
    Modelled,
    /// NVIDIA's GPUs, through the library of their driver.
    Nvml,
}

impl MeterKind {
    /// All kinds, in the order in which one is chosen.
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

    /// Whether it measures GPUs only, and so nothing that a scheduler places work on.
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

/// A meter's description of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub kind: MeterKind,
    /// What is read, for people: `powercap package-0 + dram`, `modelled from phenom-9750`.
    pub name: String,
    /// Whether the whole system is measured (a battery, a wall meter), or the processor and its memory only, or ([`MeterKind::is_of_gpus`]) the GPUs.
    pub whole_system: bool,
    /// How often the meter updates, if known.
    pub update_period: Option<Duration>,
    /// Modelled with the watts of another processor: ratios of energies say something, joules little.
    pub only_ratios: bool,
}

/// A meter in use.
pub trait Meter: Send {
    fn source(&self) -> &Source;

    /// Energy in microjoules since the meter was opened. Must be called at least once in every `read_within()`.
    ///
    /// # Errors
    /// The meter vanished, may no longer be read, or gives an impossible value.
    fn read_uj(&mut self) -> Result<u64, MeterError>;

    /// Longest time between two readings: in it a counter cannot wrap twice, and sampled power is not missed. None: no limit.
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
