// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The only active thread of an application runs on a fast core.

use crate::bench::{config, flat, Bench, MS, US};
use lop_policy::{hint_flags, rules, Config, CpuPlace};

pub const MIGRATION: u64 = 20 * US;

/// `fast` fast CPUs, then slow ones of half their speed.
pub fn asymmetric(cpus: usize, fast: usize, rules: u32) -> Bench {
    let configuration = Config {
        rules,
        migration_ns: MIGRATION,
        grace_ns: 10 * MS,
        turn_ns: 20 * MS,
        spare: 0,
        ..config()
    };
    let place = |cpu: usize| CpuPlace {
        tier: u16::from(cpu >= fast),
        permille: if cpu >= fast { 500 } else { 1000 },
        ..flat(cpu)
    };
    Bench::new(cpus, configuration, place)
}

fn bench(cpus: usize) -> Bench {
    asymmetric(cpus, 1, rules::PHASES | rules::TURNS)
}

/// Threads of one application, all woken.
fn threads(bench: &mut Bench, count: usize) -> Vec<usize> {
    let app = bench.app(0);
    let ids: Vec<usize> = (0..count).map(|_| bench.task_of(app)).collect();
    bench.wake_all(&ids);
    ids
}

/// The same after the grace time of the first thread, which was alone for a moment.
fn parallel(bench: &mut Bench, count: usize) -> Vec<usize> {
    let ids = threads(bench, count);
    bench.pass(10 * MS);
    ids
}

/// r falls to 1: the remaining thread goes to the fast core, though it has only just begun to run.
#[test]
fn a_sequential_phase_that_begins_on_a_slow_core_moves_at_once() {
    let mut bench = bench(3);
    let ids = threads(&mut bench, 2);
    assert_eq!((bench.cpu_of(ids[0]), bench.cpu_of(ids[1])), (Some(0), Some(1)));
    bench.block(ids[0]);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
}

/// The fast core is busy with one of three threads. The single-threaded application takes it, and the two tasks
/// exchange CPUs.
#[test]
fn a_sequential_phase_displaces_a_thread_of_a_parallel_one() {
    let mut bench = bench(4);
    let many = parallel(&mut bench, 3);
    let holder = bench.running[0].unwrap();
    assert!(many.contains(&holder));
    let one = threads(&mut bench, 1);
    assert_eq!(bench.cpu_of(one[0]), Some(0));
    assert_eq!(bench.cpu_of(holder), Some(3), "where the other one began");
    bench.pass(100 * MS);
    assert_eq!(bench.cpu_of(one[0]), Some(0), "it does not share with parallel phases");
}

/// The thread starts on the slow core while the fast one changes hands and has no task to displace. The task that comes
/// to the fast core makes room.
#[test]
fn a_fast_core_that_changed_hands_goes_to_who_looked_for_it_meanwhile() {
    let mut bench = bench(2);
    parallel(&mut bench, 2);
    bench.leave(0, 0, false);
    let one = threads(&mut bench, 1);
    assert_eq!(bench.cpu_of(one[0]), Some(1));
    bench.next(0);
    assert_eq!(bench.cpu_of(one[0]), Some(0));
}

/// With every core busy the thread does not queue behind the others.
#[test]
fn a_sequential_phase_that_finds_no_idle_core_takes_the_fast_one() {
    let mut bench = bench(3);
    let many = parallel(&mut bench, 3);
    let one = threads(&mut bench, 1);
    assert_eq!(bench.cpu_of(one[0]), Some(0));
    let waiting = many.iter().filter(|&&id| bench.cpu_of(id).is_none()).count();
    assert_eq!(waiting, 1);
}

/// A CPU with two threads that compute, and a hinted one that has not run yet; another CPU is kept by a program of one thread.
fn beside_two(bench: &mut Bench) -> (usize, usize) {
    parallel(bench, 2);
    let one = threads(bench, 1)[0];
    let hinted = bench.task();
    bench.tasks[hinted].hint.flags = hint_flags::SEQUENTIAL;
    (1 - bench.cpu_of(one).expect("it is awaited"), hinted)
}

/// Two threads that compute are at virtual times of 1 and 2 ms, the hinted one at 4; slices are 5 ms. When it has run for 1 ms it is 4 ms ahead, after
/// 3 more 7 ms. Then it waits at 8 like any other: until the others are at 11 and 12.
#[test]
fn who_has_had_more_than_its_share_takes_no_core() {
    let mut bench = asymmetric(2, 2, rules::PHASES | rules::TURNS);
    let (cpu, hinted) = beside_two(&mut bench);
    for ran_ms in [1, 3] {
        bench.wake(hinted);
        assert_eq!(bench.cpu_of(hinted), Some(cpu));
        bench.run_and_block(cpu, ran_ms * MS);
    }
    bench.wake(hinted);
    for _ in 0..4 {
        assert_ne!(bench.run_and_preempt(cpu, 5 * MS), hinted);
    }
    assert_eq!(bench.cpu_of(hinted), Some(cpu));
    bench.run_and_block(cpu, 3 * MS);
    bench.wake(hinted);
    assert_eq!(bench.cpu_of(hinted), Some(cpu), "it is at 11, as one of the others");
}

