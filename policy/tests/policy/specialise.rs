// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Specialise: the threads that gain most from speed get the fast cores.

use crate::bench::{flat, siblings, Bench, HOLD, MS};
use crate::phase::{asymmetric, MIGRATION};
use lop_policy::{declare_length, hint_flags, measured_speedup, rules, Config, CpuPlace, Named};

/// 2.0 without misses; at 10 MPKI half of the time is waiting: 1.5; at 30 MPKI three quarters: 1.25.
#[test]
fn the_speedup_factor_follows_from_intensity() {
    for (mpmi, speedup_permille) in [(0, 2000), (10_000, 1500), (30_000, 1250)] {
        assert_eq!(measured_speedup(mpmi), speedup_permille);
    }
}

/// Under the policy `specialise`, with migrations of 20 us: CPU n of the kind `tiers[n]`, with a task of SF
/// `speedups[n]` (in hundredths).
fn specialising(tiers: &[u16], speedups: &[u32]) -> Bench {
    let rules = Config {
        migration_ns: MIGRATION,
        ..Config::of(Named::Specialise, HOLD)
    };
    let place = |cpu: usize| CpuPlace {
        tier: tiers[cpu],
        ..flat(cpu)
    };
    let mut bench = Bench::new(tiers.len(), rules, place);
    let tasks = bench.tasks(speedups.len());
    for (&task, speedup) in tasks.iter().zip(speedups) {
        bench.tasks[task].speedup_permille = speedup * 10;
        bench.wake(task);
        assert_eq!(
            bench.cpu_of(task),
            Some(task),
            "the fastest idle CPU, then the next in number"
        );
    }
    bench
}

/// The fast CPU 0 falls idle when tasks on slow ones have run for ten migrations: of SF 1.2, 1.9 and 1.5 the task of
/// 1.9 comes. A task on a CPU of its own kind stays, whatever it gains. All tasks stay where a slow CPU falls idle, or
/// where all CPUs are of one kind.
#[test]
fn a_fast_cpu_that_falls_idle_takes_who_gains_most_from_slow_ones() {
    for (tiers, speedups, falls_idle, comes) in [
        (&[0, 1, 1, 1][..], &[150, 120, 190, 150][..], 0, Some(2)),
        (&[0, 1, 1, 2], &[150, 120, 150, 190], 0, Some(3)),
        (&[0, 0, 1, 1], &[150, 200, 120, 140], 0, Some(3)),
        (&[0, 0, 1, 1], &[150, 200, 120, 140], 2, None),
        (&[0, 0, 0, 0], &[150, 120, 190, 150], 0, None),
        (&[0, 0, 0, 0], &[150, 120, 190, 150], 3, None),
    ] {
        let mut bench = specialising(tiers, speedups);
        bench.pass(10 * MIGRATION);
        bench.block(falls_idle);
        bench.pass(MS);
        let there = (0..speedups.len()).find(|&task| bench.cpu_of(task) == Some(falls_idle));
        assert_eq!(there, comes, "{tiers:?} {speedups:?}, CPU {falls_idle}");
        assert_eq!(
            bench.policy.fast.moves,
            u64::from(comes.is_some()),
            "{tiers:?} {speedups:?}"
        );
    }
}

/// The CPU of each task at the end of each of six turns. Threads that gain more exchange cores with those that gain less, the fastest kind first, and
/// then stay: 1.25 gains more than 1.2 and less than 1.9. Threads in one step of a tenth take turns.
#[test]
fn who_gains_most_has_a_fast_core_after_a_turn() {
    for (tiers, speedups, odd, even) in [
        (
            &[0, 0, 1, 1][..],
            &[120, 190, 125, 200][..],
            &[3, 1, 2, 0][..],
            &[3, 1, 2, 0][..],
        ),
        (&[0, 0, 1, 1], &[190, 200, 120, 125], &[0, 1, 2, 3], &[0, 1, 2, 3]),
        (&[0, 1], &[149, 150], &[1, 0], &[1, 0]),
        (&[0, 1], &[140, 149], &[1, 0], &[0, 1]),
        (&[0, 1, 2], &[210, 120, 200], &[0, 2, 1], &[0, 2, 1]),
        (&[0, 1, 2], &[210, 200, 120], &[0, 1, 2], &[0, 1, 2]),
    ] {
        let mut bench = specialising(tiers, speedups);
        for turn in 1..=6 {
            bench.pass(20 * MS);
            let found: Vec<usize> = (0..tiers.len()).filter_map(|task| bench.cpu_of(task)).collect();
            let expected = if turn % 2 == 1 { odd } else { even };
            assert_eq!(found, expected, "{tiers:?} {speedups:?}, turn {turn}");
        }
    }
}

