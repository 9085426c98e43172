// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What plans are made from: the facts that adapters hand over, and what follows from them.

use crate::bench::{config, domains_of_two, flat, point, siblings, Bench, MS, S};
use crate::pace::{clock_wakes, cycle};
use lop_policy::{
    has_basis, keep_active, rules, Config, CpuPlace, Domains, MemoryClass, Planned, Planner, Reserve, MAX_PLANNED,
    NONE, PLAN_PERIOD_NS,
};

const NOW: u64 = 100 * S;

/// A thread on `cpu` that ran for so many hundredths of the last period.
fn thread(cpu: i32, percent: u64, class: MemoryClass) -> Planned {
    let mut thread = Planned {
        active_ns: percent * PLAN_PERIOD_NS / 100,
        cpu,
        ..Planned::default()
    };
    thread.intensity.declare(class as u32);
    thread
}

fn bench(cpus: usize, domains: Domains) -> Bench {
    Bench::new(cpus, Config { domains, ..config() }, domains_of_two)
}

fn plan(bench: &Bench, threads: &mut [Planned]) -> Vec<i32> {
    Planner::default().plan(&bench.policy, threads, PLAN_PERIOD_NS, NOW);
    threads.iter().map(|thread| thread.wanted_domain).collect()
}

/// One domain has cores for all three threads. Two of them are in the one domain; the third is paced, and its home is in the other, whichever comes
/// first: they join it. A plan that moves the paced thread interrupts it in vain, as it runs at its home all the same.
#[test]
fn a_paced_thread_stays_in_the_domain_of_its_home() {
    let gathers = Config {
        spare: 0,
        domains: Domains::Gather,
        ..config()
    };
    let ladder = [point(0, 500, 500, 5_000), point(0, 1000, 1000, 16_000)];
    for first in [0, 1] {
        let mut bench = Bench::new(4, gathers.with_ladder(&ladder), |cpu| CpuPlace {
            memory_domain: (cpu / 2) as u16 ^ first,
            ..flat(cpu)
        });
        let paced = bench.task();
        let home = (0..20).map(|_| cycle(&mut bench, paced, MS, 10 * MS)).last().unwrap() as i32;
        let of_home = i32::from(bench.policy.topology.memory_domain[home as usize]);
        let elsewhere = (home + 2) % 4;
        let quiet = |cpu: i32| thread(cpu, 20, MemoryClass::VeryLow);
        for cpu in [home, elsewhere] {
            let mut threads = [quiet(cpu), quiet(elsewhere), quiet(elsewhere ^ 1)];
            threads[0].note_task(&bench.policy, &bench.tasks[paced]);
            assert_eq!(threads[0].home, home);
            assert_eq!(plan(&bench, &mut threads), [of_home; 3], "on CPU {cpu}, home {home}");
        }
        clock_wakes(&mut bench, paced);
        let (policy, task) = (bench.policy, &mut bench.tasks[paced]);
        for cpu in [home, elsewhere] {
            assert!(
                !policy.set_domain(task, of_home, cpu as u32),
                "it is not interrupted on CPU {cpu}"
            );
        }
    }
}

/// Both intensive threads are in the first domain, so one leaves for the second, which is empty. A thread that may not run there does not, nor
/// one that runs on the reserved core; if both stay, nothing moves.
#[test]
fn restricted_threads_and_the_systems_own_work_stay() {
    for (reserve, facts, moves) in [
        (Reserve::Never, [(false, false); 2], true),
        (Reserve::Never, [(true, false); 2], false),
        (Reserve::Never, [(false, true); 2], true),
        (Reserve::Asked, [(false, true); 2], false),
        (Reserve::Asked, [(true, false), (false, true)], false),
        (Reserve::Asked, [(true, false), (false, false)], true),
    ] {
        let spreads = Config {
            domains: Domains::Spread,
            reserve,
            ..config()
        };
        let bench = Bench::new(8, spreads, |cpu| CpuPlace {
            memory_domain: (cpu / 4) as u16,
            ..flat(cpu)
        });
        let mut threads = [0, 1].map(|cpu| thread(cpu, 100, MemoryClass::Intensive));
        for (thread, (restricted, system)) in threads.iter_mut().zip(facts) {
            (thread.restricted, thread.system) = (restricted, system);
        }
        let wanted = plan(&bench, &mut threads);
        assert_eq!(wanted[0] != wanted[1], moves, "{reserve:?} {facts:?} {wanted:?}");
    }
}

/// 10 ms of a second are enough, and 1 ns more than 9 ms. Of 600 threads that demand as much the first 512 are planned, and one that demands more goes
/// before them.
#[test]
fn threads_that_hardly_run_and_too_many_are_not_planned() {
    let mut threads = vec![9 * MS, 9 * MS + 1, 0, S, 3 * S];
    keep_active(&mut threads, S, |&active_ns| active_ns);
    assert_eq!(threads, [9 * MS + 1, S, 3 * S]);
    let mut threads: Vec<usize> = (0..600).collect();
    keep_active(&mut threads, S, |&n| if n == 599 { S } else { S / 2 });
    let first: Vec<usize> = [599].into_iter().chain(0..MAX_PLANNED - 1).collect();
    assert_eq!(threads, first);
}

