// SPDX-License-Identifier: GPL-2.0-only
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
    assert_eq!(json["meters"].as_array().unwrap().len(), 8);
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
    assert_eq!(refused.code, 1, "{}", refused.stderr);
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
    assert!(refused.stderr.contains("'lop doctor' says how to mend each of them"));
}

/// As NVIDIA's driver has it, with one GPU of 100 W.
const LIBRARY: &str = r#"
#include <time.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu) { *gpu = &nvmlInit_v2; return index; }
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw) { *mw = 100000; return gpu != &nvmlInit_v2; }
#ifdef ENERGY
int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *mj) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *mj = now.tv_sec * 100000ULL + now.tv_nsec / 10000;
  return gpu != &nvmlInit_v2;
}
#endif
"#;

#[test]
fn gpus_are_measured_by_the_library_of_their_driver_and_by_name_only() {
    let folder = folder();
    std::fs::write(folder.path().join("nvml.c"), LIBRARY).unwrap();
    let with_library = |arguments: &[&str]| -> Value {
        let mut command = lop(folder.path(), arguments);
        let answer = answered(&command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap());
        serde_json::from_str(&answer.stdout).expect(&answer.stderr)
    };
    for (define, name) in [
        ("-DENERGY", "nvml energy of 1 GPU"),
        ("-UENERGY", "nvml power of 1 GPU"),
    ] {
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-shared", "-fPIC", define, "-o", "libnvidia-ml.so.1", "nvml.c"]);
        assert!(compiler.current_dir(folder.path()).status().unwrap().success());
        let compare = [
            "compare", "--meter", "nvml", "--runs", "2", "--format", "json", "--", "sleep", "0.3",
        ];
        let compared = with_library(&compare);
        assert_eq!(compared["meter"]["name"], name);
        assert!(
            compared["results"][0]["gpu_energy_j"].as_f64().unwrap() > 0.0,
            "{compared:#}"
        );
    }
    let doctor = with_library(&["doctor", "--json"]);
    assert_eq!(doctor["meters"][7]["usable"], true, "{:#}", doctor["meters"][7]);
}
