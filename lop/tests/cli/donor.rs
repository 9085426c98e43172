// SPDX-License-Identifier: GPL-2.0-only
//! A machine that has the watts of another processor: every output has ratios, no W, J or J s, and the name of the donor.

use super::*;

const DONOR: &str = "phenom-9750, another processor";

/// A machine file with the watts of a donor, and the same figures as if they were its own.
fn machines(folder: &Path) -> [&'static str; 2] {
    let tree = format!(
        "{}/../machine/tests/live/trees/laptop-hybrid.sysfs",
        env!("CARGO_MANIFEST_DIR")
    );
    let foreign = good(folder, &["machine", "capture", "--root", &tree]).stdout;
    let own = foreign.replace("watts_of = \"phenom-9750\"\n", "");
    std::fs::write(folder.join("foreign.toml"), foreign).unwrap();
    std::fs::write(folder.join("own.toml"), own).unwrap();
    ["./own.toml", "./foreign.toml"]
}

/// Keys of numbers that hold watts, with what they stand in.
fn absolute(value: &Value) -> Vec<String> {
    let holds_watts = |key: &str| ["_w", "_j", "_js"].iter().any(|unit| key.ends_with(unit)) || key == "energies_j";
    match value {
        Value::Object(fields) => {
            let below = fields.values().flat_map(absolute);
            let own = fields
                .iter()
                .filter(|(key, value)| holds_watts(key) && !value.is_null());
            own.map(|(key, _)| key.clone()).chain(below).collect()
        }
        Value::Array(items) => items.iter().flat_map(absolute).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn json_and_csv_of_simulations_and_comparisons_have_ratios_only() {
    let folder = folder();
    let [own, foreign] = machines(folder.path());
    for command in ["simulate", "compare"] {
        let on = |machine: &str, format: &str| {
            let arguments = [
                command,
                "--machine",
                machine,
                "--workload",
                "bursts",
                "--policy",
                "linux,auto",
                "--runs",
                "2",
                "--format",
                format,
            ];
            good(folder.path(), &arguments).stdout
        };
        let of_json = |machine: &str| -> Value { serde_json::from_str(&on(machine, "json")).unwrap() };
        let (with, without) = (of_json(own), of_json(foreign));
        assert!(absolute(&with).len() > 10, "{with}");
        assert_eq!(absolute(&without), [""; 0], "{without}");
        assert!(without.to_string().contains(DONOR), "{without}");
        for key in ["relative", "relative_ci95", "time_s"] {
            assert_eq!(with["results"][1][key], without["results"][1][key], "{command}: {key}");
        }
        let cells = |machine: &str| -> Vec<(String, String)> {
            let text = on(machine, "csv");
            let mut lines = text.lines();
            let heading = lines.next().unwrap().split(',');
            // Only the first row, whose cells have no comma before the donor.
            let row = lines.next().unwrap().split(',').chain(std::iter::repeat(""));
            heading.map(str::to_string).zip(row.map(str::to_string)).collect()
        };
        let filled = |machine: &str| {
            let holds_watts = |name: &str| {
                ["_w", "_j", "_js", "_j_low", "_js_low"]
                    .iter()
                    .any(|unit| name.ends_with(unit))
            };
            let cells = cells(machine).into_iter();
            cells
                .filter(|(name, cell)| holds_watts(name) && !cell.is_empty())
                .count()
        };
        assert!(filled(own) >= 3, "{command}");
        assert_eq!(filled(foreign), 0, "{command}");
        assert!(on(foreign, "csv").contains("watts of phenom-9750"), "{command}");
    }
}

/// In units of the mean of the first policy: that of the first run has a mean of 1.
#[test]
fn power_of_timelines_is_relative_to_the_first_policy() {
    let folder = folder();
    let [_, foreign] = machines(folder.path());
    let arguments = [
        "simulate",
        "-m",
        foreign,
        "-w",
        "bursts",
        "-p",
        "linux,auto",
        "--perfetto",
        "trace.json",
        "--html",
        "page.html",
    ];
    good(folder.path(), &arguments);
    let trace: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("trace.json")).unwrap()).unwrap();
    let unit = format!("1 = mean of linux, by the watts of {DONOR}");
    let of_first = |event: &&Value| event["pid"] == 1 && event["args"].get(&unit).is_some();
    let events = trace["traceEvents"].as_array().unwrap();
    let power: Vec<(f64, f64)> = events
        .iter()
        .filter(of_first)
        .map(|event| (event["ts"].as_f64().unwrap(), event["args"][&unit].as_f64().unwrap()))
        .collect();
    let energy: f64 = power.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0)).sum();
    let mean = energy / (power[power.len() - 1].0 - power[0].0);
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert!(!trace.to_string().contains("(W)"));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains(&unit) && !page.contains("power (W)"));
}

/// A study says what it is about by its own machine and workload.
#[test]
fn a_study_on_another_machine_does_not_describe_its_own() {
    let folder = folder();
    let on = |machine: &str| {
        let arguments = [
            "simulate",
            "recorded-build",
            "-m",
            machine,
            "-p",
            "linux",
            "--runs",
            "1",
        ];
        good(folder.path(), &arguments).stdout
    };
    assert!(on("phenom-9750").contains("AMD Phenom"));
    assert!(!on("laptop-hybrid").contains("Phenom"));
}
