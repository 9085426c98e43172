// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::amp::Amp;
use crate::machine::{Layout, Sizes};
use crate::policy::{Asked, Named};
use lop_machine::live::{LiveCpu, LiveMachine};
use lop_policy::record::Kind;
use lop_policy::MemoryClass;
use lop_vm_judge::decisions::replay_records;
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;

fn config(policy: Named, nr_tiers: u32) -> Asked {
    Asked {
        policy,
        fixed_size: 0,
        spare: None,
        nr_cpus: 4,
        nr_memory_domains: 1,
        nr_tiers,
        threads: 1,
        most_high: 0,
        hold_ns: None,
        transition_ns: 0,
        migration_ns: 100_000,
    }
}

/// Four CPUs of these speeds, x 1000; each speed is a kind.
fn machine(policy: Named, permille: [u16; 4]) -> Shadow {
    let mut kinds = permille.to_vec();
    kinds.sort_unstable_by(|a, b| b.cmp(a));
    kinds.dedup();
    let place = |cpu: usize| {
        let place = CpuPlace {
            tier: kinds.iter().position(|&kind| kind == permille[cpu]).unwrap() as u16,
            next_sibling: cpu as u16,
            permille: permille[cpu],
            ..CpuPlace::default()
        };
        (cpu as u32, place)
    };
    let cpus: Vec<_> = (0..4).map(place).collect();
    Shadow::new(&config(policy, kinds.len() as u32), &cpus, 0)
}

const ALL: [u32; 4] = [0, 1, 2, 3];

fn add(shadow: &mut Shadow, ids: std::ops::Range<u32>, length: u32) {
    for id in ids {
        shadow.add(id, 1, &ALL.into_iter().collect(), length);
    }
}

fn at(shadow: &mut Shadow, ms: u64) {
    shadow.time_is(ms * MS);
    shadow.tick();
}

#[test]
fn the_high_set_follows_what_runs_and_shrinks_after_the_hold_time() {
    let mut shadow = machine(Named::Highlow, [1000; 4]);
    add(&mut shadow, 10..13, 0);
    (10..13).for_each(|id| shadow.wake(id, 0));
    assert_eq!((shadow.active(), shadow.members().iter().count()), (3, 3));
    at(&mut shadow, 5);
    shadow.block(10);
    shadow.block(11);
    assert_eq!(shadow.members().iter().count(), 3, "for T_hold");
    at(&mut shadow, 20);
    assert_eq!(shadow.members().iter().count(), 1);
    let Some(Place::Runs(cpu)) = shadow.place(12) else {
        panic!("it runs")
    };
    assert!(shadow.members().has(cpu), "who runs keeps its CPU");
    shadow.block(12);
    at(&mut shadow, 1100);
    assert!(shadow.members().is_empty(), "nothing ran for a second");
}

#[test]
fn more_tasks_than_cpus_wait_and_have_turns() {
    let mut shadow = machine(Named::Highlow, [1000; 4]);
    add(&mut shadow, 0..6, 0);
    (0..6).for_each(|id| shadow.wake(id, 0));
    let waiting = |shadow: &Shadow| {
        (0..6)
            .filter(|&id| shadow.place(id) == Some(Place::Waits))
            .collect::<Vec<_>>()
    };
    let first = waiting(&shadow);
    assert_eq!(first.len(), 2);
    at(&mut shadow, 21);
    assert_eq!(waiting(&shadow).len(), 2);
    assert_ne!(waiting(&shadow), first);
    (0..6).for_each(|id| shadow.remove(id));
    assert_eq!(shadow.active(), 0);
}

#[test]
fn a_sequential_phase_gets_the_fast_cpu() {
    let mut shadow = machine(Named::Phase, [500, 500, 1000, 500]);
    add(&mut shadow, 0..4, 0);
    (0..4).for_each(|id| shadow.wake(id, 0));
    at(&mut shadow, 30);
    let fast = |shadow: &Shadow| (0..4).find(|&id| shadow.place(id) == Some(Place::Runs(2)));
    let first = fast(&shadow).unwrap();
    // The others fall asleep, one by one; the last one is waited for.
    let alone = (0..4).rev().find(|&id| id != first).unwrap();
    (0..4).filter(|&id| id != alone).for_each(|id| shadow.block(id));
    assert_eq!(fast(&shadow), Some(alone));
}

