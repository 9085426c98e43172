// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A task's weight is in its group from wakeup to block, whether it spins or not.

use crate::bench::{config, flat, Bench, MS};
use lop_policy::{Config, WEIGHT_DEFAULT};

/// On one CPU, `count` tasks of one group of the default weight, and one task of another.
fn beside_one(count: usize) -> (Bench, Vec<usize>, usize) {
    let mut bench = Bench::new(1, Config { spare: 0, ..config() }, flat);
    let (tasks, other) = (bench.tasks(count), bench.task());
    let groups = [bench.group(WEIGHT_DEFAULT), bench.group(WEIGHT_DEFAULT)];
    tasks.iter().for_each(|&task| bench.group_of[task] = Some(groups[0]));
    bench.group_of[other] = Some(groups[1]);
    (bench, tasks, other)
}

/// Each of the 8 has an eighth of its group: 1 ms costs it 8 ms of virtual time, and 1 ms of the other task costs 1 ms. In 640
/// slices of 1 ms both groups have 320, give or take two slices of each of the 8; were each charged as if alone, the other
/// would have 640 / 9 = 71.
#[test]
fn tasks_that_say_they_spin_get_no_more_than_the_share_of_their_group() {
    let (mut bench, tasks, other) = beside_one(8);
    bench.wake_all(&tasks);
    bench.wake(other);
    tasks.iter().for_each(|&task| bench.spin(task, true));
    let mut slices = vec![0; bench.tasks.len()];
    for _ in 0..640 {
        let task = bench.running[0].expect("nine wait for one CPU");
        let before_ns = bench.tasks[task].vtime_ns;
        bench.pass(MS);
        bench.run_and_preempt(0, MS);
        let cost_ns = if task == other { MS } else { 8 * MS };
        assert!(bench.tasks[task].vtime_ns >= before_ns + cost_ns, "task {task}");
        slices[task] += 1;
    }
    assert!(usize::abs_diff(slices[other], 320) <= 16, "{slices:?}");
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Wake,
    Spin(bool),
    Preempt,
    Weigh,
    Block,
    Exit,
}

/// All sequences of five events that can follow one another. The thread that exits may have blocked before.
#[test]
fn a_group_has_the_weight_of_those_that_are_awake() {
    const EVENTS: [Event; 7] = [
        Event::Wake,
        Event::Spin(true),
        Event::Spin(false),
        Event::Preempt,
        Event::Weigh,
        Event::Block,
        Event::Exit,
    ];
    let (mut bench, tasks, other) = beside_one(1);
    let task = tasks[0];
    bench.wake(other);
    for sequence in 0..7_usize.pow(5) {
        let events: Vec<Event> = (0..5).map(|n| EVENTS[sequence / 7_usize.pow(n) % 7]).collect();
        let mut awake = false;
        for event in events.iter().chain(&[Event::Exit]) {
            match event {
                Event::Wake if !awake => {
                    bench.wake(task);
                    awake = true;
                }
                Event::Spin(spins) if awake => bench.spin(task, *spins),
                Event::Preempt => {
                    bench.pass(MS);
                    bench.run_and_preempt(0, MS);
                }
                Event::Weigh => {
                    let weight = if bench.tasks[task].weight == 250 {
                        WEIGHT_DEFAULT
                    } else {
                        250
                    };
                    let (policy, now_ns) = (bench.policy, bench.now());
                    let (about, _, group) = bench.pointers(task);
                    unsafe { policy.set_weight(about, group, weight, now_ns) };
                }
                Event::Block if awake => {
                    bench.block(task);
                    awake = false;
                }
                Event::Exit => {
                    if awake {
                        bench.block(task);
                    }
                    bench.forget(task);
                    awake = false;
                }
                _ => {}
            }
            let expected = if awake { bench.tasks[task].weight } else { 0 };
            assert_eq!(bench.groups[0].active_weight(), expected, "{event:?} in {events:?}");
        }
    }
}
