// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Where a woken task goes.

use crate::bench::{config, domains_of_two, flat, Bench, HOLD, MS, TRANSITION};
use lop_policy::{Config, CpuPlace, Set, Sizing};

#[test]
fn a_pinned_task_promotes_its_core_and_keeps_it_while_active() {
    let mut bench = Bench::flat(4);
    let pinned = bench.pinned([2]);
    assert_eq!(bench.wake(pinned), (2, true));
    assert!(bench.high().contains(&2));
    // It preempts itself for 200 ms, and others come and go: the core stays.
    let others = bench.tasks(3);
    bench.wake_all(&others);
    bench.block_all(&others);
    bench.pass(20 * HOLD);
    assert!(bench.high().contains(&2) && bench.policy.set[Set::High as usize].pinned.has(2));
    bench.block(pinned);
    assert!(!bench.policy.set[Set::High as usize].pinned.has(2));
}

/// Two tasks pinned to core 2: it stays high until both have blocked.
#[test]
fn a_core_is_kept_for_each_task_that_counts_on_it() {
    let mut bench = Bench::flat(4);
    let pinned = [bench.pinned([2]), bench.pinned([2])];
    assert_eq!(bench.wake(pinned[0]), (2, true));
    assert_eq!(bench.wake(pinned[1]), (2, false));
    assert_eq!(
        bench.world.queues_of(pinned[1]),
        [2],
        "its own queue, since it may run nowhere else"
    );
    bench.run_and_block(2, MS);
    assert_eq!(bench.cpu_of(pinned[1]), Some(2));
    assert!(bench.policy.set[Set::High as usize].pinned.has(2));
    bench.block(pinned[1]);
    assert!(!bench.policy.set[Set::High as usize].pinned.has(2));
}

/// The task may run on 0, which is busy and high, and on 3, which is idle and low: 3 is promoted.
#[test]
fn a_task_of_limited_affinity_has_an_idle_core_promoted_if_its_members_are_busy() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, flat);
    let (first, second) = (bench.task(), bench.pinned([0, 3]));
    assert_eq!(bench.wake(first), (0, true));
    assert_eq!(bench.wake(second), (3, true));
    assert_eq!(bench.high(), [0, 3]);
}

/// Both tasks may run on 0 and 3. Something else had 3 when they woke, so both were anchored to 0. When that is done,
/// 3 is idle and low. At the end of the next slice the task whose slice is over has 3 promoted.
#[test]
fn a_task_of_limited_affinity_that_would_wait_has_a_core_promoted_that_has_fallen_idle() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, flat);
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, 3, false, now_ns);
    let tasks = [bench.pinned([0, 3]), bench.pinned([0, 3])];
    assert_eq!((bench.wake(tasks[0]), bench.wake(tasks[1])), ((0, true), (0, false)));
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, 3, true, now_ns);
    assert!(!bench.high().contains(&3));
    bench.run_and_preempt(0, MS);
    let mut runs_on = tasks.map(|task| bench.cpu_of(task));
    runs_on.sort();
    assert_eq!(runs_on, [Some(0), Some(3)]);
}

#[test]
fn an_affinity_to_all_cores_of_the_machine_is_none() {
    let mut bench = Bench::flat(4);
    for (cpus, restricted, nr_allowed) in [(0..4, false, 4), (0..512, false, 4), (0..3, true, 3), (3..4, true, 1)] {
        let task = bench.pinned(cpus.clone());
        let (has, counts) = (bench.tasks[task].restricted, bench.tasks[task].nr_allowed);
        assert_eq!((has, counts), (restricted, nr_allowed), "{cpus:?}");
    }
}

/// The task runs on core 1 when it is confined to core 3: it next waits in the queue of core 3.
#[test]
fn an_affinity_that_changes_while_the_task_runs_holds_from_its_next_wait() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    let (cpu, _) = bench.wake(task);
    bench.set_allowed(task, [3]);
    bench.run_and_preempt(cpu as usize, MS);
    assert_eq!(bench.cpu_of(task), Some(3));
    assert!(bench.policy.set[Set::High as usize].pinned.has(3));
}

/// After the wakeup two cores are high: the busy one, and an idle one.
#[test]
fn the_spare_is_idle_and_high() {
    let mut bench = Bench::flat(8);
    for active in 1..8 {
        let task = bench.task();
        let (cpu, claimed) = bench.wake(task);
        assert!(claimed && bench.high().contains(&(cpu as usize)));
        let idle = bench.policy.idle;
        let spares = bench.high().into_iter().filter(|&cpu| idle.has(cpu)).count();
        assert_eq!(
            (bench.size(), spares),
            (active + 1, 1),
            "promotion follows when the spare is taken"
        );
    }
}

/// 0 runs a task; 1 (the spare) and 2 (promoted for a pinned task that left again) joined at the same moment. The task
/// ran on 2 last. Until the transition is over neither is at speed, and the lowest number is taken; after that the
/// last CPU.
#[test]
fn the_last_cpu_is_not_taken_before_it_is_at_speed() {
    for (pass_ns, expected) in [(TRANSITION - 1, 1), (TRANSITION, 2)] {
        let mut bench = Bench::flat(3);
        let (first, pinned, task) = (bench.task(), bench.pinned([2]), bench.task());
        bench.wake(first);
        bench.wake(pinned);
        bench.block(pinned);
        bench.last_cpu[task] = 2;
        bench.pass(pass_ns);
        assert_eq!(bench.wake(task), (expected, true));
    }
}

