// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::page::Room;

/// A row of runs that take these times, or failed where there are none.
fn row(times: &[f64]) -> Compared {
    let extreme = |pick: fn(f64, f64) -> f64| times.iter().copied().reduce(pick);
    let time_s = extreme(f64::min).zip(extreme(f64::max)).map(|(min, max)| Spread {
        mean: Estimate {
            value: min,
            interval: None,
        },
        deviation: None,
        median: min,
        median_interval: None,
        min,
        max,
    });
    Compared {
        policy: "linux".into(),
        command: "work".into(),
        parameters: BTreeMap::new(),
        baseline: 0,
        exit_codes: vec![0; times.len()],
        failed: 0,
        rounds: (0..times.len() as u32).collect(),
        times: times.to_vec(),
        energies_j: Vec::new(),
        memory_usage_byte: Vec::new(),
        outliers: Vec::new(),
        user: None,
        system: None,
        cpu_energy_j: None,
        time_s,
        power_w: None,
        energy_j: None,
        net_energy_j: None,
        edp_js: None,
        relative_time: None,
        relative_power: None,
        relative_energy: None,
        relative_edp: None,
        modelled: None,
    }
}

#[test]
fn energies_are_named_after_what_the_meter_measures() {
    for (kind, whole_system, scope) in [
        ("battery", true, "system"),
        ("perf", false, "cpu"),
        ("nvml", false, "gpu"),
    ] {
        let meter = UsedMeter {
            kind: kind.into(),
            name: kind.into(),
            whole_system,
            update_period_s: None,
            only_ratios: false,
        };
        assert_eq!(meter.scope(), scope);
    }
}

#[test]
fn seeds_that_change_nothing_are_told() {
    let told = |rows: &[Compared]| nothing_by_chance(rows).is_some();
    assert!(told(&[row(&[2.0, 2.0]), row(&[3.0, 3.0])]));
    assert!(!told(&[row(&[2.0, 2.0]), row(&[3.0, 3.1])]), "one row differs");
    assert!(!told(&[row(&[2.0])]), "one seed");
    assert!(!told(&[row(&[])]), "every run failed");
    assert!(!told(&[]));
}

fn spread_of(low: f64, mean: f64, high: f64) -> Spread {
    Spread {
        mean: Estimate {
            value: mean,
            interval: Some((low, high)),
        },
        deviation: Some(high - low),
        median: mean,
        median_interval: None,
        min: low,
        max: high,
    }
}

fn comparison(results: Vec<Compared>) -> Comparison {
    Comparison {
        seed: 1,
        rounds: 10,
        place: "this machine".into(),
        meter: None,
        no_meter: None,
        enforcement: None,
        idle_before_w: None,
        idle_after_w: None,
        reference: None,
        time_unit: None,
        interval: Method::Student,
        trace: None,
        warnings: Vec::new(),
        results,
    }
}

fn lines_with<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

/// Every quantity, names as long as those of policies are, ratios with intervals.
fn with_energies() -> Comparison {
    let ratio = Estimate {
        value: 0.984,
        interval: Some((0.983, 0.985)),
    };
    let full = |policy: &str, relative: Estimate| Compared {
        policy: policy.into(),
        power_w: Some(spread_of(129.2, 129.8, 130.5)),
        energy_j: Some(spread_of(10245.0, 10894.0, 11543.0)),
        net_energy_j: Some(spread_of(9245.0, 9894.0, 10543.0)),
        edp_js: Some(spread_of(800_300.0, 914_500.0, 1_028_700.0)),
        time_s: Some(spread_of(78.5, 83.91, 89.32)),
        relative_time: Some(relative),
        relative_power: Some(relative),
        relative_energy: Some(relative),
        relative_edp: Some(relative),
        ..row(&[80.0; 10])
    };
    let one = Estimate {
        value: 1.0,
        interval: None,
    };
    comparison(vec![full("linux:schedutil", one), full("highlow-spare", ratio)])
}

