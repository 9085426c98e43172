// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person sees in a terminal.

mod common;

use common::{report, result, sweep};
use lop_report::{counters_table, csv, html, json, table, Beside, Cell, Class, PointValue, Report, Room, Variation};

/// By hand: 100 s * 5000 J = 500 kJ s, 110 s * 4400 J = 484 kJ s; 100 / 80 = +25 %, 110 / 80 = +37.5 %, 5000 / 4000 = +25 %,
/// 4400 / 4000 = +10 %.
#[test]
fn one_point_is_one_table() {
    let expected = "\
two-policies: machine board, workload bursts, seed 7, 1 run, energy: modelled
highlow: 10 % more time, 12 % less energy than linux:performance (modelled). One seed does not tell whether it pays; --runs 3 does.
Worked by hand.

policy              time  power  energy    EDP      time    energy       EDP          time        energy
                       s      W       J   kJ s  relative  relative  relative  % over bound  % over bound
-----------------  -----  -----  ------  -----  --------  --------  --------  ------------  ------------
linux:performance  100.0  50.00    5000  500.0     1.000     1.000     1.000          25.0          25.0
highlow            110.0  40.00    4400  484.0     1.100     0.880     0.968          37.5          10.0

Power, energy and EDP (energy x time) are those of the whole system. Relative: to the first policy. Bound: what no schedule can beat.
";
    assert_eq!(table(&report(), Room::UNLIMITED), expected);
}

/// A row for each cell, those that are behind first, and a sentence; no table for each point.
#[test]
fn a_study_that_judges_a_policy_has_a_row_for_each_cell() {
    let cell = |machine: &str, edp_over_best: f64, time_over_first: f64, behind: bool| Cell {
        point: [("machine".to_string(), PointValue::Text(machine.to_string()))].into(),
        judged: "highlow".to_string(),
        best: "pack".to_string(),
        edp_over_best,
        time_over_first,
        responses: machine == "slow",
        energy_over_in_time: (machine == "slow").then_some(1.05),
        behind,
        beside: None,
    };
    let mut report = report();
    for result in &mut report.results {
        let slow = PointValue::Text("slow".to_string());
        result.point.insert("machine".to_string(), slow);
    }
    report.cells = vec![
        cell("near", 1.004, 1.0, false),
        Cell {
            beside: Some(Beside {
                time: 1.1,
                power: 0.9,
                wakeups: [5.0, 4.0],
                migrations: [3.0, 0.0],
                high_set_mean: [2.5, 4.0],
                lost_slow_start_s: [0.01, 0.0],
            }),
            ..cell("far", 1.1, 1.0, true)
        },
        cell("slow", 1.0, 1.2, true),
    ];
    let expected = "\
two-policies: machine board, workload bursts, seed 7, 1 run, energy: modelled
highlow: lowest EDP or within 2 % of it, and no more than 1 % slower than linux:performance, in 1 of 3 cells; slower by more than 1 % in 1.
Worked by hand.

machine  cells  free  dearer  later                    time                  energy    least energy in time
                                     over linux:performance  over linux:performance  over linux:performance
-------  -----  ----  ------  -----  ----------------------  ----------------------  ----------------------
slow         1     0       0      1                   1.100                   0.880                   1.000
all          1     0       0      1                   1.100                   0.880                   1.000

Free: not later (time or mean response within 1 %, 99th percentile of responses within 5 %, at most 1 more in 1,000 jobs of a timer not done when it expires again) and not dearer (energy within 1 %). Dearer and later may both be true of a cell. Times and energies are geometric means; least energy in time is that of any policy that is not later.

machine  lowest EDP  highlow EDP            highlow time          highlow energy        highlow response       highlow energy
                     over lowest  over linux:performance  over linux:performance  over linux:performance  over lowest in time
-------  ----------  -----------  ----------------------  ----------------------  ----------------------  -------------------
slow     pack              1.000                       -                   0.880                   1.200                1.050
far      pack              1.100                   1.000                       -                       -                    -
near     pack              1.004                   1.000                       -                       -                    -

In 1 cell the clock sets when the workload ends: the mean response stands for the time there, in EDP too. In 0 of these no policy that responds as early takes 2 % less energy.

machine  lowest EDP      time     power        wakeups     migrations      high CPUs  slow start, s
                     over its  over its  highlow / its  highlow / its  highlow / its  highlow / its
-------  ----------  --------  --------  -------------  -------------  -------------  -------------
far      pack         1.100       0.900          5 / 4          3 / 0    2.50 / 4.00    0.01 / 0.00
";
    assert_eq!(table(&report, Room::UNLIMITED), expected);
    let page = html(std::slice::from_ref(&report), &[]).unwrap();
    assert!(!page.contains("Bars at every point"));
    // The axis goes from 1 at 8 to 1.1 at 384, its last step; dots are 24 below the top of their row, and rows 34 apart.
    for dot in [
        "<circle cx=\"384.0\" cy=\"58.0\" r=\"4\" fill=\"var(--p1)\"",
        "<circle cx=\"8.0\" cy=\"92.0\" r=\"4\" fill=\"var(--p1)\"",
        "<title>near: 1.004 times the lowest EDP, that of pack; time 1.000</title>",
    ] {
        assert!(page.contains(dot), "no {dot}");
    }
    report.cells[2].edp_over_best = f64::NAN;
    let refused = html(&[report], &[]).unwrap_err().to_string();
    assert!(refused.contains("cells[2]: edp_over_best"), "{refused}");
}

