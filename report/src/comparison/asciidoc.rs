// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison as a table of AsciiDoc.

use super::{document, headings, Comparison};
use crate::grid::Grid;
use crate::page::printable;

/// Verdict, title, table, notes and warnings.
pub fn comparison_asciidoc(comparison: &Comparison) -> String {
    document(comparison, "* ", escaped, table)
}

fn table(grid: &Grid) -> String {
    let sides: Vec<&str> = grid
        .columns
        .iter()
        .map(|column| if column.numeric { ">" } else { "<" })
        .collect();
    let heading: Vec<String> = headings(grid).collect();
    let mut text = format!(
        "[cols=\"{}\",options=\"header\"]\n|===\n{}\n",
        sides.join(","),
        line(&heading)
    );
    grid.rows.iter().for_each(|row| text.push_str(&line(row)));
    text + "|===\n"
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| format!("| {}", escaped(cell))).collect();
    cells.join(" ") + "\n"
}

/// Names come from files and command lines: nothing in them may become markup, or other dots and dashes. A bracket behind a space begins nothing.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for character in printable(text).chars() {
        let markup = match character {
            '|' | '*' | '_' | '`' | '#' | '^' | '~' | '+' | '{' | '}' | '<' | '>' | '&' | '\\' | '@' | '$' => true,
            '[' | '\'' => before != ' ',
            '.' | '-' | ':' | '(' | ')' => before == character,
            '/' => before == ':',
            _ => false,
        };
        match markup {
            true => safe.push_str(&format!("&#{};", u32::from(character))),
            false => safe.push(character),
        }
        before = character;
    }
    safe
}
