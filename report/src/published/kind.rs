// SPDX-License-Identifier: MIT OR Apache-2.0
//! What agreement with a published figure shows, derived from where the parameters are from.

use super::compare::{base, found};
use super::{Change, Figure, Measure, Ours, Selection};
use crate::model::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// What agreement with a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A parameter was chosen by looking at it.
    Fitted,
    /// A closed form of settings gives ours, or arithmetic with figures of the study that are fitted or have one.
    Identity,
    /// Neither.
    Prediction,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Identity => "identity",
            Self::Prediction => "prediction",
        }
    }
}

/// Ours may differ from a closed form by this share: by what switching, waking and uneven steps cost.
const SAME: f64 = 0.01;

/// The kind of each figure of a study.
pub(super) fn kinds(figures: &[(&Figure, Option<&Ours>)], results: &[RunResult]) -> Vec<Kind> {
    let mut known = Known::default();
    let forms: Vec<Option<Form>> = (figures.iter())
        .map(|(figure, _)| form(figure.selection.as_ref()?, results))
        .collect();
    let first: Vec<Kind> = (figures.iter())
        .map(|(figure, ours)| match figure.is_fitted {
            true => Kind::Fitted,
            false if has_closed_form(figure, *ours) => Kind::Identity,
            false => Kind::Prediction,
        })
        .collect();
    for (form, kind) in forms.iter().zip(&first) {
        if let (Some(form), Kind::Fitted | Kind::Identity) = (form, kind) {
            known.add(form.clone());
        }
    }
    (first.into_iter().zip(forms))
        .map(|(kind, form)| match (kind, form) {
            (Kind::Prediction, Some(form)) if known.gives(form.clone()) => Kind::Identity,
            (kind, _) => kind,
        })
        .collect()
}

fn has_closed_form(figure: &Figure, ours: Option<&Ours>) -> bool {
    let (Some(closed), Some(Ours::Number(ours)), Some(selection)) = (figure.closed_form, ours, &figure.selection)
    else {
        return false;
    };
    let ours = match selection.change {
        None => *ours,
        Some(Change::More) => 1.0 + ours / 100.0,
        Some(Change::Less) => 1.0 - ours / 100.0,
    };
    (ours - closed).abs() <= SAME * closed.abs()
}

/// The logarithm of a figure as a sum of times (key 2 i) and powers (2 i + 1) of results i, each with its factor: energy is time and power, EDP is
/// energy and time, and a ratio is a difference.
type Form = BTreeMap<usize, f64>;

/// `None`: no such sum, or one of several results.
fn form(selection: &Selection, results: &[RunResult]) -> Option<Form> {
    let factors = match selection.measure {
        Measure::Time => [1.0, 0.0],
        Measure::Power => [0.0, 1.0],
        Measure::Energy => [1.0, 1.0],
        Measure::Edp => [2.0, 1.0],
        _ => return None,
    };
    let mut form = Form::new();
    let mut add = |index: usize, sign: f64| {
        for (key, factor) in [2 * index, 2 * index + 1].into_iter().zip(factors) {
            *form.entry(key).or_default() += sign * factor;
        }
    };
    let [own] = found(selection, results)[..] else {
        return None;
    };
    add(own, 1.0);
    if let Some(over) = &selection.over {
        let [base] = base(over, selection, own, results).ok()?[..] else {
            return None;
        };
        add(base, -1.0);
    }
    form.retain(|_, factor| *factor != 0.0);
    Some(form)
}

/// All sums of some forms, by Gaussian elimination.
#[derive(Default)]
struct Known {
    /// None has a key that is the first of an earlier one.
    forms: Vec<Form>,
}

impl Known {
    fn add(&mut self, form: Form) {
        let form = self.left_of(form);
        if !form.is_empty() {
            self.forms.push(form);
        }
    }

    fn gives(&self, form: Form) -> bool {
        self.left_of(form).is_empty()
    }

    fn left_of(&self, mut form: Form) -> Form {
        for known in &self.forms {
            let Some((first, factor)) = known.first_key_value() else {
                continue;
            };
            let Some(times) = form.get(first).map(|own| own / factor) else {
                continue;
            };
            for (key, factor) in known {
                *form.entry(*key).or_default() -= times * factor;
            }
            form.retain(|_, factor| factor.abs() > 1e-9);
        }
        form
    }
}
