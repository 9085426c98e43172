// SPDX-License-Identifier: MIT OR Apache-2.0
//! Savings that cost nothing: in how many cells the judged policy takes neither more energy than what the machine ships nor more time.

use crate::cells::first_policy;
use crate::grid::{Column, Grid};
use crate::model::{Report, RunResult};
use crate::rows::{geometric_mean, Ratios};
use crate::sweep::{points, value_text, PointGroup};
use serde_json::Value;

/// Over the first policy, up to which a cell is not later: the time, or the mean response where the clock sets the end; and the 99th percentile of responses.
const NO_LATER: f64 = 1.01;
const NO_LATER_P99: f64 = 1.05;
/// Share of the jobs that a timer starts by which more may miss its next expiry.
const NO_MORE_MISSED: f64 = 0.001;
/// Energy over the first policy, up to which a cell is not dearer.
const NO_DEARER: f64 = 1.01;

/// The judged policy, or the best of all, over the first one in one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Over {
    pub time: f64,
    /// 0 without responses.
    pub p99: f64,
    /// How much more of the jobs that a timer starts miss its next expiry.
    pub more_missed: f64,
    pub energy: f64,
    /// The least energy of all policies that are not later.
    pub least: f64,
}

impl Over {
    fn is_later(&self) -> bool {
        self.time > NO_LATER || self.p99 > NO_LATER_P99 || self.more_missed > NO_MORE_MISSED
    }
    fn is_dearer(&self) -> bool {
        self.energy > NO_DEARER
    }
    pub fn is_free(&self) -> bool {
        !self.is_later() && !self.is_dearer()
    }
}

fn p99_us(result: &RunResult) -> Option<f64> {
    result.counters.get("response_us")?.get("p99").and_then(Value::as_f64)
}

fn missed(result: &RunResult) -> f64 {
    let share = result.counters.get("missed_share").and_then(Value::as_f64);
    share.unwrap_or(0.0)
}

/// `results`: of all policies in the cell.
pub(crate) fn over_first(results: &[&RunResult], own: &RunResult, first: &RunResult) -> Over {
    let of = |result: &RunResult| {
        let p99 = p99_us(result).zip(p99_us(first)).filter(|(_, first)| *first > 0.0);
        let ratios = Ratios::of(result, first);
        Over {
            time: ratios.delay,
            p99: p99.map_or(0.0, |(own, first)| own / first),
            more_missed: missed(result) - missed(first),
            energy: ratios.energy,
            least: 1.0,
        }
    };
    let in_time = results.iter().map(|result| of(result)).filter(|over| !over.is_later());
    Over {
        least: in_time.map(|over| over.energy).fold(1.0, f64::min),
        ..of(own)
    }
}

fn row(name: &str, all: &[Over]) -> Vec<String> {
    let count = |is: fn(&Over) -> bool| all.iter().filter(|over| is(over)).count().to_string();
    let mean = |of| format!("{:.3}", geometric_mean(all, of));
    vec![
        name.to_string(),
        all.len().to_string(),
        count(Over::is_free),
        count(Over::is_dearer),
        count(Over::is_later),
        mean(|over| over.time),
        mean(|over| over.energy),
        mean(|over| over.least),
    ]
}

/// A row for each value of the first sweep, and one for all cells; in a study of what is not known exactly for each value of the sweep that is varied.
/// `None`: the study judges no policy, or sweeps nothing.
pub(crate) fn pareto_grid(report: &Report) -> Option<Grid> {
    let is_varied = |name: &&String| match report.variations.first() {
        Some(variation) => !variation.point.contains_key(*name),
        None => true,
    };
    let swept = report.cells.first()?.point.keys().find(is_varied)?;
    let mut groups: Vec<(String, Vec<Over>)> = Vec::new();
    for PointGroup { point, results } in points(report) {
        let cell = report.cells.iter().find(|cell| cell.point == *point);
        let own = cell.and_then(|cell| results.iter().find(|result| result.policy == cell.judged));
        let Some(own) = own else { continue };
        let over = over_first(&results, own, results[0]);
        let name = value_text(&point[swept]);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(over),
            None => groups.push((name, vec![over])),
        }
    }
    let baseline = first_policy(report).split(" (").next().unwrap_or_default();
    let mut columns = vec![Column::text(swept)];
    columns.extend(["cells", "free", "dearer", "later"].map(|name| Column::number(name, "")));
    columns.extend(
        ["time", "energy", "least energy in time"].map(|name| Column::number(name, &format!("over {baseline}"))),
    );
    let all: Vec<Over> = groups.iter().flat_map(|(_, all)| all).copied().collect();
    let of_groups = groups.iter().map(|(name, all)| row(name, all));
    let of_all = report.variations.is_empty().then(|| row("all", &all));
    Some(Grid {
        rows: of_groups.chain(of_all).collect(),
        columns,
    })
}

/// What the columns count.
pub(crate) const LEGEND: &str = "Free: not later (time or mean response within 1 %, 99th percentile of responses within 5 %, at most 1 more in 1,000 jobs of a timer not done when it expires again) \
     and not dearer (energy within 1 %). \
     Dearer and later may both be true of a cell. Times and energies are geometric means; least energy in time is that of any policy that is not later.";

#[cfg(test)]
mod tests {
    use super::*;

    fn over(time: f64, p99: f64, energy: f64) -> Over {
        Over {
            time,
            p99,
            more_missed: 0.0,
            energy,
            least: energy.min(1.0),
        }
    }

    /// Five cells: free at the limits; dearer; later by the mean, by the 99th percentile, by missed jobs. Times .5 * 2 * 1 * 1 * 1: a geometric mean of 1.
    #[test]
    fn a_cell_is_free_if_neither_limit_is_passed() {
        let all = [
            over(0.5, 0.0, 1.01),
            over(2.0, 0.0, 0.5),
            over(1.0, 1.05, 1.02),
            over(1.0, 1.06, 0.9),
            Over {
                more_missed: 0.002,
                ..over(1.0, 1.0, 1.0)
            },
        ];
        let energy = (1.01f64 * 0.5 * 1.02 * 0.9).powf(0.2);
        assert_eq!(
            row("m", &all),
            [
                "m",
                "5",
                "1",
                "1",
                "3",
                "1.000",
                &format!("{energy:.3}"),
                &format!("{:.3}", 0.45f64.powf(0.2))
            ]
        );
    }
}
