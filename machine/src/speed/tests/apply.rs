// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fake::{acpi, active, policy_file, Fake, CPU};
use crate::speed::{Mechanism, SpeedError, Wish};
use std::io::ErrorKind;

fn limits(min: &str, max: &str) -> (String, String) {
    (min.into(), max.into())
}

#[test]
fn opening_changes_nothing() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let before = fake.snapshot();
    drop(fake.open());
    assert_eq!(fake.snapshot(), before);
    assert!(!fake.journal_path().exists());
}

#[test]
fn limits_close_in_on_the_wish_and_come_back() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    for (wish, expected) in [
        (Wish::High, limits("2100000", "2100000")),
        (Wish::Low, limits("1050000", "1050000")),
        (Wish::High, limits("2100000", "2100000")),
        (Wish::Released, limits("1050000", "2100000")),
    ] {
        speeds.apply(0, wish).unwrap();
        assert_eq!(fake.limits(0), expected, "{wish:?}");
    }
    speeds.apply(0, Wish::Low).unwrap();
    drop(speeds);
    assert_eq!(fake.snapshot(), before);
    assert_eq!(fake.violations(), [""; 0]);
    assert!(!fake.journal_path().exists());
}

/// 700 of 1000 of 2100 MHz; 100 of 1000 would be below the lower limit. A CPU of the same clock that is high holds it up.
#[test]
fn a_share_lies_between_low_and_high() {
    let fake = Fake::new(&[acpi(0, "0 1", "ondemand")], "0-1");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    speeds.apply(1, Wish::Low).unwrap();
    for (wish, khz) in [
        (Wish::Share(700), "1470000"),
        (Wish::Share(100), "1050000"),
        (Wish::Share(1000), "2100000"),
        (Wish::Share(701), "1472100"),
    ] {
        speeds.apply(0, wish).unwrap();
        assert_eq!(fake.limits(0), limits(khz, khz), "{wish:?}");
    }
    speeds.apply(1, Wish::High).unwrap();
    assert_eq!(fake.limits(0), limits("2100000", "2100000"));
    drop(speeds);
    assert_eq!(fake.snapshot(), before);
    assert_eq!(fake.violations(), [""; 0]);
}

/// As needed to measure each operating point: both limits are set to one frequency after the other, and then restored.
#[test]
fn high_may_be_any_frequency_within_the_limits_that_stand() {
    let fake = Fake::new(&[acpi(0, "0-1", "ondemand")], "0-1");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    assert_eq!(speeds.range_khz(1), Ok((1_050_000, 2_100_000)));
    for khz in [1_400_000, 2_100_000, 1_050_000, 1_400_000] {
        speeds.set_high(1, khz);
        for cpu in [0, 1] {
            speeds.apply(cpu, Wish::High).unwrap();
        }
        assert_eq!(fake.limits(0), limits(&khz.to_string(), &khz.to_string()));
    }
    assert!(speeds.range_khz(2).unwrap_err().contains("CPU 2 was not online"));
    drop(speeds);
    assert_eq!(fake.snapshot(), before);
    assert_eq!(fake.violations(), [""; 0]);
}

#[test]
fn only_what_differs_is_written() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let mut speeds = fake.open();
    let (min, max) = (policy_file(0, "scaling_min_freq"), policy_file(0, "scaling_max_freq"));
    speeds.apply(0, Wish::High).unwrap();
    assert_eq!(fake.writes(), [(min.clone(), "2100000".to_string())]);
    speeds.apply(0, Wish::High).unwrap();
    assert_eq!(fake.writes(), []);
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(
        fake.writes(),
        [(min, "1050000".to_string()), (max, "1050000".to_string())]
    );
}

/// All wishes of two CPUs that share a clock, and the resulting limits.
#[test]
fn in_a_clock_domain_the_highest_wish_holds() {
    use Wish::{High, Low, Released};
    let (top, bottom, found) = (
        limits("2100000", "2100000"),
        limits("1050000", "1050000"),
        limits("1050000", "2100000"),
    );
    let table = [
        (High, High, &top),
        (High, Low, &top),
        (Low, High, &top),
        (Released, High, &top),
        (Low, Low, &bottom),
        (Low, Released, &bottom),
        (Released, Released, &found),
    ];
    let fake = Fake::new(&[acpi(0, "0 1", "ondemand")], "0-1");
    let mut speeds = fake.open();
    for (first, second, expected) in table {
        speeds.apply(0, first).unwrap();
        speeds.apply(1, second).unwrap();
        assert_eq!(fake.limits(0), *expected, "{first:?} {second:?}");
    }
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let error = fake.open().apply(7, Wish::High).unwrap_err();
    assert!(matches!(error, SpeedError::UnknownCpu { cpu: 7 }), "{error}");
}

#[test]
fn under_schedutil_nothing_is_written() {
    let fake = Fake::new(&[acpi(0, "0", "schedutil")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.writes(), []);
}

#[test]
fn a_number_as_preference_comes_back_as_a_number() {
    let fake = Fake::new(&[active(0, "0", "intel_pstate", "powersave")], "0");
    fake.put(&policy_file(0, "energy_performance_preference"), "128");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    assert_eq!(fake.policy(0, "energy_performance_preference"), "performance");
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.policy(0, "energy_performance_preference"), "power");
    assert!(speeds.restore().is_empty());
    assert_eq!(fake.snapshot(), before);
}

