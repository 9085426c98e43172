// SPDX-License-Identifier: MIT OR Apache-2.0
//! Per-entity load tracking as in the kernel's fair class (kernel/sched/pelt.c): utilisation as a decaying average, from 0 to 1024.
//!
//! ```text
//! ran for t periods at full speed of the largest CPU:   u' = u y^t + 1024 (1 - y^t)      y^32 = 1/2
//! did not run for t periods:                            u' = u y^t
//! ```
//!
//! The time t is that of a clock for each CPU, which goes slower while the CPU runs slower (t * speed) and catches up when it falls idle. So what always
//! runs comes to 1024 on every CPU, later on a slow one, and what has idle time is used as if it ran at full speed. The kernel sums integers period by
//! period; this is the same sum in closed form, for any length.

/// A period: 1024 us, where the kernel takes 1024 ns for a us.
const PERIOD_NS: f64 = 1024.0 * 1024.0;
const HALF_LIFE_PERIODS: f64 = 32.0;
/// A CPU used by this much had no idle time of its own, so its clock does not catch up: 1024 without the last period's part, 1024 y.
pub(super) const NEVER_IDLE: f64 = 1002.0;
/// Utilisation of what runs all the time.
pub(super) const FULL: f64 = 1024.0;
/// Part of a change that the estimate follows downwards.
const ESTIMATE_GAIN: f64 = 0.25;

/// y^t for a time t.
fn kept(ns: f64) -> f64 {
    libm::exp2(-ns / (HALF_LIFE_PERIODS * PERIOD_NS))
}

/// Utilisation of a task or a CPU, brought up to date up to `at_ns` of the CPU's clock, as are all times here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utilisation {
    value: f64,
    at_ns: u64,
}

impl Utilisation {
    pub fn new(value: f64, at_ns: u64) -> Self {
        Self { value, at_ns }
    }
    /// Now, if it has not run since.
    pub fn now(&self, now_ns: u64) -> f64 {
        self.value * kept(now_ns.saturating_sub(self.at_ns) as f64)
    }
    /// As of the last update.
    pub fn last(&self) -> f64 {
        self.value
    }
    /// It ran for the last `passed_ns`.
    pub fn ran(&mut self, passed_ns: u64, now_ns: u64) {
        let kept = kept(passed_ns as f64);
        self.value = self.now(now_ns - passed_ns) * kept + FULL * (1.0 - kept);
        self.at_ns = now_ns;
    }
    /// It has not run since the last update.
    pub fn idled(&mut self, now_ns: u64) {
        *self = Self::new(self.now(now_ns), now_ns);
    }
    /// Utilisation of a task that comes, or goes (below 0).
    pub fn change(&mut self, by: f64) {
        self.value = (self.value + by).max(0.0);
    }
}

/// The estimate (util_est) after a task went to sleep with this utilisation: it rises at once and falls by a quarter of the difference, so that a task
/// is known by what it had, and not by what is left of it after a sleep.
pub(super) fn estimate_after(before: f64, asleep_with: f64) -> f64 {
    if asleep_with >= before {
        asleep_with
    } else {
        before + ESTIMATE_GAIN * (asleep_with - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = PERIOD_NS as u64;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "found {found}, expected {expected}");
    }

    /// 1024 (1 - y^n) after n periods: 512 after 32, 768 after 64. In steps it is the kernel's sum, 1024 (1 - y) (1 + y + y^2 + ..).
    #[test]
    fn who_always_runs_comes_to_1024() {
        let y = kept(PERIOD_NS);
        near(y.powi(32), 0.5);
        let mut stepwise = Utilisation::new(0.0, 0);
        let mut sum = 0.0;
        for n in 1..=64u32 {
            stepwise.ran(PERIOD, u64::from(n) * PERIOD);
            sum = sum * y + FULL * (1.0 - y);
            let mut at_once = Utilisation::new(0.0, 0);
            at_once.ran(u64::from(n) * PERIOD, u64::from(n) * PERIOD);
            near(at_once.value, FULL * (1.0 - y.powi(n as i32)));
            near(at_once.value, stepwise.value);
            near(at_once.value, sum);
        }
        near(stepwise.value, 768.0);
    }

    /// A quarter busy, 8 periods in 32: in the long run u after running = 1024 (1 - y^8) / (1 - y^32).
    #[test]
    fn periodic_work_swings_about_its_share() {
        let mut task = Utilisation::default();
        for n in 1..100 {
            task.ran(8 * PERIOD, (32 * n + 8) * PERIOD);
        }
        near(task.value, 2.0 * FULL * (1.0 - kept(8.0 * PERIOD_NS)));
        near(task.now(task.at_ns + 24 * PERIOD), task.value * kept(24.0 * PERIOD_NS));
    }

    #[test]
    fn a_cpu_is_the_sum_of_its_tasks() {
        let (mut cpu, mut first) = (Utilisation::new(300.0, 0), Utilisation::new(100.0, 0));
        let second = Utilisation::new(200.0, 0);
        first.ran(5 * PERIOD, 5 * PERIOD);
        cpu.ran(5 * PERIOD, 5 * PERIOD);
        let now_ns = 9 * PERIOD;
        near(cpu.now(now_ns), first.now(now_ns) + second.now(now_ns));
        cpu.idled(now_ns);
        cpu.change(-second.now(now_ns));
        near(cpu.value, first.now(now_ns));
    }

    #[test]
    fn estimates_rise_at_once_and_fall_by_quarters() {
        near(estimate_after(100.0, 300.0), 300.0);
        near(estimate_after(300.0, 100.0), 250.0);
        near(estimate_after(250.0, 100.0), 212.5);
    }
}
