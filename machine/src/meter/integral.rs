// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters of power: sampled, and integrated by the trapezoid rule, E += (P0 + P1) / 2 * dt.

use super::rising::{late, STILL_AFTER};
use super::world::World;
use super::{Meter, MeterError, Source};
use std::sync::Arc;
use std::time::Duration;

/// How often a meter that reads 0 W is read again while it is opened.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Present power, W.
pub type ReadPower = Box<dyn FnMut() -> Result<f64, MeterError> + Send>;

pub struct Integral {
    world: Arc<dyn World>,
    source: Source,
    /// The file or command.
    what: String,
    read: ReadPower,
    read_within: Duration,
    last_read: Duration,
    last_w: f64,
    last_above_zero: Duration,
    total_uj: f64,
    failed: Option<MeterError>,
}

impl Integral {
    /// # Errors
    /// The power cannot be read, or is 0 W for two seconds.
    pub fn open(
        world: Arc<dyn World>,
        source: Source,
        what: String,
        read_within: Duration,
        mut read: ReadPower,
    ) -> Result<Self, MeterError> {
        let end = world.now() + STILL_AFTER;
        let mut last_w = read()?;
        while last_w <= 0.0 && world.now() < end {
            world.wait(ASK_EVERY);
            last_w = read()?;
        }
        if last_w <= 0.0 {
            return Err(no_power(&source, &what, STILL_AFTER));
        }
        let now = world.now();
        Ok(Self {
            source,
            what,
            read,
            read_within,
            last_read: now,
            last_w,
            last_above_zero: now,
            total_uj: 0.0,
            failed: None,
            world,
        })
    }

    fn advance(&mut self) -> Result<u64, MeterError> {
        let watts = (self.read)()?;
        // Taken after the reading: a program that asks a controller is slow, and its answer is from its end.
        let now = self.world.now();
        let passed = now.saturating_sub(self.last_read);
        if passed > self.read_within {
            return Err(late(&self.source, &self.what, passed, self.read_within));
        }
        if watts > 0.0 {
            self.last_above_zero = now;
        } else if now - self.last_above_zero > STILL_AFTER.max(self.read_within) {
            return Err(no_power(&self.source, &self.what, now - self.last_above_zero));
        }
        self.total_uj += (self.last_w + watts) / 2.0 * passed.as_secs_f64() * 1e6;
        (self.last_read, self.last_w) = (now, watts);
        Ok(self.total_uj.round() as u64)
    }
}

fn no_power(source: &Source, what: &str, time: Duration) -> MeterError {
    let reason = format!("reads 0 W for {:.1} s", time.as_secs_f64());
    MeterError::new(
        source.kind,
        what,
        reason,
        "take another meter (--meter; 'lop doctor' lists them)",
    )
}

impl Meter for Integral {
    fn source(&self) -> &Source {
        &self.source
    }

    fn read_uj(&mut self) -> Result<u64, MeterError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.advance();
        self.failed = result.as_ref().err().cloned();
        result
    }

    fn read_within(&self) -> Option<Duration> {
        Some(self.read_within)
    }
}
