// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters that count: powercap and perf.

use super::fake::Fake;
use crate::meter::world::World;
use crate::meter::{perf, powercap, sampler, Meter, MeterError};
use proptest::prelude::*;
use std::io::ErrorKind;
use std::sync::Arc;

const CAP: &str = "sys/class/powercap";

/// Feeds the counter of a zone with a power in W, in steps of a millisecond, from `first_uj` on.
fn counts(fake: &Fake, zone: &str, watts: f64, first_uj: u64, range_uj: u64) {
    let at = move |s: f64| {
        Ok(format!(
            "{}\n",
            (first_uj + ((s * 1e3).floor() * watts * 1e3) as u64) % range_uj
        ))
    };
    fake.follows(&format!("{CAP}/{zone}/energy_uj"), at);
    fake.file(&format!("{CAP}/{zone}/max_energy_range_uj"), &range_uj.to_string());
}

/// Two packages, one of them with all the zones that must not be added.
fn intel() -> Arc<Fake> {
    let fake = Fake::new(&[
        ("sys/class/powercap/intel-rapl/enabled", "1"),
        ("sys/class/powercap/intel-rapl:0/name", "package-0"),
        ("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "125000000"),
        ("sys/class/powercap/intel-rapl:0:0/name", "core"),
        ("sys/class/powercap/intel-rapl:0:1/name", "dram"),
        ("sys/class/powercap/intel-rapl:1/name", "psys"),
        ("sys/class/powercap/intel-rapl-mmio:0/name", "package-0"),
        ("sys/class/powercap/intel-rapl-mmio:0:0/name", "dram"),
    ]);
    for (zone, watts) in [
        ("intel-rapl:0", 20.0),
        ("intel-rapl:0:0", 11.0),
        ("intel-rapl:0:1", 3.0),
        ("intel-rapl:1", 41.0),
        ("intel-rapl-mmio:0", 20.0),
        ("intel-rapl-mmio:0:0", 3.0),
    ] {
        counts(&fake, zone, watts, 1_000_000, 262_143_328_850);
    }
    fake
}

fn joules(meter: &mut dyn Meter) -> f64 {
    meter.read_uj().unwrap() as f64 / 1e6
}

fn refused(result: Result<Box<dyn Meter>, MeterError>) -> MeterError {
    match result {
        Ok(meter) => panic!("opened {:?}", meter.source()),
        Err(error) => error,
    }
}

#[test]
fn package_and_memory_are_summed_and_nothing_twice() {
    let fake = intel();
    let mut meter = powercap::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "powercap package-0 + package-0 dram");
    assert!(!meter.source().whole_system);
    fake.pass(10.0);
    let used = joules(meter.as_mut());
    assert!((used - 230.0).abs() < 0.1, "10 s at 20 + 3 W: {used} J");
    let period = meter.source().update_period.unwrap().as_secs_f64();
    assert!((0.0005..=0.0015).contains(&period), "{period}");
}

#[test]
fn what_only_memory_mapped_registers_tell_counts_and_so_does_amd() {
    for (kind, more) in [("intel-rapl-mmio", "intel-rapl-mmio:0"), ("intel-rapl", "intel-rapl:0")] {
        let fake = Fake::new(&[(&format!("{CAP}/{more}/name"), "package-0")]);
        counts(&fake, more, 50.0, 0, 65_532_610_987);
        let mut meter = powercap::open(fake.clone()).unwrap();
        fake.pass(2.0);
        assert!((joules(meter.as_mut()) - 100.0).abs() < 0.1, "{kind}");
    }
}

#[test]
fn a_counter_that_wraps_once_goes_on() {
    let fake = Fake::new(&[(&format!("{CAP}/intel-rapl:0/name"), "package-0")]);
    // 65.5 kJ; 10 J before the end.
    counts(&fake, "intel-rapl:0", 100.0, 65_522_610_987, 65_532_610_987);
    let mut meter = powercap::open(fake.clone()).unwrap();
    // No package draws more than 500 W, so 131 s.
    assert_eq!(meter.read_within().unwrap().as_secs(), 131);
    for step in 1..=20 {
        fake.pass(100.0);
        let used = joules(meter.as_mut());
        assert!((used - 10_000.0 * f64::from(step)).abs() < 1.0, "step {step}: {used}");
    }
}

