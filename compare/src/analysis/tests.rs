// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::journal::{End, Header, MeterUsed};
use crate::plan::{Combination, CommandLine};
use crate::surroundings::Around;
use std::collections::BTreeMap;

fn combination(policy: &str) -> Combination {
    Combination {
        policy: policy.into(),
        command: CommandLine::Words(vec!["work".into()]),
        name: "work".into(),
        parameters: BTreeMap::new(),
        unit: 0,
        prepare: None,
        conclude: None,
        setup: None,
        cleanup: None,
    }
}

fn run(round: u32, combination: usize, time_s: f64, energy_j: Option<f64>) -> Run {
    Run {
        round,
        combination,
        time_s,
        user_s: Some(time_s / 2.0),
        system_s: Some(0.0),
        memory_usage_byte: Some(1024),
        exit_code: 0,
        energy_j,
        cpu_energy_j: None,
        around: Around::default(),
    }
}

fn measured(runs: Vec<Run>) -> Measured {
    let mut measured = Measured::new(Header::new(1, vec![combination("linux"), combination("linux")]));
    measured.runs = runs;
    measured.end = Some(End::Complete);
    measured
}

fn warning(measured: &Measured, with: &str) -> bool {
    analyse(measured, Method::Student)
        .warnings
        .iter()
        .any(|warning| warning.contains(with))
}

/// 10 J in 1 s are -2 J net with an idle power of 12 W, and 2 J with 8 W.
#[test]
fn a_net_energy_below_zero_is_told() {
    let with = |idle_w: f64| {
        let mut measured = measured(vec![run(0, 0, 1.0, Some(10.0)), run(1, 0, 1.0, Some(10.0))]);
        measured.idle = Idle {
            before_w: Some(idle_w),
            after_w: Some(idle_w),
        };
        measured
    };
    assert!(warning(&with(12.0), "net energy is below 0 (-2.00 J)"));
    assert!(!warning(&with(8.0), "net energy"));
}

/// Two rounds: times 1 and 2 s against 1.1 and 2.2 s, energies 10 and 20 J against 12.1 and 24.2 J; idle 2 and 4 W.
#[test]
fn rows_by_hand() {
    let mut measured = measured(vec![
        run(1, 1, 2.2, Some(24.2)),
        run(0, 0, 1.0, Some(10.0)),
        run(0, 1, 1.1, Some(12.1)),
        run(1, 0, 2.0, Some(20.0)),
    ]);
    measured.idle = Idle {
        before_w: Some(2.0),
        after_w: Some(4.0),
    };
    let analysis = analyse(&measured, Method::Student);
    let (first, second) = (&analysis.rows[0], &analysis.rows[1]);
    assert_eq!(first.times_s, [1.0, 2.0]);
    assert_eq!(second.times_s, [1.1, 2.2], "in the order of rounds");
    assert_eq!(first.energy_j.unwrap().mean, 15.0);
    assert_eq!(first.net_energy_j.unwrap().mean, 15.0 - 3.0 * 1.5);
    assert_eq!(first.edp_js.unwrap().mean, 25.0);
    assert_eq!(first.power_w.unwrap().mean, 10.0);
    assert_eq!(first.relative, Relative::default());
    let of = |ratio: Option<Ratio>| (ratio.unwrap().value * 1e6).round() / 1e6;
    assert_eq!((of(second.relative.time), of(second.relative.energy)), (1.1, 1.21));
    assert_eq!((of(second.relative.power), of(second.relative.edp)), (1.1, 1.331));
    assert_eq!(analysis.rounds, 2);
}

#[test]
fn without_a_meter_there_is_no_energy_and_never_0_j() {
    let row = &analyse(
        &measured(vec![run(0, 0, 1.0, None), run(0, 1, 1.0, None)]),
        Method::Student,
    )
    .rows[1];
    assert!(row.energies_j.is_empty());
    assert_eq!(
        (row.energy_j, row.power_w, row.edp_js, row.net_energy_j),
        (None, None, None, None)
    );
    assert_eq!(row.relative.energy, None);
}

