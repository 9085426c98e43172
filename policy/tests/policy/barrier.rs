// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A core is reserved for as long as the load is barrier-bound.

use crate::bench::{config, flat, siblings, Bench, MS, S};
use lop_policy::{Config, CpuPlace, Reserve};

fn bench(cpus: usize, place: impl Fn(usize) -> CpuPlace) -> Bench {
    let by_load = Config {
        reserve: Reserve::ByLoad,
        spare: 0,
        ..config()
    };
    Bench::new(cpus, by_load, place)
}

fn threads(bench: &mut Bench, count: usize) -> Vec<usize> {
    let app = bench.app(0);
    (0..count).map(|_| bench.task_of(app)).collect()
}

/// All threads wake. The first blocks after `first_ns`, the others but the last at equal distances up to `last_ns`, and
/// the last 1 us later.
fn round(bench: &mut Bench, threads: &[usize], first_ns: u64, last_ns: u64) {
    bench.wake_all(threads);
    let between = (threads.len() as u64).saturating_sub(2).max(1);
    bench.pass(first_ns);
    for (n, &thread) in threads.iter().enumerate() {
        if n > 0 && n + 1 < threads.len() {
            bench.pass((last_ns - first_ns) / between);
        }
        if n + 1 == threads.len() {
            bench.pass(1000);
        }
        bench.block(thread);
    }
}

fn rounds(bench: &mut Bench, threads: &[usize], count: usize, first_ns: u64, last_ns: u64) {
    (0..count).for_each(|_| round(bench, threads, first_ns, last_ns));
}

/// CPUs, threads, when the first and the last thread block (in ms), rounds: whether a core is reserved.
#[test]
fn four_short_rounds_of_half_the_cores_to_which_enough_is_left() {
    for (cpus, count, first_ms, last_ms, nr_rounds, expected) in [
        (8, 7, 1, 1, 4, true),
        (8, 7, 1, 1, 3, false),  // at least four
        (8, 4, 1, 1, 4, true),   // half of the cores
        (8, 3, 1, 1, 4, false),  // fewer
        (8, 4, 99, 99, 4, true), // at most 100 ms
        (8, 4, 101, 101, 4, false),
        (7, 6, 1, 1, 9, false), // at least eight cores
        (8, 8, 1, 3, 4, true),  // the thread that waits for a CPU begins after 1 ms and is done after 2
        (8, 8, 2, 3, 9, false), // it begins after 2 and would be done after 4
        (8, 8, 1, 1, 9, false), // a barrier that all reach together
        (8, 9, 1, 3, 9, false), // two would wait
        (16, 16, 1, 3, 4, true),
    ] {
        let mut bench = bench(cpus, flat);
        let ids = threads(&mut bench, count);
        rounds(&mut bench, &ids, nr_rounds, first_ms * MS, last_ms * MS);
        let what = format!("{cpus} CPUs, {count} threads, {first_ms} to {last_ms} ms, {nr_rounds} rounds");
        assert_eq!(bench.reserved().is_some(), expected, "{what}");
    }
}

/// Eight cores of two siblings: the reserved CPU's sibling runs at its speed, so 14 CPUs are left.
#[test]
fn a_sibling_of_the_reserved_cpu_does_not_count_as_left() {
    for (cpus, count, expected) in [(16, 14, true), (16, 15, false), (14, 12, false)] {
        let mut bench = bench(cpus, siblings);
        let ids = threads(&mut bench, count);
        rounds(&mut bench, &ids, 4, MS, 3 * MS);
        assert_eq!(bench.reserved().is_some(), expected, "{count} of {cpus}");
    }
}

