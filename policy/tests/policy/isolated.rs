// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Isolated CPUs run only tasks that are bound to them.

use crate::bench::{config, domains_of_two, flat, siblings, Asked, Bench, HOLD, MS, S};
use crate::phase::MIGRATION;
use lop_policy::{rules, weight_of_nice, Config, CpuPlace, Reserve, Set, Sizing, WEIGHT_DEFAULT};

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

/// A task bound to CPU 0 has claimed it but is late: until it starts, CPU 0 is an idle member, and a second later it is looked at again. The task
/// that last ran there goes elsewhere.
#[test]
fn an_idle_member_of_them_is_for_nobody_else() {
    let mut bench = bench(config());
    let (bound, other) = (bench.pinned([0]), bench.task());
    bench.wake(bound);
    bench.pass(2 * S);
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, 0, true, now_ns);
    assert_eq!(bench.world.timer_at_ns, Some(now_ns + S));
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
    bench.world.log.clear();
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

/// Slices of a task that computes on CPU 0.
fn computes_on_0(bench: &mut Bench, slices: usize) {
    for _ in 0..slices {
        bench.pass(5 * MS);
        bench.run_on(0, 5 * MS);
    }
}

/// The sleeper wakes when a slice ends on CPUs 0 and 1, runs for 1 ms on CPU 1, where others wait, and sleeps.
fn goes_next_at_each_wakeup(bench: &mut Bench, sleeper: usize, what: &str) {
    for n in 0..50 {
        computes_on_0(bench, 1);
        bench.wake(sleeper);
        bench.run_and_preempt(1, 5 * MS);
        assert_eq!(bench.running[1], Some(sleeper), "{what}, wakeup {n}");
        bench.pass(MS);
        bench.run_and_block(1, MS);
    }
}

/// Two tasks compute on CPU 1, and a third runs there for 1 ms and sleeps for 5. It has less than its share, so it goes next at each wakeup, however far
/// the one that is alone on CPU 0 has come meanwhile.
#[test]
fn who_runs_alone_there_costs_sleepers_elsewhere_no_credit() {
    let mut bench = Bench::isolating(&[0], 2, config(), flat);
    let bound = bench.pinned([0]);
    bench.wake(bound);
    let sleeper = bench.task();
    bench.wake(sleeper);
    bench.run_and_block(1, MS);
    let compute = bench.tasks(2);
    bench.wake_all(&compute);
    goes_next_at_each_wakeup(&mut bench, sleeper, "alone on CPU 0");
}

/// One was alone there for 1 s. Then another one comes, and each has half of the CPU: neither makes up for what the first had before.
#[test]
fn who_was_alone_there_shares_it_with_who_comes_later() {
    let mut bench = Bench::isolating(&[0], 2, config(), flat);
    let (first, later) = (bench.pinned([0]), bench.pinned([0]));
    bench.wake(first);
    computes_on_0(&mut bench, 200);
    bench.wake(later);
    let mut had = [0, 0];
    for _ in 0..20 {
        bench.pass(5 * MS);
        had[usize::from(bench.run_on(0, 5 * MS) == later)] += 1;
    }
    assert!(had[0] >= 9 && had[1] >= 9, "{had:?} slices");
}

/// Two tasks share CPU 1 for a second, while another one has CPU 0 for itself. From then on one of the two sleeps for a ms after each
/// slice. While it sleeps nobody waits, so the other one has nothing to make up for when it comes back: each has every second slice.
fn who_sleeps_for_a_moment_has_its_turn(mut bench: Bench) {
    let alone = bench.pinned([0]);
    let (computes, sleeps) = (bench.pinned([1]), bench.pinned([1]));
    bench.wake_all(&[alone, computes, sleeps]);
    for _ in 0..200 {
        computes_on_0(&mut bench, 1);
        bench.run_on(1, 5 * MS);
    }
    let mut had = 0;
    for _ in 0..100 {
        computes_on_0(&mut bench, 1);
        if bench.running[1] != Some(sleeps) {
            bench.run_on(1, 5 * MS);
            continue;
        }
        had += 1;
        bench.run_and_block(1, 5 * MS);
        bench.pass(MS);
        bench.wake(sleeps);
    }
    assert!((48..=52).contains(&had), "{had} slices of 100");
}

