// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the watts of a live machine come from.

use super::*;
use lop_machine::costs::{self, find, unmeasured, Watts};
use lop_machine::ships::Governor;
use lop_machine::{capture, Machine};
use lop_policy::{Goal, Named};

const FREQUENCIES: &str = "[sys/devices/system/cpu]
cpu{0-3}/cpufreq/scaling_available_frequencies = 300000 1785600
cpu{4-6}/cpufreq/scaling_available_frequencies = 600000 2496000
cpu7/cpufreq/scaling_available_frequencies = 600000 2995200
";

/// 300 MHz is inefficient: 30 mW are more for each MHz than 60 mW at 900 MHz.
const ENERGY_MODEL: &str = "[sys/kernel/debug/energy_model]
cpu0/cpus = 0-3
cpu4/cpus = 4-6
cpu7/cpus = 7
cpu{0,4,7}/flags = 0x1
gpu/flags = 0x1
gpu/ps:1/power = 1
cpu0/ps:300000/frequency = 300000
cpu0/ps:300000/power = 30000
cpu0/ps:900000/frequency = 900000
cpu0/ps:900000/power = 60000
cpu0/ps:1785600/frequency = 1785600
cpu0/ps:1785600/power = 200000
cpu4/ps:2496000/frequency = 2496000
cpu4/ps:2496000/power = 1200000
cpu7/ps:1000000/frequency = 1000000
cpu7/ps:1000000/power = 500000
cpu7/ps:2995200/frequency = 2995200
cpu7/ps:2995200/power = 4000000
";

const NEXT: &str = "'lop machine measure -o /etc/lopsided/machine.toml' measures them";

fn watts_of(text: &str) -> (Watts, LiveMachine) {
    let tree = tree(text);
    let live = live::read_tree(&tree).unwrap();
    (unmeasured(&tree, &live), live)
}

fn phone(lines: &[&str]) -> Watts {
    watts_of(&format!("{}\n{}", text_of("phone"), lines.join("\n"))).0
}

/// Frequency, idle and busy power of each operating point.
fn points(machine: &Machine, kind: usize) -> Vec<(u64, u64, u64)> {
    let opps = machine.kinds[kind].opps.iter();
    opps.map(|opp| (opp.khz, opp.idle_uw, opp.busy_uw)).collect()
}

fn has_its_topology(machine: &Machine, live: &LiveMachine) {
    let places = machine
        .cpus
        .iter()
        .map(|cpu| (cpu.kind, cpu.core, cpu.memory_domain, cpu.node));
    assert!(places.eq(live
        .cpus
        .iter()
        .map(|cpu| (cpu.tier, cpu.core, cpu.memory_domain, cpu.node))));
    assert_eq!(machine.nr_cores, usize::from(live.nr_cores));
    assert_eq!(machine.nr_memory_domains, usize::from(live.nr_memory_domains));
    assert_eq!(machine.nr_voltage_domains, usize::from(live.nr_voltage_domains));
    assert_eq!(machine.cpufreq.transition_ns, live.transition_ns);
}

#[test]
fn without_frequencies_no_watts_are_known() {
    for name in ["phone", "guest-gaps", "guest-1-core"] {
        let (watts, _) = watts_of(&format!("{}\n{ENERGY_MODEL}", text_of(name)));
        assert_eq!(watts.machine, None, "{name}");
        assert_eq!(
            watts.source,
            format!("not known, as no driver lists frequencies; {NEXT}")
        );
    }
}

/// 10 W at the highest frequency of all. The little cores at their top: 10 * 325 / 1024 * 1785.6 / 2995.2 * (V / 1.2)^2, V = 0.7 + 0.5 * 1485.6 / 2695.2.
#[test]
fn capacities_and_frequencies_give_an_estimate() {
    let (watts, live) = watts_of(&format!("{}\n{FREQUENCIES}", text_of("phone")));
    assert_eq!(
        watts.source,
        format!("estimated from capacities and frequencies; {NEXT}")
    );
    let machine = watts.machine.unwrap();
    has_its_topology(&machine, &live);
    assert_eq!(points(&machine, 0)[1], (2_995_200, 1_000_000, 10_000_000));
    let (khz, _, uw) = points(&machine, 2)[1];
    assert_eq!((khz, (uw as f64 / 1e4).round()), (1_785_600, 125.0));
}