#[test]
fn a_declared_class_or_counters_are_something_to_plan_by() {
    let unknown = thread(0, 100, MemoryClass::Unknown);
    let declared = thread(0, 100, MemoryClass::VeryLow);
    for (threads, measures, expected) in [
        (&[][..], true, false),
        (&[unknown], false, false),
        (&[unknown], true, true),
        (&[unknown, declared], false, true),
    ] {
        assert_eq!(has_basis(threads, measures), expected, "{threads:?}");
    }
    let mut later = unknown;
    later.intensity.declare(MemoryClass::Intensive as u32 + 1);
    assert!(!later.intensity.is_declared(), "a class of a later version of hints");
}

/// A thread that has not run yet is nowhere: it is given the calm domain, and that is no move.
#[test]
fn a_new_thread_is_given_a_domain() {
    let bench = bench(4, Domains::Spread);
    let mut threads = [0, 1, NONE].map(|cpu| thread(cpu, 100, MemoryClass::Moderate));
    assert_eq!(plan(&bench, &mut threads), [0, 0, 1]);
    assert_eq!(threads[2].moved_ns, 0);
}

/// Threads of one application that share memory are given one domain, while others go apart.
#[test]
fn threads_that_share_memory_go_together() {
    let bench = bench(8, Domains::Spread);
    let mut threads = [NONE; 4].map(|cpu| thread(cpu, 100, MemoryClass::Intensive));
    assert_eq!(plan(&bench, &mut threads), [0, 1, 2, 3]);
    for (thread, shares) in threads.iter_mut().zip([1, 1, 2, 2]) {
        thread.shares = shares;
    }
    let wanted = plan(&bench, &mut threads);
    assert!(
        wanted[0] == wanted[1] && wanted[2] == wanted[3] && wanted[0] != wanted[2],
        "{wanted:?}"
    );
}

/// Three threads and two domains of two cores: the domain with one core left is given one thread. Without its sibling a core is whole.
#[test]
fn only_cores_that_work_may_have_count() {
    let mut bench = bench(4, Domains::Spread);
    let now_ns = bench.now();
    bench.policy.cpu_offline(&mut bench.world, 0, now_ns);
    let mut threads = [NONE; 3].map(|cpu| thread(cpu, 100, MemoryClass::Intensive));
    assert_eq!(
        plan(&bench, &mut threads).iter().filter(|&&domain| domain == 0).count(),
        1
    );
    let smt = |cpu: usize| CpuPlace {
        memory_domain: (cpu / 4) as u16,
        ..siblings(cpu)
    };
    let spreads = Config {
        domains: Domains::Spread,
        ..config()
    };
    let mut bench = Bench::new(6, spreads, smt);
    bench.policy.cpu_offline(&mut bench.world, 1, now_ns);
    assert_eq!(
        plan(&bench, &mut threads).iter().filter(|&&domain| domain == 0).count(),
        2
    );
}

/// Domains of the same kinds of cores are equally fast, in whatever order their CPUs are numbered, so spread moves a thread between them: (1000 + 3 *
/// 300) / 4 = 475.
#[test]
fn the_speed_of_a_domain_is_the_mean_of_its_cores() {
    let spreads = Config {
        domains: Domains::Spread,
        ..config()
    };
    let bench = Bench::new(8, spreads, |cpu| CpuPlace {
        memory_domain: (cpu / 4) as u16,
        tier: u16::from(![0, 7].contains(&cpu)),
        permille: if [0, 7].contains(&cpu) { 1000 } else { 300 },
        ..flat(cpu)
    });
    let mut threads = [0, 1].map(|cpu| thread(cpu, 100, MemoryClass::Intensive));
    let wanted = plan(&bench, &mut threads);
    assert_ne!(wanted[0], wanted[1]);
}

/// A kind whose speed is not known counts as the fastest, so spread moves a thread to a domain of the kind that is.
#[test]
fn a_core_of_unknown_speed_counts_as_one_of_the_fastest_kind() {
    let spreads = Config {
        domains: Domains::Spread,
        ..config()
    };
    for unknown in [0, 1] {
        let bench = Bench::new(4, spreads, |cpu| CpuPlace {
            memory_domain: (cpu / 2) as u16,
            tier: (cpu / 2) as u16,
            permille: if cpu / 2 == unknown { 0 } else { 1000 },
            ..flat(cpu)
        });
        let mut threads = [0, 1].map(|cpu| thread(cpu, 100, MemoryClass::Intensive));
        let wanted = plan(&bench, &mut threads);
        assert_ne!(wanted[0], wanted[1], "kind {unknown}");
    }
}

