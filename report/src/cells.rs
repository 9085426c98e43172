// SPDX-License-Identifier: MIT OR Apache-2.0
//! Studies that judge one policy beside all others: a row for each cell in place of a table for each point.

use crate::grid::{Column, Grid};
use crate::model::{Beside, Cell, Report, RunResult};
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
    // Without what it stands for, which has no room in a heading.
    let baseline = first_policy(report).split(" (").next().unwrap_or_default();
    let clocked = cells.iter().any(|cell| cell.responses);
    let mut columns: Vec<Column> = first.point.keys().map(|name| Column::text(name)).collect();
    columns.extend([
        Column::text("lowest EDP").rank(1),
        Column::number(&format!("{} EDP", first.judged), "over lowest"),
        Column::number(&format!("{} time", first.judged), &format!("over {baseline}")),
        Column::number(&format!("{} energy", first.judged), &format!("over {baseline}")),
    ]);
    columns.extend(
        [("response", baseline), ("energy", "lowest in time")]
            .into_iter()
            .filter(|_| clocked)
            .map(|(name, other)| Column::number(&format!("{} {name}", first.judged), &format!("over {other}"))),
    );
    let row = |cell: &&Cell| {
        let mut row: Vec<String> = cell.point.values().map(value_text).collect();
        let both = of_both(report, cell);
        let text = |text: Option<String>| text.unwrap_or("-".to_string());
        let over = |is_it: bool| is_it.then(|| format!("{:.3}", cell.time_over_first));
        row.extend([
            cell.best.clone(),
            format!("{:.3}", cell.edp_over_best),
            text(over(!cell.responses)),
            text(both.map(|[own, its]| format!("{:.3}", own.relative.system_energy / its.relative.system_energy))),
        ]);
        if clocked {
            row.extend(
                [
                    over(cell.responses),
                    cell.energy_over_in_time.map(|energy| format!("{energy:.3}")),
                ]
                .map(text),
            );
        }
        row
    };
    Some(Grid {
        rows: cells.iter().map(row).collect(),
        columns,
    })
}

/// Results of the judged policy and of the first at the point of a cell; `None`: the report has no results there.
fn of_both<'a>(report: &'a Report, cell: &Cell) -> Option<[&'a RunResult; 2]> {
    let of = |policy: &str| {
        let mut results = report.results.iter();
        results.find(|result| result.policy == policy && result.point == cell.point)
    };
    Some([of(&cell.judged)?, of(first_policy(report))?])
}

/// Of the cells in which the judged policy is behind: what it does otherwise than the policy of the lowest EDP. `None`: it is behind nowhere.
pub(crate) fn beside_grid(report: &Report) -> Option<Grid> {
    let mut cells: Vec<(&Cell, Beside)> = (report.cells.iter())
        .filter_map(|cell| Some((cell, cell.beside?)))
        .collect();
    cells.sort_by(|a, b| b.0.edp_over_best.total_cmp(&a.0.edp_over_best));
    let (first, _) = cells.first()?;
    let mut columns: Vec<Column> = first.point.keys().map(|name| Column::text(name)).collect();
    columns.push(Column::text("lowest EDP"));
    columns.extend(["time", "power"].map(|name| Column::number(name, "over its")));
    columns.extend(
        ["wakeups", "migrations", "high CPUs", "slow start, s"]
            .map(|name| Column::number(name, &format!("{} / its", first.judged))),
    );
    let marks = marks(&report.cells);
    let row = |(cell, beside): &(&Cell, Beside)| {
        let mut row: Vec<String> = cell.point.values().map(value_text).collect();
        let whole = |[own, its]: [f64; 2]| format!("{own:.0} / {its:.0}");
        row.push(cell.best.clone());
        let mark = marks[usize::from(cell.responses)];
        row.extend([format!("{:.3}{mark}", beside.time), format!("{:.3}", beside.power)]);
        row.extend([beside.wakeups, beside.migrations].map(whole));
        row.extend([beside.high_set_mean, beside.lost_slow_start_s].map(|[own, its]| format!("{own:.2} / {its:.2}")));
        row
    };
    Some(Grid {
        rows: cells.iter().map(row).collect(),
        columns,
    })
}

/// What stands behind a time over another one: `r` where both are mean responses, beside which all others have as much room.
fn marks(cells: &[Cell]) -> [&'static str; 2] {
    if cells.iter().any(|cell| cell.responses) {
        ["  ", " r"]
    } else {
        [""; 2]
    }
}

/// The conclusion in a sentence, and what `r` stands for.
pub(crate) fn summary(report: &Report) -> String {
    let legend = legend(report).map_or(String::new(), |legend| format!("{legend}\n"));
    format!("{}\n{legend}", judgement(report))
}

/// Empty if no policy is judged.
pub(crate) fn judgement(report: &Report) -> String {
    let Some(first) = report.cells.first() else {
        return String::new();
    };
    let all = report.cells.len();
    let behind = report.cells.iter().filter(|cell| cell.behind).count();
    let slower = report.cells.iter().filter(|cell| cell.time_over_first > 1.01).count();
    format!(
        "{}: lowest EDP or within 2 % of it, and no more than 1 % slower than {}, in {} of {all} cells; slower by more than 1 % in {slower}.",
        first.judged,
        first_policy(report),
        all - behind
    )
}

/// Energy over the lowest of those in time, up to which none takes 2 % less.
const NEARLY_LEAST: f64 = 1.02;

/// `None`: no workload ends by the clock.
pub(crate) fn legend(report: &Report) -> Option<String> {
    let marked = report.cells.iter().any(|cell| cell.responses && cell.beside.is_some());
    let mark = if marked { " (r)" } else { "" };
    let of_clock = report.cells.iter().filter_map(|cell| cell.energy_over_in_time);
    let cells = match of_clock.clone().count() {
        0 => return None,
        1 => "1 cell".to_string(),
        n => format!("{n} cells"),
    };
    let least = of_clock.filter(|energy| *energy <= NEARLY_LEAST).count();
    Some(format!(
        "In {cells} the clock sets when the workload ends: the mean response stands for the time there, in EDP too{mark}. In {least} of these no policy that \
         responds as early takes 2 % less energy."
    ))
}

pub(crate) fn first_policy(report: &Report) -> &str {
    report.results.first().map_or("the first", |result| &result.policy)
}
