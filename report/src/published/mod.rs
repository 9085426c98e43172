// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures that sources published beside those that a study computes: both figures, how far apart they are, and what their agreement shows.

mod agreement;
mod closed_form;
mod compare;
mod grid;
mod kind;
mod marks;
mod origin;
mod read;
#[cfg(test)]
mod tests;

pub use agreement::{agreement, Agreed};
pub use compare::{compare, Compared, ComparedTable, Ours};
pub(crate) use grid::{published_grid, published_text, HEADING};
pub use kind::Kind;
pub(crate) use marks::{marks, Mark};
pub use origin::mark;
pub use read::read;

use crate::model::PointValue;
use lop_machine::InputError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FILE: &str = "published.toml";
const TEXT: &str = include_str!("../../../data/published.toml");

const ORIGINS_FILE: &str = "origins.toml";
const ORIGINS: &str = include_str!("../../../data/origins.toml");

/// The tables of data/published.toml, in its order, with the fitted figures that data/origins.toml names.
///
/// # Errors
/// What [`read`] or [`mark`] rejects.
pub fn builtin() -> Result<Vec<Table>, InputError> {
    let mut tables = read(FILE, TEXT)?;
    mark(ORIGINS_FILE, ORIGINS, &mut tables)?;
    Ok(tables)
}

/// Figures of one source about one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Author, year and subject.
    pub source: String,
    /// Id of the experiment that computes them.
    pub study: String,
    pub figures: Vec<Figure>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub what: String,
    #[serde(flatten)]
    pub expected: Expected,
    pub unit: Unit,
    /// Whether a parameter was chosen by looking at it.
    #[serde(skip)]
    pub is_fitted: bool,
    /// The number, or the ratio before `change`, that settings alone give.
    #[serde(skip)]
    pub closed_form: Option<f64>,
    /// How it follows from the study's results; `None`: no study computes it.
    #[serde(skip)]
    pub selection: Option<Selection>,
    /// An error of the source: reported, and never reproduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oddity: Option<String>,
    /// The most likely cause of a miss, or why no study computes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Not infinite, as every number of a file.
    Value(f64),
    /// At least one of the two is given.
    Within {
        at_least: Option<f64>,
        at_most: Option<f64>,
    },
    /// Name of a class of applications.
    Class(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "W")]
    Watts,
    #[serde(rename = "J")]
    Joules,
    #[serde(rename = "Wh")]
    WattHours,
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    #[serde(rename = "J s")]
    JouleSeconds,
    /// Of what it is compared with.
    #[serde(rename = "%")]
    Percent,
    /// A ratio, or a class.
    #[serde(rename = "")]
    One,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Watts => "W",
            Self::Joules => "J",
            Self::WattHours => "Wh",
            Self::MegabytesPerSecond => "MB/s",
            Self::JouleSeconds => "J s",
            Self::Percent => "%",
            Self::One => "",
        }
    }
}

/// Which results of a study a figure is about, and which of their numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub measure: Measure,
    pub policy: String,
    /// Values that each swept name may have; one that is not named may have any.
    pub point: Point,
    /// A ratio to other results.
    pub over: Option<Over>,
    /// Of a ratio: how much more or less than 1, in %.
    pub change: Option<Change>,
    /// Which of several results; `None`: there is one.
    pub pick: Option<Pick>,
}

impl Selection {
    /// Whose results it takes, repeats included.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        let over = self.over.iter().flat_map(|over| &over.policies);
        over.chain([&self.policy]).map(String::as_str)
    }

    /// Whether it takes results with this value of a sweep.
    pub fn is_about(&self, sweep: &str, value: &PointValue) -> bool {
        let takes = |point: &Point| point.get(sweep).map(|values| values.contains(value));
        let over = self.over.as_ref().and_then(|over| takes(&over.point));
        takes(&self.point).unwrap_or(true) || over.unwrap_or(false)
    }
}

pub type Point = BTreeMap<String, Vec<PointValue>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    Time,
    Power,
    Energy,
    Edp,
    /// Mean over applications of the time from start to end.
    ApplicationTime,
    /// Mean over applications of one over that time, 1/s. Over that of other results it is the mean speedup of applications that take the same there.
    ApplicationSpeed,
    /// Of each application: the worst of its times over runs.
    WorstApplicationTime,
    /// Of the application, where the study finds classes.
    Class,
    /// No study computes it.
    None,
}

/// What a result is divided by: that of the same point but for what is named here.
#[derive(Debug, Clone, PartialEq)]
pub struct Over {
    /// The least of these; empty: the policy itself.
    pub policies: Vec<String>,
    pub point: Point,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    More,
    Less,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    Least,
    Mean,
    Most,
}
