// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use fastrand::Rng;

/// Box-Muller.
fn normal(random: &mut Rng) -> f64 {
    let (radius, angle) = (1.0 - random.f64(), random.f64());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// How many of `repetitions` intervals of `rounds` pairs cover `truth`; `draw` gives a pair.
fn covered(repetitions: usize, rounds: usize, truth: f64, mut draw: impl FnMut() -> (f64, f64)) -> usize {
    let mut one = || {
        let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| draw()).collect();
        Ratio::of(&pairs, Method::Student)
            .unwrap()
            .interval
            .unwrap()
            .covers(truth)
    };
    (0..repetitions).filter(|_| one()).count()
}

/// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, s = sqrt(32 / 7) = 2.138; t(0.975, 7) = 2.3646 (printed tables), so
/// 2.3646 * 2.1381 / sqrt(8) = 1.7875 is 0.3575 of the mean: 5 exp(-+ 0.3575).
#[test]
fn a_summary_by_hand() {
    let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], Method::Student).unwrap();
    assert_eq!((summary.count, summary.mean, summary.median), (8, 5.0, 4.5));
    assert_eq!((summary.min, summary.max), (2.0, 9.0));
    assert!((summary.deviation.unwrap() - 2.138_09).abs() < 1e-5);
    let interval = summary.interval.unwrap();
    assert!(
        (interval.low - 3.4972).abs() < 1e-4 && (interval.high - 7.1487).abs() < 1e-4,
        "{interval:?}"
    );
}

/// The mean of 1, 1, 1, 1 and 100 is 20.8, Student's interval of it -34.2 to 75.8. Differences may be below 0, and keep that interval.
#[test]
fn the_interval_of_a_positive_quantity_is_positive() {
    let interval = |values: &[f64]| Summary::of(values, Method::Student).unwrap().interval.unwrap();
    let skewed = interval(&[1.0, 1.0, 1.0, 1.0, 100.0]);
    assert!(
        skewed.low > 0.0 && skewed.high > 75.8 && skewed.covers(20.8),
        "{skewed:?}"
    );
    let differences = interval(&[-1.0, 1.0, 1.0, 1.0, 100.0]);
    assert!(differences.low < -30.0, "{differences:?}");
}

#[test]
fn what_does_not_vary_has_no_interval() {
    for method in [Method::Student, Method::Bca] {
        let summary = Summary::of(&[126.9; 5], method).unwrap();
        assert_eq!((summary.interval, summary.median_interval), (None, None));
        let ratio = Ratio::of(&[(2.0, 3.0); 5], method).unwrap().interval.unwrap();
        assert!(ratio.covers(1.5) && ratio.high - ratio.low < 1e-9, "known exactly");
    }
}

#[test]
fn one_value_has_no_spread_and_none_no_summary() {
    let one = Summary::of(&[3.0], Method::Student).unwrap();
    assert_eq!((one.mean, one.deviation, one.interval), (3.0, None, None));
    assert_eq!(Summary::of(&[], Method::Student), None);
    assert_eq!(Ratio::of(&[(2.0, 3.0)], Method::Student).unwrap().interval, None);
    assert_eq!(Ratio::of(&[], Method::Student), None);
}

/// Ratios 1.1 and 1.1 * e^0.2: mean log = ln 1.1 + 0.1, s = 0.2 / sqrt 2, half width = 12.7062 * 0.1414214 / sqrt 2 = 1.27062.
#[test]
fn a_ratio_by_hand() {
    let ratio = Ratio::of(&[(1.0, 1.1), (10.0, 11.0 * 0.2_f64.exp())], Method::Student).unwrap();
    assert!((ratio.value - 1.1 * 0.1_f64.exp()).abs() < 1e-12);
    let interval = ratio.interval.unwrap();
    assert!(
        (interval.high / ratio.value - 1.270_62_f64.exp()).abs() < 1e-4,
        "{interval:?}"
    );
    assert!(
        (ratio.value / interval.low - 1.270_62_f64.exp()).abs() < 1e-4,
        "{interval:?}"
    );
}

