// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates of work, by class of work (memory share or use), kind of core, operating point and number of busy SMT siblings.

use crate::contention::{least_bytes, Cost, Demand, Solver};
use crate::workload::memory::reference_ns;
use crate::workload::{MemoryUse, Workload};
use lop_machine::{Kind, Machine, Memory};

/// Precomputed work per ns, in flat tables, as the engine reads them at every event. For classes that contend for memory they hold the rates of a
/// task that is alone in its memory domain.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    nr_kinds: usize,
    /// Largest number of OPPs of a kind, and of CPUs on a core.
    nr_opps: usize,
    nr_threads: usize,
    /// [class][kind][opp][busy CPUs on the core - 1]: rate of each of them.
    rate: Vec<f64>,
    /// [class][kind][opp]: rate over that at the kind's highest OPP.
    relative: Vec<f64>,
    /// By class: work per ns alone on the core that is fastest for it.
    fastest: Vec<f64>,
    /// By class; for one that contends, the largest over kinds of cores.
    pub memory_shares: Vec<f64>,
    /// [class][kind], empty for classes that do not contend on this machine.
    alone: Vec<Vec<Alone>>,
    /// By class, see `counted()`.
    counted: Vec<(f64, f64)>,
    /// [kind][busy CPUs on the core - 1]: share of the core's throughput that each of them gets.
    core_shares: Vec<f64>,
}

/// A class that contends, alone in its memory domain, on a kind of core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alone {
    /// Time of an instruction on the fastest kind at its rated frequency, the measure of work.
    pub instruction_ns: f64,
    /// Time that an instruction waits for misses, over `instruction_ns`: the least over OPPs and numbers of busy siblings.
    pub least_share: f64,
    /// Least bytes that an instruction moves.
    pub least_bytes: f64,
}

/// Share of a core's rate that each of its `busy` CPUs gets: throughput grows evenly from 1 with one busy CPU to
/// `smt_speedup` with all.
fn smt_share(kind: &Kind, threads: usize, busy: usize) -> f64 {
    let step = (kind.smt_speedup - 1.0) / (threads.max(2) - 1) as f64;
    (1.0 + step * (busy - 1) as f64) / busy as f64
}

/// Work is measured alone on the fastest kind at its rated frequency, where an instruction takes `instruction_ns`. Where one costs more,
///
/// ```text
/// rate = speed of the fastest kind * share of the core * instruction_ns / cost
/// ```
pub(super) fn work_per_ns(kind: &Kind, core_share: f64, instruction_ns: f64, cost: Cost) -> f64 {
    kind.fastest.speed * core_share * (instruction_ns / cost.total_ns())
}

fn counted(workload: &Workload, class: usize) -> (f64, f64) {
    let of_use = |memory_use| (1.0 / reference_ns(memory_use), memory_use.mpki / 1000.0);
    workload.memory_uses.get(&(class as u16)).map_or((0.0, 0.0), of_use)
}

