// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload as the engine runs it: validated, with all names resolved to indices.
//!
//! Work is in ns at the highest speed of the reference core, relative to which machines state their speed. All times are in ns.

use lop_policy::MemoryClass;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    pub name: String,
    pub description: String,
    /// The run ends at this time, finished or not; `None`: when the last task exits.
    pub duration_ns: Option<u64>,
    /// Memory share m (spec section 1) of each class of work, to which `Step::Run` refers by index. For a class with a memory use it is the share on the
    /// reference core, for machines without figures for their memory.
    pub memory_shares: Vec<f64>,
    /// By class: how its work uses memory, if known. Other work neither causes contention nor suffers from it.
    pub memory_uses: BTreeMap<u16, MemoryUse>,
    /// At least one: programs that name no application belong to application 0.
    pub apps: Vec<App>,
    pub programs: Vec<Program>,
    pub starts: Vec<Start>,
    pub pools: Vec<Pool>,
    pub barriers: Vec<Barrier>,
    pub mutexes: Vec<Mutex>,
    pub conditions: Vec<Condition>,
    pub loops: Vec<ParallelLoop>,
}

/// An application: a group of tasks that may declare how many of them want to run at once.
#[derive(Debug, Clone, PartialEq)]
pub struct App {
    pub name: String,
    pub declared_parallelism: Option<u32>,
    /// Its tasks share data, so they should run on cores of one node.
    pub shares_memory: bool,
    /// As declared; `Unknown`: not declared.
    pub memory_class: MemoryClass,
    /// The operating system's own work: kernel threads, daemons.
    pub system: bool,
}

/// How an application's work uses memory (docs/model.md).
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryUse {
    pub name: String,
    /// Intensity: misses of the last-level cache per thousand instructions, alone.
    pub mpki: f64,
    /// Cycles per instruction without waiting for misses.
    pub cpi0: f64,
    /// Mean number of misses under way at the same time.
    pub mlp: f64,
    /// Largest relative growth of `mpki` as others take the cache.
    pub cache_sensitivity: f64,
}

impl MemoryUse {
    /// Time of an instruction without waiting for misses: CPI0 / F.
    pub fn compute_ns(&self, khz: f64) -> f64 {
        self.cpi0 / (khz / 1e6)
    }
    /// Time for which an instruction waits for misses of this latency: MPKI / 1000 * lat / MLP.
    pub fn wait_ns(&self, latency_ns: f64) -> f64 {
        self.mpki / 1000.0 * latency_ns / self.mlp
    }
}

/// What a task does from start to exit.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    pub name: String,
    pub app: u16,
    pub nice: i8,
    /// cgroup cpu.weight, 1..=10000; 100 is the default.
    pub cgroup_weight: u32,
    /// CPUs it may run on; `None`: all.
    pub cpus: Option<BTreeSet<u16>>,
    /// Relative length of each of its tasks, declared before it is created; 0: not declared.
    pub length: u32,
    pub steps: Vec<Step>,
}

/// Steps are in a flat list; repeats jump by index.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Work at the reference core's top speed; `class` indexes `Workload::memory_shares`.
    Run {
        work: Amount,
        class: u16,
    },
    /// Off the CPU for this long from now.
    Sleep(Amount),
    /// Off the CPU until `period` after the timer's last expiry, or after the task's start for the first one. Goes on at once if that has passed.
    /// `timer` numbers the timers of a program from 0.
    Timer {
        timer: u16,
        period: Amount,
    },
    /// Starts `count` tasks of a program as children.
    Fork {
        program: u32,
        count: u32,
    },
    Join(Join),
    Lock(u32),
    Unlock(u32),
    Barrier(u32),
    /// Waits on a condition. A mutex, if named, is released meanwhile and taken again afterwards.
    Wait {
        condition: u32,
        mutex: Option<u32>,
    },
    Signal(u32),
    Broadcast(u32),
    /// Takes and runs chunks of a parallel loop until none is left.
    Loop(u32),
    /// Runs the steps up to the matching `EndRepeat` this many times (`None`: for ever). `end`: index of the step after that.
    Repeat {
        times: Option<u64>,
        end: u32,
    },
    /// `start`: index of the `Repeat`.
    EndRepeat {
        start: u32,
    },
    /// Starts a pool and blocks until its last item is done.
    Pool(u32),
    Yield,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Until every child has exited.
    All,
    /// Until one more child than waited for before has exited (`wait(2)`).
    Any,
    /// Until every child of this program has exited.
    Program(u32),
}

/// An amount of work or time in ns, drawn anew at each execution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    Fixed(u64),
    /// Both ends included.
    Uniform {
        min_ns: u64,
        max_ns: u64,
    },
    Exponential {
        mean_ns: f64,
    },
    /// `cv`: standard deviation over mean.
    Lognormal {
        mean_ns: f64,
        cv: f64,
    },
}

/// Tasks that the workload starts by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    pub program: u32,
    /// Tasks started together (per arrival, where there are arrivals).
    pub count: u32,
    pub at: Amount,
    /// Indices into `Workload::starts`: begins once all tasks of these have exited, from when `at` counts. Acyclic.
    pub after: Vec<u32>,
    pub arrivals: Option<Arrivals>,
}

/// An open source: after the first arrival, another one each time that `every` has passed, `limit` in total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    pub every: Amount,
    /// Total number of arrivals, including the first; `None`: until `Workload::duration_ns`.
    pub limit: Option<u64>,
}

/// `make -jN`: at most `slots` items run at a time, in order as far as `after` allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    pub name: String,
    pub slots: u32,
    pub items: Vec<Item>,
}

/// One job of a pool: a chain of processes, each a new task that starts when the one before has exited.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Programs by stage; not empty.
    pub stages: Vec<u32>,
    /// Items that must be done first. Acyclic.
    pub after: Vec<u32>,
    /// A program that starts together with the item: work of `make` itself. The next item does not wait for it, the end of the pool does.
    pub helper: Option<u32>,
}

/// How a task waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Block,
    Spin,
    /// As `Spin`, but leaves the core's throughput to its SMT siblings: a thread that waits for memory.
    Stall,
    SpinThenBlock {
        limit_ns: u64,
    },
    /// Spins, and after this time raises a flag that a scheduler can read, until it goes on.
    SpinThenNotify {
        after_ns: u64,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Barrier {
    pub name: String,
    pub parties: u32,
    pub waiting: Waiting,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Mutex {
    pub name: String,
    pub waiting: Waiting,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub name: String,
    pub waiting: Waiting,
    /// A signal without a waiting task is kept for the next one that waits, as in a semaphore, instead of being lost.
    pub counting: bool,
}

/// A loop whose iterations are shared among the tasks that come to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParallelLoop {
    pub name: String,
    pub iterations: u64,
    /// Work of one iteration.
    pub work_ns: u64,
    pub class: u16,
    /// Number of tasks that share it, by which static schedules split it.
    pub parties: u32,
    pub schedule: Schedule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Equal parts, the first `iterations % parties` one longer, by order of arrival.
    Static,
    Dynamic {
        chunk: u64,
    },
    /// remaining / (2 * parties), at least `chunk`.
    Guided {
        chunk: u64,
    },
}
