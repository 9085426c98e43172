// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in experiments on asymmetric settings of the 16-core Opteron, against times by hand.

mod common;
use common::*;

/// Work per second of a core of the machine at 2000 MHz.
const SPEED: f64 = 0.8333;
/// What a wakeup costs, us: leaving C1 and a context switch; the baseline adds a migration to another memory domain nearly always.
const WAKE_US: f64 = 1.0 + 2.0;
const WAKE_ELSEWHERE_US: f64 = WAKE_US + 5.0 + 10.0;

/// 10 s of work, no memory share: a core at f does SPEED * f / 2000 of it per second.
#[test]
fn parallel_for_takes_the_slowest_share_or_the_sum_of_rates() {
    let study = study("parallel-for", |_| {});
    let rate = |mhz: f64| SPEED * mhz / 2000.0;
    for mhz in [1000.0, 1200.0, 1400.0, 1700.0] {
        let (all, half) = (format!("16 at {mhz}"), format!("8 at {mhz}"));
        let result = |schedule: &str, cores: &str| at(&study, PERFORMANCE, &[schedule, cores]).mean;
        // What is compared with is 16 at 1000 MHz everywhere.
        let lowest = at(&study, POWERSAVE, &["static", &half]).mean;
        within(lowest.time_s, 10.0 / 16.0 / rate(1000.0), 1e-3);
        // Static: everybody waits for those at `mhz`, so the fast ones save nothing and draw more.
        let (symmetric, asymmetric) = (result("static", &all), result("static", &half));
        within(symmetric.time_s, 10.0 / 16.0 / rate(mhz), 1e-3);
        within(asymmetric.time_s, symmetric.time_s, 1e-3);
        assert!(asymmetric.system_energy_j > symmetric.system_energy_j);
        // Dynamic: all rates together, up to a chunk of 10 ms.
        let shared = result("dynamic", &half);
        let shared_s = 10.0 / (8.0 * rate(2000.0) + 8.0 * rate(mhz));
        let chunk_s = 0.01 / rate(mhz);
        assert!(
            (shared_s..shared_s + chunk_s).contains(&shared.time_s),
            "{} s, expected {shared_s} s",
            shared.time_s
        );
        assert!(shared.system_energy_j < asymmetric.system_energy_j);
    }
    // 8 at 2000 and 8 at 1000 MHz, all busy: 433.30 + 8 (12.34 + 6.16) W.
    let mean = at(&study, PERFORMANCE, &["dynamic", "8 at 1000"]).mean;
    within(mean.system_power_w, 433.30 + 8.0 * 18.5, 5e-3);
}

/// With 8 a > 1 somebody always waits, so the lock is handed on 8 * 240 times (10 times as often at f100), and a time for each holder and
/// what it costs to wake the next one follow one another. Under the baseline holders on the asymmetric machine are fast and slow about in turn.
#[test]
fn critical_sections_follow_one_another() {
    let study = study("critical-sections", |experiment| {
        experiment.sweeps[1].values.truncate(2)
    });
    for (length, handed_on) in [("f10", 1920.0), ("f100", 19_200.0)] {
        for (locked, a) in [("50", 0.5), ("75", 0.75)] {
            let held_s = 8.0 * 0.1 * a / SPEED;
            let time_s = |policy: &str, cores: &str| at(&study, policy, &[cores, length, locked]).mean.time_s;
            for cores in ["16 at 2000", "8 at 2000, 8 at 1000"] {
                within(time_s("highlow", cores), held_s + handed_on * WAKE_US * 1e-6, 0.01);
            }
            let elsewhere_s = handed_on * WAKE_ELSEWHERE_US * 1e-6;
            within(time_s(PERFORMANCE, "16 at 2000"), held_s + elsewhere_s, 0.03);
            within(
                time_s(PERFORMANCE, "8 at 2000, 8 at 1000"),
                1.5 * held_s + elsewhere_s,
                0.05,
            );
        }
    }
}

/// With one fast core for eight threads who holds the lock comes to it under `phase`: the lock is held for as long as on fast cores, and handing it on
/// costs a move each time. In turn, whoever holds it is mostly on a slow core, where it takes twice as long. Where a lock is held for less time than a
/// move takes (7.5 us on a slow core at f1000 and 75 %), nobody moves.
#[test]
fn who_holds_the_lock_has_the_only_fast_core() {
    let study = study("critical-sections", |experiment| {
        experiment.sweeps[0].values.drain(..3);
        experiment.sweeps[1].values.truncate(3);
    });
    let time_s = |policy: &str, length: &str, locked: &str| {
        at(&study, policy, &["1 at 2000, 15 at 1000", length, locked])
            .mean
            .time_s
    };
    for (locked, a) in [("50", 0.5), ("75", 0.75)] {
        let held_s = 8.0 * 0.1 * a / SPEED;
        let phase_s = time_s("phase", "f10", locked);
        let most_s = held_s + 1920.0 * WAKE_ELSEWHERE_US * 1e-6;
        assert!(
            (held_s..most_s).contains(&phase_s),
            "{phase_s} s, expected {held_s} to {most_s} s"
        );
        assert!(time_s("fair-share", "f10", locked) > 1.4 * phase_s);
        assert!(time_s("highlow", "f10", locked) > 1.4 * phase_s);
        within(
            time_s("phase", "f1000", locked),
            time_s("fair-share", "f1000", locked),
            1e-3,
        );
    }
}

/// Beyond the bound each barrier costs what it takes to wake those that wait.
#[test]
fn barriers_cost_a_wakeup_each() {
    let study = study("barriers", |experiment| experiment.sweeps[1].values.truncate(3));
    for (policy, wake_us) in [(PERFORMANCE, WAKE_ELSEWHERE_US), ("highlow", WAKE_US)] {
        let result = at(&study, policy, &["16 at 2000", "100000"]);
        within(result.mean.time_s, result.bounds.time_s + 1e5 * wake_us * 1e-6, 0.01);
    }
    // A slow core in the round of the baseline halves the speed of all.
    let slow = at(&study, PERFORMANCE, &["8 at 2000, 8 at 1000", "1000"]);
    within(slow.mean.time_s, 2.0 * 2.0 / SPEED, 0.08);
}
