// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! No task is left behind: overdue tasks of low weight run next, each queue is served, virtual time wraps around.

use crate::bench::{config, flat, Bench, MS};
use lop_policy::{weight_of_nice, Config, CpuPlace};

const SCHED_IDLE: u32 = 3;
const WAIT_MAX_MS: u64 = 10_000;

fn bench_of(cpus: usize) -> Bench {
    Bench::new(cpus, Config { spare: 0, ..config() }, flat)
}

/// One CPU per memory domain.
fn two_domains() -> Bench {
    let place = |cpu: usize| CpuPlace {
        memory_domain: cpu as u16,
        ..flat(cpu)
    };
    Bench::new(2, Config { spare: 0, ..config() }, place)
}

fn set_weight(bench: &mut Bench, tasks: &[usize], weight: u32) {
    tasks.iter().for_each(|&task| bench.set_weight(task, weight));
}

/// By task: how long it ran, and the longest time in which it did not, up to the end of the run. In ms.
struct Story {
    ran_ms: Vec<u64>,
    longest_ms: Vec<u64>,
}

impl Story {
    fn share(&self, task: usize) -> f64 {
        self.ran_ms[task] as f64 / self.ran_ms.iter().sum::<u64>() as f64
    }
}

/// Every `tick_ms`, tasks on these CPUs are asked whether they go on, as in the kernel, for `all_ms`.
fn story(bench: &mut Bench, cpus: &[usize], tick_ms: u64, all_ms: u64) -> Story {
    let count = bench.tasks.len();
    let (mut last_ms, mut now_ms) = (vec![0; count], 0);
    let mut story = Story {
        ran_ms: vec![0; count],
        longest_ms: vec![0; count],
    };
    while now_ms < all_ms {
        bench.pass(tick_ms * MS);
        now_ms += tick_ms;
        for &cpu in cpus {
            let ran = bench.run_on(cpu, tick_ms * MS);
            story.ran_ms[ran] += tick_ms;
            story.longest_ms[ran] = story.longest_ms[ran].max(now_ms - last_ms[ran]);
            last_ms[ran] = now_ms;
        }
    }
    for (longest_ms, last_ms) in story.longest_ms.iter_mut().zip(last_ms) {
        *longest_ms = (*longest_ms).max(now_ms - last_ms);
    }
    story
}

/// SCHED_IDLE beside tasks of nice -20 has 3 parts of 88,821 or less, 1 ms in half a minute. It runs every 10 s plus a
/// look's period, not more often.
#[test]
fn who_weighs_little_runs_when_overdue() {
    for heavy in [1, 8] {
        let mut bench = bench_of(1);
        let tasks = bench.tasks(heavy + 1);
        set_weight(&mut bench, &tasks[..heavy], weight_of_nice(-20));
        set_weight(&mut bench, &tasks[heavy..], SCHED_IDLE);
        bench.wake_all(&tasks);
        let story = story(&mut bench, &[0], 1, 60_000);
        assert!(
            story.longest_ms[heavy] <= WAIT_MAX_MS + 600,
            "{heavy}: {:?}",
            story.longest_ms
        );
        assert!((5..=6).contains(&story.ran_ms[heavy]), "{heavy}: {:?}", story.ran_ms);
    }
}

/// After that the task owes nothing, and virtual time has not leapt by the 350 ms that it cost. A task of
/// nice 0 that then wakes waits for no more than what its credit of a slice and the others' leave, not for 350 ms
/// times 87.
#[test]
fn an_overdue_task_leaves_virtual_time_where_it_was() {
    let mut bench = bench_of(1);
    let tasks = bench.tasks(9);
    set_weight(&mut bench, &tasks[..8], weight_of_nice(-20));
    set_weight(&mut bench, &tasks[8..], SCHED_IDLE);
    bench.wake_all(&tasks);
    let before_ns = bench.policy.queues.clock_ns;
    assert!(story(&mut bench, &[0], 1, 31_000).ran_ms[8] >= 2);
    let passed_ns = bench.policy.queues.clock_ns - before_ns;
    assert!(
        passed_ns < 31_000 * MS * 1024 / (8 * 88_818) + 20 * MS,
        "virtual time moved by {passed_ns} ns"
    );
    let woken = bench.task();
    bench.wake(woken);
    assert!(story(&mut bench, &[0], 1, 1000).ran_ms[woken] > 0);
}

