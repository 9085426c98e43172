// SPDX-License-Identifier: GPL-2.0-only
use super::*;

#[test]
fn json_keeps_its_contract() {
    let folder = folder();
    let all = json(
        folder.path(),
        &["simulate", "-w", small(folder.path()), "-p", "all", "--format", "json"],
    );
    let results = all["results"].as_array().unwrap();
    assert_eq!(results.len(), lop_simulator::policy_names().len());
    assert_eq!(results[0]["policy"], "linux");
    assert_eq!(
        results[0]["stands_for"],
        "fair class with asym packing, hwp with balance_performance"
    );
    assert!(results[1..].iter().all(|result| result.get("stands_for").is_none()));
    for result in results {
        for key in ["time_s", "cpu_energy_j", "system_energy_j", "system_power_w", "edp_js"] {
            assert!(result[key].as_f64().unwrap() > 0.0, "{key}: {result}");
        }
        for key in ["time", "system_energy", "edp"] {
            assert!(result["relative"][key].as_f64().unwrap() > 0.0, "{key}: {result}");
        }
        assert!(result["counters"].as_object().unwrap().len() > 10);
        assert_eq!(result["energy_source"], "modelled");
        assert!(result.get("point").is_none() && result["ci95"].is_object());
        let ratio = result["relative"]["time"].as_f64().unwrap();
        match result["relative_ci95"]["time"].as_array() {
            Some(ends) => {
                assert!(ends[0].as_f64() <= Some(ratio) && Some(ratio) <= ends[1].as_f64() && ends[0] != ends[1])
            }
            None => assert_eq!(ratio, 1.0, "what does not vary has no interval"),
        }
        check_bounds(result);
    }
    for key in ["time", "system_energy", "edp"] {
        assert_eq!(results[0]["relative"][key], 1.0);
    }
}

/// No schedule beats a bound; a tiny tolerance covers rounding to whole ns.
fn check_bounds(result: &Value) {
    for key in ["time_s", "system_energy_j"] {
        let (bound, value) = (result["bounds"][key].as_f64().unwrap(), result[key].as_f64().unwrap());
        assert!(bound > 0.0 && bound <= value * (1.0 + 1e-9), "{key}: {bound} > {value}");
    }
}

#[test]
fn policies_come_in_the_order_named_and_relative_to_the_first() {
    let folder = folder();
    let order = ["highlow", "linux:powersave"];
    let arguments = [
        "simulate",
        "-w",
        small(folder.path()),
        "-p",
        "highlow,linux:powersave",
        "--format",
        "json",
    ];
    let all = json(folder.path(), &arguments);
    for (result, policy) in all["results"].as_array().unwrap().iter().zip(order) {
        assert_eq!(result["policy"], policy);
        let ratio = result["time_s"].as_f64().unwrap() / all["results"][0]["time_s"].as_f64().unwrap();
        assert_eq!(result["relative"]["time"].as_f64().unwrap(), ratio);
    }
}

