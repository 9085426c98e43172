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

fn by_speedup() -> Bench {
    let rules = rules::SPEEDUP | rules::LONGEST;
    Bench::new(1, Config { rules, ..config() }, crate::bench::flat)
}

/// SF 2.0 is a step above 1.99, and 2.1 above 2.0; 1.99 and 1.9 are of one step, so that the turn decides.
#[test]
fn where_speedup_rules_it_goes_before_turn_in_steps_of_a_tenth() {
    let bench = by_speedup();
    let with = |speedup_permille, last_turn_ns| Rank {
        speedup_permille,
        last_turn_ns,
        ..rank(ORDINARY)
    };
    assert!(bench.policy.ranks_before(&with(2000, 9), &with(1990, 1)));
    assert!(bench.policy.ranks_before(&with(2100, 9), &with(2000, 1)));
    assert!(bench.policy.ranks_before(&with(1900, 1), &with(1990, 9)));
}

/// No task goes before itself; if `a` goes before `b` and `b` before `c`, then `a` before `c`; and tasks of which neither
/// goes first are alike to any third. All of a grid of users, classes, lengths, turns and factors.
#[test]
fn rank_is_a_strict_weak_order() {
    let mut bench = by_speedup();
    bench.owner.sched().budget.had_ns[2] = 5;
    let mut all = Vec::new();
    for (user, class) in [(1, ORDINARY), (2, ORDINARY), (1, AWAITED), (2, AWAITED)] {
        for length in [0, 7] {
            for last_turn_ns in [0, 3] {
                for speedup_permille in [0, 1800, 1890, 1900, 1980, 2000] {
                    all.push(Rank {
                        class,
                        user,
                        app: 1,
                        length,
                        last_turn_ns,
                        speedup_permille,
                    });
                }
            }
        }
    }
    let before: Vec<Vec<bool>> = (all.iter())
        .map(|a| all.iter().map(|b| bench.policy.ranks_before(a, b)).collect())
        .collect();
    let alike = |a: usize, b: usize| !before[a][b] && !before[b][a];
    for a in 0..all.len() {
        assert!(!before[a][a]);
        for b in 0..all.len() {
            for c in 0..all.len() {
                assert!(
                    !(before[a][b] && before[b][c]) || before[a][c],
                    "{:?}",
                    [all[a], all[b], all[c]]
                );
                assert!(
                    !(alike(a, b) && alike(b, c)) || alike(a, c),
                    "{:?}",
                    [all[a], all[b], all[c]]
                );
            }
        }
    }
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
