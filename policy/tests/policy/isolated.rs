// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Isolated CPUs run only tasks that are bound to them.

use crate::bench::{config, domains_of_two, flat, siblings, Asked, Bench, HOLD, MS};
use crate::phase::MIGRATION;
use lop_policy::{rules, Config, CpuPlace, Reserve, Set, Sizing};

/// Of eight CPUs the first four are isolated; otherwise the lowest number of equals would join.
const ISOLATED: [usize; 4] = [0, 1, 2, 3];

fn bench(config: Config) -> Bench {
    Bench::isolating(&ISOLATED, 8, config, flat)
}

fn promoted(bench: &Bench) -> Vec<u32> {
    let high = |asked: &Asked| match asked {
        Asked::Changed { cpu, set: Set::High } => Some(*cpu),
        _ => None,
    };
    bench.world.log.iter().filter_map(high).collect()
}

/// target = min(active + spare, open): 2, 3, 4, 4. Twelve tasks wait for four CPUs.
#[test]
fn they_join_for_no_demand_and_run_nothing() {
    let mut bench = bench(config());
    let tasks = bench.tasks(12);
    bench.wake_all(&tasks);
    bench.pass(10 * HOLD);
    assert_eq!((bench.high(), bench.target()), (vec![4, 5, 6, 7], 4));
    assert!(ISOLATED.iter().all(|&cpu| bench.running[cpu].is_none()));
    for cpu in ISOLATED {
        assert_eq!(bench.dispatch(cpu), None);
        assert!(!bench.world.log.contains(&Asked::Kicked(cpu as u32)));
    }
}

#[test]
fn a_set_of_all_has_none_of_them() {
    let all = Config {
        sizing: Sizing::All,
        ..config()
    };
    assert_eq!(bench(all).high(), [4, 5, 6, 7]);
}

/// Tasks that may use the open CPUs, all CPUs, or some open and some isolated ones: not restricted, not restricted,
/// and restricted to CPU 4. The last task may use isolated ones only.
#[test]
fn affinity_counts_among_the_others() {
    let mut bench = bench(config());
    for (cpus, restricted, nr_allowed) in [(4..8, false, 4), (0..8, false, 4), (3..5, true, 1), (0..2, true, 2)] {
        let task = bench.pinned(cpus.clone());
        let found = (bench.tasks[task].restricted, bench.tasks[task].nr_allowed);
        assert_eq!(found, (restricted, nr_allowed), "{cpus:?}");
    }
}

/// Four tasks bound to isolated CPUs and one other: target 5 + 1, CPUs 0 to 3 for the four, and two others.
#[test]
fn who_is_bound_there_runs_there_at_high_speed() {
    let mut bench = bench(config());
    let bound: Vec<usize> = ISOLATED.iter().map(|&cpu| bench.pinned([cpu])).collect();
    let other = bench.task();
    bench.wake_all(&bound);
    bench.wake(other);
    assert_eq!((bench.high(), bench.target()), (vec![0, 1, 2, 3, 4, 5], 6));
    let cpus: Vec<_> = bound.iter().map(|&task| bench.cpu_of(task)).collect();
    assert_eq!(cpus, ISOLATED.map(Some));
    assert_eq!(bench.cpu_of(other), Some(4));
}

/// Each of four other tasks has a CPU, though four CPUs are high for the bound tasks.
#[test]
fn who_is_bound_takes_no_cpu_from_others() {
    let mut bench = bench(config());
    let bound: Vec<usize> = ISOLATED.iter().map(|&cpu| bench.pinned([cpu])).collect();
    let others = bench.tasks(4);
    bench.wake_all(&bound);
    bench.wake_all(&others);
    let mut cpus: Vec<_> = others.iter().filter_map(|&task| bench.cpu_of(task)).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, [4, 5, 6, 7]);
}

/// An isolated CPU is no spare afterwards: it does not stay for T_hold, and no timer is armed for it.
#[test]
fn it_is_low_once_nobody_is_bound_there_any_more() {
    let mut bench = bench(config());
    let (bound, other) = (bench.pinned([1]), bench.task());
    bench.wake(other);
    bench.wake(bound);
    assert_eq!(bench.high(), [1, 4, 5]);
    bench.block(bound);
    assert_eq!(bench.high(), [4, 5]);
}