#[test]
fn text_has_every_policy_and_its_units() {
    let folder = folder();
    let text = good(folder.path(), &["simulate", "-w", small(folder.path()), "-p", "all"]).stdout;
    for part in lop_simulator::policy_names()
        .iter()
        .chain(&["laptop-hybrid", "modelled"])
    {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
    let verbose = good(
        folder.path(),
        &["simulate", "-w", small(folder.path()), "-p", "all", "-v"],
    )
    .stdout;
    assert!(verbose.starts_with(&text) && verbose.len() > text.len());
}

/// A few policies, one a result, and what auto comes to before any table.
#[test]
fn without_policies_a_few_are_compared_and_judged() {
    let folder = folder();
    let small = small(folder.path());
    let all = json(folder.path(), &["simulate", "-w", small, "--format", "json"]);
    let names: Vec<&str> = all["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["policy"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 5, "{names:?}");
    assert_eq!((names[0], names[4]), ("linux", "auto"));
    let help = good(folder.path(), &["simulate", "--help"])
        .stdout
        .split_whitespace()
        .collect::<String>();
    assert!(help.contains(&format!("[default:{}]", names.join(","))), "{help}");
    let text = good(folder.path(), &["simulate", "-w", small]).stdout;
    let second = text.lines().nth(1).unwrap();
    assert!(
        second.starts_with("auto: ")
            && second.contains(" linux (fair class with asym packing, hwp with balance_performance) (modelled)"),
        "{text}"
    );
}

/// Policies that do the same share a row, and each has a result of its own for programs.
#[test]
fn equal_rows_are_merged_for_people_only() {
    let folder = folder();
    // The lowest frequency is what userspace sets where none is named.
    let policies = [
        "simulate",
        "-w",
        small(folder.path()),
        "-p",
        "linux:powersave,linux:userspace",
    ];
    let text = good(folder.path(), &policies).stdout;
    assert!(text.contains("\nlinux:powersave, linux:userspace "), "{text}");
    assert!(text.contains("decided the same"), "{text}");
    let all = json(folder.path(), &[&policies[..], &["--format", "json"]].concat());
    assert_eq!(all["results"].as_array().unwrap().len(), 2);
    let csv = good(folder.path(), &[&policies[..], &["--format", "csv"]].concat()).stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

/// The same figures in both formats, for simulated and for published studies and for comparisons.
#[test]
fn csv_and_json_agree() {
    let folder = folder();
    let small = small(folder.path());
    for command in [
        &["simulate", "-w", small, "-p", "linux,highlow"][..],
        &["simulate", write_sweep(folder.path())],
        &["reproduce", "compile-governors"],
        &[
            "compare",
            "--machine",
            "i7-940",
            "--workload",
            small,
            "--policy",
            "linux,highlow",
            "--runs",
            "2",
        ],
    ] {
        let all = json(folder.path(), &[command, &["--format", "json"]].concat());
        let csv = good(folder.path(), &[command, &["--format", "csv"]].concat()).stdout;
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        let column = |name: &str| lines[0].iter().position(|cell| *cell == name);
        let time = column("time_s").or_else(|| column("mean")).unwrap();
        let results = all["results"].as_array().unwrap();
        assert_eq!(lines.len(), results.len() + 1, "{csv}");
        for (line, result) in lines[1..].iter().zip(results) {
            assert_eq!(line.len(), lines[0].len(), "{csv}");
            assert_eq!(line[column("policy").unwrap()], result["policy"], "{csv}");
            // serde_json may read the last digit otherwise.
            let off = line[time].parse::<f64>().unwrap() / result["time_s"].as_f64().unwrap() - 1.0;
            assert!(off.abs() < 1e-12, "{csv}");
        }
    }
}

/// No line is wider than the terminal, and what had no room is named with the way to see it; in a pipe nothing is left out.
#[test]
fn tables_fit_the_terminal() {
    let folder = folder();
    let small = small(folder.path());
    for arguments in [
        &["simulate", "-w", small][..],
        &["simulate", "-w", small, "-p", "all"],
        &[
            "compare",
            "--machine",
            "i7-940",
            "--workload",
            small,
            "--policy",
            "linux,highlow",
            "--runs",
            "3",
        ],
        &["reproduce", "compile-governors"],
        &["reproduce", "--list"],
        &["machine", "list"],
        &["workload", "list"],
    ] {
        for columns in [60, 80, 120] {
            let text = good_in(folder.path(), columns, arguments).stdout;
            for line in text.lines() {
                assert!(
                    line.chars().count() <= columns,
                    "{arguments:?} at {columns}: {line}\n{text}"
                );
            }
        }
    }
    let simulate = ["simulate", "-w", small];
    let narrow = good_in(folder.path(), 60, &simulate).stdout.replace('\n', " ");
    assert!(
        narrow.contains("Too wide for this terminal:") && narrow.contains("-v or --format csv"),
        "{narrow}"
    );
    assert!(!good(folder.path(), &simulate).stdout.contains("Too wide"));
    let verbose = good_in(folder.path(), 60, &["simulate", "-w", small, "-v"]).stdout;
    assert!(
        !verbose.contains("Too wide") && verbose.contains("% over bound"),
        "{verbose}"
    );
}

#[test]
fn same_bytes_on_one_and_on_two_threads() {
    let folder = folder();
    let file = write_sweep(folder.path());
    let with = |threads: &str, html: &str| {
        let arguments = [
            "simulate",
            file,
            "--threads",
            threads,
            "--format",
            "json",
            "--html",
            html,
            "--runs",
            "3",
        ];
        (
            good(folder.path(), &arguments).stdout,
            std::fs::read(folder.path().join(html)).unwrap(),
        )
    };
    let (one, two) = (with("1", "one.html"), with("2", "two.html"));
    assert_eq!(one.0, two.0);
    assert!(one.1 == two.1, "the reports differ");
}

fn write_sweep(folder: &Path) -> &'static str {
    small(folder);
    let text = r#"id = "sweep"
title = "A sweep"
machine = "phenom-9750"
workload = "small.toml"
policies = ["linux:ondemand", "highlow"]

[[sweep]]
point = "count"
key = "workload.task.worker.count"
values = [1, 4]

[[sweep]]
point = "placement"
key = "linux.placement"
values = ["longest-idle", "random"]
"#;
    std::fs::write(folder.join("sweep.toml"), text).unwrap();
    "sweep.toml"
}

#[test]
fn sweeps_name_their_points_in_order() {
    let folder = folder();
    let all = json(
        folder.path(),
        &["simulate", write_sweep(folder.path()), "--format", "json"],
    );
    let points: Vec<String> = all["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            format!(
                "{} {} {}",
                r["point"]["count"].as_f64().unwrap(),
                r["point"]["placement"].as_str().unwrap(),
                r["policy"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        points,
        [
            "1 longest-idle linux:ondemand",
            "1 longest-idle highlow",
            "1 random linux:ondemand",
            "1 random highlow",
            "4 longest-idle linux:ondemand",
            "4 longest-idle highlow",
            "4 random linux:ondemand",
            "4 random highlow"
        ]
    );
}

#[test]
fn seeds_change_what_is_drawn_and_nothing_else_does() {
    let folder = folder();
    let small = small(folder.path());
    let with = |seed: &str| {
        good(
            folder.path(),
            &["simulate", "-w", small, "--seed", seed, "--format", "json"],
        )
        .stdout
    };
    assert_eq!(with("5"), with("5"));
    assert_ne!(with("5"), with("6"));
}

#[test]
fn several_runs_give_intervals_and_count_seeds_up() {
    let folder = folder();
    let small = small(folder.path());
    let with = |seed: &str, runs: &str| {
        let arguments = [
            "simulate", "-w", small, "-p", "highlow", "--seed", seed, "--runs", runs, "--format", "json",
        ];
        json(folder.path(), &arguments)["results"][0].clone()
    };
    let time = |result: &Value| result["time_s"].as_f64().unwrap();
    let three = with("4", "3");
    let single: Vec<f64> = ["4", "5", "6"].iter().map(|seed| time(&with(seed, "1"))).collect();
    assert!((time(&three) - single.iter().sum::<f64>() / 3.0).abs() < 1e-12);
    for key in ["time_s", "system_energy_j", "edp_js"] {
        assert!(three["ci95"][key][1].as_f64() > three[key].as_f64(), "{key}: {three}");
    }
}

#[test]
fn policy_parameters_and_placement_reach_the_engine() {
    let folder = folder();
    let small = small(folder.path());
    let with = |policy: &str, setting: &str| {
        let arguments = [
            "simulate", "-w", small, "-p", policy, "--set", setting, "--runs", "1", "--format", "json",
        ];
        json(folder.path(), &arguments)["results"][0].clone()
    };
    let most = |spare: &str| with("highlow", spare)["counters"]["high_set_max"].as_u64().unwrap();
    assert_eq!(
        (most("policy.spare=0"), most("policy.spare=1")),
        (3, 4),
        "three tasks at once on four cores"
    );
    let placed = |placement: &str| {
        with("linux:ondemand", placement)["counters"]["migrations"]
            .as_u64()
            .unwrap()
    };
    assert_ne!(placed("linux.placement=longest-idle"), placed("linux.placement=random"));
    assert_eq!(placed("placement=fair-class"), placed("linux.placement=fair-class"));
}

#[test]
fn nothing_but_results_in_a_pipe() {
    let folder = folder();
    let answer = good(folder.path(), &["simulate", "-w", small(folder.path()), "--runs", "20"]);
    assert_eq!(answer.stderr, "", "no progress where nobody watches");
    assert!(!answer.stdout.contains('\u{1b}') && !answer.stdout.contains('\r'));
}

#[test]
fn a_result_that_nobody_gets_is_a_failure() {
    for (to, reason) in [
        (">&-", "it is closed"),
        ("1</dev/null", "it is closed"),
        (">/dev/full", "No space left on device"),
    ] {
        let shell = Command::new("sh")
            .args(["-c", &format!("\"$0\" machine list {to}")])
            .arg(assert_cmd::cargo::cargo_bin("lop"))
            .output()
            .unwrap();
        let Answer { code, stderr, .. } = answered(&shell);
        assert_eq!(code, 1, "{to}: {stderr}");
        assert!(
            stderr.starts_with(&format!("lop: cannot write to standard output: {reason}")),
            "{to}: {stderr}"
        );
    }
}

#[test]
fn reports_are_written_whole_and_only_they() {
    let folder = folder();
    let small = small(folder.path());
    good(
        folder.path(),
        &["simulate", "-w", small, "--html", "r.html", "--perfetto", "r.json"],
    );
    assert_eq!(files_in(folder.path()), ["r.html", "r.json", "small.toml"]);
    let html = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(html.trim_end().ends_with("</html>") && html.contains("highlow-spare"));
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().or(trace.as_array()).unwrap();
    assert!(events.iter().filter(|event| event["ph"] == "X").count() >= 3 * 20 * 5);
}

const FLEET: &str = r#"
id = "small"
title = "Five machines"
policies = ["least-allocated", "gather"]

[fleet]
machines = 5
machine = ["opteron-2x4"]
off_after_s = 60
boot_s = 10
off_w = 5
arrivals_per_machine = 20
load = 0.5
intensive = 0.5
cores = [1, 2]
run_s = 100
"#;

#[test]
fn a_fleet_is_simulated_and_shown_as_one() {
    let folder = folder();
    std::fs::write(folder.path().join("fleet.toml"), FLEET).unwrap();
    let fleet = ["simulate", "./fleet.toml"];
    let all = json(
        folder.path(),
        &[&fleet[..], &["-p", "all", "--format", "json"]].concat(),
    );
    let results = all["results"].as_array().unwrap();
    let policies: Vec<_> = results.iter().map(|r| r["policy"].as_str().unwrap()).collect();
    let known = ["least-allocated", "most-allocated", "power-only", "gather", "always-on"];
    assert_eq!(policies, known);
    for result in results {
        check_bounds(result);
        assert_eq!(result["energy_source"], "modelled");
        assert_eq!(result["counters"]["ended"], 100);
        let edp = result["time_s"].as_f64().unwrap() * result["system_energy_j"].as_f64().unwrap();
        assert!((result["edp_js"].as_f64().unwrap() / edp - 1.0).abs() < 1e-12);
    }
    let changed = [
        &fleet[..],
        &["-m", "server-arm-80", "--set", "fleet.machines=2", "--html", "f.html"],
    ]
    .concat();
    let text = good(folder.path(), &changed).stdout;
    assert!(
        text.contains("machine server-arm-80")
            && text.contains("slowdown")
            && text.contains("Time is the mean response"),
        "{text}"
    );
    let html = std::fs::read_to_string(folder.path().join("f.html")).unwrap();
    assert!(html.contains("slowdown") && html.contains("least-allocated"));
    for (wrong, message) in [
        (["-w", "bursts"], "is about a fleet"),
        (["-p", "auto"], "unknown policy 'auto' of a fleet"),
        (["--set", "fleet.lod=1"], "unknown field `lod`"),
        (["--set", "policy.goal=speed"], "expected fleet.KEY or machine.KEY"),
        (["--set", "fleet.load"], "expected KEY=VALUE"),
        (["--perfetto", "f.json"], "a fleet has no timelines"),
    ] {
        let answer = answer(folder.path(), &[&fleet[..], &wrong].concat());
        assert_eq!(answer.code, 2, "{wrong:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(message), "{}", answer.stderr);
    }
}

#[test]
fn experiments_are_reproduced_one_or_all() {
    let folder = folder();
    let one = json(
        folder.path(),
        &["reproduce", "compile-governors", "--runs", "1", "--format", "json"],
    );
    let policies: Vec<&str> = one["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["policy"].as_str().unwrap())
        .collect();
    assert_eq!(
        policies,
        [
            "linux:performance",
            "highlow",
            "highlow-spare",
            "linux:ondemand",
            "linux:powersave"
        ]
    );
    let both = ["reproduce", "compile-governors", "compile-transfer", "--runs", "1"];
    let two = json(folder.path(), &[&both[..], &["--format", "json"]].concat());
    let results = two["results"].as_array().unwrap();
    assert_eq!(results.len(), 5 + 12);
    assert_eq!(results[0]["experiment"], "compile-governors");
    assert_eq!(results[16]["experiment"], "compile-transfer");
    assert_eq!(
        results[16]["point"],
        serde_json::json!({"machine": "i7-940", "placement": "random"})
    );
    assert_eq!(results[0]["time_s"], one["results"][0]["time_s"]);
    let reversed = ["reproduce", "compile-transfer", "compile-governors", "--runs", "1"];
    let reversed = json(folder.path(), &[&reversed[..], &["--format", "json"]].concat());
    let mut in_order = reversed["results"].as_array().unwrap().clone();
    in_order.rotate_left(12);
    assert_eq!(&in_order, results, "whichever ran first");

    let page = folder.path().join("both.html");
    let arguments = [&both[..], &["--html", page.to_str().unwrap()]].concat();
    assert_eq!(answer(folder.path(), &arguments).code, 0);
    let page = std::fs::read_to_string(page).unwrap();
    for (number, name) in [(1, "compile-governors"), (2, "compile-transfer")] {
        let entry = format!("<a href=\"#report-{number}\">{name}</a>");
        assert!(
            page.contains(&entry) && page.contains(&format!("id=\"report-{number}\"")),
            "{entry}"
        );
    }
    assert_eq!(two["experiments"].as_array().unwrap().len(), 2);
}

/// Beside what was published in text and JSON, alone in Markdown; not beside a file of one's own, which may be about something else.
#[test]
fn published_figures_stand_beside_those_of_a_study() {
    let folder = folder();
    let row = |text: &str| {
        let line = text.lines().find(|line| line.contains("ondemand, phenom-9750"));
        let cells = line.unwrap_or_else(|| panic!("no such row: {text}")).split([' ', '|']);
        cells
            .filter(|cell| !cell.is_empty())
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let text = row(&good(folder.path(), &["reproduce", "compile-transfer"]).stdout);
    assert_eq!(text[4..5], ["27"], "{text:?}");
    assert_eq!(text.last().unwrap(), "fitted");
    let page = good(folder.path(), &["reproduce", "--agreement", "compile-transfer"]).stdout;
    assert!(
        page.starts_with("\n## compile-transfer\n") && page.matches("## ").count() == 1,
        "{page}"
    );
    // Beside ours the page has its range.
    let mut beside = row(&page);
    let range: Vec<String> = beside.drain(6..9).collect();
    let ends = [&range[0], &text[5], &range[2]].map(|number| number.parse::<f64>().unwrap());
    assert!(range[1] == "to" && ends.is_sorted() && ends[0] < ends[2], "{range:?}");
    assert_eq!(beside, text);

    let all = json(folder.path(), &["reproduce", "compile-transfer", "--format", "json"]);
    let figures = all["published"][0]["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 3);
    let slowdown = all["results"][2 * 2 + 1]["relative"]["time"].as_f64().unwrap();
    assert!(
        (figures[1]["ours"].as_f64().unwrap() - 100.0 * (slowdown - 1.0)).abs() < 1e-9,
        "{figures:?}"
    );
    assert_eq!(
        (figures[1]["value"].as_f64(), &figures[1]["kind"]),
        (Some(34.0), &Value::from("fitted"))
    );

    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/experiments/compile-transfer.toml");
    let own = json(folder.path(), &["simulate", study, "--format", "json"]);
    assert_eq!(own["results"], all["results"]);
    assert!(own.get("published").is_none());
}

/// One table of cells: who is best at each point, what the judged policy is beside that, and which of its rules costs that.
#[test]
fn a_study_that_judges_a_policy_tells_its_cells() {
    let folder = folder();
    let study = "id = \"judged\"\ntitle = \"\"\nmachine = \"phenom-9750\"\nworkload = \"./small.toml\"\n\
                 policies = [\"linux:performance\", \"linux:powersave\", \"auto\"]\njudge = \"auto\"\n\
                 [[leave_out]]\nmachine = [\"i7-940\"]\n\
                 [[sweep]]\npoint = \"machine\"\nkey = \"machine\"\nvalues = [\"phenom-9750\", \"i7-940\", \"opteron-16\"]\n";
    small(folder.path());
    std::fs::write(folder.path().join("judged.toml"), study).unwrap();
    let all = json(folder.path(), &["simulate", "./judged.toml", "--format", "json"]);
    let (results, cells) = (all["results"].as_array().unwrap(), all["cells"].as_array().unwrap());
    assert_eq!((results.len(), cells.len()), (2 * 3, 2));
    for (cell, results) in cells.iter().zip(results.chunks(3)) {
        let edp = |result: &Value| result["edp_js"].as_f64().unwrap();
        let lowest = results.iter().map(edp).fold(f64::INFINITY, f64::min);
        let over = cell["edp_over_best"].as_f64().unwrap();
        assert!((over - edp(&results[2]) / lowest).abs() < 1e-9, "{cell}");
        assert_eq!(cell["time_over_first"], results[2]["relative"]["time"]);
        assert_eq!(cell["point"], results[2]["point"]);
        assert_eq!(cell["judged"], "auto");
    }
    let text = good(folder.path(), &["simulate", "./judged.toml"]).stdout;
    assert!(text.contains("lowest EDP") && text.contains("of 2 cells"), "{text}");
}

/// Interrupted in the middle of a long study: 130, no file, no result.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing() {
    use std::process::{Command, Stdio};
    let folder = folder();
    small(folder.path());
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("lop"))
        .current_dir(folder.path())
        .args([
            "simulate",
            "-w",
            "./small.toml",
            "--runs",
            "10000",
            "--set",
            "workload.scale=1000",
            "--html",
            "r.html",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it hears SIGINT: the second bit.
    let status = format!("/proc/{}/status", child.id());
    let hears = || {
        let text = std::fs::read_to_string(&status).unwrap();
        let caught = text
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap()
            .trim();
        u64::from_str_radix(caught, 16).unwrap() & 2 != 0
    };
    let began = std::time::Instant::now();
    while !hears() && began.elapsed().as_secs() < 600 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(
        interrupted.success() && child.try_wait().unwrap().is_none(),
        "it had ended before it was interrupted"
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.stdout.is_empty());
    assert_eq!(files_in(folder.path()), ["small.toml"]);
}
