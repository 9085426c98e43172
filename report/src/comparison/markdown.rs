// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison as a table of Markdown.

use super::{document, headings, Comparison};
use crate::grid::Grid;
use crate::page::printable;

/// Verdict, title, table, notes and warnings.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    document(comparison, "- ", escaped, table)
}

fn table(grid: &Grid) -> String {
    let heading = headings(grid);
    let rules = grid
        .columns
        .iter()
        .map(|column| if column.numeric { "---:" } else { ":---" });
    let mut text = line(heading.map(|cell| escaped(&cell)));
    text.push_str(&line(rules.map(str::to_string)));
    for row in &grid.rows {
        text.push_str(&line(row.iter().map(|cell| escaped(cell))));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Names come from files and command lines: nothing in them may become markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '#' | '!' => safe.extend(['\\', character]),
            character => safe.push(character),
        }
    }
    safe
}