/// The hinted thread stops at 9 ms, the others are at 1 and 2. It takes the core again when one of them begins a slice no further behind.
#[test]
fn others_catch_up_with_who_sleeps() {
    let mut bench = asymmetric(2, 2, rules::PHASES | rules::TURNS);
    let (cpu, hinted) = beside_two(&mut bench);
    bench.wake(hinted);
    bench.run_and_block(cpu, 5 * MS);
    for at_ms in [1, 2, 6, 7] {
        let runs = bench.running[cpu].unwrap();
        assert_eq!(bench.tasks[runs].vtime_ns, at_ms * MS);
        bench.wake(hinted);
        assert_eq!(bench.cpu_of(hinted), None);
        bench.block(hinted);
        bench.run_and_preempt(cpu, 5 * MS);
    }
    bench.wake(hinted);
    assert_eq!(bench.cpu_of(hinted), Some(cpu));
}

/// A second thread wakes: the first keeps its core for 10 ms, then the next in turn has it.
#[test]
fn the_core_is_given_back_after_the_grace_time() {
    let mut bench = bench(3);
    let ids = threads(&mut bench, 2);
    bench.block(ids[0]);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
    bench.pass(30 * MS);
    bench.wake(ids[0]);
    bench.pass(10 * MS - 1);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
    bench.pass(1);
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
    assert_ne!(bench.cpu_of(ids[1]), None, "on the slow core");
}

/// The grace time holds against the task that would have the next turn, not against an awaited one.
#[test]
fn the_grace_time_does_not_keep_a_sequential_phase_waiting() {
    let mut bench = bench(4);
    let many = threads(&mut bench, 3);
    assert_eq!(bench.cpu_of(many[0]), Some(0), "it was alone for a moment");
    let one = threads(&mut bench, 1);
    assert_eq!(bench.cpu_of(one[0]), Some(0));
}

/// The thread is alone again within the grace time: nothing changes.
#[test]
fn alone_again_within_the_grace_time_it_keeps_the_core() {
    let mut bench = bench(3);
    let ids = threads(&mut bench, 2);
    bench.block(ids[0]);
    bench.pass(30 * MS);
    bench.wake(ids[0]);
    bench.pass(5 * MS);
    bench.block(ids[0]);
    bench.pass(100 * MS);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
}

/// Three single-threaded applications: those without a turn go first, and of these the one that gains most.
#[test]
fn more_sequential_phases_than_fast_cores_share_them_in_turn() {
    let mut bench = bench(4);
    let ids: Vec<usize> = [1500, 1600, 2000]
        .map(|speedup_permille| {
            let app = bench.app(0);
            let id = bench.task_of(app);
            bench.tasks[id].speedup_permille = speedup_permille;
            bench.wake(id);
            id
        })
        .to_vec();
    let mut holders = Vec::new();
    for _ in 0..6 {
        holders.push(ids.iter().position(|&id| bench.cpu_of(id) == Some(0)).unwrap());
        bench.pass(20 * MS);
    }
    assert_eq!(holders, [0, 2, 1, 0, 2, 1]);
}

/// After five sequential phases of 1 us, where a migration costs 20 us, the next phase is not moved. One of 1 ms lifts
/// the mean to 250 us.
#[test]
fn phases_shorter_than_a_migration_are_left_where_they_are() {
    let mut bench = bench(3);
    let ids = threads(&mut bench, 1);
    let other = threads(&mut bench, 2);
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
    for _ in 0..5 {
        bench.pass(US);
        bench.block(ids[0]);
        bench.wake(ids[0]);
    }
    let app = bench.app_of[ids[0]].unwrap();
    assert_eq!((bench.apps[app].phases.count, bench.apps[app].phases.ns), (5, US));
    // Its core goes to another task meanwhile, so it stays on a slow one.
    bench.block(ids[0]);
    bench.pass(MS);
    assert_eq!(bench.cpu_of(other[0]).min(bench.cpu_of(other[1])), Some(0));
    bench.wake(ids[0]);
    assert_ne!(bench.cpu_of(ids[0]), Some(0));
    bench.pass(MS);
    bench.block(ids[0]);
    assert!(bench.apps[app].phases.ns > MIGRATION);
    bench.wake(ids[0]);
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
}

