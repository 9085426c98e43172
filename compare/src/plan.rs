// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan of a comparison: every combination of policy, command and parameters, and the order of the rounds.

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A command as the user gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandLine {
    /// A line for a shell: the shell's own words, then the line.
    Shell { shell: Vec<String>, line: String },
    /// A program and its arguments.
    Words(Vec<String>),
}

impl CommandLine {
    /// The line for `shell`, or split into words if that is `None`.
    ///
    /// # Errors
    /// The line has no words, or an open quotation mark.
    pub fn of(line: &str, shell: Option<&str>) -> Result<Self, String> {
        let split = |text: &str| match shlex::split(text) {
            Some(words) if !words.is_empty() => Ok(words),
            Some(_) => Err("no command: expected a program and its arguments".to_string()),
            None => Err(format!("'{text}': a quotation mark is not closed; close it")),
        };
        match shell {
            None => Ok(Self::Words(split(line)?)),
            Some(_) if line.trim().is_empty() => Err("no command: expected a line for the shell".to_string()),
            Some(shell) => Ok(Self::Shell {
                shell: split(shell)?,
                line: line.to_string(),
            }),
        }
    }

    /// Program and arguments.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Self::Words(words) => words.iter().map(String::as_str).collect(),
            Self::Shell { shell, line } => shell.iter().map(String::as_str).chain(["-c", line]).collect(),
        }
    }

    pub fn has_shell(&self) -> bool {
        matches!(self, Self::Shell { .. })
    }

    /// With `{NAME}` replaced by the value of each parameter.
    pub fn with(&self, parameters: &BTreeMap<String, String>) -> Self {
        match self {
            Self::Words(words) => Self::Words(words.iter().map(|word| substitute(word, parameters)).collect()),
            Self::Shell { shell, line } => Self::Shell {
                shell: shell.clone(),
                line: substitute(line, parameters),
            },
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Shell { line, .. } => f.write_str(line),
            // Only a word with a NUL byte cannot be quoted, and a command line cannot contain one.
            Self::Words(words) => match shlex::try_join(words.iter().map(String::as_str)) {
                Ok(line) => f.write_str(&line),
                Err(_) => f.write_str(&words.join(" ")),
            },
        }
    }
}

/// Replaces each `{NAME}` in one pass, so that a value that looks like `{NAME}` is not replaced again.
pub fn substitute(text: &str, parameters: &BTreeMap<String, String>) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        done.push_str(before);
        let known = parameters.iter().find_map(|(name, value)| {
            Some((
                value,
                from.strip_prefix('{')?.strip_prefix(name.as_str())?.strip_prefix('}')?,
            ))
        });
        match known {
            Some((value, after)) => {
                done.push_str(value);
                rest = after;
            }
            None => {
                done.push('{');
                rest = &from[1..];
            }
        }
    }
    done + rest
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub values: Vec<String>,
}

impl Parameter {
    /// From `low` to `high` by `step`, written with as many decimals as these three have.
    ///
    /// # Errors
    /// One of them is not a number, the step is 0 or leads away from the end, or there are more than 10,000 values.
    pub fn scan(name: &str, low: &str, high: &str, step: &str) -> Result<Self, String> {
        let number = |text: &str| match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!("{name}: '{text}': expected a number")),
        };
        let decimals = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let (from, to, by) = (number(low)?, number(high)?, number(step)?);
        let steps = (to - from) / by;
        if by == 0.0 || steps < 0.0 {
            return Err(format!(
                "{name}: steps of {step} do not lead from {low} to {high}; give another with -D"
            ));
        }
        if steps >= 10_000.0 {
            return Err(format!("{name}: more than 10,000 values; use a larger step with -D"));
        }
        let digits = [low, high, step].map(decimals).into_iter().max().unwrap_or(0);
        let count = (steps + 1e-9).floor() as u32;
        let value = |index: u32| format!("{:.digits$}", from + f64::from(index) * by);
        Ok(Self {
            name: name.to_string(),
            values: (0..=count).map(value).collect(),
        })
    }
}

