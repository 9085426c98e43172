// SPDX-License-Identifier: MIT OR Apache-2.0
//! One self-contained HTML page: inline styles, inline SVG, a script without a framework.

mod axis;
pub(crate) mod bars;
mod curves;
pub(crate) mod escape;
mod measure;
mod pack;
mod scatter;
pub(crate) mod section;
mod strips;
mod timeline;

use crate::check::{check_report, check_timeline};
use crate::error::ReportError;
use crate::labels::labelled;
use crate::model::{Report, Timeline};
use crate::published::Mark;
use crate::sweep::policies;
use escape::{escape, fill};
use pack::island;
use std::fmt::Write;

pub(crate) const PAGE: &str = include_str!("../../assets/page.html");
pub(crate) const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: [&str; 3] = [
    include_str!("../../assets/timeline-model.js"),
    include_str!("../../assets/timeline-draw.js"),
    include_str!("../../assets/timeline-controls.js"),
];

/// How many colours for policies page.css has.
const COLOURS: usize = 8;

/// The page: a section for each report (verdict, charts, tables, counters, folded timelines). The data is in it twice, drawn and as compressed
/// JSON (`report-N-data`, `timeline-N-data`), so that programs can read a saved page too. A hash `#t=FROM,TO` in seconds opens the timelines
/// at that time.
///
/// # Errors
/// A number that cannot be drawn, or a timeline that contradicts itself.
pub fn html(reports: &[Report], timelines: &[Timeline]) -> Result<String, ReportError> {
    reports.iter().try_for_each(check_report)?;
    timelines.iter().try_for_each(check_timeline)?;
    let timelines = timeline::merged(timelines);
    let mut sections = String::new();
    let mut islands = String::new();
    let shown: Vec<Report> = reports.iter().map(labelled).collect();
    let palette = policies(&shown);
    let of_study = |study: &str| -> Vec<(usize, &Timeline)> {
        let numbered = timelines
            .iter()
            .enumerate()
            .map(|(index, timeline)| (index + 1, timeline));
        numbered.filter(|(_, timeline)| timeline.study == study).collect()
    };
    let mut studies: Vec<&str> = timelines.iter().map(|timeline| timeline.study.as_str()).collect();
    studies.dedup();
    for (index, (report, shown)) in reports.iter().zip(&shown).enumerate() {
        let folded = timeline::folded(&of_study(&report.title));
        sections.push_str(&section::section(
            shown,
            index + 1,
            &palette,
            reports.len() > 1,
            &folded,
        ));
        islands.push_str(&island(
            &format!("report-{}-data", index + 1),
            &serde_json::to_string(report)?,
        )?);
    }
    let reported = |study: &str| reports.iter().any(|report| report.title == study);
    for study in studies.into_iter().filter(|study| !reported(study)) {
        sections.push_str(&timeline::folded(&of_study(study)));
    }
    for (index, timeline) in timelines.iter().enumerate() {
        islands.push_str(&timeline::data(timeline, index + 1)?);
    }
    Ok(fill(
        PAGE,
        &[
            ("title", &escape(&title(reports))),
            ("css", STYLE),
            ("index", &contents(reports)),
            ("sections", &sections),
            ("islands", &islands),
            ("script", &SCRIPT.concat()),
        ],
    ))
}

fn title(reports: &[Report]) -> String {
    match reports {
        [] => "Lopsided: timelines".to_string(),
        [only] => format!("Lopsided: {}", only.title),
        several => format!("Lopsided: {} reports", several.len()),
    }
}

/// Of several reports: what each comes to.
fn contents(reports: &[Report]) -> String {
    if reports.len() < 2 {
        return String::new();
    }
    let mut html = "<nav aria-label=\"Contents\">\n<ul>\n".to_string();
    for (index, report) in reports.iter().enumerate() {
        let _ = writeln!(
            html,
            "<li><a href=\"#report-{}\">{}</a>: {}</li>",
            index + 1,
            escape(&report.title),
            escape(&crate::verdict::verdicts(report).join(" "))
        );
    }
    html + "</ul>\n</nav>\n"
}

/// Caption with the unit of the numbers on the axis, and the start of the drawing; `size`: width and height.
pub(crate) fn open_figure(name: &str, unit: &str, by: &str, size: (f64, f64)) -> String {
    let (unit, by) = (escape(unit), escape(by));
    format!(
        "<figure><figcaption><b>{name}</b> ({unit})</figcaption>\n<svg class=\"chart\" viewBox=\"0 0 {} {:.0}\" role=\"img\" aria-label=\"{name} ({unit}) by {by}\">\n",
        size.0, size.1
    )
}

pub(crate) fn palette(index: usize) -> usize {
    index % COLOURS
}

/// A cross where a published number lies. `colour`: of the page's style; `text`: the number with its unit.
fn published(mark: &Mark, colour: &str, x: f64, y: f64, text: &str) -> String {
    format!(
        "<path class=\"published\" style=\"stroke:var(--{colour})\" d=\"M{:.1} {:.1}l9 9m0 -9l-9 9\"><title>{}: {}{text} published ({})</title></path>\n",
        x - 4.5,
        y - 4.5,
        escape(&mark.result.policy),
        mark.bounds,
        mark.kind.name()
    )
}

/// Policies beyond the number of colours are told apart by dashes.
fn dashes(index: usize) -> &'static str {
    match index / COLOURS {
        0 => "",
        1 => " stroke-dasharray=\"8 3\"",
        _ => " stroke-dasharray=\"2 3\"",
    }
}

/// Path of a marker; shapes differ so that colour is not all that tells policies apart.
fn marker(index: usize, x: f64, y: f64, size: f64) -> String {
    let s = size;
    match index % 5 {
        0 => format!(
            "M{:.1} {y:.1}a{s} {s} 0 1 0 {} 0a{s} {s} 0 1 0 {} 0",
            x - s,
            2.0 * s,
            -2.0 * s
        ),
        1 => format!(
            "M{:.1} {:.1}h{}v{}h{}z",
            x - s * 0.9,
            y - s * 0.9,
            s * 1.8,
            s * 1.8,
            -s * 1.8
        ),
        2 => format!("M{x:.1} {:.1}l{} {}h{}z", y - s * 1.1, s * 1.1, s * 2.0, -s * 2.2),
        3 => format!(
            "M{x:.1} {:.1}l{} {}l{} {}l{} {}z",
            y - s * 1.3,
            s * 1.3,
            s * 1.3,
            -s * 1.3,
            s * 1.3,
            -s * 1.3,
            -s * 1.3
        ),
        _ => format!("M{x:.1} {:.1}l{} {}h{}z", y + s * 1.1, s * 1.1, -s * 2.0, -s * 2.2),
    }
}
