// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a workload as a whole: cycles, locks, barriers that too few tasks use, endless work, sizes that explode.

use super::count::{count, pass_ns, Counts, Endless};
use super::draft::{Draft, Source, MAX_TASKS};
use super::locks;
use super::model::*;
use super::quantity::{mean_ns, MAX_SECONDS};
use lop_machine::InputError;

/// A repeat with more passes than this must take time in each.
const MAX_IDLE_PASSES: u64 = 1_000_000;

/// Checks a draft as a whole, and adds notes on what is unusual but harmless.
pub(super) fn check(draft: &mut Draft, source: &Source) -> Result<(), InputError> {
    not_empty(draft, source)?;
    for program in 0..draft.workload.programs.len() {
        repeats(draft, source, program)?;
        joins(draft, source, program)?;
        locks::check(draft, source, program)?;
    }
    starts(draft, source)?;
    let upper = count(&draft.workload, Endless::Infinite).map_err(|cycle| fork_cycle(draft, source, &cycle))?;
    parties(draft, source, &upper)?;
    sizes(draft, source)?;
    note_never_started(draft, &upper);
    Ok(())
}

/// Nodes in topological order; `Err`: the nodes of a cycle, in the order of its edges, with the first one repeated at the end. Not recursive, as a
/// file may have a graph of any depth.
pub(super) fn topological(nodes: usize, edges: impl Fn(usize) -> Vec<usize>) -> Result<Vec<usize>, Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; nodes];
    let mut order = Vec::with_capacity(nodes);
    let mut path: Vec<(usize, std::vec::IntoIter<usize>)> = Vec::new();
    for root in 0..nodes {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        path.push((root, edges(root).into_iter()));
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            match rest.next() {
                None => {
                    marks[node] = Mark::Done;
                    order.push(node);
                    path.pop();
                }
                Some(next) if marks[next] == Mark::New => {
                    marks[next] = Mark::Open;
                    path.push((next, edges(next).into_iter()));
                }
                Some(next) if marks[next] == Mark::Open => {
                    let from = path.iter().position(|(n, _)| *n == next).unwrap_or(0);
                    let mut cycle: Vec<usize> = path[from..].iter().map(|(n, _)| *n).collect();
                    cycle.push(next);
                    return Err(cycle);
                }
                Some(_) => {}
            }
        }
    }
    order.reverse();
    Ok(order)
}

fn not_empty(draft: &Draft, source: &Source) -> Result<(), InputError> {
    let workload = &draft.workload;
    if workload.programs.is_empty() {
        return Err(source.error_in_file("an empty workload; expected at least one task (a table [task.NAME])"));
    }
    if workload.programs.iter().all(|p| p.steps.is_empty()) {
        let place = &draft.program_places[0];
        return Err(source.error(
            place.offset,
            &place.key,
            "an empty workload; expected at least one step in some task",
        ));
    }
    if workload.starts.is_empty() {
        let place = &draft.program_places[0];
        let message = "an empty workload; expected at least one task that starts by itself (`count` from 1)";
        return Err(source.error(place.offset, &place.key, message));
    }
    Ok(())
}

fn repeats(draft: &Draft, source: &Source, program: usize) -> Result<(), InputError> {
    let steps = &draft.workload.programs[program].steps;
    let pass = pass_ns(steps);
    for (index, step) in steps.iter().enumerate() {
        let Step::Repeat { times, end } = *step else { continue };
        if times.is_none() && draft.workload.duration_ns.is_none() {
            let message =
                "repeats for ever in a workload without end; expected a number, or `duration_s` for the whole";
            return Err(draft.step_error(source, program, index, message));
        }
        let long = times.is_none_or(|n| n > MAX_IDLE_PASSES);
        let waits = |step: &Step| waits_for_others(&draft.workload, step);
        if long && pass[index] <= 0.0 && !steps[index..end as usize].iter().any(waits) {
            let message = "repeats steps that take no time; expected work, a sleep, a timer or a wait among them";
            return Err(draft.step_error(source, program, index, message));
        }
    }
    Ok(())
}

fn waits_for_others(workload: &Workload, step: &Step) -> bool {
    match *step {
        Step::Wait { .. } | Step::Join(_) | Step::Pool(_) => true,
        Step::Barrier(barrier) => workload.barriers[barrier as usize].parties > 1,
        _ => false,
    }
}

