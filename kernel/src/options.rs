// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's options at its start.

use lop_machine::intensity::Intensities;
use lop_machine::speed::HighSpeed;
pub use lop_policy::{Goal, Named, PolicyName, Reserve};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Bounds of T_hold.
pub const SHORTEST_HOLD: Duration = Duration::from_millis(10);
pub const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// The policy that runs if this one is requested: on a machine with one memory domain, one kind of cores and no SMT, `auto` means
/// `highlow-spare`.
#[must_use]
pub fn resolved(asked: PolicyName, nr_memory_domains: u16, nr_tiers: u16, threads: u16) -> PolicyName {
    match (asked.policy, nr_memory_domains, nr_tiers, threads) {
        (Named::Auto, 1, 1, 0 | 1) => Named::HighlowSpare.into(),
        _ => asked,
    }
}

/// The goal as it is asked for: one of the three, or `auto`, which follows the power profile, or mains and battery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalChoice(pub Option<Goal>);

impl fmt::Display for GoalChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(goal) => goal.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

impl FromStr for GoalChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self(None)),
            _ => text
                .parse()
                .map(|goal| Self(Some(goal)))
                .map_err(|_| "auto, energy, balanced or speed"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where `sys` and `proc` are: `/`, or a fake tree in tests.
    pub root: PathBuf,
    pub policy: PolicyName,
    /// What a second is worth to `auto`; `None`: as the user's power profile, or mains and battery, have it.
    pub goal: Option<Goal>,
    /// High CPUs kept idle; `None`: the policy's default.
    pub spare: Option<u32>,
    /// Power cap: the most high CPUs; `None`: no cap. In CPUs rather than watts, since the watts of a CPU are not known here.
    pub max_high: Option<u32>,
    /// T_hold; `None`: the policy's default.
    pub hold: Option<Duration>,
    /// Whether a core is reserved; `None`: the policy's default.
    pub reserve: Option<Reserve>,
    /// A recording of how programs use memory, for plans if the CPU counts no misses.
    pub intensity: Option<Arc<Intensities>>,
    /// CPUs that the user slowed down, and the share of their speed that is left, x 1000; they form kinds of their own.
    pub slowed: BTreeMap<u32, u16>,
    /// Schedules only tasks of SCHED_EXT; all others stay with the kernel's scheduler.
    pub partial: bool,
    /// Starts even if groups have limits of CPU time (cpu.max), which are then not enforced.
    pub ignore_cpu_max: bool,
    /// 0: only the usual few lines; more: also messages of the loader and libbpf.
    pub verbose: u8,
    /// Whether CPU speeds are set at all.
    pub speeds: bool,
    /// The speed of high CPUs; `None`: what the goal makes of it, else the highest.
    pub high_speed: Option<HighSpeed>,
    /// Where speeds are recorded before they are changed.
    pub speed_journal: PathBuf,
    /// The folder of the socket at which programs get memory for their hints; `None`: they give none.
    pub hints: Option<PathBuf>,
    /// File for the log of calls and decisions.
    pub decisions: Option<PathBuf>,
    /// For tests: the BPF program raises an error after this time; with 0 it fails at the start.
    pub fail_after: Option<Duration>,
    /// For tests: how long the kernel's watchdog lets a task wait before it ejects the scheduler; `None`: 30 s.
    pub watchdog: Option<Duration>,
    /// For tests: load as for a machine whose CPU numbers need this many words of 64 bits, 1 to 8; `None`: as many as this machine needs.
    pub cpu_words: Option<u32>,
    /// For tests: places for this many groups of tasks and applications, rounded to a power of two; `None`: by the machine's memory.
    pub places: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            policy: Named::Auto.into(),
            goal: None,
            spare: None,
            max_high: None,
            hold: None,
            reserve: None,
            intensity: None,
            slowed: BTreeMap::new(),
            partial: false,
            ignore_cpu_max: false,
            verbose: 0,
            speeds: true,
            high_speed: None,
            speed_journal: lop_machine::speed::default_journal(),
            hints: None,
            decisions: None,
            fail_after: None,
            watchdog: None,
            cpu_words: None,
            places: None,
        }
    }
}

