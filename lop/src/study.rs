// SPDX-License-Identifier: GPL-2.0-only
//! What `lop simulate` and `lop reproduce` share: running experiments and printing tables, JSON and CSV.

use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::format::TableFormat;
use crate::output::OutputFile;
use crate::{convert, interrupt, progress, replayed, terminal, timeline};
use clap::Args;
use lop_report::published::{self, Agreed, ComparedTable, Selection, Table};
use lop_report::{Report, ReportError, Room, Timeline};
use lop_simulator::experiment::{self, Any, Experiment, ExperimentError, RunControl, MAX_RUNS};
use lop_simulator::fleet;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Events recorded per policy for a timeline, and for all timelines of a report together: enough for every wakeup of a build
/// of some thousand processes, little enough for a browser.
const EVENTS_PER_TIMELINE: usize = 200_000;
const EVENTS_PER_REPORT: usize = 500_000;

#[derive(Args)]
pub struct StudyOptions {
    /// Seed of the first run; the following runs count up from it [default: the experiment's, or 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Runs of each policy, with different seeds; from two on, results are means with 95 % confidence intervals [default: the experiment's, or 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)))]
    runs: Option<u32>,
    /// Worker threads; results do not depend on their number [default: one for each core]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// Aligned tables for people, one JSON object with `results`, or a CSV line for each result
    #[arg(long, value_enum, default_value = "text")]
    pub format: TableFormat,
    /// Also write a report with plots and timelines: one file that works offline
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write timelines for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print all columns however narrow the terminal is, and counters: sets, migrations, wakeup latencies, shares of time at each speed
    #[arg(short, long)]
    verbose: bool,
}

impl StudyOptions {
    /// The file for the report, unless another was named.
    pub fn report_to(&mut self, file: &str) {
        self.html.get_or_insert_with(|| file.into());
    }
}

/// More threads than any machine has cores are a typing error.
fn thread_count(text: &str) -> Result<NonZeroUsize, String> {
    let known = text.parse::<NonZeroUsize>().ok().filter(|count| count.get() <= 4096);
    known.ok_or_else(|| "expected a whole number from 1 to 4096".into())
}

/// Files asked for, checked.
struct Files {
    html: Option<OutputFile>,
    perfetto: Option<OutputFile>,
}

impl Files {
    fn check(options: &StudyOptions) -> Result<Self, Failure> {
        let check =
            |option: &str, path: &Option<PathBuf>| path.as_deref().map(|p| OutputFile::check(option, p)).transpose();
        let files = Self {
            html: check("--html", &options.html)?,
            perfetto: check("--perfetto", &options.perfetto)?,
        };
        OutputFile::check_distinct(&files.html.iter().chain(&files.perfetto).collect::<Vec<_>>())?;
        Ok(files)
    }

    /// An output may not replace an input: no TOML file at all, and no machine or workload of the experiments.
    fn spare_inputs(&self, experiments: &[Any]) -> Result<(), Failure> {
        let read = |file: &OutputFile| {
            let is_toml = file.shown.exists() && file.shown.extension().is_some_and(|e| e == "toml");
            let targets = experiments
                .iter()
                .filter_map(of_machine)
                .flat_map(|e| [&e.machine.target, &e.workload.target]);
            is_toml || targets.map(Path::new).any(|target| file.is(target))
        };
        match self.html.iter().chain(&self.perfetto).find(|file| read(file)) {
            None => Ok(()),
            Some(file) => Err(Failure::new(
                BAD_INPUT,
                format!(
                    "{}: is an input; name another file for the output",
                    file.shown.display()
                ),
            )),
        }
    }

    fn want_timelines(&self) -> bool {
        self.html.is_some() || self.perfetto.is_some()
    }
}

