// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as people read them: one unit and one number of decimals for a whole column or axis.

/// From which size on a unit takes a prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Large {
    /// Never ("364000 s", not "364 ks").
    Plain,
    /// From a million on ("49577 J", but "4.9 MJ").
    FromMillion,
    /// From a thousand on ("18.05 MJ s").
    FromThousand,
}

/// Unit, prefix and decimals shared by a set of values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    /// What a value is divided by before it is printed.
    pub divisor: f64,
    /// With its prefix: "MJ s".
    pub unit: String,
    pub decimals: usize,
}

const PREFIXES: [(f64, &str); 8] = [
    (1e-9, "n"),
    (1e-6, "µ"),
    (1e-3, "m"),
    (1.0, ""),
    (1e3, "k"),
    (1e6, "M"),
    (1e9, "G"),
    (1e12, "T"),
];
const PLAIN: usize = 3;

impl Scale {
    /// The largest value gets few digits before the point; the smallest shows four significant digits, unless the largest would then have
    /// more than six.
    pub fn fit(values: impl Iterator<Item = f64>, unit: &str, large: Large) -> Self {
        let sizes: Vec<f64> = values.map(f64::abs).filter(|v| v.is_finite() && *v > 0.0).collect();
        let (Some(largest), Some(smallest)) = (
            sizes.iter().copied().reduce(f64::max),
            sizes.iter().copied().reduce(f64::min),
        ) else {
            return Self {
                divisor: 1.0,
                unit: unit.to_string(),
                decimals: 1,
            };
        };
        let (divisor, prefix) = PREFIXES[prefix_of(largest, large)];
        let most = 5 - magnitude(largest / divisor);
        let wanted = 3 - magnitude(smallest / divisor);
        Self {
            divisor,
            unit: format!("{prefix}{unit}"),
            decimals: wanted.min(most).max(0) as usize,
        }
    }

    /// In a unit that somebody chose, of which one is so much of the values' own; decimals as above.
    pub fn of(values: impl Iterator<Item = f64>, unit: &str, size: f64) -> Self {
        let fitted = Self::fit(values.map(|value| value / size), "", Large::Plain);
        let shift = fitted.divisor.log10().round() as i32;
        Self {
            divisor: size,
            unit: unit.to_string(),
            decimals: (fitted.decimals as i32 - shift).max(0) as usize,
        }
    }

    pub fn text(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.divisor)
    }

    /// "364.0"; "364.0 ± 0.4" with an interval, and "364.0 ×/÷ 2.50" with a wide one ([`is_wide`]).
    pub fn with_interval(&self, value: f64, interval: Option<[f64; 2]>) -> String {
        let text = self.text(value);
        let Some([low, high]) = interval else { return text };
        match self.text((high - low) / 2.0) {
            _ if is_wide(value, [low, high]) => format!("{text} ×/÷ {:.2}", high / value),
            half_width if half_width == self.text(0.0) => text,
            half_width => format!("{text} ± {half_width}"),
        }
    }
}

/// Whether the ends of an interval, which lie at the same factor from the value, lie at distances too different for a half-width.
pub(crate) fn is_wide(value: f64, [_, high]: [f64; 2]) -> bool {
    high > 1.1 * value
}

fn prefix_of(largest: f64, large: Large) -> usize {
    let limit = match large {
        Large::Plain => f64::INFINITY,
        Large::FromMillion => 1e6,
        Large::FromThousand => 1e3,
    };
    let mut index = PLAIN;
    if largest >= limit {
        while largest / PREFIXES[index].0 >= 1e3 && index + 1 < PREFIXES.len() {
            index += 1;
        }
    }
    while largest / PREFIXES[index].0 < 0.1 && index > 0 {
        index -= 1;
    }
    index
}

/// Power of ten of the first digit: 0 for 1 to 9.99.
fn magnitude(value: f64) -> i32 {
    value.log10().floor() as i32
}

/// A number on its own (counters, sweep points): whole ones whole, others with four significant digits.
pub(crate) fn plain(value: f64) -> String {
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < 1e15) {
        return format!("{value}");
    }
    if value.abs() < 1e-6 {
        return format!("{value:.3e}");
    }
    let decimals = (3 - magnitude(value.abs())).max(0) as usize;
    format!("{value:.decimals$}")
}

/// Distance above a bound in per cent; `None` where the bound is nothing to measure against.
pub(crate) fn percent_above(value: f64, bound: f64) -> Option<f64> {
    (bound > 0.0).then(|| (value / bound - 1.0) * 100.0)
}

