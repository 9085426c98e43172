// SPDX-License-Identifier: MIT OR Apache-2.0
//! A published figure beside the one that follows from a study's results.

use super::kind::{kinds, Kind};
use super::{Change, Expected, Figure, Measure, Over, Pick, Point, Selection, Table, Unit};
use crate::error::ReportError;
use crate::model::{PointValue, Report, RunResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Figures of one source about one experiment, each beside ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedTable {
    pub source: String,
    pub figures: Vec<Compared>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    #[serde(flatten)]
    pub figure: Figure,
    pub kind: Kind,
    /// In the unit of the published one; absent: no study computes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<Ours>,
    /// Least and most that it is over the ranges of what is assumed, one assumption at a time. Absent: nothing was varied, or it is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// (ours - published) / |published|; where 0 % is published, the difference in hundredths; of bounds, the distance to the one that is
    /// passed. Absent where there is none: another class, nothing to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Ours {
    Number(f64),
    Class(String),
}

impl Compared {
    /// Whether ours exists and is at most this share away; a bound or a class either holds or does not, whatever the share.
    pub fn within(&self, share: f64) -> bool {
        match (&self.figure.expected, self.error) {
            (_, None) => false,
            (Expected::Value(_), Some(error)) => error.abs() <= share,
            (_, Some(error)) => error == 0.0,
        }
    }

    /// Whether the published figure, or one that keeps the bound, is among those of the range.
    pub fn may_be(&self) -> bool {
        let Some([least, most]) = self.range else { return false };
        match self.figure.expected {
            Expected::Value(published) => (least..=most).contains(&published),
            Expected::Within { at_least, at_most } => {
                at_least.is_none_or(|bound| most >= bound) && at_most.is_none_or(|bound| least <= bound)
            }
            Expected::Class(_) => false,
        }
    }
}

impl ComparedTable {
    /// Widens ranges by what comes out with other assumptions. `other`: of the same table.
    pub fn widen(&mut self, other: &Self) {
        for (compared, other) in self.figures.iter_mut().zip(&other.figures) {
            if let (Some(Ours::Number(ours)), Some(Ours::Number(other))) = (&compared.ours, &other.ours) {
                let [least, most] = compared.range.unwrap_or([*ours; 2]);
                compared.range = Some([least.min(*other), most.max(*other)]);
            }
        }
    }
}

/// `report`: that of the table's experiment.
///
/// # Errors
/// A figure asks for what the report does not have, or for one of several results without saying which: a fault of the file.
pub fn compare(table: &Table, report: &Report) -> Result<ComparedTable, ReportError> {
    let one = |figure: &Figure| {
        let selection = figure.selection.as_ref();
        let ours = selection.map(|selection| ours(selection, figure.unit, &report.results));
        ours.transpose().map_err(|reason| ReportError::Published {
            study: table.study.clone(),
            what: figure.what.clone(),
            reason,
        })
    };
    let ours: Vec<Option<Ours>> = table.figures.iter().map(one).collect::<Result<_, _>>()?;
    let both: Vec<_> = table.figures.iter().zip(ours.iter().map(Option::as_ref)).collect();
    let kinds = kinds(&both, &report.results);
    let compared = |((figure, ours), kind): ((&Figure, &Option<Ours>), Kind)| Compared {
        error: ours.as_ref().and_then(|ours| error(&figure.expected, ours)),
        figure: figure.clone(),
        kind,
        ours: ours.clone(),
        range: None,
    };
    Ok(ComparedTable {
        source: table.source.clone(),
        figures: table.figures.iter().zip(&ours).zip(kinds).map(compared).collect(),
    })
}

fn error(expected: &Expected, ours: &Ours) -> Option<f64> {
    match (expected, ours) {
        (Expected::Value(published), Ours::Number(ours)) => Some(distance(*ours, *published)),
        (Expected::Within { at_least, at_most }, Ours::Number(ours)) => {
            let below = at_least.filter(|least| ours < least);
            let passed = below.or(at_most.filter(|most| ours > most));
            Some(passed.map_or(0.0, |bound| distance(*ours, bound)))
        }
        (Expected::Class(published), Ours::Class(ours)) => (ours == published).then_some(0.0),
        _ => None,
    }
}

/// A change of nothing has no share: there it is that of what the change is about, which is 100 %.
fn distance(ours: f64, published: f64) -> f64 {
    match published {
        0.0 => ours / 100.0,
        _ => (ours - published) / published.abs(),
    }
}

fn ours(selection: &Selection, unit: Unit, results: &[RunResult]) -> Result<Ours, String> {
    let found = found(selection, results);
    if selection.measure == Measure::Class {
        return match found.as_slice() {
            [one] if results[*one].class.is_some() => Ok(Ours::Class(
                results[*one].class.iter().map(|class| class.name.clone()).collect(),
            )),
            _ => Err(format!("{} results, expected one with a class", found.len())),
        };
    }
    let mut values = Vec::new();
    for index in found {
        let own = measured(&results[index], selection.measure)?;
        let base = (selection.over.as_ref())
            .map(|over| least(&base(over, selection, index, results)?, selection.measure, results))
            .transpose()?;
        for (name, value) in own {
            values.push(match &base {
                None => value,
                Some(base) => changed(
                    value / base.get(&name).ok_or("an application that is not in both")?,
                    selection.change,
                ),
            });
        }
    }
    let value = picked(&values, selection.pick)?;
    Ok(Ours::Number(if unit == Unit::WattHours {
        value / 3600.0
    } else {
        value
    }))
}

pub(super) fn lies_at(result: &RunResult, point: &Point) -> bool {
    (point.iter()).all(|(name, values)| result.point.get(name).is_some_and(|value| values.contains(value)))
}

/// By application; a measure of all of them under an empty name.
fn measured(result: &RunResult, measure: Measure) -> Result<BTreeMap<String, f64>, String> {
    let counter = |name: &str| result.counters.get(name).ok_or(format!("no counter {name}"));
    let all = |value: f64| Ok([(String::new(), value)].into());
    let energy = || result.energy.ok_or("no watts of this machine");
    let by_application = |name: &str| -> Result<BTreeMap<String, f64>, String> {
        let times = counter(name)?.as_object().ok_or("expected times of applications")?;
        let time = |(name, time): (&String, &serde_json::Value)| Some((name.clone(), time.as_f64()?));
        Ok(times.iter().filter_map(time).collect())
    };
    match measure {
        Measure::Time => all(result.time_s),
        Measure::Power => all(energy()?.system_power_w),
        Measure::Energy => all(energy()?.system_energy_j),
        Measure::Edp => all(energy()?.edp_js),
        Measure::ApplicationTime => all(counter("mean_app_time_s")?.as_f64().ok_or("expected a number")?),
        Measure::ApplicationSpeed => {
            let times = by_application("app_time_s")?;
            all(times.values().map(|time| 1.0 / time).sum::<f64>() / times.len() as f64)
        }
        Measure::WorstApplicationTime => by_application("app_time_worst_s"),
        Measure::Class | Measure::None => Err("no number".to_string()),
    }
}

/// Indices of the results that a figure is about.
pub(super) fn found(selection: &Selection, results: &[RunResult]) -> Vec<usize> {
    let is_meant = |result: &RunResult| result.policy == selection.policy && lies_at(result, &selection.point);
    (0..results.len()).filter(|index| is_meant(&results[*index])).collect()
}

/// Indices of the results that result `own` is divided by: one for each policy.
pub(super) fn base(
    over: &Over,
    selection: &Selection,
    own: usize,
    results: &[RunResult],
) -> Result<Vec<usize>, String> {
    let of_itself = [selection.policy.clone()];
    let policies = match over.policies.is_empty() {
        true => &of_itself[..],
        false => &over.policies,
    };
    let mut point: Point = (results[own].point.iter())
        .map(|(name, value)| (name.clone(), vec![value.clone()]))
        .collect();
    for (name, values) in &over.point {
        let paired = paired(values, selection.point.get(name), results[own].point.get(name));
        let values = paired.map_or_else(|| values.clone(), |value| vec![value.clone()]);
        point.insert(name.clone(), values);
    }
    let one = |policy: &String| {
        let is_meant = |index: &usize| results[*index].policy == *policy && lies_at(&results[*index], &point);
        let found: Vec<usize> = (0..results.len()).filter(is_meant).collect();
        match found[..] {
            [one] => Ok(one),
            _ => Err(format!(
                "{} results of {policy} to compare with, expected one",
                found.len()
            )),
        }
    };
    policies.iter().map(one).collect()
}

/// The value to compare with, where both have as many: the first is for the first.
fn paired<'a>(
    values: &'a [PointValue],
    own: Option<&Vec<PointValue>>,
    at: Option<&PointValue>,
) -> Option<&'a PointValue> {
    let own = own.filter(|own| own.len() == values.len())?;
    values.get(own.iter().position(|value| Some(value) == at)?)
}

