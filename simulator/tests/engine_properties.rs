// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random small workloads under every policy: no work is lost or made up, no task forgotten, no bound broken.

mod common;
#[path = "common/sketch.rs"]
mod sketch;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{Barrier, MemoryUse, Schedule, Step, Waiting};
use lop_simulator::Outcome;
use proptest::prelude::*;
use sketch::{build, sketch, Sketch, LIMIT_NS};

/// Work that cores did, by the time they were busy at each speed (2000 MHz is 1): what was drawn, and spinning.
fn work_done_s(machine: &Machine, outcome: &Outcome) -> f64 {
    let busy_share = outcome
        .counters
        .idle_state_residency
        .get("busy")
        .copied()
        .unwrap_or(0.0);
    let busy_s = busy_share * machine.nr_cores as f64 * outcome.time_ns as f64 / 1e9;
    let speed = |name: &str| if name == "2000 MHz" { 1.0 } else { 0.5 };
    let shares = outcome.counters.run_share_by_speed.iter();
    busy_s * shares.map(|(name, share)| share * speed(name)).sum::<f64>()
}

fn sane(machine: &Machine, outcome: &Outcome, tasks: u64, name: &str) -> Result<(), TestCaseError> {
    let c = &outcome.counters;
    prop_assert!(outcome.time_ns < LIMIT_NS, "{name}: never ends");
    prop_assert_eq!(c.tasks, tasks, "{}", name);
    prop_assert!(c.wakeups >= tasks && c.context_switches >= tasks, "{name}: {c:?}");
    prop_assert!(c.wakeup_latency_us.p50 <= c.wakeup_latency_us.max, "{name}");
    prop_assert!(c.high_set_mean <= f64::from(c.high_set_max), "{name}");
    prop_assert!(usize::from(c.high_set_max as u16) <= machine.cpus.len(), "{name}");
    prop_assert!(c.demotions <= c.promotions, "{name}");
    for share in [
        c.full_speed_share,
        c.lost_fixed_speed_s,
        c.lost_mismeasured_s,
        c.lost_slow_start_s,
        c.lost_contention_s,
        c.spin_s,
    ] {
        prop_assert!(share.is_finite() && share >= 0.0, "{name}: {c:?}");
    }
    prop_assert!(c.full_speed_share <= 1.0 + 1e-12, "{name}");
    prop_assert!(
        outcome.time_ns as f64 >= outcome.bounds.time_s * 1e9 - 2.0,
        "{name}: {:?}",
        outcome.bounds
    );
    prop_assert!(
        outcome.system_energy_j >= outcome.bounds.system_energy_j * (1.0 - 1e-6),
        "{name}"
    );
    let sum: f64 = c.core_energy_j.iter().chain(&c.voltage_domain_energy_j).sum();
    prop_assert!((outcome.cpu_energy_j - sum).abs() <= 1e-9 * sum.max(1e-9), "{name}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without costs and with work that scales with frequency, busy time times speed is the work that was drawn, but for
    /// the rounding of each piece to whole ns, and for spinning.
    #[test]
    fn work_is_conserved_under_every_policy(cores in 1u16..=4, sketch in sketch(1)) {
        let (workload, work_ns, tasks, pieces) = build(&sketch);
        let machine = machine(cores);
        // A core is reserved where another is left.
        for name in policy_names().into_iter().filter(|&name| cores > 1 || name != "reserved-core") {
            let outcome = run(&machine, &workload, name);
            sane(&machine, &outcome, tasks, name)?;
            let done_ns = work_done_s(&machine, &outcome) * 1e9;
            let spun_ns = outcome.counters.spin_s * 1e9;
            // A piece is rounded up each time that its core or speed changes, too.
            let slack_ns = (pieces + outcome.counters.context_switches + outcome.counters.frequency_transitions * 4 + 4) as f64;
            prop_assert!(done_ns <= work_ns as f64 + spun_ns + slack_ns, "{name}: {done_ns} of {work_ns}, spun {spun_ns}");
            prop_assert!(done_ns >= work_ns as f64 + 0.5 * spun_ns - slack_ns, "{name}: {done_ns} of {work_ns}, spun {spun_ns}");
        }
    }

    /// With costs, SMT, shared clocks and voltages: nothing breaks, the same twice, and the spare does little harm.
    #[test]
    fn a_machine_with_everything_keeps_its_promises(
        sketch in sketch(4),
        threads in 1u16..=2,
        shared_clock in any::<bool>(),
        shared_voltage in any::<bool>(),
        parks in any::<bool>(),
    ) {
        let (workload, _, tasks, _) = build(&sketch);
        let mut machine = machine_of(two_speeds(), 4, threads);
        machine.kinds[0].smt_speedup = 1.25;
        machine.kinds[0].smt_power = 0.15;
        machine.kinds[0].idle_states.push(idle("C6", 20_000, MS / 2, Some(0.2)));
        machine.cost = lop_machine::Cost { context_switch_ns: 2_000, migration_ns: 5_000, memory_domain_ns: 10_000 };
        machine.cpufreq.transition_ns = 50_000;
        machine.base_uw = 1_000_000;
        machine.park = parks.then_some(lop_machine::Park { exit_ns: 100_000, power_uw: 30_000, domain_uw: None, domain_exit_ns: 100_000, });
        machine = if shared_clock { one_clock(machine) } else { machine };
        machine = if shared_voltage { one_voltage(machine) } else { machine };
        for name in policy_names() {
            let outcome = run(&machine, &workload, name);
            sane(&machine, &outcome, tasks, name)?;
            prop_assert_eq!(&run(&machine, &workload, name), &outcome, "{} twice", name);
        }
    }

    /// Tasks that contend for memory domains, on cores of two kinds with SMT: the bounds hold, and nothing else breaks.
    #[test]
    fn contention_keeps_the_promises(
        sketch in sketch(6),
        uses in prop::collection::vec(memory_use(), 2),
        threads in 1u16..=2,
        latency_ns in 20.0f64..200.0,
        bandwidth_mb_s in prop_oneof![1 => Just(None), 4 => (100.0f64..20_000.0).prop_map(Some)],
    ) {
        let (mut workload, _, tasks, _) = build(&sketch);
        for (class, memory_use) in (1..).zip(uses) {
            workload.memory_uses.insert(class, memory_use);
        }
        workload.memory_shares = vec![0.2, 0.6, 0.4];
        let steps = workload.programs.iter_mut().flat_map(|program| &mut program.steps);
        for (number, step) in steps.enumerate() {
            if let Step::Run { class, .. } = step {
                *class = number as u16 % 3;
            }
        }
        let machine = contended(threads, lop_machine::Memory { latency_ns, bandwidth_mb_s });
        for name in policy_names() {
            let outcome = run(&machine, &workload, name);
            sane(&machine, &outcome, tasks, name)?;
            prop_assert_eq!(&run(&machine, &workload, name), &outcome, "{} twice", name);
        }
    }

    /// On cores of their own, tasks take at most 5 % longer with a spare than with all cores fast, and a transition more.
    #[test]
    fn the_spare_keeps_up_with_performance(sketch in sketch(4)) {
        // Spinners waste whole slices, and slices differ: another comparison.
        let (workload, ..) = build(&Sketch { waiting: Waiting::Block, ..sketch });
        let mut machine = machine(4);
        machine.cpufreq.transition_ns = 50_000;
        let base = run(&machine, &workload, PERFORMANCE);
        let spare = run(&machine, &workload, "highlow-spare");
        // Who runs first differs, so that a short run may end a slice or two later.
        let slack_ns = 10.0 * MS as f64 + 2.0 * 50_000.0;
        prop_assert!(spare.time_ns as f64 <= 1.05 * base.time_ns as f64 + slack_ns, "{} and {}", spare.time_ns, base.time_ns);
        prop_assert!(base.counters.spin_s > 0.0 || spare.time_ns > base.time_ns || spare.system_energy_j <= base.system_energy_j * 1.000_001);
    }
}

fn memory_use() -> impl Strategy<Value = MemoryUse> {
    (0.0f64..60.0, 0.3f64..3.0, 1.0f64..6.0, 0.0f64..1.0).prop_map(|(mpki, cpi0, mlp, cache_sensitivity)| MemoryUse {
        name: "use".into(),
        mpki,
        cpi0,
        mlp,
        cache_sensitivity,
    })
}

/// Four fast and two slower cores with SMT and a little of everything, in two memory domains that share them out unevenly.
fn contended(threads: u16, memory: lop_machine::Memory) -> Machine {
    let mut machine = machine_of(two_speeds(), 6, threads);
    let slow = kind(0.5, vec![opp(800, 900, 0.5, 1.0, 0.0), opp(1600, 1000, 1.0, 3.0, 0.0)]);
    add_kind(&mut machine, slow);
    for kind in &mut machine.kinds {
        kind.smt_speedup = if threads > 1 { 1.25 } else { 1.0 };
        kind.smt_power = 0.15;
    }
    for cpu in &mut machine.cpus {
        cpu.kind = u16::from(cpu.core >= 4);
        cpu.memory_domain = u16::from(cpu.core >= 3);
    }
    machine.nr_memory_domains = 2;
    machine.memory = Some(memory);
    machine.dram = lop_machine::Dram {
        idle_uw: 500_000,
        stall_uw: 2_000_000,
    };
    machine.cost = lop_machine::Cost {
        context_switch_ns: 2_000,
        migration_ns: 5_000,
        memory_domain_ns: 10_000,
    };
    machine.cpufreq.transition_ns = 50_000;
    machine
}

/// A loop handed out by any schedule is all of its iterations, once, whoever comes when.
#[test]
fn loops_lose_no_iteration_under_any_policy() {
    for schedule in [
        Schedule::Static,
        Schedule::Dynamic { chunk: 7 },
        Schedule::Guided { chunk: 2 },
    ] {
        let mut workload = tasks_of(3, vec![Step::Loop(0), Step::Barrier(0), Step::Loop(0)]);
        workload.loops.push(lop_simulator::workload::ParallelLoop {
            name: "loop".into(),
            iterations: 100,
            work_ns: 30_000,
            class: 0,
            parties: 3,
            schedule,
        });
        workload.barriers.push(Barrier {
            name: "between".into(),
            parties: 3,
            waiting: Waiting::Block,
        });
        for name in policy_names() {
            let machine = machine(2);
            let done_ns = work_done_s(&machine, &run(&machine, &workload, name)) * 1e9;
            assert!(
                (done_ns - 6.0 * MS as f64).abs() < 500.0,
                "{name}, {schedule:?}: {done_ns}"
            );
        }
    }
}
