// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who gets the fast cores: sequential phases, the longest thread, all in turn. Times by hand.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::experiment::ClassName;
use lop_simulator::workload::{self, Barrier, Mutex, Program, Step, Waiting, Workload};
use lop_simulator::{Outcome, TraceEvent};

/// One fast core of speed 1 and slow ones of speed 1/2, with the costs of the machine: 2 us for a switch, 5 for a migration.
fn one_fast(slow: &str) -> Machine {
    let pairs = [
        ("sockets", "1"),
        ("kind.0.speed", "1"),
        ("kind.0.cores", "1"),
        ("kind.1.speed", "0.5"),
        ("kind.1.cores", slow),
    ];
    lop_machine::load("opteron-16", &overrides(&pairs)).unwrap_or_else(|error| panic!("{error}"))
}

fn time_ms(outcome: &Outcome) -> f64 {
    outcome.time_ns as f64 / 1e6
}

/// One thread has 5 ms of work and waits for the other one, which has 200 ms.
fn waiter_and_worker(waiting: Waiting) -> Workload {
    let mut workload = workload_of(vec![
        program("waiter", vec![run_ms(5), Step::Barrier(0)]),
        program("worker", vec![run_ms(200), Step::Barrier(0)]),
    ]);
    workload.barriers.push(Barrier {
        name: "end".into(),
        parties: 2,
        waiting,
    });
    workload
}

/// When the second task first started on the fast core, ms.
fn worker_on_fast_core_ms(outcome: &Outcome) -> f64 {
    let starts = outcome.trace.iter().filter_map(|event| match *event {
        TraceEvent::Start {
            at_ns, task: 1, cpu: 0, ..
        } => Some(at_ns),
        _ => None,
    });
    starts.min().map_or(f64::INFINITY, |at_ns| at_ns as f64 / 1e6)
}

fn traced(waiting: Waiting, policy: &str) -> Outcome {
    run_traced(&one_fast("1"), &waiter_and_worker(waiting), policy)
}

const NOTIFY: Waiting = Waiting::SpinThenNotify { after_ns: 50_000 };
const ADAPTIVE: Waiting = Waiting::SpinThenBlock { limit_ns: 3 * MS };

/// The waiter has the fast core, as it came first, and is done after 5 ms. With the flag the worker has the core 50 us after that and what the
/// move costs; adaptive after 3 ms. A core takes 0.1 ms to come to speed at the beginning.
#[test]
fn a_flag_gives_the_fast_core_on_within_two_milliseconds() {
    for (waiting, seen_ms) in [(Waiting::Block, 5.0), (NOTIFY, 5.05), (ADAPTIVE, 8.0)] {
        let given_ms = worker_on_fast_core_ms(&traced(waiting, "phase"));
        assert!(
            (seen_ms..seen_ms + 0.1).contains(&given_ms),
            "{waiting:?}: given on after {given_ms} ms"
        );
    }
    assert!(worker_on_fast_core_ms(&traced(NOTIFY, "phase")) < 5.0 + 2.0);
}

/// The worker runs at half speed until the wait is seen, then at full speed: 200 - t/2 after t. Who spins for ever is never seen: the two
/// share the fast core in turn, as they do where sequential phases are no matter at all.
#[test]
fn what_is_seen_of_a_wait_decides_what_is_gained() {
    let of = |waiting, policy| time_ms(&traced(waiting, policy));
    for (waiting, seen_ms) in [(Waiting::Block, 5.0), (NOTIFY, 5.05), (ADAPTIVE, 8.0)] {
        let expected_ms = 200.0 + seen_ms / 2.0;
        let time_ms = of(waiting, "phase");
        assert!(
            (expected_ms..expected_ms + 0.2).contains(&time_ms),
            "{waiting:?}: {time_ms} ms, expected {expected_ms}"
        );
    }
    let (unseen_ms, shared_ms) = (of(Waiting::Spin, "phase"), of(Waiting::Spin, "fair-share"));
    assert!(
        (unseen_ms - shared_ms).abs() < 20.0 / 2.0,
        "more than the part of a turn: {unseen_ms} and {shared_ms} ms"
    );
    assert!(unseen_ms > of(ADAPTIVE, "phase") + 40.0);
    // Nobody moves running work: the worker stays where it began.
    within(of(NOTIFY, "highlow"), 400.0, 1e-3);
}

