// SPDX-License-Identifier: MIT OR Apache-2.0
//! An ideal world beside the real one: how early each task could be where it is if every core were the fastest, no task ever waited
//! for a core, and no lock were ever contended. Only what holds in every schedule is carried on, so the latest ideal exit is a lower
//! bound on the time of any schedule (docs/model.md has the argument).

use super::task::Children;
use super::work::Work;
use super::Rates;
use crate::workload::{Join, Schedule, Workload};

#[derive(Debug)]
pub(crate) struct Ideal {
    latest_exit_ns: f64,
    /// By mutex: total time for which it is held, at top speed.
    held_ns: Vec<f64>,
    /// By pool: total time of its items' work, at top speed.
    pool_ns: Vec<f64>,
}

/// Earliest time after a join: every child that it waited for has exited. Of `Any` only the last one
/// counts, as before that the schedule decides which child it finds.
pub(super) fn after_join(children: &[Children], join: Join) -> f64 {
    let latest = |of: &mut dyn Iterator<Item = &Children>| of.map(|c| c.ideal_exit_ns).fold(0.0, f64::max);
    match join {
        Join::All => latest(&mut children.iter()),
        Join::Program(p) => latest(&mut children.iter().filter(|c| c.program == p)),
        Join::Any if children.iter().all(|c| c.live == 0 && c.unwaited == 0) => latest(&mut children.iter()),
        Join::Any => 0.0,
    }
}

impl Ideal {
    pub fn new(workload: &Workload) -> Self {
        Self {
            latest_exit_ns: 0.0,
            held_ns: vec![0.0; workload.mutexes.len()],
            pool_ns: vec![0.0; workload.pools.len()],
        }
    }
    pub fn exited(&mut self, ideal_ns: f64) {
        self.latest_exit_ns = self.latest_exit_ns.max(ideal_ns);
    }
}

impl Work<'_> {
    /// The task begins its `remaining` work.
    pub fn ideal_work(&mut self, id: u32, rates: &Rates) {
        let task = &self.tasks[id as usize];
        let needed_ns = task.remaining / rates.fastest(task.class);
        if let super::task::Owner::Item { pool, .. } = task.owner {
            self.ideal.pool_ns[pool as usize] += needed_ns;
        }
        self.ideal_passes(id, needed_ns);
    }

    /// The task takes at least this long in every schedule, and holds its mutexes meanwhile.
    pub fn ideal_passes(&mut self, id: u32, ns: f64) {
        let task = &mut self.tasks[id as usize];
        task.ideal_ns += ns;
        for &m in &task.held {
            self.ideal.held_ns[m as usize] += ns;
        }
    }

    /// Only a static loop guarantees a task a share of the iterations, of which the smallest counts. With other schedules the other tasks may
    /// take all of them.
    pub fn ideal_chunk(&mut self, id: u32, l: u32, rates: &Rates) {
        let about = &self.workload.loops[l as usize];
        if about.schedule == Schedule::Static {
            let least = (about.iterations / u64::from(about.parties.max(1))) as f64 * about.work_ns as f64;
            self.ideal_passes(id, least / rates.fastest(about.class));
        }
    }

    /// All parties of a barrier go on when the last one arrives.
    pub fn ideal_meet(&mut self, last: u32, others: &[u32]) {
        let all = || others.iter().copied().chain([last]);
        let latest = all().map(|id| self.tasks[id as usize].ideal_ns).fold(0.0, f64::max);
        for id in all() {
            self.tasks[id as usize].ideal_ns = latest;
        }
    }

    /// If more tasks use a barrier than it has parties, the schedule decides which of them meet.
    fn barriers_are_sure(&self) -> bool {
        let sure = |(about, state): (&crate::workload::Barrier, &super::sync::BarrierState)| {
            state.users.len() <= about.parties as usize
        };
        self.workload.barriers.iter().zip(&self.barriers).all(sure)
    }

    /// If more tasks come to a loop than it has parties, the schedule decides which of them get a share.
    fn loops_are_sure(&self) -> bool {
        self.loops.iter().all(|state| !state.overfull)
    }

    /// Maximum of critical path, longest chain through one lock, and pool work over slots, in ns.
    pub fn path_bound_ns(&self) -> f64 {
        let loops_are_sure = self.loops_are_sure();
        let path = if loops_are_sure && self.barriers_are_sure() {
            self.ideal.latest_exit_ns
        } else {
            0.0
        };
        let lock = match loops_are_sure {
            true => self.ideal.held_ns.iter().copied().fold(0.0, f64::max),
            false => 0.0,
        };
        let slots = self.workload.pools.iter().map(|pool| f64::from(pool.slots.max(1)));
        let pool = self
            .ideal
            .pool_ns
            .iter()
            .zip(slots)
            .map(|(ns, slots)| ns / slots)
            .fold(0.0, f64::max);
        path.max(lock).max(pool)
    }
}
