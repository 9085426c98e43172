// SPDX-License-Identifier: GPL-2.0-only
//! The judge from a script's view: exit codes and output for traces that keep or break each promise.

use assert_cmd::Command;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const HEADER: &str = r#"{"start_ns":0,"end_ns":100000000,"cpus":[
    {"cpu":0,"low_khz":1000,"top_khz":2000,"asked_khz":2000},
    {"cpu":1,"low_khz":1000,"top_khz":2000,"asked_khz":1000}]}"#;

/// Task 7 wakes and runs for 20 ms on CPU 1, for which top speed was requested before and which leaves top speed 12 ms after the run.
const GOOD: &[&str] = &[
    r#"1000000 0 name 7 120 "lop-burst""#,
    "1000000 0 wakeup 7 1",
    "1000000 0 speed 1 2000",
    "1010000 1 switch 0 R 7",
    "21000000 1 switch 7 B 0",
    "33000000 1 speed 1 1000",
];

fn file(folder: &TempDir, name: &str, lines: &[&str]) -> PathBuf {
    let file = folder.path().join(name);
    let header = HEADER.replace('\n', "");
    fs::write(&file, format!("lop-trace 1\n{header}\n{}\n", lines.join("\n"))).unwrap();
    file
}

/// The good trace with the lines that contain `old` replaced or dropped.
fn broken(old: &str, new: Option<&'static str>) -> Vec<&'static str> {
    GOOD.iter()
        .filter_map(|line| if line.contains(old) { new } else { Some(*line) })
        .collect()
}

fn judge(file: &PathBuf, arguments: &str) -> (i32, String) {
    let mut command = Command::cargo_bin("lop-judge").unwrap();
    let output = command
        .arg("check")
        .arg(file)
        .args(arguments.split(' '))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn every_check_holds_on_a_good_trace_and_fails_on_one_that_breaks_its_promise() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(&folder, "good", GOOD);
    for (check, broken) in [
        ("bursts", broken("0 speed 1 2000", None)),
        ("low", broken("33000000", Some("20000000 1 speed 1 1000"))),
        (
            "shrink --floor 0 --spare 1",
            broken("33000000", Some("37000000 1 speed 1 1000")),
        ),
        ("promoted --cpu 1 --comm lop-burst", broken("1000000 0 speed", None)),
        (
            "delay --max-p999-ms 0.01",
            broken("1010000", Some("1010001 1 switch 0 R 7")),
        ),
        ("lost --limit-s 0.05", broken("switch", None)),
    ] {
        let mut broken = broken;
        broken.sort_by_key(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
        let bad = file(&folder, "bad", &broken);
        let (code, text) = judge(&good, check);
        assert_eq!(code, 0, "{check}: {text}");
        let (code, text) = judge(&bad, check);
        assert_eq!(code, 1, "{check}: {text}");
        assert!(text.contains("DOES NOT HOLD"), "{check}: {text}");
    }
}

#[test]
fn json_has_check_verdict_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = judge(&file(&folder, "good", GOOD), "residency --format json");
    let verdict: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, &verdict["check"], &verdict["holds"]),
        (0, &"residency".into(), &true.into())
    );
    assert_eq!(verdict["figures"]["cpus"]["1"]["speed_ms"]["2000"], 32.0);
}

#[test]
fn what_cannot_be_judged_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(&folder, "contradiction", &["5 0 switch 0 R 7", "6 0 switch 8 B 0"]);
    let (code, text) = judge(&bad, "residency");
    assert_eq!(code, 1);
    assert!(text.contains("events are missing"), "{text}");
    let (code, text) = judge(&folder.path().join("nowhere"), "low");
    assert_eq!(code, 1);
    assert!(text.contains("nowhere"), "{text}");
}
