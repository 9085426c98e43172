// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast this machine is beside the reference core, by a loop whose cycles there are known.

use rustix::time::{clock_gettime, ClockId};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Of full period modulo 2^64.
pub(crate) const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;
const ADDEND: u64 = 0x1405_7b7e_f767_814f;
/// Of the reference core, phenom-9750.
const REFERENCE_HZ: f64 = 2.4e9;
/// A multiplication of 64 bits in 4 cycles, an addition in 1, each of which waits for the one before ("Software optimization guide for AMD family 10h
/// and 12h processors", 40546, 2011, appendix C).
const REFERENCE_CYCLES: f64 = 5.0;
/// About a millisecond a slice: short beside what others leave alone.
const STEPS: u32 = 1_000_000;
const SLICES: u32 = 30;

/// Work of a second on the core that this runs on, in seconds of the reference core to the ms: by the fastest of some slices, as others on the machine make some of
/// them slower. Takes some 40 ms. A loop that waits for its own results shows clock and latency, and not how many instructions a core does at once.
pub fn speed() -> f64 {
    let begin = Instant::now();
    let speed = fastest(|| begin.elapsed());
    (speed * 1000.0).round() / 1000.0
}

/// The same of a CPU that others may keep busy: by the time that this thread had it.
pub(crate) fn speed_while_running() -> f64 {
    fastest(|| {
        let used = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32)
    })
}

fn fastest(now: impl Fn() -> Duration) -> f64 {
    let slices = (0..SLICES).map(|_| {
        let begin = now();
        black_box(steps(black_box(1), black_box(MULTIPLIER), STEPS));
        (now() - begin).as_secs_f64()
    });
    let fastest_s = slices.fold(f64::INFINITY, f64::min);
    work_s(u64::from(STEPS)) / fastest_s
}

/// What so many steps of the loop take on the reference core, s.
pub(crate) fn work_s(steps: u64) -> f64 {
    REFERENCE_CYCLES / REFERENCE_HZ * steps as f64
}

/// x -> multiplier x + ADDEND, so often. The multiplier comes at run time, or a compiler would take several steps as one.
pub(crate) fn steps(mut x: u64, multiplier: u64, count: u32) -> u64 {
    for _ in 0..count {
        x = x.wrapping_mul(multiplier).wrapping_add(ADDEND);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps are one of m^2 and m a + a.
    #[test]
    fn the_loop_computes_what_it_says() {
        let twice = MULTIPLIER
            .wrapping_mul(MULTIPLIER)
            .wrapping_mul(7)
            .wrapping_add(MULTIPLIER.wrapping_mul(ADDEND))
            .wrapping_add(ADDEND);
        assert_eq!(steps(7, MULTIPLIER, 2), twice);
    }

    #[test]
    fn a_speed_is_one_that_a_machine_file_can_hold() {
        for speed in [speed(), speed_while_running()] {
            assert!(speed > 0.0 && speed.is_finite(), "{speed}");
        }
    }
}