/// Where there are several applications and runs, a row tells each one's times.
#[test]
fn applications_have_a_row_each() {
    let mut report = report();
    assert!(!table(&report, Room::UNLIMITED).contains("application"));
    for (result, worst) in report.results.iter_mut().zip([160.5, 99.25]) {
        let times = serde_json::json!({
            "app_time_s": {"mcf": 80.25}, "app_time_best_s": {"mcf": 61.5}, "app_time_worst_s": {"mcf": worst},
            "mean_app_time_s": 70.25, "mean_app_time_best_s": 65.25, "mean_app_time_worst_s": 75.25,
        });
        result.counters.extend(times.as_object().unwrap().clone());
    }
    let text = table(&report, Room::UNLIMITED);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .rev()
        .take(2)
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert_eq!(rows[1], ["mcf", "80.25", "61.50", "160.5", "80.25", "61.50", "99.25"]);
    assert_eq!(rows[0][..3], ["mean", "of", "all"]);
    assert_eq!(rows[0][3..6], ["70.25", "65.25", "75.25"]);
}

/// Two applications, of which the first policy has classes; one of the other policy has none.
fn with_classes() -> Report {
    let mut report = sweep();
    for (result, loss) in report.results.iter_mut().zip([Some(0.25), None, Some(0.96), Some(1.0)]) {
        result
            .point
            .insert("cores".to_string(), PointValue::Text("half".to_string()));
        result.class = loss.map(|loss| Class {
            name: if loss < 0.9 { "middle" } else { "slow-limited" }.to_string(),
            loss,
            deviation: 0.05,
        });
    }
    report
}

/// Rows are named by what differs between them only, `jobs` here.
#[test]
fn classes_have_a_row_each() {
    let text = table(&with_classes(), Room::UNLIMITED);
    let expected = "
jobs  linux:performance    loss  highlow          loss
                              %                      %
----  -----------------  ------  ------------  -------
1     middle             25 ± 5  -                   -
2     slow-limited       96 ± 5  slow-limited  100 ± 5
";
    assert!(text.ends_with(expected), "{text}");
    assert!(!table(&sweep(), Room::UNLIMITED).contains("Class of"));
}

#[test]
fn classes_are_in_json_and_drawn() {
    let report = with_classes();
    let value: serde_json::Value = serde_json::from_str(&json(&report).unwrap()).unwrap();
    let expected = serde_json::json!({ "name": "middle", "loss": 0.25, "deviation": 0.05 });
    assert_eq!(value["results"][0]["class"], expected);
    assert!(value["results"][1].get("class").is_none());
    let page = html(&[report], &[]).unwrap();
    assert_eq!(
        page.matches("<b>loss with half of the cores slow</b> (% of that with all slow)")
            .count(),
        1
    );
    assert!(page.contains("<td>25 ± 5</td>"));
    // The axis has 150 % at 8 and 0 at 218, so 25 % is at 183, and 5 % are 7.
    assert!(
        page.contains("d=\"M57.0 176.0h6M60.0 176.0V190.0M57.0 190.0h6"),
        "to scale"
    );
}

