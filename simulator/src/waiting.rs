// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue of runnable tasks, ordered by virtual time. A CPU takes the first task that may run on it.

use lop_policy::{CpuBits, CPU_WORDS};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Virtual time in the upper half of the key, order of arrival in the lower half; then the task.
type Waiter = Reverse<(u128, u32)>;

/// Tasks that may run on the same CPUs. A CPU only has to look at the first of them.
type Group = BinaryHeap<Waiter>;

#[derive(Debug, Default)]
pub struct WaitingTasks {
    anywhere: Group,
    made: u64,
    restricted: Option<Box<Restricted>>,
}

/// Tasks whose affinity is restricted.
#[derive(Debug, Default)]
struct Restricted {
    waiting: usize,
    groups: Vec<Group>,
    by_cpus: BTreeMap<[u64; CPU_WORDS], usize>,
    /// By CPU: the groups whose tasks may run on it.
    of_cpu: Vec<Vec<usize>>,
}

impl Restricted {
    fn group_of(&mut self, cpus: &CpuBits) -> &mut Group {
        let next = self.groups.len();
        let index = *self.by_cpus.entry(cpus.word).or_insert(next);
        if index == next {
            self.groups.push(Group::new());
            for cpu in cpus.cpus() {
                if self.of_cpu.len() <= cpu {
                    self.of_cpu.resize(cpu + 1, Vec::new());
                }
                self.of_cpu[cpu].push(index);
            }
        }
        &mut self.groups[index]
    }
    /// Key and group of the first task that may run on `cpu`.
    fn first(&self, cpu: usize) -> Option<(u128, usize)> {
        let groups = self.of_cpu.get(cpu).map_or(&[][..], Vec::as_slice);
        let key_of = |&group: &usize| self.groups[group].peek().map(|Reverse((key, _))| (*key, group));
        groups.iter().filter_map(key_of).min()
    }
    fn take(&mut self, group: usize) -> Option<u32> {
        self.waiting -= 1;
        self.groups[group].pop().map(|Reverse((_, task))| task)
    }
}

