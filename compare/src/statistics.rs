// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics of repeated runs: means with confidence intervals, paired ratios, outliers. Pure.

use crate::bootstrap::bca;
use special::Beta;

/// A value this many standard deviations from the median is flagged. The same bound as hyperfine's.
const OUTLIER_DEVIATIONS: f64 = 10.0;
/// Standard deviation over median absolute deviation of a normal distribution: 1 / quantile(0.75).
const DEVIATION_PER_MAD: f64 = 1.4826;
/// A value within this share of the median is never an outlier, however close the others are.
const LEAST_DISTANCE: f64 = 1e-3;

/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// That of a quantity or ratio which is not below 0, from its symmetrical one, m -+ h: on a logarithmic scale, so it is not below 0 either.
    ///
    /// ```text
    /// m exp(-+ h / m)      var(ln m) = var(m) / m^2 to first order
    /// ```
    #[must_use]
    pub fn on_log_scale(self) -> Self {
        let mean = f64::midpoint(self.low, self.high);
        let end = |end: f64| mean * (end / mean - 1.0).exp();
        match mean > 0.0 {
            true => Self {
                low: end(self.low),
                high: end(self.high),
            },
            false => self,
        }
    }
}

/// The method for intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Student's t, of logarithms of means and of ratios.
    Student,
    /// [`bca`], of means, medians and logarithms of ratios.
    Bca,
}

impl Method {
    /// The interval of the mean; `None` for one value.
    fn of_mean(self, values: &[f64]) -> Option<Interval> {
        match self {
            Self::Student => student(values),
            Self::Bca => bca(values, CONFIDENCE, mean),
        }
    }

    /// The same for a quantity, on a logarithmic scale where no value is below 0; `None` also where nothing varies.
    fn of_quantity(self, values: &[f64]) -> Option<Interval> {
        let interval = self.of_mean(values).filter(|_| varies(values))?;
        Some(match self {
            Self::Student if values.iter().all(|&value| value >= 0.0) => interval.on_log_scale(),
            _ => interval,
        })
    }
}

/// Repeated measurements of one quantity, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub count: usize,
    pub mean: f64,
    /// Sample standard deviation (n - 1); `None` for one value.
    pub deviation: Option<f64>,
    pub median: f64,
    /// `None` for one value, where nothing varies, and for Student's t, which has none.
    pub median_interval: Option<Interval>,
    pub min: f64,
    pub max: f64,
    /// Interval of the mean; `None` for one value, and where nothing varies.
    pub interval: Option<Interval>,
}

impl Summary {
    /// Mean m, s^2 = sum((x - m)^2) / (n - 1). `None` without values.
    pub fn of(values: &[f64], method: Method) -> Option<Self> {
        let (mean, deviation) = moments(values)?;
        let has_one = method == Method::Bca && varies(values);
        let of_median = || bca(values, CONFIDENCE, |values| median(values).unwrap_or(f64::NAN));
        Some(Self {
            count: values.len(),
            mean,
            deviation,
            median: median(values)?,
            median_interval: has_one.then(of_median).flatten(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            interval: method.of_quantity(values),
        })
    }
}

/// The ratio of a quantity to another one that was measured in the same rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub pairs: usize,
    pub value: f64,
    /// `None` for one pair.
    pub interval: Option<Interval>,
}

impl Ratio {
    /// The geometric mean of x / base over pairs (base, x), both above 0, with its interval: exp(mean(d)) with d = ln(x / base), and
    /// the interval of mean(d) taken back (of Student's: Bland & Altman, "The use of transformation when comparing two
    /// means", BMJ 312:1153, 1996). A disturbance of a whole round affects both values of a pair and cancels. `None` without pairs.
    pub fn of(pairs: &[(f64, f64)], method: Method) -> Option<Self> {
        let logs: Vec<f64> = pairs.iter().map(|(base, value)| (value / base).ln()).collect();
        let (mean, _) = moments(&logs)?;
        Some(Self {
            pairs: logs.len(),
            value: mean.exp(),
            interval: method.of_mean(&logs).map(|interval| Interval {
                low: interval.low.exp(),
                high: interval.high.exp(),
            }),
        })
    }
}

fn varies(values: &[f64]) -> bool {
    values.iter().any(|value| *value != values[0])
}

/// The mean, and the sample standard deviation if there are two or more values.
fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() {
        return None;
    }
    let (mean, freedom) = (mean(values), values.len() as f64 - 1.0);
    let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    Some((mean, (freedom > 0.0).then(|| (squares / freedom).sqrt())))
}

/// NaN without values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// m -+ t(0.975, n - 1) * s / sqrt(n) (Student, "The probable error of a mean", Biometrika 6, 1908).
fn student(values: &[f64]) -> Option<Interval> {
    let (mean, deviation) = moments(values)?;
    let count = values.len() as f64;
    let half = deviation? * student_0975(count - 1.0) / count.sqrt();
    Some(Interval {
        low: mean - half,
        high: mean + half,
    })
}

/// The 0.975 quantile of Student's distribution with n degrees of freedom, from that of the beta distribution: with
/// x = I^-1(0.05; n / 2, 1 / 2), t = sqrt(n (1 / x - 1)) (Abramowitz & Stegun, "Handbook of mathematical functions", 1964, 26.5.27).
fn student_0975(freedom: f64) -> f64 {
    let (a, b) = (freedom / 2.0, 0.5);
    let x = 0.05_f64.inv_inc_beta(a, b, a.ln_beta(b));
    (freedom * (1.0 / x - 1.0)).sqrt()
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Which values are far from the others, by the modified z-score (Iglewicz & Hoaglin, "How to detect and handle outliers", 1993)
/// with hyperfine's bound: |x - median| > 10 * 1.4826 * MAD, and > 0.1 % of the median. If more than half of the values are equal
/// (a coarse meter), the MAD is 0 and the rest cannot be judged.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    let spread = DEVIATION_PER_MAD * median(&distances).unwrap_or(0.0);
    let bound = (OUTLIER_DEVIATIONS * spread).max(LEAST_DISTANCE * centre.abs());
    let far = |(index, distance): (usize, &f64)| (*distance > bound).then_some(index);
    match spread > 0.0 {
        true => distances.iter().enumerate().filter_map(far).collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
