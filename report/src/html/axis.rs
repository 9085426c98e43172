// SPDX-License-Identifier: MIT OR Apache-2.0
//! The x axis of a sweep: numbers, evenly or by their logarithm, or categories side by side.

use crate::model::PointValue;
use crate::number::{plain, tick_labels, ticks};
use crate::sweep::{value_text, Dimension};

/// Distinct values beyond which a numeric axis is labelled at round numbers instead of at the values themselves.
const LABELLED_VALUES: usize = 12;
/// Ratio of largest to smallest from which a logarithmic axis reads better.
const LOGARITHMIC_FROM: f64 = 100.0;

pub(crate) enum XAxis {
    Linear { low: f64, high: f64 },
    Logarithmic { low: f64, high: f64 },
    Categories(Vec<PointValue>),
}

impl XAxis {
    pub fn of(dimension: &Dimension) -> Self {
        let numbers: Vec<f64> = dimension.values.iter().filter_map(number).collect();
        if numbers.len() < dimension.values.len() || numbers.is_empty() {
            return Self::Categories(dimension.values.clone());
        }
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > 0.0 && high / low >= LOGARITHMIC_FROM {
            return Self::Logarithmic { low, high };
        }
        Self::Linear { low, high }
    }

    /// 0 at the left end, 1 at the right.
    pub fn place(&self, value: &PointValue) -> Option<f64> {
        match self {
            Self::Linear { low, high } => number(value).map(|v| (v - low) / (high - low)),
            Self::Logarithmic { low, high } => number(value).map(|v| (v / low).ln() / (high / low).ln()),
            Self::Categories(values) => {
                let index = values.iter().position(|v| v == value)?;
                Some((index as f64 + 0.5) / values.len() as f64)
            }
        }
    }

    pub fn categorical(&self) -> bool {
        matches!(self, Self::Categories(_))
    }

    /// Place and label of each tick.
    pub fn ticks(&self, dimension: &Dimension) -> Vec<(f64, String)> {
        let at_values = self.categorical() || dimension.values.len() <= LABELLED_VALUES;
        match self {
            Self::Linear { low, high } if !at_values => {
                let steps = ticks(*low, *high, 6);
                let labels = tick_labels(&steps);
                let inside = |(at, _): &(f64, String)| (-0.001..=1.001).contains(at);
                steps
                    .iter()
                    .map(|s| (s - low) / (high - low))
                    .zip(labels)
                    .filter(inside)
                    .collect()
            }
            Self::Logarithmic { low, high } if !at_values => decades(*low, *high)
                .into_iter()
                .filter_map(|v| Some((self.place(&PointValue::Number(v))?, plain(v))))
                .collect(),
            _ => dimension
                .values
                .iter()
                .filter_map(|v| Some((self.place(v)?, value_text(v))))
                .collect(),
        }
    }
}

fn decades(low: f64, high: f64) -> Vec<f64> {
    (low.log10().ceil() as i32..=high.log10().floor() as i32)
        .map(|power| 10f64.powi(power))
        .collect()
}

fn number(value: &PointValue) -> Option<f64> {
    match value {
        PointValue::Number(number) => Some(*number),
        PointValue::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(values: &[f64]) -> Dimension {
        Dimension {
            name: "jobs".to_string(),
            values: values.iter().map(|v| PointValue::Number(*v)).collect(),
        }
    }

    #[test]
    fn places_by_value_by_logarithm_and_by_order() {
        let linear = XAxis::of(&numeric(&[1.0, 2.0, 5.0]));
        assert_eq!(linear.place(&PointValue::Number(2.0)), Some(0.25));
        let logarithmic = XAxis::of(&numeric(&[1e3, 1e4, 1e5]));
        assert!((logarithmic.place(&PointValue::Number(1e4)).unwrap_or(0.0) - 0.5).abs() < 1e-12);
        let names = ["a", "b"].map(|n| PointValue::Text(n.to_string()));
        let categories = XAxis::of(&Dimension {
            name: "machine".to_string(),
            values: names.to_vec(),
        });
        assert_eq!(categories.place(&names[1]), Some(0.75));
        assert_eq!(categories.place(&PointValue::Text("c".to_string())), None);
    }

    #[test]
    fn crowded_axes_are_labelled_at_round_numbers() {
        let dimension = numeric(&(1..=40).map(f64::from).collect::<Vec<_>>());
        let labels: Vec<String> = XAxis::of(&dimension)
            .ticks(&dimension)
            .into_iter()
            .map(|(_, label)| label)
            .collect();
        assert_eq!(labels, ["10", "20", "30", "40"]);
    }
}
