// SPDX-License-Identifier: MIT OR Apache-2.0
//! One report on the page: what was run, tables, bars, curves, counters.

use super::bars::{bars, mean_bars};
use super::curves::Panel;
use super::escape::escape;
use super::measure::{
    EDP, ENERGY, LOSS, POWER, RELATIVE_EDP, RELATIVE_ENERGY, RELATIVE_TIME, RESPONSE, RESPONSE_EDP, TIME,
};
use super::scatter::scatter;
use super::strips::strips;
use crate::applications::{applications_grid, HEADING};
use crate::cells::{beside_grid, cells_grid, summary};
use crate::classes::{self, classes_grid};
use crate::counters::counters_grid;
use crate::grid::{results_grid, Grid};
use crate::model::{Replayed, Report, RunResult};
use crate::pareto::{self, pareto_grid};
use crate::published::{published_grid, HEADING as HEADING_OF_PUBLISHED};
use crate::rows::{merged, overall, response_s, Overall};
use crate::rules::{self, rules_grid};
use crate::sweep::{axis, dimensions, dimensions_of, points, policies, single_numeric, value_text, PointGroup};
use crate::table::{footnote, recorded, setting, CANNOT_KNOW};
use crate::variations;
use crate::verdict::verdicts;
use std::fmt::Write;

/// `palette`: the policies of the whole page, in the order of their colours; `heading`: the page has other reports; `timelines`: markup.
pub(crate) fn section(report: &Report, number: usize, palette: &[&str], heading: bool, timelines: &str) -> String {
    let mut html = format!("<section id=\"report-{number}\">\n");
    if heading {
        let _ = writeln!(html, "<h2>{}</h2>", escape(&report.title));
    }
    let rows = overall(report);
    for (class, text) in [
        ("verdict", verdicts(report).join(" ").as_str()),
        ("about", &report.description),
    ] {
        if !text.is_empty() {
            let _ = writeln!(html, "<p class=\"{class}\">{}</p>", escape(text));
        }
    }
    let groups = points(report);
    if groups.is_empty() {
        return html + &facts(report) + "<p>No results.</p>\n</section>\n";
    }
    html.push_str(&first_charts(report, &rows, palette));
    html.push_str(&facts(report));
    let with_legend = |grid: &Grid, legend: &str| format!("{}<p>{}</p>\n", html_table(grid, 0), escape(legend));
    let pareto = pareto_grid(report).map_or(String::new(), |grid| with_legend(&grid, pareto::LEGEND));
    if let Some(rules) = rules_grid(report) {
        return html + &pareto + &with_legend(&rules, rules::LEGEND) + timelines + "</section>\n";
    }
    if let Some(groups) = variations::groups_grid(report) {
        let _ = writeln!(html, "<p>{}</p>", escape(&variations::judgement(report)));
        let cells = variations::cells_grid(report).map_or(String::new(), |grid| html_table(&grid, 1));
        return html + &pareto + &html_table(&groups, 0) + &cells + timelines + "</section>\n";
    }
    if let Some(cells) = cells_grid(report) {
        let _ = writeln!(html, "<p>{}</p>", escape(summary(report).trim()));
        let beside = beside_grid(report).map_or(String::new(), |grid| html_table(&grid, 1));
        return html + &pareto + &strips(report) + &html_table(&cells, 1) + &beside + timelines + "</section>\n";
    }
    html.push_str(&classes(report, number, palette));
    if groups.len() > 1 {
        html.push_str(&legend(report, palette));
        html.push_str(&all_curves(report, number, palette));
    }
    html.push_str(&tables(report));
    html.push_str(&applications(&groups));
    html.push_str(&published(report));
    html.push_str(&counters(&groups));
    html + timelines + "</section>\n"
}