/// Four threads of 100 ms on a fast core and three slow ones. In turn they do 2.5 ms of work each millisecond between them, so all of 400 ms takes
/// 160 ms at best; 20 ms of turn are what it may be off.
#[test]
fn threads_of_a_parallel_phase_share_the_fast_core_in_turn() {
    let four = || {
        let mut workload = workload_of(vec![program("thread", vec![run_ms(100)])]);
        workload.starts[0].count = 4;
        workload
    };
    for policy in ["fair-share", "phase"] {
        let shared_ms = time_ms(&run(&one_fast("3"), &four(), policy));
        assert!((160.0..180.0).contains(&shared_ms), "{policy}: {shared_ms} ms");
    }
    // Without turns the first is done after 100 ms, and nobody moves.
    within(time_ms(&run(&one_fast("3"), &four(), "highlow")), 200.0, 1e-3);
}

/// 20 times 80 ms of one thread and then 10 ms of eight, on one fast core and seven slow ones: 20 * (80 + 20) ms while the sequential phases have
/// the fast core, and while they are not seen 20 * (160 + 20).
#[test]
fn sequential_phases_run_on_the_fast_core_if_waiting_shows() {
    let of = |waiting: &str, policy: &str| {
        let pairs = [("barrier.open.waiting", waiting), ("condition.done.waiting", waiting)];
        let spec = workload::load("half-sequential", &overrides(&pairs)).unwrap_or_else(|error| panic!("{error}"));
        time_ms(&run(&one_fast("7"), &spec.build(1), policy))
    };
    within(of("\"block\"", "phase"), 2000.0, 2e-3);
    within(of("{ notify_us = 50 }", "phase"), 2000.0, 2e-3);
    let adaptive_ms = of("{ spin_us = 10000 }", "phase");
    assert!((2010.0..2250.0).contains(&adaptive_ms), "{adaptive_ms} ms");
    within(of("{ notify_us = 50 }", "highlow"), 3600.0, 2e-3);
    assert_eq!(of("\"spin\"", "phase"), of("\"spin\"", "fair-share"));
    assert!(of("\"spin\"", "phase") > 3000.0);
}

/// What costs more than it brings is left alone: 2000 steps of 20 us between barriers take no longer than without rules.
#[test]
fn short_phases_cause_no_storm_of_migrations() {
    let steps = vec![
        Step::Repeat {
            times: Some(2000),
            end: 4,
        },
        run_ns(20_000),
        Step::Barrier(0),
        Step::EndRepeat { start: 0 },
    ];
    let mut workload = workload_of(vec![program("thread", steps)]);
    workload.starts[0].count = 4;
    workload.barriers.push(Barrier {
        name: "step".into(),
        parties: 4,
        waiting: Waiting::Block,
    });
    let plain = run(&one_fast("3"), &workload, "highlow");
    let ranked = run(&one_fast("3"), &workload, "phase");
    assert!(
        time_ms(&ranked) < 1.02 * time_ms(&plain),
        "{} ms and {} ms",
        time_ms(&ranked),
        time_ms(&plain)
    );
    assert!(ranked.counters.migrations < 2 * plain.counters.migrations + 200);
}

