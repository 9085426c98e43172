// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use proptest::prelude::*;

fn demand(compute_ns: f64, mpki: f64, mlp: f64, cache_sensitivity: f64) -> Demand {
    Demand {
        compute_ns,
        mpki,
        mlp,
        cache_sensitivity,
        core_share: 1.0,
    }
}

fn memory(latency_ns: f64, mb_s: f64) -> Memory {
    Memory {
        latency_ns,
        bandwidth_mb_s: Some(mb_s),
    }
}

fn totals(memory: &Memory, demands: &[Demand]) -> Vec<f64> {
    let mut solver = Solver::default();
    solver.solve(memory, demands);
    solver.costs.iter().map(|cost| cost.total_ns()).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= 1e-12 * e, "found {found:?}, expected {expected:?}");
    }
}

/// lat_0 75 ns, 0.8 bytes per ns; MPKI 20 and MLP 1, 2.3 ns of computing.
///
/// Alone rho = 0.4: lat = 75 (1 + 0.5 * 0.16 / 0.6) = 85, t = 2.3 + 0.02 * 85 = 4, traffic 64 * 0.02 / 4 = 0.32 = 0.4 * 0.8.
/// Two: rho = 2/3: lat = 75 (1 + 0.5 * 4/9 * 3) = 125, t = 2.3 + 2.5 = 4.8, traffic 2 * 1.28 / 4.8 = 8/15 = 2/3 * 0.8.
#[test]
fn one_and_two_tasks_by_hand() {
    let (memory, task) = (memory(75.0, 800.0), demand(2.3, 20.0, 1.0, 0.0));
    near(&totals(&memory, &[task]), &[4.0]);
    near(&totals(&memory, &[task, task]), &[4.8, 4.8]);
}

/// Others' 10 MPKI do half of what the cache can do: infl = 1 + 0.4 * 10 / 20 = 1.2, 12 misses per thousand instructions.
/// rho = 0.5: lat = 80 * 1.25 = 100, t = 0.8 + 0.012 * 100 = 2, traffic 2 * 64 * 0.012 / 2 = 0.768 = 0.5 * 1.536.
#[test]
fn the_cache_is_shared_too() {
    let task = demand(0.8, 10.0, 1.0, 0.4);
    near(&totals(&memory(80.0, 1536.0), &[task, task]), &[2.0, 2.0]);
}

/// No bandwidth is a limit: lat = lat_0. A task that does not miss takes nothing: O = 10 of the other for it, 0 for the other.
#[test]
fn without_a_limit_of_bandwidth_only_the_cache_is_shared() {
    let unlimited = Memory {
        latency_ns: 100.0,
        bandwidth_mb_s: None,
    };
    let (hungry, modest) = (demand(1.0, 10.0, 1.0, 1.0), demand(1.0, 0.0, 1.0, 1.0));
    near(&totals(&unlimited, &[hungry, modest]), &[2.0, 1.0]);
    near(&totals(&unlimited, &[hungry, hungry]), &[2.5, 2.5]);
}

/// Half of a core's throughput makes half of the traffic of an instruction time: as two tasks at half are one.
#[test]
fn siblings_at_half_speed_make_the_traffic_of_one() {
    let memory = memory(75.0, 800.0);
    let half = Demand {
        core_share: 0.5,
        ..demand(2.3, 20.0, 1.0, 0.0)
    };
    near(&totals(&memory, &[half, half]), &[4.0, 4.0]);
}

/// 512 tasks that only miss, on the least bandwidth that a machine may have: rho comes near 1 and stays below, traffic fits.
#[test]
fn traffic_never_exceeds_bandwidth() {
    let memory = memory(0.1, 1.0);
    let greedy = demand(1e-6, 1000.0, 100.0, 10.0);
    let tasks = vec![greedy; 512];
    let mut solver = Solver::default();
    solver.solve(&memory, &tasks);
    let bytes_per_ns = |(cost, misses): (&Cost, &f64)| LINE_BYTES * misses / cost.total_ns();
    let traffic: f64 = solver.costs.iter().zip(&solver.misses).map(bytes_per_ns).sum();
    let rho = traffic / 1e-3;
    assert!((0.999_999..1.0 + 1e-12).contains(&rho), "{rho}");
}

