// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes of applications, by their loss when half of the cores are slow.
//!
//! The loss of the run with seed i, as a share of its loss with all cores slow, is
//!
//! ```text
//! loss_i = (T_half - T_fast) / (T_slow - T_fast)        0: as if all were fast, 1: as if all were slow
//! ```
//!
//! Runs with the same seed have the same work, so losses differ by where tasks happened to run.
//!
//! ```text
//! unstable        standard deviation of loss_i above 0.1
//! slow-limited    else, mean of loss_i 0.9 or more
//! middle          else
//! ```

use super::{Experiment, PointValue, PolicyResult};
use std::fmt;

const UNSTABLE_ABOVE: f64 = 0.1;
const SLOW_LIMITED_FROM: f64 = 0.9;
/// Slow cores must cost at least this much of T_fast for a loss to be meaningful.
const LEAST_COST: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassName {
    SlowLimited,
    Middle,
    Unstable,
}

impl fmt::Display for ClassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SlowLimited => "slow-limited",
            Self::Middle => "middle",
            Self::Unstable => "unstable",
        })
    }
}

/// The result for one application under one policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    pub name: ClassName,
    /// Mean of the losses over seeds, dimensionless.
    pub loss: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

impl Class {
    /// `losses`: at least two.
    fn of(losses: &[f64]) -> Self {
        let nr = losses.len() as f64;
        let loss = losses.iter().sum::<f64>() / nr;
        let squares: f64 = losses.iter().map(|other| (other - loss) * (other - loss)).sum();
        let deviation = (squares / (nr - 1.0)).sqrt();
        let name = if deviation > UNSTABLE_ABOVE {
            ClassName::Unstable
        } else if loss >= SLOW_LIMITED_FROM {
            ClassName::SlowLimited
        } else {
            ClassName::Middle
        };
        Self { name, loss, deviation }
    }
}

/// Sets the class of each result with half of the cores slow. Returns notes on why some have none.
pub(super) fn classify(experiment: &Experiment, results: &mut [PolicyResult]) -> Vec<String> {
    let Some((at, labels)) = core_sweep(experiment) else {
        return vec![];
    };
    if experiment.runs < 2 {
        return vec![format!(
            "{}: no classes from a single run, as nothing shows how runs differ; ask for more (--runs 20)",
            experiment.id
        )];
    }
    let mut notes = vec![];
    for index in 0..results.len() {
        if results[index].point[at].1 != labels[1] {
            continue;
        }
        match losses(results, index, at, &labels) {
            Some(losses) => results[index].class = Some(Class::of(&losses)),
            None => notes.push(without(experiment, &results[index])),
        }
    }
    notes
}

fn without(experiment: &Experiment, result: &PolicyResult) -> String {
    let point: Vec<String> = result
        .point
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    format!(
        "{}: no class under {} at {}: a run with all cores slow takes less than {} % longer than with all fast",
        experiment.id,
        result.policy,
        point.join(", "),
        LEAST_COST * 100.0
    )
}

/// The sweep that makes cores slow, and its labels for all fast, half of them, and all slow.
fn core_sweep(experiment: &Experiment) -> Option<(usize, [PointValue; 3])> {
    let name = experiment.classes.as_ref()?;
    let at = experiment.sweeps.iter().position(|sweep| sweep.point == *name)?;
    let labels: Vec<PointValue> = experiment.sweeps[at].values.iter().map(|v| v.label.clone()).collect();
    Some((at, labels.try_into().ok()?))
}

/// Losses by seed, for the result with half of the cores slow. `None`: slow cores cost too little.
fn losses(results: &[PolicyResult], half: usize, at: usize, labels: &[PointValue; 3]) -> Option<Vec<f64>> {
    let half = &results[half];
    let beside = |label: &PointValue| {
        let mut point = half.point.clone();
        point[at].1 = label.clone();
        results.iter().find(|r| r.policy == half.policy && r.point == point)
    };
    let (fast, slow) = (beside(&labels[0])?, beside(&labels[2])?);
    let of_seed = |((fast_s, half_s), slow_s): ((&f64, &f64), &f64)| {
        let cost_s = slow_s - fast_s;
        (cost_s > LEAST_COST * fast_s).then(|| (half_s - fast_s) / cost_s)
    };
    fast.times_s
        .iter()
        .zip(&half.times_s)
        .zip(&slow.times_s)
        .map(of_seed)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 0.89, 0.91 and 0.93 have mean 0.91 and deviate by 0.02; 0.8, 1 and 1.2 deviate by 0.2; 0.5, 0.6 by 0.0707, and 0.5, 0.65 by
    /// 0.1061.
    #[test]
    fn classes_follow_from_mean_and_deviation() {
        for (losses, name, loss, deviation) in [
            (&[1.0, 1.0, 1.0][..], ClassName::SlowLimited, 1.0, 0.0),
            (&[0.89, 0.91, 0.93], ClassName::SlowLimited, 0.91, 0.02),
            (&[0.8, 1.0, 1.2], ClassName::Unstable, 1.0, 0.2),
            (&[0.5, 0.6], ClassName::Middle, 0.55, 0.0707),
            (&[0.5, 0.65], ClassName::Unstable, 0.575, 0.1061),
            (&[0.0, 0.0], ClassName::Middle, 0.0, 0.0),
        ] {
            let class = Class::of(losses);
            assert_eq!(class.name, name, "{losses:?}");
            assert!((class.loss - loss).abs() < 1e-9 && (class.deviation - deviation).abs() < 1e-4);
        }
    }
}
