// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one rule for watts of another processor: what is handed to the writers has ratios and no W, J or J s. Times stay. Every output names the donor by
//! `energy_source`, the name of the meter, or the unit of power.

use crate::comparison::{Compared, Comparison, Modelled};
use crate::model::{Bounds, Interval, PowerChange, Report, RunResult, Timeline};
use serde_json::{Map, Value};

/// Where the watts are those of another processor.
pub(crate) const ONLY_RATIOS: &str =
    "Energies are ratios only, as the watts are another processor's; 'lop machine measure' measures this machine's.";

impl Report {
    /// Whether a result has no W, J or J s.
    pub(crate) fn has_only_ratios(&self) -> bool {
        self.results.iter().any(|result| result.energy.is_none())
    }
}

impl RunResult {
    #[must_use]
    pub fn only_ratios(self) -> Self {
        let time_of = |ci95: Interval| Interval {
            system_energy_j: None,
            edp_js: None,
            ..ci95
        };
        Self {
            energy: None,
            bounds: time_bound(self.bounds),
            ci95: self.ci95.map(time_of),
            counters: without_joules(self.counters),
            ..self
        }
    }
}

impl Timeline {
    /// Power in units of `unit_uw`, which `unit` names.
    #[must_use]
    pub fn only_ratios(mut self, unit_uw: f64, unit: String) -> Self {
        let ratio =
            |change: &mut PowerChange| change.millionths = (change.millionths as f64 / unit_uw * 1e6).round() as u64;
        self.power.iter_mut().for_each(ratio);
        Self {
            power_unit: unit,
            ..self
        }
    }
}

impl Comparison {
    #[must_use]
    pub fn only_ratios(self) -> Self {
        Self {
            idle_before_w: None,
            idle_after_w: None,
            results: self.results.into_iter().map(Compared::only_ratios).collect(),
            ..self
        }
    }
}

impl Compared {
    fn only_ratios(self) -> Self {
        let modelled = |modelled: Modelled| Modelled {
            bounds: time_bound(modelled.bounds),
            counters: without_joules(modelled.counters),
            ..modelled
        };
        Self {
            energies_j: Vec::new(),
            cpu_energy_j: None,
            power_w: None,
            energy_j: None,
            net_energy_j: None,
            edp_js: None,
            modelled: self.modelled.map(modelled),
            ..self
        }
    }
}

fn time_bound(bounds: Bounds) -> Bounds {
    Bounds {
        system_energy_j: None,
        ..bounds
    }
}

fn without_joules(counters: Map<String, Value>) -> Map<String, Value> {
    let is_ratio = |(name, _): &(String, Value)| !name.ends_with("_j");
    counters.into_iter().filter(is_ratio).collect()
}
