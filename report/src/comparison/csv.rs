// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison as CSV: hyperfine's columns first, in s, then ours, parameters last.

use super::{written, Compared, Comparison, Estimate, Spread};
use crate::csv::csv_line;

type Cell = fn(&Compared) -> String;

const COLUMNS: [(&str, Cell); 24] = [
    ("command", |row| row.command.clone()),
    ("mean", |row| of(row.time_s, |time| Some(time.mean.value))),
    ("stddev", |row| of(row.time_s, |time| time.deviation)),
    ("median", |row| of(row.time_s, |time| Some(time.median))),
    ("user", |row| number(row.user)),
    ("system", |row| number(row.system)),
    ("min", |row| of(row.time_s, |time| Some(time.min))),
    ("max", |row| of(row.time_s, |time| Some(time.max))),
    ("policy", |row| row.policy.clone()),
    ("runs", |row| row.times.len().to_string()),
    ("failed", |row| row.failed.to_string()),
    ("power_w", |row| of(row.power_w, |power| Some(power.mean.value))),
    ("energy_j", |row| of(row.energy_j, |energy| Some(energy.mean.value))),
    ("net_energy_j", |row| {
        of(row.net_energy_j, |energy| Some(energy.mean.value))
    }),
    ("edp_js", |row| of(row.edp_js, |edp| Some(edp.mean.value))),
    ("relative_time", |row| value(row.relative_time)),
    ("relative_time_low", |row| low(row.relative_time)),
    ("relative_time_high", |row| high(row.relative_time)),
    ("relative_energy", |row| value(row.relative_energy)),
    ("relative_energy_low", |row| low(row.relative_energy)),
    ("relative_energy_high", |row| high(row.relative_energy)),
    ("relative_edp", |row| value(row.relative_edp)),
    ("relative_edp_low", |row| low(row.relative_edp)),
    ("relative_edp_high", |row| high(row.relative_edp)),
];

/// A heading and a line for each result; what is not known is empty.
pub fn comparison_csv(comparison: &Comparison) -> String {
    let first = comparison.results.first();
    let parameters: Vec<&String> = first.map(|row| row.parameters.keys().collect()).unwrap_or_default();
    let mut heading: Vec<String> = COLUMNS.iter().map(|(name, _)| name.to_string()).collect();
    heading.push("meter".to_string());
    heading.extend(parameters.iter().map(|name| format!("parameter_{name}")));
    let mut text = csv_line(&heading);
    for row in &comparison.results {
        let mut cells: Vec<String> = COLUMNS.iter().map(|(_, cell)| cell(row)).collect();
        let meter = comparison.meter.as_ref().map(|meter| meter.name.clone());
        cells.push(meter.unwrap_or_default());
        cells.extend(
            parameters
                .iter()
                .map(|name| row.parameters.get(*name).cloned().unwrap_or_default()),
        );
        text.push_str(&csv_line(&cells));
    }
    text
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn of(spread: Option<Spread>, value: fn(Spread) -> Option<f64>) -> String {
    number(spread.and_then(value))
}

fn value(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.value))
}

fn low(estimate: Option<Estimate>) -> String {
    number(estimate.and_then(|estimate| Some(written(estimate.interval)?.0)))
}

fn high(estimate: Option<Estimate>) -> String {
    number(estimate.and_then(|estimate| Some(written(estimate.interval)?.1)))
}