fn any_demand() -> impl Strategy<Value = Demand> {
    let core_share = prop_oneof![3 => Just(1.0), 1 => 0.3f64..1.0];
    (0.05f64..5.0, 0.0f64..60.0, 1.0f64..8.0, 0.0f64..2.0, core_share).prop_map(
        |(compute_ns, mpki, mlp, cache_sensitivity, core_share)| Demand {
            core_share,
            ..demand(compute_ns, mpki, mlp, cache_sensitivity)
        },
    )
}

proptest! {
    /// The fixed point is one: traffic at the latency that was found over bandwidth is the rho of that latency.
    #[test]
    fn traffic_and_latency_agree(
        latency_ns in 10.0f64..300.0,
        mb_s in 200.0f64..50_000.0,
        tasks in prop::collection::vec(any_demand(), 1..12),
    ) {
        let mut solver = Solver::default();
        solver.solve(&memory(latency_ns, mb_s), &tasks);
        let traffic: f64 = (0..tasks.len())
            .map(|i| LINE_BYTES * solver.misses[i] * tasks[i].core_share / solver.costs[i].total_ns())
            .sum();
        let rho = traffic / (mb_s / 1e3);
        prop_assert!((0.0..1.0).contains(&rho));
        for (i, cost) in solver.costs.iter().enumerate() {
            let expected = tasks[i].cost(solver.misses[i], latency_ns * queueing(1.0 - rho).0);
            prop_assert!((cost.total_ns() / expected.total_ns() - 1.0).abs() < 1e-6, "{cost:?} {expected:?}");
            prop_assert!(cost.wait_ns >= tasks[i].cost(tasks[i].misses(0.0), latency_ns).wait_ns * (1.0 - 1e-12));
        }
    }

    /// One more task, or one that misses more or computes faster, makes nobody else faster.
    #[test]
    fn more_traffic_makes_nobody_faster(
        latency_ns in 10.0f64..300.0,
        mb_s in 200.0f64..50_000.0,
        tasks in prop::collection::vec(any_demand(), 1..10),
        more in any_demand(),
        growth in 1.0f64..4.0,
    ) {
        let memory = memory(latency_ns, mb_s);
        let slower = |before: &[f64], after: &[f64]| {
            before.iter().zip(after).all(|(before, after)| *after >= before * (1.0 - 1e-9))
        };
        let others = totals(&memory, &tasks);
        let with = |last: Demand| totals(&memory, &[tasks.as_slice(), &[last]].concat());
        let beside = with(more);
        prop_assert!(slower(&others, &beside), "{others:?} {beside:?}");
        let hungrier = with(Demand { mpki: more.mpki * growth, ..more });
        prop_assert!(slower(&beside[..tasks.len()], &hungrier), "{beside:?} {hungrier:?}");
        let faster = with(Demand { compute_ns: more.compute_ns / growth, ..more });
        prop_assert!(slower(&beside[..tasks.len()], &faster), "{beside:?} {faster:?}");
        // Its own instructions are no slower for computing faster.
        prop_assert!(faster[tasks.len()] <= beside[tasks.len()] * (1.0 + 1e-9));
    }

    /// The order of tasks does not matter to any of them, and less bandwidth or more latency makes nobody faster.
    #[test]
    fn a_worse_memory_makes_nobody_faster(
        latency_ns in 10.0f64..300.0,
        mb_s in 200.0f64..50_000.0,
        tasks in prop::collection::vec(any_demand(), 1..10),
        factor in 1.0f64..4.0,
    ) {
        let here = totals(&memory(latency_ns, mb_s), &tasks);
        for worse in [memory(latency_ns * factor, mb_s), memory(latency_ns, mb_s / factor)] {
            for (before, after) in here.iter().zip(totals(&worse, &tasks)) {
                prop_assert!(after >= before * (1.0 - 1e-9));
            }
        }
        let backwards: Vec<Demand> = tasks.iter().rev().copied().collect();
        for (there, here) in totals(&memory(latency_ns, mb_s), &backwards).iter().rev().zip(&here) {
            prop_assert!((there / here - 1.0).abs() < 1e-9);
        }
    }
}
