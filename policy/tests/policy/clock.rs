// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The clock of a paced task: how far off a wakeup may be, what the task needs, and how long it backs off.

use crate::bench::{config, point, Bench, HOLD, MS, S};
use crate::pace::{clock_wakes, cycle, points, two_kinds};
use lop_policy::{hint_flags, Config};

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

/// After intervals of 10 ms one of 9 or 11 is another steady one; one that is further off starts the count again.
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

/// After 64 wakeups at home the clock is measured again: intervals of 10.1 ms are allowed for 10. A task that was steady for so long is forgiven
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

/// The mean interval moves by an eighth of what a wakeup is off: from 10 ms by 0.8 / 8, and from 10.1 by 0.4 / 8 back.
#[test]
fn an_interval_is_a_mean() {
    let mut bench = paced();
    let id = bench.task();
    for passed_ns in [10 * MS, 10 * MS, 10_800_000, 9_700_000] {
        cycle(&mut bench, id, 0, passed_ns);
    }
    let interval_ns = |bench: &Bench| bench.tasks[id].pace.interval_ns;
    assert_eq!(interval_ns(&bench), 10_100_000);
    clock_wakes(&mut bench, id);
    assert_eq!(interval_ns(&bench), 10_050_000);
}

/// A home counts for 100 permille of its task. It is another one once the task needs more than a tenth more, or less than three quarters.
#[test]
fn a_home_fits_while_the_need_is_near_what_it_counts_for() {
    for (need_permille, taken_permille) in [(110_u32, 100), (111, 111), (75, 100), (74, 74)] {
        let mut bench = paced();
        let id = at_home(&mut bench);
        let pace = &mut bench.tasks[id].pace;
        (pace.taken_permille, pace.need_permille) = (100, 0);
        pace.work_ns = u64::from(need_permille) * 10 * MS / 1000;
        clock_wakes(&mut bench, id);
        assert_eq!(bench.tasks[id].pace.taken_permille, taken_permille, "{need_permille}");
    }
}

/// Two kinds are as fast, and one draws less. A task that needs 800 permille of it is paced there, when its time to back off is over.
#[test]
fn a_task_that_sleeps_for_a_fifth_is_paced_when_it_no_longer_backs_off() {
    for (early_ns, has_home) in [(0, true), (1, false)] {
        let ladder = [point(0, 1000, 1000, 16_000), point(1, 1000, 1000, 2_000)];
        let config = Config { spare: 0, ..config() };
        let mut bench = Bench::new(4, config.with_ladder(&ladder), two_kinds);
        let id = bench.task();
        for n in 0..10 {
            if n == 9 {
                bench.tasks[id].pace.not_before_ns = bench.now() + early_ns;
            }
            clock_wakes(&mut bench, id);
            let cpu = bench.cpu_of(id).expect("it runs");
            assert!(cpu < 2 || n == 9);
            bench.run_and_block(cpu, 8 * MS);
            bench.pass(10 * MS);
        }
        assert_eq!(bench.tasks[id].pace.home > 0, has_home, "{early_ns} ns");
    }
}

/// A task of limited affinity has no home, nor has the system's own work, however steady they are.
#[test]
fn restricted_and_system_tasks_are_not_paced() {
    for (restricted, system) in [(true, false), (false, true)] {
        let mut bench = paced();
        let id = if restricted { bench.pinned([0, 2]) } else { bench.task() };
        bench.tasks[id].system = system;
        for _ in 0..20 {
            cycle(&mut bench, id, MS, 10 * MS);
            assert_eq!(bench.tasks[id].pace.home, 0, "restricted: {restricted}");
        }
    }
}

/// When a slice ends after four fifths of its interval a paced task is not counted at its home any more. One that others wait for runs
/// high, and one whose home a higher class has taken runs elsewhere: these stay as they are.
#[test]
fn a_late_task_is_no_longer_counted_at_home() {
    for (passed_ns, awaited, taken, counted) in [
        (8 * MS - 1, false, false, true),
        (8 * MS, false, false, false),
        (8 * MS, true, false, true),
        (8 * MS, false, true, true),
    ] {
        let mut bench = paced();
        let id = at_home(&mut bench);
        bench.tasks[id].hint.flags = if awaited { hint_flags::SEQUENTIAL } else { 0 };
        clock_wakes(&mut bench, id);
        bench.tasks[id].hint.flags = 0;
        let cpu = bench.cpu_of(id).expect("it runs");
        if taken {
            bench.owner.sched().taken.add(cpu);
        }
        bench.pass(passed_ns);
        let (task, _, group) = bench.pointers(id);
        unsafe {
            bench
                .policy
                .stopping(&mut bench.world, task, group, cpu as u32, passed_ns)
        };
        assert_eq!(bench.tasks[id].counted, counted, "{passed_ns} ns, {awaited}, {taken}");
    }
}

/// A task that is not done when its clock comes again backs off once, and not at each slice of that cycle.
#[test]
fn a_task_that_falls_behind_backs_off_once() {
    for (passed_ns, penalty_ns) in [(10 * MS, 0), (10 * MS + 1, S)] {
        let mut bench = paced();
        let id = at_home(&mut bench);
        clock_wakes(&mut bench, id);
        let cpu = bench.cpu_of(id).expect("it runs") as u32;
        bench.pass(passed_ns);
        for _ in 0..2 {
            let (task, _, group) = bench.pointers(id);
            unsafe { bench.policy.stopping(&mut bench.world, task, group, cpu, passed_ns) };
        }
        assert_eq!(bench.tasks[id].pace.penalty_ns, penalty_ns, "{passed_ns} ns");
    }
}

/// The timer ends a home 10 s after its task last woke. Its core is green for T_hold after that.
#[test]
fn a_quiet_home_ends_after_ten_seconds_and_its_core_stays_for_a_hold_time() {
    let mut bench = paced();
    let id = at_home(&mut bench);
    let home = bench.tasks[id].pace.home as usize - 1;
    bench.pass(9 * S);
    let now_ns = bench.now();
    bench.owner.sched().pace.woke_ns[home] = now_ns - 10 * S + 1;
    for passed_ns in [0, 1] {
        bench.world.now_ns += passed_ns;
        let now_ns = bench.now();
        bench.policy.timer(&mut bench.world, now_ns);
        assert_eq!(u64::from(bench.policy.pace.nr_homes), 1 - passed_ns);
    }
    bench.pass(HOLD - 1);
    assert_eq!(bench.green(), [home]);
    bench.pass(1);
    assert!(bench.green().is_empty());
}
