// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a comparison comes to, in a sentence.

use super::{named, others, Compared, Comparison, Estimate};
use crate::verdict::{change, Judgement, TIME};

/// A sentence for each row that others are compared with; none where nothing could be compared. Of several others it is about the one that uses least
/// energy or, without energies, takes least time. What is not known to be less than 1, since the 95 % interval of the ratio covers 1, is no gain.
pub(super) fn verdicts(comparison: &Comparison) -> Vec<String> {
    let mut baselines: Vec<usize> = others(comparison).map(|(_, row)| row.baseline).collect();
    baselines.sort_unstable();
    baselines.dedup();
    let verdict = |baseline| verdict(comparison, baseline);
    baselines.into_iter().filter_map(verdict).collect()
}

fn verdict(comparison: &Comparison, baseline: usize) -> Option<String> {
    let rows = &comparison.results;
    let compared: Vec<usize> = others(comparison)
        .filter(|(_, row)| row.baseline == baseline && row.relative_time.is_some())
        .map(|(index, _)| index)
        .collect();
    let by_energy = compared.iter().any(|&index| rows[index].relative_energy.is_some());
    let ratio = |index: usize| match by_energy {
        true => rows[index].relative_energy,
        false => rows[index].relative_time,
    };
    let gains = compared.iter().filter_map(|&index| Some((ratio(index)?, index)));
    let best = gains
        .filter(|(ratio, _)| ratio.value < 1.0 && !covers_1(ratio))
        .min_by(|(one, _), (other, _)| one.value.total_cmp(&other.value));
    let of = named(comparison, baseline);
    let found = |index: usize| changes(comparison, index).join(", ");
    match (&compared[..], best) {
        ([], _) => None,
        ([only], _) => Some(format!(
            "{} against {of}: {}.{}",
            named(comparison, *only),
            found(*only),
            judgement(&rows[*only])
        )),
        (all, Some((_, best))) => Some(format!(
            "Of {} compared with {of}, {} {}: {}.{}",
            all.len(),
            named(comparison, best),
            if by_energy {
                "uses least energy"
            } else {
                "takes least time"
            },
            found(best),
            judgement(&rows[best])
        )),
        (all, None) => Some(format!(
            "None of {} is known to {} than {of}{}.",
            all.len(),
            if by_energy { "use less energy" } else { "take less time" },
            each(comparison, all)
        )),
    }
}

/// More rows than this are for the table.
const MOST_NAMED: usize = 3;

/// What each came to, where they are few.
fn each(comparison: &Comparison, rows: &[usize]) -> String {
    if rows.len() > MOST_NAMED {
        return String::new();
    }
    let row = |&index: &usize| {
        format!(
            "{}: {}",
            named(comparison, index),
            changes(comparison, index).join(", ")
        )
    };
    format!(": {}", rows.iter().map(row).collect::<Vec<_>>().join("; "))
}

fn covers_1(ratio: &Estimate) -> bool {
    ratio.interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
}

/// Whether it pays, with a space before it. Empty without energies, and where nothing is known to differ.
fn judgement(row: &Compared) -> String {
    let (Some(energy), Some(time)) = (row.relative_energy, row.relative_time) else {
        return String::new();
    };
    match Judgement::of(&time, &energy, false).sentence() {
        "" => String::new(),
        sentence => format!(" {sentence}"),
    }
}

/// Energy first where there is one, then time.
fn changes(comparison: &Comparison, index: usize) -> Vec<String> {
    let row = &comparison.results[index];
    let is_modelled = comparison.meter.as_ref().is_some_and(|meter| meter.kind == "modelled");
    let energy = if is_modelled { "modelled energy" } else { "energy" };
    [(energy, row.relative_energy), (TIME, row.relative_time)]
        .into_iter()
        .filter_map(|(name, ratio)| {
            let ratio = ratio?;
            let alone = if ratio.interval.is_none() {
                " in the one run there is"
            } else {
                ""
            };
            Some(change(name, &ratio) + alone)
        })
        .collect()
}