#[test]
fn a_single_swept_number_becomes_a_column() {
    let text = table(&sweep(), Room::UNLIMITED);
    let rows: Vec<&str> = text.lines().skip(7).take(4).collect();
    let starts: Vec<Vec<&str>> = rows.iter().map(|r| r.split_whitespace().take(4).collect()).collect();
    assert_eq!(starts[0], ["1", "linux:performance", "100.0", "±"]);
    assert_eq!(starts[1], ["highlow", "110.0", "±", "1.6"]);
    assert_eq!(starts[2], ["2", "linux:performance", "100.0", "±"]);
    assert!(text.contains("5 runs, energy: modelled"));
    assert!(text.contains("5000 ± 60  500.0 ± 8.9"), "{text}");
    assert!(text.contains("95 % confidence interval"));
    let ends: Vec<usize> = rows.iter().map(|r| r.chars().count()).collect();
    assert!(
        ends.iter().all(|e| *e == ends[0]),
        "numbers are aligned right: {ends:?}"
    );
}

#[test]
fn text_points_have_a_block_each() {
    let mut report = sweep();
    for (index, result) in report.results.iter_mut().enumerate() {
        let machine = if index < 2 { "phenom-9750" } else { "i7-940" };
        result
            .point
            .insert("machine".to_string(), PointValue::Text(machine.to_string()));
    }
    let text = table(&report, Room::UNLIMITED);
    assert!(text.contains("\njobs = 1, machine = phenom-9750\npolicy "), "{text}");
    assert!(text.contains("\njobs = 2, machine = i7-940\npolicy "), "{text}");
}

#[test]
fn energy_from_elsewhere_is_named_in_its_row() {
    let mut report = report();
    report.results[1].energy_source = "rapl:package-0".to_string();
    let text = table(&report, Room::UNLIMITED);
    let row = |start: &str| {
        text.lines()
            .find(|l| l.starts_with(&format!("{start} ")))
            .unwrap_or_default()
            .to_string()
    };
    assert!(row("highlow").ends_with("  rapl:package-0"), "{text}");
    assert!(row("linux:performance").ends_with("  modelled"), "{text}");
}

/// Where the clock sets the end of a workload all times are the same, and responses are not.
#[test]
fn responses_have_a_column_where_there_are_any() {
    let mut report = report();
    assert!(!table(&report, Room::UNLIMITED).contains("response"));
    report.results[1]
        .counters
        .insert("mean_response_s".to_string(), 0.01009.into());
    let text = table(&report, Room::UNLIMITED);
    let row = |start: &str| {
        text.lines()
            .find(|l| l.starts_with(&format!("{start} ")))
            .unwrap_or_default()
    };
    assert!(
        text.lines().nth(4).unwrap_or_default().ends_with("  response"),
        "{text}"
    );
    assert!(row("highlow").ends_with("     10.09"), "{text}");
    assert!(row("linux:performance").ends_with("         -"), "{text}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut report = report();
    report
        .results
        .push(result("\u{1b}[31mred\nnext", 100.0, 5000.0, (1.0, 1.0, 1.0)));
    report.machine = "bo\u{7}ard".to_string();
    for text in [table(&report, Room::UNLIMITED), counters_table(&report)] {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        assert!(text.contains("?[31mred?next"));
    }
}

#[test]
fn no_bound_and_no_results_are_said() {
    let mut report = report();
    report.results[0].bounds.time_s = 0.0;
    let text = table(&report, Room::UNLIMITED);
    let row = text
        .lines()
        .find(|l| l.starts_with("linux:performance"))
        .unwrap_or_default();
    assert_eq!(row.split_whitespace().rev().nth(1), Some("-"));
    report.results.clear();
    assert!(table(&report, Room::UNLIMITED).ends_with("\nno results\n"));
}

#[test]
fn counters_stand_side_by_side() {
    let mut report = report();
    report.results[1]
        .counters
        .insert("core_energy_j".to_string(), vec![1.5f64; 20].into());
    let text = counters_table(&report);
    let row = |name: &str| {
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
        line.split("  ")
            .map(str::trim)
            .filter(|c| !c.is_empty())
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("cpu_energy_j"), ["cpu_energy_j", "2500", "2200"]);
    assert_eq!(
        row("wakeup_latency_us.p50"),
        ["wakeup_latency_us.p50", "2.500", "2.500"]
    );
    assert_eq!(
        row("core_energy_j"),
        ["core_energy_j", "-", "20 values, 1.500 to 1.500, sum 30"]
    );
}

/// The two policies of [`report`] and one that did as the first.
#[test]
fn equal_policies_share_a_row() {
    let mut report = report();
    assert!(!table(&report, Room::UNLIMITED).contains("share a row"));
    report.results.push(result("pack", 100.0, 5000.0, (1.0, 1.0, 1.0)));
    let text = table(&report, Room::UNLIMITED);
    let rows = text.lines().filter(|line| line.contains("5000")).count();
    assert_eq!(rows, 1, "{text}");
    assert!(text.contains("\nlinux:performance, pack  100.0"), "{text}");
    assert!(
        text.contains("\nPolicies that share a row decided the same here"),
        "{text}"
    );
    report.results[2].counters.insert("promotions".to_string(), 4.into());
    assert!(
        !table(&report, Room::UNLIMITED).contains("share a row"),
        "they decided otherwise"
    );
}

/// Bounds go first, then power; the rest is as wide as 60 columns allow.
#[test]
fn a_narrow_terminal_loses_the_least_important_columns() {
    let at = |width: usize| {
        let room = Room {
            width: Some(width),
            shows_all: "-v or --format csv",
        };
        table(&report(), room)
    };
    for width in [60, 80, 120] {
        let text = at(width);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{widest} columns at {width}:\n{text}");
    }
    assert!(!at(120).contains("Too wide"));
    let left_out = "Too wide for this terminal: time (% over bound), energy (% over bound).";
    assert!(at(80).replace('\n', " ").contains(left_out), "{}", at(80));
    let narrow = at(60).replace('\n', " ");
    assert!(
        narrow.contains("power (W)") && narrow.contains("To see all: -v or --format csv."),
        "{narrow}"
    );
}

#[test]
fn csv_has_a_line_for_each_result_and_empty_cells_for_what_it_lacks() {
    let text = csv(&[sweep(), report()]).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 4 + 2);
    let at = |name: &str| lines[0].iter().position(|column| *column == name).unwrap();
    let cells = |name: &str| lines[1..].iter().map(|line| line[at(name)]).collect::<Vec<_>>();
    assert_eq!(cells("point_jobs"), ["1", "1", "2", "2", "", ""]);
    assert_eq!(cells("time_s"), ["100", "110", "100", "110", "100", "110"]);
    assert_eq!(
        cells("time_s_high"),
        [
            "101.49999999999999",
            "111.64999999999999",
            "101.49999999999999",
            "111.64999999999999",
            "",
            ""
        ]
    );
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    let mut report = report();
    report.results[0].policy = "a,\"b\"".to_string();
    assert!(csv(&[report.clone()]).unwrap().contains(",\"a,\"\"b\"\"\","));
    report.results[0].time_s = f64::NAN;
    assert!(csv(&[report]).is_err());
}

