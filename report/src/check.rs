// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that JSON cannot hold and timelines that contradict themselves are found here, before anything is written.

use crate::error::ReportError;
use crate::model::{PointValue, Report, RunResult, Timeline};
use serde_json::Value;

/// Integers above it are not exact in JavaScript (2^53); as nanoseconds, 104 days.
const LARGEST_EXACT: u64 = 1 << 53;

/// Every number of every result and cell is finite, no counter is null (which is what a NaN becomes on its way into JSON).
pub(crate) fn check_report(report: &Report) -> Result<(), ReportError> {
    for (index, result) in report.results.iter().enumerate() {
        let place = |field: &str| format!("results[{index}] (policy '{}'): {field}", result.policy);
        if let Some((field, value)) = numbers(result).into_iter().find(|(_, value)| !value.is_finite()) {
            return Err(ReportError::NotFinite {
                place: place(field),
                value: value.to_string(),
            });
        }
        for (name, value) in &result.point {
            if let PointValue::Number(number) = value {
                if !number.is_finite() {
                    return Err(ReportError::NotFinite {
                        place: place(&format!("point.{name}")),
                        value: number.to_string(),
                    });
                }
            }
        }
        if let Some(path) = result.counters.iter().find_map(|(name, value)| null_in(name, value)) {
            return Err(ReportError::NotFinite {
                place: place(&format!("counters.{path}")),
                value: "null".to_string(),
            });
        }
    }
    for (index, cell) in report.cells.iter().enumerate() {
        let numbers = [
            ("edp_over_best", cell.edp_over_best),
            ("time_over_first", cell.time_over_first),
        ];
        if let Some((field, value)) = numbers.into_iter().find(|(_, value)| !value.is_finite()) {
            return Err(ReportError::NotFinite {
                place: format!("cells[{index}]: {field}"),
                value: value.to_string(),
            });
        }
    }
    for (index, variation) in report.variations.iter().enumerate() {
        let of_verdict = variation
            .verdict
            .map_or([1.0; 3], |verdict| [verdict.edp, verdict.range[0], verdict.range[1]]);
        if let Some(value) = variation
            .energy
            .iter()
            .chain(&of_verdict)
            .find(|value| !value.is_finite())
        {
            return Err(ReportError::NotFinite {
                place: format!("variations[{index}]"),
                value: value.to_string(),
            });
        }
    }
    Ok(())
}

fn numbers(result: &RunResult) -> Vec<(&'static str, f64)> {
    let mut all = vec![
        ("time_s", result.time_s),
        ("relative.time", result.relative.time),
        ("relative.system_energy", result.relative.system_energy),
        ("relative.edp", result.relative.edp),
        ("bounds.time_s", result.bounds.time_s),
        ("relative_bounds.time", result.relative_bounds.time),
        ("relative_bounds.system_energy", result.relative_bounds.system_energy),
        ("relative_bounds.edp", result.relative_bounds.edp),
    ];
    all.extend(
        result
            .bounds
            .system_energy_j
            .map(|bound| ("bounds.system_energy_j", bound)),
    );
    if let Some(energy) = &result.energy {
        all.extend([
            ("cpu_energy_j", energy.cpu_energy_j),
            ("system_energy_j", energy.system_energy_j),
            ("system_power_w", energy.system_power_w),
            ("edp_js", energy.edp_js),
        ]);
    }
    if let Some(class) = &result.class {
        all.push(("class.loss", class.loss));
        all.push(("class.deviation", class.deviation));
    }
    if let Some(ci95) = &result.ci95 {
        let energies = [
            ("ci95.system_energy_j", ci95.system_energy_j),
            ("ci95.edp_js", ci95.edp_js),
        ];
        let known = energies.into_iter().filter_map(|(field, ends)| Some((field, ends?)));
        let ends = std::iter::once(("ci95.time_s", ci95.time_s)).chain(known);
        all.extend(ends.flat_map(|(field, ends)| ends.map(|end| (field, end))));
    }
    all
}

fn null_in(path: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(path.to_string()),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, v)| null_in(&format!("{path}.{name}"), v)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(i, v)| null_in(&format!("{path}[{i}]"), v)),
        _ => None,
    }
}

/// CPUs and tasks exist, entries are in order of time, and no CPU runs two tasks at once.
pub(crate) fn check_timeline(timeline: &Timeline) -> Result<(), ReportError> {
    let fault = |reason: String| {
        Err(ReportError::Timeline {
            policy: timeline.policy.clone(),
            reason,
        })
    };
    if timeline.end_ns >= LARGEST_EXACT {
        return fault(format!(
            "ends at {} ns, expected less than 2^53 ns (104 days)",
            timeline.end_ns
        ));
    }
    let cpus = timeline
        .speeds
        .iter()
        .map(|s| s.cpu)
        .chain(timeline.sets.iter().map(|s| s.cpu))
        .chain(timeline.runs.iter().map(|r| r.cpu))
        .chain(timeline.wakeups.iter().map(|w| w.cpu));
    if let Some(cpu) = cpus.into_iter().find(|&cpu| cpu as usize >= timeline.nr_cpus) {
        return fault(format!(
            "names CPU {cpu}, but there are {} CPUs from 0",
            timeline.nr_cpus
        ));
    }
    let mut tasks = timeline
        .runs
        .iter()
        .map(|r| r.task)
        .chain(timeline.wakeups.iter().map(|w| w.task));
    if let Some(task) = tasks.find(|&task| task as usize >= timeline.task_names.len()) {
        return fault(format!(
            "names task {task}, but there are {} tasks from 0",
            timeline.task_names.len()
        ));
    }
    let kinds = timeline.cpu_kinds.len();
    if kinds != 0 && kinds != timeline.nr_cpus {
        return fault(format!(
            "names the kinds of {kinds} CPUs, but there are {}",
            timeline.nr_cpus
        ));
    }
    if let Some(list) = out_of_order(timeline) {
        return fault(format!("its {list} are not in order of time"));
    }
    match overlap(timeline) {
        Some(reason) => fault(reason),
        None => Ok(()),
    }
}

fn out_of_order(timeline: &Timeline) -> Option<&'static str> {
    if !timeline.speeds.is_sorted_by_key(|s| s.at_ns) {
        return Some("speeds");
    }
    if !timeline.sets.is_sorted_by_key(|s| s.at_ns) {
        return Some("sets");
    }
    if !timeline.runs.is_sorted_by_key(|r| r.start_ns) {
        return Some("runs");
    }
    if !timeline.power.is_sorted_by_key(|p| p.at_ns) {
        return Some("powers");
    }
    (!timeline.wakeups.is_sorted_by_key(|w| w.at_ns)).then_some("wakeups")
}

fn overlap(timeline: &Timeline) -> Option<String> {
    let mut busy_until = vec![0u64; timeline.nr_cpus];
    for run in &timeline.runs {
        if run.end_ns < run.start_ns {
            return Some(format!(
                "a run on CPU {} ends at {} ns, before it starts at {} ns",
                run.cpu, run.end_ns, run.start_ns
            ));
        }
        let until = &mut busy_until[run.cpu as usize];
        if run.start_ns < *until {
            return Some(format!(
                "CPU {} starts a task at {} ns while another runs until {until} ns",
                run.cpu, run.start_ns
            ));
        }
        *until = run.end_ns;
    }
    None
}
