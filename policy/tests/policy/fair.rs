// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Fairness among tasks: weights, slices, bounded lag, and no queue left behind.

use crate::bench::{config, domains_of_two, flat, Bench, MS, S, US};
use lop_policy::{weight_of_nice, weight_of_share, Config, Group, Task, WEIGHT_DEFAULT};

fn one_cpu() -> Bench {
    Bench::new(1, Config { spare: 0, ..config() }, flat)
}

/// Run time by task after so many slices of 1 ms on CPU 0.
fn share(bench: &mut Bench, slices: usize) -> Vec<usize> {
    let mut ran = vec![0; bench.tasks.len()];
    for _ in 0..slices {
        bench.pass(MS);
        ran[bench.run_and_preempt(0, MS)] += 1;
    }
    ran
}

/// 1024 * 1.25^-nice: 1024 / 9.313 = 110 at nice 10. cpu.weight 1: 10.24, 3: 30.72, 10: 102.4, rounded.
#[test]
fn weights_are_those_of_the_kernels_fair_class() {
    for (nice, weight) in [
        (0, 1024),
        (-20, 88818),
        (-1, 1280),
        (1, 819),
        (10, 110),
        (17, 23),
        (18, 18),
        (19, 15),
        (40, 15),
    ] {
        assert_eq!(weight_of_nice(nice), weight, "nice {nice}");
    }
    for (share, weight) in [
        (1, 10),
        (3, 31),
        (10, 102),
        (100, WEIGHT_DEFAULT),
        (300, 3072),
        (10_000, 102_400),
        (20_000, 102_400),
    ] {
        assert_eq!(weight_of_share(share), weight, "cpu.weight {share}");
    }
    let mut bench = one_cpu();
    let task = bench.task();
    for (asked, weight) in [(0, 1), (88_818, 88_818), (u32::MAX, 102_400)] {
        bench.set_weight(task, asked);
        assert_eq!(bench.tasks[task].weight, weight);
    }
}

/// Group weight 100 with two default tasks: 100 * 100 / 200 = 50. Alone: 100. Weights 100 and 300 in a group of 200:
/// 200 * 100 / 400 = 50 and 200 * 300 / 400 = 150. Not in whole numbers: 11 * 100 / 176 = 6.25. The least: 1 / 1024.
#[test]
fn tasks_share_the_weight_of_their_group() {
    let bench = one_cpu();
    let group = |weight, active_weight| Group {
        load: Group::new(weight).load + active_weight,
        ..Group::new(weight)
    };
    let rows = [
        (100, None, 100.0),
        (100, Some(group(100, 100)), 100.0),
        (100, Some(group(100, 200)), 50.0),
        (100, Some(group(200, 400)), 50.0),
        (300, Some(group(200, 400)), 150.0),
        (1, Some(group(1, 1024)), 1.0 / 1024.0),
        (1, Some(group(1, 1_000_000)), 1.0 / 1024.0),
        (100, Some(group(100, 0)), 100.0),
        (11, Some(group(100, 176)), 6.25),
    ];
    for (weight, group, expected) in rows {
        assert_eq!(
            bench.policy.effective_weight(&Task::new(0, weight), group.as_ref()),
            expected,
            "{weight} in {group:?}"
        );
    }
}

/// Weights 3072 and 1024: of 400 slices 300 and 100, give or take a slice at either end.
#[test]
fn run_time_follows_weight() {
    let mut bench = one_cpu();
    let tasks = bench.tasks(2);
    bench.set_weight(tasks[0], 3072);
    bench.wake_all(&tasks);
    let ran = share(&mut bench, 400);
    assert!(ran[0].abs_diff(300) <= 8, "{ran:?}");
}

/// A group of the default weight with three tasks beside one task: 50 % for the group.
#[test]
fn a_group_gets_its_weight_whatever_the_number_of_its_tasks() {
    let mut bench = one_cpu();
    let tasks = bench.tasks(4);
    let group = bench.group(WEIGHT_DEFAULT);
    for &task in &tasks[..3] {
        bench.group_of[task] = Some(group);
    }
    bench.wake_all(&tasks);
    assert_eq!(bench.groups[group].active_weight(), 3 * WEIGHT_DEFAULT);
    let ran = share(&mut bench, 600);
    assert!(ran[3].abs_diff(300) <= 12, "{ran:?}");
    bench.block_all(&tasks);
    assert_eq!(bench.groups[group].active_weight(), 0);
}

