// SPDX-License-Identifier: GPL-2.0-only
//! `lop compare`: real commands of a few milliseconds, and simulated ones.

use super::*;

/// `lop compare` with its journals in the folder.
fn compare(folder: &Path, arguments: &[&str]) -> Answer {
    let mut command = lop(folder, &[&["compare"], arguments].concat());
    let output = command.env("XDG_STATE_HOME", folder.join("state")).output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let answer = compare(folder, &[&["--format", "json"], arguments].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

fn journals(folder: &Path) -> Vec<String> {
    let below = folder.join("state/lopsided");
    if below.exists() {
        files_in(&below)
    } else {
        Vec::new()
    }
}

#[test]
fn a_policy_beside_itself_has_ratios_with_intervals() {
    let folder = folder();
    let answer = compare(
        folder.path(),
        &[
            "--policy",
            "linux,linux",
            "--runs",
            "3",
            "--meter",
            "none",
            "--seed",
            "5",
            "--",
            "sleep",
            "0.01",
        ],
    );
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let mut lines = answer.stdout.lines();
    assert!(
        lines.next().unwrap().starts_with("linux against linux: "),
        "{}",
        answer.stdout
    );
    assert_eq!(
        lines.next(),
        Some("this machine, 3 rounds, seed 5, energy: not measured"),
        "{}",
        answer.stdout
    );
    let rows: Vec<&str> = answer
        .stdout
        .lines()
        .filter(|line| line.starts_with("time, ms  linux "))
        .collect();
    assert!(rows[1].contains('[') && rows[1].ends_with(']'), "{}", answer.stdout);
    assert!(
        answer.stdout.contains("Energy is not measured: --meter none."),
        "{}",
        answer.stdout
    );
    assert!(
        !answer.stdout.contains(" J"),
        "no energy without a meter: {}",
        answer.stdout
    );
    assert_eq!(
        journals(folder.path()),
        Vec::<String>::new(),
        "it went when all went well"
    );
    assert_eq!(answer.stderr, "", "no progress in a pipe");
}

#[test]
fn json_is_a_superset_of_hyperfines() {
    let folder = folder();
    let value = json_of(
        folder.path(),
        &[
            "--meter",
            "none",
            "-r",
            "2",
            "-N",
            "-L",
            "time",
            "0.01,0.02",
            "-n",
            "sleep {time}",
            "sleep {time}",
        ],
    );
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for (result, time) in results.iter().zip(["0.01", "0.02"]) {
        for field in ["mean", "stddev", "median", "user", "system", "min", "max", "time_s"] {
            assert!(result[field].is_f64(), "{field}: {result}");
        }
        assert_eq!(result["command"], format!("sleep {time}"));
        assert_eq!(result["parameters"]["time"], time);
        assert_eq!(result["times"].as_array().unwrap().len(), 2);
        assert_eq!(result["exit_codes"], serde_json::json!([0, 0]));
        assert_eq!(result["policy"], "linux");
        assert!(result["mean"].as_f64().unwrap() > time.parse().unwrap());
        for absent in ["cpu_energy_j", "system_energy_j", "edp_js", "energies_j", "meter"] {
            assert!(result.get(absent).is_none(), "{absent} without a meter");
        }
    }
    let time = |result: usize, round: usize| results[result]["times"][round].as_f64().unwrap();
    let geometric_mean = (time(1, 0) / time(0, 0) * time(1, 1) / time(0, 1)).sqrt();
    assert!((results[1]["relative"]["time"].as_f64().unwrap() - geometric_mean).abs() < 1e-9);
    assert!(value["meter"].is_null());
}

#[test]
fn exports_are_written_and_escaped() {
    let folder = folder();
    let kinds = ["json", "csv", "markdown", "asciidoc", "orgmode", "html"];
    let exports = kinds.map(|kind| [format!("--export-{kind}"), format!("out.{kind}")]);
    let mut arguments = vec!["--meter", "none", "--runs", "2", "-n", "<b>|,\"x", "true"];
    arguments.extend(exports.iter().flatten().map(String::as_str));
    let answer = compare(folder.path(), &arguments);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let read = |kind: &str| std::fs::read_to_string(folder.path().join(format!("out.{kind}"))).unwrap();
    let value: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(value["results"][0]["command"], "<b>|,\"x");
    let csv = read("csv");
    assert!(
        csv.starts_with("command,mean,stddev,median,user,system,min,max,"),
        "{csv}"
    );
    assert!(csv.contains("\n\"<b>|,\"\"x\","), "{csv}");
    assert!(read("markdown").contains("| ---: |"), "{}", read("markdown"));
    assert!(read("asciidoc").contains("\n|===\n"), "{}", read("asciidoc"));
    assert!(read("orgmode").contains("\n|---"), "{}", read("orgmode"));
    let html = read("html");
    assert!(html.contains("<svg") && html.contains("comparison-data"));
    assert!(!html.contains("<b>|"), "names are no markup");
}

const MEASURED: [&str; 5] = ["--meter", "none", "-r", "2", "-N"];

fn commands(value: &Value) -> Vec<&str> {
    let results = value["results"].as_array().unwrap();
    results
        .iter()
        .map(|result| result["command"].as_str().unwrap())
        .collect()
}

fn compared_with(value: &Value) -> Vec<u64> {
    let results = value["results"].as_array().unwrap();
    results
        .iter()
        .map(|result| result["compared_with"].as_u64().unwrap())
        .collect()
}

#[test]
fn only_the_failures_named_are_ignored() {
    let folder = folder();
    for (option, code) in [
        ("--ignore-failure", 0),
        ("-i", 0),
        ("--ignore-failure=all-non-zero", 0),
        ("--ignore-failure=7,3", 0),
        ("--ignore-failure=7", 3),
    ] {
        let answer = compare(folder.path(), &["--meter", "none", "-r", "2", option, "true", "exit 3"]);
        assert_eq!(answer.code, code, "{option}: {}", answer.stderr);
    }
    for codes in ["", "0", "some", "1,,2", "256"] {
        let answer = compare(folder.path(), &[&format!("--ignore-failure={codes}"), "true"]);
        assert_eq!(answer.code, 2, "{codes}: {}", answer.stderr);
        assert!(answer.stderr.contains("--ignore-failure"), "{codes}: {}", answer.stderr);
    }
}

#[test]
fn what_commands_say_is_shown_if_wanted() {
    let folder = folder();
    let shown = ["--meter", "none", "-r", "1", "--show-output", "echo said"];
    assert!(compare(folder.path(), &shown).stdout.starts_with("said\n"));
    let hidden = [&shown[..4], &shown[5..]].concat();
    assert!(!compare(folder.path(), &hidden).stdout.starts_with("said\n"));
}

/// People see the order and the unit that they chose; programs always the order given, and seconds.
#[test]
fn rows_are_sorted_and_times_have_the_unit_asked_for() {
    let folder = folder();
    let exports = [
        "--export-markdown",
        "out.md",
        "--export-csv",
        "out.csv",
        "--export-json",
        "out.json",
    ];
    let shown = ["--sort", "mean-time", "-u", "millisecond", "sleep 0.5", "sleep 0.01"];
    let answer = compare(folder.path(), &[&MEASURED[..], &exports, &shown].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let value: Value = serde_json::from_str(&read("out.json")).unwrap();
    let mean_s = |row: usize| value["results"][row]["mean"].as_f64().unwrap();
    // A busy machine may take longer for the short one.
    let is_short_first = |table: &str| table.find("sleep 0.01").unwrap() < table.find("sleep 0.5").unwrap();
    let table = |text: &str| text.split_once("this machine").unwrap().1.to_string();
    let is_sorted = |text: &str| is_short_first(text) == (mean_s(1) < mean_s(0));
    assert!(is_sorted(&table(&answer.stdout)), "{}", answer.stdout);
    assert!(
        answer.stdout.contains("Relative: to linux, sleep 0.5, as"),
        "{}",
        answer.stdout
    );
    assert!(answer.stdout.contains(" ms "), "{}", answer.stdout);
    assert!(
        is_sorted(&table(&read("out.md"))) && read("out.md").contains("time \\[ms\\]"),
        "{}",
        read("out.md")
    );
    let csv = read("out.csv");
    let first: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    let in_csv_s: f64 = first[1].parse().unwrap();
    assert!(first[0] == "sleep 0.5" && (0.5..100.0).contains(&in_csv_s), "{csv}");
    assert_eq!(
        (commands(&value), compared_with(&value)),
        (vec!["sleep 0.5", "sleep 0.01"], vec![0, 0])
    );
    assert!(mean_s(0) < 100.0, "seconds: {value}");
    let given = compare(
        folder.path(),
        &[&MEASURED[..], &["-u", "s", "sleep 0.5", "sleep 0.01"]].concat(),
    );
    assert!(
        !is_short_first(&table(&given.stdout)) && given.stdout.contains("Relative: to the first row"),
        "{}",
        given.stdout
    );
    assert!(!given.stdout.contains(" ms "), "{}", given.stdout);
}

#[test]
fn input_comes_from_a_file_that_each_run_reads_anew() {
    let folder = folder();
    std::fs::write(folder.path().join("words"), "one\ntwo\n").unwrap();
    let into = ["--output", "out", "--input", "words", "cat"];
    let answer = compare(folder.path(), &[&MEASURED[..], &into].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let read = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(read, "one\ntwo\none\ntwo\n");
}

#[test]
fn a_reference_is_what_all_others_are_compared_with() {
    let folder = folder();
    let beside = [
        "--reference",
        "sleep 0.2",
        "--reference-name",
        "old",
        "-n",
        "short",
        "sleep 0.01",
        "sleep 0.5",
    ];
    let value = json_of(
        folder.path(),
        &[&MEASURED[..], &beside, &["--policy", "linux,linux"]].concat(),
    );
    assert_eq!(
        commands(&value),
        ["old", "old", "short", "short", "sleep 0.5", "sleep 0.5"]
    );
    assert_eq!(compared_with(&value), [0; 6]);
    // Two rounds: a geometric mean.
    let time = |row: usize, round: usize| value["results"][row]["times"][round].as_f64().unwrap();
    let over_first = |row: usize, round: usize| time(row, round) / time(0, round);
    for row in 0..6 {
        let told = value["results"][row]["relative"]["time"].as_f64().unwrap();
        let by_hand = (over_first(row, 0) * over_first(row, 1)).sqrt();
        assert!((told / by_hand - 1.0).abs() < 1e-9, "{row}: {value}");
    }
    // With parameters it is one of the rows.
    let of_rows = ["-L", "time", "0.01,0.03", "--reference", "sleep 0.03", "sleep {time}"];
    let value = json_of(folder.path(), &[&MEASURED[..], &of_rows].concat());
    assert_eq!((commands(&value).len(), compared_with(&value)), (2, vec![1, 1]));
    let text = compare(
        folder.path(),
        &[&MEASURED[..], &of_rows, &["--journal", "kept"]].concat(),
    )
    .stdout;
    assert!(text.contains("Relative: to the reference, linux, sleep 0.03"), "{text}");
    let shown = compare(folder.path(), &["--show", "kept"]);
    assert_eq!(shown.stdout, text, "the journal knows it");
}

#[test]
fn a_command_that_fails_ends_it_with_its_code_and_the_journal_stays() {
    let folder = folder();
    let answer = compare(folder.path(), &["--meter", "none", "--runs", "3", "exit 7"]);
    assert_eq!(answer.code, 7);
    assert!(
        answer.stderr.contains("'exit 7' under linux failed with code 7"),
        "{}",
        answer.stderr
    );
    assert!(answer.stdout.contains("0 of 1"), "{}", answer.stdout);
    let journal = folder.path().join("state/lopsided").join(&journals(folder.path())[0]);
    let shown = compare(folder.path(), &["--show", journal.to_str().unwrap()]);
    assert_eq!((shown.code, shown.stdout), (0, answer.stdout));
    let ignoring = json_of(
        folder.path(),
        &["--meter", "none", "--runs", "3", "-i", "exit 7", "true"],
    );
    assert_eq!(ignoring["results"][0]["exit_codes"], serde_json::json!([7, 7, 7]));
    assert_eq!(ignoring["results"][0]["failed"], 3);
    assert!(ignoring["results"][0]["mean"].is_null(), "no run that did not fail");
    assert!(
        ignoring["warnings"][0].as_str().unwrap().contains("3 of 3 runs failed"),
        "{ignoring}"
    );
}

/// SIGTERM in the third run: what was measured is printed and kept.
#[test]
fn a_signal_prints_what_was_measured() {
    use std::process::{Command, Stdio};
    let folder = folder();
    let line = "echo >> count; [ $(wc -l < count) -lt 3 ] || sleep 6000";
    let child = Command::new(assert_cmd::cargo::cargo_bin("lop"))
        .args(["compare", "--meter", "none", "--runs", "50", line])
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = || {
        let text = std::fs::read_to_string(folder.path().join("count")).unwrap_or_default();
        text.lines().count()
    };
    within(Duration::from_secs(600), || (lines() >= 3).then_some(()));
    signal(child.id(), rustix::process::Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("2 rounds") && text.contains("interrupted by signal 15: 2 runs"),
        "{text}"
    );
    assert_eq!(journals(folder.path()).len(), 1);
}

#[test]
fn the_simulator_gives_the_same_table() {
    let folder = folder();
    let workload = small(folder.path());
    let value = json_of(
        folder.path(),
        &[
            "--machine",
            "phenom-9750",
            "--workload",
            workload,
            "--policy",
            "linux,highlow",
            "--runs",
            "4",
        ],
    );
    let results = value["results"].as_array().unwrap();
    assert_eq!((results.len(), value["rounds"].as_u64()), (2, Some(4)));
    assert_eq!(results[1]["energies_j"].as_array().unwrap().len(), 4);
    assert_eq!(results[1]["meter"], "modelled");
    for result in results {
        let bound = |name: &str| result["bounds"][name].as_f64().unwrap();
        assert!(
            (0.0..=result["time_s"].as_f64().unwrap()).contains(&bound("time_s")),
            "{result}"
        );
        assert!(
            bound("system_energy_j") > 0.0 && bound("system_energy_j") <= result["system_energy_j"].as_f64().unwrap()
        );
        assert!(result["counters"]["tasks"].is_number(), "{result}");
    }
    let ratio = |name: &str| results[1]["relative"][name].as_f64().unwrap();
    assert!((ratio("edp") - ratio("time") * ratio("system_energy")).abs() < 1e-9);
    let bounds = &results[1]["relative_ci95"]["time"];
    assert!(bounds[0].as_f64().unwrap() <= ratio("time") && ratio("time") <= bounds[1].as_f64().unwrap());
    let again = json_of(
        folder.path(),
        &[
            "--machine",
            "phenom-9750",
            "--workload",
            workload,
            "--policy",
            "linux,highlow",
            "--runs",
            "4",
        ],
    );
    assert_eq!(value, again);
}

/// The same runs: values are the same by either method, and only resampling has an interval of the median.
#[test]
fn intervals_are_found_by_the_method_asked_for() {
    let folder = folder();
    let measured = [
        "--policy",
        "linux,linux",
        "--runs",
        "3",
        "--meter",
        "none",
        "--journal",
        "kept",
    ];
    json_of(folder.path(), &[&measured, &["--", "sleep", "0.01"][..]].concat());
    let by = |method: &[&str]| json_of(folder.path(), &[&["--show", "kept"], method].concat());
    let (student, bootstrap) = (by(&[]), by(&["--interval", "bca"]));
    assert_eq!(
        (&student["interval"], &bootstrap["interval"]),
        (&"t".into(), &"bca".into())
    );
    let of = |value: &Value, key: &str| value["results"][1][key].clone();
    assert_eq!(of(&student, "relative"), of(&bootstrap, "relative"));
    let median = |value: &Value| of(value, "spread")["time_s"]["median_ci95"].clone();
    assert_eq!(median(&student), Value::Null);
    let (of_median, all) = (median(&bootstrap), of(&bootstrap, "times"));
    let all = all.as_array().unwrap();
    assert!(
        all.contains(&of_median[0]) && all.contains(&of_median[1]),
        "{of_median} of {all:?}"
    );
    let text = |method: &str| compare(folder.path(), &["--show", "kept", "--interval", method]).stdout;
    assert!(
        text("t").contains("95 % confidence intervals, by Student's t."),
        "{}",
        text("t")
    );
    assert!(
        text("bca").contains("95 % confidence intervals, by bootstrap (BCa)."),
        "{}",
        text("bca")
    );
}

/// A simulation runs no command and reads no meter: what is said of these is heard by nobody, and so is refused by name.
#[test]
fn what_only_measuring_heeds_is_refused_beside_a_simulation() {
    let folder = folder();
    for option in [
        &["--warmup", "1"][..],
        &["--min-runs", "2"],
        &["--max-runs", "2"],
        &["--setup", "true"],
        &["--prepare", "true"],
        &["--conclude", "true"],
        &["--cleanup", "true"],
        &["--parameter-list", "a", "1,2"],
        &["--parameter-scan", "a", "1", "2"],
        &["--parameter-step-size", "1"],
        &["--shell", "sh"],
        &["-N"],
        &["--ignore-failure"],
        &["--show-output"],
        &["--command-name", "a"],
        &["--output", "inherit"],
        &["--input", "words"],
        &["--reference", "true"],
        &["--idle", "1"],
        &["--meter", "none"],
        &["--meter-cmd", "echo 1 W"],
        &["--model", "phenom-9750"],
        &["--journal", "kept"],
        &["--enforce", "affinity"],
    ] {
        for simulated in [["--machine", "phenom-9750"], ["--workload", "bursts"]] {
            let answer = compare(folder.path(), &[&simulated, option].concat());
            assert_eq!(answer.code, 2, "{simulated:?} {option:?}: {}", answer.stderr);
            let named = answer.stderr.contains(option[0]) && answer.stderr.contains(simulated[0]);
            assert!(named, "{simulated:?} {option:?}: {}", answer.stderr);
        }
    }
    assert!(files_in(folder.path()).is_empty());
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let folder = folder();
    std::fs::write(folder.path().join("kept"), "").unwrap();
    for (arguments, code, expected) in [
        (&["--meter", "none"][..], 2, "no command"),
        (&["--meter", "command", "touch ran"], 1, "--meter-cmd"),
        (&["--meter", "sun", "touch ran"], 2, "expected auto, none, perf"),
        (
            &["--root", "nowhere", "--meter", "perf", "touch ran"],
            1,
            "meter perf: nowhere/sys/bus/event_source/devices/power: the kernel has no events for energy here; sudo modprobe rapl",
        ),
        (&["--policy", "linux:performance", "touch ran"], 2, "set the governor yourself"),
        (&["--policy", "highlo", "touch ran"], 2, "'highlow'"),
        (&["-m", "5", "-M", "2", "touch ran"], 2, "--max-runs 2 is less"),
        (
            &["-p", "true", "-p", "true", "-p", "true", "touch ran", "touch ran"],
            2,
            "--prepare: given 3 times",
        ),
        (&["-L", "a", "1", "-L", "a", "2", "touch ran"], 2, "given twice"),
        (&["-N", "touch 'ran"], 2, "quotation mark"),
        (
            &["--input", "missing", "touch ran"],
            2,
            "--input: missing: No such file",
        ),
        (&["--input", ".", "touch ran"], 2, "is a folder"),
        (&["--sort", "size", "touch ran"], 2, "mean-time"),
        (&["-u", "day", "touch ran"], 2, "millisecond"),
        (&["--reference", "", "touch ran"], 2, "--reference: no command"),
        (&["--reference-name", "a", "touch ran"], 2, "--reference <COMMAND>"),
        (
            &["-L", "a", "1,2", "--reference", "3", "touch ran{a}"],
            2,
            "rows are 'touch ran1', 'touch ran2'",
        ),
        (
            &["-L", "a", "1,2", "--reference", "x", "-n", "x", "touch ran{a}"],
            2,
            "several rows are called 'x'",
        ),
        (
            &[
                "-L",
                "a",
                "1",
                "--reference",
                "touch ran1",
                "--reference-name",
                "b",
                "touch ran{a}",
            ],
            2,
            "leave it out",
        ),
        (&["--show", "missing.jsonl"], 2, "missing.jsonl"),
        (
            &["--output", "nowhere/log", "touch ran"],
            2,
            "--output: nowhere/log: there is no folder",
        ),
        (&["--output", ".", "touch ran"], 2, "--output: .: is a folder"),
        (
            &["--meter", "none", "--journal", "kept", "touch ran"],
            2,
            "--journal: kept: exists",
        ),
        (&["--machine", "phenom-9750", "touch ran"], 2, "take no command"),
        (
            &["--export-json", "a", "--export-csv", "a", "touch ran"],
            2,
            "two outputs",
        ),
    ] {
        let answer = compare(folder.path(), arguments);
        assert_eq!(answer.code, code, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(expected), "{arguments:?}: {}", answer.stderr);
        assert!(
            answer.stderr.starts_with("lop: ") || answer.stderr.starts_with("lop:"),
            "{}",
            answer.stderr
        );
    }
    assert!(!folder.path().join("ran").exists());
}

/// A wall meter that stands still for the time of the runs: no 0 J, no ratio of them, and a sentence.
#[test]
fn a_meter_that_moves_by_no_step_gives_no_energy() {
    let folder = folder();
    let arguments = [
        "--meter-cmd",
        "echo 5 J",
        "--idle",
        "0.01",
        "-r",
        "2",
        "--policy",
        "linux,linux",
        "true",
    ];
    let value = json_of(folder.path(), &arguments);
    for result in value["results"].as_array().unwrap() {
        for absent in [
            "system_energy_j",
            "system_power_w",
            "energies_j",
            "edp_js",
            "net_energy_j",
        ] {
            assert!(result.get(absent).is_none(), "{absent}: {result}");
        }
        assert!(result["relative"].get("system_energy").is_none(), "{result}");
        assert!(result["time_s"].is_f64());
    }
    assert!(value.get("idle_power_before_w").is_none(), "{value}");
    let warnings = value["warnings"].to_string();
    for expected in ["none of 2 runs saw a step of meter command", "idle power is not known"] {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
    let text = compare(folder.path(), &arguments).stdout;
    let heading = text.lines().find(|line| line.starts_with("policy")).unwrap();
    assert!(!heading.contains("power") && !heading.contains("energy"), "{text}");
}

/// Round 2 of 3 fails in the second row: what is left can be paired by its rounds.
#[test]
fn runs_can_be_paired_where_one_failed() {
    let folder = folder();
    let failing = "echo >> count; [ $(wc -l < count) != 2 ]";
    let value = json_of(folder.path(), &["--meter", "none", "-i", "-r", "3", "true", failing]);
    let result = &value["results"][1];
    assert_eq!(result["exit_codes"], serde_json::json!([0, 1, 0]));
    assert_eq!(result["rounds"], serde_json::json!([0, 2]));
    assert_eq!(value["results"][0]["rounds"], serde_json::json!([0, 1, 2]));
    let time = |row: usize, at: usize| value["results"][row]["times"][at].as_f64().unwrap();
    let by_hand = (time(1, 0) / time(0, 0) * time(1, 1) / time(0, 2)).sqrt();
    assert!((result["relative"]["time"].as_f64().unwrap() - by_hand).abs() < 1e-9);
}

#[test]
fn a_comparison_in_which_nothing_succeeded_has_failed() {
    let folder = folder();
    let answer = compare(folder.path(), &["--meter", "none", "-i", "-r", "2", "exit 3"]);
    assert_eq!(
        (answer.code, answer.stderr.contains("no run succeeded")),
        (1, true),
        "{}",
        answer.stderr
    );
    let answer = compare(folder.path(), &["--meter", "none", "-i", "-r", "2", "exit 3", "true"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let expected = "Without a ratio: linux, true (every run of linux, exit 3 failed).";
    let text = &answer.stdout;
    assert!(text.contains(expected) && !text.contains("Relative: to"), "{text}");
    let answer = compare(
        folder.path(),
        &["--meter", "none", "-i", "-r", "2", "true", "sleep 0", "exit 3"],
    );
    let expected = "Without a ratio: linux, exit 3 (every run failed).";
    let text = &answer.stdout;
    assert!(text.contains(expected) && text.contains("Relative: to"), "{text}");
}

#[test]
fn output_is_appended_to_a_file() {
    let folder = folder();
    for _ in 0..2 {
        let answer = compare(
            folder.path(),
            &["--meter", "none", "-r", "2", "--output", "log", "echo said"],
        );
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log, "said\n".repeat(4));
}
