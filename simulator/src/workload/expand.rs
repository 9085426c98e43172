// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expands pools into items and programs, for a seed.

use super::model::*;
use super::pools::{Fitted, Graph, Plan};
use super::random::{apportion, lognormal_parts, Random};

/// Fills the items of pool `index` by its plan. The same seed gives the same items.
pub(super) fn expand(workload: &mut Workload, index: usize, plan: &Plan, seed: u64) {
    let mut random = Random::new(seed, index as u64);
    let (fitted, items) = match plan {
        Plan::Explicit => return,
        Plan::Fitted(fitted) => (fitted, phases(workload, index, fitted, &mut random)),
        Plan::Graph(fitted, graph) => (fitted, objects(workload, index, fitted, graph, &mut random)),
    };
    workload.pools[index].items = items;
    add_helpers(workload, index, fitted);
}

fn phases(workload: &mut Workload, index: usize, fitted: &Fitted, random: &mut Random) -> Vec<Item> {
    let main = fitted.phases - fitted.tail;
    let work = lognormal_parts(random, main, fitted.work_ns - fitted.tail_work_ns, fitted.cv);
    let mut items: Vec<Item> = Vec::with_capacity(fitted.phases);
    for (number, &ns) in work.iter().enumerate() {
        let program = add_program(workload, index, &format!("phase-{}", number + 1), ns, fitted);
        items.push(Item {
            stages: vec![program],
            after: Vec::new(),
            helper: None,
        });
    }
    let all: Vec<u32> = (0..items.len() as u32).collect();
    add_tail(workload, index, fitted, random, &mut items, all);
    items
}

fn objects(workload: &mut Workload, index: usize, fitted: &Fitted, graph: &Graph, random: &mut Random) -> Vec<Item> {
    let work = fitted.work_ns - fitted.tail_work_ns - graph.archive_ns;
    let sizes = lognormal_parts(random, graph.objects, work, fitted.cv);
    // One object each, and the rest by a distribution of directory sizes as in source trees.
    let more = lognormal_parts(
        random,
        graph.directories,
        (graph.objects - graph.directories) as u64,
        1.0,
    );
    let weights: Vec<f64> = more.iter().map(|&n| n as f64 + 1.0).collect();
    let archives = apportion(graph.archive_ns, &weights);
    let shares: Vec<f64> = graph.stages.iter().map(|(_, share)| *share).collect();
    let (mut items, mut archive_items, mut sizes) = (Vec::new(), Vec::new(), sizes.into_iter());
    for (directory, (&extra, &archive_ns)) in more.iter().zip(&archives).enumerate() {
        let first = items.len() as u32;
        for (object, size) in sizes.by_ref().take(extra as usize + 1).enumerate() {
            let parts = apportion(size, &shares);
            let stages = graph.stages.iter().zip(parts).map(|((stage, _), ns)| {
                let name = format!("dir-{}.object-{}.{stage}", directory + 1, object + 1);
                add_program(workload, index, &name, ns, fitted)
            });
            items.push(Item {
                stages: stages.collect(),
                after: Vec::new(),
                helper: None,
            });
        }
        let archive = add_program(
            workload,
            index,
            &format!("dir-{}.archive", directory + 1),
            archive_ns,
            fitted,
        );
        archive_items.push(items.len() as u32);
        let after = (first..items.len() as u32).collect();
        items.push(Item {
            stages: vec![archive],
            after,
            helper: None,
        });
    }
    add_tail(workload, index, fitted, random, &mut items, archive_items);
    items
}

/// The serial tail: the first item waits for `after`, each further one for the one before.
fn add_tail(
    workload: &mut Workload,
    index: usize,
    fitted: &Fitted,
    random: &mut Random,
    items: &mut Vec<Item>,
    after: Vec<u32>,
) {
    let mut after = after;
    let work = lognormal_parts(random, fitted.tail, fitted.tail_work_ns, fitted.cv);
    for (number, &ns) in work.iter().enumerate() {
        let program = add_program(workload, index, &format!("tail-{}", number + 1), ns, fitted);
        let this = items.len() as u32;
        items.push(Item {
            stages: vec![program],
            after: std::mem::replace(&mut after, vec![this]),
            helper: None,
        });
    }
}

/// A process of `make` itself beside each item, all equal except for rounding.
fn add_helpers(workload: &mut Workload, index: usize, fitted: &Fitted) {
    if fitted.helper_ns == 0 {
        return;
    }
    let count = workload.pools[index].items.len() as u64;
    let (ns, longer) = (fitted.helper_ns / count, (fitted.helper_ns % count) as usize);
    let usual = add_program(workload, index, "helper", ns, fitted);
    let long = if longer > 0 {
        add_program(workload, index, "helper", ns + 1, fitted)
    } else {
        usual
    };
    for (number, item) in workload.pools[index].items.iter_mut().enumerate() {
        item.helper = Some(if number < longer { long } else { usual });
    }
}

fn add_program(workload: &mut Workload, index: usize, name: &str, work_ns: u64, fitted: &Fitted) -> u32 {
    let name = format!("{}.{name}", workload.pools[index].name);
    let step = Step::Run {
        work: Amount::Fixed(work_ns),
        class: fitted.class,
    };
    workload.programs.push(Program {
        name,
        app: fitted.app,
        nice: 0,
        cgroup_weight: 100,
        cpus: None,
        length: 0,
        steps: vec![step],
    });
    workload.programs.len() as u32 - 1
}
