// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contention for memory domains: what neighbours cost, by hand and by order.

mod common;
use common::*;
use lop_machine::input::Override;
use lop_machine::{Machine, Memory};
use lop_simulator::workload::{self, Amount, MemoryUse, Step, Workload};
use lop_simulator::Outcome;

/// With MPKI 20, MLP 1 and 2.3 ns of computing at 2000 MHz, on memory of 75 ns and 0.8 bytes per ns:
///
/// Alone rho = 0.4: lat = 75 (1 + 0.5 * 0.16 / 0.6) = 85 ns, an instruction takes 2.3 + 0.02 * 85 = 4 ns and moves
/// 64 * 0.02 bytes: 1.28 / 4 = 0.32 = 0.4 * 0.8 bytes per ns.
/// Two: rho = 2/3: lat = 75 (1 + 0.5 * 4/9 * 3) = 125 ns, 2.3 + 2.5 = 4.8 ns, and 2 * 1.28 / 4.8 = 8/15 = 2/3 * 0.8.
///
/// So two stretch one another to 1.2 times their time alone, of which m = 1.7 / 4 is waiting.
fn hungry() -> MemoryUse {
    MemoryUse {
        name: "hungry".into(),
        mpki: 20.0,
        cpi0: 4.6,
        mlp: 1.0,
        cache_sensitivity: 0.0,
    }
}

const MEMORY: Memory = Memory {
    latency_ns: 75.0,
    bandwidth_mb_s: Some(800.0),
};

fn set((key, value): (&str, &str)) -> Override {
    Override {
        key: key.into(),
        value: value.into(),
    }
}

/// Cores of `two_speeds` in domains of `cores_per_domain`.
fn contended(cores: u16, cores_per_domain: u16) -> Machine {
    let mut machine = machine(cores);
    for cpu in &mut machine.cpus {
        cpu.memory_domain = cpu.core / cores_per_domain;
    }
    machine.nr_memory_domains = usize::from(cores.div_ceil(cores_per_domain));
    machine.memory = Some(MEMORY);
    machine
}

/// Work of class 0 uses memory like `memory_use`; class 1 does not use it.
fn using(mut workload: Workload, memory_use: MemoryUse) -> Workload {
    workload.memory_shares = vec![0.0, 0.0];
    workload.memory_uses.insert(0, memory_use);
    workload
}

fn computing_ms(ms: u64) -> Step {
    Step::Run {
        work: Amount::Fixed(ms * MS),
        class: 1,
    }
}

/// Pins the start at each index to a CPU.
fn pinned(mut workload: Workload, cpus: &[u16]) -> Workload {
    for (program, &cpu) in workload.programs.iter_mut().zip(cpus) {
        program.cpus = Some([cpu].into());
    }
    workload
}

fn tasks(lengths_ms: &[u64]) -> Workload {
    let programs = lengths_ms.iter().map(|&ms| program("task", vec![run_ms(ms)]));
    using(workload_of(programs.collect()), hungry())
}

/// When each task ended, in ms.
fn ends_ms(outcome: &Outcome) -> Vec<f64> {
    last_stop_ns(outcome).iter().map(|&ns| ns as f64 / MS as f64).collect()
}

#[track_caller]
fn ends_at(outcome: &Outcome, expected_ms: &[f64]) {
    let found = ends_ms(outcome);
    assert_eq!(found.len(), expected_ms.len());
    for (f, e) in found.iter().zip(expected_ms) {
        // Times are whole ns, rounded up at each change of a rate.
        assert!((f - e).abs() < 1e-5, "found {found:?}, expected {expected_ms:?}");
    }
}

#[test]
fn alone_nothing_is_stretched() {
    let outcome = run_traced(&contended(4, 4), &tasks(&[40]), PERFORMANCE);
    assert_eq!(outcome.time_ns, 40 * MS);
    assert_eq!(outcome.counters.lost_contention_s, 0.0);
    exactly(outcome.bounds.time_s, 0.04);
}

#[test]
fn two_stretch_one_another() {
    let outcome = run_traced(&contended(2, 2), &tasks(&[40, 40]), PERFORMANCE);
    ends_at(&outcome, &[48.0, 48.0]);
    within(outcome.counters.lost_contention_s, 2.0 * 0.008, 1e-6);
}

/// 40 ms beside the other take 48 ms; then the longer one has 20 ms of work left and the domain to itself.
#[test]
fn who_is_left_goes_on_at_full_speed() {
    ends_at(
        &run_traced(&contended(2, 2), &tasks(&[40, 60]), PERFORMANCE),
        &[48.0, 68.0],
    );
}

