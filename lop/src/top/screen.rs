// SPDX-License-Identifier: GPL-2.0-only
//! One screen: the scheduler, active tasks and set sizes over time, power, CPUs, rules in force.

use super::cpus;
use super::history::History;
use super::sample::Sample;
use crate::status_text::{duration, wrapped};
use lop_kernel::status::{ranges, Status};
use ratatui::layout::Alignment;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::Frame;
use std::time::SystemTime;

/// Columns before a row of bars.
const NAME: usize = 7;
const FIGURE: usize = 10;
/// Most columns for the name of the meter, or the reason why there is none.
const SOURCE_LINES: usize = 3;
/// Rules get this share of the height, and what the CPUs leave of the rest.
const RULES_SHARE: usize = 3;

/// The latest sample, and the history.
#[derive(Default)]
pub struct View {
    sample: Option<Sample>,
    power: Power,
    active: History,
    high: History,
    watts: History,
}

/// What the meter says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Power {
    /// Mean since the last sample; `None`: not known (yet).
    pub watts: Option<f64>,
    /// Name of the meter, or why there is none and what to do.
    pub source: String,
    /// Shares of the highest power are shown, watts not.
    pub only_ratios: bool,
}

impl View {
    /// The latest sample, which is shown beside the earlier ones.
    pub fn add(&mut self, sample: Sample, power: Power) {
        let status = sample.status.as_ref();
        self.active.push(status.map(|status| f64::from(status.active)));
        self.high.push(status.map(|status| status.sets.high.len() as f64));
        self.watts.push(power.watts);
        self.sample = Some(sample);
        self.power = power;
    }

    /// At most `height` lines of at most `width` columns.
    pub fn lines(&self, width: usize, height: usize, now: SystemTime) -> Vec<Line<'static>> {
        let Some(sample) = &self.sample else {
            return vec![Line::from("the first sample is being taken")];
        };
        let mut above = vec![title(sample, now)];
        above.extend(self.graphs(sample, width));
        above.push(Line::default());
        let below = rules(sample.status.as_ref(), width);
        let blank = usize::from(!below.is_empty());
        let room = height.saturating_sub(above.len() + blank);
        let kept = below.len().min(height / RULES_SHARE);
        above.extend(cpus::lines(&sample.cpus, width, room.saturating_sub(kept).max(1)));
        above.extend((0..blank).map(|_| Line::default()));
        let left = height.saturating_sub(above.len());
        above.extend(cut(below, left));
        above.truncate(height);
        above
    }

    fn graphs(&self, sample: &Sample, width: usize) -> Vec<Line<'static>> {
        let bars = |history: &History, top: f64| history.bars(width.saturating_sub(NAME + FIGURE + 1), top);
        let mut lines = Vec::new();
        if let Some(status) = &sample.status {
            let all = sample.cpus.iter().filter(|cpu| cpu.online).count() as f64;
            let top = self.active.highest().unwrap_or(0.0).max(all);
            lines.push(graph("active", &status.active.to_string(), &bars(&self.active, top)));
            let high = format!("{} of {}", status.sets.high.len(), sample.cpus.len());
            lines.push(graph("high", &high, &bars(&self.high, all)));
        }
        lines.push(match self.power.watts {
            Some(watts) => {
                let top = self.watts.highest().unwrap_or(0.0);
                let text = match self.power.only_ratios {
                    true => format!("{:.0} % of top", 100.0 * watts / top),
                    false => format!("{watts:.1} W"),
                };
                graph("power", &text, &bars(&self.watts, top))
            }
            None => graph("power", "-", ""),
        });
        let dim = Style::new().add_modifier(Modifier::DIM);
        let source = wrapped(&self.power.source, width.saturating_sub(NAME));
        lines.extend(source.into_iter().take(SOURCE_LINES).map(|line| {
            let line: String = format!("{:NAME$}{line}", "").chars().take(width).collect();
            Line::styled(line, dim)
        }));
        lines
    }
}

fn graph(name: &str, figure: &str, bars: &str) -> Line<'static> {
    Line::from(vec![
        Span::raw(format!("{name:NAME$}")),
        Span::styled(format!("{figure:<FIGURE$} "), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(bars.to_string()),
    ])
}

fn title(sample: &Sample, now: SystemTime) -> Line<'static> {
    let text = match (&sample.status, &sample.other) {
        (Some(status), _) => format!("{} for {}", policy(status), duration(status.age(now))),
        (None, Some(other)) => format!("{other} is in charge; Lopsided is not"),
        (None, None) => "the kernel's own scheduler is in charge (see lop doctor)".to_string(),
    };
    Line::from(vec![
        Span::styled("lop top", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(format!("  {text}")),
    ])
}

fn policy(status: &Status) -> String {
    match &status.asked_policy {
        Some(asked) => format!("{asked} ({})", status.policy),
        None => status.policy.clone(),
    }
}

/// Phases, hints and rules in force, each on as many lines as it needs.
fn rules(status: Option<&Status>, width: usize) -> Vec<Line<'static>> {
    let Some(status) = status else {
        return Vec::new();
    };
    let mut lines = status.rules.clone();
    if !status.awaited.is_empty() {
        lines.push(format!("awaited by others: on CPU {} (!)", ranges(&status.awaited)));
    }
    lines.extend(status.hints_told().map(|told| format!("hints (lop hint): {told}")));
    lines.extend(status.plan.iter().cloned());
    lines
        .iter()
        .flat_map(|line| wrapped(line, width))
        .map(Line::from)
        .collect()
}

/// The last line counts what does not fit.
fn cut(mut lines: Vec<Line<'static>>, height: usize) -> Vec<Line<'static>> {
    if lines.len() > height {
        let hidden = lines.len() - height.saturating_sub(1);
        lines.truncate(height.saturating_sub(1));
        lines.push(Line::from(format!("{hidden} lines more: lop status has them")));
    }
    lines
}

/// Draws it into a terminal, with a hint on `q` in the upper right corner.
pub fn draw(view: &View, frame: &mut Frame) {
    let area = frame.area();
    let lines = view.lines(area.width.into(), area.height.into(), SystemTime::now());
    frame.render_widget(Paragraph::new(lines), area);
    let corner = ratatui::layout::Rect {
        height: area.height.min(1),
        ..area
    };
    let keys = Paragraph::new("q quits").alignment(Alignment::Right);
    frame.render_widget(
        keys,
        ratatui::layout::Rect {
            x: corner.x + corner.width.saturating_sub(8),
            width: corner.width.min(8),
            ..corner
        },
    );
}

#[cfg(test)]
mod tests;
