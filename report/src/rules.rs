// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each rule of the judged policy is worth: in how many cells the policy ceases to be free without it, and in how many it becomes free.

use crate::grid::{Column, Grid};
use crate::model::{Report, RunResult};
use crate::pareto::{over_first, Over};
use crate::rows::geometric_mean;
use crate::sweep::{points, PointGroup};

/// The policy without a rule is called so, after its own name.
const WITHOUT: &str = ":no-";

/// A rule in one cell: with it and without.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Beside {
    with: Over,
    without: Over,
}

impl Beside {
    fn of(results: &[&RunResult], with: &RunResult, without: &RunResult) -> Self {
        Self {
            with: over_first(results, with, results[0]),
            without: over_first(results, without, results[0]),
        }
    }
    /// Without the rule over with it.
    fn time(&self) -> f64 {
        self.without.time / self.with.time
    }
    fn energy(&self) -> f64 {
        self.without.energy / self.with.energy
    }
    fn matters(&self) -> bool {
        self.time() != 1.0 || self.energy() != 1.0
    }
    fn loses(&self) -> bool {
        self.with.is_free() && !self.without.is_free()
    }
    fn gains(&self) -> bool {
        !self.with.is_free() && self.without.is_free()
    }
}

fn row(rule: &str, all: &[Beside]) -> Vec<String> {
    let count = |is: fn(&Beside) -> bool| all.iter().filter(|beside| is(beside)).count().to_string();
    let most = |of: fn(&Beside) -> f64| all.iter().map(of).fold(1.0, f64::max);
    vec![
        rule.to_string(),
        count(Beside::matters),
        count(|beside| beside.without.is_free()),
        count(Beside::loses),
        count(Beside::gains),
        format!("{:.3}", geometric_mean(all, Beside::time)),
        format!("{:.3}", geometric_mean(all, Beside::energy)),
        format!("{:.2}", most(Beside::time)),
        format!("{:.2}", most(Beside::energy)),
    ]
}

/// A row for each rule that the judged policy is run without. `None`: there is none, or the study judges no policy.
pub(crate) fn rules_grid(report: &Report) -> Option<Grid> {
    let judged = &report.cells.first()?.judged;
    let prefix = format!("{judged}{WITHOUT}");
    let mut rules: Vec<(&str, Vec<Beside>)> = Vec::new();
    for PointGroup { results, .. } in points(report) {
        let Some(with) = results.iter().find(|result| result.policy == *judged) else {
            continue;
        };
        for without in &results {
            let Some(rule) = without.policy.strip_prefix(&prefix) else {
                continue;
            };
            let beside = Beside::of(&results, with, without);
            match rules.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, all)) => all.push(beside),
                None => rules.push((rule, vec![beside])),
            }
        }
    }
    let mut columns = vec![Column::text("without")];
    columns.extend(["matters", "free", "lost", "gained"].map(|name| Column::number(name, "cells")));
    columns.extend(["time", "energy", "most time", "most energy"].map(|name| Column::number(name, "over with it")));
    (!rules.is_empty()).then(|| Grid {
        rows: rules.iter().map(|(rule, all)| row(rule, all)).collect(),
        columns,
    })
}

/// What the columns count.
pub(crate) const LEGEND: &str = "A cell matters to a rule if its time or energy differs without it; it is lost if it is free with the rule only, gained if it is \
     free without it only. Times and energies are those without the rule over those with it: geometric means over all cells, and the most of any.";

#[cfg(test)]
mod tests {
    use super::*;

    fn over(time: f64, energy: f64) -> Over {
        Over {
            time,
            p99: 0.0,
            more_missed: 0.0,
            energy,
            least: 1.0,
        }
    }

    fn beside(with: Over, without: Over) -> Beside {
        Beside { with, without }
    }

    /// The same; lost by 2.5 times the energy; gained by a fifth of the time: 2.5^(1/3), .2^(1/3).
    #[test]
    fn a_rule_is_worth_the_cells_that_are_lost_without_it() {
        let all = [
            beside(over(0.5, 1.0), over(0.5, 1.0)),
            beside(over(1.0, 0.8), over(1.0, 2.0)),
            beside(over(1.5, 1.0), over(0.3, 1.0)),
        ];
        let (time, energy) = (format!("{:.3}", 0.2f64.cbrt()), format!("{:.3}", 2.5f64.cbrt()));
        assert_eq!(
            row("spare", &all),
            ["spare", "2", "2", "1", "1", &time, &energy, "1.00", "2.50"]
        );
    }
}