/// 80 us, then 160 us: mean = (3 * 80 + 160) / 4 = 100 us. Then 60 us: (3 * 100 + 60) / 4 = 90 us.
#[test]
fn the_last_phase_is_a_quarter_of_the_mean() {
    let mut bench = bench(3);
    let id = threads(&mut bench, 1)[0];
    let app = bench.app_of[id].unwrap();
    for (length_us, mean_us) in [(80, 80), (160, 100), (60, 90)] {
        bench.pass(length_us * US);
        bench.block(id);
        assert_eq!(bench.apps[app].phases.ns, mean_us * US);
        bench.pass(MS);
        bench.wake(id);
    }
}

/// A hint outranks what was measured.
#[test]
fn a_thread_that_says_so_is_sequential() {
    let mut bench = bench(3);
    let ids = parallel(&mut bench, 3);
    for flag in [hint_flags::SEQUENTIAL, hint_flags::LOCK_HOLDER] {
        let slow = ids.iter().copied().find(|&id| bench.cpu_of(id) == Some(2)).unwrap();
        bench.set_hints(slow, flag);
        assert_eq!(bench.cpu_of(slow), Some(0));
        bench.pass(100 * MS);
        assert_eq!(bench.cpu_of(slow), Some(0), "for as long as it says so");
        bench.set_hints(slow, 0);
        bench.pass(21 * MS);
        assert_ne!(bench.cpu_of(slow), Some(0), "then in turn with the others");
    }
}

/// Migrations of 20 us, slow cores of half the speed: a thread that held a lock for 79 us each time stays where it is
/// from the fifth time on; with 80 us it goes on moving.
#[test]
fn who_holds_a_lock_for_less_than_moving_gains_stays() {
    for (held_ns, pays) in [(79 * US, false), (80 * US, true)] {
        let mut bench = bench(3);
        let ids = parallel(&mut bench, 3);
        let slow = ids.iter().copied().find(|&id| bench.cpu_of(id) == Some(2)).unwrap();
        for time in 0..5 {
            bench.set_hints(slow, hint_flags::LOCK_HOLDER);
            assert_eq!(
                bench.cpu_of(slow) == Some(0),
                time < 4 || pays,
                "{held_ns} ns, time {time}"
            );
            bench.pass(held_ns);
            bench.set_hints(slow, 0);
            // Wait until it is back on a slow core.
            while bench.cpu_of(slow) == Some(0) {
                bench.pass(20 * MS);
            }
        }
    }
}

/// Four threads on two CPUs: a waiting thread that is handed a lock has a CPU at once. So has the second one. A third
/// stays in its queue, as both rank before it.
#[test]
fn a_lock_holder_that_waits_for_a_cpu_takes_one() {
    let mut bench = bench(2);
    let ids = threads(&mut bench, 4);
    let waiting: Vec<usize> = ids.iter().copied().filter(|&id| bench.cpu_of(id).is_none()).collect();
    assert_eq!(waiting.len(), 2);
    for &holder in &waiting {
        bench.set_hints(holder, hint_flags::LOCK_HOLDER);
        assert!(bench.cpu_of(holder).is_some(), "task {holder}");
    }
    let third = ids.iter().copied().find(|&id| bench.cpu_of(id).is_none()).unwrap();
    bench.set_hints(third, hint_flags::LOCK_HOLDER);
    assert_eq!(bench.cpu_of(third), None);
}

/// Waiting for a CPU is no part of a hold: 5 ms of waiting and then 10 us with the lock are a hold of 10 us.
#[test]
fn a_hold_is_as_long_as_its_thread_runs() {
    let mut bench = bench(2);
    let ids = threads(&mut bench, 2);
    ids.iter().for_each(|&id| bench.set_hints(id, hint_flags::SEQUENTIAL));
    let app = bench.app(0);
    let holder = bench.task_of(app);
    bench.wake(holder);
    bench.set_hints(holder, hint_flags::LOCK_HOLDER);
    bench.pass(5 * MS);
    assert_eq!(bench.cpu_of(holder), None);
    bench.block(ids[0]);
    assert!(bench.cpu_of(holder).is_some());
    bench.pass(10 * US);
    bench.set_hints(holder, 0);
    assert_eq!((bench.apps[app].holds.count, bench.apps[app].holds.ns), (1, 10 * US));
}

/// r = 2 while both are active. When the thread on the fast core raises its flag, the other one is alone, and they
/// exchange CPUs.
#[test]
fn a_spinner_that_says_so_gives_the_fast_core_on_at_once() {
    let mut bench = bench(2);
    let ids = threads(&mut bench, 2);
    bench.pass(MS);
    assert_eq!(bench.cpu_of(ids[0]), Some(0));
    bench.spin(ids[0], true);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
    assert_eq!(bench.cpu_of(ids[0]), Some(1), "spins on where the other one was");
    assert_eq!(bench.apps[0].active(), 1);
    bench.pass(100 * MS);
    assert_eq!(bench.cpu_of(ids[1]), Some(0), "no turn for who spins");
    bench.spin(ids[0], false);
    assert_eq!(bench.apps[0].active(), 2);
}

