// SPDX-License-Identifier: MIT OR Apache-2.0
//! Merges the runs of a policy at a point: means, confidence intervals, counters.

use crate::{Bounds, Outcome};
use serde_json::{Map, Number, Value};

/// Measures of a run, or their means over runs. Mean power is the mean of the runs' powers.
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
    pub(crate) fn mean(runs: &[Self]) -> Self {
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
    pub(crate) fn of(runs: &[Measures]) -> Option<Self> {
        let half = |values: Vec<f64>| confidence_half_width(&values);
        Some(Self {
            time_s: half(runs.iter().map(|m| m.time_s).collect())?,
            system_energy_j: half(runs.iter().map(|m| m.system_energy_j).collect())?,
            edp_js: half(runs.iter().map(|m| m.edp_js).collect())?,
        })
    }
}

/// The same for the ratios of means to those of another policy, whose runs have the same seeds: from low to high, symmetrical.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeRange {
    pub time: [f64; 2],
    pub system_energy: [f64; 2],
    pub edp: [f64; 2],
    /// Of the mean response; `None`: the clock does not set the end.
    pub response: Option<[f64; 2]>,
}

impl RelativeRange {
    /// `responses`: by run, of both policies. `None`: fewer than two runs, or not the same seeds.
    pub(super) fn of(own: &[Measures], first: &[Measures], responses: Option<[Vec<f64>; 2]>) -> Option<Self> {
        let of = |figure: fn(&Measures) -> f64| {
            let all = |runs: &[Measures]| runs.iter().map(figure).collect::<Vec<_>>();
            ratio_interval(&all(own), &all(first))
        };
        Some(Self {
            time: of(|m| m.time_s)?,
            system_energy: of(|m| m.system_energy_j)?,
            edp: of(|m| m.edp_js)?,
            response: responses.and_then(|[own, first]| ratio_interval(&own, &first)),
        })
    }
}

/// R = mean(x) / mean(y), in pairs: R +- t(0.975, n - 1) * s(x - R y) / sqrt(n) / mean(y)   (Cochran, Sampling Techniques, 6.4).
fn ratio_interval(own: &[f64], first: &[f64]) -> Option<[f64; 2]> {
    if own.len() != first.len() {
        return None;
    }
    let base = mean(first.iter().copied());
    let ratio = super::run::ratio(mean(own.iter().copied()), base);
    let rest: Vec<f64> = own.iter().zip(first).map(|(x, y)| x - ratio * y).collect();
    let half = confidence_half_width(&rest)? / base;
    Some([ratio - half, ratio + half])
}

pub(crate) fn mean_bounds(runs: &[Bounds]) -> Bounds {
    Bounds {
        time_s: mean(runs.iter().map(|b| b.time_s)),
        system_energy_j: mean(runs.iter().map(|b| b.system_energy_j)),
    }
}

/// Mean in the order given; an empty iterator gives 0.
pub(super) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
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

/// The 97.5 % quantile of Student's t: the t with A(t|v) = 0.95, found by bisection over theta = atan(t / sqrt(v)), so that
/// t = sqrt(v) * tan(theta). Sine and cosine come from `libm`, which gives the same bits on every machine.
fn student_t_975(degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    // Each halving gives one more of the 53 bits.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if two_sided_probability(middle, degrees) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (degrees as f64).sqrt() * libm::tan(low)
}

/// A(t|v), the probability that Student's t lies between -t and t, for theta = atan(t / sqrt(v))
/// (Abramowitz & Stegun 26.7.3 and 26.7.4):
///
/// v odd:  2/pi * (theta + sin * (cos + 2/3 cos^3 + ... + 2*4*..*(v-3) / (1*3*..*(v-2)) * cos^(v-2)))
/// v even: sin * (1 + 1/2 cos^2 + ... + 1*3*..*(v-3) / (2*4*..*(v-2)) * cos^(v-2))
fn two_sided_probability(theta: f64, degrees: usize) -> f64 {
    let (sine, cosine) = (libm::sin(theta), libm::cos(theta));
    let odd = degrees % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut power = if odd { 1 } else { 0 };
    while power + 2 <= degrees {
        sum += term;
        power += 2;
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
    }
    match odd {
        true => std::f64::consts::FRAC_2_PI * (theta + sine * sum),
        false => sine * sum,
    }
}

