// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trials on machines where requests act, act in part, act only together, or do not act.

use super::fake::{acpi, active, kill, policy_file, Fake, Policy};
use crate::speed::{restore_from_journal, try_speeds, Asker, Tried, Verdict, Worker};
use std::io::ErrorKind;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A machine whose speed depends on its upper limits.
struct Machine<'a, F: Fn(&Fake, usize) -> Result<f64, String>>(&'a Fake, F);

impl<F: Fn(&Fake, usize) -> Result<f64, String>> Worker for Machine<'_, F> {
    fn speed(&mut self, cpu: usize) -> Result<f64, String> {
        (self.1)(self.0, cpu)
    }
}

fn limit_khz(fake: &Fake, policy: usize) -> f64 {
    fake.limits(policy).1.parse().unwrap()
}

fn as_asked(fake: &Fake, cpu: usize) -> Result<f64, String> {
    Ok(limit_khz(fake, cpu))
}

/// The outcome of a trial, after which all files and the journal must be as before.
fn tried(fake: &Fake, speed: impl Fn(&Fake, usize) -> Result<f64, String>) -> Tried {
    let before = fake.snapshot();
    let mut speeds = fake.open_for(Asker::Trial);
    let tried = try_speeds(&mut speeds, &mut Machine(fake, speed));
    assert_eq!(fake.snapshot(), before, "before it is dropped");
    drop(speeds);
    assert_eq!(fake.snapshot(), before);
    assert_eq!(fake.violations(), [""; 0]);
    assert!(!fake.journal_path().exists());
    tried
}

fn two() -> Fake {
    Fake::new(&[acpi(0, "0", "ondemand"), acpi(1, "1", "ondemand")], "0-1")
}

#[test]
fn requests_that_act_change_the_work() {
    let fake = two();
    fake.put(&policy_file(0, "scaling_cur_freq"), "1799000");
    let tried = tried(&fake, as_asked);
    assert_eq!(tried.notes, [""; 0]);
    let [kind] = &tried.kinds[..] else { panic!("{tried:?}") };
    assert_eq!(
        (kind.cpus.as_slice(), kind.cpu, kind.driver.as_str()),
        (&[0, 1][..], 0, "acpi-cpufreq")
    );
    let outcome = kind.outcome.as_ref().unwrap();
    assert_eq!((outcome.verdict, outcome.together), (Verdict::Act, None));
    let (low, high) = (outcome.alone.low, outcome.alone.high);
    assert_eq!((low.asked_khz, low.work), (1_050_000, 1.0));
    assert_eq!((high.asked_khz, high.work), (2_100_000, 2.0));
    assert_eq!(low.shown_khz, Some(1_799_000));
}

#[test]
fn each_kind_and_each_way_of_asking_is_tried_once() {
    let policies = [
        acpi(0, "0 1", "userspace"),
        acpi(2, "2 3", "userspace"),
        active(4, "4", "amd-pstate-epp", "powersave"),
        active(5, "5", "intel_pstate", "performance"),
    ];
    let fake = Fake::new(&policies, "0-5");
    let speed = |fake: &Fake, cpu| {
        let number = |name: &str| Ok(fake.policy(cpu, name).parse::<f64>().unwrap());
        match cpu {
            0 => number("scaling_setspeed"),
            4 | 5 => number("scaling_max_freq"),
            _ => panic!("CPU {cpu} was tried too"),
        }
    };
    let tried = tried(&fake, speed);
    let told: Vec<_> = tried
        .kinds
        .iter()
        .map(|kind| {
            let outcome = kind.outcome.as_ref().unwrap();
            (kind.cpus.clone(), outcome.verdict, outcome.alone.high.asked_khz)
        })
        .collect();
    assert_eq!(
        told,
        [
            (vec![0, 1, 2, 3], Verdict::Act, 2_100_000),
            (vec![4], Verdict::Act, 4_600_000),
            (vec![5], Verdict::Act, 4_600_000),
        ]
    );
}

#[test]
fn requests_that_are_ignored_or_act_in_part_are_told_apart() {
    // Half of the requested change: from 1.05 to 2.1 GHz, with 1.5 times the work.
    for (gain, verdict) in [
        (0.0, Verdict::Ignored),
        (0.19, Verdict::Ignored),
        (0.21, Verdict::Partly),
        (0.49, Verdict::Partly),
        (0.51, Verdict::Act),
    ] {
        let fake = Fake::new(&[acpi(0, "0 1", "ondemand")], "0-1");
        let speed = |fake: &Fake, _| Ok(1.0 + gain * (limit_khz(fake, 0) / 1_050_000.0 - 1.0));
        let outcome = tried(&fake, speed).kinds[0].outcome.clone().unwrap();
        assert_eq!((outcome.verdict, outcome.together), (verdict, None), "{gain}");
    }
}

