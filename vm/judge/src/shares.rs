// SPDX-License-Identifier: GPL-2.0-only
//! Compares two outputs of `lop-load shares`: what two schedulers gave to the same tasks.

use crate::checks::Verdict;
use anyhow::{bail, Result};
use serde::{Deserialize, Serialize};

/// The compared part of the output of `lop-load shares`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shares {
    pub tasks: Vec<Share>,
}

/// CPU time of one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Share {
    /// The description of the task.
    pub task: String,
    pub cpu_ms: f64,
    /// Its share of the CPU time of all tasks.
    pub share: f64,
}

/// How far a share may be from the reference; the larger of the two limits counts.
///
/// The reference scheduler is not exact either: in one window of four tasks on two CPUs it may give 0.321 where 0.301 is due. If the exact shares
/// are known, a share between the exact one and the reference's counts as equal, provided that the reference is within [`TRUSTED`] times the allowed
/// difference of the exact share.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Relative to the reference share.
    pub of_share: f64,
    /// Relative to all CPU time, for shares so small that `of_share` of them is below the measuring error.
    pub of_all: f64,
}

/// A reference farther than this many times the allowed difference from the exact share was measured badly, and only counts up to this distance.
const TRUSTED: f64 = 2.0;

impl Allowed {
    fn beside(self, reference: f64) -> f64 {
        (self.of_share * reference).max(self.of_all)
    }
}

#[derive(Serialize)]
struct Compared {
    task: String,
    reference: f64,
    /// The share by weight, if known.
    exact: Option<f64>,
    share: f64,
    /// Distance from the nearer of the reference and the exact share, relative to all CPU time; 0 between them.
    difference: f64,
    /// The allowed difference, in either direction.
    allowed: f64,
}

/// How far `share` is outside the range from the trusted part of `reference` to `exact`: `max(0, share - highest) + min(0, share - lowest)`.
fn beyond(share: f64, reference: f64, exact: Option<f64>, allowed: f64) -> f64 {
    let exact = exact.unwrap_or(reference);
    let reference = reference.clamp(exact - TRUSTED * allowed, exact + TRUSTED * allowed);
    (share - reference.max(exact)).max(0.0) + (share - reference.min(exact)).min(0.0)
}

