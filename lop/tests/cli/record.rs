// SPDX-License-Identifier: GPL-2.0-only
//! Recording what really runs on this machine, and replaying it.

use super::{answer, files_in, folder, good, json, lop};
use lop_trace::{Event, Header, Host, Trace, What};
use serde_json::Value;
use std::fs;
use std::path::Path;

const BUSY: &str = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

fn number(value: &Value, path: &str) -> f64 {
    value
        .pointer(path)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{path}: {value}"))
}

/// A hand-written recording in a file.
fn write(path: &Path, events: &[(u64, u16, What)]) {
    let event = |&(at_ms, cpu, ref what): &(u64, u16, What)| Event {
        at_ns: at_ms * 1_000_000,
        cpu,
        what: what.clone(),
    };
    let trace = Trace {
        header: Header {
            command: vec!["trial".into()],
            began_unix_s: 0,
            wall_ns: 500_000_000,
            exit_code: Some(0),
            rusage_ns: None,
            wakers: false,
            host: Host {
                cpu_model: String::new(),
                cpus: 2,
                speed_permille: None,
                max_khz: None,
                kernel: String::new(),
            },
        },
        events: events.iter().map(event).collect(),
    };
    fs::write(path, lop_trace::write(&trace).unwrap()).unwrap();
}

/// The parent runs for 100 ms, forks, runs for 200 ms, waits for the child of 300 ms, runs for 100 ms: 100 + 300 + 100 ms.
#[test]
fn a_fork_and_a_wait_take_as_long_as_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (parent, child) = (10, 11);
    let events = [
        (0, 0, What::In { task: parent }),
        (
            100,
            0,
            What::Fork {
                parent,
                child,
                thread: false,
            },
        ),
        (100, 1, What::In { task: child }),
        (300, 0, What::Blocked { task: parent }),
        (400, 1, What::Exit { task: child }),
        (400, 1, What::In { task: 0 }),
        (400, 0, What::In { task: parent }),
        (500, 0, What::Exit { task: parent }),
    ];
    write(&folder.path().join("hand.trace"), &events);
    let replay = |more: &[&str]| {
        let arguments = [
            "simulate",
            "--trace",
            "hand.trace",
            "-p",
            "linux:performance",
            "--format",
            "json",
        ];
        number(&json(folder.path(), &[&arguments, more].concat()), "/results/0/time_s")
    };
    let time_s = replay(&["--machine", "phenom-9750"]);
    assert!((time_s - 0.5).abs() < 0.002, "{time_s}");
    good(
        folder.path(),
        &["simulate", "--workload", "hand.trace", "-p", "linux:performance"],
    );
    let shown = good(folder.path(), &["workload", "show", "hand.trace"]).stdout;
    assert!(shown.contains("2 tasks"), "{shown}");
}

/// A task that runs for 200 ms and is preempted once.
fn small(path: &Path) {
    let events = [
        (0, 0, What::In { task: 10 }),
        (100, 0, What::Preempted { task: 10 }),
        (150, 0, What::In { task: 10 }),
        (250, 0, What::Exit { task: 10 }),
    ];
    write(path, &events);
}

