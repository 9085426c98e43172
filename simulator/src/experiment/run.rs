// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs an experiment on all cores. The result is the same to the byte for any number of them.

use super::judge::{Cell, COUNTED};
use super::merge::{add_extremes, mean_bounds, merge_counters, Half, Measures, RelativeRange};
use super::placements::{pinned, Placements};
use super::plan::{first_point, points, Point};
use super::vary::{variations, Variation};
use super::{classes, Class, Experiment, PointValue, MAX_RUNS};
use crate::workload::Workload;
use crate::{Bounds, Governor, Outcome, Placing, PolicyChoice, PowerCap, RunOptions, SimulationError};
use lop_machine::{InputError, Machine};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Threads, progress and cancellation of a run.
pub struct RunControl<'a> {
    /// Worker threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Called from any worker after each simulation with the number done so far.
    pub progress: &'a (dyn Fn(usize) + Sync),
    /// Once set, no further simulation begins and the run ends as [`ExperimentError::Cancelled`].
    pub cancelled: &'a AtomicBool,
}

/// Results of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Names of the machines and workloads used, each once, in order of use.
    pub machines: Vec<String>,
    pub workloads: Vec<String>,
    /// Notes from reading the workloads, each once.
    pub notes: Vec<String>,
    /// By point, then by policy in the order given.
    pub results: Vec<PolicyResult>,
    /// By point, if a policy is judged.
    pub cells: Vec<Cell>,
    /// By cell of the sweeps that are not varied, then by policy, if a sweep is.
    pub variations: Vec<Variation>,
}

/// One policy at one sweep point.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyResult {
    pub policy: PolicyChoice,
    /// What `linux` stands for on the machine of this point: placement and governor. `None`: another policy.
    pub stands_for: Option<String>,
    /// The machine whose watts were taken, if it has another processor: joules then say little.
    pub donor: Option<String>,
    /// In the order of the sweeps; empty without sweeps.
    pub point: Vec<(String, PointValue)>,
    /// Over all runs.
    pub mean: Measures,
    /// By run, in the order of seeds.
    pub times_s: Vec<f64>,
    /// This policy's means over those of the first policy at the same point.
    pub relative_time: f64,
    pub relative_system_energy: f64,
    pub relative_edp: f64,
    /// `None` for a single run, and where the runs of both are not of the same seeds.
    pub relative_ci95: Option<RelativeRange>,
    pub bounds: Bounds,
    pub counters: Map<String, Value>,
    /// `None` for a single run.
    pub ci95: Option<Half>,
    /// Only for half of the cores slow, in experiments with classes.
    pub class: Option<Class>,
}

