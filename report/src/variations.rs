// SPDX-License-Identifier: MIT OR Apache-2.0
//! Studies of what is not known exactly: how much depends on the values of one sweep, told for each cell in place of a table for each value.

use crate::grid::{Column, Grid};
use crate::model::{Report, Variation};
use crate::sweep::value_text;

/// `None`: nothing is varied. Variations with the same value of the first sweep together: of how many cells and values the energy, the rules and the order
/// of costs differ.
pub(crate) fn groups_grid(report: &Report) -> Option<Grid> {
    let (first, _) = report.variations.first()?.point.first_key_value()?;
    let mut groups: Vec<(String, Vec<&Variation>)> = Vec::new();
    for variation in &report.variations {
        let name = variation.point.get(first).map_or(String::new(), value_text);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(variation),
            None => groups.push((name, vec![variation])),
        }
    }
    let row = |(name, members): &(String, Vec<&Variation>)| {
        let sum = |of: fn(&Variation) -> usize| members.iter().map(|variation| of(variation)).sum::<usize>();
        let cells = members.iter().filter(|variation| variation.other_energy > 0).count();
        vec![
            name.clone(),
            format!("{cells} / {}", members.len()),
            format!("{} / {}", sum(|v| v.other_energy), sum(|v| v.values)),
            sum(|v| v.other_rules).to_string(),
            sum(|v| v.other_order).to_string(),
            format!(
                "{:.3}",
                members.iter().map(|v| v.energy[0]).fold(f64::INFINITY, f64::min)
            ),
            format!("{:.3}", members.iter().map(|v| v.energy[1]).fold(0.0, f64::max)),
        ]
    };
    Some(Grid {
        rows: groups.iter().map(row).collect(),
        columns: vec![
            Column::text(first),
            Column::number("other energy", "cells"),
            Column::number("other energy", "values"),
            Column::number("other rules", "values"),
            Column::number("other order", "values"),
            Column::number("energy, least", "over the first's"),
            Column::number("energy, most", "over the first's"),
        ],
    })
}

/// A row for each cell in which the energy differs, most often first; if a policy is judged, for each of its cells.
pub(crate) fn cells_grid(report: &Report) -> Option<Grid> {
    let judged = report.variations.iter().any(|variation| variation.verdict.is_some());
    let shown = |variation: &&Variation| match judged {
        true => variation.verdict.is_some(),
        false => variation.other_energy > 0,
    };
    let mut shown: Vec<&Variation> = report.variations.iter().filter(shown).collect();
    shown.sort_by_key(|variation| std::cmp::Reverse(variation.other_energy));
    let mut columns: Vec<Column> = shown.first()?.point.keys().map(|name| Column::text(name)).collect();
    columns.extend([
        Column::text("policy"),
        Column::number("other energy", "values"),
        Column::number("energy, least", "over the first's"),
        Column::number("energy, most", "over the first's"),
    ]);
    if judged {
        columns.extend([
            Column::number("EDP", "over lowest"),
            Column::number("EDP, least", "over lowest"),
            Column::number("EDP, most", "over lowest"),
            Column::number("other verdict", "values"),
        ]);
    }
    let row = |variation: &&Variation| {
        let mut row: Vec<String> = variation.point.values().map(value_text).collect();
        row.extend([
            variation.policy.clone(),
            format!("{} / {}", variation.other_energy, variation.values),
        ]);
        row.extend(variation.energy.map(|energy| format!("{energy:.3}")));
        if let Some(verdict) = variation.verdict {
            let [least, most] = verdict.range;
            row.extend([verdict.edp, least, most].map(|edp| format!("{edp:.3}")));
            row.push(verdict.others.to_string());
        }
        row
    };
    Some(Grid {
        rows: shown.iter().map(row).collect(),
        columns,
    })
}

/// The conclusion in a sentence; empty if nothing is varied.
pub(crate) fn judgement(report: &Report) -> String {
    let cells = report.variations.len();
    if cells == 0 {
        return String::new();
    }
    let sum = |of: fn(&Variation) -> usize| report.variations.iter().map(of).sum::<usize>();
    let changed = report
        .variations
        .iter()
        .filter(|variation| variation.other_energy > 0)
        .count();
    let verdicts = match sum(|v| v.verdict.map_or(0, |verdict| verdict.others)) {
        _ if report.cells.is_empty() => String::new(),
        n => format!(" The verdict is another one with {n}."),
    };
    format!(
        "Energy differs by more than 2 % with {} of {} values that stand in place of the first, in {changed} of {cells} cells; rules differ with {}, the order of \
         costs with {}.{verdicts}",
        sum(|v| v.other_energy),
        sum(|v| v.values),
        sum(|v| v.other_rules),
        sum(|v| v.other_order),
    )
}
