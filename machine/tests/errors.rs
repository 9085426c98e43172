// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors in a machine file name the line, the key and what was expected.

mod cases;

use cases::{check, check_replacements, rows};
use lop_machine::input::Override;
use lop_machine::{builtin_text, load, read, Memory};

/// Two kinds; line numbers count from the `name` line.
const GOOD: &str = r#"name = "test"
description = "two kinds"
sockets = 2
clock_domain = "kind"
voltage_domain = "socket"
cores_per_memory_domain = 3
base_w = 10
[cpufreq]
transition_us = 100
ondemand_period_ms = 200
schedutil_rate_limit_us = 2000
[cost]
context_switch_us = 1
migration_us = 1
memory_domain_us = 1
[thermal]
ambient_c = 20
c_per_w = 2
time_constant_s = 5
limit_c = 80
[[kind]]
name = "fast"
cores = 2
smt = 2
smt_speedup = 1.3
smt_power = 0.2
speed = 2.0
opp = [
  { mhz = 1000, mv = 900, idle_w = 1, busy_w = 2 },
  { mhz = 2000, mv = 1000, idle_w = 2, busy_w = 5, domain_w = 1 },
]
idle = [
  { name = "C1", exit_us = 1, residency_us = 0 },
  { name = "C6", exit_us = 100, residency_us = 300, w = 0.1 },
]
[[kind]]
name = "slow"
cores = 4
speed = 1.0
opp = [{ mhz = 1000, mv = 900, idle_w = 0.5, busy_w = 1 }]
idle = [{ name = "C1", exit_us = 1, residency_us = 0 }]
"#;

#[test]
fn the_good_file_is_read_as_it_stands() {
    let machine = read("test.toml", GOOD).unwrap();
    assert_eq!(
        (machine.nr_cores, machine.cpus.len(), machine.nr_memory_domains),
        (12, 16, 4)
    );
    let fast = &machine.kinds[0];
    assert_eq!((fast.speed, fast.smt_speedup, fast.smt_power), (2.0, 1.3, 0.2));
    assert_eq!(
        (fast.opps[1].khz, fast.opps[1].mv, fast.opps[1].domain_uw),
        (2_000_000, 1000, 1_000_000)
    );
    assert_eq!(
        (fast.idle_states[1].exit_ns, fast.idle_states[1].power_uw),
        (100_000, Some(100_000))
    );
    assert_eq!(machine.cpufreq.ondemand_period_ns, 200_000_000);
    assert_eq!(machine.memory, None);
}

/// A file without [ships] stands for Linux of today; each built-in machine says what it ships.
#[test]
fn what_a_machine_ships_is_read() {
    let ships = |table: &str| {
        let text = GOOD.replace("[cost]", &format!("{table}\n[cost]"));
        read("test.toml", &text).unwrap().ships.describe()
    };
    assert_eq!(ships(""), "fair class, schedutil");
    let guest = "[ships]\nplacement = \"fair-class\"\ngovernor = \"none\"\nsource = \"s\"";
    assert_eq!(ships(guest), "fair class, no cpufreq");
    assert_eq!(ships(&guest.replace("none", "eas")), "fair class with EAS, schedutil");
    let client = guest.replace("fair-class", "asym-packing");
    assert_eq!(
        ships(&client.replace("none", "hwp")),
        "fair class with asym packing, hwp with balance_performance"
    );
    assert_eq!(
        ships(&guest.replace("none", "hwp@balance_power")),
        "fair class, hwp with balance_power"
    );
    for name in lop_machine::builtin_names() {
        assert!(builtin_text(name).unwrap().contains("\n[ships]\n"), "{name}");
    }
}

#[test]
fn memory_is_read_with_and_without_a_bandwidth() {
    let memory = |table: &str| read("test.toml", &GOOD.replace("[cost]", table)).unwrap().memory;
    assert_eq!(
        memory("[memory]\nlatency_ns = 187.94\nbandwidth_mb_s = 627\n[cost]"),
        Some(Memory {
            latency_ns: 187.94,
            bandwidth_mb_s: Some(627.0)
        })
    );
    assert_eq!(
        memory("[memory]\nlatency_ns = 80\n[cost]"),
        Some(Memory {
            latency_ns: 80.0,
            bandwidth_mb_s: None
        })
    );
}

