// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine files of live machines.

use super::*;
use lop_machine::{capture, Machine};
use std::collections::{BTreeMap, BTreeSet};

fn like() -> Machine {
    lop_machine::load("phenom-9750", &[]).unwrap()
}

fn captured(text: &str) -> (String, Machine) {
    let text = capture(&tree(text), "captured", &like(), None).unwrap();
    let machine = lop_machine::read("captured.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (text, machine)
}

/// For each memory domain: how many CPUs of which kind, and its cache in KiB.
type Domains = Vec<(Vec<(u16, usize)>, Option<u64>)>;

/// For each memory domain, how many cores of each kind it has, and its cache. Sorted, since domain numbers differ.
fn sorted(places: impl Iterator<Item = (u16, u16, u16)>, cache_kib: &[Option<u64>]) -> Domains {
    let mut cores: Vec<BTreeMap<u16, BTreeSet<u16>>> = vec![BTreeMap::new(); cache_kib.len()];
    for (domain, kind, core) in places {
        cores[usize::from(domain)].entry(kind).or_default().insert(core);
    }
    let counted =
        |of_kinds: &BTreeMap<u16, BTreeSet<u16>>| of_kinds.iter().map(|(kind, cores)| (*kind, cores.len())).collect();
    let mut domains: Domains = cores.iter().map(counted).zip(cache_kib.iter().copied()).collect();
    domains.sort();
    domains
}

fn domains_of(machine: &Machine) -> Domains {
    let places = machine.cpus.iter().map(|cpu| (cpu.memory_domain, cpu.kind, cpu.core));
    sorted(places, &machine.cache_kib)
}

fn domains_of_live(machine: &LiveMachine) -> Domains {
    let places = machine.cpus.iter().map(|cpu| (cpu.memory_domain, cpu.tier, cpu.core));
    sorted(places, &machine.cache_kib)
}

/// For a regular machine, all domains are as they were read; for any other, the file notes the differences.
#[test]
fn every_machine_becomes_a_file_that_can_be_read() {
    for (name, text) in FIXTURES {
        let live = live::read_tree(&tree(text)).unwrap();
        let (file, machine) = captured(text);
        let says = |words: &str| file.contains(words);
        let differs = says("since its sockets, and the cores of a kind, must be alike");
        assert_eq!(machine.cpus.len() != live.cpus.len(), differs, "{name}");
        assert_eq!(machine.kinds.len(), usize::from(live.nr_tiers), "{name}");
        if !differs && !says("clock domains; one for each") {
            assert_eq!(machine.nr_clock_domains, usize::from(live.nr_clock_domains), "{name}");
        }
        if !differs {
            assert!(!says("Memory domains differ between sockets"), "{name}");
            assert_eq!(domains_of(&machine), domains_of_live(&live), "{name}");
        }
        assert!(says("Watts are assumed: those of phenom-9750"), "{name}");
        assert_eq!(machine.foreign_watts(), Some("phenom-9750"), "{name}");
    }
}

#[test]
fn memory_domains_of_unequal_size_or_cache_are_listed() {
    let (laptop, _) = captured(text_of("laptop-hybrid"));
    let listed = "memory_domain = [
  { cores = { kind-0 = 6, kind-1 = 8 }, cache_mib = 24 },
  { cores = { kind-2 = 2 }, cache_mib = 2 },
]
";
    assert!(laptop.contains(listed), "{laptop}");
    let (chiplets, _) = captured(text_of("desktop-chiplets"));
    assert!(
        chiplets.contains("{ cores = { kind-0 = 8 }, cache_mib = 96 },\n"),
        "{chiplets}"
    );
    assert!(
        chiplets.contains("{ cores = { kind-0 = 8 }, cache_mib = 32 },\n"),
        "{chiplets}"
    );
    // Equal sizes are written once; an unreadable size is left out.
    let sizes = "cpu{0-31}/cache/index3/size = 32768K";
    let with = |sizes: &str| {
        captured(&format!(
            "{}\n[sys/devices/system/cpu]\n{sizes}\n",
            text_of("desktop-chiplets")
        ))
        .0
    };
    assert!(with(sizes).contains("cores_per_memory_domain = 8\ncache_mib = 32\n"));
    assert!(with("cpu{0-31}/cache/index3/size = large").contains("cores_per_memory_domain = 8\nbase_w"));
}

const TWO: &str = "
[sys/devices/system/cpu]
present = 0-1
online = 0-1
cpu{0-1}/cpufreq/related_cpus = {n}
cpu{0-1}/cpufreq/scaling_available_frequencies = 3000000 2250000 1500000 750000
cpu{0-1}/cpuidle/state0/name = POLL
cpu{0-1}/cpuidle/state0/latency = 0
cpu{0-1}/cpuidle/state0/residency = 0
cpu{0-1}/cpuidle/state1/name = C1
cpu{0-1}/cpuidle/state1/latency = 2
cpu{0-1}/cpuidle/state1/residency = 2
cpu{0-1}/cpuidle/state2/name = C6
cpu{0-1}/cpuidle/state2/latency = 133
cpu{0-1}/cpuidle/state2/residency = 600
";

