// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison on a terminal.

use super::{
    labels, notes, ratio_of, runs_text, spread_grid, title, verdicts, Comparison, Estimate, NOTHING, QUANTITIES,
};
use crate::grid::{Column, Grid};
use crate::page::{Page, Room};
use crate::table::replayed_text;

/// Verdict, title, results, spread, notes, warnings. Every line ends with a newline.
pub fn comparison_text(comparison: &Comparison, room: Room) -> String {
    let mut page = Page::new(room);
    verdicts(comparison).iter().for_each(|verdict| page.prose(verdict));
    page.prose(&title(comparison));
    page.blank();
    page.table(&means_grid(comparison));
    page.blank();
    page.table(&spread_grid(comparison));
    page.blank();
    notes(comparison).iter().for_each(|note| page.prose(note));
    for warning in &comparison.warnings {
        page.prose(&format!("Warning: {warning}."));
    }
    comparison
        .trace
        .iter()
        .for_each(|trace| replayed_text(trace, &mut page));
    page.end()
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
        let scale = quantity.scale(comparison);
        let mean = |index: usize| {
            let spread = (quantity.of)(&results[index])?;
            let scale = scale.as_ref()?;
            Some(spread.mean.text(|value| scale.text(value)))
        };
        let ratio = |index: usize| -> Option<Estimate> { ratio_of(quantity)?(&results[index]) };
        let has_ratios = (0..results.len()).any(|index| ratio(index).is_some());
        let none = if has_ratios { NOTHING } else { "" };
        let name = match &scale {
            Some(scale) => format!("{}, {}", quantity.name, scale.unit),
            None if has_ratios => quantity.name.to_string(),
            None => continue,
        };
        add(&name, &mut |index| {
            let relative = ratio(index).map(|estimate| estimate.text(|value| format!("{value:.3}")));
            [
                mean(index).unwrap_or(NOTHING.to_string()),
                relative.unwrap_or(none.to_string()),
            ]
        });
    }
    Grid { columns, rows }
}