/// 240, 240, 360 and 360 rows declared in that order, a row 1 ms, on two fast cores and two of half the speed. The long ones have the fast cores
/// for 360 ms; the short ones have done 180 ms then, and the last 60 ms go at full speed: 420 ms. Placed as they come: 720 ms.
#[test]
fn the_longest_go_first_in_whatever_order_they_are_created() {
    let pairs = [
        ("sockets", "1"),
        ("kind.0.speed", "1"),
        ("kind.0.cores", "2"),
        ("kind.1.speed", "0.5"),
        ("kind.1.cores", "2"),
    ];
    let machine = lop_machine::load("opteron-16", &overrides(&pairs)).unwrap();
    let rows = |rows: u32| Program {
        length: rows,
        ..program("rows", vec![run_ms(u64::from(rows))])
    };
    let workload = || {
        let fork = |program| Step::Fork { program, count: 2 };
        let main = program("main", vec![fork(1), fork(2), Step::Join(workload::Join::All)]);
        let mut workload = workload_of(vec![main, rows(240), rows(360)]);
        workload.starts.truncate(1);
        workload
    };
    within(time_ms(&run(&machine, &workload(), "longest-first")), 420.0, 2e-3);
    within(time_ms(&run(&machine, &workload(), "highlow")), 720.0, 2e-3);
}

const ALL_FAST: &str = "8 at 1870";
const ALL_SLOW: &str = "8 at 1600";
const MIXED: &str = "4 at 1870, 4 at 1600";

/// From 320 rows on the long threads end last, on the fast cores: as if all were fast. Any other placement waits for a long thread on a slow core.
#[test]
fn longest_job_is_as_fast_as_all_fast_cores() {
    let study = study("longest-job", |_| {});
    let time_s = |policy, cores, rows| at(&study, policy, &[cores, rows]).mean.time_s;
    for rows in ["320-280", "330-270", "340-260", "350-250", "360-240"] {
        within(
            time_s("longest-first", MIXED, rows),
            time_s(PERFORMANCE, ALL_FAST, rows),
            1e-3,
        );
        within(time_s("random", MIXED, rows), time_s(PERFORMANCE, ALL_SLOW, rows), 1e-2);
    }
    for rows in ["300-300", "310-290"] {
        assert!(time_s("longest-first", MIXED, rows) < 0.99 * time_s("random", MIXED, rows));
    }
}

#[test]
fn registration_on_half_the_fast_cores_is_as_fast_as_on_all() {
    let study = study("registration", |_| {});
    let time_s = |policy, cores| at(&study, policy, &[cores]).mean.time_s;
    within(time_s("longest-first", MIXED), time_s(PERFORMANCE, ALL_FAST), 5e-3);
    within(time_s("random", MIXED), time_s(PERFORMANCE, ALL_SLOW), 5e-3);
}

/// Threads that meet at the end only wait for a slow core in each run, and chunks go to whoever asks: 8 cores of 1870 MHz, 4 and 4, 8 of 1600
/// take 1 / 8, 1 / (4 + 4 r) and 1 / (8 r) for rate r of a slow core, so (1 / (4 + 4 r) - 1 / 8) / (1 / (8 r) - 1 / 8) = r / (1 + r) is lost.
/// A pipeline's stages change places on waking, and under `random` whether the one thread for which seven wait is on a fast core is chance.
#[test]
fn classes_are_found_from_the_runs() {
    let study = study("parsec-classes", |_| {});
    let class = |policy, application| at(&study, policy, &[application, MIXED]).class.expect("a class");
    for policy in [PERFORMANCE, "random"] {
        let join = class(policy, "join");
        assert_eq!(join.name, ClassName::SlowLimited);
        within(join.loss, 1.0, 1e-2);
        let chunks = class(policy, "chunks");
        assert_eq!(chunks.name, ClassName::Middle);
        let rate = 1.0 / (0.7 * 1870.0 / 1600.0 + 0.3);
        within(chunks.loss, rate / (1.0 + rate), 3e-2);
    }
    assert_eq!(class("random", "phases").name, ClassName::Unstable);
    assert_eq!(class("random", "frames").name, ClassName::Unstable);
    assert_eq!(class(PERFORMANCE, "pipeline").name, ClassName::Unstable);
    // Who knows where to run what is waited for is never unstable.
    for application in ["join", "frames", "pipeline", "barriers", "chunks", "phases"] {
        assert_ne!(class("phase", application).name, ClassName::Unstable, "{application}");
    }
    assert!(study
        .results
        .iter()
        .all(|r| r.class.is_some() == (r.point[1].1.to_string() == MIXED)));
}

