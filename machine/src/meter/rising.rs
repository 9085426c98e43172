// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters that count: registers that only rise, or wrap at a known range, summed from the time they are opened.
//!
//! Opening waits for the first update, so that energy from before is not counted, and so that a counter that stands still is found before
//! anything is measured.

use super::world::World;
use super::{Meter, MeterError, MeterKind, Source};
use std::sync::Arc;
use std::time::Duration;

/// Hardware updates its energy counters about every millisecond; even that of a sleeping machine moves within this time.
pub const STILL_AFTER: Duration = Duration::from_secs(2);
/// How often a counter is read while waiting for its update.
const LOOK_EVERY: Duration = Duration::from_micros(500);
/// Longest wait for the second update, which only serves to find the period.
const PERIOD_WITHIN: Duration = Duration::from_millis(250);
/// No counted device draws more. A register that shows more was reset, or is not an energy counter.
pub const IMPOSSIBLE_W: f64 = 5000.0;

/// Reads a register's present value, in its own units.
pub type ReadRegister = Box<dyn FnMut() -> Result<u64, MeterError> + Send>;

pub struct Register {
    /// The file or event.
    pub what: String,
    pub read: ReadRegister,
    pub uj_per_unit: f64,
    /// The value at which it wraps to 0, in its units; None if it does not wrap.
    pub range: Option<u64>,
    /// Whether it is left out, with a note, if it stands still at opening: some machines list a memory counter that counts nothing.
    pub may_stand_still: bool,
}

/// The properties of a meter, besides its registers.
pub struct Plan {
    pub kind: MeterKind,
    pub name: String,
    pub whole_system: bool,
    /// A time in which no register wraps twice.
    pub read_within: Option<Duration>,
    /// How long a register may stand still.
    pub still_after: Duration,
    /// Whether opening waits for an update; not sensible for a register that moves every few minutes.
    pub waits: bool,
    /// Shortest time between updates; None if not known, or if opening finds it out.
    pub update_period: Option<Duration>,
    /// Highest plausible power of a register; None: steps may have any size.
    pub most_w: Option<f64>,
}

struct Counted {
    register: Register,
    last: u64,
    units: u128,
}

pub struct Rising {
    world: Arc<dyn World>,
    source: Source,
    read_within: Option<Duration>,
    still_after: Duration,
    most_w: f64,
    registers: Vec<Counted>,
    last_read: Duration,
    last_moved: Duration,
    failed: Option<MeterError>,
}

impl Rising {
    /// # Errors
    /// A register cannot be read or stands still.
    pub fn open(world: Arc<dyn World>, plan: Plan, registers: Vec<Register>) -> Result<Self, MeterError> {
        let now = world.now();
        let counted = |mut register: Register| {
            let last = (register.read)()?;
            Ok(Counted {
                register,
                last,
                units: 0,
            })
        };
        let mut meter = Self {
            source: Source {
                kind: plan.kind,
                name: plan.name,
                whole_system: plan.whole_system,
                update_period: plan.update_period,
                only_ratios: false,
            },
            read_within: plan.read_within,
            still_after: plan.still_after,
            most_w: plan.most_w.unwrap_or(f64::INFINITY),
            registers: registers.into_iter().map(counted).collect::<Result<_, MeterError>>()?,
            last_read: now,
            last_moved: now,
            failed: None,
            world,
        };
        if plan.waits {
            meter.wait_for_updates()?;
            meter.source.update_period = meter.period()?;
        }
        meter.begin()?;
        Ok(meter)
    }

    /// Waits until each register has moved once.
    fn wait_for_updates(&mut self) -> Result<(), MeterError> {
        let end = self.world.now() + self.still_after;
        while self.registers.iter().any(|counted| counted.units == 0) && self.world.now() < end {
            self.world.wait(LOOK_EVERY);
            self.take_all()?;
        }
        let stands = |counted: &Counted| counted.units == 0;
        let all_stand = self.registers.iter().all(stands);
        if let Some(counted) = self
            .registers
            .iter()
            .find(|c| stands(c) && (all_stand || !c.register.may_stand_still))
        {
            return Err(self.still(&counted.register.what, self.still_after));
        }
        for counted in self.registers.iter().filter(|c| stands(c)) {
            self.source.name += &format!(" ({} stands still and is left out)", counted.register.what);
        }
        self.registers.retain(|counted| !stands(counted));
        Ok(())
    }

