// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published numbers that are drawn beside the results they are about.

use super::compare::lies_at;
use super::{Change, Compared, Expected, Kind, Measure, Unit};
use crate::model::{Report, RunResult};

/// A number that was published of a result.
pub(crate) struct Mark<'a> {
    pub result: &'a RunResult,
    /// In the unit of the result: s, W, J, J s, or as a ratio.
    pub value: f64,
    /// "at least " or "at most " where it bounds the result.
    pub bounds: &'static str,
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
        let named = |result: &&&RunResult| result.policy == selection.policy && lies_at(result, &selection.point);
        let mut found = results.iter().filter(named);
        let result = found.next().filter(|_| is_drawn && found.next().is_none())?;
        let (change, unit, kind) = (selection.change, figure.unit, compared.kind);
        let in_unit = move |value: f64| match (change, unit) {
            (Some(Change::More), _) => 1.0 + value / 100.0,
            (Some(Change::Less), _) => 1.0 - value / 100.0,
            (None, Unit::WattHours) => value * 3600.0,
            (None, _) => value,
        };
        let mark = move |(value, bounds): (f64, &'static str)| Mark {
            result,
            value: in_unit(value),
            bounds,
            kind,
        };
        Some(numbers(&figure.expected).map(mark))
    };
    (report.published.iter())
        .flat_map(|table| &table.figures)
        .filter_map(one)
        .flatten()
        .collect()
}

/// The number that was published, or those that bound it; none of a class.
fn numbers(expected: &Expected) -> impl Iterator<Item = (f64, &'static str)> + use<> {
    let [value, least, most] = match *expected {
        Expected::Value(value) => [Some(value), None, None],
        Expected::Within { at_least, at_most } => [None, at_least, at_most],
        Expected::Class(_) => [None; 3],
    };
    let named = [(value, ""), (least, "at least "), (most, "at most ")];
    named.into_iter().filter_map(|(number, bounds)| Some((number?, bounds)))
}
