// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which task goes before which.

use crate::bench::{config, Bench};
use lop_policy::{displaces, rules, Config, Rank};

const SPINS: u8 = 0;
const ORDINARY: u8 = 1;
const AWAITED: u8 = 2;

fn rank(class: u8) -> Rank {
    Rank {
        class,
        ..Rank::default()
    }
}

/// Each line is one criterion, with the lesser ones against it: class, then work left, then the turn, then SF.
#[test]
fn class_goes_before_length_and_length_before_turn_and_turn_before_speedup() {
    let bench = Bench::flat(1);
    let of_app = |length, last_turn_ns, speedup_permille| Rank {
        class: ORDINARY,
        app: 7,
        length,
        last_turn_ns,
        speedup_permille,
        ..Rank::default()
    };
    let other_app = Rank {
        app: 8,
        ..of_app(240, 5, 1000)
    };
    for (first, second, why) in [
        (rank(AWAITED), of_app(360, 0, 2000), "class"),
        (rank(ORDINARY), rank(SPINS), "what only spins"),
        (of_app(360, 9, 1000), of_app(240, 1, 2000), "more work left"),
        (of_app(240, 1, 1000), of_app(240, 9, 2000), "longer without a turn"),
        (of_app(240, 1, 2000), of_app(240, 1, 1900), "higher SF"),
        (
            other_app,
            of_app(360, 9, 1000),
            "lengths of other applications say nothing",
        ),
    ] {
        assert!(bench.policy.ranks_before(&first, &second), "{why}");
        assert!(!bench.policy.ranks_before(&second, &first), "{why}");
    }
    assert!(!bench.policy.ranks_before(&rank(ORDINARY), &rank(ORDINARY)), "equals");
}

/// SF 2.0 is 11 % above 1.8, but only 5 % above 1.9: there the turn decides.
#[test]
fn where_speedup_rules_it_goes_before_turn_by_more_than_ten_percent() {
    let by_speedup = Config {
        rules: rules::SPEEDUP,
        ..config()
    };
    let bench = Bench::new(1, by_speedup, crate::bench::flat);
    let with = |speedup_permille, last_turn_ns| Rank {
        speedup_permille,
        last_turn_ns,
        ..rank(ORDINARY)
    };
    assert!(bench.policy.ranks_before(&with(2000, 9), &with(1800, 1)));
    assert!(bench.policy.ranks_before(&with(1900, 1), &with(2000, 9)));
}

/// A task takes a core at once only by what does not change with time.
#[test]
fn a_core_is_taken_at_once_by_class_and_by_length_only() {
    let of_app = |app, length, last_turn_ns| Rank {
        app,
        length,
        last_turn_ns,
        ..rank(ORDINARY)
    };
    assert!(displaces(&rank(AWAITED), &of_app(1, 360, 0)));
    assert!(displaces(&of_app(1, 360, 9), &of_app(1, 240, 1)));
    assert!(
        !displaces(&of_app(1, 240, 0), &of_app(1, 240, 9)),
        "ties stay where they are"
    );
    assert!(!displaces(&of_app(1, 360, 0), &of_app(2, 240, 0)));
    assert!(!displaces(&rank(SPINS), &rank(SPINS)));
}
