// SPDX-License-Identifier: MIT OR Apache-2.0
//! High CPUs below their top speed: at their base frequency, or where work costs the least energy.

use super::fake::{acpi, active, kill, policy_file, Fake, Policy, CPU};
use crate::meter::OWN_MODEL;
use crate::speed::high::perf;
use crate::speed::{HighSpeed, Wish};
use lop_policy::Goal;

const DRIVERS: [(&str, &str, &str); 2] = [
    ("intel_pstate", "cpufreq/policy1/base_frequency", "2400000"),
    ("amd-pstate-epp", "cpu1/acpi_cppc/nominal_freq", "2400"),
];

/// Two CPUs whose processor chooses speeds, with `file` telling their base frequency, 2.4 GHz.
fn choosing(driver: &'static str, file: &str, text: &str) -> Fake {
    let policies = [active(0, "0", driver, "powersave"), active(1, "1", driver, "powersave")];
    let fake = Fake::new(&policies, "0-1");
    for cpu in ["0", "1"] {
        fake.put(&format!("{CPU}/{}", file.replace('1', cpu)), text);
    }
    fake
}

fn refused(fake: &Fake, wanted: HighSpeed) -> String {
    let before = fake.snapshot();
    let error = fake.open().set_high_speed(wanted).unwrap_err().to_string();
    assert!(fake.writes().is_empty() && fake.snapshot() == before);
    assert!(error.starts_with(&format!("--high-speed {wanted}: ")), "{error}");
    assert!(error.ends_with("; --high-speed max always works"), "{error}");
    error
}

fn says(fake: &Fake, wanted: HighSpeed, parts: &[&str]) {
    let error = refused(fake, wanted);
    for part in parts {
        assert!(error.contains(part), "no '{part}' in: {error}");
    }
}

/// One ceiling for high and low CPUs is written at the start; then only preferences, and never a lower limit.
#[test]
fn a_processor_that_chooses_gets_a_ceiling_once() {
    for (driver, file, text) in DRIVERS {
        let fake = choosing(driver, file, text);
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.set_high_speed(HighSpeed::Base).unwrap();
        let ceiling = |number| (policy_file(number, "scaling_max_freq"), "2400000".to_string());
        assert_eq!(fake.writes(), [ceiling(0), ceiling(1)], "{driver}");
        let preference = |word: &str| (policy_file(0, "energy_performance_preference"), word.to_string());
        for (wish, word) in [(Wish::High, "performance"), (Wish::Low, "power")] {
            speeds.apply(0, wish).unwrap();
            assert_eq!(fake.writes(), [preference(word)], "{driver}");
        }
        assert_eq!(fake.limits(0), ("800000".into(), "2400000".into()));
        let line = speeds.describe().remove(0);
        for part in ["CPUs 0-1", "between 800 and 2400 MHz", "high is base, 2400 MHz"] {
            assert!(line.contains(part), "no '{part}' in: {line}");
        }
        assert!(speeds.restore().is_empty());
        assert_eq!(fake.snapshot(), before, "{driver}");
        assert_eq!(fake.violations(), [""; 0]);
    }
}

#[test]
fn what_a_killed_run_left_of_ceilings_is_put_back() {
    for (driver, file, text) in DRIVERS {
        let fake = choosing(driver, file, text);
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.set_high_speed(HighSpeed::Base).unwrap();
        kill(speeds);
        assert_eq!(fake.policy(1, "scaling_max_freq"), "2400000");
        assert_eq!(fake.open().recovered().files.len(), 2);
        assert_eq!(fake.snapshot(), before, "{driver}");
    }
}

#[test]
fn the_highest_speed_is_what_it_is_without_a_word() {
    for (driver, file, text) in DRIVERS {
        let fake = choosing(driver, file, text);
        let mut speeds = fake.open();
        speeds.set_high_speed(HighSpeed::Max).unwrap();
        speeds.apply(0, Wish::High).unwrap();
        assert_eq!(fake.writes().len(), 1, "the preference");
    }
}

