// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policies by their names on the command line.

use crate::watts::Watts;
use lop_machine::{Governor, Machine, Placement};
use lop_policy::{rules, Config, Domains, Goal, GreenWork, Named, Reserve, Sizing};
use std::fmt;
use std::str::FromStr;

/// The scheduler, and what sets the speeds.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyChoice {
    /// What the machine ships, or its placement with this governor.
    Linux(Option<Governor>),
    /// lop-policy.
    Sets(SetsVariant),
    /// The fair scheduler with each task bound to a CPU for life, and all cores at full speed.
    Placed(Placing),
}

/// Baselines that place each task once. A core without tasks is parked, if the machine can park.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// Core by core: on as few memory domains and nodes as possible.
    Pack,
    /// In turn over nodes, then over memory domains.
    Scatter,
    /// Each on a random CPU of those with the fewest tasks, by seed.
    Random,
}

/// One of lop-policy's policies, with what a study may vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetsVariant {
    /// A fixed set of `size` cores (`None`: by the workload's slots or what it declared), with `ondemand` on all cores.
    Simple { size: Option<u32> },
    /// Any other policy, unchanged.
    Plain(Named),
    /// All rules together (policy/core/auto.h), or all but some.
    Auto(Without),
    /// One core runs the operating system's own work at this speed, all others run at the highest.
    Reserved(ReservedSpeed),
}

impl SetsVariant {
    /// Whether the policy is told which cores are faster.
    pub(crate) fn knows_kinds(self) -> bool {
        !self.is_without(AutoRule::Kinds)
    }
    /// Whether speeds follow the sets; otherwise a governor sets them.
    pub(crate) fn sets_speeds(self) -> bool {
        !matches!(self, Self::Simple { .. }) && !self.is_without(AutoRule::Speeds)
    }
    /// Whether the speed of high cores follows from the goal and the watts.
    pub(crate) fn goes_by_goal(self) -> bool {
        matches!(self, Self::Auto(_)) && !self.is_without(AutoRule::Watts)
    }
    fn is_without(self, rule: AutoRule) -> bool {
        matches!(self, Self::Auto(without) if without.rules().any(|other| other == rule))
    }

    /// The policy's name in lop-policy.
    pub(crate) fn named(self) -> Named {
        match self {
            Self::Simple { .. } => Named::SimpleSets,
            Self::Reserved(_) => Named::ReservedCore,
            Self::Plain(policy) => policy,
            Self::Auto(_) => Named::Auto,
        }
    }
}

/// A rule that `auto` can leave out, to show what it costs or gains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoRule {
    /// Rules that depend on watts (`lop_leave_out_by_power()`). Without them, as on a machine of unknown watts: a spare, a second for the last core, no
    /// green cores.
    Watts,
    /// Which cores are faster. Without it the policy takes all cores for equal, and ranks no task for fast ones.
    Kinds,
    /// High cores run at the highest speed, or as the goal has it, low ones at the lowest. Without it `schedutil` sets all speeds.
    Speeds,
    /// Which thread runs in which memory domain, and which domains are on.
    Domains,
    /// As many high cores as there is demand. Without it all cores are high.
    Sets,
    Spare,
    /// One core and the spare stay high for longer than the others: a second, or until that no longer pays. Without it for T_hold at most, as the others.
    Last,
    /// High cores beyond demand, for threads that compete for cores.
    Room,
    /// Who gets the fast cores: the next four.
    Rank,
    Phases,
    Longest,
    Speedup,
    Turns,
    /// One of two tasks that share a core moves to a core that falls idle.
    Whole,
    /// Work that a clock paces runs where it takes least energy.
    Pace,
    /// Light work runs where energy-aware scheduling would run it. Without it the others, with a spare.
    Light,
    /// Hot cores swap with cool ones. Without it no core counts as hot.
    Heat,
}

