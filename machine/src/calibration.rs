// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast this machine is compared with the reference core, measured by a loop whose cycles there are known.

use rustix::time::{clock_gettime, ClockId};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Gives the generator its full period modulo 2^64.
pub(crate) const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;
const ADDEND: u64 = 0x1405_7b7e_f767_814f;
/// Clock of the reference core, phenom-9750.
const REFERENCE_HZ: f64 = 2.4e9;
/// Cycles of a step: 4 for the 64-bit multiplication and 1 for the addition, which waits for its result ("Software optimization guide for AMD
/// family 10h and 12h processors", 40546, 2011, appendix C).
const REFERENCE_CYCLES: f64 = 5.0;
/// About a millisecond a slice, short enough to fit between the interruptions of a busy machine.
const STEPS: u32 = 1_000_000;
const SLICES: u32 = 30;

/// What this core does in a second, in seconds of the reference core, rounded to the ms. Other work on the machine slows some slices down, so the
/// fastest counts. Takes some 40 ms. Each step waits for the last, so this measures clock and latency, not instructions per cycle.
pub fn speed() -> f64 {
    let begin = Instant::now();
    let speed = fastest(|| begin.elapsed());
    (speed * 1000.0).round() / 1000.0
}

/// The same on a CPU that others may keep busy: measured by this thread's own CPU time.
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

/// How long `steps` steps of the loop take on the reference core, s.
pub(crate) fn work_s(steps: u64) -> f64 {
    REFERENCE_CYCLES / REFERENCE_HZ * steps as f64
}

/// Applies x -> multiplier x + ADDEND `count` times. The multiplier is only known at run time, so the compiler cannot fold several steps into one.
pub(crate) fn steps(mut x: u64, multiplier: u64, count: u32) -> u64 {
    for _ in 0..count {
        x = x.wrapping_mul(multiplier).wrapping_add(ADDEND);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps equal one with multiplier m^2 and addend m a + a.
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
