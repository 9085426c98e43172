// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fake::{acpi, active, kill, policy_file, Fake, BOOT_ID, CPU};
use crate::speed::{restore_from_journal, SpeedError, Speeds, Wish};
use std::fs;
use std::io::ErrorKind;

const MIN: &str = "scaling_min_freq";
const MAX: &str = "scaling_max_freq";

#[test]
fn an_error_or_a_panic_puts_everything_back() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let before = fake.snapshot();
    let inner = fake.clone();
    let panicked = std::panic::catch_unwind(move || {
        let mut speeds = inner.open();
        speeds.apply(0, Wish::Low).unwrap();
        std::panic::resume_unwind(Box::new("a bug"));
    });
    assert!(panicked.is_err());
    assert_eq!(fake.snapshot(), before);
    assert!(!fake.journal_path().exists());
}

#[test]
fn restoring_twice_is_harmless_and_speeds_can_be_set_again() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    for _ in 0..2 {
        speeds.apply(0, Wish::Low).unwrap();
        assert_ne!(fake.snapshot(), before);
        assert!(speeds.restore().is_empty());
        assert!(speeds.restore().is_empty());
        assert_eq!(fake.snapshot(), before);
    }
}

#[test]
fn no_journal_is_nothing_to_do() {
    let fake = Fake::new(&[], "0");
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert!(restored.files.is_empty() && restored.skipped.is_empty());
}

#[test]
fn after_a_kill_the_next_start_restores_and_says_so() {
    for wish in [Wish::High, Wish::Low] {
        let fake = Fake::new(
            &[acpi(0, "0", "ondemand"), active(1, "1", "intel_pstate", "powersave")],
            "0-1",
        );
        let before = fake.snapshot();
        let mut speeds = fake.open();
        speeds.apply(0, wish).unwrap();
        speeds.apply(1, wish).unwrap();
        kill(speeds);
        assert_ne!(fake.snapshot(), before);
        let speeds = fake.open();
        assert_eq!(fake.snapshot(), before);
        assert!(speeds.describe()[0].starts_with("put back "), "{:?}", speeds.describe());
        assert!(!fake.journal_path().exists());
        assert_eq!(fake.violations(), [""; 0]);
    }
}

#[test]
fn what_somebody_else_changed_is_left() {
    let fake = Fake::new(&[acpi(0, "0", "userspace"), acpi(1, "1", "userspace")], "0-1");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    speeds.apply(1, Wish::High).unwrap();
    kill(speeds);
    fake.put(&policy_file(0, "scaling_setspeed"), "1800000");
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert_eq!(restored.files, [fake.root.join(policy_file(1, "scaling_setspeed"))]);
    assert_eq!(restored.skipped.len(), 1);
    let skipped = &restored.skipped[0];
    assert_eq!(skipped.file, fake.root.join(policy_file(0, "scaling_setspeed")));
    assert!(skipped.reason.contains("1800000") && !skipped.kept, "{skipped:?}");
    assert_eq!(fake.policy(0, "scaling_setspeed"), "1800000");
    assert!(!fake.journal_path().exists());
}

/// Until its worker runs, the kernel shows the old limit: the file still shows the original while our value is pending.
#[test]
fn a_limit_that_has_not_taken_effect_yet_is_put_back_too() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let file = policy_file(0, "scaling_max_freq");
    let original = fake.policy(0, "scaling_max_freq");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::Low).unwrap();
    assert_ne!(fake.policy(0, "scaling_max_freq"), original);
    kill(speeds);
    fake.put(&file, &original);
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert!(restored.files.contains(&fake.root.join(file)), "{restored:?}");
}

#[test]
fn what_somebody_else_changed_is_an_error_of_restore_once() {
    let fake = Fake::new(&[acpi(0, "0", "userspace")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    fake.put(&policy_file(0, "scaling_setspeed"), "1800000");
    let errors = speeds.restore();
    assert!(
        matches!(&errors[..], [SpeedError::Changed { found, .. }] if found == "1800000"),
        "{errors:?}"
    );
    assert!(speeds.restore().is_empty());
}

/// Heat lowers the upper limit to 1.4 GHz, so the kernel shows our lower limit of 2.1 GHz as 1.4. If it were left, it would hold
/// the CPU at 2.1 GHz once it has cooled.
#[test]
fn a_lower_limit_that_heat_hides_is_put_back() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    fake.heat(0, "1400000");
    assert!(speeds.restore().is_empty());
    assert_eq!(fake.limits(0), ("1050000".to_string(), "1400000".to_string()));
}

/// Too hot even for the original: the kernel accepts the lower limit and shows it once the CPU has cooled.
#[test]
fn a_lower_limit_that_heat_hides_is_put_back_even_above_what_heat_allows() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    fake.put(&policy_file(0, MIN), "1400000");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    fake.heat(0, "1200000");
    fake.writes();
    assert!(speeds.restore().is_empty());
    assert_eq!(fake.writes(), [(policy_file(0, MIN), "1400000".to_string())]);
}

