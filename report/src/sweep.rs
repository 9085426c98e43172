// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is swept in a report: its points, its dimensions, and which of them makes the best axis.

use crate::model::{PointValue, Report, RunResult};
use crate::number::plain;
use std::collections::BTreeMap;

/// The results of all policies at one sweep point.
pub(crate) struct PointGroup<'a> {
    pub point: &'a BTreeMap<String, PointValue>,
    /// In the order of the report: the first is what the others are relative to.
    pub results: Vec<&'a RunResult>,
}

impl PointGroup<'_> {
    /// "jobs = 4, machine = i7-940"; empty where nothing is swept.
    pub fn label(&self) -> String {
        let parts: Vec<String> = self
            .point
            .iter()
            .map(|(name, value)| format!("{name} = {}", value_text(value)))
            .collect();
        parts.join(", ")
    }
}

/// Points in the order in which the report names them.
pub(crate) fn points(report: &Report) -> Vec<PointGroup<'_>> {
    let mut groups: Vec<PointGroup> = Vec::new();
    for result in &report.results {
        match groups.last_mut().filter(|g| *g.point == result.point) {
            Some(group) => group.results.push(result),
            None => groups.push(PointGroup {
                point: &result.point,
                results: vec![result],
            }),
        }
    }
    groups
}

pub(crate) fn value_text(value: &PointValue) -> String {
    match value {
        PointValue::Number(number) => plain(*number),
        PointValue::Text(text) => text.clone(),
    }
}

/// Policies in the order in which they first appear; over all reports of a page it is what they keep their colour by.
pub(crate) fn policies<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for result in reports.into_iter().flat_map(|report| &report.results) {
        if !names.contains(&result.policy.as_str()) {
            names.push(&result.policy);
        }
    }
    names
}

/// One swept name with its distinct values, in order of appearance.
pub(crate) struct Dimension {
    pub name: String,
    pub values: Vec<PointValue>,
}

impl Dimension {
    pub fn numeric(&self) -> bool {
        self.values.iter().all(|v| matches!(v, PointValue::Number(_)))
    }
}

/// Names that take more than one value.
pub(crate) fn dimensions(report: &Report) -> Vec<Dimension> {
    dimensions_of(&report.results)
}

/// The same of some of the results.
pub(crate) fn dimensions_of<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> Vec<Dimension> {
    let mut found: Vec<Dimension> = Vec::new();
    for result in results {
        for (name, value) in &result.point {
            let index = found.iter().position(|d| d.name == *name).unwrap_or_else(|| {
                found.push(Dimension {
                    name: name.clone(),
                    values: Vec::new(),
                });
                found.len() - 1
            });
            if !found[index].values.contains(value) {
                found[index].values.push(value.clone());
            }
        }
    }
    found.retain(|d| d.values.len() > 1);
    found
}

/// Index of the dimension for the x axis: a numeric one before text, then the one with most values.
pub(crate) fn axis(dimensions: &[Dimension]) -> Option<usize> {
    (0..dimensions.len()).max_by_key(|&i| (dimensions[i].numeric(), dimensions[i].values.len(), usize::MAX - i))
}

/// The name of the only thing swept, if that is a number: such a sweep fits in one table.
pub(crate) fn single_numeric(report: &Report) -> Option<String> {
    let all_alike = report.results.iter().all(|r| r.point.len() == 1);
    match dimensions(report).as_slice() {
        [only] if all_alike && only.numeric() => Some(only.name.clone()),
        _ => None,
    }
}
