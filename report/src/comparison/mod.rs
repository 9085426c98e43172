// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons: commands that were run several times under several policies. Text, JSON, CSV, Markdown, AsciiDoc, Org mode, HTML.

mod asciidoc;
mod csv;
mod html;
mod json;
mod markdown;
mod orgmode;
mod text;
mod verdict;

pub use asciidoc::comparison_asciidoc;
pub use csv::comparison_csv;
pub use html::comparison_html;
pub use json::comparison_json;
pub use markdown::comparison_markdown;
pub use orgmode::comparison_orgmode;
pub use text::comparison_text;

use crate::grid::{Column, Grid};
use crate::model::{is_point, Replayed};
use crate::number::{Large, Scale};
use crate::ratios::ONLY_RATIOS;
use crate::table::{recorded, CANNOT_KNOW};
use crate::Bounds;
use lop_machine::meter::MeterKind;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use verdict::verdicts;

/// A comparison for people and programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Of the orders of the rounds, or of the first simulation.
    pub seed: u64,
    /// Rounds in which something was measured.
    pub rounds: u32,
    /// Where it ran: "this machine", "kernel-build on phenom-9750, simulated".
    pub place: String,
    pub meter: Option<UsedMeter>,
    /// Why there are no energies: a sentence.
    pub no_meter: Option<String>,
    /// Who put policies in force and why that one.
    pub enforcement: Option<String>,
    /// Power of the machine with nothing to do, before and after the runs.
    pub idle_before_w: Option<f64>,
    pub idle_after_w: Option<f64>,
    /// Row that somebody chose for all others to be compared with.
    pub reference: Option<usize>,
    /// Of times where people read them; `None`: one that fits.
    pub time_unit: Option<TimeUnit>,
    pub interval: Method,
    /// Of a recording that was replayed.
    pub trace: Option<Replayed>,
    /// Sentences.
    pub warnings: Vec<String>,
    pub results: Vec<Compared>,
}

/// How the intervals were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Student,
    Bca,
}

/// A unit of time that somebody chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    pub name: &'static str,
    /// How many seconds one has.
    pub seconds: f64,
}

impl Comparison {
    /// The same, with the shortest mean time first, and last the rows that have none.
    #[must_use]
    pub fn by_mean_time(&self) -> Self {
        let mean = |row: usize| self.results[row].time_s.map_or(f64::INFINITY, |time| time.mean.value);
        let mut order: Vec<usize> = (0..self.results.len()).collect();
        order.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        let place = |row: usize| order.iter().position(|&other| other == row).unwrap_or(row);
        let moved = |&row: &usize| Compared {
            baseline: place(self.results[row].baseline),
            ..self.results[row].clone()
        };
        Self {
            results: order.iter().map(moved).collect(),
            reference: self.reference.map(place),
            ..self.clone()
        }
    }
}

/// Where energies come from.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedMeter {
    pub kind: String,
    pub name: String,
    /// Whether energies are those of the whole system, or of the processor and its memory only, or of GPUs.
    pub whole_system: bool,
    pub update_period_s: Option<f64>,
    /// The watts are those of another processor ([`Comparison::only_ratios`]).
    pub only_ratios: bool,
}

impl UsedMeter {
    /// What it measures, as names of JSON begin: `system`, `cpu`, `gpu`.
    pub fn scope(&self) -> &'static str {
        let of_gpus = self.kind.parse::<MeterKind>().is_ok_and(MeterKind::is_of_gpus);
        match (of_gpus, self.whole_system) {
            (true, _) => "gpu",
            (false, true) => "system",
            (false, false) => "cpu",
        }
    }
}

