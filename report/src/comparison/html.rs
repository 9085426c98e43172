// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison as a page that needs nothing but itself.

use super::{
    label, notes, ratios, results_grid, spread_grid, title, verdicts, Comparison, Estimate, Quantity, QUANTITIES,
};
use crate::html::bars::shortened;
use crate::html::escape::{escape, fill, island};
use crate::html::section::{html_table, replayed};
use crate::html::{open_figure, palette, PAGE, STYLE};
use crate::number::{tick_labels, ticks, Scale};
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 6.0;
const RIGHT: f64 = 14.0;
const ROW: f64 = 38.0;
const AXIS: f64 = 22.0;

/// The page: ratios and quantities drawn with every run, tables, notes, the JSON as an island (`comparison-data`).
pub fn comparison_html(comparison: &Comparison) -> String {
    let mut section = "<section>\n".to_string();
    for verdict in verdicts(comparison) {
        let _ = writeln!(section, "<p><b>{}</b></p>", escape(&verdict));
    }
    let _ = writeln!(section, "<p class=\"facts\">{}</p>", escape(&title(comparison)));
    for warning in &comparison.warnings {
        let _ = writeln!(section, "<p><b>Warning:</b> {}.</p>", escape(warning));
    }
    section.push_str(&figures(comparison));
    section.push_str(&html_table(&results_grid(comparison), 0));
    section.push_str(&html_table(&spread_grid(comparison), 0));
    for note in notes(comparison) {
        let _ = writeln!(section, "<p class=\"note\">{}</p>", escape(&note));
    }
    section.push_str(&comparison.trace.as_ref().map(replayed).unwrap_or_default());
    section.push_str("</section>\n");
    fill(
        PAGE,
        &[
            ("title", "Lopsided: comparison"),
            ("css", STYLE),
            ("index", ""),
            ("sections", &section),
            (
                "islands",
                &island("comparison-data", &super::comparison_json(comparison)),
            ),
            ("script", ""),
        ],
    )
}

fn figures(comparison: &Comparison) -> String {
    let mut html = "<div class=\"charts\">\n".to_string();
    if comparison.results.len() > 1 {
        for (name, of) in ratios(comparison) {
            let marks = marks(comparison, |row| Some((of(row)?, Vec::new())));
            let scale = Scale {
                divisor: 1.0,
                unit: "relative".to_string(),
                decimals: 3,
            };
            html.push_str(&figure(&format!("relative {name}"), &scale, Some(1.0), &marks));
        }
    }
    for quantity in &QUANTITIES {
        html.push_str(&quantity_figure(comparison, quantity));
    }
    html + "</div>\n"
}

fn quantity_figure(comparison: &Comparison, quantity: &Quantity) -> String {
    let Some(scale) = quantity.scale(comparison) else {
        return String::new();
    };
    let runs = |row: &super::Compared| match quantity.name {
        "time" => row.times.clone(),
        "energy" => row.energies_j.clone(),
        _ => Vec::new(),
    };
    let marks = marks(comparison, |row| Some(((quantity.of)(row)?.mean, runs(row))));
    figure(quantity.name, &scale, None, &marks)
}

/// A row of a figure.
struct Mark {
    label: String,
    estimate: Estimate,
    /// Drawn as dots.
    runs: Vec<f64>,
    colour: usize,
}

fn marks(comparison: &Comparison, of: impl Fn(&super::Compared) -> Option<(Estimate, Vec<f64>)>) -> Vec<Mark> {
    let rows = comparison.results.iter().enumerate();
    rows.filter_map(|(index, row)| {
        let (estimate, runs) = of(row)?;
        Some(Mark {
            label: label(comparison, index),
            estimate,
            runs,
            colour: palette(index),
        })
    })
    .collect()
}

/// Means with whiskers, and a line at `reference`. The axis covers what is drawn and need not begin at 0.
fn figure(name: &str, scale: &Scale, reference: Option<f64>, marks: &[Mark]) -> String {
    let values = marks.iter().flat_map(|mark| {
        let interval = mark.estimate.interval.map(|(low, high)| [low, high]);
        let runs = mark.runs.iter().copied();
        runs.chain([mark.estimate.value]).chain(interval.into_iter().flatten())
    });
    let values: Vec<f64> = values.chain(reference).map(|value| value / scale.divisor).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let steps = ticks(low, high, 5);
    let (from, to) = (steps[0], steps[steps.len() - 1]);
    let span = if to > from { to - from } else { 1.0 };
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * (value / scale.divisor - from) / span;
    let height = ROW * marks.len() as f64 + AXIS + 4.0;
    let mut svg = open_figure(&escape(name), &scale.unit, "policy", (WIDTH, height));
    for (step, label) in steps.iter().zip(tick_labels(&steps)) {
        let (at, bottom, text) = (x(step * scale.divisor), ROW * marks.len() as f64, height - 8.0);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom}\"/><text class=\"tick\" x=\"{at:.1}\" y=\"{text:.1}\" text-anchor=\"middle\">{label}</text>"
        );
    }
    if let Some(reference) = reference {
        let (at, bottom) = (x(reference), ROW * marks.len() as f64);
        let _ = writeln!(
            svg,
            "<line class=\"bound\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom}\"/>"
        );
    }
    for (row, mark) in marks.iter().enumerate() {
        draw(&mut svg, mark, row as f64 * ROW, scale, &x);
    }
    svg + "</svg></figure>\n"
}

fn draw(svg: &mut String, mark: &Mark, top: f64, scale: &Scale, x: &dyn Fn(f64) -> f64) {
    let text = mark.estimate.text(|value| scale.text(value));
    let (label, text_y, y) = (escape(&mark.label), top + 13.0, top + 26.0);
    let short: String = escape(&shortened(&mark.label, 34));
    let _ = write!(
        svg,
        "<g><title>{label}: {text}</title><text x=\"{LEFT}\" y=\"{text_y}\">{short}</text><text x=\"{:.1}\" y=\"{text_y}\" text-anchor=\"end\">{text}</text>",
        WIDTH - RIGHT
    );
    for run in &mark.runs {
        let _ = write!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"3\" fill=\"var(--p{})\" fill-opacity=\"0.35\"/>",
            x(*run),
            mark.colour
        );
    }
    if let Some((low, high)) = mark.estimate.interval {
        let (low, high, up, down) = (x(low), x(high), y - 5.0, y + 5.0);
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"M{low:.1} {up}V{down}M{low:.1} {y}H{high:.1}M{high:.1} {up}V{down}\"/>"
        );
    }
    let (at, colour) = (x(mark.estimate.value), mark.colour);
    let _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" fill=\"var(--p{colour})\"/></g>",
        at - 3.0,
        y - 3.0
    );
}
