// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is plotted: a number of each result, its confidence, its bound, its unit.

use crate::model::{Report, RunResult};
use crate::number::{Large, Scale};
use crate::published::{self, marks, Mark};
use crate::rows::response_s;

pub(crate) struct Measure {
    pub name: &'static str,
    /// Empty for shares.
    pub unit: &'static str,
    /// It contains energy, so the axis says where that comes from.
    pub energy: bool,
    pub large: Large,
    pub value: fn(&RunResult) -> f64,
    /// Half-width of the 95 % confidence interval of the mean.
    pub half_width: fn(&RunResult) -> Option<f64>,
    /// What no schedule can beat.
    pub bound: fn(&RunResult) -> f64,
    /// The published numbers that are drawn with it: of which measure, and whether (true) as ratios to the first policy.
    pub published: (published::Measure, bool),
}

pub(crate) const TIME: Measure = Measure {
    name: "time",
    unit: "s",
    energy: false,
    large: Large::Plain,
    value: |r| r.time_s,
    half_width: |r| r.ci95.map(|i| i.time_s),
    bound: |r| r.bounds.time_s,
    published: (published::Measure::Time, false),
};

/// Against the first policy of the point. The interval is that of the policy's own mean in the same unit; the first policy's is
/// not added to it.
pub(crate) const RELATIVE_TIME: Measure = Measure {
    name: "relative time",
    unit: "",
    energy: false,
    large: Large::Plain,
    value: |r| r.relative.time,
    half_width: |r| r.ci95.map(|i| in_unit(i.time_s, r.relative.time, r.time_s)),
    bound: |r| in_unit(r.bounds.time_s, r.relative.time, r.time_s),
    published: (published::Measure::Time, true),
};

pub(crate) const RELATIVE_ENERGY: Measure = Measure {
    name: "relative energy",
    unit: "",
    energy: true,
    large: Large::Plain,
    value: |r| r.relative.system_energy,
    half_width: |r| {
        r.ci95
            .map(|i| in_unit(i.system_energy_j, r.relative.system_energy, r.system_energy_j))
    },
    bound: |r| in_unit(r.bounds.system_energy_j, r.relative.system_energy, r.system_energy_j),
    published: (published::Measure::Energy, true),
};

pub(crate) const RELATIVE_EDP: Measure = Measure {
    name: "relative EDP",
    unit: "",
    energy: true,
    large: Large::Plain,
    value: |r| r.relative.edp,
    half_width: |r| r.ci95.map(|i| in_unit(i.edp_js, r.relative.edp, r.edp_js)),
    bound: |r| in_unit((EDP.bound)(r), r.relative.edp, r.edp_js),
    published: (published::Measure::Edp, true),
};

pub(crate) const ENERGY: Measure = Measure {
    name: "energy",
    unit: "J",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.system_energy_j,
    half_width: |r| r.ci95.map(|i| i.system_energy_j),
    bound: |r| r.bounds.system_energy_j,
    published: (published::Measure::Energy, false),
};

/// Drawn where powers were published.
pub(crate) const POWER: Measure = Measure {
    name: "power",
    unit: "W",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.system_power_w,
    half_width: |_| None,
    bound: |_| 0.0,
    published: (published::Measure::Power, false),
};

/// Both factors have a bound, so their product has one.
pub(crate) const EDP: Measure = Measure {
    name: "EDP",
    unit: "J s",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.edp_js,
    half_width: |r| r.ci95.map(|i| i.edp_js),
    bound: |r| r.bounds.time_s * r.bounds.system_energy_j,
    published: (published::Measure::Edp, false),
};

/// How late work is whose end the clock sets; 0 for other work. No lower bound is known for it.
pub(crate) const RESPONSE: Measure = Measure {
    name: "mean response",
    unit: "s",
    energy: false,
    large: Large::Plain,
    value: |r| response_s(r).unwrap_or(0.0),
    half_width: |_| None,
    bound: |_| 0.0,
    published: (published::Measure::None, false),
};

pub(crate) const RESPONSE_EDP: Measure = Measure {
    name: "EDP, energy times mean response",
    unit: "J s",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.system_energy_j * response_s(r).unwrap_or(0.0),
    half_width: |_| None,
    bound: |_| 0.0,
    published: (published::Measure::None, false),
};

/// What half of the cores being slow costs of what all of them being slow costs, of results that have a class. The whisker is the
/// standard deviation of the runs, not the confidence of their mean.
pub(crate) const LOSS: Measure = Measure {
    name: "loss with half of the cores slow",
    unit: "% of that with all slow",
    energy: false,
    large: Large::Plain,
    value: |r| r.class.as_ref().map_or(0.0, |class| 100.0 * class.loss),
    half_width: |r| r.class.as_ref().map(|class| 100.0 * class.deviation),
    bound: |_| 0.0,
    published: (published::Measure::None, false),
};

/// `amount` in the unit in which the result's own `value` is `relative`.
fn in_unit(amount: f64, relative: f64, value: f64) -> f64 {
    if value > 0.0 {
        amount * relative / value
    } else {
        0.0
    }
}

impl Measure {
    /// What was published of these results.
    pub fn marks<'a>(&self, report: &Report, results: &[&'a RunResult]) -> Vec<Mark<'a>> {
        marks(report, results, self.published.0, self.published.1)
    }

    /// Scale for these results with everything that is drawn of them.
    pub fn scale(&self, results: &[&RunResult]) -> Scale {
        Scale::fit(results.iter().map(|r| (self.value)(r)), self.unit, self.large)
    }

    /// What the numbers on the axis are: "s", "kJ, modelled", "1 = highlow".
    pub fn axis_unit(&self, scale: &Scale, report: &Report) -> String {
        let unit = match report.results.first() {
            Some(first) if self.unit.is_empty() => format!("1 = {}", first.policy),
            _ => scale.unit.clone(),
        };
        if self.energy {
            format!("{unit}, {}", report.energy_source)
        } else {
            unit
        }
    }
}
