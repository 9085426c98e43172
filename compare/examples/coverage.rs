// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often 95 % intervals (Student's and BCa) of the mean, the median and a paired ratio cover the truth, for times with lognormal noise.
//! Prints the table of docs/compare.md.

use fastrand::Rng;
use lop_compare::statistics::{Method, Ratio, Summary};

const REPETITIONS: u32 = 2000;

fn main() {
    println!("coverage in %: deviation of logarithms, rounds: ratio by t, by BCa; mean by t, by BCa; median by BCa");
    for deviation in [0.05, 0.5] {
        for rounds in [5, 10, 20] {
            println!("{}", line(deviation, rounds));
        }
    }
}

fn line(deviation: f64, rounds: usize) -> String {
    let mut random = Rng::with_seed(1);
    let mut covered = [0u32; 5];
    let (mean, median) = ((deviation * deviation / 2.0).exp(), 1.0);
    for _ in 0..REPETITIONS {
        let mut times = || (0..rounds).map(|_| time(&mut random, deviation)).collect();
        let (base, values): (Vec<f64>, Vec<f64>) = (times(), times());
        let pairs: Vec<(f64, f64)> = base.into_iter().zip(values.iter().copied()).collect();
        let ratio = |method| Ratio::of(&pairs, method).and_then(|ratio| ratio.interval);
        let summary = |method| Summary::of(&values, method);
        let (student, bca) = (summary(Method::Student), summary(Method::Bca));
        let all = [
            (ratio(Method::Student), 1.0),
            (ratio(Method::Bca), 1.0),
            (student.and_then(|summary| summary.interval), mean),
            (bca.and_then(|summary| summary.interval), mean),
            (bca.and_then(|summary| summary.median_interval), median),
        ];
        for (count, (interval, truth)) in covered.iter_mut().zip(all) {
            *count += u32::from(interval.is_some_and(|interval| interval.covers(truth)));
        }
    }
    let shares = covered.map(|count| format!("{:.1}", 100.0 * f64::from(count) / f64::from(REPETITIONS)));
    format!("{deviation}, {rounds}: {}", shares.join(" "))
}

/// A lognormal time with median 1, by Box-Muller.
fn time(random: &mut Rng, deviation: f64) -> f64 {
    let (radius, angle) = (1.0 - random.f64(), random.f64());
    let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    (deviation * normal).exp()
}
