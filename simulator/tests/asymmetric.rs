// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines some of whose cores are held at a lower operating point, and the workloads that are studied on them: times by hand.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{self, Step, Workload};
use lop_simulator::Outcome;

fn work(name: &str, pairs: &[(&str, &str)]) -> Workload {
    let spec = workload::load(name, &overrides(pairs)).unwrap_or_else(|error| panic!("{error}"));
    spec.build(1)
}

/// Eight cores that differ in nothing but what they are held at: speed 1 at 2000 MHz, 1/2 at 1000 MHz. Nothing else costs time.
fn eight(max_mhz: &str) -> Machine {
    let pairs = [
        ("sockets", "2"),
        ("kind.0.speed", "1"),
        ("max_mhz", max_mhz),
        ("cpufreq.transition_us", "0"),
        ("cost.context_switch_us", "0"),
        ("cost.migration_us", "0"),
        ("cost.memory_domain_us", "0"),
        ("kind.0.idle.0.exit_us", "0"),
    ];
    lop_machine::load("opteron-8350-x4", &overrides(&pairs)).unwrap_or_else(|error| panic!("{error}"))
}

const ALL_FAST: &str = "[2000]";
const ALL_SLOW: &str = "[1000]";
/// Cores 0 to 3 of a socket: two fast, two slow.
const HALF: &str = "[2000, 2000, 1000, 1000]";
const FAST_CPUS: &str = "[0, 1, 4, 5]";
const SLOW_CPUS: &str = "[2, 3, 6, 7]";

fn seconds(outcome: &Outcome) -> f64 {
    outcome.time_ns as f64 / 1e9
}

fn time_s(machine: &Machine, workload: &Workload) -> f64 {
    seconds(&run(machine, workload, PERFORMANCE))
}

fn keeps_its_bounds(machine: &Machine, workload: &Workload, policy: &str) {
    let outcome = run(machine, workload, policy);
    let what = format!("{} on {} under {policy}", workload.name, machine.name);
    assert!(seconds(&outcome) >= outcome.bounds.time_s * (1.0 - 1e-9), "{what}");
    let (energy_j, bound_j) = (outcome.system_energy_j, outcome.bounds.system_energy_j);
    assert!(
        energy_j >= bound_j * (1.0 - 1e-9),
        "{what}: {energy_j} J, bound {bound_j} J"
    );
    assert!(bound_j > 0.0 && outcome.bounds.time_s > 0.0, "{what}");
}

/// One task: W / s ((1 - m) 2000 / f + m) on the fastest core there is, which is what the bound says too.
#[test]
fn the_time_bound_knows_what_cores_are_held_at() {
    let text = "[task.t]\nmemory_share = 0.5\nsteps = [{ run_s = 1 }]\n";
    for (max_mhz, expected_s) in [(ALL_FAST, 1.0), (ALL_SLOW, 1.5)] {
        let outcome = run(&eight(max_mhz), &toml(text), PERFORMANCE);
        within(seconds(&outcome), expected_s, 1e-9);
        within(outcome.bounds.time_s, expected_s, 1e-9);
    }
    let eight_tasks = toml(&text.replace("steps", "count = 8\nsteps"));
    // Together 8 s of work at 4 (1 + 1 / 1.5) of it per second.
    let bound_s = run(&eight(HALF), &eight_tasks, PERFORMANCE).bounds.time_s;
    within(bound_s, 8.0 / (4.0 + 4.0 / 1.5), 1e-9);
}

/// Of work with several memory shares a held core counts with the fastest of them, else the bound would not be one.
#[test]
fn bounds_of_mixed_work_hold_on_held_cores() {
    for (share_a, share_b) in [(0.0, 0.9), (0.9, 0.0), (0.2, 0.4)] {
        let text = format!(
            "[task.a]\ncount = 5\nmemory_share = {share_a}\nsteps = [{{ run_ms = 40 }}]\n\
             [task.b]\ncount = 9\nmemory_share = {share_b}\nsteps = [{{ run_ms = 30 }}]\n"
        );
        for max_mhz in [ALL_SLOW, HALF, "[1000, 1200, 1400, 2000]"] {
            for policy in [PERFORMANCE, ONDEMAND, "highlow", "highlow-spare"] {
                keeps_its_bounds(&eight(max_mhz), &toml(&text), policy);
            }
        }
    }
}

