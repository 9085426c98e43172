// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/agreement.md: every published figure, what comes out here, and how often a prediction is near.

use super::grid::published_grid;
use super::{Compared, ComparedTable, Expected, Kind};
use crate::grid::Grid;
use std::fmt::Write;

const HEAD: &str = "\
# Agreement

Every figure that a source published about an experiment of this project, beside the one that comes out here. Made by
`lop reproduce --agreement`, and held to it by `scripts/agreement-check.sh`.

**fitted**: a parameter was fitted to the figure, so agreement shows that the fit is met. **identity**: it follows from what was fitted, from
published settings, or from what it is relative to. **prediction**: neither; no parameter was chosen by looking at it.

A **miss** is a number that is more than 5 % off, a bound that does not hold, or another class. The error of a change in % is in points, and counts by
its share of the published change: 0.9 % where 3.4 % is published is 73 % off. Only where 0 % is published, points count as they are. Notes name
oddities of the source, the most likely cause of each miss, and why no study computes some figures yet. Another seed changes digits
and no verdict; the number of threads and the order of studies change nothing.
";

/// The page as Markdown; tables of one experiment together. `whole`: all tables are there, so that figures are counted.
pub fn agreement(tables: &[(String, ComparedTable)], whole: bool) -> String {
    let mut page = String::new();
    if whole {
        page.push_str(HEAD);
        page.push_str(&summary(tables));
    }
    let mut before = None;
    for (study, table) in tables {
        if before != Some(study) {
            let _ = writeln!(page, "\n## {study}");
        }
        before = Some(study);
        let _ = writeln!(page, "\n{}\n", table.source);
        let (grid, notes) = published_grid(table);
        page.push_str(&rows(&grid));
        if !notes.is_empty() {
            page.push('\n');
        }
        (notes.iter().zip(1..)).for_each(|(note, number)| _ = writeln!(page, "{number}. {note}"));
    }
    page
}

fn rows(grid: &Grid) -> String {
    let names: Vec<&str> = grid.columns.iter().map(|column| column.name.as_str()).collect();
    let rule: Vec<&str> = (grid.columns.iter())
        .map(|column| if column.numeric { "--:" } else { "---" })
        .collect();
    let mut text = format!("| {} |\n|{}|\n", names.join(" | "), rule.join("|"));
    (grid.rows.iter()).for_each(|row| _ = writeln!(text, "| {} |", row.join(" | ")));
    text
}

/// How many figures of each kind there are, are computed, and are near.
fn summary(tables: &[(String, ComparedTable)]) -> String {
    let all: Vec<&Compared> = tables.iter().flat_map(|(_, table)| &table.figures).collect();
    let mut text = "\n| kind | figures | no study yet | numbers | within 5 % | within 10 % | within 20 % | bounds and classes | hold |\n".to_string();
    text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for kind in [Kind::Prediction, Kind::Identity, Kind::Fitted] {
        let of_kind: Vec<&&Compared> = all.iter().filter(|compared| compared.figure.kind == kind).collect();
        let is_number = |compared: &&&&Compared| matches!(compared.figure.expected, Expected::Value(_));
        let computed = || of_kind.iter().filter(|compared| compared.ours.is_some());
        let near = |share: f64| {
            computed()
                .filter(is_number)
                .filter(|compared| compared.within(share))
                .count()
        };
        let rest = || computed().filter(|compared| !is_number(compared));
        let counts = [
            of_kind.len(),
            of_kind.len() - computed().count(),
            computed().filter(is_number).count(),
            near(0.05),
            near(0.1),
            near(0.2),
            rest().count(),
            rest().filter(|compared| compared.within(0.0)).count(),
        ];
        let counts = counts.map(|count| count.to_string()).join(" | ");
        let _ = writeln!(text, "| {} | {counts} |", kind.name());
    }
    text
}
