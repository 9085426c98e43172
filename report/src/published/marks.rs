// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published numbers that are drawn beside the results they are about.

use super::compare::lies_at;
use super::{Change, Compared, Expected, Kind, Measure, Unit};
use crate::model::{Report, RunResult};

/// A number that was published of a result.
pub(crate) struct Mark<'a> {
    pub result: &'a RunResult,
    /// In the unit of the result: s, J, J s, or as a ratio.
    pub value: f64,
    pub kind: Kind,
}

/// The numbers published of these results, or (`relative`) their ratios to the first policy of the same point.
pub(crate) fn marks<'a>(report: &Report, results: &[&'a RunResult], measure: Measure, relative: bool) -> Vec<Mark<'a>> {
    let first = report.results.first().map(|result| result.policy.as_str());
    let one = |compared: &Compared| {
        let figure = &compared.figure;
        let selection = figure.selection.as_ref()?;
        if selection.measure != measure || selection.pick.is_some() {
            return None;
        }
        let is_drawn = match &selection.over {
            None => !relative,
            Some(over) => relative && over.point.is_empty() && over.policies.iter().map(String::as_str).eq(first),
        };
        let Expected::Value(value) = figure.expected else {
            return None;
        };
        let named = |result: &&&RunResult| result.policy == selection.policy && lies_at(result, &selection.point);
        let mut found = results.iter().filter(named);
        let result = found.next().filter(|_| is_drawn && found.next().is_none())?;
        let value = match (selection.change, figure.unit) {
            (Some(Change::More), _) => 1.0 + value / 100.0,
            (Some(Change::Less), _) => 1.0 - value / 100.0,
            (None, Unit::WattHours) => value * 3600.0,
            (None, _) => value,
        };
        Some(Mark {
            result,
            value,
            kind: figure.kind,
        })
    };
    (report.published.iter())
        .flat_map(|table| &table.figures)
        .filter_map(one)
        .collect()
}
