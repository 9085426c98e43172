// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watts that nobody measured: all of them, or all but those of busy cores. Only ratios decide.

use crate::{Cpu, Kind, Machine, Opp};
use std::collections::BTreeMap;

/// A busy core of the fastest kind at its highest speed (assumed).
const CORE_UW: f64 = 10e6;
/// Volts at the lowest and the highest frequency of the machine (assumed).
const VOLTS: [f64; 2] = [0.7, 1.2];
/// An idle core over a busy one at the same speed, and the machine without its cores over all of these at their highest speed (assumed).
const IDLE: f64 = 0.1;
const REST: f64 = 0.25;

/// The machine with watts estimated from what any machine tells: the capacity of each kind of core and its frequencies.
///
/// P = 10 W * capacity * f / f_max * (V / 1.2 V)^2,  V from 0.7 to 1.2 V in proportion to f;  capacity of the fastest kind 1
///
/// The rest as [`modelled`] has it.
pub fn estimated(machine: &Machine) -> Machine {
    let mut estimated = machine.clone();
    let khz = || {
        machine
            .kinds
            .iter()
            .flat_map(|kind| kind.opps.iter().map(|opp| opp.khz as f64))
    };
    let (lowest, highest) = (khz().fold(f64::MAX, f64::min), khz().fold(0.0, f64::max));
    let share = |khz: f64| {
        if highest > lowest {
            (khz - lowest) / (highest - lowest)
        } else {
            1.0
        }
    };
    for kind in &mut estimated.kinds {
        let capacity = kind.top_rate() / machine.top_speed();
        for opp in &mut kind.opps {
            let volts = VOLTS[0] + (VOLTS[1] - VOLTS[0]) * share(opp.khz as f64);
            let busy_uw = CORE_UW * capacity * opp.khz as f64 / highest * (volts / VOLTS[1]).powi(2);
            opp.busy_uw = busy_uw.round() as u64;
        }
    }
    rest_estimated(estimated)
}

/// The machine as a kernel's energy model knows it: what a busy core draws at each operating point, but for those at which work takes as much energy as
/// at a higher one. The kernel calls these inefficient and does not use them.
///
/// The rest is estimated: an idle core draws a tenth of a busy one, the rest of the machine a quarter of all cores at their highest speed. Voltage
/// domains draw nothing themselves, and a parked core nothing at all.
pub fn modelled(machine: &Machine) -> Machine {
    let mut modelled = machine.clone();
    for kind in &mut modelled.kinds {
        kind.opps = efficient(&kind.opps);
        // By index of the operating points.
        kind.turbo.clear();
    }
    rest_estimated(modelled)
}

/// Lowest frequency first, as they were; the highest is always among them.
fn efficient(opps: &[Opp]) -> Vec<Opp> {
    let cost = |opp: &Opp| opp.busy_uw as f64 / opp.khz as f64;
    let mut kept: Vec<Opp> = Vec::new();
    for opp in opps.iter().rev() {
        if kept.last().is_none_or(|above| cost(opp) < cost(above)) {
            kept.push(opp.clone());
        }
    }
    kept.reverse();
    kept
}

fn rest_estimated(mut machine: Machine) -> Machine {
    for kind in &mut machine.kinds {
        for opp in &mut kind.opps {
            opp.idle_uw = (IDLE * opp.busy_uw as f64).round() as u64;
            opp.domain_uw = 0;
        }
        kind.idle_states.iter_mut().for_each(|state| state.power_uw = None);
    }
    if let Some(park) = &mut machine.park {
        park.power_uw = 0;
        park.domain_uw = park.domain_uw.map(|_| 0);
    }
    let top_uw = |kind: &Kind| kind.opps.last().map_or(0, |opp| opp.busy_uw);
    let of_core = |cpu: &Cpu| (cpu.core, top_uw(&machine.kinds[usize::from(cpu.kind)]));
    let cores: BTreeMap<u16, u64> = machine.cpus.iter().map(of_core).collect();
    machine.base_uw = (REST * cores.values().sum::<u64>() as f64).round() as u64;
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Performance cores have capacity 1 and run at up to 4700 MHz of 4700: 10 W at the top. At 800 MHz, the lowest frequency, 0.7 V: 10 * 800 / 4700 *
    /// (0.7 / 1.2)^2 = 0.579 W. Efficiency cores have 3.2 / 5.5 of the capacity; at 3400 MHz two thirds of the range, 1.033 V: 10 * 0.582 * 0.723 *
    /// 0.741 = 3.12 W. The rest draws a quarter of 4 * 10 + 8 * 3.12 W.
    #[test]
    fn watts_are_estimated_from_capacities_and_frequencies() {
        let estimated = estimated(&crate::load("laptop-hybrid", &[]).unwrap());
        let busy_w = |kind: usize, opp: usize| estimated.kinds[kind].opps[opp].busy_uw as f64 / 1e6;
        let near = |is: f64, expected: f64| assert!((is / expected - 1.0).abs() < 0.002, "{is}, expected {expected}");
        near(busy_w(0, 5), 10.0);
        near(busy_w(0, 0), 0.579);
        near(busy_w(1, 3), 3.118);
        near(estimated.base_uw as f64 / 1e6, 16.24);
        assert_eq!(estimated.kinds[0].opps[5].idle_uw, 1_000_000);
    }

    /// Busy watts are the machine's own. The rest draws a quarter of 4 * 17 + 8 * 3.5 W.
    #[test]
    fn an_energy_model_knows_busy_cores_only() {
        let machine = crate::load("laptop-hybrid", &[]).unwrap();
        let modelled = modelled(&machine);
        let busy = |machine: &Machine| machine.kinds[1].opps.iter().map(|opp| opp.busy_uw).collect::<Vec<_>>();
        assert_eq!(busy(&modelled), busy(&machine));
        assert_eq!(
            (modelled.kinds[0].opps[5].idle_uw, modelled.base_uw),
            (1_700_000, 24_000_000)
        );
    }

    /// 2 W at 1 GHz are more for each cycle than 3 W at 2 GHz; 1 W at 0.5 GHz is as much as at 1 GHz.
    #[test]
    fn points_that_save_nothing_are_left_out() {
        let opp = |(khz, busy_uw)| Opp {
            khz,
            busy_uw,
            mv: 0,
            idle_uw: 0,
            domain_uw: 0,
        };
        let left = |points: &[(u64, u64)]| {
            let kept = efficient(&points.iter().copied().map(opp).collect::<Vec<_>>());
            kept.iter().map(|opp| opp.khz).collect::<Vec<_>>()
        };
        assert_eq!(left(&[(1, 2), (2, 3), (3, 6)]), [2, 3]);
        assert_eq!(left(&[(1, 2), (2, 4)]), [2]);
        assert_eq!(left(&[(1, 1), (2, 4), (3, 5)]), [1, 3]);
    }
}
