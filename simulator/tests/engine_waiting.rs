// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting by blocking, by spinning, and by spinning and then blocking: time, wasted time and energy by hand.

mod common;
use common::*;
use lop_simulator::workload::Workload;

/// One comes after 2 ms, the other after 5, twice; then 1 ms of work each.
fn at_barrier(waiting: &str) -> Workload {
    toml(&format!(
        r#"
        [barrier.b]
        parties = 2
        waiting = {waiting}
        [task.early]
        steps = [{{ repeat = 2, steps = [{{ run_ms = 2 }}, {{ barrier = "b" }}] }}, {{ run_ms = 1 }}]
        [task.late]
        steps = [{{ repeat = 2, steps = [{{ run_ms = 5 }}, {{ barrier = "b" }}] }}, {{ run_ms = 1 }}]
        "#
    ))
}

#[test]
fn spinning_costs_busy_watts_and_counts_as_wasted() {
    // Waits 3 ms, twice. Busy 8 W, idle 2 W on each of two cores; 11 ms in all.
    for (waiting, spin_ms, busy_ms) in [
        ("\"block\"", 0.0, 5.0 + 11.0),
        ("\"spin\"", 6.0, 22.0),
        ("{ spin_us = 1000 }", 2.0, 7.0 + 11.0),
        ("{ spin_us = 5000 }", 6.0, 22.0),
    ] {
        let outcome = run(&machine(2), &at_barrier(waiting), PERFORMANCE);
        assert_eq!(outcome.time_ns, 11 * MS, "{waiting}");
        within(outcome.counters.spin_s, spin_ms / 1e3, 1e-12);
        exactly(outcome.cpu_energy_j, (busy_ms * 8.0 + (22.0 - busy_ms) * 2.0) / 1e3);
    }
}

#[test]
fn a_mutex_may_be_waited_for_by_spinning() {
    let text = |waiting: &str| {
        toml(&format!(
            r#"
            [mutex.m]
            waiting = {waiting}
            [task.holder]
            steps = [{{ lock = "m" }}, {{ run_ms = 4 }}, {{ unlock = "m" }}]
            [task.waiter]
            steps = [{{ run_ms = 1 }}, {{ lock = "m" }}, {{ run_ms = 2 }}, {{ unlock = "m" }}]
            "#
        ))
    };
    for (waiting, spin_ms) in [("\"block\"", 0.0), ("\"spin\"", 3.0), ("{ spin_us = 500 }", 0.5)] {
        let outcome = run(&machine(2), &text(waiting), PERFORMANCE);
        assert_eq!(outcome.time_ns, 6 * MS, "{waiting}");
        within(outcome.counters.spin_s, spin_ms / 1e3, 1e-12);
    }
}

/// Two tasks on one core, the one that spins is granted its turns by the slice: the other takes them in between.
#[test]
fn a_spinner_gives_way_when_its_slice_is_over() {
    for name in [PERFORMANCE, "highlow", "highlow-spare"] {
        let outcome = run(&machine(1), &at_barrier("\"spin\""), name);
        let blocked = run(&machine(1), &at_barrier("\"block\""), name);
        assert_eq!(blocked.time_ns, 16 * MS, "{name}: work in all");
        let spun_ns = (outcome.counters.spin_s * 1e9).round() as u64;
        assert_eq!(outcome.time_ns, 16 * MS + spun_ns, "{name}");
        assert!(spun_ns > 0 && spun_ns <= 20 * MS, "{name}: {spun_ns}");
    }
}

/// The limit counts time on the CPU: a spinner that is off it does not use it up.
#[test]
fn on_a_shared_core_a_limited_spinner_wastes_at_most_its_limit() {
    let outcome = run(&machine(1), &at_barrier("{ spin_us = 100 }"), PERFORMANCE);
    assert!(
        outcome.counters.spin_s <= 2.0 * 100e-6 + 1e-12,
        "{}",
        outcome.counters.spin_s
    );
    assert_eq!(
        outcome.time_ns,
        16 * MS + (outcome.counters.spin_s * 1e9).round() as u64
    );
}

#[test]
fn a_signal_ends_spinning_on_a_condition() {
    let text = |waiting: &str| {
        toml(&format!(
            r#"
            [condition.c]
            waiting = {waiting}
            [task.waiter]
            steps = [{{ wait = "c" }}, {{ run_ms = 1 }}]
            [task.signaller]
            steps = [{{ run_ms = 5 }}, {{ signal = "c" }}]
            "#
        ))
    };
    for (waiting, spin_ms) in [("\"spin\"", 5.0), ("{ spin_us = 2000 }", 2.0), ("\"block\"", 0.0)] {
        let outcome = run(&machine(2), &text(waiting), PERFORMANCE);
        assert_eq!(outcome.time_ns, 6 * MS, "{waiting}");
        within(outcome.counters.spin_s, spin_ms / 1e3, 1e-12);
    }
}

/// Two siblings of a core that does 1.25 together, so 0.625 each. After 0.4 ms alone the holder has 3.6 ms of work while the other one waits:
/// 5.76 ms beside one that spins, 3.6 beside one that stalls, and busy either way; then the other has the core alone for 2 ms.
#[test]
fn a_stalled_sibling_leaves_the_core_to_the_one_that_works() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.25;
    let machine = machine_of(kind, 1, 2);
    for (waiting, waits_us) in [("spin", 5760), ("stall", 3600)] {
        let workload = toml(&format!(
            r#"
            [mutex.m]
            waiting = "{waiting}"
            [task.holder]
            steps = [{{ lock = "m" }}, {{ run_ms = 4 }}, {{ unlock = "m" }}]
            [task.waiter]
            start_us = 400
            steps = [{{ lock = "m" }}, {{ run_ms = 2 }}, {{ unlock = "m" }}]
            "#
        ));
        let outcome = run(&machine, &workload, PERFORMANCE);
        assert_eq!(outcome.time_ns, (400 + waits_us) * 1000 + 2 * MS, "{waiting}");
        within(outcome.counters.spin_s, waits_us as f64 / 1e6, 1e-9);
        exactly(outcome.cpu_energy_j, 8.0 * outcome.time_ns as f64 / 1e9);
    }
}

/// While the waiter is off the CPU, what runs there instead uses the core, whoever waits.
#[test]
fn who_takes_the_cpu_of_a_stalled_task_uses_the_core() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.25;
    let workload = toml(
        r#"
        [mutex.m]
        waiting = "stall"
        [task.holder]
        cpus = [0]
        steps = [{ lock = "m" }, { run_ms = 40 }, { unlock = "m" }]
        [task.waiter]
        cpus = [1]
        start_us = 100
        steps = [{ lock = "m" }, { unlock = "m" }]
        [task.other]
        cpus = [1]
        start_ms = 1
        steps = [{ run_ms = 5 }]
        "#,
    );
    // The other one needs 5 / 0.625 = 8 ms, in which the holder gets 5 ms of work done: 40 + 3 ms.
    assert_eq!(run(&machine_of(kind, 1, 2), &workload, PERFORMANCE).time_ns, 43 * MS);
}