/// One policy, command and set of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub policy: String,
    /// Its name, which is the command where none was given.
    pub command: String,
    pub parameters: BTreeMap<String, String>,
    /// Row that it is compared with.
    pub baseline: usize,
    /// Of all runs in the order of rounds.
    pub exit_codes: Vec<i32>,
    pub failed: usize,
    /// Of the runs that did not fail, in the order of rounds, as are the next three: the round, from 0 on; s and J.
    pub rounds: Vec<u32>,
    pub times: Vec<f64>,
    pub energies_j: Vec<f64>,
    pub memory_usage_byte: Vec<u64>,
    /// Indices in `times` of those that lie far from the others.
    pub outliers: Vec<usize>,
    /// Means; of the CPU times in s.
    pub user: Option<f64>,
    pub system: Option<f64>,
    pub cpu_energy_j: Option<f64>,
    pub time_s: Option<Spread>,
    pub power_w: Option<Spread>,
    pub energy_j: Option<Spread>,
    pub net_energy_j: Option<Spread>,
    pub edp_js: Option<Spread>,
    /// Paired, against the baseline; the baseline's own are 1 without an interval.
    pub relative_time: Option<Estimate>,
    pub relative_power: Option<Estimate>,
    pub relative_energy: Option<Estimate>,
    pub relative_edp: Option<Estimate>,
    /// Of a simulation.
    pub modelled: Option<Modelled>,
}

/// What only a simulator knows; means over the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Modelled {
    /// What `linux` is on the machine: "fair class, schedutil". `None`: another policy.
    pub stands_for: Option<String>,
    pub bounds: Bounds,
    pub counters: Map<String, Value>,
}

/// How a quantity is spread over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: Estimate,
    /// `None` for one run.
    pub deviation: Option<f64>,
    pub median: f64,
    /// Its 95 % confidence interval.
    pub median_interval: Option<(f64, f64)>,
    pub min: f64,
    pub max: f64,
}

/// A value and, from two runs on, its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// "1.042 [1.031, 1.053]".
    fn text(&self, format: impl Fn(f64) -> String) -> String {
        let value = format(self.value);
        match self.interval {
            Some((low, high)) => format!("{value} [{}, {}]", format(low), format(high)),
            None => value,
        }
    }
}

/// The ends that are written: none where nothing varied.
fn written(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval.filter(|&(low, high)| !is_point(&[low, high]))
}

/// A measured quantity of a row.
struct Quantity {
    name: &'static str,
    unit: &'static str,
    large: Large,
    of: fn(&Compared) -> Option<Spread>,
    /// Has a column in the table of results.
    main: bool,
}

const QUANTITIES: [Quantity; 5] = [
    quantity("time", "s", Large::Plain, |row| row.time_s, true),
    quantity("power", "W", Large::FromMillion, |row| row.power_w, true),
    quantity("energy", "J", Large::FromMillion, |row| row.energy_j, true),
    quantity("net energy", "J", Large::FromMillion, |row| row.net_energy_j, false),
    quantity("EDP", "J s", Large::FromThousand, |row| row.edp_js, true),
];

const fn quantity(
    name: &'static str,
    unit: &'static str,
    large: Large,
    of: fn(&Compared) -> Option<Spread>,
    main: bool,
) -> Quantity {
    Quantity {
        name,
        unit,
        large,
        of,
        main,
    }
}

impl Quantity {
    /// `None`: no row has it.
    fn scale(&self, comparison: &Comparison) -> Option<Scale> {
        let spreads: Vec<Spread> = comparison.results.iter().filter_map(self.of).collect();
        let means = spreads.iter().map(|spread| spread.mean.value);
        let chosen = comparison.time_unit.filter(|_| self.unit == "s");
        (!spreads.is_empty()).then(|| match chosen {
            Some(unit) => Scale::of(means, unit.name, unit.seconds),
            None => Scale::fit(means, self.unit, self.large),
        })
    }
}

type Ratio = (&'static str, fn(&Compared) -> Option<Estimate>);

const RATIOS: [Ratio; 3] = [
    ("time", |row| row.relative_time),
    ("energy", |row| row.relative_energy),
    ("EDP", |row| row.relative_edp),
];

/// `None`: a quantity that has none.
fn ratio_of(quantity: &Quantity) -> Option<fn(&Compared) -> Option<Estimate>> {
    match quantity.name {
        "power" => Some(|row| row.relative_power),
        name => RATIOS.iter().find(|(ratio, _)| *ratio == name).map(|(_, of)| *of),
    }
}

/// Ratios that some row has.
fn ratios(comparison: &Comparison) -> impl Iterator<Item = Ratio> + '_ {
    RATIOS
        .into_iter()
        .filter(|(_, of)| comparison.results.iter().any(|row| of(row).is_some()))
}

