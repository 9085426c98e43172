// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of a report: policies that came to the same share one. And each beside the first over all points.

use crate::model::{Report, RunResult};
use crate::sweep::{points, policies};

/// One policy, or several with the same figures at every point.
pub(crate) struct Overall<'a> {
    /// In the order of the report.
    pub names: Vec<&'a str>,
    /// One for each point, in the order of the report.
    pub results: Vec<&'a RunResult>,
    /// By point.
    pub ratios: Vec<Ratios>,
    /// Geometric means over the points.
    pub mean: Ratios,
}

/// Against the first policy of the same point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratios {
    /// Of times or, where the clock sets the end of the work, of mean responses.
    pub delay: f64,
    pub energy: f64,
    /// Energy times delay.
    pub edp: f64,
}

/// Mean response in s, where the clock sets the end of the work, so that its time says nothing.
pub(crate) fn response_s(result: &RunResult) -> Option<f64> {
    result.counters.get("mean_response_s")?.as_f64()
}

/// exp(mean(ln x)).
pub(crate) fn geometric_mean<T>(all: &[T], of: fn(&T) -> f64) -> f64 {
    (all.iter().map(|x| of(x).ln()).sum::<f64>() / all.len() as f64).exp()
}

impl Ratios {
    pub fn of(result: &RunResult, first: &RunResult) -> Self {
        let energy = result.relative.system_energy;
        match (response_s(result), response_s(first)) {
            (Some(own), Some(other)) if other > 0.0 => Self {
                delay: own / other,
                energy,
                edp: own / other * energy,
            },
            _ => Self {
                delay: result.relative.time,
                energy,
                edp: result.relative.edp,
            },
        }
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |of| geometric_mean(all, of);
        Self {
            delay: mean(|r| r.delay),
            energy: mean(|r| r.energy),
            edp: mean(|r| r.edp),
        }
    }

    pub fn positive(&self) -> bool {
        [self.delay, self.energy, self.edp].iter().all(|ratio| *ratio > 0.0)
    }
}

/// Policies that ran at every point, the first of the report first. Empty if that one is missing at a point.
pub(crate) fn overall(report: &Report) -> Vec<Overall<'_>> {
    let groups = points(report);
    let mut found: Vec<Overall> = Vec::new();
    for name in policies([report]) {
        let results: Option<Vec<&RunResult>> = groups
            .iter()
            .map(|group| group.results.iter().copied().find(|result| result.policy == name))
            .collect();
        let Some(results) = results else { continue };
        let alike = |other: &&mut Overall| other.results.iter().zip(&results).all(|(a, b)| same(a, b));
        if let Some(other) = found.iter_mut().find(alike) {
            other.names.push(name);
            continue;
        }
        let first = found
            .first()
            .map_or_else(|| results.clone(), |first| first.results.clone());
        let ratios: Vec<Ratios> = results
            .iter()
            .zip(first)
            .map(|(r, first)| Ratios::of(r, first))
            .collect();
        let mean = Ratios::mean(&ratios);
        found.push(Overall {
            names: vec![name],
            results,
            ratios,
            mean,
        });
    }
    let leads = |found: &Overall| {
        report
            .results
            .first()
            .is_some_and(|first| found.names[0] == first.policy)
    };
    if found.first().is_some_and(leads) {
        found
    } else {
        Vec::new()
    }
}

/// The report with one result for all policies of a point that have the same figures, under all their names.
pub(crate) fn merged(report: &Report) -> Report {
    let mut results: Vec<RunResult> = Vec::new();
    for group in points(report) {
        let begin = results.len();
        for result in group.results {
            match results[begin..].iter_mut().find(|other| same(other, result)) {
                Some(other) => other.policy += &format!(", {}", result.policy),
                None => results.push(result.clone()),
            }
        }
    }
    Report {
        results,
        ..report.clone()
    }
}

/// Runs of the same schedule: all figures and counters are equal.
fn same(one: &RunResult, other: &RunResult) -> bool {
    let figures = |r: &RunResult| (r.time_s, r.energy, r.relative, r.ci95);
    figures(one) == figures(other) && one.counters == other.counters
}
