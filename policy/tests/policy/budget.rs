// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Users share the fast cores by weight, whatever their threads hint.

use crate::bench::{Bench, MS, US};
use crate::phase::asymmetric;
use lop_policy::{hint_flags, rules, weight_of_nice, Group, WEIGHT_DEFAULT};

const HONEST: u32 = 1000;
const ATTACKER: u32 = 1001;
const SCHED_IDLE: u32 = 3;
const TURN_MS: u64 = 20;

/// One fast CPU and slow ones; tasks of equal rank take turns of 20 ms.
fn bench(cpus: usize) -> Bench {
    asymmetric(cpus, 1, rules::PHASES | rules::TURNS)
}

/// A thread that computes, with these hints.
fn thread_of(bench: &mut Bench, user: u32, weight: u32, flags: u32) -> usize {
    let id = bench.task();
    bench.tasks[id].user = user;
    bench.tasks[id].user_weight = weight;
    bench.tasks[id].hint.flags = flags;
    bench.wake(id);
    id
}

fn has_fast_core(bench: &Bench, user: u32) -> bool {
    bench.running[0].is_some_and(|id| bench.tasks[id].user == user)
}

/// For how many ms of each second the user has the fast core. `each_ms` runs before each ms.
fn fast_ms(bench: &mut Bench, seconds: u64, user: u32, each_ms: &mut dyn FnMut(&mut Bench, u64)) -> Vec<u64> {
    let mut ms_of_second = |bench: &mut Bench, second: u64| {
        let has = (0..1000).filter(|ms| {
            each_ms(bench, 1000 * second + ms);
            bench.pass(MS);
            has_fast_core(bench, user)
        });
        has.count() as u64
    };
    (0..seconds).map(|second| ms_of_second(bench, second)).collect()
}

fn nothing(_: &mut Bench, _: u64) {}

/// In no second more than the share plus one turn; in all seconds together no less than the share minus two turns.
fn assert_share(found_ms: &[u64], share_ms: u64, why: &str) {
    assert!(
        found_ms.iter().all(|&ms| ms <= share_ms + TURN_MS),
        "{why}: {found_ms:?}"
    );
    let (sum, all) = (found_ms.iter().sum::<u64>(), share_ms * found_ms.len() as u64);
    assert!(sum + 2 * TURN_MS >= all, "{why}: {found_ms:?}");
}

/// By hand: at equal weight each has 20 ms in turn. At nice 19 the attacker's 20 ms cost 20 * 1024 / 15 = 1365 ms, for
/// which the other has the core.
#[test]
fn what_a_hint_takes_from_another_user_is_paid_by_weight() {
    for (weight, comes_back_ms) in [(WEIGHT_DEFAULT, 40), (weight_of_nice(19), 1400)] {
        let mut bench = bench(2);
        let honest = thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
        bench.pass(500 * MS);
        let attacker = thread_of(&mut bench, ATTACKER, weight, hint_flags::SEQUENTIAL);
        assert_eq!(bench.cpu_of(attacker), Some(0), "nobody has had less than the other");
        bench.pass(TURN_MS * MS - 1);
        assert_eq!(bench.cpu_of(attacker), Some(0));
        bench.pass(1);
        assert_eq!((bench.cpu_of(honest), bench.cpu_of(attacker)), (Some(0), Some(1)));
        let left_ms = comes_back_ms - TURN_MS;
        bench.pass(left_ms * MS - 1);
        assert_eq!(bench.cpu_of(honest), Some(0), "{weight}");
        bench.pass(1);
        assert_eq!(bench.cpu_of(attacker), Some(0), "{weight}");
    }
}

/// One thread hints all the time that it is awaited, beside one that computes.
#[test]
fn over_each_second_a_hint_gets_no_more_than_its_share_of_another_user() {
    for (weight, share_ms) in [(WEIGHT_DEFAULT, 500), (weight_of_nice(19), 14), (SCHED_IDLE, 3)] {
        let mut bench = bench(2);
        thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
        bench.pass(500 * MS);
        thread_of(&mut bench, ATTACKER, weight, hint_flags::SEQUENTIAL);
        let found_ms = fast_ms(&mut bench, 20, ATTACKER, &mut nothing);
        assert_share(&found_ms, share_ms, &format!("weight {weight}"));
    }
}

/// With no other user there, the awaited thread has the core for good, as it goes before all other threads of its user.
#[test]
fn within_a_user_hints_hold_without_end() {
    let mut bench = bench(3);
    for _ in 0..2 {
        thread_of(&mut bench, ATTACKER, WEIGHT_DEFAULT, 0);
    }
    bench.pass(500 * MS);
    let awaited = thread_of(&mut bench, ATTACKER, weight_of_nice(19), hint_flags::SEQUENTIAL);
    for _ in 0..3000 {
        assert_eq!(bench.cpu_of(awaited), Some(0));
        bench.pass(MS);
    }
}

