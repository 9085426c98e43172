// SPDX-License-Identifier: MIT OR Apache-2.0
//! Confidence intervals by resampling, without assuming a distribution. Pure.

use crate::statistics::Interval;
use fastrand::Rng;
use special::Error;
use std::f64::consts::SQRT_2;

/// With this many, an end of a 95 % interval varies from seed to seed by 1.4 % (standard deviation) of its distance from the value.
const RESAMPLES: usize = 10_000;
/// Fixed, so that the same values have the same interval.
const SEED: u64 = 1;

/// The bias-corrected and accelerated interval (BCa) of a statistic of independent values: its quantiles over resamples with replacement, at
///
/// Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z = -+ Phi^-1((1 + confidence) / 2)
///
/// z0 = Phi^-1 of the share of resamples whose statistic is below that of the values, counting half of the equal ones. With d the mean of the n
/// statistics that leave one value out, minus each of them, a = sum(d^3) / (6 sum(d^2)^1.5) (Efron, "Better bootstrap confidence intervals", Journal of the
/// American Statistical Association 82, 1987; Efron & Tibshirani, "An introduction to the bootstrap", 1993, 14.3). `None` for fewer than two
/// values, and if all resamples are on one side of the statistic.
pub fn bca(values: &[f64], confidence: f64, statistic: impl Fn(&[f64]) -> f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let mut random = Rng::with_seed(SEED);
    let mut resample = values.to_vec();
    let mut one = || {
        resample.fill_with(|| values[random.usize(..values.len())]);
        statistic(&resample)
    };
    let mut resampled: Vec<f64> = (0..RESAMPLES).map(|_| one()).collect();
    resampled.sort_by(f64::total_cmp);
    let bias = bias(&resampled, statistic(values))?;
    let acceleration = acceleration(values, &statistic);
    let end = |z: f64| {
        let share = cumulative(bias + (bias + z) / (1.0 - acceleration * (bias + z)));
        resampled[((share * RESAMPLES as f64) as usize).min(RESAMPLES - 1)]
    };
    let z = quantile(f64::midpoint(1.0, confidence));
    Some(Interval {
        low: end(-z),
        high: end(z),
    })
}

/// z0.
fn bias(sorted: &[f64], value: f64) -> Option<f64> {
    let below = sorted.partition_point(|x| *x < value);
    let equal = sorted.partition_point(|x| *x <= value) - below;
    let share = (below as f64 + equal as f64 / 2.0) / sorted.len() as f64;
    (share > 0.0 && share < 1.0).then(|| quantile(share))
}

/// a; 0 if no value makes a difference.
fn acceleration(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let without = |left_out: usize| statistic(&[&values[..left_out], &values[left_out + 1..]].concat());
    let all: Vec<f64> = (0..values.len()).map(without).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let sum = |power: i32| all.iter().map(|x| (mean - x).powi(power)).sum::<f64>();
    match sum(2) > 0.0 {
        true => sum(3) / (6.0 * sum(2).powf(1.5)),
        false => 0.0,
    }
}

/// Phi, the standard normal distribution.
fn cumulative(z: f64) -> f64 {
    0.5 * (-z / SQRT_2).compl_error()
}

/// Phi^-1.
fn quantile(share: f64) -> f64 {
    SQRT_2 * (2.0 * share - 1.0).inv_error()
}

#[cfg(test)]
mod tests;