/// Delay and energy of each policy, then bars: figures of the only point, or means over all points.
fn first_charts(report: &Report, rows: &[Overall], palette: &[&str]) -> String {
    let colour = |policy: &str| super::palette(place(palette, policy));
    let clocked = report
        .results
        .iter()
        .filter(|result| response_s(result).is_some())
        .count();
    let every = clocked == report.results.len();
    let delay = match clocked {
        0 => "time",
        _ if every => "mean response",
        _ => "delay",
    };
    let mut html = "<div class=\"charts first\">\n".to_string();
    html.push_str(&scatter(rows, delay, &report.energy_source, &|policy| {
        place(palette, policy)
    }));
    let one_point = rows.first().is_some_and(|first| first.results.len() == 1);
    if one_point {
        let measures = match (every, report.has_only_ratios()) {
            (true, false) => vec![RESPONSE_EDP, ENERGY, RESPONSE],
            (true, true) => vec![RELATIVE_ENERGY, RESPONSE],
            (false, false) => vec![EDP, ENERGY, TIME],
            (false, true) => vec![RELATIVE_EDP, RELATIVE_ENERGY, TIME],
        };
        let results: Vec<&RunResult> = rows.iter().map(|row| row.results[0]).collect();
        let power = (!POWER.marks(report, &results).is_empty()).then_some(POWER);
        let drawn = measures.into_iter().chain(power);
        html.extend(drawn.map(|measure| bars(report, rows, &measure, &colour)));
    } else if let [first, _, ..] = rows {
        let positive: Vec<&Overall> = rows.iter().filter(|row| row.mean.positive()).collect();
        let unit = format!("geometric mean, 1 = {}", first.names[0]);
        let with_source = format!("{unit}, {}", report.energy_source);
        let means = |name: &str, unit: &str, of: fn(&Overall) -> f64| {
            mean_bars(&format!("relative {name}"), unit, &positive, of, &colour)
        };
        html.push_str(&means("EDP", &with_source, |row| row.mean.edp));
        html.push_str(&means("energy", &with_source, |row| row.mean.energy));
        html.push_str(&means(delay, &unit, |row| row.mean.delay));
    }
    html.push_str("</div>\n");
    if one_point {
        let _ = writeln!(
            html,
            "<div class=\"keys\">{BOUND_OF_BARS}{}</div>",
            published_key(report)
        );
    }
    if clocked > 0 {
        html.push_str(if every { EVERY_CLOCKED } else { SOME_CLOCKED });
    }
    html
}

const BOUND_OF_BARS: &str = "<span class=\"key\"><svg width=\"6\" height=\"14\" aria-hidden=\"true\"><path d=\"M3 0V14\" stroke=\"var(--text)\" stroke-width=\"2\"/></svg>lower bound: no schedule can beat it</span>";

const EVERY_CLOCKED: &str =
    "<p class=\"note\">The clock sets when this work ends, so the delay is the mean response time, in EDP too.</p>\n";
const SOME_CLOCKED: &str = "<p class=\"note\">The delay is the time; where the clock sets when the work ends, it is the mean response time, in EDP too.</p>\n";

fn facts(report: &Report) -> String {
    let html = format!("<p class=\"facts\">{}</p>\n", escape(&setting(report)));
    html + &report.trace.as_ref().map(replayed).unwrap_or_default()
}

/// Where a recording was replayed: how long it was, and what the replay cannot know.
pub(crate) fn replayed(trace: &Replayed) -> String {
    let mut html = format!("<p>{} {CANNOT_KNOW}</p>\n<ul>\n", escape(&recorded(trace)));
    for line in &trace.unknown {
        let _ = writeln!(html, "<li>{}</li>", escape(line));
    }
    html + "</ul>\n"
}

