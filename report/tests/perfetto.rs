// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trace as ui.perfetto.dev reads it.

mod common;

use common::timeline;
use lop_report::{perfetto, ReportError, RunSpan, Timeline};
use serde_json::Value;
use std::collections::BTreeMap;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn events(timelines: &[Timeline]) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let value: Value = serde_json::from_str(&perfetto(timelines)?)?;
    Ok(value["traceEvents"].as_array().cloned().unwrap_or_default())
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["ph"] == phase).collect()
}

/// Nanoseconds of a number of microseconds, from its text: what a reader that counts in ns must arrive at.
fn nanoseconds(line: &str, key: &str) -> Option<u64> {
    let rest = line.split_once(&format!("\"{key}\":"))?.1;
    let (whole, part) = rest.split([',', '}']).next()?.split_once('.')?;
    Some(whole.parse::<u64>().ok()? * 1000 + part.parse::<u64>().ok()?)
}

#[test]
fn a_process_a_policy_and_a_thread_a_cpu() -> Outcome {
    let mut second = timeline();
    second.policy = "linux:ondemand".to_string();
    let events = events(&[timeline(), second])?;
    let named = |kind: &str, pid: u64| -> Vec<&str> {
        let metadata = of_phase(&events, "M")
            .into_iter()
            .filter(|e| e["name"] == kind && e["pid"] == pid);
        metadata.filter_map(|e| e["args"]["name"].as_str()).collect()
    };
    assert_eq!(named("process_name", 1), ["highlow"]);
    assert_eq!(named("process_name", 2), ["linux:ondemand"]);
    assert_eq!(named("thread_name", 2), ["CPU 0 (big)", "CPU 1 (little)"]);
    Ok(())
}

#[test]
fn processes_are_named_by_study_where_there_are_several() -> Outcome {
    let name = |timelines: &[Timeline]| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let events = events(timelines)?;
        let named = events.iter().filter(|e| e["name"] == "process_name");
        Ok(named
            .filter_map(|e| Some(e["args"]["name"].as_str()?.to_string()))
            .collect())
    };
    let of = |study: &str| Timeline {
        study: study.into(),
        point: "jobs 4".into(),
        ..timeline()
    };
    assert_eq!(name(&[of("a"), of("a")])?, ["highlow, jobs 4", "highlow, jobs 4"]);
    assert_eq!(name(&[of("a"), of("b")])?, ["a: highlow, jobs 4", "b: highlow, jobs 4"]);
    Ok(())
}

#[test]
fn slices_keep_their_nanoseconds_and_never_overlap() -> Outcome {
    let text = perfetto(&[timeline()])?;
    let mut busy_until: BTreeMap<String, u64> = BTreeMap::new();
    let mut ends = Vec::new();
    for line in text.lines().filter(|l| l.contains("\"ph\":\"X\"")) {
        let value: Value = serde_json::from_str(line.trim_end_matches(','))?;
        let (Some(start), Some(duration)) = (nanoseconds(line, "ts"), nanoseconds(line, "dur")) else {
            return Err(format!("no time in {line}").into());
        };
        let until = busy_until
            .entry(format!("{} {}", value["pid"], value["tid"]))
            .or_default();
        assert!(start >= *until, "{line} starts before {until} ns");
        *until = start + duration;
        ends.push(*until);
    }
    assert_eq!(ends, timeline().runs.iter().map(|r| r.end_ns).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn speeds_sets_and_wakeups() -> Outcome {
    let events = events(&[timeline()])?;
    let counter = |name: &str, unit: &str| -> Vec<f64> {
        let named = of_phase(&events, "C").into_iter().filter(|e| e["name"] == name);
        named.filter_map(|e| e["args"][unit].as_f64()).collect()
    };
    assert_eq!(counter("CPU 1 speed (MHz)", "MHz"), [1200.0, 2400.0]);
    assert_eq!(counter("high set (CPUs)", "CPUs"), [1.0, 2.0]);
    assert_eq!(counter("CPU power (W)", "W"), [12.5, 20.0]);
    let wakeups = of_phase(&events, "i");
    assert_eq!(
        (wakeups[0]["name"].as_str(), wakeups[0]["ts"].as_f64()),
        (Some("wakeup: as"), Some(1.0))
    );
    assert_eq!(wakeups[0]["args"]["latency_us"].as_f64(), Some(0.234));
    assert_eq!(wakeups[0]["tid"], 2);
    Ok(())
}

#[test]
fn same_input_same_bytes() -> Result<(), ReportError> {
    assert_eq!(
        perfetto(&[timeline(), timeline()])?,
        perfetto(&[timeline(), timeline()])?
    );
    Ok(())
}

#[test]
fn contradictions_are_refused() {
    let refused = |change: fn(&mut Timeline)| {
        let mut timeline = timeline();
        change(&mut timeline);
        perfetto(&[timeline])
            .map_err(|e| e.to_string())
            .err()
            .unwrap_or_default()
    };
    assert!(refused(|t| t.runs[1].cpu = 2).contains("names CPU 2, but there are 2 CPUs"));
    assert!(refused(|t| t.wakeups[0].task = 9).contains("names task 9, but there are 2 tasks"));
    assert!(refused(|t| t.runs.swap(0, 2)).contains("runs are not in order of time"));
    assert!(refused(|t| t.power.swap(0, 1)).contains("powers are not in order of time"));
    assert!(refused(|t| t.cpu_kinds.truncate(1)).contains("names the kinds of 1 CPUs, but there are 2"));
    let inside = |t: &mut Timeline| {
        t.runs.insert(
            1,
            RunSpan {
                start_ns: 500,
                end_ns: 600,
                cpu: 0,
                task: 1,
            },
        )
    };
    assert!(refused(inside).contains("CPU 0 starts a task at 500 ns while another runs"));
    assert!(refused(|t| t.end_ns = u64::MAX).contains("104 days"));
    assert!(refused(|_| ()).is_empty());
}
