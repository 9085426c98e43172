// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How a thread uses memory: smoothed counter readings, and the class that follows from them.

use crate::bench::S;
use lop_policy::{Intensity, MemoryClass};

/// 20 misses per thousand instructions, then 10: 0.65 * 10 + 0.35 * 20 = 13.5.
#[test]
fn intensity_is_smoothed_from_the_second_measurement_on() {
    let mut intensity = Intensity::default();
    intensity.note(20_000, 1_000_000, S);
    assert_eq!(intensity.mpmi, 20_000);
    intensity.note(10_000, 1_000_000, S);
    assert_eq!(intensity.mpmi, 13_500);
    intensity.note(0, 0, S);
    assert_eq!(intensity.mpmi, 13_500, "who did not run showed nothing");
    assert_eq!(intensity.measured_ns, 2 * S);
}

/// A counter that shows more misses than instructions does not work; large readings do not overflow.
#[test]
fn readings_stay_within_what_can_be() {
    for (misses, instructions, mpmi) in [
        (1, 3, 333_333),
        (7, 1, 1_000_000),
        (u64::MAX, u64::MAX, 1_000_000),
        (u64::MAX / 4, u64::MAX, 250_000),
        (1 << 40, 1 << 50, 977),
    ] {
        let mut intensity = Intensity::default();
        intensity.note(misses, instructions, S);
        assert_eq!(intensity.mpmi, mpmi, "{misses} of {instructions}");
    }
}

/// Above 1 MPKI intensive, below 0.1 very low; unknown for the first second.
#[test]
fn the_class_follows_the_intensity_after_a_second() {
    for (mpmi, class) in [
        (0, MemoryClass::VeryLow),
        (99, MemoryClass::VeryLow),
        (100, MemoryClass::Moderate),
        (1000, MemoryClass::Moderate),
        (1001, MemoryClass::Intensive),
    ] {
        let mut intensity = Intensity::default();
        intensity.note(mpmi, 1_000_000, S - 1);
        assert_eq!(intensity.class(), MemoryClass::Unknown);
        intensity.note(mpmi, 1_000_000, 1);
        assert_eq!(intensity.class(), class, "{mpmi}");
    }
}

/// A declaration is for machines without counters, and for the first second with them.
#[test]
fn what_was_declared_holds_until_it_is_measured() {
    let mut intensity = Intensity {
        declared: MemoryClass::VeryLow as u8,
        ..Intensity::default()
    };
    assert_eq!(
        (intensity.class(), intensity.planned_mpmi()),
        (MemoryClass::VeryLow, 50)
    );
    let mut agrees = intensity;
    agrees.note(30, 1_000_000, S - 1);
    assert_eq!(agrees.planned_mpmi(), 30, "counters agree, and are finer");
    intensity.note(20_000, 1_000_000, S - 1);
    assert_eq!(
        (intensity.class(), intensity.planned_mpmi()),
        (MemoryClass::VeryLow, 50)
    );
    intensity.note(20_000, 1_000_000, 1);
    assert_eq!(
        (intensity.class(), intensity.planned_mpmi()),
        (MemoryClass::Intensive, 20_000)
    );
    // Nothing is known of any thread: all are alike, as intensive ones.
    assert_eq!(Intensity::default().planned_mpmi(), 10_000);
}
