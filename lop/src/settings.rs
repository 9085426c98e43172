// SPDX-License-Identifier: GPL-2.0-only
//! /etc/lopsided.toml: options of `lop start` that a machine keeps. The command line takes precedence.

use crate::commands::kernel::parse_policy;
use lop_kernel::options::{parse_hold, GoalChoice, Reserve};
use lop_machine::speed::HighSpeed;
use lop_machine::{input, InputError};
use lop_policy::PolicyName;
use serde::de::{Deserializer, Error};
use serde::Deserialize;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

/// Below the root of the machine.
const FILE: &str = "etc/lopsided.toml";

/// The keys are the names of the long options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    #[serde(deserialize_with = "policy")]
    pub policy: Option<PolicyName>,
    #[serde(deserialize_with = "by_name")]
    pub goal: Option<GoalChoice>,
    #[serde(deserialize_with = "spare")]
    pub spare: Option<u32>,
    #[serde(deserialize_with = "max_high")]
    pub max_high: Option<u32>,
    #[serde(deserialize_with = "hold")]
    pub hold: Option<Duration>,
    #[serde(deserialize_with = "by_name")]
    pub reserve: Option<Reserve>,
    #[serde(deserialize_with = "by_name")]
    pub high_speed: Option<HighSpeed>,
    pub no_speeds: bool,
    pub ignore_cpu_max: bool,
}

impl Settings {
    /// Those of the machine below `root`; none if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or a key or value in it is wrong: with file, line and reason.
    pub fn of_machine(root: &Path) -> Result<Self, InputError> {
        let file = root.join(FILE);
        match file.exists() {
            false => Ok(Self::default()),
            true => input::parse(&file.display().to_string(), &input::read_text(&file)?),
        }
    }
}

/// Parses a text as the command line does.
fn parsed<'de, D: Deserializer<'de>, T, E: Display>(
    from: D,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).map(Some).map_err(D::Error::custom)
}

fn policy<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PolicyName>, D::Error> {
    parsed(from, parse_policy)
}

fn hold<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parsed(from, parse_hold)
}

fn by_name<'de, D: Deserializer<'de>, T>(from: D) -> Result<Option<T>, D::Error>
where
    T: std::str::FromStr,
    T::Err: Display,
{
    let found = |text: &str| {
        text.parse()
            .map_err(|expected| format!("'{text}', expected {expected}"))
    };
    parsed(from, found)
}

fn within<'de, D: Deserializer<'de>>(from: D, least: u32, most: u32) -> Result<Option<u32>, D::Error> {
    let number = u32::deserialize(from)?;
    match (least..=most).contains(&number) {
        true => Ok(Some(number)),
        false => Err(D::Error::custom(format!(
            "{number}, expected a number of CPUs from {least} to {most}"
        ))),
    }
}

fn spare<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    within(from, 0, 511)
}

fn max_high<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    within(from, 1, 512)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lop_policy::{Goal, Named};

    fn read(text: &str) -> Result<Settings, String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join(FILE), text).unwrap();
        Settings::of_machine(root.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn no_file_and_an_empty_one_keep_nothing() {
        let none = tempfile::tempdir().unwrap();
        assert_eq!(Settings::of_machine(none.path()).unwrap(), Settings::default());
        assert_eq!(read("# nothing\n"), Ok(Settings::default()));
    }

    #[test]
    fn options_have_the_names_and_values_of_the_command_line() {
        let text =
            "policy = \"auto\"\ngoal = \"energy\"\nspare = 2\nmax-high = 4\nhold = \"50ms\"\nreserve = \"asked\"\n\
                    high-speed = \"base\"\nno-speeds = true\nignore-cpu-max = true\n";
        let expected = Settings {
            policy: Some(Named::Auto.into()),
            goal: Some(GoalChoice(Some(Goal::Energy))),
            spare: Some(2),
            max_high: Some(4),
            hold: Some(Duration::from_millis(50)),
            reserve: Some(Reserve::Asked),
            high_speed: Some(HighSpeed::Base),
            no_speeds: true,
            ignore_cpu_max: true,
        };
        assert_eq!(read(text), Ok(expected));
        assert_eq!(read("goal = \"auto\"").unwrap().goal, Some(GoalChoice(None)));
    }

    #[test]
    fn what_is_wrong_is_told_with_file_and_line() {
        for (text, parts) in [
            ("spare = 1\nsparse = 1", &[":2", "sparse", "unknown field"][..]),
            ("\ngoal = \"fast\"", &[":2", "goal", "auto, energy, balanced or speed"]),
            ("policy = \"linux\"", &[":1", "policy", "the kernel's own scheduler"]),
            ("hold = \"1ms\"", &[":1", "hold", "10ms to 60s"]),
            ("max-high = 0", &[":1", "max-high", "from 1 to 512"]),
            ("spare = \"one\"", &[":1", "spare", "expected a whole number"]),
            ("no-speeds = 1", &[":1", "no-speeds", "boolean"]),
            ("goal", &[":1"]),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains("etc/lopsided.toml"), "{message}");
            for part in parts {
                assert!(message.contains(part), "no '{part}' in: {message}");
            }
        }
    }
}
