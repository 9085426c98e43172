// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long 100,000 arrivals at 10,000 machines take, under each policy: half a minute at most.

use lop_simulator::fleet::{Fleet, Policy, Setup};
use std::time::Instant;

fn main() {
    let machine = lop_machine::load("opteron-2x4", &[]).expect("a machine of this project");
    let setup = Setup {
        machines: 10_000,
        machine: vec!["opteron-2x4".into()],
        off_after_s: 300.0,
        boot_s: 60.0,
        off_w: 5.0,
        arrivals_per_machine: 10,
        load: 0.3,
        intensive: 0.5,
        cores: vec![1, 2, 4],
        run_s: 1800.0,
    };
    let fleet = Fleet::new(setup, &[machine]).expect("figures of the study");
    println!("100,000 arrivals at 10,000 machines:");
    for (name, policy) in Policy::NAMES {
        let began = Instant::now();
        let ended = fleet.simulate(policy, 1).counters.ended;
        println!("{name:16} {:6.2} s, {ended} ended", began.elapsed().as_secs_f64());
    }
}
