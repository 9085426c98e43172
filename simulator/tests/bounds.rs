// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lower bounds against the best of all schedules on cases small enough to try all.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{Join, Mutex, Step, Waiting, Workload};
use proptest::prelude::*;

/// A piece of work in a graph: what must be done before it, and whether it holds the lock.
#[derive(Debug, Clone)]
struct Piece {
    work_ms: u64,
    locked: bool,
    after: Vec<usize>,
}

fn piece(work_ms: u64, after: &[usize]) -> Piece {
    Piece {
        work_ms,
        locked: false,
        after: after.to_vec(),
    }
}

/// A graph, and the workload that is the same thing for the simulator.
#[derive(Debug, Clone)]
struct Case {
    cores: u16,
    pieces: Vec<Piece>,
    workload: Workload,
}

/// Calls `visit` with every order of 0..n (Heap's algorithm).
fn for_each_order(n: usize, visit: &mut impl FnMut(&[usize])) {
    fn permute(order: &mut Vec<usize>, k: usize, visit: &mut impl FnMut(&[usize])) {
        if k <= 1 {
            return visit(order);
        }
        for i in 0..k {
            permute(order, k - 1, visit);
            let other = if k.is_multiple_of(2) { i } else { 0 };
            order.swap(other, k - 1);
        }
    }
    permute(&mut (0..n).collect(), n, visit);
}

/// Each piece in turn as early as cores and lock allow. Some order gives a best schedule of unbroken pieces.
fn makespan(pieces: &[Piece], lengths: &[u64], cores: usize, order: &[usize]) -> u64 {
    let mut placed: Vec<Option<(u64, u64)>> = vec![None; pieces.len()];
    for &next in order {
        let ready = pieces[next].after.iter().map(|&before| placed[before]);
        let Some(ready) = ready.collect::<Option<Vec<_>>>() else {
            return u64::MAX;
        };
        let earliest = ready.iter().map(|&(_, end)| end).max().unwrap_or(0);
        let mut starts: Vec<u64> = placed
            .iter()
            .flatten()
            .map(|&(_, end)| end)
            .filter(|&end| end > earliest)
            .collect();
        starts.push(earliest);
        starts.sort_unstable();
        let fits = |&start: &u64| {
            let end = start + lengths[next];
            let overlap = |at: u64| {
                placed
                    .iter()
                    .flatten()
                    .filter(|&&(from, to)| from <= at && at < to)
                    .count()
            };
            let begins = placed
                .iter()
                .flatten()
                .map(|&(from, _)| from)
                .filter(|&from| from > start && from < end);
            let room = std::iter::once(start).chain(begins).all(|at| overlap(at) < cores);
            let lock_free = !pieces[next].locked
                || (0..pieces.len())
                    .filter(|&other| pieces[other].locked)
                    .filter_map(|other| placed[other])
                    .all(|(from, to)| to <= start || end <= from);
            room && lock_free
        };
        let start = starts
            .into_iter()
            .find(fits)
            .expect("after everything else there is room");
        placed[next] = Some((start, start + lengths[next]));
    }
    placed.into_iter().flatten().map(|(_, end)| end).max().unwrap_or(0)
}

fn best_makespan(pieces: &[Piece], lengths: &[u64], cores: usize) -> u64 {
    let mut best = u64::MAX;
    for_each_order(pieces.len(), &mut |order| {
        best = best.min(makespan(pieces, lengths, cores, order))
    });
    best
}

/// Least energy over all speeds of all pieces and all schedules at them, J: `two_speeds` at 2 W and 8 W busy, an idle core at
/// its lowest speed 1 W, base 3 W. It grows with the time, so of each choice of speeds the shortest schedule is best.
fn best_energy_j(case: &Case) -> f64 {
    let cores = usize::from(case.cores);
    let mut best = f64::INFINITY;
    for slow in 0..1u32 << case.pieces.len() {
        let is_slow = |index: usize| slow >> index & 1 == 1;
        let lengths: Vec<u64> = (0..case.pieces.len())
            .map(|index| case.pieces[index].work_ms * if is_slow(index) { 2 } else { 1 })
            .collect();
        let time_ms = best_makespan(&case.pieces, &lengths, cores) as f64;
        let busy_ms = lengths.iter().sum::<u64>() as f64;
        let busy_mj = |index: usize| lengths[index] as f64 * if is_slow(index) { 2.0 } else { 8.0 };
        let cores_mj: f64 = (0..lengths.len()).map(busy_mj).sum();
        let idle_mj = cores as f64 * time_ms - busy_ms;
        best = best.min((cores_mj + idle_mj + 3.0 * time_ms) / 1e3);
    }
    best
}

