// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine ships: how its scheduler places a woken task, and what sets its speeds.

use crate::check::Source;
use crate::costs::Control;
use crate::schema::ShipsFile;
use crate::InputError;
use lop_policy::Goal;
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ships {
    pub placement: Placement,
    /// `None`: no cpufreq; the clock stays at its highest point.
    pub governor: Option<Governor>,
    /// Where both come from.
    pub source: String,
}

/// How the scheduler places a woken task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On the CPU that has been idle longest, as the sources of the studies assume.
    LongestIdle,
    Random,
    /// Near where it ran or near its waker, as Linux's fair class does; CPUs have queues of their own.
    FairClass,
    /// As `FairClass`, with asym packing: running tasks go to idle cores of higher rank (ITMT, preferred cores).
    AsymPacking,
}

/// A cpufreq governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governor {
    Performance,
    Powersave,
    /// All cores at this frequency, or at the nearest that their kind has. At least one kind has it. `None`: the lowest.
    Userspace {
        khz: Option<u64>,
    },
    Ondemand,
    Schedutil,
    /// `schedutil`, with tasks placed where they take the least energy, on machines with several kinds of cores.
    Eas,
    /// The processor chooses its speeds by itself (HWP, amd-pstate active), by this energy preference.
    Hwp(EnergyPreference),
}

/// `energy_performance_preference` of cpufreq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergyPreference {
    BalancePerformance,
    BalancePower,
}

/// # Errors
/// No value has the name: which names there are.
fn by_name<T: Copy>(all: &[(&str, T)], what: &str, name: &str) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        format!("unknown {what} '{name}'; known: {}", known.join(", "))
    })
}

/// Each value has a name in the table.
fn name_of<T: PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    all.iter()
        .find(|(_, other)| *other == value)
        .map_or("", |(name, _)| name)
}

/// What intel_pstate adds where the processor does not choose by itself (get_target_pstate in intel_pstate.c).
const HWP_HEADROOM: f64 = 0.25;

impl EnergyPreference {
    const ALL: [(&'static str, Self); 2] = [
        ("balance_performance", Self::BalancePerformance),
        ("balance_power", Self::BalancePower),
    ];

    pub fn name(self) -> &'static str {
        name_of(&Self::ALL, self)
    }

    /// What the processor adds to the speed that the busy share asks for, as a share of it. None for `balance_power` is assumed.
    pub fn headroom(self) -> f64 {
        match self {
            Self::BalancePerformance => HWP_HEADROOM,
            Self::BalancePower => 0.0,
        }
    }
}

impl FromStr for EnergyPreference {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        by_name(&Self::ALL, "energy preference", name)
    }
}

/// In place of a governor in a machine file.
const NO_GOVERNOR: &str = "none";

impl Default for Ships {
    /// Linux of today.
    fn default() -> Self {
        Self {
            placement: Placement::FairClass,
            governor: Some(Governor::Schedutil),
            source: "assumed, as the file has no [ships]".to_string(),
        }
    }
}

impl Ships {
    /// # Errors
    /// An unknown placement or governor, or a source that is no line of text.
    pub(crate) fn read(source: Source, file: &ShipsFile) -> Result<Self, InputError> {
        let refuse = |value: &toml::Spanned<String>, key, message: String| source.error(value.span(), key, message);
        let placement = file.placement.get_ref().parse();
        let governor = match file.governor.get_ref().as_str() {
            NO_GOVERNOR => Ok(None),
            name => name.parse().map(Some),
        };
        Ok(Self {
            placement: placement.map_err(|message| refuse(&file.placement, "ships.placement", message))?,
            governor: governor
                .map_err(|message| refuse(&file.governor, "ships.governor", format!("{message}, {NO_GOVERNOR}")))?,
            source: source.line(&file.source, "ships.source", 200)?.to_string(),
        })
    }

    /// The governor where the machine has this goal: on battery, which goal energy stands for, a processor that chooses is shipped with another preference.
    pub fn governor_for(&self, goal: Goal) -> Option<Governor> {
        match (self.governor, goal) {
            (Some(Governor::Hwp(_)), Goal::Energy) => Some(Governor::Hwp(EnergyPreference::BalancePower)),
            (governor, _) => governor,
        }
    }

    /// What sets the speeds.
    pub fn control(&self) -> Control {
        match self.governor {
            Some(Governor::Hwp(_)) => Control::Processor,
            _ => Control::Kernel,
        }
    }

    /// "fair class, schedutil".
    pub fn describe(&self) -> String {
        describe(self.placement, self.governor)
    }
}

/// The same of another placement or governor.
pub fn describe(placement: Placement, governor: Option<Governor>) -> String {
    let placement = match placement {
        Placement::LongestIdle => "longest-idle core",
        Placement::Random => "random idle core",
        Placement::FairClass => "fair class",
        Placement::AsymPacking => "fair class with asym packing",
    };
    match governor {
        Some(Governor::Hwp(preference)) => format!("{placement}, hwp with {}", preference.name()),
        Some(Governor::Eas) => "fair class with EAS, schedutil".to_string(),
        Some(governor) => format!("{placement}, {governor}"),
        None => format!("{placement}, no cpufreq"),
    }
}

impl Placement {
    const ALL: [(&'static str, Self); 4] = [
        ("longest-idle", Self::LongestIdle),
        ("random", Self::Random),
        ("fair-class", Self::FairClass),
        ("asym-packing", Self::AsymPacking),
    ];
}

impl FromStr for Placement {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        by_name(&Self::ALL, "placement", name)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Self::ALL, *self))
    }
}

impl FromStr for Governor {
    type Err = String;
    /// A governor without a frequency. `hwp@PREFERENCE`; plain `hwp` is that with `balance_performance`.
    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(preference) = name.strip_prefix("hwp@") {
            return preference.parse().map(Self::Hwp);
        }
        match name {
            "performance" => Ok(Self::Performance),
            "powersave" => Ok(Self::Powersave),
            "userspace" => Ok(Self::Userspace { khz: None }),
            "ondemand" => Ok(Self::Ondemand),
            "schedutil" => Ok(Self::Schedutil),
            "eas" => Ok(Self::Eas),
            "hwp" => Ok(Self::Hwp(EnergyPreference::BalancePerformance)),
            _ => Err(format!(
                "unknown governor '{name}'; known: performance, powersave, userspace, ondemand, schedutil, eas, hwp"
            )),
        }
    }
}

impl fmt::Display for Governor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Performance => "performance",
            Self::Powersave => "powersave",
            Self::Userspace { khz: None } => "userspace",
            Self::Userspace { khz: Some(khz) } => return write!(f, "userspace@{}", khz / 1000),
            Self::Ondemand => "ondemand",
            Self::Schedutil => "schedutil",
            Self::Eas => "eas",
            Self::Hwp(EnergyPreference::BalancePerformance) => "hwp",
            Self::Hwp(preference) => return write!(f, "hwp@{}", preference.name()),
        })
    }
}
