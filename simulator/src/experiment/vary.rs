// SPDX-License-Identifier: MIT OR Apache-2.0
//! Studies of what is not known exactly: how far results, and what the policy chooses, depend on one sweep, whose first value is taken for true.

use super::plan::Point;
use super::run::ratio;
use super::{Cell, Experiment, PointValue, PolicyResult};
use crate::engine::config_of;
use crate::PolicyChoice;
use lop_policy::{Config, Power, Rung};

/// A share by which a figure has to differ to count as changed.
pub const CHANGED: f64 = 0.02;

/// Values of sweeps, by name.
type Labels = Vec<(String, PointValue)>;

/// A policy at one point of the sweeps that are not varied.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// In the order of the sweeps, without the varied one.
    pub point: Labels,
    pub policy: String,
    /// Values beside the first.
    pub values: usize,
    /// Values with which the policy has other rules, or a spare where it had none.
    pub other_rules: usize,
    /// Values with which kinds of cores and their speeds come in another order of energy per work.
    pub other_order: usize,
    /// Values with which the energy differs by more than [`CHANGED`].
    pub other_energy: usize,
    /// Lowest and highest energy over that of the first value.
    pub energy: [f64; 2],
    /// Only of the judged policy.
    pub verdict: Option<Verdict>,
}

/// EDP of the judged policy over the lowest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// With the first value.
    pub edp: f64,
    /// Lowest and highest with the others.
    pub range: [f64; 2],
    /// Values with which it is behind and was not, or the other way round.
    pub others: usize,
}

/// `results`: of all points, by point and then by policy; `cells`: by point, if a policy is judged. Empty unless a sweep is varied.
pub(super) fn variations(
    experiment: &Experiment,
    points: &[Point],
    results: &[PolicyResult],
    cells: &[Cell],
) -> Vec<Variation> {
    let Some(varied) = &experiment.varied else {
        return Vec::new();
    };
    let rest = |point: &Point| -> Labels {
        point
            .labels
            .iter()
            .filter(|(name, _)| name != varied)
            .cloned()
            .collect()
    };
    let mut groups: Vec<(Labels, Vec<usize>)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let rest = rest(point);
        match groups.iter_mut().find(|(known, _)| *known == rest) {
            Some((_, members)) => members.push(index),
            None => groups.push((rest, vec![index])),
        }
    }
    let of_group = |(point, members): &(Labels, Vec<usize>)| {
        let workload = points[members[0]].workload.build(experiment.seed);
        let of_policy = |(at, policy): (usize, &PolicyChoice)| {
            let config = |index: usize| {
                let point: &Point = &points[index];
                config_of(&point.machine, &workload, policy, &point.policy).map(|(config, _)| config)
            };
            let energy_j = |index: usize| results[index * experiment.policies.len() + at].mean.system_energy_j;
            let (first, others) = (members[0], &members[1..]);
            let (first_config, configs): (_, Vec<_>) =
                (config(first), others.iter().map(|&index| config(index)).collect());
            let energies = others.iter().map(|&index| ratio(energy_j(index), energy_j(first)));
            Variation {
                point: point.clone(),
                policy: policy.to_string(),
                values: others.len(),
                other_rules: count(&configs, |config| config.map(rules) != first_config.map(rules)),
                other_order: count(&configs, |config| config.map(order) != first_config.map(order)),
                other_energy: energies.clone().filter(|energy| (energy - 1.0).abs() > CHANGED).count(),
                energy: range(energies),
                verdict: (experiment.judged.as_ref() == Some(policy)).then(|| verdict(first, others, cells)),
            }
        };
        experiment
            .policies
            .iter()
            .enumerate()
            .map(of_policy)
            .collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::MAX, f64::MIN], |[low, high], value| {
        [low.min(value), high.max(value)]
    })
}

fn verdict(first: usize, others: &[usize], cells: &[Cell]) -> Verdict {
    let first = &cells[first];
    let others = others.iter().map(|&index| &cells[index]);
    Verdict {
        edp: first.edp,
        range: range(others.clone().map(|cell| cell.edp)),
        others: others.filter(|cell| cell.is_behind() != first.is_behind()).count(),
    }
}

fn count(configs: &[Option<Config>], differs: impl Fn(Option<Config>) -> bool) -> usize {
    configs.iter().filter(|config| differs(**config)).count()
}

/// What a configuration has or has not: how long the last core stays high follows from the watts in proportion, and plans for memory domains go by the watts
/// themselves; times that the machine has are told, not chosen.
fn rules(config: Config) -> Config {
    Config {
        power: Power::default(),
        last_hold_ns: 0,
        hold_ns: 0,
        transition_ns: 0,
        migration_ns: 0,
        nr_rungs: 0,
        rung: Default::default(),
        rung_uj: Default::default(),
        ..config
    }
}

/// The ladder of paced work, least energy per work first.
fn order(config: Config) -> Vec<Rung> {
    config.rung[..config.nr_rungs as usize].to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::{read, run, RunControl};
    use std::sync::atomic::AtomicBool;

    /// The watts that decide about the spare: a core that is kept high costs `idle_w` at the top, and saves a rise. The machine draws what it did, as
    /// the policy alone is told otherwise; so where it decides the same, it is the same run.
    const STUDY: &str = r#"id = "study"
title = ""
machine = "laptop-hybrid"
workload = "bursts"
policies = ["linux:performance", "auto"]
judge = "auto"
vary = "watts"
[[sweep]]
point = "watts"
key = "policy.watts"
values = ["measured", "none", "varied:1"]
[[sweep]]
point = "size"
key = "workload.scale"
values = [0.1, 0.2]
"#;

    #[test]
    fn others_are_counted_beside_the_first_of_the_same_cell() {
        let control = RunControl {
            threads: None,
            progress: &|_| {},
            cancelled: &AtomicBool::new(false),
        };
        let study = run(&read("study.toml", STUDY, None).unwrap(), &control).unwrap();
        let energy_j = |point: usize, policy: usize| study.results[2 * point + policy].mean.system_energy_j;
        assert_eq!((study.variations.len(), study.cells.len()), (4, 6));
        for (number, variation) in study.variations.iter().enumerate() {
            let (size, policy) = (number / 2, number % 2);
            assert_eq!(
                variation.point,
                [("size".to_string(), study.results[2 * size].point[1].1.clone())]
            );
            let [none, varied] = [2, 4].map(|first| energy_j(first + size, policy) / energy_j(size, policy));
            assert_eq!(variation.energy, [none.min(varied), none.max(varied)], "{variation:?}");
            let changed = [none, varied]
                .iter()
                .filter(|energy| (*energy - 1.0).abs() > 0.02)
                .count();
            assert_eq!((variation.values, variation.other_energy), (2, changed));
            assert_eq!(variation.verdict.is_some(), policy == 1);
        }
        let [baseline, auto] = [&study.variations[0], &study.variations[1]];
        assert_eq!(
            (baseline.other_rules, baseline.other_order, baseline.energy),
            (0, 0, [1.0, 1.0])
        );
        // Without watts there is a spare and no ladder; other watts are another ladder.
        assert_eq!((auto.other_rules, auto.other_order), (1, 2));
        let verdict = auto.verdict.unwrap();
        let [first, none, varied] = [0, 2, 4].map(|cell| &study.cells[cell]);
        assert_eq!(
            (verdict.edp, verdict.range),
            (first.edp, [none.edp.min(varied.edp), none.edp.max(varied.edp)])
        );
        let others = [none, varied]
            .iter()
            .filter(|cell| cell.is_behind() != first.is_behind())
            .count();
        assert_eq!(verdict.others, others);
    }
}
