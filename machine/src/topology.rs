// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers CPUs and domains: the core of each CPU, and what that core shares with others.

use crate::schema::Scope;
use crate::Cpu;
use std::collections::BTreeSet;

/// The input of the numbering. Every count is at least 1, and there are at most [`crate::MAX_CPUS`] CPUs (checked before).
pub struct Layout {
    pub sockets: usize,
    pub nodes_per_socket: usize,
    /// Cores in each socket and threads of a core, kind by kind.
    pub kinds: Vec<CoreCount>,
    pub clock: Scope,
    pub voltage: Scope,
    pub memory: MemoryScope,
}

#[derive(Clone, Copy)]
pub struct CoreCount {
    pub cores: usize,
    pub smt: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryScope {
    Shared(Scope),
    /// This many neighbouring cores of a socket.
    Cores(usize),
    /// For each domain of a socket, how many cores of each kind. Together they are all cores of the socket (checked before).
    Listed(Vec<Vec<usize>>),
}

/// A physical core and its position.
#[derive(Clone, Copy)]
struct Place {
    socket: usize,
    kind: usize,
    /// Its index among all cores, in its socket, and among those of its kind in the socket.
    core: usize,
    in_socket: usize,
    in_kind: usize,
}

impl Layout {
    pub fn cores_per_socket(&self) -> usize {
        self.kinds.iter().map(|k| k.cores).sum()
    }

    /// CPUs in Linux's order: the first threads of all cores (socket by socket, kinds in order), then the second
    /// threads, and so on.
    pub fn cpus(&self) -> Vec<Cpu> {
        let places = self.places();
        let most_threads = self.kinds.iter().map(|k| k.smt).max().unwrap_or(0);
        let mut cpus = Vec::new();
        for thread in 0..most_threads {
            let with_thread = places.iter().filter(|p| self.kinds[p.kind].smt > thread);
            cpus.extend(with_thread.map(|p| self.cpu(p)));
        }
        cpus
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for socket in 0..self.sockets {
            let mut in_socket = 0;
            for (kind, count) in self.kinds.iter().enumerate() {
                for in_kind in 0..count.cores {
                    let core = places.len();
                    places.push(Place {
                        socket,
                        kind,
                        core,
                        in_socket,
                        in_kind,
                    });
                    in_socket += 1;
                }
            }
        }
        places
    }

    fn cpu(&self, place: &Place) -> Cpu {
        let cores_per_node = self.cores_per_socket() / self.nodes_per_socket;
        let memory_domain = match &self.memory {
            MemoryScope::Shared(scope) => self.domain(*scope, place),
            MemoryScope::Cores(n) => place.socket * (self.cores_per_socket() / n) + place.in_socket / n,
            MemoryScope::Listed(domains) => {
                let before = |domain: usize| {
                    domains[..domain]
                        .iter()
                        .map(|of_kind| of_kind[place.kind])
                        .sum::<usize>()
                };
                let number = (1..domains.len())
                    .take_while(|&domain| before(domain) <= place.in_kind)
                    .count();
                place.socket * domains.len() + number
            }
        };
        Cpu {
            kind: place.kind as u16,
            core: place.core as u16,
            clock_domain: self.domain(self.clock, place) as u16,
            voltage_domain: self.domain(self.voltage, place) as u16,
            memory_domain: memory_domain as u16,
            socket: place.socket as u16,
            node: (place.socket * self.nodes_per_socket + place.in_socket / cores_per_node) as u16,
        }
    }

    /// A memory domain that overlaps a node while neither is within the other.
    pub fn straddling(&self) -> Option<u16> {
        let pairs: BTreeSet<(u16, u16)> = self.cpus().iter().map(|cpu| (cpu.memory_domain, cpu.node)).collect();
        let nodes_of = |domain: u16| pairs.iter().filter(move |pair| pair.0 == domain).count();
        let domains_in = |node: u16| pairs.iter().filter(move |pair| pair.1 == node).count();
        let straddles = |&&(domain, node): &&(u16, u16)| nodes_of(domain) > 1 && domains_in(node) > 1;
        pairs.iter().find(straddles).map(|pair| pair.0)
    }

    fn domain(&self, scope: Scope, place: &Place) -> usize {
        match scope {
            Scope::Core => place.core,
            Scope::Kind => place.socket * self.kinds.len() + place.kind,
            Scope::Socket => place.socket,
            Scope::Machine => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout {
            sockets: 2,
            nodes_per_socket: 2,
            kinds: vec![CoreCount { cores: 2, smt: 2 }, CoreCount { cores: 4, smt: 1 }],
            clock: Scope::Kind,
            voltage: Scope::Socket,
            memory: MemoryScope::Cores(3),
        }
    }

    #[test]
    fn second_threads_follow_all_first_threads() {
        let cpus = layout().cpus();
        let cores: Vec<u16> = cpus.iter().map(|c| c.core).collect();
        assert_eq!(cores, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 6, 7]);
        let kinds: Vec<u16> = cpus.iter().map(|c| c.kind).collect();
        assert_eq!(kinds, [0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn domains_by_kind_socket_and_neighbours() {
        let cpus = &layout().cpus()[..12];
        let by = |domain: fn(&Cpu) -> u16| cpus.iter().map(domain).collect::<Vec<_>>();
        assert_eq!(by(|c| c.clock_domain), [0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3]);
        assert_eq!(by(|c| c.voltage_domain), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(by(|c| c.memory_domain), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(by(|c| c.node), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
    }

    /// 2 fast and 1 slow core, then 3 slow ones.
    #[test]
    fn listed_domains_take_the_next_cores_of_each_kind() {
        let listed = Layout {
            nodes_per_socket: 1,
            memory: MemoryScope::Listed(vec![vec![2, 1], vec![0, 3]]),
            ..layout()
        };
        let cpus = listed.cpus();
        let domains: Vec<u16> = cpus.iter().map(|c| c.memory_domain).collect();
        assert_eq!(domains, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 2, 2]);
        assert_eq!(listed.straddling(), None);
    }

    #[test]
    fn a_domain_straddles_where_neither_lies_inside_the_other() {
        let with = |domains| Layout {
            memory: MemoryScope::Listed(domains),
            ..layout()
        };
        assert_eq!(with(vec![vec![2, 1], vec![0, 3]]).straddling(), None);
        assert_eq!(with(vec![vec![2, 4]]).straddling(), None);
        assert_eq!(with(vec![vec![2, 0], vec![0, 4]]).straddling(), Some(1));
    }

    #[test]
    fn one_domain_for_the_machine_and_one_for_each_core() {
        let layout = Layout {
            clock: Scope::Core,
            voltage: Scope::Machine,
            memory: MemoryScope::Shared(Scope::Socket),
            ..layout()
        };
        for (number, cpu) in layout.cpus()[..12].iter().enumerate() {
            assert_eq!(usize::from(cpu.clock_domain), number);
            assert_eq!(cpu.voltage_domain, 0);
            assert_eq!(cpu.memory_domain, cpu.socket);
        }
    }
}