#[test]
fn whoever_replays_says_the_same_of_what_it_cannot_know() {
    let folder = tempfile::tempdir().unwrap();
    small(&folder.path().join("small.trace"));
    let experiment = "id = \"small\"\ntitle = \"t\"\ndescription = \"d\"\nmachine = \"phenom-9750\"\nworkload = \"./small.trace\"\npolicies = [\"linux\"]\n";
    fs::write(folder.path().join("small.toml"), experiment).unwrap();
    let simulated = ["--machine", "phenom-9750", "--policy", "linux"];
    let compared = [
        "compare",
        "--machine",
        "phenom-9750",
        "--workload",
        "small.trace",
        "--runs",
        "1",
    ];
    let commands = [
        [&["simulate", "--trace", "small.trace"], &simulated[..]].concat(),
        [&["simulate", "--workload", "small.trace"], &simulated[..]].concat(),
        vec!["simulate", "small.toml"],
        compared.to_vec(),
    ];
    let told = |command: &Vec<&str>| {
        let page = if command[0] == "compare" {
            "--export-html"
        } else {
            "--html"
        };
        let text = good(folder.path(), &[command, &[page, "page.html"][..]].concat()).stdout;
        let list: Vec<String> = text
            .lines()
            .filter_map(|line| Some(line.strip_prefix("  - ")?.to_string()))
            .collect();
        assert_eq!(list.len(), 5, "{command:?}: {text}");
        assert!(text.contains("1 task (") && text.contains("small.trace"), "{text}");
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        let object = json(folder.path(), &[command, &["--format", "json"][..]].concat());
        assert_eq!(object["trace"]["unknown"], serde_json::json!(list), "{command:?}");
        assert_eq!(number(&object, "/trace/recorded_s"), 0.5);
        for line in &list {
            assert!(page.contains(&format!("<li>{line}</li>")), "{command:?}: {line}");
        }
        list
    };
    let first = told(&commands[0]);
    commands[1..]
        .iter()
        .for_each(|command| assert_eq!(told(command), first, "{command:?}"));
    good(
        folder.path(),
        &[&compared[..], &["--export-markdown", "table.md"]].concat(),
    );
    let table = fs::read_to_string(folder.path().join("table.md")).unwrap();
    assert!(
        table.contains("What the replay cannot know:") && table.contains("\n- who woke whom was not recorded"),
        "{table}"
    );
    let plain = good(
        folder.path(),
        &[
            "compare",
            "--machine",
            "phenom-9750",
            "--workload",
            "bursts",
            "--runs",
            "1",
        ],
    );
    assert!(!plain.stdout.contains("replay"), "no recording: {}", plain.stdout);
}

#[test]
fn a_command_is_recorded_with_its_children_and_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("sleep 0.2 & ({BUSY}); ({BUSY}) & wait; exit 3");
    let recorded = answer(folder.path(), &["record", "--", "sh", "-c", &script]);
    assert_eq!(recorded.code, 3, "{}", recorded.stderr);
    assert!(recorded.stderr.contains("wrote sh.trace"), "{}", recorded.stderr);
    let trace = lop_trace::load(&folder.path().join("sh.trace")).unwrap();
    assert_eq!(trace.header.exit_code, Some(3));
    let named = |wanted: &str| {
        trace
            .events
            .iter()
            .any(|event| matches!(&event.what, What::Name { name, exec: true, .. } if name == wanted))
    };
    assert!(named("sh") && named("sleep"), "{trace:?}");
    let report = json(
        folder.path(),
        &["simulate", "--trace", "sh.trace", "-p", "linux", "--format", "json"],
    );
    assert_eq!(number(&report, "/trace/tasks"), 4.0);
    assert!(number(&report, "/trace/cpu_s") > 0.0 && trace.header.rusage_ns > Some(0));
    assert!(
        number(&report, "/results/0/time_s") >= 0.195,
        "the sleep counts: {report}"
    );
    let unknown = report.pointer("/trace/unknown").and_then(Value::as_array).unwrap();
    assert!(
        unknown.iter().any(|line| line.as_str().unwrap().contains("who woke")),
        "{report}"
    );
}

/// Each computes for 200 ms on a CPU of its own.
#[test]
fn two_busy_processes_share_one_cpu_and_have_one_each_on_two() {
    let folder = tempfile::tempdir().unwrap();
    let (parent, first, second) = (10, 11, 12);
    let fork = |child| What::Fork {
        parent,
        child,
        thread: false,
    };
    let events = [
        (0, 0, What::In { task: parent }),
        (0, 0, fork(first)),
        (0, 0, fork(second)),
        (0, 0, What::Blocked { task: parent }),
        (0, 0, What::In { task: first }),
        (0, 1, What::In { task: second }),
        (200, 0, What::Exit { task: first }),
        (200, 1, What::Exit { task: second }),
        (200, 0, What::In { task: parent }),
        (200, 0, What::Exit { task: parent }),
    ];
    write(&folder.path().join("busy.trace"), &events);
    let machine = good(folder.path(), &["machine", "show", "phenom-9750", "--toml"]).stdout;
    fs::write(folder.path().join("machine.toml"), machine).unwrap();
    let time_s = |cores: &str| {
        let set = format!("machine.kind.0.cores={cores}");
        let arguments = [
            "simulate",
            "--trace",
            "busy.trace",
            "-m",
            "./machine.toml",
            "-p",
            "linux:performance",
            "--format",
            "json",
            "--set",
            &set,
        ];
        number(&json(folder.path(), &arguments), "/results/0/time_s")
    };
    let (one_s, two_s) = (time_s("1"), time_s("2"));
    assert!(
        (one_s - 0.4).abs() < 0.002 && (two_s - 0.2).abs() < 0.002,
        "{one_s} {two_s}"
    );
}

