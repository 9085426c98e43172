// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run counts while it goes.

use crate::outcome::{Percentiles, TraceEvent};
use hdrhistogram::Histogram;

/// A histogram of durations.
#[derive(Debug)]
pub(super) struct Spans {
    of_length: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Spans {
    fn new() -> Self {
        Self {
            of_length: Histogram::new(3).expect("3 significant figures are supported"),
            sum_ns: 0,
            max_ns: 0,
        }
    }
    pub fn add(&mut self, ns: u64) {
        self.of_length.record(ns).expect("it grows with what it holds");
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }
    pub fn is_empty(&self) -> bool {
        self.of_length.is_empty()
    }
    /// All 0 if nothing was added.
    pub fn percentiles_us(&self) -> Percentiles {
        if self.is_empty() {
            return Percentiles::default();
        }
        // A bucket's upper edge may lie above the largest value seen.
        let at = |q: f64| self.of_length.value_at_quantile(q).min(self.max_ns) as f64 / 1e3;
        Percentiles {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max_ns as f64 / 1e3,
        }
    }
}

#[derive(Debug)]
pub(super) struct Stats {
    pub tasks: u64,
    pub migrations: u64,
    pub context_switches: u64,
    pub wakeups: u64,
    pub woken_on_last_cpu: u64,
    /// From wakeup to start.
    pub latencies: Spans,
    /// From the time at which the clock starts a job until the job is done, see `World::next_job`; without jobs that a timer starts.
    pub responses: Spans,
    /// Jobs that a timer started, their responses in all, each until the timer expires again at least; and those of them that were
    /// not done by then.
    pub timed: u64,
    timed_ns: u128,
    pub missed: u64,
    /// Work done, and of that at the highest OPP.
    pub work: f64,
    pub work_at_top: f64,
    pub lost_slow_start_ns: f64,
    pub lost_mismeasured_ns: f64,
    pub lost_by_choice_ns: f64,
    /// Run time minus what the work would have taken alone in its memory domain, at the same speed.
    pub lost_contention_ns: f64,
    pub spin_ns: u64,
    /// Time that cores waited for memory.
    pub stall_ns: f64,
    /// Integral of the high set's size.
    pub high_size_ns: u128,
    pub high_now: u32,
    pub high_since_ns: u64,
    pub high_max: u32,
    /// Work done by class, for the bounds.
    pub work_by_class: Vec<f64>,
    /// By application: when its first task began, and when its last one exited.
    pub app_began_ns: Vec<Option<u64>>,
    pub app_ended_ns: Vec<Option<u64>>,
}

impl Stats {
    /// A job was done so long after the clock started it. `timer_ns`: the period of its timer; 0: it has none.
    pub fn job_took(&mut self, response_ns: u64, timer_ns: u64) {
        if timer_ns == 0 {
            return self.responses.add(response_ns);
        }
        self.timed += 1;
        self.timed_ns += u128::from(response_ns.max(timer_ns));
        self.missed += u64::from(response_ns > timer_ns);
    }
    /// The mean over all jobs that the clock started; `None`: it started none.
    pub fn mean_response_ns(&self) -> Option<f64> {
        let jobs = self.responses.of_length.len() + self.timed;
        (jobs > 0).then(|| (self.responses.sum_ns + self.timed_ns) as f64 / jobs as f64)
    }
    pub fn new(nr_classes: usize, nr_apps: usize) -> Self {
        Self {
            tasks: 0,
            migrations: 0,
            context_switches: 0,
            wakeups: 0,
            woken_on_last_cpu: 0,
            latencies: Spans::new(),
            responses: Spans::new(),
            timed: 0,
            timed_ns: 0,
            missed: 0,
            work: 0.0,
            work_at_top: 0.0,
            lost_slow_start_ns: 0.0,
            lost_mismeasured_ns: 0.0,
            lost_by_choice_ns: 0.0,
            lost_contention_ns: 0.0,
            spin_ns: 0,
            stall_ns: 0.0,
            high_size_ns: 0,
            high_now: 0,
            high_since_ns: 0,
            high_max: 0,
            work_by_class: vec![0.0; nr_classes.max(1)],
            app_began_ns: vec![None; nr_apps],
            app_ended_ns: vec![None; nr_apps],
        }
    }
    pub fn high_set_now(&mut self, size: u32, now_ns: u64) {
        self.high_size_ns += u128::from(self.high_now) * u128::from(now_ns - self.high_since_ns);
        self.high_since_ns = now_ns;
        self.high_now = size;
        self.high_max = self.high_max.max(size);
    }
}

/// The recorded events of a run, up to a limit.
#[derive(Debug, Default)]
pub(super) struct Trace {
    limit: usize,
    pub events: Vec<TraceEvent>,
    pub truncated_at_ns: Option<u64>,
    pub task_names: Vec<String>,
    /// See `Outcome::power_uw`.
    pub power_uw: Vec<(u64, u64)>,
}

impl Trace {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }
    pub fn wanted(&self) -> bool {
        self.limit != 0
    }
    pub fn add(&mut self, at_ns: u64, event: impl FnOnce() -> TraceEvent) {
        if self.limit == 0 || self.truncated_at_ns.is_some() {
            return;
        }
        if self.events.len() == self.limit {
            self.truncated_at_ns = Some(at_ns);
            return;
        }
        self.events.push(event());
    }
    /// Of several powers at one instant, the last one counts.
    pub fn power_is(&mut self, at_ns: u64, uw: u64) {
        if self.limit == 0 || self.truncated_at_ns.is_some() {
            return;
        }
        if self.power_uw.last().is_some_and(|last| last.0 == at_ns) {
            self.power_uw.pop();
        }
        if self.power_uw.last().is_none_or(|last| last.1 != uw) {
            self.power_uw.push((at_ns, uw));
        }
    }
    /// Index of the next event.
    pub fn position(&self) -> usize {
        self.events.len()
    }
    /// Inserts the cause of the events since `position` before them.
    pub fn add_before(&mut self, position: usize, event: TraceEvent) {
        if self.limit != 0 && self.truncated_at_ns.is_none() {
            self.events.insert(position, event);
        }
    }
}
