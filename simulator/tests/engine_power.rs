// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy in closed form, and the sums that every result has to keep.

mod common;
use common::*;
use lop_machine::{steady_power_w, Activity, CoreState, Machine, Thermal};
use lop_simulator::workload::{Amount, Program, Step, Workload};
use lop_simulator::{Outcome, TraceEvent};

/// Sums over cores and domains are the CPU energy, with base and DRAM the system's; shares of time sum to 1.
#[track_caller]
fn sums_hold(machine: &Machine, outcome: &Outcome) {
    let c = &outcome.counters;
    assert_eq!(c.core_energy_j.len(), machine.nr_cores);
    assert_eq!(c.voltage_domain_energy_j.len(), machine.nr_voltage_domains);
    let cpu: f64 = c.core_energy_j.iter().chain(&c.voltage_domain_energy_j).sum();
    exactly(outcome.cpu_energy_j, cpu);
    exactly(outcome.system_energy_j, cpu + c.base_energy_j + c.dram_energy_j);
    for shares in [&c.frequency_residency, &c.idle_state_residency, &c.run_share_by_speed] {
        exactly(shares.values().sum::<f64>(), 1.0);
    }
}

#[test]
fn a_core_draws_its_busy_watts_while_it_works_and_idle_watts_after() {
    let mut machine = machine(1);
    machine.base_uw = 3_000_000;
    machine.dram.idle_uw = 500_000;
    let steps = vec![run_ms(100), sleep_ms(300), run_ms(50)];
    let outcome = run(&machine, &tasks_of(1, steps), PERFORMANCE);
    exactly(outcome.cpu_energy_j, 0.15 * 8.0 + 0.3 * 2.0);
    exactly(outcome.system_energy_j, 0.15 * 8.0 + 0.3 * 2.0 + 0.45 * 3.5);
    exactly(outcome.counters.base_energy_j, 0.45 * 3.0);
    let slow = run(&machine, &tasks_of(1, vec![run_ms(100), sleep_ms(300)]), POWERSAVE);
    exactly(slow.cpu_energy_j, 0.2 * 2.0 + 0.3 * 1.0);
}

/// What a last member that leaves early costs: a task whose pauses are a little longer than its hold pays a rise each time. Beside cores that are always
/// high that is some per cent of the time and hardly any EDP, and of longer pauses it is a gain.
#[test]
fn short_pauses_of_one_task_cost_some_time() {
    let edp = |outcome: &Outcome| outcome.system_energy_j * outcome.time_ns as f64;
    for machine in ["phenom-9750", "i7-940", "phenom2-940"] {
        let machine = lop_machine::load(machine, &[]).unwrap();
        for (sleep_us, run_us) in [(400, 100), (800, 100), (900, 200), (1600, 300), (6000, 1000)] {
            let pause = || Step::Sleep(Amount::Fixed(sleep_us * 1000));
            let steps = (0..300).flat_map(|_| [pause(), run_ns(run_us * 1000)]);
            let tasks = tasks_of(1, steps.collect());
            let (auto, top) = (run(&machine, &tasks, "auto"), run(&machine, &tasks, PERFORMANCE));
            let (edp, time) = (edp(&auto) / edp(&top), auto.time_ns as f64 / top.time_ns as f64);
            let most = if sleep_us >= 1600 { 0.95 } else { 1.05 };
            assert!(
                edp < most && time < 1.09,
                "{}, {sleep_us} us: EDP {edp}, time {time}",
                machine.name
            );
        }
    }
}

/// C1 with the clock on draws the idle watts of the OPP, C6 its own whatever the voltage.
#[test]
fn idle_states_draw_their_own_watts_from_their_residency_on() {
    let mut kind = two_speeds();
    kind.idle_states = vec![idle("C1", 2_000, 0, None), idle("C6", 100_000, 10 * MS, Some(0.125))];
    let machine = machine_of(kind, 1, 1);
    let outcome = run(
        &machine,
        &tasks_of(1, vec![run_ms(20), sleep_ms(60), run_ms(20)]),
        PERFORMANCE,
    );
    // Exit times count as busy: 2 us at the first start, 100 us at the second.
    exactly(
        outcome.cpu_energy_j,
        (0.040 + 102e-6) * 8.0 + 0.010 * 2.0 + 0.050 * 0.125,
    );
    sums_hold(&machine, &outcome);
}

