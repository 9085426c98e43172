// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which core joins and which leaves: each criterion against the next.

use crate::bench::{config, flat, Bench, HOLD, LAST_HOLD, MS};
use lop_policy::{App, Config, CpuBits, CpuPlace, GreenWork, Set, Sizing, NONE};

/// CPU 0 is the first member (the lowest number of equals). Each row then says which CPU joins and which one loses.
fn second(place: impl Fn(usize) -> CpuPlace, hot: &[u32]) -> i32 {
    let mut bench = Bench::new(4, config(), place);
    assert_eq!(bench.high(), [0]);
    for &cpu in hot {
        bench.world.temperature_mc.insert(cpu, 90_000);
    }
    let now_ns = bench.now();
    bench.policy.rotate_heat(&mut bench.world, now_ns);
    assert_eq!(bench.policy.heat.swaps, 0, "core 0 is the coolest");
    bench.joiner()
}

#[test]
fn not_a_hot_core_if_another_exists_even_of_the_slower_kind() {
    let kinds = |cpu: usize| CpuPlace {
        tier: u16::from(cpu == 3),
        ..flat(cpu)
    };
    assert_eq!(second(kinds, &[]), 1);
    assert_eq!(second(kinds, &[1, 2]), 3);
    assert_eq!(second(kinds, &[1, 2, 3]), 1, "all are hot");
}

/// CPU 1 shares the voltage domain of 0 but is slower.
#[test]
fn the_faster_kind_before_the_warm_voltage_domain() {
    let place = |cpu: usize| CpuPlace {
        tier: u16::from(cpu == 1),
        voltage_domain: if cpu < 2 { 0 } else { cpu as u16 },
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 2);
}

/// Domains {0, 3}, {1}, {2}: 3 joins, though 1 has the lower number.
#[test]
fn the_voltage_domain_that_has_a_high_member() {
    let place = |cpu: usize| CpuPlace {
        voltage_domain: (cpu % 3) as u16,
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 3);
}

/// Cores {0, 1} and {2, 3}, 0 and 1 in one voltage domain: a domain is opened before the sibling of a high CPU joins.
#[test]
fn the_core_without_a_high_sibling_before_the_warm_voltage_domain() {
    let place = |cpu: usize| CpuPlace {
        voltage_domain: (cpu / 2) as u16,
        next_sibling: (cpu ^ 1) as u16,
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 2);
}

/// Siblings {0, 1} are fast, 2 and 3 are slow cores without siblings: 2 joins, as a sibling adds little and slows the
/// other.
#[test]
fn a_whole_slow_core_before_the_sibling_of_a_fast_one() {
    let place = |cpu: usize| CpuPlace {
        tier: u16::from(cpu > 1),
        next_sibling: [1, 0, 2, 3][cpu],
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 2);
}

/// The same cores in one voltage domain: 2 joins, not the sibling of 0.
#[test]
fn the_core_whose_sibling_is_not_in_the_set() {
    let place = |cpu: usize| CpuPlace {
        voltage_domain: 0,
        next_sibling: (cpu ^ 1) as u16,
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 2);
}

/// CPUs 0 to 2 on node 0, 3 on node 1; siblings {0, 1} and {2, 3}... 2 is the free core on the fuller node, 3 the one
/// on the emptier node. Neither has a high sibling, so the node decides.
#[test]
fn the_node_with_fewest_high_members() {
    let place = |cpu: usize| CpuPlace {
        node: u16::from(cpu == 3),
        voltage_domain: 0,
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 3);
}

/// 1 is the sibling of 0 and alone on node 1; 2 and 3 are free cores of node 0.
#[test]
fn a_free_core_before_the_balance_of_nodes() {
    let place = |cpu: usize| CpuPlace {
        node: u16::from(cpu == 1),
        voltage_domain: 0,
        next_sibling: [1, 0, 2, 3][cpu],
        ..flat(cpu)
    };
    assert_eq!(second(place, &[]), 2);
}

/// An application that shares memory and lives on node 0 gets its cores there; for others the nodes are balanced.
#[test]
fn an_application_that_shares_memory_stays_on_its_node() {
    let place = |cpu: usize| CpuPlace {
        node: (cpu % 2) as u16,
        voltage_domain: 0,
        ..flat(cpu)
    };
    for (shares, high) in [(true, [0, 2, 4].as_slice()), (false, [0, 1, 2].as_slice())] {
        let mut bench = Bench::new(8, config(), place);
        let app = bench.app(0);
        bench.apps[app].shares_memory = shares;
        let tasks = [bench.task_of(app), bench.task_of(app)];
        bench.wake(tasks[0]);
        assert_eq!(bench.apps[app].home_node, 0);
        if shares {
            // The first spare came before the application had a home: on the emptier node 1.
            assert_eq!(bench.high(), [0, 1]);
            assert_eq!(bench.policy.joiner(Set::High, &CpuBits::of(0..8), 0), high[1] as i32);
        } else {
            bench.wake(tasks[1]);
            assert_eq!(bench.high(), high);
        }
    }
}