/// Held cores draw what their operating point draws: 8 at 2000 and 8 at 1000 MHz with 16 busy, measured as 581 W.
#[test]
fn held_cores_draw_the_power_of_their_operating_point() {
    let set = overrides(&[("max_mhz", "[2000, 1000]")]);
    let machine = lop_machine::load("opteron-8350-x4", &set).unwrap_or_else(|error| panic!("{error}"));
    let workload = toml("duration_s = 2\n[task.t]\ncount = 16\nsteps = [{ run_s = 100 }]\n");
    let outcome = run(&machine, &workload, PERFORMANCE);
    within(
        outcome.system_energy_j / seconds(&outcome),
        433.30 + 8.0 * (12.34 + 6.16),
        1e-4,
    );
    within(outcome.system_energy_j / seconds(&outcome), 581.0, 5e-3);
}

/// To the policies a held core is one of a slower kind: work that fits on the fast ones stays there.
#[test]
fn sets_take_cores_that_are_not_held_first() {
    let workload = toml("[task.t]\ncount = 4\nsteps = [{ run_s = 1 }]\n");
    for policy in ["highlow", "highlow-spare"] {
        within(seconds(&run(&eight(HALF), &workload, policy)), 1.0, 1e-3);
    }
    // The baseline asks who has been idle longest, which at first is all of them, in the order of their numbers.
    let slow_first = run(&eight("[1000, 1000, 2000, 2000]"), &workload, PERFORMANCE);
    within(seconds(&slow_first), 2.0, 1e-9);
}

fn registration(seven: &str, others: &str) -> Workload {
    let pairs = [
        ("task.seven.cpus", seven),
        ("task.six.cpus", others),
        ("task.five.cpus", others),
    ];
    work("registration", &pairs)
}

/// Iterations of 0.1 s, 0.2 s on slow cores. Fastest first: 7 on each fast core, 0.7 s, and 6 on a slow one, 1.2 s. Worst: 7 on a
/// slow one, 1.4 s. All fast: 0.7 s. Bound: 5 s of work at 4 + 2 a second.
#[test]
fn registration_by_placement() {
    let machine = eight(HALF);
    within(time_s(&machine, &registration(FAST_CPUS, SLOW_CPUS)), 1.2, 1e-9);
    within(time_s(&machine, &registration(SLOW_CPUS, FAST_CPUS)), 1.4, 1e-9);
    let any = run(&machine, &work("registration", &[]), PERFORMANCE);
    let (time_s, bound_s) = (seconds(&any), any.bounds.time_s);
    assert!((1.2 - 1e-9..=1.4 + 1e-9).contains(&time_s), "{time_s}");
    within(bound_s, 5.0 / 6.0, 1e-9);
    for (max_mhz, expected_s) in [(ALL_FAST, 0.7), (ALL_SLOW, 1.4)] {
        let outcome = run(&eight(max_mhz), &work("registration", &[]), PERFORMANCE);
        within(seconds(&outcome), expected_s, 1e-9);
        within(outcome.bounds.time_s, expected_s, 1e-9);
    }
}

fn parallel_for(schedule: &str) -> Workload {
    work("parallel-for", &[("loop.squares.schedule", schedule)])
}

/// 10 s of work, m = 0.3, so a slow core does 1 / 1.7 of it per second. Static: an eighth of the work on a slow core. Dynamic: all of it
/// at 4 + 4 / 1.7 a second, and at the end no more than one chunk of 10 ms, 17 ms on a slow core.
#[test]
fn parallel_for_by_schedule() {
    let (even, dynamic) = (parallel_for("\"static\""), parallel_for("{ dynamic = 1000 }"));
    let machine = eight(HALF);
    within(time_s(&machine, &even), 10.0 / 8.0 * 1.7, 1e-9);
    let shared_s = 10.0 / (4.0 + 4.0 / 1.7);
    let outcome = run(&machine, &dynamic, PERFORMANCE);
    let ended_s = seconds(&outcome);
    assert!(
        (shared_s..=shared_s + 0.017).contains(&ended_s),
        "{ended_s}, expected {shared_s}"
    );
    within(outcome.bounds.time_s, shared_s, 1e-9);
    for workload in [&even, &dynamic] {
        within(time_s(&eight(ALL_FAST), workload), 10.0 / 8.0, 1e-9);
    }
}

fn half_sequential(waiting: &str, more: &[(&str, &str)]) -> Workload {
    let waits = [("barrier.open.waiting", waiting), ("condition.done.waiting", waiting)];
    work("half-sequential", &[&waits, more].concat())
}

