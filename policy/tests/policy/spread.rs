// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Spread: which thread is to run in which memory domain so that no domain has more misses to serve than it must.

use crate::bench::S;
use lop_policy::{Domain, Planner, Thread, MAX_PLANNED, NONE};

const NOW: u64 = 100 * S;

fn domains(count: usize) -> Vec<Domain> {
    vec![Domain::new(4, 0); count]
}

/// Intensities in misses per million, and the domain of each thread.
fn threads(of: &[(u32, i32)]) -> Vec<Thread> {
    of.iter().map(|&(mpmi, domain)| Thread::new(mpmi, domain)).collect()
}

fn wanted(threads: &[Thread]) -> Vec<i32> {
    threads.iter().map(|thread| thread.wanted_domain).collect()
}

fn sums(threads: &[Thread], domains: usize) -> Vec<u32> {
    let sum = |domain: usize| {
        let there = threads.iter().filter(|thread| thread.wanted_domain == domain as i32);
        there.map(|thread| thread.mpmi * thread.demand_permille / 1000).sum()
    };
    (0..domains).map(sum).collect()
}

/// 20, 20, 12, 12 in one domain: its 64 falls to 32.25 in each. Two of the four move away, and two others come in
/// return.
#[test]
fn each_goes_to_the_domain_with_the_smallest_sum() {
    let mut all = threads(&[
        (20_000, 0),
        (20_000, 0),
        (12_000, 0),
        (12_000, 0),
        (200, 1),
        (200, 1),
        (50, 1),
        (50, 1),
    ]);
    let moves = Planner::default().spread(&mut all, &domains(2), NOW);
    assert_eq!(sums(&all, 2), [32_250, 32_250]);
    assert_eq!(moves, 4);
    assert!(all
        .iter()
        .all(|thread| (thread.moved_ns == NOW) == (thread.wanted_domain != thread.domain)));
}

/// From the highest down, 30, 20, 10, 8 give {30, 8} and {20, 10}. Which pair is in domain 0 follows from where most of
/// its threads are.
#[test]
fn names_are_those_that_need_the_fewest_moves() {
    for (at, expected, moves) in [
        ([1, 0, 1, 1], [1, 0, 0, 1], 1),
        ([0, 1, 0, 0], [0, 1, 1, 0], 1),
        ([1, 1, 0, 1], [1, 0, 0, 1], 1),
        ([0, 0, 0, 0], [0, 1, 1, 0], 2),
    ] {
        let of: Vec<(u32, i32)> = [30_000, 20_000, 10_000, 8_000].into_iter().zip(at).collect();
        let mut all = threads(&of);
        assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), moves);
        assert_eq!(wanted(&all), expected, "from {at:?}");
    }
}

/// The largest sum would fall from 11 to 10, which is less than 10 %; from 12 it falls by a sixth.
#[test]
fn nothing_moves_for_less_than_ten_percent() {
    let eleven = [(6_000, 0), (5_000, 0), (5_000, 1), (4_000, 1)];
    let mut all = threads(&eleven);
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 0);
    assert_eq!(wanted(&all), [0, 0, 1, 1]);
    let twelve = [(6_000, 0), (6_000, 0), (4_000, 1), (4_000, 1)];
    let mut all = threads(&twelve);
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 2);
    assert_eq!(sums(&all, 2), [10_000, 10_000]);
}

/// Of two threads the lighter one moves, unless it has moved within two seconds: then the other one does.
#[test]
fn no_thread_moves_twice_within_two_seconds() {
    for (ago_ns, expected) in [(2 * S, [0, 1]), (2 * S - 1, [1, 0]), (1, [1, 0])] {
        let mut all = threads(&[(20_001, 0), (20_000, 0)]);
        all[1].moved_ns = NOW - ago_ns;
        assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 1);
        assert_eq!(wanted(&all), expected, "{ago_ns} ns ago");
        assert!(all
            .iter()
            .all(|thread| (thread.moved_ns == NOW) == (thread.wanted_domain == 1)));
    }
    // Both have just moved: neither may move again yet.
    let mut all = threads(&[(20_001, 0), (20_000, 0)]);
    (all[0].moved_ns, all[1].moved_ns) = (NOW - S, NOW - S);
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 0);
}