#[test]
fn who_sleeps_for_a_moment_on_a_crowded_cpu_has_its_turn() {
    who_sleeps_for_a_moment_has_its_turn(Bench::flat(2));
    who_sleeps_for_a_moment_has_its_turn(Bench::isolating(&[0, 1], 3, config(), flat));
}

/// A light task runs there for a slice and sleeps for a second, in which another one is alone. It pays for the slice meanwhile, and waits for one slice when it
/// wakes.
#[test]
fn who_sleeps_there_works_off_its_debt() {
    for (nice, other) in [(10, 0), (19, 0), (0, -20)] {
        let mut bench = Bench::isolating(&[0], 2, config(), flat);
        let (computes, sleeper) = (bench.pinned([0]), bench.pinned([0]));
        bench.tasks[sleeper].weight = weight_of_nice(nice);
        bench.tasks[computes].weight = weight_of_nice(other);
        bench.wake(sleeper);
        bench.run_and_block(0, 5 * MS);
        bench.wake(computes);
        for n in 0..5 {
            for _ in 0..200 {
                bench.pass(5 * MS);
                assert_eq!(bench.run_on(0, 5 * MS), computes);
            }
            bench.wake(sleeper);
            bench.pass(5 * MS);
            bench.run_on(0, 5 * MS);
            assert_eq!(
                bench.running[0],
                Some(sleeper),
                "nice {nice} beside {other}, wakeup {n}"
            );
            bench.pass(5 * MS);
            bench.run_and_block(0, 5 * MS);
        }
    }
}

/// A light task that computes there beside another one, which was alone before, sleeps for a moment after each slice: it still pays for what it had.
#[test]
fn who_sleeps_there_for_a_moment_owes_what_it_had() {
    let mut bench = Bench::isolating(&[0], 2, config(), flat);
    let (computes, light) = (bench.pinned([0]), bench.pinned([0]));
    bench.tasks[light].weight = weight_of_nice(19);
    bench.wake(light);
    bench.run_and_block(0, MS);
    bench.wake(computes);
    let mut had = 0;
    for n in 0..1000 {
        bench.pass(5 * MS);
        if n == 10 {
            assert!(bench.policy.queues.forgiven_ns.ns[0] > 0);
            bench.wake(light);
        }
        if bench.running[0] != Some(light) {
            bench.run_on(0, 5 * MS);
            continue;
        }
        had += 1;
        bench.run_and_block(0, 5 * MS);
        bench.pass(MS / 1000);
        bench.wake(light);
    }
    assert!((1..=20).contains(&had), "{had} slices of 1000, 15 by weight");
}

/// A task ran alone there for 1 s, and may run elsewhere from then on, where two others compute: it is at the clock, whether it sleeps in between or not.
#[test]
fn who_was_alone_there_owes_nothing() {
    for sleeps in [false, true] {
        let mut bench = Bench::isolating(&[0], 2, config(), flat);
        let compute = bench.tasks(2);
        bench.wake_all(&compute);
        let id = bench.pinned([0]);
        bench.wake(id);
        computes_on_0(&mut bench, 200);
        bench.set_allowed(id, 0..2);
        if sleeps {
            bench.run_and_block(0, MS);
            bench.wake(id);
        } else {
            bench.run_and_preempt(0, MS);
        }
        assert_eq!(
            (bench.tasks[id].vtime_ns, bench.cpu_of(id)),
            (bench.policy.queues.clock_ns, None),
            "{sleeps}"
        );
    }
}

/// Two tasks compute on CPU 1, or one, and a third runs there for 1 ms and sleeps for 5: it goes next at each wakeup, and so it does if another one has CPU 0,
/// isolated as well, for itself.
#[test]
fn who_is_alone_on_one_costs_sleepers_on_another_no_credit() {
    for (weight, nr) in [(WEIGHT_DEFAULT, 2), (weight_of_nice(19), 1)] {
        let mut bench = Bench::isolating(&[0, 1], 3, config(), flat);
        let (alone, sleeper) = (bench.pinned([0]), bench.pinned([1]));
        bench.tasks[alone].weight = weight;
        let compute: Vec<usize> = (0..nr).map(|_| bench.pinned([1])).collect();
        bench.wake(sleeper);
        bench.run_and_block(1, MS / 10);
        bench.wake(alone);
        bench.wake_all(&compute);
        goes_next_at_each_wakeup(&mut bench, sleeper, &format!("weight {weight}"));
    }
}