/// Runs the experiments, then prints and writes what was asked for. `published`: what is printed beside their results.
///
/// # Errors
/// Whatever stops an experiment or an output. No file is written then.
pub fn run(mut experiments: Vec<Any>, published: &[Table], options: &StudyOptions) -> Result<(), Failure> {
    let several = experiments.len() > 1;
    let files = Files::check(options)?;
    files.spare_inputs(&experiments)?;
    if files.perfetto.is_some() && experiments.iter().all(|experiment| of_machine(experiment).is_none()) {
        return Err(Failure::new(BAD_INPUT, "--perfetto: a fleet has no timelines").hint("leave --perfetto out"));
    }
    let cancelled = interrupt::install()?;
    let mut reports = Vec::new();
    let mut timelines = Vec::new();
    let budget = events_per_timeline(&experiments);
    for experiment in &mut experiments {
        let experiment = match experiment {
            Any::Machine(experiment) => experiment,
            Any::Fleet(experiment) => {
                reports.push(simulate_fleet(experiment, options, cancelled)?);
                continue;
            }
        };
        let trace = replayed::of_workload(&experiment.workload.target)?;
        let mut report = simulate(experiment, options, cancelled)?;
        report.published = beside(published, &experiment.id, &report)?;
        reports.push(Report { trace, ..report });
        if files.want_timelines() {
            timelines.extend(record(experiment, budget, options, cancelled)?);
        }
    }
    let text = match options.format {
        TableFormat::Text => text(&reports, options.verbose),
        TableFormat::Json if several => json_of_several(&reports)?,
        TableFormat::Json => json(&reports[0])?,
        TableFormat::Csv => lop_report::csv(&reports).map_err(|error| Failure::new(FAILED, error.to_string()))?,
    };
    write(&files, &reports, &timelines)?;
    terminal::print(&text)
}

fn of_machine(experiment: &Any) -> Option<&Experiment> {
    match experiment {
        Any::Machine(experiment) => Some(experiment.as_ref()),
        Any::Fleet(_) => None,
    }
}

/// A fleet has no timelines.
fn events_per_timeline(experiments: &[Any]) -> usize {
    let on_machines = experiments.iter().filter_map(of_machine);
    let timelines: usize = on_machines.map(|experiment| experiment.policies.len()).sum();
    EVENTS_PER_TIMELINE.min(EVENTS_PER_REPORT / timelines.max(1))
}

/// The tables of this study, beside its results.
fn beside(published: &[Table], study: &str, report: &Report) -> Result<Vec<ComparedTable>, Failure> {
    let tables = published.iter().filter(|table| table.study == study);
    let compared: Result<_, ReportError> = tables.map(|table| published::compare(table, report)).collect();
    compared.map_err(|error| Failure::new(FAILED, error.to_string()))
}

/// Every table of these studies as Markdown: docs/agreement.md.
///
/// # Errors
/// Whatever stops an experiment.
pub fn agreement(published: &[Table], studies: &[&str], whole: bool, options: &StudyOptions) -> Result<(), Failure> {
    let cancelled = interrupt::install()?;
    let mut agreed = Vec::new();
    for study in studies {
        let mut experiment = experiment::load_builtin(study)?;
        keep_published(&mut experiment, published);
        let compared = |experiment: &mut Experiment| {
            let report = simulate(experiment, options, cancelled)?;
            beside(published, study, &report)
        };
        let mut tables = compared(&mut experiment)?;
        for end in experiment.assumed.iter().flat_map(|assumption| &assumption.ends) {
            let at_end = compared(&mut experiment.at_end(end))?;
            tables
                .iter_mut()
                .zip(&at_end)
                .for_each(|(table, other)| table.widen(other));
        }
        let assumed = experiment.assumed.into_iter();
        agreed.push(Agreed {
            study: study.to_string(),
            assumed: assumed.map(|assumption| (assumption.what, assumption.source)).collect(),
            tables,
        });
    }
    terminal::print(&published::agreement(&agreed, whole))
}

/// Leaves out what no published figure is about.
fn keep_published(experiment: &mut Experiment, published: &[Table]) {
    let tables = published.iter().filter(|table| table.study == experiment.id);
    let selections: Vec<&Selection> = tables
        .flat_map(|table| &table.figures)
        .filter_map(|figure| figure.selection.as_ref())
        .collect();
    let policies: Vec<&str> = selections.iter().flat_map(|selection| selection.policies()).collect();
    experiment.keep(&policies, |sweep, label| {
        selections
            .iter()
            .any(|selection| selection.is_about(sweep, &convert::point_value(label.clone())))
    });
}

fn simulate_fleet(
    experiment: &mut fleet::Experiment,
    options: &StudyOptions,
    cancelled: &AtomicBool,
) -> Result<Report, Failure> {
    experiment.seed = options.seed.unwrap_or(experiment.seed);
    experiment.runs = options.runs.unwrap_or(experiment.runs);
    let simulations = experiment.nr_simulations();
    let results = watched(&experiment.id, simulations, options, cancelled, |control| {
        experiment.run(control)
    })?;
    Ok(convert::fleet_report(experiment, results))
}

