// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power of a machine in a steady state, by the formula that the watts of machine files were fitted with.
//!
//! P = base + DRAM idle + sum over voltage domains of domain_w(OPP of highest voltage in it)
//!   + sum over cores of w(OPP, activity) * (V_domain / V_opp)^2
//!
//! A core that sleeps without holding the voltage counts at its lowest OPP in both sums. In an idle state with watts of its own the core is power-gated, so its
//! watts do not scale with the voltage.

use crate::{Cpu, Kind, Machine, Opp};

/// What one physical core does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreState {
    /// Index into the OPPs of its kind.
    pub opp: usize,
    pub activity: Activity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// In the idle state of this index.
    Idle(usize),
    /// This many of its threads busy, at least 1.
    Busy(usize),
}

/// Power of the whole machine, W. `cores` has one entry for each physical core, in order of number.
///
/// # Panics
/// `cores` is shorter than the machine has cores, or an index is out of range.
pub fn steady_power_w(machine: &Machine, cores: &[CoreState]) -> f64 {
    let first_cpu = first_cpus(machine);
    let mut highest: Vec<Option<&Opp>> = vec![None; machine.nr_voltage_domains];
    for (cpu, state) in first_cpu.iter().zip(cores) {
        let kind = &machine.kinds[usize::from(cpu.kind)];
        let opp = counts_at(kind, *state);
        let domain = &mut highest[usize::from(cpu.voltage_domain)];
        if domain.is_none_or(|other| (opp.mv, opp.domain_uw) > (other.mv, other.domain_uw)) {
            *domain = Some(opp);
        }
    }
    let domains: f64 = highest.iter().flatten().map(|opp| opp.domain_uw as f64).sum();
    let cores = first_cpu.iter().enumerate().map(|(core, cpu)| {
        let domain_mv = highest[usize::from(cpu.voltage_domain)].map_or(0, |opp| opp.mv);
        core_power_uw(machine, cpu, cores[core], domain_mv)
    });
    (machine.base_uw as f64 + machine.dram.idle_uw as f64 + domains + cores.sum::<f64>()) / 1e6
}

/// The first CPU of every core, in order of core.
fn first_cpus(machine: &Machine) -> Vec<&Cpu> {
    let mut first: Vec<Option<&Cpu>> = vec![None; machine.nr_cores];
    for cpu in &machine.cpus {
        first[usize::from(cpu.core)].get_or_insert(cpu);
    }
    first.into_iter().flatten().collect()
}

/// The OPP at which a core counts.
fn counts_at(kind: &Kind, state: CoreState) -> &Opp {
    let holds = match state.activity {
        Activity::Idle(index) => kind.idle_states[index].holds_voltage,
        Activity::Busy(_) => true,
    };
    &kind.opps[if holds { state.opp } else { 0 }]
}

fn core_power_uw(machine: &Machine, cpu: &Cpu, state: CoreState, domain_mv: u32) -> f64 {
    let kind = &machine.kinds[usize::from(cpu.kind)];
    let opp = counts_at(kind, state);
    let scale = (f64::from(domain_mv) / f64::from(opp.mv)).powi(2);
    match state.activity {
        Activity::Idle(index) => match kind.idle_states[index].power_uw {
            Some(gated) => gated as f64,
            None => opp.idle_uw as f64 * scale,
        },
        Activity::Busy(threads) => {
            let further = threads.saturating_sub(1) as f64;
            let above_idle = (opp.busy_uw - opp.idle_uw) as f64 * (1.0 + kind.smt_power * further);
            (opp.idle_uw as f64 + above_idle) * scale
        }
    }
}