/// A thread that may not run everywhere counts where it is, and others make room for it.
#[test]
fn a_thread_of_limited_affinity_stays() {
    let mut all = threads(&[(10_000, 1), (30_000, 1)]);
    all[1].fixed = true;
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 1);
    assert_eq!(wanted(&all), [0, 1]);
}

/// Twelve threads on eight cores: intensity counts times demand. The thread of 40 MPKI runs a tenth of the time, so it
/// brings 4 MPKI. The demand of each domain is 5.55 cores.
#[test]
fn with_more_threads_than_cores_demand_counts() {
    let mut all = threads(&[(40_000, 0)]);
    all[0].demand_permille = 100;
    all.extend(threads(&[(10_000, 0); 4]));
    all.extend(threads(&[(10_000, 0); 5]));
    all.extend(threads(&[(0, 1); 2]));
    Planner::default().spread(&mut all, &domains(2), NOW);
    let mut found = sums(&all, 2);
    found.sort_unstable();
    assert_eq!(found, [44_000, 50_000]);
    let demand = |domain: i32| {
        all.iter()
            .filter(|t| t.wanted_domain == domain)
            .map(|t| t.demand_permille)
            .sum::<u32>()
    };
    assert!(demand(0) <= 5_550 + 1_000 && demand(1) <= 5_550 + 1_000);
}

/// Three threads that share data stay together while there is room, at the price of a larger sum: 30 and 18 instead of
/// 20 and 28.
#[test]
fn threads_that_share_data_are_kept_together() {
    let of = [(10_000, 0), (10_000, 0), (10_000, 0), (9_000, 0), (9_000, 1), (100, 1)];
    for (together, largest) in [(7, 30_000), (0, 28_000)] {
        let mut all = threads(&of);
        all[..3].iter_mut().for_each(|thread| thread.together = together);
        assert!(Planner::default().spread(&mut all, &domains(2), NOW) > 0);
        assert_eq!(sums(&all, 2).into_iter().max(), Some(largest), "{:?}", wanted(&all));
        let apart = all[..3]
            .iter()
            .any(|thread| thread.wanted_domain != all[0].wanted_domain);
        assert_eq!(apart, together == 0);
    }
    // Six of them do not fit into four cores: the rest are together elsewhere.
    let mut all = threads(&[(10_000, 0); 6]);
    all.iter_mut().for_each(|thread| thread.together = 7);
    Planner::default().spread(&mut all, &domains(2), NOW);
    let there = all
        .iter()
        .filter(|thread| thread.wanted_domain == all[0].wanted_domain)
        .count();
    assert!([2, 4].contains(&there), "{:?}", wanted(&all));
}

/// With cores for all, no domain gets more threads than cores, however uneven their intensities and whatever the
/// largest sum was.
#[test]
fn a_domain_takes_no_more_threads_than_it_has_cores() {
    let mut all = threads(&[
        (30_000, 0),
        (10, 1),
        (10, 1),
        (10, 1),
        (10, 1),
        (20, 0),
        (20, 0),
        (9_000, 1),
    ]);
    Planner::default().spread(&mut all, &domains(2), NOW);
    for domain in 0..2 {
        assert_eq!(all.iter().filter(|thread| thread.wanted_domain == domain).count(), 4);
    }
}

/// A thread that has not run yet is given a domain; as it comes from none, that is no move.
#[test]
fn new_threads_are_given_a_domain() {
    let mut all = threads(&[(10_000, 0), (10_000, NONE)]);
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 0);
    assert_eq!(wanted(&all), [0, 1]);
    assert_eq!(all[1].moved_ns, 0);
}

/// As many threads as can be planned, on as many domains as there can be.
#[test]
fn it_is_bounded_and_complete() {
    let of: Vec<(u32, i32)> = (0..MAX_PLANNED as u32)
        .map(|n| (n * 37 % 20_000, (n % 256) as i32))
        .collect();
    let mut all = threads(&of);
    Planner::default().spread(&mut all, &vec![Domain::new(2, 0); 256], NOW);
    for domain in 0..256 {
        assert_eq!(all.iter().filter(|thread| thread.wanted_domain == domain).count(), 2);
    }
}
