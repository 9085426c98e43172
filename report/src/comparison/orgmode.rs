// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison as a table of Emacs' Org mode.

use super::{document, headings, Comparison};
use crate::grid::Grid;
use crate::page::printable;

/// Names are neither emphasis nor subscripts, and dashes and dots stay what they are.
const OPTIONS: &str = "#+OPTIONS: ^:nil *:nil -:nil\n\n";

/// Verdict, title, table, notes and warnings.
pub fn comparison_orgmode(comparison: &Comparison) -> String {
    OPTIONS.to_string() + &document(comparison, "- ", escaped, table)
}

/// Columns as wide as their widest cell, as the editor would make them.
fn table(grid: &Grid) -> String {
    let escaped_row = |cells: &mut dyn Iterator<Item = String>| cells.map(|cell| escaped(&cell)).collect::<Vec<_>>();
    let mut rows = vec![escaped_row(&mut headings(grid))];
    rows.extend(grid.rows.iter().map(|row| escaped_row(&mut row.iter().cloned())));
    let widths: Vec<usize> = (0..grid.columns.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut lines: Vec<String> = rows.iter().map(|row| line(grid, row, &widths)).collect();
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    lines.insert(1, format!("|{}|\n", rules.join("+")));
    lines.concat()
}

fn line(grid: &Grid, row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(&grid.columns).zip(widths);
    let padded = cells.map(|((cell, column), &width)| match column.numeric {
        true => format!("{cell:>width$}"),
        false => format!("{cell:<width$}"),
    });
    format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
}

/// Names come from files and command lines: nothing in them may end a cell or become an entity. A title is no heading.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '|' => safe.push_str("\\vert{}"),
            '\\' => safe.push_str("\\backslash{}"),
            '*' => safe.push_str("\\ast{}"),
            '<' => safe.push_str("\\lt{}"),
            '>' => safe.push_str("\\gt{}"),
            '[' if safe.ends_with('[') => safe.push_str("\u{200b}["), // two of them begin a link
            character => safe.push(character),
        }
    }
    safe
}
