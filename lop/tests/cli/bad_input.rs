// SPDX-License-Identifier: GPL-2.0-only
use super::*;

/// Runs `lop simulate` with a workload of this text and expects it to be refused.
fn refused_workload(text: &str, expected: &[&str]) {
    let folder = folder();
    std::fs::write(folder.path().join("w.toml"), text).unwrap();
    refused(
        folder.path(),
        &["simulate", "--workload", "./w.toml", "--html", "report.html"],
        expected,
    );
}

/// Exit code 2, `lop: ` and everything expected on standard error, no result, no file.
fn refused(folder: &Path, arguments: &[&str], expected: &[&str]) {
    let before = files_in(folder);
    let answer = answer(folder, arguments);
    assert_eq!(answer.code, 2, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.starts_with("lop: "), "{arguments:?}: {}", answer.stderr);
    assert!(
        answer.stderr.contains("lop: hint: ") || answer.stderr.contains("--help"),
        "no way out: {}",
        answer.stderr
    );
    for part in expected {
        assert!(
            answer.stderr.contains(part),
            "{arguments:?}: no '{part}' in: {}",
            answer.stderr
        );
    }
    assert_eq!(answer.stdout, "", "{arguments:?}");
    assert_eq!(files_in(folder), before, "{arguments:?} left files behind");
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let folder = folder();
    for (arguments, expected) in [
        (
            &["simulate", "--machine", "phenm-9750"][..],
            "did you mean 'phenom-9750'?",
        ),
        (&["simulate", "--workload", "burst"], "did you mean 'bursts'?"),
        (&["simulate", "--policy", "linux,hihglow"], "did you mean 'highlow'?"),
        (
            &["simulate", "--policy", "linux:ondemnad"],
            "did you mean 'linux:ondemand'?",
        ),
        (&["reproduce", "compile-govenors"], "did you mean 'compile-governors'?"),
        (
            &["reproduce", "--agreement", "everything"],
            "lop: hint: known: compile-governors, compile-transfer,",
        ),
        (&["machine", "show", "i7-941"], "did you mean 'i7-940'?"),
        (&["machine", "show", "i7-941", "--toml"], "did you mean 'i7-940'?"),
        (&["workload", "show", "kernel-biuld"], "did you mean 'kernel-build'?"),
    ] {
        refused(folder.path(), arguments, &[expected]);
    }
    // Of many names the nearest is enough: the hint says where the others are.
    let answer = answer(folder.path(), &["simulate", "--policy", "aut"]);
    assert!(!answer.stderr.contains("linux:powersave"), "{}", answer.stderr);
    assert!(
        answer.stderr.contains("'lop simulate --help' lists all policies"),
        "{}",
        answer.stderr
    );
}

/// Where the machine lacks what a policy's name asks for, the name can be changed.
#[test]
fn a_policy_that_is_too_large_for_the_machine_is_told_what_to_change() {
    let folder = folder();
    refused(
        folder.path(),
        &["simulate", "--policy", "simple-sets:999"],
        &["has 16 CPUs; expected at most that many", "change the policy's suffix"],
    );
}

#[test]
fn names_cannot_steer_the_terminal() {
    let folder = folder();
    let red = "\u{1b}[31mred\u{7}";
    for arguments in [
        &["simulate", "--machine", red][..],
        &["simulate", "--workload", red],
        &["simulate", "--policy", red],
        &["simulate", "--set", red],
        &["simulate", red],
        &["reproduce", red],
        &["machine", "show", red],
        &["compare", "--show", red],
        &["compare", "--policy", red, "true"],
        &["start", "--policy", red],
        &["hint", red],
        &[red],
    ] {
        let answer = answer(folder.path(), arguments);
        assert_ne!(answer.code, 0, "{arguments:?}");
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!answer.stderr.contains(steers), "{arguments:?}: {:?}", answer.stderr);
    }
}

#[test]
fn settings_are_judged_by_what_they_change() {
    let folder = folder();
    for (setting, expected) in [
        ("machine.frequency=3", "--set: machine.frequency: "),
        ("workload.frequency=3", "--set: workload.frequency: "),
        ("machine.base_w=-1", "--set: machine.base_w: "),
        ("machine.base_w=nan", "--set: machine.base_w: "),
        ("machine.base_w=many", "--set: machine.base_w: "),
        ("machine.base_w.x=1", "--set: machine.base_w.x: "),
        (
            "speed=3",
            "expected machine.KEY, workload.KEY, linux.placement or policy.",
        ),
        ("machine.base_w", "expected KEY=VALUE"),
        ("linux.placement=nearest", "unknown placement 'nearest'"),
        ("workload.pool.build.slots=0", "--set: workload.pool.build.slots: "),
        ("machine.sockets=513", "--set: machine.sockets: "),
        ("machine.sockets=0", "--set: machine.sockets: "),
    ] {
        refused(
            folder.path(),
            &["simulate", "--workload", "kernel-build", "--set", setting],
            &[expected],
        );
    }
}

