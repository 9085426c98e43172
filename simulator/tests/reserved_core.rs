// SPDX-License-Identifier: MIT OR Apache-2.0
//! A core reserved for the operating system's own work, in the simulated world: who runs where, at which speed, what it costs. By hand.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::Workload;
use lop_simulator::{Outcome, TraceEvent, TraceSet};
use std::collections::BTreeSet;

/// CPUs on which tasks of this name ran.
fn cpus_of(outcome: &Outcome, name: &str) -> BTreeSet<u16> {
    let of_name = |event: &TraceEvent| match *event {
        TraceEvent::Start { task, cpu, .. } if outcome.task_names[task as usize] == name => Some(cpu),
        _ => None,
    };
    outcome.trace.iter().filter_map(of_name).collect()
}

/// Frequency changes of a CPU: when, in ms, and to how many MHz.
fn speeds_of(outcome: &Outcome, cpu: u16) -> Vec<(u64, u64)> {
    let of_cpu = |event: &TraceEvent| match *event {
        TraceEvent::Speed { at_ns, cpu: of, khz } if of == cpu => Some((at_ns / MS, khz / 1000)),
        _ => None,
    };
    outcome.trace.iter().filter_map(of_cpu).collect()
}

/// Three threads of 20 steps of 5 ms and a barrier; every 10 ms two daemons wake together for 1 ms each.
fn steps_and_daemons() -> Workload {
    toml(
        r#"
        [app.system]
        system = true
        [barrier.step]
        parties = 3
        [task.worker]
        count = 3
        steps = [{ repeat = 20, steps = [{ run_ms = 5 }, { barrier = "step" }] }]
        [task.daemon]
        app = "system"
        count = 2
        arrivals = { every_ms = 10, limit = 10 }
        steps = [{ run_ms = 1 }]
        "#,
    )
}

/// On four cores at 2000 MHz: the first daemon finds the idle core, the other one a thread's, which makes all three wait. With a core
/// reserved at 1000 MHz the daemons are there, 4 of 10 ms, and the threads take 20 times 5 ms.
#[test]
fn daemons_delay_a_program_of_barriers_unless_they_have_a_core() {
    let (machine, workload) = (machine(4), steps_and_daemons());
    let beside = run_traced(&machine, &workload, PERFORMANCE);
    assert!(cpus_of(&beside, "daemon").len() > 1);
    assert!(beside.time_ns > 102 * MS, "{}", beside.time_ns);
    let reserved = run_traced(&machine, &workload, "reserved-core");
    assert_eq!(reserved.time_ns, 100 * MS);
    assert_eq!(cpus_of(&reserved, "daemon"), BTreeSet::from([0]));
    assert_eq!(cpus_of(&reserved, "worker"), BTreeSet::from([1, 2, 3]));
    // 7.7 W in all: 40 of 100 ms busy at 2 W, idle at 1 W there; always busy at 8 W elsewhere.
    exactly(reserved.cpu_energy_j, 0.04 * 2.0 + 0.06 + 3.0 * 0.8);
}

/// Nobody else has a reserved core, and there daemons are tasks like any other: no difference to not saying what they are.
#[test]
fn other_policies_take_no_notice_of_what_is_the_systems() {
    let workload = steps_and_daemons();
    let mut plain = workload.clone();
    plain.apps.iter_mut().for_each(|app| app.system = false);
    for name in policy_names().into_iter().filter(|&name| name != "reserved-core") {
        assert_eq!(
            run_traced(&machine(4), &workload, name),
            run_traced(&machine(4), &plain, name),
            "{name}"
        );
    }
}

/// A core of the machine with two siblings each and 1 GHz steps up to 4.
fn smt_machine() -> Machine {
    let opps = (1..=4)
        .map(|ghz| opp(ghz * 1000, 1000, ghz as f64, 4.0 * ghz as f64, 0.0))
        .collect();
    let mut kind = kind(1.0, opps);
    kind.smt_speedup = 1.2;
    machine_of(kind, 2, 2)
}

