// SPDX-License-Identifier: MIT OR Apache-2.0
//! The study `everything`: auto beside each policy and baseline. What holds in every cell of the kind that a sentence is about. `make soak` runs this, as it takes minutes.

mod common;
use common::{label, study, LOADS_OF_TODAY};
use lop_simulator::experiment::{Cell, PolicyResult, Study, NEARLY_AS_FAST, NEARLY_LOWEST_EDP};
use std::sync::OnceLock;

/// Machines whose cores differ.
const ASYMMETRIC: [&str; 8] = [
    "opteron-8350-x4, every other core at 1000 MHz",
    "opteron-16",
    "laptop-hybrid",
    "laptop-three-kinds",
    "desktop-hybrid",
    "desktop-two-chiplets",
    "phone-three-kinds",
    "phone-2024",
];

/// Machines whose baseline is the fair class, as Linux has it.
const OF_TODAY: [&str; 9] = [
    "laptop-hybrid",
    "laptop-three-kinds",
    "desktop-hybrid",
    "desktop-two-chiplets",
    "phone-three-kinds",
    "phone-2024",
    "server-2x64",
    "server-arm-80",
    "cloud-vm",
];

/// Threads that compute and hardly wait for one another.
const CPU_BOUND: [&str; 6] = [
    "kernel-build, 4 jobs",
    "matmul",
    "one-and-many",
    "parallel-for",
    "parsec-like-join",
    "registration",
];

/// Means of two seeds, as the command prints them: of one alone four cells more would be behind, by what it draws.
fn everything() -> &'static Study {
    static STUDY: OnceLock<Study> = OnceLock::new();
    STUDY.get_or_init(|| study("everything", |_| {}))
}

fn cells() -> &'static [Cell] {
    &everything().cells
}

fn is_asymmetric(cell: &Cell) -> bool {
    ASYMMETRIC.contains(&label(cell, "machine").as_str())
}

/// "MACHINE: WORKLOAD" of those in order.
fn named(cells: impl Iterator<Item = &'static Cell>) -> Vec<String> {
    let name = |cell: &Cell| format!("{}: {}", label(cell, "machine"), label(cell, "workload"));
    cells.map(name).collect()
}

/// See docs/experiments.md for the causes of the exceptions.
#[test]
fn where_cores_differ_auto_is_behind_what_ships_in_time_in_four_cells() {
    let asymmetric: Vec<&Cell> = cells().iter().filter(|cell| is_asymmetric(cell)).collect();
    assert_eq!(asymmetric.len(), 4 * 26 + 4 * 27);
    let most = [
        ("opteron-8350-x4, every other core at 1000 MHz", 1.0),
        ("opteron-16", 1.0),
        ("desktop-hybrid", 1.0),
        ("desktop-two-chiplets", 1.0),
        ("phone-three-kinds", 1.08),
        ("phone-2024", 1.13),
    ];
    for (machine, most) in most {
        for cell in asymmetric.iter().filter(|cell| label(cell, "machine") == machine) {
            assert!(cell.time <= most, "{:?}: {}", cell.point, cell.time);
        }
    }
    let behind = asymmetric.into_iter().filter(|cell| cell.time > NEARLY_AS_FAST);
    let expected = [
        "laptop-hybrid: coupled",
        "phone-three-kinds: barriers",
        "phone-2024: global-sum",
        "phone-2024: web-server",
    ];
    assert_eq!(named(behind), expected);
}

/// Delay of a policy over that of the first, of work that ends by itself on equal cores, where sets take more than 1.1 times as long.
#[test]
fn on_equal_cores_sets_take_a_tenth_longer_in_few_cells() {
    let results = &everything().results;
    let time_s = |cell: &Cell, policy: &str| {
        let is = |result: &&PolicyResult| result.point == cell.point && result.policy.to_string() == policy;
        results.iter().find(is).map(|result| result.mean.time_s).unwrap()
    };
    let late = |policy: &'static str| {
        let is_late = move |cell: &&Cell| time_s(cell, policy) > 1.1 * time_s(cell, "linux:performance");
        named(cells().iter().filter(|cell| !is_asymmetric(cell)).filter(is_late))
    };
    assert_eq!(late("auto"), [""; 0]);
    let spare = [
        "xeon-1870-x2: global-sum",
        "opteron-2x4: global-sum",
        "poweredge-2650: pipeline",
        "server-arm-80: global-sum",
    ];
    assert_eq!(late("highlow-spare"), spare);
    let without = [
        "opteron-2352-x2: global-sum",
        "xeon-1870-x2: global-sum",
        "opteron-2x4: global-sum",
        "poweredge-2650: pipeline",
        "poweredge-2650: recorded-build",
        "server-2x64: global-sum",
        "server-arm-80: global-sum",
    ];
    assert_eq!(late("highlow"), without);
}

#[test]
fn on_equal_cores_auto_does_no_harm_to_work_bound_to_the_cpu() {
    let bound = |cell: &&Cell| !is_asymmetric(cell) && CPU_BOUND.contains(&label(cell, "workload").as_str());
    let cells: Vec<&Cell> = cells().iter().filter(bound).collect();
    assert_eq!(cells.len(), 12 * 6 + 1);
    for cell in cells {
        assert!(cell.time <= NEARLY_AS_FAST, "{:?}: {}", cell.point, cell.time);
    }
}

/// Runs are the same each time, so a change of a rule changes the number here and there. See docs/experiments.md for the cells that are missing.
#[test]
fn the_cells_near_the_lowest_edp_are_as_many_as_docs_say() {
    let of_sources = |cell: &Cell| {
        let [machine, workload] = ["machine", "workload"].map(|name| label(cell, name));
        !OF_TODAY.contains(&machine.as_str()) && !LOADS_OF_TODAY.contains(&workload.as_str())
    };
    let (sources, rest): (Vec<&Cell>, Vec<&Cell>) = cells().iter().partition(|cell| of_sources(cell));
    assert_eq!((sources.len(), rest.len()), (11 * 21 + 6 + 4 * 9, 287), "cells");
    let near = |cells: &[&Cell]| cells.iter().filter(|cell| !cell.is_behind()).count();
    assert_eq!((near(&sources), near(&rest)), (251, 208));
}

/// Energy at equal lateness.
#[test]
fn in_126_of_140_cells_of_the_clock_nobody_as_early_takes_less_energy() {
    let energies: Vec<f64> = cells().iter().filter_map(|cell| cell.energy).collect();
    assert_eq!(energies.len(), 140);
    assert!(
        energies.iter().all(|energy| *energy >= 1.0),
        "auto is as early as itself"
    );
    assert_eq!(
        energies.iter().filter(|energy| **energy <= NEARLY_LOWEST_EDP).count(),
        126
    );
}