fn joins(draft: &Draft, source: &Source, program: usize) -> Result<(), InputError> {
    let steps = &draft.workload.programs[program].steps;
    let forked: std::collections::HashSet<u32> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Fork { program, .. } => Some(*program),
            _ => None,
        })
        .collect();
    for (index, step) in steps.iter().enumerate() {
        if let Step::Join(Join::Program(child)) = step {
            if !forked.contains(child) {
                let name = &draft.workload.programs[*child as usize].name;
                let message = format!("joins '{name}', which this task never forks; expected a fork of it");
                return Err(draft.step_error(source, program, index, message));
            }
        }
    }
    Ok(())
}

fn starts(draft: &Draft, source: &Source) -> Result<(), InputError> {
    let workload = &draft.workload;
    for start in &workload.starts {
        let place = &draft.program_places[start.program as usize];
        let Some(arrivals) = start.arrivals else { continue };
        if arrivals.limit.is_none() && workload.duration_ns.is_none() {
            let message = "arrivals without end; expected `limit`, or `duration_s` for the whole";
            return Err(source.error(place.offset, &place.key, message));
        }
        if mean_ns(arrivals.every) <= 0.0 {
            return Err(source.error(
                place.offset,
                &place.key,
                "arrivals without pause; expected an interval above 0",
            ));
        }
    }
    let after = |index: usize| workload.starts[index].after.iter().map(|&a| a as usize).collect();
    topological(workload.starts.len(), after).map_err(|cycle| {
        let program = |&start: &usize| workload.starts[start].program as usize;
        let names: Vec<&str> = cycle
            .iter()
            .map(|s| workload.programs[program(s)].name.as_str())
            .collect();
        let place = &draft.program_places[program(&cycle[0])];
        let message = format!(
            "cycle: {}; expected tasks that wait for each other in one direction only",
            names.join(" after ")
        );
        source.error(place.offset, &format!("{}.after", place.key), message)
    })?;
    Ok(())
}

fn fork_cycle(draft: &Draft, source: &Source, cycle: &[usize]) -> InputError {
    let workload = &draft.workload;
    let name = |&node: &usize| match workload.programs.get(node) {
        Some(program) => program.name.clone(),
        None => format!("pool {}", workload.pools[node - workload.programs.len()].name),
    };
    let names: Vec<String> = cycle.iter().map(name).collect();
    let message = format!(
        "cycle: {}; expected tasks that do not start themselves again",
        names.join(" starts ")
    );
    let first = cycle
        .iter()
        .copied()
        .find(|&node| node < workload.programs.len())
        .unwrap_or(0);
    let starts = |step: &Step| matches!(step, Step::Fork { .. } | Step::Pool(_));
    let step = workload.programs[first].steps.iter().position(starts).unwrap_or(0);
    draft.step_error(source, first, step, message)
}

/// Barriers and loops that wait for more tasks than can ever come.
fn parties(draft: &Draft, source: &Source, upper: &Counts) -> Result<(), InputError> {
    let workload = &draft.workload;
    let mut at_barrier = vec![0.0; workload.barriers.len()];
    let mut at_loop = vec![0.0; workload.loops.len()];
    for (program, &tasks) in workload.programs.iter().zip(&upper.tasks) {
        let mut barriers = std::collections::HashSet::new();
        let mut loops = std::collections::HashSet::new();
        for step in &program.steps {
            match *step {
                Step::Barrier(index) if barriers.insert(index) => at_barrier[index as usize] += tasks,
                Step::Loop(index) if loops.insert(index) => at_loop[index as usize] += tasks,
                _ => {}
            }
        }
    }
    for ((barrier, &tasks), place) in workload.barriers.iter().zip(&at_barrier).zip(&draft.barrier_places) {
        if tasks < f64::from(barrier.parties) {
            let message = format!(
                "{} parties, but at most {tasks} tasks reach this barrier; expected as many tasks",
                barrier.parties
            );
            return Err(source.error(place.offset, &place.key, message));
        }
    }
    for ((looped, &tasks), place) in workload.loops.iter().zip(&at_loop).zip(&draft.loop_places) {
        if tasks < f64::from(looped.parties) {
            let message = format!(
                "{} parties, but at most {tasks} tasks come to this loop; expected as many tasks",
                looped.parties
            );
            return Err(source.error(place.offset, &place.key, message));
        }
    }
    Ok(())
}

