// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refused trees: the error names the file, what was found and what was expected.

use super::cases::rows;
use super::*;

#[track_caller]
fn refused(found: Result<LiveMachine, live::LiveError>, file: &str, parts: &[&str]) {
    let error = found.expect_err(file);
    assert!(error.file.ends_with(file), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&error.file), "{text}");
    for part in parts {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
}

#[test]
fn what_the_kernel_does_not_write() {
    let table = r"
present = 0-x | cpu/present | '0-x' | a list such as 0-3,8
present = | cpu/present | '' | at least one CPU
online = 3-0 | cpu/online | '3-0' | a list such as 0-3,8
online = | cpu/online | '' | CPUs out of 0-7
online = 0-8 | cpu/online | '0-8' | CPUs out of 0-7
isolated = 3- | cpu/isolated | '3-' | a list such as 0-3,8
isolated = 0-7 | cpu/isolated | '0-7' | an online CPU that is not isolated
cpu3/topology/core_cpus_list = 3;4 | cpu3/topology/core_cpus_list | '3;4' | a list such as
cpu3/topology/core_cpus_list = 0-2 | cpu3/topology/core_cpus_list | '0-2' | CPU 3 in it
cpu7/cpufreq/related_cpus = 4-7 | cpu7/cpufreq/related_cpus | '4-7' | separated by blanks
cpu7/cpufreq/related_cpus = 4 5 | cpu7/cpufreq/related_cpus | '4-5' | CPU 7 in it
cpu0/cpu_capacity = 0 | cpu0/cpu_capacity | '0' | from 1 to 1024
cpu0/cpu_capacity = 1025 | cpu0/cpu_capacity | '1025' | from 1 to 1024
cpu0/acpi_cppc/highest_perf = -1 | highest_perf | '-1' | from 0 to
cpu5/cpufreq/cpuinfo_max_freq = fast | cpu5/cpufreq/cpuinfo_max_freq | 'fast' | in kHz
cpu5/cpufreq/cpuinfo_transition_latency = 1us | cpuinfo_transition_latency | '1us' | in ns
cpu1/topology/physical_package_id = -2 | physical_package_id | '-2' | a package
cpu1/cache/index0/level = L1 | cpu1/cache/index0/level | 'L1' | level of a cache
cpu1/cache/index1/shared_cpu_list = 2 | cpu1/cache/index1/shared_cpu_list | '2' | CPU 1 in it
cpu1/topology/cluster_cpus_list = ? | cpu1/topology/cluster_cpus_list | '?' | a list such as
[sys/devices]\ncpu_core/cpus = none | sys/devices/cpu_core/cpus | 'none' | a list such as
[sys/devices/system/node]\nonline = x | node/online | 'x' | a list such as
[sys/devices/system/node]\nonline = 0\nnode0/cpulist = y | node0/cpulist | 'y' | a list such as
[sys/devices/system/node]\nonline = 0-1\nnode0/cpulist = 0-3\nnode1/cpulist = 3-7 | node1/cpulist | '3' | which is in node 0 already
";
    for [line, file, found, expected] in rows(table) {
        refused(read_with("phone", &line), &file, &[&found, &expected, "run again"]);
    }
}

#[test]
fn long_and_binary_values_are_shown_short() {
    let value = format!("1\u{1b}[31m{}", "9".repeat(500));
    let error = read_with("phone", &format!("cpu0/cpu_capacity = {value}")).unwrap_err();
    assert!(
        error.message.contains("\\u{1b}") && error.message.contains("..."),
        "{error}"
    );
    assert!(error.message.chars().count() < 300, "{error}");
}

#[test]
fn without_sysfs_the_way_out_is_to_mount_it() {
    let folder = tempfile::tempdir().unwrap();
    refused(
        live::read(folder.path()),
        "sys/devices/system/cpu/present",
        &["mount sysfs", "the list of CPUs"],
    );
    materialise(&tree("[sys/devices/system/cpu]\npresent = 0-3"), folder.path());
    refused(
        live::read(folder.path()),
        "sys/devices/system/cpu/online",
        &["mount sysfs", "online"],
    );
}

#[test]
fn more_than_the_policy_has_room_for() {
    let cpus = |count: u32, lines: &str| {
        let last = count - 1;
        live::read_tree(&tree(&format!(
            "[sys/devices/system/cpu]\npresent = 0-{last}\nonline = 0-{last}\n{lines}"
        )))
    };
    let nodes = |count: u32| {
        let last = count - 1;
        cpus(
            count,
            &format!("[sys/devices/system/node]\nonline = 0-{last}\nnode{{0-{last}}}/cpulist = {{n}}"),
        )
    };
    let sockets = |count: u32| {
        cpus(
            count,
            &format!("cpu{{0-{}}}/topology/physical_package_id = {{n}}", count - 1),
        )
    };
    let smt = |count: u32| {
        cpus(
            count,
            &format!("cpu{{0-{0}}}/topology/core_cpus_list = 0-{0}", count - 1),
        )
    };
    let memory = |count: u32| {
        let at = format!("cpu{{0-{}}}/cache/index0", count - 1);
        cpus(
            count,
            &format!("{at}/level = 3\n{at}/type = Unified\n{at}/shared_cpu_list = {{n}}"),
        )
    };
    // Each kind has seven eighths of the speed of the previous one.
    let tiers = |count: u32| {
        let speed = |n: u32| (1e9 * 0.875f64.powi(n as i32)).round();
        let line = |n: u32| format!("cpu{n}/acpi_cppc/highest_perf = {}\n", speed(n));
        cpus(count, &(0..count).map(line).collect::<String>())
    };
    refused(
        cpus(513, ""),
        "cpu/present",
        &["found CPU 512", "at most 512", "nr_cpus=512"],
    );
    refused(nodes(65), "node/online", &["65 nodes", "at most 64", "numa=off"]);
    refused(
        sockets(65),
        "physical_package_id",
        &["65 sockets", "at most 64", "LOP_MAX_NODES"],
    );
    refused(smt(9), "core_cpus_list", &["siblings", "at most 8", "smt/control"]);
    refused(
        memory(257),
        "cpu0/cache",
        &["257 memory domains", "at most 256", "LOP_MAX_MEMORY_DOMAINS"],
    );
    refused(tiers(17), "cpu_capacity", &["17 kinds", "at most 16", "LOP_MAX_TIERS"]);
    for fits in [cpus(512, ""), nodes(64), sockets(64), smt(8), memory(256), tiers(16)] {
        check_invariants(&fits.unwrap());
    }
}
