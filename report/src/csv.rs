// SPDX-License-Identifier: MIT OR Apache-2.0
//! CSV after RFC 4180, but lines end with \n; and the results of reports in it.

use crate::check::check_report;
use crate::error::ReportError;
use crate::model::{is_point, PointValue, Report, RunResult};
use crate::rows::response_s;

/// Quoted where it has to be.
pub fn csv_line<T: AsRef<str>>(cells: &[T]) -> String {
    cells
        .iter()
        .map(|cell| quoted(cell.as_ref()))
        .collect::<Vec<_>>()
        .join(",")
        + "\n"
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_string(),
    }
}

type Number = fn(&RunResult) -> Option<f64>;

fn low(ends: Option<[f64; 2]>) -> Option<f64> {
    ends.filter(|ends| !is_point(ends)).map(|[low, _]| low)
}

fn high(ends: Option<[f64; 2]>) -> Option<f64> {
    ends.filter(|ends| !is_point(ends)).map(|[_, high]| high)
}

const NUMBERS: [(&str, Number); 27] = [
    ("time_s", |row| Some(row.time_s)),
    ("time_s_low", |row| low(Some(row.ci95?.time_s))),
    ("time_s_high", |row| high(Some(row.ci95?.time_s))),
    ("cpu_energy_j", |row| Some(row.energy?.cpu_energy_j)),
    ("system_energy_j", |row| Some(row.energy?.system_energy_j)),
    ("system_energy_j_low", |row| low(row.ci95?.system_energy_j)),
    ("system_energy_j_high", |row| high(row.ci95?.system_energy_j)),
    ("system_power_w", |row| Some(row.energy?.system_power_w)),
    ("edp_js", |row| Some(row.energy?.edp_js)),
    ("edp_js_low", |row| low(row.ci95?.edp_js)),
    ("edp_js_high", |row| high(row.ci95?.edp_js)),
    ("relative_time", |row| Some(row.relative.time)),
    ("relative_time_low", |row| low(Some(row.relative_ci95?.time))),
    ("relative_time_high", |row| high(Some(row.relative_ci95?.time))),
    ("relative_system_energy", |row| Some(row.relative.system_energy)),
    ("relative_system_energy_low", |row| {
        low(Some(row.relative_ci95?.system_energy))
    }),
    ("relative_system_energy_high", |row| {
        high(Some(row.relative_ci95?.system_energy))
    }),
    ("relative_edp", |row| Some(row.relative.edp)),
    ("relative_edp_low", |row| low(Some(row.relative_ci95?.edp))),
    ("relative_edp_high", |row| high(Some(row.relative_ci95?.edp))),
    ("bound_time_s", |row| Some(row.bounds.time_s)),
    ("bound_system_energy_j", |row| row.bounds.system_energy_j),
    ("relative_bound_time", |row| Some(row.relative_bounds.time)),
    ("relative_bound_system_energy", |row| {
        Some(row.relative_bounds.system_energy)
    }),
    ("relative_bound_edp", |row| Some(row.relative_bounds.edp)),
    ("mean_response_ms", |r| Some(response_s(r)? * 1e3)),
    ("class_loss", |row| row.class.as_ref().map(|class| class.loss)),
];

fn exact(value: &PointValue) -> String {
    match value {
        PointValue::Number(number) => number.to_string(),
        PointValue::Text(text) => text.clone(),
    }
}

/// A heading and a line for each result: its experiment, what is swept, its policy, its figures and where its energy comes from. What a result does not
/// have is empty.
///
/// # Errors
/// A number that is infinite or NaN.
pub fn csv(reports: &[Report]) -> Result<String, ReportError> {
    let mut swept: Vec<&String> = Vec::new();
    for name in reports
        .iter()
        .flat_map(|report| &report.results)
        .flat_map(|row| row.point.keys())
    {
        if !swept.contains(&name) {
            swept.push(name);
        }
    }
    let mut heading = vec!["experiment".to_string()];
    heading.extend(swept.iter().map(|name| format!("point_{name}")));
    heading.push("policy".to_string());
    heading.extend(NUMBERS.iter().map(|(name, _)| name.to_string()));
    heading.extend(["class", "energy_source"].map(str::to_string));
    let mut text = csv_line(&heading);
    for report in reports {
        check_report(report)?;
        for row in &report.results {
            let mut cells = vec![report.title.clone()];
            cells.extend(
                swept
                    .iter()
                    .map(|name| row.point.get(*name).map(exact).unwrap_or_default()),
            );
            cells.push(row.policy.clone());
            let number = |of: Number| of(row).map(|number| number.to_string()).unwrap_or_default();
            cells.extend(NUMBERS.iter().map(|(_, of)| number(*of)));
            cells.push(row.class.as_ref().map(|class| class.name.clone()).unwrap_or_default());
            cells.push(row.energy_source.clone());
            text.push_str(&csv_line(&cells));
        }
    }
    Ok(text)
}
