// SPDX-License-Identifier: MIT OR Apache-2.0
//! Polling governors step by step, against schedules computed by hand.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{Amount, Step, Workload};
use lop_simulator::{Outcome, TraceEvent};

/// (time in us, MHz) of each change of CPU 0's speed.
fn speeds(outcome: &Outcome) -> Vec<(u64, u64)> {
    let of_first = |event: &TraceEvent| match *event {
        TraceEvent::Speed { at_ns, cpu: 0, khz } => Some((at_ns / 1000, khz / 1000)),
        _ => None,
    };
    let mut all: Vec<(u64, u64)> = outcome.trace.iter().filter_map(of_first).collect();
    all.dedup_by_key(|&mut (_, mhz)| mhz);
    all
}

fn three_speeds(mhz: [u64; 3]) -> Machine {
    let opps = mhz.into_iter().map(|mhz| opp(mhz, 1000, 1.0, 4.0, 0.0)).collect();
    machine_of(kind(1.0, opps), 1, 1)
}

/// One task that does `us` of work in each period of 10 ms.
fn work_per_period(us: &[u64]) -> Workload {
    let steps = us.iter().flat_map(|&us| {
        let timer = Step::Timer {
            timer: 0,
            period: Amount::Fixed(10 * MS),
        };
        [run_ns(us * 1000), timer]
    });
    tasks_of(1, steps.collect())
}

/// Samples at the end of each period of 10 ms; speeds 800, 1600, 2400 MHz:
///
///     period  MHz   work    busy        rule                            next
///        1    800   2.0 ms  6.0 = 60 %  800 * 60/70 = 686               800
///        2    800   3.0 ms  9.0 = 90 %  above 80 %                     2400
///        3   2400   8.0 ms  8.0 = 80 %  not above 80, not below 70     2400
///        4   2400   7.0 ms  7.0 = 70 %  not below 70                   2400
///        5   2400   4.5 ms  4.5 = 45 %  2400 * 45/70 = 1543            1600
///        6   1600   5.0 ms  7.5 = 75 %  between the thresholds         1600
///        7   1600   4.6 ms  6.9 = 69 %  1600 * 69/70 = 1577            1600
///        8   1600   2.0 ms  3.0 = 30 %  1600 * 30/70 = 686              800
///        9    800   0.1 ms  0.3 =  3 %  the lowest there is             800
#[test]
fn ondemand_follows_its_rule_period_by_period() {
    let mut machine = three_speeds([800, 1600, 2400]);
    let workload = work_per_period(&[2000, 3000, 8000, 7000, 4500, 5000, 4600, 2000, 100]);
    let outcome = run_traced(&machine, &workload, ONDEMAND);
    assert_eq!(
        speeds(&outcome),
        [(0, 800), (20_000, 2400), (50_000, 1600), (80_000, 800)]
    );
    assert_eq!(outcome.counters.frequency_transitions, 3);
    machine.cpufreq.transition_ns = 200_000;
    let late = run_traced(&machine, &workload, ONDEMAND);
    assert_eq!(speeds(&late)[1], (20_200, 2400));
}

/// Run time beyond that at full speed is lost: the parts sum up to it.
#[test]
fn lost_time_is_what_full_speed_would_have_saved() {
    let machine = three_speeds([800, 1600, 2400]);
    let outcome = run(&machine, &work_per_period(&[2000, 3000, 8000, 4500, 5000]), ONDEMAND);
    // 4 + 6 ms at 800 MHz, 2.5 ms at 1600 MHz.
    let lost_s = outcome.counters.lost_mismeasured_s + outcome.counters.lost_slow_start_s;
    exactly(lost_s, 12.5e-3);
    exactly(outcome.counters.full_speed_share, 12.5 / 22.5);
}

