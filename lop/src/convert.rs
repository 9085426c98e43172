// SPDX-License-Identifier: GPL-2.0-only
//! From the simulator's results to what reports show.

use lop_report::{
    Beside, Bounds, Cell, Class, Interval, PointValue, Price, Relative, Report, RunResult, Variation, VariedVerdict,
};
use lop_simulator::experiment::{self, Experiment, PolicyResult, Study};
use lop_simulator::PolicyChoice;
use std::collections::BTreeMap;

/// The simulator has no meter: all its energies come from the machine's power model.
pub const ENERGY_SOURCE: &str = "modelled";

pub fn report(experiment: &Experiment, study: Study) -> Report {
    Report {
        title: experiment.id.clone(),
        description: description(experiment),
        machine: study.machines.join(", "),
        workload: study.workloads.join(", "),
        energy_source: ENERGY_SOURCE.into(),
        seed: experiment.seed,
        runs: experiment.runs,
        results: study.results.into_iter().map(result).collect(),
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

fn description(experiment: &Experiment) -> String {
    match (experiment.title.as_str(), experiment.description.as_str()) {
        (title, "") => title.to_string(),
        ("", description) => description.to_string(),
        (title, description) => format!("{title}. {description}"),
    }
}

fn result(result: PolicyResult) -> RunResult {
    RunResult {
        policy: result.policy.to_string(),
        point: points(result.point),
        time_s: result.mean.time_s,
        cpu_energy_j: result.mean.cpu_energy_j,
        system_energy_j: result.mean.system_energy_j,
        system_power_w: result.mean.system_power_w,
        edp_js: result.mean.edp_js,
        relative: Relative {
            time: result.relative_time,
            system_energy: result.relative_system_energy,
            edp: result.relative_edp,
        },
        bounds: Bounds {
            time_s: result.bounds.time_s,
            system_energy_j: result.bounds.system_energy_j,
        },
        energy_source: ENERGY_SOURCE.into(),
        counters: result.counters,
        ci95: result.ci95.map(|half| Interval {
            time_s: half.time_s,
            system_energy_j: half.system_energy_j,
            edp_js: half.edp_js,
        }),
        class: result.class.map(|class| Class {
            name: class.name.to_string(),
            loss: class.loss,
            deviation: class.deviation,
        }),
    }
}

fn point_value(value: experiment::PointValue) -> PointValue {
    match value {
        experiment::PointValue::Number(number) => PointValue::Number(number),
        experiment::PointValue::Text(text) => PointValue::Text(text),
    }
}
