// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::experiment::{open_builtin, Any};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

const TEXT: &str = r#"
id = "small"
title = "Two sizes"
policies = ["least-allocated", "gather"]
runs = 2

[fleet]
machines = 1
machine = ["opteron-2x4"]
off_after_s = 60
boot_s = 10
off_w = 5
arrivals_per_machine = 20
load = 0.5
intensive = 0.5
cores = [1, 2]
run_s = 100

[set]
"machine.base_w" = 100

[[sweep]]
point = "machines"
key = "fleet.machines"
values = [2, 5]

[[sweep]]
point = "kinds"
key = "fleet.machine"
values = [["opteron-2x4"], ["opteron-2x4", "phenom-9750"]]
"#;

fn small(text: &str) -> Result<Experiment, InputError> {
    Experiment::read("small.toml", text, None)
}

fn run(experiment: &Experiment, threads: usize) -> Result<Results, ExperimentError> {
    let done = AtomicUsize::new(0);
    let control = RunControl {
        threads: NonZeroUsize::new(threads),
        progress: &|_| {
            done.fetch_add(1, Ordering::Relaxed);
        },
        cancelled: &AtomicBool::new(false),
    };
    let results = experiment.run(&control);
    assert!(results.is_err() || done.into_inner() == experiment.nr_simulations());
    results
}

#[test]
fn results_come_by_point_and_policy_whatever_the_threads_do() {
    let experiment = small(TEXT).unwrap();
    let results = run(&experiment, 1).unwrap();
    assert_eq!(results, run(&experiment, 3).unwrap());
    assert_eq!(results.machines, ["opteron-2x4", "phenom-9750"]);
    let names: Vec<String> = results
        .results
        .iter()
        .map(|result| format!("{} {} {}", result.point[0].1, result.point[1].1, result.policy))
        .collect();
    assert_eq!(
        names,
        [
            "2 opteron-2x4 least-allocated",
            "2 opteron-2x4 gather",
            "2 opteron-2x4, phenom-9750 least-allocated",
            "2 opteron-2x4, phenom-9750 gather",
            "5 opteron-2x4 least-allocated",
            "5 opteron-2x4 gather",
            "5 opteron-2x4, phenom-9750 least-allocated",
            "5 opteron-2x4, phenom-9750 gather",
        ]
    );
    for result in &results.results {
        assert!(
            result.ci95.is_some() && result.mean.system_energy_j >= result.bounds.system_energy_j,
            "{result:?}"
        );
    }
    assert_eq!(results.results[0].counters["arrivals"], 40.0);
}

/// Idle watts come from the file's settings, and a setting of the command line goes after them.
#[test]
fn settings_reach_the_fleet_and_its_machines() {
    let energy = |settings: &[(&str, &str)]| {
        let mut experiment = small(TEXT).unwrap();
        experiment.set_policies(&["always-on".to_string()]).unwrap();
        settings
            .iter()
            .for_each(|(key, value)| experiment.set(key, value).unwrap());
        let results = run(&experiment, 1).unwrap();
        let result = &results.results[0];
        (result.mean.system_energy_j, result.counters["end_s"].as_f64().unwrap())
    };
    let (file, end_s) = energy(&[]);
    let (more, end_of_more_s) = energy(&[("machine.base_w", "180")]);
    assert_eq!(end_s, end_of_more_s);
    assert!(
        (more - file - 2.0 * 80.0 * end_s).abs() < 1e-6 * more,
        "{file} {more} {end_s}"
    );
    assert!(energy(&[("fleet.load", "0.05")]).1 > 2.0 * end_s);
}

#[test]
fn what_is_wrong_is_named() {
    for (wrong, instead, message) in [
        ("runs = 2", "runs = 0", "runs: 0, expected 1 to 10000"),
        ("load = 0.5", "load = 0", "fleet: load = 0, expected 0.001 to 10"),
        ("run_s", "walk_s", "unknown field `walk_s`"),
        (
            "\"gather\"",
            "\"gater\"",
            "policies: unknown policy 'gater' of a fleet; known: least-allocated",
        ),
        ("\"gather\"", "\"least-allocated\"", "'least-allocated' is named twice"),
        (
            "\"machine.base_w\"",
            "\"workload.scale\"",
            "expected fleet.KEY or machine.KEY",
        ),
        ("values = [2, 5]", "values = []", "0 points"),
    ] {
        let error = small(&TEXT.replace(wrong, instead)).unwrap_err().to_string();
        assert!(error.contains("small.toml") && error.contains(message), "{error}");
    }
    let mut experiment = small(TEXT).unwrap();
    assert!(experiment
        .set("fleet.machines", "3")
        .unwrap_err()
        .message
        .contains("sweeps this as 'machines'"));
    assert!(experiment
        .set_machine("i7-940")
        .unwrap_err()
        .message
        .contains("sweeps this as 'kinds'"));
    experiment.set("fleet.lod", "1").unwrap();
    let error = run(&experiment, 1).unwrap_err().to_string();
    assert!(error.contains("--set or a sweep: fleet.lod: unknown field"), "{error}");
}

#[test]
fn the_study_has_every_policy_and_fleets_from_ten_to_ten_thousand() {
    let Any::Fleet(study) = open_builtin("fleet").unwrap() else {
        panic!("it has a table [fleet]");
    };
    assert_eq!(study.policies, Policy::NAMES.map(|(_, policy)| policy));
    let sizes: Vec<u32> = study
        .points()
        .unwrap()
        .iter()
        .map(|point| point.fleet.setup.machines)
        .collect();
    assert_eq!(
        (sizes.first(), sizes.last(), sizes.len()),
        (Some(&10), Some(&10_000), 20)
    );
}
