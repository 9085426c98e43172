// SPDX-License-Identifier: GPL-2.0-only
//! From the simulator's results to what reports show.

use lop_report::{
    Beside, Bounds, Cell, Class, Interval, PointValue, Price, Relative, RelativeRange, Report, RunResult, Variation,
    VariedVerdict,
};
use lop_simulator::experiment::{self, Experiment, Half, Measures, PolicyKey, PolicyResult, SettingKey, Study};
use lop_simulator::{fleet, PolicyChoice};
use std::collections::BTreeMap;

/// The simulator has no meter: all its energies come from the machine's power model.
pub const ENERGY_SOURCE: &str = "modelled";
/// The same where the watts are those of another machine's processor.
const FOREIGN_SOURCE: &str = "modelled with another processor's watts";

pub fn report(experiment: &Experiment, study: Study) -> Report {
    Report {
        title: experiment.id.clone(),
        description: description(&experiment.title, &experiment.description),
        machine: study.machines.join(", "),
        workload: study.workloads.join(", "),
        energy_source: source_of(study.only_ratios).into(),
        only_ratios: study.only_ratios,
        seed: experiment.seed,
        runs: experiment.runs,
        goal: goal(experiment),
        results: (study.results.into_iter())
            .map(|one| RunResult {
                energy_source: source_of(study.only_ratios).into(),
                ..result(one)
            })
            .collect(),
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

fn source_of(only_ratios: bool) -> &'static str {
    match only_ratios {
        true => FOREIGN_SOURCE,
        false => ENERGY_SOURCE,
    }
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
        price: cell.price.as_ref().map(|price| Price {
            without: price.without.to_string(),
            edp_over_best: price.edp,
        }),
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
    Report {
        title: experiment.id.clone(),
        description: description(&experiment.title, &experiment.description),
        machine: results.machines.join(", "),
        workload: "applications that arrive".into(),
        energy_source: ENERGY_SOURCE.into(),
        only_ratios: false,
        seed: experiment.seed,
        runs: experiment.runs,
        goal: None,
        results: with_first.map(|(result, first)| fleet_result(result, first)).collect(),
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
    RunResult {
        policy: result.policy.to_string(),
        point: points(result.point.clone()),
        counters: result.counters.clone(),
        ..measured(mean, relative, &result.bounds, result.ci95.as_ref())
    }
}

fn result(result: PolicyResult) -> RunResult {
    let relative = Relative {
        time: result.relative_time,
        system_energy: result.relative_system_energy,
        edp: result.relative_edp,
    };
    RunResult {
        policy: result.policy.to_string(),
        stands_for: result.stands_for,
        relative_ci95: result.relative_ci95.map(|range| RelativeRange {
            time: range.time,
            system_energy: range.system_energy,
            response: range.response,
        }),
        point: points(result.point),
        counters: result.counters,
        class: result.class.map(|class| Class {
            name: class.name.to_string(),
            loss: class.loss,
            deviation: class.deviation,
        }),
        ..measured(&result.mean, relative, &result.bounds, result.ci95.as_ref())
    }
}

/// Without a name, a point and counters.
fn measured(mean: &Measures, relative: Relative, bounds: &lop_simulator::Bounds, ci95: Option<&Half>) -> RunResult {
    RunResult {
        policy: String::new(),
        stands_for: None,
        point: BTreeMap::new(),
        time_s: mean.time_s,
        cpu_energy_j: mean.cpu_energy_j,
        system_energy_j: mean.system_energy_j,
        system_power_w: mean.system_power_w,
        edp_js: mean.edp_js,
        relative,
        bounds: Bounds {
            time_s: bounds.time_s,
            system_energy_j: bounds.system_energy_j,
        },
        energy_source: ENERGY_SOURCE.into(),
        counters: serde_json::Map::new(),
        relative_ci95: None,
        ci95: ci95.map(|half| Interval {
            time_s: half.time_s,
            system_energy_j: half.system_energy_j,
            edp_js: half.edp_js,
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