impl Rates {
    pub fn new(machine: &Machine, workload: &Workload) -> Self {
        let shares = if workload.memory_shares.is_empty() {
            vec![0.0]
        } else {
            workload.memory_shares.clone()
        };
        let nr_opps = machine.kinds.iter().map(|kind| kind.opps.len()).max().unwrap_or(1);
        let threads = crate::power::threads_per_core(machine);
        let places = shares.len() * machine.kinds.len() * nr_opps;
        let core_share = |kind| (1..=threads).map(move |busy| smt_share(kind, threads, busy));
        let mut rates = Self {
            nr_kinds: machine.kinds.len(),
            nr_opps,
            nr_threads: threads,
            rate: vec![0.0; places * threads],
            relative: vec![0.0; places],
            fastest: Vec::new(),
            alone: vec![Vec::new(); shares.len()],
            counted: (0..shares.len()).map(|class| counted(workload, class)).collect(),
            memory_shares: shares,
            core_shares: machine.kinds.iter().flat_map(core_share).collect(),
        };
        for class in 0..rates.memory_shares.len() {
            match machine.memory.as_ref().zip(workload.memory_uses.get(&(class as u16))) {
                Some((memory, memory_use)) => rates.fill_contending(class, machine, memory, memory_use),
                None => {
                    for (number, kind) in machine.kinds.iter().enumerate() {
                        rates.fill(class, number, kind);
                    }
                }
            }
        }
        rates.fastest = (0..rates.alone.len())
            .map(|class| rates.fastest_of(class, machine))
            .collect();
        rates
    }
    fn fastest_of(&self, class: usize, machine: &Machine) -> f64 {
        let at_top = |(number, kind): (usize, &Kind)| self.rate(class as u16, number, kind.opps.len() - 1, 1);
        machine.kinds.iter().enumerate().map(at_top).fold(0.0, f64::max)
    }
    fn fill(&mut self, class: usize, number: usize, kind: &Kind) {
        let memory_share = self.memory_shares[class];
        let top = kind.rate(kind.opps.len() - 1, memory_share);
        for opp in 0..kind.opps.len() {
            let rate = kind.rate(opp, memory_share);
            let place = self.place(class as u16, number, opp);
            self.relative[place] = rate / top;
            for busy in 1..=self.nr_threads {
                self.rate[place * self.nr_threads + busy - 1] = rate * self.core_share(number, busy);
            }
        }
    }
    fn fill_contending(&mut self, class: usize, machine: &Machine, memory: &Memory, memory_use: &MemoryUse) {
        self.memory_shares[class] = 0.0;
        for (number, kind) in machine.kinds.iter().enumerate() {
            let mut solver = Solver::default();
            let mut cost = |khz, core_share| solver.alone(memory, Demand::new(memory_use, khz, core_share));
            let rated = cost(kind.fastest.khz as f64, 1.0);
            let instruction_ns = rated.total_ns();
            let top_ns = cost(kind.equal_khz(kind.opps.len() - 1), 1.0).total_ns();
            let mut least_share = f64::INFINITY;
            for opp in 0..kind.opps.len() {
                let (place, khz) = (self.place(class as u16, number, opp), kind.equal_khz(opp));
                self.relative[place] = top_ns / cost(khz, 1.0).total_ns();
                for busy in 1..=self.nr_threads {
                    let cost = cost(khz, self.core_share(number, busy));
                    least_share = least_share.min(cost.wait_ns / instruction_ns);
                    self.rate[place * self.nr_threads + busy - 1] =
                        work_per_ns(kind, self.core_share(number, busy), instruction_ns, cost);
                }
            }
            self.memory_shares[class] = self.memory_shares[class].max(rated.wait_ns / instruction_ns);
            self.alone[class].push(Alone {
                instruction_ns,
                least_share,
                least_bytes: least_bytes(memory_use),
            });
        }
    }
    fn place(&self, class: u16, kind: usize, opp: usize) -> usize {
        (usize::from(class) * self.nr_kinds + kind) * self.nr_opps + opp
    }
    pub fn rate(&self, class: u16, kind: usize, opp: usize, busy_on_core: usize) -> f64 {
        self.rate[self.place(class, kind, opp) * self.nr_threads + busy_on_core.max(1) - 1]
    }
    pub fn core_share(&self, kind: usize, busy_on_core: usize) -> f64 {
        self.core_shares[kind * self.nr_threads + busy_on_core.max(1) - 1]
    }
    /// What hardware counters show of work that does not contend: instructions per ns of work, and misses per instruction. 0 for a class of
    /// which only the share is known for which it waits.
    pub fn counted(&self, class: u16) -> (f64, f64) {
        self.counted[usize::from(class)]
    }
    /// `None`: the class does not contend on this machine.
    pub fn alone(&self, class: u16, kind: usize) -> Option<&Alone> {
        self.alone[usize::from(class)].get(kind)
    }
    /// Work per ns on the core that is fastest for this class.
    pub fn fastest(&self, class: u16) -> f64 {
        self.fastest[usize::from(class)]
    }
    /// Rate at `opp` over the rate at the highest OPP.
    pub fn relative(&self, class: u16, kind: usize, opp: usize) -> f64 {
        self.relative[self.place(class, kind, opp)]
    }
}