const WAYS: [&str; 3] = ["\"block\"", "\"spin\"", "{ spin_us = 50 }"];

/// 20 pairs of s L + (1 - s) L / n: 80 + 10 ms, twice that on slow cores, however the threads wait. The bound knows it.
#[test]
fn half_sequential_at_one_speed() {
    for waiting in WAYS {
        let workload = half_sequential(waiting, &[]);
        for (max_mhz, expected_s) in [(ALL_FAST, 1.8), (ALL_SLOW, 3.6)] {
            let outcome = run(&eight(max_mhz), &workload, PERFORMANCE);
            within(seconds(&outcome), expected_s, 1e-9);
            within(outcome.bounds.time_s, expected_s, 1e-9);
        }
    }
}

/// The leader on a slow core: 20 (160 + 20) ms; on a fast one 20 (80 + 20) ms, as the others' parts take twice as long on slow cores.
/// Waiting by spinning keeps seven cores busy in the sequential phases: 20 * 80 ms each, and each fast one for its 10 ms lead.
#[test]
fn half_sequential_by_core_of_the_leader() {
    let machine = eight(HALF);
    for (cpus, expected_s) in [(SLOW_CPUS, 3.6), (FAST_CPUS, 2.0)] {
        let workload = half_sequential("\"spin\"", &[("task.leader.cpus", cpus)]);
        let outcome = run(&machine, &workload, PERFORMANCE);
        within(seconds(&outcome), expected_s, 1e-9);
        assert!(
            outcome.counters.spin_s > 7.0 * 20.0 * 0.08 * (1.0 - 1e-9),
            "{}",
            outcome.counters.spin_s
        );
    }
}

/// Half the share, another length, two threads: 20 (40 + 120 / 2) ms, by the keys that the file names.
#[test]
fn half_sequential_takes_its_knobs() {
    let knobs = [
        ("task.leader.steps.0.steps.0.run_ms", "40"),
        ("task.leader.steps.0.steps.2.run_ms", "60"),
        ("task.follower.steps.0.steps.1.run_ms", "60"),
        ("task.main.steps.1.count", "1"),
        ("barrier.open.parties", "2"),
        ("task.leader.steps.0.steps.3.repeat", "1"),
    ];
    for waiting in WAYS {
        within(time_s(&eight(ALL_FAST), &half_sequential(waiting, &knobs)), 2.0, 1e-9);
    }
}

/// Each of eight threads has a core: 1 s, or 2 s where some are slow.
#[test]
fn one_and_many_by_placement() {
    within(time_s(&eight(ALL_FAST), &work("one-and-many", &[])), 1.0, 1e-9);
    within(time_s(&eight(HALF), &work("one-and-many", &[])), 2.0, 1e-9);
    // Two threads beside it: with the one that forks them four, for which there are fast cores.
    let three = work("one-and-many", &[("task.many.steps.0.count", "2")]);
    within(seconds(&run(&eight(HALF), &three, "highlow")), 1.0, 1e-3);
}

/// How often the tasks of a workload take each step in all, by what `of` says of a step.
fn executed(workload: &Workload, of: fn(&Step) -> bool) -> u64 {
    fn tasks(workload: &Workload, program: usize) -> u64 {
        let started = workload.starts.iter().filter(|start| start.program as usize == program);
        let forked = workload.programs.iter().enumerate().flat_map(|(parent, about)| {
            let forks = about.steps.iter().filter_map(move |step| match step {
                Step::Fork { program: child, count } if *child as usize == program => Some(u64::from(*count)),
                _ => None,
            });
            forks.map(move |count| count * tasks(workload, parent))
        });
        started.map(|start| u64::from(start.count)).chain(forked).sum()
    }
    let in_program = |steps: &[Step]| {
        let mut times = vec![1];
        let mut sum = 0;
        for step in steps {
            match step {
                Step::Repeat { times: Some(n), .. } => times.push(n * times[times.len() - 1]),
                Step::EndRepeat { .. } => drop(times.pop()),
                step if of(step) => sum += times[times.len() - 1],
                _ => {}
            }
        }
        sum
    };
    let programs = workload.programs.iter().enumerate();
    programs
        .map(|(number, program)| tasks(workload, number) * in_program(&program.steps))
        .sum()
}

