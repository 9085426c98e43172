//! How fast work goes: by class of work (memory share), kind of core, operating point and busy SMT siblings.

use lop_machine::{Kind, Machine};

/// Precomputed `Kind::rate`: work per ns. Flat tables, since the engine looks here at every event.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    nr_kinds: usize,
    /// Most OPPs of a kind, most CPUs of a core.
    nr_opps: usize,
    nr_threads: usize,
    /// [class][kind][opp][busy CPUs on the core - 1]: rate of each of them.
    rate: Vec<f64>,
    /// [class][kind][opp]: rate over that at the kind's highest OPP.
    relative: Vec<f64>,
    pub memory_shares: Vec<f64>,
}

/// Share of a core's rate that each of its `busy` CPUs gets: throughput grows evenly from 1 with one busy CPU to
/// `smt_speedup` with all.
fn smt_share(kind: &Kind, threads: usize, busy: usize) -> f64 {
    let step = (kind.smt_speedup - 1.0) / (threads.max(2) - 1) as f64;
    (1.0 + step * (busy - 1) as f64) / busy as f64
}

impl Rates {
    pub fn new(machine: &Machine, memory_shares: &[f64]) -> Self {
        let shares = if memory_shares.is_empty() {
            vec![0.0]
        } else {
            memory_shares.to_vec()
        };
        let nr_opps = machine.kinds.iter().map(|kind| kind.opps.len()).max().unwrap_or(1);
        let threads = crate::power::threads_per_core(machine);
        let places = shares.len() * machine.kinds.len() * nr_opps;
        let mut rates = Self {
            nr_kinds: machine.kinds.len(),
            nr_opps,
            nr_threads: threads,
            rate: vec![0.0; places * threads],
            relative: vec![0.0; places],
            memory_shares: shares,
        };
        for class in 0..rates.memory_shares.len() {
            for kind in 0..machine.kinds.len() {
                rates.fill(class, kind, &machine.kinds[kind]);
            }
        }
        rates
    }
    fn fill(&mut self, class: usize, number: usize, kind: &Kind) {
        let memory_share = self.memory_shares[class];
        let top = kind.rate(kind.opps.len() - 1, memory_share);
        for opp in 0..kind.opps.len() {
            let rate = kind.rate(opp, memory_share);
            let place = self.place(class as u16, number, opp);
            self.relative[place] = rate / top;
            for busy in 1..=self.nr_threads {
                self.rate[place * self.nr_threads + busy - 1] = rate * smt_share(kind, self.nr_threads, busy);
            }
        }
    }
    fn place(&self, class: u16, kind: usize, opp: usize) -> usize {
        (usize::from(class) * self.nr_kinds + kind) * self.nr_opps + opp
    }
    pub fn rate(&self, class: u16, kind: usize, opp: usize, busy_on_core: usize) -> f64 {
        self.rate[self.place(class, kind, opp) * self.nr_threads + busy_on_core.max(1) - 1]
    }
    /// Rate at `opp` over the rate at the highest OPP.
    pub fn relative(&self, class: u16, kind: usize, opp: usize) -> f64 {
        self.relative[self.place(class, kind, opp)]
    }
}
