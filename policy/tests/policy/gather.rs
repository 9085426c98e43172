// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Gather: as few memory domains as pays, intensive threads kept apart.

use crate::bench::S;
use lop_policy::{root, Domain, MemoryClass, Planner, Power, Thread, NONE};

const NOW: u64 = 100 * S;

/// Two nodes of two domains of four cores; 180 W for a node that is on, 15 W for a busy core.
const POWER: Power = Power {
    base_mw: 0,
    node_mw: 180_000,
    core_mw: 15_000,
};

fn domains() -> Vec<Domain> {
    (0..4).map(|domain| Domain::new(4, domain / 2)).collect()
}

/// Threads of these intensities (misses per million), scattered over domains 0, 1, 2, 3, 0, ...
fn scattered(of: &[u32]) -> Vec<Thread> {
    of.iter().zip(0..).map(|(&mpmi, n)| Thread::new(mpmi, n % 4)).collect()
}

fn gathered(of: &[u32]) -> Vec<Thread> {
    let mut threads = scattered(of);
    Planner::default().gather(&mut threads, &domains(), POWER, NOW);
    threads
}

fn used(threads: &[Thread]) -> Vec<i32> {
    let mut used: Vec<i32> = threads.iter().map(|thread| thread.wanted_domain).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Domains of the intensive threads, sorted.
fn intensive(threads: &[Thread]) -> Vec<i32> {
    let intensive = threads
        .iter()
        .filter(|thread| thread.memory == MemoryClass::Intensive as u8);
    let mut places: Vec<i32> = intensive.map(|thread| thread.wanted_domain).collect();
    places.sort_unstable();
    places
}

/// A thread of 30 MPKI waits 30 / 40 of its time: two of them take 1 + 0.75 * 0.75 = 1.5625 of their time alone. On one
/// node T = 1.562 in whole thousandths, E = 180 W * 1.562 + 2 * 15 W * 1.562 = 328 W, EDP = 512 W; on two nodes E = EDP
/// = 360 + 30 = 390 W.
#[test]
fn prediction_by_hand() {
    let mut planner = Planner::default();
    let mut predicted = |at: [i32; 2]| {
        let threads = at.map(|domain| Thread::new(30_000, domain));
        planner.predicted_edp(&threads, &domains(), POWER)
    };
    assert_eq!(predicted([0, 0]), 281_160 * 1562 / 1000 + 46_860 * 1562 / 1000 + 1);
    assert_eq!(
        predicted([0, 1]),
        180_000 + 30_000,
        "apart in one node: nothing is lost, and one node is on"
    );
    assert_eq!(predicted([1, 2]), 360_000 + 30_000);
}

/// A base of 100 W counts for the time of the slowest as a node does. Side by side E = (100 + 180) W * 1.562 + 46.86 W =
/// 484.22 W and EDP = 756.3 W, on two nodes 460 + 30 = 490 W.
#[test]
fn the_base_is_paid_for_as_long_as_the_slowest_thread_takes() {
    let power = Power {
        base_mw: 100_000,
        ..POWER
    };
    let predicted = |at: [i32; 2]| {
        let threads = at.map(|domain| Thread::new(30_000, domain));
        Planner::default().predicted_edp(&threads, &domains(), power)
    };
    assert_eq!(predicted([0, 0]), 484_220 * 1562 / 1000);
    assert_eq!(predicted([1, 2]), 490_000);
}

/// Three new threads of 5 MPKI wait a third of their time each. With 18 W for a node and 1.5 W for a core, two of them side
/// by side in one node: T = 1.11, EDP = (18 W * 1.11 + 1.5 W * 3.22) * 1.11 = 27.5 W. On two nodes: 36 + 4.5 = 40.5 W. A
/// base of 100 W adds 123 W to one and 100 W to the other, so the second node pays.
#[test]
fn a_node_pays_by_the_time_that_it_saves_the_whole_machine() {
    for (base_mw, nodes) in [(0, 1), (100_000, 2)] {
        let power = Power {
            base_mw,
            node_mw: 18_000,
            core_mw: 1_500,
        };
        let mut threads = [Thread::new(5_000, NONE); 3];
        Planner::default().gather(&mut threads, &domains(), power, NOW);
        let mut found: Vec<i32> = used(&threads).iter().map(|domain| domain / 2).collect();
        found.dedup();
        assert_eq!(found.len(), nodes, "a base of {base_mw} mW: {:?}", used(&threads));
    }
}

/// 30 MPKI in domain 1, 20 in domain 0 and 10 that is new. The most intensive thread is given the first domain, and the two
/// others the second: 30 to 0, 20 and 10 to 1. Two threads would move; with the names exchanged none does.
#[test]
fn equal_domains_exchange_names_so_that_fewer_threads_move() {
    let one_node = [Domain::new(4, 0); 2];
    let mut threads = [(30_000, 1), (20_000, 0), (10_000, NONE)].map(|(mpmi, domain)| Thread::new(mpmi, domain));
    let moves = Planner::default().gather(&mut threads, &one_node, POWER, NOW);
    assert_eq!((moves, threads.map(|thread| thread.wanted_domain)), (0, [1, 0, 0]));
}

/// Ten threads of one intensity go to five domains in turn: the first and the sixth together, the second and the seventh, and so on.
/// Pairs are exchanged in three passes, so that as many as six threads stay; after two passes five would.
#[test]
fn names_are_exchanged_until_no_exchange_saves_a_move() {
    let one_node = [Domain::new(4, 0); 5];
    let mut threads = [2, 3, 4, 0, 3, 1, 1, 2, 3, 3].map(|domain| Thread::new(30_000, domain));
    let moves = Planner::default().gather(&mut threads, &one_node, POWER, NOW);
    let wanted = threads.map(|thread| thread.wanted_domain);
    assert_eq!((moves, wanted), (4, [2, 1, 4, 0, 3, 2, 1, 4, 0, 3]));
}

/// Eight threads that hardly use memory fill two domains of one node, wherever they were.
#[test]
fn threads_of_low_intensity_fill_as_few_domains_as_they_can() {
    for count in 1..=8 {
        let threads = gathered(&[40].repeat(count));
        assert_eq!(used(&threads).len(), count.div_ceil(4), "{count} threads");
        let nodes: Vec<i32> = used(&threads).iter().map(|domain| domain / 2).collect();
        assert!(
            nodes.windows(2).all(|pair| pair[0] == pair[1]),
            "{count} threads: nodes {nodes:?}"
        );
    }
}

/// Two intensive threads have a domain of one node each, which costs nothing more. A third one pays for the other node.
/// With six all four domains are open, and each has one or two.
#[test]
fn intensive_threads_are_kept_apart_as_long_as_it_pays() {
    for (count, expected) in [(1, vec![0]), (2, vec![0, 1]), (3, vec![0, 1, 2]), (4, vec![0, 1, 2, 3])] {
        let mut of = [30_000].repeat(count);
        of.extend([40].repeat(8 - count));
        let threads = gathered(&of);
        let mut places = intensive(&threads);
        places.dedup();
        assert_eq!(places.len(), expected.len(), "{count} intensive ones: {places:?}");
        let nodes = if count <= 2 { 1 } else { 2 };
        let mut found: Vec<i32> = used(&threads).iter().map(|domain| domain / 2).collect();
        found.dedup();
        assert_eq!(found.len(), nodes, "{count} intensive ones");
    }
    let threads = gathered(&[30_000].repeat(6));
    for domain in 0..4 {
        let there = intensive(&threads).iter().filter(|&&place| place == domain).count();
        assert!((1..=2).contains(&there), "domain {domain}: {there}");
    }
}

/// One intensive thread, two of moderate intensity, two of very low: the moderate ones are together, away from the
/// intensive one. Those of very low intensity may be anywhere.
#[test]
fn only_threads_of_very_low_intensity_sit_beside_an_intensive_one() {
    let threads = gathered(&[30_000, 600, 600, 40, 40]);
    assert_eq!(threads[1].wanted_domain, threads[2].wanted_domain);
    assert_ne!(threads[0].wanted_domain, threads[1].wanted_domain);
}

/// Without a node to pay for, opening a domain costs nothing: the threads are apart.
#[test]
fn where_an_open_domain_costs_nothing_all_intensive_threads_are_apart() {
    let mut threads = scattered(&[2_000, 2_000, 2_000, 2_000]);
    threads.iter_mut().for_each(|thread| thread.domain = 0);
    let free = Power { node_mw: 0, ..POWER };
    Planner::default().gather(&mut threads, &domains(), free, NOW);
    assert_eq!(intensive(&threads), [0, 1, 2, 3]);
}

/// Threads of unknown class count as intensive.
#[test]
fn unknown_threads_are_kept_apart_until_they_are_known() {
    let mut threads = scattered(&[10_000; 4]);
    for (thread, domain) in threads.iter_mut().zip([0, 0, 1, 1]) {
        (thread.memory, thread.domain) = (MemoryClass::Unknown as u8, domain);
    }
    Planner::default().gather(&mut threads, &domains(), Power { node_mw: 0, ..POWER }, NOW);
    let mut places: Vec<i32> = threads.iter().map(|thread| thread.wanted_domain).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3]);
    // A declared class needs no measurement.
    threads
        .iter_mut()
        .for_each(|thread| thread.memory = MemoryClass::VeryLow as u8);
    threads.iter_mut().for_each(|thread| thread.mpmi = 50);
    Planner::default().gather(&mut threads, &domains(), POWER, NOW + 3 * S);
    assert_eq!(used(&threads).len(), 1);
}

