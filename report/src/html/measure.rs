//! What is plotted: a number of each result, its confidence, its bound, its unit.

use crate::model::{Report, RunResult};
use crate::number::{Large, Scale};

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
}

pub(crate) const TIME: Measure = Measure {
    name: "time",
    unit: "s",
    energy: false,
    large: Large::Plain,
    value: |r| r.time_s,
    half_width: |r| r.ci95.map(|i| i.time_s),
    bound: |r| r.bounds.time_s,
};

/// Against the first policy of the point. Its interval is that of the policy's own mean in the same unit; the first policy's is
/// not added to it.
pub(crate) const RELATIVE_TIME: Measure = Measure {
    name: "time relative to the first policy",
    unit: "",
    energy: false,
    large: Large::Plain,
    value: |r| r.relative.time,
    half_width: |r| r.ci95.map(|i| relative(r, i.time_s)),
    bound: |r| relative(r, r.bounds.time_s),
};

pub(crate) const ENERGY: Measure = Measure {
    name: "energy",
    unit: "J",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.system_energy_j,
    half_width: |r| r.ci95.map(|i| i.system_energy_j),
    bound: |r| r.bounds.system_energy_j,
};

/// Both factors have a bound, so their product has one.
pub(crate) const EDP: Measure = Measure {
    name: "energy-delay product",
    unit: "J s",
    energy: true,
    large: Large::FromThousand,
    value: |r| r.edp_js,
    half_width: |r| r.ci95.map(|i| i.edp_js),
    bound: |r| r.bounds.time_s * r.bounds.system_energy_j,
};

fn relative(result: &RunResult, seconds: f64) -> f64 {
    if result.time_s > 0.0 {
        seconds * result.relative.time / result.time_s
    } else {
        0.0
    }
}

impl Measure {
    /// Scale for these results with everything that is drawn of them.
    pub fn scale(&self, results: &[&RunResult]) -> Scale {
        Scale::fit(results.iter().map(|r| (self.value)(r)), self.unit, self.large)
    }

    /// "time (s)", "energy (kJ, modelled)".
    pub fn axis_label(&self, scale: &Scale, report: &Report) -> String {
        match (self.unit.is_empty(), self.energy) {
            (true, _) => format!("{} (1 = the same)", self.name),
            (false, true) => format!("{} ({}, {})", self.name, scale.unit, report.energy_source),
            (false, false) => format!("{} ({})", self.name, scale.unit),
        }
    }
}
