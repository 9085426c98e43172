// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings about doubtful figures, in sentences.

use super::{good, Row};
use crate::journal::{End, Idle, Measured, MeterUsed, Run};

/// A reading may be off by the energy of one update period at either end, so a run of n periods may be off by 2 / n: 5 % for 40 periods.
const PERIODS_PER_RUN: f64 = 40.0;
/// For shorter runs, starting the shell (about 1 ms) is a considerable part of the time; hyperfine's bound.
const SHORT_FOR_SHELL_S: f64 = 0.005;
/// Share of all CPU time.
const OTHERS_SHARE: f64 = 0.05;
/// Clock ticks are too coarse to judge less CPU time than this.
const LEAST_CAPACITY_S: f64 = 0.5;
/// In a run of this many reaction times, the policy is in force for nine tenths of the run.
const REACTIONS_PER_RUN: f64 = 10.0;
const TEMPERATURE_DRIFT_K: f64 = 10.0;
const IDLE_DRIFT: f64 = 0.1;

pub(super) fn warnings(measured: &Measured, idle: &Idle, rows: &[Row]) -> Vec<String> {
    let mut found: Vec<String> = unfinished(measured).into_iter().collect();
    found.extend(rows.iter().filter_map(|row| failed(measured, row)));
    found.extend(rows.iter().filter_map(|row| outlying(measured, row)));
    if let Some(meter) = &measured.header.meter {
        found.extend(rows.iter().filter_map(|row| unseen(measured, row, meter)));
        found.extend(rows.iter().filter_map(|row| too_short(measured, row, meter)));
    }
    found.extend(rows.iter().filter_map(|row| short_for_shell(measured, row)));
    found.extend(rows.iter().filter_map(|row| short_for_policy(measured, row)));
    found.extend(noisy(&measured.runs));
    found.extend(stolen(&measured.runs));
    found.extend(hotter(&measured.runs));
    found.extend(governors(&measured.runs));
    found.extend(idle_unseen(measured, idle));
    if !(measured.header.meter.as_ref()).is_some_and(|meter| meter.only_ratios) {
        found.extend(idle_drift(idle));
        found.extend(rows.iter().filter_map(|row| below_idle(measured, idle, row)));
    }
    found
}

/// `'make -j4' under linux`.
fn label(measured: &Measured, row: &Row) -> String {
    let combination = &measured.header.combinations[row.combination];
    format!("'{}' under {}", combination.name, combination.policy)
}

fn unfinished(measured: &Measured) -> Option<String> {
    let runs = match measured.runs.len() {
        1 => "1 run was".to_string(),
        several => format!("{several} runs were"),
    };
    match &measured.end {
        Some(End::Complete) => None,
        Some(End::Interrupted(signal)) => Some(format!("interrupted by signal {signal}: {runs} made until then")),
        Some(End::Failed(why)) => Some(format!("ended early: {why}; {runs} made until then")),
        None => Some(format!(
            "the journal has no end: it was killed or is still running; {runs} made so far"
        )),
    }
}

fn failed(measured: &Measured, row: &Row) -> Option<String> {
    let (_, code) = row.failed.first()?;
    let same = row.failed.iter().all(|(_, other)| other == code);
    let codes = match same {
        true => format!("code {code}"),
        false => "several codes".to_string(),
    };
    let rounds = rounds(row.failed.iter().map(|(round, _)| *round));
    Some(format!(
        "{}: {} of {} runs failed ({codes}; {rounds}) and are not averaged in",
        label(measured, row),
        row.failed.len(),
        row.exit_codes.len()
    ))
}

/// The first few, counted from 1 as people do.
fn rounds(of: impl ExactSizeIterator<Item = u32>) -> String {
    let count = of.len();
    let shown: Vec<String> = of.take(5).map(|round| (round + 1).to_string()).collect();
    let more = if count > 5 { ", ..." } else { "" };
    let plural = if count == 1 { "" } else { "s" };
    format!("round{plural} {}{more}", shown.join(", "))
}

fn outlying(measured: &Measured, row: &Row) -> Option<String> {
    (!row.outliers.is_empty()).then(|| {
        let (times, lie, count) = match row.outliers.len() {
            1 => ("time", "lies", "counts"),
            _ => ("times", "lie", "count"),
        };
        let help = match measured.header.simulated {
            Some(_) => "",
            None => "; a quieter machine, --warmup or --prepare may help",
        };
        format!(
            "{}: the {times} of {} {lie} far from the others and {count} like them{help}",
            label(measured, row),
            rounds(row.outliers.iter().map(|index| row.rounds[*index]))
        )
    })
}

/// Warns of runs that fell between two steps of the meter.
fn unseen(measured: &Measured, row: &Row, meter: &MeterUsed) -> Option<String> {
    let zeros = good(&measured.runs, row.combination)
        .filter(|run| run.energy_j == Some(0.0))
        .count();
    let all = row.times_s.len();
    let found = match zeros {
        0 => return None,
        _ if zeros == all => format!(
            "none of {all} runs saw a step of meter {}: its energy is not known",
            meter.kind
        ),
        _ => format!(
            "{zeros} of {all} runs saw no step of meter {}: energies are coarse, so there are no ratios",
            meter.kind
        ),
    };
    Some(format!(
        "{}: {found}; the time was too short for this meter: measure something that takes longer, or repeat it within a run",
        label(measured, row)
    ))
}