/// A limit below the base frequency stays.
#[test]
fn a_limit_that_stands_is_kept_to() {
    for (driver, file, text) in DRIVERS {
        let fake = choosing(driver, file, text);
        for number in [0, 1] {
            fake.put(&policy_file(number, "scaling_max_freq"), "2000000");
        }
        let mut speeds = fake.open();
        speeds.set_high_speed(HighSpeed::Base).unwrap();
        assert_eq!(fake.writes(), []);
        // Nor is the limit written again when somebody lowers it meanwhile.
        fake.put(&policy_file(0, "scaling_max_freq"), "1500000");
        speeds.apply(0, Wish::High).unwrap();
        assert_eq!(fake.policy(0, "scaling_max_freq"), "1500000");
    }
}

/// acpi-cpufreq: a step of its table at most as high as the base frequency. Where boost is off, the highest is the base.
#[test]
fn governors_get_a_step_of_the_table() {
    for (file, text, khz) in [
        ("cpu0/acpi_cppc/nominal_freq", "1900", "1800000"),
        ("cpufreq/policy0/base_frequency", "1400000", "1400000"),
        ("cpufreq/boost", "0", "2100000"),
        ("cpufreq/policy0/boost", "0", "2100000"),
    ] {
        for governor in ["ondemand", "userspace"] {
            let fake = Fake::new(&[acpi(0, "0", governor)], "0");
            fake.put(&format!("{CPU}/{file}"), text);
            let before = fake.snapshot();
            let mut speeds = fake.open();
            speeds.set_high_speed(HighSpeed::Base).unwrap();
            assert_eq!(fake.writes(), [], "before any CPU is high");
            for (wish, khz) in [(Wish::High, khz), (Wish::Low, "1050000")] {
                speeds.apply(0, wish).unwrap();
                match governor {
                    "userspace" => assert_eq!(fake.policy(0, "scaling_setspeed"), khz, "{file}"),
                    _ => assert_eq!(fake.limits(0), (khz.into(), khz.into()), "{file}"),
                }
            }
            assert!(speeds.restore().is_empty());
            assert_eq!(fake.snapshot(), before);
        }
    }
}

/// The step that schedutil takes for a target: the lowest of the table that is no lower than 1.25 times its share of the highest.
fn step_of_schedutil(target: u32) -> u32 {
    let wanted = u64::from(target + target / 4) * 2_100_000 / 1024;
    let table = [1_050_000, 1_400_000, 1_800_000, 2_100_000];
    table.into_iter().find(|khz| u64::from(*khz) >= wanted).unwrap()
}

#[test]
fn schedutil_is_asked_for_as_much_as_it_needs() {
    for (mhz, khz) in [("1800", 1_800_000), ("1900", 1_800_000), ("1400", 1_400_000)] {
        let fake = Fake::new(&[acpi(0, "0", "schedutil")], "0");
        fake.put(&format!("{CPU}/cpu0/acpi_cppc/nominal_freq"), mhz);
        let mut speeds = fake.open();
        assert_eq!(speeds.domains()[0].high_perf, 1024);
        speeds.set_high_speed(HighSpeed::Base).unwrap();
        assert_eq!(step_of_schedutil(speeds.domains()[0].high_perf), khz, "{mhz} MHz");
        speeds.apply(0, Wish::High).unwrap();
        assert_eq!(fake.writes(), []);
    }
    assert_eq!(perf(2_100_000, 2_100_000), 1024);
}

#[test]
fn a_base_frequency_that_nobody_tells_is_refused_with_the_way_out() {
    let fake = Fake::new(&[active(0, "0", "amd-pstate-epp", "powersave")], "0");
    let boost = "cpufreq/boost";
    says(
        &fake,
        HighSpeed::Base,
        &["CPU 0 (driver amd-pstate-epp", "acpi_cppc/nominal_freq", boost],
    );
    // Firmware that does not know the base frequency.
    fake.put(&format!("{CPU}/cpu0/acpi_cppc/nominal_freq"), "0");
    says(&fake, HighSpeed::Base, &["nothing tells the base frequency"]);
    let virtual_machine = Fake::new(&[], "0-3");
    says(
        &virtual_machine,
        HighSpeed::Base,
        &["speeds of CPUs 0-3 cannot be set: no frequency driver"],
    );
}

/// Low and high would be the same speed; under an active driver the limits would be equal, too.
#[test]
fn a_high_speed_has_to_be_above_the_low_one() {
    for (driver, file, text) in DRIVERS {
        let fake = choosing(driver, file, text);
        fake.put(&policy_file(1, "scaling_min_freq"), "2400000");
        says(
            &fake,
            HighSpeed::Base,
            &["2400 MHz for CPU 1", "low is 2400 MHz already"],
        );
    }
}