/// Siblings are numbered {0, 1} and {2, 3}; 0 is reserved, so 1 runs at its speed, though it is high, and 2 and 3 at 4000 MHz. 3 ms of
/// work alone on a core take 3 ms at the highest, and at 4/4 of it, 6 at 2/4 and 12 at 1/4.
#[test]
fn the_sibling_of_the_reserved_cpu_runs_at_its_speed() {
    for (name, mhz, ms) in [
        ("reserved-core@4/4", 4000, 3),
        ("reserved-core@3000", 3000, 4),
        ("reserved-core", 2000, 6),
        ("reserved-core@1/4", 1000, 12),
    ] {
        for (cpu, mhz, ms) in [(1, mhz, ms), (2, 4000, 3)] {
            let mut pinned = program("pinned", vec![run_ms(3)]);
            pinned.cpus = Some(BTreeSet::from([cpu]));
            let outcome = run_traced(&smt_machine(), &workload_of(vec![pinned]), name);
            assert_eq!(outcome.time_ns, ms * MS, "{name}, CPU {cpu}");
            let lost_s = (outcome.counters.lost_fixed_speed_s, outcome.counters.lost_slow_start_s);
            assert_eq!(lost_s, ((ms - 3) as f64 / 1e3, 0.0), "{name}, CPU {cpu}");
            assert_eq!(speeds_of(&outcome, cpu), [(0, mhz)], "{name}, CPU {cpu}");
        }
    }
}

/// With one clock for all the highest wish holds, and that is the highest speed.
#[test]
fn with_one_clock_for_all_the_reserved_core_is_not_slow() {
    let outcome = run_traced(&one_clock(machine(4)), &steps_and_daemons(), "reserved-core");
    assert_eq!(speeds_of(&outcome, 0), [(0, 2000)]);
}

/// Bound to the reserved CPU, a task runs there and at its speed; two that may run anywhere have the other CPU and share it.
#[test]
fn a_task_bound_to_the_reserved_cpu_runs_there() {
    let mut bound = program("bound", vec![run_ms(5)]);
    bound.cpus = Some(BTreeSet::from([0]));
    let mut workload = workload_of(vec![bound, program("free", vec![run_ms(5)])]);
    workload.starts[1].count = 2;
    let outcome = run_traced(&machine(2), &workload, "reserved-core");
    assert_eq!(cpus_of(&outcome, "bound"), BTreeSet::from([0]));
    assert_eq!(cpus_of(&outcome, "free"), BTreeSet::from([1]));
    assert_eq!(outcome.time_ns, 10 * MS);
}

/// 1 s of the system's work at once, reserved at 1000 of 4000 MHz: raised to 2000 after 100 ms, and so on, and given up after 400 ms.
#[test]
fn a_saturated_core_is_raised_and_then_given_up() {
    let mut kind = smt_machine().kinds[0].clone();
    kind.smt_speedup = 1.0;
    let mut workload = toml(
        r#"
        [app.system]
        system = true
        [task.daemon]
        app = "system"
        steps = [{ run_ms = 1000 }]
        [task.other]
        app = "system"
        start_ms = 600
        count = 2
        steps = [{ run_ms = 100 }]
        "#,
    );
    workload.duration_ns = Some(SECOND);
    let outcome = run_traced(&machine_of(kind, 2, 1), &workload, "reserved-core@1/4");
    assert_eq!(
        speeds_of(&outcome, 0),
        [(0, 1000), (100, 2000), (200, 3000), (300, 4000)]
    );
    let joined = |event: &TraceEvent| match *event {
        TraceEvent::Set {
            at_ns,
            cpu: 0,
            set: TraceSet::High,
        } => Some(at_ns / MS),
        _ => None,
    };
    assert_eq!(outcome.trace.iter().filter_map(joined).collect::<Vec<_>>(), [400]);
    let counters = &outcome.counters;
    assert_eq!(
        (counters.reserved_core_raises, counters.reserved_core_given_up),
        (Some(3), Some(1))
    );
    assert_eq!(
        cpus_of(&outcome, "other"),
        BTreeSet::from([0, 1]),
        "an ordinary task by then"
    );
}

/// Duty cycles: watts go with the square, busy and idle alike. All four cores idle for a second: 3 at 5.88 W and one at 6/8 of the duty.
#[test]
fn the_reserved_core_of_a_duty_cycle_machine_draws_the_square_of_its_duty() {
    let workload = tasks_of(1, vec![sleep_ms(1000)]);
    let machine = built_in("poweredge-6650");
    for (name, duty) in [
        ("reserved-core@8/8", 1.0),
        ("reserved-core@7/8", 0.875),
        ("reserved-core@1050", 0.75),
    ] {
        within(
            run(&machine, &workload, name).cpu_energy_j,
            5.88 * (3.0 + duty * duty),
            1e-3,
        );
    }
    // And busy: bound to the sibling, so that one core is busy at 6/8, and the work takes 8/6 of the time.
    let mut bound = program("bound", vec![run_ms(350)]);
    bound.cpus = Some(BTreeSet::from([4]));
    let outcome = run(&machine, &workload_of(vec![bound]), "reserved-core@6/8");
    let seconds = 8.0 / 6.0;
    within(outcome.time_ns as f64 / 1e9, seconds, 1e-3);
    within(outcome.cpu_energy_j, seconds * (26.95 * 0.5625 + 3.0 * 5.88), 1e-3);
}

