// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Room beyond demand where woken tasks migrate too often, and whole cores kept while siblings share one.

use crate::bench::{config, flat, Bench, HOLD, MS, S, US};
use lop_policy::{Config, CpuPlace, Sizing};

/// At 19 us per migration, 1 % of 10 ms is five of them.
fn roomy(room_permille: u32) -> Config {
    Config {
        spare: 0,
        room_permille,
        migration_ns: 19 * US,
        ..config()
    }
}

/// Of three tasks two are active at a time. A task that wakes finds its core taken by the third.
fn take_turns(bench: &mut Bench, ids: &[usize], wakeups: usize, sleeps_ns: u64) {
    for turn in 0..wakeups {
        bench.block(ids[(turn + 1) % 3]);
        bench.wake(ids[turn % 3]);
        bench.pass(sleeps_ns);
    }
}

fn three_on_two_cores(room_permille: u32) -> (Bench, Vec<usize>) {
    let mut bench = Bench::new(4, roomy(room_permille), flat);
    let ids = bench.tasks(3);
    bench.wake_all(&ids[1..]);
    (bench, ids)
}

/// The first wakeup of a task does not count as a change of core. The sixth change makes room for one more member,
/// with which all tasks keep their cores; a second later that member leaves.
#[test]
fn a_set_that_is_tight_has_room_for_a_second() {
    let (mut bench, ids) = three_on_two_cores(10);
    take_turns(&mut bench, &ids, 6, 100 * US);
    assert_eq!(bench.size(), 2, "five changes");
    take_turns(&mut bench, &ids, 6, 100 * US);
    assert_eq!(bench.size(), 3);
    bench.pass(S - 10 * MS);
    assert_eq!(bench.size(), 3);
    bench.pass(2 * HOLD);
    assert_eq!(bench.size(), 2);
}

#[test]
fn without_the_rule_a_set_is_as_large_as_demand() {
    let (mut bench, ids) = three_on_two_cores(0);
    take_turns(&mut bench, &ids, 60, 100 * US);
    assert_eq!(bench.size(), 2);
}

/// Who sleeps for T_hold finds that its last core is not high any more, so none is kept for it.
#[test]
fn who_sleeps_for_long_makes_no_room() {
    for (sleeps_ns, size) in [(HOLD - US, 4), (HOLD, 2)] {
        let (mut bench, ids) = three_on_two_cores(1);
        take_turns(&mut bench, &ids, 12, sleeps_ns);
        assert_eq!(bench.size(), size, "{sleeps_ns} ns");
    }
}

/// Two cores of two CPUs. Of three tasks two share a core; the third is done. Its core, whole and idle, stays high for
/// the next wakeup while the others share theirs.
#[test]
fn a_whole_core_is_kept_while_siblings_share_one() {
    let siblings = |cpu: usize| CpuPlace {
        next_sibling: (cpu ^ 1) as u16,
        ..flat(cpu)
    };
    for (room_permille, size) in [(10, 3), (0, 2)] {
        let mut bench = Bench::new(4, roomy(room_permille), siblings);
        let ids = bench.tasks(3);
        bench.wake_all(&ids);
        let core_of = |bench: &Bench, id: usize| bench.cpu_of(id).expect("it runs") / 2;
        let cores = [0, 1, 2].map(|n| core_of(&bench, ids[n]));
        let alone = (0..3).find(|&n| cores.iter().filter(|&&core| core == cores[n]).count() == 1);
        bench.block(ids[alone.expect("three on two cores")]);
        bench.pass(2 * HOLD);
        assert_eq!(bench.size(), size, "{room_permille} permille");
    }
}

/// All CPUs are members, 0 for longest. Tasks ran on 0, 1 and 2 a moment ago, none on 3. When the task of 1 comes back,
/// another task has taken 1: it leaves 0 to the task that will come back there. With a slow CPU 4 cores differ in kind.
/// The rule then holds while the four fast cores are enough: for the two tasks and two that are restricted to the slow
/// core, not for three; and not if the fast cores have SMT siblings.
#[test]
fn who_finds_his_cpu_taken_leaves_others_theirs() {
    for (room_permille, machine, restricted_to_slow, ran, expected) in [
        (10, Machine::Alike, 0, true, 3),
        (0, Machine::Alike, 0, true, 0),
        (10, Machine::Alike, 0, false, 0),
        (10, Machine::OneSlow, 0, true, 3),
        (10, Machine::OneSlow, 2, true, 3),
        (10, Machine::OneSlow, 3, true, 0),
        (10, Machine::OneSlow, 0, false, 0),
        (10, Machine::OneSlowAndSiblings, 0, true, 0),
    ] {
        let all_high = Config {
            sizing: Sizing::All,
            ..roomy(room_permille)
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
        let why = format!("{room_permille} permille, {machine:?}, {restricted_to_slow} restricted, ran: {ran}");
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
    let mut bench = Bench::new(4, Config { spare: 1, ..roomy(10) }, flat);
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

/// A task that has never slept does not return, however long T_hold is: on its first CPU nothing has changed.
#[test]
fn a_new_task_has_no_core_to_return_to() {
    let long = Config {
        hold_ns: 10 * S,
        ..roomy(10)
    };
    let mut bench = Bench::new(4, long, flat);
    let ids = bench.tasks(3);
    bench.wake_all(&ids);
    assert_eq!((bench.policy.room.moves, bench.size()), (0, 3));
}

/// Five migrations of 20 us are 1 % of 10 ms, and no more: the sixth change makes room.
#[test]
fn a_set_is_tight_beyond_its_share() {
    let twenty = Config {
        migration_ns: 20 * US,
        ..roomy(10)
    };
    let mut bench = Bench::new(4, twenty, flat);
    let ids = bench.tasks(3);
    bench.wake_all(&ids[1..]);
    let room = [0, 0, 0].map(|_| {
        take_turns(&mut bench, &ids, 3, 100 * US);
        bench.policy.room.members
    });
    assert_eq!(room, [0, 0, 1], "after two, five and eight changes");
}

/// At 19 us per migration, 0.5 % of 10 ms is less than three of them. Every 5 ms a wakeup changes its core: the third comes as T_hold is over, and counts
/// as the first of the next.
#[test]
fn changes_count_within_a_hold_time() {
    for (every_ns, size) in [(HOLD / 2 - US, 3), (HOLD / 2, 2)] {
        let (mut bench, ids) = three_on_two_cores(5);
        take_turns(&mut bench, &ids, 8, every_ns);
        assert_eq!(bench.size(), size, "every {every_ns} ns");
    }
}

/// Three tasks take turns on a machine of two CPUs: both are high, and no room is made that does not exist.
#[test]
fn a_machine_that_is_high_has_no_more_room() {
    let mut bench = Bench::new(2, roomy(10), flat);
    let ids = bench.tasks(3);
    bench.wake_all(&ids[1..]);
    take_turns(&mut bench, &ids, 12, 100 * US);
    assert_eq!((bench.size(), bench.policy.room.members), (2, 0));
}
