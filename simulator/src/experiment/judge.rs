// SPDX-License-Identifier: MIT OR Apache-2.0
//! Studies that compare one policy with all others at each point: which policy has the lowest energy-delay product (EDP), and how the counters of the judged
//! policy differ from those of the best where it is behind.

use super::run::ratio;
use super::{PointValue, PolicyResult};
use crate::PolicyChoice;
use serde_json::Value;

/// EDP over the lowest, and time over that of the first policy, up to which nothing has to be explained.
pub const NEARLY_LOWEST_EDP: f64 = 1.02;
pub const NEARLY_AS_FAST: f64 = 1.01;

/// What a policy is judged by at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Judged {
    /// The time. If the workload's duration ends the run, times are equal under all policies, and this is the mean response time.
    pub delay_s: f64,
    /// System energy times delay.
    pub edp_js: f64,
}

impl Judged {
    fn of(result: &PolicyResult) -> Self {
        match result.counters.get("mean_response_s").and_then(Value::as_f64) {
            Some(delay_s) => Self {
                delay_s,
                edp_js: result.mean.system_energy_j * delay_s,
            },
            None => Self {
                delay_s: result.mean.time_s,
                edp_js: result.mean.edp_js,
            },
        }
    }
}

/// One point of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub point: Vec<(String, PointValue)>,
    /// The policy with the lowest EDP; among equals the judged one, then the first.
    pub best: PolicyChoice,
    /// EDP of the judged policy over the lowest.
    pub edp: f64,
    /// Time of the judged policy over that of the first; if `responses`, its mean response time.
    pub time: f64,
    /// The workload's duration ends the run, so delay is the mean response time.
    pub responses: bool,
    /// Only if `responses`: its energy over the lowest of policies that respond no later, to within 1 %.
    pub energy: Option<f64>,
    /// Only if it is behind.
    pub beside: Option<Beside>,
}

/// The judged policy beside the one of the lowest EDP, which it is over, with what both count. EDP = power x time^2; power x response where the clock
/// sets the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    pub time: f64,
    pub power: f64,
    /// Of the judged policy, then of the other.
    pub wakeups: [f64; 2],
    pub migrations: [f64; 2],
    pub high_set_mean: [f64; 2],
    /// Core-seconds lost on cores that were below the highest speed when work arrived.
    pub lost_slow_start_s: [f64; 2],
}

/// Counters of a result for [`Beside`], and for the savings that cost nothing.
pub(super) const COUNTED: [&str; 7] = [
    "wakeups",
    "migrations",
    "high_set_mean",
    "lost_slow_start_s",
    "mean_response_s",
    "response_us",
    "missed_share",
];

impl Beside {
    fn of(own: &PolicyResult, best: &PolicyResult) -> Self {
        let both = |name| [own, best].map(|result| result.counters.get(name).and_then(Value::as_f64).unwrap_or(0.0));
        Self {
            time: ratio(Judged::of(own).delay_s, Judged::of(best).delay_s),
            power: ratio(own.mean.system_power_w, best.mean.system_power_w),
            wakeups: both("wakeups"),
            migrations: both("migrations"),
            high_set_mean: both("high_set_mean"),
            lost_slow_start_s: both("lost_slow_start_s"),
        }
    }
}

impl Cell {
    /// `results`: of all policies at one point, including the judged one.
    pub(super) fn of(results: &[PolicyResult], judged: &PolicyChoice) -> Option<Self> {
        let own = results.iter().find(|result| result.policy == *judged)?;
        let edp_js = |result| Judged::of(result).edp_js;
        let delay_s = |result: &PolicyResult| Judged::of(result).delay_s;
        let best = results.iter().fold(
            own,
            |best, result| if edp_js(result) < edp_js(best) { result } else { best },
        );
        let no_later = |result: &&PolicyResult| delay_s(result) <= NEARLY_AS_FAST * delay_s(own);
        let energies_j = results
            .iter()
            .filter(no_later)
            .map(|result| result.mean.system_energy_j);
        let responses = own.counters.contains_key("mean_response_s");
        let mut cell = Self {
            point: own.point.clone(),
            best: best.policy.clone(),
            edp: ratio(edp_js(own), edp_js(best)),
            time: ratio(delay_s(own), delay_s(&results[0])),
            responses,
            energy: responses.then(|| ratio(own.mean.system_energy_j, energies_j.fold(f64::MAX, f64::min))),
            beside: None,
        };
        cell.beside = cell.is_behind().then(|| Beside::of(own, best));
        Some(cell)
    }

    pub fn is_behind(&self) -> bool {
        self.edp > NEARLY_LOWEST_EDP || self.time > NEARLY_AS_FAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_behind_beyond_the_limits() {
        let mut cell = Cell {
            point: vec![],
            best: "highlow".parse().unwrap(),
            edp: 1.1,
            time: 1.0,
            responses: false,
            energy: None,
            beside: None,
        };
        assert!(cell.is_behind());
        (cell.edp, cell.time) = (1.02, 1.01);
        assert!(!cell.is_behind());
    }
}
