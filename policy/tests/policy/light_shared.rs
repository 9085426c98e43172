// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Light work, where several tasks share a CPU.

use crate::bench::{config, flat, Bench, MS};
use crate::light::{homes_of, known, light, on, take, woken, HALF_LIFE};
use crate::pace::one_clock_each;

/// Slow cores have one clock, and no core is idle: 40 permille have CPU 2, and 10 and 60 share CPU 3. Placed again, the 10 would go to CPU 2, which has more room.
#[test]
fn while_no_core_is_idle_tasks_stay_and_share() {
    let mut bench = on(one_clock_each);
    take(&mut bench, [0, 1]);
    let ids = woken(&mut bench, [40, 10, 60]);
    assert_eq!(homes_of(&bench, ids), [2, 3, 3]);
    bench.pass(2 * MS);
    bench.run_and_preempt(3, 2 * MS);
    assert_eq!((homes_of(&bench, ids), bench.cpu_of(ids[2])), ([2, 3, 3], Some(3)));
}

/// Where all are busy, its last one, if the task fits there, although a fast one has more room; else the one with most room: 1000 - 100 on a fast one.
#[test]
fn of_busy_cpus_its_last_one_is_the_roomiest_and_then_the_one_with_most_room() {
    for (last, permille, cpu) in [(3, 50, 3), (3, 450, 1), (0, 450, 0)] {
        let mut bench = light();
        let others = woken(&mut bench, [850, 100, 50, 50]);
        assert_eq!(homes_of(&bench, others), [0, 1, 2, 3]);
        let id = known(&mut bench, permille);
        bench.tasks[id].light.counts_at = 1 + last;
        bench.wake(id);
        assert_eq!(homes_of(&bench, [id]), [cpu], "{last} {permille}");
    }
}

/// Two tasks of 800 permille make 1600 of a CPU. It gives no more than 1000: busy for a half-life, it comes half way to that, and idle for another one to a half.
/// What one of them counts for goes with it.
#[test]
fn a_cpu_is_used_by_the_sum_even_if_that_is_more_than_it_gives() {
    let mut bench = light();
    take(&mut bench, [1, 2, 3]);
    let ids = woken(&mut bench, [800, 800]);
    assert_eq!(homes_of(&bench, ids), [0, 0]);
    assert_eq!(bench.policy.light.used[0], 1600 << 10);
    bench.pass(HALF_LIFE);
    let ran = bench.run_and_preempt(0, HALF_LIFE);
    let waited = bench.running[0].expect("the other one runs");
    assert_eq!(bench.policy.light.used[0], 1300 << 10);
    bench.end(waited);
    assert_eq!(bench.tasks[waited].light.used, 400 << 10);
    assert_eq!(
        [bench.tasks[ran].light.used, bench.policy.light.used[0]],
        [900 << 10; 2]
    );
    bench.block(ran);
    bench.pass(HALF_LIFE);
    bench.wake(ran);
    assert_eq!(bench.policy.light.used[0], 450 << 10);
}

/// The tasks that run on `cpu`, as half of a slice each time is over.
fn run_by_halves(bench: &mut Bench, cpu: usize) -> Vec<usize> {
    let half_ns = bench.policy.config.slice_max_ns / 2;
    let run = |_| {
        bench.pass(half_ns);
        bench.run_on(cpu, half_ns)
    };
    (0..8).map(run).collect()
}

/// Two tasks share a CPU. It is looked at what runs twice in a slice, and each has a slice in turn.
#[test]
fn a_look_ends_no_slice() {
    let mut bench = light();
    take(&mut bench, [1, 2, 3]);
    let ids = woken(&mut bench, [300, 300]);
    let turns = [ids[0], ids[1], ids[0], ids[1]].map(|id| [id; 2]).concat();
    assert_eq!(run_by_halves(&mut bench, 0), turns);
}

/// A task that yields before the look, after 1 ms, goes behind the other, and so on.
#[test]
fn a_light_task_may_yield() {
    let mut bench = light();
    take(&mut bench, [1, 2, 3]);
    let ids = woken(&mut bench, [300, 300]);
    for turn in 0..6 {
        bench.pass(MS);
        assert_eq!(bench.run_on(0, MS), ids[turn % 2], "{turn}");
    }
}

/// Where no work is light, what ends there ends a slice: on an isolated CPU, too, which serves its own queue alone as a home does.
#[test]
fn without_light_work_the_end_of_a_slice_is_one() {
    let mut bench = Bench::isolating(&[1], 2, config(), flat);
    let ids = [bench.pinned([1]), bench.pinned([1])];
    bench.wake_all(&ids);
    let turns = [[ids[0], ids[1]]; 4].concat();
    assert_eq!(run_by_halves(&mut bench, 1), turns);
}

/// A task that needs 1.25 times 350 permille does not fit on a slow CPU any more. It stays while no fast one is idle, and goes there once one is.
#[test]
fn who_does_not_fit_stays_until_a_faster_cpu_is_idle() {
    let mut bench = light();
    let busy = woken(&mut bench, [850, 850]);
    let [id] = woken(&mut bench, [100]);
    assert_eq!(homes_of(&bench, [busy[0], busy[1], id]), [0, 1, 2]);
    bench.tasks[id].light.used = 350 << 10;
    for fast_is_idle in [false, true] {
        if fast_is_idle {
            bench.block(busy[1]);
        }
        bench.pass(2 * MS);
        bench.run_and_preempt(2, 2 * MS);
        assert_eq!(homes_of(&bench, [id]), [if fast_is_idle { 1 } else { 2 }]);
    }
}