/// Files of C that take some time each.
fn tree(folder: &Path) {
    let objects: Vec<String> = (1..=8).map(|file| format!("f{file}.o")).collect();
    for file in 1..=8 {
        let function = |n: usize| {
            format!(
                "double f{file}_{n}(double *a, int n) {{ double s = {n}; for (int i = 0; i < n; i++) {{ a[i] = a[i] * s + i; \
                 s += a[(i * 7) % n] / (i + 1.5); }} return s; }}\n"
            )
        };
        let text: String = (0..20 + 10 * file).map(function).collect();
        fs::write(folder.join(format!("f{file}.c")), text).unwrap();
    }
    let text = format!("CFLAGS = -O2\nall: {}\n", objects.join(" "));
    fs::write(folder.join("Makefile"), text).unwrap();
}

/// No shorter than its CPU time on all CPUs, whatever else ran here meanwhile. Whether it takes as long as it took, scripts/replay-check.sh says.
#[test]
fn a_build_takes_no_less_than_its_cpu_time_in_the_replay_and_runs_under_every_policy() {
    let folder = tempfile::tempdir().unwrap();
    tree(folder.path());
    good(folder.path(), &["machine", "capture", "-o", "host.toml"]);
    good(
        folder.path(),
        &["record", "-o", "build.trace", "--", "make", "-s", "-j2"],
    );
    let report = json(
        folder.path(),
        &[
            "simulate",
            "--trace",
            "build.trace",
            "-m",
            "./host.toml",
            "-p",
            "linux",
            "--format",
            "json",
        ],
    );
    let trace = |key: &str| number(&report, &format!("/trace/{key}"));
    assert!(
        number(&report, "/results/0/time_s") > 0.98 * trace("cpu_s") / trace("cpus"),
        "{report}"
    );
    let all = json(
        folder.path(),
        &[
            "simulate",
            "--trace",
            "build.trace",
            "-m",
            "phenom-9750",
            "-p",
            "all",
            "--format",
            "json",
        ],
    );
    let results = all["results"].as_array().unwrap();
    assert_eq!(results.len(), lop_simulator::experiment::all_policies().len());
    for result in results {
        let (time_s, bound_s) = (number(result, "/time_s"), number(result, "/bounds/time_s"));
        assert!(bound_s > 0.0 && time_s >= bound_s * 0.999, "{result}");
    }
}

#[test]
fn the_machine_is_recorded_or_the_way_out_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // As long as this test takes; the folder goes with it.
    fs::write(folder.path().join("goes-on"), "").unwrap();
    let mut other = std::process::Command::new("sh")
        .args(["-c", "while [ -e goes-on ]; do sleep 0.01; done"])
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    // A busy machine may need longer until something is executed there.
    let mut name = String::new();
    for seconds in ["0.5", "4", "32", "256"] {
        name = format!("{seconds}.trace");
        let recorded = answer(
            folder.path(),
            &["record", "--machine", "--seconds", seconds, "-o", &name],
        );
        if recorded.code != 0 {
            assert_eq!(recorded.code, 1, "{}", recorded.stderr);
            for word in ["perf_event_paranoid", "as root"] {
                assert!(recorded.stderr.contains(word), "{}", recorded.stderr);
            }
            other.kill().unwrap();
            other.wait().unwrap();
            return;
        }
        let trace = lop_trace::load(&folder.path().join(&name)).unwrap();
        assert!(trace.header.command.is_empty() && trace.header.wall_ns >= 500_000_000);
        let sleeps = |event: &&Event| matches!(&event.what, What::Name { name, exec: true, .. } if name == "sleep");
        if trace.events.iter().filter(sleeps).count() > 1 {
            break;
        }
        assert_ne!(seconds, "256", "{trace:?}");
    }
    other.kill().unwrap();
    other.wait().unwrap();
    good(folder.path(), &["simulate", "--trace", &name, "-p", "linux,auto"]);
}

