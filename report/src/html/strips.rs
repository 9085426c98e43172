// SPDX-License-Identifier: MIT OR Apache-2.0
//! A study that judges one policy against all others: a row for each machine, a dot for each cell.

use super::escape::escape;
use crate::model::{Cell, Report};
use crate::sweep::value_text;
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 8.0;
/// Room that a number on the axis takes.
const NUMBER: f64 = 32.0;
const RIGHT: f64 = 16.0;
/// A line of text, and the dots below it.
const ROW: f64 = 34.0;
/// From the top of a row to its text and to its dots.
const PLACES: [f64; 2] = [13.0, 24.0];
const AXIS: f64 = 26.0;
/// Steps of the axis; it ends at the first one that no cell exceeds.
const STEPS: [f64; 12] = [1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0];

/// EDP of the judged policy over the lowest, by logarithm; empty: the study judges nobody.
pub(crate) fn strips(report: &Report) -> String {
    let Some(first) = report.cells.first() else {
        return String::new();
    };
    let rows = rows(&report.cells);
    let farthest = report.cells.iter().map(|cell| cell.edp_over_best).fold(1.0, f64::max);
    let last = STEPS[1..]
        .iter()
        .position(|&step| step >= farthest)
        .map_or(STEPS.len() - 1, |at| at + 1);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value.max(1.0).ln() / STEPS[last].max(farthest).ln();
    let bottom = ROW * rows.len() as f64;
    let name = format!("EDP of {} over the lowest", escape(&first.judged));
    let mut svg = super::open_figure(
        &name,
        "ratio; a dot for each cell, filled where it is behind",
        "cell",
        (WIDTH, bottom + AXIS),
    );
    let mut named = f64::NEG_INFINITY;
    for &step in &STEPS[..=last] {
        let at = x(step);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom}\"/>"
        );
        if at - named < NUMBER {
            continue;
        }
        named = at;
        let y = bottom + AXIS - 8.0;
        let _ = writeln!(
            svg,
            "<text class=\"tick\" x=\"{at:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{step}</text>"
        );
    }
    for (row, (name, cells)) in rows.iter().enumerate() {
        let [text, y] = PLACES.map(|place| ROW * row as f64 + place);
        let _ = writeln!(svg, "<text x=\"4\" y=\"{text:.1}\">{}</text>", escape(name));
        for cell in cells {
            let fill = if cell.behind { "var(--p1)" } else { "none" };
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"var(--p{})\"><title>{}: {:.3} times the lowest EDP, that of {}; time {:.3}</title></circle>",
                x(cell.edp_over_best),
                usize::from(cell.behind),
                escape(&label(cell)),
                cell.edp_over_best,
                escape(&cell.best),
                cell.time_over_first
            );
        }
    }
    svg + "</svg></figure>\n"
}

/// Cells of one value of what is swept first, in the order of the study.
fn rows(cells: &[Cell]) -> Vec<(String, Vec<&Cell>)> {
    let mut rows: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in cells {
        let name = cell.point.values().next().map_or_else(String::new, value_text);
        match rows.iter_mut().find(|(of, _)| *of == name) {
            Some((_, cells)) => cells.push(cell),
            None => rows.push((name, vec![cell])),
        }
    }
    rows
}

fn label(cell: &Cell) -> String {
    cell.point.values().map(value_text).collect::<Vec<_>>().join(", ")
}