fn simulate(experiment: &mut Experiment, options: &StudyOptions, cancelled: &AtomicBool) -> Result<Report, Failure> {
    experiment.seed = options.seed.unwrap_or(experiment.seed);
    experiment.runs = options.runs.unwrap_or(experiment.runs);
    let simulations = experiment.nr_simulations();
    let run = |control: &RunControl| experiment::run(experiment, control);
    let study = watched(&experiment.id, simulations, options, cancelled, run)?;
    study.notes.iter().for_each(|note| terminal::note(note));
    Ok(convert::report(experiment, study))
}

/// With a bar that shows how many simulations are done.
fn watched<T>(
    id: &str,
    simulations: usize,
    options: &StudyOptions,
    cancelled: &AtomicBool,
    run: impl FnOnce(&RunControl) -> Result<T, ExperimentError>,
) -> Result<T, Failure> {
    let bar = progress::bar(id, simulations);
    let control = RunControl {
        threads: options.threads,
        progress: &|done| bar.set_position(done as u64),
        cancelled,
    };
    let result = run(&control);
    bar.finish_and_clear();
    Ok(result?)
}

/// One timeline for each policy, at the first sweep point with the first seed.
fn record(
    experiment: &Experiment,
    budget: usize,
    options: &StudyOptions,
    cancelled: &AtomicBool,
) -> Result<Vec<Timeline>, Failure> {
    let control = RunControl {
        threads: options.threads,
        progress: &|_| {},
        cancelled,
    };
    let recorded = experiment::record(experiment, &control, budget)?;
    Ok(timeline::timelines(&experiment.id, recorded))
}

fn text(reports: &[Report], verbose: bool) -> String {
    let one = |report: &Report| match verbose {
        true => {
            let table = lop_report::table(report, Room::UNLIMITED);
            format!("{table}\n{}", lop_report::counters_table(report))
        }
        false => lop_report::table(report, terminal::room("-v or --format csv")),
    };
    reports.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn json(report: &Report) -> Result<String, Failure> {
    let text = lop_report::json(report).map_err(|error| Failure::new(FAILED, format!("{}: {error}", report.title)))?;
    Ok(format!("{}\n", text.trim_end()))
}

/// Still one object with `results`: those of all experiments, each with its `experiment`; `experiments` holds the rest.
fn json_of_several(reports: &[Report]) -> Result<String, Failure> {
    let mut results = Vec::new();
    let mut headers = Vec::new();
    for report in reports {
        // Refuses numbers that JSON does not have.
        json(report)?;
        let Ok(Value::Object(mut header)) = serde_json::to_value(report) else {
            continue;
        };
        if let Some(Value::Array(of_report)) = header.remove("results") {
            results.extend(
                of_report
                    .into_iter()
                    .map(|result| with_experiment(&report.title, result)),
            );
        }
        headers.push(Value::Object(header));
    }
    let all = Map::from_iter([
        ("experiments".to_string(), Value::Array(headers)),
        ("results".to_string(), Value::Array(results)),
    ]);
    let text = serde_json::to_string_pretty(&Value::Object(all));
    text.map(|text| text + "\n")
        .map_err(|error| Failure::new(FAILED, error.to_string()))
}

fn with_experiment(id: &str, result: Value) -> Value {
    let mut with = Map::from_iter([("experiment".to_string(), Value::String(id.to_string()))]);
    if let Value::Object(result) = result {
        with.extend(result);
    }
    Value::Object(with)
}

/// All contents are made before the first file is touched.
fn write(files: &Files, reports: &[Report], timelines: &[Timeline]) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(FAILED, format!("cannot make the report: {error}"));
    let mut contents: Vec<(&OutputFile, String)> = Vec::new();
    if let Some(file) = &files.html {
        contents.push((
            file,
            lop_report::html(reports, timelines).map_err(|error| failed(&error))?,
        ));
    }
    if let Some(file) = &files.perfetto {
        contents.push((file, lop_report::perfetto(timelines).map_err(|error| failed(&error))?));
    }
    interrupt::commit()?;
    for (file, contents) in contents {
        file.write(&contents)?;
        file.tell_written();
    }
    Ok(())
}