/// The second comes after 12 ms, of which the first did 12: its other 28 take 33.6 ms. Then the second has done 28 of its 40.
#[test]
fn who_comes_later_slows_from_then_on() {
    let mut workload = tasks(&[40, 40]);
    workload.starts[1].at = Amount::Fixed(12 * MS);
    ends_at(&run_traced(&contended(2, 2), &workload, PERFORMANCE), &[45.6, 57.6]);
}

#[test]
fn domains_do_not_feel_one_another() {
    let apart = pinned(tasks(&[40, 40]), &[0, 2]);
    ends_at(&run_traced(&contended(4, 2), &apart, PERFORMANCE), &[40.0, 40.0]);
    let together = pinned(tasks(&[40, 40, 40]), &[0, 1, 2]);
    ends_at(
        &run_traced(&contended(4, 2), &together, PERFORMANCE),
        &[48.0, 48.0, 40.0],
    );
}

/// Work that does not say how it uses memory costs nobody anything, nor does waiting on the CPU.
#[test]
fn only_work_that_uses_memory_contends() {
    let beside = |steps: Vec<Step>| {
        let workload = workload_of(vec![program("hungry", vec![run_ms(40)]), program("other", steps)]);
        using(workload, hungry())
    };
    let machine = contended(2, 2);
    ends_at(
        &run_traced(&machine, &beside(vec![computing_ms(40)]), PERFORMANCE),
        &[40.0, 40.0],
    );
    let text = r#"
        [memory.hungry]
        mpki = 20
        cpi0 = 4.6
        mlp = 1
        cache_sensitivity = 0
        [barrier.end]
        parties = 2
        waiting = "spin"
        [task.long]
        memory = "hungry"
        steps = [{ run_ms = 30 }, { barrier = "end" }]
        [task.short]
        memory = "hungry"
        steps = [{ run_ms = 10 }, { barrier = "end" }]
    "#;
    // 10 ms each take 12 ms together, then one spins, and the other's 20 ms take 20.
    ends_at(&run_traced(&machine, &toml(text), PERFORMANCE), &[32.0, 32.0]);
}

/// Steps of another class: 10 ms beside one that computes, 20 beside one that does not let it alone: 10 + 24 ms. The other one
/// has done 20 of its 30 ms by then.
#[test]
fn a_step_of_another_class_changes_its_neighbours_pace() {
    let steps = vec![computing_ms(10), run_ms(30)];
    let workload = workload_of(vec![program("hungry", vec![run_ms(30)]), program("turns", steps)]);
    let outcome = run_traced(&contended(2, 2), &using(workload, hungry()), PERFORMANCE);
    ends_at(&outcome, &[34.0, 44.0]);
}

/// At 1000 MHz computing takes 4.6 ns. Without a limit of bandwidth and with 85 ns for a miss an instruction takes 4.6 + 1.7 =
/// 6.3 ns instead of 4, so 40 ms take 63: T(f) = W ((1 - m) f_max / f + m) with m = 1.7 / 4.
#[test]
fn alone_without_queueing_the_time_at_a_speed_is_that_of_its_memory_share() {
    let mut machine = contended(1, 1);
    machine.memory = Some(Memory {
        latency_ns: 85.0,
        bandwidth_mb_s: None,
    });
    let slow = run(&machine, &tasks(&[40]), POWERSAVE);
    assert_eq!(slow.time_ns, 63 * MS);
    exactly(slow.counters.lost_fixed_speed_s, 0.023);
    let m: f64 = 1.7 / 4.0;
    exactly(40.0 * ((1.0 - m) * 2.0 + m), 63.0);
}

/// The same with queueing: fewer misses at a time at the lower speed, so each takes less. T(f) is below that of a constant m.
#[test]
fn slower_cores_queue_less() {
    let slow = run(&contended(1, 1), &tasks(&[40]), POWERSAVE);
    let constant_share_ms = 63.0;
    let idle_memory_ms = (4.6 + 1.5) / 4.0 * 40.0;
    let ms = slow.time_ns as f64 / MS as f64;
    assert!(ms < constant_share_ms && ms > idle_memory_ms, "{ms}");
}

