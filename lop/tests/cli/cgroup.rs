// SPDX-License-Identifier: GPL-2.0-only
//! `lop start --enforce cgroup` on machines that lack something (fake trees), and what a killed one left. What the kernel does is shown in the guest.

use super::*;

/// Two CPUs, cgroup v2 with these controllers at an unusual place, no sched_ext.
fn machine(controllers: &str) -> TempDir {
    let machine = folder();
    for (file, text) in [
        (
            "proc/self/mountinfo",
            "42 24 0:39 / /mnt/groups rw,relatime - cgroup2 cgroup2 rw",
        ),
        ("proc/self/status", "CapEff:\t000001ffffffffff"),
        ("proc/sys/kernel/osrelease", "6.1.0-18-amd64"),
        ("proc/loadavg", "0.00 0.00 0.00 2/100 4711"),
        ("sys/kernel/btf/vmlinux", ""),
        ("sys/devices/system/cpu/present", "0-1"),
        ("sys/devices/system/cpu/online", "0-1"),
        ("mnt/groups/cgroup.controllers", controllers),
        ("mnt/groups/cgroup.subtree_control", ""),
    ] {
        let path = machine.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
    machine
}

fn lop_there(machine: &TempDir, arguments: &[&str]) -> Answer {
    let end = arguments
        .iter()
        .position(|word| *word == "--")
        .unwrap_or(arguments.len());
    let place = ["--run-dir", "run", "--root", "."];
    answer(machine.path(), &[&arguments[..end], &place, &arguments[end..]].concat())
}

fn refused(machine: &TempDir, arguments: &[&str], code: i32, expected: &[&str]) {
    let answer = lop_there(machine, arguments);
    assert_eq!(answer.code, code, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
    for part in expected {
        assert!(
            answer.stderr.contains(part),
            "{arguments:?}: no '{part}' in: {}",
            answer.stderr
        );
    }
    assert!(!machine.path().join("ran").exists() && !machine.path().join("run").exists());
}

#[test]
fn what_is_missing_is_told_with_the_way_out_and_nothing_changes() {
    let unmounted = machine("cpuset");
    std::fs::write(unmounted.path().join("proc/self/mountinfo"), "\n").unwrap();
    refused(
        &unmounted,
        &["start", "--enforce", "cgroup"],
        1,
        &["no cgroup v2 is mounted", "mount -t cgroup2"],
    );
    let without = machine("cpu memory");
    let lacks = [
        "mnt/groups/cgroup.controllers",
        "'cpu memory'",
        "cgroup_no_v1=cpuset",
        "CONFIG_CPUSETS=y",
    ];
    refused(&without, &["start", "--enforce", "cgroup"], 1, &lacks);
    refused(
        &without,
        &["run", "--enforce", "cgroup", "--", "touch", "ran"],
        1,
        &lacks,
    );
    // Whoever asks for no way hears of all.
    refused(
        &without,
        &["start"],
        1,
        &[
            "\n  by kernel: kernel 6.1.0-18-amd64 has no sched_ext, which needs 6.12 or later\n  by cgroup: ",
            "/cgroup.controllers has no cpuset ('cpu memory')\nlop: hint: 'lop doctor' says how to mend each of them",
        ],
    );
    assert!(!without.path().join("mnt/groups/lopsided").exists());
}

#[test]
fn policies_about_threads_and_ways_that_are_not_for_the_machine_are_refused() {
    let machine = machine("cpuset");
    for policy in ["phase", "longest-first", "fair-share", "reserved-core", "gather"] {
        let expected = [policy, "lop run --enforce affinity", "auto, highlow-spare"];
        refused(
            &machine,
            &["start", "--enforce", "cgroup", "--policy", policy],
            1,
            &expected,
        );
    }
    refused(
        &machine,
        &["start", "--enforce", "cgroup", "--partial"],
        2,
        &["--partial: "],
    );
    let recording = machine.path().join("perf.csv");
    std::fs::write(&recording, "sh-1,30,,cache-misses\nsh-1,2000,,instructions\n").unwrap();
    refused(
        &machine,
        &["start", "--enforce", "cgroup", "--intensity", "perf.csv"],
        1,
        &["--intensity is about threads"],
    );
    refused(
        &machine,
        &["start", "--enforce", "affinity"],
        2,
        &["lop run --enforce affinity -- CMD"],
    );
    refused(
        &machine,
        &["start", "--enforce", "magic"],
        2,
        &["expected kernel, cgroup or affinity, found 'magic'"],
    );
}

/// Here the folder of a cgroup is a mere folder: the kernel's files are not in it.
#[test]
fn when_the_kernel_does_not_do_its_part_it_ends_and_nothing_is_left() {
    let machine = machine("cpuset");
    let answer = lop_there(&machine, &["start", "--policy", "highlow"]);
    assert_eq!(answer.code, 1, "{}", answer.stdout);
    for part in [
        "enforced by cgroup (not by kernel: ",
        "6.1.0-18-amd64",
        "mnt/groups/lopsided/cpuset.cpus",
    ] {
        assert!(answer.stderr.contains(part), "no '{part}' in: {}", answer.stderr);
    }
    for part in [
        "enforced by cgroup: parked CPUs are an isolated",
        "lost what starts and stops between two looks, 10 to 500 ms apart, is not seen; idle CPUs are not seen either",
        "Ctrl-C opens all CPUs again",
    ] {
        let said = answer.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(part), "no '{part}' in: {said}");
    }
    assert!(!machine.path().join("mnt/groups/lopsided").exists());
    assert!(!machine.path().join("run/partition.journal").exists());
}

/// A processor that chooses speeds, on either driver: the ceiling is told, and gone at the end.
#[test]
fn a_high_speed_is_told_and_put_back() {
    for (driver, base, khz) in [
        ("intel_pstate", "cpufreq/policy0/base_frequency", "2400000"),
        ("amd-pstate-epp", "cpu0/acpi_cppc/nominal_freq", "2400"),
    ] {
        let machine = machine("cpuset");
        let cpus = machine.path().join("sys/devices/system/cpu");
        let ceiling = cpus.join("cpufreq/policy0/scaling_max_freq");
        for (file, text) in [
            ("cpufreq/policy0/affected_cpus", "0 1"),
            ("cpufreq/policy0/scaling_driver", driver),
            ("cpufreq/policy0/scaling_governor", "powersave"),
            ("cpufreq/policy0/scaling_min_freq", "800000"),
            ("cpufreq/policy0/scaling_max_freq", "4600000"),
            ("cpufreq/policy0/energy_performance_preference", "balance_performance"),
            (
                "cpufreq/policy0/energy_performance_available_preferences",
                "performance power",
            ),
            (base, khz),
        ] {
            let path = cpus.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        let answer = lop_there(&machine, &["start", "--policy", "highlow", "--high-speed", "base"]);
        let said = answer.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("high is base, 2400 MHz"), "{said}{}", answer.stderr);
        assert_eq!(std::fs::read_to_string(&ceiling).unwrap(), "4600000\n");
        assert!(!machine.path().join("run/speeds.journal").exists());
    }
}

#[test]
fn restore_removes_what_a_killed_one_left() {
    let machine = machine("cpuset");
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let journal = machine.path().join("run/partition.journal");
    std::fs::create_dir_all(journal.parent().unwrap()).unwrap();
    let entry = serde_json::json!({"boot_id": boot_id.trim(), "switched_on": false});
    std::fs::write(&journal, entry.to_string()).unwrap();
    std::fs::create_dir(machine.path().join("mnt/groups/lopsided")).unwrap();
    let restored = lop_there(&machine, &["restore"]);
    assert_eq!(
        (restored.code, restored.stdout.as_str()),
        (0, "CPUs that were parked are open again\n")
    );
    assert!(!journal.exists() && !machine.path().join("mnt/groups/lopsided").exists());
    assert!(lop_there(&machine, &["restore"]).stdout.contains("nothing to restore"));
}
