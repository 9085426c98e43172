// SPDX-License-Identifier: GPL-2.0-only
//! Being busy for a time, measured by a choice of clocks.

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::time::{clock_gettime, ClockId};
use std::hint::black_box;

/// Turns of the work between two looks at the clock; some microseconds.
const TURNS: u64 = 2_000;
/// Names of threads hold this many bytes.
const NAME_BYTES: usize = 15;

/// The clock that measures a busy stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BusyClock {
    /// CPU time of the thread: the same amount of work however often it is preempted.
    Cpu,
    /// Elapsed time: the same end however little it ran.
    Wall,
}

impl BusyClock {
    fn id(self) -> ClockId {
        match self {
            BusyClock::Cpu => ClockId::CLOCK_THREAD_CPUTIME_ID,
            BusyClock::Wall => ClockId::CLOCK_MONOTONIC,
        }
    }

    /// Now, ns.
    pub fn now_ns(self) -> u64 {
        let now = clock_gettime(self.id()).expect("both clocks exist on Linux");
        now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
    }

    /// Computes for `length_ns`.
    pub fn spend(self, length_ns: u64) {
        let end_ns = self.now_ns() + length_ns;
        while self.now_ns() < end_ns {
            work();
        }
    }
}

/// A few microseconds of computing.
pub fn work() {
    let mut value = black_box(1u64);
    for turn in 0..TURNS {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(turn);
    }
    black_box(value);
}

/// Wall time now, ns of CLOCK_MONOTONIC.
pub fn wall_ns() -> u64 {
    BusyClock::Wall.now_ns()
}

/// Names the calling thread, so that traces show the name.
///
/// # Errors
/// The name is longer than 15 bytes.
pub fn name_thread(name: &str) -> Result<()> {
    anyhow::ensure!(
        name.len() <= NAME_BYTES,
        "thread name `{name}` is longer than {NAME_BYTES} bytes"
    );
    let name = std::ffi::CString::new(name).context("thread name with NUL")?;
    nix::sys::prctl::set_name(&name).context("name a thread")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_lasts_as_long_as_it_should_by_its_clock() {
        for clock in [BusyClock::Cpu, BusyClock::Wall] {
            let before = clock.now_ns();
            clock.spend(2_000_000);
            assert!(clock.now_ns() - before >= 2_000_000);
        }
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused() {
        assert!(name_thread("sixteen-letters!").is_err());
    }
}