impl AutoRule {
    pub const ALL: [(&'static str, Self); 17] = [
        ("watts", Self::Watts),
        ("kinds", Self::Kinds),
        ("speeds", Self::Speeds),
        ("domains", Self::Domains),
        ("sets", Self::Sets),
        ("spare", Self::Spare),
        ("last", Self::Last),
        ("room", Self::Room),
        ("rank", Self::Rank),
        ("phases", Self::Phases),
        ("longest", Self::Longest),
        ("speedup", Self::Speedup),
        ("turns", Self::Turns),
        ("whole", Self::Whole),
        ("pace", Self::Pace),
        ("light", Self::Light),
        ("heat", Self::Heat),
    ];

    /// `chosen`: the configuration of `auto` before any rule is left out.
    fn leave_out(self, config: &mut Config, chosen: &Config) {
        match self {
            Self::Watts => {
                (config.spare, config.last_hold_ns, config.green) = (chosen.spare, chosen.last_hold_ns, chosen.green);
            }
            Self::Kinds => Self::Rank.leave_out(config, chosen),
            // Not in the configuration: the engine asks `SetsVariant::sets_speeds()`.
            Self::Speeds => {}
            Self::Domains => config.domains = Domains::AsCome,
            Self::Sets => config.sizing = Sizing::All,
            Self::Spare => config.spare = 0,
            Self::Last => config.last_hold_ns = config.last_hold_ns.min(config.hold_ns),
            Self::Room => config.room = false,
            Self::Rank => config.rules &= rules::WHOLE,
            Self::Phases => config.rules &= !rules::PHASES,
            Self::Longest => config.rules &= !rules::LONGEST,
            Self::Speedup => config.rules &= !rules::SPEEDUP,
            Self::Turns => config.rules &= !rules::TURNS,
            Self::Whole => config.rules &= !rules::WHOLE,
            Self::Pace => {
                Self::Light.leave_out(config, chosen);
                config.green = GreenWork::None;
            }
            Self::Light if config.light => (config.light, config.spare) = (false, chosen.spare),
            Self::Light => {}
            Self::Heat => (config.heat_period_ns, config.hot_mc) = (u64::MAX, i32::MAX),
        }
    }
}

/// A set of rules that `auto` leaves out: bits by the order of [`AutoRule::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Without(u32);

const _: () = assert!(AutoRule::ALL.len() <= u32::BITS as usize);

impl Without {
    pub const NOTHING: Self = Self(0);

    fn of(rules: impl IntoIterator<Item = usize>) -> Self {
        Self(rules.into_iter().fold(0, |all, rule| all | 1 << rule))
    }
    fn has(self, rule: usize) -> bool {
        self.0 >> rule & 1 == 1
    }
    /// `RULE`, or several with `+` between them.
    fn read(text: &str) -> Result<Self, &str> {
        let number = |name| AutoRule::ALL.iter().position(|(known, _)| *known == name).ok_or(name);
        text.split('+').map(number).collect::<Result<Vec<_>, _>>().map(Self::of)
    }
    fn rules(self) -> impl Iterator<Item = AutoRule> {
        let numbered = AutoRule::ALL.iter().enumerate();
        numbered
            .filter(move |(rule, _)| self.has(*rule))
            .map(|(_, (_, rule))| *rule)
    }
    /// `chosen`: the configuration of `auto` before any rule is left out.
    pub(crate) fn leave_out(self, config: &mut Config, chosen: &Config) {
        self.rules().for_each(|rule| rule.leave_out(config, chosen));
    }
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (0..AutoRule::ALL.len()).filter(|&rule| self.has(rule));
        f.write_str(&names.map(|rule| AutoRule::ALL[rule].0).collect::<Vec<_>>().join("+"))
    }
}

/// How fast the reserved core runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedSpeed {
    /// A frequency of its kind.
    Khz(u64),
    /// The lowest frequency of its kind that is at least `part / of` of the highest.
    Share { part: u32, of: u32 },
}

impl ReservedSpeed {
    /// The default: a task on the SMT sibling of the reserved CPU is then about as fast as each of two that share a core at full speed.
    pub const DEFAULT: Self = Self::Share { part: 1, of: 2 };
}

