// SPDX-License-Identifier: MIT OR Apache-2.0
//! Describes a workload in a few aligned lines.

use super::count::{count, work_ns, Endless};
use super::model::*;
use std::collections::HashSet;
use std::fmt::Write;

/// Largest number of programs listed one by one.
const MAX_LISTED: usize = 12;

/// Tasks, programs, work, pools and synchronisation, as aligned text with a line end. Counts of endless repetition are estimates for the duration.
pub fn describe(workload: &Workload) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<16} {value}");
    };
    line("workload", workload.name.clone());
    if !workload.description.is_empty() {
        line("", workload.description.trim().replace('\n', "\n                 "));
    }
    if let Some(ns) = workload.duration_ns {
        line("duration", time(ns as f64));
    }
    let within = Endless::Within(workload.duration_ns.unwrap_or(0) as f64);
    if let Ok(counts) = count(workload, within) {
        line("tasks", format!("{:.0}", counts.tasks.iter().sum::<f64>()));
        line("programs", workload.programs.len().to_string());
        let work = time(work_ns(workload, &counts));
        let most = if waits_for_ever(workload) { "at most " } else { "" };
        line("work", format!("{most}{work} at the reference core's top speed"));
        if let Some(shares) = shares(workload) {
            line("memory share", shares);
        }
        for (&class, memory_use) in &workload.memory_uses {
            let share = workload.memory_shares[usize::from(class)];
            line("memory use", describe_memory_use(memory_use, share));
        }
        // Programs of pools are too many and too similar to be listed.
        let pooled = in_pools(workload);
        let listed: Vec<usize> = (0..workload.programs.len())
            .filter(|&p| !pooled.contains(&(p as u32)))
            .collect();
        for &program in listed.iter().take(MAX_LISTED) {
            line(
                "program",
                describe_program(&workload.programs[program], counts.tasks[program]),
            );
        }
        if listed.len() > MAX_LISTED {
            line("", format!("and {} more", listed.len() - MAX_LISTED));
        }
    }
    for app in workload.apps.iter().filter(|app| app.declared_parallelism.is_some()) {
        let declared = app.declared_parallelism.unwrap_or_default();
        line(
            "application",
            format!("{}: declares {declared} tasks at once", app.name),
        );
    }
    for app in workload.apps.iter().filter(|app| app.system) {
        line("application", format!("{}: the operating system's own work", app.name));
    }
    for pool in &workload.pools {
        line("pool", describe_pool(pool));
    }
    let synchronisation = synchronisation(workload);
    for (kind, what) in synchronisation.iter().take(MAX_LISTED) {
        line(kind, what.clone());
    }
    if synchronisation.len() > MAX_LISTED {
        line(
            "",
            format!("and {} more to synchronise on", synchronisation.len() - MAX_LISTED),
        );
    }
    text
}

/// Whether a task waits for others in an endless repetition: how often it gets through is not known, so it is counted as if it never waited.
fn waits_for_ever(workload: &Workload) -> bool {
    workload.programs.iter().any(|program| {
        let endless = program.steps.iter().enumerate().filter_map(|(at, step)| match step {
            Step::Repeat { times: None, end } => Some(at..*end as usize),
            _ => None,
        });
        endless.into_iter().any(|steps| {
            program.steps[steps]
                .iter()
                .any(|step| matches!(step, Step::Wait { .. }))
        })
    })
}

/// Kind and description of each object on which tasks synchronise.
fn synchronisation(workload: &Workload) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for barrier in &workload.barriers {
        all.push((
            "barrier",
            format!(
                "{}: {} parties, {}",
                barrier.name,
                barrier.parties,
                waiting(barrier.waiting)
            ),
        ));
    }
    for mutex in &workload.mutexes {
        all.push(("mutex", format!("{}: {}", mutex.name, waiting(mutex.waiting))));
    }
    for condition in &workload.conditions {
        let kind = if condition.counting { "counting, " } else { "" };
        all.push((
            "condition",
            format!("{}: {kind}{}", condition.name, waiting(condition.waiting)),
        ));
    }
    all.extend(workload.loops.iter().map(|looped| ("loop", describe_loop(looped))));
    all
}