/// 4,000 comparisons each; the count of a right 95 % interval is 3,800 with a standard deviation of 13.8.
#[test]
fn the_interval_of_a_ratio_covers_the_truth_in_95_of_100() {
    let mut random = Rng::with_seed(1);
    for (rounds, truth) in [(5, 1.0), (10, 1.0), (10, 1.1), (40, 0.5)] {
        let covered = covered(4000, rounds, truth, || {
            let round = (0.3 * normal(&mut random)).exp();
            let noise = |random: &mut Rng| (0.05 * normal(random)).exp();
            (round * noise(&mut random), truth * round * noise(&mut random))
        });
        assert!(
            (3745..=3855).contains(&covered),
            "{rounds} rounds, ratio {truth}: {covered}"
        );
    }
}

/// Run times have a lower bound and a tail to the right: exponential noise on a fixed time. Pairing makes the differences of an A/A test symmetric.
#[test]
fn skewed_times_are_covered_too() {
    let mut random = Rng::with_seed(2);
    let mut time = || 0.020 - 0.002 * (1.0 - random.f64()).ln();
    let covered = covered(4000, 10, 1.0, || (time(), time()));
    assert!((3745..=3900).contains(&covered), "{covered}");
}

/// Without pairing, disturbances of whole rounds would hide a difference of 3 %; with it the interval is narrow.
#[test]
fn what_disturbs_a_whole_round_falls_out() {
    let mut random = Rng::with_seed(3);
    let pairs: Vec<(f64, f64)> = (0..10)
        .map(|_| {
            let round = 1.0 + random.f64();
            (round, 1.03 * round * (1.0 + 0.002 * normal(&mut random)))
        })
        .collect();
    let interval = Ratio::of(&pairs, Method::Student).unwrap().interval.unwrap();
    assert!(interval.low > 1.02 && interval.high < 1.04, "{interval:?}");
}

#[test]
fn the_interval_of_a_mean_covers_the_truth_in_95_of_100() {
    let mut random = Rng::with_seed(4);
    let one = |random: &mut Rng| {
        let values: Vec<f64> = (0..8).map(|_| 7.0 + 2.0 * normal(random)).collect();
        Summary::of(&values, Method::Student)
            .unwrap()
            .interval
            .unwrap()
            .covers(7.0)
    };
    let covered = (0..4000).filter(|_| one(&mut random)).count();
    assert!((3745..=3855).contains(&covered), "{covered}");
}

#[test]
fn far_values_are_flagged_and_near_ones_not() {
    assert_eq!(outliers(&[1.00, 1.01, 0.99, 1.02, 1.00, 2.00]), vec![5]);
    assert_eq!(outliers(&[1.00, 1.01, 0.99, 1.02, 0.98, 1.05]), Vec::<usize>::new());
    assert_eq!(
        outliers(&[1.0, 1.0, 1.0, 1.0, 5.0]),
        Vec::<usize>::new(),
        "no spread to judge by"
    );
    assert_eq!(outliers(&[]), Vec::<usize>::new());
}

/// Simulated times that differ in the eighth digit: 364.0064 s beside two of 364.0036 s and a hair.
#[test]
fn what_lies_near_is_no_outlier_as_near_as_the_others_may_be() {
    assert_eq!(outliers(&[364.003_6, 364.003_601, 364.006_4]), Vec::<usize>::new());
    assert_eq!(outliers(&[364.003_6, 364.003_601, 364.5]), [2], "0.14 %");
}

/// The ends of a BCa interval lie between the extremes of the values; for a ratio they are transformed back from logarithms.
#[test]
fn by_resampling_the_median_has_an_interval_too() {
    let values = [1.0, 2.0, 3.0, 4.0, 50.0];
    let summary = Summary::of(&values, Method::Bca).unwrap();
    assert_eq!(summary.interval, bca(&values, 0.95, mean));
    let of_median = summary.median_interval.unwrap();
    assert!(
        of_median.covers(3.0) && of_median.low >= 1.0 && of_median.high <= 50.0,
        "{of_median:?}"
    );
    assert_eq!(Summary::of(&values, Method::Student).unwrap().median_interval, None);
    let pairs = values.map(|value| (2.0, 2.0 * value));
    let ratio = Ratio::of(&pairs, Method::Bca).unwrap().interval.unwrap();
    let logs = bca(&values.map(f64::ln), 0.95, mean).unwrap();
    assert!(
        (ratio.low.ln() - logs.low).abs() < 1e-12 && (ratio.high.ln() - logs.high).abs() < 1e-12,
        "{ratio:?}"
    );
}
