// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a plan takes for as many threads and memory domains as the policy plans for: 5 ms at most, as it is made once a second. Every third thread is
//! memory-intensive, and all are where chance would put them.

use lop_policy::{
    Config, CpuPlace, Named, Planned, Planner, Policy, MAX_CPUS, MAX_MEMORY_DOMAINS, MAX_PLANNED, PLAN_PERIOD_NS,
};
use std::time::{Duration, Instant};

const NOW_NS: u64 = 1_000 * PLAN_PERIOD_NS;
const CPUS_OF_DOMAIN: usize = MAX_CPUS / MAX_MEMORY_DOMAINS;

fn thread(number: usize) -> Planned {
    let misses = if number.is_multiple_of(3) { 20_000 } else { 1_000 };
    let mut thread = Planned {
        active_ns: (1 + number as u64 * 389 % 100) * PLAN_PERIOD_NS / 100,
        cpu: (number * 101 % MAX_MEMORY_DOMAINS * CPUS_OF_DOMAIN) as i32,
        ..Planned::default()
    };
    thread.intensity.note(misses, 1_000_000, PLAN_PERIOD_NS);
    thread
}

fn main() {
    println!("{MAX_PLANNED} threads on {MAX_MEMORY_DOMAINS} memory domains:");
    for named in [Named::Spread, Named::Gather] {
        let mut policy = Policy::new(Config::of(named, 0));
        for cpu in 0..MAX_CPUS {
            let place = CpuPlace {
                memory_domain: (cpu / CPUS_OF_DOMAIN) as u16,
                next_sibling: cpu as u16,
                ..CpuPlace::default()
            };
            policy.sched().add_cpu(cpu, place);
            policy.sched().open.add(cpu);
        }
        let mut planner = Planner::default();
        let mut once = || -> (Duration, u32) {
            let mut threads: Vec<Planned> = (0..MAX_PLANNED).map(thread).collect();
            let began = Instant::now();
            let moves = planner.plan(policy.sched(), &mut threads, PLAN_PERIOD_NS, NOW_NS);
            (began.elapsed(), moves)
        };
        let mut times: Vec<(Duration, u32)> = (0..9).map(|_| once()).collect();
        times.sort();
        let (median, moves) = times[4];
        println!(
            "{:8} {:6.2} ms, {moves} moves",
            format!("{named:?}"),
            median.as_secs_f64() * 1e3
        );
    }
}
