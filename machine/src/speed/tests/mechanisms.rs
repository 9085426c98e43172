// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fake::{acpi, active, policy_file, Fake, Policy, CPU};
use crate::speed::files::{format_cpus, parse_cpus};
use crate::speed::{Mechanism, Speeds, Wish};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn mechanisms(fake: &Fake) -> Vec<(String, Mechanism)> {
    let speeds = fake.open();
    let domains = speeds.domains().iter();
    domains.map(|d| (format_cpus(&d.cpus), d.mechanism.clone())).collect()
}

/// The drivers and governors of real machines, and the mechanism for each.
#[test]
fn each_driver_and_governor_has_its_mechanism() {
    let passive = |governor| Policy {
        driver: "intel_cpufreq",
        ..active(0, "0", "", governor)
    };
    let table = [
        (acpi(0, "0", "ondemand"), Mechanism::Limits),
        (acpi(0, "0", "conservative"), Mechanism::Limits),
        (acpi(0, "0", "performance"), Mechanism::Limits),
        (acpi(0, "0", "powersave"), Mechanism::Limits),
        (acpi(0, "0", "userspace"), Mechanism::Setspeed),
        (acpi(0, "0", "schedutil"), Mechanism::Scheduler),
        (active(0, "0", "intel_pstate", "powersave"), Mechanism::Preference),
        (active(0, "0", "amd-pstate-epp", "powersave"), Mechanism::Preference),
        // Guided and passive modes: a governor decides, even if a preference is shown too.
        (active(0, "0", "amd-pstate", "ondemand"), Mechanism::Limits),
        (passive("schedutil"), Mechanism::Scheduler),
        (passive("ondemand"), Mechanism::Limits),
    ];
    for (policy, expected) in table {
        let case = format!("{} under {}", policy.driver, policy.governor);
        let fake = Fake::new(&[policy], "0");
        assert_eq!(mechanisms(&fake), [("0".to_string(), expected)], "{case}");
    }
}

/// Nothing is set for an active driver without a preference: limits would take its choice away.
#[test]
fn an_active_driver_is_told_a_preference_or_nothing_and_why() {
    let old = Policy {
        preference: None,
        ..active(0, "0", "intel_pstate", "powersave")
    };
    let without_words = Policy {
        preference: Some(("balance_performance", "default")),
        ..active(0, "0", "intel_pstate", "powersave")
    };
    let held = active(0, "0", "amd-pstate-epp", "performance");
    for (policy, reason) in [
        (old, "intel_pstate=passive"),
        (without_words, "offers neither"),
        (
            held,
            "echo powersave > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        ),
    ] {
        let fake = Fake::new(&[policy], "0");
        let mut speeds = fake.open();
        for wish in [Wish::Low, Wish::High] {
            speeds.apply(0, wish).unwrap();
        }
        assert_eq!(fake.writes(), []);
        let line = speeds.describe().remove(0);
        assert!(line.contains("speeds cannot be set") && line.contains(reason), "{line}");
    }
}

/// High and low CPUs of both drivers: one write each, and both limits as they were; a home of paced work gets an upper limit.
#[test]
fn a_preference_leaves_the_limits_of_high_and_low_cpus_as_they_are() {
    for driver in ["intel_pstate", "amd-pstate-epp"] {
        let fake = Fake::new(&[active(0, "0", driver, "powersave")], "0");
        let before = fake.snapshot();
        let mut speeds = fake.open();
        assert!(
            speeds.describe()[0].contains("the driver chooses between 800 and 4600 MHz"),
            "{:?}",
            speeds.describe()
        );
        let preference = |word: &str| (policy_file(0, "energy_performance_preference"), word.to_string());
        for (wish, word) in [(Wish::Low, "power"), (Wish::High, "performance")] {
            speeds.apply(0, wish).unwrap();
            assert_eq!(fake.writes(), [preference(word)], "{driver}");
        }
        speeds.apply(0, Wish::Share(700)).unwrap();
        let limit = (policy_file(0, "scaling_max_freq"), "3220000".to_string());
        assert_eq!(fake.writes(), [limit, preference("power")], "{driver}");
        assert!(speeds.restore().is_empty());
        assert_eq!(fake.snapshot(), before, "{driver}");
    }
}

/// cpufreq-dt on a phone: a clock for each cluster, CPU numbers with a gap, one CPU offline.
#[test]
fn clusters_are_domains_without_their_offline_cpus() {
    let cluster = |number, cpus, limits_khz| Policy {
        number,
        cpus,
        driver: "cpufreq-dt",
        governor: "ondemand",
        limits_khz,
        table: "",
        preference: None,
    };
    let little = cluster(0, "0 1 2 3", (300_000, 1_800_000));
    let big = cluster(6, "6 7", (700_000, 2_800_000));
    let fake = Fake::new(&[little, big], "0-3,6-7");
    fake.put(&policy_file(0, "affected_cpus"), "0 1 3");
    let speeds = fake.open();
    let domains: Vec<_> = speeds
        .domains()
        .iter()
        .map(|d| (d.cpus.clone(), d.min_khz, d.max_khz))
        .collect();
    // CPU 2 is online but in no policy, so nothing sets its speed.
    assert_eq!(
        domains,
        [
            (vec![0, 1, 3], Some(300_000), Some(1_800_000)),
            (vec![2], None, None),
            (vec![6, 7], Some(700_000), Some(2_800_000)),
        ]
    );
}

#[test]
fn a_policy_without_online_cpus_is_left_out() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand"), acpi(1, "1", "ondemand")], "0");
    assert_eq!(mechanisms(&fake), [("0".to_string(), Mechanism::Limits)]);
}