/// Hundreds of tasks that weigh next to nothing, in a group with cpu.idle or each alone: all of them run within half a
/// minute, the limit of the kernel's watchdog, and the task of normal weight keeps about half.
#[test]
fn crowds_of_light_tasks_are_all_served() {
    let rows = [
        (8, weight_of_nice(0), 128, true, 4),
        (8, weight_of_nice(0), 256, true, 1),
        (8, weight_of_nice(-20), 256, true, 4),
        (1, weight_of_nice(0), 100, true, 4),
        (1, weight_of_nice(-20), 600, false, 4),
        (1, weight_of_nice(-20), 1800, false, 4),
    ];
    for (cpus, heavy_weight, crowd, in_group, tick_ms) in rows {
        let mut bench = bench_of(cpus);
        let heavy = bench.tasks(cpus);
        let light = bench.tasks(crowd);
        set_weight(&mut bench, &heavy, heavy_weight);
        set_weight(&mut bench, &light, if in_group { 1024 } else { SCHED_IDLE });
        let group = bench.group(SCHED_IDLE);
        for &task in &light {
            bench.group_of[task] = in_group.then_some(group);
        }
        bench.wake_all(&heavy);
        bench.wake_all(&light);
        let all: Vec<usize> = (0..cpus).collect();
        let story = story(&mut bench, &all, tick_ms, 90_000);
        let longest_ms = story.longest_ms.iter().max();
        let what = format!("{crowd} beside {cpus} of weight {heavy_weight}: longest {longest_ms:?} ms");
        assert!(longest_ms < Some(&25_000), "{what}");
        let of_heavy: f64 = heavy.iter().map(|&task| story.share(task)).sum();
        assert!(of_heavy > 0.45, "{what}, {of_heavy} for the heavy");
    }
}

/// The task may use two of four CPUs, which ask after the others: a look by a CPU that may not run it does not count.
#[test]
fn a_light_task_of_limited_affinity_runs_when_overdue_too() {
    let mut bench = bench_of(4);
    let heavy = bench.tasks(8);
    set_weight(&mut bench, &heavy, weight_of_nice(-20));
    bench.wake_all(&heavy);
    let light = bench.pinned([2, 3]);
    set_weight(&mut bench, &[light], SCHED_IDLE);
    bench.wake(light);
    let story = story(&mut bench, &[0, 1, 2, 3], 1, 60_000);
    assert!(story.longest_ms[light] <= WAIT_MAX_MS + 1000, "{:?}", story.longest_ms);
}

/// A higher class keeps CPU 0 for good, so no CPU of its domain asks for what waits there. CPU 1 of the other domain
/// finds it, though its own task would go on each time.
#[test]
fn a_light_task_in_a_domain_that_nobody_serves_runs_when_overdue() {
    for heavy_nice in [-20, 0] {
        let mut bench = two_domains();
        let heavy = bench.tasks(2);
        set_weight(&mut bench, &heavy, weight_of_nice(heavy_nice));
        bench.wake_all(&heavy);
        let light = bench.task();
        set_weight(&mut bench, &[light], SCHED_IDLE);
        bench.last_cpu[light] = 0;
        bench.wake(light);
        let story = story(&mut bench, &[1], 1, 60_000);
        assert!(
            story.longest_ms[light] <= WAIT_MAX_MS + 1000,
            "nice {heavy_nice}: {:?}",
            story.longest_ms
        );
    }
}

/// The same with equal weights: two or more tasks on CPU 1, and one that waits in the other domain's queue. All share
/// alike.
#[test]
fn work_in_a_domain_that_nobody_serves_gets_its_share() {
    for others in 1..=3 {
        let mut bench = two_domains();
        let taken = bench.task();
        bench.wake(taken);
        let here = bench.tasks(others);
        for &task in &here {
            bench.last_cpu[task] = 1;
            bench.wake(task);
        }
        let waits = bench.task();
        bench.last_cpu[waits] = 0;
        bench.wake(waits);
        let story = story(&mut bench, &[1], 5, 60_000);
        let even = 1.0 / (others as f64 + 1.0);
        assert!(
            (story.share(waits) - even).abs() < 0.1 * even,
            "{others} others: {:?}",
            story.ran_ms
        );
    }
}

/// Two domains of one CPU each with unequal numbers of equal tasks. A CPU that checks whether its task goes on does
/// not skip the other domain's queue when it looks next.
#[test]
fn two_domains_share_alike() {
    for (in_first, in_second, tick_ms) in [(4, 2, 5), (6, 2, 5), (5, 3, 3), (5, 3, 5)] {
        let mut bench = two_domains();
        let count = in_first + in_second;
        let tasks = bench.tasks(count);
        for (index, &task) in tasks.iter().enumerate() {
            bench.last_cpu[task] = u32::from(index >= in_first);
        }
        let rest = (1..in_first).chain(in_first + 1..count);
        for index in [0, in_first].into_iter().chain(rest) {
            bench.wake(tasks[index]);
        }
        let story = story(&mut bench, &[0, 1], tick_ms, 60_000);
        let even = 1.0 / count as f64;
        for &task in &tasks {
            assert!(
                (story.share(task) - even).abs() < 0.1 * even,
                "{in_first}+{in_second}: {:?}",
                story.ran_ms
            );
        }
    }
}

