// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A program that lies in every field beside an honest one. All its threads say that they are awaited, hold a lock and have most work left, and it says
//! that one thread of it runs. Each sleeps for a moment after each ms, so that it is woken, and takes a CPU.

use crate::bench::{config, flat, Bench, MS};
use crate::pace::{clock_wakes, cycle, points, two_kinds};
use crate::phase::{asymmetric, MIGRATION};
use lop_policy::{hint_flags, rules, Config, Sizing};

const HONEST: u32 = 1000;
const SECONDS: usize = 4;
const TURN_MS: u64 = 20;

struct Case {
    cpus: usize,
    fast: usize,
    liars: usize,
    honest: usize,
    user: u32,
}

/// Of each second, the ms of CPU time of each liar, and how many of a fast CPU all had.
struct Had {
    cpu_ms: Vec<u64>,
    fast_ms: u64,
}

fn threads(bench: &mut Bench, count: usize, user: u32, parallelism: u32) -> Vec<usize> {
    let app = bench.app(0);
    let ids: Vec<usize> = (0..count).map(|_| bench.task_of(app)).collect();
    for &id in &ids {
        (bench.tasks[id].user, bench.tasks[id].user_weight) = (user, 1024);
        bench.wake(id);
    }
    bench.declare(app, parallelism);
    ids
}

/// One ms on each CPU: then the honest thread queues, and a liar blocks and wakes.
fn tick(bench: &mut Bench, liars: &[usize], had: &mut Had) {
    bench.pass(MS);
    let running = bench.running.clone();
    let mut slept = Vec::new();
    for (cpu, id) in running.into_iter().enumerate() {
        let Some(id) = id.filter(|&id| bench.running[cpu] == Some(id)) else {
            continue;
        };
        let Some(liar) = liars.iter().position(|&liar| liar == id) else {
            bench.run_and_preempt(cpu, MS);
            continue;
        };
        had.cpu_ms[liar] += 1;
        had.fast_ms += u64::from(bench.policy.topology.tier[cpu] == 0);
        bench.run_and_block(cpu, MS);
        slept.push(id);
    }
    bench.wake_all(&slept);
}

fn run(case: &Case) -> Vec<Had> {
    let mut bench = asymmetric(case.cpus, case.fast, rules::PHASES | rules::TURNS | rules::LONGEST);
    threads(&mut bench, case.honest, HONEST, case.honest as u32);
    let liars = threads(&mut bench, case.liars, case.user, 1);
    for &id in &liars {
        bench.tasks[id].hint.length = u32::MAX;
        bench.set_hints(id, hint_flags::SEQUENTIAL | hint_flags::LOCK_HOLDER);
    }
    let second = |_| {
        let mut had = Had {
            cpu_ms: vec![0; liars.len()],
            fast_ms: 0,
        };
        (0..1000).for_each(|_| tick(&mut bench, &liars, &mut had));
        had
    };
    (0..SECONDS).map(second).collect()
}

/// In each second no liar has more than its share of CPU time and two slices of 5 ms, and between two users all liars together no more of the fast CPUs
/// than their user's half and a turn on each.
#[test]
fn who_lies_in_every_field_has_no_more_than_its_share() {
    for user in [HONEST, HONEST + 1] {
        for (cpus, fast, liars, honest) in [
            (2, 2, 1, 2),
            (2, 2, 3, 3),
            (4, 4, 1, 7),
            (2, 1, 1, 2),
            (4, 2, 4, 4),
            (4, 2, 2, 8),
        ] {
            let case = Case {
                cpus,
                fast,
                liars,
                honest,
                user,
            };
            let share_ms = (1000 * cpus / (liars + honest)) as u64;
            let found = run(&case);
            let all: Vec<_> = found.iter().map(|had| (&had.cpu_ms, had.fast_ms)).collect();
            let about = format!("{liars} beside {honest} on {cpus} CPUs, {fast} fast, user {user}: {all:?}");
            assert!(
                found.iter().all(|had| had.cpu_ms.iter().all(|&ms| ms <= share_ms + 10)),
                "{about}"
            );
            if user != HONEST && fast < cpus {
                let most_ms = fast as u64 * (500 + TURN_MS);
                assert!(found.iter().all(|had| had.fast_ms <= most_ms), "{about}");
            }
        }
    }
}

