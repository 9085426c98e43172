// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Cores that stay for tasks that sleep for a moment, and tasks that leave others theirs.

use crate::bench::{config, flat, Bench, HOLD, MS, US};
use lop_policy::{Config, CpuPlace, Sizing};

fn roomy(room: bool) -> Config {
    Config {
        spare: 0,
        room,
        ..config()
    }
}

/// Of three tasks two are active at a time. Each sleeps for a turn, and finds its CPU as it left it if that has not left.
fn take_turns(bench: &mut Bench, ids: &[usize], wakeups: usize, sleeps_ns: u64) {
    for turn in 0..wakeups {
        bench.block(ids[(turn + 1) % 3]);
        bench.wake(ids[turn % 3]);
        bench.pass(sleeps_ns);
    }
}

/// All three were active at once, so that each has a core.
fn after_turns(room: bool, sleeps_ns: u64) -> (Bench, Vec<usize>) {
    let mut bench = Bench::new(4, roomy(room), flat);
    let ids = bench.tasks(3);
    bench.wake_all(&ids);
    bench.block(ids[0]);
    take_turns(&mut bench, &ids, (5 * HOLD / sleeps_ns) as usize, sleeps_ns);
    (bench, ids)
}

/// A tenth of T_hold. By demand alone the third core leaves after T_hold, however soon a task would have come back to it.
#[test]
fn a_core_stays_while_its_task_sleeps_for_a_moment() {
    for (room, sleeps_ns, size) in [
        (true, HOLD / 10 - US, 3),
        (true, HOLD / 10, 2),
        (true, HOLD / 2, 2),
        (false, HOLD / 100, 2),
    ] {
        let (bench, _) = after_turns(room, sleeps_ns);
        assert_eq!(bench.size(), size, "room: {room}, {sleeps_ns} ns");
    }
}

/// The third core is surplus all the time. Once no task comes back to it, it leaves without any event, a tenth of T_hold later.
#[test]
fn a_core_that_has_rested_leaves() {
    let (mut bench, ids) = after_turns(true, HOLD / 100);
    bench.block(ids[0]);
    bench.block(ids[1]);
    bench.block(ids[2]);
    assert_eq!(bench.size(), 3);
    bench.pass(HOLD / 10 - US);
    assert!(bench.size() >= 2, "one task was active until now: {}", bench.size());
    bench.pass(3 * HOLD);
    assert!(bench.size() <= 1, "{}", bench.size());
}

/// All CPUs are members, 0 for longest. Tasks ran on 0, 1 and 2 a moment ago, none on 3. When the task of 1 comes back,
/// another task has taken 1: it leaves 0 to the task that will come back there. With a slow CPU 4 cores differ in kind.
/// The rule then holds while the four fast cores are enough: for the two tasks and two that are restricted to the slow
/// core, not for three; and not if the fast cores have SMT siblings.
#[test]
fn who_finds_his_cpu_taken_leaves_others_theirs() {
    for (room, machine, restricted_to_slow, ran, expected) in [
        (true, Machine::Alike, 0, true, 3),
        (false, Machine::Alike, 0, true, 0),
        (true, Machine::Alike, 0, false, 0),
        (true, Machine::OneSlow, 0, true, 3),
        (true, Machine::OneSlow, 2, true, 3),
        (true, Machine::OneSlow, 3, true, 0),
        (true, Machine::OneSlow, 0, false, 0),
        (true, Machine::OneSlowAndSiblings, 0, true, 0),
    ] {
        let all_high = Config {
            sizing: Sizing::All,
            ..roomy(room)
        };
        let mut bench = Bench::new(machine.cpus(), all_high, |cpu| machine.place(cpu));
        let ids = bench.tasks(3);
        bench.wake_all(&ids);
        assert_eq!([0, 1, 2].map(|n| bench.cpu_of(ids[n])), [Some(0), Some(1), Some(2)]);
        bench.pass(3 * MS);
        for &id in &ids {
            bench.pass(MS);
            bench.block(id);
        }
        for _ in 0..restricted_to_slow {
            let restricted = bench.pinned([4]);
            bench.wake(restricted);
        }
        let others = bench.tasks(2);
        bench.last_cpu[others[0]] = 1;
        bench.last_cpu[others[1]] = 1;
        bench.wake(others[0]);
        assert_eq!(bench.cpu_of(others[0]), Some(1));
        let comes = if ran { ids[1] } else { others[1] };
        bench.wake(comes);
        let why = format!("room: {room}, {machine:?}, {restricted_to_slow} restricted, ran: {ran}");
        assert_eq!(bench.cpu_of(comes), Some(expected), "{why}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Machine {
    Alike,
    OneSlow,
    /// CPUs 5 to 8 are the SMT siblings of 0 to 3.
    OneSlowAndSiblings,
}

impl Machine {
    fn cpus(self) -> usize {
        match self {
            Self::Alike => 4,
            Self::OneSlow => 5,
            Self::OneSlowAndSiblings => 9,
        }
    }
    fn place(self, cpu: usize) -> CpuPlace {
        let next_sibling = match (self, cpu) {
            (Self::OneSlowAndSiblings, 0..=3) => cpu + 5,
            (Self::OneSlowAndSiblings, 5..) => cpu - 5,
            _ => cpu,
        };
        CpuPlace {
            tier: u16::from(cpu == 4),
            next_sibling: next_sibling as u16,
            ..flat(cpu)
        }
    }
}

/// One task runs on CPU 0, and another ran on the spare a moment ago. It comes back to CPU 0 and finds it taken. A CPU
/// joins as the next spare, idle for longest and not yet at its speed: the task goes to the spare that was there
/// before.
#[test]
fn who_leaves_others_theirs_does_not_go_to_a_rising_core() {
    let mut bench = Bench::new(
        4,
        Config {
            spare: 1,
            ..roomy(true)
        },
        flat,
    );
    let ids = bench.tasks(2);
    bench.wake(ids[0]);
    let before = bench.high();
    assert_eq!(before.len(), 2);
    bench.pass(5 * MS);
    bench.wake(ids[1]);
    let spare = bench.cpu_of(ids[1]).expect("it runs");
    assert!(before.contains(&spare));
    bench.pass(MS);
    bench.block(ids[1]);
    bench.pass(4 * HOLD);
    let was_high = bench.high();
    assert_eq!(was_high.len(), 2, "the CPU that joined for it has left");
    bench.last_cpu[ids[1]] = 0;
    bench.wake(ids[1]);
    let at = bench.cpu_of(ids[1]).expect("it runs");
    assert_eq!(bench.high().len(), 3, "the next spare");
    assert!(
        was_high.contains(&at),
        "on CPU {at}, which has just joined {was_high:?}"
    );
}
