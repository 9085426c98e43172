// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads that cannot go on, that never come to an end, and that are cut by the clock.

mod common;
use common::*;
use lop_simulator::workload::{Barrier, Step, Waiting, Workload};
use lop_simulator::SimulationError;

/// Two cores for the tasks, also where one is reserved.
fn waits(workload: &Workload, name: &str) -> (u64, Vec<String>) {
    match try_run(&machine(3), workload, name) {
        Err(SimulationError::Deadlock { at_ns, waits }) => (at_ns, waits),
        other => panic!("{name}: expected a deadlock, found {other:?}"),
    }
}

#[test]
fn two_tasks_that_lock_in_opposite_order_are_told_who_waits_for_whom() {
    for (waiting, verb) in [("\"block\"", "waits for"), ("\"spin\"", "spins on")] {
        let workload = toml(&format!(
            r#"
            [mutex.left]
            waiting = {waiting}
            [mutex.right]
            waiting = {waiting}
            [task.a]
            steps = [{{ lock = "left" }}, {{ run_ms = 1 }}, {{ lock = "right" }}, {{ unlock = "right" }}, {{ unlock = "left" }}]
            [task.b]
            steps = [{{ lock = "right" }}, {{ run_ms = 2 }}, {{ lock = "left" }}, {{ unlock = "left" }}, {{ unlock = "right" }}]
            "#
        ));
        for name in policy_names() {
            let (at_ns, waits) = waits(&workload, name);
            let latest_ns = 5 * MS; // at half speed
            assert!((2 * MS..=latest_ns).contains(&at_ns), "{name}: {at_ns}");
            assert_eq!(
                waits,
                [
                    format!("a#0 {verb} mutex 'right' held by b#1"),
                    format!("b#1 {verb} mutex 'left' held by a#0"),
                ]
            );
        }
    }
}

/// One that spins for a while first blocks, and only then the run is stuck.
#[test]
fn limited_spinners_end_up_blocked() {
    let mut workload = tasks_of(1, vec![run_ms(1), Step::Barrier(0)]);
    workload.barriers.push(Barrier {
        name: "gate".into(),
        parties: 2,
        waiting: Waiting::SpinThenBlock { limit_ns: 3 * MS },
    });
    let (at_ns, waits) = waits(&workload, PERFORMANCE);
    assert_eq!(at_ns, 4 * MS);
    assert_eq!(
        waits,
        ["task#0 waits for barrier 'gate' where 1 of 2 have come, and no other task could"]
    );
}

#[test]
fn a_parent_of_a_stuck_child_is_named_too() {
    let workload = toml(
        r#"
        [condition.never]
        [task.parent]
        steps = [{ fork = "child" }, { join = "all" }]
        [task.child]
        count = 0
        steps = [{ wait = "never" }]
        "#,
    );
    let (at_ns, waits) = waits(&workload, "highlow-spare");
    assert_eq!(at_ns, 0);
    assert_eq!(
        waits,
        [
            "parent#0 waits for its children (1 live)",
            "child#1 waits for a signal on condition 'never', and no other task could"
        ]
    );
}

/// Others that still run, sleep or will come keep a waiting task from being called stuck.
#[test]
fn a_wait_that_somebody_may_still_end_is_no_deadlock() {
    let workload = toml(
        r#"
        [condition.c]
        [task.waiter]
        steps = [{ wait = "c" }]
        [task.late]
        start_ms = 50
        steps = [{ sleep_ms = 50 }, { signal = "c" }]
        "#,
    );
    for name in policy_names() {
        assert_eq!(run(&machine(2), &workload, name).time_ns, 100 * MS, "{name}");
    }
}

#[test]
fn a_loop_that_takes_no_time_is_ended() {
    let steps = vec![Step::Repeat { times: None, end: 2 }, Step::EndRepeat { start: 0 }];
    let mut workload = tasks_of(1, steps);
    workload.duration_ns = Some(SECOND);
    let error = try_run(&machine(1), &workload, PERFORMANCE).unwrap_err().to_string();
    assert!(
        error.contains("task#0 takes 1000000 steps without any time passing"),
        "{error}"
    );
}

#[test]
fn tasks_that_only_yield_to_each_other_are_ended() {
    let steps = vec![
        Step::Repeat { times: None, end: 3 },
        Step::Yield,
        Step::EndRepeat { start: 0 },
    ];
    let mut workload = tasks_of(2, steps);
    workload.duration_ns = Some(SECOND);
    let error = try_run(&machine(1), &workload, PERFORMANCE).unwrap_err().to_string();
    assert!(error.contains("time stands still at 0.000000 s"), "{error}");
}

#[test]
fn the_duration_cuts_a_run_to_the_nanosecond() {
    let mut workload = tasks_of(3, vec![run_ms(1000)]);
    workload.duration_ns = Some(123_456_789);
    for name in policy_names() {
        let outcome = run(&machine(2), &workload, name);
        assert_eq!(outcome.time_ns, 123_456_789, "{name}");
        exactly(outcome.bounds.time_s, 0.123456789);
        assert!(
            outcome.bounds.system_energy_j <= outcome.system_energy_j * (1.0 + 1e-12),
            "{name}"
        );
    }
    workload.duration_ns = Some(10 * SECOND);
    let whole = run(&machine(3), &workload, PERFORMANCE);
    assert_eq!(whole.time_ns, SECOND, "what ends before is not drawn out");
}

/// Neither a bystander that goes on for ever nor a duration hides that two tasks hold what the other wants.
#[test]
fn a_circle_of_locks_is_told_at_once() {
    let workload = toml(
        r#"
        duration_s = 2
        [mutex.m]
        [mutex.n]
        [task.a]
        steps = [{ lock = "m" }, { run_ms = 5 }, { lock = "n" }, { unlock = "n" }, { unlock = "m" }]
        [task.b]
        steps = [{ lock = "n" }, { run_ms = 5 }, { lock = "m" }, { unlock = "m" }, { unlock = "n" }]
        [task.bystander]
        steps = [{ repeat = "forever", steps = [{ run_ms = 1 }, { sleep_ms = 1 }] }]
        "#,
    );
    for name in policy_names() {
        let error = try_run(&machine(4), &workload, name).unwrap_err().to_string();
        assert!(error.contains("a#0 waits for mutex 'n' held by b#1"), "{name}: {error}");
        assert!(!error.contains("bystander"), "{name}: {error}");
    }
}