/// A node stays on if one of its threads may not leave, or came less than two seconds ago; the others come to it.
#[test]
fn gathering_goes_where_somebody_has_to_stay() {
    for fixed in [true, false] {
        let mut threads = scattered(&[40; 4]);
        threads[3].fixed = fixed;
        threads[3].moved_ns = if fixed { 0 } else { NOW - S };
        Planner::default().gather(&mut threads, &domains(), POWER, NOW);
        assert_eq!(used(&threads), [3], "fixed: {fixed}");
    }
}

/// Ten threads that are always runnable need ten cores; ten that run a tenth of the time need one.
#[test]
fn there_are_cores_for_all_the_demand() {
    assert_eq!(used(&gathered(&[40; 10])).len(), 3);
    let mut threads = scattered(&[40; 10]);
    threads.iter_mut().for_each(|thread| thread.demand_permille = 100);
    Planner::default().gather(&mut threads, &domains(), POWER, NOW);
    assert_eq!(used(&threads).len(), 1);
}

/// On one node, 9 MPKI beside 0.4 in four domains: an exchange gains less than 5 %, so no thread moves; a new thread is
/// placed all the same.
#[test]
fn nothing_moves_for_little() {
    let mut threads = scattered(&[9_000, 400]);
    threads[1].domain = 0;
    threads.push(Thread::new(300, NONE));
    let moves = Planner::default().gather(&mut threads, &domains(), POWER, NOW);
    assert_eq!((moves, threads[0].wanted_domain, threads[1].wanted_domain), (0, 0, 0));
    assert!(
        (0..2).contains(&threads[2].wanted_domain),
        "on the node that is on: {}",
        threads[2].wanted_domain
    );
}

