// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is assumed if sysfs says nothing or says it in another way, and that a note tells.

use super::*;

#[track_caller]
fn has_note(machine: &LiveMachine, part: &str) {
    assert!(
        machine.notes.iter().any(|n| n.contains(part)),
        "no '{part}' in {:#?}",
        machine.notes
    );
}

/// Nothing is known of these CPUs but their numbers.
fn bare(cpus: &str, lines: &str) -> LiveMachine {
    let text = format!("[sys/devices/system/cpu]\npresent = {cpus}\nonline = {cpus}\n{lines}\n");
    let machine = live::read_tree(&tree(&text)).unwrap();
    check_invariants(&machine);
    machine
}

#[test]
fn nothing_but_numbers_is_a_machine() {
    let machine = bare("0-2", "");
    assert_eq!(by(&machine, |c| c.core), [0, 1, 2]);
    assert_eq!(by(&machine, |c| c.clock_domain), [0, 1, 2]);
    let domains: [Column<u16>; 5] = [
        |c| c.tier,
        |c| c.memory_domain,
        |c| c.voltage_domain,
        |c| c.socket,
        |c| c.node,
    ];
    for of in domains {
        assert_eq!(by(&machine, of), [0, 0, 0]);
    }
    for part in [
        "SMT siblings are listed for CPU 0-2",
        "package is stated for CPU 0-2",
        "cpufreq policy for CPU 0-2",
        "shared cache is listed in the socket of CPU 0-2",
        "NUMA node lists CPU 0-2",
        "100 µs are assumed",
        "Voltage domains cannot be read",
    ] {
        has_note(&machine, part);
    }
}

#[test]
fn a_machine_that_tells_all_leaves_the_voltage_note() {
    let machine = live::read_tree(&tree(text_of("server-2-sockets"))).unwrap();
    assert_eq!(machine.notes.len(), 1, "{:#?}", machine.notes);
    has_note(&machine, "Voltage domains");
    has_note(
        &live::read_tree(&tree(text_of("desktop-offline"))).unwrap(),
        "CPU 3,6-7",
    );
}

/// With SMT switched off, half of a big server is present but offline, and still within all limits.
#[test]
fn half_of_a_big_server_offline() {
    let lines = "online = 0-255\ncpu{0-255}/topology/core_cpus_list = {n}";
    let text = format!(
        "{}\n[sys/devices/system/cpu]\n{lines}\n",
        text_of("server-512").replace(",256-263", "")
    );
    let machine = live::read_tree(&tree(&text)).unwrap();
    check_invariants(&machine);
    assert_eq!(
        (machine.nr_cores, machine.nr_memory_domains, machine.nr_nodes),
        (512, 32, 8)
    );
    // Clock domains list the offline siblings, so each is in the domain of its sibling.
    assert!(machine
        .cpus
        .iter()
        .all(|c| u32::from(c.memory_domain) == c.number % 256 / 8));
    assert_eq!(machine.nr_voltage_domains, 2);
}

#[test]
fn kinds_come_from_the_first_measure_that_tells_them_apart() {
    let capacity = "cpu{0-1}/cpu_capacity = 1024\ncpu{2-3}/cpu_capacity = 500\n";
    let equal = "cpu{0-3}/cpu_capacity = 1024\n";
    let partial = "cpu{0-1}/cpu_capacity = 1024\ncpu2/cpu_capacity = 500\n";
    let perf = "cpu{0-2}/acpi_cppc/highest_perf = 68\ncpu3/acpi_cppc/highest_perf = 42\n";
    let unknown_perf = "cpu{0-3}/acpi_cppc/highest_perf = 0\n";
    let khz = "cpu0/cpufreq/cpuinfo_max_freq = 3000000\ncpu{1-3}/cpufreq/cpuinfo_max_freq = 2000000\n";
    for (lines, tier, capacities) in [
        (format!("{capacity}{perf}{khz}"), [0, 0, 1, 1], [1024, 1024, 500, 500]),
        (format!("{equal}{perf}{khz}"), [0, 0, 0, 1], [1024, 1024, 1024, 632]),
        (format!("{partial}{khz}"), [0, 1, 1, 1], [1024, 683, 683, 683]),
        (
            format!("{equal}{unknown_perf}{khz}"),
            [0, 1, 1, 1],
            [1024, 683, 683, 683],
        ),
        (equal.to_string(), [0, 0, 0, 0], [1024; 4]),
    ] {
        let machine = bare("0-3", &lines);
        assert_eq!(by(&machine, |c| c.tier), tier, "{lines}");
        assert_eq!(by(&machine, |c| c.capacity), capacities, "{lines}");
    }
}

#[test]
fn favoured_cores_keep_the_capacity_that_the_kernel_states() {
    let machine = bare("0-2", "cpu{0-1}/cpu_capacity = 1024\ncpu2/cpu_capacity = 989");
    assert_eq!(by(&machine, |c| c.tier), [0, 0, 0]);
    assert_eq!(by(&machine, |c| c.capacity), [1024, 1024, 989]);
}

