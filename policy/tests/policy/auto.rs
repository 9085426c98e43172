// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! All rules together: auto leaves out what a machine has no use for, and the order of policy/core/auto.h decides
//! between rules.

use crate::bench::{config, domains_of_two, flat, Bench, HOLD, LAST_HOLD, MS, S, US};
use lop_policy::{is_planned, rules, Config, CpuPlace, Domains, Goal, MemoryClass, Named, Reserve, Sizing, Traits};

const ALL_RULES: u32 = rules::PHASES | rules::LONGEST | rules::SPEEDUP | rules::TURNS;

/// A core that rises in 0.1 ms and costs 3 W of 450 W when it is kept high.
fn machine() -> Traits {
    Traits {
        goal: Goal::Balanced,
        nr_memory_domains: 1,
        nr_tiers: 1,
        threads_per_core: 1,
        machine_mw: 450_000,
        core_mw: 3_000,
        domain_mw: 0,
        follows_demand: false,
        slow_is_cheaper: false,
        domain_rise_ns: 100 * US,
    }
}

fn auto(machine: &Traits) -> Config {
    Config::of(Named::Auto, HOLD).leave_out(machine)
}

#[test]
fn domains_and_kinds_decide_about_plans_and_ranks() {
    for (nr_memory_domains, nr_tiers, threads_per_core, domains, rules) in [
        (1, 1, 1, Domains::AsCome, 0),
        (1, 2, 1, Domains::AsCome, ALL_RULES),
        (4, 1, 1, Domains::Gather, 0),
        (4, 2, 1, Domains::Spread, ALL_RULES),
        (1, 1, 2, Domains::AsCome, rules::WHOLE),
        (1, 2, 2, Domains::AsCome, ALL_RULES | rules::WHOLE),
    ] {
        let config = auto(&Traits {
            nr_memory_domains,
            nr_tiers,
            threads_per_core,
            ..machine()
        });
        assert_eq!(
            (config.domains, config.rules),
            (domains, rules),
            "{nr_memory_domains} domains, {nr_tiers} kinds, {threads_per_core} threads of a core"
        );
        assert_eq!(
            (config.sizing, config.reserve),
            (Sizing::ByDemand, Reserve::Never),
            "by demand; a core is reserved only if asked for"
        );
    }
}

/// The last core stays for 2 * 0.1 ms * 450 / 3 = 30 ms; with 6.2 W of 117 for 3.774 ms and with 9 W of 450 for 10; with 3 W of its domain beside for half
/// of 30 ms; with 26 W of its domain for 2 * 0.1 ms * 105 / 27 = 0.778 ms; with a domain of 180 W of 195 that needs a second to come back for 2.167 s; where it
/// draws nothing for a second. No other one is kept.
#[test]
fn the_last_core_stays_high_for_as_long_as_that_saves() {
    let with = |machine_mw, core_mw, domain_mw, domain_rise_ns| Traits {
        machine_mw,
        core_mw,
        domain_mw,
        domain_rise_ns,
        ..machine()
    };
    for (traits, last_hold_us) in [
        (with(450_000, 3_000, 0, 100 * US), 30_000),
        (with(117_000, 6_200, 0, 100 * US), 3_774),
        (with(450_000, 9_000, 0, 100 * US), 10_000),
        (with(450_000, 3_000, 3_000, 100 * US), 15_000),
        (with(105_000, 1_000, 26_000, 100 * US), 777),
        (with(195_000, 0, 180_000, S), 2_166_666),
        (with(450_000, 0, 0, 100 * US), LAST_HOLD / US),
    ] {
        let config = auto(&traits);
        let has = (config.spare, config.last_hold_ns / US);
        assert_eq!(has, (0, last_hold_us), "{traits:?}");
    }
}

/// Balanced, a second costs twice what the machine draws, for energy once: the last core stays half as long, 0.1 ms * 450 / 3 = 15 ms. For speed all stays,
/// the spare too, whatever it draws.
#[test]
fn the_goal_is_what_a_second_is_worth() {
    use Goal::{Balanced, Energy, Speed};
    let last_us = LAST_HOLD / US;
    for (goal, machine_mw, core_mw, spare, last_hold_us) in [
        (Balanced, 900_000, 9_000, 0, 20_000),
        (Energy, 900_000, 9_000, 0, 10_000),
        (Balanced, 450_000, 3_000, 0, 30_000),
        (Energy, 450_000, 3_000, 0, 15_000),
        (Energy, 117_000, 6_200, 0, 1_887),
        (Speed, 117_000, 6_200, 1, last_us),
        (Speed, 1, u32::MAX, 1, last_us),
    ] {
        let config = auto(&Traits {
            goal,
            machine_mw,
            core_mw,
            ..machine()
        });
        let has = (config.spare, config.last_hold_ns / US);
        assert_eq!(has, (spare, last_hold_us), "{goal:?}, {core_mw} of {machine_mw} mW");
    }
}

