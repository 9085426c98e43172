// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/agreement.md: every published figure, what comes out here, and how often a prediction is near.

use super::grid::{published_grid, MISS};
use super::{Compared, ComparedTable, Expected, Kind};
use crate::grid::Grid;
use std::fmt::Write;

const HEAD: &str = "\
# Agreement

Every figure that a source published about an experiment of this project, beside the one that comes out here. Made by
`lop reproduce --agreement`, and held to it by `scripts/agreement-check.sh`.

**fitted**: a parameter was chosen by looking at the figure (data/origins.toml), so agreement shows that the fit is met. **identity**: a closed form
of settings and fitted parameters gives ours within 1 % (data/published.toml), or ours is arithmetic of such figures of its study: energy is time times
power. **prediction**: neither. `lop` derives the kind from the origins and closed forms that these files list; none is typed beside a figure.

A **miss** is a number that is more than 5 % off, a bound that does not hold, or another class. The error of a change in % is in points, and counts by
its share of the published change: 0.9 % where 3.4 % is published is 73 % off. Only where 0 % is published, points count as they are. Notes name
oddities of the source, the most likely cause of each miss, and why no study computes some figures yet. Another seed changes digits
and no verdict; the number of threads and the order of studies change nothing.

A **range** is what comes out over the ranges of what is assumed, one assumption at a time: each study says what was varied, and where its range comes
from. No range was chosen by looking at a figure. If a figure is missed and lies within its range, the assumption may be the cause; if it lies outside,
the model lacks something, or an assumption counts that was not varied. Every study with a prediction has ranges; `matmul-power`, whose watts are
fitted, has none. Studies that no source has a figure about are not on this page: what is assumed and not varied, and where models end, is in
[experiments.md](experiments.md).
";

/// A study's tables, and what was varied for their ranges.
pub struct Agreed {
    pub study: String,
    /// What is assumed, and where its range comes from.
    pub assumed: Vec<(String, String)>,
    pub tables: Vec<ComparedTable>,
}

/// The page as Markdown. `whole`: all tables are there, so that figures are counted.
pub fn agreement(studies: &[Agreed], whole: bool) -> String {
    let mut page = String::new();
    if whole {
        page.push_str(HEAD);
        page.push_str(&summary(studies));
    }
    for agreed in studies {
        let _ = writeln!(page, "\n## {}", agreed.study);
        if !agreed.assumed.is_empty() {
            page.push_str("\nVaried for the range:\n");
        }
        for (what, source) in &agreed.assumed {
            let _ = writeln!(page, "- {what}: {source}.");
        }
        agreed.tables.iter().for_each(|table| push_table(&mut page, table));
    }
    page
}

fn push_table(page: &mut String, table: &ComparedTable) {
    let _ = writeln!(page, "\n{}\n", table.source);
    let (grid, notes) = published_grid(table);
    page.push_str(&rows(&grid));
    if !notes.is_empty() {
        page.push('\n');
    }
    (notes.iter().zip(1..)).for_each(|(note, number)| _ = writeln!(page, "{number}. {note}"));
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
fn summary(studies: &[Agreed]) -> String {
    let tables = studies.iter().flat_map(|agreed| &agreed.tables);
    let all: Vec<&Compared> = tables.flat_map(|table| &table.figures).collect();
    let mut text = "\n| kind | figures | no study yet | numbers | within 5 % | within 10 % | within 20 % | bounds and classes | hold | missed | within their range |\n".to_string();
    text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    let kinds = [Kind::Prediction, Kind::Identity, Kind::Fitted].map(|kind| (kind.name(), Some(kind)));
    for (name, kind) in kinds.into_iter().chain([("all", None)]) {
        let is_of_kind = |compared: &&&Compared| kind.is_none_or(|kind| compared.kind == kind);
        let of_kind: Vec<&&Compared> = all.iter().filter(is_of_kind).collect();
        let is_number = |compared: &&&&Compared| matches!(compared.figure.expected, Expected::Value(_));
        let computed = || of_kind.iter().filter(|compared| compared.ours.is_some());
        let near = |share: f64| {
            computed()
                .filter(is_number)
                .filter(|compared| compared.within(share))
                .count()
        };
        let rest = || computed().filter(|compared| !is_number(compared));
        let missed = || computed().filter(|compared| !compared.within(MISS));
        let counts = [
            of_kind.len(),
            of_kind.len() - computed().count(),
            computed().filter(is_number).count(),
            near(0.05),
            near(0.1),
            near(0.2),
            rest().count(),
            rest().filter(|compared| compared.within(0.0)).count(),
            missed().count(),
            missed().filter(|compared| compared.may_be()).count(),
        ];
        let counts = counts.map(|count| count.to_string()).join(" | ");
        let _ = writeln!(text, "| {name} | {counts} |");
    }
    text
}
