// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison on a terminal.

use super::{
    labels, notes, ratio_of, runs_text, spread_grid, title, verdicts, Comparison, Estimate, NOTHING, QUANTITIES,
};
use crate::grid::{Column, Grid};
use crate::table::{printable, render, replayed_text};
use std::fmt::Write;

/// Verdict, title, results, spread, notes, warnings. Every line ends with a newline.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for verdict in verdicts(comparison) {
        let _ = writeln!(text, "{}", printable(&verdict));
    }
    let _ = writeln!(text, "{}\n", printable(&title(comparison)));
    text.push_str(&render(&means_grid(comparison)));
    text.push('\n');
    text.push_str(&render(&spread_grid(comparison)));
    text.push('\n');
    for note in notes(comparison) {
        let _ = writeln!(text, "{}", printable(&note));
    }
    for warning in &comparison.warnings {
        let _ = writeln!(text, "Warning: {}.", printable(warning));
    }
    text + &comparison.trace.as_ref().map(replayed_text).unwrap_or_default()
}

/// Means with their intervals and ratios, a row for each quantity and combination: as wide as a terminal, where a column for each
/// quantity is twice that. Runs where some failed.
fn means_grid(comparison: &Comparison) -> Grid {
    let (labels, names) = labels(comparison);
    let mut columns = vec![Column::text("quantity")];
    columns.extend(labels);
    columns.extend([Column::text("mean"), Column::text("relative")]);
    let mut rows = Vec::new();
    let mut add = |quantity: &str, cells: &mut dyn FnMut(usize) -> [String; 2]| {
        for (index, label) in names.iter().enumerate() {
            let mut row = vec![quantity.to_string()];
            row.extend(label.iter().cloned());
            row.extend(cells(index));
            rows.push(row);
        }
    };
    let results = &comparison.results;
    if results.iter().any(|row| row.times.len() != comparison.rounds as usize) {
        add("runs", &mut |index| [runs_text(&results[index]), String::new()]);
    }
    for quantity in &QUANTITIES {
        let Some(scale) = quantity.scale(comparison) else {
            continue;
        };
        let mean = |index: usize| {
            let spread = (quantity.of)(&results[index])?;
            Some(spread.mean.text(|value| scale.text(value)))
        };
        let ratio = |index: usize| -> Option<Estimate> { ratio_of(quantity)?(&results[index]) };
        let none = match (0..results.len()).any(|index| ratio(index).is_some()) {
            true => NOTHING,
            false => "",
        };
        add(&format!("{}, {}", quantity.name, scale.unit), &mut |index| {
            let relative = ratio(index).map(|estimate| estimate.text(|value| format!("{value:.3}")));
            [
                mean(index).unwrap_or(NOTHING.to_string()),
                relative.unwrap_or(none.to_string()),
            ]
        });
    }
    Grid { columns, rows }
}
