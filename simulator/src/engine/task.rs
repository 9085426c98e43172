// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task: its program, where it is in it, and what it waits for.

use crate::random::Stream;
use lop_policy as policy;

/// Who is told when a task exits.
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
    /// Exited and not waited for yet.
    pub unwaited: u32,
    /// Latest of their exits in the ideal world.
    pub ideal_exit_ns: f64,
}

#[derive(Debug)]
pub(super) struct Task {
    /// In memory of its own: the policy writes to it while the world is borrowed.
    pub policy: Box<policy::Task>,
    pub program: u32,
    /// The program's application.
    pub app: u16,
    pub generation: u32,
    /// Names it in traces; unlike its slot it is never used again.
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
    /// Waits on the CPU; `granted` ends it.
    pub spinning: bool,
    pub granted: bool,
    /// Spins without use of its core.
    pub stalled: bool,
    /// Time on the CPU after which it stops spinning and blocks, or says that it spins.
    pub spin_left_ns: u64,
    /// After that time it raises a flag and spins on; whether it has.
    pub notifies: bool,
    pub flag_raised: bool,
    /// Turns left of the `Repeat`s it is in (`None`: for ever), innermost last.
    pub repeats: Vec<Option<u64>>,
    pub children: Vec<Children>,
    pub born: u64,
    pub key: u64,
    pub stream: Stream,
    pub woken_at_ns: Option<u64>,
    pub created_at_ns: u64,
    /// When what it does began, or will: at its creation, or at the end of a sleep.
    pub job_began_ns: u64,
    /// The clock starts its jobs: it is an arrival, or has waited for the clock.
    pub clocked: bool,
    /// Last expiry of each of its timers, counted from its creation.
    pub timers: Vec<u64>,
    /// Own part of a static parallel loop is taken.
    pub in_loop: Option<u32>,
    /// When it could be here at the earliest, and could have been created (see `ideal.rs`).
    pub ideal_ns: f64,
    pub ideal_created_ns: f64,
    /// Mutexes that it holds.
    pub held: Vec<u32>,
    /// Others wait for one of these.
    pub waited_for: bool,
    /// Utilisation as `schedutil` tracks it, 0..1024, and when it was last brought up to date.
    pub utilisation: f64,
    pub utilisation_at_ns: u64,
    pub counters: Counters,
}

/// What a plan is made from: kept only where the policy makes any.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    /// Since they were read last.
    pub instructions: f64,
    pub misses: f64,
    pub intensity: policy::Intensity,
    /// Runnable before `active_since_ns`, since it was read last.
    pub active_ns: u64,
    pub active_since_ns: Option<u64>,
    /// When a plan moved it last.
    pub moved_ns: u64,
}

impl Counters {
    /// Of a task whose application declared this.
    pub fn declared(memory_class: policy::MemoryClass) -> Self {
        let mut counters = Self::default();
        counters.intensity.declared = memory_class as u8;
        counters
    }
    /// `misses`: of each instruction.
    pub fn count(&mut self, instructions: f64, misses: f64) {
        self.instructions += instructions;
        self.misses += instructions * misses;
    }
    /// Becomes runnable, or ceases to be.
    pub fn active(&mut self, active: bool, now_ns: u64) {
        if active {
            self.active_since_ns.get_or_insert(now_ns);
        } else if let Some(since_ns) = self.active_since_ns.take() {
            self.active_ns += now_ns - since_ns;
        }
    }
    /// For how long it was runnable since this was asked last.
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
