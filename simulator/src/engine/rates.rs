//! How fast work goes: by class of work (memory share), kind of core, operating point and busy SMT siblings.

use lop_machine::Machine;

/// Precomputed `Kind::rate`: work per ns.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    /// [class][kind][opp]
    rate: Vec<Vec<Vec<f64>>>,
    /// By kind, by number of busy CPUs on the core (from 1): share of the rate that each of them gets.
    smt_share: Vec<Vec<f64>>,
    pub memory_shares: Vec<f64>,
}

impl Rates {
    pub fn new(machine: &Machine, memory_shares: &[f64]) -> Self {
        let shares = if memory_shares.is_empty() { vec![0.0] } else { memory_shares.to_vec() };
        let by_kind = |m: f64| {
            let rates = |kind: &lop_machine::Kind| (0..kind.opps.len()).map(|opp| kind.rate(opp, m)).collect();
            machine.kinds.iter().map(rates).collect()
        };
        let threads = crate::power::threads_per_core(machine);
        // Throughput grows evenly from 1 with one busy CPU to `smt_speedup` with all.
        let share = |kind: &lop_machine::Kind, busy: usize| {
            let step = (kind.smt_speedup - 1.0) / (threads.max(2) - 1) as f64;
            (1.0 + step * (busy - 1) as f64) / busy as f64
        };
        let smt_share = machine.kinds.iter().map(|kind| (1..=threads).map(|busy| share(kind, busy)).collect()).collect();
        Self { rate: shares.iter().map(|&m| by_kind(m)).collect(), smt_share, memory_shares: shares }
    }
    pub fn rate(&self, class: u16, kind: usize, opp: usize, busy_on_core: usize) -> f64 {
        self.rate[usize::from(class)][kind][opp] * self.smt_share[kind][busy_on_core.max(1) - 1]
    }
    /// Rate at `opp` over the rate at the highest OPP.
    pub fn relative(&self, class: u16, kind: usize, opp: usize) -> f64 {
        let rates = &self.rate[usize::from(class)][kind];
        rates[opp] / rates[rates.len() - 1]
    }
    /// The highest rate that this class reaches anywhere on the machine, one CPU busy on the core.
    pub fn best(&self, class: u16) -> f64 {
        self.rate[usize::from(class)].iter().flatten().copied().fold(0.0, f64::max)
    }
}
