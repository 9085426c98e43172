// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The policy's own times, if none are asked for.

use crate::bench::{MS, S, US};
use lop_policy::{default_hold_ns, rules, Config, Domains, Named, Reserve, Sizing};

/// max(10 ms, 100 transition latencies): both are equal at 100 * 100 us = 10 ms.
#[test]
fn hold_is_ten_milliseconds_or_a_hundred_transitions() {
    for (transition_ns, hold_ns) in [
        (0, 10 * MS),
        (10 * US, 10 * MS),
        (100 * US, 10 * MS),
        (100 * US + 1, 10 * MS + 100),
        (500 * US, 50 * MS),
        (20 * MS, 2 * S),
    ] {
        assert_eq!(
            default_hold_ns(transition_ns),
            hold_ns,
            "transition of {transition_ns} ns"
        );
    }
}

/// max(1 s, T_hold).
#[test]
fn the_last_member_is_held_a_second_and_never_shorter_than_others() {
    for (hold_ns, last_hold_ns) in [(0, S), (10 * MS, S), (S, S), (S + 1, S + 1), (60 * S, 60 * S)] {
        let times = Config::of(Named::Highlow, hold_ns);
        assert_eq!((times.hold_ns, times.last_hold_ns), (hold_ns, last_hold_ns));
    }
}

/// Slices of 1 ms to 6 ms, a slice for each waiting task within 20 ms, a heat swap every 3 minutes, a grace time of 10
/// ms and turns of 20 ms on fast cores, a reserved core watched for 100 ms, whatever T_hold is.
#[test]
fn the_other_times_are_fixed() {
    for hold_ns in [MS, 10 * MS, 2 * S] {
        let expected = Config {
            hold_ns,
            last_hold_ns: hold_ns.max(S),
            slice_min_ns: MS,
            slice_max_ns: 6 * MS,
            period_ns: 20 * MS,
            heat_period_ns: 180 * S,
            grace_ns: 10 * MS,
            turn_ns: 20 * MS,
            reserve_window_ns: 100 * MS,
            ..Config::default()
        };
        assert_eq!(Config::of(Named::Highlow, hold_ns), expected);
    }
}

/// What a name stands for beside high/low sets by demand: sizing, spare, rules for fast cores, memory domains,
/// reserve.
#[test]
fn a_name_stands_for_a_choice_of_rules() {
    use Domains::{AsCome, Gather, Spread};
    use Reserve::{BySize, Never};
    use Sizing::{All, ByDemand, Fixed};
    for (name, chosen) in [
        (Named::SimpleSets, (Fixed, 0, 0, AsCome, Never)),
        (Named::Highlow, (ByDemand, 0, 0, AsCome, Never)),
        (Named::HighlowSpare, (ByDemand, 1, 0, AsCome, Never)),
        (Named::ReservedCore, (All, 0, 0, AsCome, BySize)),
        (Named::Phase, (ByDemand, 0, rules::PHASES | rules::TURNS, AsCome, Never)),
        (Named::LongestFirst, (ByDemand, 0, rules::LONGEST, AsCome, Never)),
        (Named::FairShare, (ByDemand, 0, rules::TURNS, AsCome, Never)),
        (
            Named::Specialise,
            (ByDemand, 0, rules::SPEEDUP | rules::TURNS, AsCome, Never),
        ),
        (Named::Spread, (ByDemand, 0, 0, Spread, Never)),
        (Named::Gather, (ByDemand, 0, 0, Gather, Never)),
    ] {
        let c = Config::of(name, 10 * MS);
        let has = (c.sizing, c.spare, c.rules, c.domains, c.reserve);
        assert_eq!(has, chosen, "{name:?}");
    }
}