/// Three threads side by side, of which one moves: it has to gain 1 %, and 5 % / 3 for its move, and what may be chance. They
/// wait w of their time, so T = 1 + 2 w^2 falls to 1 + w^2, EDP is 180 W * T^2, and off = 2 * 0.42 * w * sqrt(2) * w * (1 - w) / T.
/// 2.5 MPKI: w = 0.2, T = 1.08 and 1.04, gain 7.3 %, off 3.5 %: more than 6.1 %. 1.9 MPKI: w = 0.159, T = 1.05 and 1.025, gain
/// 4.7 %, off 2.3 %: less than 4.9 %.
#[test]
fn a_gain_is_more_than_chance_and_moves_account_for() {
    let one_node = [Domain::new(4, 0); 2];
    let power = Power { core_mw: 0, ..POWER };
    for (mpmi, expected) in [(2_500, 1), (1_900, 0)] {
        let mut threads = [Thread::new(mpmi, 0); 3];
        let moves = Planner::default().gather(&mut threads, &one_node, power, NOW);
        assert_eq!(moves, expected, "{mpmi}");
    }
}

/// Five threads that hardly use memory need two domains, and gathered four are in one of them. Three and two take as long in as
/// many domains, so none moves.
#[test]
fn as_many_domains_are_no_reason_to_move() {
    let mut threads = [0, 0, 0, 1, 1].map(|domain| Thread::new(40, domain));
    assert_eq!(Planner::default().gather(&mut threads, &domains(), POWER, NOW), 0);
}