impl FromStr for ReservedSpeed {
    type Err = ();
    /// MHz, or `PART/OF`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0).ok_or(());
        match text.split_once('/') {
            None => Ok(Self::Khz(u64::from(number(text)?) * 1000)),
            Some((part, of)) => match (number(part)?, number(of)?) {
                (part, of) if part <= of => Ok(Self::Share { part, of }),
                _ => Err(()),
            },
        }
    }
}

impl fmt::Display for ReservedSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Khz(khz) => write!(f, "{}", khz / 1000),
            Self::Share { part, of } => write!(f, "{part}/{of}"),
        }
    }
}

/// Parameters of the policy that a study may vary; `None`: the policy's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyParameters {
    /// High cores that are kept idle.
    pub spare: Option<u32>,
    /// T_hold.
    pub hold_ns: Option<u64>,
    /// Work that hardly gains from speed runs in the green set.
    pub green: bool,
    /// Time between two heat swaps on a socket.
    pub heat_period_ns: Option<u64>,
    /// Power cap of the whole machine, see [`crate::PowerCap`].
    pub power_cap_uw: Option<u64>,
    /// When a core is reserved.
    pub reserve: Option<Reserve>,
    /// The watts that the policy goes by.
    pub watts: Watts,
    /// What a second is worth to `auto`.
    pub goal: Goal,
}

/// All names: `linux` with its governors, lop-policy's policies, and the baselines that place once.
#[must_use]
pub fn policy_names() -> Vec<&'static str> {
    let linux = [
        "linux",
        "linux:performance",
        "linux:powersave",
        "linux:userspace",
        "linux:ondemand",
        "linux:schedutil",
        "linux:eas",
        "linux:hwp",
    ];
    linux
        .into_iter()
        .chain(Named::names())
        .chain(["pack", "scatter", "random"])
        .collect()
}

impl FromStr for PolicyChoice {
    type Err = String;

    /// `linux[:governor]`, `linux:userspace@MHZ`, `simple-sets[:CORES]`, `reserved-core[@MHZ]`, `reserved-core@PART/OF` (of the highest
    /// frequency), `auto[:no-RULE[+RULE..]]`, and all other names without arguments. Plain `linux` is what the
    /// machine ships.
    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || format!("unknown policy '{name}'");
        let number = |text: &str, what: &str| {
            text.parse::<u32>()
                .ok()
                .filter(|&n| n > 0)
                .ok_or_else(|| format!("policy '{name}': expected {what} as a positive whole number, found '{text}'"))
        };
        match name {
            "linux" => return Ok(Self::Linux(None)),
            "pack" => return Ok(Self::Placed(Placing::Pack)),
            "scatter" => return Ok(Self::Placed(Placing::Scatter)),
            "random" => return Ok(Self::Placed(Placing::Random)),
            _ => {}
        }
        if let Some(Ok(governor)) = name.strip_prefix("linux:").map(str::parse) {
            return Ok(Self::Linux(Some(governor)));
        }
        if let Some(policy) = Named::of(name) {
            return Ok(Self::Sets(match policy {
                Named::SimpleSets => SetsVariant::Simple { size: None },
                Named::ReservedCore => SetsVariant::Reserved(ReservedSpeed::DEFAULT),
                Named::Auto => SetsVariant::Auto(Without::NOTHING),
                _ => SetsVariant::Plain(policy),
            }));
        }
        if let Some(mhz) = name.strip_prefix("linux:userspace@") {
            return Ok(Self::Linux(Some(Governor::Userspace {
                khz: Some(u64::from(number(mhz, "MHz")?) * 1000),
            })));
        }
        if let Some(speed) = name.strip_prefix("reserved-core@") {
            let message = |()| {
                format!(
                    "policy '{name}': expected MHz as a positive whole number, or a share of the highest frequency such as 3/4, found '{speed}'"
                )
            };
            return Ok(Self::Sets(SetsVariant::Reserved(speed.parse().map_err(message)?)));
        }
        if let Some(without) = name.strip_prefix("auto:no-") {
            let names = AutoRule::ALL.map(|(name, _)| name).join(", ");
            let message = |rule| format!("policy '{name}': '{rule}' is no rule of auto; known: {names}");
            return Ok(Self::Sets(SetsVariant::Auto(Without::read(without).map_err(message)?)));
        }
        if let Some(cores) = name.strip_prefix("simple-sets:") {
            return Ok(Self::Sets(SetsVariant::Simple {
                size: Some(number(cores, "cores")?),
            }));
        }
        Err(unknown())
    }
}

