// SPDX-License-Identifier: GPL-2.0-only
use super::*;

#[test]
fn every_level_has_help_with_examples() {
    let folder = folder();
    for command in [
        &[][..],
        &["doctor"],
        &["start"],
        &["stop"],
        &["status"],
        &["goal"],
        &["top"],
        &["restore"],
        &["hint"],
        &["run"],
        &["agent"],
        &["amp"],
        &["amp", "set"],
        &["amp", "show"],
        &["amp", "reset"],
        &["generate"],
        &["compare"],
        &["simulate"],
        &["reproduce"],
        &["machine"],
        &["machine", "list"],
        &["machine", "show"],
        &["machine", "live"],
        &["machine", "capture"],
        &["machine", "measure"],
        &["machine", "fit"],
        &["workload"],
        &["workload", "list"],
        &["workload", "show"],
        &["workload", "record"],
    ] {
        for flag in ["-h", "--help"] {
            let arguments = [command, &[flag]].concat();
            let help = good(folder.path(), &arguments).stdout;
            assert!(help.contains("Usage: lop"), "{arguments:?}: {help}");
            assert!(help.contains("Example"), "{arguments:?}: {help}");
            let named = format!("  lop {}", command.join(" "));
            assert!(
                help.contains(named.trim_end()),
                "{arguments:?}: no example starts with '{named}'"
            );
        }
    }
}

#[test]
fn version_is_that_of_the_package() {
    for flag in ["-V", "--version"] {
        assert_eq!(
            good(folder().path(), &[flag]).stdout,
            format!("lop {}\n", env!("CARGO_PKG_VERSION"))
        );
    }
}

#[test]
fn wrong_usage_ends_with_2_and_one_prefix() {
    let folder = folder();
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["simulate", "--frobnicate"],
        &["simulate", "--runs", "0"],
        &["simulate", "--runs", "x"],
        &["simulate", "--runs", "10001"],
        &["simulate", "--seed", "-1"],
        &["simulate", "--threads", "0"],
        &["simulate", "--format", "xml"],
        &["reproduce"],
        &["reproduce", "--agreement", "--format", "json"],
        &["machine"],
        &["workload"],
        &["workload", "record"],
        &["workload", "record", "--"],
    ] {
        let answer = answer(folder.path(), arguments);
        assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.starts_with("lop: "), "{arguments:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, "", "{arguments:?}");
    }
}

#[test]
fn misspelt_subcommands_suggest_the_right_one() {
    let answer = answer(folder().path(), &["simulat"]);
    assert!(answer.stderr.contains("'simulate'"), "{}", answer.stderr);
}

#[test]
fn lists_name_what_is_built_in() {
    let folder = folder();
    for (arguments, names) in [
        (
            ["machine", "list"],
            ["phenom-9750", "phenom2-940", "i7-940", "opteron-2352-x2"],
        ),
        (
            ["workload", "list"],
            ["kernel-build", "recorded-build", "bursts", "periodic"],
        ),
        (
            ["reproduce", "--list"],
            [
                "compile-governors",
                "compile-transfer",
                "compile-parallelism",
                "compile-",
            ],
        ),
    ] {
        let text = good(folder.path(), &arguments).stdout;
        for name in names {
            assert!(
                text.lines().any(|line| line.starts_with(name)),
                "{arguments:?} lists no {name}: {text}"
            );
        }
    }
}

#[test]
fn programs_read_the_same_lists() {
    let folder = folder();
    for (command, kind, key) in [
        (&["machine", "list"][..], "machines", "name"),
        (&["workload", "list"], "workloads", "name"),
        (&["reproduce", "--list"], "experiments", "id"),
    ] {
        let with = |format: &'static str| [command, &["--format", format]].concat();
        let text = good(folder.path(), command).stdout;
        let all = json(folder.path(), &with("json"));
        let entries = all[kind].as_array().unwrap();
        assert!(!entries.is_empty());
        for (line, entry) in text.lines().zip(entries) {
            let name = entry[key].as_str().unwrap();
            assert_eq!(line.split_whitespace().next(), Some(name));
            assert!(
                entry["description"].as_str().is_some_and(|text| line.contains(text)),
                "{line}"
            );
        }
        let csv = good(folder.path(), &with("csv")).stdout;
        assert!(csv.starts_with(&format!("{key},")), "{csv}");
        assert_eq!(csv.lines().count(), entries.len() + 1);
    }
    let machine = json(folder.path(), &["machine", "list", "--format", "json"]);
    assert!(machine["machines"]
        .as_array()
        .unwrap()
        .iter()
        .any(|m| m["name"] == "phenom-9750" && m["cpus"] == 4));
}

/// What `--toml` prints is a file of one's own to start from.
#[test]
fn printed_toml_is_read_back() {
    let folder = folder();
    for (room, name) in [("machine", "phenom-9750"), ("workload", "bursts")] {
        let toml = good(folder.path(), &[room, "show", name, "--toml"]).stdout;
        std::fs::write(folder.path().join("own.toml"), toml).unwrap();
        let own = good(folder.path(), &[room, "show", "./own.toml"]).stdout;
        assert_eq!(own, good(folder.path(), &[room, "show", name]).stdout);
    }
}

#[test]
fn shown_machines_and_workloads_take_settings() {
    let folder = folder();
    let shown = |setting: &str| good(folder.path(), &["workload", "show", "kernel-build", "--set", setting]).stdout;
    assert_ne!(
        shown("workload.pool.build.slots=4"),
        shown("workload.pool.build.slots=7")
    );
    let answer = answer(
        folder.path(),
        &["machine", "show", "i7-940", "--set", "workload.scale=2"],
    );
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("machine.KEY"), "{}", answer.stderr);
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    use std::process::{Command, Stdio};
    let lop = assert_cmd::cargo::cargo_bin("lop");
    let script = format!("'{}' machine list | true; exit ${{PIPESTATUS[0]}}", lop.display());
    let output = Command::new("bash")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
