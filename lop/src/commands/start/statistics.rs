// SPDX-License-Identifier: GPL-2.0-only
//! `--stats` and `--monitor`: a line of statistics for each interval.

use crate::commands::kernel::Place;
use crate::commands::status;
use crate::failure::Failure;
use crate::format::Format;
use crate::terminal;
use lop_kernel::instance::RunDir;
use lop_kernel::statistics::Statistics;
use lop_kernel::status::Status;
use lop_kernel::status_server;
use std::ops::RangeInclusive;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

/// The scheduler answers at most every 0.1 s.
const SECONDS: RangeInclusive<f64> = 0.1..=86_400.0;

/// Lines under one heading.
const LINES: usize = 20;

/// Reads an interval in seconds without a unit, as other sched_ext schedulers do.
///
/// # Errors
/// No number, or outside of 0.1 s to a day.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if SECONDS.contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected seconds, from 0.1 to 86400".to_string()),
    }
}

/// Prints statistics of the running scheduler until it ends.
///
/// # Errors
/// None runs, or nothing can be printed.
pub fn monitor(place: &Place, interval: Duration) -> Result<(), Failure> {
    let begin = status::fetch(place, Format::Text)?;
    let goes_on = || {
        std::thread::sleep(interval);
        true
    };
    follow(&place.run_dir(), begin, goes_on)
}

/// Prints a line each time that `goes_on` returns true, until the scheduler has ended or nobody reads any more.
fn follow(dir: &RunDir, mut before: Status, goes_on: impl Fn() -> bool) -> Result<(), Failure> {
    let (mut lines, mut missed) = (0, None);
    while goes_on() {
        // Not before: a scheduler that is ending does not answer either.
        if let Some(error) = missed.take() {
            terminal::note(&format!("a line is missing: {error}"));
        }
        match status_server::fetch(dir) {
            Ok(Some(now)) => {
                if !terminal::is_read(&line(lines, &Statistics::between(&before, &now)))? {
                    return Ok(());
                }
                lines += 1;
                before = now;
            }
            Ok(None) => return Ok(()),
            Err(error) => missed = Some(error),
        }
    }
    Ok(())
}

/// Line number N, with a heading if one is due.
fn line(number: usize, now: &Statistics) -> String {
    let columns = [
        ("active", now.active.into()),
        ("target", now.target.into()),
        ("high", now.high.into()),
        ("green", now.green.into()),
        ("low", now.low.into()),
        ("placed", now.claimed),
        ("queued", now.queued),
        ("pinned", now.pinned),
        ("up", now.promotions),
        ("down", now.demotions),
        ("swaps", now.swaps),
    ];
    let row = |cell: fn(&(&str, u64)) -> String| {
        let cells: Vec<String> = columns.iter().map(|column| format!("{:>6}", cell(column))).collect();
        cells.join(" ") + "\n"
    };
    let heading = match number % LINES {
        0 => row(|(name, _)| (*name).to_string()),
        _ => String::new(),
    };
    heading + &row(|(_, count)| count.to_string())
}

/// Tells the printing thread that the scheduler is attached and, when dropped, that it has ended. Nobody waits for that thread, since its reader may have
/// stopped reading. It starts before the scheduler's thread rises above others, because threads inherit that.
pub struct Printer(Sender<()>);

impl Printer {
    pub fn new(dir: &RunDir, interval: Duration) -> Self {
        let (tell, told) = channel();
        let dir = dir.clone();
        std::thread::spawn(move || {
            if told.recv().is_err() {
                return;
            }
            let goes_on = || told.recv_timeout(interval) == Err(RecvTimeoutError::Timeout);
            if let Err(failure) = follow(&dir, Status::default(), goes_on) {
                terminal::note(failure.message());
            }
        });
        Self(tell)
    }

    /// The scheduler is attached.
    pub fn begin(&self) {
        // The thread may have ended already.
        let _ = self.0.send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_seconds_and_no_shorter_than_answers_are_apart() {
        assert_eq!(parse_interval("1"), Ok(Duration::from_secs(1)));
        assert_eq!(parse_interval("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "0.05", "86401", "1s", "nan", "inf", ""] {
            assert!(parse_interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_stand_below_their_names() {
        let statistics = Statistics {
            active: 3,
            target: 4,
            high: 4,
            low: 12,
            claimed: 15_200,
            queued: 12,
            promotions: 2,
            demotions: 1,
            ..Statistics::default()
        };
        let numbers = "     3      4      4      0     12  15200     12      0      2      1      0\n";
        let names = "active target   high  green    low placed queued pinned     up   down  swaps\n";
        assert_eq!(line(1, &statistics), numbers);
        assert_eq!(line(0, &statistics), format!("{names}{numbers}"));
        assert_eq!(line(LINES, &statistics), line(0, &statistics));
    }
}