/// Policy, command where they differ, parameters.
fn labels(comparison: &Comparison) -> (Vec<Column>, Vec<Vec<String>>) {
    let results = &comparison.results;
    let several_commands = results.iter().any(|row| row.command != results[0].command);
    let names: Vec<&String> = results
        .first()
        .map(|row| row.parameters.keys().collect())
        .unwrap_or_default();
    let mut columns = vec![Column::text("policy")];
    columns.extend(several_commands.then(|| Column::text("command")));
    columns.extend(names.iter().map(|name| Column::text(name)));
    let row = |row: &Compared| {
        let mut cells = vec![policy(row)];
        cells.extend(several_commands.then(|| row.command.clone()));
        cells.extend(
            names
                .iter()
                .map(|name| row.parameters.get(*name).cloned().unwrap_or_default()),
        );
        cells
    };
    (columns, results.iter().map(row).collect())
}

/// "linux, make -j2": a row in a line.
fn label(comparison: &Comparison, index: usize) -> String {
    let (_, rows) = labels(comparison);
    rows[index].join(", ")
}

/// The policy for people: `linux` of a simulation with what it stands for.
fn policy(row: &Compared) -> String {
    let modelled = row.modelled.as_ref();
    crate::labels::named(
        &row.policy,
        modelled.and_then(|modelled| modelled.stands_for.as_deref()),
    )
}

/// A row in a sentence: its policy, its command as a quotation, its parameters by name; without what all rows have, or the command says already.
fn named(comparison: &Comparison, index: usize) -> String {
    let rows = &comparison.results;
    let row = &rows[index];
    let differ = |of: fn(&Compared) -> &str| rows.iter().any(|other| of(other) != of(row));
    let mut parts = Vec::new();
    let commands = differ(|row| &row.command);
    if differ(|row| &row.policy) || !commands && row.parameters.is_empty() {
        parts.push(policy(row));
    }
    if commands {
        parts.push(format!("'{}'", row.command));
    }
    let said = |value: &String| commands && row.command.contains(value.as_str());
    let parameters = row.parameters.iter().filter(|(_, value)| !said(value));
    parts.extend(parameters.map(|(name, value)| format!("{name} = {value}")));
    parts.join(" ")
}

const NOTHING: &str = "-";

/// Means with their intervals and ratios, a row each.
fn results_grid(comparison: &Comparison) -> Grid {
    let (mut columns, mut rows) = labels(comparison);
    columns.push(Column::number("runs", ""));
    for (row, result) in rows.iter_mut().zip(&comparison.results) {
        row.push(runs_text(result));
    }
    for quantity in QUANTITIES.iter().filter(|quantity| quantity.main) {
        let Some(scale) = quantity.scale(comparison) else {
            continue;
        };
        columns.push(Column::number(quantity.name, &scale.unit));
        let text = |spread: Spread| spread.mean.text(|value| scale.text(value));
        add(&mut rows, &comparison.results, |row| (quantity.of)(row).map(text));
    }
    for (name, of) in ratios(comparison) {
        columns.push(Column::number(name, "relative"));
        let text = |estimate: Estimate| estimate.text(|value| format!("{value:.3}"));
        add(&mut rows, &comparison.results, |row| of(row).map(text));
    }
    Grid { columns, rows }
}

/// "10", or "9 of 10" where one failed.
fn runs_text(result: &Compared) -> String {
    match result.failed {
        0 => result.times.len().to_string(),
        _ => format!("{} of {}", result.times.len(), result.exit_codes.len()),
    }
}

