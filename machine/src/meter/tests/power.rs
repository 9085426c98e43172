// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters of power, and gauges: hwmon, battery, ipmi, command.

use super::fake::{prints, Fake};
use crate::meter::world::Printed;
use crate::meter::{battery, command, hwmon, ipmi, sampler, Meter, MeterError};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

fn refused(result: Result<Box<dyn Meter>, MeterError>) -> MeterError {
    match result {
        Ok(meter) => panic!("opened {:?}", meter.source()),
        Err(error) => error,
    }
}

/// Reads every `step` seconds for `seconds`; J.
fn measured(fake: &Fake, meter: &mut dyn Meter, seconds: f64, step: f64) -> f64 {
    let mut uj = 0;
    for _ in 0..(seconds / step).round() as usize {
        fake.pass(step);
        uj = meter.read_uj().unwrap();
    }
    uj as f64 / 1e6
}

const HWMON: &str = "sys/class/hwmon";

#[test]
fn an_arm_board_counts_its_clusters_and_not_its_graphics() {
    let fake = Fake::new(&[
        ("sys/class/hwmon/hwmon0/name", "scmi_sensors"),
        ("sys/class/hwmon/hwmon0/energy1_label", "big cluster"),
        ("sys/class/hwmon/hwmon0/energy2_label", "LITTLE cluster"),
        ("sys/class/hwmon/hwmon0/energy3_label", "GPU"),
        ("sys/class/hwmon/hwmon0/power1_input", "9000000"),
        ("sys/class/hwmon/hwmon0/power1_label", "big cluster"),
    ]);
    for (n, watts) in [(1, 3.0), (2, 0.5), (3, 7.0)] {
        fake.follows(&format!("{HWMON}/hwmon0/energy{n}_input"), move |s| {
            Ok(format!("{}\n", (s * watts * 1e6) as u64))
        });
    }
    let mut meter = hwmon::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "hwmon scmi_sensors big cluster + LITTLE cluster");
    assert!(!meter.source().whole_system);
    let used = measured(&fake, meter.as_mut(), 10.0, 1.0);
    assert!((used - 35.0).abs() < 0.01, "{used}");
}

#[test]
fn sockets_go_before_their_cores_and_the_system_stands_alone() {
    let fake = Fake::new(&[
        ("sys/class/hwmon/hwmon3/name", "amd_energy"),
        ("sys/class/hwmon/hwmon3/energy1_label", "Ecore000"),
        ("sys/class/hwmon/hwmon3/energy2_label", "Esocket0"),
    ]);
    for n in [1, 2] {
        fake.follows(&format!("{HWMON}/hwmon3/energy{n}_input"), |s| {
            Ok(format!("{}\n", (s * 65e6) as u64))
        });
    }
    assert_eq!(hwmon::open(fake).unwrap().source().name, "hwmon amd_energy Esocket0");
    let fake = Fake::new(&[
        ("sys/class/hwmon/hwmon0/name", "power_meter"),
        ("sys/class/hwmon/hwmon0/power1_average", "150000000"),
        ("sys/class/hwmon/hwmon0/power1_average_interval", "1000"),
        ("sys/class/hwmon/hwmon1/name", "amdgpu"),
        ("sys/class/hwmon/hwmon1/power1_average", "30000000"),
    ]);
    let mut meter = hwmon::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "hwmon power_meter power1");
    assert!(meter.source().whole_system);
    assert_eq!(meter.source().update_period.unwrap().as_secs(), 1);
    assert!((measured(&fake, meter.as_mut(), 10.0, 0.5) - 1500.0).abs() < 1e-6);
}

/// Two supplies each feed half of a server: neither is the whole, and the suggested command must use the right unit.
#[test]
fn one_of_two_supplies_is_not_the_whole_system() {
    for (file, value, mend) in [
        ("power{}_input", "90000000", "power1_input) / 1000)) mW"),
        ("energy{}_input", "5", "measure at the wall"),
    ] {
        let fake = Fake::new(&[("sys/class/hwmon/hwmon0/name", "pmbus")]);
        for n in ["1", "2"] {
            fake.file(&format!("{HWMON}/hwmon0/{}", file.replace("{}", n)), value);
            let stem = file.replace("{}", n).replace("_input", "_label");
            fake.file(&format!("{HWMON}/hwmon0/{stem}"), &format!("pin{n}"));
        }
        let error = refused(hwmon::open(fake));
        assert!(
            error.reason.contains("the whole system's: pmbus pin1, pmbus pin2"),
            "{error:?}"
        );
        assert!(error.mend.contains(mend), "{error:?}");
    }
}

#[test]
fn power_is_summed_by_the_trapezoid_rule() {
    let fake = Fake::new(&[("sys/class/hwmon/hwmon0/name", "zenpower")]);
    // P = 10 W + 2 W/s * t: 10 s from t0 on are 10 * (10 + 2 t0) + 100 J
    fake.follows(&format!("{HWMON}/hwmon0/power1_input"), |s| {
        Ok(format!("{}\n", ((10.0 + 2.0 * s) * 1e6).round()))
    });
    let mut meter = hwmon::open(fake.clone()).unwrap();
    let begin_s = fake.seconds();
    let used = measured(&fake, meter.as_mut(), 10.0, 0.5);
    assert!((used - (10.0 * (10.0 + 2.0 * begin_s) + 100.0)).abs() < 1e-3, "{used}");
}

