// SPDX-License-Identifier: MIT OR Apache-2.0
//! A setting: one changed key of machine, workload, policy or baseline, and where it was given.

use super::suggest;
use crate::{Placement, PolicyParameters};
use lop_machine::{input::Override, InputError};
use std::fmt;

/// Where something was written: a file with line and key, or a command-line option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub file: String,
    pub line: Option<usize>,
    pub key: Option<String>,
}

impl Origin {
    pub fn option(name: &str) -> Self {
        Self {
            file: name.to_string(),
            line: None,
            key: None,
        }
    }

    pub fn error(&self, message: impl Into<String>) -> InputError {
        InputError {
            file: self.file.clone(),
            line: self.line,
            key: self.key.clone(),
            message: message.into(),
        }
    }
}

/// What a setting changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingKey {
    /// A dotted key of the machine.
    Machine(String),
    /// A dotted key of the workload.
    Workload(String),
    /// How the baseline places a woken task, in place of what the machine ships (`longest-idle`, `random`, `fair-class`).
    Placement,
    /// A parameter of the policy core.
    Policy(PolicyKey),
}

/// Parameters of the policy core that a study may vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKey {
    /// High cores that are kept idle.
    Spare,
    /// T_hold, ms.
    HoldMs,
    /// Whether work that hardly gains from speed runs in the green set.
    Green,
    /// Time between two heat swaps on a socket, s.
    HeatPeriodS,
    /// When a core is reserved: never, by-size, asked.
    Reserve,
    /// Power cap of the whole machine, W.
    PowerCapW,
    /// The watts that the policy goes by: measured, model, estimate, none, varied:SEED.
    Watts,
    /// What a second is worth to `auto`: energy, balanced, speed.
    Goal,
}

impl PolicyKey {
    const ALL: [(&'static str, Self); 8] = [
        ("policy.spare", Self::Spare),
        ("policy.hold_ms", Self::HoldMs),
        ("policy.green", Self::Green),
        ("policy.heat_period_s", Self::HeatPeriodS),
        ("policy.reserve", Self::Reserve),
        ("policy.power_cap_w", Self::PowerCapW),
        ("policy.watts", Self::Watts),
        ("policy.goal", Self::Goal),
    ];

    fn name(self) -> &'static str {
        let (name, _) = Self::ALL[Self::ALL.iter().position(|(_, key)| *key == self).unwrap_or(0)];
        name
    }

    /// Changes `parameters`. The error message says what was expected.
    fn apply(self, value: &str, parameters: &mut PolicyParameters) -> Result<(), String> {
        match self {
            Self::Spare => {
                let spare = value
                    .parse::<u32>()
                    .ok()
                    .filter(|&n| n as usize <= lop_machine::MAX_CPUS);
                let message = || {
                    format!(
                        "'{value}', expected a number of cores from 0 to {}",
                        lop_machine::MAX_CPUS
                    )
                };
                parameters.spare = Some(spare.ok_or_else(message)?);
            }
            Self::HoldMs => parameters.hold_ns = Some(duration_ns(value, 1e6, "ms")?),
            Self::HeatPeriodS => parameters.heat_period_ns = Some(duration_ns(value, 1e9, "s")?),
            Self::Reserve => {
                parameters.reserve = Some(
                    value
                        .parse()
                        .map_err(|expected| format!("'{value}', expected {expected}"))?,
                )
            }
            Self::Watts => {
                parameters.watts = value
                    .parse()
                    .map_err(|expected| format!("'{value}', expected {expected}"))?;
            }
            Self::Goal => {
                parameters.goal = value
                    .parse()
                    .map_err(|expected| format!("'{value}', expected {expected}"))?;
            }
            Self::PowerCapW => parameters.power_cap_uw = Some(power_uw(value)?),
            Self::Green => {
                parameters.green = value
                    .parse()
                    .map_err(|_| format!("'{value}', expected true or false"))?;
            }
        }
        Ok(())
    }
}

/// A time above 0 and up to an hour, in ns.
fn duration_ns(value: &str, ns_per_unit: f64, unit: &str) -> Result<u64, String> {
    let longest = 3600e9 / ns_per_unit;
    let time = value.parse::<f64>().ok().filter(|&time| time > 0.0 && time <= longest);
    let time = time.ok_or_else(|| format!("'{value}', expected a time above 0 and up to {longest} {unit}"))?;
    Ok(((time * ns_per_unit).round() as u64).max(1))
}

/// A power above 0 and up to a megawatt, in microwatts.
fn power_uw(value: &str) -> Result<u64, String> {
    let power = value.parse::<f64>().ok().filter(|&w| w > 0.0 && w <= 1e6);
    let power = power.ok_or_else(|| format!("'{value}', expected a power above 0 and up to 1000000 W"))?;
    Ok((power * 1e6).round() as u64)
}

impl SettingKey {
    const FORMS: &'static str =
        "machine.KEY, workload.KEY, linux.placement or policy.{spare, hold_ms, green, heat_period_s, reserve, power_cap_w, watts, goal}";

    /// # Errors
    /// A message, if the key has none of the known forms.
    pub fn parse(key: &str) -> Result<Self, String> {
        if matches!(key, "linux.placement" | "placement") {
            return Ok(Self::Placement);
        }
        if let Some((_, policy)) = PolicyKey::ALL.iter().find(|(name, _)| *name == key) {
            return Ok(Self::Policy(*policy));
        }
        match key.split_once('.') {
            Some(("machine", rest)) if !rest.is_empty() => Ok(Self::Machine(rest.to_string())),
            Some(("workload", rest)) if !rest.is_empty() => Ok(Self::Workload(rest.to_string())),
            _ => Err(unknown_key(key)),
        }
    }
}