/// A gain that changes while the task runs counts from its next start.
#[test]
fn a_changed_gain_exchanges_cores() {
    let mut bench = specialising(&[0, 1], &[200, 120]);
    for (task, speedup_permille) in [(0, 1200), (1, 2000)] {
        bench.tasks[task].speedup_permille = speedup_permille;
    }
    bench.pass(100 * MS);
    assert_eq!(bench.cpu_of(0), Some(0), "it did not start again");
    for cpu in [0, 1] {
        bench.run_and_preempt(cpu, MS);
    }
    bench.pass(100 * MS);
    assert_eq!([bench.cpu_of(0), bench.cpu_of(1)], [Some(1), Some(0)]);
}

/// A thread of SF 1.2 on the fast core keeps it from one of 2.0 if others wait for it, or if it has more work left.
#[test]
fn class_and_length_go_before_the_gain() {
    for (flags, lengths, keeps) in [
        (0, [0, 0], false),
        (hint_flags::SEQUENTIAL, [0, 0], true),
        (0, [9, 3], true),
        (0, [3, 3], false),
    ] {
        let mut bench = asymmetric(2, 1, rules::PHASES | rules::LONGEST | rules::SPEEDUP | rules::TURNS);
        let app = bench.app(0);
        let ids = [bench.task_of(app), bench.task_of(app)];
        for ((&id, length), speedup_permille) in ids.iter().zip(lengths).zip([1200, 2000]) {
            declare_length(&mut bench.tasks[id], &mut bench.apps[app], length);
            bench.tasks[id].speedup_permille = speedup_permille;
        }
        bench.tasks[ids[0]].hint.flags = flags;
        bench.wake_all(&ids);
        assert_eq!(bench.cpu_of(ids[0]), Some(0));
        bench.pass(100 * MS);
        let expected = if keeps { Some(0) } else { Some(1) };
        assert_eq!(bench.cpu_of(ids[0]), expected, "{flags} {lengths:?}");
    }
}

/// Where tasks share CPUs each slice of 5 ms begins a new turn, and no turn ends: the thread of 2.0 has the fast core all the same, one of 1.29 beside 1.2
/// has not.
#[test]
fn who_gains_more_waits_for_no_turn() {
    for (speedup, exchanged) in [(200, true), (129, false)] {
        let mut bench = specialising(&[0, 1], &[120, speedup]);
        for _ in 0..12 {
            bench.pass(5 * MS);
            if let Some(0) = bench.cpu_of(0) {
                bench.run_and_preempt(0, 0);
            }
        }
        assert_eq!(bench.cpu_of(1) == Some(0), exchanged, "{speedup}");
    }
}

/// A thread that has computed for 500 ms since it woke keeps its core from one that has just begun and gains more, until that one has done a third as much:
/// 3 t = 500 + t after 250 ms.
#[test]
fn who_gains_more_waits_while_new() {
    let mut bench = specialising(&[0, 1], &[130]);
    bench.pass(500 * MS);
    let gains = bench.task();
    bench.tasks[gains].speedup_permille = 2000;
    bench.wake(gains);
    bench.pass(240 * MS);
    assert_eq!(bench.cpu_of(gains), Some(1));
    bench.pass(40 * MS);
    assert_eq!(bench.cpu_of(gains), Some(0));
}

/// Cores of two SMT siblings each, the kind of core n does `permille[n]` of the work of the fastest: a task for each CPU, or for one CPU of each core that
/// `whole` names. Those of core n have the SF `speedups[n]` (in hundredths).
fn specialising_with_smt(permille: &[u16], whole: &[usize], speedups: &[u32]) -> (Bench, Vec<usize>) {
    let rules = Config {
        migration_ns: MIGRATION,
        ..Config::of(Named::Specialise, HOLD)
    };
    let place = |cpu: usize| CpuPlace {
        tier: (cpu / 2) as u16,
        permille: permille[cpu / 2],
        ..siblings(cpu)
    };
    let cpus = 2 * permille.len();
    let mut bench = Bench::new(cpus, rules, place);
    let tasks = bench.tasks(cpus);
    bench.wake_all(&tasks);
    for cpu in 0..cpus {
        let task = bench.running[cpu].unwrap();
        if whole.contains(&(cpu / 2)) && cpu % 2 == 1 {
            bench.end(task);
        } else {
            bench.tasks[task].speedup_permille = speedups[cpu / 2] * 10;
            bench.run_and_preempt(cpu, 0);
        }
    }
    let tasks = tasks.into_iter().filter(|&task| bench.cpu_of(task).is_some()).collect();
    (bench, tasks)
}