/// Exits of 100 us at most and of 40 at least, drawn from the seed.
#[test]
fn an_exit_takes_from_its_shortest_to_its_longest() {
    let mut kind = two_speeds();
    kind.idle_states = vec![idle("C6", 100_000, 0, Some(0.125))];
    let mut machine = machine_of(kind, 1, 1);
    machine.shortest_exit_share = 0.4;
    let steps = (0..200).flat_map(|_| [run_ms(1), sleep_ms(1)]);
    let workload = tasks_of(1, steps.collect());
    let exits = |machine: &Machine| -> Vec<u64> {
        let outcome = run_traced(machine, &workload, PERFORMANCE);
        let exit = |event: &TraceEvent| match *event {
            TraceEvent::Start { exit_ns, .. } => Some(exit_ns),
            _ => None,
        };
        outcome.trace.iter().filter_map(exit).collect()
    };
    let drawn = exits(&machine);
    assert_eq!((drawn.len(), &drawn), (201, &exits(&machine)));
    assert!(drawn.iter().all(|ns| (40_000..=100_000).contains(ns)), "{drawn:?}");
    let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
    assert!(*least < 45_000 && *most > 95_000, "{least} to {most}");
    machine.shortest_exit_share = 1.0;
    assert!(exits(&machine).iter().all(|&ns| ns == 100_000));
}

/// One voltage plane, all cores at 2000 MHz. A core whose power is gated counts at its lowest point, 0.5 W of the plane; one whose clock is on holds 4 W up.
#[test]
fn a_core_that_sleeps_deeply_has_no_vote_for_the_voltage() {
    let mut kind = kind(1.0, vec![opp(1000, 800, 1.0, 2.0, 0.5), opp(2000, 1200, 2.0, 8.0, 4.0)]);
    kind.idle_states = vec![idle("C1", 0, 0, None), idle("C6", 0, 10 * MS, Some(0.125))];
    let mut machine = one_voltage(machine_of(kind, 2, 1));
    let workload = tasks_of(1, vec![run_ms(10), sleep_ms(90), run_ms(10)]);
    let plane_j = |machine: &Machine| run(machine, &workload, PERFORMANCE).counters.voltage_domain_energy_j[0];
    // Busy for 20 ms. The first core holds it for 10 ms more; the second is idle from 0 on, and woken at 100 ms after it.
    exactly(plane_j(&machine), (0.020 + 0.010) * 4.0 + 0.080 * 0.5);
    machine.kinds[0].idle_states[0].holds_voltage = false;
    exactly(plane_j(&machine), 0.020 * 4.0 + 0.090 * 0.5);
    machine.kinds[0].idle_states.pop();
    machine.kinds[0].idle_states[0].holds_voltage = true;
    exactly(plane_j(&machine), 0.110 * 4.0);
}

/// One voltage plane: the idle core at 1000 MHz and 800 mV is held at 1200 mV, so it draws (1200/800)^2 of its idle watts.
#[test]
fn a_core_below_its_domains_voltage_draws_more() {
    let kind = kind(1.0, vec![opp(1000, 800, 1.0, 2.0, 0.5), opp(2000, 1200, 2.0, 8.0, 4.0)]);
    let machine = one_voltage(machine_of(kind, 2, 1));
    // highlow: the busy core at 2000 MHz, the other at 1000.
    let outcome = run(&machine, &tasks_of(1, vec![run_ms(100)]), "highlow");
    exactly(outcome.counters.core_energy_j.iter().sum::<f64>(), 0.1 * (8.0 + 2.25));
    exactly(outcome.counters.voltage_domain_energy_j[0], 0.1 * 4.0);
    let apart = machine_of(machine.kinds[0].clone(), 2, 1);
    let outcome = run(&apart, &tasks_of(1, vec![run_ms(100)]), "highlow");
    exactly(outcome.cpu_energy_j, 0.1 * (8.0 + 4.0 + 1.0 + 0.5));
}

/// The engine and the formula that machine files are fitted by agree on steady states of a machine with everything.
#[test]
fn steady_states_agree_with_the_formula_of_the_machine_crate() {
    let mut kind = kind(
        1.0,
        vec![
            opp(1000, 850, 0.7, 1.9, 0.3),
            opp(1500, 950, 1.1, 3.3, 0.9),
            opp(2000, 1130, 1.9, 6.1, 2.7),
        ],
    );
    kind.smt_speedup = 1.25;
    kind.smt_power = 0.3;
    let mut machine = one_voltage(machine_of(kind, 3, 2));
    machine.base_uw = 11_000_000;
    machine.dram.idle_uw = 2_000_000;
    // Pinned for a second; the rest of the CPUs idle. Which threads of which core are busy:
    for busy in [
        vec![0],
        vec![0, 1],
        vec![0, 2],
        vec![0, 1, 2, 4],
        vec![0, 1, 2, 3, 4, 5],
    ] {
        let programs: Vec<Program> = busy
            .iter()
            .map(|&cpu| Program {
                cpus: Some([cpu].into()),
                ..program("p", vec![run_ms(100_000)])
            })
            .collect();
        let mut workload = workload_of(programs);
        workload.duration_ns = Some(SECOND);
        for (opp, mhz) in [1000, 1500, 2000].into_iter().enumerate() {
            let states: Vec<CoreState> = (0..3u16)
                .map(|core| {
                    let threads = busy.iter().filter(|&&cpu| cpu / 2 == core).count();
                    let activity = if threads > 0 {
                        Activity::Busy(threads)
                    } else {
                        Activity::Idle(0)
                    };
                    CoreState { opp, activity }
                })
                .collect();
            let outcome = run(&machine, &workload, &format!("linux:userspace@{mhz}"));
            exactly(outcome.system_energy_j, steady_power_w(&machine, &states));
            sums_hold(&machine, &outcome);
        }
    }
}

