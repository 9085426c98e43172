// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plots over a sweep: a line for each policy where the axis is a number, points side by side where it is a category. Whiskers where the
//! confidence is known; the lower bound dashed.

use super::axis::XAxis;
use super::escape::escape;
use super::measure::Measure;
use crate::model::{Report, RunResult};
use crate::number::{tick_labels, ticks, Scale};
use crate::sweep::Dimension;
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 8.0;
/// Estimated width of a character of a tick label.
const CHARACTER: f64 = 6.2;
/// Characters of a slanted tick label; the whole text is in the tooltips of the points.
const LONGEST_SLANTED: usize = 13;

/// One panel: results of one measure along one dimension.
pub(crate) struct Panel<'a> {
    pub report: &'a Report,
    pub results: &'a [&'a RunResult],
    pub measure: &'a Measure,
    pub dimension: &'a Dimension,
    /// All policies of the page, for colour and order.
    pub policies: &'a [&'a str],
}

/// Where values are drawn.
struct Frame {
    x: XAxis,
    scale: Scale,
    low: f64,
    high: f64,
}

impl Frame {
    fn left_of(&self, result: &RunResult, dimension: &Dimension) -> Option<f64> {
        Some(self.left(self.x.place(result.point.get(&dimension.name)?)?))
    }
    /// Where a share of the axis lies; numbers keep a distance from the edges, so that markers are not cut off.
    fn left(&self, share: f64) -> f64 {
        let inset = if self.x.categorical() { 0.0 } else { 10.0 };
        LEFT + inset + (WIDTH - LEFT - RIGHT - 2.0 * inset) * share
    }
    fn top_of(&self, value: f64) -> f64 {
        TOP + HEIGHT * (1.0 - (value / self.scale.divisor - self.low) / (self.high - self.low))
    }
}

