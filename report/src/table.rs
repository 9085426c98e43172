// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables for a terminal.

use crate::applications::applications_text;
use crate::cells::{beside_grid, cells_grid, summary};
use crate::classes::classes_text;
use crate::grid::{results_grid, Grid};
use crate::model::{Replayed, Report};
use crate::published::published_text;
use crate::sweep::{points, single_numeric};
use std::fmt::Write;

/// The report for people: a title line, then a block per sweep point, or one table where a single number is swept. Every line
/// ends with a newline.
pub fn table(report: &Report) -> String {
    let mut text = title(report);
    if !report.description.is_empty() {
        let _ = writeln!(text, "{}", printable(&report.description));
    }
    let groups = points(report);
    if groups.is_empty() {
        text.push_str("\nno results\n");
        return text;
    }
    if let Some(cells) = cells_grid(report) {
        text.push('\n');
        text.push_str(&render(&cells));
        text.push('\n');
        text.push_str(&summary(report));
        if let Some(beside) = beside_grid(report) {
            text.push('\n');
            text.push_str(&render(&beside));
        }
        return text;
    }
    if let Some(name) = single_numeric(report) {
        text.push('\n');
        text.push_str(&render(&results_grid(report, &groups, Some(&name))));
    } else {
        for group in groups.chunks(1) {
            let label = group[0].label();
            text.push('\n');
            if !label.is_empty() {
                let _ = writeln!(text, "{}", printable(&label));
            }
            text.push_str(&render(&results_grid(report, group, None)));
        }
    }
    text.push_str(&footnote(report));
    text.push_str(&classes_text(report));
    text.push_str(&applications_text(report));
    text.push_str(&published_text(report));
    text.push_str(&report.trace.as_ref().map(replayed_text).unwrap_or_default());
    text
}

/// Above the lines of [`Replayed::unknown`].
pub(crate) const CANNOT_KNOW: &str = "What the replay cannot know:";

/// "Recorded: 4.500 s on 2 CPUs, 8.250 s of CPU time, 31 tasks (build.trace)."
pub(crate) fn recorded(trace: &Replayed) -> String {
    let tasks = if trace.tasks == 1 { "task" } else { "tasks" };
    format!(
        "Recorded: {:.3} s on {} CPUs, {:.3} s of CPU time, {} {tasks} ({}).",
        trace.recorded_s, trace.cpus, trace.cpu_s, trace.tasks, trace.file
    )
}

/// Where a recording was replayed: how long it was, and what the replay cannot know.
pub(crate) fn replayed_text(trace: &Replayed) -> String {
    let mut text = format!("\n{}\n{CANNOT_KNOW}\n", printable(&recorded(trace)));
    for line in &trace.unknown {
        let _ = writeln!(text, "  - {}", printable(line));
    }
    text
}

/// "compile-governors: machine phenom-9750, workload kernel-build, seed 1, 1 run, energy: modelled".
pub(crate) fn title(report: &Report) -> String {
    let runs = if report.runs == 1 {
        "1 run".to_string()
    } else {
        format!("{} runs", report.runs)
    };
    printable(&format!(
        "{}: machine {}, workload {}, seed {}, {runs}, energy: {}",
        report.title, report.machine, report.workload, report.seed, report.energy_source
    )) + "\n"
}

/// What the columns leave unsaid.
pub(crate) fn footnote(report: &Report) -> String {
    let mut text =
        "\nPower, energy and EDP (energy x time) are those of the whole system. Relative: to the first policy"
            .to_string();
    if points(report).len() > 1 {
        text.push_str(" of the same point");
    }
    text.push_str(". Bound: what no schedule can beat.\n");
    if report.results.iter().any(|r| r.ci95.is_some()) {
        let _ = writeln!(
            text,
            "Means over {} runs ± half-width of the 95 % confidence interval.",
            report.runs
        );
    }
    text
}

/// Two lines of heading, a rule, the rows; columns two spaces apart.
pub(crate) fn render(grid: &Grid) -> String {
    let rows: Vec<Vec<String>> = grid
        .rows
        .iter()
        .map(|r| r.iter().map(|c| printable(c)).collect())
        .collect();
    let names: Vec<String> = grid.columns.iter().map(|c| printable(&c.name)).collect();
    let units: Vec<String> = grid.columns.iter().map(|c| c.unit.clone()).collect();
    let mut lines = vec![names];
    if units.iter().any(|u| !u.is_empty()) {
        lines.push(units);
    }
    let headings = lines.len();
    lines.extend(rows);
    let widths: Vec<usize> = (0..grid.columns.len())
        .map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0))
        .collect();
    lines.insert(headings, widths.iter().map(|w| "-".repeat(*w)).collect());
    lines.iter().map(|cells| line(grid, &widths, cells)).collect()
}

fn line(grid: &Grid, widths: &[usize], cells: &[String]) -> String {
    let padded: Vec<String> = cells
        .iter()
        .enumerate()
        .map(|(i, cell)| {
            let width = widths[i];
            if grid.columns[i].numeric {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        })
        .collect();
    format!("{}\n", padded.join("  ").trim_end())
}

/// Names come from files: a control character in one must not reach the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