/// All cores are busy, one of them with a spinner: of the tasks that wake, one does not have to wait.
#[test]
fn a_spinner_makes_room_for_a_task_that_wakes() {
    let mut bench = bench(3);
    let ids = threads(&mut bench, 3);
    bench.spin(ids[2], true);
    let at = bench.cpu_of(ids[2]);
    let others = threads(&mut bench, 2);
    assert!(bench.cpu_of(others[0]).is_some() || bench.cpu_of(others[1]).is_some());
    assert_ne!(bench.cpu_of(ids[2]), at);
}

/// Affinity goes before every rank.
#[test]
fn a_thread_that_may_not_run_everywhere_stays() {
    let mut bench = bench(3);
    let app = bench.app(0);
    let (first, pinned) = (bench.task_of(app), bench.task_of(app));
    bench.set_allowed(pinned, [1, 2]);
    bench.wake_all(&[first, pinned]);
    bench.block(first);
    bench.pass(100 * MS);
    assert_eq!(bench.cpu_of(pinned), Some(1));
}

/// The fast core goes offline: the task there goes on elsewhere, and no task is sent there.
#[test]
fn nobody_is_sent_to_a_core_that_is_offline() {
    let mut bench = bench(3);
    let ids = threads(&mut bench, 2);
    bench.offline(0);
    bench.pass(100 * MS);
    bench.block(ids[0]);
    bench.pass(100 * MS);
    assert!(matches!(bench.cpu_of(ids[1]), Some(1 | 2)));
    bench.online(0);
    bench.pass(MS);
    assert_eq!(bench.cpu_of(ids[1]), Some(0), "back again, it is idle and faster");
}

/// Two applications of two threads each on one fast and three slow cores. Without a rule for turns the thread on the
/// fast core keeps it; with one the core goes round.
#[test]
fn equals_take_turns_only_where_a_rule_says_so() {
    for (rules, goes_round) in [
        (rules::PHASES, false),
        (rules::SPEEDUP, false),
        (rules::PHASES | rules::TURNS, true),
    ] {
        let mut bench = asymmetric(4, 1, rules);
        let mut ids = threads(&mut bench, 2);
        ids.extend(threads(&mut bench, 2));
        bench.pass(15 * MS);
        let holder = ids.iter().position(|&id| bench.cpu_of(id) == Some(0));
        bench.pass(40 * MS);
        let later = ids.iter().position(|&id| bench.cpu_of(id) == Some(0));
        assert!(holder.is_some() && later.is_some(), "the fast core works");
        assert_eq!(holder != later, goes_round, "rules {rules}: {holder:?}, {later:?}");
    }
}

/// Two jobs of one thread at nice 19, and two threads of an application at nice 0, on two fast cores and two slow ones. The
/// jobs are not awaited: after their turns everybody has had a fast core. At nice 0 they keep them.
#[test]
fn light_applications_are_not_awaited() {
    for (weight, shared) in [(15, true), (1024, false)] {
        let mut bench = asymmetric(4, 2, rules::PHASES | rules::TURNS);
        let jobs: Vec<usize> = (0..2)
            .map(|_| {
                let app = bench.app(0);
                bench.task_of(app)
            })
            .collect();
        for &id in &jobs {
            bench.tasks[id].user_weight = weight;
        }
        bench.wake_all(&jobs);
        let many = threads(&mut bench, 2);
        bench.pass(10 * MS);
        let mut fast = [false; 2];
        for _ in 0..20 {
            bench.pass(10 * MS);
            for (had, &id) in fast.iter_mut().zip(&many) {
                *had |= bench.cpu_of(id).is_some_and(|cpu| cpu < 2);
            }
        }
        assert_eq!(fast, [shared; 2], "weight {weight}");
    }
}

/// The thread on the slow core spins and hints that others wait for it, which counts once it goes on. When the fast core falls idle it
/// is found there, though it was one that yields.
#[test]
fn a_thread_that_spun_is_found_by_its_new_class() {
    let mut bench = bench(2);
    let ids = bench.tasks(2);
    ids.iter()
        .for_each(|&id| bench.tasks[id].hint.flags = hint_flags::SEQUENTIAL);
    bench.wake_all(&ids);
    assert_eq!(bench.cpu_of(ids[1]), Some(1));
    bench.spin(ids[1], true);
    bench.spin(ids[1], false);
    bench.block(ids[0]);
    assert_eq!(bench.cpu_of(ids[1]), Some(0));
}
