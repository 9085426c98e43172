// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a plan takes for as many threads and memory domains as the policy plans for: 5 ms at most, as it is made once a second. Every third thread is
//! memory-intensive, and all are where chance would put them.

use lop_policy::{Domain, Planner, Power, Thread, MAX_MEMORY_DOMAINS, MAX_PLANNED};
use std::time::{Duration, Instant};

const NOW_NS: u64 = 1_000_000_000_000;

fn thread(number: usize) -> Thread {
    let mpmi = if number.is_multiple_of(3) { 20_000 } else { 1_000 };
    Thread {
        demand_permille: 1 + (number * 389 % 1000) as u32,
        ..Thread::new(mpmi, (number * 101 % MAX_MEMORY_DOMAINS) as i32)
    }
}

fn main() {
    let domains = vec![Domain::new(8, 0); MAX_MEMORY_DOMAINS];
    let mut planner = Planner::default();
    let mut plan = |name: &str, gathers: bool| {
        let mut once = || -> (Duration, u32) {
            let mut threads: Vec<Thread> = (0..MAX_PLANNED).map(thread).collect();
            let began = Instant::now();
            let moves = match gathers {
                true => planner.gather(&mut threads, &domains, Power::default(), NOW_NS),
                false => planner.spread(&mut threads, &domains, NOW_NS),
            };
            (began.elapsed(), moves)
        };
        let mut times: Vec<(Duration, u32)> = (0..9).map(|_| once()).collect();
        times.sort();
        let (median, moves) = times[4];
        println!("{name:8} {:6.2} ms, {moves} moves", median.as_secs_f64() * 1e3);
    };
    println!("{MAX_PLANNED} threads on {MAX_MEMORY_DOMAINS} memory domains:");
    plan("spread", false);
    plan("gather", true);
}