#[test]
fn policies_are_named_once_and_with_sensible_numbers() {
    let folder = folder();
    for (policies, expected) in [
        ("linux,linux", "named twice"),
        ("simple-sets:0", "positive whole number"),
        ("simple-sets:x", "positive whole number"),
        ("linux:userspace@-3", "positive whole number"),
        ("", "unknown policy ''"),
    ] {
        refused(
            folder.path(),
            &["simulate", "--policy", policies],
            &["--policy: ", expected],
        );
    }
}

#[test]
fn files_that_are_no_input_are_refused() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("dir.toml")).unwrap();
    std::fs::write(folder.path().join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    std::fs::write(folder.path().join("broken.toml"), "name = \"x\"\nname =\n").unwrap();
    std::fs::File::create(folder.path().join("big.toml"))
        .unwrap()
        .set_len(100 << 20)
        .unwrap();
    for (file, expected) in [
        ("./missing.toml", "missing.toml: cannot be read"),
        ("./dir.toml", "expected a regular file"),
        ("./binary.toml", "expected UTF-8"),
        ("./broken.toml", "broken.toml:2: "),
        ("./big.toml", "104857600 bytes, expected at most"),
    ] {
        for arguments in [
            &["simulate", "--machine", file][..],
            &["simulate", "--workload", file],
            &["simulate", file],
            &["machine", "show", file],
            &["machine", "fit", file],
            &["workload", "show", file],
        ] {
            refused(folder.path(), arguments, &[expected]);
        }
    }
}

#[test]
fn workloads_that_cannot_run_are_refused_with_line_and_key() {
    let task = |steps: &str| format!("name = \"w\"\n\n[task.t]\nsteps = [{steps}]\n");
    for (text, expected) in [
        (task("{ run_ms = -5 }"), &["w.toml:4", "task.t.steps", "found -5"][..]),
        (task("{ run_ms = nan }"), &["w.toml:4"]),
        (task("{ run_ms = \"long\" }"), &["w.toml:4"]),
        (task("{ run_hours = 5 }"), &["w.toml:4", "run_hours"]),
        (
            task("{ lock = \"m\" }, { run_ms = 1 }") + "\n[mutex.m]\n",
            &["w.toml:4", "m"],
        ),
        (
            task("{ barrier = \"b\" }") + "\n[barrier.b]\nparties = 5\n",
            &["w.toml:", "parties"],
        ),
        (task("{ run_ms = 1 }") + "cpus = [600]\n", &["w.toml:5", "cpus"]),
        (
            task("{ run_ms = 1 }") + "after = [\"t\"]\n",
            &["w.toml:3: task.t", "cycle"],
        ),
        (task(""), &["w.toml"]),
        ("name = \"w\"\n".to_string(), &["w.toml"]),
    ] {
        refused_workload(&text, expected);
    }
}

#[test]
fn experiment_files_are_judged_with_file_line_and_key() {
    let folder = folder();
    let study = |rest: &str| {
        format!("id = \"s\"\ntitle = \"S\"\nmachine = \"phenom-9750\"\nworkload = \"bursts\"\npolicies = [\"highlow\"]\n{rest}")
    };
    for (text, expected) in [
        (study("sweeps = 3\n"), "s.toml:6: sweeps: "),
        (study("runs = -1\n"), "s.toml:6: runs: "),
        (
            study("[set]\n\"machine.nothing\" = 1\n"),
            "s.toml:7: set.machine.nothing: ",
        ),
        (
            study("[set]\n\"workload.nothing\" = 1\n"),
            "s.toml:7: set.workload.nothing: ",
        ),
        (
            study("[[sweep]]\npoint = \"m\"\nkey = \"machine\"\nvalues = [\"i7-940\", \"i7-941\"]\n"),
            "did you mean 'i7-940'?",
        ),
        (
            study("").replace("phenom-9750", "phenom-9751"),
            "s.toml:3: machine: unknown machine",
        ),
        (
            study("").replace("bursts", "burst"),
            "s.toml:4: workload: unknown workload",
        ),
        (
            study("").replace("highlow", "highlov"),
            "s.toml:5: policies: unknown policy",
        ),
    ] {
        std::fs::write(folder.path().join("s.toml"), text).unwrap();
        refused(
            folder.path(),
            &["simulate", "s.toml", "--html", "report.html"],
            &[expected],
        );
    }
}

#[test]
fn what_an_experiment_sweeps_cannot_be_set_beside_it() {
    let folder = folder();
    refused(
        folder.path(),
        &[
            "simulate",
            "compile-parallelism",
            "--set",
            "workload.pool.build.slots=3",
        ],
        &["sweeps this as 'jobs'"],
    );
    refused(
        folder.path(),
        &["simulate", "compile-transfer", "--machine", "i7-940"],
        &["sweeps this as 'machine'"],
    );
}

