// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contention in a memory domain: tasks share its cache and its bandwidth.
//!
//! ```text
//! t_i    = CPI0_i / F + MPKI_i * infl_i / 1000 * lat / MLP_i            time per instruction
//! lat    = lat_0 * (1 + 0.5 * rho^2 / (1 - rho))                        rho = traffic / bandwidth
//! infl_i = 1 + s_i * O_i / (O_i + 10)                                   O_i = sum of the others' MPKI
//! ```
//!
//! Traffic is a cache line for each miss. Faster tasks make more traffic, which makes misses slower, so rho is a fixed point. It is unique: latency
//! grows with rho, so the traffic that tasks make at a given rho falls as rho grows.

use crate::workload::MemoryUse;
use lop_machine::Memory;

/// Bytes of a cache line.
const LINE_BYTES: f64 = 64.0;
/// The others' MPKI at which a task's misses have grown by half of what they can grow by.
const HALF_INFLATION_MPKI: f64 = 10.0;
/// Lower limit of 1 - rho, as latency is infinite at 0. No machine and workload within the ranges of their files comes near it.
const LEAST_FREE: f64 = 1e-12;
/// Most steps of Newton's method: enough to bisect the interval down to its lower limit and converge from there.
const MAX_STEPS: usize = 64;
/// Newton's method ends at a step this small, relative to its result.
const LEAST_STEP: f64 = 1e-15;

/// The load of a running task on its memory domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Demand {
    /// CPI0 / F, where it runs. F: [`lop_machine::Kind::equal_khz`].
    compute_ns: f64,
    mpki: f64,
    mlp: f64,
    cache_sensitivity: f64,
    /// Share of its core's throughput that it gets beside its SMT siblings.
    core_share: f64,
}

/// Time of an instruction beside the others in the domain, on a core of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    pub compute_ns: f64,
    pub wait_ns: f64,
}

impl Cost {
    pub fn total_ns(self) -> f64 {
        self.compute_ns + self.wait_ns
    }
}

impl Demand {
    pub fn new(memory_use: &MemoryUse, khz: f64, core_share: f64) -> Self {
        Self {
            compute_ns: memory_use.compute_ns(khz),
            mpki: memory_use.mpki,
            mlp: memory_use.mlp,
            cache_sensitivity: memory_use.cache_sensitivity,
            core_share,
        }
    }

    /// Misses per instruction beside others with `others_mpki` in total.
    fn misses(&self, others_mpki: f64) -> f64 {
        let inflation = 1.0 + self.cache_sensitivity * others_mpki / (others_mpki + HALF_INFLATION_MPKI);
        self.mpki * inflation / 1000.0
    }

    fn cost(&self, misses: f64, latency_ns: f64) -> Cost {
        Cost {
            compute_ns: self.compute_ns,
            wait_ns: misses * latency_ns / self.mlp,
        }
    }
}

/// Computes the costs of tasks that run in a domain together, in their order. Buffers are reused.
#[derive(Debug, Default, Clone)]
pub(crate) struct Solver {
    /// Misses per instruction of each demand.
    pub misses: Vec<f64>,
    pub costs: Vec<Cost>,
}

impl Solver {
    pub fn alone(&mut self, memory: &Memory, demand: Demand) -> Cost {
        self.solve(memory, &[demand]);
        self.costs[0]
    }

    pub fn solve(&mut self, memory: &Memory, demands: &[Demand]) {
        // Never negative, and 0 for a task alone, as a rounded sum is never below one of its parts.
        let total_mpki: f64 = demands.iter().map(|demand| demand.mpki).sum();
        let misses = demands.iter().map(|demand| demand.misses(total_mpki - demand.mpki));
        self.misses.clear();
        self.misses.extend(misses);
        let latency_ns = self.latency_ns(memory, demands);
        let both = demands.iter().zip(&self.misses);
        self.costs.clear();
        self.costs
            .extend(both.map(|(demand, &misses)| demand.cost(misses, latency_ns)));
    }

    fn latency_ns(&self, memory: &Memory, demands: &[Demand]) -> f64 {
        match memory.bandwidth_mb_s {
            Some(mb_s) => {
                // MB/s to bytes per ns.
                let free = self.free(memory.latency_ns, mb_s / 1000.0, demands);
                memory.latency_ns * queueing(free).0
            }
            None => memory.latency_ns,
        }
    }

    /// Solves for 1 - rho, which is more exact than rho when bandwidth is nearly used up: Newton's method, with bisection where a step would leave the
    /// interval.
    fn free(&self, latency_ns: f64, bytes_per_ns: f64, demands: &[Demand]) -> f64 {
        let (mut low, mut high) = (LEAST_FREE, 1.0);
        let mut free = 1.0;
        for _ in 0..MAX_STEPS {
            let (excess, slope) = self.excess(free, latency_ns, bytes_per_ns, demands);
            if excess > 0.0 {
                high = free;
            } else {
                low = free;
            }
            let newton = free - excess / slope;
            let next = if (low..=high).contains(&newton) {
                newton
            } else {
                (low + high) / 2.0
            };
            let step = (next - free).abs();
            free = next;
            if step <= LEAST_STEP * free {
                break;
            }
        }
        free
    }

    /// Traffic over bandwidth minus rho at this 1 - rho, and its slope, which is at least 1.
    fn excess(&self, free: f64, latency_ns: f64, bytes_per_ns: f64, demands: &[Demand]) -> (f64, f64) {
        let (growth, growth_slope) = queueing(free);
        let (mut traffic, mut traffic_slope) = (0.0, 0.0);
        for (demand, &misses) in demands.iter().zip(&self.misses) {
            let total_ns = demand.cost(misses, latency_ns * growth).total_ns();
            let bytes = LINE_BYTES * misses * demand.core_share / total_ns;
            traffic += bytes;
            traffic_slope -= bytes / total_ns * misses / demand.mlp * latency_ns * growth_slope;
        }
        (
            traffic / bytes_per_ns - (1.0 - free),
            traffic_slope / bytes_per_ns + 1.0,
        )
    }
}

/// Least bytes that an instruction moves: a cache line for each miss that it has when alone.
pub(crate) fn least_bytes(memory_use: &MemoryUse) -> f64 {
    LINE_BYTES * memory_use.mpki / 1000.0
}

/// Latency over that of an idle memory, 1 + 0.5 rho^2 / (1 - rho), and its derivative with respect to 1 - rho,
/// -0.5 (1 - (1 - rho)^2) / (1 - rho)^2.
fn queueing(free: f64) -> (f64, f64) {
    let rho = 1.0 - free;
    (1.0 + 0.5 * rho * rho / free, -0.5 * rho * (1.0 + free) / (free * free))
}

#[cfg(test)]
mod tests;
