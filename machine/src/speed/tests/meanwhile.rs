// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes while speeds are set: governors, and CPUs that go offline and come back.

use super::fake::{acpi, active, policy_file, Fake, CPU};
use crate::speed::{left_in_journal, Mechanism, SpeedError, Wish};

const REASON: &str = "other work runs there";

#[test]
fn another_governor_is_told_where_it_is_asked_for() {
    let policies = [
        acpi(0, "0", "userspace"),
        acpi(1, "1", "userspace"),
        acpi(2, "2", "schedutil"),
        acpi(3, "3", "ondemand"),
    ];
    let fake = Fake::new(&policies, "0-3");
    let speeds = fake.open();
    let before = speeds.describe();
    for number in 0..4 {
        fake.put(&policy_file(number, "scaling_governor"), "performance");
    }
    assert_eq!(
        speeds.describe(),
        [
            "CPUs 0-1: governor performance is in charge now, userspace was at the start: their speeds are not followed; \
             'lop stop' and a new start follow it",
            "CPU 2: governor performance is in charge now, schedutil was at the start: their speeds are not followed; \
             'lop stop' and a new start follow it",
            "CPU 3: governor performance is in charge now, ondemand was at the start: both scaling limits are still set \
             there; 'lop stop' and a new start follow it",
        ]
    );
    for (number, governor) in ["userspace", "userspace", "schedutil", "ondemand"]
        .into_iter()
        .enumerate()
    {
        fake.put(&policy_file(number, "scaling_governor"), governor);
    }
    assert_eq!(speeds.describe(), before);
}

#[test]
fn a_write_that_fails_for_another_governor_says_so() {
    let fake = Fake::new(&[acpi(0, "0", "userspace"), acpi(1, "1", "userspace")], "0-1");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    for number in 0..2 {
        fake.put(&policy_file(number, "scaling_governor"), "ondemand");
        fake.put(&policy_file(number, "scaling_setspeed"), "<unsupported>");
    }
    for (cpu, wish) in [(0, Wish::Low), (1, Wish::High)] {
        let error = speeds.apply(cpu, wish).unwrap_err();
        assert!(
            matches!(&error, SpeedError::Governor { cpus, .. } if *cpus == [0, 1]),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("CPUs 0-1: governor ondemand is in charge now, userspace was"),
            "{error}"
        );
    }
}

/// A governor that comes back is no change. A domain that gave up its preference is one, whatever governor comes then.
#[test]
fn a_governor_that_changed_is_seen_until_speeds_are_opened_again() {
    let policies = [acpi(0, "0", "schedutil"), active(1, "1", "intel_pstate", "powersave")];
    let fake = Fake::new(&policies, "0-1");
    let mut speeds = fake.open();
    let governor = |number, name| fake.put(&policy_file(number, "scaling_governor"), name);
    for (name, has_changed) in [("schedutil", false), ("performance", true), ("schedutil", false)] {
        governor(0, name);
        assert_eq!(speeds.has_changed_governor(), has_changed, "{name}");
    }
    governor(1, "performance");
    assert!(speeds.has_changed_governor());
    assert!(speeds.apply(1, Wish::High).is_err());
    for name in ["performance", "powersave"] {
        governor(1, name);
        assert!(speeds.has_changed_governor(), "{name}");
    }
    drop(speeds);
    let mut speeds = fake.open();
    assert!(!speeds.has_changed_governor());
    speeds.apply(1, Wish::High).unwrap();
}

/// Limits work under every governor, so a refused limit is not blamed on the governor.
#[test]
fn a_limit_that_is_refused_keeps_its_reason() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let mut speeds = fake.open();
    fake.put(&policy_file(0, "scaling_governor"), "conservative");
    fake.refuse(
        &policy_file(0, "scaling_min_freq"),
        std::io::ErrorKind::PermissionDenied,
    );
    let error = speeds.apply(0, Wish::High).unwrap_err().to_string();
    assert!(error.contains("scaling_min_freq: cannot write it"), "{error}");
}