/// An awaited thread of another user changes nothing for the honest one: two awaited threads take turns by weight.
#[test]
fn of_two_awaited_threads_of_two_users_the_heavier_has_more() {
    let mut bench = bench(2);
    thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, hint_flags::SEQUENTIAL);
    thread_of(&mut bench, ATTACKER, weight_of_nice(19), hint_flags::SEQUENTIAL);
    let found_ms = fast_ms(&mut bench, 20, ATTACKER, &mut nothing);
    assert_share(&found_ms, 14, "nice 19");
}

/// Ways to get more: to yield before the turn ends, which begins a new one; to sleep for a moment and wake on the core;
/// to drop the hint for a moment; to have two awaited threads, one of which goes before the honest thread, and any
/// number of other threads.
#[test]
fn no_trick_gives_a_user_more_than_its_share() {
    let yields = |bench: &mut Bench, ms: u64| {
        if ms.is_multiple_of(10) && has_fast_core(bench, ATTACKER) {
            bench.run_and_preempt(0, 0);
        }
    };
    let sleeps = |bench: &mut Bench, ms: u64| {
        if ms.is_multiple_of(10) && has_fast_core(bench, ATTACKER) {
            let id = bench.running[0].unwrap();
            bench.block(id);
            bench.wake(id);
        }
    };
    let retracts = |bench: &mut Bench, ms: u64| {
        for id in 0..bench.tasks.len() {
            if bench.tasks[id].user == ATTACKER {
                bench.set_hints(
                    id,
                    if ms.is_multiple_of(10) {
                        0
                    } else {
                        hint_flags::SEQUENTIAL
                    },
                );
            }
        }
    };
    type Trick<'a> = &'a dyn Fn(&mut Bench, u64);
    let tricks: [(&str, Trick); 4] = [
        ("hints", &nothing),
        ("yields", &yields),
        ("sleeps", &sleeps),
        ("retracts", &retracts),
    ];
    for (hinted, others) in [(1, 0), (2, 0), (2, 2)] {
        for (name, trick) in tricks {
            let mut bench = bench(1 + 1 + hinted + others);
            thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
            bench.pass(500 * MS);
            for n in 0..hinted + others {
                let flags = if n < hinted { hint_flags::SEQUENTIAL } else { 0 };
                thread_of(&mut bench, ATTACKER, WEIGHT_DEFAULT, flags);
            }
            let found_ms = fast_ms(&mut bench, 10, ATTACKER, &mut |bench, ms| trick(bench, ms));
            let why = format!("{name}, {hinted} hinted, {others} others");
            assert!(
                found_ms.iter().all(|&ms| ms <= 500 + 2 * TURN_MS),
                "{why}: {found_ms:?}"
            );
        }
    }
}

/// The thread sleeps in every other second. In the seconds between it has its share, and gets nothing for those that it
/// slept.
#[test]
fn sleep_earns_nothing() {
    let mut bench = bench(2);
    thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
    let attacker = thread_of(&mut bench, ATTACKER, WEIGHT_DEFAULT, hint_flags::SEQUENTIAL);
    let found_ms = fast_ms(&mut bench, 8, ATTACKER, &mut |bench, ms| match ms % 2000 {
        999 => bench.block(attacker),
        0 if ms > 0 => drop(bench.wake(attacker)),
        _ => {}
    });
    let awake: Vec<u64> = found_ms.into_iter().step_by(2).collect();
    assert!(awake.iter().all(|&ms| ms <= 500 + TURN_MS), "{awake:?}");
}

/// The honest thread has had the core for an hour, in which it kept no other task waiting.
#[test]
fn what_was_kept_from_nobody_is_not_paid_for() {
    let mut bench = bench(2);
    thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
    bench.pass(3600 * 1000 * MS);
    thread_of(&mut bench, ATTACKER, WEIGHT_DEFAULT, hint_flags::SEQUENTIAL);
    assert_share(&fast_ms(&mut bench, 3, ATTACKER, &mut nothing), 500, "after an hour");
}

/// All CPUs are busy: a thread that has used up its share waits like any other, and takes no core from another user
/// when it wakes.
#[test]
fn a_hint_whose_share_is_used_up_takes_no_core() {
    let mut bench = bench(2);
    let honest: Vec<usize> = (0..2)
        .map(|_| thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0))
        .collect();
    bench.pass(500 * MS);
    let attacker = thread_of(&mut bench, ATTACKER, weight_of_nice(19), hint_flags::SEQUENTIAL);
    assert_eq!(bench.cpu_of(attacker), Some(0));
    bench.pass(10 * MS);
    bench.block(attacker);
    assert!(honest.iter().all(|&id| bench.cpu_of(id).is_some()));
    bench.wake(attacker);
    assert_eq!(bench.cpu_of(attacker), None, "it has had 10 * 1024 / 15 = 683 ms");
}

