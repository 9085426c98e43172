// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a second is worth: `policy.goal`.

mod common;
use common::*;
use lop_machine::Machine;
use lop_policy::Goal;
use lop_simulator::workload::Workload;
use lop_simulator::{simulate, Outcome, PolicyParameters, RunOptions, Watts};

fn aimed(machine: &Machine, workload: &Workload, name: &str, goal: Goal, watts: Watts) -> Outcome {
    let options = RunOptions {
        seed: 1,
        policy: PolicyParameters {
            goal,
            watts,
            ..PolicyParameters::default()
        },
        ..RunOptions::default()
    };
    simulate(machine, workload, &policy(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// 10 ms of work at 2000 MHz. Above asleep (1 W) a busy core draws 1 W at 1000 MHz and 7 W at 2000, and the machine 1 W and its base beside that. With a
/// base of 0 work costs 2 / 0.5 and 8 / 1, so it runs at 1000 MHz for energy: 20 ms at 2 W. With a base of 6 W it costs 8 / 0.5 and 14 / 1.
#[test]
fn for_energy_high_cores_run_where_the_machine_takes_least() {
    let work = tasks_of(1, vec![run_ms(10)]);
    let mut machine = machine(1);
    for (base_uw, goal, name, watts, time_ms, energy_j) in [
        (0, Goal::Energy, "auto", Watts::Measured, 20, 0.040),
        (0, Goal::Balanced, "auto", Watts::Measured, 10, 0.080),
        (0, Goal::Speed, "auto", Watts::Measured, 10, 0.080),
        (0, Goal::Energy, "auto", Watts::Unknown, 10, 0.080),
        (0, Goal::Energy, "auto:no-watts", Watts::Measured, 10, 0.080),
        (0, Goal::Energy, "highlow", Watts::Measured, 10, 0.080),
        (6_000_000, Goal::Energy, "auto", Watts::Measured, 10, 0.080),
    ] {
        machine.base_uw = base_uw;
        let outcome = aimed(&machine, &work, name, goal, watts);
        assert_eq!(outcome.time_ns, time_ms * 1_000_000);
        exactly(outcome.cpu_energy_j, energy_j);
    }
}

/// Energy takes less than balanced, and is not faster than speed. What speed keeps high on a laptop, a spare and one core for a second, takes more.
#[test]
fn less_for_a_second_takes_less_energy() {
    for (machine, workload, keeps) in [
        ("laptop-hybrid", "kernel-build", true),
        ("laptop-hybrid", "browser", true),
        ("laptop-hybrid", "video-call", true),
        ("laptop-hybrid", "bursts", true),
        ("phone-2024", "browser", false),
        ("desktop-hybrid", "kernel-build", true),
    ] {
        let model = lop_machine::load(machine, &[]).unwrap();
        let work = lop_simulator::workload::load(workload, &[]).unwrap().build(1);
        let [energy, balanced, speed] =
            Goal::NAMES.map(|(_, goal)| aimed(&model, &work, "auto", goal, Watts::Measured));
        let joules = [&energy, &balanced, &speed].map(|outcome| outcome.system_energy_j);
        assert!(joules[0] < joules[1], "{workload} on {machine}: {joules:?} J");
        assert!(!keeps || joules[1] < joules[2], "{workload} on {machine}: {joules:?} J");
        assert!(speed.time_ns <= energy.time_ns, "{workload} on {machine}");
    }
}