fn legend(report: &Report, palette: &[&str]) -> String {
    let mut html = "<div class=\"keys\">".to_string();
    for policy in policies([report]) {
        let index = place(palette, policy);
        let colour = super::palette(index);
        let _ = write!(
            html,
            "<span class=\"key\"><svg width=\"26\" height=\"12\" aria-hidden=\"true\"><path d=\"M0 6H26\" stroke=\"var(--p{colour})\" stroke-width=\"2\"{}/><path d=\"{}\" fill=\"var(--p{colour})\"/></svg>{}</span>",
            super::dashes(index),
            super::marker(index, 13.0, 6.0, 4.5),
            escape(policy)
        );
    }
    html + &format!("<span class=\"key\"><svg width=\"26\" height=\"14\" aria-hidden=\"true\"><path d=\"M0 7H26\" stroke=\"var(--text)\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/></svg>lower bound: no schedule can beat it (where a plot has none, it lies far below or is not known)</span>{}</div>\n", published_key(report))
}

/// The cross of published numbers, where there are any.
fn published_key(report: &Report) -> &'static str {
    match report.published.is_empty() {
        true => "",
        false => "<span class=\"key\"><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><path d=\"M2 2l10 10m0 -10l-10 10\" stroke=\"var(--text)\" stroke-width=\"2.2\"/></svg>published (ratios between points, means and classes are in the table only)</span>",
    }
}

/// Where a policy stands in the palette.
fn place(palette: &[&str], policy: &str) -> usize {
    palette.iter().position(|name| *name == policy).unwrap_or(0)
}

/// A row of panels for each combination of the swept values that are not on the axis.
fn all_curves(report: &Report, number: usize, palette: &[&str]) -> String {
    let found = dimensions(report);
    let Some(along) = axis(&found) else {
        return String::new();
    };
    let mut facets: Vec<(String, Vec<&RunResult>)> = Vec::new();
    for result in &report.results {
        let others = found.iter().enumerate().filter(|(i, _)| *i != along);
        let parts: Vec<String> = others
            .filter_map(|(_, d)| Some(format!("{} = {}", d.name, value_text(result.point.get(&d.name)?))))
            .collect();
        let label = parts.join(", ");
        match facets.iter_mut().find(|(l, _)| *l == label) {
            Some((_, results)) => results.push(result),
            None => facets.push((label, vec![result])),
        }
    }
    let mut html = String::new();
    for (facet, (label, results)) in facets.iter().enumerate() {
        if !label.is_empty() {
            let _ = writeln!(html, "<h4>{}</h4>", escape(label));
        }
        html.push_str("<div class=\"charts\">\n");
        let clocked: Vec<&RunResult> = results.iter().copied().filter(|r| response_s(r).is_some()).collect();
        let absolute = [ENERGY, EDP].into_iter().filter(|_| !report.has_only_ratios());
        let measures = [RELATIVE_TIME, RELATIVE_ENERGY, RELATIVE_EDP, TIME]
            .into_iter()
            .chain(absolute);
        let measures = measures.map(|measure| (measure, results));
        let power = (!POWER.marks(report, results).is_empty()).then_some((POWER, results));
        let late = (!clocked.is_empty()).then_some((RESPONSE, &clocked));
        for (index, (measure, results)) in measures.chain(power).chain(late).enumerate() {
            let panel = Panel {
                report,
                results,
                measure: &measure,
                dimension: &found[along],
                policies: palette,
            };
            html.push_str(&panel.draw(&format!("clip-{number}-{facet}-{index}")));
        }
        html.push_str("</div>\n");
    }
    html
}

fn tables(report: &Report) -> String {
    let mut html = String::new();
    let merged = merged(report);
    let groups = points(&merged);
    if let Some(name) = single_numeric(&merged) {
        html.push_str(&html_table(&results_grid(&merged, &groups, Some(&name)), 1));
    } else {
        for group in groups.chunks(1) {
            let label = group[0].label();
            if !label.is_empty() {
                let _ = writeln!(html, "<h4>{}</h4>", escape(&label));
            }
            html.push_str(&html_table(&results_grid(&merged, group, None), 0));
        }
    }
    let _ = writeln!(
        html,
        "<p class=\"note\">{}</p>",
        escape(&footnote(report, &merged, |_| true).join("\n"))
    );
    html
}

