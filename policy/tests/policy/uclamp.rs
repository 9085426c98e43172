// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The kernel's uclamp hint as a wish for speed.

use lop_policy::{clamp_speedup, Task};

const UNKNOWN: u32 = 0;

/// An adapter that measures no gain, like the kernel side, assumes half of the possible gain: a wish for little ranks
/// below no wish, and a wish for much above it.
#[test]
fn who_says_nothing_is_between_those_who_wish_for_little_and_for_much() {
    for (min, max, wished) in [
        (0, 1024, 1500),
        (0, 100, 1097),
        (0, 0, 1000),
        (1024, 1024, 2000),
        (768, 1024, 1750),
        (0, 768, 1500),
    ] {
        let mut task = Task::new(0, 1024);
        task.set_measured_speedup(0);
        assert_eq!(clamp_speedup(task.speedup_permille, min, max), wished, "{min} {max}");
    }
}

/// wish(u) = 1 + u / 1024: 0 is 1.0, 512 is 1.5, 1024 is 2.0.
#[test]
fn a_wish_bounds_what_is_known_of_the_gain() {
    for (speedup, min, max, wished, why) in [
        (1100, 0, 1024, 1100, "nothing was wished"),
        (1100, 1024, 1024, 2000, "fast work, whatever was measured"),
        (2800, 1024, 1024, 2800, "no wish for speed slows"),
        (1800, 0, 512, 1500, "not worth more"),
        (1800, 0, 0, 1000, "hardly gains"),
        (1800, 512, 0, 1500, "the least goes before the most"),
        (UNKNOWN, 0, 1024, UNKNOWN, "nothing is known and nothing was wished"),
        (UNKNOWN, 512, 1024, 1500, "only the wish is known"),
        (UNKNOWN, 0, 256, 1250, "no more than that"),
        (UNKNOWN, 512, 768, 1500, "the least is sure"),
        (1100, 5000, 9000, 2000, "beyond full speed there is nothing"),
    ] {
        assert_eq!(clamp_speedup(speedup, min, max), wished, "{why}: {speedup} {min} {max}");
    }
}
