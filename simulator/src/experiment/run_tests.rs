// SPDX-License-Identifier: MIT OR Apache-2.0
use super::super::{load_builtin, Experiment};
use super::*;
use crate::Counters;
use std::sync::Mutex;

/// Returns without simulating, with a time that identifies the run.
fn engine(_: &Machine, _: &Workload, policy: &PolicyChoice, options: &RunOptions) -> Result<Outcome, SimulationError> {
    let slow = if policy.to_string() == "linux:ondemand" { 2 } else { 1 };
    let time_s = slow * options.seed;
    Ok(Outcome {
        time_ns: time_s * 1_000_000_000,
        cpu_energy_j: 1.0,
        system_energy_j: 10.0 * time_s as f64,
        bounds: Bounds {
            time_s: 0.5,
            system_energy_j: 1.0,
        },
        counters: Counters {
            tasks: options.seed,
            ..Counters::default()
        },
        events: 1,
        trace: Vec::new(),
        trace_truncated_at_ns: None,
        power_uw: Vec::new(),
        task_names: Vec::new(),
        decisions: None,
    })
}

/// Fails for the second policy from seed 2 on, slowly for the lower seeds so that a higher one fails first.
fn failing(m: &Machine, w: &Workload, policy: &PolicyChoice, options: &RunOptions) -> Result<Outcome, SimulationError> {
    if policy.to_string() != "linux:ondemand" || options.seed < 2 {
        return engine(m, w, policy, options);
    }
    std::thread::sleep(std::time::Duration::from_millis(20 / options.seed));
    Err(SimulationError::Mismatch(format!("seed {}", options.seed)))
}

fn study(runs: u32) -> Experiment {
    let mut study = load_builtin("compile-transfer").unwrap();
    study.runs = runs;
    study
}

fn with_threads(threads: usize, engine: Engine, study: &Experiment) -> Result<Study, ExperimentError> {
    let control = RunControl {
        threads: NonZeroUsize::new(threads),
        progress: &|_| {},
        cancelled: &AtomicBool::new(false),
    };
    run_with(engine, study, &control)
}

#[test]
fn results_lie_point_by_point_and_do_not_depend_on_threads() {
    let study = study(3);
    let one = with_threads(1, engine, &study).unwrap();
    assert_eq!(one, with_threads(4, engine, &study).unwrap());
    assert_eq!(one.machines, ["phenom-9750", "phenom2-940", "i7-940"]);
    assert_eq!(one.results.len(), 12);
    let point: Vec<String> = one.results[3]
        .point
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(point, ["machine=phenom-9750", "placement=random"]);
}

/// Seeds 1, 2, 3 take 1, 2, 3 s, twice that under ondemand: means 2 and 4 s; energies-delays 10 + 40 + 90 over 3.
#[test]
fn means_relatives_and_intervals_by_hand() {
    let study = with_threads(2, engine, &study(3)).unwrap();
    let (first, second) = (&study.results[0], &study.results[1]);
    assert_eq!((first.mean.time_s, second.mean.time_s), (2.0, 4.0));
    assert_eq!(
        (first.relative_time, second.relative_time, second.relative_edp),
        (1.0, 2.0, 4.0)
    );
    assert!((first.mean.edp_js - 140.0 / 3.0).abs() < 1e-12);
    assert_eq!(first.mean.system_power_w, 10.0);
    assert_eq!(first.counters["tasks"], 2.0);
    let pairs = second.relative_ci95.unwrap();
    assert_eq!(
        (pairs.time, pairs.response),
        ([2.0, 2.0], None),
        "twice the time with each seed"
    );
    let half = first.ci95.unwrap();
    assert!((half.time_s - 4.302_652_7 / 3f64.sqrt()).abs() < 1e-6);
}

#[test]
fn results_of_a_seed_each_have_the_means_of_runs_within_one() {
    let alone = [1, 2, 3].map(|seed| {
        let study = Experiment { seed, ..study(1) };
        with_threads(1, engine, &study).unwrap().results.swap_remove(0)
    });
    let together = &with_threads(2, engine, &study(3)).unwrap().results[0];
    assert_eq!(
        PolicyResult::mean_of(&alone.each_ref()),
        (together.bounds, together.counters.clone())
    );
    assert_eq!(together.counters["tasks"], 2.0);
}

#[test]
fn one_run_has_no_interval_and_keeps_whole_counters() {
    let study = with_threads(2, engine, &study(1)).unwrap();
    assert_eq!(study.results[0].ci95, None);
    assert_eq!(study.results[0].counters["tasks"], serde_json::json!(1));
}

#[test]
fn the_first_failure_in_order_is_reported_whatever_the_threads_did() {
    for threads in [1, 2, 4] {
        let error = with_threads(threads, failing, &study(8)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.ends_with("under linux:ondemand, machine phenom-9750, placement longest-idle, seed 2: seed 2"),
            "{text}"
        );
    }
}

#[test]
fn progress_counts_every_simulation_once() {
    let seen = Mutex::new(Vec::new());
    let control = RunControl {
        threads: NonZeroUsize::new(2),
        progress: &|done| seen.lock().unwrap().push(done),
        cancelled: &AtomicBool::new(false),
    };
    let study = study(2);
    run_with(engine, &study, &control).unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, (1..=study.nr_simulations()).collect::<Vec<_>>());
}

#[test]
fn a_cancelled_run_gives_no_results() {
    let cancelled = AtomicBool::new(false);
    let control = RunControl {
        threads: NonZeroUsize::new(1),
        progress: &|done| cancelled.store(done >= 3, Ordering::Relaxed),
        cancelled: &cancelled,
    };
    assert_eq!(run_with(engine, &study(4), &control), Err(ExperimentError::Cancelled));
}

/// All cores fast and all cores slow take the same time here, so there is no loss to compare with: a note says so for each of six applications under
/// three policies. A single run has a note, too.
#[test]
fn what_has_no_class_is_said() {
    let mut study = load_builtin("parsec-classes").unwrap();
    let without = with_threads(2, engine, &study).unwrap();
    assert!(without.results.iter().all(|result| result.class.is_none()));
    assert_eq!(without.notes.len(), 18);
    let first = "no class under linux:performance at application join, cores 4 at 1870, 4 at 1600: a run with all cores slow takes less than 1 %";
    assert!(without.notes[0].contains(first), "{}", without.notes[0]);
    study.runs = 1;
    let notes = with_threads(2, engine, &study).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].contains("--runs 20"), "{notes:?}");
}
