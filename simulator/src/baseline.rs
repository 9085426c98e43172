// SPDX-License-Identifier: MIT OR Apache-2.0
//! The world outside the policy: a fair scheduler that puts a woken task on the core that has been idle longest.

use crate::choice::Placement;
use crate::homes::Homes;
use crate::random::Stream;
use crate::waiting::WaitingTasks;
use lop_policy::CpuBits;
use lop_policy::WEIGHT_DEFAULT;
use std::collections::BTreeSet;

/// The scheduler's tick (250 Hz), at which it looks whether a slice is over.
pub const TICK_NS: u64 = 4_000_000;

/// Linux's base slice, 0.7 ms times 1 + log2(CPUs), CPUs counted up to 8; it ends at the next tick.
pub fn base_slice_ns(nr_cpus: usize) -> u64 {
    (700_000 * u64::from(1 + nr_cpus.clamp(1, 8).ilog2())).next_multiple_of(TICK_NS)
}

/// Active tasks of an application whose cgroup has a weight of its own share that weight.
#[derive(Debug, Clone)]
pub struct GroupShare {
    pub weight: u32,
    pub active_weight: u64,
}

impl GroupShare {
    /// group weight * task weight / sum of the weights of the group's active tasks, at least 1
    fn of(&self, weight: u32) -> u64 {
        let all = self.active_weight.max(u64::from(weight)).max(1);
        (u64::from(self.weight) * u64::from(weight) / all).max(1)
    }
}

/// Start-time fair queueing over all CPUs, beside a governor that knows nothing of it.
#[derive(Debug)]
pub struct FairScheduler {
    pub waiting: WaitingTasks,
    placement: Placement,
    random: Stream,
    /// Idle CPUs whose SMT siblings are idle too, longest idle first; then those beside a busy sibling.
    idle_cores: BTreeSet<(u64, u32)>,
    idle_threads: BTreeSet<(u64, u32)>,
    idle_since_ns: Vec<Option<u64>>,
    clock_ns: u64,
    pub slice_ns: u64,
    /// Where each task stays for life, if it does.
    pub homes: Option<Homes>,
    /// By application; `None` where its tasks stand for themselves.
    groups: Vec<Option<GroupShare>>,
}

impl FairScheduler {
    pub fn new(nr_cpus: usize, placement: Placement, seed: u64, groups: Vec<Option<GroupShare>>) -> Self {
        Self {
            waiting: WaitingTasks::default(),
            placement,
            random: Stream::new(seed ^ 0x70_6c61_6365),
            idle_cores: (0..nr_cpus as u32).map(|cpu| (0, cpu)).collect(),
            idle_threads: BTreeSet::new(),
            idle_since_ns: vec![Some(0); nr_cpus],
            clock_ns: 0,
            slice_ns: base_slice_ns(nr_cpus),
            homes: None,
            groups,
        }
    }

    /// CPUs that a task may run on, of those `allowed`: its home, where tasks have one. `None`: all.
    pub fn cpus_of(&mut self, task: u32, allowed: Option<&CpuBits>) -> Option<CpuBits> {
        match &mut self.homes {
            Some(homes) => Some(homes.of(task, allowed)),
            None => allowed.copied(),
        }
    }

    /// A task of an application became active.
    pub fn enter(&mut self, app: u16, weight: u32) {
        if let Some(group) = &mut self.groups[usize::from(app)] {
            group.active_weight += u64::from(weight);
        }
    }
    pub fn leave(&mut self, app: u16, weight: u32) {
        if let Some(group) = &mut self.groups[usize::from(app)] {
            group.active_weight = group.active_weight.saturating_sub(u64::from(weight));
        }
    }
    /// Virtual time that running for `ran_ns` costs a task of this application and weight.
    pub fn cost_ns(&self, app: u16, weight: u32, ran_ns: u64) -> u64 {
        let of_group = self.groups[usize::from(app)].as_ref().map(|group| group.of(weight));
        ran_ns.saturating_mul(u64::from(WEIGHT_DEFAULT)) / of_group.unwrap_or(u64::from(weight.max(1)))
    }

    /// The idle CPU that a woken task goes to; whole idle cores before idle siblings of busy ones.
    pub fn pick_idle(&mut self, allowed: Option<&CpuBits>) -> Option<u32> {
        self.pick_from(true, allowed).or_else(|| self.pick_from(false, allowed))
    }

    fn pick_from(&mut self, whole_cores: bool, allowed: Option<&CpuBits>) -> Option<u32> {
        let idle = if whole_cores {
            &self.idle_cores
        } else {
            &self.idle_threads
        };
        let fits = |&&(_, cpu): &&(u64, u32)| allowed.is_none_or(|cpus| cpus.has(cpu as usize));
        match self.placement {
            Placement::LongestIdle => idle.iter().find(fits).map(|&(_, cpu)| cpu),
            Placement::Random => {
                let candidates: Vec<u32> = idle.iter().filter(fits).map(|&(_, cpu)| cpu).collect();
                (!candidates.is_empty()).then(|| candidates[self.random.below(candidates.len() as u64) as usize])
            }
        }
    }

    pub fn set_idle(&mut self, cpu: u32, since_ns: u64, beside_busy: bool) {
        self.idle_since_ns[cpu as usize] = Some(since_ns);
        self.file(cpu, since_ns, beside_busy);
    }
    pub fn set_busy(&mut self, cpu: u32) {
        if let Some(since_ns) = self.idle_since_ns[cpu as usize].take() {
            self.idle_cores.remove(&(since_ns, cpu));
            self.idle_threads.remove(&(since_ns, cpu));
        }
    }
    /// An SMT sibling of an idle CPU became busy or idle.
    pub fn sibling_changed(&mut self, cpu: u32, beside_busy: bool) {
        if let Some(since_ns) = self.idle_since_ns[cpu as usize] {
            self.file(cpu, since_ns, beside_busy);
        }
    }
    fn file(&mut self, cpu: u32, since_ns: u64, beside_busy: bool) {
        let (into, from) = if beside_busy {
            (&mut self.idle_threads, &mut self.idle_cores)
        } else {
            (&mut self.idle_cores, &mut self.idle_threads)
        };
        from.remove(&(since_ns, cpu));
        into.insert((since_ns, cpu));
    }

    /// Bounded lag: a sleeper is paid at most one slice, and a task that ran alone for long, while nobody waited, is at most
    /// a slice and the cost of one ahead.
    pub fn bound_lag(&self, app: u16, weight: u32, vtime_ns: u64) -> u64 {
        let most_ns = self.slice_ns + self.cost_ns(app, weight, self.slice_ns);
        vtime_ns.clamp(
            self.clock_ns.saturating_sub(self.slice_ns),
            self.clock_ns.saturating_add(most_ns),
        )
    }
    pub fn started(&mut self, vtime_ns: u64) {
        self.clock_ns = self.clock_ns.max(vtime_ns);
    }
}