/// Somebody chooses governor performance while we run: from then on the preference is refused as busy, which is reported once.
#[test]
fn a_preference_that_is_refused_is_given_up() {
    let fake = Fake::new(&[active(0, "0", "intel_pstate", "powersave")], "0");
    let mut speeds = fake.open();
    fake.put(&policy_file(0, "scaling_governor"), "performance");
    let error = speeds.apply(0, Wish::Low).unwrap_err().to_string();
    assert!(
        error.contains("energy_performance_preference: cannot write it"),
        "{error}"
    );
    assert!(matches!(speeds.domains()[0].mechanism, Mechanism::Nothing { .. }));
    let line = speeds.describe().remove(0);
    assert!(line.contains("governor performance holds"), "{line}");
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.writes(), []);
}

#[test]
fn a_rounded_value_is_known_as_ours() {
    let fake = Fake::new(&[acpi(0, "0", "userspace")], "0");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    // A table that changed after it was read, for example by enabling boost: the kernel rounds to its present steps.
    fake.put(&policy_file(0, "scaling_available_frequencies"), "2100000 1200000");
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.policy(0, "scaling_setspeed"), "1200000");
    // The original, 1.4 GHz, is missing from the new table, so the old table is put back.
    fake.put(
        &policy_file(0, "scaling_available_frequencies"),
        "2100000 1800000 1400000 1050000",
    );
    assert!(speeds.restore().is_empty());
    assert_eq!(fake.snapshot(), before);
}

/// Each write of a call fails in turn: the call's changes are undone, the error names the file, and the former wish stays.
#[test]
fn a_failed_write_leaves_nothing_half_done() {
    for failing in ["scaling_min_freq", "scaling_max_freq"] {
        let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.apply(0, Wish::High).unwrap();
        let while_high = fake.snapshot();
        fake.refuse(&policy_file(0, failing), ErrorKind::InvalidInput);
        let error = speeds.apply(0, Wish::Low).unwrap_err().to_string();
        assert!(error.contains(failing) && error.contains("cannot write it"), "{error}");
        assert_eq!(fake.snapshot(), while_high, "{failing}");
        fake.allow_all();
        speeds.apply(0, Wish::Low).unwrap();
        assert_eq!(fake.limits(0), limits("1050000", "1050000"), "{failing}");
        drop(speeds);
        assert_eq!(fake.snapshot(), before, "{failing}");
        assert_eq!(fake.violations(), [""; 0]);
    }
}

#[test]
fn nothing_is_changed_when_the_journal_cannot_be_written() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    std::fs::create_dir_all(fake.journal_path().join("in/the/way")).unwrap();
    let error = speeds.apply(0, Wish::High).unwrap_err();
    assert!(matches!(error, SpeedError::Journal { .. }), "{error}");
    assert!(error.to_string().contains("speeds.journal: cannot write it"), "{error}");
    assert_eq!(fake.snapshot(), before);
    assert_eq!(fake.writes(), []);
}

#[test]
fn a_policy_that_vanished_is_named() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand"), acpi(1, "1", "ondemand")], "0-1");
    let mut speeds = fake.open();
    std::fs::remove_dir_all(fake.root.join(format!("{CPU}/cpufreq/policy1"))).unwrap();
    let error = speeds.apply(1, Wish::High).unwrap_err().to_string();
    assert!(error.contains("policy1/") && error.contains("offline"), "{error}");
    speeds.apply(0, Wish::High).unwrap();
}

/// State 1 takes 200 us to wake up. Original values, and what is written for a low CPU.
#[test]
fn low_cpus_may_sleep_deeply() {
    let limit = format!("{CPU}/cpu0/power/pm_qos_resume_latency_us");
    let disable = format!("{CPU}/cpu0/cpuidle/state1/disable");
    let table: [(&str, &str, Vec<&String>); 7] = [
        ("0", "0", vec![]),
        ("0", "200", vec![]),
        ("0", "500", vec![]),
        ("0", "199", vec![&limit]),
        ("0", "n/a", vec![&limit]),
        ("1", "0", vec![&disable]),
        ("1", "n/a", vec![&disable, &limit]),
    ];
    for (disabled, limit_us, expected) in table {
        let fake = Fake::new(&[], "0");
        fake.put_idle(0, disabled, limit_us);
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.apply(0, Wish::Low).unwrap();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|path| (path.clone(), "0".to_string()))
            .collect();
        assert_eq!(fake.writes(), expected, "{disabled} {limit_us}");
        let said = speeds.describe().iter().any(|line| line.contains("deepest idle state"));
        assert_eq!(said, !expected.is_empty());
        speeds.apply(0, Wish::High).unwrap();
        assert_eq!(fake.snapshot(), before, "while high: {disabled} {limit_us}");
        speeds.apply(0, Wish::Low).unwrap();
        drop(speeds);
        assert_eq!(fake.snapshot(), before);
    }
}

#[test]
fn a_state_that_its_driver_turned_off_stays_off() {
    let fake = Fake::new(&[], "0");
    fake.put_idle(0, "1", "0");
    fake.put(&format!("{CPU}/cpu0/cpuidle/state1/default_status"), "disabled");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.writes(), []);
}

#[test]
fn a_choice_of_somebody_else_meanwhile_is_what_is_gone_back_to() {
    let fake = Fake::new(&[active(0, "0", "intel_pstate", "powersave")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    fake.put(&policy_file(0, "energy_performance_preference"), "balance_power");
    speeds.apply(0, Wish::Low).unwrap();
    assert_eq!(fake.policy(0, "energy_performance_preference"), "power");
    assert!(speeds.restore().is_empty());
    assert_eq!(fake.policy(0, "energy_performance_preference"), "balance_power");
}
