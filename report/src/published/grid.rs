// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published figures beside ours as rows, with notes.

use super::{Compared, ComparedTable, Expected, Ours, Unit};
use crate::grid::{Column, Grid};
use crate::model::Report;
use crate::number::plain;
use crate::page::Page;

pub(crate) const HEADING: &str = "Published, and what comes out here";

/// From here on a figure counts as missed.
pub(super) const MISS: f64 = 0.05;

/// A row for each figure, and the notes that rows name by number, each once: oddities of the source, causes of misses, and why no study computes some.
pub(crate) fn published_grid(table: &ComparedTable) -> (Grid, Vec<String>) {
    let mut notes = Vec::new();
    let row = |compared: &Compared| {
        let figure = &compared.figure;
        vec![
            figure.what.clone(),
            expected(&figure.expected),
            ours(compared),
            figure.unit.name().to_string(),
            error(compared),
            compared.kind.name().to_string(),
            numbers(compared, &mut notes),
        ]
    };
    let mut rows: Vec<Vec<String>> = table.figures.iter().map(row).collect();
    let mut columns = vec![
        Column::text("figure"),
        Column::number("published", ""),
        Column::number("ours", ""),
        Column::text("unit"),
        Column::number("error", ""),
        Column::text("kind").rank(1),
        Column::text("note"),
    ];
    if table.figures.iter().any(|compared| compared.range.is_some()) {
        columns.insert(3, Column::number("range", ""));
        (rows.iter_mut().zip(&table.figures)).for_each(|(row, compared)| row.insert(3, range(compared)));
    }
    (Grid { columns, rows }, notes)
}

fn expected(expected: &Expected) -> String {
    match expected {
        Expected::Value(value) => format!("{value}"),
        Expected::Class(class) => class.clone(),
        Expected::Within {
            at_least: Some(least),
            at_most: Some(most),
        } => format!("{least} to {most}"),
        Expected::Within {
            at_least: Some(least), ..
        } => format!("at least {least}"),
        Expected::Within { at_most, .. } => at_most.map_or(String::new(), |most| format!("at most {most}")),
    }
}

fn number(number: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => unsigned_zero(format!("{number:.2}")),
        _ => plain(number),
    }
}

/// One number where the ends show as the same.
fn range(compared: &Compared) -> String {
    let Some(ends) = compared.range else {
        return "-".to_string();
    };
    let [least, most] = ends.map(|end| number(end, compared.figure.unit));
    match least == most {
        true => least,
        false => format!("{least} to {most}"),
    }
}

fn ours(compared: &Compared) -> String {
    match &compared.ours {
        Some(Ours::Number(ours)) => number(*ours, compared.figure.unit),
        Some(Ours::Class(class)) => class.clone(),
        None => "no study yet".to_string(),
    }
}

/// In % of the published figure; where that is a change in %, in points, as its share says little of a small one.
fn error(compared: &Compared) -> String {
    match (&compared.figure.expected, &compared.ours, compared.error) {
        (_, None, _) => "-".to_string(),
        (Expected::Class(_), _, Some(_)) => "same".to_string(),
        (_, _, None) => "another".to_string(),
        (Expected::Within { .. }, _, Some(0.0)) => "holds".to_string(),
        (Expected::Value(value), Some(Ours::Number(ours)), _) if compared.figure.unit == Unit::Percent => {
            unsigned_zero(format!("{:+.1}", ours - value)) + " points"
        }
        (_, _, Some(error)) => unsigned_zero(format!("{:+.1}", 100.0 * error)) + " %",
    }
}

/// A rounded zero has no sign.
fn unsigned_zero(text: String) -> String {
    let digits = text.trim_start_matches(['+', '-']);
    match digits.chars().all(|c| matches!(c, '0' | '.')) {
        true => digits.to_string(),
        false => text,
    }
}

/// "1, 3": what is to be said of a figure, each counted from 1 where it is said first.
fn numbers(compared: &Compared, notes: &mut Vec<String>) -> String {
    let figure = &compared.figure;
    let oddity = figure
        .oddity
        .as_ref()
        .map(|oddity| format!("Oddity of the source: {oddity}."));
    let cause = (!compared.within(MISS)).then(|| match &figure.cause {
        Some(cause) => format!("{cause}."),
        None => "The cause is not known.".to_string(),
    });
    let mut number = |note: String| {
        let known = notes.iter().position(|known| *known == note);
        let index = known.unwrap_or_else(|| {
            notes.push(note);
            notes.len() - 1
        });
        (index + 1).to_string()
    };
    let numbers: Vec<String> = oddity.into_iter().chain(cause).map(&mut number).collect();
    numbers.join(", ")
}

/// A block for each source; nothing where nothing was published.
pub(crate) fn published_text(report: &Report, page: &mut Page) {
    for table in &report.published {
        let (grid, notes) = published_grid(table);
        page.blank();
        page.prose(&format!("{HEADING} ({})", table.source));
        page.blank();
        page.table(&grid);
        (notes.iter().zip(1..)).for_each(|(note, number)| page.prose(&format!("{number}. {note}")));
    }
}