#[test]
fn schedutil_counts_from_the_present_speed_where_the_clock_is_not_counted() {
    let fake = Fake::new(&[acpi(0, "0", "schedutil")], "0");
    fake.put(&format!("{CPU}/cpu0/acpi_cppc/nominal_freq"), "1800");
    fake.put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc");
    let governor = format!("echo ondemand > /{}", policy_file(0, "scaling_governor"));
    says(&fake, HighSpeed::Base, &["CPU 0", "no aperfmperf", &governor]);
}

/// A machine file with kinds of these points: MHz and watts of a busy core.
fn model(kinds: &[&[(u32, f64)]]) -> String {
    let mut text = String::from(
        "name = \"own\"\ndescription = \"as measured\"\nnotes = []\nsockets = 1\nclock_domain = \"core\"\nvoltage_domain = \"kind\"\n\
         memory_domain = \"machine\"\nbase_w = 5.0\n[cpufreq]\ntransition_us = 20\nschedutil_rate_limit_us = 1000\n[cost]\ncontext_switch_us = 1\nmigration_us = 3\nmemory_domain_us = 6\n"
    );
    for (kind, points) in kinds.iter().enumerate() {
        let speed = 2 - kind;
        text += &format!("[[kind]]\nname = \"kind-{kind}\"\ncores = 1\nspeed = {speed}.0\nopp = [\n");
        for (mhz, watts) in *points {
            text += &format!("{{ mhz = {mhz}, mv = 900, idle_w = 0.5, busy_w = {watts}, domain_w = 0.0 }},\n");
        }
        text += "]\nidle = [{ name = \"C1\", exit_us = 1, residency_us = 0 }]\n";
    }
    text
}

/// Above 0.5 W of an idle core: 1.6 / 0.8, 2.4 / 1.6, 4.8 / 2.4 and 23 / 4.6 J for 10^9 cycles.
const FAST: &[(u32, f64)] = &[(800, 2.1), (1600, 2.9), (2400, 5.3), (4600, 23.5)];
/// 0.8 / 0.8, 1.2 / 1.2, 3 / 2.4: of equals the faster.
const SLOW: &[(u32, f64)] = &[(800, 1.3), (1200, 1.7), (2400, 3.5)];

/// A fast CPU and a slow one.
fn two_kinds(driver: &'static str) -> Fake {
    two_kinds_under(driver, "powersave")
}

fn two_kinds_under(driver: &'static str, governor: &'static str) -> Fake {
    let slow = Policy {
        limits_khz: (800_000, 2_400_000),
        ..active(1, "1", driver, governor)
    };
    let fake = Fake::new(&[active(0, "0", driver, governor), slow], "0-1");
    fake.put(&format!("{CPU}/present"), "0-1");
    fake
}

#[test]
fn each_kind_runs_where_its_work_costs_least() {
    for (driver, ..) in DRIVERS {
        let fake = two_kinds(driver);
        fake.put(OWN_MODEL, &model(&[FAST, SLOW]));
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.set_high_speed(HighSpeed::Efficient).unwrap();
        assert_eq!(fake.limits(0), ("800000".into(), "1600000".into()), "{driver}");
        assert_eq!(fake.limits(1), ("800000".into(), "1200000".into()), "{driver}");
        assert!(speeds.describe()[0].contains("high is efficient, 1600 MHz"));
        drop(speeds);
        assert_eq!(fake.snapshot(), before);
    }
}

/// 5 W of the machine and 0.5 of each core asleep come to what is above that: 7.6 / 0.8, 8.4 / 1.6, 10.8 / 2.4 and 29 / 4.6; 6.8 / 0.8, 7.2 / 1.2 and 9 / 2.4.
#[test]
fn for_energy_the_rest_of_the_machine_counts_too() {
    let fake = two_kinds("intel_pstate");
    fake.put(OWN_MODEL, &model(&[FAST, SLOW]));
    let mut speeds = fake.open();
    speeds.set_high_speed(HighSpeed::ForGoal(Goal::Energy)).unwrap();
    assert_eq!(fake.limits(0).1, "2400000");
    assert_eq!(fake.limits(1).1, "2400000");
    assert!(speeds.describe()[0].contains("high is for goal energy, 2400 MHz"));
    drop(speeds);
    // Without that file by watts that are estimated, at points that lie evenly between 800 and 4600 MHz: the fifth of eight.
    let fake = two_kinds("intel_pstate");
    let mut speeds = fake.open();
    speeds.set_high_speed(HighSpeed::ForGoal(Goal::Energy)).unwrap();
    assert_eq!(fake.limits(0), ("800000".into(), "2971428".into()));
}