/// Even CPUs are node 0, odd ones node 1, and CPU 0 is high from the start. Of an application whose tasks share memory the first runs there, and the
/// others join it on that node, or on the only one where its memory may be. Without that each CPU comes from the node with fewest members.
#[test]
fn the_only_node_of_its_memory_goes_before_the_one_of_its_first_task() {
    let place = |cpu: usize| CpuPlace {
        node: (cpu % 2) as u16,
        voltage_domain: 0,
        ..flat(cpu)
    };
    for (only_node, high) in [
        (None, [0, 1, 2, 3]),
        (Some(NONE), [0, 2, 4, 6]),
        (Some(0), [0, 2, 4, 6]),
        (Some(1), [0, 1, 3, 5]),
    ] {
        let mut bench = Bench::new(8, Config { spare: 0, ..config() }, place);
        let app = bench.app(0);
        let tasks = [(); 4].map(|()| bench.task_of(app));
        bench.wake(tasks[0]);
        assert_eq!(bench.apps[app].home_node, 0);
        if let Some(only_node) = only_node {
            bench.apps[app].share_memory(only_node);
        }
        bench.wake_all(&tasks[1..]);
        assert_eq!(bench.high(), high, "{only_node:?}");
    }
}

/// A home stays when the memory may be on several nodes again, and changes with the only one.
#[test]
fn a_home_changes_with_the_only_node_of_its_memory() {
    let mut app = App::new(0);
    for (only_node, home_node) in [(NONE, NONE), (1, 1), (NONE, 1), (0, 0)] {
        app.share_memory(only_node);
        assert!(app.shares_memory);
        assert_eq!(app.home_node, home_node);
    }
}

/// 0 to 3 were high and left 10 ms apart; 4 never was. 4 joins first, then the others in the order in which they left.
#[test]
fn the_one_longest_out_of_the_set() {
    let mut bench = Bench::new(5, Config { spare: 0, ..config() }, flat);
    let tasks = bench.tasks(4);
    bench.wake_all(&tasks);
    let mut left = Vec::new();
    for &task in &tasks {
        let before = bench.high();
        bench.block(task);
        bench.pass(HOLD);
        left.extend(before.into_iter().filter(|cpu| !bench.high().contains(cpu)));
    }
    assert_eq!(left.len(), 3, "h_min keeps the last");
    let mut joined = Vec::new();
    let tasks = bench.tasks(5);
    for task in tasks {
        let before = bench.high();
        bench.wake(task);
        joined.extend(bench.high().into_iter().filter(|cpu| !before.contains(cpu)));
    }
    assert_eq!(joined, [&[4], left.as_slice()].concat());
}

/// Of a hundred the first 32 are compared; they lie in two words of the set, of which the first has fewer.
#[test]
fn the_one_longest_out_of_the_first_in_number() {
    let mut bench = Bench::new(100, Config { spare: 0, ..config() }, flat);
    let out_since = |bench: &mut Bench, cpu: u32, ms: u64| {
        bench.policy.cpu_offline(&mut bench.world, cpu, ms * MS);
        bench.policy.cpu_online(&mut bench.world, cpu, ms * MS);
    };
    for cpu in 1..100 {
        out_since(&mut bench, cpu, 100 - u64::from(cpu));
    }
    let joiner = |bench: &Bench, within| bench.policy.joiner(Set::High, &CpuBits::of(within), -1);
    assert_eq!(joiner(&bench, 1..100), 32);
    assert_eq!(joiner(&bench, 40..100), 71);
    assert_eq!(joiner(&bench, 90..100), 99);
}

/// All of four CPUs are high and idle; each row says which one leaves first.
fn leaver(place: impl Fn(usize) -> CpuPlace, hot: &[u32]) -> i32 {
    let mut bench = Bench::new(
        4,
        Config {
            sizing: Sizing::Fixed,
            fixed_size: 4,
            ..config()
        },
        place,
    );
    assert_eq!(bench.high(), [0, 1, 2, 3]);
    for &cpu in hot {
        bench.world.temperature_mc.insert(cpu, 90_000);
    }
    let now_ns = bench.now();
    bench.policy.rotate_heat(&mut bench.world, now_ns);
    bench.policy.leaver(Set::High, u64::MAX)
}

