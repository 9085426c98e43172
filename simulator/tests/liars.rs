// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that pass for awaited gain nothing by it. One of a single thread is: the whole program waits for that thread. It sleeps for a moment just
//! before each slice ends, so that it is woken, and takes a CPU from the others.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::{Outcome, TraceEvent};

const SECONDS: u64 = 4;
const SLICE_NS: u64 = 6 * MS;

/// The first tasks are the liars, each a program of its own; the honest ones are threads of one program, which is never awaited.
fn beside(liars: usize, honest: usize) -> lop_simulator::workload::Workload {
    let liar = |n: usize| {
        format!(
            "[app.liar{n}]\n[task.liar{n}]\napp = \"liar{n}\"\nsteps = [{{ repeat = 100000, steps = [{{ run_us = 5900 }}, {{ sleep_us = 50 }}] }}]\n"
        )
    };
    let liars: String = (0..liars).map(liar).collect();
    toml(&format!(
        "duration_s = {SECONDS}\n{liars}[app.honest]\n[task.honest]\napp = \"honest\"\ncount = {honest}\nsteps = [{{ run_s = 100 }}]\n"
    ))
}

/// CPU time of each task in each second, in ns, by second and task.
fn by_second(outcome: &Outcome) -> Vec<Vec<u64>> {
    let mut had = vec![vec![0; outcome.task_names.len()]; SECONDS as usize];
    let mut since = vec![None; outcome.task_names.len()];
    let mut note = |task: usize, from_ns: u64, to_ns: u64| {
        for (n, second) in had.iter_mut().enumerate() {
            let begin_ns = n as u64 * SECOND;
            second[task] += to_ns.min(begin_ns + SECOND).saturating_sub(from_ns.max(begin_ns));
        }
    };
    for event in &outcome.trace {
        match *event {
            TraceEvent::Start { at_ns, task, .. } => since[task as usize] = Some(at_ns),
            TraceEvent::Stop { at_ns, task, .. } => {
                let from_ns = since[task as usize].take().expect("a task stops after it started");
                note(task as usize, from_ns, at_ns);
            }
            _ => {}
        }
    }
    for (task, since) in since.into_iter().enumerate() {
        since
            .into_iter()
            .for_each(|from_ns| note(task, from_ns, outcome.time_ns));
    }
    had
}

fn unequal(fast: u16, slow: u16) -> Machine {
    let mut machine = machine(fast + slow);
    add_kind(&mut machine, kind(0.5, two_speeds().opps));
    machine.cpus[usize::from(fast)..]
        .iter_mut()
        .for_each(|cpu| cpu.kind = 1);
    machine
}

/// In each second at most the fair share and two slices: one by which it may be ahead, and the one that it then takes.
#[test]
fn who_sleeps_before_each_slice_ends_has_no_more_than_its_share() {
    for (machine, liars, honest) in [
        (machine(2), 2, 2),
        (machine(4), 1, 4),
        (machine(4), 3, 20),
        (unequal(1, 1), 1, 2),
        (unequal(2, 2), 2, 4),
    ] {
        let cpus = machine.cpus.len() as u64;
        let most_ns = cpus * SECOND / (liars + honest) as u64 + 2 * SLICE_NS;
        for policy in ["phase", "auto"] {
            let had = by_second(&run_traced(&machine, &beside(liars, honest), policy));
            for second in &had {
                assert!(
                    second[..liars].iter().all(|&ns| ns <= most_ns),
                    "{cpus} CPUs, {policy}, {most_ns}: {had:?}"
                );
            }
        }
    }
}
