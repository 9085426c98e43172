// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a fleet needs of a machine: memory domains, watts by busy cores, and how fast applications run beside one another.

use crate::contention::{Demand, Solver};
use crate::workload::{memory, MemoryUse};
use lop_machine::{steady_power_w, Activity, CoreState, Kind, Machine, Memory};

#[derive(Debug, Clone)]
pub(super) struct Model {
    /// With the donor of its watts.
    pub title: String,
    pub donor: Option<String>,
    /// Cores of each memory domain. An application's core is a whole one, without SMT.
    pub domains: Vec<u32>,
    /// By number of busy cores, W; cores are taken in order of number.
    power_w: Vec<f64>,
    /// Of it what neither cores nor voltage domains draw, W.
    pub rest_w: f64,
    /// Added for each core that waits for memory, W.
    pub stall_w: f64,
    kind: Kind,
    /// That of a machine whose cores are all busy.
    opp: usize,
    memory: Option<Memory>,
}

/// How an application runs beside others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    /// Work of each of its cores per ns, in ns of the reference core.
    pub rate: f64,
    /// Share of their time for which its cores wait for memory.
    pub waits: f64,
}

impl Model {
    pub fn new(machine: &Machine) -> Result<Self, String> {
        let [kind] = machine.kinds.as_slice() else {
            let kinds: Vec<&str> = machine.kinds.iter().map(|kind| kind.name.as_str()).collect();
            return Err(format!(
                "machine '{}' has cores of several kinds ({}), which a fleet does not model; choose another",
                machine.name,
                kinds.join(", ")
            ));
        };
        let opp = kind.top_opp(usize::MAX);
        let idle = CoreState {
            opp: 0,
            activity: Activity::Idle(kind.idle_states.len() - 1),
        };
        let busy = CoreState {
            opp,
            activity: Activity::Busy(1),
        };
        let power_w = (0..=machine.nr_cores).map(|nr_busy| {
            let cores: Vec<CoreState> = (0..machine.nr_cores)
                .map(|core| if core < nr_busy { busy } else { idle })
                .collect();
            steady_power_w(machine, &cores)
        });
        Ok(Self {
            title: machine.title(),
            donor: machine.foreign_watts().map(str::to_string),
            domains: cores_of_domains(machine),
            power_w: power_w.collect(),
            rest_w: (machine.base_uw + machine.dram.idle_uw) as f64 / 1e6,
            stall_w: machine.dram.stall_uw as f64 / 1e6,
            kind: kind.clone(),
            opp,
            memory: machine.memory,
        })
    }

    pub fn cores(&self) -> u32 {
        self.power_w.len() as u32 - 1
    }

    /// With so many cores busy, none of them waiting for memory.
    pub fn power_w(&self, busy: u32) -> f64 {
        self.power_w[busy as usize]
    }

    /// Work that all cores do in a second, in s of the reference core.
    pub fn capacity(&self) -> f64 {
        self.kind.speed * f64::from(self.cores())
    }

    /// Least watts that a busy core adds to a machine that is off otherwise: min over n of (P(n) - off) / n.
    pub fn least_w_per_core(&self, off_w: f64) -> f64 {
        let each = (1..=self.cores()).map(|busy| (self.power_w(busy) - off_w) / f64::from(busy));
        each.fold(f64::INFINITY, f64::min)
    }

    /// Applications that share a memory domain, by their use of memory and cores, each core with a thread. In their order.
    pub fn paces(&self, solver: &mut Solver, sharing: &[(&MemoryUse, u32)], paces: &mut Vec<Pace>) {
        paces.clear();
        let Some(memory) = &self.memory else {
            paces.extend(
                sharing
                    .iter()
                    .map(|(memory_use, _)| self.pace_without_contention(memory_use)),
            );
            return;
        };
        let khz = self.kind.equal_khz(self.opp);
        let alone = |memory_use: &&MemoryUse| Demand::new(memory_use, self.kind.fastest.khz as f64, 1.0);
        let rated: Vec<f64> = sharing
            .iter()
            .map(|(memory_use, _)| solver.alone(memory, alone(memory_use)).total_ns())
            .collect();
        let demands: Vec<Demand> = sharing
            .iter()
            .flat_map(|(memory_use, cores)| (0..*cores).map(move |_| Demand::new(memory_use, khz, 1.0)))
            .collect();
        solver.solve(memory, &demands);
        let mut core = 0;
        for ((_, cores), rated_ns) in sharing.iter().zip(rated) {
            let cost = solver.costs[core];
            paces.push(Pace {
                rate: self.kind.fastest.speed * rated_ns / cost.total_ns(),
                waits: cost.wait_ns / cost.total_ns(),
            });
            core += *cores as usize;
        }
    }

    /// On a machine that says nothing of its memory.
    fn pace_without_contention(&self, memory_use: &MemoryUse) -> Pace {
        let share = memory::reference_share(memory_use);
        let rate = self.kind.rate(self.opp, share);
        Pace {
            rate,
            waits: share * rate / self.kind.fastest.speed,
        }
    }

    /// In a memory domain of its own.
    pub fn alone(&self, memory_use: &MemoryUse, cores: u32) -> Pace {
        let mut paces = Vec::new();
        self.paces(&mut Solver::default(), &[(memory_use, cores)], &mut paces);
        paces[0]
    }
}

/// SMT siblings count once.
fn cores_of_domains(machine: &Machine) -> Vec<u32> {
    let mut counted = vec![false; machine.nr_cores];
    let mut cores = vec![0; machine.nr_memory_domains];
    for cpu in &machine.cpus {
        if !std::mem::replace(&mut counted[usize::from(cpu.core)], true) {
            cores[usize::from(cpu.memory_domain)] += 1;
        }
    }
    cores
}
