// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The power cap limits the number of high cores.

use crate::bench::{config, domains_of_two, flat, Asked, Bench, HOLD, MS};
use lop_policy::{rules, Config, CpuPlace, Domains, Reserve, Set, Sizing};

fn capped(cpus: usize, most_high: u32) -> Bench {
    Bench::new(cpus, Config { most_high, ..config() }, flat)
}

/// min(active + spare, cap, N) with a spare of 1 and N = 8; 0 is no cap.
#[test]
fn the_cap_bounds_demand_and_spare() {
    for (cap, sizes) in [
        (0, [2, 3, 4, 5, 6, 7]),
        (1, [1, 1, 1, 1, 1, 1]),
        (3, [2, 3, 3, 3, 3, 3]),
        (9, [2, 3, 4, 5, 6, 7]),
    ] {
        let mut bench = capped(8, cap);
        for size in sizes {
            let task = bench.task();
            bench.wake(task);
            assert_eq!((bench.target(), bench.size()), (size, size), "cap {cap}");
        }
    }
}

#[test]
fn what_is_declared_and_a_set_of_all_cores_are_bounded_too() {
    let mut bench = capped(8, 3);
    let app = bench.app(5);
    let task = bench.task_of(app);
    bench.wake(task);
    assert_eq!(bench.size(), 3);
    let all = Config {
        sizing: Sizing::All,
        most_high: 3,
        ..config()
    };
    assert_eq!(Bench::new(8, all, flat).size(), 3);
}

/// Five tasks on two cores: all of them run in turn.
#[test]
fn who_finds_no_member_waits_for_one() {
    let mut bench = capped(8, 2);
    let tasks = bench.tasks(5);
    bench.wake_all(&tasks);
    let mut ran = std::collections::BTreeSet::new();
    for _ in 0..5 {
        for cpu in bench.high() {
            bench.pass(6 * MS);
            ran.insert(bench.run_and_preempt(cpu, 6 * MS));
        }
    }
    assert_eq!(ran.len(), 5);
    assert_eq!(bench.size(), 2);
}

/// The reserved core takes the place of a high one, except of the last.
#[test]
fn the_reserved_core_counts_as_one() {
    for (cap, size) in [(1, 1), (2, 1), (3, 2), (8, 7)] {
        let reserved = Config {
            sizing: Sizing::All,
            reserve: Reserve::Asked,
            most_high: cap,
            ..config()
        };
        assert_eq!(Bench::new(8, reserved, flat).size(), size, "cap {cap}");
    }
}

/// CPUs 0 and 1 are high and busy, which is the cap. A task that may run on 5 alone has it promoted, and a busy member
/// leaves at once: its task is preempted. Once the pinned task blocks, 5 is a member like any other.
#[test]
fn a_pinned_task_is_served_in_the_place_of_a_member() {
    let mut bench = capped(8, 2);
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks);
    assert_eq!(bench.high(), [0, 1]);
    let pinned = bench.pinned([5]);
    bench.wake(pinned);
    assert_eq!(bench.cpu_of(pinned), Some(5));
    assert_eq!(bench.high(), [1, 5], "0 left, busy as it was");
    assert!(bench.world.log.contains(&Asked::Preempted(0)));
    bench.run_and_preempt(0, MS);
    assert_eq!(bench.running[0], None, "its task waits for a member");
    bench.block(pinned);
    assert_eq!(bench.high(), [1, 5]);
    assert!(bench.running[5].is_some());
}

/// An edge case: two tasks that may run nowhere else are both served, on one core more than the cap allows.
#[test]
fn only_pinned_tasks_exceed_the_cap() {
    let mut bench = capped(8, 1);
    let pinned = [bench.pinned([3]), bench.pinned([6])];
    bench.wake_all(&pinned);
    assert_eq!(bench.high(), [3, 6]);
    bench.block(pinned[0]);
    assert_eq!(bench.high(), [6]);
    assert_eq!(bench.cpu_of(pinned[1]), Some(6));
}

/// The task may run on a busy member, so it waits there, and no idle core is promoted.
#[test]
fn a_restricted_task_waits_for_a_member_that_it_may_use() {
    let mut bench = capped(8, 2);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    let restricted = bench.pinned([1, 4]);
    bench.wake(restricted);
    assert_eq!(bench.high(), [0, 1]);
    assert_eq!(bench.cpu_of(restricted), None);
    bench.block(bench.running[1].unwrap());
    assert_eq!(bench.cpu_of(restricted), Some(1));
}

/// The task's plan says memory domain 1 (CPUs 2 and 3), where no core may join: it runs where the members are. Without
/// a cap a core there would be promoted.
#[test]
fn no_core_joins_for_a_plan() {
    for (cap, high) in [(0, vec![0, 2]), (1, vec![0])] {
        let spread = Config {
            spare: 0,
            domains: Domains::Spread,
            most_high: cap,
            ..config()
        };
        let mut bench = Bench::new(4, spread, domains_of_two);
        let tasks = bench.tasks(2);
        bench.wake(tasks[0]);
        let planned: *mut _ = &mut bench.tasks[tasks[1]];
        bench.policy.set_domain(unsafe { &mut *planned }, 1, 0);
        bench.wake(tasks[1]);
        assert_eq!(bench.high(), high, "cap {cap}");
        bench.block(tasks[0]);
        assert!(bench.cpu_of(tasks[1]).is_some(), "cap {cap}");
    }
}

/// CPU 0 is fast, 1 to 3 are slow. 1 is busy with a task that may run nowhere else, which fills a cap of 1. When
/// others wait for another task there, it does not move up to a fast core that is no member.
#[test]
fn nobody_rises_to_a_core_that_may_not_join() {
    for (cap, moved) in [(0, true), (1, false)] {
        let kinds = |cpu: usize| CpuPlace {
            tier: u16::from(cpu > 0),
            ..flat(cpu)
        };
        let ranks = Config {
            spare: 0,
            rules: rules::PHASES,
            most_high: cap,
            ..config()
        };
        let mut bench = Bench::new(4, ranks, kinds);
        let restricted = bench.pinned([1]);
        bench.wake(restricted);
        bench.set_allowed(restricted, 0..4);
        bench.pass(2 * HOLD);
        assert!(!bench.high().contains(&0), "cap {cap}");
        bench.run_and_preempt(1, MS);
        let task = bench.cpu_of(restricted);
        bench.set_hints(restricted, 2);
        bench.pass(MS);
        assert_eq!(
            bench.cpu_of(restricted) != task || task == Some(0),
            moved,
            "cap {cap}, was on {task:?}"
        );
        assert!(cap == 0 || bench.policy.size(Set::High) == 1);
    }
}