#[test]
fn a_spinner_that_says_so_gives_the_fast_cpu_to_who_works() {
    let mut shadow = machine(Named::Phase, [500, 500, 1000, 500]);
    add(&mut shadow, 0..3, 0);
    (0..3).for_each(|id| shadow.wake(id, 0));
    at(&mut shadow, 30);
    let works = (0..3).find(|&id| shadow.place(id) != Some(Place::Runs(2))).unwrap();
    (0..3).filter(|&id| id != works).for_each(|id| shadow.set_hints(id, 1));
    assert_eq!(shadow.place(works), Some(Place::Runs(2)));
    assert_eq!(shadow.active(), 1, "who spins is not active");
}

#[test]
fn the_longest_gets_the_fast_cpu() {
    let mut shadow = machine(Named::LongestFirst, [1000, 500, 500, 500]);
    for (id, length) in [(0, 3), (1, 9), (2, 4)] {
        add(&mut shadow, id..id + 1, length);
        shadow.wake(id, 1);
    }
    assert_eq!(shadow.place(1), Some(Place::Runs(0)));
}

#[test]
fn a_pinned_task_promotes_its_cpu() {
    let mut shadow = machine(Named::Highlow, [1000; 4]);
    shadow.add(7, 1, &std::iter::once(3).collect(), 0);
    shadow.wake(7, 3);
    assert_eq!(shadow.place(7), Some(Place::Runs(3)));
    assert!(shadow.members().has(3));
}

#[test]
fn the_last_task_to_declare_the_parallelism_counts_until_it_ends() {
    let mut shadow = machine(Named::Highlow, [1000; 4]);
    add(&mut shadow, 10..13, 0);
    shadow.wake(10, 0);
    let size = |shadow: &Shadow| shadow.members().iter().count();
    shadow.declare(11, Some(4));
    assert_eq!(size(&shadow), 4);
    shadow.declare(12, Some(2));
    shadow.declare(11, Some(4));
    at(&mut shadow, 20);
    assert_eq!(size(&shadow), 2, "11 says what it said before");
    shadow.remove(11);
    at(&mut shadow, 40);
    assert_eq!(size(&shadow), 2);
    shadow.remove(12);
    at(&mut shadow, 60);
    assert_eq!(size(&shadow), 1, "by demand");
}

/// A thread gives its record back before it ends, and a process that executes another program loses all of them.
#[test]
fn who_has_no_record_any_more_takes_back_only_its_own_declaration() {
    let mut shadow = machine(Named::Highlow, [1000; 4]);
    add(&mut shadow, 10..13, 0);
    shadow.wake(10, 0);
    let size = |shadow: &Shadow| shadow.members().iter().count();
    shadow.declare(11, Some(2));
    shadow.declare(12, Some(4));
    shadow.declare(11, None);
    at(&mut shadow, 20);
    assert_eq!(size(&shadow), 4, "12 has said so last");
    shadow.declare(12, None);
    at(&mut shadow, 60);
    assert_eq!(size(&shadow), 1, "by demand");
    shadow.declare(11, Some(2));
    assert_eq!(size(&shadow), 2, "which is new");
}

#[test]
fn a_task_that_is_added_anew_declares_nothing_new() {
    let mut shadow = machine(Named::Highlow, [1000; 4]);
    add(&mut shadow, 10..13, 0);
    shadow.wake(10, 0);
    let size = |shadow: &Shadow| shadow.members().iter().count();
    shadow.declare(11, Some(4));
    shadow.declare(12, Some(2));
    at(&mut shadow, 20);
    let anew = |shadow: &mut Shadow, id, said| {
        shadow.add_anew(id, &ALL.into_iter().collect(), 7);
        shadow.declare(id, Some(said));
    };
    anew(&mut shadow, 11, 4);
    assert_eq!(size(&shadow), 2, "12 has said so last");
    anew(&mut shadow, 12, 2);
    shadow.remove(11);
    at(&mut shadow, 40);
    assert_eq!(size(&shadow), 2, "12 still has");
    shadow.remove(12);
    at(&mut shadow, 60);
    assert_eq!(size(&shadow), 1, "by demand");
    // All of its application.
    shadow.declare(10, Some(3));
    shadow.add_anew(10, &ALL.into_iter().collect(), 7);
    shadow.wake(10, 0);
    assert_eq!(size(&shadow), 3);
}

