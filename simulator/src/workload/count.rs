// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts the tasks of each program and the work of a workload, without running it.

use super::check::topological;
use super::model::*;
use super::quantity::mean_ns;

/// Assumed time of a pass of an endless `repeat` whose steps have no time of their own, as they wait for other tasks.
const UNKNOWN_PASS_NS: f64 = 1e6;

/// How to count endless repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Endless {
    /// As infinite, for an upper bound.
    Infinite,
    /// As often as it fits into the duration on average.
    Within(f64),
}

impl Endless {
    fn passes(self, each_ns: f64) -> f64 {
        match self {
            Self::Infinite => f64::INFINITY,
            Self::Within(duration_ns) => (duration_ns / if each_ns > 0.0 { each_ns } else { UNKNOWN_PASS_NS }).max(1.0),
        }
    }
}

/// Tasks per program and runs per pool.
#[derive(Debug)]
pub(super) struct Counts {
    pub tasks: Vec<f64>,
    pub pool_runs: Vec<f64>,
    /// How often each step of each program runs in one task.
    pub factors: Vec<Vec<f64>>,
}

/// Counts by following starts, forks and pools. `Err`: a cycle of forks, as nodes (programs, then pools).
pub(super) fn count(workload: &Workload, endless: Endless) -> Result<Counts, Vec<usize>> {
    let programs = workload.programs.len();
    let order = topological(programs + workload.pools.len(), |node| started_by(workload, node))?;
    let factors: Vec<Vec<f64>> = workload
        .programs
        .iter()
        .map(|p| step_factors(&p.steps, endless))
        .collect();
    let mut nodes = vec![0.0; programs + workload.pools.len()];
    for start in &workload.starts {
        nodes[start.program as usize] += arrivals(start, endless) * f64::from(start.count);
    }
    for node in order {
        let runs = nodes[node];
        // 0 * infinity counts as 0.
        if runs == 0.0 {
            continue;
        }
        match workload.programs.get(node) {
            Some(program) => {
                for (step, factor) in program.steps.iter().zip(&factors[node]) {
                    match step {
                        Step::Fork { program, count } => nodes[*program as usize] += runs * factor * f64::from(*count),
                        Step::Pool(pool) => nodes[programs + *pool as usize] += runs * factor,
                        _ => {}
                    }
                }
            }
            None => {
                for item in &workload.pools[node - programs].items {
                    for &program in item.stages.iter().chain(&item.helper) {
                        nodes[program as usize] += runs;
                    }
                }
            }
        }
    }
    let pool_runs = nodes.split_off(programs);
    Ok(Counts {
        tasks: nodes,
        pool_runs,
        factors,
    })
}

/// Nodes that a node starts: a program forks programs and starts pools, a pool starts its stages and helpers.
fn started_by(workload: &Workload, node: usize) -> Vec<usize> {
    let programs = workload.programs.len();
    match workload.programs.get(node) {
        Some(program) => {
            let target = |step: &Step| match step {
                Step::Fork { program, .. } => Some(*program as usize),
                Step::Pool(pool) => Some(programs + *pool as usize),
                _ => None,
            };
            program.steps.iter().filter_map(target).collect()
        }
        None => {
            let items = &workload.pools[node - programs].items;
            items
                .iter()
                .flat_map(|item| item.stages.iter().chain(&item.helper))
                .map(|&p| p as usize)
                .collect()
        }
    }
}

fn arrivals(start: &Start, endless: Endless) -> f64 {
    match start.arrivals {
        None => 1.0,
        Some(Arrivals { limit: Some(limit), .. }) => limit as f64,
        Some(Arrivals { every, limit: None }) => endless.passes(mean_ns(every)),
    }
}

/// Mean time of a pass of each `Repeat`, by the index of its step; 0 for other steps. Waiting for others is not counted. Work runs within a timer's
/// period, so the longer of the two counts.
pub(super) fn pass_ns(steps: &[Step]) -> Vec<f64> {
    #[derive(Clone, Copy, Default)]
    struct Open {
        repeat: usize,
        timers_ns: f64,
        others_ns: f64,
    }
    let mut times = vec![0.0; steps.len()];
    let mut open: Vec<Open> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let (mut timer, mut other) = (0.0, 0.0);
        match step {
            Step::Run { work, .. } => other = mean_ns(*work),
            Step::Sleep(time) => other = mean_ns(*time),
            Step::Timer { period, .. } => timer = mean_ns(*period),
            Step::Repeat { .. } => open.push(Open {
                repeat: index,
                ..Open::default()
            }),
            Step::EndRepeat { start } => {
                let inner = open.pop().unwrap_or_default();
                let pass = inner.timers_ns.max(inner.others_ns);
                times[inner.repeat] = pass;
                other = match steps[*start as usize] {
                    Step::Repeat { times: Some(n), .. } => pass * n as f64,
                    _ => pass,
                };
            }
            _ => {}
        }
        if let Some(outer) = open.last_mut() {
            outer.timers_ns += timer;
            outer.others_ns += other;
        }
    }
    times
}

/// How often each step runs in one task.
fn step_factors(steps: &[Step], endless: Endless) -> Vec<f64> {
    let pass = pass_ns(steps);
    let mut factors = Vec::with_capacity(steps.len());
    let mut open = vec![1.0];
    for (index, step) in steps.iter().enumerate() {
        let now = open.last().copied().unwrap_or(1.0);
        factors.push(now);
        match step {
            Step::Repeat { times: Some(n), .. } => open.push(now * *n as f64),
            Step::Repeat { times: None, .. } => open.push(now * endless.passes(pass[index])),
            Step::EndRepeat { .. } => {
                open.pop();
            }
            _ => {}
        }
    }
    factors
}

/// Mean work of all tasks together in ns. A loop's work counts once for each time that all its parties come.
pub(super) fn work_ns(workload: &Workload, counts: &Counts) -> f64 {
    let mut sum = 0.0;
    for ((program, &tasks), factors) in workload.programs.iter().zip(&counts.tasks).zip(&counts.factors) {
        if tasks == 0.0 {
            continue;
        }
        for (step, factor) in program.steps.iter().zip(factors) {
            sum += tasks * factor * step_work_ns(workload, step);
        }
    }
    sum
}

fn step_work_ns(workload: &Workload, step: &Step) -> f64 {
    match step {
        Step::Run { work, .. } => mean_ns(*work),
        Step::Loop(index) => {
            let looped = &workload.loops[*index as usize];
            looped.iterations as f64 * looped.work_ns as f64 / f64::from(looped.parties)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_takes_the_longer_of_timer_and_work() {
        let run = |ns| Step::Run {
            work: Amount::Fixed(ns),
            class: 0,
        };
        let steps = [
            Step::Repeat { times: None, end: 7 },
            run(3),
            Step::Timer {
                timer: 0,
                period: Amount::Fixed(10),
            },
            Step::Repeat { times: Some(4), end: 6 },
            run(2),
            Step::EndRepeat { start: 3 },
            Step::EndRepeat { start: 0 },
        ];
        // outer: timer 10, work 3 + 4 * 2
        assert_eq!(pass_ns(&steps), [11.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
        assert_eq!(
            step_factors(&steps, Endless::Within(110.0)),
            [1.0, 10.0, 10.0, 10.0, 40.0, 40.0, 10.0]
        );
    }
}