/// The spare 1 has long been a member; 2 joins when the task wakes and would be at speed later: 1 is taken.
#[test]
fn the_longest_member_is_taken_since_it_is_surely_at_speed() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(2);
    assert_eq!(bench.wake(tasks[0]), (0, true));
    bench.pass(MS);
    bench.last_cpu[tasks[1]] = 2;
    assert_eq!(bench.wake(tasks[1]), (1, true));
    assert_eq!(bench.high(), [0, 1, 2]);
}

#[test]
fn the_last_cpu_is_taken_if_it_is_an_idle_member_at_speed() {
    let mut bench = Bench::new(
        4,
        Config {
            sizing: Sizing::ByDemand,
            spare: 4,
            ..config()
        },
        flat,
    );
    let task = bench.task();
    for last in [3, 1, 2, 0] {
        bench.last_cpu[task] = last;
        assert_eq!(bench.wake(task), (last as i32, true));
        bench.block(task);
    }
}

/// Cores {0, 1} and {2, 3}: 0 runs a task, so 1 is the worst choice, though the task ran there last.
#[test]
fn a_core_with_a_busy_sibling_is_taken_last() {
    let siblings = |cpu: usize| CpuPlace {
        next_sibling: (cpu ^ 1) as u16,
        ..flat(cpu)
    };
    let mut bench = Bench::new(4, Config { spare: 4, ..config() }, siblings);
    let tasks = bench.tasks(3);
    assert_eq!(bench.wake(tasks[0]), (0, true));
    assert_eq!(bench.policy.beside_busy.cpus(), [1]);
    bench.last_cpu[tasks[1]] = 1;
    assert_eq!(bench.wake(tasks[1]), (2, true));
    bench.block(tasks[0]);
    assert_eq!(bench.policy.beside_busy.cpus(), [3]);
}

/// Domains {0, 1} and {2, 3}, all high, last CPU 2 busy: 3 shares its cache.
#[test]
fn the_memory_domain_it_ran_in_last_is_preferred() {
    let mut bench = Bench::new(4, Config { spare: 4, ..config() }, domains_of_two);
    let tasks = bench.tasks(2);
    bench.last_cpu[tasks[0]] = 2;
    bench.last_cpu[tasks[1]] = 2;
    assert_eq!(bench.wake(tasks[0]), (2, true));
    assert_eq!(bench.wake(tasks[1]), (3, true));
}

/// Simple sets keep Linux' fairness among cores inside the set: the CPU idle for longest is taken.
#[test]
fn simple_sets_take_the_longest_idle() {
    let mut bench = Bench::new(
        4,
        Config {
            sizing: Sizing::Fixed,
            fixed_size: 3,
            ..config()
        },
        flat,
    );
    let task = bench.task();
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken.push(bench.wake(task).0);
        bench.pass(MS);
        bench.block(task);
        bench.pass(MS);
    }
    assert_eq!(taken, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn with_all_members_busy_the_task_waits_in_the_queue_of_its_domain() {
    let mut bench = Bench::new(4, config(), domains_of_two);
    let tasks = bench.tasks(6);
    bench.last_cpu[tasks[4]] = 1;
    bench.last_cpu[tasks[5]] = 3;
    bench.wake_all(&tasks);
    assert_eq!(bench.world.queues_of(tasks[4]), [512]);
    assert_eq!(bench.world.queues_of(tasks[5]), [513]);
    assert_eq!(bench.policy.size(Set::High), 4);
}

/// 0 is the idle member whose hold time ends just as a task that may run on 0 and 3 wakes: it stays.
#[test]
fn an_idle_member_that_a_task_may_use_does_not_leave_under_its_hands() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, flat);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    bench.block(tasks[0]);
    bench.world.timer_at_ns = None; // the timer is late
    bench.pass(HOLD);
    let late = bench.pinned([0, 3]);
    assert_eq!(bench.wake(late), (0, true));
    assert_eq!(bench.high(), [0, 1]);
}

/// Three kinds of one CPU each, all high. A task that ran on the slowest comes back to it within T_hold, as long as somebody else was on a faster one within a
/// tenth of it; one that slept for longer goes to the fastest, and so does one whose CPU is taken, and all without room.
#[test]
fn who_returns_soon_finds_its_cpu_whatever_its_kind() {
    for (room, slept_ns, rested_ns, taken, expected) in [
        (true, MS, HOLD / 10 - 1, false, 2),
        (true, MS, HOLD / 10, false, 0),
        (true, HOLD - 1, 0, false, 2),
        (true, HOLD, 0, false, 0),
        (true, MS, 0, true, 0),
        (false, MS, 0, false, 0),
    ] {
        let all_high = Config {
            sizing: Sizing::All,
            room,
            keeps_kind: true,
            ..config()
        };
        let kinds = |cpu: usize| CpuPlace {
            tier: cpu as u16,
            ..flat(cpu)
        };
        let mut bench = Bench::new(3, all_high, kinds);
        let ids = bench.tasks(3);
        bench.wake_all(&ids);
        assert_eq!(bench.cpu_of(ids[2]), Some(2));
        bench.pass(MS);
        bench.block(ids[2]);
        bench.pass(slept_ns - rested_ns);
        bench.block_all(&ids[..2]);
        bench.pass(rested_ns);
        if taken {
            let other = bench.pinned([2]);
            bench.wake(other);
        }
        bench.wake(ids[2]);
        let why = format!("room: {room}, slept {slept_ns} ns, others {rested_ns} ns, taken: {taken}");
        assert_eq!(bench.cpu_of(ids[2]), Some(expected), "{why}");
    }
}
