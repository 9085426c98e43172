// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A task's weight is in its group from wakeup to block, whether it spins or not.

use crate::bench::{config, flat, Bench, MS};
use lop_policy::{Config, Group, NONE, WEIGHT_DEFAULT};

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

/// The mean moves by (active - mean) * passed / 16.777 ms, 2^24 ns. Two tasks of 1024 wake at once. After a quarter of that a third one
/// wakes: the mean was 1024 and moved by 1024 / 4 to 1280. It moves by (3072 - 1280) / 2 in the next half, to 2176, when two block.
/// It falls by (2176 - 1024) / 2 in another half, to 1600, and a second later it is what is active, 1024.
#[test]
fn the_mean_of_a_group_follows_what_is_active() {
    let (mut bench, tasks, _) = beside_one(4);
    bench.wake_all(&tasks[..2]);
    let mean = |bench: &Bench| bench.groups[0].mean_1024 as f64 / 1024.0;
    assert_eq!(mean(&bench), 1024.0);
    bench.pass(1 << 22);
    bench.wake(tasks[2]);
    assert_eq!(mean(&bench), 1280.0);
    bench.pass(1 << 23);
    bench.block_all(&tasks[1..3]);
    assert_eq!(mean(&bench), 2176.0);
    for (passed_ns, expected) in [(1 << 23, 1600.0), (1000 * MS, 1024.0)] {
        bench.pass(passed_ns);
        bench.wake(tasks[1]);
        assert_eq!(mean(&bench), expected);
        bench.block(tasks[1]);
    }
}

/// Each group halves what its tasks have: 1024 * 512 / 1024. Of a chain of nine only the eight inner ones count, and only these
/// get the weight of an active task.
#[test]
fn eight_levels_of_groups_count() {
    let (mut bench, ..) = beside_one(1);
    let task = bench.task();
    let inner = bench.group(512);
    let outer: Vec<*mut Group> = (1..9).map(|number| bench.policy.group(number)).collect();
    for (n, &group) in outer.iter().enumerate() {
        let parent = if n < 7 { n as i32 + 2 } else { NONE };
        let weight = if n == 7 { 1 } else { 512 };
        unsafe {
            *group = Group {
                parent,
                ..Group::new(weight)
            }
        };
    }
    bench.groups[inner].parent = 1;
    bench.group_of[task] = Some(inner);
    bench.wake(task);
    let active: Vec<u32> = outer.iter().map(|&group| unsafe { (*group).active_weight() }).collect();
    assert_eq!(active, [512, 512, 512, 512, 512, 512, 512, 0]);
    let group = Some(&bench.groups[inner]);
    let policy = bench.policy;
    assert_eq!(policy.weight_of_user(&bench.tasks[task], group), 4, "1024 / 2^8");
    assert_eq!(
        policy.effective_weight(&bench.tasks[task], group),
        512.0,
        "alone in each"
    );
    assert!(
        !policy.owner_says_nobody_waits(&bench.tasks[task], group, 1024),
        "the ninth is below 15"
    );
    let eighth = outer[6];
    unsafe { *eighth = Group::new(15) };
    assert!(policy.owner_says_nobody_waits(&bench.tasks[task], Some(&bench.groups[inner]), 1024));
}

/// Three tasks of 1024 have been active for long, and two of them sleep: what is active is 1024, the mean 3072. The third becomes one of 512:
/// the mean is 3072 - 512. Where one of 1024 has been alone and another has just woken the mean is 1024, and what is active then 1536.
#[test]
fn a_loss_of_weight_is_taken_from_the_mean_down_to_what_is_active() {
    for (long, short, sleep, mean) in [(3, 0, 2, 2560), (1, 1, 0, 1536)] {
        let (mut bench, tasks, _) = beside_one(3);
        bench.wake_all(&tasks[..long]);
        bench.pass(1000 * MS);
        bench.wake_all(&tasks[long..long + short]);
        bench.block_all(&tasks[1..=sleep]);
        bench.set_weight(tasks[0], 512);
        assert_eq!(
            bench.groups[0].mean_1024 >> 10,
            mean,
            "{long} long, {sleep} of them sleep"
        );
    }
}

/// The mean moves in steps of 1024 ns, by a 2^14th of what is missing each: 64 of 1024^2 for 1024 that became active beside 1024. What is left of a step counts
/// to the next change, but not what was left when nothing was active.
#[test]
fn the_mean_moves_in_steps() {
    const ONE: u64 = 1024 * 1024;
    let after = |first_ns, second_ns| {
        let (mut bench, tasks, _) = beside_one(2);
        bench.wake(tasks[0]);
        bench.pass(first_ns);
        bench.wake(tasks[1]);
        bench.pass(second_ns);
        bench.block(tasks[1]);
        bench.groups[0].mean_1024 - ONE
    };
    assert_eq!(after(1024, 1024), 64, "one step");
    assert_eq!(after(512, 512), 64, "one step since the first woke");
    assert_eq!(after(512, 511), 0, "none yet");
    let (mut bench, tasks, _) = beside_one(2);
    bench.wake(tasks[0]);
    bench.pass(2048);
    bench.block(tasks[0]);
    bench.pass(1000);
    bench.wake_all(&tasks);
    bench.pass(1100);
    bench.block(tasks[1]);
    assert_eq!(bench.groups[0].mean_1024 - ONE, 64, "one step of 1100 ns, none of 1000");
}
