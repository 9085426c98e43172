// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watts of another processor: every output has times, ratios and the donor, and no W, J or J s.

mod common;

use common::{report, sweep, timeline};
use lop_report::{counters_table, csv, html, json, perfetto, table, Report, Room, Timeline};

const DONOR: &str = "modelled with the watts of i7-940, another processor";
const UNIT: &str = "1 = mean of linux, by the watts of i7-940, another processor";

/// The joules of two results, of their bounds and of a counter, their watts and J s, as they would be written.
const ABSOLUTE: [&str; 11] = [
    "5000", "4400", "2500", "2200", "4000", "7777", "50.00", "484.0", "484000", "12.5", " kJ s",
];

fn only_ratios(mut report: Report) -> Report {
    report.energy_source = DONOR.to_string();
    for result in &mut report.results {
        result.counters.insert("base_energy_j".to_string(), 7777.into());
        result.energy_source = DONOR.to_string();
        *result = result.clone().only_ratios();
    }
    report
}

/// 12.5 and 20 W, over a mean of 10 W.
fn relative_power() -> Timeline {
    timeline().only_ratios(1e7, UNIT.to_string())
}

#[test]
fn no_output_has_an_absolute_energy_and_every_one_names_the_donor() {
    for report in [report(), sweep()] {
        let foreign = only_ratios(report.clone());
        let of_report = |report: &Report| {
            [
                table(report, Room::UNLIMITED),
                counters_table(report),
                json(report).unwrap(),
                csv(std::slice::from_ref(report)).unwrap(),
                without_data(&html(std::slice::from_ref(report), &[]).unwrap()),
            ]
        };
        for (own, foreign) in of_report(&report).iter().zip(of_report(&foreign)) {
            let shown = |text: &str| ABSOLUTE.iter().any(|absolute| text.contains(absolute));
            assert!(shown(own) && !shown(&foreign), "{foreign}");
            assert!(foreign.contains(DONOR), "{foreign}");
        }
    }
}

/// The island of the page is the JSON, packed.
fn without_data(page: &str) -> String {
    let (drawn, _) = page.split_once("<script").unwrap();
    drawn.split_once("</style>").unwrap().1.to_string()
}

#[test]
fn the_table_keeps_ratios_and_distances_to_bounds() {
    let text = table(&only_ratios(report()), Room::UNLIMITED);
    let row = "highlow            110.0     1.100     0.880     0.968          37.5          10.0";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("Energies are ratios only"), "{text}");
}

#[test]
fn power_over_time_is_relative_on_the_page_and_in_the_trace() {
    let trace = perfetto(&[relative_power()]).unwrap();
    let name = format!("CPU power ({UNIT})");
    let expected = [1.25, 2.0].map(|power| format!("{{\"{UNIT}\":{power:?}}}"));
    assert!(expected.iter().all(|power| trace.contains(power)), "{trace}");
    assert!(trace.contains(&name) && !trace.contains("(W)"), "{trace}");
    let page = html(&[], &[relative_power()]).unwrap();
    assert!(page.contains(&format!("power ({UNIT})")), "{page}");
}