/// Outer group of weight 200, in it two groups of weight 100 (two default tasks) and 300 (one): when all are active, 400 is
/// active in the outer one, so the inner ones have 200 * 100 / 400 = 50 and 150, and each of the two tasks 25.
#[test]
fn groups_in_groups_share_what_the_outer_one_has() {
    let mut bench = one_cpu();
    let tasks = bench.tasks(3);
    let outer = bench.policy.group(7);
    unsafe { *outer = Group::new(200) };
    let inner = [bench.group(100), bench.group(300)];
    for &group in &inner {
        bench.groups[group].parent = 7;
    }
    for (&task, group) in tasks.iter().zip([inner[0], inner[0], inner[1]]) {
        bench.group_of[task] = Some(group);
    }
    let active = || unsafe { (*outer).active_weight() };
    let weight = |bench: &mut Bench, task: usize| {
        let (_, _, group) = bench.pointers(task);
        bench
            .policy
            .effective_weight(&bench.tasks[task], unsafe { group.as_ref() })
    };
    bench.wake(tasks[0]);
    assert_eq!(
        (active(), weight(&mut bench, tasks[0])),
        (100, 200.0),
        "alone it has all"
    );
    bench.wake(tasks[1]);
    assert_eq!((active(), weight(&mut bench, tasks[0])), (100, 100.0));
    bench.wake(tasks[2]);
    assert_eq!(active(), 400);
    assert_eq!(
        [0, 1, 2].map(|n| weight(&mut bench, tasks[n])),
        [25.0, 25.0, 150.0],
        "three active"
    );
    let of_two: *mut Group = &mut bench.groups[inner[0]];
    unsafe { bench.policy.set_group_weight(of_two, 300, S) };
    assert_eq!(
        (active(), weight(&mut bench, tasks[0]), weight(&mut bench, tasks[2])),
        (600, 50.0, 100.0),
        "a new weight of an active group"
    );
    bench.block_all(&tasks);
    assert_eq!(active(), 0);
}

/// CPU 0 runs `ahead`, and `waits` is in the queue. The task further behind in virtual time runs; of equals the
/// waiting one.
#[test]
fn a_task_goes_on_while_nobody_that_waits_is_further_behind() {
    let mut bench = one_cpu();
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    let waits_ns = bench.tasks[tasks[1]].vtime_ns;
    for (vtime_ns, goes_on) in [(waits_ns - 1, true), (waits_ns, false), (waits_ns + 1, false)] {
        let mut task = bench.tasks[tasks[0]];
        task.vtime_ns = vtime_ns;
        assert_eq!(
            bench.policy.goes_on(&mut bench.world, &task, 0),
            goes_on,
            "{vtime_ns} beside {waits_ns}"
        );
    }
    bench.block(tasks[1]);
    assert!(
        bench.policy.goes_on(&mut bench.world, &bench.tasks[tasks[0]], 0),
        "alone"
    );
}

/// Two CPUs whose slices end at once: both see the task that is furthest behind, and the other CPU takes it. The next
/// task is ahead of the running one, which goes on.
#[test]
fn who_is_ahead_takes_no_place_because_another_cpu_was_first() {
    let mut bench = Bench::flat(2);
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks);
    let light = bench.task();
    bench.tasks[light].vtime_ns = bench.tasks[tasks[0]].vtime_ns + 9 * MS;
    bench.wake(light);
    bench.world.seen_is_gone = true;
    bench.run_on(0, 6 * MS);
    assert_eq!(bench.cpu_of(tasks[0]), Some(0));
    assert_eq!(bench.cpu_of(light), None);
    bench.world.seen_is_gone = false;
    bench.run_on(0, 6 * MS);
    assert_eq!(bench.cpu_of(light), Some(0), "now it is further behind");
}

/// The task furthest behind may run on CPUs 1 and 2 only, and the next one is ahead of the task on CPU 0.
#[test]
fn who_is_ahead_takes_no_place_beside_one_that_may_not_run_here() {
    let mut bench = Bench::flat(3);
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks);
    let restricted = bench.task();
    bench.set_allowed(restricted, [1, 2]);
    bench.wake(restricted);
    let light = bench.task();
    bench.tasks[light].vtime_ns = bench.tasks[tasks[0]].vtime_ns + 9 * MS;
    bench.wake(light);
    bench.run_on(0, 6 * MS);
    assert_eq!(bench.cpu_of(tasks[0]), Some(0));
    bench.run_on(0, 6 * MS);
    assert_eq!(bench.cpu_of(light), Some(0), "now it is further behind");
}