#[test]
fn the_tables_for_a_terminal_are_as_wide_as_one() {
    let comparison = with_energies();
    let text = comparison_text(&comparison, Room::UNLIMITED);
    let table: Vec<&str> = text.lines().skip(3).take_while(|line| !line.is_empty()).collect();
    assert_eq!(table.len(), 2 + 2 * QUANTITIES.len(), "{text}");
    let widest = text.lines().skip(3).map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest} columns:\n{text}");
    let energies = lines_with(&text, "energy, J");
    assert!(energies[0].ends_with("  1.000"), "{text}");
    assert!(energies[1].contains("10894 [10245, 11543]") && energies[1].ends_with("  0.984 [0.983, 0.985]"));
    assert!(
        lines_with(&text, "net energy, J")
            .iter()
            .all(|line| line.ends_with(']')),
        "it has no ratio"
    );
    assert!(lines_with(&text, "runs").is_empty(), "all as many as there were rounds");
}

/// Watts of another processor: every output has times, ratios and the donor.
#[test]
fn no_output_has_an_absolute_energy_by_foreign_watts() {
    let mut comparison = with_energies();
    let donor = "modelled from this (watts of phenom-9750, another processor)";
    comparison.meter = Some(UsedMeter {
        kind: "modelled".into(),
        name: donor.into(),
        whole_system: true,
        update_period_s: None,
        only_ratios: true,
    });
    (comparison.idle_before_w, comparison.idle_after_w) = (Some(110.0), Some(111.0));
    comparison.results[1].energies_j = vec![10894.0];
    comparison.results[1].modelled = Some(Modelled {
        stands_for: None,
        bounds: Bounds {
            time_s: 60.0,
            system_energy_j: Some(7000.0),
        },
        counters: serde_json::from_str("{\"base_energy_j\":7777.0}").unwrap(),
    });
    let written = |comparison: &Comparison| {
        [
            comparison_text(comparison, Room::UNLIMITED),
            comparison_json(comparison),
            comparison_csv(comparison),
            comparison_markdown(comparison),
            comparison_asciidoc(comparison),
            comparison_orgmode(comparison),
            comparison_html(comparison),
        ]
    };
    let absolute = ["10894", "9894", "129.8", "914500", "7000.0", "7777", "111.0"];
    let shows = |text: &str| absolute.iter().any(|figure| text.contains(figure));
    for (own, foreign) in written(&comparison)
        .iter()
        .zip(written(&comparison.clone().only_ratios()))
    {
        assert!(shows(own) && !shows(&foreign), "{foreign}");
        assert!(foreign.contains(donor), "{foreign}");
        assert!(foreign.contains("0.984") && foreign.contains("0.983"), "{foreign}");
    }
    let text = comparison_text(&comparison.only_ratios(), Room::UNLIMITED);
    assert!(text.contains("Energies are ratios only"), "{text}");
}

#[test]
fn how_many_runs_were_left_stands_where_some_failed() {
    let failed = Compared {
        policy: "highlow".into(),
        exit_codes: vec![1; 10],
        failed: 10,
        ..row(&[])
    };
    let text = comparison_text(&comparison(vec![row(&[2.0; 10]), failed]), Room::UNLIMITED);
    let runs = lines_with(&text, "runs");
    assert!(runs[0].ends_with(" 10") && runs[1].ends_with("0 of 10"), "{text}");
    assert!(lines_with(&text, "time, s")[1].ends_with(" -"), "{text}");
}

/// A cell stays a cell, and a name a name, in every language of markup.
#[test]
fn names_are_no_markup() {
    let named = Compared {
        policy: "a|b*c<d>_..".into(),
        ..row(&[2.0; 10])
    };
    let comparison = comparison(vec![named]);
    let cells = |text: &str, start: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap_or_else(|| panic!("{text}"));
        line.replace("\\|", "").matches('|').count()
    };
    let markdown = comparison_markdown(&comparison);
    assert_eq!(cells(&markdown, "| a\\|b\\*c&lt;d&gt;\\_.."), 4, "{markdown}");
    let asciidoc = comparison_asciidoc(&comparison);
    assert_eq!(
        cells(&asciidoc, "| a&#124;b&#42;c&#60;d&#62;&#95;.&#46;"),
        3,
        "{asciidoc}"
    );
    let orgmode = comparison_orgmode(&comparison);
    assert_eq!(cells(&orgmode, "| a\\vert{}b\\ast{}c\\lt{}d\\gt{}_.."), 4, "{orgmode}");
    assert!(orgmode.starts_with("#+OPTIONS: ^:nil"), "subscripts are off: {orgmode}");
}

