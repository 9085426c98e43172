// SPDX-License-Identifier: MIT OR Apache-2.0
//! Worked examples of each rule.

use super::*;

const MS: u64 = 1_000_000;

/// A process with segments of (end, CPU, blocked) in ms, each up to an event.
fn process(parent: Option<usize>, start_ms: u64, segments: &[(u64, u64, u64, Event)]) -> Process {
    let mut begin_ms = start_ms;
    let segments: Vec<Segment> = segments
        .iter()
        .map(|(end_ms, cpu_ms, blocked_ms, event)| Segment {
            start_ns: std::mem::replace(&mut begin_ms, *end_ms) * MS,
            end_ns: end_ms * MS,
            cpu_ns: cpu_ms * MS,
            blocked_ns: blocked_ms * MS,
            event: event.clone(),
        })
        .collect();
    Process {
        tid: 1,
        parent,
        thread: false,
        program: "x".into(),
        input_pipe: None,
        output_pipe: None,
        start_ns: start_ms * MS,
        end_ns: begin_ms * MS,
        cpu_ns: segments.iter().map(|segment| segment.cpu_ns).sum(),
        segments,
    }
}

fn child(start_ms: u64, end_ms: u64) -> Process {
    process(Some(0), start_ms, &[(end_ms, end_ms - start_ms, 0, Event::Exit)])
}

fn reaped(child: usize, named: bool) -> Event {
    Event::WaitEnd {
        named,
        reaped: Some(child),
    }
}

fn root_steps(segments: &[(u64, u64, u64, Event)], children: Vec<Process>) -> Vec<Step> {
    let mut processes = vec![process(None, 0, segments)];
    processes.extend(children);
    steps_of_all(&processes, MS).swap_remove(0)
}

#[test]
fn an_only_child_is_joined_by_name() {
    let segments = [
        (1, 1, 0, Event::Fork { child: 1 }),
        (2, 1, 0, Event::WaitBegin),
        (9, 0, 7, reaped(1, false)),
        (10, 1, 0, Event::Exit),
    ];
    let expected = [
        Step::RunUs(1000),
        Step::Fork(1),
        Step::RunUs(1000),
        Step::Join(1),
        Step::RunUs(1000),
    ];
    assert_eq!(root_steps(&segments, vec![child(1, 8)]), expected);
}

#[test]
fn any_of_several_stays_any_for_the_last() {
    let segments = [
        (0, 0, 0, Event::Fork { child: 1 }),
        (0, 0, 0, Event::Fork { child: 2 }),
        (5, 0, 5, reaped(2, false)),
        (9, 0, 4, reaped(1, false)),
        (9, 0, 0, Event::Fork { child: 3 }),
        (12, 0, 3, reaped(3, false)),
        (12, 0, 0, Event::Exit),
    ];
    let steps = root_steps(&segments, vec![child(0, 8), child(0, 4), child(9, 11)]);
    assert_eq!(
        steps,
        [
            Step::Fork(1),
            Step::Fork(2),
            Step::JoinAny,
            Step::JoinAny,
            Step::Fork(3),
            Step::Join(3)
        ]
    );
}

#[test]
fn a_named_wait_among_several_is_by_name_and_once() {
    let segments = [
        (0, 0, 0, Event::Fork { child: 1 }),
        (0, 0, 0, Event::Fork { child: 2 }),
        (5, 0, 5, reaped(2, true)),
        (6, 0, 0, reaped(2, true)),
        (9, 0, 0, Event::Exit),
    ];
    assert_eq!(
        root_steps(&segments, vec![child(0, 8), child(0, 4)]),
        [Step::Fork(1), Step::Fork(2), Step::Join(2)]
    );
}

#[test]
fn a_poll_broken_by_a_child_is_a_wait_and_its_reaping_none() {
    // make -j2 waits for a free job in pselect, then reaps without waiting.
    let segments = [
        (0, 0, 0, Event::Fork { child: 1 }),
        (0, 0, 0, Event::Fork { child: 2 }),
        (6, 1, 5, Event::WaitBegin),
        (6, 0, 0, reaped(2, false)),
        (7, 1, 0, Event::Exit),
    ];
    let steps = root_steps(&segments, vec![child(0, 9), child(0, 5)]);
    assert_eq!(steps, [Step::Fork(1), Step::Fork(2), Step::JoinAny, Step::RunUs(2000)]);
}

