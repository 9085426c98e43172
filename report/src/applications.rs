// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of applications over several runs: mean, best and worst of each, beside each other by policy.

use crate::grid::{Column, Grid};
use crate::model::{Report, RunResult};
use crate::number::plain;
use crate::sweep::{points, PointGroup};
use crate::table::{printable, render};
use serde_json::Value;
use std::fmt::Write;

pub(crate) const HEADING: &str =
    "Time of each application from its start to its end: mean, best and worst of the runs, s";

/// A counter of an application, or of all (`app`: none).
fn counter(result: &RunResult, name: &str, app: Option<&str>) -> String {
    let value = match app {
        Some(app) => result
            .counters
            .get(&format!("app_time_{name}"))
            .and_then(|times| times.get(app)),
        None => result.counters.get(&format!("mean_app_time_{name}")),
    };
    value.and_then(Value::as_f64).map_or_else(|| "-".to_string(), plain)
}

/// A row for each application, then one for their mean; three columns a policy. `None`: no application has more than one run.
pub(crate) fn applications_grid(group: &PointGroup) -> Option<Grid> {
    let first = group.results.iter().find_map(|r| r.counters.get("app_time_worst_s"));
    let names = first?.as_object()?.keys().map(|name| Some(name.as_str()));
    let row = |app: Option<&str>| {
        let heading = app.unwrap_or("mean of all").to_string();
        let cells = group
            .results
            .iter()
            .flat_map(|&result| ["s", "best_s", "worst_s"].map(|name| counter(result, name, app)));
        std::iter::once(heading).chain(cells).collect()
    };
    let of_policy = |result: &&RunResult| {
        let column = |name: &str, unit: &str| Column::number(name, unit);
        [column(&result.policy, "mean"), column("", "best"), column("", "worst")]
    };
    let columns = std::iter::once(Column::text("application")).chain(group.results.iter().flat_map(of_policy));
    Some(Grid {
        columns: columns.collect(),
        rows: names.chain([None]).map(row).collect(),
    })
}

/// A block per sweep point; empty where no application has more than one run.
pub(crate) fn applications_text(report: &Report) -> String {
    let mut text = String::new();
    for group in points(report) {
        let Some(grid) = applications_grid(&group) else {
            continue;
        };
        if text.is_empty() {
            let _ = writeln!(text, "\n{HEADING}");
        }
        let label = group.label();
        text.push('\n');
        if !label.is_empty() {
            let _ = writeln!(text, "{}", printable(&label));
        }
        text.push_str(&render(&grid));
    }
    text
}
