// SPDX-License-Identifier: GPL-2.0-only
//! The CPUs by memory domain, each as wide as there is room for: with number, set, speed and load; by number, set and load; or as one bar.

use super::sample::{Cpu, Set};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// How much is shown of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// `  3 spare  3600 MHz ██████     60 %`
    Whole,
    /// `  3 s 3.6 ███  `
    Short,
    /// `▅`
    Bar,
}

impl Cell {
    fn width(self) -> usize {
        match self {
            Self::Whole => 39,
            Self::Short => 16,
            Self::Bar => 1,
        }
    }

    /// CPUs in a row.
    fn per_row(self, width: usize) -> usize {
        (width / self.width()).max(1)
    }
}

/// Columns of the number before a row of bars.
const FIRST: usize = 6;
const BAR: usize = 10;
const SHORT_BAR: usize = 5;

/// Lines for the CPUs, at most `height` if possible. The last line counts those that do not fit.
pub fn lines(cpus: &[Cpu], width: usize, height: usize) -> Vec<Line<'static>> {
    let domains: Vec<&[Cpu]> = cpus.chunk_by(|a, b| a.memory_domain == b.memory_domain).collect();
    let fits = |lines: &Vec<Line>| lines.len() <= height;
    let told = [Cell::Whole, Cell::Short].map(|cell| told(&domains, cell, width));
    let lines = told.into_iter().find(fits).unwrap_or_else(|| bars(&domains, width));
    cut(lines, height)
}

/// Each domain below its title, where there are several.
fn told(domains: &[&[Cpu]], cell: Cell, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for domain in domains {
        if domains.len() > 1 {
            let title = format!("memory domain {}", domain[0].memory_domain);
            lines.push(Line::styled(title, Style::new().add_modifier(Modifier::DIM)));
        }
        let rows = domain.chunks(cell.per_row(width));
        lines.extend(rows.map(|row| Line::from_iter(row.iter().map(|cpu| span(cpu, cell)))));
    }
    lines
}

/// A bar for each CPU, domains a space apart; in front of each row the number of its first CPU.
fn bars(domains: &[&[Cpu]], width: usize) -> Vec<Line<'static>> {
    let room = width.saturating_sub(FIRST).max(1);
    let mut rows: Vec<Vec<Span>> = Vec::new();
    let mut taken = usize::MAX;
    for part in domains.iter().flat_map(|domain| domain.chunks(room)) {
        match taken.checked_add(1 + part.len()).filter(|&end| end <= room) {
            Some(end) => {
                taken = end;
                rows.last_mut().into_iter().for_each(|row| row.push(Span::raw(" ")));
            }
            None => {
                taken = part.len();
                rows.push(vec![Span::raw(format!("{:>4}  ", part[0].number))]);
            }
        }
        let bars = part.iter().map(|cpu| span(cpu, Cell::Bar));
        rows.last_mut().into_iter().for_each(|row| row.extend(bars.clone()));
    }
    rows.into_iter().map(Line::from).collect()
}

fn cut(mut lines: Vec<Line<'static>>, height: usize) -> Vec<Line<'static>> {
    if lines.len() > height {
        let hidden = lines.len() - height.saturating_sub(1);
        lines.truncate(height.saturating_sub(1));
        lines.push(Line::from(format!("{hidden} rows more: a higher terminal shows them")));
    }
    lines
}

fn span(cpu: &Cpu, cell: Cell) -> Span<'static> {
    Span::styled(text(cpu, cell), style(cpu))
}

fn text(cpu: &Cpu, cell: Cell) -> String {
    let text = match cell {
        Cell::Whole => whole(cpu),
        Cell::Short => short(cpu),
        Cell::Bar => one_bar(cpu).to_string(),
    };
    format!("{text:width$}", width = cell.width())
}

fn whole(cpu: &Cpu) -> String {
    if !cpu.online {
        return format!("{:>3} offline", cpu.number);
    }
    let mhz = cpu.khz.map_or("-".to_string(), |khz| (khz / 1000).to_string());
    let share = cpu.busy_permille.map_or("-".to_string(), |p| (p / 10).to_string());
    let mark = if cpu.awaited { '!' } else { ' ' };
    format!(
        "{:>3}{mark}{:<8} {mhz:>4} MHz {} {share:>3} %",
        cpu.number,
        name(cpu.set),
        bar(cpu, BAR)
    )
}

fn short(cpu: &Cpu) -> String {
    if !cpu.online {
        return format!("{:>3} off", cpu.number);
    }
    let ghz = cpu
        .khz
        .map_or("  -".to_string(), |khz| format!("{:.1}", khz as f64 / 1e6));
    let mark = if cpu.awaited { '!' } else { ' ' };
    let letter = name(cpu.set).chars().next().unwrap_or(' ');
    format!("{:>3}{mark}{letter} {ghz:>3} {}", cpu.number, bar(cpu, SHORT_BAR))
}

/// Load as a bar of eighths of a column.
fn bar(cpu: &Cpu, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = usize::from(cpu.busy_permille.unwrap_or(0)) * width * 8 / 1000;
    let text = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!("{text:width$}")
}

fn one_bar(cpu: &Cpu) -> char {
    const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match cpu.online {
        true => BARS[(usize::from(cpu.busy_permille.unwrap_or(0)) * 8).div_ceil(1000).min(8)],
        false => 'x',
    }
}

/// In full, or its first letter where there is less room.
fn name(set: Set) -> &'static str {
    match set {
        Set::High => "high",
        Set::Spare => "spare",
        Set::Green => "green",
        Set::Low => "low",
        Set::Reserved => "reserved",
        Set::None => "",
    }
}

fn style(cpu: &Cpu) -> Style {
    let style = match cpu.set {
        Set::High => Style::new().fg(Color::Green),
        Set::Spare => Style::new().fg(Color::Cyan),
        Set::Green => Style::new().fg(Color::Yellow),
        Set::Low => Style::new().add_modifier(Modifier::DIM),
        Set::Reserved => Style::new().fg(Color::Magenta),
        Set::None => Style::new(),
    };
    match (cpu.online, cpu.awaited) {
        (false, _) => Style::new().add_modifier(Modifier::DIM),
        (true, true) => style.add_modifier(Modifier::BOLD),
        (true, false) => style,
    }
}
