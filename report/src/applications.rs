// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of applications over several runs: mean, best and worst of each, beside each other by policy.

use crate::grid::{Column, Grid};
use crate::model::{Report, RunResult};
use crate::number::plain;
use crate::page::Page;
use crate::sweep::{points, PointGroup};
use serde_json::Value;

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
        [
            column(&result.policy, "mean"),
            column("", "best").rank(1),
            column("", "worst").rank(2),
        ]
    };
    let columns = std::iter::once(Column::text("application")).chain(group.results.iter().flat_map(of_policy));
    Some(Grid {
        columns: columns.collect(),
        rows: names.chain([None]).map(row).collect(),
    })
}

/// A block per sweep point; nothing where no application has more than one run.
pub(crate) fn applications_text(report: &Report, page: &mut Page) {
    let groups = points(report);
    let grids = groups
        .iter()
        .filter_map(|group| Some((group, applications_grid(group)?)));
    for (index, (group, grid)) in grids.enumerate() {
        page.blank();
        if index == 0 {
            page.prose(HEADING);
            page.blank();
        }
        let label = group.label();
        if !label.is_empty() {
            page.prose(&label);
        }
        page.table(&grid);
    }
}
