// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fake::{acpi, kill, policy_file, Fake, CPU};
use crate::speed::{restore_from_journal, Journal, SpeedError, Speeds, Wish};
use std::fs;

fn header(entries: usize) -> String {
    format!("{{\"format\":\"lopsided-speeds\",\"version\":1,\"boot_id\":\"b\",\"entries\":{entries}}}\n")
}

fn entry(path: &str, original: &str) -> String {
    format!("{{\"path\":\"{path}\",\"original\":\"{original}\\n\",\"written\":[\"1\",\"2\"]}}\n")
}

fn good() -> String {
    header(1) + &entry(&policy_file(0, "scaling_max_freq"), "2100000")
}

#[test]
fn what_is_written_is_read_back() {
    let journal = Journal::parse("j", &good()).unwrap();
    assert_eq!(journal.entries.len(), 1);
    assert_eq!(journal.to_text(), good());
}

/// Damaged journals, with the line that the error names and a part of its reason.
#[test]
fn damage_is_refused_by_line_and_reason() {
    let max = policy_file(0, "scaling_max_freq");
    let table = [
        (String::new(), 1, "empty"),
        ("\n".into(), 1, "not the header"),
        ("{}\n".into(), 1, "not the header"),
        (header(0).replace("version\":1", "version\":2"), 1, "version 2"),
        (header(0).replace("lopsided-speeds", "other"), 1, "\"other\""),
        (header(1), 1, "0 entries, expected 1"),
        (header(2) + &entry(&max, "1"), 2, "1 entries, expected 2"),
        (header(0) + &entry(&max, "1"), 2, "1 entries, expected 0"),
        (good().trim_end().into(), 2, "whole lines"),
        (good()[..good().len() - 9].into(), 2, "not an entry"),
        (header(1) + "garbage\n", 2, "not an entry"),
        (header(2) + &entry(&max, "1") + &entry(&max, "1"), 3, "named twice"),
        (header(1) + &entry(&max, "a\\nb"), 2, "not a value"),
        (header(1) + &entry(&max, &"9".repeat(65)), 2, "not a value"),
        (
            header(1) + &entry(&max, "1").replace("\"1\",\"2\"", "\"1\",\"2\\u0007\""),
            2,
            "not a value",
        ),
        (
            header(1) + &entry(&max, "1").replace("[\"1\"", &format!("[{}\"1\"", "\"3\",".repeat(20))),
            2,
            "at most",
        ),
    ];
    for (text, line, reason) in table {
        let error = Journal::parse("speeds.journal", &text).unwrap_err();
        assert_eq!(error.line, Some(line), "{text:?}: {error}");
        assert!(error.message.contains(reason), "{text:?}: {error}");
    }
}

#[test]
fn only_files_that_speeds_are_set_by_may_be_named() {
    let refused = [
        "/etc/passwd".to_string(),
        "etc/passwd".into(),
        "../etc/passwd".into(),
        format!("{CPU}/../../../../etc/passwd"),
        format!("{CPU}/cpufreq/policy0/../../online"),
        format!("/{}", policy_file(0, "scaling_max_freq")),
        format!("{CPU}/cpufreq/policy0/scaling_governor"),
        format!("{CPU}/cpufreq/policy00/scaling_max_freq"),
        format!("{CPU}/cpufreq/policy-1/scaling_max_freq"),
        format!("{CPU}/cpufreq//scaling_max_freq"),
        format!("{CPU}/cpufreq/policy0/scaling_max_freq/"),
        format!("{CPU}/cpu0/online"),
        format!("{CPU}/cpu0/cpufreq/scaling_max_freq"),
        format!("{CPU}/cpu0/cpuidle/state0/../disable"),
        format!("{CPU}/cpu0/power/control"),
        "proc/irq/default_smp_affinity".into(),
        "proc/irq/../smp_affinity_list".into(),
        "proc/irq/1/2/smp_affinity_list".into(),
        String::new(),
    ];
    for path in refused {
        let error = Journal::parse("j", &(header(1) + &entry(&path, "1"))).unwrap_err();
        assert!(error.message.contains("is not a file by which"), "{path}: {error}");
    }
    for path in [
        policy_file(12, "scaling_setspeed"),
        policy_file(0, "scaling_min_freq"),
        policy_file(0, "energy_performance_preference"),
        format!("{CPU}/cpu3/cpuidle/state2/disable"),
        format!("{CPU}/cpu3/power/pm_qos_resume_latency_us"),
        "proc/irq/12/smp_affinity_list".into(),
    ] {
        Journal::parse("j", &(header(1) + &entry(&path, "1"))).unwrap();
    }
}

#[test]
fn a_damaged_journal_stops_both_ways_in_and_nothing_is_written() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let mut speeds = fake.open();
    speeds.apply(0, Wish::High).unwrap();
    kill(speeds);
    let text = fs::read_to_string(fake.journal_path()).unwrap();
    let damaged = &text[..text.len() - 5];
    fs::write(fake.journal_path(), damaged).unwrap();
    let left = fake.snapshot();
    for refused in [
        Speeds::open(&fake.root, &fake.journal_path()).err(),
        restore_from_journal(&fake.root, &fake.journal_path()).err(),
    ] {
        let error = refused.expect("refused");
        assert!(matches!(error, SpeedError::Damaged(_)), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("speeds.journal:2: ") && text.contains("then remove it"),
            "{text}"
        );
    }
    assert_eq!(fake.snapshot(), left);
    assert_eq!(fs::read_to_string(fake.journal_path()).unwrap(), damaged);
}

#[test]
fn roundings_are_remembered_up_to_a_bound_and_the_sets_own_values_stay() {
    let mut journal = Journal::parse("j", &good()).unwrap();
    let entry = journal.entries.values_mut().next().unwrap();
    for khz in 100..200 {
        assert!(entry.remember(&khz.to_string()));
    }
    assert!(!entry.remember("199"));
    assert!(entry.is_ours("1") && entry.is_ours("2") && entry.is_ours("199\n") && !entry.is_ours("100"));
    Journal::parse("j", &journal.to_text()).unwrap();
}