#[test]
fn power_that_nobody_looked_at_is_an_error() {
    let fake = Fake::new(&[
        ("sys/class/hwmon/hwmon0/name", "zenpower"),
        ("sys/class/hwmon/hwmon0/power1_input", "1000000"),
    ]);
    let mut meter = hwmon::open(fake.clone()).unwrap();
    fake.pass(2.5);
    assert!(meter.read_uj().unwrap_err().reason.contains("not read for 2.5 s"));
}

#[test]
fn sensors_that_tell_nothing_are_no_zero() {
    let fake = Fake::new(&[
        ("sys/class/hwmon/hwmon0/name", "zenpower"),
        ("sys/class/hwmon/hwmon0/power1_input", "0"),
    ]);
    assert!(refused(hwmon::open(fake.clone())).reason.contains("reads 0 W"));
    fake.refuses("sys/class/hwmon/hwmon0/power1_input", ErrorKind::PermissionDenied);
    assert!(refused(hwmon::open(fake))
        .mend
        .contains("sudo chmod a+r /sys/class/hwmon/hwmon0/power1_input"));
    let graphics = [
        ("sys/class/hwmon/hwmon0/name", "amdgpu"),
        ("sys/class/hwmon/hwmon0/power1_input", "9000000"),
    ];
    assert!(refused(hwmon::open(Fake::new(&graphics))).reason.contains("no sensor"));
    let rails = [
        ("sys/class/hwmon/hwmon0/name", "ina226"),
        ("sys/class/hwmon/hwmon0/power1_input", "9000000"),
        ("sys/class/hwmon/hwmon1/name", "ina226"),
        ("sys/class/hwmon/hwmon1/power1_input", "9000000"),
    ];
    assert!(refused(hwmon::open(Fake::new(&rails)))
        .reason
        .contains("ina226 power1, ina226 power1"));
    let lone = hwmon::open(Fake::new(&rails[..2])).unwrap();
    assert_eq!(lone.source().name, "hwmon ina226 power1 (a rail without a name)");
}

fn laptop(status: &str) -> Arc<Fake> {
    Fake::new(&[
        ("sys/class/power_supply/AC/type", "Mains"),
        ("sys/class/power_supply/BAT0/type", "Battery"),
        ("sys/class/power_supply/BAT0/status", status),
        ("sys/class/power_supply/hidpp_battery_0/type", "Battery"),
        ("sys/class/power_supply/hidpp_battery_0/scope", "Device"),
    ])
}

#[test]
fn a_battery_tells_while_it_is_what_the_machine_runs_on() {
    let fake = laptop("Discharging");
    fake.file("sys/class/power_supply/BAT0/power_now", "8000000");
    let mut meter = battery::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "battery BAT0 (power)");
    assert!(meter.source().whole_system);
    assert!((measured(&fake, meter.as_mut(), 30.0, 1.0) - 240.0).abs() < 1e-6);
    fake.file("sys/class/power_supply/BAT0/status", "Charging");
    let error = meter.read_uj().unwrap_err();
    assert!(
        error.reason.contains("is charging") && error.mend.contains("unplug"),
        "{error}"
    );
}

#[test]
fn a_battery_at_the_wall_is_an_error() {
    for status in ["Charging", "Full", "Not charging", "Unknown"] {
        let fake = laptop(status);
        fake.file("sys/class/power_supply/BAT0/power_now", "8000000");
        assert!(refused(battery::open(fake)).mend.contains("unplug"), "{status}");
    }
    assert!(refused(battery::open(Fake::new(&[]))).reason.contains("no battery"));
    let error = refused(battery::open(laptop("Discharging")));
    assert!(
        error.what.contains("BAT0/") && error.mend.contains("--meter"),
        "{error}"
    );
}

#[test]
fn each_of_a_batterys_words_is_understood() {
    // 2 A at 11.5 V, discharge shown as negative
    let fake = laptop("Discharging");
    fake.file("sys/class/power_supply/BAT0/current_now", "-2000000");
    fake.file("sys/class/power_supply/BAT0/voltage_now", "11500000");
    let mut meter = battery::open(fake.clone()).unwrap();
    assert!((measured(&fake, meter.as_mut(), 10.0, 1.0) - 230.0).abs() < 1e-6);
    // 36 W are 10 mWh a second, from 50 Wh on
    let fake = laptop("Discharging");
    fake.follows("sys/class/power_supply/BAT0/energy_now", |s| {
        Ok(format!("{}\n", 50_000_000 - s.floor() as i64 * 10_000))
    });
    let mut meter = battery::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "battery BAT0 (content)");
    assert!((measured(&fake, meter.as_mut(), 100.0, 1.0) - 3600.0).abs() < 1e-6);
    // 1 mAh at 10 V are 36 J
    let fake = laptop("Discharging");
    fake.file("sys/class/power_supply/BAT0/voltage_now", "10000000");
    fake.follows("sys/class/power_supply/BAT0/charge_now", |s| {
        Ok(format!("{}\n", 4_000_000 - s.floor() as i64 * 1000))
    });
    let mut meter = battery::open(fake.clone()).unwrap();
    assert!((measured(&fake, meter.as_mut(), 10.0, 1.0) - 360.0).abs() < 1e-6);
}

