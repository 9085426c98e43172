// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a second is worth: `policy.goal`.

mod common;
use common::*;
use lop_machine::{EnergyPreference, Governor, Machine};
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
        exactly(outcome.counters.lost_fixed_speed_s, (time_ms - 10) as f64 / 1e3);
        assert_eq!(
            outcome.counters.lost_slow_start_s, 0.0,
            "a speed that was chosen is no slow start"
        );
    }
}

/// The same work and machine, where the processor chooses by windows of 5 ms. A second counts for a quarter of the machine's power, 2 W with a base of 0: work costs 3 / 0.5 and
/// 9 / 1, so the choice begins at 1000 MHz. A quarter of the work is done when the first window shows that the core is busy, and the rest takes 7.5 ms. With a base of 24 W a second
/// counts for 8 W, and 2000 MHz is cheapest. Speed leaves no choice, nor does another policy.
#[test]
fn balanced_a_processor_chooses_from_the_cheapest_point_upwards() {
    let work = tasks_of(1, vec![run_ms(10)]);
    let mut machine = machine(1);
    machine.ships.governor = Some(Governor::Hwp(EnergyPreference::BalancePerformance));
    machine.cpufreq.hwp_window_ns = (5_000_000, 5_000_000);
    for (base_uw, goal, name, time_us) in [
        (0, Goal::Balanced, "auto", 12_500),
        (24_000_000, Goal::Balanced, "auto", 10_000),
        (0, Goal::Speed, "auto", 10_000),
        (0, Goal::Balanced, "highlow", 10_000),
    ] {
        machine.base_uw = base_uw;
        let outcome = aimed(&machine, &work, name, goal, Watts::Measured);
        assert_eq!(outcome.time_ns, time_us * 1000, "{base_uw}, {goal:?}, {name}");
    }
}

/// On battery a processor that chooses is shipped with another preference.
#[test]
fn for_energy_the_baseline_is_what_ships_on_battery() {
    let laptop = lop_machine::load("laptop-hybrid", &[]).unwrap();
    let work = lop_simulator::workload::load("browser", &[]).unwrap().build(1);
    let energy_j = |name, goal| aimed(&laptop, &work, name, goal, Watts::Measured).system_energy_j;
    assert_eq!(
        energy_j("linux", Goal::Energy),
        energy_j("linux:hwp@balance_power", Goal::Energy)
    );
    assert_eq!(energy_j("linux", Goal::Balanced), energy_j("linux:hwp", Goal::Balanced));
    assert!(energy_j("linux", Goal::Energy) < energy_j("linux", Goal::Balanced));
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
