// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Members that a higher scheduling class takes.

use crate::bench::{Bench, HOLD};
use lop_policy::{role, CpuBits, Sched, Set, Sizing};

/// A real-time task takes one of two members: the set has three until that ends, and two again after the hold time.
#[test]
fn a_member_that_is_taken_is_made_up_for_while_it_lasts() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    let (cpu, _) = bench.wake(task);
    assert_eq!((bench.target(), bench.size()), (2, 2));
    let spare = bench.high().into_iter().find(|&member| member != cpu as usize).unwrap();
    bench.cpu_taken(spare, true);
    assert_eq!((bench.target(), bench.size()), (3, 3));
    bench.pass(2 * HOLD);
    assert_eq!(bench.size(), 3, "it lasts");
    // The CPU falls idle afterwards, as after the task that runs there next.
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, spare as u32, false, now_ns);
    bench.cpu_taken(spare, false);
    assert_eq!(bench.target(), 2);
    bench.policy.cpu_idle(&mut bench.world, spare as u32, true, now_ns);
    bench.pass(HOLD - 1);
    assert_eq!((bench.target(), bench.size()), (2, 3));
    bench.pass(1);
    assert_eq!(bench.size(), 2);
}

/// CPUs 1, 2 and 65 are high; 2, 3 and 65 run a higher class. Two members are made up for: 4 active + 1 spare + 2
/// taken = 7. A fixed size stays, and no set is larger than the machine.
#[test]
fn a_fixed_size_is_not_made_up_for() {
    let mut sched = Box::<Sched>::default();
    sched.nr_open = 128;
    sched.config.spare = 1;
    sched.active[role::ORDINARY as usize] = 4 << 32 | 4;
    let high = &mut sched.set[Set::High as usize];
    high.cpus = CpuBits::of([1, 2, 65]);
    sched.taken = CpuBits::of([2, 3, 65]);
    assert_eq!(sched.target(Set::High), 7);
    sched.config.sizing = Sizing::Fixed;
    for (fixed_size, target) in [(3, 3), (200, 128)] {
        sched.config.fixed_size = fixed_size;
        assert_eq!(sched.target(Set::High), target);
    }
}

/// A higher class on a low core costs our tasks nothing.
#[test]
fn a_low_core_that_is_taken_changes_nothing() {
    let mut bench = Bench::flat(4);
    let low = (0..4).find(|cpu| !bench.high().contains(cpu)).unwrap();
    bench.cpu_taken(low, true);
    assert_eq!((bench.target(), bench.size()), (1, 1));
}

/// A CPU that seemed idle but runs something else is not idle: a woken task goes to the other member.
#[test]
fn a_member_that_is_taken_is_not_idle() {
    let mut bench = Bench::flat(2);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    assert_eq!(bench.size(), 2);
    bench.block_all(&tasks);
    bench.cpu_taken(0, true);
    assert_eq!(bench.wake(tasks[0]), (1, true));
    let (_, claimed) = bench.wake(tasks[1]);
    assert!(!claimed);
}

/// Four cores, one task and the spare. With both members busy and one task active, something else runs on one of them.
#[test]
fn a_set_is_short_when_its_members_are_busy_with_less_than_their_number_of_tasks() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(2);
    assert!(!bench.policy.is_short(), "idle");
    let (cpu, _) = bench.wake(tasks[0]);
    assert!(!bench.policy.is_short(), "the spare is idle");
    let spare = bench.high().into_iter().find(|&member| member != cpu as usize).unwrap();
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, spare as u32, false, now_ns);
    assert!(
        bench.policy.is_short(),
        "the spare is busy, and not with a task of ours"
    );
    bench.cpu_taken(spare, true);
    assert!(!bench.policy.is_short(), "another has joined");
}
