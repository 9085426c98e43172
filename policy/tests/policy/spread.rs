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

/// The best sums of 30, 20, 10 and 8 are 38 and 30: one move is enough, whichever it takes.
#[test]
fn no_more_threads_move_than_must() {
    for (at, expected, moves) in [
        ([1, 0, 1, 1], [1, 0, 0, 1], 1),
        ([0, 1, 0, 0], [0, 1, 1, 0], 1),
        ([1, 1, 0, 1], [1, 0, 0, 1], 1),
        ([0, 0, 0, 0], [1, 0, 0, 0], 1),
    ] {
        let of: Vec<(u32, i32)> = [30_000, 20_000, 10_000, 8_000].into_iter().zip(at).collect();
        let mut all = threads(&of);
        assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), moves);
        assert_eq!(wanted(&all), expected, "from {at:?}");
    }
}

/// 6 and 6 beside 4 and 4: an exchange gains 2, less 0.5 for its moves, and 0.21 * sqrt(104) = 2.1 may be chance. From 8
/// and 8 beside 2 and 2 it gains 6, less 0.5, of which 0.21 * sqrt(136) = 2.4 may be chance.
#[test]
fn nothing_moves_for_what_may_be_chance() {
    for (of, moves) in [([6_000, 4_000], 0), ([8_000, 2_000], 2)] {
        let mut all = threads(&[(of[0], 0), (of[0], 0), (of[1], 1), (of[1], 1)]);
        assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), moves);
        assert_eq!(sums(&all, 2).contains(&10_000), moves > 0, "{of:?}");
    }
}

/// An exchange of 7 for 4 gains 3, less 5 % of 11 for its moves: 2.45. 0.21 * sqrt(2 * (49 + 16)) = 2.39 may be chance. An
/// exchange of 7 for 4.2 gains 2.8, less 0.56: 2.24, and 2.42 may be chance. Without its moves it would gain more.
#[test]
fn nothing_moves_for_less_than_its_moves_cost() {
    for (low, moves) in [(4_000, 2), (4_200, 0)] {
        let mut all = threads(&[(7_000, 0), (7_000, 0), (low, 1), (low, 1)]);
        assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), moves, "{low}");
    }
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

/// The cores of a domain went offline, or are not for such work: who may leave it does, who may not counts there.
#[test]
fn a_domain_without_cores_is_left() {
    let mut both = domains(2);
    both[0].cores = 0;
    let mut all = threads(&[(10_000, 0), (10_000, 0)]);
    all[0].fixed = true;
    assert_eq!(Planner::default().spread(&mut all, &both, NOW), 1);
    assert_eq!(wanted(&all), [0, 1]);
}

/// Twelve threads on eight cores: intensity counts times demand. The thread of 40 MPKI runs a tenth of the time, so it
/// brings 4 MPKI. The share of a domain is 5.55 cores, so four of the nine threads of 10 MPKI move: 94 becomes 54.
#[test]
fn with_more_threads_than_cores_demand_counts() {
    let mut all = threads(&[(40_000, 0)]);
    all[0].demand_permille = 100;
    all.extend(threads(&[(10_000, 0); 9]));
    all.extend(threads(&[(0, 1); 2]));
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 4);
    assert_eq!(sums(&all, 2), [54_000, 40_000]);
    assert_eq!(demand(&all, 1), 6_000);
}

fn demand(threads: &[Thread], domain: i32) -> u32 {
    let there = threads.iter().filter(|thread| thread.wanted_domain == domain);
    there.map(|thread| thread.demand_permille).sum()
}

/// Four cores that are asked for 3.5 have half a core free for a new thread. With 3.501 it goes to the domain with the larger sum.
#[test]
fn half_a_core_has_to_be_free() {
    for (demand_permille, expected) in [(500, 0), (501, 1)] {
        let mut all = threads(&[(0, 0), (0, 0), (0, 0), (0, 0), (30_000, 1), (20_000, NONE)]);
        all[..4].iter_mut().for_each(|thread| thread.fixed = true);
        all[3].demand_permille = demand_permille;
        Planner::default().spread(&mut all, &domains(2), NOW);
        assert_eq!(all[5].wanted_domain, expected, "{demand_permille}");
    }
}

/// Six tasks that run 2 % of the time need an eighth of a core: they may all be in one domain of four cores.
#[test]
fn tasks_that_hardly_run_are_no_crowd() {
    let mut all = threads(&[(0, 0); 6]);
    all.iter_mut().for_each(|thread| thread.demand_permille = 20);
    assert_eq!(Planner::default().spread(&mut all, &domains(2), NOW), 0);
    let mut all = threads(&[(0, 0); 6]);
    assert_eq!(
        Planner::default().spread(&mut all, &domains(2), NOW),
        2,
        "six that always run are"
    );
}

/// Four fast cores, and eight slow ones in a domain of their own. Faster cores are taken first, as by rank.h: four threads
/// belong on the fast ones however intensive they are, and of six the first four. Which ones is not for this plan to say.
#[test]
fn fast_domains_fill_first_and_no_thread_changes_kind_for_balance() {
    let mut both = [Domain::new(4, 0), Domain::new(8, 0)];
    both[1].permille = 500;
    let mut all = threads(&[(30_000, 0), (30_000, 0), (30_000, 1), (30_000, 1)]);
    assert_eq!(Planner::default().spread(&mut all, &both, NOW), 2);
    assert_eq!(wanted(&all), [0; 4]);
    let mut all = threads(&[(30_000, 0), (30_000, 0), (30_000, 0), (30_000, 0), (40, 1), (40, 1)]);
    assert_eq!(Planner::default().spread(&mut all, &both, NOW), 0);
    all[3].domain = 1;
    assert_eq!(Planner::default().spread(&mut all, &both, NOW), 1);
    assert_eq!(demand(&all, 0), 4_000);
}