const READING: &str = "    Instantaneous power reading:     200 Watts\n    Power reading state is:     activated\n";

fn server() -> Arc<Fake> {
    let fake = Fake::new(&[]);
    fake.modes.lock().unwrap().insert("dev/ipmi0".to_string(), 0o600);
    fake
}

#[test]
fn a_servers_controller_is_asked() {
    let fake = server();
    fake.program("ipmitool", |_| prints(READING));
    let mut meter = ipmi::open(fake.clone()).unwrap();
    assert_eq!(meter.source().name, "ipmi system power by ipmitool");
    assert!((measured(&fake, meter.as_mut(), 60.0, 2.0) - 12_000.0).abs() < 1e-6);
    fake.program("ipmitool", |_| Printed {
        stderr: "Could not open device at /dev/ipmi0".into(),
        code: Some(1),
        ..Printed::default()
    });
    fake.pass(2.0);
    let error = meter.read_uj().unwrap_err();
    assert!(
        error.reason.contains("Could not open") && error.mend.contains("sudo"),
        "{error}"
    );
}

#[test]
fn what_a_server_lacks_is_named() {
    assert!(refused(ipmi::open(Fake::new(&[]))).mend.contains("modprobe -a ipmi_si"));
    let fake = server();
    assert!(refused(ipmi::open(fake.clone()))
        .mend
        .contains("apt-get install ipmitool"));
    fake.program("ipmi-dcmi", |_| prints("Current Power : 0 Watts\n"));
    assert!(refused(ipmi::open(fake.clone())).reason.contains("0 W"));
    fake.program("ipmi-dcmi", |_| {
        prints("Current Power : 77 Watts\nPower Measurement : Active\n")
    });
    assert_eq!(
        ipmi::open(fake).unwrap().source().name,
        "ipmi system power by ipmi-dcmi"
    );
}

#[test]
fn a_command_tells_power_or_energy() {
    let fake = Fake::new(&[]);
    fake.program("sh", |_| prints("42.5 W\n"));
    let mut meter = command::open(fake.clone(), Some("my-meter")).unwrap();
    assert_eq!(meter.source().name, "command 'my-meter'");
    assert!((measured(&fake, meter.as_mut(), 10.0, 1.0) - 425.0).abs() < 1e-6);
    fake.program("sh", |s| prints(format!("{} Wh\n", 100.0 + (s / 10.0).floor())));
    let mut meter = command::open(fake.clone(), Some("my-meter")).unwrap();
    let used = measured(&fake, meter.as_mut(), 100.0, 1.0);
    assert!((used - 36_000.0).abs() < 1e-3, "{used}");
    fake.program("sh", |_| prints("42.5 W\n"));
    assert!(meter.read_uj().unwrap_err().reason.contains("at one time"));
}

/// A command that answers at once updates every second, one that takes two seconds every two.
#[test]
fn a_command_has_something_new_no_more_often_than_it_answers() {
    for unit in ["W", "J"] {
        for (takes_s, expected_s) in [(0.0, 1.0), (2.0, 2.0)] {
            let fake = Fake::new(&[]);
            let clock = Arc::downgrade(&fake);
            fake.program("sh", move |_| {
                clock.upgrade().unwrap().pass(takes_s);
                prints(format!("5 {unit}\n"))
            });
            let meter = command::open(fake, Some("my-meter")).unwrap();
            let period_s = meter.source().update_period.unwrap().as_secs_f64();
            assert_eq!(period_s, expected_s, "{takes_s} s for an answer in {unit}");
            if let Some(limit) = meter.read_within() {
                assert_eq!(sampler::pause(limit), Duration::from_secs(1), "after each answer");
            }
        }
    }
}

#[test]
fn a_command_that_fails_or_talks_is_an_error() {
    let fake = Fake::new(&[]);
    assert!(refused(command::open(fake.clone(), None)).mend.contains("--meter-cmd"));
    fake.program("sh", |_| prints("power: 3 W\n"));
    assert!(refused(command::open(fake.clone(), Some("x")))
        .reason
        .contains("printed 'power: 3 W'"));
    fake.program("sh", |_| Printed {
        stderr: "\nno device\n".into(),
        code: Some(3),
        ..Printed::default()
    });
    assert!(refused(command::open(fake.clone(), Some("x")))
        .reason
        .contains("exit code 3: no device"));
    fake.program("sh", |s| prints(format!("{} J\n", 1000.0 - s)));
    let mut meter = command::open(fake.clone(), Some("x")).unwrap();
    fake.pass(1.0);
    assert!(meter.read_uj().unwrap_err().reason.contains("went back"));
}