/// Time of an instruction of each task like `hungry` that computes for so long, by halving intervals of rho: the model once more,
/// as plainly as can be.
fn instruction_ns(computing_ns: &[f64]) -> Vec<f64> {
    let at = |rho: f64| -> Vec<f64> {
        let latency_ns = 75.0 * (1.0 + 0.5 * rho * rho / (1.0 - rho));
        computing_ns.iter().map(|ns| ns + 0.02 * latency_ns).collect()
    };
    let (mut low, mut high) = (0.0, 1.0 - 1e-12);
    for _ in 0..100 {
        let rho = (low + high) / 2.0;
        let traffic: f64 = at(rho).iter().map(|ns| 64.0 * 0.02 / ns).sum();
        if traffic / 0.8 > rho {
            low = rho;
        } else {
            high = rho;
        }
    }
    at(low)
}

/// `ondemand` looks every 10 ms. The first task is slow until 10 ms and then fast, the second comes at 11 ms and is slow until 20:
/// each change of either's speed changes the pace of both.
#[test]
fn a_neighbours_speed_changes_the_pace() {
    let mut workload = pinned(tasks(&[40, 40]), &[0, 1]);
    workload.starts[1].at = Amount::Fixed(11 * MS);
    let (fast_ns, slow_ns) = (2.3, 4.6);
    let rate = |computing_ns: &[f64]| -> Vec<f64> { instruction_ns(computing_ns).iter().map(|ns| 4.0 / ns).collect() };
    assert!((rate(&[fast_ns])[0] - 1.0).abs() < 1e-9);
    let beside_slow = rate(&[fast_ns, slow_ns]);
    let beside_fast = rate(&[fast_ns, fast_ns]);
    assert!(beside_slow[0] > beside_fast[0] && beside_slow[0] < 1.0);
    let first_left_ms = 40.0 - 10.0 * rate(&[slow_ns])[0] - 1.0 - 9.0 * beside_slow[0];
    let first_end_ms = 20.0 + first_left_ms / beside_fast[0];
    let second_left_ms = 40.0 - 9.0 * beside_slow[1] - first_left_ms;
    let outcome = run_traced(&contended(2, 2), &workload, ONDEMAND);
    ends_at(&outcome, &[first_end_ms, first_end_ms + second_left_ms]);
}

/// Memory draws for each core that waits: alone 1.7 of each 4 ns, together 2.5 of each 4.8.
#[test]
fn waiting_for_memory_is_paid() {
    let mut machine = contended(2, 2);
    machine.dram.stall_uw = 1_000_000;
    let alone = run(&machine, &tasks(&[40]), PERFORMANCE);
    exactly(alone.counters.dram_energy_j, 0.04 * 1.7 / 4.0);
    let together = run(&machine, &tasks(&[40, 40]), PERFORMANCE);
    within(together.counters.dram_energy_j, 2.0 * 0.048 * 2.5 / 4.8, 1e-6);
    assert!(together.bounds.system_energy_j <= together.system_energy_j);
}

/// Where memory draws most of the power, the slow speed is the cheap one: its misses meet less and wait less than m of the work. The
/// bound must not count on more than that.
#[test]
fn the_energy_bound_knows_that_slow_cores_queue_less() {
    let mut machine = contended(1, 1);
    machine.dram.stall_uw = 1_000_000_000;
    let slow = run(&machine, &tasks(&[40]), POWERSAVE);
    assert!(slow.counters.dram_energy_j < 1000.0 * 0.04 * 1.7 / 4.0);
    let bound_j = slow.bounds.system_energy_j;
    assert!(
        slow.system_energy_j >= bound_j && slow.system_energy_j < 1.01 * bound_j,
        "{bound_j}"
    );
}

/// A machine without figures for its memory has no contention; the share that work waits there is that on the reference core.
#[test]
fn no_figures_no_contention() {
    let mut machine = contended(2, 2);
    machine.memory = None;
    let mut workload = tasks(&[40, 40]);
    workload.memory_shares[0] = 0.5;
    assert_eq!(run(&machine, &workload, PERFORMANCE).time_ns, 40 * MS);
    assert_eq!(run(&machine, &workload, POWERSAVE).time_ns, 60 * MS);
    // And figures alone change nothing either.
    workload.memory_uses.clear();
    let figures = contended(2, 2);
    for name in policy_names() {
        assert_eq!(
            run_traced(&machine, &workload, name),
            run_traced(&figures, &workload, name)
        );
    }
}