#[test]
fn a_new_weight_of_an_active_task_changes_its_groups_sum() {
    let mut bench = one_cpu();
    let task = bench.task();
    let group = bench.group(100);
    bench.group_of[task] = Some(group);
    bench.wake(task);
    let (pointer, _, of_group) = bench.pointers(task);
    unsafe { bench.policy.set_weight(pointer, of_group, 250, S) };
    assert_eq!(bench.groups[group].active_weight(), 250);
    bench.block(task);
    assert_eq!(bench.groups[group].active_weight(), 0);
}

/// period * |H| / active = 20 ms * 2 / active on 2 cores, between 1 and 5 ms: 1 task 20 -> 5; 10 tasks 4; 16 tasks 2.5; 80 tasks 0.5 -> 1.
#[test]
fn slices_shrink_with_the_load_down_to_the_minimum() {
    for (active, slice_ns) in [(1, 5 * MS), (10, 4 * MS), (16, 2500 * US), (80, MS)] {
        let mut bench = Bench::flat(2);
        let tasks = bench.tasks(active);
        bench.wake_all(&tasks);
        assert_eq!(bench.policy.slice_ns(), slice_ns, "{active} active");
    }
}

/// Restricted to one of two CPUs, one task runs, and the last to come is one of n - 1 that wait: 20 ms / (n - 1), which
/// is less than 20 * 2 / n.
#[test]
fn where_tasks_are_restricted_slices_shrink_with_their_queue() {
    for (restricted, slice_ns) in [(3, 5 * MS), (11, 2 * MS), (41, MS)] {
        let mut bench = Bench::flat(2);
        let tasks: Vec<usize> = (0..restricted).map(|_| bench.pinned([0])).collect();
        bench.wake_all(&tasks);
        assert_eq!(bench.world.slice_ns, slice_ns, "{restricted} restricted to one CPU");
    }
}

/// With a clock at 1000 ms and slices of 5 ms: at least 995 ms, at most 1000 + 5 + 5 * 1024 / 1024 = 1010 ms; weight 512: 1015.
#[test]
fn lag_is_bounded_on_both_sides_at_a_wakeup() {
    let rows = [
        (1, 1024, 995),
        (997, 1024, 997),
        (1010, 1024, 1010),
        (5000, 1024, 1010),
        (5000, 512, 1015),
    ];
    for (vtime_ms, weight, expected_ms) in rows {
        let mut bench = one_cpu();
        let ahead = bench.task();
        bench.tasks[ahead].vtime_ns = 1000 * MS;
        unsafe { bench.policy.running(&mut bench.world, &mut bench.tasks[ahead], 0, 0) };
        assert_eq!(bench.policy.queues.clock_ns, 1000 * MS);
        let task = bench.task();
        bench.tasks[task].weight = weight;
        bench.tasks[task].vtime_ns = vtime_ms * MS;
        bench.wake(task);
        assert_eq!(
            bench.tasks[task].vtime_ns,
            expected_ms * MS,
            "{vtime_ms} ms, weight {weight}"
        );
    }
}

/// Time alone, then time beside a waiting task, and the charge for both: beyond a slice of 5 ms only the time in which
/// another task waited.
#[test]
fn having_been_alone_costs_a_slice() {
    for (alone_ms, beside_ms, charged_ms) in [
        (2, 0, 2),
        (10_000, 0, 5),
        (10_000, 2, 7),
        (2, 200, 202),
        (0, 10_000, 10_000),
    ] {
        let mut bench = one_cpu();
        let (long, late) = (bench.task(), bench.task());
        bench.wake(long);
        let before_ns = bench.tasks[long].vtime_ns;
        bench.pass(alone_ms * MS);
        if beside_ms > 0 {
            bench.wake(late);
            bench.pass(beside_ms * MS);
        }
        bench.run_and_preempt(0, (alone_ms + beside_ms) * MS);
        let charged_ns = bench.tasks[long].vtime_ns - before_ns;
        assert_eq!(
            charged_ns,
            charged_ms * MS,
            "{alone_ms} ms alone, {beside_ms} ms beside another"
        );
    }
}

