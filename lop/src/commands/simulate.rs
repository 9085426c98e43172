// SPDX-License-Identifier: GPL-2.0-only
//! `lop simulate`: a workload on a simulated machine under some policies, or an experiment file.

use super::amp;
use super::kernel::Place;
use crate::failure::{Failure, BAD_INPUT, POLICIES_LISTED};
use crate::policies;
use crate::replayed;
use crate::study::{self, StudyOptions};
use crate::suggested::{self, Suggested};
use clap::Args;
use lop_policy::Named;
use lop_simulator::experiment::{self, Any, Experiment, Reference, Setting};
use lop_simulator::fleet;
use lop_simulator::workload;
use std::path::{Path, PathBuf};

const DEFAULT_MACHINE: &str = "laptop-hybrid";
const DEFAULT_WORKLOAD: &str = "recorded-build";
/// What the machine ships, the same at full speed, the sets by demand, fast cores to sequential phases, and all rules together.
const DEFAULT_POLICIES: [&str; 5] = ["linux", "linux:performance", "highlow-spare", "phase", "auto"];

const EXAMPLES: &str = "\
Examples:
  lop simulate
  lop simulate -m this -p linux,auto
  lop simulate -m opteron-2352-x2 --set workload.pool.build.slots=4
  lop simulate -w bursts -p linux:performance,simple-sets:2,highlow --runs 20
  lop simulate my-study.toml --threads 2 --format json
  lop simulate --workload ./my-rt-app.json --html timeline.html
  lop simulate --trace my-build.trace --machine i7-940 --policy linux,auto
  lop simulate --set machine.cpufreq.ondemand_period_ms=80
  lop simulate -m phenom-9750 --set linux.placement=fair-class
  lop simulate my-fleet.toml -m server-2x64 --set fleet.load=0.6
";

/// Examples, then every policy.
fn after_help() -> String {
    let behind = |policy| match policy {
        Named::SimpleSets => "[:CORES]",
        Named::ReservedCore => "[@MHZ|@3/4]",
        Named::Auto => "[:no-RULE[+RULE..]]",
        _ => "",
    };
    let table = policies::table(behind);
    let of_fleets = fleet::Policy::NAMES.map(|(name, _)| name).join(", ");
    format!(
        "{EXAMPLES}
Policies:
{table}  Baselines: linux, what the machine's file says that it ships ([ships]), and its
  placement under linux:performance, linux:powersave, linux:userspace[@MHZ],
  linux:ondemand, linux:schedutil, linux:eas, linux:hwp; pack, scatter, random.
  Of a fleet (a file with a table [fleet], such as 'fleet'): {of_fleets}.
Except for the baselines, policies run the same code as in the kernel, on a model of
a machine. Results are relative to the first policy. All energies are modelled."
    )
}

fn help_of_policy() -> String {
    let default = DEFAULT_POLICIES.join(",");
    format!("Policies to compare, separated by commas; 'all' stands for every policy [default: {default}]")
}

#[derive(Args)]
#[command(after_help = after_help())]
pub struct Arguments {
    /// Experiment file, or the id of a built-in one ('lop reproduce --list'); the options below override it
    #[arg(value_name = "FILE.toml", value_parser = Suggested::text(experiment::builtin_names), hide_possible_values = true)]
    experiment: Option<String>,
    /// Machine: a name ('lop machine list'), a TOML file, or 'this' for this machine [default: laptop-hybrid]
    #[arg(short, long, value_name = "M", value_parser = Suggested::text(suggested::machines), hide_possible_values = true)]
    machine: Option<String>,
    /// Workload: a name ('lop workload list'), a TOML file, an rt-app JSON file or a recording [default: recorded-build]
    #[arg(short, long, value_name = "W", value_parser = Suggested::text(workload::builtin_names), hide_possible_values = true)]
    workload: Option<String>,
    /// Replay a recording of 'lop record' as the workload
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    trace: Option<PathBuf>,
    #[arg(short, long, help = help_of_policy(), value_name = "A,B,..", value_delimiter = ',', value_parser = Suggested::text(lop_simulator::policy_names), hide_possible_values = true)]
    policy: Vec<String>,
    /// Change a key: machine.KEY, workload.KEY, of a fleet fleet.KEY; linux.placement, policy.{spare, hold_ms, green, heat_period_s,
    /// reserve, power_cap_w, watts, goal}; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    study: StudyOptions,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    // A file named by --trace must be a recording; reading it here says why it is not. The study reads recordings itself.
    if let Some(path) = arguments
        .trace
        .as_deref()
        .filter(|path| !workload::is_recording(&trace_target(path)))
    {
        replayed::of_recording(path)?;
    }
    study::run(vec![experiment(&arguments)?], &[], &arguments.study)
}