/// A light group alone makes virtual time wrap around within days. It has no effect: three tasks that share a CPU
/// share alike, and none waits for longer than the other two run.
#[test]
fn virtual_time_may_come_round_to_zero() {
    let mut bench = bench_of(1);
    let tasks = bench.tasks(3);
    for &task in &tasks {
        bench.tasks[task].vtime_ns = u64::MAX - 50 * MS;
    }
    bench.policy_clock_to(tasks[0]);
    bench.wake_all(&tasks);
    let story = story(&mut bench, &[0], 1, 3000);
    assert!(bench.policy.queues.clock_ns < 10_000 * MS, "it came round");
    for &task in &tasks {
        assert!(story.ran_ms[task].abs_diff(1000) <= 20, "{:?}", story.ran_ms);
        assert!(story.longest_ms[task] <= 20, "{:?}", story.longest_ms);
    }
}

/// CPU 0 serves its own domain, where two tasks share it, and five others whose CPUs look for nothing. What waits in these
/// is more than a second ahead. Yet each of the six queues is served once in 6 * 61 looks: 61 is no multiple of 2, 3, 5 or 6, so
/// that it is the turn of another one each time.
#[test]
fn each_of_five_other_domains_is_served_out_of_turn() {
    let place = |cpu: usize| CpuPlace {
        memory_domain: cpu as u16,
        ..flat(cpu)
    };
    let mut bench = Bench::new(6, Config { spare: 0, ..config() }, place);
    for cpu in [0, 1, 2, 3, 4, 5, 0] {
        let task = bench.task();
        bench.last_cpu[task] = cpu;
        bench.wake(task);
    }
    let light: Vec<usize> = (0..60)
        .map(|n| {
            let task = bench.task();
            bench.last_cpu[task] = 1 + n % 5;
            bench.tasks[task].vtime_ns = u64::MAX / 4;
            bench.set_weight(task, SCHED_IDLE);
            bench.wake(task);
            task
        })
        .collect();
    let story = story(&mut bench, &[0], 1, 6 * 61);
    let served = |domain: usize| {
        light
            .iter()
            .skip(domain - 1)
            .step_by(5)
            .any(|&task| story.ran_ms[task] > 0)
    };
    assert!((1..6).all(served), "{:?}", story.ran_ms);
}

/// A task that starts after 5 s in its queue may have been taken as overdue, so it owes nothing: it was 8 ms ahead of the clock.
/// After less it still owes these 8 ms.
#[test]
fn a_task_that_has_waited_for_five_seconds_owes_nothing() {
    for (waited_ns, ahead_ms) in [(5000 * MS - 1, 8), (5000 * MS, 0)] {
        let mut bench = bench_of(1);
        let tasks = bench.tasks(2);
        bench.wake(tasks[0]);
        let clock_ns = bench.policy.queues.clock_ns;
        bench.tasks[tasks[1]].vtime_ns = clock_ns + 8 * MS;
        bench.wake(tasks[1]);
        bench.pass(waited_ns);
        bench.run_and_preempt(0, waited_ns);
        assert_eq!(bench.cpu_of(tasks[1]), Some(0));
        assert_eq!(
            bench.tasks[tasks[1]].vtime_ns - clock_ns,
            ahead_ms * MS,
            "{waited_ns} ns"
        );
    }
}

/// The CPU looks 9.8 s after the light task was queued, finds none that is overdue, and looks again 500 ms later.
#[test]
fn a_cpu_looks_for_overdue_tasks_twice_a_second() {
    let mut bench = bench_of(1);
    let tasks = bench.tasks(2);
    set_weight(&mut bench, &tasks[..1], weight_of_nice(-20));
    set_weight(&mut bench, &tasks[1..], SCHED_IDLE);
    bench.wake(tasks[0]);
    bench.wake(tasks[1]);
    bench.pass(9800 * MS - MS);
    let starts_ms = (9800..).find(|_| {
        bench.pass(MS);
        bench.run_on(0, MS);
        bench.cpu_of(tasks[1]) == Some(0)
    });
    assert_eq!(starts_ms, Some(10_300));
}
