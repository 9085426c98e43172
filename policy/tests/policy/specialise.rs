// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Specialise: the threads that gain most from speed get the fast cores.

use crate::bench::{config, flat, Bench, HOLD, MS, S};
use crate::phase::MIGRATION;
use lop_policy::{class, speedup_of_mpmi, Config, CpuPlace, Domains, Named, Planner, Specialist, NONE};

const NOW: u64 = 100 * S;
/// `LOP_ORDINARY` and `LOP_AWAITED`.
const ORDINARY: u8 = class::ORDINARY as u8;
const AWAITED: u8 = class::AWAITED as u8;

/// SF in hundredths and the kind of core that each thread runs on; thread n is on CPU n.
fn cast(of: &[(u32, u16)]) -> Vec<Specialist> {
    let specialist = |(&(speedup, tier), cpu): (&(u32, u16), i32)| Specialist {
        moved_ns: 0,
        speedup_permille: speedup * 10,
        cpu,
        wanted_cpu: NONE,
        tier,
        fixed: false,
        class: ORDINARY,
    };
    of.iter().zip(0..).map(specialist).collect()
}

fn wanted(threads: &[Specialist]) -> Vec<i32> {
    threads.iter().map(|thread| thread.wanted_cpu).collect()
}

/// SF 1.2 and 1.9 on fast cores, 1.25 and 2.0 on slow ones: 2.0 changes with 1.2, and 1.25 does not change with 1.9.
#[test]
fn those_that_gain_most_change_with_those_that_gain_least() {
    let mut threads = cast(&[(120, 0), (190, 0), (125, 1), (200, 1)]);
    assert_eq!(Planner::default().specialise(&mut threads, NOW), 2);
    assert_eq!(wanted(&threads), [3, NONE, NONE, 0]);
    let moved: Vec<u64> = threads.iter().map(|thread| thread.moved_ns).collect();
    assert_eq!(moved, [NOW, 0, 0, NOW]);
}

/// The same, but 1.2 is awaited: it stays. If those on slow cores are awaited too, 2.0 changes with it.
#[test]
fn only_equals_by_class_change() {
    let of = [(120, 0), (190, 0), (125, 1), (200, 1)];
    for (awaited, expected) in [
        (&[0][..], [NONE; 4]),
        (&[0, 2, 3], [3, NONE, NONE, 0]),
        (&[0, 1, 2, 3], [3, NONE, NONE, 0]),
        (&[2, 3], [NONE; 4]),
    ] {
        let mut threads = cast(&of);
        awaited.iter().for_each(|&n: &usize| threads[n].class = AWAITED);
        Planner::default().specialise(&mut threads, NOW);
        assert_eq!(wanted(&threads), expected, "{awaited:?}");
    }
}

/// 1.54 is just not more than 10 % above 1.4; 1.55 is.
#[test]
fn a_gap_of_ten_percent_is_not_enough() {
    for (speedup, moves) in [(154, 0), (155, 2)] {
        let mut threads = cast(&[(140, 0), (speedup, 1)]);
        assert_eq!(Planner::default().specialise(&mut threads, NOW), moves, "{speedup}");
    }
}

#[test]
fn who_may_not_is_not_changed() {
    let changes: [fn(&mut Specialist); 4] = [
        |thread| thread.fixed = true,
        |thread| thread.speedup_permille = 0,
        |thread| thread.cpu = NONE,
        |thread| thread.moved_ns = NOW - 2 * S + 1,
    ];
    for (number, change) in changes.iter().enumerate() {
        for changed in [0, 1] {
            let mut threads = cast(&[(110, 0), (200, 1)]);
            change(&mut threads[changed]);
            let moves = Planner::default().specialise(&mut threads, NOW);
            assert_eq!(moves, 0, "change {number} of thread {changed}");
        }
    }
    let mut threads = cast(&[(110, 0), (200, 1)]);
    threads[0].moved_ns = NOW - 2 * S;
    assert_eq!(Planner::default().specialise(&mut threads, NOW), 2, "two seconds later");
}

/// All exchanges that are worth it are made in one plan, those with the fastest kind first.
#[test]
fn every_exchange_across_kinds_is_made() {
    let mut threads = cast(&[(110, 0), (120, 0), (190, 1), (200, 2), (105, 1)]);
    assert_eq!(Planner::default().specialise(&mut threads, NOW), 4);
    assert_eq!(wanted(&threads), [3, 2, 1, 0, NONE]);
}