fn too_short(measured: &Measured, row: &Row, meter: &MeterUsed) -> Option<String> {
    let (period_s, time_s) = (meter.update_period_s?, row.energy_j.and(row.time_s)?.median);
    (time_s < PERIODS_PER_RUN * period_s).then(|| {
        format!(
            "{}: a run of {:.0} ms is short for meter {}, which updates every {:.1} ms: energy may be off by {:.0} %; \
             take a command of {:.1} s or more",
            label(measured, row),
            time_s * 1e3,
            meter.kind,
            period_s * 1e3,
            200.0 * period_s / time_s,
            PERIODS_PER_RUN * period_s
        )
    })
}

fn short_for_shell(measured: &Measured, row: &Row) -> Option<String> {
    let has_shell = measured.header.combinations[row.combination].command.has_shell();
    let time_s = row.time_s?.median;
    (has_shell && time_s < SHORT_FOR_SHELL_S && measured.header.simulated.is_none()).then(|| {
        format!(
            "{}: a run takes {:.1} ms, including the start of the shell; -N runs the command without a shell",
            label(measured, row),
            time_s * 1e3
        )
    })
}

fn short_for_policy(measured: &Measured, row: &Row) -> Option<String> {
    let policy = &measured.header.combinations[row.combination].policy;
    let (reaction_s, time_s) = (measured.header.reactions_s.get(policy)?, row.time_s?.median);
    (time_s < *reaction_s).then(|| {
        format!(
            "{}: a run of {:.0} ms is over before the policy acts, which from user space takes about {:.0} ms: what differs is no effect of it; take a command \
             of {:.1} s or more",
            label(measured, row),
            time_s * 1e3,
            reaction_s * 1e3,
            REACTIONS_PER_RUN * reaction_s
        )
    })
}

/// The sum of a quantity over the runs that have it, as a share of the CPU time available in these runs.
fn share(runs: &[Run], quantity: fn(&Run) -> Option<f64>) -> Option<f64> {
    let told = runs
        .iter()
        .filter_map(|run| Some((quantity(run)?, run.around.capacity_s?)));
    let (taken_s, capacity_s) = told.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (capacity_s >= LEAST_CAPACITY_S).then(|| taken_s / capacity_s)
}

fn noisy(runs: &[Run]) -> Option<String> {
    let share = share(runs, |run| run.around.others_s).filter(|share| *share > OTHERS_SHARE)?;
    Some(format!(
        "the machine was not quiet: others took {:.0} % of its CPU time during the runs; end them, or use more rounds",
        100.0 * share
    ))
}

fn stolen(runs: &[Run]) -> Option<String> {
    let share = share(runs, |run| run.around.stolen_s).filter(|share| *share > OTHERS_SHARE)?;
    Some(format!(
        "the hypervisor gave {:.0} % of this machine's CPU time to others during the runs; use more rounds",
        100.0 * share
    ))
}

fn hotter(runs: &[Run]) -> Option<String> {
    let hottest: Vec<f64> = runs.iter().filter_map(|run| run.around.hottest_c).collect();
    let part = (hottest.len() / 4).max(1);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (first, last) = (mean(hottest.get(..part)?), mean(&hottest[hottest.len() - part..]));
    ((last - first).abs() > TEMPERATURE_DRIFT_K).then(|| {
        format!(
            "the temperature went from {first:.0} to {last:.0} degrees Celsius between the first and the last quarter of the runs; \
             warm the machine up first with --warmup"
        )
    })
}

fn governors(runs: &[Run]) -> Option<String> {
    // A policy may set governors for its own runs: only changes within one combination count.
    let changed = |run: &Run| {
        let mut same = runs.iter().filter(|other| other.combination == run.combination);
        same.find(|other| other.around.governors.is_some() && other.around.governors != run.around.governors)
    };
    let (run, other) = runs
        .iter()
        .filter(|run| run.around.governors.is_some())
        .find_map(|run| Some((run, changed(run)?)))?;
    Some(format!(
        "the cpufreq governor changed during the runs, from {} to {}; find out who does that and measure again",
        run.around.governors.as_deref().unwrap_or("none"),
        other.around.governors.as_deref().unwrap_or("none")
    ))
}

fn idle_unseen(measured: &Measured, idle: &Idle) -> Option<String> {
    (*idle != measured.idle).then(|| {
        "idle power is not known, so neither is net energy: the meter did not move while it was measured; measure it for longer with --idle"
            .to_string()
    })
}

fn idle_drift(idle: &Idle) -> Option<String> {
    let (before_w, after_w) = (idle.before_w?, idle.after_w?);
    ((after_w / before_w - 1.0).abs() > IDLE_DRIFT)
        .then(|| format!("idle power went from {before_w:.2} W to {after_w:.2} W; net energy uses the mean of both"))
}

fn below_idle(measured: &Measured, idle: &Idle, row: &Row) -> Option<String> {
    let (net_j, idle_w) = (row.net_energy_j?.mean, idle.mean_w()?);
    (net_j < 0.0).then(|| {
        format!(
            "{}: net energy is below 0 ({net_j:.2} J): the machine drew more while it was idle for the measurement of idle power ({idle_w:.2} W) than \
             during the runs; others were busy then, the meter is too slow for the runs, or this policy lowers what an idle machine draws",
            label(measured, row)
        )
    })
}