impl PolicyChoice {
    /// The governor under `linux` on this machine; without cpufreq the clock stays at its highest point. `None`: another policy.
    pub(crate) fn governor_on(&self, machine: &Machine, goal: Goal) -> Option<Governor> {
        match self {
            Self::Linux(named) => Some(
                named
                    .or(machine.ships.governor_for(goal))
                    .unwrap_or(Governor::Performance),
            ),
            _ => None,
        }
    }

    /// Whether Linux's fair class runs the tasks. `placement`: in place of what the machine ships.
    pub(crate) fn is_fair_class(&self, machine: &Machine, placement: Option<Placement>) -> bool {
        match self.governor_on(machine, Goal::Balanced) {
            Some(Governor::Eas) => true,
            Some(_) => {
                let placement = placement.unwrap_or(machine.ships.placement);
                matches!(placement, Placement::FairClass | Placement::AsymPacking)
            }
            None => false,
        }
    }

    /// What `linux` stands for on this machine: "fair class, schedutil". `None`: the name says it.
    pub(crate) fn stands_for(&self, machine: &Machine, placement: Option<Placement>, goal: Goal) -> Option<String> {
        let placement = placement.unwrap_or(machine.ships.placement);
        (*self == Self::Linux(None)).then(|| lop_machine::ships::describe(placement, machine.ships.governor_for(goal)))
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linux(None) => f.write_str("linux"),
            Self::Linux(Some(governor)) => write!(f, "linux:{governor}"),
            Self::Sets(SetsVariant::Simple { size: None }) => f.write_str("simple-sets"),
            Self::Sets(SetsVariant::Simple { size: Some(n) }) => write!(f, "simple-sets:{n}"),
            Self::Sets(SetsVariant::Plain(policy)) => f.write_str(policy.name()),
            Self::Sets(SetsVariant::Auto(Without::NOTHING)) => f.write_str("auto"),
            Self::Sets(SetsVariant::Auto(rules)) => write!(f, "auto:no-{rules}"),
            Self::Placed(Placing::Pack) => f.write_str("pack"),
            Self::Placed(Placing::Scatter) => f.write_str("scatter"),
            Self::Placed(Placing::Random) => f.write_str("random"),
            Self::Sets(SetsVariant::Reserved(ReservedSpeed::DEFAULT)) => f.write_str("reserved-core"),
            Self::Sets(SetsVariant::Reserved(speed)) => write!(f, "reserved-core@{speed}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_are_written() {
        for name in policy_names().into_iter().chain([
            "linux:userspace@1400",
            "simple-sets:3",
            "reserved-core@1050",
            "reserved-core@7/8",
            "auto:no-spare",
            "auto:no-sets+room+pace",
        ]) {
            assert_eq!(name.parse::<PolicyChoice>().unwrap().to_string(), name);
        }
        assert!("auto:no-luck"
            .parse::<PolicyChoice>()
            .unwrap_err()
            .contains("known: watts, kinds, speeds, domains, sets"));
        assert_eq!("reserved-core@1/2".parse(), "reserved-core".parse::<PolicyChoice>());
    }

    #[test]
    fn a_speed_of_the_reserved_core_is_a_frequency_or_a_share() {
        for name in [
            "reserved-core@",
            "reserved-core@0",
            "reserved-core@9/8",
            "reserved-core@0/8",
            "reserved-core@1.4",
        ] {
            let message = name.parse::<PolicyChoice>().unwrap_err();
            assert!(message.contains("or a share of the highest frequency"), "{message}");
        }
    }
}