/// Middle and little cores exchange as well: 1.2 on a middle one with 2.0 on a little one, but not the other way round.
/// Whoever changes with the fastest kind stays there for this plan.
#[test]
fn slower_kinds_exchange_among_themselves() {
    for (of, expected) in [
        (&[(200, 0), (120, 1), (200, 2)][..], &[NONE, 2, 1][..]),
        (&[(200, 0), (200, 1), (120, 2)], &[NONE; 3]),
        (&[(110, 0), (120, 1), (200, 2)], &[2, NONE, 0]),
        (&[(110, 0), (120, 1), (200, 2), (160, 2)], &[2, 3, 0, 1]),
    ] {
        let mut threads = cast(of);
        Planner::default().specialise(&mut threads, NOW);
        assert_eq!(wanted(&threads), expected, "{of:?}");
    }
}

/// On a core of twice the speed: 2.0 without misses; at 10 MPKI half of the time is waiting: 1.5; at 30 MPKI three
/// quarters: 1.25.
#[test]
fn the_speedup_factor_follows_from_intensity() {
    for (mpmi, speedup_permille) in [(0, 2000), (10_000, 1500), (30_000, 1250)] {
        assert_eq!(speedup_of_mpmi(mpmi, 2000), speedup_permille);
    }
    assert_eq!(speedup_of_mpmi(10_000, 1000), 1000, "no core is faster");
}

fn go_to(bench: &mut Bench, task: usize, cpu: u32) {
    let task: *mut _ = &mut bench.tasks[task];
    bench.policy.go_to(unsafe { &mut *task }, cpu);
}

/// CPU 0 is fast, CPU 1 slow, in one memory domain. Two tasks exchange them: the one that stops first waits for the
/// other's CPU, and does not get its own again.
#[test]
fn two_tasks_exchange_their_cpus() {
    let fast_and_slow = |cpu: usize| CpuPlace {
        tier: cpu as u16,
        ..flat(cpu)
    };
    for first in [0, 1] {
        let mut bench = Bench::new(
            2,
            Config {
                spare: 0,
                specialise: true,
                ..config()
            },
            fast_and_slow,
        );
        let tasks = bench.tasks(2);
        bench.wake_all(&tasks);
        assert_eq!([bench.cpu_of(0), bench.cpu_of(1)], [Some(0), Some(1)]);
        for (task, cpu) in [(0, 1), (1, 0)] {
            go_to(&mut bench, task, cpu);
        }
        bench.run_and_preempt(first, MS);
        assert_eq!(bench.running[first], None, "it waits for the task that is to come");
        bench.run_and_preempt(1 - first, MS);
        assert_eq!([bench.cpu_of(0), bench.cpu_of(1)], [Some(1), Some(0)]);
        // Only once: after that its slices end like any others.
        assert_eq!(bench.tasks[0].changes_to, NONE);
    }
}

/// CPU 0 is fast, CPU 1 slow, each in a memory domain of its own, and both tasks are planned to stay in theirs. An
/// exchange of cores exchanges the domains too: no task goes back.
#[test]
fn an_exchange_of_cores_is_one_of_planned_domains() {
    let apart = |cpu: usize| CpuPlace {
        tier: cpu as u16,
        memory_domain: cpu as u16,
        ..flat(cpu)
    };
    let rules = Config {
        spare: 0,
        specialise: true,
        domains: Domains::Spread,
        ..config()
    };
    let mut bench = Bench::new(2, rules, apart);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    assert_eq!([bench.cpu_of(0), bench.cpu_of(1)], [Some(0), Some(1)]);
    for (task, domain) in [(0, 0), (1, 1)] {
        let planned: *mut _ = &mut bench.tasks[task];
        assert!(!bench.policy.set_domain(unsafe { &mut *planned }, domain, domain as u32));
    }
    go_to(&mut bench, 0, 1);
    go_to(&mut bench, 1, 0);
    for _ in 0..3 {
        bench.run_and_preempt(0, MS);
        bench.run_and_preempt(1, MS);
    }
    assert_eq!([bench.cpu_of(0), bench.cpu_of(1)], [Some(1), Some(0)]);
    assert_eq!([bench.tasks[0].wanted_domain, bench.tasks[1].wanted_domain], [1, 0]);
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