/// One policy's recorded run, with the machine it ran on.
pub struct Recorded {
    pub policy: PolicyChoice,
    pub point: Vec<(String, PointValue)>,
    pub machine: Machine,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExperimentError {
    Input(InputError),
    /// `context`: which run it was.
    Simulation {
        context: String,
        error: SimulationError,
    },
    /// Worker threads could not be started.
    Threads(String),
    Cancelled,
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Simulation { context, error } => write!(f, "{context}: {error}"),
            Self::Threads(error) => write!(f, "cannot start worker threads: {error}; use fewer (--threads 1)"),
            Self::Cancelled => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for ExperimentError {}

impl From<InputError> for ExperimentError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// The engine. Tests replace it.
type Engine = fn(&Machine, &Workload, &PolicyChoice, &RunOptions) -> Result<Outcome, SimulationError>;

/// Runs every policy at every point with every seed.
///
/// # Errors
/// The first error in the order of results, so it is the same each time: a machine or workload that cannot be opened or do not fit together, a
/// deadlock; or that the run was cancelled.
pub fn run(experiment: &Experiment, control: &RunControl) -> Result<Study, ExperimentError> {
    run_with(crate::simulate, experiment, control)
}

/// Runs each policy once at the first point with the first seed, recording at most `trace_limit` events each.
///
/// # Errors
/// As [`run`].
pub fn record(
    experiment: &Experiment,
    control: &RunControl,
    trace_limit: usize,
) -> Result<Vec<Recorded>, ExperimentError> {
    let point = first_point(experiment)?;
    let workload = point.workload.build(experiment.seed);
    let options = RunOptions {
        seed: experiment.seed,
        placement: point.placement,
        policy: point.policy.clone(),
        trace_limit,
        decisions: false,
    };
    let job = Job::new(crate::simulate, control);
    let policies = &experiment.policies;
    let outcomes: Vec<_> = pool(control)?.install(|| {
        (0..policies.len())
            .into_par_iter()
            .map(|i| job.run(i, &point, &workload, &policies[i], &options))
            .collect()
    });
    let outcomes = in_order(outcomes)?;
    let recorded = outcomes.into_iter().zip(policies).map(|(outcome, policy)| Recorded {
        policy: policy.clone(),
        point: point.labels.clone(),
        machine: Machine::clone(&point.machine),
        outcome,
    });
    Ok(recorded.collect())
}

/// Points run in batches of at least this many builds of a workload: enough to keep every core busy until the end of a batch, and few enough that the
/// counters of a long sweep need not be kept until its end.
const BUILDS_PER_BATCH: usize = 256;

fn run_with(engine: Engine, experiment: &Experiment, control: &RunControl) -> Result<Study, ExperimentError> {
    let points = points(experiment)?;
    let job = Job::new(engine, control);
    let pool = pool(control)?;
    let mut merged = Vec::with_capacity(points.len() * experiment.policies.len());
    let mut cells = Vec::new();
    for batch in points.chunks((BUILDS_PER_BATCH / experiment.runs as usize).max(1)) {
        let runs = pool.install(|| job.batch(experiment, batch))?;
        let placed = pool.install(|| job.every_placement(experiment, batch))?;
        let of_batch = results(experiment, batch, &runs, &placed);
        cells.extend(judge(experiment, &of_batch));
        merged.extend(of_batch);
    }
    let variations = variations(experiment, &points, &merged, &cells);
    let without_class = classes::classify(experiment, &mut merged);
    let without_eas: Vec<_> = points
        .iter()
        .filter_map(|point| no_eas_in_words(experiment, point))
        .collect();
    let capped = points.iter().filter_map(cap_in_words).collect::<Vec<_>>();
    Ok(Study {
        machines: distinct(points.iter().map(|p| p.machine.title())),
        workloads: distinct(points.iter().map(|p| &p.workload_name)),
        notes: distinct(
            points
                .iter()
                .flat_map(|p| p.workload.notes.iter())
                .chain(&without_class)
                .chain(&capped)
                .chain(&without_eas),
        ),
        results: merged,
        cells,
        variations,
    })
}

/// Judges the policy at each point. `results`: by point, then by policy.
fn judge(experiment: &Experiment, results: &[PolicyResult]) -> Vec<Cell> {
    let Some(judged) = &experiment.judged else {
        return Vec::new();
    };
    let at_points = results.chunks(experiment.policies.len());
    at_points.filter_map(|results| Cell::of(results, judged)).collect()
}

/// A note on the power cap at a point, if there is one.
fn cap_in_words(point: &Point) -> Option<String> {
    PowerCap::asked(&point.machine, &point.policy).map(|cap| cap.describe(&point.machine))
}

/// A note where the kernel would have energy-aware scheduling off: all cores count as equal, or have SMT.
fn no_eas_in_words(experiment: &Experiment, point: &Point) -> Option<String> {
    let is_eas = |policy: &PolicyChoice| policy.governor_on(&point.machine, point.policy.goal) == Some(Governor::Eas);
    let message = || {
        format!(
            "linux:eas on {}: the kernel has it neither where all cores have the same capacity nor with SMT; it is linux:schedutil with placement fair-class there",
            point.machine_name
        )
    };
    (experiment.policies.iter().any(is_eas) && !crate::engine::is_asymmetric(&point.machine)).then(message)
}

pub(crate) fn pool(control: &RunControl) -> Result<rayon::ThreadPool, ExperimentError> {
    let threads = control.threads.map_or(0, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| ExperimentError::Threads(error.to_string()))
}

/// What is kept of one simulation.
#[derive(Clone)]
struct Run {
    measures: Measures,
    bounds: Bounds,
    counters: Value,
}

impl Run {
    fn of(outcome: &Outcome) -> Self {
        Self {
            measures: Measures::of(outcome),
            bounds: outcome.bounds,
            // Counters are numbers, and lists and maps of numbers, which JSON can always represent.
            counters: serde_json::to_value(&outcome.counters).unwrap_or_default(),
        }
    }

    /// The same run with the times of equal applications rotated by `turn` places.
    fn handed_around(&self, equal: &[Vec<&str>], turn: usize) -> Self {
        let mut handed = self.clone();
        for names in equal {
            for (at, name) in names.iter().enumerate() {
                if let Some(time_s) = self.counters["app_time_s"].get(name) {
                    handed.counters["app_time_s"][names[(at + turn) % names.len()]] = time_s.clone();
                }
            }
        }
        handed
    }
}

/// State shared by the workers.
struct Job<'a> {
    engine: Engine,
    control: &'a RunControl<'a>,
    done: AtomicUsize,
    /// Lowest index of a failed simulation. Those after it need not run. Those before it may still fail, and are then reported instead, so the reported
    /// error does not depend on threads.
    failed: AtomicUsize,
}

impl<'a> Job<'a> {
    fn new(engine: Engine, control: &'a RunControl<'a>) -> Self {
        Self {
            engine,
            control,
            done: AtomicUsize::new(0),
            failed: AtomicUsize::new(usize::MAX),
        }
    }

