// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that the user slowed down form kinds of their own.

use super::{LiveMachine, MAX_TIERS};
use std::collections::BTreeMap;

/// The kind as read, and the share of its speed that is left, x 1000.
type Kind = (u16, u16);

/// The kind of each CPU, 0 being the fastest, and its speed relative to the fastest, x 1000. Each input is a CPU's kind and speed as read, x 1000,
/// and the share of that speed that is left, x 1000. If no CPU is slowed, the kinds stay the same.
#[must_use]
pub fn kinds_of(cpus: &[(u16, u16, u16)]) -> Vec<(u16, u16)> {
    let left = |&(_, permille, share): &(u16, u16, u16)| u32::from(permille) * u32::from(share) / 1000;
    let fastest = cpus.iter().map(left).max().unwrap_or(1).max(1);
    let mut kinds: Vec<(u32, Kind)> = cpus.iter().map(|cpu| (left(cpu), (cpu.0, cpu.2))).collect();
    kinds.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut order: Vec<Kind> = Vec::new();
    for (_, kind) in kinds {
        if !order.contains(&kind) {
            order.push(kind);
        }
    }
    let tier = |cpu: &(u16, u16, u16)| order.iter().position(|kind| *kind == (cpu.0, cpu.2)).unwrap_or(0);
    cpus.iter()
        .map(|cpu| (tier(cpu).min(MAX_TIERS - 1) as u16, (left(cpu) * 1000 / fastest) as u16))
        .collect()
}

impl LiveMachine {
    /// The same machine with some CPUs slowed down: by number, the share of its speed that each has left, x 1000.
    #[must_use]
    pub fn slowed(mut self, left: &BTreeMap<u32, u16>) -> Self {
        let left = |number: u32| left.get(&number).copied().unwrap_or(1000);
        let as_read: Vec<_> = (self.cpus.iter())
            .map(|cpu| (cpu.tier, cpu.permille(), left(cpu.number)))
            .collect();
        if as_read.iter().all(|cpu| cpu.2 == 1000) {
            return self;
        }
        for (cpu, (tier, permille)) in self.cpus.iter_mut().zip(kinds_of(&as_read)) {
            cpu.tier = tier;
            cpu.capacity = (u32::from(permille) * 1024 / 1000).max(1);
            let share = left(cpu.number);
            if share != 1000 {
                let percent = f64::from(share) / 10.0;
                self.notes.push(format!(
                    "CPU {} has {percent} % of its speed (lop amp): a kind of its own.",
                    cpu.number
                ));
            }
        }
        self.nr_tiers = self.cpus.iter().map(|cpu| cpu.tier + 1).max().unwrap_or(1);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kinds, 1000 and 600. One of the fast CPUs at half its speed is slower than the slow ones; at 0.8 it is between them.
    #[test]
    fn who_was_slowed_is_a_kind_in_the_order_of_speed() {
        let machine = |share| [(0, 1000, 1000), (0, 1000, share), (1, 600, 1000)];
        assert_eq!(kinds_of(&machine(1000)), [(0, 1000), (0, 1000), (1, 600)]);
        assert_eq!(kinds_of(&machine(500)), [(0, 1000), (2, 500), (1, 600)]);
        assert_eq!(kinds_of(&machine(800)), [(0, 1000), (1, 800), (2, 600)]);
    }

    /// If all run at half their speed, they are one kind, and the fastest.
    #[test]
    fn speeds_are_relative_to_the_fastest() {
        assert_eq!(kinds_of(&[(0, 1000, 500), (0, 1000, 500)]), [(0, 1000), (0, 1000)]);
        assert_eq!(kinds_of(&[]), []);
    }
}
