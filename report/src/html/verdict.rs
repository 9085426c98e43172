// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report comes to: the policy with the lowest EDP against the first one.

use super::merge::{response_s, Overall, Ratios};
use crate::model::{Report, RunResult};
use crate::sweep::points;

/// Ratios closer to 1 than this read as the same: 0.05 %.
const SAME: f64 = 0.0005;

/// One sentence on the best policy, and for a sweep one on where it pays and where it does not. Empty where nothing can be compared.
pub(crate) fn verdict(report: &Report, policies: &[Overall]) -> String {
    let Some((first, others)) = policies.split_first() else {
        return String::new();
    };
    let reference = first.names[0];
    let compared = others.iter().filter(|other| other.mean.positive());
    let Some(best) = compared.min_by(|a, b| a.mean.edp.total_cmp(&b.mean.edp)) else {
        return match first.names.as_slice() {
            [only] => format!("Only {only} was run, so there is nothing to compare."),
            all => format!(
                "All {} policies have the same time and energy as {reference}.",
                all.len()
            ),
        };
    };
    let name = listed(&best.names);
    let has = if best.names.len() == 1 { "has" } else { "have" };
    let found = changes(report, &best.mean);
    let over = match first.results.len() {
        1 => String::new(),
        n => format!(", geometric means over {n} points"),
    };
    let source = &report.energy_source;
    let sentence = if best.mean.edp < 1.0 - SAME {
        format!("{name} {has} the lowest EDP: {found} than {reference} (energy {source}{over}).")
    } else {
        format!(
            "No policy has a lower EDP than {reference}. The closest, {name}, {has} {found} (energy {source}{over})."
        )
    };
    format!("{sentence} {}", where_it_pays(report, first, best))
        .trim_end()
        .to_string()
}

/// "a, b and c".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => only.to_string(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// "5.0 % less energy, 1.2 % more time and 3.9 % lower EDP".
fn changes(report: &Report, ratios: &Ratios) -> String {
    let clocked = report
        .results
        .iter()
        .filter(|result| response_s(result).is_some())
        .count();
    let delay = match clocked {
        0 => "time",
        n if n == report.results.len() => "mean response time",
        _ => "delay",
    };
    let change = |ratio: f64, name: &str, [below, above]: [&str; 2]| match ratio - 1.0 {
        by if by.abs() < SAME => format!("the same {name}"),
        by => format!(
            "{:.1} % {} {name}",
            100.0 * by.abs(),
            if by < 0.0 { below } else { above }
        ),
    };
    format!(
        "{}, {} and {}",
        change(ratios.energy, "energy", ["less", "more"]),
        change(ratios.delay, delay, ["less", "more"]),
        change(ratios.edp, "EDP", ["lower", "higher"])
    )
}

/// By point: whether the EDP of the best policy is below, above or not known to differ from that of the first.
fn where_it_pays(report: &Report, first: &Overall, best: &Overall) -> String {
    let unclear = |at: usize| {
        let both = (interval(best.results[at]), interval(first.results[at]));
        let overlap = matches!(both, (Some(own), Some(other)) if own.0 <= other.1 && other.0 <= own.1);
        overlap || (best.ratios[at].edp - 1.0).abs() < SAME
    };
    let (unclear, clear): (Vec<usize>, Vec<usize>) = (0..best.ratios.len()).partition(|&at| unclear(at));
    let (lower, higher): (Vec<usize>, Vec<usize>) = clear.into_iter().partition(|&at| best.ratios[at].edp < 1.0);
    let all = best.ratios.len();
    if all == 1 {
        let overlap = unclear.len() == 1 && (best.ratios[0].edp - 1.0).abs() >= SAME;
        return match overlap {
            true => "The 95 % confidence intervals of their EDPs overlap.".to_string(),
            false => String::new(),
        };
    }
    if unclear.len() == all {
        return "At none of them is its EDP clearly different.".to_string();
    }
    let at = |count: usize| match count {
        n if n == all => "every point".to_string(),
        1 => format!("1 of {all} points"),
        n => format!("{n} of {all} points"),
    };
    let mut parts = Vec::new();
    if !lower.is_empty() {
        parts.push(format!("lower at {}", at(lower.len())));
    }
    let edp = |at: &&usize| best.ratios[**at].edp;
    if let Some(&worst) = higher.iter().max_by(|a, b| edp(a).total_cmp(&edp(b))) {
        let label = points(report)[worst].label();
        let more = 100.0 * (best.ratios[worst].edp - 1.0);
        parts.push(format!(
            "higher at {} (by up to {more:.1} %, at {label})",
            at(higher.len())
        ));
    }
    if !unclear.is_empty() {
        parts.push(format!("not clearly different at {}", at(unclear.len())));
    }
    format!("Its EDP is {}.", parts.join(", "))
}

/// 95 % confidence interval of the EDP; not known where the delay is a mean response.
fn interval(result: &RunResult) -> Option<(f64, f64)> {
    let half = result.ci95.filter(|_| response_s(result).is_none())?.edp_js;
    Some((result.edp_js - half, result.edp_js + half))
}
