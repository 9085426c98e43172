//! Policies by name, and which of them can be enforced from user space.

use crate::policy::Named;
use crate::{pace, plan};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A policy that can be enforced from user space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// A fixed number of CPUs, at least one.
    SimpleSets(u32),
    HighLow,
    HighLowSpare,
    ReservedCore,
    Phase,
    LongestFirst,
    FairShare,
    Specialise,
    Spread,
    Gather,
    Auto,
}

impl Rules {
    pub(crate) fn named(self) -> Named {
        match self {
            Self::SimpleSets(_) => Named::SimpleSets,
            Self::HighLow => Named::Highlow,
            Self::HighLowSpare => Named::HighlowSpare,
            Self::ReservedCore => Named::ReservedCore,
            Self::Phase => Named::Phase,
            Self::LongestFirst => Named::LongestFirst,
            Self::FairShare => Named::FairShare,
            Self::Specialise => Named::Specialise,
            Self::Spread => Named::Spread,
            Self::Gather => Named::Gather,
            Self::Auto => Named::Auto,
        }
    }

    /// Whether all that it decides is how many CPUs, not who runs on which.
    #[must_use]
    pub fn only_counts(self) -> bool {
        matches!(self, Self::SimpleSets(_) | Self::HighLow | Self::HighLowSpare)
    }

    /// What the whole machine can have of it by parking CPUs: how many CPUs, and not who runs on which. `auto` is its sets alone.
    ///
    /// # Errors
    /// A sentence: all of the policy is about who runs where.
    pub fn for_machine(self) -> Result<Self, String> {
        match self {
            Self::SimpleSets(_) | Self::HighLow | Self::HighLowSpare => Ok(self),
            Self::Auto => Ok(Self::HighLowSpare),
            _ => Err(format!(
                "policy '{self}' says which thread runs where, and parking CPUs says only how many run"
            )),
        }
    }

    /// Whether it may make plans by how threads use memory.
    #[must_use]
    pub fn plans(self) -> bool {
        matches!(self, Self::Specialise | Self::Spread | Self::Gather | Self::Auto)
    }

    /// Time that passes before it can act on what a command does: a look, or for those that only make plans as many of them as a thread has to be measured for.
    #[must_use]
    pub fn reaction(self) -> Duration {
        match self {
            Self::Specialise | Self::Spread | Self::Gather => plan::PERIOD * 2,
            _ => pace::REACTION,
        }
    }

    /// What of it is lost by affinity beside reaction time; `None`: nothing.
    pub(crate) fn left_out(self) -> Option<&'static str> {
        match self {
            Self::ReservedCore => Some("the system's own work is not moved to the reserved core"),
            Self::Phase | Self::Auto => Some("who holds a lock is seen only if it says so"),
            Self::Gather => Some("a memory domain without work is left empty, and its speeds to their governor"),
            _ => None,
        }
    }
}

impl FromStr for Rules {
    type Err = String;

    /// # Errors
    /// A sentence: the policy is none, or one of the simulator's.
    fn from_str(name: &str) -> Result<Self, String> {
        let simple = name.strip_prefix("simple-sets:").and_then(|cores| cores.parse().ok());
        Ok(match (name, simple) {
            (_, Some(cores @ 1..)) => Self::SimpleSets(cores),
            ("highlow", _) => Self::HighLow,
            ("highlow-spare", _) => Self::HighLowSpare,
            ("reserved-core", _) => Self::ReservedCore,
            ("phase", _) => Self::Phase,
            ("longest-first", _) => Self::LongestFirst,
            ("fair-share", _) => Self::FairShare,
            ("specialise", _) => Self::Specialise,
            ("spread", _) => Self::Spread,
            ("gather", _) => Self::Gather,
            ("auto", _) => Self::Auto,
            ("pack" | "scatter" | "random", _) => {
                return Err(format!("policy '{name}' is a baseline of the simulator: see 'lop simulate'"))
            }
            _ => {
                return Err(format!(
                    "policy '{name}' cannot be enforced from user space; those that can: auto, highlow-spare, highlow, simple-sets:CORES, \
                     reserved-core, phase, longest-first, fair-share, specialise, spread, gather"
                ))
            }
        })
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SimpleSets(cores) => return write!(f, "simple-sets:{cores}"),
            Self::HighLow => "highlow",
            Self::HighLowSpare => "highlow-spare",
            Self::ReservedCore => "reserved-core",
            Self::Phase => "phase",
            Self::LongestFirst => "longest-first",
            Self::FairShare => "fair-share",
            Self::Specialise => "specialise",
            Self::Spread => "spread",
            Self::Gather => "gather",
            Self::Auto => "auto",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_printed_and_others_refused_with_what_they_need() {
        for name in [
            "auto",
            "highlow-spare",
            "highlow",
            "simple-sets:4",
            "reserved-core",
            "phase",
            "longest-first",
            "fair-share",
            "specialise",
            "spread",
            "gather",
        ] {
            assert_eq!(name.parse::<Rules>().unwrap().to_string(), name);
        }
        let for_machine = |name: &str| name.parse::<Rules>().unwrap().for_machine();
        assert_eq!(for_machine("simple-sets:4"), Ok(Rules::SimpleSets(4)));
        assert_eq!(for_machine("auto"), Ok(Rules::HighLowSpare));
        let refused = for_machine("phase").unwrap_err();
        assert!(
            refused.contains("'phase'") && refused.contains("parking CPUs"),
            "{refused}"
        );
        for (name, expected) in [
            ("random", "lop simulate"),
            ("simple-sets:0", "simple-sets:CORES"),
            ("linux", "those that can: auto"),
        ] {
            let message = name.parse::<Rules>().unwrap_err();
            assert!(
                message.contains(expected) && message.contains(name),
                "{name}: {message}"
            );
        }
    }
}