fn unknown_key(key: &str) -> String {
    let names: Vec<&str> = PolicyKey::ALL
        .iter()
        .map(|(name, _)| *name)
        .chain(["linux.placement"])
        .collect();
    let near = match suggest::nearest(key, &names) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    };
    format!("unknown key '{key}'{near} (expected {})", SettingKey::FORMS)
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(key) => write!(f, "machine.{key}"),
            Self::Workload(key) => write!(f, "workload.{key}"),
            Self::Placement => f.write_str("linux.placement"),
            Self::Policy(key) => f.write_str(key.name()),
        }
    }
}

/// A key, and its value as TOML text, in which a bare word is a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: SettingKey,
    pub value: String,
    pub origin: Origin,
}

impl Setting {
    /// # Errors
    /// A key of unknown form, or a value that placement or policy does not accept. Values for machine and workload are checked later.
    pub fn new(key: &str, value: &str, origin: Origin) -> Result<Self, InputError> {
        let key = SettingKey::parse(key).map_err(|message| origin.error(message))?;
        let setting = Self {
            key,
            value: value.to_string(),
            origin,
        };
        setting.apply(&mut None, &mut PolicyParameters::default())?;
        Ok(setting)
    }

    /// One `KEY=VALUE` of the command line.
    ///
    /// # Errors
    /// No `=`, or as [`Setting::new`].
    pub fn from_argument(argument: &str) -> Result<Self, InputError> {
        let mut origin = Origin::option("--set");
        let Some((key, value)) = argument.split_once('=') else {
            return Err(origin.error(format!(
                "expected KEY=VALUE with {}, found '{argument}'",
                SettingKey::FORMS
            )));
        };
        origin.key = Some(key.trim().to_string());
        Self::new(key.trim(), value.trim(), origin)
    }

    /// Applies settings of placement and policy.
    pub(super) fn apply(
        &self,
        placement: &mut Option<Placement>,
        policy: &mut PolicyParameters,
    ) -> Result<(), InputError> {
        let word = self.value.trim_matches(['"', '\'']);
        let applied = match &self.key {
            SettingKey::Placement => word.parse().map(|chosen| *placement = Some(chosen)),
            SettingKey::Policy(key) => key.apply(word, policy),
            SettingKey::Machine(_) | SettingKey::Workload(_) => Ok(()),
        };
        applied.map_err(|message| self.origin.error(message))
    }

    pub(super) fn machine_override(&self) -> Option<Override> {
        match &self.key {
            SettingKey::Machine(key) => Some(Override {
                key: key.clone(),
                value: self.value.clone(),
            }),
            _ => None,
        }
    }

    pub(super) fn workload_override(&self) -> Option<Override> {
        match &self.key {
            SettingKey::Workload(key) => Some(Override {
                key: key.clone(),
                value: self.value.clone(),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(setting: &Setting) -> (Option<Placement>, PolicyParameters) {
        let (mut placement, mut policy) = (None, PolicyParameters::default());
        setting.apply(&mut placement, &mut policy).unwrap();
        (placement, policy)
    }

    #[test]
    fn arguments_name_what_they_change() {
        let setting = Setting::from_argument("workload.pool.build.slots = 4").unwrap();
        assert_eq!(setting.key, SettingKey::Workload("pool.build.slots".into()));
        assert_eq!(setting.value, "4");
        let setting = Setting::from_argument("linux.placement=random").unwrap();
        assert_eq!(applied(&setting).0, Some(Placement::Random));
        let setting = Setting::from_argument("placement=fair-class").unwrap();
        assert_eq!(applied(&setting).0, Some(Placement::FairClass));
        let (_, policy) = applied(&Setting::from_argument("policy.hold_ms=2.5").unwrap());
        assert_eq!(policy.hold_ns, Some(2_500_000));
        let (_, policy) = applied(&Setting::from_argument("policy.spare=0").unwrap());
        assert_eq!(policy.spare, Some(0));
        let (_, policy) = applied(&Setting::from_argument("policy.power_cap_w=82.5").unwrap());
        assert_eq!(policy.power_cap_uw, Some(82_500_000));
    }

    #[test]
    fn bad_arguments_are_refused_with_their_key() {
        for (argument, expected) in [
            ("machine.speed", "--set: expected KEY=VALUE"),
            ("speed=3", "--set: speed: unknown key 'speed' (expected machine.KEY"),
            ("policy.hold=3", "did you mean 'policy.hold_ms'?"),
            (
                "policy.hold_ms=-3",
                "--set: policy.hold_ms: '-3', expected a time above 0",
            ),
            ("policy.hold_ms=nan", "expected a time above 0"),
            ("policy.spare=1.5", "expected a number of cores"),
            ("policy.green=maybe", "expected true or false"),
            ("policy.reserve=yes", "expected never, by-size or asked"),
            ("policy.power_cap_w=0", "expected a power above 0"),
            ("policy.power_cap_w=inf", "expected a power above 0"),
            ("machine.=3", "--set: machine.: unknown key"),
            ("linux.placemnt=random", "did you mean 'linux.placement'?"),
            (
                "linux.placement=nearest",
                "--set: linux.placement: unknown placement 'nearest'",
            ),
        ] {
            let error = Setting::from_argument(argument).unwrap_err().to_string();
            assert!(error.contains(expected), "{argument}: {error}");
        }
    }
}
