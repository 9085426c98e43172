// SPDX-License-Identifier: GPL-2.0-only
//! The same table from the simulator: a seed is a round.

use crate::commands::simulate;
use crate::failure::Failure;
use crate::suggested::{self, Suggested};
use crate::{convert, interrupt, progress, replayed};
use clap::Args;
use lop_compare::journal::{End, Header, Measured, MeterUsed, Run, Simulated};
use lop_compare::plan::{Combination, CommandLine};
use lop_compare::surroundings::Around;
use lop_report::Replayed;
use lop_simulator::experiment::{self, Experiment, PolicyResult, RunControl};
use lop_simulator::workload;
use std::collections::BTreeMap;

const DEFAULT_RUNS: u32 = 10;

/// Arguments that are about measurements only.
const OF_MEASUREMENTS: [&str; 25] = [
    "warmup",
    "min_runs",
    "max_runs",
    "setup",
    "prepare",
    "conclude",
    "cleanup",
    "parameter_list",
    "parameter_scan",
    "parameter_step_size",
    "shell",
    "no_shell",
    "ignore_failure",
    "command_name",
    "output",
    "show_output",
    "input",
    "reference",
    "reference_name",
    "idle",
    "meter",
    "meter_cmd",
    "model",
    "journal",
    "enforce",
];

#[derive(Args)]
pub struct SimulatedArguments {
    /// Simulate instead of measuring, on this machine: a name ('lop machine list'), a TOML file, or 'this'; with --workload
    #[arg(long, value_name = "M", value_parser = Suggested::text(suggested::machines), hide_possible_values = true, conflicts_with = "show", conflicts_with_all = OF_MEASUREMENTS)]
    machine: Option<String>,
    /// Workload to simulate: a name ('lop workload list') or a file
    #[arg(long, value_name = "W", value_parser = Suggested::text(workload::builtin_names), hide_possible_values = true, conflicts_with = "show", conflicts_with_all = OF_MEASUREMENTS)]
    workload: Option<String>,
}

impl SimulatedArguments {
    pub fn wanted(&self) -> bool {
        self.machine.is_some() || self.workload.is_some()
    }

    /// What a report says about the workload if it is a recording.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn replayed(&self) -> Result<Option<Replayed>, Failure> {
        self.workload.as_deref().map_or(Ok(None), replayed::of_workload)
    }

    /// Runs every policy with as many seeds as there are rounds, from `seed` on.
    ///
    /// # Errors
    /// Whatever stops an experiment.
    pub fn measure(&self, policies: &[String], seed: u64, runs: Option<u32>) -> Result<Measured, Failure> {
        let runs = runs.unwrap_or(DEFAULT_RUNS);
        let mut experiment = simulate::experiment_of(self.machine.as_deref(), self.workload.as_deref(), policies)?;
        let mut measured = Measured::new(header(&experiment, seed));
        let cancelled = interrupt::install()?;
        let bar = progress::bar("compare", runs as usize);
        let mut rounds = Vec::new();
        for round in 0..runs {
            experiment.seed = seed.wrapping_add(u64::from(round));
            let control = RunControl {
                threads: None,
                progress: &|_| {},
                cancelled,
            };
            let study = experiment::run(&experiment, &control)?;
            if let Some(meter) = &mut measured.header.meter {
                meter.name = study.machines.join(", ");
                meter.only_ratios = study.results.iter().any(|result| result.donor.is_some());
            }
            let results = study.results.iter().enumerate();
            measured
                .runs
                .extend(results.map(|(index, result)| run(round, index, result)));
            rounds.push(study.results);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let policies = 0..measured.header.combinations.len();
        measured.simulated = policies.map(|policy| simulated(&rounds, policy)).collect();
        measured.end = Some(End::Complete);
        Ok(measured)
    }
}

fn header(experiment: &Experiment, seed: u64) -> Header {
    let workload = experiment.workload.target.clone();
    let combination = |policy: String| Combination {
        policy,
        command: CommandLine::Words(vec![workload.clone()]),
        name: workload.clone(),
        parameters: BTreeMap::new(),
        unit: 0,
        prepare: None,
        conclude: None,
        setup: None,
        cleanup: None,
    };
    let policies = experiment.policies.iter().map(ToString::to_string);
    let mut header = Header::new(seed, policies.map(combination).collect());
    header.simulated = Some(experiment.machine.target.clone());
    header.meter = Some(MeterUsed {
        kind: convert::ENERGY_SOURCE.to_string(),
        name: experiment.machine.target.clone(),
        whole_system: true,
        update_period_s: None,
        only_ratios: false,
    });
    header
}

/// Bounds and counters of a policy over all rounds.
fn simulated(rounds: &[Vec<PolicyResult>], policy: usize) -> Simulated {
    let results: Vec<&PolicyResult> = rounds.iter().map(|results| &results[policy]).collect();
    let (bounds, counters) = PolicyResult::mean_of(&results);
    Simulated {
        stands_for: results[0].stands_for.clone(),
        bound_time_s: bounds.time_s,
        bound_system_energy_j: bounds.system_energy_j,
        counters,
    }
}

fn run(round: u32, combination: usize, result: &PolicyResult) -> Run {
    Run {
        round,
        combination,
        time_s: result.mean.time_s,
        user_s: None,
        system_s: None,
        memory_usage_byte: None,
        exit_code: 0,
        energy_j: Some(result.mean.system_energy_j),
        cpu_energy_j: Some(result.mean.cpu_energy_j),
        around: Around::default(),
    }
}
