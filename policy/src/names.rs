// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Policies by the names that people type: those of policies.def.

use super::{Config, Goal, Named};
use std::fmt;
use std::str::FromStr;

include!(concat!(env!("OUT_DIR"), "/policies.rs"));

impl Named {
    /// All policies, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        POLICIES.iter().map(|(policy, ..)| *policy)
    }
    /// Their names.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::all().map(Self::name).collect()
    }
    #[must_use]
    pub fn name(self) -> &'static str {
        POLICIES[self as usize].1
    }
    /// What the policy is, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        POLICIES[self as usize].2
    }
    /// Its rules, before a machine leaves some of them out. The hold time is not set.
    #[must_use]
    pub fn config(self) -> Config {
        Config::of(self, 0)
    }
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::all().find(|policy| policy.name() == name)
    }
}

/// A policy as a real machine runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyName {
    pub policy: Named,
    /// Cores of simple-sets, at least 1; 0 for all other policies.
    pub cores: u32,
}

impl PolicyName {
    /// A fixed number of cores.
    #[must_use]
    pub const fn simple_sets(cores: u32) -> Self {
        Self {
            policy: Named::SimpleSets,
            cores,
        }
    }
    /// The fixed size, if it has one.
    #[must_use]
    pub fn fixed_size(self) -> Option<u32> {
        self.policy.config().is_fixed().then_some(self.cores)
    }
}

/// Only simple-sets takes a number; without it, it has one core.
impl From<Named> for PolicyName {
    fn from(policy: Named) -> Self {
        let cores = u32::from(policy.config().is_fixed());
        Self { policy, cores }
    }
}

impl FromStr for PolicyName {
    type Err = String;

    /// A name; after `simple-sets` optionally `:CORES`.
    fn from_str(text: &str) -> Result<Self, String> {
        let simple = Named::SimpleSets.name();
        if let Some(cores) = text.strip_prefix(simple).and_then(|rest| rest.strip_prefix(':')) {
            let number = cores.parse().ok().filter(|&number| number > 0);
            return number
                .map(Self::simple_sets)
                .ok_or_else(|| format!("policy '{text}': expected cores as a positive whole number, found '{cores}'"));
        }
        match Named::of(text) {
            Some(Named::SimpleSets) => Err(format!("policy '{text}': say how many cores, as in {text}:4")),
            Some(policy) => Ok(policy.into()),
            None => Err(format!("unknown policy '{text}'; known: {}", Named::names().join(", "))),
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy.name())?;
        self.fixed_size().map_or(Ok(()), |cores| write!(f, ":{cores}"))
    }
}

impl Goal {
    pub const NAMES: [(&'static str, Self); 3] = [
        ("energy", Self::Energy),
        ("balanced", Self::Balanced),
        ("speed", Self::Speed),
    ];
}

/// As wherever nobody asked.
impl Default for Goal {
    fn default() -> Self {
        Self::Balanced
    }
}

impl FromStr for Goal {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, goal)| *goal).ok_or("energy, balanced or speed")
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::NAMES.iter().find(|(_, goal)| goal == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_as_they_are_printed() {
        for (name, goal) in Goal::NAMES {
            assert_eq!(name.parse(), Ok(goal));
            assert_eq!(goal.to_string(), name);
        }
        assert_eq!("fast".parse::<Goal>(), Err("energy, balanced or speed"));
    }

    #[test]
    fn policies_are_read_as_they_are_printed() {
        for policy in Named::all() {
            assert_eq!(Named::of(policy.name()), Some(policy));
            let chosen = match policy {
                Named::SimpleSets => PolicyName::simple_sets(4),
                _ => policy.into(),
            };
            assert_eq!(chosen.to_string().parse(), Ok(chosen));
        }
        assert_eq!(PolicyName::simple_sets(4).to_string(), "simple-sets:4");
    }

    #[test]
    fn others_are_refused_with_what_they_need() {
        for (name, expected) in [
            ("simple-sets", "simple-sets:4"),
            ("simple-sets:0", "positive whole number, found '0'"),
            ("simple-sets:", "found ''"),
            ("simple-sets:-1", "found '-1'"),
            ("simple-sets:many", "found 'many'"),
            ("simple-sets:4294967296", "found '4294967296'"),
            ("simple-setsish", "unknown policy"),
            ("highlow ", "known: simple-sets, highlow, highlow-spare"),
            ("", "unknown policy ''"),
        ] {
            let message = name.parse::<PolicyName>().unwrap_err();
            assert!(
                message.contains(expected) && message.contains(name),
                "{name}: {message}"
            );
        }
    }
}
