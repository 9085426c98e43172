// SPDX-License-Identifier: GPL-2.0-only
//! How often to look: as often as the allowed share of a CPU permits, and less often while nothing happens.

use std::time::Duration;

/// Shares of one CPU that looks may take, while something runs and while nothing does. Less than the promised 0.5 and 0.1 %, since the cost of a
/// look varies.
const BUSY_SHARE: f64 = 0.0035;
const IDLE_SHARE: f64 = 0.0005;
/// Time until a second runnable thread has a second CPU: until a look sees it, which depends on the cost of looks (the median of
/// `scripts/agent-check.sh`, docs/enforcement.md).
pub(crate) const REACTION: Duration = Duration::from_millis(50);
/// Looking more often gains nothing, since T_hold is at least 10 ms.
const SHORTEST: Duration = Duration::from_millis(10);
/// Looking less often would let new work wait.
const LONGEST_BUSY: Duration = Duration::from_millis(250);
const LONGEST_IDLE: Duration = Duration::from_millis(500);
/// Weight of a new cost in the mean, which begins at 0: the first look is many times more expensive, and must not delay the second.
const NEW: f64 = 0.2;

/// The time between looks, from their cost.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    cost_s: f64,
    idle_looks: u32,
}

impl Pace {
    /// After a look that took `cost` of CPU time and found `active` threads, how long to wait for the next.
    ///     period = cost / share, doubled for each look that found nothing, up to cost / idle share
    pub fn next(&mut self, cost: Duration, active: u32) -> Duration {
        self.cost_s += NEW * (cost.as_secs_f64() - self.cost_s);
        let busy = self.at_share(BUSY_SHARE).clamp(SHORTEST, LONGEST_BUSY);
        if active > 0 {
            self.idle_looks = 0;
            return busy;
        }
        self.idle_looks = (self.idle_looks + 1).min(16);
        let idle = self.at_share(IDLE_SHARE).clamp(busy, LONGEST_IDLE);
        (busy * (1 << self.idle_looks)).min(idle)
    }

    fn at_share(&self, share: f64) -> Duration {
        Duration::from_secs_f64((self.cost_s / share).min(60.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// The time to the next look after many of this cost.
    fn settled(cost: Duration, active: u32) -> Duration {
        let mut pace = Pace::default();
        (0..100).map(|_| pace.next(cost, active)).last().unwrap()
    }

    /// 20 us are 0.35 % of 5.7 ms, so the shortest pause, 10 ms, applies; 140 us are 0.35 % of 40 ms.
    #[test]
    fn a_busy_look_costs_its_share() {
        assert_eq!(settled(us(20), 3), us(10_000));
        assert_eq!(settled(us(140), 3).as_millis(), 40);
        assert_eq!(settled(us(10_000), 3), LONGEST_BUSY);
    }

    #[test]
    fn an_expensive_first_look_does_not_make_the_second_one_late() {
        let mut pace = Pace::default();
        assert!(pace.next(us(500), 1) < us(30_000));
    }

    #[test]
    fn looks_become_rare_while_nothing_runs_and_frequent_at_once_when_something_does() {
        let mut pace = Pace::default();
        assert_eq!(pace.next(us(20), 0), us(10_000));
        let settled = (0..100).map(|_| pace.next(us(20), 0)).last().unwrap();
        assert_eq!(settled.as_millis(), 40);
        assert_eq!(pace.next(us(20), 1), us(10_000));
    }
}