/// phenom-9750 has 1200 MHz at 1050 mV, 6.98 W busy, and 2400 MHz at 1250 mV, 19.79 W. Shares of 1/4, 1/2, 3/4 and 1: half of the lower
/// point's watts, the lower point, the middle (13.385 W, 1150 mV), the upper one.
#[test]
fn watts_are_those_of_the_other_machine_at_the_same_share_of_its_speed() {
    let (_, machine) = captured(TWO);
    let points: Vec<_> = machine.kinds[0]
        .opps
        .iter()
        .map(|opp| (opp.khz, opp.mv, opp.busy_uw))
        .collect();
    let expected = [
        (750_000, 1050, 3_490_000),
        (1_500_000, 1050, 6_980_000),
        (2_250_000, 1150, 13_385_000),
        (3_000_000, 1250, 19_790_000),
    ];
    assert_eq!(points, expected);
}

/// The polling state is left out, and the first state is entered at once.
#[test]
fn idle_states_are_the_kernels_but_polling() {
    let (_, machine) = captured(TWO);
    let states: Vec<_> = machine.kinds[0]
        .idle_states
        .iter()
        .map(|s| (s.name.as_str(), s.exit_ns, s.residency_ns))
        .collect();
    assert_eq!(states, [("C1", 2000, 0), ("C6", 133_000, 600_000)]);
}

/// 800 to 2200 MHz in seven steps of 200.
#[test]
fn where_no_frequencies_are_listed_eight_between_the_limits_are_taken() {
    let (_, machine) = captured(&TWO.replace(
        "scaling_available_frequencies = 3000000 2250000 1500000 750000",
        "cpuinfo_min_freq = 800000\ncpu{0-1}/cpufreq/cpuinfo_max_freq = 2200000",
    ));
    let mhz: Vec<u64> = machine.kinds[0].opps.iter().map(|opp| opp.khz / 1000).collect();
    assert_eq!(mhz, [800, 1000, 1200, 1400, 1600, 1800, 2000, 2200]);
}

#[test]
fn what_is_not_told_is_assumed_and_said() {
    let (text, machine) = captured("[sys/devices/system/cpu]\npresent = 0-1\nonline = 0-1\n");
    assert_eq!((machine.cpus.len(), machine.kinds[0].opps.len()), (2, 1));
    assert!(text.contains("list no frequencies; 2000 MHz is assumed"), "{text}");
    assert!(text.contains("lists no idle states"), "{text}");
}

/// Even numbers that no kernel writes lead to a file that can be read.
#[test]
fn nonsense_in_the_files_of_speeds_and_idle_states_does_no_harm() {
    for (from, to) in [
        ("3000000 2250000", "x 18446744073709551616"),
        ("3000000 2250000 1500000 750000", "0 99999999999999"),
        ("residency = 600", "residency = 2"),
        (
            "state2/name = C6",
            "state2/name = a name that is longer than any machine file takes \"quoted\"",
        ),
    ] {
        assert!(TWO.contains(from));
        captured(&TWO.replace(from, to));
    }
    let many: Vec<String> = (1..=200).map(|n| (n * 10_000).to_string()).collect();
    let (_, machine) = captured(&TWO.replace("3000000 2250000 1500000 750000", &many.join(" ")));
    let opps = &machine.kinds[0].opps;
    assert_eq!((opps[0].khz, opps[opps.len() - 1].khz), (10_000, 2_000_000));
    assert!(opps.len() <= 64);
}

/// [ships] by what cpufreq and the kernel say of themselves: a governor of the kernel, a processor that chooses by a preference, ranks of CPUs.
#[test]
fn what_a_machine_ships_is_what_it_runs() {
    let ships = |lines: &str| captured(&format!("{TWO}\n{lines}\n")).1.ships.describe();
    let governor = "cpu0/cpufreq/scaling_governor = ";
    let preference = "cpu0/cpufreq/energy_performance_preference = ";
    let itmt = "[proc/sys/kernel]\nsched_itmt_enabled = ";
    let by_energy = "[proc/sys/kernel]\nsched_energy_aware = ";
    let two_kinds = "cpu0/cpu_capacity = 512\ncpu1/cpu_capacity = 1024";
    for (lines, expected) in [
        (String::new(), "fair class, no cpufreq"),
        (format!("{governor}ondemand"), "fair class, ondemand"),
        (format!("{governor}conservative"), "fair class, schedutil"),
        (
            format!("{governor}powersave\n{preference}balance_power\n{itmt}1"),
            "fair class with asym packing, hwp with balance_power",
        ),
        (
            format!("{governor}powersave\n{preference}power\n{itmt}0"),
            "fair class, hwp with balance_performance",
        ),
        (
            format!("{governor}performance\n{preference}performance"),
            "fair class, performance",
        ),
        (
            format!("{governor}schedutil\n{preference}balance_performance"),
            "fair class, schedutil",
        ),
        (
            format!("{governor}powersave\ncpu0/cpufreq/scaling_driver = intel_pstate"),
            "fair class, hwp with balance_performance",
        ),
        (
            format!("{governor}powersave\ncpu0/cpufreq/scaling_driver = acpi-cpufreq"),
            "fair class, powersave",
        ),
        // Before Linux 6.7 the file had a 1 on machines of one kind of core, too.
        (format!("{governor}schedutil\n{by_energy}1"), "fair class, schedutil"),
        (
            format!("{governor}schedutil\n{two_kinds}\n{by_energy}1"),
            "fair class with EAS, schedutil",
        ),
        (
            format!("{governor}schedutil\n{two_kinds}\n{by_energy}0"),
            "fair class, schedutil",
        ),
        (
            format!("{governor}schedutil\n{two_kinds}\n{by_energy}"),
            "fair class, schedutil",
        ),
        (
            format!("{governor}performance\n{two_kinds}\n{by_energy}1"),
            "fair class, performance",
        ),
    ] {
        assert_eq!(ships(&lines), expected, "{lines}");
    }
}
