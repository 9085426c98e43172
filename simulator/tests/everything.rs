// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds in each cell of the study `everything`, by what its columns mean, on four machines of it. every_cell.rs has all and which are behind.

mod common;
use common::{label, study, LOADS_OF_TODAY};
use lop_simulator::experiment::{Cell, Study};
use std::sync::OnceLock;

/// Equal cores and unequal ones, the baselines of the studies' sources and those of today.
const MACHINES: [&str; 4] = [
    "opteron-8350-x4, every other core at 1000 MHz",
    "opteron-2x4",
    "laptop-three-kinds",
    "server-2x64",
];

fn cells() -> &'static [Cell] {
    static STUDY: OnceLock<Study> = OnceLock::new();
    let study = STUDY.get_or_init(|| {
        study("everything", |experiment| {
            let machines = experiment
                .sweeps
                .iter_mut()
                .find(|sweep| sweep.point == "machine")
                .unwrap();
            machines
                .values
                .retain(|value| MACHINES.contains(&value.label.to_string().as_str()));
        })
    });
    &study.cells
}

/// Where the clock sets the end, delay is the mean response.
#[test]
fn what_ends_by_the_clock_is_judged_by_its_responses() {
    let by_the_clock = |cell: &Cell| {
        let name = label(cell, "workload");
        ["arrivals", "periodic"].contains(&name.as_str()) || LOADS_OF_TODAY.contains(&name.as_str())
    };
    for cell in cells() {
        assert_eq!(cell.responses, by_the_clock(cell), "{cell:?}");
        assert_eq!(cell.energy.is_some(), cell.responses, "{cell:?}");
    }
    let differ = cells().iter().filter(|cell| cell.responses && cell.time < 0.9).count();
    assert!(differ > 0, "times alone are all the same");
}

/// What an exception is explained by: what it does otherwise than the best.
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
            (edp / cell.edp - 1.0).abs() < 0.04,
            "EDP is power times the square of time, or times the response: {cell:?}"
        );
    }
}
