// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters beside each other, one column a policy: the detail behind `-v`.

use crate::grid::{Column, Grid};
use crate::labels::labelled;
use crate::model::Report;
use crate::number::plain;
use crate::page::{Page, Room};
use crate::sweep::{points, PointGroup};
use crate::table::title;
use serde_json::Value;

/// Longer lists are summed up in a cell instead of listed: nobody reads 128 rows of core energies in a terminal.
const LONGEST_LIST: usize = 8;

/// What happened in each run: a block per sweep point, a row per counter, a column per policy, as wide as it comes. Units are in the names.
pub fn counters_table(report: &Report) -> String {
    let report = &labelled(report);
    let mut page = Page::new(Room::UNLIMITED);
    page.prose(&title(report));
    for group in points(report) {
        let label = group.label();
        page.blank();
        if !label.is_empty() {
            page.prose(&label);
        }
        page.table(&counters_grid(&group));
    }
    page.end()
}

pub(crate) fn counters_grid(group: &PointGroup) -> Grid {
    let flat: Vec<Vec<(String, String)>> = group
        .results
        .iter()
        .map(|result| {
            let energy = result
                .energy
                .map(|energy| ("cpu_energy_j".to_string(), plain(energy.cpu_energy_j)));
            let mut cells = Vec::from_iter(energy);
            for (name, value) in &result.counters {
                flatten(name, value, &mut cells);
            }
            cells
        })
        .collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in flat.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let cell = |cells: &Vec<(String, String)>, name: &String| {
        cells
            .iter()
            .find(|(n, _)| n == name)
            .map_or_else(|| "-".to_string(), |(_, value)| value.clone())
    };
    let rows = names
        .iter()
        .map(|&name| {
            std::iter::once(name.clone())
                .chain(flat.iter().map(|cells| cell(cells, name)))
                .collect()
        })
        .collect();
    let columns = std::iter::once(Column::text("counter"))
        .chain(group.results.iter().map(|r| Column::number(&r.policy, "")))
        .collect();
    Grid { columns, rows }
}

/// Nested names joined by dots, list items by their index.
fn flatten(name: &str, value: &Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                flatten(&format!("{name}.{field}"), value, cells);
            }
        }
        Value::Array(items) if items.len() > LONGEST_LIST => cells.push((name.to_string(), summary(items))),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{name}[{index}]"), item, cells);
            }
        }
        Value::Number(number) => cells.push((
            name.to_string(),
            number.as_f64().map_or_else(|| number.to_string(), plain),
        )),
        Value::String(text) => cells.push((name.to_string(), text.clone())),
        other => cells.push((name.to_string(), other.to_string())),
    }
}

/// "128 values, 3.100 to 8.200, sum 700.1".
fn summary(items: &[Value]) -> String {
    let numbers: Vec<f64> = items.iter().filter_map(Value::as_f64).collect();
    let lowest = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if numbers.len() < items.len() {
        return format!("{} values", items.len());
    }
    let sum = numbers.iter().sum();
    format!(
        "{} values, {} to {}, sum {}",
        items.len(),
        plain(lowest),
        plain(highest),
        plain(sum)
    )
}
