// SPDX-License-Identifier: MIT OR Apache-2.0
//! A meter that a thread of its own reads as often as necessary.

use super::{Meter, MeterError, Source};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Readings in the time for which one would suffice: the thread may be late, and power changes meanwhile.
const READINGS: u32 = 10;
/// Shortest time between two readings, whatever the meter asks for.
const SHORTEST: Duration = Duration::from_millis(20);

/// An open meter and the thread that reads it.
pub struct OpenMeter {
    source: Source,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    meter: Box<dyn Meter>,
    /// The first failure; nothing after it is trusted.
    failed: Option<MeterError>,
    ends: bool,
}

impl OpenMeter {
    /// Keeps reading the meter until this is dropped.
    pub fn new(meter: Box<dyn Meter>) -> Self {
        let (source, read_within) = (meter.source().clone(), meter.read_within());
        let state = Mutex::new(State {
            meter,
            failed: None,
            ends: false,
        });
        let shared = Arc::new(Shared {
            state,
            ended: Condvar::new(),
        });
        let thread = read_within.map(|limit| {
            let (shared, pause) = (shared.clone(), pause(limit));
            std::thread::spawn(move || shared.keep_up(pause))
        });
        Self { source, shared, thread }
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Energy in microjoules since the meter was opened, as of now.
    ///
    /// # Errors
    /// The meter cannot be read, or failed at any time since it was opened.
    pub fn total_uj(&self) -> Result<u64, MeterError> {
        self.shared.state().read()
    }

    /// The energy used since `total_uj()` returned `before_uj`, in microjoules.
    ///
    /// # Errors
    /// As `total_uj()`; also if the meter did not move: the time was shorter than its steps, since nothing uses 0 J.
    pub fn used_since_uj(&self, before_uj: u64) -> Result<u64, MeterError> {
        match self.total_uj()?.saturating_sub(before_uj) {
            0 => Err(self.too_short()),
            used_uj => Ok(used_uj),
        }
    }

    fn too_short(&self) -> MeterError {
        let steps = match self.source.update_period {
            Some(period) => format!("only updates every {:.3} s", period.as_secs_f64()),
            None => "did not update".to_string(),
        };
        let reason = format!("the time was too short for this meter, which {steps}");
        MeterError::new(
            self.source.kind,
            &self.source.name,
            reason,
            "measure something that takes longer, or repeat it within a run",
        )
    }
}

/// The pause between two readings of a meter that must be read within this time.
pub(super) fn pause(read_within: Duration) -> Duration {
    (read_within / READINGS).max(SHORTEST)
}

/// For callers that take any meter; this one need not be read in time.
impl Meter for OpenMeter {
    fn source(&self) -> &Source {
        &self.source
    }

    fn read_uj(&mut self) -> Result<u64, MeterError> {
        self.total_uj()
    }

    fn read_within(&self) -> Option<Duration> {
        None
    }
}

impl State {
    fn read(&mut self) -> Result<u64, MeterError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.meter.read_uj();
        self.failed = result.as_ref().err().cloned();
        result
    }
}

impl Shared {
    /// A meter that panicked in a reading has failed; the state behind its lock is still valid.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_up(&self, pause: Duration) {
        let mut state = self.state();
        while !state.ends && state.read().is_ok() {
            let waited = self.ended.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for OpenMeter {
    fn drop(&mut self) {
        self.shared.state().ends = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic in the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}
