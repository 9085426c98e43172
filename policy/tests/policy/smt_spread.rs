// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! With SMT, a whole core comes before a share of one.

use crate::bench::{config, flat, Bench, MS, US};
use crate::phase::MIGRATION;
use lop_policy::{rules, Config, CpuPlace, NONE};

/// Cores of two CPUs each: 0 and 1, 2 and 3, and so on.
fn pairs(cpu: usize) -> CpuPlace {
    CpuPlace {
        next_sibling: (cpu ^ 1) as u16,
        ..flat(cpu)
    }
}

fn bench(cpus: usize, rules: u32, place: impl Fn(usize) -> CpuPlace) -> Bench {
    let configuration = Config {
        rules,
        migration_ns: MIGRATION,
        spare: 0,
        ..config()
    };
    Bench::new(cpus, configuration, place)
}

fn core_of(bench: &Bench, id: usize) -> Option<usize> {
    bench.cpu_of(id).map(|cpu| cpu / 2)
}

/// One task for each CPU. After all have run for this long, those on the second core block, so that it is idle.
fn second_core_falls_idle(bench: &mut Bench, cpus: usize, after_ns: u64) -> Vec<usize> {
    let ids = bench.tasks(cpus);
    bench.wake_all(&ids);
    bench.pass(after_ns);
    let (there, others): (Vec<usize>, Vec<usize>) = ids.iter().partition(|&&id| core_of(bench, id) == Some(1));
    assert_eq!(there.len(), 2);
    bench.block_all(&there);
    others
}

/// Two cores, four tasks: when both tasks of the second core have left, one of the other two moves there, and does not
/// return.
#[test]
fn of_two_that_share_a_core_one_goes_to_a_whole_one_that_falls_idle() {
    for (rules, cores) in [(rules::WHOLE, [0, 1]), (0, [0, 0])] {
        let mut bench = bench(4, rules, pairs);
        let left = second_core_falls_idle(&mut bench, 4, MS);
        bench.pass(100 * MS);
        let mut found: Vec<usize> = left.iter().filter_map(|&id| core_of(&bench, id)).collect();
        found.sort_unstable();
        assert_eq!(found, cores, "rules {rules}");
        assert_eq!(bench.policy.fast.moves, u64::from(rules != 0));
    }
}

/// A CPU that falls idle beside a busy sibling is no gain.
#[test]
fn half_a_core_takes_nobody() {
    let mut bench = bench(4, rules::WHOLE, pairs);
    let ids = bench.tasks(4);
    bench.wake_all(&ids);
    bench.pass(MS);
    bench.block(ids[3]);
    bench.pass(100 * MS);
    assert_eq!(bench.policy.fast.moves, 0);
}

/// Ten migrations of 20 us: a task that woke 50 us ago moves 150 us later.
#[test]
fn who_has_just_woken_shares_until_moving_pays() {
    let mut bench = bench(4, rules::WHOLE, pairs);
    let left = second_core_falls_idle(&mut bench, 4, 50 * US);
    let shared = |bench: &Bench| core_of(bench, left[0]) == core_of(bench, left[1]);
    bench.pass(150 * US - 1);
    assert!(shared(&bench));
    bench.pass(51 * US);
    assert!(
        !shared(&bench),
        "the timer looks ten migrations after the core fell idle"
    );
}

/// Three cores, all busy; two of them fall idle. The third keeps one task, and one of the idle cores stays idle.
#[test]
fn two_idle_cores_do_not_take_both() {
    let mut bench = bench(6, rules::WHOLE, pairs);
    let ids = bench.tasks(6);
    bench.wake_all(&ids);
    bench.pass(MS);
    let gone: Vec<usize> = ids
        .iter()
        .copied()
        .filter(|&id| core_of(&bench, id) != Some(0))
        .collect();
    bench.block_all(&gone);
    bench.pass(100 * MS);
    assert_eq!(bench.policy.fast.moves, 1);
    let left = ids.iter().filter(|&&id| core_of(&bench, id) == Some(0)).count();
    assert_eq!(left, 1);
}

/// A whole core of another kind is left to lop_upmigrate(), which moves to faster ones only. A task stays in the
/// memory domain of its plan.
#[test]
fn neither_the_kind_nor_the_planned_domain_changes() {
    let slow_second = |cpu: usize| CpuPlace {
        tier: u16::from(cpu / 2 == 1),
        ..pairs(cpu)
    };
    let domain_each = |cpu: usize| CpuPlace {
        memory_domain: (cpu / 2) as u16,
        ..pairs(cpu)
    };
    let mut slow = bench(4, rules::WHOLE, slow_second);
    second_core_falls_idle(&mut slow, 4, MS);
    slow.pass(100 * MS);
    assert_eq!(slow.policy.fast.moves, 0, "slow");
    for (planned, moves) in [(NONE, 1), (0, 0)] {
        let mut domains = bench(4, rules::WHOLE, domain_each);
        let left = second_core_falls_idle(&mut domains, 4, 100 * US);
        for &id in &left {
            let cpu = domains.cpu_of(id).expect("it runs") as u32;
            domains.policy.set_domain(&mut domains.tasks[id], planned, cpu);
        }
        domains.pass(100 * MS);
        assert_eq!(domains.policy.fast.moves, moves, "planned for {planned}");
    }
}