#[test]
fn mixed_speeds_in_one_voltage_domain_agree_with_the_formula_too() {
    let kind = kind(1.0, vec![opp(1000, 850, 0.7, 1.9, 0.3), opp(2000, 1130, 1.9, 6.1, 2.7)]);
    let machine = one_voltage(machine_of(kind, 4, 1));
    let mut workload = tasks_of(2, vec![run_ms(100_000)]);
    workload.duration_ns = Some(SECOND);
    let state = |opp, activity| CoreState { opp, activity };
    for (name, high) in [("highlow", 2), ("highlow-spare", 3)] {
        let states: Vec<CoreState> = (0..4)
            .map(|core| match core {
                core if core < 2 => state(1, Activity::Busy(1)),
                core if core < high => state(1, Activity::Idle(0)),
                _ => state(0, Activity::Idle(0)),
            })
            .collect();
        // The engine keeps whole microwatts per core, each at most half of one off.
        let off_w = run(&machine, &workload, name).system_energy_j - steady_power_w(&machine, &states);
        assert!(off_w.abs() <= 4.0 * 0.5e-6, "{name}: {off_w} W off");
    }
}

#[test]
fn further_siblings_add_their_share_of_what_the_first_adds() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.3;
    kind.smt_power = 0.25;
    let machine = machine_of(kind, 1, 2);
    let outcome = run(&machine, &tasks_of(2, vec![run_ms(65)]), PERFORMANCE);
    exactly(outcome.cpu_energy_j, 0.1 * (8.0 + 0.25 * 6.0));
}

#[test]
fn parked_cores_draw_what_parking_draws() {
    let mut machine = machine(4);
    machine.park = Some(lop_machine::Park {
        exit_ns: 0,
        power_uw: 50_000,
        domain_uw: None,
        domain_exit_ns: 0,
    });
    let mut workload = tasks_of(1, vec![run_ms(10_000)]);
    workload.duration_ns = Some(SECOND);
    let outcome = run(&machine, &workload, "highlow");
    exactly(outcome.cpu_energy_j, 8.0 + 3.0 * 0.05);
    exactly(outcome.counters.idle_state_residency["parked"], 0.75);
    exactly(
        run(&machine, &workload, "highlow-spare").cpu_energy_j,
        8.0 + 2.0 + 2.0 * 0.05,
    );
    exactly(run(&machine, &workload, PERFORMANCE).cpu_energy_j, 8.0 + 3.0 * 2.0);
}

/// A share m of the work's time at top speed is spent waiting for memory, at whatever speed the core runs.
#[test]
fn memory_draws_for_the_time_that_cores_wait_for_it() {
    let mut machine = machine(2);
    machine.dram.stall_uw = 4_000_000;
    let mut workload = tasks_of(2, vec![run_ms(100)]);
    workload.memory_shares = vec![0.4];
    for name in [PERFORMANCE, POWERSAVE] {
        exactly(
            run(&machine, &workload, name).counters.dram_energy_j,
            2.0 * 0.1 * 0.4 * 4.0,
        );
    }
    // A core of twice the speed waits half as long for the same work.
    (machine.kinds[0].speed, machine.kinds[0].fastest.speed) = (2.0, 2.0);
    exactly(
        run(&machine, &workload, PERFORMANCE).counters.dram_energy_j,
        2.0 * 0.05 * 0.4 * 4.0,
    );
}

/// T(t) = T_end + (T_0 - T_end) exp(-t / tau), T_end = ambient + R P.
#[test]
fn temperature_follows_the_first_order_model() {
    let mut machine = machine(1);
    machine.thermal = Some(Thermal {
        ambient_c: 25.0,
        c_per_w: 5.0,
        time_constant_s: 30.0,
        limit_c: 90.0,
    });
    let mut workload = tasks_of(1, vec![run_ms(1_000_000)]);
    let end_c: f64 = 25.0 + 5.0 * 8.0;
    for seconds in [1, 9, 60, 65] {
        workload.duration_ns = Some(seconds * SECOND);
        let outcome = run(&machine, &workload, PERFORMANCE);
        exactly(
            outcome.counters.hottest_core_c.expect("a thermal model"),
            end_c + (25.0 - end_c) * (-(seconds as f64) / 30.0).exp(),
        );
    }
    machine.thermal = None;
    assert_eq!(run(&machine, &workload, PERFORMANCE).counters.hottest_core_c, None);
}