/// Verdict, title, table, notes and warnings, in a language of markup.
fn document(comparison: &Comparison, bullet: &str, escaped: fn(&str) -> String, table: fn(&Grid) -> String) -> String {
    let mut text = String::new();
    for verdict in verdicts(comparison) {
        let _ = writeln!(text, "{}\n", escaped(&verdict));
    }
    let _ = writeln!(
        text,
        "{}\n\n{}",
        escaped(&title(comparison)),
        table(&results_grid(comparison))
    );
    let warnings = comparison.warnings.iter().map(|warning| format!("Warning: {warning}."));
    for note in notes(comparison).into_iter().chain(warnings) {
        let _ = writeln!(text, "{bullet}{}", escaped(&note));
    }
    if let Some(trace) = &comparison.trace {
        let _ = writeln!(text, "\n{} {CANNOT_KNOW}\n", escaped(&recorded(trace)));
        for line in &trace.unknown {
            let _ = writeln!(text, "{bullet}{}", escaped(line));
        }
    }
    text
}

/// For tables whose headings have one line: "time [s]", "relative time".
fn headings(grid: &Grid) -> impl Iterator<Item = String> + '_ {
    grid.columns.iter().map(|column| match column.unit.as_str() {
        "" => column.name.clone(),
        "relative" => format!("relative {}", column.name),
        unit => format!("{} [{unit}]", column.name),
    })
}

fn add(rows: &mut [Vec<String>], results: &[Compared], cell: impl Fn(&Compared) -> Option<String>) {
    for (row, result) in rows.iter_mut().zip(results) {
        row.push(cell(result).unwrap_or_else(|| NOTHING.to_string()));
    }
}

/// How each quantity is spread, a row for each combination and quantity; CPU times as means.
fn spread_grid(comparison: &Comparison) -> Grid {
    let (mut columns, labels) = labels(comparison);
    columns.extend([Column::text("quantity"), Column::text("unit")]);
    let rank = |name: &str| match name {
        "mean" | "median" => 0,
        "sd" => 1,
        _ => 2,
    };
    columns.extend(["mean", "sd", "median", "min", "max"].map(|name| Column::number(name, "").rank(rank(name))));
    let mut rows = Vec::new();
    for (label, result) in labels.iter().zip(&comparison.results) {
        for quantity in &QUANTITIES {
            let (Some(spread), Some(scale)) = ((quantity.of)(result), quantity.scale(comparison)) else {
                continue;
            };
            let mut row = label.clone();
            row.extend([
                quantity.name.to_string(),
                scale.unit.clone(),
                scale.text(spread.mean.value),
            ]);
            row.push(
                spread
                    .deviation
                    .map_or(NOTHING.to_string(), |deviation| scale.text(deviation)),
            );
            let median = Estimate {
                value: spread.median,
                interval: spread.median_interval,
            };
            row.push(median.text(|value| scale.text(value)));
            row.extend([spread.min, spread.max].map(|value| scale.text(value)));
            rows.push(row);
        }
        for (name, mean) in [("user time", result.user), ("system time", result.system)] {
            let (Some(mean), Some(scale)) = (mean, QUANTITIES[0].scale(comparison)) else {
                continue;
            };
            let mut row = label.clone();
            row.extend([name.to_string(), scale.unit.clone(), scale.text(mean)]);
            row.extend(std::iter::repeat_n(NOTHING.to_string(), 4));
            rows.push(row);
        }
    }
    Grid { columns, rows }
}

/// "seed 1, 10 rounds, energy: powercap (package-0)".
fn title(comparison: &Comparison) -> String {
    let rounds = match comparison.rounds {
        1 => "1 round".to_string(),
        rounds => format!("{rounds} rounds"),
    };
    let energy = match &comparison.meter {
        Some(meter) if meter.name.starts_with(&meter.kind) => meter.name.clone(),
        Some(meter) => format!("{} ({})", meter.kind, meter.name),
        None => "not measured".to_string(),
    };
    format!(
        "{}, {rounds}, seed {}, energy: {energy}",
        comparison.place, comparison.seed
    )
}