/// Half of the bytes that two domains can move, at most, is what one of them moves.
#[test]
fn the_time_bound_knows_the_bandwidth() {
    // 40 ms of work are 10^7 instructions of 1.28 bytes; 8 tasks move 102.4 MB, at 1.6 bytes per ns in 64 ms.
    let workload = tasks(&[40; 8]);
    let outcome = run(&contended(8, 4), &workload, PERFORMANCE);
    exactly(outcome.bounds.time_s, 0.064);
    assert!(outcome.time_ns as f64 / 1e9 >= outcome.bounds.time_s);
}

#[test]
fn the_same_input_gives_the_same_outcome() {
    let machine = lop_machine::load("opteron-2x4", &[]).unwrap();
    for name in ["mix-1", "mix-8"] {
        for policy in [PERFORMANCE, SCHEDUTIL, "highlow-spare"] {
            let workload = || workload::load(name, &[]).unwrap().build(3);
            let once = run_traced(&machine, &workload(), policy);
            assert_eq!(once, run_traced(&machine, &workload(), policy), "{name} {policy}");
        }
    }
}

/// Half of a core's throughput halves the traffic and so the queue: siblings do more together than `smt_speedup` says of a task
/// alone, and the bounds must know.
#[test]
fn bounds_hold_where_siblings_queue_less() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.25;
    let mut machine = machine_of(kind, 1, 2);
    machine.memory = Some(MEMORY);
    let steps = |step| vec![program("task", vec![step])];
    let both = [steps(run_ms(40)), steps(computing_ms(40))].concat();
    let outcome = run_traced(&machine, &using(workload_of(both), hungry()), PERFORMANCE);
    let [hungry_ms, computing_ms] = ends_ms(&outcome)[..] else {
        panic!("{outcome:?}")
    };
    // 0.625 of a core each, so 64 ms; the one that misses queues for less than the 1.7 ns of being alone on it, and the other one
    // then has the core to itself.
    assert!(hungry_ms < 64.0, "{hungry_ms}");
    let left_ms = 40.0 - 0.625 * hungry_ms;
    assert!(
        (computing_ms - hungry_ms - left_ms).abs() < 1e-5,
        "{hungry_ms} {computing_ms}"
    );
    assert!(
        outcome.time_ns as f64 / 1e9 >= outcome.bounds.time_s,
        "{:?}",
        outcome.bounds
    );
    assert!(outcome.system_energy_j >= outcome.bounds.system_energy_j);
}

/// One more neighbour, and then a hungrier one, never let anybody end sooner.
#[test]
fn more_neighbours_let_nobody_end_sooner() {
    let machine = lop_machine::load("opteron-2x4", &[]).unwrap();
    let names = ["gamess", "gobmk", "gcc", "omnetpp", "soplex", "mcf", "libquantum"];
    let ends_beside = |neighbours: &[&str]| {
        let all = ["sphinx"].iter().chain(neighbours).enumerate();
        let text: String = all
            .map(|(cpu, name)| {
                format!("[task.t{cpu}]\nmemory = \"{name}\"\ncpus = [{cpu}]\nsteps = [{{ run_ms = 100 }}]\n")
            })
            .collect();
        ends_ms(&run_traced(&machine, &toml(&text), PERFORMANCE))[0]
    };
    let mut before = ends_beside(&[]);
    for name in names {
        let one = ends_beside(&[name]);
        assert!(one >= before, "{name}: {one} after {before}");
        before = one;
        assert!(ends_beside(&[name, "milc"]) > one, "{name}");
        // The other domain is another one.
        let elsewhere = ends_beside(&[name, "gamess", "gamess", "mcf"]);
        assert_eq!(elsewhere, ends_beside(&[name, "gamess", "gamess"]), "{name}");
    }
}

/// Mean end of the eight tasks of a mix, in s, and by how much the misses of the two domains differ, for each way to divide them.
fn divisions(machine: &Machine, mix: &Workload) -> Vec<(f64, f64)> {
    let mpki = |program: usize| match mix.programs[program].steps[0] {
        Step::Run { class, .. } => mix.memory_uses[&class].mpki,
        ref other => panic!("{other:?}"),
    };
    // The first task always in the first domain: the other half is the same with domains renamed.
    let halves = (0u16..256).filter(|half| half.count_ones() == 4 && half & 1 == 1);
    halves
        .map(|half| {
            let (mut cpus, mut next, mut difference) = (vec![], [0, 4], 0.0);
            for program in 0..8 {
                let domain = usize::from(half >> program & 1 == 0);
                cpus.push(next[domain]);
                next[domain] += 1;
                difference += mpki(program) * if domain == 0 { 1.0 } else { -1.0 };
            }
            let ends = ends_ms(&run_traced(machine, &pinned(mix.clone(), &cpus), PERFORMANCE));
            (f64::abs(difference), ends.iter().sum::<f64>() / 8e3)
        })
        .collect()
}