#[test]
fn a_virtual_machine_is_told_why_and_what_to_do() {
    let fake = Fake::new(&[], "0-3");
    let mut speeds = fake.open();
    let lines = speeds.describe();
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in [
        "CPUs 0-3",
        "no frequency driver",
        "CONFIG_CPU_FREQ=y",
        "virtual machine",
    ] {
        assert!(lines[0].contains(part), "{part:?} in {}", lines[0]);
    }
    speeds.apply(2, Wish::High).unwrap();
    assert_eq!(fake.writes(), []);
}

#[test]
fn one_line_for_each_distinct_mechanism() {
    let policies = [
        acpi(0, "0", "ondemand"),
        acpi(1, "1", "ondemand"),
        acpi(2, "2", "schedutil"),
        acpi(3, "3", "ondemand"),
    ];
    let fake = Fake::new(&policies, "0-3");
    assert_eq!(
        fake.open().describe(),
        [
            "CPUs 0-1,3: speeds set by scaling_min_freq and scaling_max_freq, low 1050 MHz, high 2100 MHz \
             (driver acpi-cpufreq, governor ondemand)",
            "CPU 2: the scheduler asks for speeds itself; nothing is written (driver acpi-cpufreq, governor schedutil)",
        ]
    );
}

#[test]
fn what_limits_high_speed_is_said() {
    let fake = Fake::new(&[active(0, "0", "intel_pstate", "performance")], "0");
    fake.put(&format!("{CPU}/intel_pstate/no_turbo"), "1");
    let line = fake.open().describe().remove(0);
    assert!(line.contains("turbo is off"), "{line}");
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    fake.put(&format!("{CPU}/cpufreq/boost"), "0");
    let line = fake.open().describe().remove(0);
    assert!(line.contains("boost is off"), "{line}");
}

#[test]
fn limits_without_room_are_told_with_the_command() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    fake.put(&policy_file(0, "scaling_min_freq"), "2100000");
    let line = fake.open().describe().remove(0);
    let command = format!("echo 1050000 > /{}", policy_file(0, "scaling_min_freq"));
    assert!(line.contains("both limits are 2100000 kHz"), "{line}");
    assert!(line.contains(&command), "{line}");
}