/// A row by this name that is compared with the first; each ratio with its 95 % interval, low, value, high.
fn against_first(policy: &str, time: [f64; 3], energy: Option<[f64; 3]>) -> Compared {
    let ratio = |[low, value, high]: [f64; 3]| Estimate {
        value,
        interval: Some((low, high)),
    };
    Compared {
        policy: policy.into(),
        relative_time: Some(ratio(time)),
        relative_energy: energy.map(ratio),
        ..row(&[2.0, 2.0])
    }
}

fn verdicts_on(others: Vec<Compared>) -> Vec<String> {
    verdicts(&comparison([vec![row(&[2.0, 2.0])], others].concat()))
}

#[test]
fn a_verdict_says_what_the_intervals_allow() {
    let longer = [1.08, 1.1, 1.12];
    let alike = [0.97, 1.01, 1.05];
    assert_eq!(
        verdicts_on(vec![against_first("green", longer, Some([0.7, 0.75, 0.8]))]),
        ["green against linux: 25 % less energy (20 to 30), 10 % more time (8.0 to 12). It saves energy and costs time."]
    );
    assert_eq!(
        verdicts_on(vec![against_first("green", alike, None)]),
        ["green against linux: no difference in time can be told (3.0 % less to 5.0 % more)."]
    );
    assert_eq!(
        verdicts_on(vec![against_first("green", [1.0; 3], None)]),
        ["green against linux: the same time."]
    );
    let single = Compared {
        relative_time: Some(Estimate {
            value: 1.1,
            interval: None,
        }),
        ..against_first("green", longer, None)
    };
    assert_eq!(
        verdicts_on(vec![single]),
        ["green against linux: 10 % more time in the one run there is."]
    );
}

/// Energy is judged; a gain in time for a loss in energy does not pay.
#[test]
fn a_verdict_says_whether_it_pays() {
    let (less, more, alike) = ([0.7, 0.75, 0.8], [1.08, 1.1, 1.12], [0.97, 1.0, 1.008]);
    let end = |energy: [f64; 3], time: [f64; 3]| {
        let verdict = verdicts_on(vec![against_first("green", time, Some(energy))]).remove(0);
        let (_, end) = verdict.split_once(". ").unwrap_or_default();
        end.to_string()
    };
    assert_eq!(end(less, [0.97, 0.99, 1.008]), "It pays.");
    assert_eq!(end(less, more), "It saves energy and costs time.");
    assert_eq!(end(more, less), "It buys time with energy; it does not save.");
    assert_eq!(end([0.97, 1.01, 1.05], more), "It does not pay here.");
    assert_eq!(end(alike, alike), "");
}

/// The least that is known to be less; a lower one whose interval covers 1 is passed over.
#[test]
fn of_several_the_verdict_names_the_one_that_gains_most() {
    let longer = [1.08, 1.1, 1.12];
    let lucky = against_first("lucky", longer, Some([0.4, 0.6, 1.2]));
    let green = against_first("green", longer, Some([0.7, 0.75, 0.8]));
    let mild = against_first("mild", longer, Some([0.9, 0.95, 0.99]));
    assert_eq!(
        verdicts_on(vec![lucky.clone(), mild, green]),
        ["Of 3 compared with linux, green uses least energy: 25 % less energy (20 to 30), 10 % more time (8.0 to 12). It saves energy and costs time."]
    );
    let slow = against_first("slow", longer, None);
    assert_eq!(
        verdicts_on(vec![slow.clone(), slow]),
        ["None of 2 is known to take less time than linux: slow: 10 % more time (8.0 to 12); slow: 10 % more time (8.0 to 12)."]
    );
    assert!(verdicts_on(Vec::new()).is_empty(), "nothing to compare with");
    let failed = row(&[]);
    assert!(verdicts_on(vec![failed, lucky])[0].starts_with("lucky against linux: "));
}
