// SPDX-License-Identifier: GPL-2.0-only
//! Standard output.

use crate::failure::{Failure, FAILED};
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CLOSED_AT_START: AtomicBool = AtomicBool::new(false);

/// Runs before `main`: Rust's runtime puts /dev/null where standard output is closed, and takes one that can only be read for written.
#[used]
#[link_section = ".init_array"]
static NOTE_WHETHER_CLOSED: extern "C" fn() = {
    extern "C" fn note() {
        // SAFETY: reads the flags of a descriptor, or says that there is none.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
        CLOSED_AT_START.store(flags == -1 || flags & libc::O_ACCMODE == libc::O_RDONLY, Relaxed);
    }
    note
};

/// Prints all of `text`. A reader that has seen enough (`lop ... | head`) is no failure.
///
/// # Errors
/// Standard output is closed, or cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same of what need not be text.
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    write(bytes).map(|_| ())
}

/// Prints all of `text`; false: nobody reads it any more, so that who has more and more to say can end.
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

/// A remark for the person, kept out of the results. A closed standard error is no reason to stop.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "lop: note: {text}");
}

/// Lines of two columns, the first as wide as its longest entry.
pub fn two_columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, text)| format!("{name:width$}  {text}\n"))
        .collect()
}
