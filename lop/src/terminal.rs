//! Standard output.

use crate::failure::{Failure, FAILED};
use std::io::{ErrorKind, Write};

/// Prints all of `text`. A reader that has seen enough (`lop ... | head`) is no failure.
///
/// # Errors
/// Standard output cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(
            FAILED,
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
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
