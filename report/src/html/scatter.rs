// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delay against energy, both relative to the first policy: a dot and a label for each policy.

use super::bars::shortened;
use super::escape::escape;
use crate::number::{tick_labels, ticks};
use crate::rows::{Overall, Ratios};
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 40.0;
const TOP: f64 = 8.0;
/// Width and least height of the plot; the labels stand to its right.
const PLOT: f64 = 215.0;
const AXIS: f64 = 36.0;
const LINE: f64 = 14.0;
const LABEL: f64 = LEFT + PLOT + 16.0;
/// Characters of a label; the whole name is in its tooltip.
const CHARACTERS: usize = 20;
/// More dots than this, one for each policy and point, hide each other.
const MOST_DOTS: usize = 400;

struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    height: f64,
}

impl Frame {
    fn x(&self, ratio: f64) -> f64 {
        LEFT + PLOT * (ratio - self.x.0) / (self.x.1 - self.x.0)
    }
    fn y(&self, ratio: f64) -> f64 {
        TOP + self.height * (1.0 - (ratio - self.y.0) / (self.y.1 - self.y.0))
    }
    fn place(&self, ratios: &Ratios) -> (f64, f64) {
        (self.x(ratios.delay), self.y(ratios.energy))
    }
}

/// `delay`: what the x axis shows; `place`: a policy's place in the palette. Empty where there is one row only.
pub(crate) fn scatter(rows: &[Overall], delay: &str, source: &str, place: &dyn Fn(&str) -> usize) -> String {
    let rows: Vec<&Overall> = rows.iter().filter(|row| row.mean.positive()).collect();
    let [first, _, ..] = rows.as_slice() else {
        return String::new();
    };
    let reference = first.names[0];
    let points = first.ratios.len();
    let dots: Vec<&Ratios> = match points * rows.len() {
        n if points > 1 && n <= MOST_DOTS => rows.iter().flat_map(|row| &row.ratios).collect(),
        _ => Vec::new(),
    };
    let shown = || rows.iter().map(|row| &row.mean).chain(dots.iter().copied());
    let (x, y) = (steps(shown().map(|r| r.delay)), steps(shown().map(|r| r.energy)));
    let lines: usize = rows.iter().map(|row| row.names.len()).sum();
    let frame = Frame {
        x: (x[0], x[x.len() - 1]),
        y: (y[0], y[y.len() - 1]),
        height: PLOT.max(LINE * lines as f64),
    };
    let means = if points > 1 {
        format!("; geometric means over {points} points")
    } else {
        String::new()
    };
    let unit = format!("1 = {reference}{means}, energy {source}; dashed: the same EDP");
    let mut svg = super::open_figure(
        &format!("{delay} and energy"),
        &unit,
        "policy",
        (WIDTH, TOP + frame.height + AXIS),
    );
    axes(&mut svg, &frame, &x, &y, delay);
    same_edp(&mut svg, &frame);
    for row in rows.iter().filter(|_| !dots.is_empty()) {
        let colour = super::palette(place(row.names[0]));
        for (x, y) in row.ratios.iter().map(|ratios| frame.place(ratios)) {
            let _ = writeln!(
                svg,
                "<circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"var(--p{colour})\"/>"
            );
        }
    }
    labels(&mut svg, &frame, rows, place);
    svg + "</svg></figure>\n"
}

/// Round steps around the ratios and 1.
fn steps(ratios: impl Iterator<Item = f64>) -> Vec<f64> {
    let (low, high) = ratios.fold((1.0f64, 1.0f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    let margin = (0.06 * (high - low)).max(0.005);
    ticks((low - margin).max(0.0), high + margin, 4)
}

fn axes(svg: &mut String, frame: &Frame, x: &[f64], y: &[f64], delay: &str) {
    let (right, bottom) = (LEFT + PLOT, TOP + frame.height);
    for (step, label) in x.iter().zip(tick_labels(x)) {
        let at = frame.x(*step);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/><text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            bottom + 15.0
        );
    }
    for (step, label) in y.iter().zip(tick_labels(y)) {
        let at = frame.y(*step);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 5.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{delay}</text><text transform=\"translate(10 {:.1}) rotate(-90)\" text-anchor=\"middle\">energy</text><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">↙ better</text>",
        LEFT + PLOT / 2.0,
        bottom + 31.0,
        TOP + frame.height / 2.0,
        LEFT + 4.0,
        bottom - 6.0
    );
}

/// The curve on which energy times delay is that of the first policy.
fn same_edp(svg: &mut String, frame: &Frame) {
    const PARTS: u32 = 40;
    let mut path = String::new();
    for part in 0..=PARTS {
        let delay = frame.x.0 + (frame.x.1 - frame.x.0) * f64::from(part) / f64::from(PARTS);
        let energy = 1.0 / delay;
        if delay > 0.0 && (frame.y.0..=frame.y.1).contains(&energy) {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", frame.x(delay), frame.y(energy));
        }
    }
    let _ = writeln!(
        svg,
        "<path class=\"bound\" d=\"{path}\"><title>the same EDP as the first policy; below it, less</title></path>"
    );
}

/// From top to bottom as the dots are, each joined to its dot; a line of text for each name.
fn labels(svg: &mut String, frame: &Frame, mut rows: Vec<&Overall>, place: &dyn Fn(&str) -> usize) {
    rows.sort_by(|a, b| b.mean.energy.total_cmp(&a.mean.energy));
    let mut left: usize = rows.iter().map(|row| row.names.len()).sum();
    let mut next = TOP + LINE / 2.0;
    for row in rows {
        let (x, y) = frame.place(&row.mean);
        // As near to its dot as the labels above and those still to come allow.
        let last = TOP + frame.height - LINE * (left as f64 - 0.5);
        let at = y.min(last).max(next);
        let index = place(row.names[0]);
        let colour = super::palette(index);
        let _ = writeln!(
            svg,
            "<g><title>{}: delay {:.3}, energy {:.3}, EDP {:.3}</title><path class=\"leader\" d=\"M{x:.1} {y:.1}L{:.1} {at:.1}h8\"/><path d=\"{}\" fill=\"var(--p{colour})\"/>",
            escape(&row.names.join(", ")),
            row.mean.delay,
            row.mean.energy,
            row.mean.edp,
            LABEL - 12.0,
            super::marker(index, x, y, 4.5)
        );
        for (line, name) in row.names.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<text x=\"{LABEL}\" y=\"{:.1}\">{}</text>",
                at + LINE * line as f64 + 4.0,
                escape(&shortened(name, CHARACTERS))
            );
        }
        svg.push_str("</g>\n");
        next = at + LINE * row.names.len() as f64;
        left -= row.names.len();
    }
}