/// Five hundred things that happen to threads, drawn from the seed.
fn live(shadow: &mut Shadow, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut draw = |n: u32| random.u32(..n);
    let mut now_ns = 0;
    for _ in 0..500 {
        now_ns += u64::from(draw(4_000_000));
        shadow.time_is(now_ns);
        let id = draw(12);
        match draw(16) {
            0..3 if shadow.place(id).is_none() => {
                let allowed = if draw(4) == 0 {
                    ALL.into_iter().skip(draw(4) as usize).take(2).collect()
                } else {
                    ALL.into_iter().collect()
                };
                shadow.add(id, id % 3, &allowed, draw(3) * draw(9));
            }
            0..6 => shadow.wake(id, draw(4)),
            6..9 => shadow.block(id),
            9 if draw(3) == 0 => shadow.remove(id),
            9 => shadow.add_anew(id, &ALL.into_iter().collect(), draw(9)),
            10..12 => shadow.set_hints(id, draw(8)),
            12 => shadow.declare(id, (draw(3) > 0).then(|| draw(5))),
            13 if shadow.plans() => {
                let ids: Vec<u32> = (0..12).filter(|&id| shadow.place(id).is_some()).collect();
                let mut threads: Vec<Planned> = ids.iter().map(|_| Planned::default()).collect();
                for thread in &mut threads {
                    thread.active_ns = u64::from(draw(1_000_000_000));
                    thread.intensity.declare(if draw(2) == 0 {
                        MemoryClass::VeryLow
                    } else {
                        MemoryClass::Intensive
                    } as u32);
                }
                shadow.plan(&ids, &mut threads, 1000 * MS);
            }
            14 if draw(8) == 0 => shadow.end_plans(),
            _ => shadow.tick(),
        }
    }
}

/// Four CPUs in two memory domains, each with its kind and its capacity, of 1024.
fn two_domains(kinds: [(u16, u32); 4]) -> LiveMachine {
    let cpu = |(number, (tier, capacity))| LiveCpu {
        number: number as u32,
        online: true,
        isolated: false,
        tier,
        capacity,
        max_khz: None,
        core: number as u16,
        clock_domain: 0,
        voltage_domain: 0,
        memory_domain: number as u16 / 2,
        socket: 0,
        node: number as u16 / 2,
    };
    LiveMachine {
        nr_tiers: 1 + kinds[3].0,
        nr_cores: 4,
        nr_clock_domains: 1,
        nr_voltage_domains: 1,
        nr_memory_domains: 2,
        nr_nodes: 2,
        nr_sockets: 1,
        node_numbers: Vec::new(),
        cache_kib: Vec::new(),
        transition_ns: 0,
        notes: Vec::new(),
        cpus: kinds.into_iter().enumerate().map(cpu).collect(),
    }
}

/// The agent has the kernel's log, too, and the player makes the same decisions of it.
#[test]
fn what_the_agent_calls_is_replayed_to_the_same_decisions() {
    let machines = [
        [(0, 1024); 4],
        [(0, 1024), (0, 1024), (1, 512), (1, 512)],
        [(0, 1024), (1, 512), (1, 512), (2, 308)],
    ]
    .map(two_domains);
    let policies = [
        Named::HighlowSpare,
        Named::Phase,
        Named::LongestFirst,
        Named::Specialise,
        Named::Spread,
        Named::Gather,
        Named::ReservedCore,
        Named::Auto,
    ];
    let mut kinds = BTreeSet::new();
    for policy in policies {
        for (seed, machine) in machines.iter().enumerate() {
            let layout = Layout::of(machine, &Amp::default());
            let asked = layout.config(&Sizes::new(policy.into()));
            let mut shadow = Shadow::new(&asked, &layout.cpus, 0);
            live(&mut shadow, seed as u64);
            let records = shadow.policy.take_records();
            let outcome = replay_records(machine, &asked.config(), &records)
                .unwrap_or_else(|error| panic!("{policy:?}, {seed}: {error:#}"));
            assert!(outcome.agrees_on(&records), "{policy:?}, {seed}: {outcome:?}");
            kinds.extend(records.iter().map(|record| record.kind));
        }
    }
    let expected = [
        Kind::Set,
        Kind::Placed,
        Kind::Queued,
        Kind::Preempt,
        Kind::Leaves,
        Kind::Hints,
        Kind::Spin,
        Kind::Length,
        Kind::Shares,
        Kind::Declare,
        Kind::Domain,
        Kind::DomainOn,
        Kind::DomainOff,
        Kind::Rest,
        Kind::Ended,
        Kind::Dequeue,
    ];
    let missing: Vec<&Kind> = expected.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no life has {missing:?}: draw others");
}