fn mixed_work() -> Workload {
    let pinned = Program {
        cpus: Some([1, 2].into()),
        ..program("pinned", vec![run_ms(7), sleep_ms(3), run_ms(11)])
    };
    let repeat = |steps: Vec<Step>| {
        let end = steps.len() as u32 + 2;
        let first = [Step::Repeat { times: Some(40), end }];
        first
            .into_iter()
            .chain(steps)
            .chain([Step::EndRepeat { start: 0 }])
            .collect()
    };
    let mut workload = workload_of(vec![
        program("steady", vec![run_ms(900)]),
        program("bursty", repeat(vec![run_ms(3), sleep_ms(5)])),
        pinned,
    ]);
    workload.starts[1].count = 3;
    workload.memory_shares = vec![0.2];
    workload
}

#[test]
fn energies_and_shares_of_time_sum_up_under_every_policy() {
    for cores in [4, 3] {
        let mut machine = machine_of(two_speeds(), cores, 2);
        machine.base_uw = 1_000_000;
        machine.dram = lop_machine::Dram {
            idle_uw: 700_000,
            stall_uw: 300_000,
        };
        machine.cpufreq.transition_ns = 100_000;
        machine.cost.context_switch_ns = 2_000;
        machine.kinds[0].idle_states.push(idle("C6", 50_000, MS, Some(0.2)));
        for name in policy_names() {
            sums_hold(&machine, &run(&machine, &mixed_work(), name));
        }
    }
}

fn capped(machine: &Machine, workload: &Workload, policy: &str, cap_w: Option<f64>) -> lop_simulator::Outcome {
    let mut options = lop_simulator::RunOptions::default();
    options.policy.power_cap_uw = cap_w.map(|watts| (watts * 1e6) as u64);
    lop_simulator::simulate(machine, workload, &policy.parse().unwrap(), &options).unwrap()
}

/// Four cores of 1 W low and 8 W busy: P(k) = 4 + 7 k W, so 18 W are two cores and 11 W one, as is less. Four tasks of 0.1 s are done in 0.4 s / k at
/// P(k), in turn.
#[test]
fn under_a_power_cap_work_takes_as_long_as_on_so_many_cores() {
    let workload = tasks_of(4, vec![run_ms(100)]);
    for policy in ["highlow", "highlow-spare", "phase", "auto"] {
        for (cap_w, cores, power_w) in [
            (None, 4, 32.0),
            (Some(32.0), 4, 32.0),
            (Some(31.9), 3, 25.0),
            (Some(18.0), 2, 18.0),
            (Some(11.0), 1, 11.0),
            (Some(5.0), 1, 11.0),
        ] {
            let outcome = capped(&machine(4), &workload, policy, cap_w);
            let time_s = outcome.time_ns as f64 / 1e9;
            assert_eq!(outcome.counters.high_set_max, cores, "{policy} {cap_w:?}");
            assert!(
                outcome.system_energy_j <= power_w * time_s * 1.000001,
                "{policy} {cap_w:?}"
            );
            let shortest_s = 0.4 / f64::from(cores);
            assert!(
                (0.999..1.08).contains(&(time_s / shortest_s)),
                "{policy} {cap_w:?}: {time_s} s"
            );
        }
    }
}

/// 140 W are two cores there (136.6 W): mean power stays below, whatever runs, and the set is never larger.
#[test]
fn a_power_cap_holds_on_a_machine_of_the_study() {
    let machine = lop_machine::load("phenom-9750", &[]).unwrap();
    for name in ["matmul", "pipeline", "half-sequential", "recorded-build"] {
        let workload = lop_simulator::workload::load(name, &[]).unwrap().build(1);
        for policy in ["highlow-spare", "auto", "phase"] {
            let [free, bound] = [None, Some(140.0)].map(|cap| capped(&machine, &workload, policy, cap));
            let power_w = bound.system_energy_j / (bound.time_ns as f64 / 1e9);
            assert!(power_w <= 136.61, "{policy}, {name}: {power_w} W");
            assert!(bound.counters.high_set_max <= 2, "{policy}, {name}");
            assert!(bound.time_ns as f64 > 0.999 * free.time_ns as f64, "{policy}, {name}");
        }
    }
}
