// SPDX-License-Identifier: GPL-2.0-only
//! The machine in the policy's view: what sysfs tells, with the changes of `lop amp`.

use crate::amp::Amp;
use crate::cpus::{Cpus, MAX_CPUS};
use crate::policy::{Asked, CpuPlace};
use lop_machine::live::{kinds_of, LiveCpu, LiveMachine};
use lop_policy::PolicyName;
use std::collections::BTreeSet;
use std::time::Duration;

/// The cost of moving a running task to another CPU (our estimate): a system call of the agent, two switches and cold caches.
const MIGRATION_NS: u64 = 100_000;

/// A policy, and the user's settings for the size of its high set.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub rules: PolicyName,
    /// High CPUs kept idle; `None`: the policy's own number.
    pub spare: Option<u32>,
    /// Power cap: the most high CPUs.
    pub max_high: Option<u32>,
    /// T_hold; `None`: the policy's own.
    pub hold: Option<Duration>,
}

impl Sizes {
    #[must_use]
    pub fn new(rules: PolicyName) -> Self {
        Self {
            rules,
            spare: None,
            max_high: None,
            hold: None,
        }
    }
}

/// The online CPUs.
pub(crate) struct Layout {
    pub cpus: Vec<(u32, CpuPlace)>,
    pub nr_memory_domains: u32,
    pub nr_tiers: u32,
    pub threads: u32,
    pub transition_ns: u64,
}

impl Layout {
    /// `amp`: CPUs that the user slowed down, which form kinds of their own.
    pub fn of(machine: &LiveMachine, amp: &Amp) -> Self {
        let online: Vec<&LiveCpu> = (machine.cpus.iter())
            .filter(|cpu| cpu.online && (cpu.number as usize) < MAX_CPUS)
            .collect();
        let as_read: Vec<_> = (online.iter())
            .map(|cpu| (cpu.tier, cpu.permille(), amp.permille_of(cpu.number)))
            .collect();
        let kinds = kinds_of(&as_read);
        let place = |(cpu, &(tier, permille)): (&&LiveCpu, &(u16, u16))| {
            let place = CpuPlace {
                tier,
                clock_domain: cpu.clock_domain,
                voltage_domain: cpu.voltage_domain,
                memory_domain: cpu.memory_domain,
                node: cpu.node,
                socket: cpu.socket,
                next_sibling: next_sibling(machine, &online, cpu.number),
                permille,
            };
            (cpu.number, place)
        };
        let domains: BTreeSet<u16> = online.iter().map(|cpu| cpu.memory_domain).collect();
        Self {
            cpus: online.iter().zip(&kinds).map(place).collect(),
            nr_memory_domains: domains.len() as u32,
            nr_tiers: kinds.iter().map(|kind| u32::from(kind.0) + 1).max().unwrap_or(1),
            threads: u32::from(machine.threads()),
            transition_ns: machine.transition_ns,
        }
    }

    /// The policy on this machine.
    pub fn config(&self, sizes: &Sizes) -> Asked {
        Asked {
            policy: sizes.rules.policy,
            fixed_size: sizes.rules.cores.min(self.cpus.len() as u32),
            spare: sizes.spare,
            nr_cpus: self.cpus.last().map_or(0, |(cpu, _)| cpu + 1),
            nr_memory_domains: self.nr_memory_domains,
            nr_tiers: self.nr_tiers,
            threads: self.threads,
            most_high: sizes.max_high.unwrap_or(0),
            hold_ns: sizes.hold.map(|hold| hold.as_nanos() as u64),
            transition_ns: self.transition_ns,
            migration_ns: MIGRATION_NS,
        }
    }

    pub fn all(&self) -> Cpus {
        self.cpus.iter().map(|(cpu, _)| *cpu).collect()
    }
}

/// The next CPU in the ring of online siblings.
fn next_sibling(machine: &LiveMachine, online: &[&LiveCpu], cpu: u32) -> u16 {
    let is_online = |number: &u32| online.iter().any(|other| other.number == *number);
    let siblings: Vec<u32> = machine.siblings(cpu).into_iter().filter(is_online).collect();
    let at = siblings.iter().position(|&other| other == cpu).unwrap_or(0);
    siblings.get((at + 1) % siblings.len().max(1)).map_or(cpu, |&next| next) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amp::{Slowed, Way};
    use std::path::Path;

    fn two_cpus() -> LiveMachine {
        let folder = tempfile::tempdir().unwrap();
        let cpus = folder.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&cpus).unwrap();
        std::fs::write(cpus.join("present"), "0-1\n").unwrap();
        std::fs::write(cpus.join("online"), "0-1\n").unwrap();
        lop_machine::live::read(folder.path()).unwrap()
    }

    #[test]
    fn equal_cpus_are_one_kind_and_a_slowed_one_is_another() {
        let equal = Layout::of(&two_cpus(), &Amp::default());
        assert_eq!((equal.nr_tiers, equal.cpus[1].1.permille), (1, 1000));
        let mut amp = Amp::default();
        amp.set(
            0,
            Slowed {
                share: 0.5,
                way: Way::Duty,
            },
        );
        let slowed = Layout::of(&two_cpus(), &amp);
        let tiers: Vec<_> = slowed
            .cpus
            .iter()
            .map(|(cpu, place)| (*cpu, place.tier, place.permille))
            .collect();
        assert_eq!(tiers, [(0, 1, 500), (1, 0, 1000)]);
        assert_eq!(slowed.nr_tiers, 2);
    }

    #[test]
    fn siblings_stand_in_a_ring() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/tests/live/trees/laptop-hybrid.sysfs");
        let text = std::fs::read_to_string(&tree).unwrap();
        let text = lop_machine::live::TextTree::parse("laptop-hybrid", &text).unwrap();
        let layout = Layout::of(&lop_machine::live::read_tree(&text).unwrap(), &Amp::default());
        let next = |cpu: u32| layout.cpus.iter().find(|(n, _)| *n == cpu).unwrap().1.next_sibling;
        assert_ne!(u32::from(next(0)), 0);
        assert_eq!(next(u32::from(next(0))), 0);
        assert_eq!(next(21), 21);
    }
}