#[test]
fn failed_runs_are_counted_and_not_averaged_nor_paired() {
    let mut broken = run(1, 1, 0.001, Some(0.01));
    broken.exit_code = 3;
    let measured = measured(vec![
        run(0, 0, 1.0, Some(10.0)),
        run(0, 1, 2.0, Some(20.0)),
        run(1, 0, 1.0, Some(10.0)),
        broken,
    ]);
    let row = &analyse(&measured, Method::Student).rows[1];
    assert_eq!(
        (row.times_s.as_slice(), row.exit_codes.as_slice()),
        ([2.0].as_slice(), [0, 3].as_slice())
    );
    assert_eq!(row.failed, [(1, 3)]);
    assert_eq!(row.relative.time.unwrap().pairs, 1);
    assert!(warning(&measured, "1 of 2 runs failed (code 3; round 2)"));
}

#[test]
fn runs_that_are_short_for_the_meter_are_told() {
    let mut measured = measured(vec![run(0, 0, 0.03, Some(1.0)), run(0, 1, 0.05, Some(1.0))]);
    assert!(!warning(&measured, "short for meter"));
    let meter = MeterUsed {
        kind: "powercap".into(),
        name: "package-0".into(),
        whole_system: false,
        update_period_s: Some(0.001),
        only_ratios: false,
    };
    measured.header.meter = Some(meter);
    let found = analyse(&measured, Method::Student).warnings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("energy may be off by 7 %"), "{found:?}");
}

fn in_steps(energies_j: [f64; 4]) -> Measured {
    let [a, b, c, d] = energies_j.map(Some);
    let mut measured = measured(vec![
        run(0, 0, 1.0, a),
        run(0, 1, 1.0, b),
        run(1, 0, 1.0, c),
        run(1, 1, 1.0, d),
    ]);
    measured.header.meter = Some(MeterUsed {
        kind: "command".into(),
        name: "command 'wall'".into(),
        whole_system: true,
        update_period_s: None,
        only_ratios: false,
    });
    measured
}

/// A meter that moves by 36 J every 30 s, and runs of 1 s.
#[test]
fn a_run_that_saw_no_step_of_the_meter_used_no_0_j() {
    let mut none = in_steps([0.0, 36.0, 0.0, 36.0]);
    let analysis = analyse(&none, Method::Student);
    let (first, second) = (&analysis.rows[0], &analysis.rows[1]);
    assert!(first.energies_j.is_empty());
    assert_eq!((first.energy_j, first.power_w, first.edp_js), (None, None, None));
    assert_eq!(second.energy_j.unwrap().mean, 36.0);
    assert_eq!(second.relative.energy, None);
    assert!(
        warning(&none, "none of 2 runs saw a step of meter command"),
        "{:?}",
        analysis.warnings
    );
    none.header.meter.as_mut().unwrap().update_period_s = Some(1.0);
    let off = analyse(&none, Method::Student)
        .warnings
        .iter()
        .filter(|warning| warning.contains("may be off"))
        .count();
    assert_eq!(off, 1, "for the row that has an energy");
    let some = in_steps([36.0, 0.0, 36.0, 36.0]);
    let row = &analyse(&some, Method::Student).rows[1];
    assert_eq!(row.energy_j.unwrap().mean, 18.0, "all runs are averaged");
    assert_eq!((row.relative.energy, row.relative.time.unwrap().pairs), (None, 2));
    assert!(warning(&some, "1 of 2 runs saw no step of meter command"));
    assert!(!warning(&in_steps([36.0; 4]), "step of"));
}

#[test]
fn a_failed_run_that_saw_no_step_is_none_of_these() {
    let mut measured = in_steps([36.0, 36.0, 0.0, 36.0]);
    measured.runs[2].exit_code = 1;
    assert!(!warning(&measured, "step of"));
    assert_eq!(analyse(&measured, Method::Student).rows[0].energies_j, [36.0]);
}