/// What the tables leave unsaid, a sentence each.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(meter) = &comparison.meter {
        let of = match meter.scope() {
            "system" => "the whole system",
            "gpu" => "the GPUs, not of processor and system",
            _ => "processor and memory, not of the whole system",
        };
        notes.push(format!("Power, energy and EDP (energy x time) are those of {of}."));
        notes.extend(meter.only_ratios.then(|| ONLY_RATIOS.to_string()));
    }
    notes.extend(comparison.no_meter.clone());
    let idle_w = comparison.idle_before_w.zip(comparison.idle_after_w);
    if let Some((before, after)) = idle_w {
        notes.push(format!(
            "Idle power: {before:.2} W before, {after:.2} W after; net energy is energy less their mean times time."
        ));
    }
    if comparison
        .results
        .iter()
        .any(|row| row.time_s.is_some_and(|time| time.mean.interval.is_some()))
    {
        let by = match comparison.interval {
            Method::Student => "Student's t",
            Method::Bca => "bootstrap (BCa)",
        };
        notes.push(format!("In brackets: 95 % confidence intervals, by {by}."));
    }
    notes.extend(nothing_by_chance(&comparison.results));
    if has_ratios(comparison) {
        notes.push(format!(
            "Relative: to {}, as the geometric mean of ratios within a round.",
            compared_with(comparison)
        ));
    }
    notes.extend(without_ratio(comparison));
    notes.extend(
        comparison
            .enforcement
            .as_ref()
            .map(|text| format!("Policies in force by {text}.")),
    );
    notes
}

/// What ratios are relative to: a row may stand anywhere once rows are sorted, so it is called by its name there.
fn compared_with(comparison: &Comparison) -> String {
    let results = &comparison.results;
    let several_policies = results.iter().any(|row| row.policy != results[0].policy);
    let is_first = |row: &Compared| results[row.baseline].policy == results[0].policy;
    let same = |row: &Compared| row.baseline == results[0].baseline;
    match comparison.reference {
        Some(reference) => format!("the reference, {}", label(comparison, reference)),
        None if several_policies && results.iter().all(is_first) => "the first policy".to_string(),
        None if results.iter().all(|row| row.baseline == 0) => "the first row".to_string(),
        None if results.iter().all(same) => label(comparison, results[0].baseline),
        None => format!("{} of each command", policy(&results[results[0].baseline])),
    }
}

/// Intervals without a width are those of a simulation in which nothing is left to chance, not of a good measurement.
fn nothing_by_chance(results: &[Compared]) -> Option<String> {
    let same = |row: &Compared| {
        row.time_s
            .is_some_and(|time| row.times.len() > 1 && time.min == time.max)
    };
    (!results.is_empty() && results.iter().all(same)).then(|| NOTHING_BY_CHANCE.to_string())
}

pub(crate) const NOTHING_BY_CHANCE: &str =
    "All seeds gave the same times: nothing is left to chance here, and so the intervals have no width; one run tells as much.";

/// Rows that are compared with another.
fn others(comparison: &Comparison) -> impl Iterator<Item = (usize, &Compared)> {
    let rows = comparison.results.iter().enumerate();
    rows.filter(|(index, row)| row.baseline != *index)
}

fn has_ratios(comparison: &Comparison) -> bool {
    others(comparison).any(|(_, row)| row.relative_time.is_some())
}

/// Rows that have no ratio, and why.
fn without_ratio(comparison: &Comparison) -> Option<String> {
    let failed = |index: usize| comparison.results[index].times.is_empty();
    let why = |(index, row): (usize, &Compared)| match (failed(row.baseline), failed(index)) {
        (true, _) => format!("every run of {} failed", label(comparison, row.baseline)),
        (_, true) => "every run failed".to_string(),
        _ => format!("no round in which it and {} succeeded", label(comparison, row.baseline)),
    };
    let without: Vec<String> = others(comparison)
        .filter(|(_, row)| row.relative_time.is_none())
        .map(|other| format!("{} ({})", label(comparison, other.0), why(other)))
        .collect();
    (!without.is_empty()).then(|| format!("Without a ratio: {}.", without.join("; ")))
}

#[cfg(test)]
mod tests;
