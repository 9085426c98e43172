// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled meter: its formula compared with that of steady states, and what it reads.

use super::fake::Fake;
use crate::meter::modelled::{open, power_w, Load};
use crate::{load, steady_power_w, Activity, CoreState, Machine};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A machine whose CPUs are busy for these shares of the time.
fn running(busy: &'static [f64]) -> Arc<Fake> {
    let fake = Fake::new(&[]);
    let stat = move |s: f64| {
        let ticks = s * 100.0;
        let line = |(cpu, busy): (usize, &f64)| {
            format!(
                "cpu{cpu} {} 0 0 {} 0 0 0 0 0 0\n",
                (ticks * busy).round(),
                (ticks * (1.0 - busy)).round()
            )
        };
        let lines: String = busy.iter().enumerate().map(line).collect();
        Ok(format!("cpu  1 2 3 4 5 6 7 8 9 10\n{lines}intr 1 2 3\n"))
    };
    fake.follows("proc/stat", stat);
    fake
}

fn mean_w(fake: &Arc<Fake>, model: &str) -> (f64, String) {
    let machine = load(model, &[]).unwrap();
    let mut meter = open(fake.clone(), Some(&machine)).unwrap();
    for _ in 0..100 {
        fake.pass(0.2);
        meter.read_uj().unwrap();
    }
    (meter.read_uj().unwrap() as f64 / 20e6, meter.source().name.clone())
}

/// Every other core busy at its top, the others asleep at their highest or lowest point, in every idle state.
#[test]
fn whole_states_have_the_power_of_steady_states() {
    let without_watts = |machine: &mut Machine| {
        let states = machine.kinds.iter_mut().flat_map(|kind| &mut kind.idle_states);
        states.for_each(|state| state.power_uw = None);
    };
    let machines = crate::builtin_names().into_iter().map(|name| load(name, &[]).unwrap());
    for mut machine in machines {
        has_the_power_of_steady_states(&machine);
        // C1E: cores that neither hold the voltage nor have watts of their own.
        without_watts(&mut machine);
        has_the_power_of_steady_states(&machine);
    }
}

fn has_the_power_of_steady_states(machine: &Machine) {
    let depths = machine.kinds.iter().map(|kind| kind.idle_states.len()).max().unwrap();
    for (depth, sleeps_at_top) in (0..depths).flat_map(|depth| [(depth, true), (depth, false)]) {
        let state = |core: u16, kind: u16| {
            let kind = &machine.kinds[usize::from(kind)];
            let busy = core.is_multiple_of(2);
            CoreState {
                opp: if busy || sleeps_at_top { kind.opps.len() - 1 } else { 0 },
                activity: match busy {
                    true => Activity::Busy(1),
                    false => Activity::Idle(depth.min(kind.idle_states.len() - 1)),
                },
            }
        };
        let (mut loads, mut cores) = (Vec::new(), BTreeMap::new());
        for cpu in &machine.cpus {
            let state = state(cpu.core, cpu.kind);
            let first = cores.insert(cpu.core, state).is_none();
            let (busy, idle) = match state.activity {
                Activity::Busy(_) => (f64::from(u8::from(first)), 0),
                Activity::Idle(index) => (0.0, index),
            };
            loads.push(Load {
                busy,
                opps: vec![(state.opp, 1.0)],
                idle: vec![(idle, 1.0)],
            });
        }
        let cores: Vec<CoreState> = cores.into_values().collect();
        let (modelled, steady) = (power_w(machine, &loads), steady_power_w(machine, &cores));
        assert!(
            (modelled - steady).abs() < 1e-6 * steady,
            "{}, idle state {depth}: {modelled} W, {steady} W",
            machine.name
        );
    }
}

#[test]
fn half_busy_is_half_way_between_idle_and_busy() {
    let (idle, name) = mean_w(&running(&[0.0; 4]), "phenom-9750");
    let (half, _) = mean_w(&running(&[0.5; 4]), "phenom-9750");
    let (busy, _) = mean_w(&running(&[1.0; 4]), "phenom-9750");
    assert!(idle > 10.0 && busy > idle + 40.0, "{idle} W to {busy} W");
    assert!((half - (idle + busy) / 2.0).abs() < 0.01 * busy, "{idle} {half} {busy}");
    assert_eq!(
        name,
        "modelled from phenom-9750 (top frequency assumed, shallowest idle state assumed)"
    );
}

