// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison for programs: what hyperfine exports, and more.

use super::{written, Compared, Comparison, Estimate, Method, Spread, UsedMeter};
use serde_json::{json, Map, Value};

/// One object with `results`. Each result has hyperfine's fields (times in s), then those of every study of this program. `times`,
/// `energies_j` and `memory_usage_byte` hold the runs that did not fail, and `rounds` the round of each, from 0 on: two results are paired by
/// these. `outliers` are indices in the same lists. `exit_codes` holds all runs. Energies are absent without a meter, where it moved by no
/// step in any run, and where `meter.only_ratios`. `interval` is the method of all intervals: `t` or `bca`. `verdict` has a sentence for each result that others are compared with. Simulated results have `bounds` and `counters` too, means over the rounds.
pub fn comparison_json(comparison: &Comparison) -> String {
    let results: Vec<Value> = comparison.results.iter().map(|row| result(comparison, row)).collect();
    let mut object = Map::new();
    object.insert("results".into(), Value::Array(results));
    object.insert("verdict".into(), json!(super::verdicts(comparison)));
    object.insert("place".into(), json!(comparison.place));
    object.insert("seed".into(), json!(comparison.seed));
    object.insert("rounds".into(), json!(comparison.rounds));
    object.insert(
        "interval".into(),
        json!(match comparison.interval {
            Method::Student => "t",
            Method::Bca => "bca",
        }),
    );
    object.insert("meter".into(), meter(comparison));
    object.insert("enforcement".into(), json!(comparison.enforcement));
    object.insert("warnings".into(), json!(comparison.warnings));
    add(
        &mut object,
        "trace",
        comparison.trace.as_ref().map(|trace| json!(trace)),
    );
    add(
        &mut object,
        "no_meter",
        comparison.no_meter.as_ref().map(|why| json!(why)),
    );
    add(
        &mut object,
        "idle_power_before_w",
        comparison.idle_before_w.map(|w| json!(w)),
    );
    add(
        &mut object,
        "idle_power_after_w",
        comparison.idle_after_w.map(|w| json!(w)),
    );
    format!("{:#}\n", Value::Object(object))
}

fn meter(comparison: &Comparison) -> Value {
    comparison.meter.as_ref().map_or(Value::Null, |meter| {
        json!({
            "kind": meter.kind,
            "name": meter.name,
            "whole_system": meter.whole_system,
            "update_period_s": meter.update_period_s,
            "only_ratios": meter.only_ratios,
        })
    })
}

fn result(comparison: &Comparison, row: &Compared) -> Value {
    let time = row.time_s;
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_string(), value);
    put("command", json!(row.command));
    put("mean", json!(time.map(|time| time.mean.value)));
    put("stddev", json!(time.and_then(|time| time.deviation)));
    put("median", json!(time.map(|time| time.median)));
    put("user", json!(row.user));
    put("system", json!(row.system));
    put("min", json!(time.map(|time| time.min)));
    put("max", json!(time.map(|time| time.max)));
    put("times", json!(row.times));
    put("rounds", json!(row.rounds));
    put("exit_codes", json!(row.exit_codes));
    if !row.memory_usage_byte.is_empty() {
        put("memory_usage_byte", json!(row.memory_usage_byte));
    }
    if !row.parameters.is_empty() {
        put("parameters", json!(row.parameters));
    }
    put("policy", json!(row.policy));
    put("time_s", json!(time.map(|time| time.mean.value)));
    put("failed", json!(row.failed));
    put("outliers", json!(row.outliers));
    put("compared_with", json!(row.baseline));
    energies(&mut object, comparison, row);
    let ratios = ratios(comparison, row);
    add(&mut object, "relative", Some(ratios.0));
    add(&mut object, "relative_ci95", Some(ratios.1));
    add(&mut object, "spread", Some(spreads(comparison, row)));
    if let Some(modelled) = &row.modelled {
        add(
            &mut object,
            "stands_for",
            modelled.stands_for.as_ref().map(|text| json!(text)),
        );
        add(&mut object, "bounds", Some(json!(modelled.bounds)));
        add(&mut object, "counters", Some(json!(modelled.counters)));
    }
    Value::Object(object)
}

/// `system`, `cpu` or `gpu`, after what the meter measures.
fn scope(comparison: &Comparison) -> &'static str {
    comparison.meter.as_ref().map_or("cpu", UsedMeter::scope)
}

fn energies(object: &mut Map<String, Value>, comparison: &Comparison, row: &Compared) {
    let scope = scope(comparison);
    let mean = |spread: Option<Spread>| spread.map(|spread| json!(spread.mean.value));
    add(object, "cpu_energy_j", row.cpu_energy_j.map(|energy| json!(energy)));
    add(object, &format!("{scope}_energy_j"), mean(row.energy_j));
    add(object, &format!("{scope}_power_w"), mean(row.power_w));
    add(object, "net_energy_j", mean(row.net_energy_j));
    add(object, "edp_js", mean(row.edp_js));
    if !row.energies_j.is_empty() {
        add(object, "energies_j", Some(json!(row.energies_j)));
        add(
            object,
            "meter",
            comparison.meter.as_ref().map(|meter| json!(meter.kind)),
        );
    }
}

fn add(object: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(name.to_string(), value);
    }
}

/// Values, and their intervals.
fn ratios(comparison: &Comparison, row: &Compared) -> (Value, Value) {
    let energy = format!("{}_energy", scope(comparison));
    let power = format!("{}_power", scope(comparison));
    let all = [
        ("time", row.relative_time),
        (power.as_str(), row.relative_power),
        (energy.as_str(), row.relative_energy),
        ("edp", row.relative_edp),
    ];
    let (mut values, mut intervals) = (Map::new(), Map::new());
    for (name, ratio) in all {
        add(&mut values, name, ratio.map(|ratio| json!(ratio.value)));
        add(&mut intervals, name, ratio.and_then(interval));
    }
    (Value::Object(values), Value::Object(intervals))
}

fn interval(estimate: Estimate) -> Option<Value> {
    written(estimate.interval).map(|(low, high)| json!([low, high]))
}

fn spreads(comparison: &Comparison, row: &Compared) -> Value {
    let scope = scope(comparison);
    let all = [
        ("time_s".to_string(), row.time_s),
        (format!("{scope}_power_w"), row.power_w),
        (format!("{scope}_energy_j"), row.energy_j),
        ("net_energy_j".to_string(), row.net_energy_j),
        ("edp_js".to_string(), row.edp_js),
    ];
    let known = all.into_iter().filter_map(|(name, spread)| Some((name, spread?)));
    let value = |spread: Spread| {
        json!({
            "mean": spread.mean.value,
            "ci95": interval(spread.mean),
            "stddev": spread.deviation,
            "median": spread.median,
            "median_ci95": written(spread.median_interval),
            "min": spread.min,
            "max": spread.max,
        })
    };
    Value::Object(known.map(|(name, spread)| (name, value(spread))).collect())
}
