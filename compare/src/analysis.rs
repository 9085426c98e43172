// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns runs into rows: means with intervals, paired ratios, and warnings about them. Pure.

use crate::journal::{Idle, Measured, Run};
use crate::statistics::{outliers, Method, Ratio, Summary};

mod warnings;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// In the order of the combinations.
    pub rows: Vec<Row>,
    /// How many rounds have measurements.
    pub rounds: u32,
    /// Idle power, as far as the meter saw it.
    pub idle: Idle,
    /// Sentences.
    pub warnings: Vec<String>,
}

/// One combination. Failed runs are only counted; outliers are flagged but averaged in.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Indices of this combination and of the one it is compared with.
    pub combination: usize,
    pub baseline: usize,
    /// The exit codes of all runs, including failed ones, in the order of rounds.
    pub exit_codes: Vec<i32>,
    /// Round and code of each failed run.
    pub failed: Vec<(u32, i32)>,
    /// The rounds of the runs that did not fail. All lists below are of these runs, in this order.
    pub rounds: Vec<u32>,
    pub times_s: Vec<f64>,
    /// Energies of all these runs, or empty if there is no meter or it moved in none of them.
    pub energies_j: Vec<f64>,
    pub memory_byte: Vec<u64>,
    /// Indices, in these lists, of runs whose time is far from the others.
    pub outliers: Vec<usize>,
    /// `None` if all runs failed.
    pub time_s: Option<Summary>,
    /// Energy divided by time, by run.
    pub power_w: Option<Summary>,
    pub energy_j: Option<Summary>,
    /// Energy minus that of the idle machine over the same time.
    pub net_energy_j: Option<Summary>,
    /// Energy times time, by run.
    pub edp_js: Option<Summary>,
    /// Means.
    pub cpu_energy_j: Option<f64>,
    pub user_s: Option<f64>,
    pub system_s: Option<f64>,
    /// Compared with the baseline.
    pub relative: Relative,
}

/// Ratios over the rounds in which both ran without failing; `None` if there is no such round, no meter, or if the meter moved in only some
/// of their runs. The baseline has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Relative {
    pub time: Option<Ratio>,
    pub power: Option<Ratio>,
    pub energy: Option<Ratio>,
    pub edp: Option<Ratio>,
}

/// A quantity of a run; `None` without a meter.
type Quantity = fn(&Run) -> Option<f64>;

const TIME: Quantity = |run| Some(run.time_s);
const ENERGY: Quantity = |run| run.energy_j;
const POWER: Quantity = |run| Some(run.energy_j? / run.time_s);
const EDP: Quantity = |run| Some(run.energy_j? * run.time_s);

/// Analyses the measurements so far, with intervals by this method.
pub fn analyse(measured: &Measured, method: Method) -> Analysis {
    let baselines = measured.header.baselines();
    let (runs, idle) = (with_energy_seen(measured), measured.idle.seen());
    let rows: Vec<Row> = baselines
        .iter()
        .enumerate()
        .map(|(combination, baseline)| row(&runs, &idle, combination, *baseline, method))
        .collect();
    Analysis {
        rounds: measured.runs.iter().map(|run| run.round + 1).max().unwrap_or(0),
        warnings: warnings::warnings(measured, &idle, &rows),
        idle,
        rows,
    }
}

/// The runs. If the meter moved in no good run of a combination, these get no energy, since nothing uses 0 J.
fn with_energy_seen(measured: &Measured) -> Vec<Run> {
    let unseen = |combination: usize| good(&measured.runs, combination).all(|run| run.energy_j == Some(0.0));
    let unseen: Vec<bool> = (0..measured.header.combinations.len()).map(unseen).collect();
    let mut runs = measured.runs.clone();
    for run in runs.iter_mut().filter(|run| unseen[run.combination]) {
        run.energy_j = None;
    }
    runs
}

fn row(runs: &[Run], idle: &Idle, combination: usize, baseline: usize, method: Method) -> Row {
    let all = of(runs, combination);
    let good: Vec<&Run> = all.iter().copied().filter(|run| run.exit_code == 0).collect();
    let values = |quantity: Quantity| every(&good, quantity);
    let summary = |values: &[f64]| Summary::of(values, method);
    let mean = |quantity: Quantity| Some(Summary::of(&values(quantity), Method::Student)?.mean);
    let times_s = values(TIME);
    Row {
        combination,
        baseline,
        exit_codes: all.iter().map(|run| run.exit_code).collect(),
        failed: all
            .iter()
            .filter(|run| run.exit_code != 0)
            .map(|run| (run.round, run.exit_code))
            .collect(),
        memory_byte: good.iter().filter_map(|run| run.memory_usage_byte).collect(),
        rounds: good.iter().map(|run| run.round).collect(),
        outliers: outliers(&times_s),
        time_s: summary(&times_s),
        power_w: summary(&values(POWER)),
        energy_j: summary(&values(ENERGY)),
        net_energy_j: net_energies(&good, idle).and_then(|values| summary(&values)),
        edp_js: summary(&values(EDP)),
        cpu_energy_j: mean(|run| run.cpu_energy_j),
        user_s: mean(|run| run.user_s),
        system_s: mean(|run| run.system_s),
        relative: match combination == baseline {
            true => Relative::default(),
            false => relative(&of(runs, baseline), &good, method),
        },
        times_s,
        energies_j: values(ENERGY),
    }
}

/// The runs of a combination that did not fail, in the order in which they ran.
fn good(runs: &[Run], combination: usize) -> impl Iterator<Item = &Run> {
    runs.iter()
        .filter(move |run| run.combination == combination && run.exit_code == 0)
}

/// The runs of a combination in the order of rounds.
fn of(runs: &[Run], combination: usize) -> Vec<&Run> {
    let mut found: Vec<&Run> = runs.iter().filter(|run| run.combination == combination).collect();
    found.sort_by_key(|run| run.round);
    found
}

/// The quantity of every run, or nothing if one lacks it: a mean over some of the runs would mislead.
fn every(runs: &[&Run], quantity: Quantity) -> Vec<f64> {
    let values: Option<Vec<f64>> = runs.iter().map(|run| quantity(run)).collect();
    values.unwrap_or_default()
}

/// Energy - idle power * time, by run; `None` if one of them is not known.
fn net_energies(runs: &[&Run], idle: &Idle) -> Option<Vec<f64>> {
    let idle_w = idle.mean_w()?;
    runs.iter()
        .map(|run| Some(run.energy_j? - idle_w * run.time_s))
        .collect()
}

fn relative(baseline: &[&Run], runs: &[&Run], method: Method) -> Relative {
    let ratio = |quantity: Quantity| {
        let pair = |run: &&Run| {
            let base = baseline
                .iter()
                .find(|base| base.round == run.round && base.exit_code == 0)?;
            Some((quantity(base), quantity(run)))
        };
        // All pairs or none: those in which a coarse meter moved would be a biased choice.
        let known = |(base, value): (Option<f64>, Option<f64>)| {
            Some((base?, value?)).filter(|(base, value)| *base > 0.0 && *value > 0.0)
        };
        let pairs: Option<Vec<_>> = runs.iter().filter_map(pair).map(known).collect();
        Ratio::of(&pairs?, method)
    };
    Relative {
        time: ratio(TIME),
        power: ratio(POWER),
        energy: ratio(ENERGY),
        edp: ratio(EDP),
    }
}

#[cfg(test)]
mod tests;
