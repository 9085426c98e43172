// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C: stop, leave no partial file, exit with 130.

use crate::failure::{Failure, FAILED, INTERRUPTED};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The workers read it between simulations.
static CANCELLED: AtomicBool = AtomicBool::new(false);
/// Files are being written: from here on the program ends by itself in a moment.
static COMMITTING: AtomicBool = AtomicBool::new(false);

/// A simulation that takes longer is not waited for: nothing is written before all have ended.
const PATIENCE: Duration = Duration::from_millis(300);

/// Takes over Ctrl-C for the rest of the program.
///
/// # Errors
/// The system refuses to install a handler.
pub fn install() -> Result<&'static AtomicBool, Failure> {
    let handler = || {
        CANCELLED.store(true, Ordering::SeqCst);
        std::thread::sleep(PATIENCE);
        if !COMMITTING.load(Ordering::SeqCst) {
            eprintln!("lop: interrupted; nothing was written");
            std::process::exit(i32::from(INTERRUPTED));
        }
    };
    match ctrlc::set_handler(handler) {
        Ok(()) => Ok(&CANCELLED),
        Err(error) => Err(Failure::new(FAILED, format!("cannot handle Ctrl-C: {error}"))),
    }
}

/// Called before the first file is written.
///
/// # Errors
/// Ctrl-C came first.
pub fn commit() -> Result<(), Failure> {
    COMMITTING.store(true, Ordering::SeqCst);
    match CANCELLED.load(Ordering::SeqCst) {
        true => Err(Failure::new(INTERRUPTED, "interrupted; nothing was written")),
        false => Ok(()),
    }
}