/// Only the lower limit of a policy is still ours, and its original is above somebody else's upper limit.
#[test]
fn limits_that_would_cross_are_left_and_named() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let min = policy_file(0, MIN);
    let journal = format!(
        "{{\"format\":\"lopsided-speeds\",\"version\":1,\"boot_id\":\"{BOOT_ID}\",\"entries\":1}}\n\
         {{\"path\":\"{min}\",\"original\":\"1400000\\n\",\"written\":[\"1050000\"]}}\n"
    );
    fs::create_dir_all(fake.journal_path().parent().unwrap()).unwrap();
    fs::write(fake.journal_path(), journal).unwrap();
    fake.put(&policy_file(0, MAX), "1200000");
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert!(restored.files.is_empty());
    assert!(restored.skipped[0].reason.contains("would cross"), "{restored:?}");
    assert_eq!(fake.limits(0), ("1050000".to_string(), "1200000".to_string()));
}

/// A file that is missing at the first restore, and what happens once it is back with these contents.
fn gone_then_back(file_when_back: &str, expected: &str, is_put_back: bool) {
    let fake = Fake::new(&[acpi(0, "0", "userspace")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    kill(speeds);
    let path = policy_file(0, "scaling_setspeed");
    fs::remove_file(fake.root.join(&path)).unwrap();
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert!(restored.files.is_empty());
    assert!(
        restored.skipped[0].kept && restored.skipped[0].reason.contains("offline"),
        "{restored:?}"
    );
    assert!(fake.journal_path().exists());

    fake.put(&path, file_when_back);
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert_eq!(!restored.files.is_empty(), is_put_back);
    assert_eq!(fake.policy(0, "scaling_setspeed"), expected);
    assert!(!fake.journal_path().exists());
}

#[test]
fn a_cpu_that_comes_back_as_it_went_is_put_back_then() {
    gone_then_back("2100000", "1400000", true);
}

#[test]
fn a_cpu_that_comes_back_with_defaults_of_the_kernel_is_left() {
    gone_then_back("1800000", "1800000", false);
}

#[test]
fn a_cpu_that_comes_back_during_the_next_run_keeps_its_first_original() {
    let fake = Fake::new(&[active(0, "0", "intel_pstate", "powersave")], "0");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    kill(speeds);
    let (policy, away) = (fake.root.join(format!("{CPU}/cpufreq/policy0")), fake.root.join("away"));
    fs::rename(&policy, &away).unwrap();
    let speeds = fake.open();
    assert!(speeds.recovered().skipped.iter().all(|skipped| skipped.kept));
    drop(speeds);
    assert!(
        fake.journal_path().exists(),
        "what could not be read is still to be put back"
    );
    fs::rename(&away, &policy).unwrap();
    drop(fake.open());
    assert_eq!(fake.snapshot(), before);
    assert!(!fake.journal_path().exists());
}

#[test]
fn a_write_that_fails_is_told_and_tried_again_later() {
    let fake = Fake::new(&[acpi(0, "0", "userspace")], "0");
    let before = fake.snapshot();
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    fake.refuse(&policy_file(0, "scaling_setspeed"), ErrorKind::PermissionDenied);
    let error = speeds.restore().remove(0).to_string();
    assert!(error.contains("scaling_setspeed: cannot put it back"), "{error}");
    assert!(fake.journal_path().exists());
    fake.allow_all();
    assert!(speeds.restore().is_empty());
    assert_eq!(fake.snapshot(), before);
}

#[test]
fn a_journal_of_another_boot_is_discarded_and_said() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    kill(speeds);
    let left = fake.snapshot();
    assert!(fs::read_to_string(fake.journal_path()).unwrap().contains(BOOT_ID));
    fake.put("proc/sys/kernel/random/boot_id", "another");
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert!(restored.files.is_empty());
    assert!(
        restored.skipped[0].reason.contains("before the last reboot"),
        "{restored:?}"
    );
    assert!(!fake.journal_path().exists());
    fake.put("proc/sys/kernel/random/boot_id", BOOT_ID);
    assert_eq!(fake.snapshot(), left);
}

#[test]
fn a_second_run_beside_a_living_one_is_refused() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    let while_high = fake.snapshot();
    let own_id = std::process::id().to_string();
    for refused in [
        Speeds::open(&fake.root, &fake.journal_path()).err(),
        restore_from_journal(&fake.root, &fake.journal_path()).err(),
    ] {
        let error = refused.expect("refused");
        assert!(matches!(error, SpeedError::Busy { .. }), "{error}");
        assert!(
            error.to_string().contains(&own_id) && error.to_string().contains("lop stop"),
            "{error}"
        );
    }
    assert_eq!(fake.snapshot(), while_high);
}