#[test]
fn idle_power_of_no_step_is_none() {
    let mut measured = in_steps([36.0; 4]);
    for (before_w, after_w) in [(0.0, 0.0), (36.0, 0.0), (0.0, 36.0)] {
        (measured.idle.before_w, measured.idle.after_w) = (Some(before_w), Some(after_w));
        let analysis = analyse(&measured, Method::Student);
        assert_eq!(analysis.idle, Idle::default(), "{before_w} {after_w}");
        assert_eq!(analysis.rows[0].net_energy_j, None);
        assert!(warning(&measured, "idle power is not known"), "{:?}", analysis.warnings);
        assert!(!warning(&measured, "idle power went"));
    }
    (measured.idle.before_w, measured.idle.after_w) = (Some(12.0), Some(12.0));
    assert_eq!(analyse(&measured, Method::Student).idle, measured.idle);
    assert!(!warning(&measured, "idle power is not known"));
}

#[test]
fn watts_of_another_processor_are_in_no_warning() {
    let mut measured = in_steps([36.0; 4]);
    (measured.idle.before_w, measured.idle.after_w) = (Some(40.0), Some(60.0));
    assert!(warning(&measured, "50.00 W") && warning(&measured, "-14.00 J"));
    measured.header.meter.as_mut().unwrap().only_ratios = true;
    assert!(!warning(&measured, " W") && !warning(&measured, " J"));
}

#[test]
fn load_of_others_heat_and_governors_are_told() {
    let around = |others_s, stolen_s, hottest_c, governor: &str| Around {
        others_s: Some(others_s),
        stolen_s: Some(stolen_s),
        capacity_s: Some(1.0),
        hottest_c: Some(hottest_c),
        governors: Some(governor.into()),
    };
    let with = |arounds: [Around; 2]| {
        let runs = arounds.into_iter().zip(0..).map(|(around, round)| Run {
            around,
            ..run(round, 0, 1.0, None)
        });
        measured(runs.collect())
    };
    let quiet = with([
        around(0.02, 0.0, 50.0, "schedutil"),
        around(0.03, 0.0, 55.0, "schedutil"),
    ]);
    assert_eq!(analyse(&quiet, Method::Student).warnings, Vec::<String>::new());
    let all = with([
        around(0.3, 0.1, 40.0, "schedutil"),
        around(0.3, 0.1, 55.0, "performance"),
    ]);
    for expected in [
        "others took 30 %",
        "gave 10 %",
        "from 40 to 55",
        "from schedutil to performance",
    ] {
        assert!(
            warning(&all, expected),
            "{expected}: {:?}",
            analyse(&all, Method::Student).warnings
        );
    }
}

#[test]
fn an_early_end_and_outliers_are_told() {
    let mut times = vec![
        run(0, 0, 1.00, None),
        run(1, 0, 1.01, None),
        run(2, 0, 0.99, None),
        run(3, 0, 1.02, None),
    ];
    times.push(run(4, 0, 9.0, None));
    let mut measured = measured(times);
    assert_eq!(analyse(&measured, Method::Student).rows[0].outliers, [4]);
    assert_eq!(
        analyse(&measured, Method::Student).rows[0].times_s.len(),
        5,
        "flagged, not dropped"
    );
    assert!(warning(&measured, "round 5 lies far from the others"));
    measured.end = Some(End::Interrupted(2));
    assert!(warning(&measured, "interrupted by signal 2: 5 runs"));
    measured.end = None;
    assert!(warning(&measured, "5 runs were made so far"));
}

/// A policy that takes 50 ms to react misses a run of 20 ms but acts on one of 80 ms. linux reacts at once.
#[test]
fn runs_shorter_than_the_reaction_of_a_policy_are_told() {
    let of = |time_s: f64| {
        let runs = vec![run(0, 0, time_s, None), run(0, 1, time_s, None)];
        let mut measured = Measured::new(Header::new(1, vec![combination("linux"), combination("highlow")]));
        measured.header.reactions_s.insert("highlow".into(), 0.05);
        (measured.runs, measured.end) = (runs, Some(End::Complete));
        measured
    };
    let expected =
        "'work' under highlow: a run of 20 ms is over before the policy acts, which from user space takes about 50 ms";
    assert!(
        warning(&of(0.02), expected),
        "{:?}",
        analyse(&of(0.02), Method::Student).warnings
    );
    assert!(!warning(&of(0.02), "'work' under linux: a run of 20 ms"));
    assert!(!warning(&of(0.08), "before the policy acts"));
}