/// Six services on two machines that run 2 % of the time each. Whatever their intensity, they take at most 0.1 % longer on
/// one node, which saves the other: of 30 MPKI each waits 0.75 of its time and presses 0.015, so T = 1 + 0.02 * 0.056.
#[test]
fn services_that_hardly_run_need_one_node() {
    for mpmi in [40, 600, 30_000] {
        let mut threads = scattered(&[mpmi; 6]);
        threads.iter_mut().for_each(|thread| thread.demand_permille = 20);
        let mut planner = Planner::default();
        planner.gather(&mut threads, &domains(), POWER, NOW);
        let mut nodes: Vec<i32> = used(&threads).iter().map(|domain| domain / 2).collect();
        nodes.dedup();
        assert_eq!(nodes.len(), 1, "{mpmi}: {:?}", used(&threads));
        threads
            .iter_mut()
            .for_each(|thread| (thread.domain, thread.moved_ns) = (thread.wanted_domain, 0));
        assert_eq!(
            planner.gather(&mut threads, &domains(), POWER, NOW + S),
            0,
            "and stay there"
        );
    }
    // All in one domain: 180 W * 1.001 + 15 W * 6 * 0.02 * 1.056, times 1.001.
    let mut threads = scattered(&[30_000; 6]);
    for thread in &mut threads {
        (thread.demand_permille, thread.domain) = (20, 0);
    }
    let busy_mw = 6 * (1056 * 20 / 1000) * 15;
    assert_eq!(
        Planner::default().predicted_edp(&threads, &domains(), POWER),
        (180_180 + busy_mw) * 1001 / 1000
    );
}

/// Two threads of 2.5 MPKI in the last of three domains, where domains open from the first on: both would move. T = 1 + 0.2^2
/// falls to 1, so EDP gains 7.5 %, of 1 % + 2.6 % of chance + 5 % * 2 / 2. Of 3 MPKI each waits 0.23: 9.8 % of 9.3 %.
#[test]
fn each_move_costs_its_share_of_the_threads() {
    let one_node = [Domain::new(4, 0); 3];
    let power = Power { core_mw: 0, ..POWER };
    for (mpmi, expected) in [(2_500, 0), (3_000, 2)] {
        let mut threads = [Thread::new(mpmi, 2); 2];
        assert_eq!(
            Planner::default().gather(&mut threads, &one_node, power, NOW),
            expected,
            "{mpmi}"
        );
    }
}

/// Two threads that may not leave share a domain, and a third one of very low intensity would do as well there as alone. It
/// goes if what may be chance is 1 % at most, in whole thousandths: of 1.364 MPKI each waits 0.12, and off = 2 * 0.42 * 0.12 *
/// 0.12 * 0.88 / 1.014 = 1.05 %. Of 1.442 MPKI each waits 0.126: 1.15 %.
#[test]
fn fewer_domains_that_do_as_well_are_no_chance() {
    let one_node = [Domain::new(4, 0); 2];
    for (mpmi, expected) in [(1_364, 1), (1_442, 0), (10_000, 0)] {
        let mut threads = [(mpmi, 0), (mpmi, 0), (40, 1)].map(|(mpmi, domain)| Thread::new(mpmi, domain));
        (threads[0].fixed, threads[1].fixed) = (true, true);
        assert_eq!(
            Planner::default().gather(&mut threads, &one_node, POWER, NOW),
            expected,
            "{mpmi}"
        );
    }
}

/// Faster cores are taken first, so that a plan would put both threads into the first domain. Of 2 and 9 MPKI they wait 0.166 and
/// 0.473 of their time; the second runs a fifth of the time, so T = 1 + 0.2 * 0.473 * 0.166 = 1.016, and EDP would rise by 3 %. Of 0.04
/// MPKI it hardly presses, and goes.
#[test]
fn fewer_domains_that_do_worse_are_no_reason_to_move() {
    let kinds = [1000, 500].map(|permille| Domain {
        permille,
        ..Domain::new(2, 0)
    });
    let power = Power { core_mw: 0, ..POWER };
    for (mpmi, expected) in [(9_000, 0), (40, 1)] {
        let mut threads = [(2_000, 0), (mpmi, 1)].map(|(mpmi, domain)| Thread::new(mpmi, domain));
        threads[1].demand_permille = 200;
        assert_eq!(
            Planner::default().gather(&mut threads, &kinds, power, NOW),
            expected,
            "{mpmi}"
        );
    }
}

