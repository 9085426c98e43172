// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sweep points of an experiment, with machines and workloads opened.

use super::resolve::Opened;
use super::{Change, Experiment, PointValue, Setting, SweepValue};
use crate::workload::Spec;
use crate::{Placement, PolicyParameters};
use lop_machine::{InputError, Machine};
use std::sync::Arc;

/// One sweep point, ready to run.
pub(super) struct Point {
    /// In the order of the sweeps.
    pub labels: Vec<(String, PointValue)>,
    pub machine_name: String,
    pub workload_name: String,
    pub machine: Arc<Machine>,
    pub workload: Arc<Spec>,
    /// In place of what the machine ships.
    pub placement: Option<Placement>,
    pub policy: PolicyParameters,
}

/// All points, the first sweep outermost.
///
/// # Errors
/// A machine or workload that cannot be opened, or that does not accept a setting.
pub(super) fn points(experiment: &Experiment) -> Result<Vec<Point>, InputError> {
    let mut opened = Opened::default();
    (0..experiment.nr_points())
        .filter(|&index| !is_left_out(experiment, index))
        .map(|index| point(experiment, index, &mut opened))
        .collect()
}

fn is_left_out(experiment: &Experiment, index: usize) -> bool {
    let chosen = values_at(experiment, index);
    let labels = || experiment.sweeps.iter().zip(&chosen);
    experiment.left_out.iter().any(|names| {
        names.iter().all(|(name, left_out)| {
            labels().any(|(sweep, value)| sweep.point == *name && left_out.contains(&value.label.to_string()))
        })
    })
}

/// The first point only.
pub(super) fn first_point(experiment: &Experiment) -> Result<Point, InputError> {
    point(experiment, 0, &mut Opened::default())
}

fn point(experiment: &Experiment, index: usize, opened: &mut Opened) -> Result<Point, InputError> {
    let chosen = values_at(experiment, index);
    let (mut machine, mut workload) = (&experiment.machine, &experiment.workload);
    let mut settings: Vec<&Setting> = experiment.settings.iter().collect();
    for value in &chosen {
        match &value.change {
            Change::Machine(other) => machine = other,
            Change::Workload(other) => workload = other,
            Change::Setting(setting) => settings.push(setting),
        }
        settings.extend(&value.settings);
    }
    settings.extend(&experiment.last);
    let (mut placement, mut policy) = (None, PolicyParameters::default());
    for setting in &settings {
        setting.apply(&mut placement, &mut policy)?;
    }
    let labels = experiment
        .sweeps
        .iter()
        .zip(&chosen)
        .map(|(sweep, value)| (sweep.point.clone(), value.label.clone()));
    let opened_machine = opened.machine(machine, &settings)?;
    let opened_workload = opened.workload(workload, &settings)?;
    opened_workload.check_cpus(&machine.name, opened_machine.cpus.len())?;
    Ok(Point {
        labels: labels.collect(),
        machine_name: machine.name.clone(),
        workload_name: workload.name.clone(),
        machine: opened_machine,
        workload: opened_workload,
        placement,
        policy,
    })
}

/// The value of each sweep at a point: `index` as a number with one digit per sweep, the last digit changing fastest.
fn values_at(experiment: &Experiment, index: usize) -> Vec<&SweepValue> {
    let mut rest = index;
    let mut chosen: Vec<&SweepValue> = Vec::with_capacity(experiment.sweeps.len());
    for sweep in experiment.sweeps.iter().rev() {
        chosen.push(&sweep.values[rest % sweep.values.len()]);
        rest /= sweep.values.len();
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(study: &Experiment, index: usize) -> Vec<String> {
        let values = values_at(study, index);
        values.iter().map(|value| value.label.to_string()).collect()
    }

    /// Applications that contend for memory need a machine with figures for its memory.
    #[test]
    fn points_whose_values_are_all_named_are_left_out() {
        let study = super::super::load_builtin("everything").unwrap();
        let is_left = |machine: &str, workload: &str| {
            let at = (0..study.nr_points()).find(|&index| labels(&study, index) == [machine, workload]);
            is_left_out(&study, at.unwrap())
        };
        assert!(is_left("phenom-9750", "mix-1") && !is_left("opteron-2x4", "mix-1"));
        assert!(is_left("opteron-2x4-pair", "barriers") && !is_left("phenom-9750", "barriers"));
    }

    /// A rule may lose one in a hundred cells of `everything`, so these are the cells that it is left out in.
    #[test]
    fn rules_are_left_out_in_every_cell() {
        let cells = |study: &str| {
            let study = super::super::load_builtin(study).unwrap();
            let kept = (0..study.nr_points()).filter(|&index| !is_left_out(&study, index));
            kept.map(|index| labels(&study, index)).collect::<Vec<_>>()
        };
        assert_eq!(cells("rules"), cells("everything"));
        let rules = super::super::load_builtin("rules").unwrap().policies;
        let names = |rule: &(&str, crate::choice::AutoRule)| format!("auto:no-{}", rule.0);
        let left_out: Vec<String> = rules[2..].iter().map(ToString::to_string).collect();
        assert_eq!(
            left_out,
            crate::choice::AutoRule::ALL.iter().map(names).collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_end_of_a_range_is_taken_in_place_of_what_sweeps_set() {
        let mut study = super::super::load_builtin("barriers").unwrap();
        study.keep(&["highlow"], |sweep, label| {
            sweep == "cores" || label.to_string() == "1000"
        });
        assert_eq!((study.nr_points(), study.policies.len()), (2, 1));
        let slow = Setting::new("machine.max_mhz", "[1000]", super::super::Origin::option("test")).unwrap();
        let of = |study: &Experiment| -> Vec<String> {
            let points = points(study).unwrap();
            points.iter().map(|point| format!("{:?}", point.machine)).collect()
        };
        let [fast, mixed] = of(&study).try_into().unwrap();
        let [first, second] = of(&study.at_end(&[slow])).try_into().unwrap();
        assert!(fast != mixed && first == second && first != fast);
    }

    #[test]
    fn the_first_sweep_turns_slowest() {
        let study = super::super::load_builtin("compile-transfer").unwrap();
        let at = |index| {
            values_at(&study, index)
                .iter()
                .map(|v| v.label.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let all: Vec<String> = (0..study.nr_points()).map(at).collect();
        assert_eq!(
            all,
            [
                "phenom-9750 longest-idle",
                "phenom-9750 random",
                "phenom2-940 longest-idle",
                "phenom2-940 random",
                "i7-940 longest-idle",
                "i7-940 random"
            ]
        );
    }
}