impl Options {
    /// Whether the options fit together.
    ///
    /// # Errors
    /// A sentence with the option, the reason and what to do.
    pub fn check(&self) -> Result<(), String> {
        let is_fixed = self.policy.fixed_size().is_some();
        if is_fixed && self.spare.is_some() {
            return Err(format!(
                "--spare: the set of {} never changes; take highlow-spare",
                self.policy
            ));
        }
        if is_fixed && self.hold.is_some() {
            return Err(format!(
                "--hold: the set of {} never changes; take highlow or highlow-spare",
                self.policy
            ));
        }
        if self.max_high == Some(0) {
            return Err("--max-high: one CPU is high at least; take 1 or more".to_string());
        }
        if is_fixed && self.max_high.is_some() {
            return Err(format!(
                "--max-high: the set of {} never changes; ask for fewer cores",
                self.policy
            ));
        }
        if self.goal.is_some() && self.policy.policy != Named::Auto {
            return Err(format!(
                "--goal: {} has its rules whatever the goal; take auto",
                self.policy
            ));
        }
        if self.high_speed.is_some_and(|speed| speed != HighSpeed::Max) {
            if is_fixed {
                return Err(format!(
                    "--high-speed: {} leaves speeds to their governor; take highlow or highlow-spare",
                    self.policy
                ));
            }
            if !self.speeds {
                return Err("--high-speed: --no-speeds leaves all speeds alone; leave one of both out".into());
            }
        }
        if self.intensity.is_some() && !self.policy.policy.config().plans() {
            let planning = Named::all().filter(|policy| policy.config().plans()).map(Named::name);
            return Err(format!(
                "--intensity: {} makes no plans; these do: {}",
                self.policy,
                planning.collect::<Vec<_>>().join(", ")
            ));
        }
        let reserves = self.reserve() != Reserve::Never;
        if reserves && self.partial {
            return Err(
                "--partial: tasks that are not ours cannot be kept off a reserved core; leave one of both out".into(),
            );
        }
        if reserves && is_fixed {
            return Err(format!(
                "--reserve: {} leaves speeds to their governor; take reserved-core or highlow-spare",
                self.policy
            ));
        }
        Ok(())
    }

    /// Whether a core is reserved, if not asked for as the policy has it.
    #[must_use]
    pub fn reserve(&self) -> Reserve {
        self.reserve.unwrap_or(self.policy.policy.config().reserve)
    }
}

impl Options {
    /// The same for a machine of `cpus` CPUs, where no set can be larger. With a sentence for people if a number was reduced.
    #[must_use]
    pub fn fitted(&self, cpus: u32) -> (Self, Option<String>) {
        let mut fitted = self.clone();
        let asked = match (self.policy.fixed_size(), self.spare) {
            (Some(size), _) if size > cpus => {
                fitted.policy = PolicyName::simple_sets(cpus);
                format!("simple-sets:{size}")
            }
            (_, Some(spare)) if spare > cpus => {
                fitted.spare = Some(cpus);
                format!("--spare {spare}")
            }
            _ => return (fitted, None),
        };
        let note = format!("{asked} is cut to {cpus}: this machine has no more CPUs");
        (fitted, Some(note))
    }
}

/// Parses T_hold as the user types it: `50ms`, `1s`, `1.5s`.
///
/// # Errors
/// The unit or the number is missing, or it is outside of 10 ms to 60 s.
pub fn parse_hold(text: &str) -> Result<Duration, String> {
    let hold = parse_duration(text)?;
    if (SHORTEST_HOLD..=LONGEST_HOLD).contains(&hold) {
        Ok(hold)
    } else {
        Err(format!("expected 10ms to 60s, found '{text}'"))
    }
}

