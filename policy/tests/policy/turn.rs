// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Turns on fast cores.

use crate::bench::{flat, Bench, MS};
use crate::phase::asymmetric;
use lop_policy::{hint_flags, rules, Config, CpuPlace};

/// When the second task has its first turn, in ms since it woke. It wakes on a slow CPU of half the speed with
/// `done_ms` of earlier work. The holder of the fast CPU has `holder_done_ms` of earlier work and has computed for
/// `computes_ms` since. Both have the hints `flags`.
fn first_turn_ms(holder_done_ms: u64, computes_ms: u64, done_ms: u64, flags: u32) -> Option<u64> {
    let mut bench = asymmetric(2, 1, rules::PHASES | rules::TURNS);
    let tasks = bench.tasks(2);
    for (&task, done_ms) in tasks.iter().zip([holder_done_ms, done_ms]) {
        bench.tasks[task].done_ns = done_ms * MS;
        bench.tasks[task].hint.flags = flags;
    }
    bench.wake(tasks[0]);
    bench.pass(computes_ms * MS);
    bench.wake(tasks[1]);
    assert_eq!([bench.cpu_of(tasks[0]), bench.cpu_of(tasks[1])], [Some(0), Some(1)]);
    (1..=100).map(|turn| turn * 20).find(|_| {
        bench.pass(20 * MS);
        bench.cpu_of(tasks[1]) == Some(0)
    })
}

/// After t ms the holder has done D + C + t and been awake for C + t; the other has done d + t / 2 and been awake for
/// t. It waits for its turn while 3 d + t / 2 < D + C and t < C; turns end every 20 ms.
#[test]
fn who_is_young_and_new_at_it_waits_for_a_turn() {
    for (holder_done_ms, computes_ms, done_ms, at_ms, why) in [
        (0, 0, 0, 20, "they began together"),
        (0, 300, 0, 300, "awake for half as long as the holder"),
        (0, 300, 90, 60, "270 + 60 / 2 = 300: a third of the holder's work"),
        (0, 300, 100, 20, "not young"),
        (900, 300, 0, 300, "young as ever, and not new any more"),
        (900, 10, 0, 20, "the holder slept, too"),
        (
            0,
            9000,
            0,
            1000,
            "not done within a second: it is no longer taken to be soon done",
        ),
    ] {
        let found_ms = first_turn_ms(holder_done_ms, computes_ms, done_ms, 0);
        assert_eq!(found_ms, Some(at_ms), "{why}");
    }
}

#[test]
fn sequential_phases_share_in_turn_however_new() {
    assert_eq!(first_turn_ms(900, 300, 0, hint_flags::SEQUENTIAL), Some(20));
}

/// How many of 120 turns each task has on a fast CPU, where as many tasks as CPUs compute all the time.
fn turns_of(cpus: usize, fast: usize) -> Vec<usize> {
    let mut bench = asymmetric(cpus, fast, rules::PHASES | rules::TURNS);
    let tasks = bench.tasks(cpus);
    bench.wake_all(&tasks);
    let mut turns = vec![0; cpus];
    for _ in 0..120 {
        bench.pass(20 * MS);
        for (&task, turns) in tasks.iter().zip(&mut turns) {
            *turns += usize::from(bench.cpu_of(task).is_some_and(|cpu| cpu < fast));
        }
    }
    turns
}

/// Each task has half of the turns where half of the CPUs are fast, and a third where a third is, even if more turns end at once than tasks move in one pass.
#[test]
fn fast_cores_are_shared_by_all() {
    for (cpus, fast, turns) in [
        (2, 1, 60),
        (3, 1, 40),
        (4, 2, 60),
        (16, 8, 60),
        (20, 10, 60),
        (40, 20, 60),
        (30, 10, 40),
    ] {
        assert_eq!(turns_of(cpus, fast), vec![turns; cpus], "{fast} of {cpus}");
    }
}

/// The slow CPU has the lowest number, as on phones. Both tasks have half of the turns, and two users half of the time, which they pay for: so has one whose
/// thread hints that it is awaited.
#[test]
fn a_slow_core_of_the_lowest_number_has_turns_too() {
    for (users, flags) in [([1, 1], 0), ([1, 2], 0), ([1, 2], hint_flags::SEQUENTIAL)] {
        let config = Config {
            rules: rules::PHASES | rules::TURNS,
            ..asymmetric(2, 1, 0).policy.config
        };
        let mut bench = Bench::new(2, config, |cpu| CpuPlace {
            tier: u16::from(cpu == 0),
            permille: [500, 1000][cpu],
            ..flat(cpu)
        });
        let tasks = bench.tasks(2);
        for (&task, user) in tasks.iter().zip(users) {
            bench.tasks[task].user = user;
        }
        bench.tasks[tasks[0]].hint.flags = flags;
        bench.wake_all(&tasks);
        let turns = (0..120).filter(|_| {
            bench.pass(20 * MS);
            bench.cpu_of(tasks[0]) == Some(1)
        });
        assert_eq!(turns.count(), 60, "{users:?} {flags}");
    }
}
