//! `lop doctor` on trees that look like machines, and on this one.

use super::*;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
}

/// A virtual machine with sched_ext and cgroups, without speeds, idle states and meters.
fn guest(root: &Path) {
    write(
        root,
        &[
            ("proc/sys/kernel/osrelease", "6.18.0"),
            ("proc/sys/kernel/perf_event_paranoid", "2"),
            ("proc/self/status", "CapEff:\t000001ffffffffff"),
            ("sys/kernel/sched_ext/state", "disabled"),
            ("sys/kernel/btf/vmlinux", ""),
            ("sys/devices/system/cpu/present", "0-1"),
            ("sys/devices/system/cpu/online", "0-1"),
            (
                "proc/self/mountinfo",
                "42 24 0:39 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            ),
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu"),
        ],
    );
}

#[test]
fn a_guest_can_schedule_and_measures_nothing() {
    let folder = folder();
    guest(folder.path());
    let text = good(folder.path(), &["doctor", "--root", "."]).stdout;
    assert!(text.starts_with("Can be used here: scheduling in the kernel"), "{text}");
    for expected in [
        "\n\n2 CPUs, 2 cores, ",
        "yes     scheduling in the kernel (sched_ext)\n        kernel 6.18.0 has it: 'lop start' works\n",
        "no      energy meters\n",
        "        costs: no energy is measured",
        "mend:  perf: sudo modprobe rapl",
        "partly  right to count (perf_event_paranoid)\n",
        "sudo sysctl kernel.perf_event_paranoid=0",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_meter_is_listed_with_whom_it_answers() {
    let folder = folder();
    guest(folder.path());
    write(
        folder.path(),
        &[
            ("sys/class/power_supply/BAT0/type", "Battery"),
            ("sys/class/power_supply/BAT0/status", "Discharging"),
            ("sys/class/power_supply/BAT0/power_now", "7000000"),
        ],
    );
    let json = json(
        folder.path(),
        &["doctor", "--root", ".", "--meter-cmd", "echo 5 W", "--json"],
    );
    assert_eq!(json["meters"][5]["what"], "echo 5 W");
    let battery = &json["meters"][3];
    assert_eq!(battery["kind"], "battery");
    assert_eq!(battery["usable"], true);
    assert_eq!(battery["permission"], "everybody");
    assert_eq!(json["findings"][0]["area"], "scheduler");
    assert_eq!(
        json["usable"],
        serde_json::json!(["scheduler", "cgroup", "affinity", "meters"])
    );
    assert!(json["meters"][0]["mend"].is_string());
}

#[test]
fn a_machine_that_can_do_nothing_is_a_failure() {
    let folder = folder();
    let answer = answer(folder.path(), &["doctor", "--root", "."]);
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""));
    assert!(
        answer.stdout.contains("Nothing of this can be used here"),
        "{}",
        answer.stdout
    );
}

#[test]
fn who_only_lacks_rights_is_told_so() {
    let folder = folder();
    guest(folder.path());
    write(folder.path(), &[("proc/self/status", "CapEff:\t0000000000000000")]);
    let text = good(folder.path(), &["doctor", "--root", "."]).stdout;
    assert!(text.contains("partly  scheduling in the kernel"), "{text}");
    assert!(text.contains("mend:  run it with sudo\n"), "{text}");
}

#[test]
fn this_machine_gets_a_report_that_writes_nothing() {
    let folder = folder();
    let answer = answer(folder.path(), &["doctor", "--format", "json"]);
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(json["meters"].as_array().unwrap().len(), 7);
    assert_eq!(answer.code == 0, !json["usable"].as_array().unwrap().is_empty());
    assert!(files_in(folder.path()).is_empty());
}

/// Where no policy can be enforced for the whole machine, that is one line, and what would mend it is here.
#[test]
fn what_start_lacks_is_told_with_a_mend() {
    let folder = folder();
    guest(folder.path());
    write(
        folder.path(),
        &[
            ("proc/sys/kernel/osrelease", "6.1.0"),
            ("sys/fs/cgroup/cgroup.controllers", "memory"),
        ],
    );
    std::fs::remove_dir_all(folder.path().join("sys/kernel/sched_ext")).unwrap();
    let refused = answer(folder.path(), &["start", "--root", ".", "--run-dir", "run"]);
    assert_eq!(
        (refused.code, refused.stderr.lines().count()),
        (1, 1),
        "{}",
        refused.stderr
    );
    let said = good(folder.path(), &["doctor", "--root", "."]).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for (lack, mend) in [
        (
            "kernel 6.1.0 has no sched_ext, which needs 6.12 or later",
            "CONFIG_SCHED_CLASS_EXT=y",
        ),
        ("cgroup.controllers has no cpuset ('memory')", "cgroup_no_v1=cpuset"),
    ] {
        assert!(
            refused.stderr.contains(lack) && !refused.stderr.contains(mend),
            "{}",
            refused.stderr
        );
        assert!(said.contains(lack) && said.contains(mend), "{said}");
    }
    assert!(refused.stderr.contains("'lop doctor' says what would mend that"));
}