#[test]
fn named_types_are_kinds_where_nothing_is_measured() {
    let machine = bare(
        "0-4",
        "[sys/devices]\ncpu_core/cpus = 2-3\ncpu_atom/cpus = 0-1\ncpu_lowpower/cpus = 4",
    );
    assert_eq!(by(&machine, |c| c.tier), [1, 1, 0, 0, 2]);
    assert_eq!(by(&machine, |c| c.capacity), [1024; 5]);
    has_note(&machine, "their order follows their names");
}

fn caches(cpus: &str, level: u8, shared: &str) -> String {
    let index = level - 1;
    let at = format!("cpu{{{cpus}}}/cache/index{index}");
    format!("{at}/level = {level}\n{at}/type = Unified\n{at}/shared_cpu_list = {shared}\n")
}

/// Level 1 unified, so that the numbers of the caches have no gap.
fn first_level(cpus: &str) -> String {
    caches(cpus, 1, "{n}")
}

#[test]
fn memory_domains_where_caches_are_listed_in_part() {
    let clusters = "cpu{0-1}/topology/cluster_cpus_list = 0-1\ncpu{2-3}/topology/cluster_cpus_list = {n}\n";
    let alone = "cpu{0-3}/topology/cluster_cpus_list = {n}\n";
    let private = first_level("0-3") + &caches("0-3", 2, "{n}");
    let own_l3 = format!("{private}{}", caches("0-3", 3, "{n}"));
    let mixed = format!("{private}{}", caches("0-2", 3, "0-2"));
    for (what, lines, expected) in [
        ("private L2, clusters", format!("{private}{clusters}"), [0, 0, 1, 2]),
        (
            "private L2, clusters of one core",
            format!("{private}{alone}"),
            [0, 0, 0, 0],
        ),
        ("no cache, clusters", clusters.to_string(), [0, 0, 1, 2]),
        ("an L3 for each core", format!("{own_l3}{clusters}"), [0, 1, 2, 3]),
        ("private L2 beside an L3", format!("{mixed}{clusters}"), [0, 0, 0, 1]),
        (
            "shared L2",
            first_level("0-3") + &caches("0-1", 2, "0-1") + &caches("2-3", 2, "2-3"),
            [0, 0, 1, 1],
        ),
    ] {
        assert_eq!(by(&bare("0-3", &lines), |c| c.memory_domain), expected, "{what}");
    }
}

#[test]
fn a_core_that_lists_no_cache_beside_others_that_do() {
    let machine = bare("0-2", &(first_level("0-1") + &caches("0-1", 2, "0-1")));
    assert_eq!(by(&machine, |c| c.memory_domain), [0, 0, 1]);
    has_note(&machine, "last-level cache is listed for CPU 2");
}

#[test]
fn transition_is_the_largest_plausible() {
    for (ns, expected) in [
        ("0", 100_000),
        ("4294967295", 100_000),
        ("10000001", 100_000),
        ("10000000", 10_000_000),
        ("1", 1),
    ] {
        let machine = bare("0", &format!("cpu0/cpufreq/cpuinfo_transition_latency = {ns}"));
        assert_eq!(machine.transition_ns, expected, "{ns}");
    }
}

#[test]
fn packages_without_a_number_are_one_socket() {
    let machine = bare("0-1", "cpu{0-1}/topology/physical_package_id = -1");
    assert_eq!((machine.nr_sockets, by(&machine, |c| c.socket)), (1, vec![0, 0]));
}

/// Firmware and drivers list CPUs that could be plugged in.
#[test]
fn lists_may_name_cpus_that_are_not_there() {
    let machine = bare("0,2", "cpu{0,2}/cpufreq/related_cpus = 0 1 2 3");
    assert_eq!(by(&machine, |c| c.clock_domain), [0, 0]);
}

#[test]
fn files_that_cannot_be_read_count_as_missing_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    materialise(&tree(text_of("phone")), folder.path());
    for cpu in 0..8 {
        let file = folder
            .path()
            .join(format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
    }
    let machine = live::read(folder.path()).unwrap();
    // Then the frequency decides: 1786, 2496 and 2995 MHz.
    assert_eq!(by(&machine, |c| c.tier), [2, 2, 2, 2, 1, 1, 1, 0]);
    has_note(
        &machine,
        "cpu0/cpu_capacity and 7 more of this name could not be read (not a regular file)",
    );
}

/// Isolated at boot, by a partition of cgroup v2 alone, and of v2 beside v1. CPU 9 does not exist. CPUs without a tick are not isolated.
#[test]
fn isolated_cpus_are_of_the_command_line_and_of_partitions() {
    let lines = |boot: &str, cgroup: &str| {
        format!("isolated = {boot}\nnohz_full = 0-1\n[{cgroup}]\ncpuset.cpus.isolated = 3,9\n")
    };
    for (boot, cgroup, isolated) in [
        ("", "sys/fs/cgroup", &[3][..]),
        ("2", "sys/fs/cgroup", &[2, 3]),
        ("2-3", "sys/fs/cgroup/unified", &[2, 3]),
        ("2", "sys/fs/elsewhere", &[2]),
    ] {
        let machine = bare("0-3", &lines(boot, cgroup));
        let found: Vec<u32> = machine.isolated().into_iter().collect();
        assert_eq!(found, isolated, "{boot} {cgroup}");
    }
    assert!(bare("0-3", "").isolated().is_empty());
}