fn built_in(name: &str) -> Machine {
    lop_machine::load(name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_name_asks_for_what_the_machine_has() {
    let workload = tasks_of(1, vec![run_ms(1)]);
    for (machine, name, expected) in [
        (machine(1), "reserved-core", "has one CPU; expected two at least"),
        (
            machine(4),
            "reserved-core@1500",
            "expected one of the frequencies of machine 'test', in MHz: 1000, 2000",
        ),
    ] {
        let error = try_run(&machine, &workload, name).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

const SHARES: [(&str, f64); 3] = [("0.62", 0.62), ("0.35", 0.35), ("0", 0.0)];
const DUTIES: [(&str, f64); 4] = [
    ("reserved-core@8/8", 1.0),
    ("reserved-core@7/8", 0.875),
    ("reserved-core@6/8", 0.75),
    ("reserved-core@5/8", 0.625),
];

/// The 6650 without SMT does 0.35 of the reference core's work, so T_1 = 30 s and T(n) = 30 ((1 - b) / n + b). Three threads beside a
/// reserved core take T(3) whatever its duty d. Their cores are busy, and so is the reserved one for 4000 events of 50 us / (0.35 d):
///
///     E = T(3) (3 * 26.95 + 5.88 d^2) + 4000 * 50 us / (0.35 d) * (26.95 - 5.88) d^2      for b = 0
#[test]
fn three_threads_beside_a_reserved_core_take_what_the_formula_says() {
    let study = study("reserved-core", |_| {});
    let time_s = |b: f64, n: f64| 30.0 * ((1.0 - b) / n + b);
    for (share, b) in SHARES {
        for (policy, _) in DUTIES {
            let mean = at(&study, policy, &["6650, 3 threads", share, "0"]).mean;
            within(mean.time_s, time_s(b, 3.0), 1e-3);
        }
        // A thread for each core has the system's work to wait for besides.
        let all = at(&study, PERFORMANCE, &["6650, 4 threads", share, "0"]).mean;
        assert!(
            all.time_s > time_s(b, 4.0) && all.time_s < 1.05 * time_s(b, 4.0),
            "{b}: {}",
            all.time_s
        );
    }
    for (policy, duty) in DUTIES {
        let mean = at(&study, policy, &["6650, 3 threads", "0", "0"]).mean;
        let busy_s = 4000.0 * 50e-6 / (0.35 * duty);
        let expected_j = 10.0 * (3.0 * 26.95 + 5.88 * duty * duty) + busy_s * 21.07 * duty * duty;
        within(mean.cpu_energy_j, expected_j, 2e-3);
        within(mean.edp_js, mean.cpu_energy_j * mean.time_s, 1e-9);
    }
}

/// The lower its duty, the less the processors draw, and the base load has its 100 W beside.
#[test]
fn a_lower_duty_takes_power_and_a_base_load_hides_it() {
    let study = study("reserved-core", |_| {});
    for (share, _) in SHARES {
        for machine in [
            "6650, SMT, 7 threads",
            "6650, 3 threads",
            "2650, SMT, 3 threads",
            "2650, 1 thread",
        ] {
            let power_w =
                |policy: &str, base_w: &str| at(&study, policy, &[machine, share, base_w]).mean.system_power_w;
            for pair in DUTIES.windows(2) {
                assert!(
                    power_w(pair[1].0, "0") < power_w(pair[0].0, "0"),
                    "{machine}, b = {share}"
                );
            }
            for (policy, _) in DUTIES {
                within(power_w(policy, "100"), power_w(policy, "0") + 100.0, 1e-9);
            }
        }
    }
}

/// Nobody but the system on the reserved CPU: the set never has more than the others.
#[test]
fn the_study_keeps_its_reservation() {
    for result in study("reserved-core", |_| {}).results {
        if result.policy.to_string().starts_with("reserved-core") {
            let machine = result.point[0].1.to_string();
            let others = match (machine.contains("6650"), machine.contains("SMT")) {
                (true, true) => 7,
                (true, false) | (false, true) => 3,
                (false, false) => 1,
            };
            assert_eq!(result.counters["high_set_max"], others, "{machine}");
            assert_eq!(result.counters["reserved_core_raises"], 0, "{machine}");
            assert_eq!(result.counters["reserved_core_given_up"], 0, "{machine}");
        }
    }
}