    /// All runs with seeds at some points: by point, then seed, then policy.
    fn batch(&self, experiment: &Experiment, points: &[Point]) -> Result<Vec<Run>, ExperimentError> {
        let runs = experiment.runs as usize;
        let cell = |index: usize| self.cell(index, experiment, &points[index / runs], (index % runs) as u64);
        let cells: Vec<Vec<_>> = (0..points.len() * runs).into_par_iter().map(cell).collect();
        in_order(cells.into_iter().flatten().collect())
    }

    /// All policies with one seed at one point, for which the workload is built once.
    fn cell(
        &self,
        index: usize,
        experiment: &Experiment,
        point: &Point,
        run: u64,
    ) -> Vec<Result<Run, ExperimentError>> {
        let policies = experiment.drawn();
        let first = index * policies.len();
        if self.is_pointless(first) {
            return vec![Err(ExperimentError::Cancelled)];
        }
        let options = options(experiment, point, run);
        let workload = point.workload.build(options.seed);
        let run = |(i, policy)| {
            self.run(first + i, point, &workload, policy, &options)
                .map(|o| Run::of(&o))
        };
        policies.into_par_iter().enumerate().map(run).collect()
    }

    /// By point, if placements are counted: runs of the distinct placements, each repeated by its weight; otherwise empty.
    fn every_placement(&self, experiment: &Experiment, points: &[Point]) -> Result<Vec<Vec<Run>>, ExperimentError> {
        if experiment.drawn().len() == experiment.policies.len() {
            return Ok(points.iter().map(|_| Vec::new()).collect());
        }
        let at_point = points.par_iter().enumerate();
        let runs: Vec<_> = at_point
            .map(|(index, point)| self.placements(index, experiment, point))
            .collect();
        in_order(runs)
    }

