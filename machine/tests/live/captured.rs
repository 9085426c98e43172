//! Machine files of live machines.

use super::*;
use lop_machine::{capture, Machine};

fn like() -> Machine {
    lop_machine::load("phenom-9750", &[]).unwrap()
}

fn captured(text: &str) -> (String, Machine) {
    let text = capture(&tree(text), "captured", &like(), None).unwrap();
    let machine = lop_machine::read("captured.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (text, machine)
}

/// Of regular machines all domains are as they were read; of others the file says what is not.
#[test]
fn every_machine_becomes_a_file_that_can_be_read() {
    for (name, text) in FIXTURES {
        let live = live::read_tree(&tree(text)).unwrap();
        let (file, machine) = captured(text);
        let says = |words: &str| file.contains(words);
        let differs = says("are the nearest that a file describes");
        assert_eq!(machine.cpus.len() != live.cpus.len(), differs, "{name}");
        assert_eq!(machine.kinds.len(), usize::from(live.nr_tiers), "{name}");
        if !differs && !says("clock domains are not those") {
            assert_eq!(machine.nr_clock_domains, usize::from(live.nr_clock_domains), "{name}");
        }
        if !differs && !says("Memory domains are not of equal size") {
            assert_eq!(machine.nr_memory_domains, usize::from(live.nr_memory_domains), "{name}");
        }
        assert!(says("Watts are assumed: those of phenom-9750"), "{name}");
    }
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

/// The kernel polls in none, and is in the first at once.
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
    assert!(text.contains("tells no frequencies; 2000 MHz is taken"), "{text}");
    assert!(text.contains("tells no idle states"), "{text}");
}

/// Numbers that no kernel writes make no file that cannot be read.
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
