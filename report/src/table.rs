// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables for a terminal.

use crate::applications::applications_text;
use crate::cells::{beside_grid, cells_grid, judgement, legend};
use crate::classes::classes_text;
use crate::comparison::NOTHING_BY_CHANCE;
use crate::grid::{is_of_fleet, results_grid, OVER_BOUND, RELATIVE};
use crate::labels::labelled;
use crate::model::{is_point, Replayed, Report, RunResult};
use crate::number::is_wide;
use crate::page::{Page, Room};
use crate::pareto::{self, pareto_grid};
use crate::published::published_text;
use crate::ratios::ONLY_RATIOS;
use crate::rows::merged;
use crate::rules::{self, rules_grid};
use crate::sweep::{points, single_numeric};
use crate::variations;
use crate::verdict::verdicts;

/// The report for people: a title, what it comes to, then a block per sweep point, or one table where a single number is swept. Every line ends with a
/// newline.
pub fn table(report: &Report, room: Room) -> String {
    let report = &labelled(report);
    let mut page = Page::new(room);
    page.prose(&title(report));
    if report.results.is_empty() {
        page.blank();
        page.prose("no results");
        return page.end();
    }
    let groups = variations::groups_grid(report);
    let cells = cells_grid(report);
    match (&groups, &cells) {
        (Some(_), _) => page.prose(&variations::judgement(report)),
        (None, Some(_)) => page.prose(&judgement(report)),
        (None, None) => verdicts(report).iter().for_each(|verdict| page.prose(verdict)),
    }
    if !report.description.is_empty() {
        page.prose(&report.description);
    }
    if let Some(pareto) = pareto_grid(report) {
        page.blank();
        page.table(&pareto);
        page.blank();
        page.prose(pareto::LEGEND);
    }
    if let Some(rules) = rules_grid(report) {
        page.blank();
        page.table(&rules);
        page.blank();
        page.prose(rules::LEGEND);
        return page.end();
    }
    if let Some(groups) = groups {
        for grid in [Some(groups), variations::cells_grid(report)].iter().flatten() {
            page.blank();
            page.table(grid);
        }
        return page.end();
    }
    if let Some(cells) = cells {
        page.blank();
        page.table(&cells);
        page.blank();
        legend(report).iter().for_each(|line| page.prose(line));
        if let Some(beside) = beside_grid(report) {
            page.blank();
            page.table(&beside);
        }
        return page.end();
    }
    results(report, &mut page);
    classes_text(report, &mut page);
    applications_text(report, &mut page);
    published_text(report, &mut page);
    report.trace.iter().for_each(|trace| replayed_text(trace, &mut page));
    page.end()
}

/// Policies that came to the same share a row.
fn results(report: &Report, page: &mut Page) {
    let merged = merged(report);
    let groups = points(&merged);
    if let Some(name) = single_numeric(&merged) {
        page.blank();
        page.table(&results_grid(&merged, &groups, Some(&name)));
    } else {
        for group in groups.chunks(1) {
            let label = group[0].label();
            page.blank();
            if !label.is_empty() {
                page.prose(&label);
            }
            page.table(&results_grid(&merged, group, None));
        }
    }
    page.blank();
    let footnote = footnote(report, &merged, |unit| !page.leaves_out(unit));
    footnote.iter().for_each(|line| page.prose(line));
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
pub(crate) fn replayed_text(trace: &Replayed, page: &mut Page) {
    page.blank();
    page.prose(&recorded(trace));
    page.prose(CANNOT_KNOW);
    for line in &trace.unknown {
        page.prose(&format!("  - {line}"));
    }
}

/// "compile-governors: machine phenom-9750, workload kernel-build, seed 1, 1 run, energy: modelled".
pub(crate) fn title(report: &Report) -> String {
    format!("{}: {}", report.title, setting(report))
}

/// What was run: the title without its name.
pub(crate) fn setting(report: &Report) -> String {
    let runs = if report.runs == 1 {
        "1 run".to_string()
    } else {
        format!("{} runs", report.runs)
    };
    format!(
        "machine {}, workload {}, seed {}, {runs}, energy: {}",
        report.machine, report.workload, report.seed, report.energy_source
    )
}

const OF_FLEET: &str = "Time is the mean response, waiting included. Slowdown is running time over time alone in an idle memory domain; late are those that \
    take more than 5 % longer.";

/// What the columns leave unsaid. `shows`: whether there are columns of this unit.
pub(crate) fn footnote(report: &Report, merged: &Report, shows: impl Fn(&str) -> bool) -> Vec<String> {
    let of_point = match points(report).len() {
        0 | 1 => "",
        _ => " of the same point",
    };
    let mut of_columns = "Power, energy and EDP (energy x time) are those of the whole system.".to_string();
    if shows(RELATIVE) {
        of_columns += &format!(" Relative: to the first policy{of_point}.");
    }
    if shows(OVER_BOUND) {
        of_columns += " Bound: what no schedule can beat.";
    }
    let mut lines = vec![of_columns];
    lines.extend(report.has_only_ratios().then(|| ONLY_RATIOS.to_string()));
    if report.results.iter().any(is_of_fleet) {
        lines.push(OF_FLEET.to_string());
    }
    if report.results.iter().any(|r| r.ci95.is_some()) {
        let runs = report.runs;
        let has_wide = |r: &RunResult| {
            let time = r.ci95.map(|ci95| (r.time_s, ci95.time_s));
            let energies = r.energy.zip(r.ci95).map(|(energy, ci95)| {
                let edp = ci95.edp_js.map(|ends| (energy.edp_js, ends));
                [ci95.system_energy_j.map(|ends| (energy.system_energy_j, ends)), edp]
            });
            let all = time.into_iter().chain(energies.into_iter().flatten().flatten());
            all.into_iter().any(|(value, ends)| is_wide(value, ends))
        };
        lines.push(format!(
            "Means over {runs} runs ± half-width of the 95 % confidence interval{}.",
            match report.results.iter().any(has_wide) {
                true => ", or the factor of its ends (×/÷) where that is above 1.1",
                false => "",
            }
        ));
        // Means of equal times differ from them by rounding.
        let is_by_chance = |r: &RunResult| r.ci95.is_none_or(|ci95| !is_point(&ci95.time_s));
        if !report.results.iter().any(is_by_chance) {
            lines.push(NOTHING_BY_CHANCE.to_string());
        }
    }
    if merged.results.len() < report.results.len() {
        lines.push("Policies that share a row decided the same here: all figures are equal.".to_string());
    }
    lines
}
