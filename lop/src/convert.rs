// SPDX-License-Identifier: GPL-2.0-only
//! From the simulator's results to what reports show.

use lop_compare::statistics::Interval;
use lop_report::{
    Beside, Bounds, Cell, Class, Energy, PointValue, Relative, RelativeRange, Report, RunResult, Variation,
    VariedVerdict,
};
use lop_simulator::experiment::{self, Experiment, Half, Measures, PolicyKey, PolicyResult, SettingKey, Study};
use lop_simulator::{fleet, PolicyChoice};
use std::collections::BTreeMap;

/// The simulator has no meter: all its energies come from the machine's power model.
pub const ENERGY_SOURCE: &str = "modelled";

pub fn report(experiment: &Experiment, study: Study) -> Report {
    let results: Vec<RunResult> = study.results.into_iter().map(result).collect();
    Report {
        title: experiment.id.clone(),
        description: description(&experiment.title, &experiment.description),
        machine: study.machines.join(", "),
        workload: study.workloads.join(", "),
        energy_source: sources(&results),
        seed: experiment.seed,
        runs: experiment.runs,
        goal: goal(experiment),
        results,
        cells: experiment
            .judged
            .iter()
            .flat_map(|judged| cells(judged, &study.cells))
            .collect(),
        variations: study.variations.into_iter().map(variation).collect(),
        published: Vec::new(),
        trace: None,
    }
}

/// `donor`: the machine whose watts were taken, if it has another processor.
fn source(donor: Option<&str>) -> String {
    match donor {
        Some(donor) => format!("modelled with the watts of {donor}, another processor"),
        None => ENERGY_SOURCE.to_string(),
    }
}