/// Parses a time with its unit: `50ms`, `1s`, `1.5s`.
///
/// # Errors
/// The unit is missing, or the number is not a time.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let refused = || format!("expected a time with its unit, as in 50ms or 1.5s, found '{text}'");
    let (number, unit_s) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => return Err(refused()),
    };
    let number: f64 = number.parse().map_err(|_| refused())?;
    Duration::try_from_secs_f64(number * unit_s).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_another_where_there_is_no_choice() {
        let auto = |domains, tiers, threads| resolved(Named::Auto.into(), domains, tiers, threads).policy;
        assert_eq!(auto(1, 1, 1), Named::HighlowSpare);
        for (domains, tiers, threads) in [(1, 2, 1), (2, 1, 1), (1, 1, 2)] {
            assert_eq!(auto(domains, tiers, threads), Named::Auto);
        }
        let simple = PolicyName::simple_sets(3);
        assert_eq!(resolved(simple, 1, 1, 1), simple);
    }

    #[test]
    fn hold_times_have_units_and_bounds() {
        for (text, expected_ms) in [
            ("10ms", 10),
            ("50ms", 50),
            ("1s", 1000),
            ("1.5s", 1500),
            ("60s", 60_000),
        ] {
            assert_eq!(parse_hold(text), Ok(Duration::from_millis(expected_ms)), "{text}");
        }
        for text in [
            "", "10", "9ms", "61s", "-1s", "s", "ms", "nans", "infs", "1e300s", "1m", "1 h",
        ] {
            assert!(parse_hold(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_set_is_larger_than_the_machine() {
        let with = |policy: PolicyName, spare| Options {
            policy,
            spare,
            ..Options::default()
        };
        for whole in [
            with(Named::Auto.into(), None),
            with(Named::Auto.into(), Some(8)),
            with(PolicyName::simple_sets(8), None),
        ] {
            assert_eq!(whole.fitted(8), (whole.clone(), None));
        }
        let (spare, note) = with(Named::Auto.into(), Some(9)).fitted(8);
        assert_eq!(spare, with(Named::Auto.into(), Some(8)));
        assert_eq!(note.unwrap(), "--spare 9 is cut to 8: this machine has no more CPUs");
        let (size, note) = with(PolicyName::simple_sets(400), None).fitted(8);
        assert_eq!(size, with(PolicyName::simple_sets(8), None));
        assert_eq!(
            note.unwrap(),
            "simple-sets:400 is cut to 8: this machine has no more CPUs"
        );
    }

    #[test]
    fn a_core_is_reserved_as_the_policy_has_it_or_as_asked_for() {
        let with = |policy: PolicyName, reserve| Options {
            policy,
            reserve,
            ..Options::default()
        };
        for (options, reserve) in [
            (with(Named::Auto.into(), None), Reserve::Never),
            (with(Named::ReservedCore.into(), None), Reserve::BySize),
            (with(Named::ReservedCore.into(), Some(Reserve::Asked)), Reserve::Asked),
            (with(Named::HighlowSpare.into(), Some(Reserve::Asked)), Reserve::Asked),
        ] {
            assert_eq!(options.reserve(), reserve);
            assert_eq!(options.check(), Ok(()));
            let refused = reserve != Reserve::Never;
            let partial = Options {
                partial: true,
                ..options
            };
            assert_eq!(partial.check().is_err(), refused, "{partial:?}");
        }
        assert!(with(PolicyName::simple_sets(2), Some(Reserve::Asked)).check().is_err());
        assert_eq!("by-size".parse(), Ok(Reserve::BySize));
        assert!("yes".parse::<Reserve>().is_err());
    }

    #[test]
    fn options_that_contradict_the_policy_are_refused() {
        let with = |policy: PolicyName, spare, hold_ms: Option<u64>| Options {
            policy,
            spare,
            hold: hold_ms.map(Duration::from_millis),
            ..Options::default()
        };
        let capped = |policy: PolicyName, cpus| Options {
            max_high: Some(cpus),
            ..with(policy, None, None)
        };
        let aimed = |policy: PolicyName| Options {
            goal: Some(Goal::Energy),
            ..with(policy, None, None)
        };
        let recorded = |policy: PolicyName| Options {
            intensity: Some(Arc::new(
                Intensities::parse("f", "a-1,1,,cache-misses\na-1,9,,instructions").unwrap(),
            )),
            ..with(policy, None, None)
        };
        for (options, expected) in [
            (recorded(Named::Auto.into()), None),
            (recorded(Named::Spread.into()), None),
            (
                recorded(Named::Highlow.into()),
                Some("--intensity: highlow makes no plans; these do: "),
            ),
            (with(Named::Auto.into(), None, None), None),
            (aimed(Named::Auto.into()), None),
            (
                aimed(Named::Highlow.into()),
                Some("--goal: highlow has its rules whatever the goal"),
            ),
            (with(Named::Auto.into(), Some(3), Some(50)), None),
            (with(Named::HighlowSpare.into(), Some(0), None), None),
            (with(Named::Highlow.into(), Some(0), Some(10)), None),
            (with(Named::Highlow.into(), Some(1), None), None),
            (with(PolicyName::simple_sets(2), Some(1), None), Some("--spare: ")),
            (with(PolicyName::simple_sets(2), None, Some(50)), Some("--hold: ")),
            (with(PolicyName::simple_sets(2), None, None), None),
            (capped(Named::Auto.into(), 1), None),
            (capped(Named::ReservedCore.into(), 600), None),
            (capped(Named::Auto.into(), 0), Some("one CPU is high at least")),
            (capped(PolicyName::simple_sets(2), 1), Some("ask for fewer cores")),
        ] {
            match (options.check(), expected) {
                (Ok(()), None) => {}
                (Err(message), Some(expected)) => assert!(message.contains(expected), "{message}"),
                (result, _) => panic!("{options:?}: {result:?}"),
            }
        }
    }
}