/// In each socket, one domain of 2 fast cores and a slow one, and one of 3 slow cores.
#[test]
fn memory_domains_of_unequal_size_and_cache_are_read() {
    let tables = "[[memory_domain]]\ncores = { fast = 2, slow = 1 }\ncache_mib = 24\n\
                  [[memory_domain]]\ncores = { slow = 3 }\ncache_mib = 0.5\n[[kind]]\nname = \"fast\"";
    let text = GOOD.replace("cores_per_memory_domain = 3\n", "");
    let machine = read("test.toml", &text.replace("[[kind]]\nname = \"fast\"", tables)).unwrap();
    let domains: Vec<u16> = machine.cpus.iter().map(|cpu| cpu.memory_domain).collect();
    assert_eq!(domains, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 2, 2]);
    assert_eq!(
        machine.cache_kib,
        [Some(24 << 10), Some(512), Some(24 << 10), Some(512)]
    );
    let alike = read("test.toml", &GOOD.replace("base_w", "cache_mib = 6\nbase_w")).unwrap();
    assert_eq!(alike.cache_kib, [Some(6 << 10); 4]);
}

const BAD: &str = r#"
sockets = 2 | sockets = 0 | 3 | sockets | 0, expected a whole number from 1 to 512
sockets = 2 | sockets = -1 | 3 | sockets | -1, expected a whole number from 1 to 512
sockets = 2 | sockets = 65 | 3 | sockets | 520 CPUs in all, expected 1 to 512
ondemand_period_ms = 200 | ondemand_period_ms = 200\nondemand_min_period_ms = 201 | 10 | cpufreq.ondemand_period_ms | expected at least the minimum of 201 ms
sockets = 2 | sockets = 9223372036854775807 | 3 | sockets | expected a whole number from 1 to 512
sockets = 2 | sockets = 99999999999999999999 | 3 | sockets | expected a whole number
sockets = 2 | sockets = "two" | 3 | sockets | expected a whole number
sockets = 2 | sockets = 2\nnodes_per_socket = 4 | 4 | nodes_per_socket | 4 does not divide the 6 cores
sockets = 2 | sockets = 2\nnodes_per_socket = 3 | 7 | cores_per_memory_domain | straddles the nodes
"kind"\n | "die"\n | 4 | clock_domain | unknown variant `die`
domain = 3 | domain = 4 | 6 | cores_per_memory_domain | 4 does not divide the 6 cores
base_w = 10 | memory_domain = "core"\nbase_w = 10 | 6 | cores_per_memory_domain | found both
base_w = 10 | max_mhz = [2000, 1000, 1000, 1000]\nbase_w = 10 | 7 | max_mhz.1 | cores 0 and 1 share a clock
base_w = 10 | max_mhz = [\n1000, 1000, 2000,\n2000, 900, 2000]\nbase_w = 10 | 9 | max_mhz.4 | cores 2 and 4 share a clock
base_w = 10 | max_mhz = [900]\nbase_w = 10 | 7 | max_mhz.0 | 900, expected at least 1000 MHz
base_w = 10 | base_w = 10\npower_limit = [{ w = 0, window_s = 1 }] | 8 | power_limit.0.w | 0, expected a number above 0
base_w = 10 | base_w = 10\npower_limit = [{ w = 9, window_s = 1 },\n{ w = 9, window_s = -1 }] | 9 | power_limit.1.window_s | -1, expected a number above 0 and at most 10000 s
base_w = 10 | base_w = 10\npower_limit = [{ w = 9, windows = 1 }] | 8 | power_limit | unknown field `windows`
base_w = 10 | base_w = -0.5 | 7 | base_w | -0.5, expected 0 to 1000000 W
base_w = 10 | base_w = nan | 7 | base_w | NaN, expected 0 to 1000000 W
base_w = 10 | base_w = inf | 7 | base_w | inf, expected 0 to 1000000 W
base_w = 10 | base_w = 1e300 | 7 | base_w | 1e300, expected 0 to 1000000 W
base_w = 10 | bas_w = 10 | 7 | bas_w | unknown field `bas_w`
transition_us = 100 | transition_us = -1 | 9 | cpufreq.transition_us | -1, expected 0
period_ms = 200 | period_ms = 0 | 10 | cpufreq.ondemand_period_ms | 0, expected a number above 0
[cost] | [memory]\nlatency_ns = 0\n[cost] | 13 | memory.latency_ns | 0, expected 0.1 to 1000000 ns
[cost] | [memory]\nlatency_ns = nan\n[cost] | 13 | memory.latency_ns | NaN, expected 0.1
[cost] | [memory]\nlatency_ns = 80\nbandwidth_mb_s = 0\n[cost] | 14 | memory.bandwidth_mb_s | 0, expected 1 to 1000000000 MB/s
[cost] | [ships]\nplacement = "fair"\ngovernor = "none"\nsource = "s"\n[cost] | 13 | ships.placement | unknown placement 'fair'; known: longest-idle, random, fair-class, asym-packing
[cost] | [ships]\nplacement = "fair-class"\ngovernor = "epp"\nsource = "s"\n[cost] | 14 | ships.governor | unknown governor 'epp'; known: performance
[cost] | [ships]\nplacement = "fair-class"\ngovernor = "hwp@fast"\nsource = "s"\n[cost] | 14 | ships.governor | unknown energy preference 'fast'; known: balance_performance, balance_power
base_w = 10 | shortest_exit_share = 1.5\nbase_w = 10 | 7 | shortest_exit_share | 1.5, expected 0
transition_us = 100 | transition_us = 100\nhwp_window_ms = [5] | 10 | cpufreq.hwp_window_ms | 1 numbers, expected two
transition_us = 100 | transition_us = 100\nhwp_window_ms = [5, 4] | 10 | cpufreq.hwp_window_ms | 4, expected 5
[cost] | [ships]\nplacement = "fair-class"\ngovernor = "none"\nsource = ""\n[cost] | 15 | ships.source | 0 characters, expected 1 to 200
[cost] | [memory]\nbandwidth_mb_s = 3000\n[cost] | 12 | memory | missing field `latency_ns`
[cost] | [memory]\nlatency_ns = 80\nbandwidth_gb_s = 3\n[cost] | 14 | memory.bandwidth_gb_s | unknown field `bandwidth_gb_s`
migration_us = 1 | migration_us = nan | 14 | cost.migration_us | NaN, expected 0
c_per_w = 2 | c_per_w = 0 | 18 | thermal.c_per_w | 0, expected a number above 0
constant_s = 5 | constant_s = -5 | 19 | thermal.time_constant_s | -5, expected a number above 0
limit_c = 80 | limit_c = 20 | 20 | thermal.limit_c | expected more than ambient_c, which is 20
"fast" | "" | 22 | kind.0.name | 0 characters, expected 1 to 24
"fast" | "fa\u001bst" | 22 | kind.0.name | control character
cores = 2 | cores = 0 | 23 | kind.0.cores | 0, expected a whole number from 1 to 512
smt = 2 | smt = 9 | 24 | kind.0.smt | 9, expected a whole number from 1 to 8
speedup = 1.3 | speedup = 2.5 | 25 | kind.0.smt_speedup | 2.5, expected 0.1 to 2
smt_power = 0.2 | smt_power = 1.5 | 26 | kind.0.smt_power | 1.5, expected 0 to 1
speed = 2.0 | speed = 0 | 27 | kind.0.speed | 0, expected a number above 0
speed = 2.0 | speed = 0.5 | 39 | kind.1.speed | expected the fastest kind first
"slow" | "fast" | 37 | kind.1.name | names two kinds
cores_per_memory_domain = 3 | memory_domain = 3 | 6 | memory_domain | expected core, kind, socket, machine or a list of tables
cores_per_memory_domain = 3 | memory_domain = "die" | 6 | memory_domain | unknown variant `die`
cores_per_memory_domain = 3 | memory_domain = [{ cores = { fast = 2, slow = 1 } }, { cores = { slow = 2 } }] | 6 | memory_domain | 3 cores of kind 'slow' in all, expected the 4 of a socket
cores_per_memory_domain = 3 | memory_domain = [\n{ cores = { fast = 2, slow = 4 } },\n{ cores = { quick = 2 } }] | 8 | memory_domain.1.cores.quick | unknown kind 'quick', expected one of fast, slow
cores_per_memory_domain = 3 | memory_domain = [{ cores = { fast = 0, slow = 4 } }] | 6 | memory_domain.0.cores.fast | 0, expected a whole number from 1 to 512
cores_per_memory_domain = 3 | memory_domain = [{ cores = { fast = 2, slow = 4 } }, { cores = {} }] | 6 | memory_domain.1.cores | no cores
cores_per_memory_domain = 3 | memory_domain = [\n{ cores = { fast = 2 }, cache_mib = 8 },\n{ cores = { slow = 4 }, cache_mib = 0 }] | 8 | memory_domain.1.cache_mib | 0, expected a number above 0 and at most 65536 MiB
cores_per_memory_domain = 3 | nodes_per_socket = 2\nmemory_domain = [{ cores = { fast = 2 } }, { cores = { slow = 4 } }] | 7 | memory_domain | domain 1 straddles the nodes of 3 cores
cores_per_memory_domain = 3 | cache_mib = 8\nmemory_domain = [{ cores = { fast = 2, slow = 4 } }] | 6 | cache_mib | expected it in each memory_domain
mhz = 2000 | mhz = 1000 | 30 | kind.0.opp.1.mhz | 1000, expected more than 1000 MHz
mhz = 2000 | mhz = 0 | 30 | kind.0.opp.1.mhz | 0, expected 0.001 to 100000 MHz
mv = 1000 | mv = 800 | 30 | kind.0.opp.1.mv | 800, expected at least 900 mV
mv = 1000 | mv = 0 | 30 | kind.0.opp.1.mv | 0, expected a whole number from 1 to 10000
busy_w = 5 | busy_w = 1.5 | 30 | kind.0.opp.1.busy_w | 1.5, expected at least idle_w, which is 2 W
domain_w = 1 | domain_w = -1 | 30 | kind.0.opp.1.domain_w | -1, expected 0
speed = 2.0 | speed = 2.0\nturbo = [{ cores = 1, mhz = 2000 }] | 28 | kind.0.turbo | up to 1 busy cores, expected up to the 2 of a socket
speed = 2.0 | speed = 2.0\nturbo = [] | 28 | kind.0.turbo | up to 0 busy cores
speed = 2.0 | speed = 2.0\nturbo = [\n{ cores = 1, mhz = 2000 },\n{ cores = 1, mhz = 1000 }] | 30 | kind.0.turbo.1.cores | 1, expected more than 1 before it
speed = 2.0 | speed = 2.0\nturbo = [\n{ cores = 1, mhz = 1999 },\n{ cores = 2, mhz = 2000 }] | 30 | kind.0.turbo.1.mhz | 2000, expected at most 1000 MHz of fewer busy cores
speed = 2.0 | speed = 2.0\nturbo = [{ cores = 2, mhz = 900 }] | 28 | kind.0.turbo.0.mhz | 900, expected at least 1000 MHz, the lowest operating point
speed = 2.0 | speed = 2.0\nturbo = [{ cores = 0, mhz = 2000 }] | 28 | kind.0.turbo.0.cores | 0, expected a whole number from 1 to 512
opp = [{ mhz = 1000, mv = 900, idle_w = 0.5, busy_w = 1 }] | opp = [] | 40 | kind.1.opp | 0 operating points
residency_us = 300 | residency_us = 0 | 34 | kind.0.idle.1.residency_us | 0, expected more than 0 µs
exit_us = 100 | exit_us = inf | 34 | kind.0.idle.1.exit_us | inf, expected 0
w = 0.1 | w = -0.1 | 34 | kind.0.idle.1.w | -0.1, expected 0
"#;

