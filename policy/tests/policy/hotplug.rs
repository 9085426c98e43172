// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Cores that go offline and come online.

use crate::bench::{config, flat, Asked, Bench, HOLD, MS};
use lop_policy::{Config, Set};

#[test]
fn a_member_that_goes_offline_leaves_and_another_takes_its_place() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    bench.wake(task);
    assert_eq!(bench.high(), [0, 1]);
    bench.world.log.clear();
    bench.offline(0);
    assert_eq!(bench.high(), [1, 2]);
    assert!(
        bench.cpu_of(task).is_some_and(|cpu| cpu != 0),
        "its task goes on elsewhere"
    );
    assert!(bench.world.log.contains(&Asked::Changed {
        cpu: 0,
        set: Set::Offline
    }));
    assert!(!bench.world.log.contains(&Asked::Changed { cpu: 0, set: Set::Low }));
}

#[test]
fn the_spare_that_goes_offline_is_replaced() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    bench.wake(task);
    bench.offline(1);
    assert_eq!((bench.high(), bench.cpu_of(task)), (vec![0, 2], Some(0)));
}

#[test]
fn the_target_never_exceeds_the_cores_online() {
    let mut bench = Bench::flat(3);
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks);
    for (cpu, left) in [(2, 2), (1, 1)] {
        bench.offline(cpu);
        assert_eq!((bench.size(), bench.target()), (left, left));
    }
    bench.online(1);
    assert_eq!((bench.high(), bench.target()), (vec![0, 1], 2));
}

#[test]
fn with_the_last_core_offline_nothing_is_high_and_work_is_refused() {
    let mut bench = Bench::flat(1);
    bench.offline(0);
    assert_eq!((bench.size(), bench.target()), (0, 0));
    let task = bench.task();
    assert_eq!(bench.wake(task), (-1, false));
}

/// Four tasks on two cores; core 1 goes offline. All run in turn on core 0.
#[test]
fn no_queued_task_is_lost_with_its_core() {
    let mut bench = Bench::flat(2);
    let tasks = bench.tasks(4);
    bench.wake_all(&tasks);
    bench.offline(1);
    let mut ran = std::collections::BTreeSet::new();
    for _ in 0..8 {
        bench.pass(5 * MS);
        ran.insert(bench.run_and_preempt(0, 5 * MS));
    }
    assert_eq!(ran.len(), 4);
}

/// The task may run on 1 and 2 and was anchored to 1, which goes offline: now it is anchored to 2.
#[test]
fn a_task_of_limited_affinity_moves_to_another_of_its_cores() {
    let mut bench = Bench::flat(4);
    let task = bench.pinned([2, 3]);
    let (cpu, _) = bench.wake(task);
    let other = 5 - cpu as usize;
    bench.offline(cpu as usize);
    assert_eq!(bench.cpu_of(task), Some(other));
    assert!(bench.policy.set[Set::High as usize].pinned.has(other));
}

/// The task's core went offline while it waited there. Then it was allowed elsewhere without being queued again:
/// others find it.
#[test]
fn what_waits_at_an_offline_core_is_found_once_it_may_run_elsewhere() {
    let mut bench = Bench::new(2, Config { spare: 0, ..config() }, flat);
    let (runs, waits, other) = (bench.pinned([1]), bench.pinned([1]), bench.pinned([0]));
    bench.wake_all(&[runs, waits, other]);
    assert_eq!(bench.world.queues_of(waits), [1]);
    bench.running[1] = None;
    bench.online[1] = false;
    let now_ns = bench.now();
    bench.policy.cpu_offline(&mut bench.world, 1, now_ns);
    bench.set_allowed(waits, 0..2);
    bench.run_and_block(0, MS);
    assert_eq!(bench.cpu_of(waits), Some(0));
}

/// The task was allowed 0 to 2 of four CPUs when 3 was offline. 3 comes back: still not allowed.
#[test]
fn affinity_holds_for_cores_that_come_online_later() {
    let mut bench = Bench::new(4, Config { spare: 4, ..config() }, flat);
    bench.offline(3);
    let task = bench.pinned([0, 1, 2]);
    bench.online(3);
    bench.pass(HOLD);
    bench.last_cpu[task] = 3;
    assert_ne!(bench.wake(task).0, 3);
}

#[test]
fn coming_and_going_twice_is_the_same_as_once() {
    let mut bench = Bench::flat(2);
    for _ in 0..2 {
        let now_ns = bench.now();
        bench.policy.cpu_offline(&mut bench.world, 1, now_ns);
    }
    assert_eq!(bench.policy.nr_open, 1);
    for _ in 0..2 {
        bench.online(1);
    }
    assert_eq!(bench.policy.nr_open, 2);
}

/// A task waits for the only CPU that it may use when that goes offline. Until its affinity is widened CPU 0 cannot run it, and takes
/// other work.
#[test]
fn work_that_waits_for_an_offline_cpu_keeps_no_other_cpu_from_work() {
    let mut bench = Bench::flat(2);
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks);
    let stranded = bench.pinned([1]);
    bench.wake(stranded);
    assert_eq!(bench.world.queues_of(stranded), [1]);
    let now_ns = bench.now();
    bench.policy.cpu_offline(&mut bench.world, 1, now_ns);
    bench.run_and_preempt(0, 5 * MS);
    assert_eq!(bench.running[0], Some(tasks[2]));
}
