//! Studies that judge one policy beside all others: a row for each cell in place of a table for each point.

use crate::grid::{Column, Grid};
use crate::model::{Cell, Report};
use crate::sweep::value_text;

/// `None`: the study judges nobody. Those that are behind come first, farthest behind first.
pub(crate) fn cells_grid(report: &Report) -> Option<Grid> {
    let first = report.cells.first()?;
    let mut cells: Vec<&Cell> = report.cells.iter().collect();
    cells.sort_by(|a, b| {
        let farthest = |cell: &Cell| cell.edp_over_best.max(cell.time_over_first);
        (b.behind.cmp(&a.behind)).then(match a.behind && b.behind {
            true => farthest(b).total_cmp(&farthest(a)),
            false => std::cmp::Ordering::Equal,
        })
    });
    let mut columns: Vec<Column> = first.point.keys().map(|name| Column::text(name)).collect();
    columns.extend([
        Column::text("lowest EDP"),
        Column::number(&format!("{} EDP", first.judged), "over lowest"),
        Column::number(
            &format!("{} time", first.judged),
            &format!("over {}", first_policy(report)),
        ),
        Column::text("rule that costs most"),
        Column::number("EDP without it", "over lowest"),
    ]);
    let row = |cell: &&Cell| {
        let mut row: Vec<String> = cell.point.values().map(value_text).collect();
        let price = cell.price.as_ref();
        let rule = match (price, cell.behind) {
            (Some(price), _) => price.without.clone(),
            (None, true) => "no single one".to_string(),
            (None, false) => String::new(),
        };
        row.extend([
            cell.best.clone(),
            format!("{:.3}", cell.edp_over_best),
            format!("{:.3}", cell.time_over_first),
            rule,
            price.map_or(String::new(), |price| format!("{:.3}", price.edp_over_best)),
        ]);
        row
    };
    Some(Grid {
        rows: cells.iter().map(row).collect(),
        columns,
    })
}

/// What the table comes to, in a sentence.
pub(crate) fn summary(report: &Report) -> String {
    let Some(first) = report.cells.first() else {
        return String::new();
    };
    let all = report.cells.len();
    let behind = report.cells.iter().filter(|cell| cell.behind).count();
    let slower = report.cells.iter().filter(|cell| cell.time_over_first > 1.01).count();
    format!(
        "{}: lowest EDP or within 2 % of it, and no more than 1 % slower than {}, in {} of {all} cells; slower by more than 1 % in {slower}.\n",
        first.judged,
        first_policy(report),
        all - behind
    )
}

fn first_policy(report: &Report) -> &str {
    report.results.first().map_or("the first", |result| &result.policy)
}