/// Programs that pools run.
fn in_pools(workload: &Workload) -> HashSet<u32> {
    let items = workload.pools.iter().flat_map(|pool| &pool.items);
    items
        .flat_map(|item| item.stages.iter().chain(&item.helper))
        .copied()
        .collect()
}

fn describe_program(program: &Program, tasks: f64) -> String {
    let counted = |count: String, what: &str| match count.as_str() {
        "1" => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let tasks = counted(format!("{tasks:.0}"), "task");
    let steps = counted(program.steps.len().to_string(), "step");
    let mut text = format!("{}: {tasks}, {steps}", program.name);
    if program.nice != 0 {
        let _ = write!(text, ", nice {}", program.nice);
    }
    if program.cgroup_weight != 100 {
        let _ = write!(text, ", weight {}", program.cgroup_weight);
    }
    if program.length != 0 {
        let _ = write!(text, ", length {}", program.length);
    }
    if let Some(cpus) = &program.cpus {
        let cpus: Vec<String> = cpus.iter().map(u16::to_string).collect();
        let _ = write!(text, ", on CPUs {}", cpus.join(","));
    }
    text
}

/// `share`: of its time alone on the reference core, that for which it waits for memory.
fn describe_memory_use(memory_use: &MemoryUse, share: f64) -> String {
    format!(
        "{}: {} misses per 1000 instructions, {} at a time, up to {:.0} % more beside others; alone waits {:.0} % of its time",
        memory_use.name,
        memory_use.mpki,
        memory_use.mlp,
        100.0 * memory_use.cache_sensitivity,
        100.0 * share
    )
}

fn describe_pool(pool: &Pool) -> String {
    let processes: usize = pool.items.iter().map(|item| item.stages.len()).sum();
    let edges: usize = pool.items.iter().map(|item| item.after.len()).sum();
    let helpers = pool.items.iter().filter(|item| item.helper.is_some()).count();
    format!(
        "{}: {} slots, {} items of {processes} processes in all, {edges} dependencies, {helpers} helpers",
        pool.name,
        pool.slots,
        pool.items.len()
    )
}

fn describe_loop(looped: &ParallelLoop) -> String {
    let schedule = match looped.schedule {
        Schedule::Static => "static".to_string(),
        Schedule::Dynamic { chunk } => format!("dynamic in chunks of {chunk}"),
        Schedule::Guided { chunk } => format!("guided down to chunks of {chunk}"),
    };
    let each = time(looped.work_ns as f64);
    format!(
        "{}: {} iterations of {each} over {} tasks, {schedule}",
        looped.name, looped.iterations, looped.parties
    )
}

fn waiting(waiting: Waiting) -> String {
    match waiting {
        Waiting::Block => "waits blocking".to_string(),
        Waiting::Spin => "waits spinning".to_string(),
        Waiting::Stall => "waits stalled".to_string(),
        Waiting::SpinThenBlock { limit_ns } => format!("spins {}, then blocks", time(limit_ns as f64)),
        Waiting::SpinThenNotify { after_ns } => {
            format!("spins {}, then raises a flag and spins on", time(after_ns as f64))
        }
    }
}

/// Memory shares of work without a memory use; `None`: all work has one.
fn shares(workload: &Workload) -> Option<String> {
    let all = workload.memory_shares.iter().enumerate();
    let plain = all.filter(|(class, _)| !workload.memory_uses.contains_key(&(*class as u16)));
    let mut shares: Vec<f64> = plain.map(|(_, share)| *share).collect();
    shares.sort_by(f64::total_cmp);
    match shares.as_slice() {
        [] if workload.memory_uses.is_empty() => Some("0".to_string()),
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first} to {last}")),
    }
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.3} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.3} ms", ns / 1e6),
        ns => format!("{:.3} us", ns / 1e3),
    }
}
