//! Policies by the names people type.

use std::fmt;
use std::str::FromStr;

/// What schedules and who sets the speeds.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyChoice {
    /// A fair scheduler beside a cpufreq governor.
    Linux(Governor),
    /// The policy core with one of its variants of sets.
    Sets(SetsVariant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governor {
    Performance,
    Powersave,
    /// All at this frequency, which one of the kinds of cores must have (the others at their nearest); none given: the lowest.
    Userspace {
        khz: Option<u64>,
    },
    Ondemand,
    Schedutil,
}

/// The variants of policies.md section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetsVariant {
    /// A fixed set of `size` cores (`None`: as many as the workload has slots or declared), `ondemand` on all.
    Simple {
        size: Option<u32>,
    },
    HighLow,
    HighLowSpare,
    /// One core runs the operating system's own work at a speed of its own, all others run at the highest.
    Reserved {
        /// Of the reserved core: a frequency of its kind; `None`: half of its highest, or the next above.
        khz: Option<u64>,
    },
}

/// `enum lop_sizing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Sizing {
    ByDemand = 0,
    Fixed = 1,
    All = 2,
}

/// `enum lop_reserve`: whether a core is reserved for the operating system's own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Reserve {
    Never = 0,
    /// From four cores on.
    BySize = 1,
    Asked = 2,
}

/// Parameters of the policy that a study may vary; `None`: the policy's own value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyParameters {
    /// High cores kept idle for what comes next.
    pub spare: Option<u32>,
    /// T_hold.
    pub hold_ns: Option<u64>,
    /// Work that hardly gains from speed runs in the green set.
    pub green: bool,
    /// Time between two heat swaps on a socket.
    pub heat_period_ns: Option<u64>,
    /// Whether a core is reserved, beside whatever else the policy does.
    pub reserve: Option<Reserve>,
}

/// How the baseline chooses among idle CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    #[default]
    LongestIdle,
    Random,
}

pub const POLICY_NAMES: [&str; 9] = [
    "linux:performance",
    "linux:powersave",
    "linux:userspace",
    "linux:ondemand",
    "linux:schedutil",
    "simple-sets",
    "highlow",
    "highlow-spare",
    "reserved-core",
];

impl FromStr for PolicyChoice {
    type Err = String;

    /// `linux[:governor]`, `linux:userspace@MHZ`, `simple-sets[:CORES]`, `highlow`, `highlow-spare`, `reserved-core[@MHZ]`. Plain `linux` is `linux:schedutil`.
    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || format!("unknown policy '{name}'; known: {}", POLICY_NAMES.join(", "));
        let number = |text: &str, what: &str| {
            text.parse::<u32>()
                .ok()
                .filter(|&n| n > 0)
                .ok_or_else(|| format!("policy '{name}': expected {what} as a positive whole number, found '{text}'"))
        };
        match name {
            "linux" | "linux:schedutil" => return Ok(Self::Linux(Governor::Schedutil)),
            "linux:performance" => return Ok(Self::Linux(Governor::Performance)),
            "linux:powersave" => return Ok(Self::Linux(Governor::Powersave)),
            "linux:ondemand" => return Ok(Self::Linux(Governor::Ondemand)),
            "linux:userspace" => return Ok(Self::Linux(Governor::Userspace { khz: None })),
            "simple-sets" => return Ok(Self::Sets(SetsVariant::Simple { size: None })),
            "highlow" => return Ok(Self::Sets(SetsVariant::HighLow)),
            "highlow-spare" => return Ok(Self::Sets(SetsVariant::HighLowSpare)),
            "reserved-core" => return Ok(Self::Sets(SetsVariant::Reserved { khz: None })),
            _ => {}
        }
        if let Some(mhz) = name.strip_prefix("linux:userspace@") {
            return Ok(Self::Linux(Governor::Userspace {
                khz: Some(u64::from(number(mhz, "MHz")?) * 1000),
            }));
        }
        if let Some(mhz) = name.strip_prefix("reserved-core@") {
            return Ok(Self::Sets(SetsVariant::Reserved {
                khz: Some(u64::from(number(mhz, "MHz")?) * 1000),
            }));
        }
        if let Some(cores) = name.strip_prefix("simple-sets:") {
            return Ok(Self::Sets(SetsVariant::Simple {
                size: Some(number(cores, "cores")?),
            }));
        }
        Err(unknown())
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux(Governor::Performance) => f.write_str("linux:performance"),
            Self::Linux(Governor::Powersave) => f.write_str("linux:powersave"),
            Self::Linux(Governor::Userspace { khz: None }) => f.write_str("linux:userspace"),
            Self::Linux(Governor::Userspace { khz: Some(khz) }) => write!(f, "linux:userspace@{}", khz / 1000),
            Self::Linux(Governor::Ondemand) => f.write_str("linux:ondemand"),
            Self::Linux(Governor::Schedutil) => f.write_str("linux:schedutil"),
            Self::Sets(SetsVariant::Simple { size: None }) => f.write_str("simple-sets"),
            Self::Sets(SetsVariant::Simple { size: Some(n) }) => write!(f, "simple-sets:{n}"),
            Self::Sets(SetsVariant::HighLow) => f.write_str("highlow"),
            Self::Sets(SetsVariant::HighLowSpare) => f.write_str("highlow-spare"),
            Self::Sets(SetsVariant::Reserved { khz: None }) => f.write_str("reserved-core"),
            Self::Sets(SetsVariant::Reserved { khz: Some(khz) }) => write!(f, "reserved-core@{}", khz / 1000),
        }
    }
}

impl FromStr for Reserve {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "never" => Ok(Self::Never),
            "by-size" => Ok(Self::BySize),
            "asked" => Ok(Self::Asked),
            _ => Err(format!("'{name}', expected never, by-size or asked")),
        }
    }
}

impl FromStr for Placement {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "longest-idle" => Ok(Self::LongestIdle),
            "random" => Ok(Self::Random),
            _ => Err(format!("unknown placement '{name}'; known: longest-idle, random")),
        }
    }
}