    /// The time between two updates of the first register.
    fn period(&mut self) -> Result<Option<Duration>, MeterError> {
        let mut edges = Vec::new();
        let end = self.world.now() + PERIOD_WITHIN;
        while edges.len() < 2 && self.world.now() < end {
            let before = self.registers[0].units;
            self.world.wait(LOOK_EVERY);
            self.take_all()?;
            if self.registers[0].units != before {
                edges.push(self.world.now());
            }
        }
        Ok((edges.len() == 2).then(|| edges[1] - edges[0]))
    }

    /// Starts the sums here.
    fn begin(&mut self) -> Result<(), MeterError> {
        self.take_all()?;
        self.last_moved = self.last_read;
        self.registers.iter_mut().for_each(|counted| counted.units = 0);
        Ok(())
    }

    fn advance(&mut self) -> Result<u64, MeterError> {
        let moved = self.take_all()?;
        if moved {
            self.last_moved = self.last_read;
        } else if self.last_read.saturating_sub(self.last_moved) >= self.still_after {
            let what = self.registers[0].register.what.clone();
            return Err(self.still(&what, self.last_read - self.last_moved));
        }
        let total = |counted: &Counted| counted.units as f64 * counted.register.uj_per_unit;
        Ok(self.registers.iter().map(total).sum::<f64>().round() as u64)
    }

    /// Adds what was counted since the last reading; true if there was anything.
    fn take_all(&mut self) -> Result<bool, MeterError> {
        let now = self.world.now();
        let passed = now.saturating_sub(self.last_read);
        if let Some(limit) = self.read_within.filter(|limit| passed > *limit) {
            return Err(late(&self.source, &self.registers[0].register.what, passed, limit));
        }
        let mut moved = false;
        for counted in &mut self.registers {
            let units = counted.take(self.source.kind, passed, self.most_w)?;
            moved |= units > 0;
        }
        self.last_read = now;
        Ok(moved)
    }

    fn still(&self, what: &str, time: Duration) -> MeterError {
        let reason = format!("counter stands still: it did not move in {:.1} s", time.as_secs_f64());
        let mend = "take another meter (--meter; 'lop doctor' lists them); in a virtual machine measure on its host";
        MeterError::new(self.source.kind, what, reason, mend)
    }
}

/// The error of a meter that was not read in time.
pub fn late(source: &Source, what: &str, passed: Duration, limit: Duration) -> MeterError {
    let reason = format!(
        "not read for {:.1} s, longer than the {:.1} s in which nothing can be missed: the energy used meanwhile is not known",
        passed.as_secs_f64(),
        limit.as_secs_f64()
    );
    let mend = "run again; the machine slept, or was too busy to read it";
    MeterError::new(source.kind, what, reason, mend)
}

impl Counted {
    fn take(&mut self, kind: MeterKind, passed: Duration, most_w: f64) -> Result<u64, MeterError> {
        let now = (self.register.read)()?;
        let last = std::mem::replace(&mut self.last, now);
        let units = match self.register.range {
            _ if now >= last => now - last,
            // It wrapped: the rest up to the range, plus the present value.
            Some(range) if range >= last => range - last + now,
            _ => return Err(self.went_wrong(kind, format!("went back from {last} to {now}"))),
        };
        let joules = units as f64 * self.register.uj_per_unit / 1e6;
        if joules > most_w * (passed.as_secs_f64() + 1.0) {
            let text = format!(
                "went from {last} to {now} in {:.3} s, which is {joules:.0} J",
                passed.as_secs_f64()
            );
            return Err(self.went_wrong(kind, text));
        }
        self.units += u128::from(units);
        Ok(units)
    }

    fn went_wrong(&self, kind: MeterKind, reason: String) -> MeterError {
        let mend = "run again; the counter was reset, for example by a suspend or by reloading its driver";
        MeterError::new(kind, &self.register.what, reason, mend)
    }
}

impl Meter for Rising {
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
        self.read_within
    }
}
