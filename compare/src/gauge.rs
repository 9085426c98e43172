// SPDX-License-Identifier: MIT OR Apache-2.0
//! An optional meter for measuring runs, with the time of each reading.

use lop_machine::meter::{Meter, MeterError, Source};
use std::time::{Duration, Instant};

/// A meter, or none.
pub struct Gauge(Option<Box<dyn Meter>>);

impl Gauge {
    pub fn new(meter: Option<Box<dyn Meter>>) -> Self {
        Self(meter)
    }

    pub fn source(&self) -> Option<&Source> {
        self.0.as_ref().map(|meter| meter.source())
    }

    /// `None` without a meter. May take as long as the meter takes to answer, or to finish an answer that it has begun.
    ///
    /// # Errors
    /// The meter's own.
    pub fn read(&mut self) -> Result<Option<Reading>, MeterError> {
        let Some(meter) = &mut self.0 else {
            return Ok(None);
        };
        let total_uj = meter.read_uj()?;
        // Taken after the reading, which is from the end of the meter's answer.
        let at = Instant::now();
        Ok(Some(Reading { total_uj, at }))
    }

    /// Longest wait until the next reading: half of what the meter allows.
    pub fn patience(&self) -> Option<Duration> {
        Some(self.0.as_ref()?.read_within()? / 2)
    }
}

/// A meter's reading and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Energy since the meter was opened, in microjoules.
    pub total_uj: u64,
    pub at: Instant,
}

/// Mean power between two readings, W: (E1 - E0) / (t1 - t0). 0 if the meter did not move; `None` without a meter or if no time passed.
pub fn mean_w(before: Option<Reading>, after: Option<Reading>) -> Option<f64> {
    let (before, after) = (before?, after?);
    let energy_j = after.total_uj.checked_sub(before.total_uj)? as f64 / 1e6;
    let time_s = after.at.duration_since(before.at).as_secs_f64();
    (time_s > 0.0).then(|| energy_j / time_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 310 J in 3.1 s are 100 W, whatever part of that time the run took.
    #[test]
    fn power_is_energy_over_the_time_between_the_readings() {
        let begin = Instant::now();
        let reading = |total_uj, ms| {
            Some(Reading {
                total_uj,
                at: begin + Duration::from_millis(ms),
            })
        };
        let watts = mean_w(reading(5_000_000, 0), reading(315_000_000, 3100)).unwrap();
        assert!((watts - 100.0).abs() < 1e-9, "{watts}");
        assert_eq!(mean_w(reading(7, 0), reading(7, 10)), Some(0.0), "no step");
        assert_eq!(mean_w(None, reading(7, 10)), None);
        assert_eq!(mean_w(reading(7, 10), reading(8, 10)), None, "no time");
    }
}