impl WaitingTasks {
    pub fn len(&self) -> usize {
        self.anywhere.len() + self.restricted.as_ref().map_or(0, |restricted| restricted.waiting)
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// `allowed`: the task's CPUs, `None` for all.
    pub fn insert(&mut self, task: u32, vtime_ns: u64, allowed: Option<&CpuBits>) {
        self.made += 1;
        let waiter = Reverse((u128::from(vtime_ns) << 64 | u128::from(self.made), task));
        match allowed {
            None => self.anywhere.push(waiter),
            Some(cpus) => {
                let restricted = self.restricted.get_or_insert_default();
                restricted.waiting += 1;
                restricted.group_of(cpus).push(waiter);
            }
        }
    }
    /// All tasks with their virtual times, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let restricted = self.restricted.iter().flat_map(|restricted| &restricted.groups);
        let all = restricted.chain([&self.anywhere]).flatten();
        all.map(|Reverse((key, task))| ((key >> 64) as u64, *task))
    }
    /// The first task in the queue, and its virtual time.
    pub fn first(&self) -> Option<(u64, u32)> {
        let restricted = self.restricted.iter().flat_map(|restricted| &restricted.groups);
        let firsts = restricted.chain([&self.anywhere]).filter_map(|group| group.peek());
        let first = firsts.map(|Reverse(waiter)| *waiter).min();
        first.map(|(key, task)| ((key >> 64) as u64, task))
    }
    /// Takes the first task that may run on `cpu`, if its virtual time is at most `until_ns`.
    pub fn take(&mut self, cpu: usize, until_ns: u64) -> Option<u32> {
        let is_ahead = |key: u128| (key >> 64) as u64 > until_ns;
        let first_anywhere = self.anywhere.peek().map(|Reverse((key, _))| *key);
        if let Some(restricted) = self.restricted.as_mut().filter(|restricted| restricted.waiting > 0) {
            if let Some((key, group)) = restricted.first(cpu) {
                if first_anywhere.is_none_or(|other| key < other) {
                    return if is_ahead(key) { None } else { restricted.take(group) };
                }
            }
        }
        if first_anywhere.is_some_and(is_ahead) {
            return None;
        }
        self.anywhere.pop().map(|Reverse((_, task))| task)
    }
    /// Takes the first task that may run on `cpu` and `fits`. Searches the whole queue.
    pub fn take_first_of(&mut self, cpu: usize, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let first_of = |group: &Group| {
            let fitting = group.iter().filter(|Reverse((_, task))| fits(*task));
            fitting.map(|Reverse(waiter)| *waiter).min()
        };
        let restricted = self.restricted.iter().flat_map(|restricted| {
            let groups = restricted.of_cpu.get(cpu).into_iter().flatten();
            groups.filter_map(|&group| Some((first_of(&restricted.groups[group])?, Some(group))))
        });
        let anywhere = first_of(&self.anywhere).map(|waiter| (waiter, None));
        let ((key, task), of_group) = restricted.chain(anywhere).min()?;
        let stays = |&Reverse((other, _)): &Waiter| other != key;
        match (of_group, &mut self.restricted) {
            (Some(group), Some(restricted)) => {
                restricted.waiting -= 1;
                restricted.groups[group].retain(stays);
            }
            _ => self.anywhere.retain(stays),
        }
        Some(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_virtual_time_that_may_run_here_goes_first() {
        let pinned = CpuBits::of([3]);
        let mut waiting = WaitingTasks::default();
        waiting.insert(1, 10, Some(&pinned));
        waiting.insert(2, 20, None);
        waiting.insert(3, 20, None);
        assert_eq!(waiting.take(0, u64::MAX), Some(2));
        assert_eq!(waiting.take(3, u64::MAX), Some(1));
        assert_eq!(waiting.take(0, u64::MAX), Some(3));
        assert_eq!(waiting.take(0, u64::MAX), None);
    }

    #[test]
    fn who_is_ahead_stays() {
        let pinned = CpuBits::of([3]);
        let mut waiting = WaitingTasks::default();
        waiting.insert(1, 10, Some(&pinned));
        waiting.insert(2, 30, None);
        assert_eq!(waiting.take(0, 29), None, "the first of all may not run here");
        assert_eq!(waiting.take(3, 9), None);
        assert_eq!(waiting.take(3, 10), Some(1));
        assert_eq!(waiting.take(0, 30), Some(2));
    }

    #[test]
    fn the_first_that_fits_and_may_run_here_is_taken_from_the_middle() {
        let pinned = CpuBits::of([3]);
        let mut waiting = WaitingTasks::default();
        waiting.insert(1, 40, Some(&pinned));
        waiting.insert(2, 30, None);
        waiting.insert(3, 20, None);
        waiting.insert(4, 10, None);
        assert_eq!(waiting.take_first_of(0, |task| task != 4), Some(3));
        assert_eq!(waiting.take_first_of(0, |task| task == 1), None);
        assert_eq!(waiting.take_first_of(3, |task| task == 1), Some(1));
        assert_eq!(waiting.len(), 2);
        assert_eq!(waiting.take(0, u64::MAX), Some(4));
        assert_eq!(waiting.take(0, u64::MAX), Some(2));
        assert!(waiting.is_empty());
    }

    #[test]
    fn tasks_of_different_affinity_go_by_virtual_time_too() {
        let (low, high, both) = (CpuBits::of([0, 1]), CpuBits::of([2, 3]), CpuBits::of([1, 2]));
        let mut waiting = WaitingTasks::default();
        waiting.insert(1, 40, Some(&both));
        waiting.insert(2, 30, Some(&low));
        waiting.insert(3, 20, Some(&high));
        assert_eq!(waiting.first().map(|(vtime_ns, _)| vtime_ns), Some(20));
        waiting.insert(4, 50, None);
        assert_eq!(waiting.len(), 4);
        assert_eq!(waiting.take(1, u64::MAX), Some(2));
        assert_eq!(waiting.take(1, u64::MAX), Some(1));
        assert_eq!(waiting.take(1, u64::MAX), Some(4));
        assert_eq!(waiting.take(1, u64::MAX), None);
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting.take(2, u64::MAX), Some(3));
        assert!(waiting.is_empty());
    }
}
