// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a faster clock may do to the length of a run, on equal cores of which none is idle while a task waits.
//!
//! It makes no run longer where nobody's order matters: on one core without sleeps, and where each task has a core for itself. Elsewhere it may, as a faster
//! machine may do the same tasks in another order (Graham, "Bounds on multiprocessing timing anomalies", 1969); docs/experiments.md has examples. Then a run
//! of work W on m cores, with a critical path C (sleeps included) and L under one lock, takes at most W / m + C + L: at each moment all cores are busy, or
//! the path goes on, or it waits for the lock, which somebody holds. None of the three is more than the lower bound of the same run, which falls with a
//! faster clock.

mod common;
#[path = "common/sketch.rs"]
mod sketch;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::Waiting;
use proptest::prelude::*;
use sketch::{build, sketch, Act, Sketch, LIMIT_NS};

const MHZ: [u64; 5] = [500, 1000, 1500, 2000, 3000];

/// Equal cores of up to 3000 MHz that are held at this one of their points, from 1.
fn held(cores: u16, point: usize) -> Machine {
    let opps = MHZ.map(|mhz| opp(mhz, 1000, 1.0, 1.0 + (mhz * mhz) as f64 / 1e6, 0.0));
    let mut kind = kind(1.5, opps.to_vec());
    kind.opps.truncate(point + 1);
    machine_of(kind, cores, 1)
}

/// Two points, the lower one first.
fn two_clocks() -> impl Strategy<Value = [usize; 2]> {
    (0..MHZ.len() - 1).prop_flat_map(|low| (Just(low), low + 1..MHZ.len()).prop_map(|(low, high)| [low, high]))
}

/// Policies that leave no core idle while a task waits, and run it at the highest speed that there is.
fn work_conserving() -> impl Iterator<Item = &'static str> {
    let others = [
        POWERSAVE,
        "linux:userspace",
        ONDEMAND,
        SCHEDUTIL,
        "linux:eas",
        "linux:hwp",
        "simple-sets",
        "reserved-core",
    ];
    let placed = ["pack", "scatter", "random"];
    (policy_names().into_iter()).filter(move |name| !others.contains(name) && !placed.contains(name))
}

/// What is left of the sketch without some acts, on any CPU; nobody waits at the end.
fn only(sketch: &Sketch, keeps: impl Fn(&Act) -> bool) -> Sketch {
    let mut sketch = Sketch {
        waiting: Waiting::Block,
        meet: false,
        ..sketch.clone()
    };
    for (acts, _, pinned, _) in &mut sketch.tasks {
        acts.retain(&keeps);
        *pinned = None;
    }
    sketch
}

/// Each piece of work is rounded up to whole ns each time that it goes on.
fn rounding_ns(outcome: &lop_simulator::Outcome, pieces: u64) -> u64 {
    pieces + outcome.counters.context_switches + outcome.counters.frequency_transitions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_core_is_done_no_later(sketch in sketch(1), points in two_clocks()) {
        let (workload, _, _, pieces) = build(&only(&sketch, |act| matches!(act, Act::Run(_) | Act::Yield)));
        for name in work_conserving() {
            let [slow, fast] = points.map(|point| run(&held(1, point), &workload, name));
            let slack_ns = rounding_ns(&fast, pieces);
            prop_assert!(fast.time_ns <= slow.time_ns + slack_ns, "{name}: {} and {} ns", fast.time_ns, slow.time_ns);
        }
    }

    #[test]
    fn tasks_with_a_core_each_are_done_no_later(sketch in sketch(1), points in two_clocks()) {
        let alone = only(&sketch, |act| !matches!(act, Act::Fork(..) | Act::Locked(_)));
        let (workload, _, tasks, pieces) = build(&alone);
        for name in work_conserving() {
            let [slow, fast] = points.map(|point| run(&held(tasks as u16, point), &workload, name));
            let slack_ns = rounding_ns(&fast, pieces);
            prop_assert!(fast.time_ns <= slow.time_ns + slack_ns, "{name}: {} and {} ns", fast.time_ns, slow.time_ns);
        }
    }

    #[test]
    fn an_anomaly_is_no_longer_than_work_path_and_lock(
        sketch in sketch(1),
        cores in 2u16..=4,
        points in two_clocks(),
        locks in any::<bool>(),
        meet in any::<bool>(),
    ) {
        let blocking = Sketch { meet, ..only(&sketch, |act| locks || !matches!(act, Act::Locked(_))) };
        let (workload, _, _, pieces) = build(&blocking);
        for name in work_conserving() {
            let [slow, fast] = points.map(|point| run(&held(cores, point), &workload, name));
            prop_assert!(fast.time_ns < LIMIT_NS, "{name}: never ends");
            let slack_ns = rounding_ns(&fast, pieces) as f64;
            let parts = if locks { 3.0 } else { 2.0 };
            prop_assert!(fast.time_ns as f64 <= parts * fast.bounds.time_s * 1e9 + slack_ns, "{name}: {} ns, {:?}", fast.time_ns, fast.bounds);
            prop_assert!(fast.bounds.time_s <= slow.bounds.time_s, "{name}: {:?} and {:?}", fast.bounds, slow.bounds);
        }
    }
}