/// CPUs 0 and 1 share a fast core, 2 and 3 one that is slower by this much. Threads of 2.0 on the slow core take the halves of the fast one from threads of
/// 1.2, as they have but halves themselves; equals take no turns on halves.
#[test]
fn halves_of_a_fast_core_go_to_who_gains_more() {
    for (slow, speedups, exchanged) in [
        (500, [120, 200], true),
        (920, [120, 200], true),
        (500, [120, 129], false),
        (500, [200, 120], false),
    ] {
        let (mut bench, tasks) = specialising_with_smt(&[1000, slow], &[], &speedups);
        let moves = bench.policy.fast.moves;
        bench.pass(100 * MS);
        for task in tasks {
            let is_fast = bench.cpu_of(task).is_some_and(|cpu| cpu < 2);
            let gains = bench.tasks[task].speedup_permille == speedups.iter().max().unwrap() * 10;
            assert!(!exchanged || is_fast == gains, "{speedups:?}");
        }
        assert_eq!(bench.policy.fast.moves > moves, exchanged, "{speedups:?}");
    }
}

/// Half of a core does 0.625 of its work: a thread on a whole core of a kind of 0.92 stays, one of 0.624 takes a half.
#[test]
fn a_whole_slow_core_is_left_for_half_of_one_that_is_much_faster() {
    for (slow, leaves) in [(920, false), (625, false), (624, true)] {
        let (mut bench, tasks) = specialising_with_smt(&[1000, slow], &[1], &[120, 200]);
        let alone = tasks
            .into_iter()
            .find(|&task| bench.tasks[task].speedup_permille == 2000)
            .unwrap();
        assert!(bench.cpu_of(alone).is_some_and(|cpu| cpu >= 2));
        bench.pass(100 * MS);
        assert_eq!(bench.cpu_of(alone).is_some_and(|cpu| cpu < 2), leaves, "{slow}");
    }
}

/// All CPUs are busy with threads of two users, and those of one gain more: they have the halves of the fast core for half of the time, not for all of it.
#[test]
fn halves_of_a_fast_core_are_paid_for() {
    let (mut bench, tasks) = specialising_with_smt(&[1000, 500], &[], &[120, 200]);
    for &task in &tasks {
        bench.tasks[task].user = 1000 + u32::from(bench.tasks[task].speedup_permille == 2000);
    }
    for cpu in 0..4 {
        bench.run_and_preempt(cpu, 0);
    }
    let mut had = 0;
    for _ in 0..1000 {
        bench.pass(2 * MS);
        had += (0..2)
            .filter(|&cpu| bench.running[cpu].is_some_and(|task| bench.tasks[task].user == 1001))
            .count();
    }
    assert!((900..=1100).contains(&had), "{had} of 2000");
}

/// A thread of another user has a whole core of 0.92, which no half is worth: it is not kept from the halves of the fast core, and their user pays for
/// nothing. A thread that shares a core of 0.9 takes a half all the same, as it is the first that is faster there.
#[test]
fn who_would_not_be_faster_on_a_half_is_kept_from_nothing() {
    let (mut bench, tasks) = specialising_with_smt(&[1000, 920], &[1], &[200, 120]);
    let pays = |bench: &Bench| bench.policy.budget.had_ns[1000];
    for &task in &tasks {
        bench.tasks[task].user = if bench.tasks[task].speedup_permille == 2000 {
            1000
        } else {
            1001
        };
    }
    for cpu in (0..4).filter(|&cpu| bench.running[cpu].is_some()).collect::<Vec<_>>() {
        bench.run_and_preempt(cpu, 0);
    }
    let paid_ns = pays(&bench);
    bench.pass(200 * MS);
    assert_eq!(pays(&bench), paid_ns);

    let (mut bench, tasks) = specialising_with_smt(&[1000, 920, 900], &[1], &[120, 210, 200]);
    bench.pass(100 * MS);
    for task in tasks {
        let has_half = bench.cpu_of(task).is_some_and(|cpu| cpu < 2);
        assert_eq!(has_half, bench.tasks[task].speedup_permille == 2000, "{task}");
    }
}