/// Where a sweep is varied, a row for each value of the first sweep, and one for each cell whose energy changes.
#[test]
fn what_a_varied_sweep_changes_is_told_by_cell() {
    let variation = |machine: &str, workload: &str, other_energy: usize, energy: [f64; 2]| Variation {
        point: [("machine", machine), ("workload", workload)]
            .map(|(name, value)| (name.to_string(), PointValue::Text(value.to_string())))
            .into(),
        policy: "auto".to_string(),
        values: 10,
        other_rules: other_energy / 2,
        other_order: 10,
        other_energy,
        energy,
        verdict: None,
    };
    let mut report = report();
    report.variations = vec![
        variation("board", "bursts", 0, [0.99, 1.01]),
        variation("board", "build", 4, [0.9, 1.05]),
        variation("phone", "bursts", 6, [1.0, 1.5]),
    ];
    let expected = "\
two-policies: machine board, workload bursts, seed 7, 1 run, energy: modelled
Energy differs by more than 2 % with 10 of 30 values that stand in place of the first, in 2 of 3 cells; rules differ with 5, the order of costs with 30.
Worked by hand.

machine  other energy  other energy  other rules  other order     energy, least      energy, most
                cells        values       values       values  over the first's  over the first's
-------  ------------  ------------  -----------  -----------  ----------------  ----------------
board           1 / 2        4 / 20            2           20             0.900             1.050
phone           1 / 1        6 / 10            3           10             1.000             1.500

machine  workload  policy  other energy     energy, least      energy, most
                                 values  over the first's  over the first's
-------  --------  ------  ------------  ----------------  ----------------
phone    bursts    auto          6 / 10             1.000             1.500
board    build     auto          4 / 10             0.900             1.050
";
    assert_eq!(table(&report, Room::UNLIMITED), expected);
    let page = html(std::slice::from_ref(&report), &[]).unwrap();
    assert!(page.contains(">phone<") && page.contains(">6 / 10<"));
    report.variations[1].energy[1] = f64::INFINITY;
    let refused = html(&[report], &[]).unwrap_err().to_string();
    assert!(refused.contains("variations[1]"), "{refused}");
}