#[test]
fn a_cpu_that_goes_offline_is_released_without_a_word() {
    for policy in [
        acpi(1, "1", "userspace"),
        acpi(1, "1", "ondemand"),
        active(1, "1", "intel_pstate", "powersave"),
    ] {
        let governor = policy.governor;
        let fake = Fake::new(&[acpi(0, "0", "ondemand"), policy], "0-1");
        fake.put_idle(1, "1", "20");
        let before = fake.snapshot();
        let mut speeds = fake.open();
        for wish in [Wish::High, Wish::Low] {
            speeds.apply(1, wish).unwrap();
            fake.sleep(1, "0");
            for late in [Wish::Low, Wish::High, Wish::Released] {
                speeds
                    .apply(1, late)
                    .unwrap_or_else(|error| panic!("{governor} {late:?}: {error}"));
            }
            fake.wake("0-1");
            speeds.apply(1, Wish::Low).unwrap();
        }
        assert!(speeds.restore().is_empty());
        assert_eq!(fake.snapshot(), before, "{governor}");
    }
}

/// The kernel suspends the policy a moment before its list of CPUs shows it.
#[test]
fn a_cpu_on_its_way_offline_is_released_without_a_word() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand"), acpi(1, "1", "ondemand")], "0-1");
    let mut speeds = fake.open();
    speeds.apply(1, Wish::High).unwrap();
    fake.sleep(1, "0-1");
    speeds.apply(1, Wish::Released).unwrap();
}

#[test]
fn others_of_its_clock_domain_are_released_from_the_wish_of_a_cpu_that_went() {
    let fake = Fake::new(&[acpi(0, "0 1", "ondemand")], "0-1");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::Low).unwrap();
    speeds.apply(1, Wish::High).unwrap();
    fake.put(&format!("{CPU}/online"), "0");
    speeds.apply(1, Wish::Released).unwrap();
    assert_eq!(fake.limits(0), ("1050000".to_string(), "1050000".to_string()));
}

#[test]
fn files_are_left_alone_where_other_work_runs_and_schedutil_is_not() {
    let policies = [
        acpi(0, "0", "schedutil"),
        acpi(1, "1", "ondemand"),
        acpi(2, "2", "userspace"),
        active(3, "3", "intel_pstate", "powersave"),
    ];
    let fake = Fake::new(&policies, "0-3");
    fake.put_idle(1, "1", "20");
    let mut speeds = fake.open();
    speeds.leave_files_alone(REASON);
    let nothing = Mechanism::Nothing { reason: REASON.into() };
    let mechanisms: Vec<_> = speeds.domains().iter().map(|d| d.mechanism.clone()).collect();
    assert_eq!(
        mechanisms,
        [Mechanism::Scheduler, nothing.clone(), nothing.clone(), nothing]
    );
    for cpu in 0..4 {
        for wish in [Wish::Low, Wish::High, Wish::Released] {
            speeds.apply(cpu, wish).unwrap();
        }
    }
    assert_eq!(fake.writes(), []);
    let lines = speeds.describe();
    assert!(lines.iter().any(|line| line.contains(REASON)), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("idle state")), "{lines:?}");
}

#[test]
fn what_is_left_in_a_journal_is_named_with_its_cpus() {
    let fake = Fake::new(&[acpi(0, "0 1", "ondemand"), acpi(2, "2", "ondemand")], "0-2");
    fake.put_idle(2, "0", "20");
    let left = || left_in_journal(&fake.root, &fake.journal_path()).unwrap();
    assert_eq!(left(), [""; 0], "no journal");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    speeds.apply(2, Wish::Low).unwrap();
    let file = |path: String| fake.root.join(path).display().to_string();
    let expected = [
        format!("{} (CPU 2)", file(format!("{CPU}/cpu2/power/pm_qos_resume_latency_us"))),
        format!("{} (CPUs 0-1)", file(policy_file(0, "scaling_min_freq"))),
        format!("{} (CPU 2)", file(policy_file(2, "scaling_max_freq"))),
    ];
    for line in expected {
        assert!(left().contains(&line), "{line} in {:?}", left());
    }
}