/// Of each application, or of all, the least among results.
fn least(indices: &[usize], measure: Measure, results: &[RunResult]) -> Result<BTreeMap<String, f64>, String> {
    let mut least: BTreeMap<String, f64> = BTreeMap::new();
    for index in indices {
        for (name, value) in measured(&results[*index], measure)? {
            let known = least.entry(name).or_insert(value);
            *known = known.min(value);
        }
    }
    Ok(least)
}

fn changed(ratio: f64, change: Option<Change>) -> f64 {
    match change {
        None => ratio,
        Some(Change::More) => 100.0 * (ratio - 1.0),
        Some(Change::Less) => 100.0 * (1.0 - ratio),
    }
}

fn picked(values: &[f64], pick: Option<Pick>) -> Result<f64, String> {
    let several = match (values, pick) {
        ([one], _) => return Ok(*one),
        ([], _) => return Err("no result is there".to_string()),
        (_, None) => return Err(format!("{} results, expected one, or 'pick'", values.len())),
        (several, Some(pick)) => (several.iter().copied(), pick),
    };
    Ok(match several {
        (values, Pick::Least) => values.fold(f64::INFINITY, f64::min),
        (values, Pick::Most) => values.fold(f64::NEG_INFINITY, f64::max),
        (iterator, Pick::Mean) => iterator.sum::<f64>() / values.len() as f64,
    })
}