/// Each task's share differs from the reference, or from the share by its weight, by at most the allowed difference.
///
/// `weights`: one for each task, in their order, if all compete for the same CPU time; empty if no exact shares are known.
///
/// # Errors
/// The two runs had different tasks, or the number of weights does not match.
pub fn compare(reference: &Shares, shares: &Shares, weights: &[f64], allowed: Allowed) -> Result<Verdict> {
    let names = |of: &Shares| of.tasks.iter().map(|task| task.task.clone()).collect::<Vec<_>>();
    if names(reference) != names(shares) {
        bail!(
            "the two runs had different tasks: {:?} and {:?}",
            names(reference),
            names(shares)
        );
    }
    if !weights.is_empty() && weights.len() != reference.tasks.len() {
        bail!("{} weights for {} tasks", weights.len(), reference.tasks.len());
    }
    if let Some(weight) = weights.iter().find(|weight| !(**weight > 0.0 && weight.is_finite())) {
        bail!("a weight of {weight}: expected one above 0");
    }
    let all: f64 = weights.iter().sum();
    let pair = |(index, (a, b)): (usize, (&Share, &Share))| {
        let exact = weights.get(index).map(|weight| weight / all);
        let allowed = allowed.beside(exact.unwrap_or(a.share));
        Compared {
            task: a.task.clone(),
            reference: a.share,
            exact,
            share: b.share,
            difference: beyond(b.share, a.share, exact, allowed),
            allowed,
        }
    };
    let compared: Vec<_> = reference
        .tasks
        .iter()
        .zip(&shares.tasks)
        .enumerate()
        .map(pair)
        .collect();
    let over = |c: &Compared| c.difference.abs() - c.allowed;
    let Some(worst) = compared.iter().max_by(|a, b| over(a).total_cmp(&over(b))) else {
        return Ok(Verdict::new(
            "shares",
            false,
            "no task: nothing to compare".to_owned(),
            compared,
        ));
    };
    let points = |part: f64| part * 100.0;
    let reason = format!(
        "`{}` has {:.2} % of all CPU time beside {:.2} %{}; allowed are {:.0} % of that or {:.0} points, whichever is more: {:.2} points",
        worst.task,
        points(worst.share),
        points(worst.reference),
        worst
            .exact
            .map_or(String::new(), |exact| format!(" and {:.2} % by weight", points(exact))),
        points(allowed.of_share),
        points(allowed.of_all),
        points(worst.allowed)
    );
    Ok(Verdict::new("shares", over(worst) <= 0.0, reason, compared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(of: &[(&str, f64)]) -> Shares {
        let share = |(task, share): &(&str, f64)| Share {
            task: (*task).to_owned(),
            cpu_ms: 0.0,
            share: *share,
        };
        Shares {
            tasks: of.iter().map(share).collect(),
        }
    }

    const ALLOWED: Allowed = Allowed {
        of_share: 0.05,
        of_all: 0.02,
    };

    #[test]
    fn a_large_share_may_differ_by_its_part() {
        let reference = shares(&[("nice=0", 0.75), ("nice=5", 0.25)]);
        // 5 % of 0.75 are 3.75 points; the other task, of which 5 % are 1.25 points, may differ by 2.
        for (first, holds) in [
            (0.75, true),
            (0.7699, true),
            (0.7701, false),
            (0.7301, true),
            (0.7299, false),
        ] {
            let other = shares(&[("nice=0", first), ("nice=5", 1.0 - first)]);
            assert_eq!(
                compare(&reference, &other, &[], ALLOWED).unwrap().holds,
                holds,
                "{first}"
            );
        }
        let alone = shares(&[("nice=0", 0.75)]);
        for (share, holds) in [(0.7874, true), (0.7876, false), (0.7126, true), (0.7124, false)] {
            let other = shares(&[("nice=0", share)]);
            assert_eq!(compare(&alone, &other, &[], ALLOWED).unwrap().holds, holds, "{share}");
        }
    }

    #[test]
    fn a_small_share_may_differ_by_points_of_all() {
        let reference = shares(&[("idle", 0.01)]);
        for (share, holds) in [(0.0, true), (0.0299, true), (0.0301, false)] {
            let verdict = compare(&reference, &shares(&[("idle", share)]), &[], ALLOWED).unwrap();
            assert_eq!(verdict.holds, holds, "{share}");
        }
    }

    #[test]
    fn the_sentence_names_the_task_that_is_furthest_beyond_what_is_allowed_and_the_rule() {
        let reference = shares(&[("large", 0.8), ("small", 0.2)]);
        let verdict = compare(&reference, &shares(&[("large", 0.77), ("small", 0.23)]), &[], ALLOWED).unwrap();
        assert!(!verdict.holds);
        assert_eq!(
            verdict.reason,
            "`small` has 23.00 % of all CPU time beside 20.00 %; allowed are 5 % of that or 2 points, whichever is more: 2.00 points"
        );
    }

    #[test]
    fn what_lies_between_the_reference_and_the_share_by_weight_is_no_difference() {
        // 3 : 1 are 0.75 and 0.25; the reference gave 0.80 and 0.20, of which 0.21 is trusted. 2 points of all count for the light one: 0.27 to 0.19
        // hold.
        let reference = shares(&[("heavy", 0.80), ("light", 0.20)]);
        for (heavy, holds) in [
            (0.80, true),
            (0.77, true),
            (0.75, true),
            (0.7301, true),
            (0.7299, false),
            (0.8099, true),
            (0.8101, false),
        ] {
            let other = shares(&[("heavy", heavy), ("light", 1.0 - heavy)]);
            let verdict = compare(&reference, &other, &[3.0, 1.0], ALLOWED).unwrap();
            assert_eq!(verdict.holds, holds, "{heavy}: {}", verdict.reason);
        }
        let verdict = compare(
            &reference,
            &shares(&[("heavy", 0.70), ("light", 0.30)]),
            &[3.0, 1.0],
            ALLOWED,
        );
        assert!(verdict.unwrap().reason.contains("beside 20.00 % and 25.00 % by weight"));
        for weights in [&[3.0][..], &[3.0, 0.0], &[3.0, f64::NAN]] {
            assert!(
                compare(&reference, &reference, weights, ALLOWED).is_err(),
                "{weights:?}"
            );
        }
    }

    #[test]
    fn other_tasks_cannot_be_compared_and_none_is_no_proof() {
        let reference = shares(&[("nice=0", 0.75), ("nice=5", 0.25)]);
        assert!(compare(&reference, &shares(&[("nice=0", 1.0)]), &[], ALLOWED).is_err());
        assert!(!compare(&shares(&[]), &shares(&[]), &[], ALLOWED).unwrap().holds);
    }
}
