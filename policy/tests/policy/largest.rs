// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The largest machine that the policy knows: each rule holds for its last node, memory domain, kind of core and sibling.

use crate::bench::{config, flat, Bench};
use lop_policy::{Config, CpuPlace, Reserve, Sizing};

/// 64 nodes of two CPUs. The first 64 tasks have a node each.
#[test]
fn members_are_spread_over_64_nodes() {
    let place = |cpu: usize| CpuPlace {
        node: (cpu / 2) as u16,
        ..flat(cpu)
    };
    let mut bench = Bench::new(128, Config { spare: 0, ..config() }, place);
    let ids = bench.tasks(64);
    bench.wake_all(&ids);
    let mut nodes: Vec<usize> = bench.high().iter().map(|cpu| cpu / 2).collect();
    nodes.dedup();
    assert_eq!(nodes.len(), 64);
}

/// 256 memory domains of two CPUs. A task whose CPU is busy goes to the other one of the last domain.
#[test]
fn a_task_stays_in_the_last_of_256_memory_domains() {
    let place = |cpu: usize| CpuPlace {
        memory_domain: (cpu / 2) as u16,
        ..flat(cpu)
    };
    let all = Config {
        sizing: Sizing::All,
        ..config()
    };
    let mut bench = Bench::new(512, all, place);
    let ids = bench.tasks(2);
    for (id, cpu) in ids.into_iter().zip([511, 510]) {
        bench.last_cpu[id] = 511;
        bench.wake(id);
        assert_eq!(bench.cpu_of(id), Some(cpu));
    }
}

/// 16 kinds of cores. A task goes to one of the eighth kind and not of the ninth.
#[test]
fn sixteen_kinds_of_cores_are_told_apart() {
    let place = |cpu: usize| CpuPlace {
        tier: 15 - cpu as u16,
        ..flat(cpu)
    };
    let all = Config {
        sizing: Sizing::All,
        ..config()
    };
    let mut bench = Bench::new(16, all, place);
    let ids = bench.tasks(16);
    bench.wake_all(&ids);
    let cpus: Vec<usize> = ids.iter().map(|&id| bench.cpu_of(id).unwrap()).collect();
    assert_eq!(cpus, (0..16).rev().collect::<Vec<_>>());
}

/// Cores of eight siblings: three are too few to reserve one of, four are enough.
#[test]
fn eight_siblings_are_one_core() {
    let place = |cpu: usize| CpuPlace {
        next_sibling: (cpu / 8 * 8 + (cpu + 1) % 8) as u16,
        ..flat(cpu)
    };
    for (cores, reserves) in [(3, false), (4, true)] {
        let by_size = Config {
            reserve: Reserve::BySize,
            ..config()
        };
        let bench = Bench::new(8 * cores, by_size, place);
        assert_eq!(bench.reserved().is_some(), reserves, "{cores} cores");
    }
}