#[test]
fn blocked_without_a_child_is_sleep_and_short_blocks_are_nothing() {
    let segments = [(5, 2, 3, Event::Exec), (6, 1, 0, Event::Exit)];
    assert_eq!(
        root_steps(&segments, vec![]),
        [Step::RunUs(2000), Step::SleepUs(3000), Step::RunUs(1000)]
    );
    let mut short = process(None, 0, &[(5, 4, 0, Event::Exit)]);
    short.segments[0].blocked_ns = MS - 1;
    assert_eq!(steps_of_all(&[short], MS), [[Step::RunUs(4000)]]);
}

#[test]
fn what_is_blocked_after_the_childs_end_is_sleep() {
    let segments = [(0, 0, 0, Event::Fork { child: 1 }), (20, 2, 18, Event::Exit)];
    let steps = root_steps(&segments, vec![child(0, 8)]);
    assert_eq!(
        steps,
        [Step::Fork(1), Step::Join(1), Step::SleepUs(10_000), Step::RunUs(2000)]
    );
}

#[test]
fn vfork_does_not_hold_the_parent() {
    let segments = [
        (1, 1, 0, Event::Fork { child: 1 }),
        (9, 0, 8, Event::VforkDone),
        (10, 1, 0, Event::Exit),
    ];
    assert_eq!(
        root_steps(&segments, vec![child(1, 8)]),
        [Step::RunUs(1000), Step::Fork(1), Step::RunUs(1000)]
    );
}

#[test]
fn a_reader_waits_for_its_writer() {
    let mut writer = child(0, 8);
    writer.output_pipe = Some(5);
    let mut reader = process(Some(0), 0, &[(10, 3, 7, Event::Exit)]);
    reader.input_pipe = Some(5);
    let root = process(
        None,
        0,
        &[
            (0, 0, 0, Event::Fork { child: 1 }),
            (0, 0, 0, Event::Fork { child: 2 }),
            (0, 0, 0, Event::Exit),
        ],
    );
    let all = steps_of_all(&[root, writer, reader], MS);
    assert_eq!(all[1], [Step::RunUs(8000), Step::ReleaseReader(2)]);
    assert_eq!(all[2], [Step::RunUs(1000), Step::AwaitWriter(1), Step::RunUs(2000)]);
}

#[test]
fn a_writer_that_lives_on_lets_its_reader_go_when_that_went_on() {
    let mut writer = child(0, 20);
    writer.output_pipe = Some(5);
    let mut reader = process(Some(0), 0, &[(10, 3, 7, Event::Exit)]);
    reader.input_pipe = Some(5);
    let root = process(None, 0, &[(0, 0, 0, Event::Exit)]);
    let all = steps_of_all(&[root, writer, reader], MS);
    assert_eq!(all[1], [Step::RunUs(7000), Step::ReleaseReader(2), Step::RunUs(13_000)]);
    assert_eq!(all[2], [Step::AwaitWriter(1), Step::RunUs(3000)]);
}

#[test]
fn threads_are_joined_together() {
    let (mut first, mut second) = (child(0, 4), child(0, 6));
    first.thread = true;
    second.thread = true;
    let segments = [
        (0, 0, 0, Event::Fork { child: 1 }),
        (0, 0, 0, Event::Fork { child: 2 }),
        (6, 0, 6, Event::Exit),
    ];
    assert_eq!(
        root_steps(&segments, vec![first, second]),
        [Step::Fork(1), Step::Fork(2), Step::Join(1), Step::Join(2)]
    );
}

#[test]
fn rounding_does_not_add_up() {
    let mut many = process(None, 0, &[]);
    for _ in 0..1000 {
        let event = Event::Exec;
        many.segments.push(Segment {
            start_ns: 0,
            end_ns: 0,
            cpu_ns: 700,
            blocked_ns: MS,
            event,
        });
    }
    let steps = &steps_of_all(&[many], MS)[0];
    let run_us: i64 = steps
        .iter()
        .map(|step| if let Step::RunUs(us) = step { *us } else { 0 })
        .sum();
    assert_eq!(run_us, 700);
}

#[test]
fn a_child_nobody_reported_is_forked_at_its_parents_end() {
    let segments = [(3, 3, 0, Event::Exit)];
    assert_eq!(
        root_steps(&segments, vec![child(3, 8)]),
        [Step::RunUs(3000), Step::Fork(1)]
    );
}
