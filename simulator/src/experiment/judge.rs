//! Studies that judge one policy beside all others, cell by cell: who has the lowest energy-delay product, and which rule of the judged policy
//! it is that costs what it is behind.

use super::run::ratio;
use super::{PointValue, PolicyResult};
use crate::PolicyChoice;

/// Nearly the lowest EDP, and nearly the time of the first policy: up to here nothing has to be explained.
pub const NEARLY_LOWEST_EDP: f64 = 1.02;
pub const NEARLY_AS_FAST: f64 = 1.01;
/// A rule has a price if EDP without it is lower by more than 1 %.
const WITHOUT_ITS_PRICE: f64 = 0.99;

/// One point of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub point: Vec<(String, PointValue)>,
    /// The policy of the lowest EDP; of equals the judged one, then the first.
    pub best: PolicyChoice,
    /// EDP of the judged policy over the lowest.
    pub edp: f64,
    /// Its time over that of the first policy.
    pub time: f64,
    /// Only where it is behind, and being without one of its rules lowers its EDP by more than 1 %.
    pub price: Option<Price>,
}

/// The rule without which the judged policy's EDP falls most.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The judged policy without that rule.
    pub without: PolicyChoice,
    /// Its EDP over the lowest of the cell.
    pub edp: f64,
}

impl Cell {
    /// `results`: of all policies at one point, the judged one among them.
    pub(super) fn of(results: &[PolicyResult], judged: &PolicyChoice) -> Option<Self> {
        let own = results.iter().find(|result| result.policy == *judged)?;
        let best = results
            .iter()
            .fold(own, |best, result| match result.mean.edp_js < best.mean.edp_js {
                true => result,
                false => best,
            });
        Some(Self {
            point: own.point.clone(),
            best: best.policy.clone(),
            edp: ratio(own.mean.edp_js, best.mean.edp_js),
            time: own.relative_time,
            price: None,
        })
    }

    pub fn is_behind(&self) -> bool {
        self.edp > NEARLY_LOWEST_EDP || self.time > NEARLY_AS_FAST
    }

    /// `without`: EDP of the judged policy without each of its rules, over its EDP with all.
    pub(super) fn explain(&mut self, without: Vec<(PolicyChoice, f64)>) {
        let lowest = without.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        self.price = lowest
            .filter(|(_, edp)| *edp < WITHOUT_ITS_PRICE)
            .map(|(without, edp)| Price {
                without,
                edp: edp * self.edp,
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_that_of_the_rule_without_which_edp_is_lowest() {
        let policy = |name: &str| name.parse::<PolicyChoice>().unwrap();
        let mut cell = Cell {
            point: vec![],
            best: policy("highlow"),
            edp: 1.1,
            time: 1.0,
            price: None,
        };
        assert!(cell.is_behind());
        let edps = |spare: f64| vec![(policy("auto:no-spare"), spare), (policy("auto:no-sets"), 1.2)];
        cell.explain(edps(0.95));
        let price = cell.price.clone().unwrap();
        assert_eq!(price.without, policy("auto:no-spare"));
        assert!((price.edp - 1.045).abs() < 1e-9);
        cell.explain(edps(0.99));
        assert_eq!(cell.price, None, "no rule costs much");
        (cell.edp, cell.time) = (1.02, 1.01);
        assert!(!cell.is_behind());
    }
}
