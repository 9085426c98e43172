// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs, in the policy's form and as people and the kernel write them.

use lop_policy::CpuBits;
use std::fmt;

pub use lop_policy::MAX_CPUS;

/// A set of CPU numbers below [`MAX_CPUS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Cpus {
    word: [u64; MAX_CPUS / 64],
}

impl From<CpuBits> for Cpus {
    fn from(bits: CpuBits) -> Self {
        Self { word: bits.word }
    }
}

impl Cpus {
    /// In the policy's form.
    #[must_use]
    pub fn bits(&self) -> CpuBits {
        CpuBits { word: self.word }
    }
    pub fn insert(&mut self, cpu: u32) {
        self.word[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    #[must_use]
    pub fn has(&self, cpu: u32) -> bool {
        (cpu as usize) < MAX_CPUS && self.word[cpu as usize / 64] >> (cpu % 64) & 1 == 1
    }
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.word
            .iter_mut()
            .zip(other.word)
            .for_each(|(word, other)| *word &= other);
        self
    }
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.word
            .iter_mut()
            .zip(other.word)
            .for_each(|(word, other)| *word &= !other);
        self
    }
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.word == [0; MAX_CPUS / 64]
    }
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..MAX_CPUS as u32).filter(|&cpu| self.has(cpu))
    }
    /// Reads the format of [`fmt::Display`] and of the kernel: `0-3,8`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut cpus = Self::default();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            if first > last || last as usize >= MAX_CPUS {
                return None;
            }
            (first..=last).for_each(|cpu| cpus.insert(cpu));
        }
        Some(cpus)
    }
}

impl FromIterator<u32> for Cpus {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut cpus = Self::default();
        numbers.into_iter().for_each(|cpu| cpus.insert(cpu));
        cpus
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_are_written() {
        for text in ["", "0", "0-3", "1,3-5,511"] {
            assert_eq!(Cpus::parse(text).unwrap().to_string(), text);
        }
        for wrong in ["3-1", "512", "x", "1-"] {
            assert_eq!(Cpus::parse(wrong), None, "{wrong}");
        }
    }
}