/// Two domains of two cores on a node each. Three threads that hardly use memory ask for half a core more than the first has: they
/// stay, as the second node costs more than it gains. For more than half a core one of them goes nevertheless.
#[test]
fn threads_that_share_a_core_beside_idle_ones_are_a_reason_to_move() {
    let nodes = [Domain::new(2, 0), Domain::new(2, 1)];
    for (demand_permille, expected) in [(500, 0), (501, 1)] {
        let mut threads = [Thread::new(40, 0); 3];
        threads[2].demand_permille = demand_permille;
        assert_eq!(
            Planner::default().gather(&mut threads, &nodes, POWER, NOW),
            expected,
            "{demand_permille}"
        );
    }
}

/// A thread of 3 MPKI waits 0.23 of its time, one of 9 MPKI 0.473 and runs a quarter of it: 1 + 0.23 * 0.118 = 1.027 and 1 + 0.25 * 0.473 * 0.23 =
/// 1.027. For the first one chance is 2 * 0.42 * 0.23 * 0.118 * 0.527 / 1.027 = 1.2 %, for the second 2.0 %. EDP falls by 1 - 1 / 1.027^2 =
/// 5.2 %: more than 1 % + 1.2 % + 5 % / 2, less than with 2.0 %.
#[test]
fn of_two_threads_that_take_as_long_the_first_sets_the_time() {
    let kinds = [1000, 400].map(|permille| Domain {
        permille,
        ..Domain::new(1, 0)
    });
    let power = Power { core_mw: 0, ..POWER };
    let mut threads = [3_000, 9_000].map(|mpmi| Thread::new(mpmi, 0));
    threads[1].demand_permille = 250;
    assert_eq!(Planner::default().gather(&mut threads, &kinds, power, NOW), 1);
}

/// 200 threads of 1000 MPKI wait 0.99 of their time each, and would take 1 + 0.99 * 199 * 0.99 = 196 times as long side by side. 100 times
/// count, so E = 180 W * 100 + 200 * 15 W * 100 = 318 kW.
#[test]
fn a_thread_takes_a_hundred_times_as_long_at_most() {
    let threads = [Thread::new(1_000_000, 0); 200];
    assert_eq!(
        Planner::default().predicted_edp(&threads, &domains(), POWER),
        318_000_000 * 100
    );
}

/// Threads of 2.5 MPKI wait 0.2 of their time, so n of them in a domain take 1 + 0.04 * (n - 1). Each domain of four cores is a node, and the
/// rest of the machine counts as 200 of them: three in each of a few more domains are better than four in the fewest, and two no better
/// than three. From 32 open domains on every other number is tried: 126 threads have three in each of 42, and 127 have 44, as 43 is not
/// tried. With half of everything each number is tried: 63 threads have 21.
#[test]
fn beyond_sixteen_domains_are_tried_in_steps_of_a_sixteenth() {
    let nodes: Vec<Domain> = (0..80).map(|node| Domain::new(4, node)).collect();
    for (count, base_mw, expected) in [(126, 200_000, 42), (127, 200_000, 44), (63, 100_000, 21)] {
        let power = Power {
            base_mw,
            node_mw: 1_000,
            core_mw: 0,
        };
        let mut threads = vec![Thread::new(2_500, NONE); count];
        Planner::default().gather(&mut threads, &nodes, power, NOW);
        assert_eq!(used(&threads).len(), expected, "{count} threads");
    }
}

/// Four threads of 0.9 MPKI have to stay in the first domain, one of 1.1, an intensive one, in the second. A thread of 0.9 that is new goes to the first,
/// as that has no intensive one, though its sum is 3.6.
#[test]
fn threads_of_moderate_intensity_are_no_intensive_ones() {
    let mut threads: Vec<Thread> = [(900, 0), (900, 0), (900, 0), (900, 0), (1_100, 1), (900, NONE)]
        .map(|(mpmi, domain)| Thread::new(mpmi, domain))
        .into();
    threads[..5].iter_mut().for_each(|thread| thread.fixed = true);
    Planner::default().gather(&mut threads, &[Domain::new(8, 0); 2], POWER, NOW);
    assert_eq!(threads[5].wanted_domain, 0);
}

#[test]
fn a_root_is_the_largest_number_whose_square_is_no_more() {
    for (of, expected) in [
        (0, 0),
        (1, 1),
        (3, 1),
        (4, 2),
        (8, 2),
        (9, 3),
        ((1 << 62) - 1, (1 << 31) - 1),
    ] {
        assert_eq!(root(of), expected, "{of}");
    }
}
