// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Plans from noisy counters: threads whose work does not change stay where they are, and a real change is followed.

use crate::bench::S;
use lop_policy::{Domain, Intensity, Planner, Power, Thread, NONE};

/// Pseudo-random numbers from a seed (xorshift).
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
    /// A reading of `mpmi` with a standard deviation of 20 %: twelve uniform numbers have a variance of one.
    fn reading(&mut self, mpmi: u64) -> u64 {
        let sum: u64 = (0..12).map(|_| self.below(1000)).sum();
        mpmi * sum.saturating_sub(1000) / 5000
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Plan {
    Spread,
    Gather,
}

/// A machine with a thread for each core, and what plans are made from.
struct Machine {
    plan: Plan,
    noise: Noise,
    mpmi: Vec<u64>,
    intensities: Vec<Intensity>,
    threads: Vec<Thread>,
    domains: Vec<Domain>,
    planner: Planner,
    second: u64,
}

impl Machine {
    /// Intensities are drawn evenly from 1 to 30 MPKI.
    fn new(plan: Plan, domains: usize, cores: u32, seed: u64) -> Self {
        let nr = domains * cores as usize;
        let mut noise = Noise(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Self {
            plan,
            mpmi: (0..nr).map(|_| 1_000 + noise.below(29_000)).collect(),
            noise,
            intensities: vec![Intensity::default(); nr],
            threads: (0..nr).map(|n| Thread::new(0, (n % domains) as i32)).collect(),
            domains: (0..domains).map(|n| Domain::new(cores, n as u32 / 2)).collect(),
            planner: Planner::default(),
            second: 10,
        }
    }
    /// A second passes and a plan is carried out. Returns how many threads move.
    fn plan(&mut self) -> u32 {
        const POWER: Power = Power {
            base_mw: 0,
            node_mw: 180_000,
            core_mw: 15_000,
        };
        self.second += 1;
        for ((thread, known), &mpmi) in self.threads.iter_mut().zip(&mut self.intensities).zip(&self.mpmi) {
            known.note(self.noise.reading(mpmi) * 1000, 1_000_000_000, S);
            (thread.mpmi, thread.memory) = (known.planned_mpmi(), known.class() as u8);
        }
        let (threads, now_ns) = (&mut self.threads, self.second * S);
        let moves = match self.plan {
            Plan::Spread => self.planner.spread(threads, &self.domains, now_ns),
            Plan::Gather => self.planner.gather(threads, &self.domains, POWER, now_ns),
        };
        for thread in threads {
            thread.domain = thread.wanted_domain;
        }
        moves
    }
    /// The largest sum of a domain, in tenths of the mean sum.
    fn largest(&self) -> u64 {
        let sum = |domain: i32| {
            let all = self.threads.iter().zip(&self.mpmi);
            all.filter(|(thread, _)| thread.domain == domain)
                .map(|(_, mpmi)| mpmi)
                .sum::<u64>()
        };
        let largest = (0..self.domains.len() as i32).map(sum).max().unwrap();
        largest * 10 * self.domains.len() as u64 / self.mpmi.iter().sum::<u64>()
    }
}

/// With noise of 20 % on constant work, fewer than 0.1 moves per thread in two seconds. Before moves had a price `spread`
/// made 0.43, 0.62 and 0.75 on 8, 16 and 32 domains of four cores, `gather` 0.33, 0.49 and 0.66.
#[test]
fn threads_stay_where_they_are_while_their_work_does_not_change() {
    for plan in [Plan::Spread, Plan::Gather] {
        for (domains, cores) in [(2, 4), (8, 4), (16, 4), (32, 4), (8, 16), (32, 16)] {
            for seed in 1..=3 {
                let mut machine = Machine::new(plan, domains, cores, seed);
                machine.plan();
                let moves: u32 = (1..100).map(|_| machine.plan()).sum();
                let per_thread = 2.0 * f64::from(moves) / 99.0 / machine.threads.len() as f64;
                assert!(
                    per_thread < 0.1,
                    "{domains} domains of {cores}, seed {seed}: {per_thread}"
                );
                assert!(
                    plan == Plan::Gather || machine.largest() <= 14,
                    "{domains} domains of {cores}: {}",
                    machine.largest()
                );
            }
        }
    }
}

/// The threads of one domain of eight become the most intensive of all. Two plans later no domain has more than a third
/// more than its share, and threads of other domains were exchanged with these alone.
#[test]
fn a_real_change_is_followed_within_two_plans() {
    for seed in 1..=3 {
        let mut machine = Machine::new(Plan::Spread, 8, 4, seed);
        machine.mpmi.fill(2_000);
        for _ in 0..20 {
            machine.plan();
        }
        let changed = machine.threads[0].domain;
        for (thread, mpmi) in machine.threads.iter().zip(&mut machine.mpmi) {
            *mpmi = if thread.domain == changed { 30_000 } else { 2_000 };
        }
        assert_eq!(machine.largest(), 54, "120 of 176 in one of eight domains");
        let moves = machine.plan() + machine.plan();
        assert!(machine.largest() <= 17, "seed {seed}: {}", machine.largest());
        assert!((6..=12).contains(&moves), "three exchanges, or some more: {moves}");
    }
}

/// Gather: of 16 threads on two nodes, eight become intensive. The prediction falls by far more than chance.
#[test]
fn gather_opens_a_node_within_two_plans_of_a_real_change() {
    for seed in 1..=3 {
        let mut machine = Machine::new(Plan::Gather, 4, 4, seed);
        machine.mpmi.truncate(8);
        machine.threads.truncate(8);
        machine.mpmi.fill(40);
        for _ in 0..20 {
            machine.plan();
        }
        let used = |machine: &Machine| {
            (0..4)
                .filter(|&d| machine.threads.iter().any(|t| t.domain == d))
                .count()
        };
        assert_eq!(used(&machine), 2, "eight threads on two domains of four");
        machine.mpmi.fill(30_000);
        assert!(machine.plan() + machine.plan() > 0);
        assert_eq!(used(&machine), 4, "seed {seed}");
        assert!(machine.threads.iter().all(|thread| thread.domain != NONE));
    }
}
