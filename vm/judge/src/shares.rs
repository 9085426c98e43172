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

#[derive(Serialize)]
struct Compared {
    task: String,
    reference: f64,
    share: f64,
    /// share - reference, of all CPU time.
    difference: f64,
}

/// Each task's share differs from the reference by at most `within`, in points of all CPU time.
///
/// # Errors
/// The two runs had other tasks.
pub fn compare(reference: &Shares, shares: &Shares, within: f64) -> Result<Verdict> {
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
    };
    let compared: Vec<_> = reference.tasks.iter().zip(&shares.tasks).map(pair).collect();
    let worst = compared.iter().map(|c| c.difference.abs()).fold(0.0, f64::max);
    let reason = format!(
        "largest difference {:.2} points, allowed {:.2}",
        worst * 100.0,
        within * 100.0
    );
    Ok(Verdict::new(
        "shares",
        !compared.is_empty() && worst <= within,
        reason,
        compared,
    ))
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

    #[test]
    fn the_largest_difference_decides() {
        let reference = shares(&[("nice=0", 0.75), ("nice=5", 0.25)]);
        for (first, holds) in [(0.75, true), (0.79, true), (0.69, false), (0.81, false)] {
            let other = shares(&[("nice=0", first), ("nice=5", 1.0 - first)]);
            assert_eq!(compare(&reference, &other, 0.05).unwrap().holds, holds, "{first}");
        }
        assert!(compare(&reference, &shares(&[("nice=0", 1.0)]), 0.05).is_err());
        assert!(!compare(&shares(&[]), &shares(&[]), 0.05).unwrap().holds);
    }
}