#[test]
fn outputs_are_judged_before_any_work() {
    let folder = folder();
    let (missing, directory) = ("nowhere/report.html", "place");
    std::fs::create_dir(folder.path().join(directory)).unwrap();
    for option in ["--html", "--perfetto"] {
        let with = |path| ["simulate", "--workload", "bursts", option, path];
        refused_output(folder.path(), &with(missing), "there is no folder");
        refused_output(folder.path(), &with(directory), "no regular file");
        refused_output(folder.path(), &with("/dev/null"), "no regular file");
        refused_output(folder.path(), &with("report.json.gz"), "leave out '.gz'");
    }
    refused_output(
        folder.path(),
        &["simulate", "--html", "x", "--perfetto", "x"],
        "two outputs",
    );
    refused_output(
        folder.path(),
        &["reproduce", "all", "--html", missing],
        "there is no folder",
    );
    refused_output(
        folder.path(),
        &["workload", "record", "-o", missing, "--", "true"],
        "there is no folder",
    );
}

/// All studies go to a report, whether or not a file is named for it.
#[test]
fn the_report_of_all_studies_has_a_name_of_its_own() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("lop-reproduce.html")).unwrap();
    let answer = answer(folder.path(), &["reproduce", "all"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
    assert!(
        answer
            .stderr
            .contains("lop-reproduce.html: exists and is no regular file"),
        "{}",
        answer.stderr
    );
}

fn refused_output(folder: &Path, arguments: &[&str], expected: &str) {
    let answer = answer(folder, arguments);
    assert_eq!(
        (answer.code, answer.stdout.as_str()),
        (2, ""),
        "{arguments:?}: {}",
        answer.stderr
    );
    assert!(answer.stderr.contains(expected), "{arguments:?}: {}", answer.stderr);
    assert_eq!(files_in(folder), ["place"]);
}

#[test]
fn hints_that_are_none_are_refused_by_name() {
    let folder = folder();
    for (arguments, expected) in [
        (&["abc", "--sequential"][..], "'abc' for '<PID|TID>'"),
        (&["0", "--sequential"], "'0' for '<PID|TID>'"),
        (&["1", "--length", "0"], "'0' for '--length"),
        (&["1", "--next-length", "x"], "'x' for '--next-length"),
        (&["1", "--parallelism", "0"], "'0' for '--parallelism"),
        (&["1", "--memory", "garbage"], "'garbage' for '--memory"),
        (&["1", "--forget", "--spinning"], "--forget"),
    ] {
        let arguments: Vec<&str> = ["hint"].iter().chain(arguments).copied().collect();
        refused(folder.path(), &arguments, &[expected]);
    }
}

#[test]
fn a_file_of_sched_qos_that_is_none_is_refused_with_its_line() {
    let folder = folder();
    std::fs::write(
        folder.path().join("qos.json"),
        "{\n  \"make\": { \"qos\": \"QOS_BACKGROUNG\" }\n}\n",
    )
    .unwrap();
    let wrong = [
        "qos.json:2: ",
        "unknown value `QOS_BACKGROUNG`, expected one of `QOS_USER_INTERACTIVE`",
    ];
    refused(folder.path(), &["run", "--qos", "qos.json", "--", "true"], &wrong);
    refused(folder.path(), &["hint", "1", "--qos", "qos.json"], &wrong);
    refused(
        folder.path(),
        &["hint", "1", "--qos", "none.json"],
        &["none.json: cannot be read"],
    );
    std::fs::write(
        folder.path().join("qos.json"),
        r#"{ "make": { "qos": "QOS_BACKGROUND" } }"#,
    )
    .unwrap();
    refused(
        folder.path(),
        &["hint", "1", "--qos", "qos.json", "--background"],
        &["--background"],
    );
}

#[test]
fn a_task_pinned_to_a_cpu_that_the_machine_lacks_is_refused() {
    let folder = folder();
    std::fs::write(
        folder.path().join("w.toml"),
        "name = \"w\"\n[task.t]\ncpus = [100]\nsteps = [{ run_ms = 1 }]\n",
    )
    .unwrap();
    refused(
        folder.path(),
        &["simulate", "--workload", "./w.toml", "--html", "r.html"],
        &["./w.toml:3: task.t.cpus", "CPU 100", "CPUs 0 to 15"],
    );
}

#[test]
fn a_deadlock_is_a_failure_that_says_who_waits_for_whom() {
    let folder = folder();
    let text = r#"name = "embrace"
[mutex.a]
[mutex.b]
[task.left]
steps = [{ lock = "a" }, { sleep_ms = 5 }, { lock = "b" }, { unlock = "b" }, { unlock = "a" }]
[task.right]
steps = [{ lock = "b" }, { sleep_ms = 5 }, { lock = "a" }, { unlock = "a" }, { unlock = "b" }]
"#;
    std::fs::write(folder.path().join("w.toml"), text).unwrap();
    let answer = answer(
        folder.path(),
        &["simulate", "--workload", "./w.toml", "--html", "report.html"],
    );
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
    for part in ["deadlock", "left", "right"] {
        assert!(answer.stderr.contains(part), "no '{part}' in: {}", answer.stderr);
    }
    assert_eq!(files_in(folder.path()), ["w.toml"]);
}
