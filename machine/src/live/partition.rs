// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbering of domains: dense from 0, in the order of their first CPU. CPUs are given by their index among the present ones.

use crate::MAX_CPUS;
use std::collections::BTreeMap;

/// Domain of each CPU, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    pub of: Vec<u16>,
    pub count: u16,
}

impl Numbering {
    /// Whether these CPUs are of more than one domain.
    pub fn spans_several(&self, members: impl IntoIterator<Item = usize>) -> bool {
        let mut domains = members.into_iter().map(|i| self.of[i]);
        let first = domains.next();
        domains.any(|d| Some(d) != first)
    }
}

/// CPUs with equal keys share a domain.
pub fn number_by_key<K: Ord>(keys: impl IntoIterator<Item = K>) -> Numbering {
    let mut numbers = BTreeMap::new();
    let mut of = Vec::new();
    for key in keys {
        let next = numbers.len();
        of.push(*numbers.entry(key).or_insert(next));
    }
    // At most one domain for each CPU, and at most MAX_CPUS CPUs (checked when their list is read).
    debug_assert!(numbers.len() <= MAX_CPUS);
    Numbering {
        count: numbers.len() as u16,
        of: of.into_iter().map(|n| n as u16).collect(),
    }
}

/// Grows domains by joining CPUs, so that even contradictory lists yield domains that do not overlap.
#[derive(Debug, Clone)]
pub struct Partition {
    parent: Vec<usize>,
}

impl Partition {
    /// Each of `len` CPUs alone.
    pub fn new(len: usize) -> Self {
        Self {
            parent: (0..len).collect(),
        }
    }

    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    /// Joins the CPUs that share a domain of `other`.
    pub fn join_all(&mut self, other: &Numbering) {
        let mut first: Vec<Option<usize>> = vec![None; usize::from(other.count)];
        for (i, &domain) in other.of.iter().enumerate() {
            let with = *first[usize::from(domain)].get_or_insert(i);
            self.join(i, with);
        }
    }

    pub fn numbered(mut self) -> Numbering {
        let roots: Vec<usize> = (0..self.parent.len()).map(|i| self.root(i)).collect();
        number_by_key(roots)
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_numbered_by_their_first_cpu() {
        let numbering = number_by_key(["b", "a", "b", "c", "a"]);
        assert_eq!((numbering.of, numbering.count), (vec![0, 1, 0, 2, 1], 3));
    }

    #[test]
    fn joining_is_transitive() {
        let mut partition = Partition::new(6);
        partition.join(5, 3);
        partition.join(1, 4);
        partition.join(4, 5);
        let numbering = partition.numbered();
        assert_eq!((numbering.of, numbering.count), (vec![0, 1, 2, 1, 1, 1], 3));
    }
}
