// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed limits by the number of busy cores.
//!
//! ```text
//! limit of a clock domain = min over the kinds of its cores, in their sockets: highest frequency with so many of these cores busy
//! ```
//!
//! It holds for idle cores too, as they would hold the voltage up.

use crate::clocks::Clocks;
use lop_machine::{Cpu, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// Cores of one kind of the hardware in one socket.
#[derive(Debug, Default)]
struct Group {
    /// More than one where `max_mhz` holds some of these cores.
    kinds: BTreeSet<usize>,
    /// Clock domains with any of these cores.
    domains: BTreeSet<usize>,
    busy: usize,
}

#[derive(Debug)]
pub(super) struct Turbo<'a> {
    machine: &'a Machine,
    /// Empty if no kind has a limit.
    groups: Vec<Group>,
    group_of_core: Vec<usize>,
    /// By clock domain: groups and kinds of its cores.
    places: Vec<BTreeSet<(usize, usize)>>,
}

impl<'a> Turbo<'a> {
    pub fn new(machine: &'a Machine) -> Self {
        let mut turbo = Self {
            machine,
            groups: Vec::new(),
            group_of_core: vec![0; machine.nr_cores],
            places: vec![BTreeSet::new(); machine.nr_clock_domains],
        };
        if machine.kinds.iter().any(|kind| !kind.turbo.is_empty()) {
            turbo.number_groups();
        }
        turbo
    }

    fn number_groups(&mut self) {
        let key = |cpu: &Cpu| (cpu.socket, self.machine.kinds[usize::from(cpu.kind)].hardware);
        let keys = BTreeSet::from_iter(self.machine.cpus.iter().map(key));
        let numbers: BTreeMap<_, _> = keys.into_iter().zip(0..).collect();
        self.groups.resize_with(numbers.len(), Group::default);
        for cpu in &self.machine.cpus {
            let (number, kind, domain) = (numbers[&key(cpu)], usize::from(cpu.kind), usize::from(cpu.clock_domain));
            self.group_of_core[usize::from(cpu.core)] = number;
            self.places[domain].insert((number, kind));
            self.groups[number].kinds.insert(kind);
            self.groups[number].domains.insert(domain);
        }
    }

    /// Frequency index that a clock domain may reach.
    pub fn limit(&self, domain: usize, clocks: &Clocks) -> usize {
        let about = &clocks.domains[domain];
        let of_place = |&(group, kind): &(usize, usize)| {
            let kind = &self.machine.kinds[kind];
            match kind.turbo.is_empty() {
                true => about.top(),
                false => about.at_most(kind.opps[kind.top_opp(self.groups[group].busy)].khz),
            }
        };
        self.places[domain].iter().map(of_place).min().unwrap_or(about.top())
    }

    /// A core became busy or idle. Returns the clock domains whose limit this changes.
    pub fn core_changes(&mut self, core: usize, busy: bool) -> Vec<usize> {
        let Some(group) = self.groups.get_mut(self.group_of_core[core]) else {
            return Vec::new();
        };
        let before = group.busy;
        group.busy = if busy { before + 1 } else { before - 1 };
        let kinds = group.kinds.iter().map(|&kind| &self.machine.kinds[kind]);
        let changes = kinds.map(|kind| kind.top_opp(before) != kind.top_opp(group.busy));
        match changes.into_iter().any(|changes| changes) {
            true => group.domains.iter().copied().collect(),
            false => Vec::new(),
        }
    }
}
