// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::testing::{replay, trace, LOW, TOP};

/// Task 7 wakes at 100, runs 110 to 150 and 180 to 200 on CPU 0; task 8 preempts it in between.
const PREEMPTED: &str = r#"
    90 0 name 7 120 "seven"
    90 0 name 8 120 "eight"
    100 0 wakeup 7 0
    110 0 switch 0 R 7
    140 0 wakeup 8 0
    150 0 switch 7 R 8
    180 0 switch 8 B 7
    200 0 switch 7 B 0
"#;

#[test]
fn runs_and_waits_of_a_preempted_task() {
    let replay = replay(&trace(&[TOP], 0, 300, PREEMPTED));
    let runs: Vec<_> = replay
        .runs
        .iter()
        .map(|run| (run.pid, run.time.from_ns, run.time.to_ns))
        .collect();
    assert_eq!(runs, [(7, 110, 150), (8, 150, 180), (7, 180, 200)]);
    let waits: Vec<_> = replay
        .waits
        .iter()
        .map(|w| (w.pid, w.from_ns, w.until_ns, w.woken))
        .collect();
    assert_eq!(
        waits,
        [
            (7, 100, Some(110), true),
            (8, 140, Some(150), true),
            (7, 150, Some(180), false)
        ]
    );
    assert_eq!(replay.runs[0].comm, "seven");
}

#[test]
fn active_counts_running_and_waiting() {
    let replay = replay(&trace(&[TOP], 0, 300, PREEMPTED));
    let expected = [(50, 0), (105, 1), (145, 2), (170, 2), (190, 1), (250, 0)];
    assert!(
        expected.iter().all(|(at, count)| replay.active.at(*at) == *count),
        "{:?}",
        replay.active
    );
}

#[test]
fn what_was_before_the_first_event() {
    // 7 was running, 8 was waiting, 9 was asleep; 5 never shows up.
    let lines = "
        100 0 switch 7 B 8
        120 0 wakeup 9 0
        130 0 switch 8 B 9
        140 0 switch 9 B 0
    ";
    let replay = replay(&trace(&[TOP], 50, 200, lines));
    assert_eq!(replay.active.at(60), 2);
    assert_eq!(
        replay.runs[0].time,
        Interval {
            from_ns: 50,
            to_ns: 100
        }
    );
    assert_eq!(
        (replay.waits[0].pid, replay.waits[0].from_ns, replay.waits[0].woken),
        (8, 50, false)
    );
}

#[test]
fn events_before_the_start_only_say_how_things_stood() {
    let lines = "
        10 0 speed 0 1000
        20 0 wakeup 7 0
        30 0 switch 0 R 7
        150 0 switch 7 B 0
    ";
    let replay = replay(&trace(&[TOP], 100, 200, lines));
    assert_eq!(
        replay.runs[0].time,
        Interval {
            from_ns: 100,
            to_ns: 150
        }
    );
    assert!(replay.waits.is_empty());
    assert_eq!(replay.asked_khz[&0].at(100), LOW);
}

#[test]
fn what_lasts_to_the_end_is_closed_there() {
    let lines = "
        110 0 wakeup 7 0
        110 0 wakeup 8 0
        120 0 switch 0 R 7
    ";
    let replay = replay(&trace(&[TOP], 100, 200, lines));
    assert_eq!(
        replay.runs[0].time,
        Interval {
            from_ns: 120,
            to_ns: 200
        }
    );
    assert_eq!(
        replay
            .waits
            .iter()
            .filter(|w| w.until_ns.is_none())
            .map(|w| w.pid)
            .collect::<Vec<_>>(),
        [8]
    );
}

#[test]
fn a_change_of_class_changes_the_count() {
    let lines = r#"
        100 0 wakeup 7 0
        110 0 switch 0 R 7
        120 0 name 7 49 "seven"
        130 0 name 7 120 "seven"
        140 0 switch 7 B 0
    "#;
    let replay = replay(&trace(&[TOP], 0, 200, lines));
    assert_eq!([115, 125, 135, 150].map(|at| replay.active.at(at)), [1, 0, 1, 0]);
}

#[test]
fn a_wakeup_of_a_running_task_changes_nothing() {
    let lines = "
        100 0 wakeup 7 0
        110 0 switch 0 R 7
        120 1 wakeup 7 0
        140 0 switch 7 B 0
    ";
    let replay = replay(&trace(&[TOP], 0, 200, lines));
    assert_eq!(
        (replay.active.at(130), replay.active.at(150), replay.waits.len()),
        (1, 0, 1)
    );
}

#[test]
fn contradictions_are_errors() {
    for (lines, expected) in [
        (
            "10 0 switch 0 R 7\n20 0 switch 8 B 0",
            "CPU 0 switches from task 8, but 7 was running",
        ),
        (
            "10 0 switch 0 R 7\n20 1 switch 0 R 7",
            "CPU 1 switches to task 7, which runs on CPU 0",
        ),
    ] {
        let trace = trace(&[TOP, TOP], 0, 100, lines);
        let classifier = Classifier::new(&trace, crate::classes::Allowed::default());
        let error = Replay::new(&trace, &classifier).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_cpu_that_was_offline_takes_up_where_it_may() {
    // The stopper runs as the CPU goes offline. When it is back, first idle and then its hotplug thread appear.
    let lines = r#"
        5 0 fork 2 47
        5 0 name 47 0 "migration/0"
        10 0 wakeup 47 0
        20 0 switch 0 R 47
        50 0 switch 0 R 7
        60 0 switch 7 B 0
    "#;
    let replay = replay(&trace(&[TOP], 0, 100, lines));
    let runs: Vec<_> = replay.runs.iter().map(|run| (run.pid, run.time.from_ns)).collect();
    assert_eq!(runs, [(7, 50)]);
}
