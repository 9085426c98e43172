// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars of one measure, a policy each, with the lower bound marked.

use super::escape::escape;
use super::measure::Measure;
use crate::model::{Report, RunResult};
use crate::number::{percent_above, tick_labels, ticks, Scale};
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 6.0;
const RIGHT: f64 = 14.0;
const ROW: f64 = 38.0;
const BAR: f64 = 13.0;
/// From the top of a row to its bar: a line of text.
const TEXT: f64 = 18.0;
const AXIS: f64 = 22.0;

/// A figure of horizontal bars from 0. `colour` gives a policy's place in the palette.
pub(crate) fn bars(
    report: &Report,
    results: &[&RunResult],
    measure: &Measure,
    colour: &dyn Fn(&str) -> usize,
) -> String {
    let scale = measure.scale(results);
    let top = results
        .iter()
        .map(|r| (measure.value)(r) + (measure.half_width)(r).unwrap_or(0.0))
        .fold(0.0, f64::max);
    let top = results.iter().map(|r| (measure.bound)(r)).fold(top, f64::max);
    let marks = measure.marks(report, results);
    let top = marks.iter().map(|mark| mark.value).fold(top, f64::max);
    let steps = ticks(0.0, if top > 0.0 { top / scale.divisor } else { 1.0 }, 5);
    let end = steps.last().copied().unwrap_or(1.0);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value / scale.divisor / end;
    let unit = measure.axis_unit(&scale, report);
    let height = ROW * results.len() as f64 + AXIS + 4.0;
    let mut svg = super::open_figure(measure.name, &unit, "policy", (WIDTH, height));
    axis(&mut svg, &steps, end, ROW * results.len() as f64, height);
    for (row, result) in results.iter().enumerate() {
        bar(
            &mut svg,
            result,
            measure,
            &scale,
            row as f64 * ROW,
            &x,
            colour(&result.policy),
        );
        for mark in marks.iter().filter(|mark| mark.result.policy == result.policy) {
            let y = row as f64 * ROW + TEXT + BAR / 2.0;
            let text = format!("{} {}", scale.text(mark.value), scale.unit);
            svg.push_str(&super::published(mark, "text", x(mark.value), y, &text));
        }
    }
    svg + "</svg></figure>\n"
}

fn axis(svg: &mut String, steps: &[f64], end: f64, bottom: f64, height: f64) {
    for (step, label) in steps.iter().zip(tick_labels(steps)) {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * step / end;
        let anchor = if *step == 0.0 { "start" } else { "middle" };
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{label}</text>",
            height - 8.0
        );
    }
}

fn bar(
    svg: &mut String,
    result: &RunResult,
    measure: &Measure,
    scale: &Scale,
    top: f64,
    x: &dyn Fn(f64) -> f64,
    colour: usize,
) {
    let (value, bound) = ((measure.value)(result), (measure.bound)(result));
    let half_width = (measure.half_width)(result);
    let (y, text_y) = (top + TEXT, top + TEXT - 5.0);
    let above = percent_above(value, bound).map_or_else(String::new, |p| {
        format!(", {p:.1} % over the lower bound of {}", scale.text(bound))
    });
    let _ = writeln!(
        svg,
        "<g><title>{}: {} {}{above}</title><text x=\"{LEFT}\" y=\"{text_y}\">{}</text><text x=\"{:.1}\" y=\"{text_y}\" text-anchor=\"end\">{}</text><rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"var(--p{colour})\"/>",
        escape(&result.policy),
        scale.with_interval(value, half_width),
        scale.unit,
        escape(&shortened(&result.policy, 34)),
        WIDTH - RIGHT,
        scale.with_interval(value, half_width),
        (x(value) - LEFT).max(0.0),
    );
    if bound > 0.0 {
        let at = x(bound);
        let _ = write!(
            svg,
            "<line class=\"bound\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            y - 3.0,
            y + BAR + 3.0
        );
    }
    if let Some(half_width) = half_width {
        let (low, high, middle) = (x((value - half_width).max(0.0)), x(value + half_width), y + BAR / 2.0);
        let (up, down) = (middle - 4.0, middle + 4.0);
        let _ = write!(
            svg,
            "<path class=\"whisker\" d=\"M{low:.1} {up}V{down}M{low:.1} {middle}H{high:.1}M{high:.1} {up}V{down}\"/>"
        );
    }
    svg.push_str("</g>\n");
}

/// The whole text is in the tooltip; what is drawn must leave room for the value beside it.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