/// Two bound tasks run on 0 and 1. A third may use either, and waits at one of them, in that CPU's own queue.
#[test]
fn who_is_bound_waits_at_one_of_them() {
    let mut bench = Bench::isolating(&ISOLATED, 8, config(), domains_of_two);
    let bound: Vec<usize> = (0..3).map(|_| bench.pinned([0, 1])).collect();
    bench.wake_all(&bound);
    let queues = bench.world.queues_of(bound[2]);
    assert!(queues == [0] || queues == [1], "{queues:?}");
    bench.block(bound[0]);
    bench.block(bound[1]);
    assert!(matches!(bench.cpu_of(bound[2]), Some(0 | 1)));
}

/// Two tasks are bound to CPU 0, and six others wait for four CPUs, furthest behind in the end: CPU 0 runs its own two
/// in turn.
#[test]
fn it_serves_its_own_queue_alone() {
    let mut bench = bench(config());
    let bound = [bench.pinned([0]), bench.pinned([0])];
    let others = bench.tasks(6);
    bench.wake_all(&bound);
    bench.wake_all(&others);
    for _ in 0..20 {
        bench.pass(5 * MS);
        let ran = bench.run_and_preempt(0, 5 * MS);
        assert!(bound.contains(&ran));
    }
}

/// A task bound to CPU 0 has claimed it but is late: until it starts, CPU 0 is an idle member. The task that last ran
/// there goes elsewhere.
#[test]
fn an_idle_member_of_them_is_for_nobody_else() {
    let mut bench = bench(config());
    let (bound, other) = (bench.pinned([0]), bench.task());
    bench.wake(bound);
    bench.pass(MS);
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, 0, true, now_ns);
    bench.last_cpu[other] = 0;
    assert_eq!(bench.wake(other), (4, true));
}

fn ranked(rules: u32) -> Config {
    Config {
        rules,
        migration_ns: MIGRATION,
        turn_ns: 20 * MS,
        spare: 0,
        ..config()
    }
}

/// CPUs 0 and 4 are of the fast kind, and 0 is isolated. With a task for each other CPU none moves up to 0, however
/// often they take turns on 4.
#[test]
fn a_fast_one_takes_nobody() {
    let place = |cpu: usize| CpuPlace {
        tier: u16::from(!cpu.is_multiple_of(4)),
        ..flat(cpu)
    };
    let rules = rules::PHASES | rules::LONGEST | rules::TURNS;
    let mut bench = Bench::isolating(&[0], 8, ranked(rules), place);
    let tasks = bench.tasks(7);
    bench.wake_all(&tasks);
    bench.pass(500 * MS);
    assert!(bench.policy.fast.moves > 0);
    assert_eq!(bench.running[0], None);
    assert!(!promoted(&bench).contains(&0));
}

/// Cores of two CPUs; the second core is isolated. Four tasks keep sharing the other two cores.
#[test]
fn a_whole_core_of_them_takes_nobody() {
    let mut bench = Bench::isolating(&[2, 3], 6, ranked(rules::WHOLE), siblings);
    let tasks = bench.tasks(4);
    bench.wake_all(&tasks);
    bench.pass(500 * MS);
    assert_eq!((bench.running[2], bench.running[3]), (None, None));
    assert_eq!((promoted(&bench), bench.policy.fast.moves), (vec![0, 4, 1, 5], 0));
}

/// The slowest kind, of these a core without siblings, of these the lowest number: without isolation that would be 0.
#[test]
fn none_of_them_is_reserved() {
    let asked = Config {
        reserve: Reserve::Asked,
        ..config()
    };
    assert_eq!(Bench::isolating(&[0, 1], 4, asked, flat).reserved(), Some(2));
    let by_size = Config {
        reserve: Reserve::BySize,
        ..config()
    };
    assert_eq!(
        Bench::isolating(&[5, 6, 7], 8, by_size, flat).reserved(),
        Some(0),
        "five cores are left"
    );
    assert_eq!(bench(by_size).reserved(), Some(4), "four are");
    assert_eq!(
        Bench::isolating(&[1, 5, 6, 7, 4], 8, by_size, flat).reserved(),
        None,
        "three are"
    );
}

#[test]
fn one_that_comes_back_online_is_still_isolated() {
    let mut bench = bench(config());
    bench.offline(0);
    bench.online(0);
    let inside = bench.policy;
    assert_eq!((inside.open.cpus(), inside.nr_open), (vec![4, 5, 6, 7], 4));
}