/// A quarter of the 29 W that the machine draws with one core busy at the top, 7.25 W, comes to what is above an idle core: 8.85 / 0.8, 9.65 / 1.6, 12.05 / 2.4 and
/// 30.25 / 4.6 J; the slow core takes least at its top, too. Nothing is written before a CPU is high; a home of paced work has a share of 4600 or 2400 MHz at most.
#[test]
fn balanced_leaves_the_choice_to_the_processor_from_a_speed_on() {
    for (driver, ..) in DRIVERS {
        let fake = two_kinds(driver);
        fake.put(OWN_MODEL, &model(&[FAST, SLOW]));
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.set_high_speed(HighSpeed::ForGoal(Goal::Balanced)).unwrap();
        assert_eq!(fake.writes(), [], "{driver}");
        let line = speeds.describe().remove(0);
        assert!(
            line.contains("high is as the driver chooses, from 2400 MHz on"),
            "{line}"
        );
        let lowest = |khz: &str| (policy_file(0, "scaling_min_freq"), khz.to_string());
        let highest = |khz: &str| (policy_file(0, "scaling_max_freq"), khz.to_string());
        let preference = |word: &str| (policy_file(0, "energy_performance_preference"), word.to_string());
        for (wish, writes) in [
            (Wish::High, vec![lowest("2400000")]),
            (Wish::Low, vec![lowest("800000"), preference("power")]),
            (Wish::Share(500), vec![highest("2300000")]),
            (
                Wish::High,
                vec![highest("4600000"), lowest("2400000"), preference("balance_performance")],
            ),
        ] {
            speeds.apply(0, wish).unwrap();
            assert_eq!(fake.writes(), writes, "{driver}, {wish:?}");
        }
        assert!(speeds.restore().is_empty());
        assert_eq!(fake.snapshot(), before, "{driver}");
    }
}

/// CPU 0 is high and CPU 1 low while goals change: each time they have what a start with that goal gives them, and what was found is what is put back. The
/// speeds are those of the tests above; for energy both have a ceiling of 2400 MHz, for balanced a high CPU has a floor of 2400 MHz.
#[test]
fn another_high_speed_takes_the_place_of_the_former_one() {
    for (driver, ..) in DRIVERS {
        let fake = two_kinds(driver);
        fake.put(OWN_MODEL, &model(&[FAST, SLOW]));
        let before = fake.snapshot();
        let mut speeds = fake.open();
        let found = speeds.describe();
        let (floor, lowest, top, slow_top) = ("2400000", "800000", "4600000", fake.limits(1).1);
        for (goal, high, low, preference) in [
            (Goal::Energy, (lowest, floor), (lowest, floor), "performance"),
            (Goal::Balanced, (floor, top), (lowest, &slow_top), "balance_performance"),
            (Goal::Energy, (lowest, floor), (lowest, floor), "performance"),
            (Goal::Speed, (lowest, top), (lowest, &slow_top), "performance"),
            (Goal::Balanced, (floor, top), (lowest, &slow_top), "balance_performance"),
        ] {
            speeds.set_high_speed(HighSpeed::ForGoal(goal)).unwrap();
            speeds.apply(0, Wish::High).unwrap();
            speeds.apply(1, Wish::Low).unwrap();
            let has = |(min, max): (&str, &str)| (min.to_string(), max.to_string());
            assert_eq!(fake.limits(0), has(high), "{driver}, {goal:?}");
            assert_eq!(fake.limits(1), has(low), "{driver}, {goal:?}");
            assert_eq!(
                fake.policy(0, "energy_performance_preference"),
                preference,
                "{driver}, {goal:?}"
            );
            fake.writes();
            speeds.set_high_speed(HighSpeed::ForGoal(goal)).unwrap();
            assert_eq!(fake.writes(), [], "{driver}: {goal:?} once more");
        }
        speeds.set_high_speed(HighSpeed::ForGoal(Goal::Speed)).unwrap();
        assert_eq!(speeds.describe(), found);
        drop(speeds);
        assert_eq!((fake.snapshot(), fake.violations()), (before, vec![]), "{driver}");
    }
}

