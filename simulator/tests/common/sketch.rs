// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random small workloads.

use super::common::*;
use lop_simulator::workload::{Amount, Barrier, Join, Mutex, Program, Start, Step, Waiting, Workload};
use proptest::prelude::*;

/// What a task does; numbers are in units of 100 us.
#[derive(Debug, Clone)]
pub enum Act {
    Run(u64),
    Sleep(u64),
    Locked(u64),
    Yield,
    Repeat(u64, u64, u64),
    /// Forks this many children of this work, runs, and waits for them.
    Fork(u32, u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0u64..80).prop_map(Act::Run),
        3 => (0u64..60).prop_map(Act::Sleep),
        2 => (1u64..30).prop_map(Act::Locked),
        1 => Just(Act::Yield),
        2 => (1u64..8, 1u64..20, 0u64..30).prop_map(|(times, run, sleep)| Act::Repeat(times, run, sleep)),
        1 => (1u32..4, 1u64..40).prop_map(|(children, run)| Act::Fork(children, run)),
    ]
}

fn waiting() -> impl Strategy<Value = Waiting> {
    prop_oneof![
        Just(Waiting::Block),
        Just(Waiting::Spin),
        (0u64..2 * MS).prop_map(|limit_ns| Waiting::SpinThenBlock { limit_ns }),
        (0u64..2 * MS).prop_map(|after_ns| Waiting::SpinThenNotify { after_ns }),
    ]
}

#[derive(Debug, Clone)]
pub struct Sketch {
    /// What it does, nice value, the only CPU it may run on, when it starts.
    pub tasks: Vec<(Vec<Act>, i8, Option<u16>, u64)>,
    pub waiting: Waiting,
    /// All of them meet at their ends.
    pub meet: bool,
}

pub fn sketch(cores: u16) -> impl Strategy<Value = Sketch> {
    let task = (
        prop::collection::vec(act(), 1..6),
        prop_oneof![3 => Just(0i8), 1 => -5i8..=5],
        prop_oneof![4 => Just(None), 1 => (0..cores).prop_map(Some)],
        0u64..50,
    );
    (prop::collection::vec(task, 1..6), waiting(), any::<bool>()).prop_map(|(tasks, waiting, meet)| Sketch {
        tasks,
        waiting,
        meet,
    })
}

const UNIT_NS: u64 = 100_000;
/// A run that takes as long hangs.
pub const LIMIT_NS: u64 = 20 * SECOND;

/// The workload, its work in ns, its number of tasks, and how often a step of work is begun.
pub fn build(sketch: &Sketch) -> (Workload, u64, u64, u64) {
    let (mut work_ns, mut tasks, mut pieces) = (0, 0, 0);
    let mut programs: Vec<Program> = vec![];
    let mut starts: Vec<Start> = vec![];
    for (acts, nice, pinned, start_at) in &sketch.tasks {
        let mut steps = vec![];
        let mut count = |times: u64, units: u64| {
            work_ns += times * units * UNIT_NS;
            pieces += times;
            run_ns(units * UNIT_NS)
        };
        for act in acts {
            match *act {
                Act::Run(units) => steps.push(count(1, units)),
                Act::Sleep(units) => steps.push(Step::Sleep(Amount::Fixed(units * UNIT_NS))),
                Act::Locked(units) => steps.extend([Step::Lock(0), count(1, units), Step::Unlock(0)]),
                Act::Yield => steps.push(Step::Yield),
                Act::Repeat(times, run, sleep) => {
                    let start = steps.len() as u32;
                    steps.push(Step::Repeat {
                        times: Some(times),
                        end: start + 4,
                    });
                    steps.push(count(times, run));
                    steps.push(Step::Sleep(Amount::Fixed(sleep * UNIT_NS)));
                    steps.push(Step::EndRepeat { start });
                }
                Act::Fork(children, run) => {
                    tasks += u64::from(children);
                    let child = program("child", vec![count(u64::from(children), run)]);
                    programs.push(child);
                    let fork = Step::Fork {
                        program: programs.len() as u32 - 1,
                        count: children,
                    };
                    steps.extend([fork, count(1, run), Step::Join(Join::All)]);
                }
            }
        }
        if sketch.meet {
            steps.push(Step::Barrier(0));
        }
        tasks += 1;
        programs.push(Program {
            nice: *nice,
            cpus: pinned.map(|cpu| [cpu].into()),
            ..program("task", steps)
        });
        starts.push(Start {
            at: Amount::Fixed(start_at * UNIT_NS),
            ..start(programs.len() as u32 - 1, 1)
        });
    }
    let mut workload = workload_of(programs);
    workload.starts = starts;
    // Far beyond what any of them takes: who comes here hangs.
    workload.duration_ns = Some(LIMIT_NS);
    workload.mutexes.push(Mutex {
        name: "lock".into(),
        waiting: sketch.waiting,
    });
    workload.barriers.push(Barrier {
        name: "end".into(),
        parties: sketch.tasks.len() as u32,
        waiting: sketch.waiting,
    });
    (workload, work_ns, tasks, pieces)
}