/// --trace takes files only, whatever their names.
fn trace_target(path: &Path) -> String {
    match experiment::is_path(&path.to_string_lossy()) {
        true => path.display().to_string(),
        false => format!("./{}", path.display()),
    }
}

fn experiment(arguments: &Arguments) -> Result<Any, Failure> {
    let base = match arguments.experiment.as_deref().map(experiment::open).transpose()? {
        Some(Any::Fleet(fleet)) => return with_fleet(fleet, arguments).map(Any::Fleet),
        Some(Any::Machine(experiment)) => *experiment,
        None => plain(),
    };
    let trace = arguments.trace.as_deref().map(trace_target);
    let (machine, workload) = (
        arguments.machine.as_deref(),
        arguments.workload.as_deref().or(trace.as_deref()),
    );
    let policies = match arguments.policy.is_empty() && arguments.experiment.is_none() {
        true => DEFAULT_POLICIES.map(str::to_string).to_vec(),
        false => arguments.policy.clone(),
    };
    let mut experiment = with(base, machine, workload, &policies)?;
    for setting in &arguments.settings {
        experiment.add_setting(Setting::from_argument(setting)?)?;
    }
    Ok(Any::Machine(Box::new(experiment)))
}

/// What arrives at a fleet is said by keys of its own, so it takes no workload.
fn with_fleet(mut fleet: Box<fleet::Experiment>, arguments: &Arguments) -> Result<Box<fleet::Experiment>, Failure> {
    if arguments.workload.is_some() || arguments.trace.is_some() {
        let message = format!(
            "--workload, --trace: experiment '{}' is about a fleet, at which applications arrive",
            fleet.id
        );
        return Err(Failure::new(BAD_INPUT, message).hint("change what arrives by --set fleet.KEY=VALUE"));
    }
    if let Some(machine) = &arguments.machine {
        fleet.set_machine(machine)?;
    }
    if !arguments.policy.is_empty() {
        fleet.set_policies(&arguments.policy)?;
    }
    for setting in &arguments.settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(Failure::new(BAD_INPUT, format!("--set {setting}: expected KEY=VALUE")));
        };
        fleet.set(key, value)?;
    }
    Ok(fleet)
}

/// Without an experiment file.
pub fn experiment_of(machine: Option<&str>, workload: Option<&str>, policy: &[String]) -> Result<Experiment, Failure> {
    with(plain(), machine, workload, policy)
}

fn with(
    mut experiment: Experiment,
    machine: Option<&str>,
    workload: Option<&str>,
    policy: &[String],
) -> Result<Experiment, Failure> {
    if let Some(machine) = machine {
        if machine == lop_machine::THIS {
            amp::tell_who_measures(&Place::here())?;
        }
        experiment.set_machine(Reference::given(machine, "--machine"))?;
    }
    if let Some(workload) = workload {
        experiment.set_workload(Reference::given(workload, "--workload"))?;
    }
    if !policy.is_empty() {
        let policies = experiment::policies(policy);
        experiment.policies = policies.map_err(|(_, message)| {
            let hint = match message.starts_with("unknown policy") {
                true => POLICIES_LISTED,
                false => "separate policies by commas; 'all' stands for every policy",
            };
            Failure::new(BAD_INPUT, format!("--policy: {message}")).hint(hint)
        })?;
        experiment.judged = experiment.judged.filter(|judged| experiment.policies.contains(judged));
    }
    Ok(experiment)
}

/// The default machine and workload, and no policy yet.
fn plain() -> Experiment {
    Experiment {
        id: "simulate".into(),
        title: String::new(),
        description: String::new(),
        machine: Reference::given(DEFAULT_MACHINE, "--machine"),
        workload: Reference::given(DEFAULT_WORKLOAD, "--workload"),
        policies: Vec::new(),
        seed: 1,
        runs: experiment::DEFAULT_RUNS,
        every_placement: false,
        judged: None,
        varied: None,
        left_out: Vec::new(),
        settings: Vec::new(),
        classes: None,
        last: Vec::new(),
        assumed: Vec::new(),
        sweeps: Vec::new(),
    }
}