/// 2 s at the fast core, of speed 0.8333: 2.4 s, and the threads beside it as long on slow ones.
#[test]
fn one_beside_many_has_the_fast_core_to_itself() {
    let study = study("one-and-many", |_| {});
    for threads in ["3", "6", "9"] {
        within(at(&study, "phase", &[threads]).mean.time_s, 2.0 / 0.8333, 1e-3);
        assert!(at(&study, "fair-share", &[threads]).mean.time_s > 3.0);
    }
    // Thirteen threads for ten cores: 14 s of work at 0.8333 + 9 * 0.41665 is 3.05 s.
    let most = at(&study, "phase", &["12"]);
    within(most.mean.time_s, most.bounds.time_s, 1e-2);
}

/// A pair of 160 ms with a share s takes s 160 / 0.8333 + (1 - s) 160 / 13 / 0.41665 ms once its sequential phase has the fast core.
#[test]
fn phases_are_seen_with_a_flag_and_not_without() {
    let study = study("sequential-phases", |_| {});
    let time_s = |policy, waiting, share| at(&study, policy, &[waiting, share]).mean.time_s;
    for (label, share) in [("0.1", 0.1), ("0.25", 0.25), ("0.5", 0.5), ("0.75", 0.75), ("0.9", 0.9)] {
        let expected_s = 20.0 * 0.16 * (share / 0.8333 + (1.0 - share) / 13.0 / 0.41665);
        let notify_s = time_s("phase", "spin-then-notify", label);
        let (adaptive_s, busy_s) = (time_s("phase", "adaptive", label), time_s("phase", "busy-wait", label));
        within(time_s("phase", "block", label), expected_s, 2e-3);
        within(notify_s, expected_s, 2e-3);
        assert!(notify_s < adaptive_s && adaptive_s < busy_s, "{label}");
        assert_eq!(busy_s, time_s("fair-share", "busy-wait", label), "nothing is gained");
    }
}

/// Four threads with 20 rounds of 1 ms outside of a lock and `held_us` under it, on one fast core and three slow ones.
fn rounds(held_us: u64) -> Workload {
    let steps = vec![
        Step::Repeat {
            times: Some(20),
            end: 6,
        },
        run_ms(1),
        Step::Lock(0),
        run_ns(held_us * 1000),
        Step::Unlock(0),
        Step::EndRepeat { start: 0 },
    ];
    let mut workload = tasks_of(4, steps);
    workload.mutexes.push(Mutex {
        name: "sum".into(),
        waiting: Waiting::Block,
    });
    workload
}

/// Somebody always waits for the lock, so the rounds follow one another: 80 times 10 ms on the fast core, 20 ms on a slow one.
#[test]
fn who_holds_a_lock_that_others_wait_for_has_the_fast_core() {
    let workload = rounds(10_000);
    within(time_ms(&run(&one_fast("3"), &workload, "phase")), 800.0, 1e-2);
    assert!(time_ms(&run(&one_fast("3"), &workload, "highlow")) > 1200.0);
}

/// A lock held for 4 us, where a migration costs 9, is not worth it.
#[test]
fn a_short_lock_costs_no_more_than_without_rules() {
    let (plain, ranked) = (
        run(&one_fast("3"), &rounds(4), "fair-share"),
        run(&one_fast("3"), &rounds(4), "phase"),
    );
    assert!(time_ms(&ranked) < 1.02 * time_ms(&plain));
}