/// Seven threads that take turns at a lock: more than one is always active, so no round ends. Then a pool whose pieces
/// of work each wake a few threads.
#[test]
fn convoys_and_pools_have_no_rounds() {
    let mut convoy = bench(8, flat);
    let ids = threads(&mut convoy, 7);
    convoy.wake_all(&ids);
    for turn in 0..200 {
        convoy.pass(MS / 10);
        convoy.block(ids[turn % 7]);
        convoy.pass(MS / 10);
        convoy.wake(ids[turn % 7]);
    }
    assert_eq!(convoy.reserved(), None);

    let mut pool = bench(8, flat);
    let ids = threads(&mut pool, 8);
    for piece in 0..200 {
        // Two to four at a time: another number in each round.
        let at_once = 2 + piece % 3;
        rounds(&mut pool, &ids[..at_once], 1, MS, MS);
    }
    assert_eq!(pool.reserved(), None);
}

/// One thread computes for 80 ms while the other seven wait for it, then all compute for 10 ms: eight threads on eight
/// cores, all of them active until the round ends.
#[test]
fn sequential_phases_between_rounds_are_no_time_to_wait_in() {
    let mut bench = bench(8, flat);
    let ids = threads(&mut bench, 8);
    for _ in 0..6 {
        bench.wake(ids[0]);
        bench.pass(80 * MS);
        bench.wake_all(&ids[1..]);
        bench.pass(10 * MS);
        bench.block_all(&ids);
    }
    assert_eq!(bench.reserved(), None);
}

#[test]
fn it_ends_a_second_after_the_last_round_and_comes_back_with_rounds() {
    let mut bench = bench(8, flat);
    let ids = threads(&mut bench, 7);
    rounds(&mut bench, &ids, 4, MS, MS);
    assert!(bench.reserved().is_some());
    // The round was over when the last but one blocked, 1 us ago.
    bench.pass(S - 1001);
    assert!(bench.reserved().is_some());
    bench.pass(1);
    assert_eq!(bench.reserved(), None);
    bench.pass(S);
    round(&mut bench, &ids, MS, MS);
    assert!(bench.reserved().is_some());
}

/// An eighth task beside seven threads wants the core, and has it. Then no core is reserved for a second, whatever the
/// seven do.
#[test]
fn it_ends_when_more_is_active_than_cpus_are_left() {
    let mut bench = bench(8, flat);
    let ids = threads(&mut bench, 7);
    rounds(&mut bench, &ids, 4, MS, MS);
    let other = bench.task();
    bench.wake_all(&ids);
    assert!(bench.reserved().is_some(), "seven of seven CPUs");
    bench.wake(other);
    assert_eq!(bench.reserved(), None);
    assert!(bench.cpu_of(other).is_some());
    bench.block(other);
    bench.block_all(&ids);
    rounds(&mut bench, &ids, 100, MS, MS);
    assert_eq!(bench.reserved(), None);
    rounds(&mut bench, &ids, 1000, MS, MS);
    assert!(bench.reserved().is_some());
    // Beside another task that computes on, eight CPUs would be wanted.
    bench.pass(2 * S);
    bench.wake(other);
    rounds(&mut bench, &ids, 10, MS, MS);
    assert_eq!(bench.reserved(), None);
}

/// Eight threads on eight cores whose work becomes even: within a few rounds they have all cores again.
#[test]
fn it_ends_when_rounds_leave_no_time_to_wait_any_more() {
    let mut bench = bench(8, flat);
    let ids = threads(&mut bench, 8);
    rounds(&mut bench, &ids, 4, MS, 3 * MS);
    assert!(bench.reserved().is_some());
    rounds(&mut bench, &ids, 4, 3 * MS, 3 * MS);
    assert_eq!(bench.reserved(), None);
}

/// The reserved core is one that is in no set, as long as there is one, so that no running task moves.
#[test]
fn a_core_that_nobody_uses_is_reserved() {
    let mut bench = bench(8, flat);
    let ids = threads(&mut bench, 5);
    rounds(&mut bench, &ids, 4, MS, MS);
    let high = bench.high();
    let cpu = bench.reserved().unwrap() as usize;
    assert!(!high.contains(&cpu) && high.len() == 5, "{cpu} of {high:?}");
}
