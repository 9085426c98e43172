// SPDX-License-Identifier: GPL-2.0-only
//! What holds for every load: the shape of its report, its help, its refusals, and a check of the result that can fail.

use lop_loads_check::{end, run, short};
use serde_json::Value;

fn ms(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// The start and the end are within the whole, in this order.
fn assert_times(value: &Value, wall_ms: f64) {
    let (started, ended) = (ms(value, "started_ms"), ms(value, "ended_ms"));
    assert!(
        0.0 <= started && started <= ended && ended <= wall_ms,
        "{value} in {wall_ms} ms"
    );
}

/// The times of threads, processes and phases; CPU time is at most what the elapsed time allows.
fn assert_list(json: &Value, list: &str, at_a_time: f64) {
    let wall_ms = ms(json, "wall_ms");
    for element in json[list].as_array().unwrap_or_else(|| panic!("no {list}: {json}")) {
        assert_times(element, wall_ms);
        let length_ms = ms(element, "ended_ms") - ms(element, "started_ms");
        // The two clocks are read one after the other.
        if list != "phases" {
            assert!(ms(element, "cpu_ms") <= length_ms * at_a_time + 0.1, "{element}");
        }
    }
}

#[test]
fn report_has_name_parameters_and_times() {
    for (load, arguments) in short() {
        let json = run(load, arguments);
        assert_eq!(json["load"], load);
        assert!(json["started_monotonic_ns"].as_u64().unwrap() > 0);
        assert!(ms(&json, "wall_ms") > 0.0);
        for pair in arguments.chunks(2) {
            let given: f64 = pair[1].parse().unwrap();
            assert_eq!(
                ms(&json["parameters"], &pair[0][2..].replace('-', "_")),
                given,
                "{load} {pair:?}"
            );
        }
        match load {
            "one-and-many" => {
                assert_list(&json, "applications", 3.0);
                for application in json["applications"].as_array().unwrap() {
                    let wall_ms = &json["wall_ms"];
                    let threads = serde_json::json!({ "wall_ms": wall_ms, "threads": application["threads"] });
                    assert_list(&threads, "threads", 1.0);
                }
            }
            // A job has up to four processes, each of which waits for the next one; but a parent may be charged for time stolen from its CPU.
            "fork-storm" => assert_list(&json, "jobs", 4.0),
            _ => assert_list(&json, "threads", 1.0),
        }
        if !json["phases"].is_null() {
            assert_list(&json, "phases", 1.0);
        }
    }
}

#[test]
fn help_has_every_parameter_and_an_example() {
    for (load, arguments) in short() {
        let help = end(load, &["--help"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{load}");
        assert!(help.stdout.contains(&format!("Example: {load} --")), "{}", help.stdout);
        let json = run(load, arguments);
        for name in json["parameters"].as_object().unwrap().keys() {
            let option = format!("  --{} VALUE\n", name.replace('_', "-"));
            assert!(help.stdout.contains(&option), "{load}: no{option}");
        }
    }
}

#[test]
fn a_result_that_is_wrong_is_found() {
    for (load, arguments) in short() {
        let spoilt = end(load, &[arguments, &["--spoil"]].concat());
        assert_eq!(spoilt.code, 1, "{load}");
        assert_eq!(spoilt.json()["correct"], false, "{load}");
        assert!(
            spoilt.stderr.contains("the result is wrong"),
            "{load}: {}",
            spoilt.stderr
        );
    }
}

/// Exit code 2, nothing on standard output, and one line that contains each of `parts`.
fn assert_refused(load: &str, arguments: &[&str], parts: &[&str]) {
    let refused = end(load, arguments);
    assert_eq!(refused.code, 2, "{load} {arguments:?}: {}", refused.stderr);
    assert_eq!(refused.stdout, "", "{load} {arguments:?}");
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    for part in parts.iter().chain(&[load, "--help"]) {
        assert!(
            refused.stderr.contains(part),
            "{load} {arguments:?}: no '{part}': {}",
            refused.stderr
        );
    }
}

#[test]
fn options_of_no_load_are_refused() {
    for (load, _) in short() {
        assert_refused(load, &["--thread", "4"], &["--thread", "no such option"]);
        assert_refused(load, &["4"], &["4", "--name VALUE"]);
    }
}

#[test]
fn values_that_cannot_be_are_refused_with_a_way_out() {
    let threads = "a whole number from 1 to 4096";
    for value in [
        "0", "-1", "4097", "1.5", "four", "", "1e99", "0x10", "nan", "inf", " 4", "4 ",
    ] {
        assert_refused("matmul", &["--threads", value], &["--threads", value, threads]);
    }
    assert_refused("matmul", &["--threads"], &["--threads", "(nothing)", threads]);
    assert_refused("matmul", &["--threads=0"], &["--threads 0", threads]);
    let ways = "busy-wait, adaptive, spin-then-notify or block";
    assert_refused("half-sequential", &["--waiting", "sleep"], &["--waiting sleep", ways]);
    assert_refused(
        "half-sequential",
        &["--sequential-percent", "101"],
        &["--sequential-percent 101", "from 0 to 100"],
    );
    assert_refused(
        "parallel-for",
        &["--schedule", "auto"],
        &["--schedule auto", "static, dynamic or guided"],
    );
    assert_refused(
        "stream",
        &["--intensity-mpki", "0"],
        &["--intensity-mpki 0", "from 0.01 to 50"],
    );
    for rows in ["3", "a-b", "1-", "-1-5", "10-20-30", "3-4x"] {
        assert_refused("matmul", &["--rows", rows], &["--rows", rows, "X-Y"]);
    }
    assert_refused(
        "matmul",
        &["--rows", "300-301"],
        &["--rows 300-301", "2404", "--size is 2400"],
    );
    assert_refused(
        "matmul",
        &["--threads", "3", "--rows", "300-300"],
        &["--rows 300-300", "--threads"],
    );
    for split in ["", "7,", ",7", "7;7", "7,-1", "1000001", "99999999999999999999"] {
        assert_refused("registration", &["--split", split], &["--split", split, "7,7,6"]);
    }
}