/// Classes of applications: a plot along what differs between their points, and a table.
fn classes(report: &Report, number: usize, palette: &[&str]) -> String {
    let Some(grid) = classes_grid(report) else {
        return String::new();
    };
    let results = classes::classified(report);
    let swept = dimensions_of(results.iter().copied());
    let mut html = String::new();
    if let [only] = swept.as_slice() {
        let panel = Panel {
            report,
            results: &results,
            measure: &LOSS,
            dimension: only,
            policies: palette,
        };
        let drawn = panel.draw(&format!("clip-{number}-classes"));
        let _ = writeln!(html, "<div class=\"charts\">\n{drawn}</div>");
    }
    let _ = writeln!(html, "<p>{}</p>", escape(classes::HEADING));
    html + &html_table(&grid, 0)
}

/// A table for each source, with its notes.
fn published(report: &Report) -> String {
    let mut html = String::new();
    for table in &report.published {
        let (grid, notes) = published_grid(table);
        let _ = writeln!(html, "<h4>{HEADING_OF_PUBLISHED} ({})</h4>", escape(&table.source));
        html.push_str(&html_table(&grid, 0));
        if !notes.is_empty() {
            let items = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note)));
            let _ = writeln!(html, "<ol class=\"note\">\n{}</ol>", items.collect::<String>());
        }
    }
    html
}

fn applications(groups: &[PointGroup]) -> String {
    let mut html = String::new();
    for group in groups {
        let Some(grid) = applications_grid(group) else { continue };
        if html.is_empty() {
            let _ = writeln!(html, "<p>{}</p>", escape(HEADING));
        }
        let label = group.label();
        if !label.is_empty() {
            let _ = writeln!(html, "<h4>{}</h4>", escape(&label));
        }
        html.push_str(&html_table(&grid, 1));
    }
    html
}

fn counters(groups: &[PointGroup]) -> String {
    let mut html = "<details><summary>Counters</summary>\n".to_string();
    for group in groups {
        let label = group.label();
        if !label.is_empty() {
            let _ = writeln!(html, "<h4>{}</h4>", escape(&label));
        }
        html.push_str(&html_table(&counters_grid(group), 0));
    }
    html + "</details>\n"
}

/// "1.04 [1.03, 1.05]" with its interval on a line of its own: a table of many is narrow enough for a window then.
fn interval_below(number: &str) -> String {
    match number.split_once(" [") {
        Some((value, interval)) => format!("{}<small>[{}</small>", escape(value), escape(interval)),
        None => escape(number),
    }
}

/// `heading`: the column that names the row.
pub(crate) fn html_table(grid: &Grid, heading: usize) -> String {
    // Most cells are numbers, so these are the ones without a class.
    let class = |index: usize| match grid.columns[index].numeric {
        true => "",
        false => " class=\"text\"",
    };
    let mut html = "<div class=\"wide\"><table><thead><tr>".to_string();
    for (index, column) in grid.columns.iter().enumerate() {
        let unit = if column.unit.is_empty() {
            String::new()
        } else {
            format!("<small>{}</small>", escape(&column.unit))
        };
        let _ = write!(
            html,
            "<th scope=\"col\"{}>{}{unit}</th>",
            class(index),
            escape(&column.name)
        );
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in &grid.rows {
        // A filled first cell before the heading column starts the rows of a new sweep point.
        html.push_str(if heading > 0 && !row[0].is_empty() {
            "<tr class=\"first\">"
        } else {
            "<tr>"
        });
        for (index, cell) in row.iter().enumerate() {
            let (tag, attribute) = if index == heading {
                ("th", " scope=\"row\"")
            } else {
                ("td", class(index))
            };
            let text = match grid.columns[index].numeric {
                true => interval_below(cell),
                false => escape(cell),
            };
            let _ = write!(html, "<{tag}{attribute}>{text}</{tag}>");
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div>\n"
}
