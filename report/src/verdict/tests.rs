// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::model::{Bounds, Relative, RelativeRange};
use std::collections::BTreeMap;

fn result(policy: &str, time_s: f64, energy_j: f64) -> RunResult {
    let relative = time_s * energy_j / (100.0 * 1000.0);
    RunResult {
        policy: policy.to_string(),
        stands_for: None,
        relative_ci95: Some(RelativeRange {
            time: [time_s / 100.0; 2],
            system_energy: [energy_j / 1000.0; 2],
            edp: [relative; 2],
            response: None,
        }),
        point: BTreeMap::new(),
        time_s,
        energy: None,
        relative: Relative {
            time: time_s / 100.0,
            system_energy: energy_j / 1000.0,
            edp: relative,
        },
        bounds: Bounds {
            time_s: 1.0,
            system_energy_j: None,
        },
        relative_bounds: Relative {
            time: 0.0,
            system_energy: 0.0,
            edp: 0.0,
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
        runs: 3,
        goal: None,
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

/// 67 s instead of 100 s, 1270 J instead of 1000 J: less energy x time, and yet more energy.
#[test]
fn only_less_energy_pays_and_only_in_time() {
    assert_eq!(
        of_two(67.0, 1270.0),
        ["auto: 33 % less time, 27 % more energy than linux (modelled). It buys time with energy; it does not save."]
    );
    let sentence = |time_s, energy_j| {
        let verdict = of_two(time_s, energy_j).remove(0);
        verdict
            .split_once(" (modelled). ")
            .map(|(_, sentence)| sentence.to_string())
    };
    let cases = [
        (100.0, 958.0, "It pays."),
        (101.0, 958.0, "It pays."),
        (101.1, 958.0, "It saves energy and costs time."),
        (101.0, 1000.0, "It does not pay here."),
        (101.0, 1100.0, "It does not pay here."),
        (100.0, 1100.0, "It does not pay here."),
        (90.0, 1000.0, "It saves time, not energy."),
    ];
    for (time_s, energy_j, expected) in cases {
        assert_eq!(
            sentence(time_s, energy_j).as_deref(),
            Some(expected),
            "{time_s} s, {energy_j} J"
        );
    }
    assert_eq!(
        of_two(100.0, 1000.0),
        ["auto: the same time and energy as linux (modelled)."]
    );
}

#[test]
fn more_energy_pays_only_where_speed_was_asked_for() {
    let mut asked = report(vec![result("linux", 100.0, 1000.0), result("auto", 67.0, 1270.0)]);
    asked.goal = Some("balanced".to_string());
    assert!(verdicts(&asked)[0].ends_with("it does not save."));
    asked.goal = Some("speed".to_string());
    assert!(verdicts(&asked)[0].ends_with("It pays in time, which was asked for."));
}

#[test]
fn one_policy_alone_has_no_verdict() {
    assert_eq!(verdicts(&report(vec![result("auto", 1.0, 1.0)])), [""; 0]);
}

fn within(mut of: RunResult, time: [f64; 2], system_energy: [f64; 2]) -> RunResult {
    of.relative_ci95 = Some(RelativeRange {
        time,
        system_energy,
        edp: [1.0; 2],
        response: None,
    });
    of
}

#[test]
fn an_interval_that_covers_1_is_no_difference() {
    let of = |time, energy| {
        let auto = within(result("auto", 99.0, 950.0), time, energy);
        verdicts(&report(vec![result("linux", 100.0, 1000.0), auto])).remove(0)
    };
    assert_eq!(
        of([0.975, 1.005], [0.94, 0.96]),
        "auto: no difference in time can be told (2.5 % less to 0.5 % more), 5.0 % less energy (4.0 to 6.0) than linux (modelled). It pays."
    );
    assert!(of([0.96, 1.02], [0.94, 0.96]).ends_with("It saves energy; whether it costs time cannot be told."));
    assert!(of([0.96, 1.02], [0.89, 1.01]).ends_with("Whether it pays cannot be told."));
    assert!(of([0.98, 0.995], [0.89, 1.01]).ends_with("It saves time; whether it costs energy cannot be told."));
}

#[test]
fn one_seed_is_no_judgement() {
    let mut one = report(vec![result("linux", 100.0, 1000.0), result("auto", 100.0, 900.0)]);
    one.runs = 1;
    one.results.iter_mut().for_each(|result| result.relative_ci95 = None);
    assert_eq!(
        verdicts(&one),
        ["auto: the same time, 10 % less energy than linux (modelled). One seed does not tell whether it pays; --runs 3 does."]
    );
}

/// Where the clock sets the end: 10 ms become 12 ms, with 20 % less energy.
#[test]
fn responses_stand_for_a_time_that_the_clock_sets() {
    let with = |policy: &str, energy_j: f64, response_s: f64| {
        let mut result = result(policy, 100.0, energy_j);
        result.counters.insert("mean_response_s".to_string(), response_s.into());
        let range = result.relative_ci95.as_mut().unwrap();
        range.response = Some([0.99 * response_s / 0.010, 1.01 * response_s / 0.010]);
        result
    };
    let all = vec![with("linux", 1000.0, 0.010), with("auto", 800.0, 0.012)];
    assert_eq!(
        verdicts(&report(all)),
        ["auto: 20 % longer mean response (19 to 21), 20 % less energy than linux (modelled). It saves energy and costs time."]
    );
}

#[test]
fn a_policy_that_saves_more_in_time_is_named() {
    let mut all = vec![
        result("linux", 100.0, 1000.0),
        result("auto", 100.0, 900.0),
        result("pack", 101.0, 850.0),
        result("late", 102.0, 500.0),
    ];
    assert_eq!(
        verdicts(&report(all.clone()))[1],
        "Of those no later than linux, pack uses the least energy: 15 % less."
    );
    all.remove(2);
    assert_eq!(
        verdicts(&report(all.clone()))[1],
        "No other policy here that is no later than linux uses less energy."
    );
    all[1] = result("auto", 90.0, 1100.0);
    assert_eq!(
        verdicts(&report(all.clone()))[1],
        "linux itself uses the least energy of those that are no later."
    );
    // Without auto it is about the one with the least energy.
    all.remove(1);
    all.push(result("random", 100.0, 950.0));
    assert!(verdicts(&report(all))[0].starts_with("late: 2.0 % more time, 50 % less energy than linux"));
}

/// At one job it costs 2 % of time and saves 10 % of energy, at two and three it costs both.
#[test]
fn a_sweep_is_judged_from_best_to_worst() {
    let mut all = Vec::new();
    for (jobs, time_s, energy_j) in [(1.0, 102.0, 900.0), (2.0, 105.0, 1010.0), (3.0, 100.0, 1020.0)] {
        for mut result in [result("linux", 100.0, 1000.0), result("auto", time_s, energy_j)] {
            result.point.insert("jobs".to_string(), PointValue::Number(jobs));
            all.push(result);
        }
    }
    assert_eq!(
        verdicts(&report(all)),
        ["auto against linux at 3 points (modelled): time from the same to 5.0 % more, energy from 10 % less to 2.0 % more. \
          It saves energy and costs time at 1, it does not pay at 2. \
          Most energy: jobs = 3 (2.0 % more energy, the same time); jobs = 2 (1.0 % more energy, 5.0 % more time)."]
    );
}
