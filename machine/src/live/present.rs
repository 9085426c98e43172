// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs the machine has.

use super::partition::{Numbering, Partition};
use super::reader::Reader;
use super::{cpulist, LiveError};
use crate::MAX_CPUS;
use std::collections::BTreeSet;

const PRESENT: &str = "sys/devices/system/cpu/present";
const ONLINE: &str = "sys/devices/system/cpu/online";

/// Present CPUs. Everywhere in this module, a CPU is identified by its index in this list.
pub struct Present {
    /// Ascending, at most [`MAX_CPUS`], each below it.
    pub numbers: Vec<u32>,
    /// At least one is online.
    pub online: Vec<bool>,
}

impl Present {
    /// Indices and numbers of CPUs that are online.
    pub fn online(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let all = self.numbers.iter().copied().enumerate();
        all.filter(|&(i, _)| self.online[i])
    }

    /// Indices of the CPUs of a list that are present; firmware lists others too.
    pub fn indices<'a>(&'a self, list: &'a BTreeSet<u32>) -> impl Iterator<Item = usize> + 'a {
        list.iter().filter_map(|cpu| self.numbers.binary_search(cpu).ok())
    }

    /// Joins a CPU with the others of its list.
    pub fn join(&self, partition: &mut Partition, index: usize, list: &BTreeSet<u32>) {
        for other in self.indices(list) {
            partition.join(index, other);
        }
    }

    /// Numbers of CPUs by index, as Linux writes them.
    pub fn listed(&self, indices: impl IntoIterator<Item = usize>) -> String {
        cpulist::format(indices.into_iter().map(|i| self.numbers[i]))
    }

    /// The online CPU from which each CPU takes what is not known about it, by index: itself if it is online, else the lowest of
    /// its clock domain, else the next lower one, else the first.
    pub fn stand_ins(&self, clocks: &Numbering) -> Vec<usize> {
        let first_of = |wanted: &dyn Fn(usize) -> bool| self.online().map(|(i, _)| i).find(|&i| wanted(i));
        let mut below = first_of(&|_| true).unwrap_or(0);
        let mut stand_ins = Vec::with_capacity(self.numbers.len());
        for i in 0..self.numbers.len() {
            if self.online[i] {
                below = i;
            }
            let same_clock = |other: usize| clocks.of[other] == clocks.of[i];
            stand_ins.push(match self.online[i] {
                true => i,
                false => first_of(&same_clock).unwrap_or(below),
            });
        }
        stand_ins
    }
}

/// Reads the lists of present and online CPUs.
pub fn read(reader: &mut Reader) -> Result<Present, LiveError> {
    let text = reader.needed(PRESENT, "the list of CPUs")?;
    let present = reader.parsed_list(PRESENT, &text)?;
    if present.is_empty() {
        return Err(reader.unexpected(PRESENT, &text, "at least one CPU"));
    }
    if let Some(&last) = present.last().filter(|&&last| last as usize >= MAX_CPUS) {
        let way_out = format!("boot with nr_cpus={MAX_CPUS} on the kernel's command line");
        return Err(reader.too_many(PRESENT, &format!("found CPU {last}"), MAX_CPUS, &way_out));
    }
    let text = reader.needed(ONLINE, "the list of CPUs that are online")?;
    let online = reader.parsed_list(ONLINE, &text)?;
    if online.is_empty() || !online.is_subset(&present) {
        let expected = format!("CPUs out of {}", cpulist::format(present));
        return Err(reader.unexpected(ONLINE, &text, &expected));
    }
    note_offline(reader, present.difference(&online).copied());
    Ok(Present {
        online: present.iter().map(|cpu| online.contains(cpu)).collect(),
        numbers: present.into_iter().collect(),
    })
}

fn note_offline(reader: &mut Reader, offline: impl Iterator<Item = u32>) {
    let offline = cpulist::format(offline);
    if !offline.is_empty() {
        reader.note(format!(
            "Offline, so little is known: CPU {offline}; each is taken as a core of its own that resembles a neighbour."
        ));
    }
}
