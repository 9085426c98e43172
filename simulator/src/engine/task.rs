// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a task: its place in its program, and what it waits for.

use crate::random::Stream;
use lop_policy::{MemoryClass, Planned};

/// On whose behalf a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A start of the workload.
    Start(u32),
    /// The parent, if its slot still holds it.
    Parent {
        task: u32,
        generation: u32,
    },
    Item {
        pool: u32,
        item: u32,
        stage: u32,
    },
    Helper {
        pool: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    Barrier(u32),
    Mutex(u32),
    Condition(u32),
    AllChildren,
    AnyChild,
    Program(u32),
    Pool(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Runnable: on a CPU or waiting for one.
    Runnable,
    Sleeping,
    /// Off the CPU until `waits_for` is granted.
    Blocked,
    Exited,
}

/// Children of one program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Children {
    pub program: u32,
    pub live: u32,
    /// Exited, and no join has waited for them yet.
    pub unwaited: u32,
    /// Latest of their exits in the ideal world.
    pub ideal_exit_ns: f64,
}

#[derive(Debug)]
pub(super) struct Task {
    /// Boxed, as the policy writes to it while the world is borrowed.
    pub policy: Box<lop_policy::Task>,
    pub program: u32,
    /// The program's application.
    pub app: u16,
    pub generation: u32,
    /// Names the task in traces. Unlike its slot it is never reused.
    pub serial: u32,
    pub owner: Owner,
    pub state: State,
    pub on_cpu: Option<u32>,
    pub last_cpu: u32,
    pub has_run: bool,
    pub pc: u32,
    /// Work left of the current step.
    pub remaining: f64,
    pub class: u16,
    pub waits_for: Option<WaitsFor>,
    /// Waits on the CPU until `granted`.
    pub spinning: bool,
    pub granted: bool,
    /// Spins without using its core.
    pub stalled: bool,
    /// Time on the CPU after which it blocks, or raises its SPINNING flag.
    pub spin_left_ns: u64,
    /// It raises the flag after that time and spins on; and whether the flag is raised.
    pub notifies: bool,
    pub flag_raised: bool,
    /// Passes left of the `Repeat`s that it is in (`None`: for ever), innermost last.
    pub repeats: Vec<Option<u64>>,
    pub children: Vec<Children>,
    pub born: u64,
    pub key: u64,
    pub stream: Stream,
    pub woken_at_ns: Option<u64>,
    pub created_at_ns: u64,
    /// When its present job began or will begin: at its creation, or at the end of a sleep.
    pub job_began_ns: u64,
    /// Period of the timer that started it; 0: no timer did.
    pub timer_ns: u64,
    /// The clock starts its jobs: it is an arrival, or has waited for a time.
    pub clocked: bool,
    /// Its present job has done more than wait for the clock.
    pub job_has_step: bool,
    /// Last expiry of each of its timers, counted from its creation.
    pub timers: Vec<u64>,
    /// The parallel loop that it is in.
    pub in_loop: Option<u32>,
    /// In the ideal world: when it could be here, and when it could have been created (see `ideal.rs`).
    pub ideal_ns: f64,
    pub ideal_created_ns: f64,
    /// Mutexes that it holds.
    pub held: Vec<u32>,
    /// Others wait for one of these, as the scheduler was told.
    pub waited_for: bool,
    /// Utilisation as `schedutil` tracks it, 0..1024, and when it was last brought up to date.
    pub utilisation: f64,
    pub utilisation_at_ns: u64,
    pub counters: Counters,
}

/// What plans are made from. Kept only if the policy plans.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    /// Since the last reading.
    pub instructions: f64,
    pub misses: f64,
    /// State and facts of the last plan.
    pub planned: Planned,
    /// Time for which it was runnable before `active_since_ns`, since the last reading.
    pub active_ns: u64,
    pub active_since_ns: Option<u64>,
}

impl Counters {
    /// Of a task whose application declared this class.
    pub fn declared(memory_class: MemoryClass) -> Self {
        let mut counters = Self::default();
        counters.planned.intensity.declare(memory_class as u32);
        counters
    }
    /// `misses`: per instruction.
    pub fn count(&mut self, instructions: f64, misses: f64) {
        self.instructions += instructions;
        self.misses += instructions * misses;
    }
    /// The task becomes runnable, or is no longer.
    pub fn active(&mut self, active: bool, now_ns: u64) {
        if active {
            self.active_since_ns.get_or_insert(now_ns);
        } else if let Some(since_ns) = self.active_since_ns.take() {
            self.active_ns += now_ns - since_ns;
        }
    }
    /// Time for which it was runnable since the last reading.
    pub fn read_active_ns(&mut self, now_ns: u64) -> u64 {
        let active_ns = self.active_ns + self.active_since_ns.map_or(0, |since_ns| now_ns - since_ns);
        self.active_ns = 0;
        self.active_since_ns = self.active_since_ns.map(|_| now_ns);
        active_ns
    }
}

impl Task {
    pub fn children_of(&mut self, program: u32) -> &mut Children {
        match self.children.iter().position(|c| c.program == program) {
            Some(at) => &mut self.children[at],
            None => {
                self.children.push(Children {
                    program,
                    live: 0,
                    unwaited: 0,
                    ideal_exit_ns: 0.0,
                });
                let last = self.children.len() - 1;
                &mut self.children[last]
            }
        }
    }
}
