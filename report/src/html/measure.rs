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
    /// 95 % confidence interval, from low to high.
    pub interval: fn(&RunResult) -> Option<[f64; 2]>,
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
    interval: |r| Some(r.ci95?.time_s),
    bound: |r| r.bounds.time_s,
    published: (published::Measure::Time, false),
};

/// Against the first policy of the point, in pairs of runs.
pub(crate) const RELATIVE_TIME: Measure = Measure {
    name: "relative time",
    unit: "",
    energy: false,
    large: Large::Plain,
    value: |r| r.relative.time,
    interval: |r| Some(r.relative_ci95?.time),
    bound: |r| r.relative_bounds.time,
    published: (published::Measure::Time, true),
};

pub(crate) const RELATIVE_ENERGY: Measure = Measure {
    name: "relative energy",
    unit: "",
    energy: true,
    large: Large::Plain,
    value: |r| r.relative.system_energy,
    interval: |r| Some(r.relative_ci95?.system_energy),
    bound: |r| r.relative_bounds.system_energy,
    published: (published::Measure::Energy, true),
};

pub(crate) const RELATIVE_EDP: Measure = Measure {
    name: "relative EDP",
    unit: "",
    energy: true,
    large: Large::Plain,
    value: |r| r.relative.edp,
    interval: |r| Some(r.relative_ci95?.edp),
    bound: |r| r.relative_bounds.edp,
    published: (published::Measure::Edp, true),
};

pub(crate) const ENERGY: Measure = Measure {
    name: "energy",
    unit: "J",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.energy.map_or(0.0, |energy| energy.system_energy_j),
    interval: |r| r.ci95?.system_energy_j,
    bound: |r| r.bounds.system_energy_j.unwrap_or(0.0),
    published: (published::Measure::Energy, false),
};

/// Drawn where powers were published.
pub(crate) const POWER: Measure = Measure {
    name: "power",
    unit: "W",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.energy.map_or(0.0, |energy| energy.system_power_w),
    interval: |_| None,
    bound: |_| 0.0,
    published: (published::Measure::Power, false),
};

/// Both factors have a bound, so their product has one.
pub(crate) const EDP: Measure = Measure {
    name: "EDP",
    unit: "J s",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.energy.map_or(0.0, |energy| energy.edp_js),
    interval: |r| r.ci95?.edp_js,
    bound: |r| r.bounds.time_s * (ENERGY.bound)(r),
    published: (published::Measure::Edp, false),
};

/// How late work is whose end the clock sets; 0 for other work. No lower bound is known for it.
pub(crate) const RESPONSE: Measure = Measure {
    name: "mean response",
    unit: "s",
    energy: false,
    large: Large::Plain,
    value: |r| response_s(r).unwrap_or(0.0),
    interval: |_| None,
    bound: |_| 0.0,
    published: (published::Measure::None, false),
};

pub(crate) const RESPONSE_EDP: Measure = Measure {
    name: "EDP, energy times mean response",
    unit: "J s",
    energy: true,
    large: Large::FromThousand,
    value: |r| (ENERGY.value)(r) * response_s(r).unwrap_or(0.0),
    interval: |_| None,
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
    interval: |r| {
        let class = r.class.as_ref()?;
        Some([class.loss - class.deviation, class.loss + class.deviation].map(|end| 100.0 * end))
    },
    bound: |_| 0.0,
    published: (published::Measure::None, false),
};

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
