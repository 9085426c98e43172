// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Heat rotation: hot idle high cores swap with cool low ones.

use crate::bench::{config, flat, siblings, Bench, MS, S};
use lop_policy::{Config, CpuPlace, Reserve, NO_TEMPERATURE};

const MINUTE: u64 = 60 * S;

/// Two sockets of four CPUs; core 0 is the one high member, and idle.
fn sockets() -> Bench {
    Bench::new(8, config(), |cpu| CpuPlace {
        socket: (cpu / 4) as u16,
        ..flat(cpu)
    })
}

fn rotate(bench: &mut Bench) -> u64 {
    let now_ns = bench.now();
    bench.policy.rotate_heat(&mut bench.world, now_ns);
    bench.policy.heat.swaps
}

#[test]
fn the_hottest_high_core_swaps_with_the_coolest_low_one_once_a_period() {
    let mut bench = sockets();
    bench.pass(180 * S - bench.now());
    bench
        .world
        .temperature_mc
        .extend([(0, 60_000), (1, 50_000), (2, 45_000), (3, 55_000), (6, 20_000)]);
    assert_eq!(rotate(&mut bench), 1);
    assert_eq!(bench.high(), [2], "the coolest of its socket, not of the machine");
    bench.world.temperature_mc.insert(2, 70_000);
    bench.pass(180 * S - 1);
    assert_eq!(rotate(&mut bench), 1);
    bench.pass(1);
    assert_eq!(rotate(&mut bench), 2);
    assert_eq!(bench.high(), [1]);
}

/// 85 degrees with a limit of 80: a swap at once, but not two within a minute.
#[test]
fn a_hot_core_swaps_at_once_but_at_most_once_a_minute() {
    let mut bench = sockets();
    bench.pass(180 * S - bench.now());
    bench.world.temperature_mc.extend([(0, 60_000)]);
    assert_eq!(rotate(&mut bench), 1);
    let now_high = bench.high()[0] as u32;
    bench.world.temperature_mc.insert(now_high, 85_000);
    bench.pass(MINUTE - 1);
    assert_eq!(rotate(&mut bench), 1);
    bench.pass(1);
    assert_eq!(rotate(&mut bench), 2);
    let now_high = bench.high()[0] as u32;
    for (cpu, swaps) in [(now_high, 3), (0, 4)] {
        bench
            .world
            .temperature_mc
            .insert(0, if cpu == 0 { 85_000 } else { 20_000 });
        bench.world.temperature_mc.insert(cpu, 85_000);
        bench.pass(MINUTE);
        assert_eq!(rotate(&mut bench), swaps, "core {cpu} is hot");
    }
}

/// Both sockets have a hot, idle high core: one swap on each, in one call.
#[test]
fn each_socket_swaps_cores_of_its_own() {
    let mut bench = sockets();
    bench.pass(180 * S);
    let tasks = [bench.pinned([0]), bench.pinned([4])];
    bench.wake_all(&tasks);
    bench.block_all(&tasks);
    assert_eq!(bench.size(), 2 + u32::from(bench.high().len() == 3));
    bench.world.temperature_mc.extend([(0, 90_000), (4, 90_000)]);
    assert_eq!(rotate(&mut bench), 2);
    assert!(!bench.high().contains(&0) && !bench.high().contains(&4));
}

#[test]
fn busy_and_pinned_cores_stay_and_equal_temperatures_do_not_swap() {
    let mut bench = sockets();
    bench.pass(180 * S);
    assert_eq!(rotate(&mut bench), 0, "all are at 40 degrees");
    let task = bench.pinned([0]);
    bench.wake(task);
    bench.world.temperature_mc.insert(0, 90_000);
    bench.pass(MS);
    rotate(&mut bench);
    assert!(bench.high().contains(&0));
}

/// 0 is reserved, and 1 on its core; 2 is high, and 3 on its core. They are cooler than 4, which yet takes the place of 2.
#[test]
fn no_cpu_takes_a_place_on_a_core_that_is_high_or_reserved() {
    let asked = Config {
        reserve: Reserve::Asked,
        ..config()
    };
    let mut bench = Bench::new(8, asked, siblings);
    bench.pass(180 * S);
    assert_eq!((bench.reserved(), bench.high()), (Some(0), vec![2]));
    bench.world.temperature_mc.extend((0..8).map(|cpu| (cpu, 50_000)));
    bench.world.temperature_mc.extend([0, 1, 3].map(|cpu| (cpu, 20_000)));
    bench.world.temperature_mc.extend([(2, 90_000), (4, 30_000)]);
    assert_eq!(rotate(&mut bench), 1);
    assert_eq!(bench.high(), [4]);
}

/// 0 is hottest, 2 and 3 are cool, and neither of 0 and 3 has a sensor: first no high core has one, then the coolest low one has none.
#[test]
fn cores_without_a_sensor_do_not_swap() {
    let mut bench = sockets();
    bench.pass(180 * S);
    bench.world.temperature_mc.extend([(0, NO_TEMPERATURE), (2, 30_000)]);
    assert_eq!(rotate(&mut bench), 0);
    bench
        .world
        .temperature_mc
        .extend([(0, 90_000), (1, 50_000), (2, 45_000), (3, NO_TEMPERATURE)]);
    assert_eq!(rotate(&mut bench), 1);
    assert_eq!(bench.high(), [2]);
}

/// Partial: one or seven of eight are high. Not partial: all are, or none is.
#[test]
fn a_set_is_partial_while_some_cores_are_high_and_some_are_low() {
    let mut bench = Bench::new(8, Config { spare: 0, ..config() }, flat);
    assert!(!bench.policy.is_partial());
    let tasks: Vec<_> = (0..8).map(|cpu| bench.pinned([cpu])).collect();
    for (awake, is_partial) in [(1, true), (7, true), (8, false)] {
        bench.wake_all(&tasks[bench.size() as usize..awake]);
        assert_eq!((bench.size() as usize, bench.policy.is_partial()), (awake, is_partial));
    }
    bench.block_all(&tasks);
    bench.pass(10 * S);
    assert_eq!((bench.size(), bench.policy.is_partial()), (0, false));
}

/// 0 and 1 are of the fast kind; 2 and 3 are of the slow kind and coolest. 0 swaps with 1.
#[test]
fn cores_swap_with_their_own_kind() {
    let mut bench = Bench::new(4, config(), |cpu| CpuPlace {
        tier: u16::from(cpu > 1),
        ..flat(cpu)
    });
    bench.pass(180 * S);
    bench
        .world
        .temperature_mc
        .extend([(0, 90_000), (1, 60_000), (2, 30_000), (3, 30_000)]);
    assert_eq!(rotate(&mut bench), 1);
    assert_eq!(bench.high(), [1]);
}
