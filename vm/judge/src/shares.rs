//! Compares what two schedulers gave the same tasks: two outputs of `lop-load shares`.

use crate::checks::Verdict;
use anyhow::{bail, Result};
use serde::{Deserialize, Serialize};

/// Output of `lop-load shares`, as far as it is compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shares {
    pub tasks: Vec<Share>,
}

/// CPU time of one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Share {
    /// The task as it was asked for.
    pub task: String,
    pub cpu_ms: f64,
    /// Of the CPU time of all tasks.
    pub share: f64,
}

/// How far a share may be from the reference: the larger of the two counts.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// In parts of the reference share.
    pub of_share: f64,
    /// In parts of all CPU time, for shares of which `of_share` is less than what measuring leaves open.
    pub of_all: f64,
}

impl Allowed {
    fn beside(self, reference: f64) -> f64 {
        (self.of_share * reference).max(self.of_all)
    }
}

#[derive(Serialize)]
struct Compared {
    task: String,
    reference: f64,
    share: f64,
    /// share - reference, of all CPU time.
    difference: f64,
    /// What the difference may be, either way.
    allowed: f64,
}

/// Each task's share differs from the reference by no more than is allowed.
///
/// # Errors
/// The two runs had other tasks.
pub fn compare(reference: &Shares, shares: &Shares, allowed: Allowed) -> Result<Verdict> {
    let names = |of: &Shares| of.tasks.iter().map(|task| task.task.clone()).collect::<Vec<_>>();
    if names(reference) != names(shares) {
        bail!(
            "the two runs had different tasks: {:?} and {:?}",
            names(reference),
            names(shares)
        );
    }
    let pair = |(a, b): (&Share, &Share)| Compared {
        task: a.task.clone(),
        reference: a.share,
        share: b.share,
        difference: b.share - a.share,
        allowed: allowed.beside(a.share),
    };
    let compared: Vec<_> = reference.tasks.iter().zip(&shares.tasks).map(pair).collect();
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
        "`{}` has {:.2} % of all CPU time beside {:.2} %; allowed are {:.0} % of that or {:.0} points, whichever is more: {:.2} points",
        worst.task,
        points(worst.share),
        points(worst.reference),
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
            assert_eq!(compare(&reference, &other, ALLOWED).unwrap().holds, holds, "{first}");
        }
        let alone = shares(&[("nice=0", 0.75)]);
        for (share, holds) in [(0.7874, true), (0.7876, false), (0.7126, true), (0.7124, false)] {
            let other = shares(&[("nice=0", share)]);
            assert_eq!(compare(&alone, &other, ALLOWED).unwrap().holds, holds, "{share}");
        }
    }

    #[test]
    fn a_small_share_may_differ_by_points_of_all() {
        let reference = shares(&[("idle", 0.01)]);
        for (share, holds) in [(0.0, true), (0.0299, true), (0.0301, false)] {
            let verdict = compare(&reference, &shares(&[("idle", share)]), ALLOWED).unwrap();
            assert_eq!(verdict.holds, holds, "{share}");
        }
    }

    #[test]
    fn the_sentence_names_the_task_that_is_furthest_beyond_what_is_allowed_and_the_rule() {
        let reference = shares(&[("large", 0.8), ("small", 0.2)]);
        let verdict = compare(&reference, &shares(&[("large", 0.77), ("small", 0.23)]), ALLOWED).unwrap();
        assert!(!verdict.holds);
        assert_eq!(
            verdict.reason,
            "`small` has 23.00 % of all CPU time beside 20.00 %; allowed are 5 % of that or 2 points, whichever is more: 2.00 points"
        );
    }

    #[test]
    fn other_tasks_cannot_be_compared_and_none_is_no_proof() {
        let reference = shares(&[("nice=0", 0.75), ("nice=5", 0.25)]);
        assert!(compare(&reference, &shares(&[("nice=0", 1.0)]), ALLOWED).is_err());
        assert!(!compare(&shares(&[]), &shares(&[]), ALLOWED).unwrap().holds);
    }
}
