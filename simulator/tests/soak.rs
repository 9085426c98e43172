// SPDX-License-Identifier: MIT OR Apache-2.0
//! What takes long, or is printed and not judged, as times of this machine are: `make soak` runs these, `cargo test` does not.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{self, read};
use std::time::{Duration, Instant};

/// So many tasks of five pieces of work, forked by one.
fn recording(tasks: usize) -> String {
    let mut text = String::from("[task.make]\nsteps = [");
    (0..tasks).for_each(|n| text += &format!("{{ fork = \"p{n}\" }}, "));
    text += "{ join = \"all\" }]\n";
    for n in 0..tasks {
        text += &format!("[task.p{n}]\ncount = 0\nsteps = [\n");
        (0..5).for_each(|_| text += "  { run_ms = 1.25 },\n  { sleep_ms = 0.5 },\n");
        text += "]\n";
    }
    text
}

/// Of eight times the text: about 8, where a quadratic reader needs 64 times as long.
#[test]
fn a_long_recording_reads_in_linear_time() {
    let time = |text: &str| -> Duration {
        let once = || {
            let start = Instant::now();
            let spec = read("w.toml", text).unwrap_or_else(|error| panic!("{error}"));
            assert!(spec.build(1).programs.len() > 250);
            start.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let (small, large) = (time(&recording(500)), time(&recording(4000)));
    println!(
        "500 tasks {small:?}, 4000 tasks {large:?}: {:.1} times as long",
        large.as_secs_f64() / small.as_secs_f64()
    );
}

/// The machine with each kind of core held so many operating points below its highest; `None`: a kind has fewer.
fn held(machine: &Machine, below: usize) -> Option<Machine> {
    let mut limits = vec![0.0; machine.nr_cores];
    for cpu in &machine.cpus {
        let opps = &machine.kinds[usize::from(cpu.kind)].opps;
        let point = (opps.len() - 1).checked_sub(below)?;
        limits[usize::from(cpu.core)] = opps[point].khz as f64 / 1000.0;
    }
    let set = overrides(&[("max_mhz", &format!("{limits:?}"))]);
    Some(lop_machine::load(&machine.name, &set).unwrap_or_else(|error| panic!("{error}")))
}

const POLICIES: [&str; 8] = [
    PERFORMANCE,
    SCHEDUTIL,
    ONDEMAND,
    "highlow",
    "highlow-spare",
    "fair-share",
    "phase",
    "auto",
];

/// One operating point up, on every machine, with every workload that ends by itself and does not contend for memory. Without locks, conditions and barriers
/// no run is 1 % longer; with them threads may come to stand in each other's way, and such cells are printed. The same each time: no false alarms.
#[test]
fn a_faster_clock_makes_no_run_longer_unless_threads_wait_for_one_another() {
    let builds: Vec<_> = workload::builtin_names()
        .into_iter()
        .map(|name| {
            workload::load(name, &[])
                .unwrap_or_else(|error| panic!("{error}"))
                .build(1)
        })
        .filter(|build| build.duration_ns.is_none() && build.memory_uses.is_empty())
        .collect();
    let mut longer = Vec::new();
    for name in lop_machine::builtin_names() {
        let machine = lop_machine::load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let (Some(slow), Some(fast)) = (held(&machine, 1), held(&machine, 0)) else {
            continue;
        };
        for (build, policy) in builds.iter().flat_map(|build| POLICIES.map(|policy| (build, policy))) {
            let [slow, fast] = [&slow, &fast].map(|machine| run(machine, build, policy));
            let ratio = fast.time_ns as f64 / slow.time_ns as f64;
            if ratio > 1.01 {
                let waits = !(build.mutexes.is_empty() && build.conditions.is_empty() && build.barriers.is_empty());
                println!("{name}, {}, {policy}: {ratio:.3}", build.name);
                longer.extend((!waits).then(|| format!("{name}, {}, {policy}: {ratio:.3}", build.name)));
            }
        }
    }
    assert_eq!(longer, Vec::<String>::new());
}
