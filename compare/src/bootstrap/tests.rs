// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::statistics::median;

/// Neurological scores of 26 children (Efron & Tibshirani 1993, table 14.1, "A").
const SPATIAL: [f64; 26] = [
    48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0, 34.0, 4.0, 32.0,
    24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
];

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// sum((x - m)^2) / n, which is biased.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64
}

/// Efron & Tibshirani 1993: 171.5, a = 0.061, and of 2,000 resamples z0 = 0.146 and the 90 % interval [115.8, 259.6] (table 14.2), where the
/// ABC method, its limit for many, has [116.7, 260.9].
#[test]
fn the_variance_of_the_spatial_test_data_is_as_published() {
    assert!((variance(&SPATIAL) - 171.5).abs() < 0.05);
    assert!((acceleration(&SPATIAL, variance) - 0.061).abs() < 0.0005);
    let interval = bca(&SPATIAL, 0.90, variance).unwrap();
    assert!(
        (interval.low - 115.8).abs() < 2.0 && (interval.high - 259.6).abs() < 4.0,
        "{interval:?}"
    );
}

#[test]
fn quantiles_are_those_of_printed_tables() {
    for (share, z) in [
        (0.5, 0.0),
        (0.75, 0.674_490),
        (0.95, 1.644_854),
        (0.975, 1.959_964),
        (0.995, 2.575_829),
    ] {
        assert!((quantile(share) - z).abs() < 1e-6, "{share}");
        assert!((cumulative(z) - share).abs() < 1e-6, "{share}");
        assert!((quantile(1.0 - share) + z).abs() < 1e-6, "{share}");
    }
}

#[test]
fn the_same_values_have_the_same_interval_and_a_lone_one_has_none() {
    let values = [1.0, 2.0, 4.0, 8.0, 9.0];
    assert_eq!(bca(&values, 0.95, mean), bca(&values, 0.95, mean));
    assert_eq!(bca(&[3.0], 0.95, mean), None);
    assert_eq!(bca(&[], 0.95, mean), None);
    let same = bca(&[3.0; 4], 0.95, |values| median(values).unwrap_or(f64::NAN)).unwrap();
    assert_eq!((same.low, same.high), (3.0, 3.0));
}