/// The next wish is not needed: a CPU that is high has its new speed at once, and one that is low keeps its own.
#[test]
fn high_cpus_change_their_speed_with_the_goal() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand"), acpi(1, "1", "ondemand")], "0-1");
    for number in [0, 1] {
        fake.put(&policy_file(number, "base_frequency"), "1400000");
    }
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    speeds.apply(1, Wish::Low).unwrap();
    fake.writes();
    let limit = |name: &str, khz: &str| (policy_file(0, name), khz.to_string());
    speeds.set_high_speed(HighSpeed::Base).unwrap();
    assert_eq!(
        fake.writes(),
        [
            limit("scaling_min_freq", "1400000"),
            limit("scaling_max_freq", "1400000")
        ]
    );
    speeds.set_high_speed(HighSpeed::Max).unwrap();
    assert_eq!(
        fake.writes(),
        [
            limit("scaling_max_freq", "2100000"),
            limit("scaling_min_freq", "2100000")
        ]
    );
}

/// CPU 1 refuses its new lower limit after its upper one was written: it is as before in files, notes and later wishes, and the others have the new speed.
#[test]
fn a_domain_that_cannot_change_its_speed_keeps_the_former_one_alone() {
    let policies = [0, 1, 2].map(|number| acpi(number, ["0", "1", "2"][number], "ondemand"));
    let fake = Fake::new(&policies, "0-2");
    for number in 0..3 {
        fake.put(&policy_file(number, "base_frequency"), "1400000");
    }
    let before = fake.snapshot();
    let mut speeds = fake.open();
    speeds.set_high_speed(HighSpeed::Base).unwrap();
    (0..3).for_each(|cpu| speeds.apply(cpu, Wish::High).unwrap());
    let lowest = policy_file(1, "scaling_min_freq");
    fake.refuse(&lowest, std::io::ErrorKind::PermissionDenied);
    let error = speeds.set_high_speed(HighSpeed::Max).unwrap_err();
    assert!(
        error.to_string().starts_with("CPU 1 keeps its former high speed: /"),
        "{error}"
    );
    assert!(error.to_string().contains(&lowest), "{error}");
    let both = |khz: &str| (khz.to_string(), khz.to_string());
    for (number, khz) in [(0, "2100000"), (1, "1400000"), (2, "2100000")] {
        assert_eq!(fake.limits(number), both(khz), "CPU {number}");
    }
    assert_eq!(
        speeds.domains().iter().map(|d| d.max_khz).collect::<Vec<_>>(),
        [Some(2_100_000), Some(1_400_000), Some(2_100_000)]
    );
    fake.allow_all();
    speeds.apply(1, Wish::Low).unwrap();
    speeds.apply(1, Wish::High).unwrap();
    assert_eq!(fake.limits(1), both("1400000"));
    speeds.set_high_speed(HighSpeed::Max).unwrap();
    assert_eq!(fake.limits(1), both("2100000"), "once its files can be written");
    drop(speeds);
    assert_eq!((fake.snapshot(), fake.violations()), (before, vec![]));
}

/// A power profile daemon has written another preference for a CPU that stays high.
#[test]
fn another_high_speed_is_written_over_what_another_program_wrote() {
    let fake = two_kinds("intel_pstate");
    fake.put(OWN_MODEL, &model(&[FAST, SLOW]));
    let mut speeds = fake.open();
    speeds.set_high_speed(HighSpeed::ForGoal(Goal::Energy)).unwrap();
    speeds.apply(0, Wish::High).unwrap();
    let preference = "energy_performance_preference";
    fake.put(&policy_file(0, preference), "power");
    speeds.set_high_speed(HighSpeed::ForGoal(Goal::Speed)).unwrap();
    assert_eq!(fake.policy(0, preference), "performance");
}

