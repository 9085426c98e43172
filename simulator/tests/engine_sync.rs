// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wait for one another: each time follows by hand.

mod common;
use common::*;
use lop_simulator::workload::Workload;

fn time_ms(workload: &Workload, cores: u16) -> f64 {
    run(&machine(cores), workload, PERFORMANCE).time_ns as f64 / MS as f64
}

/// Time of the last stop of each task in ms, in the order in which they were created.
fn ends_ms(workload: &Workload, cores: u16, name: &str) -> Vec<f64> {
    let outcome = run_traced(&machine(cores), workload, name);
    last_stop_ns(&outcome)
        .into_iter()
        .map(|ns| ns as f64 / MS as f64)
        .collect()
}

const FAMILY: &str = r#"
    [task.main]
    steps = [{ run_ms = 1 }, { fork = "short", count = 2 }, { fork = "long" }, JOIN, { run_ms = 4 }]
    [task.short]
    count = 0
    steps = [{ run_ms = 2 }]
    [task.long]
    count = 0
    steps = [{ run_ms = 9 }]
"#;

#[test]
fn joins_wait_for_all_children_for_one_or_for_those_of_a_program() {
    for (join, main_ends) in [
        (r#"{ join = "all" }"#, 14.0),
        (r#"{ join = "any" }"#, 7.0),
        (r#"{ join = "any" }, { join = "any" }"#, 7.0),
        (r#"{ join = "any" }, { join = "any" }, { join = "any" }"#, 14.0),
        (r#"{ join = "short" }"#, 7.0),
        (r#"{ join = "long" }"#, 14.0),
        (r#"{ join = "all" }, { join = "any" }"#, 14.0),
    ] {
        let workload = toml(&FAMILY.replace("JOIN", join));
        // Speeds change in no time on this machine, so that the sets give the same times.
        for name in [PERFORMANCE, "highlow", "highlow-spare"] {
            assert_eq!(ends_ms(&workload, 4, name)[0], main_ends, "{join} under {name}");
        }
    }
}

/// A child on one core waits for its turn: the parent goes on once the children are through.
#[test]
fn on_one_core_a_join_takes_the_sum() {
    assert_eq!(time_ms(&toml(&FAMILY.replace("JOIN", r#"{ join = "all" }"#)), 1), 18.0);
}

/// Came first, served first: at 0, 1 and 2 ms, in another order than created.
#[test]
fn a_mutex_is_handed_on_in_order_of_arrival() {
    let workload = toml(
        r#"
        [mutex.m]
        [task.third]
        start_ms = 2
        steps = [{ lock = "m" }, { run_ms = 10 }, { unlock = "m" }]
        [task.second]
        start_ms = 1
        steps = [{ lock = "m" }, { run_ms = 10 }, { unlock = "m" }]
        [task.first]
        steps = [{ lock = "m" }, { run_ms = 10 }, { unlock = "m" }, { run_ms = 5 }]
        "#,
    );
    for name in [PERFORMANCE, "highlow", "highlow-spare"] {
        assert_eq!(ends_ms(&workload, 3, name), [15.0, 20.0, 30.0], "{name}");
    }
}

#[test]
fn all_leave_a_barrier_when_the_last_comes_and_it_serves_again() {
    let workload = toml(
        r#"
        [barrier.b]
        parties = 3
        [task.one]
        steps = [{ repeat = 2, steps = [{ run_ms = 1 }, { barrier = "b" }] }, { run_ms = 1 }]
        [task.two]
        steps = [{ repeat = 2, steps = [{ run_ms = 2 }, { barrier = "b" }] }, { run_ms = 3 }]
        [task.five]
        steps = [{ repeat = 2, steps = [{ run_ms = 5 }, { barrier = "b" }] }]
        "#,
    );
    assert_eq!(ends_ms(&workload, 3, PERFORMANCE), [11.0, 13.0, 10.0]);
}

const HAND_OVER: &str = r#"
    [condition.c]
    counting = COUNTING
    [task.waiter]
    steps = [{ run_ms = WAITS_AT }, { wait = "c" }, { run_ms = 1 }]
    [task.signaller]
    steps = [{ run_ms = 5 }, { signal = "c" }, { run_ms = 2 }]
"#;

fn hand_over(counting: bool, waits_at_ms: u32) -> Workload {
    toml(
        &HAND_OVER
            .replace("COUNTING", &counting.to_string())
            .replace("WAITS_AT", &waits_at_ms.to_string()),
    )
}

#[test]
fn a_signal_wakes_a_waiter_and_is_kept_only_where_it_counts() {
    for counting in [true, false] {
        assert_eq!(ends_ms(&hand_over(counting, 2), 2, PERFORMANCE), [6.0, 7.0]);
    }
    assert_eq!(ends_ms(&hand_over(true, 9), 2, PERFORMANCE), [10.0, 7.0]);
    let lost = try_run(&machine(2), &hand_over(false, 9), PERFORMANCE)
        .unwrap_err()
        .to_string();
    assert!(
        lost.contains("deadlock at 0.009000 s") && lost.contains("waiter#0 waits for a signal on condition 'c'"),
        "{lost}"
    );
}

/// The waiter gives the mutex away while it waits, and goes on once it holds it again.
#[test]
fn a_wait_with_a_mutex_releases_it_meanwhile() {
    let workload = toml(
        r#"
        [mutex.m]
        [condition.c]
        [task.waiter]
        steps = [{ lock = "m" }, { run_ms = 1 }, { wait = "c", mutex = "m" }, { run_ms = 1 }, { unlock = "m" }]
        [task.signaller]
        start_us = 1
        steps = [{ lock = "m" }, { run_ms = 3 }, { signal = "c" }, { run_ms = 2 }, { unlock = "m" }]
        "#,
    );
    assert_eq!(ends_ms(&workload, 2, PERFORMANCE), [7.0, 6.0]);
}

#[test]
fn a_broadcast_wakes_all_a_signal_one() {
    let text = |wakes: &str| {
        toml(&format!(
            r#"
            [condition.c]
            [task.waiter]
            count = 3
            steps = [{{ wait = "c" }}, {{ run_ms = 2 }}]
            [task.waker]
            steps = [{wakes}]
            "#
        ))
    };
    let all = text(r#"{ run_ms = 5 }, { broadcast = "c" }"#);
    assert_eq!(ends_ms(&all, 4, PERFORMANCE), [7.0, 7.0, 7.0, 5.0]);
    let one_by_one = text(r#"{ repeat = 3, steps = [{ run_ms = 5 }, { signal = "c" }] }"#);
    assert_eq!(ends_ms(&one_by_one, 4, PERFORMANCE), [7.0, 12.0, 17.0, 15.0]);
}

/// make -j2: items of 4, 1, 2 and 3 ms in order, the last after the first; then the tail of the starter.
#[test]
fn a_pool_keeps_its_slots_full_and_its_order() {
    let workload = toml(
        r#"
        [task.main]
        steps = [{ pool = "p" }, { run_ms = 1 }]
        [task.a]
        count = 0
        steps = [{ run_ms = 4 }]
        [task.b]
        count = 0
        steps = [{ run_ms = 1 }]
        [task.c]
        count = 0
        steps = [{ run_ms = 2 }]
        [pool.p]
        slots = 2
        items = [
          { name = "first", stages = ["a"] },
          { stages = ["b"] },
          { stages = ["c", "b"], helper = "a" },
          { stages = ["c", "c"], after = ["first"] },
        ]
        "#,
    );
    // Slot 1: a 0-4, then c c 4-8. Slot 2: b 0-1, c b 1-4 (helper a 1-5 beside). main: 8-9.
    // Created: main, a, b, c, helper, b, c, c.
    let ends = ends_ms(&workload, 4, PERFORMANCE);
    assert_eq!(ends, [9.0, 4.0, 1.0, 3.0, 5.0, 4.0, 6.0, 8.0]);
    let mut one_slot = workload.clone();
    one_slot.pools[0].slots = 1;
    // 4 + 1 + 3 + 4 in one slot, the helper beside.
    assert_eq!(time_ms(&one_slot, 4), 13.0);
}

#[test]
fn a_pool_waits_for_the_helpers_at_its_end() {
    let workload = toml(
        r#"
        [task.main]
        steps = [{ pool = "p" }]
        [task.item]
        count = 0
        steps = [{ run_ms = 2 }]
        [task.helper]
        count = 0
        steps = [{ run_ms = 7 }]
        [pool.p]
        slots = 1
        items = [{ stages = ["item"], helper = "helper" }, { stages = ["item"] }]
        "#,
    );
    assert_eq!(time_ms(&workload, 3), 7.0);
}

/// 50 iterations of 1 ms over 8 tasks on 8 cores. Static: 7. Dynamic by 3: two rounds of 3 for all, then the
/// last 2 for one: 8. Guided from 50/16 = 3 down to 1: all end within an iteration of 50/8.
#[test]
fn loops_are_shared_by_their_schedule() {
    let text = |schedule: &str| {
        format!(
            r#"
            [loop.l]
            iterations = 50
            work_us = 1000
            parties = 8
            schedule = {schedule}
            [task.t]
            count = 8
            steps = [{{ loop = "l" }}]
            "#
        )
    };
    assert_eq!(time_ms(&toml(&text("\"static\"")), 8), 7.0);
    assert_eq!(time_ms(&toml(&text("{ dynamic = 3 }")), 8), 8.0);
    assert_eq!(time_ms(&toml(&text("{ guided = 1 }")), 8), 7.0);
    for schedule in ["\"static\"", "{ dynamic = 3 }", "{ guided = 2 }"] {
        assert_eq!(
            time_ms(&toml(&text(schedule)), 1),
            50.0,
            "all iterations, each once: {schedule}"
        );
    }
}

/// A task that comes 10 ms late leaves its part of a static loop undone until then; a dynamic one is done without it.
#[test]
fn dynamic_loops_do_not_wait_for_the_late() {
    let text = |schedule: &str| {
        format!(
            r#"
            [loop.l]
            iterations = 20
            work_us = 500
            parties = 2
            schedule = {schedule}
            [task.early]
            steps = [{{ loop = "l" }}]
            [task.late]
            start_ms = 10
            steps = [{{ loop = "l" }}]
            "#
        )
    };
    assert_eq!(ends_ms(&toml(&text("\"static\"")), 2, PERFORMANCE), [5.0, 15.0]);
    assert_eq!(ends_ms(&toml(&text("{ dynamic = 1 }")), 2, PERFORMANCE), [10.0, 10.0]);
}

/// Expiries at 10, 20, 30 ms: the pass of 15 ms goes on at once and the one after is due at its own time.
#[test]
fn a_timer_that_has_passed_does_not_wait() {
    let workload = toml(
        r#"
        [task.t]
        steps = [{ run_ms = 3 }, { timer_ms = 10 }, { run_ms = 15 }, { timer_ms = 10 }, { run_ms = 1 }, { timer_ms = 10 }, { run_ms = 1 }]
        "#,
    );
    assert_eq!(time_ms(&workload, 1), 31.0);
}

#[test]
fn a_start_after_others_begins_when_the_last_of_them_has_exited() {
    let workload = toml(
        r#"
        [task.a]
        count = 2
        steps = [{ run_ms = 4 }]
        [task.b]
        start_ms = 1
        steps = [{ run_ms = 5 }]
        [task.c]
        after = ["a", "b"]
        start_ms = 2
        steps = [{ run_ms = 1 }]
        "#,
    );
    assert_eq!(time_ms(&workload, 4), 9.0);
}

/// Poisson arrivals of mean 10 ms over 100 s: 10,000 with a standard deviation of 100.
#[test]
fn arrivals_come_at_the_rate_they_name() {
    let workload = toml(
        r#"
        duration_s = 100
        [task.request]
        start_ms = { mean = 10 }
        arrivals = { every_ms = { mean = 10 } }
        steps = [{ run_us = 100 }]
        "#,
    );
    let seeds: Vec<u64> = (1..=4)
        .map(|seed| run_seed(&machine(4), &workload, PERFORMANCE, seed).counters.tasks)
        .collect();
    let mean = seeds.iter().sum::<u64>() as f64 / 4.0;
    assert!((mean - 10_000.0).abs() < 4.0 * 50.0, "{seeds:?}");
    assert!(seeds.iter().any(|&n| n != seeds[0]), "{seeds:?}");
    let limited = toml(
        r#"
        [task.request]
        count = 2
        start_ms = 5
        arrivals = { every_ms = 10, limit = 3 }
        steps = [{ run_ms = 1 }]
        "#,
    );
    let outcome = run(&machine(2), &limited, PERFORMANCE);
    assert_eq!((outcome.counters.tasks, outcome.time_ns), (6, 26 * MS));
}

#[test]
fn repeats_nest_and_a_repeat_of_none_is_skipped() {
    let nested = toml(
        r#"
        [task.t]
        steps = [{ repeat = 3, steps = [{ run_ms = 1 }, { repeat = 4, steps = [{ run_ms = 2 }, { sleep_ms = 1 }] }] }]
        "#,
    );
    assert_eq!(time_ms(&nested, 1), 3.0 * (1.0 + 4.0 * 3.0));
    use lop_simulator::workload::Step;
    let skipped = tasks_of(
        1,
        vec![
            Step::Repeat { times: Some(0), end: 3 },
            run_ms(5),
            Step::EndRepeat { start: 0 },
            run_ms(2),
        ],
    );
    assert_eq!(time_ms(&skipped, 1), 2.0);
}

/// On one core a task that yields after 1 ms lets the others go first.
#[test]
fn a_yield_lets_the_next_one_run() {
    let workload = toml(
        r#"
        [task.polite]
        steps = [{ run_us = 100 }, { yield = true }, { run_us = 100 }]
        [task.other]
        steps = [{ run_us = 200 }]
        "#,
    );
    assert_eq!(ends_ms(&workload, 1, PERFORMANCE), [0.4, 0.3]);
}
