//! Policies by the names people type.

use crate::policy::rules;
use std::fmt;
use std::str::FromStr;

/// What schedules and who sets the speeds.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyChoice {
    /// A fair scheduler beside a cpufreq governor.
    Linux(Governor),
    /// The policy core with one of its variants of sets.
    Sets(SetsVariant),
    /// A fair scheduler that gives each task a core for its life, all cores at full speed.
    Placed(Placing),
}

/// Baselines that place once and for all. A core that has no task is parked, where the machine can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// Core by core: as few memory domains and nodes as there can be.
    Pack,
    /// Over nodes, then memory domains, in turn.
    Scatter,
    /// Each on any core that has fewest tasks, by seed.
    Random,
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

/// The variants of policies.md section 3, and those with rules that say who gets the fast cores, whose sets are those of `HighLow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetsVariant {
    /// A fixed set of `size` cores (`None`: as many as the workload has slots or declared), `ondemand` on all.
    Simple {
        size: Option<u32>,
    },
    HighLow,
    HighLowSpare,
    /// Sequential phases first, then all in turn (section 7).
    Phase,
    /// The thread that declared most work first (section 6).
    LongestFirst,
    /// All in turn, whatever they do: the comparison for `Phase`.
    FairShare,
    /// High/low without a spare, and tasks that gain most from fast cores change with others that have them.
    Specialise,
    /// High/low without a spare, and memory intensity is balanced over memory domains.
    Spread,
    /// High/low without a spare, on as few memory domains as pays.
    Gather,
}

impl SetsVariant {
    /// Rules of the policy core that choose who gets the fast cores.
    pub fn rules(self) -> u32 {
        match self {
            Self::Simple { .. }
            | Self::HighLow
            | Self::HighLowSpare
            | Self::Specialise
            | Self::Spread
            | Self::Gather => 0,
            Self::Phase => rules::PHASES | rules::TURNS,
            Self::LongestFirst => rules::LONGEST,
            Self::FairShare => rules::TURNS,
        }
    }
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
}

/// How the baseline chooses among idle CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    #[default]
    LongestIdle,
    Random,
}

pub const POLICY_NAMES: [&str; 17] = [
    "linux:performance",
    "linux:powersave",
    "linux:userspace",
    "linux:ondemand",
    "linux:schedutil",
    "simple-sets",
    "highlow",
    "highlow-spare",
    "phase",
    "longest-first",
    "fair-share",
    "specialise",
    "spread",
    "gather",
    "pack",
    "scatter",
    "random",
];

impl FromStr for PolicyChoice {
    type Err = String;

    /// `linux[:governor]`, `linux:userspace@MHZ`, `simple-sets[:CORES]` and the other names as they are. Plain `linux` is `linux:schedutil`.
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
            "phase" => return Ok(Self::Sets(SetsVariant::Phase)),
            "longest-first" => return Ok(Self::Sets(SetsVariant::LongestFirst)),
            "fair-share" => return Ok(Self::Sets(SetsVariant::FairShare)),
            "specialise" => return Ok(Self::Sets(SetsVariant::Specialise)),
            "spread" => return Ok(Self::Sets(SetsVariant::Spread)),
            "gather" => return Ok(Self::Sets(SetsVariant::Gather)),
            "pack" => return Ok(Self::Placed(Placing::Pack)),
            "scatter" => return Ok(Self::Placed(Placing::Scatter)),
            "random" => return Ok(Self::Placed(Placing::Random)),
            _ => {}
        }
        if let Some(mhz) = name.strip_prefix("linux:userspace@") {
            return Ok(Self::Linux(Governor::Userspace {
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
            Self::Sets(SetsVariant::Phase) => f.write_str("phase"),
            Self::Sets(SetsVariant::LongestFirst) => f.write_str("longest-first"),
            Self::Sets(SetsVariant::FairShare) => f.write_str("fair-share"),
            Self::Sets(SetsVariant::Specialise) => f.write_str("specialise"),
            Self::Sets(SetsVariant::Spread) => f.write_str("spread"),
            Self::Sets(SetsVariant::Gather) => f.write_str("gather"),
            Self::Placed(Placing::Pack) => f.write_str("pack"),
            Self::Placed(Placing::Scatter) => f.write_str("scatter"),
            Self::Placed(Placing::Random) => f.write_str("random"),
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
