// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The goal changes while the scheduler runs.

use crate::bench::{config, domains_of_two, flat, Bench, World, HOLD, LAST_HOLD, MS};
use lop_policy::record::Kind;
use lop_policy::{Config, Domains, GoalConfig, GreenWork, Policy};

fn without_spare() -> Config {
    Config { spare: 0, ..config() }
}

/// The bench has filled in the number of CPUs.
fn on(bench: &Bench, config: &Config) -> Config {
    Config {
        nr_cpus: bench.policy.config.nr_cpus,
        ..*config
    }
}

fn change(bench: &mut Bench, to: &Config) {
    let to = on(bench, to);
    let goal = bench.policy.config.goal_change(&to).unwrap();
    let now_ns = bench.now();
    bench.policy.set_goal(&mut bench.world, &goal, now_ns);
    bench.follow_kicks();
}

/// A task ran until 40 ms ago: its CPU is surplus with a hold of 1 s, and the spare is high. The new goal has neither a spare nor such a hold: of the two
/// CPUs one leaves at once, as T_hold is 10 ms, and the other one 30 ms after the change.
#[test]
fn without_a_spare_members_leave_by_the_new_holds() {
    let mut bench = Bench::new(4, config(), flat);
    let task = bench.task();
    bench.wake(task);
    bench.block(task);
    bench.pass(40 * MS);
    assert_eq!((bench.size(), bench.target()), (2, 1));
    let energy = Config {
        last_hold_ns: 30 * MS,
        ..without_spare()
    };
    change(&mut bench, &energy);
    assert_eq!((bench.size(), bench.target()), (1, 0));
    assert_eq!(bench.world.timer_at_ns, Some(bench.now() + 30 * MS));
    bench.pass(30 * MS - 1);
    assert_eq!(bench.size(), 1);
    bench.pass(1);
    assert_eq!(bench.size(), 0);
}

/// The last CPU would stay for 1 s; 40 ms of them are over when the hold becomes 30 ms.
#[test]
fn the_last_member_leaves_at_once_where_its_new_hold_is_over() {
    let mut bench = Bench::new(4, without_spare(), flat);
    let task = bench.task();
    bench.wake(task);
    bench.block(task);
    bench.pass(40 * MS);
    let shorter = |ms| Config {
        last_hold_ns: ms * MS,
        ..without_spare()
    };
    change(&mut bench, &shorter(50));
    assert_eq!(bench.size(), 1);
    change(&mut bench, &shorter(30));
    assert_eq!(bench.size(), 0);
}

#[test]
fn a_spare_joins_at_once() {
    let mut bench = Bench::new(4, without_spare(), flat);
    let task = bench.task();
    bench.wake(task);
    assert_eq!(bench.size(), 1);
    change(&mut bench, &config());
    assert_eq!((bench.size(), bench.target()), (2, 2));
    bench.block(task);
    bench.pass(2 * LAST_HOLD);
    assert_eq!(bench.size(), 1, "the spare");
    bench.pass(HOLD);
    assert_eq!(bench.size(), 1);
}

/// Two domains of two CPUs, the second off.
#[test]
fn without_gather_no_domain_stays_off() {
    let with = |domains| Config {
        domains,
        ..without_spare()
    };
    for (from, to, is_off) in [
        (Domains::Gather, Domains::Gather, true),
        (Domains::Gather, Domains::Spread, false),
        (Domains::Spread, Domains::Gather, true),
    ] {
        let mut bench = Bench::new(4, with(from), domains_of_two);
        let now_ns = bench.now();
        bench.policy.set_domain_on(&mut bench.world, 1, false, now_ns);
        change(&mut bench, &with(to));
        assert_eq!(bench.policy.is_off(1), is_off, "from {from:?} to {to:?}");
        assert_eq!(bench.policy.config.domains, to);
    }
}

/// What else differs is not changed in place: light work, and whether plans for memory domains are made.
#[test]
fn a_change_in_place_has_what_follows_from_the_goal_alone() {
    let gather = Config {
        domains: Domains::Gather,
        ..config()
    };
    let spread = Config {
        spare: 0,
        last_hold_ns: 7,
        keeps_kind: true,
        domains: Domains::Spread,
        ..config()
    };
    let goal = GoalConfig {
        spare: 0,
        last_hold_ns: 7,
        keeps_kind: 1,
        domains: Domains::Spread as u64,
    };
    assert_eq!(gather.goal_change(&spread), Some(goal));
    let mut bench = Bench::new(4, gather, domains_of_two);
    change(&mut bench, &spread);
    assert_eq!(bench.policy.config, on(&bench, &spread));
    for other in [
        config(),
        Config { light: true, ..gather },
        Config {
            green: GreenWork::Paced,
            ..gather
        },
    ] {
        assert_eq!(gather.goal_change(&other), None);
    }
}

#[test]
fn a_change_is_recorded_with_its_configuration() {
    let mut owner = Policy::new(config());
    owner.sched().add_cpu(0, flat(0));
    owner.record();
    let goal = config().goal_change(&without_spare()).unwrap();
    owner.handle().set_goal(&mut World::default(), &goal, 7);
    let records = owner.handle().take_records();
    let has: Vec<_> = records
        .iter()
        .map(|record| (record.kind, record.at_ns, record.goal()))
        .collect();
    assert_eq!(has, [(Kind::Goal, 7, Some(goal))]);
}