/// Two CPUs are for five threads and an awaited one, which share them; another one is busy with work of its own.
fn sharing_two() -> Config {
    Config {
        rules: rules::PHASES,
        migration_ns: MIGRATION,
        grace_ns: 10 * MS,
        sizing: Sizing::Fixed,
        fixed_size: 2,
        spare: 0,
        ..config()
    }
}

/// CPU 0 is isolated, and a task is bound there. It gets on three times as fast as each of the six.
fn beside_a_bound_one() -> Bench {
    let mut bench = Bench::isolating(&[0], 3, sharing_two(), flat);
    let bound = bench.pinned([0]);
    bench.wake(bound);
    bench
}

/// A task that needs 8 of 10 ms on a slow CPU, its home.
fn beside_a_paced_one() -> (Bench, usize) {
    let mut bench = Bench::new(4, sharing_two().with_ladder(&points()), two_kinds);
    let paced = bench.task();
    (0..12).for_each(|_| _ = cycle(&mut bench, paced, 1_600_000, 10 * MS));
    (bench, paced)
}

/// 5 ms of the two CPUs: who ran leaves, and the awaited thread sleeps for a moment. How long that one ran.
fn slice(bench: &mut Bench, cpus: [usize; 2], liar: usize) -> u64 {
    let at = bench.cpu_of(liar);
    for cpu in cpus.into_iter().filter(|&cpu| Some(cpu) != at) {
        bench.run_and_preempt(cpu, 5 * MS);
    }
    let Some(cpu) = at else { return 0 };
    bench.run_and_block(cpu, 5 * MS);
    bench.wake(liar);
    5
}

fn liar_beside_five(bench: &mut Bench) -> usize {
    threads(bench, 5, HONEST, 5);
    threads(bench, 1, HONEST, 1)[0]
}

/// That nobody waits for the CPU of the other task lets nobody catch up: the awaited thread has a third of a second, and at most two slices of 5 ms more.
fn has_its_share(had_ms: u64) {
    assert!((1000 / 3 - 10..=1000 / 3 + 10).contains(&had_ms), "{had_ms} ms");
}

#[test]
fn who_runs_alone_on_an_isolated_cpu_lets_nobody_catch_up() {
    let mut bench = beside_a_bound_one();
    let liar = liar_beside_five(&mut bench);
    let mut had_ms = 0;
    for _ in 0..200 {
        bench.pass(5 * MS);
        bench.run_on(0, 5 * MS);
        had_ms += slice(&mut bench, [1, 2], liar);
    }
    has_its_share(had_ms);
}

#[test]
fn who_is_paced_lets_nobody_catch_up() {
    let (mut bench, paced) = beside_a_paced_one();
    let liar = liar_beside_five(&mut bench);
    let mut had_ms = 0;
    for _ in 0..100 {
        clock_wakes(&mut bench, paced);
        bench.pass(5 * MS);
        let home = bench.cpu_of(paced).expect("it has its home for itself");
        bench.run_on(home, 5 * MS);
        had_ms += slice(&mut bench, [0, 1], liar);
        bench.pass(3 * MS);
        bench.run_and_block(home, 3 * MS);
        bench.pass(2 * MS);
        had_ms += slice(&mut bench, [0, 1], liar);
    }
    has_its_share(had_ms);
}

/// A task is ahead when it stops if one that waits there is a slice of 5 ms behind it, in the queue of all or in that of the CPU alone.
#[test]
fn who_is_a_slice_ahead_of_one_that_waits_there_is_ahead() {
    for restricted in [false, true] {
        for (ahead_ns, expected) in [(5 * MS - 1, false), (5 * MS, true)] {
            let mut bench = Bench::new(2, sharing_two(), flat);
            let tasks = bench.tasks(2);
            bench.wake_all(&tasks);
            let waits = if restricted { bench.pinned([0]) } else { bench.task() };
            bench.wake(waits);
            bench.tasks[tasks[0]].vtime_ns = bench.tasks[waits].vtime_ns + ahead_ns - MS;
            bench.leave(0, MS, true);
            assert_eq!(
                bench.tasks[tasks[0]].ahead, expected,
                "{ahead_ns} ns, restricted: {restricted}"
            );
        }
    }
}
