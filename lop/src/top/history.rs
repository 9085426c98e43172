// SPDX-License-Identifier: GPL-2.0-only
//! The last values of a figure, as a row of bars.

use std::collections::VecDeque;

/// Enough for the widest terminal.
const KEPT: usize = 512;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The newest last; `None`: not known.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<Option<f64>>);

impl History {
    pub fn push(&mut self, value: Option<f64>) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The last `width` values as bars of eighths of `top`, the newest to the right. Zero is the lowest bar; an unknown value has none.
    pub fn bars(&self, width: usize, top: f64) -> String {
        let shown = self.0.iter().skip(self.0.len().saturating_sub(width));
        let bars: String = shown.map(|value| value.map_or(' ', |value| bar(value, top))).collect();
        format!("{bars:>width$}")
    }

    pub fn highest(&self) -> Option<f64> {
        self.0.iter().flatten().copied().reduce(f64::max)
    }
}

fn bar(value: f64, top: f64) -> char {
    let eighths = if top > 0.0 { value / top * 8.0 } else { 0.0 };
    BARS[(eighths.ceil().max(1.0) as usize - 1).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_eighths_of_the_top_and_the_newest_is_at_the_right() {
        let mut history = History::default();
        for value in [Some(8.0), None, Some(0.0), Some(0.1), Some(4.0), Some(9.0)] {
            history.push(value);
        }
        assert_eq!(history.bars(8, 8.0), "  █ ▁▁▄█");
        assert_eq!(history.bars(2, 8.0), "▄█");
        assert_eq!(history.bars(2, 0.0), "▁▁", "nothing is measured against nothing");
        assert_eq!(history.highest(), Some(9.0));
    }

    #[test]
    fn no_more_is_kept_than_a_terminal_shows() {
        let mut history = History::default();
        (0..2000).for_each(|value| history.push(Some(f64::from(value))));
        assert_eq!(history.bars(3000, 1.0).trim_start().chars().count(), KEPT);
    }
}