/// A task comes back on the core that has idled longest, which is slow. Where the load that the governor sees at its next
/// look was on the other core, the time until then is a slow start (problem A); the rest is mis-measured (problem B).
#[test]
fn a_start_on_a_core_that_slept_is_a_slow_start() {
    let mut machine = machine(2);
    machine.cpufreq.ondemand_period_ns = 20 * MS;
    let steps = vec![run_ms(50), sleep_ms(1), run_ms(5)];
    let outcome = run(&machine, &tasks_of(1, steps), ONDEMAND);
    // Core 0: 20 ms at half speed, then 40 ms at full, up to a sample. Core 1 from 61 ms: 10 ms at half speed, in a period
    // that has had no load anywhere.
    assert_eq!(outcome.time_ns, 71 * MS);
    exactly(outcome.counters.lost_mismeasured_s, 15e-3);
    exactly(outcome.counters.lost_slow_start_s, 0.0);
    let steps = vec![run_ms(46), sleep_ms(1), run_ms(5)];
    let outcome = run(&machine, &tasks_of(1, steps), ONDEMAND);
    // Core 0 until 56 ms; on core 1 from 57 ms, with 16 ms of load elsewhere in the period: to 60 ms slow start (1.5 ms
    // of work), then mis-measured (3 % busy there).
    assert_eq!(outcome.time_ns, 67 * MS);
    exactly(outcome.counters.lost_slow_start_s, 1.5e-3);
    exactly(outcome.counters.lost_mismeasured_s, 13.5e-3);
}

/// All in one period, at half speed, on the core that has idled longest: 8 ms on core 0, 4 on core 1, 2 on core 0, then 2 on
/// core 1. At that last start core 1 had 4 of 14 ms: less than half, so the load was elsewhere. At the third start core 0 had 8
/// of 12 ms: it was not. Slow starts are the second and fourth, which lose half of 4 + 2 ms.
#[test]
fn load_is_elsewhere_if_the_core_had_less_than_half_of_it() {
    let mut machine = machine(2);
    machine.cpufreq.ondemand_period_ns = 20 * MS;
    let steps = vec![
        run_ms(4),
        sleep_ms(1),
        run_ms(2),
        sleep_ms(1),
        run_ms(1),
        sleep_ms(1),
        run_ms(1),
    ];
    let outcome = run(&machine, &tasks_of(1, steps), ONDEMAND);
    assert_eq!(outcome.time_ns, 19 * MS);
    exactly(outcome.counters.lost_slow_start_s, 3e-3);
    exactly(outcome.counters.lost_mismeasured_s, 5e-3);
}

/// u(t) = u_end - (u_end - u_0) 2^(-t / 32 ms), u_end = 1024 f / f_max; asks for 1.25 f_max u / 1024 at ticks of 4 ms:
///
///     0 ms     u = 512                              asks 1250: 1600 MHz, u_end = 819.2
///     28 ms    819.2 - 307.2 * 2^(-28/32) = 651.7   asks 1591: 1600
///     32 ms    819.2 - 307.2 / 2          = 665.6   asks 1625: 2000 MHz, u_end = 1024
///     64 ms    1024 - 358.4 / 2           = 844.8   sleeps 64 ms
///     128 ms   844.8 / 4                  = 211.2   asks  516: 1000 MHz, u_end = 512
///     144 ms   512 - 300.8 * 2^(-16/32)   = 299.3   asks  731: 1000
#[test]
fn schedutil_ramps_with_a_half_life_of_32_ms() {
    let mut machine = three_speeds([1000, 1600, 2000]);
    let steps = vec![run_ns(57_600_000), sleep_ms(64), run_ms(8)];
    let workload = tasks_of(1, steps);
    let outcome = run_traced(&machine, &workload, SCHEDUTIL);
    assert_eq!(outcome.time_ns, 144 * MS);
    assert_eq!(
        speeds(&outcome),
        [(0, 1000), (0, 1600), (32_000, 2000), (128_000, 1000)]
    );
    // At most one update in 10 ms: ticks at 12, 24 and 36 ms.
    machine.cpufreq.schedutil_rate_limit_ns = 10 * MS;
    let limited = run_traced(&machine, &workload, SCHEDUTIL);
    assert_eq!(speeds(&limited)[..3], [(0, 1000), (0, 1600), (36_000, 2000)]);
}

/// Four tasks keep one core busy: each is used for a quarter, the core in full.
#[test]
fn schedutil_runs_a_shared_core_at_full_speed() {
    let machine = three_speeds([1000, 1600, 2000]);
    let outcome = run(&machine, &tasks_of(4, vec![run_ms(500)]), SCHEDUTIL);
    assert!(
        outcome.counters.full_speed_share > 0.95,
        "{:?}",
        outcome.counters.full_speed_share
    );
}

