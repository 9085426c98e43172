// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::model::{Bounds, Interval, PointValue, Relative};
use std::collections::BTreeMap;

fn result(policy: &str, time_s: f64, energy_j: f64) -> RunResult {
    let relative = time_s * energy_j / (100.0 * 1000.0);
    RunResult {
        policy: policy.to_string(),
        stands_for: None,
        point: BTreeMap::new(),
        time_s,
        cpu_energy_j: energy_j,
        system_energy_j: energy_j,
        system_power_w: energy_j / time_s,
        edp_js: time_s * energy_j,
        relative: Relative {
            time: time_s / 100.0,
            system_energy: energy_j / 1000.0,
            edp: relative,
        },
        bounds: Bounds {
            time_s: 1.0,
            system_energy_j: 1.0,
        },
        energy_source: "modelled".to_string(),
        counters: serde_json::Map::new(),
        ci95: None,
        class: None,
    }
}

fn report(results: Vec<RunResult>) -> Report {
    Report {
        title: "t".to_string(),
        description: String::new(),
        machine: "m".to_string(),
        workload: "w".to_string(),
        energy_source: "modelled".to_string(),
        seed: 1,
        runs: 1,
        results,
        cells: Vec::new(),
        variations: Vec::new(),
        published: Vec::new(),
        trace: None,
    }
}

fn of_two(time_s: f64, energy_j: f64) -> Vec<String> {
    verdicts(&report(vec![
        result("linux", 100.0, 1000.0),
        result("auto", time_s, energy_j),
    ]))
}

/// 67 s instead of 100 s, 1270 J instead of 1000 J: 0.67 * 1.27 = 0.8509 of the EDP.
#[test]
fn a_gain_is_called_one_and_so_is_a_loss() {
    assert_eq!(
        of_two(67.0, 1270.0),
        ["auto: 33 % less time, 27 % more energy than linux (modelled). Energy x time (EDP) is 15 % lower: it pays by that measure."]
    );
    assert_eq!(
        of_two(80.0, 1300.0),
        ["auto: 20 % less time, 30 % more energy than linux (modelled). Energy x time (EDP) is 4.0 % higher: it does not pay here."]
    );
    assert_eq!(
        of_two(100.0, 958.0),
        ["auto: the same time, 4.2 % less energy than linux (modelled). It pays."]
    );
    assert_eq!(
        of_two(101.0, 1000.0),
        ["auto: 1.0 % more time, the same energy than linux (modelled). It does not pay here."]
    );
    assert_eq!(
        of_two(100.0, 1000.0),
        ["auto: the same time and energy as linux (modelled)."]
    );
}

#[test]
fn one_policy_alone_has_no_verdict() {
    assert_eq!(verdicts(&report(vec![result("auto", 1.0, 1.0)])), [""; 0]);
}

/// 100 ± 2 s and 103 ± 2 s overlap, 1000 ± 10 J and 950 ± 10 J do not.
#[test]
fn overlapping_intervals_are_no_difference() {
    let with = |policy: &str, time_s: f64, energy_j: f64| RunResult {
        ci95: Some(Interval {
            time_s: 2.0,
            system_energy_j: 10.0,
            edp_js: 3000.0,
        }),
        ..result(policy, time_s, energy_j)
    };
    // 100000 and 97850 J s, ± 3000 each.
    let both = vec![with("linux", 100.0, 1000.0), with("auto", 103.0, 950.0)];
    assert_eq!(
        verdicts(&report(both)),
        ["auto: no clear difference in time, 5.0 % less energy than linux (modelled). Energy x time (EDP) shows no clear difference: whether it pays cannot be told."]
    );
}

/// 90000 J s ± 3000 do not overlap with 100000 ± 3000: time may be more or less, and it pays.
#[test]
fn what_the_times_leave_open_the_product_may_tell() {
    let with = |policy: &str, energy_j: f64| RunResult {
        ci95: Some(Interval {
            time_s: 2.0,
            system_energy_j: 10.0,
            edp_js: 3000.0,
        }),
        ..result(policy, if policy == "auto" { 100.1 } else { 100.0 }, energy_j)
    };
    assert_eq!(
        verdicts(&report(vec![with("linux", 1000.0), with("auto", 900.0)])),
        ["auto: no clear difference in time, 10 % less energy than linux (modelled). It pays."]
    );
}

/// Where the clock sets the end: 10 ms become 12 ms, with 20 % less energy; 1.2 * 0.8 = 0.96.
#[test]
fn responses_stand_for_a_time_that_the_clock_sets() {
    let with = |policy: &str, energy_j: f64, response_s: f64| {
        let mut result = result(policy, 100.0, energy_j);
        result.counters.insert("mean_response_s".to_string(), response_s.into());
        result
    };
    let all = vec![
        with("linux", 1000.0, 0.010),
        with("auto", 800.0, 0.012),
        with("pack", 700.0, 0.010),
    ];
    assert_eq!(
        verdicts(&report(all)),
        ["auto: 20 % longer mean response, 20 % less energy than linux (modelled). Energy x mean response is 4.0 % lower: it pays by that measure."]
    );
}

#[test]
fn who_has_a_lower_edp_is_named() {
    let mut all = vec![
        result("linux", 100.0, 1000.0),
        result("auto", 100.0, 900.0),
        result("pack", 100.0, 855.0),
    ];
    assert_eq!(
        verdicts(&report(all.clone()))[1],
        "pack has the lowest EDP here, 5.0 % below that of auto."
    );
    all.pop();
    all.push(result("pack", 100.0, 905.0));
    assert_eq!(
        verdicts(&report(all.clone()))[1],
        "No other policy here has a lower EDP."
    );
    // Without auto it is about the one with the lowest EDP.
    all.remove(1);
    all.push(result("random", 100.0, 950.0));
    assert_eq!(
        verdicts(&report(all))[0],
        "pack: the same time, 9.5 % less energy than linux (modelled). It pays."
    );
}

/// At one job it costs 2 % of time and saves 10 % of energy, at two it costs both.
#[test]
fn a_sweep_is_judged_from_best_to_worst() {
    let mut all = Vec::new();
    for (jobs, time_s, energy_j) in [(1.0, 102.0, 900.0), (2.0, 105.0, 1010.0)] {
        for mut result in [result("linux", 100.0, 1000.0), result("auto", time_s, energy_j)] {
            result.point.insert("jobs".to_string(), PointValue::Number(jobs));
            all.push(result);
        }
    }
    assert_eq!(
        verdicts(&report(all)),
        ["auto against linux at 2 points (modelled): time 2.0 to 5.0 % more, energy from 10 % less to 1.0 % more. By energy x time where they disagree, it pays at 1, it does not pay at 1."]
    );
}
