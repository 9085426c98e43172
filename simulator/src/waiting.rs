//! Runnable tasks that wait, in order of virtual time; each CPU takes the first that may run on it.

use crate::policy::CpuBits;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiter {
    vtime_ns: u64,
    /// Equal virtual times in order of arrival.
    order: u64,
    task: u32,
}

#[derive(Debug, Default)]
pub struct WaitingTasks {
    by_vtime: BTreeSet<Waiter>,
    made: u64,
    /// How many of them may not run everywhere.
    restricted: usize,
}

impl WaitingTasks {
    pub fn len(&self) -> usize {
        self.by_vtime.len()
    }
    pub fn is_empty(&self) -> bool {
        self.by_vtime.is_empty()
    }
    pub fn insert(&mut self, task: u32, vtime_ns: u64, restricted: bool) {
        self.made += 1;
        self.restricted += usize::from(restricted);
        self.by_vtime.insert(Waiter { vtime_ns, order: self.made, task });
    }
    /// The first task that may run on `cpu`; `allowed` tells a task's CPUs, `None` for all.
    pub fn take<'a>(&mut self, cpu: usize, allowed: impl Fn(u32) -> Option<&'a CpuBits>) -> Option<u32> {
        if self.restricted == 0 {
            return self.by_vtime.pop_first().map(|waiter| waiter.task);
        }
        let fits = |waiter: &&Waiter| allowed(waiter.task).is_none_or(|cpus| cpus.has(cpu));
        let found = *self.by_vtime.iter().find(fits)?;
        self.by_vtime.remove(&found);
        self.restricted -= usize::from(allowed(found.task).is_some());
        Some(found.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_virtual_time_that_may_run_here_goes_first() {
        let pinned = CpuBits::of([3]);
        let allowed = |task: u32| (task == 1).then_some(&pinned);
        let mut waiting = WaitingTasks::default();
        waiting.insert(1, 10, true);
        waiting.insert(2, 20, false);
        waiting.insert(3, 20, false);
        assert_eq!(waiting.take(0, allowed), Some(2));
        assert_eq!(waiting.take(3, allowed), Some(1));
        assert_eq!(waiting.take(0, allowed), Some(3));
        assert_eq!(waiting.take(0, allowed), None);
    }
}