/// Sysfs refuses to write a read-only attribute, even to root.
#[test]
fn a_read_only_file_is_named_with_the_reason() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let path = policy_file(0, "scaling_max_freq");
    fs::set_permissions(fake.root.join(&path), fs::Permissions::from_mode(0o444)).unwrap();
    let line = fake.open().describe().remove(0);
    for part in ["speeds cannot be set", path.as_str(), "run it as root"] {
        assert!(line.contains(part), "{part:?} in {line}");
    }
}

/// A folder in place of a file cannot be opened for writing, even by root.
#[test]
fn a_file_that_cannot_be_opened_is_named_with_the_reason() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let path = policy_file(0, "scaling_max_freq");
    fs::remove_file(fake.root.join(&path)).unwrap();
    fs::create_dir(fake.root.join(&path)).unwrap();
    let line = fake.open().describe().remove(0);
    assert!(
        line.contains("speeds cannot be set") && line.contains("policy0"),
        "{line}"
    );
}

#[test]
fn setspeed_uses_frequencies_of_the_table_within_the_limits() {
    let fake = Fake::new(&[acpi(0, "0", "userspace")], "0");
    fake.put(&policy_file(0, "scaling_max_freq"), "2000000");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    assert_eq!(fake.policy(0, "scaling_setspeed"), "1800000");
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.policy(0, "scaling_setspeed"), "1050000");
}

#[test]
fn balanced_words_where_the_outer_ones_are_missing() {
    let words = "default balance_performance balance_power";
    let policy = Policy {
        preference: Some(("default", words)),
        ..active(0, "0", "intel_pstate", "powersave")
    };
    let fake = Fake::new(&[policy], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    assert_eq!(fake.policy(0, "energy_performance_preference"), "balance_performance");
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.policy(0, "energy_performance_preference"), "balance_power");
}

/// Without APERF and MPERF, schedutil starts from the present speed: 1050, 1312, 1640, 2050, 2100 MHz are four requests.
#[test]
fn schedutil_goes_step_by_step_where_the_clock_is_not_counted() {
    for (cpuinfo, requests) in [
        ("processor\t: 0\nflags\t\t: fpu aperfmperf tsc\n", 1),
        ("processor\t: 0\nflags\t\t: fpu tsc\n", 4),
        ("processor\t: 0\nFeatures\t: fp asimd\n", 1),
    ] {
        let fake = Fake::new(&[acpi(0, "0", "schedutil")], "0");
        fake.put("proc/cpuinfo", cpuinfo);
        let speeds = fake.open();
        assert_eq!(speeds.requests_to_top(), requests, "{cpuinfo}");
        let said = speeds.describe().remove(0);
        assert_eq!(said.contains("aperfmperf"), requests > 1, "{said}");
    }
}

#[test]
fn the_longest_rate_limit_counts() {
    let fake = Fake::new(&[acpi(0, "0", "schedutil"), acpi(1, "1", "schedutil")], "0-1");
    assert_eq!(fake.open().rate_limit_ns(), 0);
    fake.put(&policy_file(0, "schedutil/rate_limit_us"), "500");
    fake.put(&policy_file(1, "schedutil/rate_limit_us"), "2000");
    assert_eq!(fake.open().rate_limit_ns(), 2_000_000);
}

#[test]
fn lists_of_cpus() {
    let table = [
        ("0-3,8\n", Some(vec![0, 1, 2, 3, 8])),
        ("0 1 2\n", Some(vec![0, 1, 2])),
        ("5", Some(vec![5])),
        ("\n", Some(vec![])),
        ("3-1", None),
        ("0-99999999", None),
        ("a", None),
    ];
    for (text, expected) in table {
        assert_eq!(parse_cpus(text), expected, "{text:?}");
    }
    assert_eq!(format_cpus(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
}

#[test]
fn the_real_tree_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let speeds = Speeds::open(&fake.root, &folder.path().join("run/speeds.journal")).unwrap();
    assert_eq!(speeds.domains()[0].mechanism, Mechanism::Limits);
}
