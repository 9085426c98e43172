// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every built-in machine loads and agrees with its source.

use lop_machine::{builtin_fit_names, builtin_names, builtin_text, draw, load, read, steady_power_w};
use lop_machine::{Activity, CoreState, Machine, MAX_CPUS};

fn machine(name: &str) -> Machine {
    load(name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Sockets, cores, CPUs, clock, voltage, memory domains.
fn shape(m: &Machine) -> [usize; 6] {
    [
        m.nr_sockets,
        m.nr_cores,
        m.cpus.len(),
        m.nr_clock_domains,
        m.nr_voltage_domains,
        m.nr_memory_domains,
    ]
}

#[test]
fn each_is_named_as_its_file_and_says_where_its_figures_come_from() {
    let names = builtin_names();
    assert_eq!(names.len(), 20);
    for name in names {
        let machine = machine(name);
        assert_eq!(machine.name, name);
        assert!(
            machine.notes.iter().any(|note| note.starts_with("Source: ")),
            "{name} cites no source"
        );
        assert!(machine.cpus.len() <= MAX_CPUS);
        assert_eq!(Ok(machine), read(name, builtin_text(name).unwrap()));
    }
    assert_eq!(builtin_fit_names(), ["opteron-8350-x4", "phenom-9750"]);
}

#[test]
fn shapes_follow_the_sources() {
    let shapes = [
        ("phenom-9750", [1, 4, 4, 4, 1, 1]),
        ("phenom2-940", [1, 4, 4, 4, 1, 1]),
        ("i7-940", [1, 4, 4, 1, 1, 1]),
        ("opteron-2352-x2", [2, 8, 8, 8, 2, 2]),
        ("opteron-8350-x4", [4, 16, 16, 16, 4, 4]),
        ("xeon-1870-x2", [2, 8, 8, 8, 2, 4]),
        ("poweredge-6650", [4, 4, 8, 4, 4, 4]),
        ("poweredge-2650", [2, 2, 4, 2, 2, 2]),
        ("opteron-16", [4, 16, 16, 16, 4, 4]),
        ("opteron-2x4", [2, 8, 8, 8, 2, 2]),
        ("opteron-2x4-pair", [2, 16, 16, 16, 2, 4]),
        ("laptop-hybrid", [1, 12, 16, 12, 1, 1]),
        ("laptop-three-kinds", [1, 16, 22, 16, 3, 2]),
        ("phone-three-kinds", [1, 8, 8, 3, 3, 1]),
        ("server-2x64", [2, 128, 256, 128, 2, 16]),
        ("desktop-hybrid", [1, 16, 24, 16, 1, 1]),
        ("desktop-two-chiplets", [1, 16, 32, 16, 2, 2]),
        ("phone-2024", [1, 8, 8, 3, 3, 1]),
        ("server-arm-80", [1, 80, 80, 80, 1, 1]),
        ("cloud-vm", [1, 2, 4, 2, 2, 1]),
    ];
    for (name, expected) in shapes {
        assert_eq!(shape(&machine(name)), expected, "{name}");
    }
}

#[test]
fn operating_points_follow_the_sources() {
    let khz = |name: &str| -> Vec<u64> { machine(name).kinds[0].opps.iter().map(|o| o.khz / 1000).collect() };
    assert_eq!(khz("phenom-9750"), [1200, 2400]);
    assert_eq!(khz("phenom2-940"), [800, 1800, 2300, 3000]);
    assert_eq!(
        khz("i7-940"),
        [1600, 1733, 1867, 2000, 2133, 2267, 2400, 2533, 2667, 2800, 2933]
    );
    assert_eq!(khz("opteron-2352-x2"), [1050, 2100]);
    assert_eq!(khz("opteron-8350-x4"), [1000, 1200, 1400, 1700, 2000]);
    assert_eq!(khz("xeon-1870-x2"), [1600, 1870]);
}

#[test]
fn speeds_follow_the_phase_lengths_of_the_source() {
    // Phases shrink by these factors compared with phenom-9750.
    let phases = [
        ("phenom-9750", 1.0),
        ("phenom2-940", 2.4 / 3.0 / 1.05),
        ("i7-940", 0.55),
        ("opteron-2352-x2", 2.4 / 2.1),
    ];
    for (name, factor) in phases {
        let speed = machine(name).top_speed();
        assert!((speed * factor - 1.0).abs() < 1e-4, "{name}: {speed}");
    }
}

#[test]
fn duty_cycles_scale_power_with_their_square() {
    for (name, mhz, active_w, idle_w) in [
        ("poweredge-6650", 1400, 26.95, 5.88),
        ("poweredge-2650", 2000, 55.0, 12.0),
    ] {
        let machine = machine(name);
        for (opp, eighths) in machine.kinds[0].opps.iter().zip(2..) {
            let duty = f64::from(eighths) / 8.0;
            assert_eq!(opp.khz, mhz * 1000 * eighths as u64 / 8, "{name}");
            assert!(
                (opp.busy_uw as f64 / 1e6 - active_w * duty * duty).abs() < 6e-4,
                "{name} {eighths}/8"
            );
            assert!(
                (opp.idle_uw as f64 / 1e6 - idle_w * duty * duty).abs() < 6e-4,
                "{name} {eighths}/8"
            );
        }
    }
}

/// The only machines whose sources have figures for memory. The bandwidth is that of reading, since misses read.
#[test]
fn memory_follows_the_sources() {
    for name in builtin_names() {
        let memory = machine(name).memory.map(|m| (m.latency_ns, m.bandwidth_mb_s));
        let expected = match name {
            "opteron-2x4" | "opteron-2x4-pair" => Some((80.0, Some(3000.0))),
            "poweredge-6650" => Some((187.94, Some(627.0))),
            "poweredge-2650" => Some((166.11, None)),
            _ => None,
        };
        assert_eq!(memory, expected, "{name}");
    }
}

/// What the machine draws in W with `busy` cores of each kind busy on all threads, at the OPP of this index, the others at their lowest in the deepest
/// idle state.
fn draws_w(machine: &Machine, threads: usize, busy: &[(usize, usize)]) -> f64 {
    let mut left: Vec<usize> = busy.iter().map(|&(cores, _)| cores).collect();
    let mut states = vec![None; machine.nr_cores];
    for cpu in &machine.cpus {
        let kind = usize::from(cpu.kind);
        states[usize::from(cpu.core)].get_or_insert_with(|| {
            let busy_now = left[kind] > 0;
            left[kind] = left[kind].saturating_sub(1);
            match busy_now {
                true => CoreState {
                    opp: busy[kind].1,
                    activity: Activity::Busy(if machine.kinds[kind].smt_speedup > 1.0 {
                        threads
                    } else {
                        1
                    }),
                },
                false => CoreState {
                    opp: 0,
                    activity: Activity::Idle(machine.kinds[kind].idle_states.len() - 1),
                },
            }
        });
    }
    steady_power_w(machine, &states.into_iter().flatten().collect::<Vec<_>>())
}

/// What was measured, or follows from it, is what the file yields within half a percent. `else_w`: what the measurement leaves out.
#[test]
fn power_follows_the_measurements_of_the_sources() {
    let near = |name: &str, threads, busy: &[(usize, usize)], else_w: f64, measured_w: f64| {
        let w = draws_w(&machine(name), threads, busy) - else_w;
        assert!(
            (w / measured_w - 1.0).abs() < 0.005,
            "{name} {busy:?}: {w} W, {measured_w} W"
        );
    };
    // Package power, without 20 W of base and 1 W of memory.
    near("desktop-hybrid", 2, &[(0, 0), (0, 0)], 21.0, 7.0);
    near("desktop-hybrid", 1, &[(1, 6), (0, 0)], 21.0, 78.0);
    near("desktop-hybrid", 2, &[(8, 5), (8, 4)], 21.0, 259.0);
    // The machine, then the socket, which has 10 W of the base.
    near("desktop-two-chiplets", 2, &[(0, 0), (0, 0)], 0.0, 19.0);
    near("desktop-two-chiplets", 2, &[(8, 4), (8, 4)], 3.1, 149.0);
    near("phone-2024", 1, &[(1, 5), (0, 0), (0, 0)], 0.0, 6.27);
    // The machine, then the processor, which has 14 W of the base.
    near("server-arm-80", 1, &[(0, 0)], 0.0, 35.0);
    near("server-arm-80", 1, &[(80, 4)], 20.0, 180.0);
}

#[test]
fn drawings_fit_a_hundred_columns() {
    for name in builtin_names() {
        for line in draw(&machine(name)).lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}
