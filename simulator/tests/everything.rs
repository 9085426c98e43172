// SPDX-License-Identifier: MIT OR Apache-2.0
//! The study `everything`: auto beside each policy and baseline. What holds in every cell of the kind that a sentence is about.

use lop_simulator::experiment::{self, Cell, RunControl, NEARLY_AS_FAST};
use std::sync::atomic::AtomicBool;
use std::sync::OnceLock;

/// Machines whose cores differ.
const ASYMMETRIC: [&str; 4] = [
    "opteron-8350-x4, every other core at 1000 MHz",
    "opteron-16",
    "laptop-hybrid",
    "phone-three-kinds",
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
fn cells() -> &'static [Cell] {
    static CELLS: OnceLock<Vec<Cell>> = OnceLock::new();
    CELLS.get_or_init(|| {
        let study = experiment::load_builtin("everything").unwrap_or_else(|error| panic!("{error}"));
        let control = RunControl {
            threads: None,
            progress: &|_| {},
            cancelled: &AtomicBool::new(false),
        };
        experiment::run(&study, &control)
            .unwrap_or_else(|error| panic!("{error}"))
            .cells
    })
}

fn label(cell: &Cell, name: &str) -> String {
    let value = cell.point.iter().find(|(swept, _)| swept == name);
    value.unwrap_or_else(|| panic!("no sweep of {name}")).1.to_string()
}

fn is_asymmetric(cell: &Cell) -> bool {
    ASYMMETRIC.contains(&label(cell, "machine").as_str())
}

#[test]
fn where_cores_differ_auto_is_never_behind_the_baseline_in_time() {
    let asymmetric: Vec<&Cell> = cells().iter().filter(|cell| is_asymmetric(cell)).collect();
    assert_eq!(asymmetric.len(), 4 * 21);
    for cell in asymmetric {
        assert!(cell.time <= 1.0, "{:?}: {}", cell.point, cell.time);
    }
}

#[test]
fn on_equal_cores_auto_does_no_harm_to_work_bound_to_the_cpu() {
    let bound = |cell: &&Cell| !is_asymmetric(cell) && CPU_BOUND.contains(&label(cell, "workload").as_str());
    let cells: Vec<&Cell> = cells().iter().filter(bound).collect();
    assert_eq!(cells.len(), 10 * 6 + 1);
    for cell in cells {
        assert!(cell.time <= NEARLY_AS_FAST, "{:?}: {}", cell.point, cell.time);
    }
}

/// Where the clock sets the end, delay is the mean response.
#[test]
fn what_ends_by_the_clock_is_judged_by_its_responses() {
    let by_the_clock = |cell: &Cell| ["arrivals", "periodic"].contains(&label(cell, "workload").as_str());
    for cell in cells() {
        assert_eq!(cell.responses, by_the_clock(cell), "{cell:?}");
    }
    let differ = cells().iter().filter(|cell| cell.responses && cell.time < 0.9).count();
    assert!(differ > 0, "times alone are all the same");
}

/// See docs/experiments.md for those that are missing.
#[test]
fn auto_has_nearly_the_lowest_edp_in_nine_of_ten_cells() {
    let all = cells().len();
    let near = cells().iter().filter(|cell| !cell.is_behind()).count();
    assert_eq!(all, 14 * 21 + 6 + 4 * 9, "cells");
    assert!(10 * near >= 9 * all, "{near} of {all}");
}

/// What an exception is explained by: rules together that have a price, or what it does otherwise than the best.
#[test]
fn each_exception_stands_beside_the_best() {
    for cell in cells() {
        assert_eq!(cell.beside.is_some(), cell.is_behind(), "{cell:?}");
        let Some(beside) = cell.beside else { continue };
        let edp = beside.power
            * if cell.responses {
                beside.time
            } else {
                beside.time * beside.time
            };
        assert!(
            (edp / cell.edp - 1.0).abs() < 0.02,
            "EDP is power times the square of time, or times the response: {cell:?}"
        );
    }
    let together = |cell: &&Cell| (cell.price.iter()).any(|price| price.without.to_string().contains('+'));
    assert!(
        cells().iter().any(|cell| together(&cell)),
        "no rules have a price together"
    );
}

/// A price is a rule without which there would be less to explain, found by measuring.
#[test]
fn a_price_is_named_only_where_leaving_the_rule_out_helps() {
    for cell in cells() {
        let Some(price) = &cell.price else { continue };
        assert!(cell.is_behind() && price.edp < cell.edp, "{cell:?}");
        assert!(price.without.to_string().starts_with("auto:no-"), "{cell:?}");
    }
    assert!(cells().iter().any(|cell| cell.price.is_some()));
}