/// An upper limit that heat or another program has lowered is left as it is, before a home has one and after, and is what is found at the end.
#[test]
fn a_limit_that_another_sets_meanwhile_is_not_raised_for_a_home() {
    for first in [false, true] {
        let fake = two_kinds("intel_pstate");
        let mut speeds = fake.open();
        if first {
            speeds.apply(0, Wish::Share(500)).unwrap();
            speeds.apply(0, Wish::High).unwrap();
        }
        fake.put(&policy_file(0, "scaling_max_freq"), "1500000");
        for wish in [Wish::Share(500), Wish::High, Wish::Share(300), Wish::Low] {
            speeds.apply(0, wish).unwrap();
            assert_eq!(fake.limits(0).1, "1500000", "{wish:?}, {first}");
        }
        drop(speeds);
        assert_eq!(fake.limits(0).1, "1500000", "{first}");
    }
}

/// What keeps a core busy is at the highest speed under the kernel's governors, with or without the scheduler's requests; so it is for speed.
#[test]
fn balanced_and_speed_leave_the_highest_where_the_kernel_sets_speeds() {
    for (goal, driver, governor) in [
        (Goal::Balanced, "acpi-cpufreq", "ondemand"),
        (Goal::Balanced, "acpi-cpufreq", "schedutil"),
        (Goal::Speed, "acpi-cpufreq", "schedutil"),
        (Goal::Speed, "intel_pstate", "powersave"),
    ] {
        let fake = two_kinds_under(driver, governor);
        fake.put(OWN_MODEL, &model(&[FAST, SLOW]));
        let mut speeds = fake.open();
        let before = speeds.describe();
        speeds.set_high_speed(HighSpeed::ForGoal(goal)).unwrap();
        assert_eq!(
            (fake.writes(), speeds.describe()),
            (vec![], before),
            "{goal:?}, {driver}, {governor}"
        );
    }
}

#[test]
fn without_measured_points_nothing_is_efficient() {
    let anew = "'lop machine measure --force -o /";
    let with = |kinds: &[&[(u32, f64)]]| {
        let fake = two_kinds("intel_pstate");
        fake.put(OWN_MODEL, &model(kinds));
        fake
    };
    let nothing = two_kinds("intel_pstate");
    let own = "etc/lopsided; lop machine measure -o /";
    says(
        &nothing,
        HighSpeed::Efficient,
        &["'mkdir -p /", own, "etc/lopsided/machine.toml'"],
    );
    says(&with(&[FAST]), HighSpeed::Efficient, &["1 there, 2 here", anew]);
    let one_point = with(&[FAST, &SLOW[..1]]);
    says(
        &one_point,
        HighSpeed::Efficient,
        &["fewer than two operating points of CPU 1", "lop machine measure"],
    );
    let steep = with(&[FAST, &[(800, 1.0), (2400, 5.0)]]);
    says(
        &steep,
        HighSpeed::Efficient,
        &["800 MHz for CPU 1", "low is 800 MHz already"],
    );
    let damaged = two_kinds("intel_pstate");
    damaged.put(OWN_MODEL, "name = 1");
    says(&damaged, HighSpeed::Efficient, &["machine.toml:1"]);
}

#[test]
fn a_captured_machine_has_assumed_watts() {
    let fake = two_kinds("intel_pstate");
    let like = crate::load("phenom-9750", &[]).unwrap();
    let tree = crate::live::Folder::new(&fake.root);
    let text = crate::capture(&tree, "own", &like, None).unwrap();
    fake.put(OWN_MODEL, &text);
    says(
        &fake,
        HighSpeed::Efficient,
        &["no meter measured", "lop doctor", "'lop machine measure --force -o /"],
    );
}

/// What a voltage domain draws more at a faster point, 2 W here, counts as much as the core's own: 4.4 / 1.6, and 4.8 / 2.4 is less.
#[test]
fn a_voltage_domain_counts() {
    let efficient = |text: &str| {
        let kind = &crate::read("own", text).unwrap().kinds[0];
        kind.opps[crate::costs::cheapest_opp(kind, 0.0, 0)].khz
    };
    let text = model(&[FAST]);
    assert_eq!(efficient(&text), 1_600_000);
    let faster = text.replace("busy_w = 2.9, domain_w = 0.0", "busy_w = 2.9, domain_w = 2.0");
    assert_eq!(efficient(&faster), 2_400_000);
    let everywhere = text.replace("domain_w = 0.0", "domain_w = 2.0");
    assert_eq!(efficient(&everywhere), 1_600_000);
}
