// SPDX-License-Identifier: GPL-2.0-only
//! Compares promises with a trace. Each check gives figures and a verdict; a check that finds nothing to judge does not hold.

pub mod bursts;
pub mod delay;
pub mod domains;
pub mod fast;
pub mod given;
pub mod holders;
pub mod lost;
pub mod low;
pub mod placed;
pub mod promoted;
pub mod reserved;
pub mod residency;
pub mod sequential;
pub mod served;
pub mod shrink;
mod speeds;

use serde::Serialize;
use serde_json::Value;

pub use speeds::Speeds;

/// Outcome of a check.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    pub check: &'static str,
    pub holds: bool,
    /// One sentence: what was found, and what was expected.
    pub reason: String,
    pub figures: Value,
}

impl Verdict {
    pub fn new(check: &'static str, holds: bool, reason: String, figures: impl Serialize) -> Self {
        let figures = serde_json::to_value(figures).expect("figures are plain data");
        Verdict {
            check,
            holds,
            reason,
            figures,
        }
    }
}

/// Most cases that are listed one by one.
pub const LISTED: usize = 20;

/// `part` / `whole`; 0 if `whole` is 0.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Nanoseconds in milliseconds.
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Value below which `share` of the sorted values lie, by nearest rank; `None` without values.
pub fn percentile(sorted: &[u64], share: f64) -> Option<u64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_nearest_rank() {
        let values: Vec<u64> = (1..=1000).collect();
        for (share, expected) in [(0.0, 1), (0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1000)] {
            assert_eq!(percentile(&values, share), Some(expected));
        }
        assert_eq!(percentile(&[7], 0.999), Some(7));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
