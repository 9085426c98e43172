// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A fast core is never idle while a slow one runs a task that is worth moving.

use crate::bench::{config, flat, Bench, MS, US};
use crate::light::{base, home, homes, homes_of, run, woken};
use crate::pace::{points, two_kinds};
use crate::phase::{asymmetric, MIGRATION};
use crate::sets::wake_meanwhile;
use lop_policy::{hint_flags, rules, Config, CpuPlace};

/// Of four tasks, one in an application each, the first has the fast core. When it blocks, the task that waited longest
/// for a turn takes the core.
#[test]
fn a_fast_core_that_falls_idle_takes_running_work_from_a_slow_one() {
    let mut bench = asymmetric(4, 1, rules::TURNS);
    let ids = bench.tasks(3);
    bench.wake_all(&ids);
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
    bench.pass(MS);
    bench.block(ids[0]);
    let on_fast: Vec<usize> = ids.iter().copied().filter(|&id| bench.cpu_of(id) == Some(0)).collect();
    assert_eq!(on_fast.len(), 1);
    assert_ne!(on_fast[0], ids[0]);
}

/// A task that has just woken may be done before it has moved: it is left until it has run for ten migrations. With room it may sleep soon: until it has
/// run for 2 ms.
#[test]
fn work_is_moved_when_what_remains_is_worth_ten_migrations() {
    for (room, lasts_ns) in [(false, 10 * MIGRATION), (true, 2 * MS)] {
        let mut bench = asymmetric(3, 1, rules::TURNS);
        bench.owner.sched().config.room = room;
        bench.owner.sched().config.keeps_kind = true;
        let ids = bench.tasks(2);
        bench.wake_all(&ids);
        bench.block(ids[0]);
        assert_eq!(bench.cpu_of(ids[1]), Some(1));
        bench.pass(lasts_ns - 1);
        assert_eq!(bench.cpu_of(ids[1]), Some(1));
        bench.pass(US);
        assert_eq!(bench.cpu_of(ids[1]), Some(0), "room: {room}");
    }
}

/// CPUs 0 and 1 are SMT siblings on the fast core, 2 and 3 slow ones.
fn two_halves() -> Bench {
    let halves = |cpu: usize| CpuPlace {
        tier: u16::from(cpu >= 2),
        next_sibling: [1, 0, 2, 3][cpu],
        ..flat(cpu)
    };
    let rules = Config {
        rules: rules::TURNS,
        migration_ns: MIGRATION,
        turn_ns: 20 * MS,
        ..config()
    };
    Bench::new(4, rules, halves)
}

/// Both halves of the fast core are idle, and both tasks on slow ones are worth moving at once: one of them moves. What moves at the same moment
/// would share that core.
#[test]
fn the_halves_of_an_idle_core_take_one_task() {
    let mut bench = two_halves();
    let ids = bench.tasks(3);
    bench.wake_all(&ids);
    let fast = *ids
        .iter()
        .find(|&&id| bench.cpu_of(id) < Some(2))
        .expect("one is on the fast core");
    bench.block(fast);
    bench.pass(10 * MIGRATION - 1);
    assert_eq!(bench.policy.fast.moves, 0);
    bench.pass(50 * MS);
    let places: Vec<_> = ids.iter().filter_map(|&id| bench.cpu_of(id)).collect();
    assert_eq!(places.iter().filter(|&&cpu| cpu < 2).count(), 1, "{places:?}");
    assert!(places.iter().any(|&cpu| cpu >= 2), "{places:?}");
}

/// A task is on its way to one half of the fast core: for a task that starts on a slow one there is no whole core.
#[test]
fn a_core_that_a_task_is_on_its_way_to_is_not_whole() {
    for (half, moves) in [(None, 1), (Some(0), 0), (Some(1), 0)] {
        let mut bench = two_halves();
        let ids = bench.tasks(2);
        bench.wake_all(&ids);
        assert_eq!([0, 1].map(|n| bench.cpu_of(ids[n])), [Some(0), Some(2)]);
        if let Some(half) = half {
            bench.owner.sched().fast.claimed.add(half);
        }
        bench.block(ids[0]);
        bench.pass(10 * MIGRATION);
        if half.is_some() {
            bench.run_and_preempt(2, MS);
        }
        assert_eq!(bench.policy.fast.moves, moves, "{half:?}");
    }
}

/// CPUs 0 and 1 are SMT siblings on the fast core. With one of them busy the other is no better than a whole slow core.
#[test]
fn the_other_half_of_a_busy_core_takes_nothing() {
    let mut bench = two_halves();
    let ids = bench.tasks(3);
    bench.wake_all(&ids);
    let places: Vec<_> = ids.iter().map(|&id| bench.cpu_of(id).unwrap()).collect();
    assert_eq!(places.iter().filter(|&&cpu| cpu < 2).count(), 1, "{places:?}");
    bench.block(ids[2]);
    bench.pass(15 * MS);
    let on_fast = ids
        .iter()
        .filter(|&&id| bench.cpu_of(id).is_some_and(|cpu| cpu < 2))
        .count();
    assert_eq!(on_fast, 1, "the idle half stays idle");
    let holder = ids
        .iter()
        .copied()
        .find(|&id| bench.cpu_of(id).is_some_and(|cpu| cpu < 2))
        .unwrap();
    bench.block(holder);
    bench.pass(MS);
    let other = ids.iter().copied().find(|&id| bench.cpu_of(id).is_some()).unwrap();
    assert!(bench.cpu_of(other).unwrap() < 2, "all of the core is free");
}

