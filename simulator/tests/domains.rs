// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory domains: what spread and gather do for applications that contend, and specialise for cores that differ.

mod common;
use common::*;
use lop_machine::input::Override;
use lop_machine::Machine;
use lop_policy::MemoryClass;
use lop_simulator::experiment::PolicyResult;
use lop_simulator::workload::{Amount, MemoryUse, Step, Workload};
use lop_simulator::{simulate, Outcome, RunOptions, TraceEvent};
use std::collections::BTreeMap;

fn built_in(name: &str) -> Machine {
    lop_machine::load(name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn workload(name: &str, keys: &[(String, String)], seed: u64) -> Workload {
    let set = |(key, value): &(String, String)| Override {
        key: key.clone(),
        value: value.clone(),
    };
    let overrides: Vec<Override> = keys.iter().map(set).collect();
    let spec = lop_simulator::workload::load(name, &overrides).unwrap_or_else(|error| panic!("{error}"));
    spec.build(seed)
}

fn traced(machine: &Machine, workload: &Workload, name: &str, seed: u64) -> Outcome {
    let options = RunOptions {
        seed,
        trace_limit: usize::MAX,
        ..RunOptions::default()
    };
    simulate(machine, workload, &policy(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// When each task came to another memory domain than the one it had been in, in ns.
fn moves_ns(machine: &Machine, outcome: &Outcome) -> BTreeMap<u32, Vec<u64>> {
    let mut domain = BTreeMap::new();
    let mut moves: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for event in &outcome.trace {
        if let TraceEvent::Start { at_ns, task, cpu, .. } = *event {
            let now = machine.cpus[usize::from(cpu)].memory_domain;
            if domain.insert(task, now).is_some_and(|before| before != now) {
                moves.entry(task).or_default().push(at_ns);
            }
        }
    }
    moves
}

/// The eight tasks of a mix on the CPUs of a placement; `first`: those in the first domain, as bits.
fn pinned(mut mix: Workload, first: u32) -> Workload {
    let (mut low, mut high) = (0..4, 4..8);
    for (task, program) in mix.programs.iter_mut().enumerate() {
        let cpu = if first >> task & 1 == 1 {
            low.next()
        } else {
            high.next()
        };
        program.cpus = Some([cpu.expect("four tasks a domain")].into());
    }
    mix
}

/// Of each application, both copies: its longest time over all 70 placements of eight tasks in two domains of four.
fn worst_placement_s(machine: &Machine, mix: &str) -> Vec<f64> {
    let mut worst = vec![0.0f64; 4];
    for first in (0u32..256).filter(|bits| bits.count_ones() == 4) {
        let outcome = run_seed(machine, &pinned(workload(mix, &[], 1), first), PERFORMANCE, 1);
        for (number, time_s) in outcome.counters.app_time_s.values().enumerate() {
            worst[number / 2] = worst[number / 2].max(*time_s);
        }
    }
    worst
}

#[test]
fn under_spread_no_application_is_worse_than_in_its_worst_placement() {
    let machine = built_in("opteron-2x4");
    for mix in (1..=8).map(|number| format!("mix-{number}")) {
        let worst = worst_placement_s(&machine, &mix);
        for seed in 1..=25 {
            let outcome = run_seed(&machine, &workload(&mix, &[], seed), "spread", seed);
            for (number, (app, time_s)) in outcome.counters.app_time_s.iter().enumerate() {
                let limit_s = 1.02 * worst[number / 2];
                assert!(
                    *time_s <= limit_s,
                    "{mix}, seed {seed}: {app} {time_s} s, worst {limit_s} s"
                );
            }
        }
    }
}

/// Ten simulations that count for 70 say what 70 do, of each copy: mean, best and worst, to what a start at another moment within 10 ms and the
/// order of sums make of it.
#[test]
fn all_placements_of_the_study_are_those_that_there_are() {
    let machine = built_in("opteron-2x4");
    let study = study("memory-domains", |experiment| {
        experiment.sweeps[0].values.drain(3..);
        experiment.runs = 1;
    });
    for mix in ["mix-1", "mix-2", "mix-3"] {
        let all: Vec<Outcome> = (0u32..256)
            .filter(|bits| bits.count_ones() == 4)
            .map(|first| run_seed(&machine, &pinned(workload(mix, &[], 1), first), "random", 1))
            .collect();
        let random = at(&study, "random", &[mix]);
        let counter = |name: &str| random.counters[name].clone();
        assert_eq!(
            (counter("placements").as_f64(), counter("placements_simulated").as_f64()),
            (Some(70.0), Some(10.0))
        );
        assert_eq!((random.times_s.len(), random.ci95), (70, None));
        for app in all[0].counters.app_time_s.keys() {
            let times = || all.iter().map(|outcome| outcome.counters.app_time_s[app]);
            let told = |name: &str| random.counters[name][app].as_f64().unwrap();
            within(told("app_time_s"), times().sum::<f64>() / 70.0, 1e-3);
            within(told("app_time_best_s"), times().fold(f64::INFINITY, f64::min), 1e-3);
            within(told("app_time_worst_s"), times().fold(0.0, f64::max), 1e-3);
        }
        let means = || all.iter().map(|outcome| outcome.counters.mean_app_time_s.unwrap());
        within(
            counter("mean_app_time_s").as_f64().unwrap(),
            means().sum::<f64>() / 70.0,
            1e-3,
        );
        within(
            counter("mean_app_time_worst_s").as_f64().unwrap(),
            means().fold(0.0, f64::max),
            1e-3,
        );
        let energy_j = all.iter().map(|outcome| outcome.system_energy_j).sum::<f64>() / 70.0;
        within(random.mean.system_energy_j, energy_j, 1e-3);
    }
}

/// What the study is there to show, as it is printed: nobody is worse off in any run of `spread` than 2 % above its worst placement, and the mean of
/// each mix is no worse than that of all placements.
#[test]
fn the_study_shows_spread_away_from_the_worst_placements() {
    let study = study("memory-domains", |experiment| experiment.runs = 50);
    for mix in (1..=8).map(|number| format!("mix-{number}")) {
        let (random, spread) = (at(&study, "random", &[&mix]), at(&study, "spread", &[&mix]));
        let worst = |result: &PolicyResult| result.counters["app_time_worst_s"].as_object().unwrap().clone();
        let limits = worst(random);
        for (app, time_s) in worst(spread) {
            assert!(
                time_s.as_f64() <= limits[&app].as_f64().map(|limit_s| 1.02 * limit_s),
                "{mix}: {app} {time_s} s"
            );
        }
        let mean = |result: &PolicyResult| result.counters["mean_app_time_s"].as_f64().unwrap();
        assert!(mean(spread) <= mean(random), "{mix}");
    }
}

/// And it does what it is for: its worst run is far from the worst placement, its mean no worse than that of random placements.
#[test]
fn spread_keeps_away_from_the_worst_placements() {
    let machine = built_in("opteron-2x4");
    let times = |mix: &str, name: &str| -> Vec<f64> {
        let time = |seed| {
            run_seed(&machine, &workload(mix, &[], seed), name, seed)
                .counters
                .mean_app_time_s
                .unwrap()
        };
        (1..=40).map(time).collect()
    };
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let worst = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let mut worst_saved = Vec::new();
    for mix in (1..=8).map(|number| format!("mix-{number}")) {
        let (random, spread) = (times(&mix, "random"), times(&mix, "spread"));
        assert!(
            mean(&spread) <= 1.005 * mean(&random),
            "{mix}: {} s, {} s",
            mean(&spread),
            mean(&random)
        );
        assert!(worst(&spread) < worst(&random), "{mix}");
        worst_saved.push(1.0 - worst(&spread) / worst(&random));
    }
    assert!(mean(&worst_saved) > 0.08, "{worst_saved:?}");
}

#[test]
fn no_thread_changes_its_domain_twice_within_two_seconds() {
    let machine = built_in("opteron-2x4");
    let pair = built_in("opteron-2x4-pair");
    let mut moved = 0;
    for seed in 1..=10 {
        let mut check = |machine: &Machine, workload: &Workload, name: &str| {
            let outcome = traced(machine, workload, name, seed);
            for (task, moves) in moves_ns(machine, &outcome) {
                moved += moves.len();
                let close = moves.windows(2).find(|pair| pair[1] - pair[0] < 2 * SECOND);
                assert_eq!(close, None, "{name}, {}, seed {seed}: task {task}", workload.name);
            }
        };
        for mix in (1..=8).map(|number| format!("mix-{number}")) {
            check(&machine, &workload(&mix, &[], seed), "spread");
        }
        check(&pair, &intensive(4, seed), "spread");
        check(&pair, &intensive(4, seed), "gather");
    }
    assert!(moved > 100, "{moved} moves in all");
}

/// Six tasks of 2 % need no second machine or domain, though no two of them share an application.
#[test]
fn services_that_hardly_run_are_packed() {
    let text = r#"
        [task.service]
        count = 6
        start_ms = { min = 0, max = 10 }
        steps = [{ repeat = 500, steps = [{ timer_ms = 10 }, { run_us = 200 }] }]
    "#;
    let services = lop_simulator::workload::read("services.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let machines = [
        "opteron-2x4-pair",
        "opteron-2x4",
        "xeon-1870-x2",
        "server-2x64",
        "desktop-two-chiplets",
    ];
    for (name, seed) in machines
        .into_iter()
        .flat_map(|name| (1..=3).map(move |seed| (name, seed)))
    {
        let (machine, work) = (built_in(name), services.build(seed));
        let edp = |policy: &str| edp_js(&run_seed(&machine, &work, policy, seed));
        let pack = edp("pack");
        for policy in ["gather", "auto"] {
            let ratio = edp(policy) / pack;
            assert!(ratio <= 1.05, "{policy} on {name}, seed {seed}: {ratio}");
        }
    }
}

const INTENSIVE: [&str; 8] = ["mcf", "lbm", "milc", "soplex", "libquantum", "omnetpp", "sphinx", "gcc"];

/// Eight applications, `count` of them memory-intensive: the points of `power-domains`.
fn intensive(count: usize, seed: u64) -> Workload {
    let key = |(index, name): (usize, &&str)| (format!("task.a{}.memory", index + 1), format!("\"{name}\""));
    let keys: Vec<(String, String)> = INTENSIVE[..count].iter().enumerate().map(key).collect();
    workload("eight-applications", &keys, seed)
}

fn edp_js(outcome: &Outcome) -> f64 {
    outcome.system_energy_j * outcome.time_ns as f64 / 1e9
}

/// Means over the orders in which applications come. A single run of pack or scatter may be luckier with who sits beside whom, as intensity is
/// all that the policy knows of a thread, and a plan moves threads only for more than may be chance: of 360 runs, 20 are beaten by more than 2 % so,
/// the worst by 8.1 %.
#[test]
fn gather_is_never_far_above_the_better_of_pack_and_scatter() {
    let machine = built_in("opteron-2x4-pair");
    let mut better_by = Vec::new();
    let (mut single_above, mut single_worst) = (0, 0.0f64);
    for count in 0..=8 {
        let edps = |name: &str| -> Vec<f64> {
            let edp = |seed| edp_js(&run_seed(&machine, &intensive(count, seed), name, seed));
            (1..=40).map(edp).collect()
        };
        let (gather, pack, scatter) = (edps("gather"), edps("pack"), edps("scatter"));
        for ((gather, pack), scatter) in gather.iter().zip(&pack).zip(&scatter) {
            let ratio = gather / pack.min(*scatter);
            single_above += u32::from(ratio > 1.02);
            single_worst = single_worst.max(ratio);
        }
        let mean = |edps: &[f64]| edps.iter().sum::<f64>() / edps.len() as f64;
        let best = mean(&pack).min(mean(&scatter));
        assert!(
            mean(&gather) <= 1.02 * best,
            "{count} intensive: {}, {best}",
            mean(&gather)
        );
        better_by.push(1.0 - mean(&gather) / best);
    }
    assert!(
        better_by.iter().filter(|&&saved| saved > 0.1).count() >= 4,
        "{better_by:?}"
    );
    println!("{single_above} of 360 single runs above by more than 2 %, the worst by {single_worst}");
    assert!(
        single_above <= 22 && single_worst <= 1.1,
        "{single_above} {single_worst}"
    );
}

/// Eight applications that hardly use memory: 8 * 15 W and one machine of 180 W, which is on from the start.
#[test]
fn gather_switches_a_machine_off_that_it_does_not_need() {
    let machine = built_in("opteron-2x4-pair");
    let outcome = run(&machine, &intensive(0, 1), "gather");
    let domains = &outcome.counters.voltage_domain_energy_j;
    let on_s: Vec<f64> = domains.iter().map(|energy_j| energy_j / 180.0).collect();
    let (least, most) = (on_s[0].min(on_s[1]), on_s[0].max(on_s[1]));
    let run_s = outcome.time_ns as f64 / 1e9;
    assert!(least < 4.0, "{on_s:?}");
    assert!(run_s - most < 1.5, "{on_s:?} of {run_s} s");
}

/// Work of which nothing can be measured. Undeclared it is taken for intensive, eight tasks on four domains of both machines; declared very low,
/// it needs one machine from the first second on.
#[test]
fn what_applications_declare_stands_in_for_counters() {
    let machine = built_in("opteron-2x4-pair");
    let mut work = tasks_of(8, vec![run_ms(20_000)]);
    let off_s = |work: &Workload| {
        let outcome = run(&machine, work, "gather");
        let energies_j = &outcome.counters.voltage_domain_energy_j;
        outcome.time_ns as f64 / 1e9 - energies_j.iter().copied().fold(f64::INFINITY, f64::min) / 180.0
    };
    assert!(off_s(&work) < 1.5, "both machines are on: {} s", off_s(&work));
    work.apps[0].memory_class = MemoryClass::VeryLow;
    assert!(off_s(&work) > 18.0, "{} s", off_s(&work));
}

/// Work that comes in a burst finds its machine: nobody waits while a core of a machine that is off could run it.
#[test]
fn gather_opens_a_domain_for_a_burst() {
    let machine = built_in("opteron-2x4-pair");
    let mut tasks = vec![program("steady", vec![run_ms(10_000)])];
    // The first three begin at once, on the domain that is on from the start, the others once theirs are, after a second.
    tasks.extend((0..12).map(|n| {
        program(
            "burst",
            vec![sleep_ms(if n < 3 { 6_000 } else { 5_000 }), run_ms(1_000)],
        )
    }));
    let outcome = run_traced(&machine, &workload_of(tasks), "gather");
    let ends = last_stop_ns(&outcome);
    // All come after six seconds; 1 s of work takes 1.043 s at 0.9583 of the reference speed.
    // Seven find a core of the machine that is on, the others one of the machine that is back after a second.
    let soon = ends[1..].iter().filter(|&&ns| ns < 7_060 * MS).count();
    assert_eq!(soon, 7, "{ends:?}");
    assert!(ends[1..].iter().all(|&ns| ns < 8_060 * MS), "{ends:?}");
}

/// Two cores at 2000 MHz, two held at 1000. Work with m = 0.8 gains 1.2 from the fast ones and has them first, work with m = 0 gains 2.0 and
/// comes to the slow ones 1 ms later. When the first turn ends, after 20 ms, they change: 20 s of the latter take 0.02 + (20 - 0.0079) / 0.8333 = 24.01 s
/// in place of 48. Of the former 0.0167 + 23.99 * 0.6944 = 16.676 s are done by then, and the fast cores, idle now, take them:
/// 24.01 + 3.324 / 0.8333 = 28.00 s.
#[test]
fn specialise_gives_fast_cores_to_who_gains_most() {
    let set = |(key, value): (&str, &str)| Override {
        key: key.into(),
        value: value.into(),
    };
    let machine = lop_machine::load(
        "opteron-8350-x4",
        &[("sockets", "1"), ("max_mhz", "[2000, 1000]")].map(set),
    )
    .unwrap();
    let run_class = |class| Step::Run {
        work: Amount::Fixed(20 * SECOND),
        class,
    };
    let names = ["waits-1", "waits-2", "gains-1", "gains-2"];
    let mut work = workload_of(
        names
            .map(|name| program(name, vec![run_class(u16::from(name < "h"))]))
            .into(),
    );
    work.memory_shares = vec![0.8, 0.0];
    work.starts[2].at = Amount::Fixed(MS);
    work.starts[3].at = Amount::Fixed(MS);
    let ends_s = |name: &str| -> Vec<f64> {
        let outcome = run_traced(&machine, &work, name);
        last_stop_ns(&outcome).iter().map(|&ns| ns as f64 / 1e9).collect()
    };
    let (fixed, special) = (ends_s("highlow"), ends_s("specialise"));
    for (found, expected) in fixed.iter().zip([24.0, 24.0, 48.0, 48.0]) {
        within(*found, expected, 1e-3);
    }
    for (found, expected) in special.iter().zip([28.0, 28.0, 24.01, 24.01]) {
        within(*found, expected, 1e-3);
    }
}

/// Two cores, one of twice the speed of the other. At 20 MPKI work waits for two thirds of its time on the fast core, so that it takes there 3 ns of 4 that
/// it takes on the slow one: SF 4/3, as the kernel has it from counters. What does not miss has SF 2 and comes to the slow core 1 ms later. For a second
/// nothing is known, and they take turns of 20 ms, 25 each: 0.5 * 2 + 0.5 * 1.5 = 1.75 s of the former are done by then, 0.5 * 2 + 0.499 of the latter.
/// It had the last turn and keeps the fast core, since what is unknown gains 1.5: it ends at 1 + (4 - 1.499) / 2 = 2.2505 s. Of 5 s of the former
/// 5 - 1.75 - 1.2505 * 1.5 = 1.37425 are left then, and take half of that on the fast core.
#[test]
fn waiting_takes_as_long_on_a_slower_kind_and_specialise_knows_it_from_misses() {
    let mut machine = machine_of(kind(2.0, vec![opp(2000, 1000, 1.0, 2.0, 0.0)]), 2, 1);
    add_kind(&mut machine, kind(1.0, vec![opp(1500, 1000, 0.5, 1.0, 0.0)]));
    machine.cpus[1].kind = 1;
    let memory_use = |mpki: f64| MemoryUse {
        name: format!("{mpki} MPKI"),
        mpki,
        cpi0: 1.2,
        mlp: 1.6,
        cache_sensitivity: 0.0,
    };
    let run_class = |class, seconds| Step::Run {
        work: Amount::Fixed(seconds * SECOND),
        class,
    };
    let mut work = workload_of(vec![
        program("waits", vec![run_class(0, 5)]),
        program("gains", vec![run_class(1, 4)]),
    ]);
    work.memory_shares = vec![2.0 / 3.0, 0.0];
    work.memory_uses = [(0, memory_use(20.0)), (1, memory_use(0.0))].into();
    work.starts[1].at = Amount::Fixed(MS);
    let outcome = run_traced(&machine, &work, "specialise");
    let ends_ns = last_stop_ns(&outcome);
    within(ends_ns[0] as f64 / 1e9, 2.937_625, 1e-3);
    within(ends_ns[1] as f64 / 1e9, 2.2505, 1e-3);
}

#[test]
fn pack_scatter_and_random_keep_every_task_where_it_began() {
    let machine = built_in("opteron-2x4-pair");
    let used = |name: &str, seed: u64| {
        let outcome = traced(&machine, &intensive(4, seed), name, seed);
        assert_eq!(outcome.counters.migrations, 0, "{name}");
        let started = outcome.trace.iter().filter_map(|event| match *event {
            TraceEvent::Start { cpu, .. } => Some(machine.cpus[usize::from(cpu)].memory_domain),
            _ => None,
        });
        let mut per_domain = [0; 4];
        started.for_each(|domain| per_domain[usize::from(domain)] += 1);
        per_domain
    };
    assert_eq!(used("pack", 1), [4, 4, 0, 0]);
    assert_eq!(used("scatter", 1), [2, 2, 2, 2]);
    let random: std::collections::BTreeSet<[i32; 4]> = (1..=20).map(|seed| used("random", seed)).collect();
    assert!(random.len() > 5, "{random:?}");
    assert_eq!(used("random", 7), used("random", 7));
}