#[test]
fn frequencies_and_idle_states_are_taken_where_they_are_told() {
    let assumed = mean_w(&running(&[1.0; 4]), "phenom-9750").0;
    let slow = running(&[1.0; 4]);
    for cpu in 0..4 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        slow.file(&format!("{folder}/cpufreq/scaling_cur_freq"), "1200000");
        slow.file(&format!("{folder}/cpufreq/cpuinfo_max_freq"), "2400000");
    }
    let (sampled, name) = mean_w(&slow, "phenom-9750");
    assert!(sampled < 0.8 * assumed, "{sampled} W of {assumed} W");
    assert_eq!(name, "modelled from phenom-9750 (shallowest idle state assumed)");
    // The same as time at each frequency, on a machine twice as fast.
    let counted = running(&[1.0; 4]);
    for cpu in 0..4 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        counted.follows(&format!("{folder}/stats/time_in_state"), |s| {
            Ok(format!("4800000 7\n2400000 {}\n", (s * 100.0).round()))
        });
        counted.file(&format!("{folder}/cpuinfo_max_freq"), "4800000");
    }
    let (counted, _) = mean_w(&counted, "phenom-9750");
    assert!((counted - sampled).abs() < 1e-6 * sampled, "{counted} {sampled}");
}

#[test]
fn deeper_idle_states_cost_less() {
    let shallow = mean_w(&running(&[0.0; 4]), "laptop-hybrid").0;
    let deep = running(&[0.0; 4]);
    for cpu in 0..4 {
        for (state, residency, share) in [(0, 0, 0.0), (1, 2, 0.1), (2, 1_000_000, 0.9)] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
            deep.file(&format!("{folder}/residency"), &residency.to_string());
            deep.follows(&format!("{folder}/time"), move |s| {
                Ok(format!("{}\n", (s * share * 1e6).round()))
            });
        }
    }
    let (deep, name) = mean_w(&deep, "laptop-hybrid");
    assert!(deep < 0.95 * shallow, "{deep} W of {shallow} W");
    assert!(
        name.contains("top frequency assumed)") && !name.contains("idle state"),
        "{name}"
    );
}

#[test]
fn fewer_cpus_than_the_model_has_are_said_and_more_refused() {
    let (two, name) = mean_w(&running(&[1.0; 2]), "phenom-9750");
    let four = mean_w(&running(&[1.0; 4]), "phenom-9750").0;
    assert!(
        two < four && name.contains("2 of its 4 CPUs in use"),
        "{two} {four} {name}"
    );
    let machine = load("phenom-9750", &[]).unwrap();
    let error = open(running(&[1.0; 6]), Some(&machine)).err().unwrap();
    assert!(
        error.reason.contains("4 CPUs, and 6 are online") && error.mend.contains("at least 6"),
        "{error}"
    );
}

#[test]
fn without_a_model_the_machines_own_is_taken() {
    let fake = running(&[0.5; 4]);
    assert!(open(fake.clone(), None).err().unwrap().mend.contains("--model NAME"));
    fake.file("etc/lopsided/machine.toml", crate::builtin_text("phenom-9750").unwrap());
    assert!(open(fake.clone(), None)
        .unwrap()
        .source()
        .name
        .starts_with("modelled from phenom-9750"));
    fake.file("etc/lopsided/machine.toml", "name = 3");
    assert!(open(fake, None)
        .err()
        .unwrap()
        .what
        .contains("/etc/lopsided/machine.toml"));
}

#[test]
fn cpus_that_come_or_go_and_a_missing_proc_are_errors() {
    let fake = running(&[0.5; 4]);
    let machine = load("phenom-9750", &[]).unwrap();
    let mut meter = open(fake.clone(), Some(&machine)).unwrap();
    fake.file("proc/stat", "cpu0 1 1 1 1");
    fake.pass(1.0);
    assert!(meter.read_uj().unwrap_err().reason.contains("came or went"));
    assert!(open(Fake::new(&[]), Some(&machine))
        .err()
        .unwrap()
        .what
        .contains("proc/stat"));
}

#[test]
fn the_sum_never_falls() {
    let fake = running(&[1.0; 4]);
    let machine = load("phenom-9750", &[]).unwrap();
    let mut meter = open(fake.clone(), Some(&machine)).unwrap();
    let busy_until_s = fake.seconds();
    fake.follows("proc/stat", move |s| {
        let (busy, idle) = (
            (s.min(busy_until_s) * 100.0).round(),
            ((s - busy_until_s).max(0.0) * 100.0).round(),
        );
        Ok((0..4).map(|cpu| format!("cpu{cpu} {busy} 0 0 {idle}\n")).collect())
    });
    let mut last = 0;
    for _ in 0..50 {
        fake.pass(0.03);
        let now = meter.read_uj().unwrap();
        assert!(now >= last, "{now} after {last}");
        last = now;
    }
    assert!(last > 1_000_000);
}