#[test]
fn each_bad_value_is_named_with_line_and_key() {
    check_replacements(GOOD, BAD, |text| read("test.toml", text));
}

#[test]
fn too_many_of_anything_is_refused() {
    let opp = "{ mhz = 1, mv = 900, idle_w = 1, busy_w = 2 },";
    let idle = "{ name = \"C1\", exit_us = 1, residency_us = 0 },";
    let kind = &GOOD[GOOD.rfind("[[kind]]").unwrap()..];
    let slow_opp = "opp = [{ mhz = 1000, mv = 900, idle_w = 0.5, busy_w = 1 }]";
    let slow_idle = "]\nidle = [{ name = \"C1\", exit_us = 1, residency_us = 0 }]\n";
    let cases = [
        (
            GOOD.replace(slow_opp, &format!("opp = [{}]", opp.repeat(65))),
            "65 operating points, expected 1 to 64",
        ),
        (
            GOOD.replace(slow_idle, &format!("]\nidle = [{}]\n", idle.repeat(9))),
            "9 idle states, expected 1 to 8",
        ),
        (
            GOOD.to_string() + &kind.repeat(15),
            "17 kinds of cores, expected 1 to 16",
        ),
        (
            format!("notes = [{}]\n{GOOD}", "\"a\",".repeat(65)),
            "65 lines, expected at most 64",
        ),
        (GOOD[..GOOD.find("[[kind]]").unwrap()].to_string(), "0 kinds of cores"),
    ];
    for (text, message) in cases {
        let error = read("test.toml", &text).unwrap_err();
        assert!(error.message.contains(message), "{message}: {error}");
    }
}