#[test]
fn a_counter_that_may_have_wrapped_twice_is_an_error_and_stays_one() {
    let fake = intel();
    let mut meter = powercap::open(fake.clone()).unwrap();
    let limit = meter.read_within().unwrap().as_secs_f64();
    assert!((limit - 262_143.328 / 500.0).abs() < 0.01, "{limit}");
    fake.pass(limit + 1.0);
    let error = meter.read_uj().unwrap_err();
    assert!(
        error.reason.contains("not read for 525") && error.reason.contains("not known"),
        "{error}"
    );
    fake.pass(1.0);
    assert_eq!(meter.read_uj().unwrap_err(), error);
}

#[test]
fn more_power_allowed_means_less_time() {
    let fake = intel();
    fake.file(&format!("{CAP}/intel-rapl:0/constraint_1_power_limit_uw"), "1000000000");
    let meter = powercap::open(fake).unwrap();
    assert_eq!(meter.read_within().unwrap().as_secs(), 262);
}

#[test]
fn permission_denied_says_how_to_get_it() {
    let fake = intel();
    fake.refuses(&format!("{CAP}/intel-rapl:0:1/energy_uj"), ErrorKind::PermissionDenied);
    let error = refused(powercap::open(fake));
    assert_eq!(error.what, "/sys/class/powercap/intel-rapl:0:1/energy_uj");
    assert!(error.reason.contains("CVE-2020-8694"), "{error}");
    assert!(
        error.mend.contains("sudo chmod a+r") && error.mend.contains("/etc/udev/rules.d/"),
        "{error}"
    );
}

#[test]
fn a_zone_that_vanishes_is_an_error() {
    let fake = intel();
    let mut meter = powercap::open(fake.clone()).unwrap();
    fake.refuses(&format!("{CAP}/intel-rapl:0/energy_uj"), ErrorKind::NotFound);
    fake.pass(1.0);
    let error = meter.read_uj().unwrap_err();
    assert!(
        error.reason.contains("no longer there") && error.mend.contains("modprobe"),
        "{error}"
    );
}

#[test]
fn a_counter_that_stands_still_is_no_zero() {
    for value in ["0", "123456"] {
        let fake = intel();
        fake.file(&format!("{CAP}/intel-rapl:0/energy_uj"), value);
        let error = refused(powercap::open(fake));
        assert!(error.reason.contains("stands still"), "{error}");
    }
    // A counter that stops later.
    let fake = intel();
    let mut meter = powercap::open(fake.clone()).unwrap();
    let (package, memory) = (
        format!("{CAP}/intel-rapl:0/energy_uj"),
        format!("{CAP}/intel-rapl:0:1/energy_uj"),
    );
    fake.file(&package, "9000000");
    fake.file(&memory, "9000000");
    fake.pass(1.0);
    meter.read_uj().unwrap();
    fake.pass(3.0);
    assert!(meter.read_uj().unwrap_err().reason.contains("did not move in 3.0 s"));
}

#[test]
fn memory_that_counts_nothing_is_left_out_and_said_so() {
    let fake = intel();
    fake.file(&format!("{CAP}/intel-rapl:0:1/energy_uj"), "0");
    let mut meter = powercap::open(fake.clone()).unwrap();
    assert!(
        meter
            .source()
            .name
            .contains("intel-rapl:0:1/energy_uj stands still and is left out"),
        "{:?}",
        meter.source()
    );
    fake.pass(1.0);
    assert!((joules(meter.as_mut()) - 20.0).abs() < 0.1);
}

#[test]
fn what_a_late_counter_had_not_told_before_is_not_counted() {
    let fake = Fake::new(&[(&format!("{CAP}/intel-rapl:0/name"), "package-0")]);
    counts(&fake, "intel-rapl:0", 0.0, 0, 262_143_328_850);
    // Nothing for a second, then 900 J from before at once, then 10 W.
    let late = |s: f64| {
        Ok(format!(
            "{}\n",
            if s < 1.0 {
                0
            } else {
                900_000_000 + ((s - 1.0) * 1e7) as u64
            }
        ))
    };
    fake.follows(&format!("{CAP}/intel-rapl:0/energy_uj"), late);
    let mut meter = powercap::open(fake.clone()).unwrap();
    fake.pass(5.0);
    let used = joules(meter.as_mut());
    assert!((used - 50.0).abs() < 0.1, "{used}");
}

