// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The green set: cores at the most energy-efficient speed, for work that hardly gains from more.

use crate::bench::{config, flat, Bench, HOLD, MS};
use lop_policy::{cheapest, cost_uj, Config, GreenWork, Point, Rung, Set};

fn green(cpus: usize) -> Bench {
    Bench::new(
        cpus,
        Config {
            green: GreenWork::LowGain,
            ..config()
        },
        flat,
    )
}

fn with_speedup(bench: &mut Bench, speedup_permille: u32) -> usize {
    let task = bench.task();
    bench.tasks[task].speedup_permille = speedup_permille;
    task
}

#[test]
fn work_with_a_speedup_below_one_point_two_is_green() {
    for (speedup_permille, set) in [
        (0, Set::High),
        (1000, Set::Green),
        (1199, Set::Green),
        (1200, Set::High),
        (1900, Set::High),
    ] {
        let mut bench = green(4);
        let task = with_speedup(&mut bench, speedup_permille);
        bench.wake(task);
        assert_eq!(bench.policy.active(set), 1, "SF {speedup_permille} permille");
    }
    let mut bench = Bench::flat(4);
    let task = with_speedup(&mut bench, 1100);
    bench.wake(task);
    assert_eq!(
        bench.policy.active(Set::High),
        1,
        "the green set is off unless asked for"
    );
}

/// Two green tasks, two green cores, which leave T_hold after the tasks.
#[test]
fn its_size_is_the_number_of_its_active_tasks() {
    let mut bench = green(8);
    let tasks = [with_speedup(&mut bench, 1100), with_speedup(&mut bench, 1100)];
    for (active, task) in (1..).zip(tasks) {
        let (cpu, claimed) = bench.wake(task);
        assert!(claimed && bench.green().contains(&(cpu as usize)));
        assert_eq!(bench.policy.size(Set::Green), active);
    }
    assert_eq!(bench.size(), 1, "the high set has its spare only");
    bench.block_all(&tasks);
    bench.pass(HOLD - 1);
    assert_eq!(bench.green().len(), 2);
    bench.pass(1);
    assert!(bench.green().is_empty());
}

/// 3 ordinary tasks take 3 of 3 cores, so the green task runs high.
#[test]
fn without_a_core_left_green_work_runs_high() {
    let mut bench = Bench::new(
        3,
        Config {
            green: GreenWork::LowGain,
            spare: 0,
            ..config()
        },
        flat,
    );
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks);
    let late = with_speedup(&mut bench, 1100);
    assert!(!bench.wake(late).1);
    assert_eq!((bench.green(), bench.policy.target(Set::Green)), (vec![], 0));
    assert_eq!(bench.world.queues_of(late), [512], "the queue of the high set");
    bench.run_and_block(1, MS);
    assert_eq!(bench.cpu_of(late), Some(1));
}

/// Core 1 is green when the high set needs the last core: it becomes high, and high cores serve its task.
#[test]
fn a_green_core_is_made_high_when_no_other_is_left() {
    let mut bench = Bench::new(
        2,
        Config {
            green: GreenWork::LowGain,
            spare: 0,
            ..config()
        },
        flat,
    );
    let task = with_speedup(&mut bench, 1100);
    bench.wake(task);
    let ordinary = bench.tasks(2);
    bench.wake_all(&ordinary);
    assert_eq!((bench.green(), bench.high()), (vec![], vec![0, 1]));
    for _ in 0..8 {
        for cpu in 0..2 {
            bench.pass(MS);
            bench.run_and_preempt(cpu, MS);
        }
    }
    assert!(
        bench.tasks.iter().all(|task| task.vtime_ns > 3 * MS),
        "all three get their share"
    );
}

/// Ordinary work waits while the green core asks for work: the core gets none of it.
#[test]
fn green_cores_run_no_ordinary_work() {
    let mut bench = Bench::new(
        2,
        Config {
            green: GreenWork::LowGain,
            spare: 0,
            ..config()
        },
        flat,
    );
    let green = with_speedup(&mut bench, 1100);
    let (cpu, _) = bench.wake(green);
    bench.policy.hold_lock(true); // the high set cannot grow yet
    let ordinary = bench.task();
    bench.wake(ordinary);
    assert!(bench.world.queues_of(ordinary).len() == 1);
    assert_eq!(bench.dispatch(cpu as usize), None);
}

/// What an application declares is for the high set; a green task uses none of it.
#[test]
fn a_green_task_brings_nothing_that_was_declared() {
    let mut bench = green(8);
    let app = bench.app(4);
    let task = with_speedup(&mut bench, 1100);
    bench.app_of[task] = Some(app);
    bench.wake(task);
    assert_eq!((bench.target(), bench.green().len()), (1, 1));
}

#[test]
fn a_pinned_green_task_makes_its_core_green() {
    let mut bench = green(4);
    let task = with_speedup(&mut bench, 1100);
    bench.set_allowed(task, [3]);
    assert_eq!(bench.wake(task), (3, true));
    assert_eq!(bench.green(), [3]);
}

/// Above asleep in W, and rate: 2 and 0.5, 4 and 0.8, 8 and 1. Per ms of work: 4, 5 and 8 mJ. With 4 W for a second: 12, 10 and 12. With 12 W:
/// 28, 20 and 20.
#[test]
fn what_a_second_costs_decides_the_speed() {
    let point = |busy_mw, sleep_mw, shared_mw, rate_permille| Point {
        at: Rung {
            rate_permille,
            ..Rung::default()
        },
        busy_mw,
        sleep_mw,
        shared_mw,
    };
    let points = [
        point(4000, 2000, 0, 500),
        point(5500, 2000, 500, 800),
        point(9000, 2000, 1000, 1000),
    ];
    let costs = |second_mw| points.map(|point| cost_uj(&point, second_mw));
    assert_eq!(costs(0), [4000, 5000, 8000]);
    assert_eq!(costs(4000), [12_000, 10_000, 12_000]);
    assert_eq!(costs(12_000), [28_000, 20_000, 20_000]);
    assert_eq!(cheapest(&points, 0), 0);
    assert_eq!(cheapest(&points, 4000), 1);
    assert_eq!(cheapest(&points, 12_000), 2, "of equals the faster");
    // Wholly memory-bound: all as fast, the one of least power.
    let bound = [point(4000, 1000, 0, 1000), point(8000, 1000, 0, 1000)];
    assert_eq!(cheapest(&bound, u32::MAX), 0);
}
