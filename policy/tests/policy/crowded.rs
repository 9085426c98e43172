// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tasks that may run on a few crowded CPUs only, which get less than others, and who comes to them.

use crate::bench::{config, domains_of_two, flat, Bench, MS};
use lop_policy::CpuPlace;

/// Three tasks restricted to CPU 0 and one to CPU 1, after 3 s: that one has run 3 s, the others 1 s each.
fn two_cpus_apart() -> (Bench, Vec<usize>) {
    let mut bench = Bench::flat(2);
    let tasks: Vec<usize> = [0, 0, 0, 1].into_iter().map(|cpu| bench.pinned([cpu])).collect();
    bench.wake_all(&tasks);
    for _ in 0..3000 {
        bench.pass(MS);
        bench.run_and_preempt(0, MS);
        bench.run_and_preempt(1, MS);
    }
    (bench, tasks)
}

/// Milliseconds of the next 200 that each of the four tasks runs on a CPU.
fn next_200_ms(bench: &mut Bench, cpu: usize) -> [u32; 4] {
    let mut ran = [0; 4];
    for _ in 0..200 {
        bench.pass(MS);
        ran[bench.run_and_preempt(cpu, MS)] += 1;
    }
    ran
}

/// Three tasks restricted to CPU 0 and three to CPU 1 have run 1 s each when two others, on CPUs of their own, have run
/// 3 s. A task that may run on CPUs 0 and 1 wakes: from then on it has one of 7 parts of them, 57 ms of 400, and does
/// not wait for the 2 s. The same holds for a task that may also run on a third CPU, which is offline.
#[test]
fn a_task_of_two_crowded_cpus_has_its_share_of_them() {
    for allowed in [&[0, 1][..], &[0, 1, 4]] {
        let ran = ran_beside_crowds(allowed);
        assert!((45..=65).contains(&ran), "{ran} of 400 ms on {allowed:?}");
    }
}

fn ran_beside_crowds(allowed: &[usize]) -> usize {
    let mut bench = Bench::flat(5);
    bench.offline(4);
    let restricted = [0, 0, 0, 1, 1, 1, 2, 3].map(|cpu| bench.pinned([cpu]));
    bench.wake_all(&restricted);
    for _ in 0..3000 {
        bench.pass(MS);
        (0..4).for_each(|cpu| assert!(bench.run_and_preempt(cpu, MS) < 8));
    }
    let late = bench.pinned(allowed.iter().copied());
    bench.wake(late);
    let mut ran = 0;
    for _ in 0..200 {
        bench.pass(MS);
        ran += (0..4).filter(|&cpu| bench.run_and_preempt(cpu, MS) == late).count();
    }
    ran
}

/// Milliseconds of 200 that a task has which comes when groups of others have shared four CPUs for 3 s. Each group: how many,
/// and where they may run.
fn ran_beside_groups(bench: &mut Bench, groups: &[(usize, &[usize])], late: &[usize]) -> usize {
    let mut old = Vec::new();
    for &(count, allowed) in groups {
        old.extend((0..count).map(|_| bench.pinned(allowed.iter().copied())));
    }
    bench.wake_all(&old);
    for _ in 0..3000 {
        bench.pass(MS);
        (0..4).for_each(|cpu| assert!(old.contains(&bench.run_and_preempt(cpu, MS))));
    }
    let late = bench.pinned(late.iter().copied());
    bench.wake(late);
    let mut ran = 0;
    for _ in 0..200 {
        bench.pass(MS);
        ran += (0..4).filter(|&cpu| bench.run_and_preempt(cpu, MS) == late).count();
    }
    ran
}

/// Eight tasks have shared two CPUs for 3 s and are 1.1 or 2.2 s behind those on the other two. Whoever comes has its share
/// at once, neither nothing nor a CPU for itself: one of 9 parts of two CPUs beside the eight (44 ms), one of 3 or of 5 parts
/// beside two or four others (133, 80 ms). Whether it may run on one of the CPUs, on both, on one of each kind or on all; and
/// in one memory domain or in two.
#[test]
fn who_comes_late_has_its_share_beside_tasks_that_fell_behind() {
    const ALL: &[usize] = &[0, 1, 2, 3];
    for (place, crowded, free) in [
        (flat as fn(usize) -> CpuPlace, [0, 1], [2, 3]),
        (flat, [2, 3], [0, 1]),
        (domains_of_two, [0, 1], [2, 3]),
        (domains_of_two, [2, 3], [0, 1]),
    ] {
        for (others, allowed) in [(2, &free[..]), (2, ALL), (4, ALL)] {
            for (late, parts) in [
                (&crowded[..1], 9),
                (&crowded, 9),
                (&[crowded[1], 4], 9),
                (&[crowded[0], free[0]], others + 1),
                (&free[..1], others + 1),
                (&free, others + 1),
                (ALL, others + 1),
            ] {
                let mut bench = Bench::new(4, config(), place);
                let ran = ran_beside_groups(&mut bench, &[(8, &crowded), (others, allowed)], late);
                assert!(
                    ran.abs_diff(400 / parts) <= 10,
                    "{ran} of {} ms on {late:?}, {crowded:?} crowded, {others} others on {allowed:?}",
                    400 / parts
                );
            }
        }
    }
}

/// When the task of CPU 1 is sent to CPU 0, it does not wait for the 2 s that the tasks there are behind, but for a
/// slice of each and what it may owe. When one of those is sent to CPU 1, it does not keep CPU 1 for 2 s.
#[test]
fn a_task_that_changes_queues_competes_from_there() {
    for (who, from, to) in [(3_usize, 1, 0), (0, 0, 1)] {
        let (mut bench, tasks) = two_cpus_apart();
        while bench.cpu_of(tasks[who]) != Some(from) {
            bench.pass(MS);
            bench.run_and_preempt(from, MS);
        }
        bench.set_allowed(tasks[who], [to]);
        bench.run_and_preempt(from, MS);
        let ran = next_200_ms(&mut bench, to);
        let there = if to == 0 { 4 } else { 2 };
        assert!(ran[tasks[who]].abs_diff(200 / there) <= 20, "to CPU {to}: {ran:?}");
    }
}

/// After that one task is alone on CPU 0 while CPU 1 goes ahead: the task that comes from CPU 1 does not make up for
/// it.
#[test]
fn who_runs_alone_is_owed_nothing() {
    let (mut bench, tasks) = two_cpus_apart();
    let mut others = 2;
    while others > 0 {
        bench.pass(MS);
        if bench.running[0] == Some(tasks[0]) {
            bench.run_and_preempt(0, MS);
        } else {
            bench.run_and_block(0, MS);
            others -= 1;
        }
    }
    for _ in 0..10 {
        bench.pass(MS);
        bench.run_and_preempt(0, MS);
    }
    bench.set_allowed(tasks[3], [0]);
    bench.run_and_preempt(1, MS);
    let ran = next_200_ms(&mut bench, 0);
    assert!(ran[tasks[3]].abs_diff(100) <= 20, "{ran:?}");
}