#[test]
fn most_cpus_are_allowed_and_one_more_is_not() {
    let phenom = builtin_text("phenom-9750").unwrap();
    let with = |cores: &str| read("big.toml", &phenom.replace("cores = 4", cores));
    assert_eq!(with("cores = 512").unwrap().cpus.len(), 512);
    let error = with("cores = 513").unwrap_err().to_string();
    let says = "kind.0.cores: 513, expected a whole number from 1 to 512";
    assert!(error.ends_with(says), "{error}");
}

#[test]
fn unknown_names_list_the_known_ones() {
    let error = load("phenom", &[]).unwrap_err().to_string();
    assert!(
        error.contains("unknown machine") && error.contains("phenom-9750") && error.contains(".toml"),
        "{error}"
    );
    let error = load("./no/such.toml", &[]).unwrap_err().to_string();
    assert!(error.starts_with("./no/such.toml: cannot be read"), "{error}");
}

#[test]
fn a_path_is_read_and_overridden() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), GOOD).unwrap();
    let set = |key: &str, value: &str| {
        let change = Override {
            key: key.into(),
            value: value.into(),
        };
        load(file.path().to_str().unwrap(), &[change])
    };
    assert_eq!(
        set("kind.0.opp.1.busy_w", "7").unwrap().kinds[0].opps[1].busy_uw,
        7_000_000
    );
    // With one thread the SMT figures do not apply.
    let single = set("kind.0.smt", "1").unwrap();
    assert_eq!((single.cpus.len(), single.kinds[0].smt_speedup), (12, 1.0));
    let table = r#"
kind.0.opp.1.busy_w | 1 | expected at least idle_w
kind.0.opp.1.mv | high | expected a whole number
kind.0.colour | red | unknown field `colour`
"#;
    for [key, value, says] in rows(table) {
        assert_eq!(check(set(&key, &value), &value, None, &key, &says).file, "--set");
    }
}

#[test]
fn a_fault_of_the_file_is_not_blamed_on_an_override() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), GOOD.replace("base_w = 10", "base_w = -1")).unwrap();
    let change = Override {
        key: "sockets".into(),
        value: "1".into(),
    };
    check(
        load(file.path().to_str().unwrap(), &[change]),
        "base_w = -1",
        Some(7),
        "base_w",
        "-1",
    );
}
