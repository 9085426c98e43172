// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that nobody waits for, beside work that somebody waits for (policy/sets/background.h).

mod common;
use common::*;
use lop_simulator::{simulate, workload, Outcome, RunOptions};

/// A smaller build of `batch-and-interactive`, with so many jobs.
fn beside_an_editor(name: &str, nice: &str, jobs: &str, seed: u64) -> Outcome {
    let set = overrides(&[
        ("task.slot.nice", nice),
        ("task.compile.nice", nice),
        ("task.slot.count", jobs),
        ("task.slot.steps.0.repeat", "5"),
    ]);
    let machine = lop_machine::load("laptop-hybrid", &[]).unwrap();
    let work = workload::load("batch-and-interactive", &set).unwrap().build(seed);
    let options = RunOptions {
        seed,
        ..RunOptions::default()
    };
    simulate(&machine, &work, &policy(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Nice 18 weighs 18, and nice 19 15, so that shares are alike; only of nice 19 it is said that nobody waits. The machine takes a
/// quarter less in all, though half of its energy is that of the board and memory. The editor is no later: with 16 jobs on the
/// 16 CPUs its keys have fast cores to themselves, without a job on the sibling. The processor chooses their speed by how busy they are, so that a fast core
/// beside which less runs may be later by two in a thousand.
#[test]
fn a_batch_at_nice_19_takes_less_and_makes_nobody_wait() {
    for (jobs, seed) in [("4", 1), ("10", 1), ("16", 1), ("16", 2)] {
        let [ordinary, background] = ["18", "19"].map(|nice| beside_an_editor("auto", nice, jobs, seed));
        assert!(
            background.counters.app_time_s["build"] < 10.0,
            "{jobs} jobs: it is not done"
        );
        let (least, joules) = (ordinary.system_energy_j, background.system_energy_j);
        assert!(joules < 0.8 * least, "{jobs} jobs: {joules} J, {least} J at nice 18");
        let [before_s, after_s] = [&ordinary, &background].map(|outcome| outcome.counters.mean_response_s.unwrap());
        assert!(
            after_s < 1.002 * before_s,
            "{jobs} jobs: {after_s} s, {before_s} s at nice 18"
        );
        assert_eq!(background.counters.tasks, ordinary.counters.tasks);
    }
}

/// Without watts no kind of core and no speed is known to be cheaper.
#[test]
fn without_watts_nice_19_is_a_weight_alone() {
    let [ordinary, background] = ["18", "19"].map(|nice| beside_an_editor("auto:no-watts", nice, "10", 1));
    assert!((background.system_energy_j / ordinary.system_energy_j - 1.0).abs() < 0.01);
}