/// All combinations of the values, with the last parameter changing fastest; without parameters, one empty combination.
pub fn combine(parameters: &[Parameter]) -> Vec<BTreeMap<String, String>> {
    let mut all = vec![BTreeMap::new()];
    for parameter in parameters {
        let with = |known: &BTreeMap<String, String>, value: &String| {
            let mut known = known.clone();
            known.insert(parameter.name.clone(), value.clone());
            known
        };
        all = all
            .iter()
            .flat_map(|known| {
                parameter
                    .values
                    .iter()
                    .map(|value| with(known, value))
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// One row of the result: a policy, a command, values of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Combination {
    pub policy: String,
    /// The command that is run.
    pub command: CommandLine,
    /// Its name in results.
    pub name: String,
    pub parameters: BTreeMap<String, String>,
    /// Combinations that only differ in the policy have the same unit.
    pub unit: usize,
    /// Before each run.
    pub prepare: Option<CommandLine>,
    /// After each run.
    pub conclude: Option<CommandLine>,
    /// Before the first run of its unit.
    pub setup: Option<CommandLine>,
    /// After the last run of its unit.
    pub cleanup: Option<CommandLine>,
}

/// How many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounds {
    Exactly(u32),
    /// Enough to measure each combination for [`MEASURED`], by the times of whole runs in the first round, within these bounds.
    Between {
        min: u32,
        max: Option<u32>,
    },
}

/// By default each combination is measured for at least this long, as in hyperfine, with all that belongs to a run.
pub const MEASURED: Duration = Duration::from_secs(3);

impl Rounds {
    /// How many rounds of so many combinations, from the time of the first, preparations and policies included:
    ///
    /// ```text
    /// max(min, combinations * 3 s / first round)
    /// ```
    ///
    /// One command of 20 ms has 150 rounds; 1 ms beside 10 s has `min`, and not 3,000 rounds of both.
    pub fn count(self, first_round: Duration, combinations: usize) -> u32 {
        match self {
            Self::Exactly(count) => count,
            Self::Between { min, max } => {
                let measured_s = MEASURED.as_secs_f64() * combinations as f64;
                let wanted = (measured_s / first_round.as_secs_f64().max(1e-6)).ceil() as u32;
                wanted.max(min).min(max.unwrap_or(u32::MAX))
            }
        }
    }

    /// The lower bound, for use before the first round has ended.
    pub fn at_least(self) -> u32 {
        match self {
            Self::Exactly(count) => count,
            Self::Between { min, .. } => min,
        }
    }
}

/// The orders of rounds; each contains every combination once. The same seed gives the same orders.
pub struct Orders {
    random: Rng,
    combinations: usize,
}

impl Orders {
    pub fn new(seed: u64, combinations: usize) -> Self {
        Self {
            random: Rng::with_seed(seed),
            combinations,
        }
    }

    /// Indices of the combinations in the order in which the next round runs them.
    pub fn next_round(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.combinations).collect();
        self.random.shuffle(&mut order);
        order
    }
}

/// What each combination is compared with: the reference if there is one; else, with several policies, the first with the same command and
/// parameters; else the first of all.
pub fn baselines(combinations: &[Combination], reference: Option<usize>) -> Vec<usize> {
    if let Some(reference) = reference {
        return vec![reference; combinations.len()];
    }
    let units = combinations
        .iter()
        .map(|combination| combination.unit)
        .max()
        .map_or(0, |last| last + 1);
    let several_policies = combinations.len() > units;
    let first_of = |unit: usize| combinations.iter().position(|other| other.unit == unit).unwrap_or(0);
    let baseline = |combination: &Combination| {
        if several_policies {
            first_of(combination.unit)
        } else {
            0
        }
    };
    combinations.iter().map(baseline).collect()
}

#[cfg(test)]
mod tests;
