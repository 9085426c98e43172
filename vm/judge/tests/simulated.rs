// SPDX-License-Identifier: GPL-2.0-only
//! A simulated run has the log that the kernel writes, and the player makes the same decisions of it: every fact that decides is in the log, whichever
//! adapter told it.

use lop_machine::input::Override;
use lop_policy::record::{Kind, Record};
use lop_simulator::{simulate, Decisions, RunOptions};
use lop_vm_judge::decisions::{replay_records, Outcome};
use std::collections::BTreeSet;

/// The log of a run with these keys of the workload.
fn log_of(machine: &str, workload: &str, policy: &str, keys: &[(&str, &str)]) -> Decisions {
    let key = |&(key, value): &(&str, &str)| Override {
        key: key.to_string(),
        value: value.to_string(),
    };
    let keys: Vec<Override> = keys.iter().map(key).collect();
    let machine = lop_machine::load(machine, &[]).unwrap_or_else(|error| panic!("{error}"));
    let workload = lop_simulator::workload::load(workload, &keys).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions {
        seed: 1,
        decisions: true,
        ..RunOptions::default()
    };
    let policy = policy.parse().unwrap_or_else(|error| panic!("{policy}: {error}"));
    let outcome = simulate(&machine, &workload.build(1), &policy, &options).unwrap_or_else(|error| panic!("{error}"));
    outcome.decisions.expect("the policy recorded its decisions")
}

fn play(decisions: &Decisions) -> anyhow::Result<Outcome> {
    replay_records(&decisions.machine, &decisions.config, &decisions.records)
}

/// Machine, workload, policy, and keys of the workload with their values.
type Simulated = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Plans for domains and kinds, paced, light and background work, lists, a reserved core, hints, heat and SMT.
const RUNS: [Simulated; 13] = [
    ("opteron-16", "mix-1", "gather", &[("app.namd-1.shares_memory", "true")]),
    ("opteron-2x4", "eight-applications", "spread", &[]),
    ("opteron-16", "browser", "gather", &[]),
    ("laptop-hybrid", "mix-1", "specialise", &[]),
    ("laptop-hybrid", "idle-desktop", "auto", &[]),
    ("laptop-hybrid", "video-playback", "auto", &[]),
    ("phone-2024", "video-playback", "auto", &[]),
    ("phone-2024", "batch-and-interactive", "auto", &[]),
    ("poweredge-6650", "parsec-like-frames", "phase", &[]),
    ("phenom-9750", "matmul", "longest-first", &[]),
    (
        "phenom-9750",
        "barriers",
        "highlow-spare",
        &[
            ("barrier.step.waiting", "{ notify_us = 50 }"),
            ("task.worker.steps.0.repeat", "50"),
        ],
    ),
    ("opteron-16", "half-sequential", "reserved-core", &[]),
    ("desktop-two-chiplets", "browser", "auto", &[]),
];

#[test]
fn a_simulated_run_is_replayed_to_the_same_decisions() {
    let mut kinds = BTreeSet::new();
    for (machine, workload, policy, keys) in RUNS {
        let decisions = log_of(machine, workload, policy, keys);
        let outcome = play(&decisions).unwrap_or_else(|error| panic!("{machine}, {workload}, {policy}: {error:#}"));
        assert!(
            outcome.agrees_on(&decisions.records),
            "{machine}, {workload}, {policy}: {outcome:?}"
        );
        kinds.extend(decisions.records.iter().map(|record| record.kind));
    }
    let decisions = [
        Kind::Set,
        Kind::Placed,
        Kind::Queued,
        Kind::Preempt,
        Kind::Reserved,
        Kind::Leaves,
    ];
    let calls = [
        Kind::Ran,
        Kind::Clock,
        Kind::Background,
        Kind::Hints,
        Kind::Spin,
        Kind::Length,
        Kind::Declare,
        Kind::Domain,
        Kind::DomainOn,
        Kind::DomainOff,
        Kind::Rest,
        Kind::Speedup,
        Kind::Shares,
        Kind::Exits,
        Kind::Late,
        Kind::Heat,
        Kind::Temperature,
    ];
    let missing: Vec<&Kind> = decisions
        .iter()
        .chain(&calls)
        .filter(|kind| !kinds.contains(kind))
        .collect();
    assert!(missing.is_empty(), "no run has {missing:?}: take other runs");
}

/// Without the records of one kind, or with another CPU in one of them, the decisions are not those of the log.
#[test]
fn a_changed_record_is_found() {
    let gathered = log_of("opteron-16", "mix-1", "gather", &[]);
    let paced = log_of("laptop-hybrid", "video-playback", "auto", &[]);
    let light = log_of("phone-2024", "video-playback", "auto", &[]);
    let without = |of: &Decisions, kind: Kind| {
        let mut changed = of.clone();
        changed.records.retain(|record| record.kind != kind);
        assert!(changed.records.len() < of.records.len(), "no {kind:?}");
        play(&changed)
    };
    for (of, kinds) in [
        (
            &gathered,
            &[
                Kind::Set,
                Kind::Placed,
                Kind::Leaves,
                Kind::Domain,
                Kind::DomainOff,
                Kind::Wake,
            ][..],
        ),
        (
            &paced,
            &[
                Kind::Clock,
                Kind::Ran,
                Kind::Idle,
                Kind::Block,
                Kind::Timer,
                Kind::Stopped,
            ],
        ),
        (&light, &[Kind::Wake, Kind::Ran, Kind::Idle, Kind::Block]),
    ] {
        for &kind in kinds {
            let outcome = without(of, kind).unwrap_or_else(|error| panic!("{kind:?}: {error:#}"));
            assert!(outcome.difference.is_some(), "nothing differs without {kind:?}");
        }
    }
    let error = format!("{:#}", without(&gathered, Kind::Task).unwrap_err());
    assert!(error.contains("was not introduced"), "{error}");
    let mut changed = gathered.clone();
    let placed = |record: &&mut Record| record.kind == Kind::Placed;
    changed.records.iter_mut().find(placed).expect("a task was placed").cpu ^= 1;
    let difference = play(&changed).unwrap().difference.expect("another CPU");
    assert!(
        difference.what.contains("the task starts on CPU"),
        "{}",
        difference.what
    );
}
