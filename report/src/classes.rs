// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes of applications beside each other by policy: what it costs them that half of the cores are slow.

use crate::grid::{Column, Grid};
use crate::model::{Report, RunResult};
use crate::page::Page;
use crate::sweep::{dimensions_of, points, policies, value_text};

pub(crate) const HEADING: &str =
    "Class of each application, by what it loses with half of the cores slow, in % of what it loses with all of them slow: mean of the runs \
     and ± standard deviation. unstable: deviation above 10 %; slow-limited: else, loss of 90 % or more; middle: else.";

/// Those of the report that have a class.
pub(crate) fn classified(report: &Report) -> Vec<&RunResult> {
    report.results.iter().filter(|result| result.class.is_some()).collect()
}

/// A row for each point with classes, named by what differs between them; two columns a policy. `None`: no result has a class.
pub(crate) fn classes_grid(report: &Report) -> Option<Grid> {
    let results = classified(report);
    let names = policies([report]);
    let swept = dimensions_of(results.iter().copied());
    let mut rows = Vec::new();
    for group in points(report) {
        if group.results.iter().all(|result| result.class.is_none()) {
            continue;
        }
        let of_policy = |name: &&str| {
            let result = group.results.iter().find(|result| result.policy == *name);
            match result.and_then(|result| result.class.as_ref()) {
                Some(class) => [
                    class.name.clone(),
                    format!("{:.0} ± {:.0}", class.loss * 100.0, class.deviation * 100.0),
                ],
                None => ["-".to_string(), "-".to_string()],
            }
        };
        let point = swept.iter().filter_map(|d| group.point.get(&d.name)).map(value_text);
        rows.push(point.chain(names.iter().flat_map(of_policy)).collect());
    }
    let of_policy = |name: &&str| [Column::text(name), Column::number("loss", "%")];
    let columns = swept
        .iter()
        .map(|d| Column::text(&d.name))
        .chain(names.iter().flat_map(of_policy));
    (!rows.is_empty()).then(|| Grid {
        columns: columns.collect(),
        rows,
    })
}

/// Nothing where nothing has a class.
pub(crate) fn classes_text(report: &Report, page: &mut Page) {
    if let Some(grid) = classes_grid(report) {
        page.blank();
        page.prose(HEADING);
        page.blank();
        page.table(&grid);
    }
}
