// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How many members the high set should have.

use crate::bench::{config, flat, Bench, HOLD, LAST_HOLD};
use lop_policy::{Config, Set, Sizing};

#[test]
fn a_wakeup_counts_once_however_often_it_is_told() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    for _ in 0..3 {
        let (task, app, group) = bench.pointers(task);
        unsafe { bench.policy.wake(&mut bench.world, task, app, group, 0, 1) };
    }
    assert_eq!(bench.policy.active(Set::High), 1);
    for _ in 0..3 {
        let (task, app, group) = bench.pointers(task);
        unsafe { bench.policy.block(&mut bench.world, task, app, group, 2) };
    }
    assert_eq!(bench.policy.active(Set::High), 0);
}

/// min(N, active + spare) with N = 4.
#[test]
fn target_is_active_and_spare_up_to_all_cores() {
    for (spare, targets) in [
        (0, [0, 1, 2, 3, 4, 4, 4]),
        (1, [1, 2, 3, 4, 4, 4, 4]),
        (2, [2, 3, 4, 4, 4, 4, 4]),
    ] {
        let mut bench = Bench::new(4, Config { spare, ..config() }, flat);
        assert_eq!(bench.target(), targets[0]);
        for target in &targets[1..] {
            let task = bench.task();
            bench.wake(task);
            assert_eq!((bench.target(), bench.size()), (*target, *target), "spare {spare}");
        }
    }
}

#[test]
fn a_fixed_size_is_kept_whatever_is_active() {
    let fixed = Config {
        sizing: Sizing::Fixed,
        fixed_size: 3,
        ..config()
    };
    let mut bench = Bench::new(8, fixed, flat);
    assert_eq!(bench.size(), 3);
    let tasks = bench.tasks(6);
    bench.wake_all(&tasks);
    assert_eq!(bench.size(), 3);
    bench.block_all(&tasks);
    bench.pass(10 * HOLD);
    assert_eq!(bench.size(), 3);
}

/// A declares 3, B declares 2: with both active 3 + 2 = 5, no spare. C declares nothing: then 3 active + 1 spare = 4.
#[test]
fn declared_parallelism_counts_only_if_every_active_application_declared() {
    let mut bench = Bench::flat(8);
    let (a, b, c) = (bench.app(3), bench.app(2), bench.app(0));
    let (of_a, of_b, of_c) = (bench.task_of(a), bench.task_of(b), bench.task_of(c));
    bench.wake(of_a);
    assert_eq!(bench.target(), 3);
    bench.wake(of_b);
    assert_eq!(bench.target(), 5);
    bench.wake(of_c);
    assert_eq!(bench.target(), 4);
    bench.block(of_c);
    assert_eq!(bench.target(), 5);
    bench.block(of_a);
    assert_eq!(bench.target(), 2);
}

/// The application's second task adds nothing; its last one removes everything.
#[test]
fn an_application_counts_once_for_all_its_tasks() {
    let mut bench = Bench::flat(8);
    let app = bench.app(4);
    let tasks = [bench.task_of(app), bench.task_of(app)];
    bench.wake_all(&tasks);
    assert_eq!(bench.target(), 4);
    bench.block(tasks[0]);
    assert_eq!(bench.target(), 4);
    bench.block(tasks[1]);
    assert_eq!(bench.target(), 1);
    let inside = bench.policy;
    assert_eq!((inside.undeclared(), inside.membership.declared_sum), (0, 0));
}

/// Two applications that declared 1 each: one core each.
#[test]
fn never_less_than_one_core_per_application_with_an_active_task() {
    let mut bench = Bench::flat(8);
    for active in 1..=3 {
        let app = bench.app(1);
        let task = bench.task_of(app);
        bench.wake(task);
        assert_eq!(bench.target(), active);
    }
}

/// One application declares 1 and runs 3, as it may: it has one core. Beside another that declared and runs 2 it would take cores from that one: they
/// have 5. With 4 declared it is not over any more, and what it does not use is its own.
#[test]
fn who_declares_too_little_confines_itself_but_nobody_else() {
    let mut bench = Bench::flat(8);
    let (low, other) = (bench.app(1), bench.app(2));
    let lows: Vec<usize> = (0..3).map(|_| bench.task_of(low)).collect();
    let others = [bench.task_of(other), bench.task_of(other)];
    bench.wake_all(&lows);
    assert_eq!(bench.target(), 1);
    bench.wake_all(&others);
    assert_eq!(bench.target(), 5);
    bench.block(lows[0]);
    assert_eq!(bench.target(), 4);
    bench.declare(low, 4);
    assert_eq!(bench.target(), 6);
    bench.declare(low, 1);
    assert_eq!(bench.target(), 4);
    bench.block_all(&others);
    assert_eq!(bench.target(), 1);
    bench.block_all(&lows[1..]);
    let counts = &bench.policy.membership;
    assert_eq!(
        (counts.declared_sum, counts.nr_declared, counts.over_declared),
        (0, 0, 0)
    );
}

/// No declaration covers a task of no application: 2 active + 1 spare = 3, not the 2 that were declared.
#[test]
fn a_task_of_no_application_is_undeclared() {
    let mut bench = Bench::flat(8);
    let app = bench.app(2);
    let (declared, alone) = (bench.task_of(app), bench.task());
    bench.wake(declared);
    bench.wake(alone);
    assert_eq!((bench.target(), bench.policy.undeclared()), (3, 1));
    bench.block(alone);
    assert_eq!(bench.target(), 2);
}

#[test]
fn declaring_while_active_grows_at_once_and_taking_back_restores_the_spare() {
    let mut bench = Bench::flat(8);
    let app = bench.app(0);
    let task = bench.task_of(app);
    bench.wake(task);
    assert_eq!(bench.size(), 2);
    bench.declare(app, 5);
    assert_eq!((bench.target(), bench.size()), (5, 5));
    assert_eq!((bench.apps[app].declared(), bench.apps[app].active()), (5, 1));
    bench.declare(app, 0);
    assert_eq!(bench.target(), 2);
    bench.block(task);
    let inside = bench.policy;
    assert_eq!((inside.undeclared(), inside.membership.declared_sum), (0, 0));
}

/// The task goes on and no other event follows: only the timer can shrink the set.
#[test]
fn declaring_less_shrinks_after_the_hold_time_without_another_event() {
    let mut bench = Bench::flat(8);
    let app = bench.app(6);
    let task = bench.task_of(app);
    bench.wake(task);
    assert_eq!(bench.size(), 6);
    bench.declare(app, 1);
    bench.pass(HOLD - 1);
    assert_eq!(bench.size(), 6);
    bench.pass(1);
    assert_eq!(bench.size(), 2, "one and its spare stay for a second");
    bench.pass(LAST_HOLD - HOLD);
    assert_eq!(bench.size(), 1);
}

#[test]
fn declaring_while_inactive_counts_from_the_next_wakeup() {
    let mut bench = Bench::flat(8);
    let app = bench.app(0);
    let task = bench.task_of(app);
    bench.declare(app, 4);
    assert_eq!(bench.target(), 1);
    bench.wake(task);
    assert_eq!(bench.target(), 4);
}

#[test]
fn a_spinning_task_is_not_active_until_it_goes_on() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    bench.spin(tasks[0], true);
    assert_eq!(bench.policy.active(Set::High), 1);
    bench.spin(tasks[0], false);
    assert_eq!((bench.policy.active(Set::High), bench.size()), (2, 3));
    bench.spin(tasks[0], true);
    bench.block(tasks[0]);
    assert_eq!(
        bench.policy.active(Set::High),
        1,
        "it had been counted down when it began to spin"
    );
}