/// Counters of several runs as one JSON object. Each number is the mean over the runs, lists and maps by element. What a run lacks, such as a frequency
/// that it never used, counts as 0. A single run keeps its integers.
pub(crate) fn merge_counters(runs: Vec<Value>) -> Map<String, Value> {
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

/// Counters for which the best and the worst of several runs are reported, too: `app_time_s` as `app_time_best_s`, `app_time_worst_s`.
const WITH_EXTREMES: [&str; 2] = ["app_time", "mean_app_time"];

/// Adds them to `merged`. All runs have the same applications.
pub(super) fn add_extremes(merged: &mut Map<String, Value>, runs: &[&Value]) {
    if runs.len() < 2 {
        return;
    }
    for name in WITH_EXTREMES {
        let of_runs: Vec<&Value> = runs.iter().filter_map(|run| run.get(format!("{name}_s"))).collect();
        if of_runs.is_empty() {
            continue;
        }
        merged.insert(format!("{name}_best_s"), extreme(&of_runs, f64::min));
        merged.insert(format!("{name}_worst_s"), extreme(&of_runs, f64::max));
    }
}

/// Of numbers, or of each number of maps.
fn extreme(values: &[&Value], pick: fn(f64, f64) -> f64) -> Value {
    let Some(map) = values.first().and_then(|value| value.as_object()) else {
        let numbers = values.iter().filter_map(|value| value.as_f64());
        return numbers
            .reduce(pick)
            .and_then(Number::from_f64)
            .map_or(Value::Null, Value::Number);
    };
    let of_key = |key: &String| values.iter().filter_map(|value| value.get(key)).collect::<Vec<_>>();
    Value::Object(
        map.keys()
            .map(|key| (key.clone(), extreme(&of_key(key), pick)))
            .collect(),
    )
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

    /// Table of the t distribution, two-sided 95 %; one and two degrees of freedom have closed forms.
    #[test]
    fn student_t_agrees_with_the_printed_table() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (9, 2.262),
            (29, 2.045),
            (120, 1.980),
        ];
        for (degrees, expected) in table {
            let t = student_t_975(degrees);
            assert!((t - expected).abs() < 0.0006, "{degrees}: {t}");
        }
        assert!((student_t_975(1) - (0.475 * std::f64::consts::PI).tan()).abs() < 1e-10);
        assert!((student_t_975(2) - 0.95 / (2.0 * 0.975 * 0.025_f64).sqrt()).abs() < 1e-12);
        // Far out it is the normal distribution's.
        assert!((student_t_975(9_999) - 1.960_201_3).abs() < 1e-6);
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
    fn the_best_and_the_worst_run_of_each_application_are_told() {
        let runs = [
            json!({"app_time_s": {"a": 3.0, "b": 1.0}, "mean_app_time_s": 2.0}),
            json!({"app_time_s": {"a": 2.0, "b": 5.0}, "mean_app_time_s": 3.5}),
        ];
        let mut merged = Map::new();
        add_extremes(&mut merged, &runs.iter().collect::<Vec<_>>());
        let expected = json!({
            "app_time_best_s": {"a": 2.0, "b": 1.0}, "app_time_worst_s": {"a": 3.0, "b": 5.0},
            "mean_app_time_best_s": 2.0, "mean_app_time_worst_s": 3.5,
        });
        assert_eq!(Value::Object(merged), expected);
        let mut single = Map::new();
        add_extremes(&mut single, &[&runs[0]]);
        add_extremes(&mut single, &[&json!({}), &json!({})]);
        assert!(single.is_empty());
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