    /// The same for one point, with the first seed.
    fn placements(&self, index: usize, experiment: &Experiment, point: &Point) -> Result<Vec<Run>, ExperimentError> {
        let options = options(experiment, point, 0);
        let policy = PolicyChoice::Placed(Placing::Random);
        let workload = point.workload.build(options.seed);
        let placements = Placements::of(&point.machine, &workload).map_err(|message| ExperimentError::Simulation {
            context: context(point, &policy, options.seed),
            error: SimulationError::Mismatch(message),
        })?;
        let first = index * MAX_RUNS as usize;
        let distinct = placements.distinct.par_iter().enumerate();
        let run = |(i, placement)| {
            self.run(first + i, point, &pinned(&workload, placement), &policy, &options)
                .map(|outcome| Run::of(&outcome))
        };
        let runs: Vec<_> = distinct.map(run).collect();
        Ok(told_apart(&in_order(runs)?, &placements, &workload))
    }

    fn run(
        &self,
        index: usize,
        point: &Point,
        workload: &Workload,
        policy: &PolicyChoice,
        options: &RunOptions,
    ) -> Result<Outcome, ExperimentError> {
        if self.is_pointless(index) {
            return Err(ExperimentError::Cancelled);
        }
        let outcome = (self.engine)(&point.machine, workload, policy, options);
        (self.control.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        outcome.map_err(|error| {
            self.failed.fetch_min(index, Ordering::Relaxed);
            ExperimentError::Simulation {
                context: context(point, policy, options.seed),
                error,
            }
        })
    }

    fn is_pointless(&self, index: usize) -> bool {
        self.control.cancelled.load(Ordering::Relaxed) || index > self.failed.load(Ordering::Relaxed)
    }
}

/// Describes a run for errors.
fn context(point: &Point, policy: &PolicyChoice, seed: u64) -> String {
    let labels: String = point
        .labels
        .iter()
        .map(|(name, value)| format!(", {name} {value}"))
        .collect();
    format!(
        "{} on {} under {policy}{labels}, seed {seed}",
        point.workload_name, point.machine_name
    )
}

/// All values, or the first error in order. Simulations after a failure count as cancelled, so the failure comes first.
fn in_order<T>(outcomes: Vec<Result<T, ExperimentError>>) -> Result<Vec<T>, ExperimentError> {
    outcomes.into_iter().collect()
}

/// Options of a run of a point, by its number from 0.
fn options(experiment: &Experiment, point: &Point, run: u64) -> RunOptions {
    RunOptions {
        seed: experiment.seed.wrapping_add(run),
        placement: point.placement,
        policy: point.policy.clone(),
        trace_limit: 0,
        decisions: false,
    }
}

/// Extends runs of distinct placements to all placements: each is repeated by its weight, with the times of equal tasks rotated, as each of these
/// tasks has each of their places in one of the placements that the run represents.
fn told_apart(runs: &[Run], placements: &Placements, workload: &Workload) -> Vec<Run> {
    let app_of = |&task: &usize| {
        let program = &workload.programs[workload.starts[task].program as usize];
        workload.apps[usize::from(program.app)].name.as_str()
    };
    let equal: Vec<Vec<&str>> = placements
        .equal
        .iter()
        .map(|tasks| tasks.iter().map(app_of).collect())
        .collect();
    let weighted = runs.iter().zip(placements.weights());
    let handed = weighted.flat_map(|(run, weight)| {
        let turns = (0..placements.nr_turns()).map(|turn| run.handed_around(&equal, turn));
        turns.flat_map(move |run| std::iter::repeat_n(run, weight as usize))
    });
    handed
        .map(|mut run| {
            run.counters["placements"] = placements.nr_told_apart().into();
            run.counters["placements_simulated"] = runs.len().into();
            run
        })
        .collect()
}

/// Merges the runs: those with seeds, ordered by point, seed and policy, and those over all placements, by point.
fn results(experiment: &Experiment, points: &[Point], flat: &[Run], placed: &[Vec<Run>]) -> Vec<PolicyResult> {
    let drawn = experiment.drawn();
    let per_point = drawn.len() * experiment.runs as usize;
    let mut results: Vec<PolicyResult> = Vec::with_capacity(points.len() * experiment.policies.len());
    for (index, (point, placed)) in points.iter().zip(placed).enumerate() {
        let mut first: Option<Vec<&Run>> = None;
        for policy in &experiment.policies {
            let of_policy: Vec<&Run> = match drawn.iter().position(|of_seeds| *of_seeds == policy) {
                Some(at) => flat[index * per_point..][..per_point]
                    .iter()
                    .skip(at)
                    .step_by(drawn.len())
                    .collect(),
                None => placed.iter().collect(),
            };
            let first = first.get_or_insert_with(|| of_policy.clone());
            let mut merged = merge(policy, point, &of_policy, first);
            if !drawn.contains(&policy) {
                // All placements, not a sample, so there is no confidence interval.
                (merged.ci95, merged.relative_ci95) = (None, None);
            }
            if experiment.judged.is_some() || experiment.varied.is_some() {
                merged.counters.retain(|name, _| COUNTED.contains(&name.as_str()));
            }
            results.push(merged);
        }
    }
    results
}

impl PolicyResult {
    /// Bounds and counters of several results of one policy, such as one for each seed: means, as over several runs in one result.
    pub fn mean_of(results: &[&Self]) -> (Bounds, Map<String, Value>) {
        let counters: Vec<Value> = results
            .iter()
            .map(|result| Value::Object(result.counters.clone()))
            .collect();
        let mut merged = merge_counters(counters.clone());
        add_extremes(&mut merged, &counters.iter().collect::<Vec<_>>());
        (
            mean_bounds(&results.iter().map(|result| result.bounds).collect::<Vec<_>>()),
            merged,
        )
    }
}

/// `first`: the runs of the first policy at this point.
fn merge(policy: &PolicyChoice, point: &Point, runs: &[&Run], first: &[&Run]) -> PolicyResult {
    let measures_of = |runs: &[&Run]| runs.iter().map(|run| run.measures).collect::<Vec<_>>();
    let responses_of = |runs: &[&Run]| {
        let response_s = |run: &&Run| run.counters["mean_response_s"].as_f64();
        runs.iter().map(response_s).collect::<Option<Vec<_>>>()
    };
    let (measures, of_first) = (measures_of(runs), measures_of(first));
    let responses = responses_of(runs).zip(responses_of(first)).map(<[Vec<f64>; 2]>::from);
    let mean = Measures::mean(&measures);
    let baseline = Measures::mean(&of_first);
    let mut counters = merge_counters(runs.iter().map(|run| run.counters.clone()).collect());
    add_extremes(&mut counters, &runs.iter().map(|run| &run.counters).collect::<Vec<_>>());
    PolicyResult {
        policy: policy.clone(),
        stands_for: policy.stands_for(&point.machine, point.placement, point.policy.goal),
        donor: point.machine.foreign_watts().map(str::to_string),
        point: point.labels.clone(),
        mean,
        times_s: measures.iter().map(|run| run.time_s).collect(),
        relative_time: ratio(mean.time_s, baseline.time_s),
        relative_system_energy: ratio(mean.system_energy_j, baseline.system_energy_j),
        relative_edp: ratio(mean.edp_js, baseline.edp_js),
        relative_ci95: RelativeRange::of(&measures, &of_first, responses),
        bounds: mean_bounds(&runs.iter().map(|run| run.bounds).collect::<Vec<_>>()),
        counters,
        ci95: Half::of(&measures),
        class: None,
    }
}

/// 0 / 0 is 1: both are equal.
pub(super) fn ratio(value: f64, baseline: f64) -> f64 {
    if value == baseline {
        1.0
    } else {
        value / baseline
    }
}

fn distinct<S: AsRef<str>>(names: impl Iterator<Item = S>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.iter().any(|known| known == name.as_ref()) {
            all.push(name.as_ref().to_string());
        }
    }
    all
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