#[test]
fn a_counter_that_was_set_back_is_an_error() {
    let fake = intel();
    let mut meter = powercap::open(fake.clone()).unwrap();
    fake.pass(1.0);
    fake.file(&format!("{CAP}/intel-rapl:0/energy_uj"), "5");
    let error = meter.read_uj().unwrap_err();
    assert!(
        error.reason.contains("to 5 in 1.0") && error.mend.contains("reset"),
        "{error}"
    );
}

#[test]
fn what_is_no_number_is_an_error() {
    for value in ["", "-1", "12 J", "99999999999999999999999"] {
        let fake = intel();
        fake.file(&format!("{CAP}/intel-rapl:0/energy_uj"), value);
        assert!(
            refused(powercap::open(fake)).reason.contains("expected microjoules"),
            "{value}"
        );
    }
}

const POWER: &str = "sys/bus/event_source/devices/power";
/// 2^-32 J
const SCALE: &str = "2.3283064365386962890625e-10";

/// Two packages whose first CPUs are 0 and 8, 20 W each and 2 W of memory.
fn two_packages() -> Arc<Fake> {
    let fake = Fake::new(&[
        (&format!("{POWER}/type"), "25"),
        (&format!("{POWER}/cpumask"), "0,8"),
        ("proc/sys/kernel/perf_event_paranoid", "2"),
    ]);
    for (name, config) in [
        ("energy-cores", 1),
        ("energy-pkg", 2),
        ("energy-ram", 3),
        ("energy-gpu", 4),
        ("energy-psys", 5),
    ] {
        fake.file(&format!("{POWER}/events/{name}"), &format!("event=0x{config:02x}"));
        fake.file(&format!("{POWER}/events/{name}.scale"), SCALE);
        fake.file(&format!("{POWER}/events/{name}.unit"), "Joules");
        let watts = [0.0, 90.0, 20.0, 2.0, 90.0, 90.0][config as usize];
        for cpu in [0, 8] {
            fake.event(config, cpu, move |s| {
                Ok(((s * 1e3).floor() / 1e3 * watts * 2f64.powi(32)) as u64)
            });
        }
    }
    fake
}

#[test]
fn events_of_all_packages_are_summed() {
    let fake = two_packages();
    let mut meter = perf::open(fake).unwrap();
    assert_eq!(meter.source().name, "perf energy-pkg + energy-ram of 2 packages");
    assert_eq!(meter.read_within(), None);
    // The clock advances half a millisecond with each reading, so 2000 readings are a second.
    for _ in 0..1999 {
        meter.read_uj().unwrap();
    }
    let used = joules(meter.as_mut());
    assert!((used - 44.0).abs() < 0.1, "1 s at 2 x (20 + 2) W: {used}");
}

#[test]
fn a_kernel_that_refuses_events_is_told_from_one_without() {
    let fake = two_packages();
    fake.event(2, 8, |_| Err(ErrorKind::PermissionDenied));
    let error = refused(perf::open(fake));
    assert_eq!(error.what, "power/energy-pkg/ on CPU 8");
    assert!(error.reason.contains("kernel.perf_event_paranoid is 2"), "{error}");
    assert!(error.mend.contains("sysctl kernel.perf_event_paranoid=0"), "{error}");
    let error = refused(perf::open(Fake::new(&[])));
    assert!(
        error.reason.contains("no events for energy") && error.mend.contains("modprobe rapl"),
        "{error}"
    );
}

#[test]
fn event_files_that_are_not_as_expected_are_named() {
    for (file, text, reason) in [
        ("events/energy-pkg", "config=2", "expected event=0x"),
        ("events/energy-pkg.unit", "Watts", "expected Joules"),
        ("events/energy-ram.scale", "much", "expected a positive number"),
        ("cpumask", "", "expected CPUs"),
        ("type", "x", "expected a number"),
    ] {
        let fake = two_packages();
        fake.file(&format!("{POWER}/{file}"), text);
        let error = refused(perf::open(fake));
        assert!(
            error.what.contains(POWER) && error.reason.contains(reason),
            "{file}: {error}"
        );
    }
}

