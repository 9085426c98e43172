//! Several runs of one policy at one point: means, confidence intervals, counters.

use crate::{Bounds, Outcome};
use serde_json::{Map, Number, Value};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What a run measures, or the mean of that over runs. A mean power is the mean of the runs' powers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    pub time_s: f64,
    pub cpu_energy_j: f64,
    pub system_energy_j: f64,
    pub system_power_w: f64,
    /// Energy-delay product: system energy times time.
    pub edp_js: f64,
}

/// Half-widths of 95 % confidence intervals of means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Half {
    pub time_s: f64,
    pub system_energy_j: f64,
    pub edp_js: f64,
}

impl Measures {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let time_s = outcome.time_ns as f64 / 1e9;
        let system_energy_j = outcome.system_energy_j;
        Self {
            time_s,
            cpu_energy_j: outcome.cpu_energy_j,
            system_energy_j,
            system_power_w: if outcome.time_ns == 0 {
                0.0
            } else {
                system_energy_j / time_s
            },
            edp_js: system_energy_j * time_s,
        }
    }

    /// `runs` is not empty.
    pub(super) fn mean(runs: &[Self]) -> Self {
        Self {
            time_s: mean(runs.iter().map(|m| m.time_s)),
            cpu_energy_j: mean(runs.iter().map(|m| m.cpu_energy_j)),
            system_energy_j: mean(runs.iter().map(|m| m.system_energy_j)),
            system_power_w: mean(runs.iter().map(|m| m.system_power_w)),
            edp_js: mean(runs.iter().map(|m| m.edp_js)),
        }
    }
}

impl Half {
    /// `None` for a single run.
    pub(super) fn of(runs: &[Measures]) -> Option<Self> {
        let half = |values: Vec<f64>| confidence_half_width(&values);
        Some(Self {
            time_s: half(runs.iter().map(|m| m.time_s).collect())?,
            system_energy_j: half(runs.iter().map(|m| m.system_energy_j).collect())?,
            edp_js: half(runs.iter().map(|m| m.edp_js).collect())?,
        })
    }
}

pub(super) fn mean_bounds(runs: &[Bounds]) -> Bounds {
    Bounds {
        time_s: mean(runs.iter().map(|b| b.time_s)),
        system_energy_j: mean(runs.iter().map(|b| b.system_energy_j)),
    }
}

/// Mean in the order given; an empty iterator gives 0.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// t(0.975, n - 1) * s / sqrt(n), s^2 = sum((x - mean)^2) / (n - 1)   (Student 1908); `None` below two values.
fn confidence_half_width(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let center = mean(values.iter().copied());
    let variance = values.iter().map(|x| (x - center) * (x - center)).sum::<f64>() / (n - 1.0);
    Some(student_t_975(values.len() - 1) * (variance / n).sqrt())
}

/// The 97.5 % quantile of Student's t, to nine decimals: the last bits depend on the mathematics library of the machine, and
/// results must not.
fn student_t_975(degrees: usize) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, degrees as f64).expect("degrees of freedom are positive");
    (distribution.inverse_cdf(0.975) * 1e9).round() / 1e9
}

/// Counters of several runs as one JSON object: every number the mean over the runs, lists and maps by element. What a run
/// lacks (a frequency it never used) counts as 0. A single run keeps its whole numbers.
pub(super) fn merge_counters(runs: Vec<Value>) -> Map<String, Value> {
    let merged = if runs.len() == 1 {
        runs.into_iter().next()
    } else {
        Some(mean_value(&runs.iter().collect::<Vec<_>>(), runs.len()))
    };
    match merged {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn mean_value(values: &[&Value], runs: usize) -> Value {
    match values.first() {
        Some(Value::Object(_)) => Value::Object(mean_object(values, runs)),
        Some(Value::Array(_)) => {
            let length = values
                .iter()
                .filter_map(|v| v.as_array())
                .map(Vec::len)
                .max()
                .unwrap_or(0);
            let element = |i: usize| values.iter().filter_map(|v| v.get(i)).collect::<Vec<_>>();
            Value::Array((0..length).map(|i| mean_value(&element(i), runs)).collect())
        }
        Some(Value::Number(_)) => {
            let sum: f64 = values.iter().filter_map(|v| v.as_f64()).sum();
            Number::from_f64(sum / runs as f64).map_or(Value::Null, Value::Number)
        }
        Some(other) => (*other).clone(),
        None => Value::Null,
    }
}

/// Keys in the order in which the runs first show them.
fn mean_object(values: &[&Value], runs: usize) -> Map<String, Value> {
    let mut merged = Map::new();
    for key in values.iter().filter_map(|v| v.as_object()).flat_map(|map| map.keys()) {
        if !merged.contains_key(key) {
            let present: Vec<&Value> = values.iter().filter_map(|v| v.get(key)).collect();
            merged.insert(key.clone(), mean_value(&present, runs));
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Table of the t distribution, two-sided 95 %.
    #[test]
    fn student_t_agrees_with_the_printed_table() {
        for (degrees, expected) in [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (9, 2.262),
            (29, 2.045),
            (120, 1.980),
        ] {
            let t = student_t_975(degrees);
            assert!((t - expected).abs() < 0.0006, "{degrees}: {t}");
        }
    }

    /// 1, 2, 3: s = 1, so half = 4.303 / sqrt(3).
    #[test]
    fn half_width_by_hand() {
        let half = confidence_half_width(&[1.0, 2.0, 3.0]).unwrap();
        assert!((half - 4.302_652_7 / 3f64.sqrt()).abs() < 1e-6, "{half}");
        assert_eq!(confidence_half_width(&[1.0]), None);
        assert_eq!(confidence_half_width(&[2.0, 2.0]), Some(0.0));
    }

    #[test]
    fn counters_average_over_maps_and_lists() {
        let a = json!({"tasks": 2, "share": {"1200 MHz": 0.5}, "joules": [1.0, 2.0]});
        let b = json!({"tasks": 4, "share": {"1200 MHz": 0.1, "2400 MHz": 0.4}, "joules": [3.0, 4.0]});
        let merged = Value::Object(merge_counters(vec![a.clone(), b]));
        let expected = json!({"tasks": 3.0, "share": {"1200 MHz": 0.3, "2400 MHz": 0.2}, "joules": [2.0, 3.0]});
        assert_eq!(merged, expected);
        assert_eq!(Value::Object(merge_counters(vec![a.clone()])), a);
    }
}
