// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text as wide as a terminal: prose is broken between words; tables break their text, then leave out their least important columns.

use crate::grid::{Column, Grid};

/// How much room there is, and what shows the columns that had none.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// In characters; `None`: no limit.
    pub width: Option<usize>,
    /// "-v or --format csv".
    pub shows_all: &'static str,
}

impl Room {
    pub const UNLIMITED: Self = Self {
        width: None,
        shows_all: "",
    };
}

/// Text is not broken into columns narrower than this.
const NARROWEST_TEXT: usize = 12;
const GAP: usize = 2;

/// A text that grows line by line.
pub(crate) struct Page {
    room: Room,
    text: String,
    left_out: Vec<String>,
}

impl Page {
    pub fn new(room: Room) -> Self {
        Self {
            room,
            text: String::new(),
            left_out: Vec::new(),
        }
    }

    /// A line, or as many as it takes; those that follow the first are indented as it is.
    pub fn prose(&mut self, text: &str) {
        self.text.push_str(&wrapped(text, self.room.width));
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    pub fn table(&mut self, grid: &Grid) {
        let (text, left_out) = render(grid, self.room.width);
        self.text.push_str(&text);
        for column in left_out {
            let label = column.label();
            if !self.left_out.contains(&label) {
                self.left_out.push(label);
            }
        }
    }

    /// Whether a table left out a column of this unit.
    pub fn leaves_out(&self, unit: &str) -> bool {
        let end = format!("({unit})");
        self.left_out.iter().any(|label| label.ends_with(&end))
    }

    /// The text, and which columns it leaves out.
    pub fn end(mut self) -> String {
        if !self.left_out.is_empty() {
            let columns = self.left_out.join(", ");
            self.blank();
            self.prose(&format!(
                "Too wide for this terminal: {columns}. To see all: {}.",
                self.room.shows_all
            ));
        }
        self.text
    }
}

/// Ends with a newline.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let text = printable(text);
    let indent = " ".repeat(text.chars().take_while(|c| *c == ' ').count());
    let Some(room) = width.map(|width| width.saturating_sub(indent.len())) else {
        return text + "\n";
    };
    let lines = broken(text.trim_start(), room);
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// At spaces; a word that is longer than a line has one of its own. One line at least.
fn broken(text: &str, width: usize) -> Vec<String> {
    match length(text) <= width {
        true => vec![text.to_string()],
        false => lines_of(words(text), width),
    }
}

/// As many words on each line as have room, with a space between them.
pub(crate) fn lines_of(words: Vec<String>, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let Some(line) = lines.last_mut() else { continue };
        match line.is_empty() {
            true => line.push_str(&word),
            false if length(line) + 1 + length(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            false => lines.push(word),
        }
    }
    lines
}

/// A per cent sign belongs to its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(number) if word.starts_with('%') => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

/// Two lines of heading, a rule, the rows; columns two spaces apart. Beside it the columns that had no room.
fn render(grid: &Grid, room: Option<usize>) -> (String, Vec<&Column>) {
    let printed = |cells: &[String]| cells.iter().map(|cell| printable(cell)).collect::<Vec<_>>();
    let names: Vec<String> = grid.columns.iter().map(|c| c.name.clone()).collect();
    let units: Vec<String> = grid.columns.iter().map(|c| c.unit.clone()).collect();
    let mut lines = vec![printed(&names)];
    if units.iter().any(|unit| !unit.is_empty()) {
        lines.push(printed(&units));
    }
    let headings = lines.len();
    lines.extend(grid.rows.iter().map(|row| printed(row)));
    let (shown, widths) = fitted(grid, &lines, room);
    let rule: Vec<String> = (0..grid.columns.len()).map(|i| "-".repeat(widths[i])).collect();
    lines.insert(headings, rule);
    let text = lines.iter().map(|cells| row(grid, &shown, &widths, cells)).collect();
    let is_shown = |i: &usize| shown.contains(i);
    let left_out = (0..grid.columns.len())
        .filter(|i| !is_shown(i))
        .map(|i| &grid.columns[i]);
    (text, left_out.collect())
}

/// The columns that are shown, and the widths of all.
fn fitted(grid: &Grid, lines: &[Vec<String>], room: Option<usize>) -> (Vec<usize>, Vec<usize>) {
    let all = 0..grid.columns.len();
    let longest = |i: usize, of: fn(&str) -> usize| lines.iter().map(|line| of(&line[i])).max().unwrap_or(0);
    let full: Vec<usize> = all.clone().map(|i| longest(i, length)).collect();
    let Some(room) = room else {
        return (all.collect(), full);
    };
    let word = |text: &str| text.split(' ').map(length).max().unwrap_or(0);
    let least = |i: usize| match grid.columns[i].numeric {
        true => full[i],
        false => longest(i, word).max(NARROWEST_TEXT).min(full[i]),
    };
    let mut widths: Vec<usize> = all.clone().map(least).collect();
    let total = |shown: &[usize], widths: &[usize]| {
        shown.iter().map(|&i| widths[i]).sum::<usize>() + GAP * shown.len().saturating_sub(1)
    };
    let mut shown: Vec<usize> = all.collect();
    while total(&shown, &widths) > room {
        let highest = shown.iter().map(|&i| grid.columns[i].rank).max().unwrap_or(0);
        if highest == 0 {
            break;
        }
        shown.retain(|&i| grid.columns[i].rank < highest);
    }
    let mut left = room.saturating_sub(total(&shown, &widths));
    for &i in &shown {
        let more = left.min(full[i] - widths[i]);
        widths[i] += more;
        left -= more;
    }
    (shown, widths)
}

/// A row, of as many lines as its longest cell takes.
fn row(grid: &Grid, shown: &[usize], widths: &[usize], cells: &[String]) -> String {
    let broken: Vec<Vec<String>> = shown.iter().map(|&i| broken(&cells[i], widths[i])).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let padded = shown.iter().zip(&broken).map(|(&i, cell)| {
            let (text, width) = (cell.get(at).map_or("", String::as_str), widths[i]);
            match grid.columns[i].numeric {
                true => format!("{text:>width$}"),
                false => format!("{text:<width$}"),
            }
        });
        let line = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
        format!("{}\n", line.trim_end())
    };
    (0..height).map(line).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Names come from files: a control character in one must not reach the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let row = |name: &str| vec![name.to_string(), "1.00".to_string(), "22.00".to_string()];
        Grid {
            columns: vec![
                Column::text("policy"),
                Column::number("time", "s"),
                Column::number("power", "W").rank(1),
            ],
            rows: vec![row("highlow"), row("first-of-all, second, third")],
        }
    }

    fn page(width: Option<usize>) -> String {
        let mut page = Page::new(Room { width, shows_all: "-v" });
        page.table(&grid());
        page.end()
    }

    #[test]
    fn without_a_limit_nothing_is_broken_or_left_out() {
        let expected = "\
policy                       time  power
                                s      W
---------------------------  ----  -----
highlow                      1.00  22.00
first-of-all, second, third  1.00  22.00
";
        assert_eq!(page(None), expected);
        assert_eq!(page(Some(40)), expected);
    }

    #[test]
    fn text_is_broken_before_columns_are_left_out() {
        let expected = "\
policy               time  power
                        s      W
-------------------  ----  -----
highlow              1.00  22.00
first-of-all,        1.00  22.00
second, third
";
        assert_eq!(page(Some(32)), expected);
        let expected = "\
policy            time
                     s
----------------  ----
highlow           1.00
first-of-all,     1.00
second, third

Too wide for this
terminal: power (W).
To see all: -v.
";
        assert_eq!(page(Some(22)), expected);
    }

    #[test]
    fn prose_is_broken_between_words_and_keeps_its_indent() {
        assert_eq!(wrapped("  - one two three", Some(12)), "  - one two\n  three\n");
        assert_eq!(wrapped("incomprehensible", Some(5)), "incomprehensible\n");
        assert_eq!(wrapped("", Some(5)), "\n");
        assert_eq!(wrapped("up 16 %, so", Some(6)), "up\n16 %,\nso\n");
    }
}
