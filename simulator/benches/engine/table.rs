// SPDX-License-Identifier: MIT OR Apache-2.0
//! What criterion measured, as a table: medians of this run.

use crate::cases::Case;
use std::path::Path;
use std::time::SystemTime;

/// Median time of a run in ns; `None` if the case did not run since `began`.
fn median_ns(case: &Case, figures: &Path, began: SystemTime) -> Option<f64> {
    // Criterion puts an underscore for what a file name may not hold.
    let file = figures
        .join(case.group)
        .join(&case.what)
        .join(case.policy.replace(':', "_"))
        .join("new/estimates.json");
    let written = std::fs::metadata(&file).and_then(|about| about.modified()).ok()?;
    if written < began {
        return None;
    }
    let estimates: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

/// One line for each case that ran: how long, how many events, how many of them in a second, what each cost.
pub fn print(cases: &[Case], figures: &Path, began: SystemTime) {
    let measured: Vec<(&Case, f64)> = cases
        .iter()
        .filter_map(|case| Some((case, median_ns(case, figures, began)?)))
        .collect();
    if measured.is_empty() {
        return;
    }
    println!(
        "\n{:<30} {:<18} {:>9} {:>8} {:>12} {:>9}",
        "case", "policy", "events", "ms", "events/s", "ns/event"
    );
    for (case, ns) in measured {
        println!(
            "{:<30} {:<18} {:>9} {:>8.2} {:>10.2} M {:>9.0}",
            case.what,
            case.policy,
            case.events,
            ns / 1e6,
            case.events as f64 / ns * 1e3,
            ns / case.events as f64
        );
    }
}