/// Both CPUs share a clock that follows the higher request, and the driver does not tell.
#[test]
fn cpus_that_share_a_clock_in_secret_act_together() {
    let fastest = |fake: &Fake, _| Ok(limit_khz(fake, 0).max(limit_khz(fake, 1)));
    let outcome = tried(&two(), fastest).kinds[0].outcome.clone().unwrap();
    assert_eq!(outcome.verdict, Verdict::Together);
    assert_eq!(
        (outcome.alone.high.work, outcome.together.unwrap().high.work),
        (1.0, 2.0)
    );
}

#[test]
fn limits_that_leave_no_room_tell_nothing() {
    let policy = Policy {
        limits_khz: (2_000_000, 2_100_000),
        ..acpi(0, "0", "ondemand")
    };
    let fake = Fake::new(&[policy], "0");
    let tried = tried(&fake, |_, _| panic!("computed"));
    assert!(
        tried.kinds[0].outcome.as_ref().unwrap_err().contains("5 % apart"),
        "{tried:?}"
    );
}

#[test]
fn a_machine_without_cpus_or_control_has_nothing_to_try() {
    for online in ["", "0-1"] {
        assert_eq!(
            tried(&Fake::new(&[], online), |_, _| panic!("computed")),
            Tried::default()
        );
    }
}

#[test]
fn what_cannot_be_written_is_told_of_its_kind() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand"), acpi(1, "1", "userspace")], "0-1");
    let before = fake.snapshot();
    fake.refuse(&policy_file(0, "scaling_max_freq"), ErrorKind::PermissionDenied);
    let mut speeds = fake.open_for(Asker::Trial);
    let tried = try_speeds(&mut speeds, &mut Machine(&fake, |_: &Fake, _| Ok(1.0)));
    let reason = tried.kinds[0].outcome.as_ref().unwrap_err();
    for said in ["policy0/scaling_max_freq: cannot write it", "run it as root"] {
        assert!(reason.contains(said), "{reason}");
    }
    let other = tried.kinds[1].outcome.as_ref().unwrap();
    assert_eq!((other.verdict, other.together), (Verdict::Ignored, None));
    assert!(tried.notes[0].contains("cannot put it back"), "{:?}", tried.notes);
    assert_eq!(fake.snapshot(), before);
    // A file that could not be written for a while is restored later.
    fake.allow_all();
    drop(speeds);
    assert!(!fake.journal_path().exists());
}

#[test]
fn where_nothing_may_run_that_is_told() {
    let tried = tried(&two(), |_, cpu| Err(format!("no thread can be bound to CPU {cpu}")));
    assert_eq!(tried.kinds[0].outcome, Err("no thread can be bound to CPU 0".into()));
}

fn fails_at(time: usize) -> impl Fn(&Fake, usize) -> Result<f64, String> {
    let times = std::cell::Cell::new(0);
    move |_, _| {
        times.set(times.get() + 1);
        assert!(times.get() < time, "a defect");
        Ok(1.0)
    }
}

#[test]
fn a_defect_in_the_middle_leaves_nothing_changed() {
    for time in 1..=4 {
        let fake = two();
        let before = fake.snapshot();
        let mut speeds = fake.open_for(Asker::Trial);
        let failing = || try_speeds(&mut speeds, &mut Machine(&fake, fails_at(time)));
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
        assert_ne!(fake.snapshot(), before, "{time}");
        drop(speeds);
        assert_eq!(fake.snapshot(), before, "{time}");
    }
}

/// Restores as `lop restore` does.
#[test]
fn who_is_killed_in_the_middle_leaves_a_journal() {
    let fake = two();
    let before = fake.snapshot();
    let mut speeds = fake.open_for(Asker::Trial);
    let failing = || try_speeds(&mut speeds, &mut Machine(&fake, fails_at(3)));
    assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
    kill(speeds);
    assert_ne!(fake.snapshot(), before);
    assert!(restore_from_journal(&fake.root, &fake.journal_path())
        .unwrap()
        .skipped
        .is_empty());
    assert_eq!(fake.snapshot(), before);
    // The next trial first does the same, and says so.
    let mut speeds = fake.open_for(Asker::Trial);
    let failing = || try_speeds(&mut speeds, &mut Machine(&fake, fails_at(3)));
    assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
    kill(speeds);
    let mut speeds = fake.open_for(Asker::Trial);
    let tried = try_speeds(&mut speeds, &mut Machine(&fake, as_asked));
    assert!(tried.notes[0].starts_with("put back "), "{:?}", tried.notes);
    assert_eq!(fake.snapshot(), before);
}
