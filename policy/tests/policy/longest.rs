// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The threads with most declared work left get the fast cores.

use crate::bench::{Bench, MS};
use crate::phase::{asymmetric, MIGRATION};
use lop_policy::{born, declare_length, median_length, rules, App, Task};

/// A thread of the application that declared its length, woken.
fn thread(bench: &mut Bench, app: usize, length: u32) -> usize {
    let id = bench.task_of(app);
    declare_length(&mut bench.tasks[id], &mut bench.apps[app], length);
    bench.wake(id);
    id
}

/// The middle one in order of size, of two the lower.
#[test]
fn undeclared_threads_count_as_the_median() {
    for (declared, median) in [
        (&[][..], 0),
        (&[240], 240),
        (&[240, 360], 240),
        (&[360, 360, 240, 300], 300),
        (&[5, 5, 6, 6, 7, 7, 7, 7], 6),
    ] {
        let mut app = App::new(0);
        for &length in declared {
            declare_length(&mut Task::new(0, 100), &mut app, length);
        }
        assert_eq!(median_length(&app), median, "{declared:?}");
    }
}

/// The median is that of the latest sixteen: sixteen of 7 replace what was declared before.
#[test]
fn the_median_is_that_of_the_latest_sixteen() {
    let mut app = App::new(0);
    for length in [1; 20].into_iter().chain([7; 16]) {
        declare_length(&mut Task::new(0, 100), &mut app, length);
    }
    assert_eq!(median_length(&app), 7);
}

/// The length that a thread declares for its next child counts for one child.
#[test]
fn the_creator_says_how_long_its_next_child_is() {
    let mut app = App::new(0);
    let (mut creator, mut first, mut second) = (Task::new(0, 100), Task::new(1, 100), Task::new(2, 100));
    creator.hint.next_length = 360;
    born(&mut first, &mut creator, &mut app);
    born(&mut second, &mut creator, &mut app);
    assert_eq!((first.hint.length, second.hint.length), (360, 0));
}

/// 2 fast and 2 slow cores, lengths declared in the order 240, 360, 240, 360: those of 360 end up on fast cores, in
/// whatever order the threads came.
#[test]
fn the_longest_threads_get_the_fast_cores_in_whatever_order_they_come() {
    let mut bench = asymmetric(4, 2, rules::LONGEST);
    let app = bench.app(0);
    let ids = [240, 360, 240, 360].map(|length| thread(&mut bench, app, length));
    let fast = ids.map(|id| bench.cpu_of(id).is_some_and(|cpu| cpu < 2));
    assert_eq!(fast, [false, true, false, true]);
    // Assigned once: they take no turns.
    bench.pass(100 * MS);
    assert_eq!(ids.map(|id| bench.cpu_of(id).is_some_and(|cpu| cpu < 2)), fast);
}

/// Of equals those that were created first.
#[test]
fn ties_go_in_order_of_creation() {
    let mut bench = asymmetric(4, 2, rules::LONGEST);
    let app = bench.app(0);
    let ids = [300; 4].map(|length| thread(&mut bench, app, length));
    assert_eq!(
        ids.map(|id| bench.cpu_of(id).is_some_and(|cpu| cpu < 2)),
        [true, true, false, false]
    );
}

/// A unit is 1 ms on the fast core, where the thread of 50 ends after 50 ms. The fast core then takes the thread of 40
/// from a slow one.
#[test]
fn a_fast_core_that_falls_idle_takes_what_has_most_left() {
    let mut bench = asymmetric(3, 1, rules::LONGEST);
    let app = bench.app(0);
    let ids = [50, 20, 40].map(|length| thread(&mut bench, app, length));
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
    bench.pass(50 * MS);
    bench.end(ids[0]);
    assert_eq!(bench.apps[app].unit_ns, MS);
    // After 50 ms at half the speed 25 units are done: 15 of 40 are left, and none of 20 (its length was declared too
    // short).
    assert_eq!(bench.cpu_of(ids[2]), Some(0));
    assert_eq!(bench.cpu_of(ids[1]), Some(1));
}

/// The same with a thread of 25.1 ms, in units of 0.1 ms: 0.1 ms is left, and ten migrations take 0.2 ms. It stays. One
/// of 25.3 ms moves.
#[test]
fn what_is_nearly_done_stays_where_it_is() {
    const { assert!(MIGRATION * 10 == 200_000) };
    for (tenths, moves) in [(251, false), (253, true)] {
        let mut bench = asymmetric(2, 1, rules::LONGEST);
        let app = bench.app(0);
        let ids = [500, tenths].map(|length| thread(&mut bench, app, length));
        bench.pass(50 * MS);
        bench.end(ids[0]);
        assert_eq!(bench.apps[app].unit_ns, MS / 10);
        assert_eq!(bench.cpu_of(ids[1]) == Some(0), moves, "{tenths}");
    }
}