#[test]
fn events_that_count_nothing_are_no_zero() {
    let fake = two_packages();
    fake.event(2, 0, |_| Ok(0));
    assert!(refused(perf::open(fake)).reason.contains("stands still"));
    let fake = two_packages();
    fake.event(3, 0, |_| Ok(7));
    let meter = perf::open(fake).unwrap();
    assert!(
        meter.source().name.contains("energy-ram/ on CPU 0 stands still"),
        "{:?}",
        meter.source()
    );
}

proptest! {
    /// The thread reads a meter often enough, even if it is late by up to nine of its ten readings: a caller who asks once in three wraps of the
    /// counter gets the energy of all of them. This holds for any range and any power that a zone allows, and for the shortest time.
    #[test]
    fn several_turns_between_two_questions_are_all_counted(
        range_uj in 500_000_000_u64..70_000_000_000,
        first in 0.0_f64..1.0,
        watts in 50.0_f64..500.0,
        late in proptest::collection::vec(0.0_f64..8.99, 1..8),
    ) {
        let fake = Fake::new(&[(&format!("{CAP}/intel-rapl:0/name"), "package-0")]);
        let at_uj = move |now: f64| ((now * 1e3).floor() * watts * 1e3) as u64;
        let first_uj = (first * range_uj as f64) as u64;
        fake.file(&format!("{CAP}/intel-rapl:0/max_energy_range_uj"), &range_uj.to_string());
        fake.follows(&format!("{CAP}/intel-rapl:0/energy_uj"), move |now| {
            Ok(format!("{}\n", (first_uj + at_uj(now)) % range_uj))
        });
        let mut meter = powercap::open(fake.clone()).unwrap();
        let pause = sampler::pause(meter.read_within().unwrap());
        let opened_uj = at_uj(fake.seconds());
        for late in late.iter().cycle() {
            fake.pass(pause.as_secs_f64() * (1.0 + late));
            meter.read_uj().unwrap();
            if at_uj(fake.seconds()) > opened_uj + 3 * range_uj {
                break;
            }
        }
        prop_assert_eq!(meter.read_uj().unwrap(), at_uj(fake.seconds()) - opened_uj);
    }

    /// Whatever the counter's range, its first value and how often it is read, the joules are correct, or an error says that they are not known.
    /// They never fall, and never miss or add a wrap.
    #[test]
    fn any_readings_give_the_true_joules_or_an_error(
        range_uj in 1_000_000_000_u64..300_000_000_000,
        first in 0.0_f64..1.0,
        watts in 0.1_f64..500.0,
        gaps in proptest::collection::vec(0.0_f64..1.05, 1..40),
    ) {
        let fake = Fake::new(&[(&format!("{CAP}/intel-rapl:0/name"), "package-0")]);
        let at_uj = move |now: f64| ((now * 1e3).floor() * watts * 1e3) as u64;
        let first_uj = (first * range_uj as f64) as u64;
        fake.file(&format!("{CAP}/intel-rapl:0/max_energy_range_uj"), &range_uj.to_string());
        fake.follows(&format!("{CAP}/intel-rapl:0/energy_uj"), move |now| {
            Ok(format!("{}\n", (first_uj + at_uj(now)) % range_uj))
        });
        let mut meter = powercap::open(fake.clone()).unwrap();
        let limit = meter.read_within().unwrap();
        let opened_uj = at_uj(fake.now().as_secs_f64());
        let mut known = true;
        for gap in gaps {
            let before = fake.now();
            fake.pass(gap * limit.as_secs_f64());
            known &= fake.now() - before <= limit;
            match meter.read_uj() {
                Ok(used_uj) => {
                    prop_assert!(known);
                    prop_assert_eq!(used_uj, at_uj(fake.now().as_secs_f64()) - opened_uj);
                }
                Err(error) => prop_assert!(!known || error.reason.contains("stands still"), "{}", error),
            }
        }
    }
}
