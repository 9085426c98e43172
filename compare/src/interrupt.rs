// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ctrl-C and similar signals, as an event that can be waited for.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Tells whether the program should end, and by which signal.
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    /// Becomes readable at the first signal.
    wake: UnixStream,
    raise: UnixStream,
}

impl Interrupt {
    /// Only raised by [`Interrupt::raise`].
    ///
    /// # Errors
    /// No socket can be created.
    pub fn by_hand() -> io::Result<Self> {
        let (wake, raise) = UnixStream::pair()?;
        Ok(Self {
            signal: Arc::new(AtomicUsize::new(0)),
            wake,
            raise,
        })
    }

    /// Handles SIGINT, SIGTERM and SIGHUP for the rest of the program.
    ///
    /// # Errors
    /// The system refuses the handlers.
    pub fn of_signals() -> io::Result<Self> {
        let interrupt = Self::by_hand()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_usize(signal, interrupt.signal.clone(), signal as usize)?;
            low_level::pipe::register(signal, interrupt.raise.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// The same, for another thread.
    ///
    /// # Errors
    /// No file descriptors left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            signal: self.signal.clone(),
            wake: self.wake.try_clone()?,
            raise: self.raise.try_clone()?,
        })
    }

    /// Acts as if `signal` had arrived.
    ///
    /// # Errors
    /// The waiting threads cannot be woken.
    pub fn raise(&self, signal: i32) -> io::Result<()> {
        self.signal.store(signal as usize, Ordering::SeqCst);
        (&self.raise).write_all(b"!")
    }

    /// The number of the signal that arrived.
    pub fn signal(&self) -> Option<i32> {
        i32::try_from(self.signal.load(Ordering::SeqCst))
            .ok()
            .filter(|signal| *signal != 0)
    }

    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
