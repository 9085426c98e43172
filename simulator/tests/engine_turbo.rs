// SPDX-License-Identifier: MIT OR Apache-2.0
//! The highest speed by the number of busy cores, against schedules computed by hand.

mod common;
use common::*;
use lop_machine::{Machine, Turbo};
use lop_simulator::workload::Workload;
use lop_simulator::TraceEvent;

/// Cores of `two_speeds`: 2000 MHz with up to `fast` of them busy, 1000 MHz with more.
fn turbo(cores: u16, fast: usize) -> Machine {
    let mut machine = machine(cores);
    let entry = |busy_cores, opp| Turbo { busy_cores, opp };
    machine.kinds[0].turbo = vec![entry(fast, 1), entry(usize::from(cores), 0)];
    machine
}

/// One task of each length, in ms at 2000 MHz.
fn lengths_ms(lengths: &[u64]) -> Workload {
    workload_of(lengths.iter().map(|&ms| program("task", vec![run_ms(ms)])).collect())
}

/// W / f at the lower speed while both run: 50 ms of work in 100 ms. The other task then has 50 ms left, at the higher speed. Busy cores draw 2 W at
/// 1000 MHz and 8 W at 2000 MHz; the idle one goes up too, and draws 2 W.
///
///     0.1 s * (2 W + 2 W) + 0.05 s * (8 W + 2 W) = 0.9 J
#[test]
fn two_tasks_share_the_lower_speed_and_one_has_the_higher() {
    let machine = turbo(2, 1);
    assert_eq!(run(&machine, &lengths_ms(&[100]), PERFORMANCE).time_ns, 100 * MS);
    assert_eq!(run(&machine, &lengths_ms(&[100, 100]), PERFORMANCE).time_ns, 200 * MS);
    let outcome = run(&machine, &lengths_ms(&[50, 100]), PERFORMANCE);
    assert_eq!(outcome.time_ns, 150 * MS);
    exactly(outcome.cpu_energy_j, 0.9);
    // Each of the two lost half of 100 ms, by no governor's mistake.
    exactly(outcome.counters.lost_fixed_speed_s, 0.1);
    assert_eq!(
        outcome.counters.lost_mismeasured_s + outcome.counters.lost_slow_start_s,
        0.0
    );
}

/// `highlow` asks for the higher speed for both cores too, and gets the lower one.
#[test]
fn no_policy_gets_more_than_the_limit() {
    for name in [PERFORMANCE, "highlow", "auto"] {
        let outcome = run(&turbo(2, 1), &lengths_ms(&[100, 100]), name);
        assert_eq!(outcome.time_ns, 200 * MS, "{name}");
        assert_eq!(outcome.counters.lost_slow_start_s, 0.0, "{name}");
    }
    for name in policy_names() {
        let outcome = run(&turbo(4, 2), &lengths_ms(&[20, 30, 40, 50, 60]), name);
        assert!(outcome.bounds.time_s <= outcome.time_ns as f64 / 1e9, "{name}");
        assert!(outcome.bounds.system_energy_j <= outcome.system_energy_j, "{name}");
    }
}

/// A change takes as long as any other: both run 10 ms at 2000 MHz first, which leaves 90 ms of work, 180 ms at 1000 MHz.
#[test]
fn a_lower_limit_takes_the_transition_time() {
    let mut machine = turbo(2, 1);
    machine.cpufreq.transition_ns = 10 * MS;
    assert_eq!(run(&machine, &lengths_ms(&[100, 100]), PERFORMANCE).time_ns, 190 * MS);
}

#[test]
fn sockets_count_by_themselves() {
    let mut machine = turbo(2, 1);
    machine.cpus[1].socket = 1;
    machine.nr_sockets = 2;
    assert_eq!(run(&machine, &lengths_ms(&[100, 100]), PERFORMANCE).time_ns, 100 * MS);
}

/// Cores of one clock are held by the kind with the lower limit, whichever is busy.
#[test]
fn kinds_count_by_themselves_and_a_shared_clock_has_the_lowest_limit() {
    let mut machine = turbo(2, 1);
    let mut other = machine.kinds[0].clone();
    (other.turbo, other.hardware) = (vec![], 1);
    machine.kinds.push(other);
    machine.cpus[1].kind = 1;
    assert_eq!(run(&machine, &lengths_ms(&[100, 100]), PERFORMANCE).time_ns, 100 * MS);
    machine.kinds[0].turbo = vec![Turbo { busy_cores: 1, opp: 0 }];
    let speed = |machine: &Machine| run(machine, &lengths_ms(&[100]), "pack").time_ns;
    assert_eq!(speed(&machine), 200 * MS);
    machine.cpus.swap(0, 1);
    machine.cpus[0].core = 0;
    machine.cpus[1].core = 1;
    (machine.cpus[0].clock_domain, machine.cpus[1].clock_domain) = (0, 1);
    assert_eq!(speed(&machine), 100 * MS);
    assert_eq!(speed(&one_clock(machine)), 200 * MS);
}

/// `max_mhz` makes two kinds of one, and the hardware counts the busy cores of both: 500 MHz with both busy.
#[test]
fn held_cores_count_with_the_others() {
    let mut machine = turbo(2, 1);
    for kind in &mut machine.kinds {
        kind.opps.insert(0, opp(500, 1000, 1.0, 2.0, 0.0));
        kind.turbo = vec![Turbo { busy_cores: 1, opp: 2 }, Turbo { busy_cores: 2, opp: 0 }];
    }
    let mut held = machine.kinds[0].clone();
    held.opps.truncate(2);
    held.turbo[0].opp = 1;
    machine.kinds.push(held);
    machine.cpus[1].kind = 1;
    assert_eq!(run(&machine, &lengths_ms(&[100, 100]), PERFORMANCE).time_ns, 400 * MS);
}

/// Without load no speed changes: the last one is when the task has ended.
#[test]
fn an_idle_machine_stays_idle() {
    let mut workload = lengths_ms(&[100, 100]);
    workload.duration_ns = Some(10 * SECOND);
    workload.programs.push(program("late", vec![sleep_ms(9000), run_ms(1)]));
    workload.starts.push(start(2, 1));
    let outcome = run_traced(&turbo(2, 1), &workload, PERFORMANCE);
    let changes = outcome.trace.iter().filter_map(|event| match *event {
        TraceEvent::Speed { at_ns, .. } => Some(at_ns / MS),
        _ => None,
    });
    assert!(changes.into_iter().all(|ms| ms <= 200));
}
