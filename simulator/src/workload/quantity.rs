// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks numbers from files and converts them to ns.

use super::model::{Amount, Waiting};
use super::schema::{RawAmount, RawWaiting};

/// Longest time and most work of one step, in s: 30 years.
pub(super) const MAX_SECONDS: f64 = 1e9;

/// Largest coefficient of variation. A larger one is taken for a mistake.
const MAX_CV: f64 = 1000.0;

/// `value` units of `unit_ns` in whole ns.
///
/// # Errors
/// Not a number, negative, or above [`MAX_SECONDS`].
pub(super) fn to_ns(value: f64, unit_ns: f64) -> Result<u64, String> {
    checked(value, unit_ns).map(|ns| libm::round(ns) as u64)
}

fn checked(value: f64, unit_ns: f64) -> Result<f64, String> {
    if !value.is_finite() || value < 0.0 {
        return Err(format!("expected a number from 0, found {value}"));
    }
    let ns = value * unit_ns;
    if ns > MAX_SECONDS * 1e9 {
        return Err(format!("expected at most {MAX_SECONDS:e} s, found {:e} s", ns / 1e9));
    }
    Ok(ns)
}

/// An amount in ns; `unit_ns` includes a scale where there is one.
pub(super) fn amount(raw: RawAmount, unit_ns: f64) -> Result<Amount, String> {
    match raw {
        RawAmount::Fixed(value) => Ok(Amount::Fixed(to_ns(value, unit_ns)?)),
        RawAmount::Uniform { min, max } => {
            let (min_ns, max_ns) = (to_ns(min, unit_ns)?, to_ns(max, unit_ns)?);
            if min > max {
                return Err(format!("expected min <= max, found {min} and {max}"));
            }
            Ok(Amount::Uniform { min_ns, max_ns })
        }
        RawAmount::Exponential { mean } => Ok(Amount::Exponential {
            mean_ns: checked(mean, unit_ns)?,
        }),
        RawAmount::Lognormal { mean, cv } => {
            let mean_ns = checked(mean, unit_ns)?;
            Ok(Amount::Lognormal {
                mean_ns,
                cv: variation(cv)?,
            })
        }
    }
}

/// A coefficient of variation.
pub(super) fn variation(cv: f64) -> Result<f64, String> {
    match (0.0..=MAX_CV).contains(&cv) {
        true => Ok(cv),
        false => Err(format!(
            "expected a coefficient of variation from 0 to {MAX_CV}, found {cv}"
        )),
    }
}

/// A share from 0 to 1.
pub(super) fn share(value: f64) -> Result<f64, String> {
    match (0.0..=1.0).contains(&value) {
        // `+ 0.0` turns -0.0 into 0.0.
        true => Ok(value + 0.0),
        false => Err(format!("expected a share from 0 to 1, found {value}")),
    }
}

/// A whole number in `min..=max`; `what` names its unit.
pub(super) fn whole<T: Into<i128>>(value: T, min: i128, max: i128, what: &str) -> Result<i128, String> {
    let value = value.into();
    match (min..=max).contains(&value) {
        true => Ok(value),
        false => Err(format!("expected {what} from {min} to {max}, found {value}")),
    }
}

pub(super) fn waiting(raw: RawWaiting) -> Result<Waiting, String> {
    Ok(match raw {
        RawWaiting::Block => Waiting::Block,
        RawWaiting::Spin => Waiting::Spin,
        RawWaiting::Stall => Waiting::Stall,
        RawWaiting::SpinUs(us) => Waiting::SpinThenBlock {
            limit_ns: to_ns(us, 1e3)?,
        },
        RawWaiting::NotifyUs(us) => Waiting::SpinThenNotify {
            after_ns: to_ns(us, 1e3)?,
        },
    })
}

/// Mean of an amount in ns.
pub(crate) fn mean_ns(amount: Amount) -> f64 {
    match amount {
        Amount::Fixed(ns) => ns as f64,
        Amount::Uniform { min_ns, max_ns } => (min_ns as f64 + max_ns as f64) / 2.0,
        Amount::Exponential { mean_ns } | Amount::Lognormal { mean_ns, .. } => mean_ns,
    }
}
