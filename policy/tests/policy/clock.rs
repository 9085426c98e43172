// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The clock of a paced task: how far off a wakeup may be, what the task needs, and how long it backs off.

use crate::bench::{config, Bench, MS, S};
use crate::pace::{clock_wakes, cycle, points, two_kinds};
use lop_policy::Config;

fn paced() -> Bench {
    let config = Config { spare: 0, ..config() };
    Bench::new(4, config.with_ladder(&points()), two_kinds)
}

/// A task of 1 ms in 10 that has a home.
fn at_home(bench: &mut Bench) -> usize {
    let id = bench.task();
    (0..12).for_each(|_| _ = cycle(bench, id, MS, 10 * MS));
    assert!(bench.tasks[id].pace.home > 0);
    id
}

/// The twentieth wakeup since the home was found may come (1.02 * 20 + 0.1) * 10 = 205 ms after that, and no later.
#[test]
fn a_clock_may_be_a_fiftieth_and_a_tenth_of_an_interval_late() {
    for (late_ns, ends) in [(0, false), (1, true)] {
        let mut bench = paced();
        let id = at_home(&mut bench);
        let now_ns = bench.now();
        let pace = &mut bench.tasks[id].pace;
        (pace.interval_ns, pace.steady) = (10 * MS, 19);
        pace.since_ns = now_ns - 205 * MS - late_ns;
        clock_wakes(&mut bench, id);
        assert_eq!(bench.tasks[id].pace.home == 0, ends, "{late_ns} ns");
    }
}

/// After intervals of 10 ms one of 9 or 11 is another steady one; one that is further off begins anew.
#[test]
fn an_interval_is_steady_while_it_is_a_tenth_off() {
    for (interval_ns, steady) in [
        (9 * MS - 1, 0),
        (9 * MS, 3),
        (10 * MS, 3),
        (11 * MS, 3),
        (11 * MS + 1, 0),
    ] {
        let mut bench = paced();
        let id = bench.task();
        for passed_ns in [10 * MS, 10 * MS, 10 * MS, interval_ns, 0] {
            cycle(&mut bench, id, 0, passed_ns);
        }
        assert_eq!(bench.tasks[id].pace.steady, steady, "{interval_ns} ns");
    }
}

/// A need of 400 permille falls by a 64th at each wakeup after which the task had no work: 400 - 6, 394 - 6.
#[test]
fn what_a_task_needs_falls_by_a_64th() {
    let mut bench = paced();
    let id = bench.task();
    for work_ns in [0, 4 * MS, 4 * MS] {
        cycle(&mut bench, id, work_ns, 10 * MS);
    }
    let needs = [0, 0, 0].map(|work_ns| {
        cycle(&mut bench, id, work_ns, 10 * MS);
        bench.tasks[id].pace.need_permille
    });
    assert_eq!(needs, [400, 394, 388]);
}

/// A task that is found to be no paced one backs off for a second, and for twice as long each time up to a minute.
#[test]
fn a_task_backs_off_for_up_to_a_minute() {
    for (before_s, after_s) in [(0, 1), (1, 2), (16, 32), (31, 60), (60, 60)] {
        let mut bench = paced();
        let id = at_home(&mut bench);
        bench.tasks[id].pace.penalty_ns = before_s * S;
        bench.pass(100 * MS);
        clock_wakes(&mut bench, id);
        assert_eq!(
            bench.tasks[id].pace.not_before_ns - bench.now(),
            after_s * S,
            "{before_s} s"
        );
    }
}

/// After 64 wakeups at home the clock is measured anew: intervals of 10.1 ms are allowed for 10. A task that was steady for so long is forgiven
/// its earlier failures.
#[test]
fn a_clock_is_measured_over_64_wakeups() {
    let mut bench = paced();
    let id = at_home(&mut bench);
    let now_ns = bench.now();
    let pace = &mut bench.tasks[id].pace;
    (pace.since_ns, pace.steady, pace.penalty_ns) = (now_ns - 10_100_000, 0, 8 * S);
    pace.interval_ns = 10 * MS;
    for (wakeups, expected) in [(63, (10 * MS, 63, 8 * S)), (1, (10_100_000, 0, 0))] {
        (0..wakeups).for_each(|_| _ = cycle(&mut bench, id, MS, 10_100_000));
        let pace = &bench.tasks[id].pace;
        assert_eq!((pace.interval_ns, pace.steady, pace.penalty_ns), expected);
    }
}

/// A paced task wakes another one twice in a cycle. The second time is in the same cycle, not at an interval of 0.
#[test]
fn two_wakeups_by_one_clock_are_one_cycle() {
    let mut bench = paced();
    let id = at_home(&mut bench);
    let before = (bench.tasks[id].pace.steady + 1, bench.tasks[id].pace.home);
    let clock_ns = bench.now();
    for _ in 0..2 {
        bench.tasks[id].clock_ns = clock_ns;
        bench.wake(id);
        bench.pass(MS);
        bench.block(id);
    }
    assert_eq!((bench.tasks[id].pace.steady, bench.tasks[id].pace.home), before);
}

/// 25 ms of work in 10 ms are a need of 1000 permille: a task cannot need more than the fastest core.
#[test]
fn a_task_needs_a_whole_core_at_most() {
    let mut bench = paced();
    let id = bench.task();
    for _ in 0..3 {
        clock_wakes(&mut bench, id);
        let cpu = bench.cpu_of(id).expect("it runs");
        bench.run_and_block(cpu, 25 * MS);
        bench.pass(10 * MS);
    }
    clock_wakes(&mut bench, id);
    assert_eq!(bench.tasks[id].pace.need_permille, 1000);
}

/// A home is one as long as its task wakes, and ends 10 s after it last did.
#[test]
fn a_home_lasts_while_its_task_wakes() {
    let mut bench = paced();
    let id = at_home(&mut bench);
    let home = bench.tasks[id].pace.home as usize - 1;
    let epoch = bench.policy.pace.epoch[home];
    (0..2500).for_each(|_| _ = cycle(&mut bench, id, MS, 10 * MS));
    assert_eq!(bench.policy.pace.epoch[home], epoch);
    bench.pass(21 * S);
    assert!(bench.policy.pace.epoch[home] > epoch);
}

/// Its affinity is limited to a fast CPU: it has no home from its next wakeup on.
#[test]
fn a_task_of_limited_affinity_loses_its_home() {
    let mut bench = paced();
    let id = at_home(&mut bench);
    bench.set_allowed(id, [0]);
    clock_wakes(&mut bench, id);
    assert_eq!((bench.tasks[id].pace.home, bench.cpu_of(id)), (0, Some(0)));
}

/// The last of a chain is woken 9 ms after its clock, of 10. Only a task with a home can be late.
#[test]
fn a_task_without_a_home_is_not_late() {
    let mut bench = paced();
    let id = bench.task();
    for _ in 0..4 {
        bench.tasks[id].clock_ns = bench.now() - 9 * MS;
        bench.wake(id);
        assert!(!bench.tasks[id].pace.raised);
        bench.block(id);
        bench.pass(10 * MS);
    }
}
