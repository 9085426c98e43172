// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as rows and columns of text, before anyone decides whether that becomes a terminal table or an HTML one.

use crate::model::{Energy, Report, RunResult};
use crate::number::{percent_above, Large, Scale};
use crate::rows::response_s;
use crate::sweep::{value_text, PointGroup};

/// Units of columns that a footnote explains.
pub(crate) const RELATIVE: &str = "relative";
pub(crate) const OVER_BOUND: &str = "% over bound";

pub(crate) struct Column {
    pub name: String,
    /// Second line of the heading.
    pub unit: String,
    /// Numbers are aligned right.
    pub numeric: bool,
    /// W, J or J s.
    pub absolute_energy: bool,
    /// Columns with the highest rank are left out first where a terminal is too narrow; rank 0 never is.
    pub rank: u8,
}

impl Column {
    pub fn text(name: &str) -> Self {
        Self {
            name: name.to_string(),
            unit: String::new(),
            numeric: false,
            absolute_energy: false,
            rank: 0,
        }
    }
    pub fn number(name: &str, unit: &str) -> Self {
        Self {
            name: name.to_string(),
            unit: unit.to_string(),
            numeric: true,
            absolute_energy: false,
            rank: 0,
        }
    }
    fn energy(name: &str, scale: &Scale) -> Self {
        Self {
            absolute_energy: true,
            ..Self::number(name, &scale.unit)
        }
    }
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
    /// "EDP (relative)".
    pub fn label(&self) -> String {
        match (self.name.as_str(), self.unit.as_str()) {
            (name, "") => name.to_string(),
            ("", unit) => unit.to_string(),
            (name, unit) => format!("{name} ({unit})"),
        }
    }
}

pub(crate) struct Grid {
    pub columns: Vec<Column>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Units shared by all rows of a grid.
struct Scales {
    time: Scale,
    power: Scale,
    energy: Scale,
    edp: Scale,
}

impl Scales {
    fn fit(results: &[&RunResult]) -> Self {
        let energies = || results.iter().filter_map(|r| r.energy);
        Self {
            time: Scale::fit(results.iter().map(|r| r.time_s), "s", Large::Plain),
            power: Scale::fit(energies().map(|energy| energy.system_power_w), "W", Large::FromMillion),
            energy: Scale::fit(energies().map(|energy| energy.system_energy_j), "J", Large::FromMillion),
            edp: Scale::fit(energies().map(|energy| energy.edp_js), "J s", Large::FromThousand),
        }
    }
}

/// The table of results at these points. `point_name`: the swept name that becomes the first column, its value written once a
/// point. There is a column of mean responses where there are any, those of a fleet where the results are of one, and one with the source of energy where
/// it is not the report's own for every row.
pub(crate) fn results_grid(report: &Report, groups: &[PointGroup], point_name: Option<&str>) -> Grid {
    let results: Vec<&RunResult> = groups.iter().flat_map(|g| g.results.iter().copied()).collect();
    let scales = Scales::fit(&results);
    let several_sources = results.iter().any(|r| r.energy_source != report.energy_source);
    let responses = results.iter().any(|r| response_s(r).is_some());
    let fleet = results.iter().any(|r| is_of_fleet(r));
    let mut rows = Vec::new();
    for group in groups {
        for (index, result) in group.results.iter().enumerate() {
            let mut row = Vec::new();
            if let Some(name) = point_name {
                let value = group.point.get(name).filter(|_| index == 0);
                row.push(value.map(value_text).unwrap_or_default());
            }
            row.extend(cells(result, &scales));
            if responses {
                row.push(response_s(result).map_or_else(|| "-".to_string(), |s| format!("{:.2}", s * 1e3)));
            }
            if fleet {
                row.extend(fleet_cells(result));
            }
            if several_sources {
                row.push(result.energy_source.clone());
            }
            rows.push(row);
        }
    }
    let mut columns = columns(&scales, point_name);
    columns.extend(responses.then(|| Column::number("response", "mean, ms")));
    if fleet {
        columns.extend(fleet_columns());
    }
    columns.extend(several_sources.then(|| Column::text("energy from")));
    if report.has_only_ratios() {
        let shown: Vec<bool> = columns.iter().map(|column| !column.absolute_energy).collect();
        for row in &mut rows {
            let mut shown = shown.iter();
            row.retain(|_| shown.next() == Some(&true));
        }
        columns.retain(|column| !column.absolute_energy);
    }
    Grid { columns, rows }
}

fn columns(scales: &Scales, point_name: Option<&str>) -> Vec<Column> {
    let mut columns: Vec<Column> = point_name.map(|name| Column::number(name, "")).into_iter().collect();
    columns.push(Column::text("policy"));
    columns.extend([
        Column::number("time", &scales.time.unit),
        Column::energy("power", &scales.power).rank(4),
        Column::energy("energy", &scales.energy),
        Column::energy("EDP", &scales.edp).rank(3),
        Column::number("time", RELATIVE).rank(1),
        Column::number("energy", RELATIVE).rank(1),
        Column::number("EDP", RELATIVE).rank(2),
        Column::number("time", OVER_BOUND).rank(5),
        Column::number("energy", OVER_BOUND).rank(5),
    ]);
    columns
}

fn cells(result: &RunResult, scales: &Scales) -> Vec<String> {
    let (energy, ci95) = (result.energy, result.ci95);
    let absolute = |text: &dyn Fn(&Energy) -> String| energy.as_ref().map_or_else(|| "-".to_string(), text);
    vec![
        result.policy.clone(),
        scales.time.with_interval(result.time_s, ci95.map(|ci95| ci95.time_s)),
        absolute(&|energy| scales.power.text(energy.system_power_w)),
        absolute(&|energy| {
            let interval = ci95.and_then(|ci95| ci95.system_energy_j);
            scales.energy.with_interval(energy.system_energy_j, interval)
        }),
        absolute(&|energy| {
            scales
                .edp
                .with_interval(energy.edp_js, ci95.and_then(|ci95| ci95.edp_js))
        }),
        format!("{:.3}", result.relative.time),
        format!("{:.3}", result.relative.system_energy),
        format!("{:.3}", result.relative.edp),
        distance(result.time_s, result.bounds.time_s),
        distance(result.relative.system_energy, result.relative_bounds.system_energy),
    ]
}

/// Its times are mean responses, and its counters say how slow applications were.
pub(crate) fn is_of_fleet(result: &RunResult) -> bool {
    result.counters.contains_key("worst_slowdown")
}

fn fleet_columns() -> [Column; 4] {
    [
        Column::number("slowdown", "worst"),
        Column::number("late", "%"),
        Column::number("waited", "longest, s").rank(2),
        Column::number("machines", "on, mean").rank(1),
    ]
}

fn fleet_cells(result: &RunResult) -> [String; 4] {
    let cell = |name: &str, scale: f64, digits: usize| {
        let value = result.counters.get(name).and_then(serde_json::Value::as_f64);
        value.map_or_else(|| "-".to_string(), |value| format!("{:.digits$}", scale * value))
    };
    [
        cell("worst_slowdown", 1.0, 3),
        cell("late_share", 100.0, 1),
        cell("longest_wait_s", 1.0, 0),
        cell("machines_on", 1.0, 1),
    ]
}

fn distance(value: f64, bound: f64) -> String {
    percent_above(value, bound).map_or_else(|| "-".to_string(), |percent| format!("{percent:.1}"))
}
