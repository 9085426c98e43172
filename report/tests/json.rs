// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contract that programs build on.

mod common;

use common::{report, sweep};
use lop_report::{json, ReportError};
use serde_json::Value;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .map(|o| o.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

const RESULT_KEYS: &str = "policy point time_s cpu_energy_j system_energy_j system_power_w edp_js relative bounds relative_bounds energy_source counters ci95";

#[test]
fn keys_and_their_order() -> Result<(), ReportError> {
    let value = parsed(&json(&sweep())?);
    let report_keys = [
        "title",
        "description",
        "machine",
        "workload",
        "energy_source",
        "seed",
        "runs",
        "results",
    ];
    assert_eq!(keys(&value), report_keys);
    let first = &value["results"][0];
    assert_eq!(keys(first).join(" "), RESULT_KEYS);
    assert_eq!(keys(&first["relative"]), ["time", "system_energy", "edp"]);
    assert_eq!(keys(&first["bounds"]), ["time_s", "system_energy_j"]);
    assert_eq!(keys(&first["counters"]), ["promotions", "wakeup_latency_us"]);
    assert_eq!(value["results"].as_array().map(Vec::len), Some(4));
    Ok(())
}

#[test]
fn numbers_come_back_as_they_went_in() -> Result<(), ReportError> {
    let mut report = sweep();
    report.results[0].time_s = 0.1 + 0.2;
    let value = parsed(&json(&report)?);
    assert_eq!(value["results"][0]["time_s"].as_f64(), Some(0.1 + 0.2));
    assert_eq!(
        value["results"][2]["point"]["jobs"].as_i64(),
        Some(2),
        "whole points are whole numbers"
    );
    Ok(())
}

#[test]
fn what_is_not_there_has_no_key() -> Result<(), ReportError> {
    let value = parsed(&json(&report())?);
    assert_eq!(
        keys(&value["results"][0]).join(" "),
        RESULT_KEYS.replace(" point", "").replace(" ci95", "")
    );
    Ok(())
}

#[test]
fn numbers_that_json_lacks_are_refused_by_name() {
    let mut report = report();
    report.results[1].bounds.system_energy_j = Some(f64::NAN);
    let message = json(&report).map_err(|e| e.to_string()).err().unwrap_or_default();
    assert!(
        message.starts_with("results[1] (policy 'highlow'): bounds.system_energy_j is NaN"),
        "{message}"
    );
    report.results[1].bounds.system_energy_j = Some(1.0);
    report.results[1]
        .counters
        .insert("share".to_string(), serde_json::json!({ "busy": f64::INFINITY }));
    let message = json(&report).map_err(|e| e.to_string()).err().unwrap_or_default();
    assert!(message.contains("counters.share.busy is null"), "{message}");
}
