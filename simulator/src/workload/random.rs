// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random draws that are the same on every machine: a fixed generator, and mathematical functions in software.

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg32;

/// A seeded generator. Pools draw from different `stream`s.
pub(super) struct Random(Pcg32);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(Pcg32::new(seed, stream))
    }

    /// Uniform in (0, 1), without the ends, whose quantiles are infinite.
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Uniform in `0..bound`: the high half of a product (bias below bound / 2^64).
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

/// `count` draws of a lognormal distribution, one in each of as many strata of equal probability, in random order, scaled so
/// that they add up to `total_ns` exactly.
///
/// With coefficient of variation c: sigma^2 = ln(1 + c^2). Scaling sets the mean. Stratified, because with c = 4 the sum and spread of a plain sample
/// would depend on a handful of draws.
pub(super) fn lognormal_parts(random: &mut Random, count: usize, total_ns: u64, cv: f64) -> Vec<u64> {
    let sigma = libm::sqrt(libm::log1p(cv * cv));
    let mut weights: Vec<f64> = (0..count)
        .map(|stratum| libm::exp(sigma * normal_quantile((stratum as f64 + random.unit()) / count as f64)))
        .collect();
    random.shuffle(&mut weights);
    apportion(total_ns, &weights)
}

/// Splits `total` into integer parts by weight. They add up to it exactly, each within 1 of its share.
pub(super) fn apportion(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let (mut before, mut cumulated) = (0, 0.0);
    let last = weights.len().saturating_sub(1);
    let until = |index: usize, cumulated: f64| match index == last {
        true => total,
        false => (libm::round(total as f64 * (cumulated / sum)) as u64).min(total),
    };
    let part = |(index, weight): (usize, &f64)| {
        cumulated += weight;
        let end = until(index, cumulated).max(before);
        let part = end - before;
        before = end;
        part
    };
    weights.iter().enumerate().map(part).collect()
}

/// Quantile of the standard normal distribution, to about 1e-16: algorithm AS 241 (PPND16), M. J. Wichura, "The percentage
/// points of the normal distribution", Applied Statistics 37 (1988), 477-484. Infinite at 0 and 1.
pub(super) fn normal_quantile(probability: f64) -> f64 {
    let q = probability - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let r = libm::sqrt(-libm::log(if q < 0.0 { probability } else { 1.0 - probability }));
    let (shift, (above, below)) = if r <= 5.0 { (1.6, &MIDDLE) } else { (5.0, &TAIL) };
    let value = polynomial(above, r - shift) / polynomial(below, r - shift);
    if q < 0.0 {
        -value
    } else {
        value
    }
}

fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Coefficients of numerator and denominator by rising power.
type Ratio = ([f64; 8], [f64; 8]);

#[rustfmt::skip]
const CENTRE: Ratio = (
    [3.387_132_872_796_366_5, 1.331_416_678_917_843_8e2, 1.971_590_950_306_551_3e3, 1.373_169_376_550_946e4,
     4.592_195_393_154_987e4, 6.726_577_092_700_87e4, 3.343_057_558_358_813e4, 2.509_080_928_730_122_7e3],
    [1.0, 4.231_333_070_160_091e1, 6.871_870_074_920_579e2, 5.394_196_021_424_751e3,
     2.121_379_430_158_659_7e4, 3.930_789_580_009_271e4, 2.872_908_573_572_194_3e4, 5.226_495_278_852_854e3],
);
#[rustfmt::skip]
const MIDDLE: Ratio = (
    [1.423_437_110_749_683_6, 4.630_337_846_156_546, 5.769_497_221_460_691, 3.647_848_324_763_204_5,
     1.270_458_252_452_368_4, 2.417_807_251_774_506e-1, 2.272_384_498_926_918_4e-2, 7.745_450_142_783_414e-4],
    [1.0, 2.053_191_626_637_759, 1.676_384_830_183_803_8, 6.897_673_349_851e-1,
     1.481_039_764_274_800_8e-1, 1.519_866_656_361_645_7e-2, 5.475_938_084_995_345e-4, 1.050_750_071_644_416_9e-9],
);
#[rustfmt::skip]
const TAIL: Ratio = (
    [6.657_904_643_501_103, 5.463_784_911_164_114, 1.784_826_539_917_291_3, 2.965_605_718_285_048_7e-1,
     2.653_218_952_657_612_4e-2, 1.242_660_947_388_078_4e-3, 2.711_555_568_743_487_6e-5, 2.010_334_399_292_288_1e-7],
    [1.0, 5.998_322_065_558_88e-1, 1.369_298_809_227_358e-1, 1.487_536_129_085_061_5e-2,
     7.868_691_311_456_133e-4, 1.846_318_317_510_054_8e-5, 1.421_511_758_316_446e-7, 2.044_263_103_389_939_8e-15],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for p in [1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.999] {
            let back = 0.5 * libm::erfc(-normal_quantile(p) / std::f64::consts::SQRT_2);
            assert!((back - p).abs() <= 1e-14 + 1e-12 * p, "{p}: {back}");
        }
    }

    #[test]
    fn quantile_of_a_known_point() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
    }

    #[test]
    fn parts_add_up_exactly_whatever_the_weights() {
        for weights in [vec![1.0], vec![0.1; 7], vec![1e-9, 1.0, 1e9]] {
            let parts = apportion(1_000_003, &weights);
            assert_eq!(parts.iter().sum::<u64>(), 1_000_003, "{weights:?}");
            assert_eq!(parts.len(), weights.len());
        }
    }

    #[test]
    fn apportioned_in_proportion() {
        assert_eq!(apportion(100, &[1.0, 3.0, 6.0]), [10, 30, 60]);
    }

    #[test]
    fn without_variation_all_parts_are_equal() {
        let parts = lognormal_parts(&mut Random::new(1, 0), 10, 1_000, 0.0);
        assert_eq!(parts, [100; 10]);
    }

    #[test]
    fn generator_is_pinned() {
        let mut random = Random::new(42, 54);
        // first output of the PCG reference implementation (pcg32-demo, seed 42, stream 54): 0xa15c02b7, 0x7b47f409
        let first = ((0x7b47_f409_a15c_02b7_u64 >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        assert_eq!(random.unit(), first);
    }
}