#[test]
fn leaving_goes_in_the_reverse_order() {
    // Hot (1) before the slower kind (3).
    let kinds = |cpu: usize| CpuPlace {
        tier: u16::from(cpu == 3),
        ..flat(cpu)
    };
    assert_eq!(leaver(kinds, &[1]), 1);
    // The slower kind (3) before the last of its voltage domain (0; 1, 2, 3 share one).
    let alone = |cpu: usize| u16::from(cpu > 0);
    let slow_beside_alone = |cpu: usize| CpuPlace {
        voltage_domain: alone(cpu),
        ..kinds(cpu)
    };
    assert_eq!(leaver(slow_beside_alone, &[]), 3);
    // One with a high sibling (2 or 3, joined together: the lowest number) before the last of its voltage domain (0).
    let siblings = |cpu: usize| CpuPlace {
        voltage_domain: alone(cpu),
        next_sibling: [0, 1, 3, 2][cpu],
        ..flat(cpu)
    };
    assert_eq!(leaver(siblings, &[]), 2);
    // One with a high sibling (2 or 3, joined together: the lowest number) before the fuller node (0, 1 and 2 of three).
    let sibling_on_emptier_node = |cpu: usize| CpuPlace {
        voltage_domain: 0,
        next_sibling: [1, 0, 2, 3][cpu],
        node: u16::from(cpu > 1) * (1 - u16::from(cpu == 3)) + u16::from(cpu == 3),
        ..flat(cpu)
    };
    assert_eq!(leaver(sibling_on_emptier_node, &[]), 0);
    // The fuller node (1, 2, 3) before the emptier (0).
    let nodes = |cpu: usize| CpuPlace {
        voltage_domain: 0,
        node: alone(cpu),
        ..flat(cpu)
    };
    assert_eq!(leaver(nodes, &[]), 1);
}

/// Of equal members the one that joined last leaves.
#[test]
fn the_last_to_join_leaves_first() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(3);
    for &task in &tasks {
        bench.wake(task);
        bench.pass(MS);
    }
    bench.block_all(&tasks);
    assert_eq!(bench.policy.leaver(Set::High, u64::MAX), 3);
}

#[test]
fn only_an_idle_member_leaves() {
    let mut bench = Bench::flat(2);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    assert_eq!(bench.policy.leaver(Set::High, u64::MAX), NONE);
    let cpu = bench.cpu_of(tasks[0]).expect("it runs");
    bench.block(tasks[0]);
    assert_eq!(bench.policy.leaver(Set::High, u64::MAX), cpu as i32);
}

/// A core that joined the green set is not the last of its voltage domain if one high member is there.
#[test]
fn green_cores_leave_where_no_high_member_keeps_the_voltage_up() {
    let green = Config {
        green: GreenWork::LowGain,
        spare: 1,
        ..config()
    };
    // Domains {0, 1} (0 is high) and {2}, {3}.
    let mut bench = Bench::new(4, green, |cpu| CpuPlace {
        voltage_domain: [0, 0, 2, 3][cpu],
        ..flat(cpu)
    });
    let tasks = bench.tasks(2);
    for &task in &tasks {
        bench.tasks[task].speedup_permille = 1100;
        bench.wake(task);
    }
    assert_eq!(bench.green(), [1, 2]);
    bench.block_all(&tasks);
    assert_eq!(bench.policy.leaver(Set::Green, u64::MAX), 2);
}

/// Of nodes with three and two members, one leaves of the node with three, though another joined last.
#[test]
fn one_of_the_fuller_node_leaves_by_each_member() {
    let place = |cpu: usize| CpuPlace {
        node: u16::from(cpu > 2),
        ..flat(cpu)
    };
    let mut bench = Bench::new(5, Config { spare: 0, ..config() }, place);
    let tasks: Vec<usize> = (0..5).map(|cpu| bench.pinned([cpu])).collect();
    for &task in &tasks {
        bench.wake(task);
        bench.pass(MS);
    }
    bench.block_all(&tasks);
    assert_eq!(bench.policy.leaver(Set::High, u64::MAX), 2);
}

/// Without a ladder green cores are of the fastest kind, which is that of CPUs 2 and 3.
#[test]
fn green_work_that_hardly_gains_has_the_fastest_kind() {
    let place = |cpu: usize| CpuPlace {
        tier: u16::from(cpu < 2),
        ..flat(cpu)
    };
    let green = Config {
        green: GreenWork::LowGain,
        spare: 0,
        ..config()
    };
    let mut bench = Bench::new(4, green, place);
    let task = bench.task();
    bench.tasks[task].speedup_permille = 1100;
    bench.wake(task);
    assert_eq!(bench.green(), [2]);
}

/// Three tasks sleep at once, and CPU 0 joined last. After T_hold it leaves, and so does the next one at the same time.
#[test]
fn all_that_are_surplus_leave_at_once() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, flat);
    let tasks = [1, 2, 0].map(|cpu| {
        let task = bench.pinned([cpu]);
        bench.wake(task);
        bench.pass(2 * LAST_HOLD);
        task
    });
    assert_eq!(bench.high(), [0, 1, 2]);
    bench.block_all(&tasks);
    bench.pass(HOLD);
    assert_eq!(bench.high(), [1]);
}