/// 0.05 MPKI of a declared class are 1.996, nothing is known of the others; only where a rule asks for it.
#[test]
fn the_gain_is_by_intensity_where_a_rule_says_so() {
    for (rules, expected) in [(rules::SPEEDUP, [1996, 0]), (rules::TURNS, [0, 0])] {
        let bench = Bench::new(2, Config { rules, ..config() }, flat);
        let mut threads = [MemoryClass::VeryLow, MemoryClass::Unknown].map(|class| thread(0, 100, class));
        plan(&bench, &mut threads);
        assert_eq!(threads.map(|thread| thread.speedup_permille), expected, "{rules}");
    }
}

/// 20 MPKI are 2 - 0.666. 15 MPKI, 1.4, are no more than 10 % from it, 10 MPKI, 1.5, are; from 1.5 on 15 MPKI are noise, and 18 MPKI, 1.358, are not.
/// 16.667 MPKI, 1.375, are 10 % from 30 MPKI, 1.25, and 16.6 MPKI more.
#[test]
fn the_gain_follows_no_noise() {
    let rules = rules::SPEEDUP;
    let bench = Bench::new(2, Config { rules, ..config() }, flat);
    for readings in [
        &[
            (20_000, 1334),
            (15_000, 1334),
            (10_000, 1500),
            (15_000, 1500),
            (18_000, 1358),
        ][..],
        &[(30_000, 1250), (16_667, 1250), (16_600, 1376)],
    ] {
        let mut threads = [thread(0, 100, MemoryClass::Unknown)];
        for &(mpmi, expected) in readings {
            (threads[0].intensity.mpmi, threads[0].intensity.measured_ns) = (mpmi, S);
            plan(&bench, &mut threads);
            assert_eq!(threads[0].speedup_permille, expected, "{mpmi}");
        }
        threads[0].intensity.measured_ns = 0;
        plan(&bench, &mut threads);
        assert_eq!(threads[0].speedup_permille, 0, "unknown again");
    }
}

/// Both threads fit in the first domain, so the second is switched off. With threads of unknown class only, where those are not planned, nothing is.
#[test]
fn a_plan_of_no_thread_switches_nothing() {
    let gathers = Config {
        domains: Domains::Gather,
        only_known: true,
        ..config()
    };
    let mut bench = Bench::new(4, gathers, domains_of_two);
    let mut planner = Planner::default();
    let mut switches = |bench: &Bench, class: MemoryClass| {
        let mut threads = [0, 1].map(|cpu| thread(cpu, 20, class));
        planner.plan(&bench.policy, &mut threads, PLAN_PERIOD_NS, NOW);
        [true, false].map(|on| planner.switches(&bench.policy, on))
    };
    assert_eq!(switches(&bench, MemoryClass::Unknown), [vec![], vec![]]);
    assert_eq!(switches(&bench, MemoryClass::VeryLow), [vec![], vec![1]]);
    let now_ns = bench.now();
    bench.policy.set_domain_on(&mut bench.world, 1, false, now_ns);
    assert_eq!(switches(&bench, MemoryClass::VeryLow), [vec![], vec![]]);
    bench.policy.set_domain_on(&mut bench.world, 0, false, now_ns);
    assert_eq!(switches(&bench, MemoryClass::VeryLow), [vec![0], vec![]]);
}

/// Behind the last thread there may be nothing to read.
#[test]
fn a_plan_reads_only_the_threads_that_it_has() {
    for domains in [Domains::AsCome, Domains::Spread, Domains::Gather] {
        let kinds = Config {
            domains,
            rules: rules::SPEEDUP,
            ..config()
        };
        let bench = Bench::new(4, kinds, domains_of_two);
        assert_eq!(Planner::default().plan(&bench.policy, &mut [], PLAN_PERIOD_NS, NOW), 0);
    }
}

/// Where no watts are known a node counts as one busy core, and the rest of the machine as four. Two threads that wait w of their
/// time take T = 1 + w^2 on one node, with EDP (4 + 1 + 2) * T^2 of a core, and 4 + 2 + 2 apart. The second node pays for more than
/// 1 %, from T^2 = 8 / 7 / 0.99 on, T = 1.074: of 3.42 MPKI each waits 0.255, T = 1.065; of 3.94 MPKI 0.283, T = 1.08. With half of
/// the node T = 1.062 would pay, with half of the core none below 1.086, with half of the machine none below 1.1.
#[test]
fn where_no_watts_are_known_the_machine_counts_as_four_cores_and_a_node_as_one() {
    let gathers = Config {
        domains: Domains::Gather,
        ..config()
    };
    let bench = Bench::new(4, gathers, |cpu| CpuPlace {
        node: (cpu / 2) as u16,
        ..domains_of_two(cpu)
    });
    for (mpmi, apart) in [(3_420, false), (3_940, true)] {
        let mut threads = [NONE; 2].map(|cpu| thread(cpu, 100, MemoryClass::Intensive));
        for thread in &mut threads {
            thread.intensity.note(mpmi, 1_000_000, S);
        }
        let wanted = plan(&bench, &mut threads);
        assert_eq!(wanted[0] != wanted[1], apart, "{mpmi}: {wanted:?}");
    }
}