impl Panel<'_> {
    pub fn draw(&self, id: &str) -> String {
        let scale = self.measure.scale(self.results);
        let steps = self.y_steps(&scale);
        let (low, high) = (steps[0], steps[steps.len() - 1]);
        let frame = Frame {
            x: XAxis::of(self.dimension),
            scale,
            low,
            high,
        };
        let unit = self.measure.axis_unit(&frame.scale, self.report);
        let mut body = String::new();
        self.y_axis(&mut body, &steps, &frame);
        let below = self.x_axis(&mut body, &frame);
        let _ = write!(body, "<g clip-path=\"url(#{id})\">");
        self.bound(&mut body, &frame);
        body.push_str("</g>\n");
        let has_results = |policy: &&str| self.results.iter().any(|result| result.policy == *policy);
        let count = self
            .policies
            .iter()
            .copied()
            .filter(|policy| has_results(policy))
            .count();
        let colours = self
            .policies
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, policy)| has_results(policy));
        for (place, (index, policy)) in colours.enumerate() {
            self.line(&mut body, &frame, (place, count), index, policy);
        }
        format!(
            "{}<clipPath id=\"{id}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{HEIGHT}\"/></clipPath>\n{body}</svg></figure>\n",
            super::open_figure(self.measure.name, &unit, &self.dimension.name, (WIDTH, TOP + HEIGHT + below)),
            WIDTH - LEFT - RIGHT,
        )
    }

    /// Round steps around everything drawn. The bound is taken in only where it does not squeeze the curves: it may lie far
    /// below them, and then the bars show it.
    fn y_steps(&self, scale: &Scale) -> Vec<f64> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for result in self.results {
            let value = (self.measure.value)(result);
            let ends = (self.measure.interval)(result).unwrap_or([value; 2]);
            low = low.min(ends[0] / scale.divisor);
            high = high.max(ends[1] / scale.divisor);
        }
        for mark in self.measure.marks(self.report, self.results) {
            low = low.min(mark.value / scale.divisor);
            high = high.max(mark.value / scale.divisor);
        }
        let bounds = self
            .results
            .iter()
            .map(|r| (self.measure.bound)(r) / scale.divisor)
            .filter(|b| *b > 0.0);
        let bound = bounds.fold(f64::INFINITY, f64::min);
        if bound < low && low - bound <= high - low {
            low = bound;
        }
        if low > 0.0 && low < 0.35 * high {
            low = 0.0;
        }
        if high - low < 0.02 * high.abs() {
            (low, high) = (low - 0.02 * high.abs(), high + 0.02 * high.abs());
        }
        let steps = ticks(low, high, 5);
        if steps.len() > 1 {
            steps
        } else {
            vec![low - 1.0, low, low + 1.0]
        }
    }

    fn y_axis(&self, body: &mut String, steps: &[f64], frame: &Frame) {
        for (step, label) in steps.iter().zip(tick_labels(steps)) {
            let y = frame.top_of(step * frame.scale.divisor);
            let _ = writeln!(
                body,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
    }

    /// Returns the room it takes below the plot.
    fn x_axis(&self, body: &mut String, frame: &Frame) -> f64 {
        let bottom = TOP + HEIGHT;
        let marks: Vec<(f64, String)> = frame
            .x
            .ticks(self.dimension)
            .into_iter()
            .map(|(share, label)| (frame.left(share), label))
            .collect();
        let longest = marks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let gap = marks.windows(2).map(|w| (w[1].0 - w[0].0).abs()).fold(WIDTH, f64::min);
        let slanted = longest > 3 && longest as f64 * CHARACTER + 8.0 > gap;
        for (x, label) in &marks {
            tick(body, *x, label, slanted);
        }
        let labels = if slanted {
            18.0 + longest.min(LONGEST_SLANTED) as f64 * CHARACTER * 0.62
        } else {
            22.0
        };
        let _ = writeln!(
            body,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{bottom}\" y2=\"{bottom}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            WIDTH - RIGHT,
            (LEFT + WIDTH - RIGHT) / 2.0,
            bottom + labels + 14.0,
            escape(&self.dimension.name)
        );
        labels + 20.0
    }

    fn bound(&self, body: &mut String, frame: &Frame) {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for result in self.results {
            let bound = (self.measure.bound)(result);
            let Some(x) = frame.left_of(result, self.dimension).filter(|_| bound > 0.0) else {
                continue;
            };
            match points.iter_mut().find(|(other, _)| (other - x).abs() < 0.01) {
                Some((_, lowest)) => *lowest = lowest.min(bound),
                None => points.push((x, bound)),
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let path = if frame.x.categorical() {
            let half = 0.45 * (WIDTH - LEFT - RIGHT) / self.dimension.values.len() as f64;
            let across = |(x, bound): &(f64, f64)| {
                let y = frame.top_of(*bound);
                polyline([(x - half, y), (x + half, y)].into_iter())
            };
            points.iter().map(across).collect()
        } else {
            polyline(points.iter().map(|(x, bound)| (*x, frame.top_of(*bound))))
        };
        let _ = writeln!(
            body,
            "<path class=\"bound\" d=\"{path}\"><title>lower bound</title></path>"
        );
    }

    /// Curves often coincide, where policies decide the same: the first are drawn wider, so that they show below the next.
    /// `place`: among the policies of the panel, and how many these are; `index`: among those of the page, for the colour.
    fn line(&self, body: &mut String, frame: &Frame, place: (usize, usize), index: usize, policy: &str) {
        let dodge = (place.0 as f64 - (place.1 as f64 - 1.0) / 2.0) * self.dodge(frame, place.1);
        let mut places: Vec<(f64, &RunResult)> = self
            .results
            .iter()
            .filter(|r| r.policy == policy)
            .filter_map(|r| Some((frame.left_of(r, self.dimension)? + dodge, *r)))
            .collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        let colour = super::palette(index);
        // The figures themselves are in the table.
        let _ = write!(body, "<g><title>{}</title>", escape(policy));
        // Nothing lies between two categories, so no line joins them.
        if !frame.x.categorical() {
            let width = (4.2 - 0.6 * place.0 as f64).max(1.6);
            let dashes = super::dashes(index);
            let path = polyline(places.iter().map(|(x, r)| (*x, frame.top_of((self.measure.value)(r)))));
            let _ = writeln!(
                body,
                "<path class=\"line\" d=\"{path}\" stroke=\"var(--p{colour})\" stroke-width=\"{width:.1}\"{dashes}/>"
            );
        }
        let (mut whiskers, mut markers) = (String::new(), String::new());
        let size = (5.0 - 0.5 * place.0 as f64).max(2.8);
        for (x, result) in places {
            let value = (self.measure.value)(result);
            markers.push_str(&super::marker(index, x, frame.top_of(value), size));
            if let Some(ends) = (self.measure.interval)(result) {
                let [down, up] = ends.map(|end| frame.top_of(end));
                let left = x - 3.0;
                let _ = write!(
                    whiskers,
                    "M{left:.1} {up:.1}h6M{x:.1} {up:.1}V{down:.1}M{left:.1} {down:.1}h6"
                );
            }
        }
        if !whiskers.is_empty() {
            let _ = write!(
                body,
                "<path class=\"whisker\" style=\"stroke:var(--p{colour})\" d=\"{whiskers}\"/>"
            );
        }
        let _ = writeln!(body, "<path d=\"{markers}\" fill=\"var(--p{colour})\"/>");
        for mark in self.measure.marks(self.report, self.results) {
            let place = frame.left_of(mark.result, self.dimension);
            let Some(x) = place.filter(|_| mark.result.policy == policy) else {
                continue;
            };
            let text = format!("{} {}", frame.scale.text(mark.value), frame.scale.unit);
            body.push_str(&super::published(
                &mark,
                &format!("p{colour}"),
                x + dodge,
                frame.top_of(mark.value),
                text.trim_end(),
            ));
        }
        body.push_str("</g>\n");
    }

    /// Distance between policies at the same category, so that their markers and whiskers stand side by side.
    fn dodge(&self, frame: &Frame, count: usize) -> f64 {
        if !frame.x.categorical() {
            return 0.0;
        }
        let slot = (WIDTH - LEFT - RIGHT) / self.dimension.values.len() as f64;
        (slot * 0.8 / count as f64).min(7.0)
    }
}

/// A mark on the x axis; slanted labels lean to the left and must not run off the drawing there.
fn tick(body: &mut String, x: f64, label: &str, slanted: bool) {
    let bottom = TOP + HEIGHT;
    let (place, label) = if slanted {
        let place = format!(
            "text-anchor=\"end\" transform=\"translate({:.1} {:.1}) rotate(-38)\"",
            x + 4.0,
            bottom + 14.0
        );
        (place, without_middle(label, LONGEST_SLANTED))
    } else {
        (
            format!("text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\"", bottom + 17.0),
            label.to_string(),
        )
    };
    let _ = writeln!(
        body,
        "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/><text class=\"tick\" {place}>{}</text>",
        bottom + 4.0,
        escape(&label)
    );
}

/// Names of a series often differ at their end only.
fn without_middle(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_string();
    }
    let (front, back) = ((most - 1).div_ceil(2), (most - 1) / 2);
    text.chars()
        .take(front)
        .chain(['…'])
        .chain(text.chars().skip(count - back))
        .collect()
}

fn polyline(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(without_middle("phenom-9750", 13), "phenom-9750");
        assert_eq!(without_middle("machine-with-a-long-name-8", 13), "machin…name-8");
    }
}
