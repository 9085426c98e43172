//! One changed key of machine, workload or baseline, and where somebody asked for it.

use super::suggest;
use crate::Placement;
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
    /// Where the baseline puts a woken task (`longest-idle`, `random`).
    Placement,
}

impl SettingKey {
    const FORMS: &'static str = "machine.KEY, workload.KEY or linux.placement";

    /// # Errors
    /// The message when the key has none of the three forms.
    pub fn parse(key: &str) -> Result<Self, String> {
        if key == "linux.placement" {
            return Ok(Self::Placement);
        }
        match key.split_once('.') {
            Some(("machine", rest)) if !rest.is_empty() => Ok(Self::Machine(rest.to_string())),
            Some(("workload", rest)) if !rest.is_empty() => Ok(Self::Workload(rest.to_string())),
            _ => Err(match suggest::nearest(key, &["linux.placement"]) {
                Some(near) => format!("unknown key '{key}'; did you mean '{near}'? (expected {})", Self::FORMS),
                None => format!("unknown key '{key}'; expected {}", Self::FORMS),
            }),
        }
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(key) => write!(f, "machine.{key}"),
            Self::Workload(key) => write!(f, "workload.{key}"),
            Self::Placement => f.write_str("linux.placement"),
        }
    }
}

/// A key with its value as TOML text (a bare word counts as a string).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: SettingKey,
    pub value: String,
    pub origin: Origin,
}

impl Setting {
    /// # Errors
    /// Key of an unknown form, or a placement that does not exist; machine and workload judge their own keys later.
    pub fn new(key: &str, value: &str, origin: Origin) -> Result<Self, InputError> {
        let key = SettingKey::parse(key).map_err(|message| origin.error(message))?;
        let setting = Self {
            key,
            value: value.to_string(),
            origin,
        };
        if setting.key == SettingKey::Placement {
            setting.placement()?;
        }
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

    /// The value as a placement.
    pub(super) fn placement(&self) -> Result<Placement, InputError> {
        let word = self.value.trim_matches(['"', '\'']);
        word.parse().map_err(|message: String| self.origin.error(message))
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

    #[test]
    fn arguments_name_what_they_change() {
        let setting = Setting::from_argument("workload.pool.build.slots = 4").unwrap();
        assert_eq!(setting.key, SettingKey::Workload("pool.build.slots".into()));
        assert_eq!(setting.value, "4");
        let setting = Setting::from_argument("linux.placement=random").unwrap();
        assert_eq!(setting.placement().unwrap(), Placement::Random);
    }

    #[test]
    fn bad_arguments_are_refused_with_their_key() {
        for (argument, expected) in [
            ("machine.speed", "--set: expected KEY=VALUE"),
            ("speed=3", "--set: speed: unknown key 'speed'; expected machine.KEY"),
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