/// Windows of 10 ms; speeds 800, 1600, 2400 MHz; target = 1.25 * busy * 2400, or half of the way down from the last target. Work of 2.5 ms in each period:
///
///     period  MHz   busy   target                           next
///        1    800   .75    2250                             2400
///        2   2400   .25     750, from 2250 on: 1500         1600
///        3   1600   .375   1125, from 1500 on: 1312.5       1600
///        ...                1125                            1600
///
/// Without points between them it would settle at 2400 * sqrt(1.25 / 4) = 1342 MHz. `balance_power` adds no headroom, and work of 2 ms settles at
/// 2400 * sqrt(.2) = 1073: 1440 and 720 MHz as targets of the busy shares at 800 and 1600.
#[test]
fn hwp_follows_the_busy_share_of_its_windows() {
    let mut machine = three_speeds([800, 1600, 2400]);
    machine.cpufreq.hwp_window_ns = (10 * MS, 10 * MS);
    let outcome = run_traced(&machine, &work_per_period(&[2500; 40]), "linux:hwp");
    assert_eq!(speeds(&outcome), [(0, 800), (10_000, 2400), (20_000, 1600)]);
    let saving = run_traced(&machine, &work_per_period(&[2000; 6]), "linux:hwp@balance_power");
    assert_eq!(
        speeds(&saving),
        [(0, 800), (10_000, 1600), (50_000, 800), (60_000, 1600)],
        "targets of 1440, 1080, 900, 810, 765 and 1440"
    );
}

/// A burst rises at the end of its first window, 5 ms; after it the target halves with each: 2400, 1200, 600.
#[test]
fn a_burst_rises_within_a_window_of_hwp() {
    let machine = three_speeds([800, 1600, 2400]);
    let steps = vec![run_ms(10), sleep_ms(50), run_ms(1)];
    let outcome = run_traced(&machine, &tasks_of(1, steps), "linux:hwp");
    // 5 ms at a third of the speed, the rest at the full one: until 13.33 ms.
    assert_eq!(outcome.counters.frequency_transitions, 3);
    assert_eq!(
        speeds(&outcome),
        [(0, 800), (5_000, 2400), (20_000, 1600), (25_000, 800)]
    );
    let drawn = |seed| {
        let mut machine = three_speeds([800, 1600, 2400]);
        machine.cpufreq.hwp_window_ns = (MS, 10 * MS);
        run_seed(&machine, &tasks_of(1, vec![run_ms(30)]), "linux:hwp", seed).time_ns
    };
    // A window of w costs two thirds of w.
    let times: Vec<u64> = (1..20).map(drawn).collect();
    assert!(
        times
            .iter()
            .all(|ns| (30 * MS + 2 * MS / 3..=30 * MS + 20 * MS / 3).contains(ns)),
        "{times:?}"
    );
    assert!(times.iter().any(|&ns| ns != times[0]));
    assert_eq!(drawn(1), times[0]);
}

#[test]
fn fixed_governors_never_change_speed() {
    let machine = three_speeds([800, 1600, 2400]);
    for (name, mhz) in [
        (PERFORMANCE, 2400),
        (POWERSAVE, 800),
        ("linux:userspace", 800),
        ("linux:userspace@1600", 1600),
    ] {
        let outcome = run_traced(&machine, &work_per_period(&[2000, 1000, 3000]), name);
        assert_eq!(speeds(&outcome), [(0, mhz)], "{name}");
        assert_eq!(outcome.counters.frequency_transitions, 0);
        assert_eq!(
            outcome.counters.lost_mismeasured_s + outcome.counters.lost_slow_start_s,
            0.0
        );
    }
}

/// High cores at the highest OPP, low ones at the lowest: with three tasks three (and the spare) of five cores.
#[test]
fn sets_hold_their_speeds_whatever_the_load() {
    let steps: Vec<Step> = (0..50).flat_map(|_| [run_ms(1), sleep_ms(2)]).collect();
    for (name, high) in [("highlow", 3.0), ("highlow-spare", 4.0)] {
        let outcome = run(&machine(5), &tasks_of(3, steps.clone()), name);
        exactly(outcome.counters.full_speed_share, 1.0);
        assert_eq!(f64::from(outcome.counters.high_set_max), high, "{name}");
        within(outcome.counters.frequency_residency["2000 MHz"], high / 5.0, 0.01);
    }
}