/// Three threads that share data stay together while there is room, at the price of a larger sum: 30 and 18. One of them
/// alone would move instead of the 9: 29 and 19.
#[test]
fn threads_that_share_data_are_kept_together() {
    let of = [(10_000, 0), (10_000, 0), (10_000, 0), (9_000, 0), (9_000, 1), (100, 1)];
    for (together, largest) in [(7, 30_000), (0, 29_000)] {
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

/// One miss in a million instructions is more than none, whatever the number of threads: the new thread goes beside the two.
#[test]
fn a_smaller_sum_goes_before_fewer_threads() {
    for (mpmi, expected) in [(1, 1), (0, 0)] {
        let mut all = threads(&[(mpmi, 0), (0, 1), (0, 1), (0, NONE)]);
        Planner::default().spread(&mut all, &domains(2), NOW);
        assert_eq!(all[3].wanted_domain, expected, "{mpmi}");
    }
}

/// Four threads on two domains of one core: the share of each is two. The second has its share, so that the new thread goes to
/// the first, though that has more misses to serve. Of unequal speeds the share of the slow one is 4 / 3.
#[test]
fn with_more_threads_than_cores_a_domain_gets_its_share_by_speed() {
    let kinds = |permille| {
        [
            Domain::new(1, 0),
            Domain {
                permille,
                ..Domain::new(1, 0)
            },
        ]
    };
    for (permille, of, expected) in [
        (1000, [(2_000, 0), (500, 1), (500, 1), (500, NONE)], 0),
        (1000, [(2_000, 0), (500, 0), (500, 1), (500, NONE)], 1),
        (500, [(5_000, 0), (500, 0), (500, 1), (500, NONE)], 1),
        (500, [(5_000, 0), (500, 1), (500, 1), (500, NONE)], 0),
        (500, [(5_000, 0), (4_000, 0), (4_000, 0), (500, NONE)], 1),
    ] {
        let mut all = threads(&of);
        Planner::default().spread(&mut all, &kinds(permille), NOW);
        assert_eq!(all[3].wanted_domain, expected, "{permille} {of:?}");
    }
}

/// The one core of the first domain has a thread of 20 MPKI, and the four of the second 20, 10 and 10. An exchange of 20 for a 10 would
/// bring 10 and 50 instead of 20 and 40, and for a move alone there is no core.
#[test]
fn the_most_intensive_thread_counts_when_it_comes_in_exchange() {
    let of_one_and_four = [Domain::new(1, 0), Domain::new(4, 0)];
    let mut all = threads(&[(20_000, 0), (20_000, 1), (10_000, 1), (10_000, 1)]);
    assert_eq!(Planner::default().spread(&mut all, &of_one_and_four, NOW), 0);
}

/// Domains of two cores. In the first one threads ask for half a core more than it has: none leaves. For more than half a core the last one
/// does.
#[test]
fn more_than_half_a_core_too_many_is_a_reason_to_leave() {
    for (demand_permille, expected) in [(500, 0), (501, 1)] {
        let mut all = threads(&[(0, 0), (0, 0), (0, 0)]);
        all[2].demand_permille = demand_permille;
        let moves = Planner::default().spread(&mut all, &[Domain::new(2, 0); 2], NOW);
        assert_eq!(moves, expected, "{demand_permille}");
    }
}

/// Nine threads on domains of four cores and of two, whose shares are six and three: the second has its share, so that the new thread goes to the first,
/// which has more threads.
#[test]
fn with_more_threads_than_cores_a_domain_gets_its_share_by_cores() {
    let mut all = threads(&[
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 0),
        (0, 1),
        (0, 1),
        (0, 1),
        (0, NONE),
    ]);
    Planner::default().spread(&mut all, &[Domain::new(4, 0), Domain::new(2, 0)], NOW);
    assert_eq!(all[8].wanted_domain, 0);
}

/// 40 of 40, 20 and 12 MPKI leaves: 72 becomes 40. Of the other two one goes to the third domain: 32 becomes 20, and of the 12 that are gained 0.21 *
/// sqrt(20^2 + 12^2) = 4.9 may be chance. With the 40 that has left it would be 9.7, and with 40 counted twice 12.9.
#[test]
fn what_has_left_makes_no_chance() {
    let mut all = threads(&[(40_000, 0), (20_000, 0), (12_000, 0)]);
    assert_eq!(Planner::default().spread(&mut all, &domains(3), NOW), 2);
    let mut found = sums(&all, 3);
    found.sort_unstable();
    assert_eq!(found, [12_000, 20_000, 40_000]);
}

/// The one core of the first domain has a thread of 0.1 MPKI, three of the four of the second have one of 1 each. A new thread of 10 is given the fourth, and then
/// exchanged with the 0.1: 13 becomes 10. It may not leave where it is, and is nowhere yet.
#[test]
fn a_new_thread_of_limited_affinity_has_nowhere_to_stay() {
    let mut all = threads(&[(100, 0), (1_000, 1), (1_000, 1), (1_000, 1), (10_000, NONE)]);
    all[4].fixed = true;
    Planner::default().spread(&mut all, &[Domain::new(1, 0), Domain::new(4, 0)], NOW);
    assert_eq!(wanted(&all), [1, 1, 1, 1, 0]);
}
