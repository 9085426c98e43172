// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of mean power, kept by lowering the highest speed.
//!
//! The mean M of power P forgets with the time constant tau, the limit's window:
//!
//! ```text
//! M(t) = P + (M(0) - P) * exp(-t / tau)        M reaches the level L at t = tau * ln((M(0) - P) / (L - P))
//! ```
//!
//! When M is at the limit while P is above it, the highest speed of every clock domain goes down by a step, and again after a pause as long as that is
//! so; when M of every limit is below [`RELIEF`] of it, up by a step. P is constant between events, so these times are known, and nothing is polled.
//!
//! Worked example: 5 W over 1 s, cores draw 2 W idle, 8 W at the high speed, 2 W at the low one. M = 2 W when work begins: the limit is reached after
//! ln((2 - 8) / (5 - 8)) = ln 2 = 0.693 s, and 4.95 W after ln((5 - 2) / (4.95 - 2)) = 0.0168 s more.

use super::time::Alarm;
use super::{Scheduler, World};
use lop_machine::Machine;

/// Below this share of the limit speed rises again (assumed).
const RELIEF: f64 = 0.99;
/// Mean power at the limit, but for rounding.
const ROUNDING: f64 = 1e-9;

#[derive(Debug)]
struct Mean {
    limit_uw: f64,
    window_ns: f64,
    mean_uw: f64,
}

#[derive(Debug)]
pub(super) struct PowerLimits {
    means: Vec<Mean>,
    /// Power since `at_ns`, up to which the means are known.
    power_uw: u64,
    at_ns: u64,
    /// How many frequencies below its highest every clock domain stays, and most of that.
    steps: usize,
    most_steps: usize,
    /// Shortest time between steps: a thousandth of the shortest window, but not less than a transition.
    pause_ns: u64,
    next_step_ns: u64,
    alarm_ns: u64,
}

impl Mean {
    fn follow(&mut self, power_uw: f64, passed_ns: u64) {
        self.mean_uw = power_uw + (self.mean_uw - power_uw) * libm::exp(-(passed_ns as f64) / self.window_ns);
    }
    fn is_over(&self, power_uw: f64) -> bool {
        power_uw > self.limit_uw && self.mean_uw >= self.limit_uw * (1.0 - ROUNDING)
    }
    fn is_relieved(&self) -> bool {
        self.mean_uw <= RELIEF * self.limit_uw * (1.0 + ROUNDING)
    }
    /// Time until the mean is at `level_uw`, at this power; `None`: it never is.
    fn reaches_ns(&self, level_uw: f64, power_uw: f64) -> Option<u64> {
        let ratio = (self.mean_uw - power_uw) / (level_uw - power_uw);
        (ratio.is_finite() && ratio >= 1.0).then(|| (libm::ceil(self.window_ns * libm::log(ratio)) as u64).max(1))
    }
}

impl PowerLimits {
    pub fn new(machine: &Machine) -> Self {
        let mean = |limit: &lop_machine::PowerLimit| Mean {
            limit_uw: limit.uw as f64,
            window_ns: limit.window_ns as f64,
            mean_uw: 0.0,
        };
        let shortest_ns = machine.power_limits.iter().map(|limit| limit.window_ns).min();
        Self {
            means: machine.power_limits.iter().map(mean).collect(),
            power_uw: 0,
            at_ns: 0,
            steps: 0,
            most_steps: 0,
            pause_ns: machine
                .cpufreq
                .transition_ns
                .max(shortest_ns.unwrap_or(0) / 1000)
                .max(1),
            next_step_ns: 0,
            alarm_ns: u64::MAX,
        }
    }

    /// Before anything runs: power has been the same for ever.
    pub fn begin(&mut self, power_uw: u64, most_steps: usize) {
        self.most_steps = most_steps;
        self.power_uw = power_uw;
        self.means.iter_mut().for_each(|mean| mean.mean_uw = power_uw as f64);
    }

    fn follow(&mut self, power_uw: u64, now_ns: u64) {
        for mean in &mut self.means {
            mean.follow(self.power_uw as f64, now_ns - self.at_ns);
        }
        (self.power_uw, self.at_ns) = (power_uw, now_ns);
    }

    /// Steps down or up if it is time. Returns whether it did.
    fn step(&mut self) -> bool {
        if self.at_ns < self.next_step_ns {
            return false;
        }
        let power_uw = self.power_uw as f64;
        let before = self.steps;
        if self.means.iter().any(|mean| mean.is_over(power_uw)) {
            self.steps = (before + 1).min(self.most_steps);
        } else if self.means.iter().all(Mean::is_relieved) {
            self.steps = before.saturating_sub(1);
        }
        if self.steps != before {
            self.next_step_ns = self.at_ns + self.pause_ns;
        }
        self.steps != before
    }

    /// When to look again, if power stays as it is.
    fn wait_ns(&self) -> Option<u64> {
        let power_uw = self.power_uw as f64;
        let pause_ns = self.next_step_ns.saturating_sub(self.at_ns).max(1);
        let over = |mean: &Mean| match mean.is_over(power_uw) {
            true => Some(0),
            false if power_uw > mean.limit_uw => mean.reaches_ns(mean.limit_uw, power_uw),
            false => None,
        };
        let relieved = |mean: &Mean| match mean.is_relieved() {
            true => Some(0),
            false => mean.reaches_ns(RELIEF * mean.limit_uw, power_uw),
        };
        let down_ns = self
            .means
            .iter()
            .filter_map(over)
            .min()
            .filter(|_| self.steps < self.most_steps);
        let up_ns = self
            .means
            .iter()
            .map(relieved)
            .try_fold(0, |last, ns| Some(last.max(ns?)));
        let up_ns = up_ns.filter(|_| self.steps > 0);
        let next_ns = [down_ns, up_ns].into_iter().flatten().min();
        next_ns.map(|ns| ns.max(pause_ns))
    }
}

impl<S: Scheduler> World<'_, S> {
    /// After every event.
    pub(super) fn keep_power_limits(&mut self) {
        let (power_uw, now_ns) = (self.power.model.total_uw(), self.time.now_ns);
        let limits = &mut self.power_limits;
        if limits.means.is_empty() || (power_uw == limits.power_uw && now_ns < limits.alarm_ns) {
            return;
        }
        limits.follow(power_uw, now_ns);
        if limits.step() {
            let steps = limits.steps;
            self.step_speeds_down(steps);
        }
        let limits = &mut self.power_limits;
        match limits.wait_ns() {
            Some(wait_ns) => {
                limits.alarm_ns = now_ns.saturating_add(wait_ns);
                self.time.set(limits.alarm_ns, Alarm::PowerLimit, 0);
            }
            None => {
                limits.alarm_ns = u64::MAX;
                self.time.cancel(Alarm::PowerLimit, 0);
            }
        }
    }
}