/// Locks, barrier calls and waits on conditions as published for 8 threads, times the scale that the file names.
#[test]
fn parsec_like_counts_are_the_published_ones() {
    let lock = |step: &Step| matches!(step, Step::Lock(_));
    let barrier = |step: &Step| matches!(step, Step::Barrier(_));
    let wait = |step: &Step| matches!(step, Step::Wait { .. });
    let counts = |name: &str| {
        let workload = work(name, &[]);
        [lock, barrier, wait].map(|of| executed(&workload, of))
    };
    // Published: 39, 8, 0. 6824702, 111160, 32361 by 1/100. 10002625, 0, 17 by 1/1000, but for waits. 1379, 633174, 1036 by 1/100.
    assert_eq!(counts("parsec-like-join"), [40, 8, 0]);
    assert_eq!(counts("parsec-like-frames"), [67_832, 1_112, 278]);
    assert_eq!(counts("parsec-like-pipeline")[..2], [10_008, 0]);
    assert_eq!(counts("parsec-like-barriers"), [16, 6_328, 8]);
}

/// 1 s and five short locks each; the pipeline as long as six workers need, less what chance gives; barriers at least 200 us each.
#[test]
fn parsec_like_times_are_those_of_their_structure() {
    let fast = eight(ALL_FAST);
    let time_s = |name: &str| time_s(&fast, &work(name, &[]));
    within(time_s("parsec-like-join"), 1.0 + 5.0 * 2e-6, 2e-4);
    // Frames: 139 times 61 times 127 us; locks of eight threads rarely meet in 125 us once they are apart.
    within(time_s("parsec-like-frames"), 139.0 * 61.0 * 127e-6, 0.03);
    within(time_s("parsec-like-pipeline"), 417.0 * 2.404e-3, 0.1);
    // The largest of eight from 150 to 250 us is 150 + 100 * 8 / 9 on average.
    within(time_s("parsec-like-barriers"), 791.0 * 238.9e-6, 0.02);
}

const STUDIED: [&str; 10] = [
    "registration",
    "half-sequential",
    "one-and-many",
    "parsec-like-join",
    "parsec-like-frames",
    "parsec-like-pipeline",
    "parsec-like-barriers",
    "parallel-for",
    "barriers",
    "mix-3",
];

/// On every built-in machine, as it is and with cores held at their lowest operating point in turn: each workload ends, no sooner and
/// no cheaper than its bounds.
#[test]
fn studied_workloads_keep_their_bounds_everywhere() {
    for name in lop_machine::builtin_names() {
        let machine = lop_machine::load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let held = held_in_turn(&machine);
        for workload in STUDIED {
            let workload = work(workload, &[("scale", "0.02")]);
            for policy in [PERFORMANCE, ONDEMAND, "highlow-spare"] {
                keeps_its_bounds(&machine, &workload, policy);
            }
            held.iter()
                .for_each(|held| keeps_its_bounds(held, &workload, "highlow"));
        }
    }
}

/// A machine held at its lowest operating point is one whose governor stays there, contention and all, but for what counts as lost; and
/// its bounds, which know that it can go no faster, are the higher ones.
#[test]
fn holding_all_cores_is_what_a_governor_at_that_speed_does() {
    let machines = lop_machine::builtin_names().into_iter();
    let machines = machines.map(|name| lop_machine::load(name, &[]).unwrap_or_else(|error| panic!("{error}")));
    for machine in machines.filter(|machine| machine.kinds.len() == 1) {
        let lowest = format!("[{}]", machine.kinds[0].opps[0].khz as f64 / 1e3);
        // Utilisation under the fair class counts a low speed, not a held one.
        let placement = ("ships.placement", "longest-idle");
        let machine = lop_machine::load(&machine.name, &overrides(&[placement])).unwrap();
        let held = lop_machine::load(&machine.name, &overrides(&[placement, ("max_mhz", &lowest)]));
        let held = held.unwrap_or_else(|error| panic!("{error}"));
        for name in ["mix-3", "mix-7", "coupled", "matmul"] {
            let workload = work(name, &[("scale", "0.02")]);
            let (slow, governed) = (run(&held, &workload, PERFORMANCE), run(&machine, &workload, POWERSAVE));
            let what = format!("{name} on {}", machine.name);
            // A rounding apart: rates are the same figures, multiplied in another order.
            assert!(
                slow.time_ns.abs_diff(governed.time_ns) <= 1_000,
                "{what}: {} and {} ns",
                slow.time_ns,
                governed.time_ns
            );
            within(slow.system_energy_j, governed.system_energy_j, 1e-6);
            assert!(slow.bounds.time_s >= governed.bounds.time_s * (1.0 - 1e-9), "{what}");
            assert!(
                slow.bounds.system_energy_j >= governed.bounds.system_energy_j * (1.0 - 1e-9),
                "{what}"
            );
            keeps_its_bounds(&held, &workload, PERFORMANCE);
        }
    }
}

