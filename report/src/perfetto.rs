// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timelines in Chrome's JSON trace format, which ui.perfetto.dev opens: a process per timeline, a thread per CPU.

use crate::check::check_timeline;
use crate::error::ReportError;
use crate::model::{CpuSetName, Timeline};
use serde::Serialize;
use serde_json::{json, value::RawValue, Value};

#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    /// Phase: X complete, C counter, i instant, M metadata.
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Box<RawValue>>,
    pid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    /// Scope of an instant: its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

/// The trace as text, one event a line. Order: by timeline; then names, runs, speeds, set sizes, power, wakeups, each in order of time.
///
/// # Errors
/// A timeline that contradicts itself.
pub fn perfetto(timelines: &[Timeline]) -> Result<String, ReportError> {
    let mut lines = Vec::new();
    let several_studies = timelines.windows(2).any(|pair| pair[0].study != pair[1].study);
    for (index, timeline) in timelines.iter().enumerate() {
        check_timeline(timeline)?;
        // Process and thread 0 have a meaning of their own in trace viewers, so both count from 1.
        let writer = Writer {
            pid: index + 1,
            timeline,
            several_studies,
        };
        writer.names(&mut lines)?;
        writer.runs(&mut lines)?;
        writer.speeds(&mut lines)?;
        writer.high_set(&mut lines)?;
        writer.power(&mut lines)?;
        writer.wakeups(&mut lines)?;
    }
    // No displayTimeUnit: some versions of Perfetto took "ns" in it for the unit of the times themselves.
    Ok(format!("{{\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n")))
}

struct Writer<'a> {
    pid: usize,
    timeline: &'a Timeline,
    /// In the trace: a name then says which study it is of.
    several_studies: bool,
}

impl Writer<'_> {
    fn event<'n>(&self, name: &'n str, ph: &'static str) -> Event<'n> {
        Event {
            name,
            ph,
            ts: None,
            dur: None,
            pid: self.pid,
            tid: None,
            s: None,
            args: None,
        }
    }

    fn names(&self, lines: &mut Vec<String>) -> Result<(), ReportError> {
        let mut metadata = |name: &str, tid: Option<u32>, args: Value| {
            lines.push(serde_json::to_string(&Event {
                tid,
                args: Some(args),
                ..self.event(name, "M")
            })?);
            Ok::<(), ReportError>(())
        };
        metadata("process_name", None, json!({ "name": self.process() }))?;
        metadata("process_sort_index", None, json!({ "sort_index": self.pid }))?;
        for cpu in 0..self.timeline.nr_cpus as u32 {
            metadata("thread_name", Some(cpu + 1), json!({ "name": self.cpu(cpu) }))?;
            metadata("thread_sort_index", Some(cpu + 1), json!({ "sort_index": cpu }))?;
        }
        Ok(())
    }

    /// "compile-transfer: auto, machine i7-940".
    fn process(&self) -> String {
        let Timeline {
            study, policy, point, ..
        } = self.timeline;
        let study = if self.several_studies {
            format!("{study}: ")
        } else {
            String::new()
        };
        let comma = if point.is_empty() { "" } else { ", " };
        format!("{study}{policy}{comma}{point}")
    }

    /// "CPU 3", "CPU 3 (efficiency)".
    fn cpu(&self, cpu: u32) -> String {
        match self.timeline.cpu_kinds.get(cpu as usize) {
            Some(kind) => format!("CPU {cpu} ({kind})"),
            None => format!("CPU {cpu}"),
        }
    }

    fn runs(&self, lines: &mut Vec<String>) -> Result<(), ReportError> {
        for run in &self.timeline.runs {
            let event = Event {
                ts: Some(microseconds(run.start_ns)?),
                dur: Some(microseconds(run.end_ns - run.start_ns)?),
                tid: Some(run.cpu + 1),
                ..self.event(&self.timeline.task_names[run.task as usize], "X")
            };
            lines.push(serde_json::to_string(&event)?);
        }
        Ok(())
    }

    fn speeds(&self, lines: &mut Vec<String>) -> Result<(), ReportError> {
        for speed in &self.timeline.speeds {
            let name = format!("CPU {} speed (MHz)", speed.cpu);
            let args = json!({ "MHz": speed.khz as f64 / 1e3 });
            lines.push(self.counter(&name, speed.at_ns, args)?);
        }
        Ok(())
    }

    /// The size after all changes of one instant: a swap of two members is no change.
    fn high_set(&self, lines: &mut Vec<String>) -> Result<(), ReportError> {
        let mut high = vec![false; self.timeline.nr_cpus];
        let mut shown = None;
        for changes in self.timeline.sets.chunk_by(|a, b| a.at_ns == b.at_ns) {
            for change in changes {
                high[change.cpu as usize] = change.set == CpuSetName::High;
            }
            let size = high.iter().filter(|h| **h).count();
            if shown != Some(size) {
                lines.push(self.counter("high set (CPUs)", changes[0].at_ns, json!({ "CPUs": size }))?);
                shown = Some(size);
            }
        }
        Ok(())
    }

    fn power(&self, lines: &mut Vec<String>) -> Result<(), ReportError> {
        let unit = &self.timeline.power_unit;
        let name = format!("CPU power ({unit})");
        for power in &self.timeline.power {
            let args = json!({ unit: power.millionths as f64 / 1e6 });
            lines.push(self.counter(&name, power.at_ns, args)?);
        }
        Ok(())
    }

    fn wakeups(&self, lines: &mut Vec<String>) -> Result<(), ReportError> {
        for wakeup in &self.timeline.wakeups {
            let task = &self.timeline.task_names[wakeup.task as usize];
            let name = format!("wakeup: {task}");
            let event = Event {
                ts: Some(microseconds(wakeup.at_ns)?),
                tid: Some(wakeup.cpu + 1),
                s: Some("t"),
                args: Some(json!({ "latency_us": wakeup.latency_ns as f64 / 1e3 })),
                ..self.event(&name, "i")
            };
            lines.push(serde_json::to_string(&event)?);
        }
        Ok(())
    }

    fn counter(&self, name: &str, at_ns: u64, args: Value) -> Result<String, ReportError> {
        let event = Event {
            ts: Some(microseconds(at_ns)?),
            args: Some(args),
            ..self.event(name, "C")
        };
        Ok(serde_json::to_string(&event)?)
    }
}

/// The format counts in microseconds. Written digit by digit: a float would lose nanoseconds in long runs and make spans that
/// touch overlap.
fn microseconds(ns: u64) -> Result<Box<RawValue>, ReportError> {
    Ok(RawValue::from_string(format!("{}.{:03}", ns / 1000, ns % 1000))?)
}