/// Without rules for the fast cores no running task moves.
#[test]
fn without_rules_running_work_stays() {
    let mut bench = asymmetric(3, 1, 0);
    let ids = bench.tasks(2);
    bench.wake_all(&ids);
    bench.pass(100 * MS);
    bench.block(ids[0]);
    bench.pass(100 * MS);
    assert_eq!(bench.cpu_of(ids[1]), Some(1));
    assert_eq!(bench.policy.fast.moves, 0);
}

/// The task that was sent blocks before its CPU is preempted: no other task moves.
#[test]
fn a_move_that_comes_too_late_is_called_off() {
    let mut bench = asymmetric(2, 1, rules::TURNS);
    let ids = bench.tasks(2);
    bench.wake_all(&ids);
    // The timer sends the second task to the fast core; before the preemption takes place, the task blocks.
    bench.world.now_ns += 20 * MS;
    let now_ns = bench.now();
    bench.policy.timer(&mut bench.world, now_ns);
    assert_eq!(bench.policy.fast.moves, 1);
    bench.block(ids[1]);
    bench.follow_kicks();
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
    // The claim is gone afterwards: another move succeeds.
    bench.wake(ids[1]);
    bench.pass(21 * MS);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
}

/// The core that a task comes from joins no set because of the move, and the fast core is a member when the task runs
/// there.
#[test]
fn a_core_that_work_is_moved_to_is_high() {
    let mut bench = asymmetric(3, 1, rules::TURNS);
    let ids = bench.tasks(2);
    bench.wake_all(&ids);
    bench.block(ids[0]);
    bench.pass(50 * MS);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
    assert_eq!(bench.high(), [0], "the slow one has left after the hold time");
}

/// The fast core is no member when it falls idle and takes a task from a slow one. While it joins and holds the lock of
/// the sets, another CPU wakes two tasks, for which one more core has to join. The timer makes it join at once, as
/// there is no room on the stack for that.
#[test]
fn growth_that_found_the_lock_taken_by_a_move_is_made_by_the_timer() {
    let mut bench = asymmetric(4, 1, rules::TURNS);
    let ids = bench.tasks(3);
    bench.offline(0);
    bench.wake(ids[0]);
    bench.pass(20 * MS);
    let now_ns = bench.now();
    bench.policy.cpu_online(&mut bench.world, 0, now_ns);
    bench.world.timer_at_ns = None;
    wake_meanwhile(&mut bench, &ids[1..]);
    bench.policy.cpu_idle(&mut bench.world, 0, true, now_ns);
    assert!(bench.high().contains(&0), "it joined");
    assert!(bench.size() < bench.target());
    assert_eq!(bench.world.timer_at_ns, Some(now_ns));
}

/// Ten fast cores and ten slow ones. One pass of the timer moves eight tasks: to cores that fell idle before a move was worth
/// it, where the next pass moves the other two; and at the end of a turn, when each move brings the task of the fast core to
/// the slow one.
#[test]
fn one_pass_moves_eight_tasks() {
    let timer = |bench: &mut Bench, passed_ns: u64| {
        bench.world.now_ns += passed_ns;
        let (now_ns, before) = (bench.now(), bench.policy.fast.moves);
        bench.policy.timer(&mut bench.world, now_ns);
        bench.follow_kicks();
        bench.policy.fast.moves - before
    };
    let busy = || {
        let mut bench = asymmetric(20, 10, rules::TURNS);
        let ids = bench.tasks(20);
        bench.wake_all(&ids);
        (bench, ids)
    };
    let (mut bench, ids) = busy();
    bench.block_all(&ids[..10]);
    assert_eq!([10 * MIGRATION, 20 * MS].map(|ns| timer(&mut bench, ns)), [8, 2]);
    assert_eq!(timer(&mut busy().0, 20 * MS), 8);
}

/// A task that may use only the fast core waits there, 3 ms behind one on the slow core that becomes awaited. The awaited one is
/// given the core, so it goes before what waits there.
#[test]
fn a_task_that_is_given_a_core_goes_before_what_waits_there() {
    let mut bench = asymmetric(2, 1, rules::PHASES | rules::TURNS);
    let ids = [bench.task(), bench.task(), bench.pinned([0])];
    bench.wake_all(&ids);
    assert_eq!(ids.map(|id| bench.cpu_of(id)), [Some(0), Some(1), None]);
    bench.tasks[ids[1]].vtime_ns = bench.tasks[ids[2]].vtime_ns + 3 * MS;
    bench.set_hints(ids[1], hint_flags::SEQUENTIAL);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
}

/// Heavy work has a slow core, as light tasks (light.h) have the fast ones. A fast one that such a task leaves is anybody's, though it is still green: it takes
/// the heavy task once that is worth moving.
#[test]
fn heavy_work_moves_to_a_fast_core_that_light_work_left() {
    let config = Config {
        rules: rules::TURNS,
        migration_ns: MS / 100,
        ..base()
    };
    let mut bench = Bench::new(4, config.with_ladder(&points()), two_kinds);
    let ids = woken(&mut bench, [450, 450, 50]);
    assert_eq!(homes_of(&bench, ids), [0, 1, 2]);
    run(&mut bench, ids[2], 64 * MS);
    assert!(bench.cpu_of(ids[2]) >= Some(2) && home(&bench, ids[2]).is_none());
    bench.block(ids[1]);
    assert_eq!(homes(&bench), [0]);
    bench.pass(10 * MS);
    assert!(bench.cpu_of(ids[2]) == Some(1) && bench.high().contains(&1));
}