/// `None`: its cores share a clock.
fn held_in_turn(machine: &Machine) -> Option<Machine> {
    if machine.nr_clock_domains < machine.nr_cores {
        return None;
    }
    let mhz = |opps: &[lop_machine::Opp], at: usize| opps[at].khz as f64 / 1e3;
    let mut limits = vec![0.0; machine.nr_cores];
    for cpu in &machine.cpus {
        let opps = &machine.kinds[usize::from(cpu.kind)].opps;
        let core = usize::from(cpu.core);
        limits[core] = if core.is_multiple_of(2) {
            mhz(opps, 0)
        } else {
            mhz(opps, opps.len() - 1)
        };
    }
    let set = overrides(&[("max_mhz", &format!("{limits:?}"))]);
    Some(lop_machine::load(&machine.name, &set).unwrap_or_else(|error| panic!("{error}")))
}

/// Workloads of the study `everything` whose end the clock does not set, with the settings that it has them with.
const OF_EVERYTHING: [(&str, &[(&str, &str)]); 28] = [
    ("barriers", &[]),
    ("browser", &[]),
    ("browser-and-build", &[]),
    ("bursts", &[]),
    ("coupled", &[]),
    ("global-sum", &[]),
    ("half-sequential", &[]),
    ("kernel-build", &[("pool.build.slots", "4")]),
    ("kernel-build-graph", &[("pool.build.slots", "8")]),
    ("matmul", &[]),
    ("one-and-many", &[]),
    ("parallel-for", &[]),
    ("parsec-like-barriers", &[]),
    ("parsec-like-frames", &[]),
    ("parsec-like-join", &[]),
    ("parsec-like-pipeline", &[]),
    ("pipeline", &[]),
    ("recorded-build", &[]),
    ("registration", &[]),
    ("eight-applications", &[]),
    ("mix-1", &[]),
    ("mix-2", &[]),
    ("mix-3", &[]),
    ("mix-4", &[]),
    ("mix-5", &[]),
    ("mix-6", &[]),
    ("mix-7", &[]),
    ("mix-8", &[]),
];

/// Means of two seeds, as the study has them.
fn is_never_behind_at(machine: &str, pairs: &[(&str, &str)], but: &[&str]) {
    let machine = lop_machine::load(machine, &overrides(&[&[("base_w", "100")], pairs].concat()));
    let machine = machine.unwrap_or_else(|error| panic!("{error}"));
    for (name, pairs) in OF_EVERYTHING.into_iter().filter(|(name, _)| !but.contains(name)) {
        let spec = workload::load(name, &overrides(pairs)).unwrap_or_else(|error| panic!("{error}"));
        let time_ns = |policy: &str| -> u64 {
            let of_seed = |seed| run_seed(&machine, &spec.build(seed), policy, seed).time_ns;
            [1, 2].map(of_seed).iter().sum()
        };
        let (auto_ns, baseline_ns) = (time_ns("auto"), time_ns(PERFORMANCE));
        assert!(
            auto_ns <= baseline_ns,
            "{pairs:?}, {name}: {auto_ns} ns, {PERFORMANCE} {baseline_ns} ns"
        );
    }
}

/// Four cores with SMT, of which every other one, or all but one, is held at 4/8 or 2/8 of its duty.
#[test]
fn at_lower_duty_auto_is_never_behind_the_baseline_in_time() {
    for max_mhz in ["[1400, 700]", "[1400, 350]", "[1400, 700, 700, 700]"] {
        is_never_behind_at("poweredge-6650", &[("max_mhz", max_mhz)], &[]);
    }
}

/// Four cores without SMT, or two with it. Two cells are behind: docs/experiments.md says which and why.
#[test]
fn on_four_cpus_at_lower_duty_auto_is_behind_the_baseline_in_two_cells() {
    let without_smt = [("kind.0.smt", "1"), ("max_mhz", "[1400, 700]")];
    is_never_behind_at("poweredge-6650", &without_smt, &["coupled", "global-sum"]);
    is_never_behind_at("poweredge-2650", &[("max_mhz", "[2000, 1000]")], &[]);
    is_never_behind_at("poweredge-2650", &[("max_mhz", "[2000, 500]")], &[]);
}
