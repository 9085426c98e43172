// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs and cores: which task runs on which CPU, since when, and until when.

use super::task::Task;
use lop_machine::Machine;

#[derive(Debug, Default, Clone)]
pub(super) struct CpuState {
    pub core: usize,
    pub kind: usize,
    /// Its kind's highest OPP.
    pub top_opp: usize,
    pub task: Option<u32>,
    /// Progress is accounted for up to this time.
    pub settled_ns: u64,
    /// When the task started here, or its slice was renewed.
    pub slice_began_ns: u64,
    pub slice_ns: u64,
    /// `None`: no task waits, so the slice need not end.
    pub slice_ends_ns: Option<u64>,
    /// Time left for context switch, migration and wakeup: busy without progress.
    pub overhead_ns: u64,
    /// Work per ns of the running task.
    pub rate: f64,
    /// Time for which it waits for memory, over the time of its work at the core's top speed.
    pub memory_share: f64,
    /// When the running step ends.
    pub step_ends_ns: u64,
    /// Run time before this is charged to the task.
    pub charged_ns: u64,
    /// Busy time before `busy_since_ns`, for governors.
    pub busy_ns: u64,
    pub busy_since_ns: Option<u64>,
    /// Busy time at the governor's last sample.
    pub sampled_busy_ns: u64,
    /// When the task started here, the other clock domains together had had more work in the governor's period than this one.
    pub load_was_elsewhere: bool,
    /// The governor has sampled since then.
    pub measured: bool,
    /// Listed in `Cores::unwatched`.
    pub unwatched: bool,
    pub opp: usize,
    /// Decaying average for `schedutil`, up to `utilisation_at_ns`.
    pub utilisation: f64,
    pub utilisation_at_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Core {
    pub cpus: Vec<usize>,
    /// CPUs that are busy.
    pub busy: usize,
}

#[derive(Debug)]
pub(super) struct Cores {
    pub cpus: Vec<CpuState>,
    pub cores: Vec<Core>,
    /// CPUs that are busy; since when any is; and for how long any was before.
    nr_busy: usize,
    any_busy_since_ns: u64,
    any_busy_ns: u64,
    /// Tasks that wait for a CPU.
    pub waiting: usize,
    /// CPUs whose running task got a slice without an end, as no task waited.
    pub unwatched: Vec<u32>,
    /// Some tasks of the workload may stall, which leaves the core to their siblings.
    pub stalls: bool,
    /// `Scheduler::RENEWS_SLICES`.
    renews_slices: bool,
}

impl Cores {
    pub fn new(machine: &Machine, stalls: bool, renews_slices: bool) -> Self {
        let state = |cpu: &lop_machine::Cpu| CpuState {
            core: usize::from(cpu.core),
            kind: usize::from(cpu.kind),
            top_opp: machine.kinds[usize::from(cpu.kind)].opps.len() - 1,
            ..CpuState::default()
        };
        let mut cores = vec![Core::default(); machine.nr_cores];
        for (number, cpu) in machine.cpus.iter().enumerate() {
            cores[usize::from(cpu.core)].cpus.push(number);
        }
        Self {
            cpus: machine.cpus.iter().map(state).collect(),
            cores,
            nr_busy: 0,
            any_busy_since_ns: 0,
            any_busy_ns: 0,
            waiting: 0,
            unwatched: Vec::new(),
            stalls,
            renews_slices,
        }
    }

    /// The core that a CPU belongs to.
    pub fn of(&self, cpu: usize) -> &Core {
        &self.cores[self.cpus[cpu].core]
    }
    pub fn is_busy(&self, cpu: usize) -> bool {
        self.cpus[cpu].busy_since_ns.is_some()
    }
    /// Busy time of a CPU until now.
    pub fn busy_ns(&self, cpu: usize, now_ns: u64) -> u64 {
        let state = &self.cpus[cpu];
        state.busy_ns + state.busy_since_ns.map_or(0, |since| now_ns - since)
    }
    /// A CPU becomes busy. Returns the number of busy CPUs on its core.
    pub fn fill(&mut self, cpu: usize, now_ns: u64) -> usize {
        if self.nr_busy == 0 {
            self.any_busy_since_ns = now_ns;
        }
        self.nr_busy += 1;
        let state = &mut self.cpus[cpu];
        state.busy_since_ns = Some(now_ns);
        state.settled_ns = now_ns;
        let core = &mut self.cores[state.core];
        core.busy += 1;
        core.busy
    }
    /// A CPU falls idle. Returns the number of busy CPUs left on its core.
    pub fn clear(&mut self, cpu: usize, now_ns: u64) -> usize {
        self.nr_busy -= 1;
        if self.nr_busy == 0 {
            self.any_busy_ns += now_ns - self.any_busy_since_ns;
        }
        let state = &mut self.cpus[cpu];
        state.slice_ends_ns = None;
        if let Some(since_ns) = state.busy_since_ns.take() {
            state.busy_ns += now_ns - since_ns;
        }
        let core = &mut self.cores[state.core];
        core.busy -= 1;
        core.busy
    }
    /// Mean number of busy CPUs while any was busy; 0 if none ever was.
    pub fn mean_used(&self, now_ns: u64) -> f64 {
        let open_ns = if self.nr_busy > 0 {
            now_ns - self.any_busy_since_ns
        } else {
            0
        };
        let each_ns: u64 = (0..self.cpus.len()).map(|cpu| self.busy_ns(cpu, now_ns)).sum();
        each_ns as f64 / (self.any_busy_ns + open_ns).max(1) as f64
    }
    /// Whether another CPU of the core is busy.
    pub fn beside_busy(&self, cpu: usize) -> bool {
        self.of(cpu)
            .cpus
            .iter()
            .any(|&other| other != cpu && self.is_busy(other))
    }

    /// CPUs that share the throughput of a CPU's core: this one, and its busy siblings that do not stall.
    pub fn using_core(&self, cpu: usize, tasks: &[Task]) -> usize {
        let core = self.of(cpu);
        if !self.stalls || core.cpus.len() == 1 {
            return core.busy;
        }
        let stalls = |c: usize| (self.cpus[c].task).is_some_and(|id| tasks[id as usize].stalled);
        core.busy - core.cpus.iter().filter(|&&c| c != cpu && stalls(c)).count()
    }

    /// A slice needs an end only while a task waits, or `always`. Otherwise the CPU is listed for `end_unwatched`.
    pub fn watch_slice(&mut self, cpu: usize, always: bool, now_ns: u64) {
        if always || self.waiting > 0 {
            self.limit_slice(cpu, now_ns);
            return;
        }
        let state = &mut self.cpus[cpu];
        state.slice_ends_ns = None;
        if !std::mem::replace(&mut state.unwatched, true) {
            self.unwatched.push(cpu as u32);
        }
    }
    fn limit_slice(&mut self, cpu: usize, now_ns: u64) {
        let state = &mut self.cpus[cpu];
        let passed_ns = now_ns - state.slice_began_ns;
        let slices = if self.renews_slices {
            passed_ns.div_ceil(state.slice_ns.max(1)).max(1)
        } else {
            1
        };
        state.slice_ends_ns = Some((state.slice_began_ns + slices * state.slice_ns).max(now_ns));
    }
    /// A task waits now, so a listed CPU's slice gets an end. Returns whether it had none.
    pub fn end_unwatched(&mut self, cpu: usize, now_ns: u64) -> bool {
        let state = &mut self.cpus[cpu];
        state.unwatched = false;
        let endless = state.task.is_some() && state.slice_ends_ns.is_none();
        if endless {
            self.limit_slice(cpu, now_ns);
        }
        endless
    }
}
