// SPDX-License-Identifier: GPL-2.0-only
//! Signals that ask this program to end while it has something to restore.

use crate::failure::{Failure, FAILED};
use lop_kernel::signals::{on_signals, SignalGuard, ENDING};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Calls `action` with the number of each signal, until the returned guard is dropped.
///
/// # Errors
/// The system refuses to install a handler.
pub fn on_ending(action: impl FnMut(i32) + Send + 'static) -> Result<SignalGuard, Failure> {
    on_signals(&ENDING, action).map_err(cannot_handle)
}

/// A flag that turns true with the first signal.
///
/// # Errors
/// As [`on_ending`].
pub fn ending() -> Result<(Arc<AtomicBool>, SignalGuard), Failure> {
    let ends = Arc::new(AtomicBool::new(false));
    let told = ends.clone();
    let signals = on_ending(move |_| told.store(true, Ordering::SeqCst))?;
    Ok((ends, signals))
}

pub fn cannot_handle(error: io::Error) -> Failure {
    Failure::new(FAILED, format!("cannot handle signals: {error}"))
}
