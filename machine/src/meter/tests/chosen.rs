// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which meter is chosen, and the thread that keeps reading it.

use super::fake::{prints, Fake};
use crate::meter::choose::{found_in, open_in, Setup};
use crate::meter::world::World;
use crate::meter::{Meter, MeterError, MeterKind, OpenMeter, Source};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

fn world(fake: &Arc<Fake>) -> Arc<dyn World> {
    fake.clone()
}

fn with_sensor() -> Arc<Fake> {
    Fake::new(&[
        ("sys/class/hwmon/hwmon0/name", "zenpower"),
        ("sys/class/hwmon/hwmon0/power1_input", "1000000"),
    ])
}

#[test]
fn the_first_that_works_is_taken_unless_a_command_is_named() {
    let fake = with_sensor();
    let taken = open_in(&world(&fake), None, &Setup::default()).unwrap();
    assert_eq!(taken.source().kind, MeterKind::Hwmon);
    fake.program("sh", |_| prints("5 W"));
    let setup = Setup {
        command: Some("wall".into()),
        ..Setup::default()
    };
    let taken = open_in(&world(&fake), None, &setup).unwrap();
    assert_eq!(taken.source().kind, MeterKind::Command);
}

#[test]
fn a_meter_that_is_asked_for_is_no_other() {
    for kind in MeterKind::ALL.into_iter().filter(|kind| *kind != MeterKind::Hwmon) {
        let errors = open_in(&world(&with_sensor()), Some(kind), &Setup::default())
            .err()
            .unwrap();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].kind, kind);
        assert!(!errors[0].mend.is_empty(), "{kind}");
    }
}

#[test]
fn a_machine_without_any_says_why_of_each() {
    let fake = Fake::new(&[]);
    let errors = open_in(&world(&fake), None, &Setup::default()).err().unwrap();
    // The last one measures GPUs only: it is listed, but only used if named.
    assert_eq!(
        errors.iter().map(|error| error.kind).collect::<Vec<_>>(),
        MeterKind::ALL[..7]
    );
    let found = found_in(&world(&fake), &Setup::default());
    let mut found: Vec<MeterError> = found.into_iter().map(Result::unwrap_err).collect();
    assert_eq!(found.pop().unwrap().kind, MeterKind::Nvml);
    assert_eq!(found, errors);
}

#[test]
fn what_is_found_says_who_may_read_it() {
    let fake = with_sensor();
    for (mode, who) in [(0o444, "everybody"), (0o400, "root")] {
        fake.modes
            .lock()
            .unwrap()
            .insert("sys/class/hwmon/hwmon0/power1_input".into(), mode);
        let found = found_in(&world(&fake), &Setup::default());
        assert_eq!(found[2].as_ref().unwrap().permission, who);
    }
}

#[test]
fn a_counter_that_begins_anew_says_when_and_how_often_it_is_read() {
    let fake = Fake::new(&[
        ("sys/class/powercap/intel-rapl:0/name", "package-0"),
        ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
        ("sys/class/powercap/intel-rapl:0:0/name", "dram"),
        ("sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "65532610987"),
        (
            "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
            "1000000000",
        ),
    ]);
    for zone in ["intel-rapl:0", "intel-rapl:0:0"] {
        let counts = |s: f64| Ok(format!("{}\n", (s * 1e7) as u64));
        fake.follows(&format!("sys/class/powercap/{zone}/energy_uj"), counts);
    }
    let found = found_in(&world(&fake), &Setup::default());
    // 65.5 kJ at 500 W are 131 s, less than 262.1 kJ at 1000 W.
    let wraps = found[1].as_ref().unwrap().wraps.unwrap();
    assert_eq!((wraps.after.as_secs(), wraps.most_w), (131, 500.0));
    assert_eq!(wraps.read_every, wraps.after / 10);
}

#[test]
fn names_are_read_back() {
    for kind in MeterKind::ALL {
        assert_eq!(kind.name().parse::<MeterKind>(), Ok(kind));
    }
    assert!("rapl".parse::<MeterKind>().unwrap_err().contains("perf, powercap"));
}

/// Counts its readings, and fails after some.
struct Counting {
    source: Source,
    readings: Arc<AtomicU64>,
    fails_after: u64,
    step_uj: u64,
}

impl Counting {
    fn open(fails_after: u64, step_uj: u64) -> (OpenMeter, Arc<AtomicU64>) {
        let readings = Arc::new(AtomicU64::new(0));
        let source = Source {
            kind: MeterKind::Command,
            name: "counting".into(),
            whole_system: true,
            update_period: None,
            only_ratios: false,
        };
        let meter = Self {
            source,
            readings: readings.clone(),
            fails_after,
            step_uj,
        };
        (OpenMeter::new(Box::new(meter)), readings)
    }
}

impl Meter for Counting {
    fn source(&self) -> &Source {
        &self.source
    }
    fn read_uj(&mut self) -> Result<u64, MeterError> {
        let n = self.readings.fetch_add(1, Ordering::SeqCst) + 1;
        match n == self.fails_after {
            true => Err(MeterError::new(self.source.kind, "it", "broke", "mend it")),
            false => Ok(n * self.step_uj),
        }
    }
    fn read_within(&self) -> Option<Duration> {
        Some(Duration::from_millis(200))
    }
}

fn wait_until(readings: &AtomicU64, n: u64) {
    let end = std::time::Instant::now() + Duration::from_secs(600);
    while readings.load(Ordering::SeqCst) < n {
        assert!(
            std::time::Instant::now() < end,
            "read {} times",
            readings.load(Ordering::SeqCst)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_thread_reads_as_often_as_it_must_and_ends_with_the_meter() {
    let (meter, readings) = Counting::open(u64::MAX, 5);
    wait_until(&readings, 4);
    assert!(meter.used_since_uj(5).unwrap() >= 15);
    drop(meter);
    let n = readings.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(readings.load(Ordering::SeqCst), n);
}

#[test]
fn what_failed_meanwhile_is_told_later() {
    let (meter, readings) = Counting::open(3, 5);
    wait_until(&readings, 3);
    assert_eq!(meter.total_uj().unwrap_err().reason, "broke");
    assert_eq!(meter.total_uj().unwrap_err().reason, "broke");
}

#[test]
fn a_time_in_which_nothing_was_seen_is_no_zero() {
    let (meter, _) = Counting::open(u64::MAX, 0);
    assert_eq!(meter.total_uj(), Ok(0));
    assert!(meter.used_since_uj(0).unwrap_err().reason.contains("too short"));
}