fn test_machine(cores: u16) -> Machine {
    let mut machine = machine(cores);
    machine.base_uw = 3_000_000;
    machine
}

/// Tasks that start after others; some do a part of their work holding the lock.
fn graph(cores: u16, tasks: &[(u64, u64, u8)]) -> Case {
    let mut pieces: Vec<Piece> = vec![];
    let mut last_piece = vec![];
    let mut programs = vec![];
    let mut after_of = vec![];
    for (index, &(free_ms, locked_ms, before)) in tasks.iter().enumerate() {
        let after: Vec<usize> = (0..index).filter(|&other| before >> other & 1 == 1).collect();
        pieces.push(piece(
            free_ms,
            &after.iter().map(|&task: &usize| last_piece[task]).collect::<Vec<_>>(),
        ));
        let mut steps = vec![run_ms(free_ms)];
        if locked_ms > 0 {
            pieces.push(Piece {
                locked: true,
                ..piece(locked_ms, &[pieces.len() - 1])
            });
            steps.extend([Step::Lock(0), run_ms(locked_ms), Step::Unlock(0)]);
        }
        last_piece.push(pieces.len() - 1);
        programs.push(program("task", steps));
        after_of.push(after);
    }
    let mut workload = workload_of(programs);
    workload.mutexes.push(Mutex {
        name: "lock".into(),
        waiting: Waiting::Block,
    });
    for (start, after) in workload.starts.iter_mut().zip(after_of) {
        start.after = after.into_iter().map(|task| task as u32).collect();
    }
    Case {
        cores,
        pieces,
        workload,
    }
}

/// A parent that forks children, works beside them, joins them and ends.
fn family(cores: u16, parent_ms: [u64; 3], children_ms: &[u64]) -> Case {
    let mut pieces = vec![piece(parent_ms[0], &[]), piece(parent_ms[1], &[0])];
    pieces.extend(children_ms.iter().map(|&ms| piece(ms, &[0])));
    pieces.push(piece(parent_ms[2], &(1..pieces.len()).collect::<Vec<_>>()));
    let forks = (1..=children_ms.len() as u32).map(|program| Step::Fork { program, count: 1 });
    let mut steps: Vec<Step> = std::iter::once(run_ms(parent_ms[0])).chain(forks).collect();
    steps.extend([run_ms(parent_ms[1]), Step::Join(Join::All), run_ms(parent_ms[2])]);
    let children = children_ms.iter().map(|&ms| program("child", vec![run_ms(ms)]));
    let mut workload = workload_of(std::iter::once(program("parent", steps)).chain(children).collect());
    workload.starts.truncate(1);
    Case {
        cores,
        pieces,
        workload,
    }
}