/// The task ran alone for 10 s; then another comes. It does not wait 10 s in return.
#[test]
fn a_task_that_ran_alone_is_not_punished_for_it() {
    let mut bench = one_cpu();
    let (long, late) = (bench.task(), bench.task());
    bench.wake(long);
    bench.pass(10 * S);
    bench.wake(late);
    bench.run_and_preempt(0, 10 * S);
    let mut waited = 0;
    while bench.cpu_of(long).is_none() {
        bench.pass(MS);
        bench.run_and_preempt(0, MS);
        waited += 1;
        assert!(waited <= 15, "{waited} ms");
    }
}

/// A script starts one process after the other, each 1 ms long, beside a long computation: half the time for each.
#[test]
fn a_stream_of_new_tasks_does_not_starve_an_old_one() {
    let mut bench = one_cpu();
    let long = bench.task();
    bench.wake(long);
    let mut ran = 0;
    for _ in 0..400 {
        let short = bench.task();
        bench.wake(short);
        while bench.cpu_of(short).is_none() {
            bench.pass(MS);
            bench.run_and_preempt(0, MS);
            ran += 1;
        }
        bench.pass(MS);
        bench.run_and_block(0, MS);
    }
    assert!(
        (200..=800).contains(&ran),
        "the long task ran {ran} ms beside 400 ms of short ones"
    );
}

/// Three tasks that may run anywhere and one pinned task, all on one CPU: a quarter each, though the shared queue is
/// never empty.
#[test]
fn the_pinned_queue_gets_its_share_beside_the_shared_one() {
    let mut bench = Bench::new(2, Config { spare: 0, ..config() }, flat);
    bench.offline(1);
    let tasks = [bench.task(), bench.task(), bench.task(), bench.pinned([0])];
    bench.wake_all(&tasks);
    let ran = share(&mut bench, 400);
    assert!(ran.iter().all(|ran| ran.abs_diff(100) <= 10), "{ran:?}");
}

/// Two domains of two CPUs. At home one task waits that may not run on CPU 0, and one that is ahead. The task that
/// waits in the other domain is 1 ms behind the task on CPU 0, which is not enough to change domains for.
#[test]
fn another_domain_is_not_asked_within_a_slice() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, domains_of_two);
    let tasks = bench.tasks(4);
    bench.wake_all(&tasks);
    let runs = bench.running[0].expect("four tasks on four CPUs");
    let from_ns = bench.tasks[runs].vtime_ns;
    for (cpu, vtime_ns, allowed) in [(0, 0, Some([1, 2])), (0, 4 * MS, None), (3, 2 * MS, None)] {
        let id = bench.task();
        bench.last_cpu[id] = cpu;
        bench.tasks[id].vtime_ns = from_ns + vtime_ns;
        if let Some(cpus) = allowed {
            bench.set_allowed(id, cpus);
        }
        bench.wake(id);
    }
    bench.run_on(0, 3 * MS);
    assert_eq!(bench.running[0], Some(runs));
}

/// Six tasks wait in domain 1, whose cores are gone; domain 0 never runs out of its own tasks.
#[test]
fn work_in_a_domain_that_no_member_serves_is_run_by_others() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, domains_of_two);
    let tasks = bench.tasks(10);
    for &task in &tasks[5..] {
        bench.last_cpu[task] = 3;
    }
    bench.wake_all(&tasks);
    let mut last_ran = [0; 10];
    for round in 1..=200 {
        // Only domain 0 asks for work.
        for cpu in 0..2 {
            bench.pass(MS);
            last_ran[bench.run_and_preempt(cpu, MS)] = round;
        }
    }
    let held = [2, 3].map(|cpu| bench.running[cpu].expect("it runs"));
    for task in tasks.into_iter().filter(|task| !held.contains(task)) {
        assert!(
            last_ran[task] > 150,
            "task {task} ran last in round {} of 200",
            last_ran[task]
        );
    }
}

/// Nice 18 and 19 weigh 18 and 15: 45.5 % for the lighter. SCHED_IDLE beside nice 19: 3 of 18, a sixth.
#[test]
fn the_lightest_tasks_share_by_weight_too() {
    for (weights, lighter) in [([18, 15], 15.0 / 33.0), ([15, 3], 3.0 / 18.0)] {
        let mut bench = one_cpu();
        let tasks = bench.tasks(2);
        for (&task, weight) in tasks.iter().zip(weights) {
            bench.set_weight(task, weight);
        }
        bench.wake_all(&tasks);
        let ran = share(&mut bench, 4000);
        let found = ran[1] as f64 / 4000.0;
        assert!((found - lighter).abs() < 0.02 * lighter, "{weights:?}: {ran:?}");
    }
}