/// The same with a thread of 10 ms, declared too short: it has run for 15 ms beyond its length when the fast core falls
/// idle, and goes there. So does one of 24.9 ms, once it has run for 0.2 ms beyond its length.
#[test]
fn what_has_outrun_its_length_is_not_nearly_done() {
    for (tenths, at_once) in [(100, true), (249, false)] {
        let mut bench = asymmetric(2, 1, rules::LONGEST);
        let app = bench.app(0);
        let ids = [500, tenths].map(|length| thread(&mut bench, app, length));
        bench.pass(50 * MS);
        bench.end(ids[0]);
        assert_eq!(bench.cpu_of(ids[1]) == Some(0), at_once, "{tenths}");
        bench.pass(MS);
        assert_eq!(bench.cpu_of(ids[1]), Some(0), "{tenths}");
    }
}

/// Of the latest sixteen, nine of 1 and seven of 7, the eighth in order of size is 1; of the latest eight it would be 7.
#[test]
fn no_fewer_than_sixteen_lengths_are_remembered() {
    let mut app = App::new(0);
    for length in [1; 9].into_iter().chain([7; 7]) {
        declare_length(&mut Task::new(0, 100), &mut app, length);
    }
    assert_eq!(median_length(&app), 1);
}

/// A unit is 1 ms. The thread of 50 has done 30 of it and has 20 left when it comes back: it does not take the fast core from one
/// of 40. Nor is one of no application, which has no unit, compared with it.
#[test]
fn what_a_thread_has_done_is_not_left() {
    let mut bench = asymmetric(3, 1, rules::LONGEST);
    let app = bench.app(0);
    bench.apps[app].unit_ns = MS;
    let long = thread(&mut bench, app, 50);
    assert_eq!(bench.cpu_of(long), Some(0));
    bench.pass(30 * MS);
    bench.block(long);
    let short = thread(&mut bench, app, 40);
    assert_eq!(bench.cpu_of(short), Some(0));
    bench.wake(long);
    assert_ne!(bench.cpu_of(long), Some(0));
    let alone = bench.task();
    bench.tasks[alone].hint.length = 1000;
    bench.wake(alone);
    assert_eq!(bench.cpu_of(short), Some(0));
}

/// A thread of 10 units ends after 10 ms, so a unit is 1 ms; one that ends after 9 ns has not done its 10 and tells nothing, nor does
/// one of unknown length. After 10 ns a unit is 1 ns. Threads of another application that run keep theirs.
#[test]
fn the_time_of_a_unit_follows_from_threads_that_end() {
    let mut bench = asymmetric(4, 2, rules::LONGEST);
    let (app, other) = (bench.app(0), bench.app(0));
    bench.apps[other].unit_ns = 5 * MS;
    let beside = thread(&mut bench, other, 10);
    let cpu = bench.cpu_of(beside).unwrap();
    let unknown = bench.task_of(app);
    bench.wake(unknown);
    bench.pass(MS);
    bench.end(unknown);
    assert_eq!(bench.apps[app].unit_ns, 0, "it had no length");
    for (ran_ns, unit_ns) in [(10 * MS, MS), (9, MS), (10, 1)] {
        let id = thread(&mut bench, app, 10);
        assert_eq!(bench.cpu_of(id), Some(1 - cpu));
        bench.pass(ran_ns);
        bench.end(id);
        assert_eq!(bench.apps[app].unit_ns, unit_ns, "{ran_ns} ns");
        assert_eq!(bench.policy.fast.on[cpu].unit_ns, 5 * MS);
    }
}

/// A thread starts on the slow core at the moment in which the fast one falls idle. It moves at once if it has not begun; if 49.9 of
/// its 50 ms are done, what is left is less than ten migrations.
#[test]
fn only_a_thread_that_has_not_begun_moves_as_it_starts() {
    for (done_ns, moves) in [(0, true), (49_900_000, false)] {
        let mut bench = asymmetric(2, 1, rules::LONGEST);
        let app = bench.app(0);
        bench.apps[app].unit_ns = MS;
        let longer = thread(&mut bench, app, 60);
        let id = bench.task_of(app);
        bench.tasks[id].done_ns = done_ns;
        declare_length(&mut bench.tasks[id], &mut bench.apps[app], 50);
        bench.wake(id);
        assert_eq!(bench.cpu_of(id), Some(1));
        bench.block(longer);
        assert_eq!(bench.cpu_of(id) == Some(0), moves, "{done_ns}");
    }
}