#[test]
fn irregular_machines_keep_their_topology() {
    for (name, text) in FIXTURES {
        let live = live::read_tree(&tree(text)).unwrap();
        let least = live
            .cpus
            .iter()
            .map(|cpu| format!("cpu{}/cpufreq/cpuinfo_min_freq = 400000\n", cpu.number));
        let (watts, live) = watts_of(&format!(
            "{text}\n[sys/devices/system/cpu]\n{}",
            least.collect::<String>()
        ));
        if let Some(machine) = watts.machine {
            has_its_topology(&machine, &live);
        } else {
            assert!(live.cpus.iter().any(|cpu| cpu.max_khz.is_none()), "{name}");
        }
    }
}

/// Light work has homes where energy-aware scheduling is on, and only time does not count.
#[test]
fn light_work_is_placed_where_the_kernel_places_by_energy() {
    let governor = "cpu{0-7}/cpufreq/scaling_governor = schedutil\n";
    let by_energy = "[proc/sys/kernel]\nsched_energy_aware = 1\n";
    for (lines, goal, governor, light) in [
        (
            vec![FREQUENCIES, governor, by_energy],
            Goal::Balanced,
            Some(Governor::Eas),
            true,
        ),
        (
            vec![FREQUENCIES, governor, by_energy],
            Goal::Energy,
            Some(Governor::Eas),
            true,
        ),
        (
            vec![FREQUENCIES, governor, by_energy],
            Goal::Speed,
            Some(Governor::Eas),
            false,
        ),
        (
            vec![FREQUENCIES, governor],
            Goal::Balanced,
            Some(Governor::Schedutil),
            false,
        ),
        (vec![FREQUENCIES, by_energy], Goal::Balanced, None, false),
    ] {
        let machine = phone(&lines).machine.unwrap();
        assert_eq!(machine.ships.governor, governor, "{lines:?}");
        let config = costs::config(Named::Auto, goal, 10_000_000, &machine);
        assert_eq!(config.light, light, "{lines:?} {goal:?}");
        assert!(
            !costs::without_speeds(config, &machine).light,
            "only at speeds that it can have"
        );
    }
}

/// Busy cores draw what the kernel says; idle ones a tenth, and the rest a quarter of 4 * 0.2 + 3 * 1.2 + 4 W.
#[test]
fn the_energy_model_goes_before_an_estimate() {
    let watts = phone(&[FREQUENCIES, ENERGY_MODEL]);
    assert_eq!(
        watts.source,
        format!("modelled: busy cores by the kernel's energy model, the rest estimated; {NEXT}")
    );
    let machine = watts.machine.unwrap();
    assert_eq!(
        points(&machine, 0),
        [(1_000_000, 50_000, 500_000), (2_995_200, 400_000, 4_000_000)]
    );
    assert_eq!(points(&machine, 1), [(2_496_000, 120_000, 1_200_000)]);
    assert_eq!(
        points(&machine, 2),
        [(900_000, 6_000, 60_000), (1_785_600, 20_000, 200_000)]
    );
    assert_eq!(machine.base_uw, 2_100_000);
}

#[test]
fn an_energy_model_that_cannot_be_used_is_named_with_the_reason() {
    for (line, file, reason) in [
        (
            "cpu0/flags = 0x4",
            "cpu0/flags",
            "flags 0x4 say that its powers are no watts",
        ),
        ("cpu0/flags = 0", "cpu0/flags", "no watts"),
        ("cpu0/flags = x", "cpu0/flags", "found 'x', expected flags such as 0x1"),
        ("cpu4/cpus = 4;6", "cpu4/cpus", "found '4;6', expected a list"),
        ("cpu8/cpus = 8", "cpu8/flags", "found '', expected flags"),
        (
            "cpu7/ps:1000000/power = -1",
            "cpu7/ps:1000000/power",
            "found '-1', expected a power in microwatts",
        ),
        ("cpu7/ps:1000000/power = 0", "cpu7/ps:1000000/power", "found '0'"),
        (
            "cpu7/ps:1000000/power = 64000001",
            "cpu7/ps:1000000/power",
            "from 1 to 64000000",
        ),
        (
            "cpu7/ps:1000000/frequency = 2 GHz",
            "cpu7/ps:1000000/frequency",
            "a frequency in kHz",
        ),
        (
            "cpu7/ps:1000000/frequency = 2995200",
            "cpu7",
            "found '2 states of 1 frequencies'",
        ),
        ("cpu7/ps:5/cost = 5", "cpu7/ps:5/frequency", "found ''"),
        ("cpu9/cpus = 9\ncpu9/flags = 1", "cpu9", "found '0 states"),
        (
            "cpu7/cpus = 9",
            "the kernel's energy model lacks the CPUs of kind 0",
            "",
        ),
    ] {
        let watts = phone(&[FREQUENCIES, ENERGY_MODEL, line]);
        let said = &watts.source;
        assert!(
            said.starts_with(&format!(
                "estimated from capacities and frequencies; {NEXT}; not used: "
            )),
            "{said}"
        );
        assert!(said.contains(file) && said.contains(reason), "{line}: {said}");
        assert_eq!(watts.machine, phone(&[FREQUENCIES]).machine, "{line}");
    }
    let many = (1..=65).map(|khz| format!("cpu7/ps:{khz}/frequency = {khz}\ncpu7/ps:{khz}/power = {khz}\n"));
    let said = phone(&[FREQUENCIES, ENERGY_MODEL, &many.collect::<String>()]).source;
    assert!(said.contains("cpu7: found '67 states"), "{said}");
}

