// SPDX-License-Identifier: GPL-2.0-only
//! Speeds of CPUs compared with their top speed.

use crate::replay::Replay;
use crate::steps::{Interval, Steps};
use crate::trace::{Cpu, Trace};
use anyhow::{bail, Result};
use std::collections::BTreeMap;

/// For which CPUs the top speed was requested, over time.
pub struct Speeds {
    at_top: BTreeMap<Cpu, Steps<bool>>,
}

impl Speeds {
    /// The top speed is `top_khz` for every CPU, or by default each CPU's hardware maximum.
    ///
    /// # Errors
    /// The trace has no speeds.
    pub fn new(trace: &Trace, replay: &Replay, top_khz: Option<u64>) -> Result<Self> {
        let mut at_top = BTreeMap::new();
        for cpu in &trace.header.cpus {
            if let (Some(asked), Some(top_khz)) = (replay.asked_khz.get(&cpu.cpu), top_khz.or(cpu.top_khz)) {
                at_top.insert(cpu.cpu, steps_at_top(asked, top_khz));
            }
        }
        if at_top.is_empty() {
            bail!("the trace knows no speeds: record where CPUs have cpufreq (vm/run --cpufreq)");
        }
        Ok(Speeds { at_top })
    }

    /// Number of CPUs with a known speed.
    pub fn cpus(&self) -> usize {
        self.at_top.len()
    }

    /// Whether `cpu` is at top speed, over time.
    ///
    /// # Errors
    /// It has no speed.
    pub fn of(&self, cpu: Cpu) -> Result<&Steps<bool>> {
        match self.at_top.get(&cpu) {
            Some(steps) => Ok(steps),
            None => bail!("CPU {cpu} has no speed in this trace: it was offline at the start or has no cpufreq"),
        }
    }

    /// Time within `interval` during which `cpu` was at top speed, ns.
    ///
    /// # Errors
    /// It has no speed.
    pub fn time_at_top_ns(&self, cpu: Cpu, interval: Interval) -> Result<u64> {
        let stretches = self.of(cpu)?.stretches(interval.from_ns, interval.to_ns);
        Ok(stretches
            .filter(|(_, at_top)| *at_top)
            .map(|(stretch, _)| stretch.length_ns())
            .sum())
    }

    /// Number of CPUs at top speed, over time, from `from_ns` on.
    pub fn number_at_top(&self, from_ns: u64) -> Steps<u32> {
        let mut changes: Vec<(u64, i64)> = Vec::new();
        let mut count = 0;
        for steps in self.at_top.values() {
            let mut before = steps.at(from_ns);
            count += i64::from(before);
            for (stretch, at_top) in steps.stretches(from_ns, u64::MAX).skip(1) {
                changes.push((stretch.from_ns, i64::from(at_top) - i64::from(before)));
                before = at_top;
            }
        }
        changes.sort_unstable();
        let mut number = Steps::new(from_ns, count as u32);
        for (at_ns, change) in changes {
            count += change;
            number.set(at_ns, count as u32);
        }
        number
    }
}

fn steps_at_top(asked: &Steps<u64>, top_khz: u64) -> Steps<bool> {
    let mut stretches = asked.stretches(0, u64::MAX);
    let first = stretches.next().map(|(_, khz)| khz >= top_khz).unwrap_or_default();
    let mut steps = Steps::new(0, first);
    stretches.for_each(|(stretch, khz)| steps.set(stretch.from_ns, khz >= top_khz));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, LOW, TOP};

    const LINES: &str = "
        100 0 speed 1 2000
        150 0 speed 0 1000
        150 0 speed 2 2000
        200 0 speed 1 1000
    ";

    fn speeds() -> Speeds {
        let trace = trace(&[TOP, LOW, LOW], 50, 300, LINES);
        Speeds::new(&trace, &replay(&trace), None).unwrap()
    }

    #[test]
    fn number_at_top_over_time() {
        let number = speeds().number_at_top(50);
        let expected = [(60, 1), (120, 2), (150, 2), (250, 1)];
        assert!(
            expected.iter().all(|(at, count)| number.at(*at) == *count),
            "{number:?}"
        );
    }

    #[test]
    fn time_at_top_inside_an_interval() {
        let time = |cpu, from_ns, to_ns| speeds().time_at_top_ns(cpu, Interval { from_ns, to_ns }).unwrap();
        assert_eq!([time(0, 60, 200), time(1, 60, 300), time(2, 60, 140)], [90, 100, 0]);
    }

    #[test]
    fn no_speeds_and_unknown_cpus_are_errors() {
        assert!(speeds().of(9).unwrap_err().to_string().contains("CPU 9"));
        let mut trace = trace(&[TOP], 0, 10, "");
        trace.header.cpus[0].asked_khz = None;
        assert!(Speeds::new(&trace, &replay(&trace), None).is_err());
    }
}