fn sizes(draft: &Draft, source: &Source) -> Result<(), InputError> {
    let workload = &draft.workload;
    let within = Endless::Within(workload.duration_ns.unwrap_or(0) as f64);
    let counts = count(workload, within).map_err(|cycle| fork_cycle(draft, source, &cycle))?;
    lengths(draft, source, &counts)?;
    let pooled = |(plan, &runs): (&super::pools::Plan, &f64)| plan.tasks() as f64 * runs;
    let in_pools: f64 = draft.plans.iter().zip(&counts.pool_runs).map(pooled).sum();
    let total = counts.tasks.iter().sum::<f64>() + in_pools;
    if total <= MAX_TASKS as f64 {
        return Ok(());
    }
    let most = |a: &(usize, &f64), b: &(usize, &f64)| a.1.total_cmp(b.1);
    let program = counts
        .tasks
        .iter()
        .enumerate()
        .max_by(most)
        .map_or(0, |(index, _)| index);
    let place = &draft.program_places[program];
    let message = format!("about {total:.3e} tasks in all; expected at most {MAX_TASKS}");
    Err(source.error(place.offset, &place.key, message))
}

/// Tasks that last longer than simulated time may. A workload with a duration ends in time.
fn lengths(draft: &Draft, source: &Source, counts: &Counts) -> Result<(), InputError> {
    if draft.workload.duration_ns.is_some() {
        return Ok(());
    }
    for (index, (program, factors)) in draft.workload.programs.iter().zip(&counts.factors).enumerate() {
        let mut length_ns = 0.0;
        for (at, (step, factor)) in program.steps.iter().zip(factors).enumerate() {
            length_ns += factor * own_ns(step);
            if length_ns > MAX_SECONDS * 1e9 {
                let message = format!(
                    "this task lasts longer than {MAX_SECONDS:e} s up to here; expected less, or a `duration_s`"
                );
                return Err(draft.step_error(source, index, at, message));
            }
        }
    }
    Ok(())
}

fn own_ns(step: &Step) -> f64 {
    match step {
        Step::Run { work, .. } => mean_ns(*work),
        Step::Sleep(time) => mean_ns(*time),
        Step::Timer { period, .. } => mean_ns(*period),
        _ => 0.0,
    }
}

fn note_never_started(draft: &mut Draft, upper: &Counts) {
    let idle: Vec<&str> = (draft.workload.programs.iter().zip(&upper.tasks))
        .filter(|(_, &tasks)| tasks == 0.0)
        .map(|(program, _)| program.name.as_str())
        .collect();
    if !idle.is_empty() {
        let more = if idle.len() > 5 { ", ..." } else { "" };
        let names = idle[..idle.len().min(5)].join(", ");
        draft.notes.push(format!("never started by anything: {names}{more}"));
    }
}

#[cfg(test)]
mod tests {
    use super::topological;

    fn order(edges: &[&[usize]]) -> Result<Vec<usize>, Vec<usize>> {
        topological(edges.len(), |node| edges[node].to_vec())
    }

    #[test]
    fn every_edge_points_forward() {
        let edges: [&[usize]; 5] = [&[2], &[0, 3], &[3], &[], &[1]];
        let order = order(&edges).unwrap();
        let position = |node: usize| order.iter().position(|&n| n == node).unwrap();
        for (from, targets) in edges.iter().enumerate() {
            assert!(targets.iter().all(|&to| position(from) < position(to)), "{order:?}");
        }
    }

    #[test]
    fn cycle_is_named_in_order() {
        assert_eq!(order(&[&[1], &[2], &[1]]).unwrap_err(), [1, 2, 1]);
        assert_eq!(order(&[&[0]]).unwrap_err(), [0, 0]);
    }

    #[test]
    fn long_chain_does_not_recurse() {
        let n = 1_000_000;
        let order = topological(n, |node| if node + 1 < n { vec![node + 1] } else { vec![] }).unwrap();
        assert_eq!(order.len(), n);
    }
}
