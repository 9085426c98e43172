// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random draws that do not depend on the schedule: every task has its own stream, so all policies get the same work.

use crate::workload::Amount;

/// splitmix64 (Steele, Lea, Flood 2014): one addition and one mix per number, and any key is a good seed.
#[derive(Debug, Clone, Copy)]
pub struct Stream(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Key of child (arrival, item) `number` of the owner of `key`.
pub fn child_key(key: u64, number: u64) -> u64 {
    mix(key.wrapping_add(GOLDEN).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ mix(number.wrapping_add(GOLDEN)))
}

impl Stream {
    pub fn new(key: u64) -> Self {
        Self(mix(key))
    }
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
    /// In (0, 1).
    fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
    /// Uniform below `n`, which is above 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
    /// Uniform from `least` to `most`, both among them.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least).saturating_add(1))
    }
    /// Box-Muller, with libm so that results are the same on every machine.
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
    /// In whole ns.
    pub fn draw(&mut self, amount: &Amount) -> u64 {
        match *amount {
            Amount::Fixed(ns) => ns,
            Amount::Uniform { min_ns, max_ns } => self.between(min_ns, max_ns),
            Amount::Exponential { mean_ns } => (-libm::log(self.unit()) * mean_ns) as u64,
            Amount::Lognormal { mean_ns, cv } => {
                let variance = libm::log1p(cv * cv);
                let mu = libm::log(mean_ns) - variance / 2.0;
                libm::exp(mu + libm::sqrt(variance) * self.normal()) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_cv(amount: Amount) -> (f64, f64) {
        let mut stream = Stream::new(7);
        let draws: Vec<f64> = (0..200_000).map(|_| stream.draw(&amount) as f64).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn distributions_have_the_moments_they_name() {
        let (mean, cv) = mean_and_cv(Amount::Exponential { mean_ns: 1e6 });
        assert!(
            (mean / 1e6 - 1.0).abs() < 0.02 && (cv - 1.0).abs() < 0.03,
            "{mean} {cv}"
        );
        let (mean, cv) = mean_and_cv(Amount::Lognormal { mean_ns: 1e6, cv: 0.5 });
        assert!(
            (mean / 1e6 - 1.0).abs() < 0.02 && (cv - 0.5).abs() < 0.02,
            "{mean} {cv}"
        );
        let (mean, cv) = mean_and_cv(Amount::Uniform {
            min_ns: 0,
            max_ns: 2_000_000,
        });
        assert!(
            (mean / 1e6 - 1.0).abs() < 0.02 && (cv - 1.0 / 3f64.sqrt()).abs() < 0.02,
            "{mean} {cv}"
        );
    }

    #[test]
    fn streams_of_siblings_differ() {
        let numbers: std::collections::BTreeSet<u64> =
            (0..1000).map(|n| Stream::new(child_key(1, n)).next_u64()).collect();
        assert_eq!(numbers.len(), 1000);
    }
}
