// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of mean power, against times computed by hand.

mod common;
use common::*;
use lop_machine::{Machine, PowerLimit};
use lop_simulator::{Outcome, TraceEvent};

/// One core of `two_speeds` under 5 W over `window_ns`: 2 W idle at 2000 MHz, 8 W busy; 2 W busy at 1000 MHz.
fn limited(window_ns: u64) -> Machine {
    let mut machine = machine(1);
    machine.power_limits = vec![PowerLimit {
        uw: 5_000_000,
        window_ns,
    }];
    machine
}

/// Times of speed changes after the start, in ns.
fn changes_ns(outcome: &Outcome) -> Vec<f64> {
    let of_speed = |event: &TraceEvent| match *event {
        TraceEvent::Speed { at_ns, .. } if at_ns > 0 => Some(at_ns as f64),
        _ => None,
    };
    outcome.trace.iter().filter_map(of_speed).collect()
}

/// Up to the limit in ln((2 - 8) / (5 - 8)) s, then down to 99 % of it in ln((5 - 2) / (4.95 - 2)) s, and up again in ln((4.95 - 8) / (5 - 8)) s.
#[test]
fn the_mean_moves_between_the_limit_and_a_little_less() {
    let outcome = run_traced(&limited(SECOND), &tasks_of(1, vec![run_ms(720)]), PERFORMANCE);
    let (first, down, up) = (2f64.ln(), (3.0 / 2.95f64).ln(), (3.05 / 3.0f64).ln());
    let expected = [first, first + down, first + down + up];
    let found = changes_ns(&outcome);
    assert!(found.len() >= 3, "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected * 1e9).abs() < 10.0, "{found} ns, {expected} s");
    }
}

/// Work whose end lies in the first stretch is not slowed; 0.7 s of it need ln 2 s at 2000 MHz, and the rest at half the speed.
#[test]
fn work_is_slowed_from_the_limit_on() {
    let time_s = |ms| run(&limited(SECOND), &tasks_of(1, vec![run_ms(ms)]), PERFORMANCE).time_ns as f64 / 1e9;
    exactly(time_s(690), 0.69);
    within(time_s(700), 2f64.ln() + 2.0 * (0.7 - 2f64.ln()), 1e-7);
}

/// Whatever the policy. The bounds hold, as they assume no limit.
#[test]
fn mean_power_in_the_long_run_is_at_most_the_limit_and_near_it() {
    for name in [PERFORMANCE, SCHEDUTIL, ONDEMAND, "highlow", "auto"] {
        let outcome = run(&limited(SECOND / 10), &tasks_of(2, vec![run_ms(20_000)]), name);
        let time_s = outcome.time_ns as f64 / 1e9;
        let mean_w = outcome.cpu_energy_j / time_s;
        assert!(mean_w <= 5.0 && mean_w > 4.9, "{name}: {mean_w}");
        assert!(outcome.bounds.time_s <= time_s && outcome.bounds.system_energy_j <= outcome.system_energy_j);
        let lost = outcome.counters;
        assert!(lost.lost_fixed_speed_s > 0.99 * (time_s - 40.0), "{name}");
        let all_s = lost.lost_fixed_speed_s + lost.lost_mismeasured_s + lost.lost_slow_start_s;
        within(all_s, time_s - 40.0, 1e-6);
    }
}

/// The shorter window has the higher limit: 6 W over 1 ms end the high speed at once, so 5 W over 1 s are reached later than without it.
#[test]
fn all_limits_hold() {
    let mut machine = limited(SECOND);
    machine.power_limits.push(PowerLimit {
        uw: 6_000_000,
        window_ns: MS,
    });
    let outcome = run_traced(&machine, &tasks_of(1, vec![run_ms(720)]), PERFORMANCE);
    let first_ns = changes_ns(&outcome)[0];
    assert!((first_ns - 3f64.ln() * 1e6).abs() < 10.0, "{first_ns}");
    assert!(outcome.cpu_energy_j / (outcome.time_ns as f64 / 1e9) <= 6.0);
}

/// A limit below what the lowest speed draws leaves that speed.
#[test]
fn the_lowest_speed_is_always_allowed() {
    let mut machine = limited(MS);
    machine.power_limits[0].uw = 1_000_000;
    let outcome = run(&machine, &tasks_of(1, vec![run_ms(1000)]), PERFORMANCE);
    within(outcome.time_ns as f64, 2e9, 1e-3);
}

/// The speed rises once the work has ended; then nothing happens for the rest of 1000 s.
#[test]
fn an_idle_machine_stays_idle() {
    let events = |duration_s| {
        let mut workload = tasks_of(1, vec![run_ms(2000), sleep_ms(2_000_000)]);
        workload.duration_ns = Some(duration_s * SECOND);
        run(&limited(SECOND), &workload, PERFORMANCE).events
    };
    assert_eq!(events(10), events(1000));
}
