// SPDX-License-Identifier: GPL-2.0-only
//! Standard output.

use crate::failure::{Failure, FAILED};
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CLOSED_AT_START: AtomicBool = AtomicBool::new(false);

/// Runs before `main`: Rust's runtime opens /dev/null in place of a closed standard output, and reports success for one that can only be read.
#[used]
#[link_section = ".init_array"]
static NOTE_WHETHER_CLOSED: extern "C" fn() = {
    extern "C" fn note() {
        // SAFETY: only reads the flags of a descriptor, or fails if it is closed.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
        CLOSED_AT_START.store(flags == -1 || flags & libc::O_ACCMODE == libc::O_RDONLY, Relaxed);
    }
    note
};

/// Prints all of `text`. A reader that stops reading (`lop ... | head`) is no failure.
///
/// # Errors
/// Standard output is closed, or cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same for bytes.
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    write(bytes).map(|_| ())
}

/// Prints all of `text`; false: nobody reads any more, so that a repeating command can end.
///
/// # Errors
/// As [`print`].
pub fn is_read(text: &str) -> Result<bool, Failure> {
    write(text.as_bytes())
}

fn write(bytes: &[u8]) -> Result<bool, Failure> {
    let failed =
        |reason: &dyn std::fmt::Display| Failure::new(FAILED, format!("cannot write to standard output: {reason}"));
    if CLOSED_AT_START.load(Relaxed) {
        return Err(failed(&"it is closed, or can only be read"));
    }
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(failed(&error)),
    }
}

/// A note on standard error, apart from the results. A closed standard error is no reason to stop.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "lop: note: {}", safe(text));
}

/// Arguments and files may contain control characters, which must not reach the terminal. Tabs may.
pub fn safe(text: &str) -> String {
    let safe = |c: char| if c.is_control() && c != '\t' { '?' } else { c };
    text.chars().map(safe).collect()
}

/// Characters that fit in a line: what COLUMNS says, else the width of the terminal; `None`: no limit, as in a pipe.
pub fn width() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || {
        Some(usize::from(
            rustix::termios::tcgetwinsize(std::io::stdout()).ok()?.ws_col,
        ))
    };
    named.or_else(of_terminal).filter(|&columns| columns > 0)
}

/// `1 file`, `2 files`.
pub fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    }
}

/// For tables; `shows_all`: what shows the columns that do not fit.
pub fn room(shows_all: &'static str) -> lop_report::Room {
    lop_report::Room {
        width: width(),
        shows_all,
    }
}

/// Less room than this is not worth a column of its own.
const NARROWEST: usize = 20;

/// Two columns, the first as wide as its longest entry, the second broken between words where the line ends.
pub fn two_columns(rows: &[(String, String)]) -> String {
    let first = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let room = width().map(|width| width.saturating_sub(first + 2).max(NARROWEST));
    let row = |(name, text): &(String, String)| {
        let indent = format!("\n{:first$}  ", "");
        let text = lop_report::wrapped(text, room);
        format!("{name:first$}  {}\n", text.trim_end().replace('\n', &indent))
    };
    rows.iter().map(row).collect()
}