/// Of the 35 ways to divide a mix's tasks over two domains, one that balances their misses is near the best, and the one that
/// heaps them up costs more: what distributing intensity is about.
#[test]
fn misses_are_better_spread_than_heaped_in_every_mix() {
    let machine = lop_machine::load("opteron-2x4", &[]).unwrap();
    for number in 1..=8 {
        let mut mix = workload::load(&format!("mix-{number}"), &[]).unwrap().build(1);
        mix.starts.iter_mut().for_each(|start| start.at = Amount::Fixed(0));
        let all = divisions(&machine, &mix);
        assert_eq!(all.len(), 35);
        let by_difference = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
        let spread = all.iter().min_by(by_difference).unwrap().1;
        let heaped = all.iter().max_by(by_difference).unwrap().1;
        let best = all.iter().map(|d| d.1).fold(f64::INFINITY, f64::min);
        let worst = all.iter().map(|d| d.1).fold(0.0, f64::max);
        assert!(spread <= 1.03 * best, "mix-{number}: {spread} and {best}");
        assert!(heaped >= 1.02 * spread, "mix-{number}: {heaped} and {spread}");
        assert!(worst >= 1.08 * best, "mix-{number}: {worst} and {best}");
    }
}

/// T(n) = T1 ((1 - b) / n + b) with T1 = 10.5 s and b = 0.2, on a machine without costs and with a core more for the noise.
#[test]
fn coupled_takes_what_its_formula_says() {
    for n in [2u32, 4, 8] {
        let (threads, others) = (n.to_string(), (n - 1).to_string());
        let overrides = [
            ("task.main.steps.1.count", others.as_str()),
            ("barrier.round.parties", &threads),
            ("loop.compute.parties", &threads),
            ("loop.move.parties", &threads),
        ]
        .map(set);
        let workload = workload::load("coupled", &overrides).unwrap().build(1);
        let outcome = run(&machine(n as u16 + 1), &workload, PERFORMANCE);
        within(outcome.time_ns as f64 / 1e9, 10.5 * (0.8 / f64::from(n) + 0.2), 1e-3);
        // At half the speed only the computing takes twice as long.
        let slow = run(&machine(n as u16 + 1), &workload, POWERSAVE);
        within(slow.time_ns as f64 / 1e9, 10.5 * (1.6 / f64::from(n) + 0.2), 1e-3);
    }
}

/// The same with SMT, where the threads that wait for the memory stall: eight on four cores that do 1.25 each, and a fifth for the noise.
#[test]
fn coupled_takes_what_its_formula_says_beside_siblings_too() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.25;
    let mut workload = workload::load("coupled", &[]).unwrap().build(1);
    for program in &mut workload.programs {
        program.cpus = Some(if program.name == "noise" {
            [8, 9].into()
        } else {
            (0..8).collect()
        });
    }
    let outcome = run(&machine_of(kind, 5, 2), &workload, PERFORMANCE);
    within(outcome.time_ns as f64 / 1e9, 10.5 * (0.8 / (4.0 * 1.25) + 0.2), 1e-2);
}

/// On every built-in machine, with figures for its memory or without: each workload ends, no sooner and no cheaper than its bounds.
#[test]
fn built_in_workloads_keep_their_bounds_everywhere() {
    for machine in lop_machine::builtin_names() {
        let machine = lop_machine::load(machine, &[]).unwrap();
        for name in ["mix-3", "mix-7", "coupled"] {
            let workload = workload::load(name, &[("scale", "0.05")].map(set)).unwrap().build(1);
            for policy in [PERFORMANCE, POWERSAVE, ONDEMAND, "highlow-spare"] {
                let outcome = run(&machine, &workload, policy);
                let what = format!("{name} on {} under {policy}", machine.name);
                assert!(
                    outcome.time_ns as f64 / 1e9 >= outcome.bounds.time_s * (1.0 - 1e-9),
                    "{what}"
                );
                assert!(
                    outcome.system_energy_j >= outcome.bounds.system_energy_j * (1.0 - 1e-9),
                    "{what}"
                );
                assert!(
                    machine.memory.is_some() || outcome.counters.lost_contention_s == 0.0,
                    "{what}"
                );
            }
        }
    }
}