/// At most about `wanted` steps of 1, 2 or 5 times a power of ten that cover `low` to `high`, both ends included.
pub(crate) fn ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    if low.partial_cmp(&high) != Some(std::cmp::Ordering::Less) {
        return vec![low];
    }
    let raw = (high - low) / wanted.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|s| *s >= raw * 0.999)
        .unwrap_or(power * 10.0);
    let first = (low / step + 1e-9).floor() as i64;
    let last = (high / step - 1e-9).ceil() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Labels of ticks, all with the decimals that the step between them needs.
pub(crate) fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let step = ticks.windows(2).map(|w| w[1] - w[0]).reduce(f64::min).unwrap_or(1.0);
    let decimals = (-(step * 1.001).log10().floor()).max(0.0) as usize;
    ticks.iter().map(|t| format!("{t:.decimals$}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(values: &[f64], large: Large) -> Scale {
        Scale::fit(values.iter().copied(), "J", large)
    }

    #[test]
    fn prefixes_follow_the_largest_value() {
        // 364 s * 49577 J = 18.046 million J s
        let edp = scale(&[18_046_028.0, 30_000_000.0], Large::FromThousand);
        assert_eq!((edp.unit.as_str(), edp.text(18_046_028.0)), ("MJ", "18.05".into()));
        assert_eq!(scale(&[49_577.0], Large::FromMillion).unit, "J");
        assert_eq!(scale(&[4_957_700.0], Large::FromMillion).unit, "MJ");
        assert_eq!(scale(&[4_957_700.0], Large::Plain).unit, "J");
        assert_eq!(scale(&[0.0042], Large::Plain).unit, "mJ");
        assert_eq!(scale(&[], Large::Plain).text(0.0), "0.0");
    }

    #[test]
    fn decimals_serve_the_smallest_without_flooding_the_largest() {
        assert_eq!(scale(&[364.0], Large::Plain).text(364.0), "364.0");
        assert_eq!(scale(&[364.0, 30.25], Large::Plain).text(30.25), "30.25");
        assert_eq!(scale(&[49_577.0, 0.5], Large::Plain).text(0.5), "0.5");
        assert_eq!(
            scale(&[364.0], Large::Plain).with_interval(364.0, Some([363.58, 364.42])),
            "364.0 ± 0.4"
        );
    }

    #[test]
    fn wide_intervals_are_factors_and_what_does_not_vary_has_none() {
        let with =
            |factor: f64| scale(&[100.0], Large::Plain).with_interval(100.0, Some([100.0 / factor, 100.0 * factor]));
        assert_eq!(with(7.389), "100.0 ×/÷ 7.39");
        assert_eq!(with(1.05), "100.0 ± 4.9");
        assert_eq!(with(1.0004), "100.0");
    }

    #[test]
    fn a_unit_that_was_chosen_keeps_four_significant_digits() {
        let of = |seconds: f64, unit: &str, size: f64| Scale::of([seconds].into_iter(), unit, size).text(seconds);
        assert_eq!(of(0.0042, "s", 1.0), "0.004200");
        assert_eq!(of(0.0042, "ms", 1e-3), "4.200");
        assert_eq!(of(0.0042, "µs", 1e-6), "4200");
        assert_eq!(of(5400.0, "h", 3600.0), "1.500");
    }

    #[test]
    fn plain_numbers() {
        assert_eq!(plain(1655.0), "1655");
        assert_eq!(plain(0.123456), "0.1235");
        assert_eq!(plain(12345.678), "12346");
        assert_eq!(plain(-3.5), "-3.500");
        assert_eq!(plain(f64::NAN), "NaN");
    }

    #[test]
    fn ticks_cover_the_range_in_round_steps() {
        assert_eq!(ticks(0.0, 707.0, 5), vec![0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(
            tick_labels(&ticks(0.98, 1.12, 5)),
            ["0.95", "1.00", "1.05", "1.10", "1.15"]
        );
        assert_eq!(ticks(3.0, 3.0, 5), vec![3.0]);
        assert_eq!(tick_labels(&[0.0, 0.1, 0.2]), ["0.0", "0.1", "0.2"]);
    }

    #[test]
    fn distance_needs_a_bound() {
        assert_eq!(percent_above(110.0, 100.0).map(|p| p.round()), Some(10.0));
        assert_eq!(percent_above(110.0, 0.0), None);
    }
}