/// nice 0 in a cgroup with a cpu.weight of 10 (102) that lies in one of 50 (512): 1024 * 102 / 1024 * 512 / 1024 = 51.
#[test]
fn groups_count_by_their_weight() {
    let mut bench = bench(1);
    let task = bench.task();
    let inner = bench.group(102);
    assert_eq!(bench.policy.weight_of_user(&bench.tasks[task], None), 1024);
    assert_eq!(
        bench
            .policy
            .weight_of_user(&bench.tasks[task], Some(&bench.groups[inner])),
        102
    );
    unsafe { *bench.policy.group(3) = Group::new(512) };
    bench.groups[inner].parent = 3;
    assert_eq!(
        bench
            .policy
            .weight_of_user(&bench.tasks[task], Some(&bench.groups[inner])),
        51
    );
}

/// Two threads compete for the fast core, and its timer is lost. A thread that has kept the core pays for 40 ms at most, two
/// turns, as the timer would have looked sooner.
#[test]
fn a_thread_pays_for_two_turns_at_most_at_once() {
    for (kept_ms, paid_ms) in [(39, 39), (41, 40), (81, 40)] {
        let mut bench = bench(2);
        let honest = thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
        thread_of(&mut bench, ATTACKER, WEIGHT_DEFAULT, 0);
        bench.pass(TURN_MS * MS);
        let holder = bench.running[0].unwrap();
        let user = if holder == honest { HONEST } else { ATTACKER };
        let had_ns = |bench: &Bench| bench.policy.budget.had_ns[user as usize];
        let before_ns = had_ns(&bench);
        bench.world.now_ns += kept_ms * MS;
        bench.block(holder);
        assert_eq!(had_ns(&bench) - before_ns, paid_ms * MS, "{kept_ms} ms");
    }
}

/// Users whose numbers are equal modulo 1024 share one account, so that a hint holds without end among them. 512 apart they do not.
#[test]
fn every_1024th_user_shares_an_account() {
    for (apart, share_ms) in [(512, 500), (1024, 1000)] {
        let mut bench = bench(2);
        thread_of(&mut bench, HONEST, WEIGHT_DEFAULT, 0);
        bench.pass(500 * MS);
        thread_of(&mut bench, HONEST + apart, WEIGHT_DEFAULT, hint_flags::SEQUENTIAL);
        let found_ms = fast_ms(&mut bench, 4, HONEST + apart, &mut nothing);
        assert_share(&found_ms, share_ms, &format!("{apart} apart"));
    }
}

/// Two users have shared the fast core for 4 s, so each has had 2 s of it. A third one that comes now has had as much, and gets a third of the next second, give or
/// take two turns. So it does beside a user that had none, as its thread may not run there, spins, never runs for longer than 0.1 ms, or has ended.
#[test]
fn a_new_user_gets_no_credit() {
    const BYSTANDER: u32 = 1002;
    const NEW: u32 = 1003;
    type Change = fn(&mut Bench, usize);
    let wakes_again: Change = |bench, id| {
        bench.block(id);
        bench.wake(id);
    };
    let bystanders: [(&str, bool, Change, Change); 4] = [
        ("restricted", true, |_, _| {}, |_, _| {}),
        ("spins", false, |bench, id| bench.spin(id, true), |_, _| {}),
        ("soon done", false, |_, _| {}, wakes_again),
        ("has ended", false, |bench, id| bench.end(id), |_, _| {}),
    ];
    for (name, restricted, begins, goes_on) in bystanders {
        let mut bench = bench(5);
        for user in [HONEST, ATTACKER] {
            thread_of(&mut bench, user, WEIGHT_DEFAULT, 0);
        }
        let id = if restricted { bench.pinned([4]) } else { bench.task() };
        (bench.tasks[id].user, bench.tasks[id].user_weight) = (BYSTANDER, WEIGHT_DEFAULT);
        bench.wake(id);
        begins(&mut bench, id);
        let pass = |bench: &mut Bench| {
            bench.pass(100 * US);
            goes_on(bench, id);
        };
        (0..40_000).for_each(|_| pass(&mut bench));
        thread_of(&mut bench, NEW, WEIGHT_DEFAULT, hint_flags::SEQUENTIAL);
        let has = (0..10_000).filter(|_| {
            pass(&mut bench);
            has_fast_core(&bench, NEW)
        });
        let found_ms = has.count() as u64 / 10;
        assert!(found_ms <= 333 + 2 * TURN_MS, "{name}: {found_ms} ms");
    }
}