/// cpu.weight 10 with 40 threads beside one task: 102 of 1126 for all 40 together, 9.1 %, in equal shares.
#[test]
fn a_light_group_of_many_gets_its_weight() {
    let mut bench = one_cpu();
    let tasks = bench.tasks(41);
    let group = bench.group(weight_of_share(10));
    for &task in &tasks[..40] {
        bench.group_of[task] = Some(group);
    }
    bench.wake_all(&tasks);
    let ran = share(&mut bench, 40_000);
    let of_group = ran[..40].iter().sum::<usize>() as f64 / 40_000.0;
    assert!((of_group / (102.0 / 1126.0) - 1.0).abs() < 0.05, "{of_group}: {ran:?}");
}

/// Tasks of nice 18 and 19 on CPU 0 and one of nice 0 on CPU 1, in one group.
fn two_light_and_one_beside() -> (Bench, [usize; 3]) {
    let mut bench = Bench::new(2, Config { spare: 0, ..config() }, flat);
    let tasks = [bench.pinned([0]), bench.pinned([0]), bench.pinned([1])];
    let group = bench.group(WEIGHT_DEFAULT);
    for (&task, weight) in tasks.iter().zip([18, 15, WEIGHT_DEFAULT]) {
        bench.group_of[task] = Some(group);
        bench.set_weight(task, weight);
    }
    bench.wake_all(&tasks[..2]);
    (bench, tasks)
}

/// A slice of 8 ms on CPU 0, with that task awake for its last 0.2 ms. Returns its cost, relative to the cost by
/// weight.
fn slice_with(bench: &mut Bench, beside: Option<usize>) -> (usize, f64) {
    let id = bench.running[0].expect("runs");
    let before_ns = bench.tasks[id].vtime_ns;
    bench.pass(7800 * US);
    if let Some(task) = beside {
        bench.wake(task);
    }
    bench.pass(200 * US);
    bench.run_on(0, 8 * MS);
    if let Some(task) = beside {
        bench.block(task);
    }
    let of_group = f64::from(bench.tasks[id].weight) / 33.0;
    (
        id,
        (bench.tasks[id].vtime_ns - before_ns) as f64 * of_group / (8 * MS) as f64,
    )
}

/// The mean of the active weight is then 33 + 1024 * 0.2 / 16.8 = 45.2: 1.37 slices, and not 1057 / 33 = 32.
#[test]
fn who_wakes_for_a_moment_does_not_make_a_slice_dear() {
    let (mut bench, [_, _, beside]) = two_light_and_one_beside();
    let cost = (0..20).map(|_| slice_with(&mut bench, None).1).last().unwrap();
    assert!((cost - 1.0).abs() < 0.001, "{cost}");
    let (_, cost) = slice_with(&mut bench, Some(beside));
    assert!((1.3..1.45).contains(&cost), "{cost}");
}

/// A task of nice 0 becomes SCHED_IDLE. The mean covers 16.8 ms before the end of the slice; with the task's own 1024
/// in half of that, it would pay for 30 slices.
#[test]
fn who_becomes_light_does_not_pay_for_what_it_was() {
    let (mut bench, [heavier, ..]) = two_light_and_one_beside();
    let group = bench.group_of[heavier].expect("in a group");
    assert_eq!(bench.running[0], Some(heavier));
    bench.set_weight(heavier, WEIGHT_DEFAULT);
    bench.pass(40 * MS);
    let mean = |bench: &Bench| bench.groups[group].mean_1024 >> 10;
    bench.set_weight(heavier, 3);
    assert_eq!(mean(&bench), 18, "3 and 15");
    let before_ns = bench.tasks[heavier].vtime_ns;
    bench.pass(8 * MS);
    bench.run_on(0, 8 * MS);
    let cost = (bench.tasks[heavier].vtime_ns - before_ns) as f64 * (3.0 / 18.0) / (8 * MS) as f64;
    assert!((cost - 1.0).abs() < 0.01, "{cost} slices");
}