/// Each once.
fn sources(results: &[RunResult]) -> String {
    let mut sources: Vec<&str> = results.iter().map(|result| result.energy_source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    sources.join("; ")
}

/// The last setting of the goal for all points.
fn goal(experiment: &Experiment) -> Option<String> {
    let settings = experiment.settings.iter().rev();
    let mut goals = settings.filter(|setting| setting.key == SettingKey::Policy(PolicyKey::Goal));
    goals
        .next()
        .map(|setting| setting.value.trim_matches(['"', '\'']).to_string())
}

fn cells(judged: &PolicyChoice, cells: &[experiment::Cell]) -> Vec<Cell> {
    let cell = |cell: &experiment::Cell| Cell {
        point: points(cell.point.clone()),
        judged: judged.to_string(),
        best: cell.best.to_string(),
        edp_over_best: cell.edp,
        time_over_first: cell.time,
        responses: cell.responses,
        energy_over_in_time: cell.energy,
        behind: cell.is_behind(),
        beside: cell.beside.map(|beside| Beside {
            time: beside.time,
            power: beside.power,
            wakeups: beside.wakeups,
            migrations: beside.migrations,
            high_set_mean: beside.high_set_mean,
            lost_slow_start_s: beside.lost_slow_start_s,
        }),
    };
    cells.iter().map(cell).collect()
}

fn variation(variation: experiment::Variation) -> Variation {
    Variation {
        point: points(variation.point),
        policy: variation.policy,
        values: variation.values,
        other_rules: variation.other_rules,
        other_order: variation.other_order,
        other_energy: variation.other_energy,
        energy: variation.energy,
        verdict: variation.verdict.map(|verdict| VariedVerdict {
            edp: verdict.edp,
            range: verdict.range,
            others: verdict.others,
        }),
    }
}

fn points(point: Vec<(String, experiment::PointValue)>) -> BTreeMap<String, PointValue> {
    point
        .into_iter()
        .map(|(name, value)| (name, point_value(value)))
        .collect()
}

fn description(title: &str, description: &str) -> String {
    match (title, description) {
        (title, "") => title.to_string(),
        ("", description) => description.to_string(),
        (title, description) => format!("{title}. {description}"),
    }
}

/// Times are mean responses.
pub fn fleet_report(experiment: &fleet::Experiment, results: fleet::Results) -> Report {
    let of_points = results.results.chunks(experiment.policies.len());
    let with_first = of_points.flat_map(|results| results.iter().map(|result| (result, &results[0].mean)));
    let found: Vec<RunResult> = with_first.map(|(result, first)| fleet_result(result, first)).collect();
    Report {
        title: experiment.id.clone(),
        description: description(&experiment.title, &experiment.description),
        machine: results.machines.join(", "),
        workload: "applications that arrive".into(),
        energy_source: sources(&found),
        seed: experiment.seed,
        runs: experiment.runs,
        goal: None,
        results: found,
        cells: Vec::new(),
        variations: Vec::new(),
        published: Vec::new(),
        trace: None,
    }
}

fn fleet_result(result: &fleet::PolicyResult, first: &Measures) -> RunResult {
    let mean = &result.mean;
    let relative = Relative {
        time: mean.time_s / first.time_s,
        system_energy: mean.system_energy_j / first.system_energy_j,
        edp: mean.edp_js / first.edp_js,
    };
    let all = RunResult {
        policy: result.policy.to_string(),
        point: points(result.point.clone()),
        counters: result.counters.clone(),
        ..measured(
            mean,
            relative,
            &result.bounds,
            result.ci95.as_ref(),
            result.donor.as_deref(),
        )
    };
    without_foreign_watts(all, result.donor.as_deref())
}

fn result(result: PolicyResult) -> RunResult {
    let relative = Relative {
        time: result.relative_time,
        system_energy: result.relative_system_energy,
        edp: result.relative_edp,
    };
    let donor = result.donor.as_deref();
    let all = RunResult {
        policy: result.policy.to_string(),
        stands_for: result.stands_for,
        relative_ci95: result.relative_ci95.map(|range| RelativeRange {
            time: on_log_scale(range.time),
            system_energy: on_log_scale(range.system_energy),
            edp: on_log_scale(range.edp),
            response: range.response.map(on_log_scale),
        }),
        point: points(result.point),
        counters: result.counters,
        class: result.class.map(|class| Class {
            name: class.name.to_string(),
            loss: class.loss,
            deviation: class.deviation,
        }),
        ..measured(&result.mean, relative, &result.bounds, result.ci95.as_ref(), donor)
    };
    without_foreign_watts(all, donor)
}

/// The watts of another processor give ratios only.
fn without_foreign_watts(result: RunResult, donor: Option<&str>) -> RunResult {
    match donor {
        Some(_) => result.only_ratios(),
        None => result,
    }
}

fn on_log_scale([low, high]: [f64; 2]) -> [f64; 2] {
    let ends = Interval { low, high }.on_log_scale();
    [ends.low, ends.high]
}

/// Without a name, a point and counters.
fn measured(
    mean: &Measures,
    relative: Relative,
    bounds: &lop_simulator::Bounds,
    ci95: Option<&Half>,
    donor: Option<&str>,
) -> RunResult {
    let around = |mean: f64, half: f64| on_log_scale([mean - half, mean + half]);
    let edp_bound_js = bounds.time_s * bounds.system_energy_j;
    // The first policy's figure is the own one over the own ratio.
    let over_first = |bound: f64, own: f64, relative: f64| match own > 0.0 {
        true => bound * relative / own,
        false => 0.0,
    };
    RunResult {
        policy: String::new(),
        stands_for: None,
        point: BTreeMap::new(),
        time_s: mean.time_s,
        energy: Some(Energy {
            cpu_energy_j: mean.cpu_energy_j,
            system_energy_j: mean.system_energy_j,
            system_power_w: mean.system_power_w,
            edp_js: mean.edp_js,
        }),
        relative,
        bounds: Bounds {
            time_s: bounds.time_s,
            system_energy_j: Some(bounds.system_energy_j),
        },
        relative_bounds: Relative {
            time: over_first(bounds.time_s, mean.time_s, relative.time),
            system_energy: over_first(bounds.system_energy_j, mean.system_energy_j, relative.system_energy),
            edp: over_first(edp_bound_js, mean.edp_js, relative.edp),
        },
        energy_source: source(donor),
        counters: serde_json::Map::new(),
        relative_ci95: None,
        ci95: ci95.map(|half| lop_report::Interval {
            time_s: around(mean.time_s, half.time_s),
            system_energy_j: Some(around(mean.system_energy_j, half.system_energy_j)),
            edp_js: Some(around(mean.edp_js, half.edp_js)),
        }),
        class: None,
    }
}

pub fn point_value(value: experiment::PointValue) -> PointValue {
    match value {
        experiment::PointValue::Number(number) => PointValue::Number(number),
        experiment::PointValue::Text(text) => PointValue::Text(text),
    }
}
