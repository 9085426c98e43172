// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where an application goes by policy/domains/arrive.h, on a fleet that is too large to show the rule every domain for each arrival.
//!
//! Domains that are alike in all that the rule looks at (capacity, state of the machine, applications) fit equally well, and of equals it keeps the
//! first. So it is shown the first of each kind, in their order, and finds the place that it would find among all. A full domain fits nobody.

use lop_policy::{DomainLoad, Fit, NodeState, Thread};
use std::collections::{BTreeSet, HashMap};

#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    domains: Vec<Domain>,
    machines: Vec<Machine>,
    /// By what the rule looks at: which domains are alike in it. None is full.
    alike: HashMap<Seen, BTreeSet<u32>>,
    /// The first of each set.
    first: BTreeSet<u32>,
}

#[derive(Debug, Clone)]
struct Domain {
    machine: u32,
    load: DomainLoad,
    /// Most intensive first.
    there: Vec<Thread>,
}

#[derive(Debug, Clone)]
struct Machine {
    domains: std::ops::Range<u32>,
    applications: u32,
    off: bool,
}

/// Capacity, state of the machine, and what the rule knows of each application.
type Seen = (u32, u8, Vec<[u32; 3]>);

fn order(thread: &Thread) -> [u32; 3] {
    [u32::MAX - thread.mpmi, thread.demand_permille, thread.memory.into()]
}

impl Machine {
    fn state(&self) -> NodeState {
        match (self.off, self.applications) {
            (true, _) => NodeState::Off,
            (false, 0) => NodeState::Empty,
            _ => NodeState::Used,
        }
    }
}

impl Domain {
    fn seen(&self) -> Seen {
        (
            self.load.capacity_permille,
            self.load.node,
            self.there.iter().map(order).collect(),
        )
    }
    fn is_full(&self) -> bool {
        self.load.demand_permille >= self.load.capacity_permille
    }
}

impl Places {
    /// An empty machine that is on. Its domains get the next numbers.
    pub fn add_machine(&mut self, cores: &[u32]) {
        let first = self.domains.len() as u32;
        self.machines.push(Machine {
            domains: first..first + cores.len() as u32,
            applications: 0,
            off: false,
        });
        for (number, cores) in (first..).zip(cores) {
            self.domains.push(Domain {
                machine: self.machines.len() as u32 - 1,
                load: DomainLoad::of(1000 * cores, NodeState::Empty, &[]),
                there: Vec::new(),
            });
            self.list(number);
        }
    }

    /// The number of a domain; `None`: it fits into none.
    pub fn place(&self, arrives: &Thread) -> Option<u32> {
        best(self.first.iter().copied(), &self.domains, arrives)
    }

    /// A machine that is off is on from now on.
    pub fn add(&mut self, number: u32, thread: Thread) {
        let machine = self.domains[number as usize].machine;
        self.change(machine, |machine| {
            machine.off = false;
            machine.applications += 1;
        });
        self.change_domain(number, |there| {
            let at = there.partition_point(|other| order(other) < order(&thread));
            there.insert(at, thread);
        });
    }

    /// An application that was added there.
    pub fn remove(&mut self, number: u32, thread: &Thread) {
        self.change_domain(number, |there| {
            let at = there.partition_point(|other| order(other) < order(thread));
            assert_eq!(order(&there.remove(at)), order(thread));
        });
        let machine = self.domains[number as usize].machine;
        self.change(machine, |machine| machine.applications -= 1);
    }

    pub fn set_off(&mut self, machine: u32, off: bool) {
        self.change(machine, |machine| machine.off = off);
    }

    /// The state of a machine is seen at each of its domains.
    fn change(&mut self, number: u32, change: impl FnOnce(&mut Machine)) {
        let machine = &mut self.machines[number as usize];
        let before = machine.state();
        change(machine);
        let (state, domains) = (machine.state(), machine.domains.clone());
        if state == before {
            return;
        }
        for domain in domains {
            self.unlist(domain);
            self.domains[domain as usize].load.node = state as u8;
            self.list(domain);
        }
    }

    fn change_domain(&mut self, number: u32, change: impl FnOnce(&mut Vec<Thread>)) {
        self.unlist(number);
        let domain = &mut self.domains[number as usize];
        change(&mut domain.there);
        let state = self.machines[domain.machine as usize].state();
        domain.load = DomainLoad::of(domain.load.capacity_permille, state, &domain.there);
        self.list(number);
    }

    fn list(&mut self, number: u32) {
        let domain = &self.domains[number as usize];
        if domain.is_full() {
            return;
        }
        let alike = self.alike.entry(domain.seen()).or_default();
        match alike.first().copied() {
            Some(first) if first < number => {}
            first => {
                first.map(|first| self.first.remove(&first));
                self.first.insert(number);
            }
        }
        alike.insert(number);
    }

    fn unlist(&mut self, number: u32) {
        let seen = self.domains[number as usize].seen();
        let Some(alike) = self.alike.get_mut(&seen) else {
            return;
        };
        alike.remove(&number);
        if self.first.remove(&number) {
            match alike.first() {
                Some(&next) => self.first.insert(next),
                None => self.alike.remove(&seen).is_some(),
            };
        }
    }
}

/// Of these domains, the one that the rule keeps.
fn best(numbers: impl Iterator<Item = u32>, domains: &[Domain], arrives: &Thread) -> Option<u32> {
    let mut best = Fit::default();
    let mut found = None;
    for number in numbers {
        let domain = &domains[number as usize];
        if best.is_bettered_by(&domain.load, &domain.there, arrives) {
            found = Some(number);
        }
    }
    found
}

#[cfg(test)]
mod tests;