/// Every 32nd slice ends so, and always a slice of the same task: by weight it still has 18 of 33.
#[test]
fn shares_do_not_follow_who_is_awake_when_a_slice_ends() {
    let (mut bench, [heavier, _, beside]) = two_light_and_one_beside();
    let mut ran = 0;
    let mut since = 0;
    for _ in 0..3200 {
        since += 1;
        let wakes = since >= 32 && bench.running[0] == Some(heavier);
        if wakes {
            since = 0;
        }
        ran += usize::from(slice_with(&mut bench, wakes.then_some(beside)).0 == heavier);
    }
    let share = ran as f64 / 3200.0;
    assert!((share - 18.0 / 33.0).abs() < 0.02, "{share}");
}

/// Eight tasks in bursts: the mean covers only time in which any task was active.
#[test]
fn the_time_in_which_a_group_sleeps_does_not_make_its_slices_cheap() {
    let mut bench = one_cpu();
    let tasks = bench.tasks(8);
    let group = bench.group(WEIGHT_DEFAULT);
    for &task in &tasks {
        bench.group_of[task] = Some(group);
    }
    for _ in 0..20 {
        bench.wake_all(&tasks);
        bench.pass(10 * MS);
        bench.run_on(0, 10 * MS);
        bench.block_all(&tasks);
        bench.pass(100 * MS);
    }
    let mean = bench.groups[group].mean_1024 as f64 / 1024.0 / f64::from(8 * WEIGHT_DEFAULT);
    assert!((mean - 1.0).abs() < 0.001, "{mean}");
}

/// Of 16 tasks one goes on alone, as behind a barrier, or as one that wakes an hour after the others did. Its first
/// slice may cost more, since the others were active a moment before; the next ones cost what they take.
#[test]
fn who_goes_on_alone_does_not_pay_for_who_sleeps() {
    for sleeps_ns in [0, 3600 * S] {
        let mut bench = one_cpu();
        let tasks = bench.tasks(16);
        let group = bench.group(WEIGHT_DEFAULT);
        for &task in &tasks {
            bench.group_of[task] = Some(group);
        }
        bench.wake_all(&tasks);
        bench.pass(20 * MS);
        bench.block_all(&tasks[1..]);
        if sleeps_ns > 0 {
            bench.block(tasks[0]);
            bench.pass(sleeps_ns);
            bench.wake(tasks[0]);
        }
        assert_eq!(bench.cpu_of(tasks[0]), Some(0));
        let slice = |bench: &mut Bench| {
            let before_ns = bench.tasks[tasks[0]].vtime_ns;
            bench.pass(4 * MS);
            bench.run_on(0, 4 * MS);
            bench.tasks[tasks[0]].vtime_ns - before_ns
        };
        let costs: Vec<u64> = (0..3).map(|_| slice(&mut bench)).collect();
        assert_eq!(costs[1..], [4 * MS; 2], "{costs:?}");
    }
}

/// Eleven tasks share two CPUs: 20 * 2 / 11 = 3.636 ms, however many of them wait in the one queue of both.
#[test]
fn in_a_shared_queue_slices_do_not_shrink_with_its_length() {
    let mut bench = Bench::flat(2);
    let tasks = bench.tasks(11);
    bench.wake_all(&tasks);
    assert_eq!(bench.world.slice_ns, 40 * MS / 11);
}

/// A task that owes 5 ms stopped on CPU 0, which was apart. While it slept a task alone there did not pay for 2 or 8 ms, which
/// counts for the sleeper: 3 ms, and 0. Not where the task stopped elsewhere, and not beyond the clock: 1 ms behind stays 1 ms.
#[test]
fn what_another_did_not_pay_works_off_debt_but_earns_nothing() {
    for (stopped_there, owes_ms, forgiven_ms, expected_ms) in
        [(true, 5, 2, 3), (true, 5, 8, 0), (false, 5, 8, 5), (true, -1, 3, -1)]
    {
        let mut bench = one_cpu();
        let (runs, sleeper) = (bench.task(), bench.task());
        bench.tasks[runs].vtime_ns = 1000 * MS;
        bench.policy_clock_to(runs);
        let task = &mut bench.tasks[sleeper];
        task.vtime_ns = (1000 * MS).wrapping_add_signed(owes_ms * MS as i64);
        task.owes_at = stopped_there.into();
        bench.owner.sched().queues.forgiven_ns.ns = [forgiven_ms * MS; 512];
        bench.wake(sleeper);
        let ahead_ns = bench.tasks[sleeper].vtime_ns.wrapping_sub(1000 * MS) as i64;
        assert_eq!(ahead_ns, expected_ms * MS as i64, "{owes_ms} ms, {forgiven_ms} ms");
    }
}
