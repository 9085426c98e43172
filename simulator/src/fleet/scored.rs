// SPDX-License-Identifier: MIT OR Apache-2.0
//! The baselines: each machine gets a score from what Kubernetes knows of it, and in the machine an application gets the domain with most idle cores,
//! as the kernel does with what is new.
//!
//! A machine that is off is no candidate while one that is on fits: an autoscaler wakes one for what cannot be scheduled.

use super::model::Model;
use super::Fleet;

#[derive(Debug, Clone, Copy)]
pub(super) enum Score {
    LeastAllocated,
    MostAllocated,
    PowerOnly,
}

#[derive(Debug, Clone)]
pub(super) struct Scored {
    by: Score,
    models: Vec<Model>,
    off_w: f64,
    machines: Vec<Machine>,
    /// Idle cores by domain.
    idle: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Machine {
    model: usize,
    domains: std::ops::Range<usize>,
    busy: u32,
    /// Of the domain that has most.
    most_idle: u32,
    off: bool,
}

impl Scored {
    pub fn new(by: Score, fleet: &Fleet) -> Self {
        let mut idle = Vec::new();
        let machines = fleet.machines().map(|(model, about)| {
            let first = idle.len();
            idle.extend(&about.domains);
            Machine {
                model,
                domains: first..idle.len(),
                busy: 0,
                most_idle: about.domains.iter().copied().max().unwrap_or(0),
                off: false,
            }
        });
        let machines = machines.collect();
        Self {
            by,
            models: fleet.models.clone(),
            off_w: fleet.setup.off_w,
            machines,
            idle,
        }
    }

    /// The number of a domain; `None`: it fits into none. Of equals the first.
    pub fn place(&self, cores: u32) -> Option<u32> {
        let mut best: Option<((bool, i64), usize)> = None;
        for (number, machine) in self.machines.iter().enumerate() {
            if machine.most_idle < cores {
                continue;
            }
            let score = (!machine.off, self.score(machine, cores));
            if best.is_none_or(|(other, _)| score > other) {
                best = Some((score, number));
            }
        }
        let (_, number) = best?;
        let machine = &self.machines[number];
        let domain = machine
            .domains
            .clone()
            .find(|&domain| self.idle[domain] == machine.most_idle);
        domain.map(|domain| domain as u32)
    }

    /// Whole per cent, as in kube-scheduler; or how many uW less than none the power of the machine grows by, where one without applications counts as
    /// one that will be off.
    fn score(&self, machine: &Machine, cores: u32) -> i64 {
        let model = &self.models[machine.model];
        let busy = machine.busy + cores;
        match self.by {
            Score::LeastAllocated => i64::from((model.cores() - busy) * 100 / model.cores()),
            Score::MostAllocated => i64::from(busy * 100 / model.cores()),
            Score::PowerOnly => {
                let before = if machine.busy == 0 {
                    self.off_w
                } else {
                    model.power_w(machine.busy)
                };
                ((before - model.power_w(busy)) * 1e6).round() as i64
            }
        }
    }

    /// `cores` may be negative: an application leaves. `machine`: that of the domain.
    pub fn change(&mut self, machine: u32, domain: u32, cores: i64) {
        let machine = &mut self.machines[machine as usize];
        let changed = |count: u32, by: i64| u32::try_from(i64::from(count) + by).expect("an application leaves once");
        machine.busy = changed(machine.busy, cores);
        machine.off = false;
        self.idle[domain as usize] = changed(self.idle[domain as usize], -cores);
        machine.most_idle = self.idle[machine.domains.clone()].iter().copied().max().unwrap_or(0);
    }

    pub fn set_off(&mut self, machine: u32) {
        self.machines[machine as usize].off = true;
    }
}
