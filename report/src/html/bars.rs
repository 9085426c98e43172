// SPDX-License-Identifier: MIT OR Apache-2.0
//! Horizontal bars of one measure, shortest first, with the lower bound marked.

use super::escape::escape;
use super::measure::Measure;
use super::published;
use crate::model::Report;
use crate::number::{percent_above, tick_labels, ticks, Scale};
use crate::page::lines_of;
use crate::published::Mark;
use crate::rows::Overall;
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 6.0;
const RIGHT: f64 = 14.0;
const BAR: f64 = 13.0;
/// A line of text.
const LINE: f64 = 15.0;
/// Between names and bar, and below the bar.
const GAPS: [f64; 2] = [3.0, 7.0];
const AXIS: f64 = 22.0;
/// Characters of names on a line; the value stands to their right on the first.
const CHARACTERS: usize = 40;

/// A bar, or one for all policies with the same figures.
struct Bar<'a> {
    names: &'a [&'a str],
    value: f64,
    interval: Option<[f64; 2]>,
    /// 0: none.
    bound: f64,
    marks: Vec<Mark<'a>>,
    colour: usize,
}

/// Figures of one point.
pub(crate) fn bars(report: &Report, rows: &[Overall], measure: &Measure, colour: &dyn Fn(&str) -> usize) -> String {
    let results: Vec<_> = rows.iter().map(|row| row.results[0]).collect();
    let scale = measure.scale(&results);
    let bars = rows.iter().map(|row| Bar {
        names: &row.names,
        value: (measure.value)(row.results[0]),
        interval: (measure.interval)(row.results[0]),
        bound: (measure.bound)(row.results[0]),
        marks: measure
            .marks(report, &results)
            .into_iter()
            .filter(|mark| row.names.contains(&mark.result.policy.as_str()))
            .collect(),
        colour: colour(row.names[0]),
    });
    figure(
        measure.name,
        &measure.axis_unit(&scale, report),
        &scale,
        None,
        bars.collect(),
    )
}

/// Geometric means over all points of a ratio to the first policy.
pub(crate) fn mean_bars(
    name: &str,
    unit: &str,
    rows: &[&Overall],
    of: fn(&Overall) -> f64,
    colour: &dyn Fn(&str) -> usize,
) -> String {
    let bars = rows.iter().map(|row| Bar {
        names: &row.names,
        value: of(row),
        interval: None,
        bound: 0.0,
        marks: Vec::new(),
        colour: colour(row.names[0]),
    });
    let scale = Scale {
        divisor: 1.0,
        unit: String::new(),
        decimals: 3,
    };
    figure(name, unit, &scale, Some(1.0), bars.collect())
}

/// `reference`: where a line stands through all bars.
fn figure(name: &str, unit: &str, scale: &Scale, reference: Option<f64>, mut bars: Vec<Bar>) -> String {
    bars.sort_by(|a, b| a.value.total_cmp(&b.value));
    let drawn = bars.iter().flat_map(|bar| {
        let whisker = bar.interval.map_or(bar.value, |[_, high]| high);
        [whisker, bar.bound]
            .into_iter()
            .chain(bar.marks.iter().map(|mark| mark.value))
    });
    let top = drawn.fold(0.0, f64::max) / scale.divisor;
    let steps = ticks(0.0, if top > 0.0 { top } else { 1.0 }, 5);
    let end = steps.last().copied().unwrap_or(1.0);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value / scale.divisor / end;
    let lines: Vec<Vec<String>> = bars.iter().map(|bar| wrapped(bar.names)).collect();
    let bottom: f64 = lines.iter().map(|lines| height(lines)).sum();
    let mut svg = super::open_figure(name, unit, "policy", (WIDTH, bottom + AXIS + 4.0));
    axis(&mut svg, &steps, end, bottom);
    if let Some(at) = reference.map(x) {
        let _ = writeln!(
            svg,
            "<line class=\"reference\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{bottom}\"/>"
        );
    }
    let mut top = 0.0;
    for (bar, lines) in bars.iter().zip(&lines) {
        draw(&mut svg, bar, lines, top, scale, &x);
        top += height(lines);
    }
    svg + "</svg></figure>\n"
}

/// Of a row: its names, its bar, the gap below.
fn height(lines: &[String]) -> f64 {
    LINE * lines.len() as f64 + GAPS[0] + BAR + GAPS[1]
}

fn axis(svg: &mut String, steps: &[f64], end: f64, bottom: f64) {
    for (step, label) in steps.iter().zip(tick_labels(steps)) {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * step / end;
        let anchor = if *step == 0.0 { "start" } else { "middle" };
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{label}</text>",
            bottom + AXIS - 4.0
        );
    }
}

fn draw(svg: &mut String, bar: &Bar, lines: &[String], top: f64, scale: &Scale, x: &dyn Fn(f64) -> f64) {
    let y = top + LINE * lines.len() as f64 + GAPS[0];
    let value = scale.with_interval(bar.value, bar.interval);
    let above = percent_above(bar.value, bar.bound).map_or_else(String::new, |percent| {
        format!(", {percent:.1} % over the lower bound of {}", scale.text(bar.bound))
    });
    let tip = format!("{}: {value} {}", bar.names.join(", "), scale.unit);
    let _ = write!(svg, "<g><title>{}{above}</title>", escape(tip.trim_end()));
    for (line, text) in lines.iter().enumerate() {
        let _ = write!(
            svg,
            "<text x=\"{LEFT}\" y=\"{}\">{}</text>",
            top + LINE * (line as f64 + 1.0) - 3.0,
            escape(text)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"end\">{value}</text><rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"var(--p{})\"/>",
        WIDTH - RIGHT,
        top + LINE - 3.0,
        (x(bar.value) - LEFT).max(0.0),
        bar.colour
    );
    if bar.bound > 0.0 {
        let at = x(bar.bound);
        let _ = write!(
            svg,
            "<line class=\"bound\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y - 3.0,
            y + BAR + 3.0
        );
    }
    if let Some(ends) = bar.interval {
        let ([low, high], middle) = (ends.map(x), y + BAR / 2.0);
        let (up, down) = (middle - 4.0, middle + 4.0);
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"M{low:.1} {up}V{down}M{low:.1} {middle}H{high:.1}M{high:.1} {up}V{down}\"/>"
        );
    }
    svg.push_str("</g>\n");
    for mark in &bar.marks {
        let text = format!("{} {}", scale.text(mark.value), scale.unit);
        svg.push_str(&published(mark, "text", x(mark.value), y + BAR / 2.0, &text));
    }
}

/// Names with commas between them, as many on a line as have room.
pub(crate) fn wrapped(names: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = names.iter().map(|name| shortened(name, CHARACTERS) + ",").collect();
    if let Some(last) = words.last_mut() {
        last.pop();
    }
    lines_of(words, CHARACTERS)
}

/// The whole text is in the tooltip; what is drawn must leave room for the value beside it.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