const LAPTOP: &str = "[sys/devices/system/cpu]
cpu{0-21}/cpufreq/cpuinfo_min_freq = 400000
[proc]
cpuinfo = model name\t: Intel(R) Core(TM) Ultra 7 155H
";

#[test]
fn a_known_processor_goes_before_an_estimate() {
    let laptop = |lines: &str| watts_of(&format!("{}\n{lines}", text_of("laptop-hybrid")));
    let (watts, live) = laptop(LAPTOP);
    let source = "modelled: those of laptop-three-kinds, which has this processor";
    assert_eq!(watts.source, format!("{source}; {NEXT}"));
    let (machine, model) = (
        watts.machine.unwrap(),
        lop_machine::load("laptop-three-kinds", &[]).unwrap(),
    );
    has_its_topology(&machine, &live);
    assert_eq!(
        (machine.kinds, machine.base_uw, machine.park),
        (model.kinds, model.base_uw, None)
    );
    for other in [
        LAPTOP.replace("155H", "155U"),
        // Hides its slowest kind, as a guest may.
        format!("{LAPTOP}[sys/devices/system/cpu]\ncpu{{20-21}}/cpufreq/cpuinfo_max_freq = 3800000\n"),
        LAPTOP.replace("model name", "model"),
    ] {
        assert!(laptop(&other).0.source.starts_with("estimated"), "{other}");
    }
}

#[test]
fn no_two_machines_are_taken_for_one_processor() {
    let machines = lop_machine::builtin_names()
        .into_iter()
        .map(|name| lop_machine::load(name, &[]).unwrap());
    let mut processors: Vec<String> = machines.filter_map(|machine| machine.processor).collect();
    let count = processors.len();
    processors.sort();
    processors.dedup();
    assert_eq!(processors.len(), count);
}

/// A file of this machine, of another one, of nobody's watts, and none.
#[test]
fn what_was_measured_goes_before_all_and_what_is_refused_is_named() {
    let text = format!("{}\n{FREQUENCIES}\n{ENERGY_MODEL}", text_of("phone"));
    let folder = tempfile::tempdir().unwrap();
    materialise(&tree(&text), folder.path());
    let live = live::read(folder.path()).unwrap();
    let file = folder.path().join("etc/lopsided/machine.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let like = lop_machine::load("phenom-9750", &[]).unwrap();
    let with = |tree: &TextTree, is_measured: bool| {
        let text = capture(tree, "captured", &like, None).unwrap();
        let text = if is_measured {
            text.replace("watts_of = \"phenom-9750\"\n", "")
        } else {
            text
        };
        std::fs::write(&file, text).unwrap();
        find(folder.path(), &live)
    };
    let measured = with(&tree(&text), true);
    assert_eq!(measured.source, "measured (/etc/lopsided/machine.toml)");
    assert_eq!(measured.machine.unwrap().base_uw, like.base_uw);

    std::fs::remove_file(&file).unwrap();
    let modelled = find(folder.path(), &live);
    assert!(modelled.source.starts_with("modelled: ") && !modelled.source.contains("not used"));
    for (other, is_measured, reason) in [
        (text_of("phone"), false, "has the watts of another machine"),
        (text_of("desktop-chiplets"), true, "has other kinds of cores"),
    ] {
        let found = with(&tree(other), is_measured);
        assert_eq!(found.machine, modelled.machine, "{reason}");
        let said = &found.source;
        assert!(
            said.starts_with(&format!("{}; not used: {}", modelled.source, file.display())),
            "{said}"
        );
        assert!(said.contains(reason), "{said}");
    }
    std::fs::write(&file, "name = 1\n").unwrap();
    assert!(find(folder.path(), &live).source.contains("machine.toml:1: name"));
}