/// Where slow cores are the cheaper ones tasks that sleep for a moment stay on their kind, unless only time counts or no watts are known.
#[test]
fn kinds_are_kept_where_slow_cores_are_cheaper() {
    for (slow_is_cheaper, goal, machine_mw, keeps) in [
        (true, Goal::Balanced, 450_000, true),
        (true, Goal::Energy, 450_000, true),
        (true, Goal::Speed, 450_000, false),
        (true, Goal::Balanced, 0, false),
        (false, Goal::Balanced, 450_000, false),
    ] {
        let config = auto(&Traits {
            slow_is_cheaper,
            goal,
            machine_mw,
            ..machine()
        });
        assert_eq!(
            (config.room, config.keeps_kind),
            (true, keeps),
            "{goal:?}, {machine_mw} mW"
        );
    }
}

/// Where what ships follows demand and saves, light work has homes, unless only time counts or no watts are known.
#[test]
fn light_work_has_homes_where_what_ships_follows_demand() {
    use Goal::{Balanced, Energy, Speed};
    for (goal, machine_mw, light, spare) in [
        (Balanced, 450_000, true, 0),
        (Energy, 450_000, true, 0),
        (Speed, 450_000, false, 1),
        (Balanced, 0, false, 1),
    ] {
        let config = auto(&Traits {
            goal,
            machine_mw,
            follows_demand: true,
            ..machine()
        });
        assert_eq!(
            (config.light, config.spare),
            (light, spare),
            "{goal:?}, {machine_mw} mW"
        );
    }
}

/// Domains are switched off unless only time counts. Where no watts are known, energy keeps nothing high for work to come.
#[test]
fn the_goal_decides_about_domains_and_without_watts() {
    use Goal::{Balanced, Energy, Speed};
    for (goal, machine_mw, domains, spare, last_hold_ns) in [
        (Balanced, 450_000, Domains::Gather, 0, 30 * MS),
        (Energy, 450_000, Domains::Gather, 0, 15 * MS),
        (Speed, 450_000, Domains::Spread, 1, LAST_HOLD),
        (Balanced, 0, Domains::Spread, 1, LAST_HOLD),
        (Energy, 0, Domains::Spread, 0, HOLD),
        (Speed, 0, Domains::Spread, 1, LAST_HOLD),
    ] {
        let config = auto(&Traits {
            goal,
            machine_mw,
            nr_memory_domains: 4,
            ..machine()
        });
        let has = (config.domains, config.spare, config.last_hold_ns);
        assert_eq!(has, (domains, spare, last_hold_ns), "{goal:?} with {machine_mw} mW");
    }
}

#[test]
fn threads_of_which_nothing_is_known_are_left_where_they_are() {
    let (auto, gather) = (auto(&machine()), Config::of(Named::Gather, HOLD));
    for (class, planned) in [
        (MemoryClass::Unknown, false),
        (MemoryClass::VeryLow, true),
        (MemoryClass::Moderate, true),
        (MemoryClass::Intensive, true),
    ] {
        assert_eq!(is_planned(&auto, class), planned, "{class:?}");
        assert!(is_planned(&gather, class), "{class:?}");
    }
}

/// Two memory domains of two CPUs; those of the second are of a faster kind.
fn fast_second(cpu: usize) -> CpuPlace {
    CpuPlace {
        memory_domain: (cpu / 2) as u16,
        tier: u16::from(cpu < 2),
        ..flat(cpu)
    }
}

fn switch(bench: &mut Bench, domain: i32, on: bool) {
    let now_ns = bench.now();
    bench.policy.set_domain_on(&mut bench.world, domain, on, now_ns);
    bench.follow_kicks();
}

/// 1 before 2: with one domain of two CPUs on, two tasks and a spare have two cores. With the other domain on, there
/// is a spare again.
#[test]
fn domains_bound_the_set_and_its_spare() {
    let gather = Config {
        domains: Domains::Gather,
        ..config()
    };
    let mut bench = Bench::new(4, gather, domains_of_two);
    switch(&mut bench, 1, false);
    let ids = bench.tasks(2);
    bench.wake_all(&ids);
    assert_eq!(bench.high(), [0, 1]);
    switch(&mut bench, 1, true);
    assert_eq!(bench.size(), 3);
}

/// 1 before 4: a task that others wait for stays on a slow core while the fast ones are in a domain that is off, even
/// if they are idle.
#[test]
fn rank_moves_nobody_into_a_domain_that_is_off() {
    let ranked = Config {
        domains: Domains::Gather,
        rules: ALL_RULES,
        migration_ns: 10 * US,
        turn_ns: 20 * MS,
        grace_ns: 10 * MS,
        spare: 0,
        ..config()
    };
    for (on, expected) in [(false, 0..2), (true, 2..4)] {
        let mut bench = Bench::new(4, ranked, fast_second);
        switch(&mut bench, 1, on);
        let app = bench.app(0);
        let alone = bench.task_of(app);
        bench.wake(alone);
        bench.pass(100 * MS);
        let cpu = bench.cpu_of(alone).expect("it runs");
        assert!(expected.contains(&cpu), "domain on: {on}, CPU {cpu}");
    }
}

/// 2 and 3: of four CPUs one is reserved; three tasks and a spare have the other three.
#[test]
fn the_reserved_core_is_never_the_spare() {
    let reserved = Config {
        reserve: Reserve::Asked,
        ..config()
    };
    let mut bench = Bench::new(4, reserved, flat);
    let ids = bench.tasks(3);
    bench.wake_all(&ids);
    assert_eq!(bench.size(), 3);
    let cpu = bench.policy.reserved().0.expect("one is reserved");
    assert!(!bench.high().contains(&(cpu as usize)));
}