/// No schedule is faster or cheaper than the bound, the simulated ones included, and the bound knows nothing of schedules.
fn bounds_hold(case: &Case) -> Result<(), TestCaseError> {
    let machine = test_machine(case.cores);
    let lengths: Vec<u64> = case.pieces.iter().map(|p| p.work_ms).collect();
    let best_s = best_makespan(&case.pieces, &lengths, usize::from(case.cores)) as f64 / 1e3;
    let best_j = best_energy_j(case);
    let bounds = run(&machine, &case.workload, PERFORMANCE).bounds;
    prop_assert!(bounds.time_s <= best_s * (1.0 + 1e-9), "{bounds:?}, best time {best_s}");
    prop_assert!(
        bounds.system_energy_j <= best_j * (1.0 + 1e-9),
        "{bounds:?}, best energy {best_j}"
    );
    for name in policy_names() {
        let outcome = run(&machine, &case.workload, name);
        prop_assert!(
            (outcome.bounds.time_s / bounds.time_s - 1.0).abs() < 1e-9,
            "{name}: {:?}",
            outcome.bounds
        );
        prop_assert!(
            (outcome.bounds.system_energy_j / bounds.system_energy_j - 1.0).abs() < 1e-9,
            "{name}"
        );
        prop_assert!(outcome.time_ns as f64 >= bounds.time_s * 1e9 - 1.0, "{name}");
        prop_assert!(
            outcome.system_energy_j >= bounds.system_energy_j * (1.0 - 1e-9),
            "{name}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_a_graph_beats_the_bounds(
        cores in 2u16..=3,
        tasks in prop::collection::vec((1u64..=5, Just(0u64), any::<u8>()), 1..=6),
    ) {
        bounds_hold(&graph(cores, &tasks))?;
    }

    #[test]
    fn no_order_of_locked_work_beats_the_bounds(
        cores in 2u16..=3,
        tasks in prop::collection::vec((1u64..=4, 1u64..=4, any::<u8>()), 1..=3),
    ) {
        bounds_hold(&graph(cores, &tasks))?;
    }

    #[test]
    fn no_order_of_a_family_beats_the_bounds(
        cores in 2u16..=3,
        parent in [1u64..=4, 1u64..=4, 1u64..=4],
        children in prop::collection::vec(1u64..=5, 1..=3),
    ) {
        bounds_hold(&family(cores, parent, &children))?;
    }
}

/// Of three equal pieces on two cores each order gives two rounds; the brute force must know that, or it proves nothing.
#[test]
fn the_brute_force_finds_known_optima() {
    let three = graph(2, &[(2, 0, 0), (2, 0, 0), (2, 0, 0)]);
    assert_eq!(best_makespan(&three.pieces, &[2, 2, 2], 2), 4);
    let uneven = graph(2, &[(3, 0, 0), (3, 0, 0), (2, 0, 0), (2, 0, 0), (2, 0, 0)]);
    assert_eq!(best_makespan(&uneven.pieces, &[3, 3, 2, 2, 2], 2), 6);
    let locked = graph(3, &[(1, 4, 0), (1, 4, 0), (1, 4, 0)]);
    assert_eq!(best_makespan(&locked.pieces, &[1, 4, 1, 4, 1, 4], 3), 13);
    let chain = graph(2, &[(3, 0, 0), (1, 0, 1), (2, 0, 2)]);
    assert_eq!(best_makespan(&chain.pieces, &[3, 1, 2], 2), 6);
    // One piece of 4 ms on two cores: slow, 8 ms * (2 + 1 + 3) W, or fast, 4 ms * (8 + 1 + 3) W: both 48 mJ.
    exactly(best_energy_j(&graph(2, &[(4, 0, 0)])), 0.048);
}

#[track_caller]
fn time_is_tight(machine: &Machine, workload: &Workload) {
    let outcome = run(machine, workload, PERFORMANCE);
    exactly(outcome.bounds.time_s, outcome.time_ns as f64 / 1e9);
}

#[test]
fn the_time_bound_is_reached_where_nothing_is_in_the_way() {
    // Total work: as many equal tasks as cores. Longest path: a chain, a family with cores enough. Lock: all work under it.
    time_is_tight(&machine(3), &tasks_of(3, vec![run_ms(7)]));
    time_is_tight(
        &machine(3),
        &graph(3, &[(3, 0, 0), (4, 0, 1), (5, 0, 2), (2, 0, 0)]).workload,
    );
    time_is_tight(&machine(4), &family(4, [2, 1, 3], &[4, 6, 5]).workload);
    time_is_tight(
        &machine(3),
        &tasks_of(3, vec![Step::Lock(0), run_ms(5), Step::Unlock(0)]).with_lock(),
    );
    time_is_tight(&machine(1), &tasks_of(1, vec![run_ms(5), sleep_ms(20), run_ms(5)]));
    let pool = toml(
        r#"
        [task.make]
        steps = [{ pool = "p" }]
        [task.cc]
        count = 0
        steps = [{ run_ms = 5 }]
        [pool.p]
        slots = 2
        items = [{ stages = ["cc"] }, { stages = ["cc"] }, { stages = ["cc"] }, { stages = ["cc"] }]
        "#,
    );
    time_is_tight(&machine(8), &pool);
    let barrier = toml(
        r#"
        [barrier.b]
        parties = 2
        [task.first]
        steps = [{ run_ms = 8 }, { barrier = "b" }, { run_ms = 1 }]
        [task.second]
        steps = [{ run_ms = 1 }, { barrier = "b" }, { run_ms = 9 }]
        "#,
    );
    time_is_tight(&machine(2), &barrier);
}

trait WithLock {
    fn with_lock(self) -> Self;
}

impl WithLock for Workload {
    fn with_lock(mut self) -> Self {
        self.mutexes.push(Mutex {
            name: "lock".into(),
            waiting: Waiting::Block,
        });
        self
    }
}

/// One speed and all cores busy from start to end: every joule is either floor or work.
#[test]
fn the_energy_bound_is_reached_at_one_speed_without_idling() {
    let mut machine = machine_of(kind(1.0, vec![opp(2000, 1000, 2.0, 8.0, 1.5)]), 3, 1);
    machine.base_uw = 7_000_000;
    machine.dram = lop_machine::Dram {
        idle_uw: 500_000,
        stall_uw: 900_000,
    };
    let mut workload = tasks_of(3, vec![run_ms(20)]);
    workload.memory_shares = vec![0.3];
    let outcome = run(&machine, &workload, PERFORMANCE);
    exactly(outcome.bounds.system_energy_j, outcome.system_energy_j);
    // 20 ms of (base 7 + DRAM 0.5 + 3 * (8 + 1.5)) W and three times 6 ms of stalls at 0.9 W.
    exactly(outcome.system_energy_j, 0.02 * 36.0 + 3.0 * 0.006 * 0.9);
}

/// At the lowest speed the work is cheapest, but the time bound is that of the highest: the bound by hand.
#[test]
fn the_energy_bound_takes_floor_time_and_cheapest_work() {
    let outcome = run(&test_machine(2), &tasks_of(1, vec![run_ms(100)]), PERFORMANCE);
    // Floor 3 + 2 * 1 W for 100 ms; above it (2 - 1) W for twice 100 ms.
    exactly(outcome.bounds.system_energy_j, 0.1 * 5.0 + 0.2 * 1.0);
}

/// Idle cores draw 1 W at the lowest speed and 0.125 W in C6: the floor is 3 + 2 * 0.125 W. A machine that idles for 100 ms draws
/// just that. 10 ms of work add (2 - 0.125) W for twice as long at the lowest speed.
#[test]
fn the_floor_of_the_energy_bound_is_the_deepest_idle_state() {
    let mut machine = test_machine(2);
    machine.kinds[0].idle_states = vec![idle("C1", 0, 0, None), idle("C6", 0, 0, Some(0.125))];
    let idles = run(&machine, &tasks_of(1, vec![sleep_ms(100)]), PERFORMANCE);
    exactly(idles.bounds.system_energy_j, 0.1 * 3.25);
    exactly(idles.system_energy_j, 0.1 * 3.25);
    let works = run(&machine, &tasks_of(1, vec![run_ms(10), sleep_ms(90)]), PERFORMANCE);
    exactly(works.bounds.system_energy_j, 0.1 * 3.25 + 0.02 * 1.875);
}

/// Cores that sleep at 2000 MHz and 1000 mV in C1E: 1 W each, as at the lowest point and its 500 mV, of which the floor is made. Beside a core that holds
/// 1000 mV it is (1000/500)^2 W.
#[test]
fn cores_that_hold_no_voltage_are_at_the_floor_whatever_their_point() {
    let mut kind = kind(1.0, vec![opp(1000, 500, 1.0, 2.0, 0.5), opp(2000, 1000, 4.0, 8.0, 2.0)]);
    kind.idle_states[0].holds_voltage = false;
    let machine = one_voltage(machine_of(kind, 2, 1));
    let idles = run(&machine, &tasks_of(1, vec![sleep_ms(100)]), PERFORMANCE);
    exactly(idles.bounds.system_energy_j, 0.1 * (2.0 * 1.0 + 0.5));
    exactly(idles.system_energy_j, idles.bounds.system_energy_j);
    let works = run(&machine, &tasks_of(1, vec![run_ms(10), sleep_ms(90)]), PERFORMANCE);
    exactly(works.system_energy_j, 0.01 * (8.0 + 4.0 + 2.0) + 0.09 * 2.5);
}

/// SMT threads add throughput: two tasks on a core of two threads cannot be done sooner than by its whole throughput.
#[test]
fn the_bounds_count_what_siblings_add() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.25;
    kind.smt_power = 0.1;
    let machine = machine_of(kind, 1, 2);
    time_is_tight(&machine, &tasks_of(2, vec![run_ms(50)]));
    let outcome = run(&machine, &tasks_of(2, vec![run_ms(50)]), PERFORMANCE);
    assert!(outcome.bounds.system_energy_j <= outcome.system_energy_j);
}

/// A task comes to a loop of one party late or never, by the schedule: the bound must not count the part it took.
#[test]
fn loops_with_more_tasks_than_parties_do_not_raise_the_bound() {
    let text = |first: &str| {
        toml(&format!(
            r#"
            [loop.l]
            iterations = 10
            work_us = 500
            parties = 1
            [task.long]
            {first}
            steps = [{{ loop = "l" }}, {{ run_ms = 10 }}]
            [task.short]
            steps = [{{ run_us = 1 }}, {{ loop = "l" }}]
            "#
        ))
    };
    // Started 2 us late, `long` finds the loop taken: 10 ms in all. No schedule of the other run may be told to need more.
    let late = run(&machine(2), &text("start_us = 2"), PERFORMANCE);
    assert_eq!(late.time_ns, 10 * MS + 2_000);
    let early = run(&machine(2), &text(""), PERFORMANCE);
    assert!(early.bounds.time_s <= 10.1e-3, "{:?}", early.bounds);
}