#[test]
fn wrong_arguments_and_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("true.trace"), "lop-trace 1\n{}\n").unwrap();
    fs::write(folder.path().join("other"), "lop-trace 9\n").unwrap();
    for (arguments, code, expected) in [
        (&["record"] as &[&str], 2, "CMD"),
        (&["record", "--machine"], 2, "--seconds"),
        (
            &["record", "--seconds", "1", "--", "true"],
            2,
            "a command is recorded to its end",
        ),
        (&["record", "--machine", "--seconds", "0"], 2, "expected a time above 0"),
        (
            &["record", "--machine", "--seconds", "1", "--", "true"],
            2,
            "cannot be used with",
        ),
        (&["record", "--", "true"], 2, "true.trace: exists already"),
        (&["record", "-o", "other", "--", "true"], 2, "other: exists already"),
        (
            &["workload", "record", "-o", "other", "--", "true"],
            2,
            "other: exists already",
        ),
        (
            &["record", "-o", "a.trace", "--", "./missing"],
            127,
            "cannot run \"./missing\"",
        ),
        (
            &["record", "-o", "a.trace", "--", "/etc/passwd"],
            126,
            "execute permission",
        ),
        (
            &["simulate", "--trace", "true.trace"],
            2,
            "true.trace:2: bad header: missing field `command`",
        ),
        (
            &["simulate", "--trace", "other"],
            2,
            "other:1: a recording of another version",
        ),
        (&["simulate", "--trace", "missing"], 2, "missing: cannot be read"),
        (
            &["simulate", "--trace", "other", "--workload", "bursts"],
            2,
            "cannot be used with",
        ),
    ] {
        let refused = answer(folder.path(), arguments);
        assert_eq!(refused.code, code, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
    }
    assert!(!folder.path().join("a.trace").exists(), "nothing was written");
    assert_eq!(
        fs::read_to_string(folder.path().join("other")).unwrap(),
        "lop-trace 9\n"
    );
}

#[test]
fn who_records_what_is_done_already_is_told_and_overwrites_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("true.toml"), "of yesterday").unwrap();
    let forced = good(folder.path(), &["workload", "record", "--force", "--", "true"]);
    assert!(forced.stderr.contains("almost nothing ran"), "{}", forced.stderr);
    assert_ne!(
        fs::read_to_string(folder.path().join("true.toml")).unwrap(),
        "of yesterday"
    );
}

#[test]
fn the_workload_of_a_recording_can_be_written_instead() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = lop(
        folder.path(),
        &[
            "record",
            "--format",
            "workload",
            "--",
            "sh",
            "-c",
            "/bin/true; echo said",
        ],
    )
    .output()
    .unwrap();
    assert_eq!(
        String::from_utf8(recorded.stdout).unwrap(),
        "said\n",
        "the command's output is its own"
    );
    let text = fs::read_to_string(folder.path().join("sh.toml")).unwrap();
    assert!(text.contains("fork = \"t1-true\""), "{text}");
    good(folder.path(), &["simulate", "--workload", "./sh.toml", "-p", "linux"]);
}

#[test]
fn recording_passes_on_the_code_of_its_command() {
    let folder = folder();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        let arguments = [
            "workload", "record", "--force", "-o", "out.toml", "--name", "test", "--", "sh", "-c", script,
        ];
        let answer = answer(folder.path(), &arguments);
        assert_eq!(answer.code, code, "{}", answer.stderr);
        let shown = good(folder.path(), &["workload", "show", "./out.toml"]).stdout;
        assert!(shown.contains("test"), "{shown}");
    }
}

#[test]
fn a_command_that_does_not_exist_leaves_no_recording() {
    let folder = folder();
    let answer = answer(
        folder.path(),
        &["workload", "record", "-o", "out.toml", "--", "no-such-command-anywhere"],
    );
    assert_eq!(answer.code, 127, "{}", answer.stderr);
    assert!(answer.stderr.contains("no-such-command-anywhere"), "{}", answer.stderr);
    assert_eq!(files_in(folder.path()), Vec::<String>::new());
}

#[test]
fn a_recording_is_not_overwritten_unasked() {
    let folder = folder();
    std::fs::write(folder.path().join("true.toml"), "mine").unwrap();
    let answer = answer(folder.path(), &["workload", "record", "--", "true"]);
    assert_eq!(answer.code, 2);
    assert!(
        answer.stderr.contains("exists already") && answer.stderr.contains("--force"),
        "{}",
        answer.stderr
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("true.toml")).unwrap(),
        "mine"
    );
}
