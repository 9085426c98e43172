// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the policy is told of a machine's watts and speeds: which rules `auto` has use for, and the green speed.

use super::plan::mw;
use super::Rates;
use lop_machine::Machine;
use lop_policy as policy;

/// Operating points of a kind of core for work of this memory share.
fn green_opps(kind: &lop_machine::Kind, memory_share: f64) -> Vec<policy::GreenOpp> {
    let top_rate = kind.rate(kind.opps.len() - 1, memory_share);
    let opp = |o: usize| policy::GreenOpp {
        busy_mw: mw(kind.opps[o].busy_uw),
        idle_mw: mw(kind.opps[o].idle_uw),
        rate_permille: (1000.0 * kind.rate(o, memory_share) / top_rate).round() as u32,
    };
    (0..kind.opps.len()).map(opp).collect()
}

/// By clock domain: the frequency index of the most energy-efficient OPP for the workload's most memory-bound work.
pub(super) fn green_indices(machine: &Machine, rates: &Rates) -> Vec<usize> {
    let memory_share = rates.memory_shares.iter().copied().fold(0.0, f64::max);
    let clocks = crate::clocks::Clocks::new(machine);
    let of_domain = |domain: &crate::clocks::ClockDomain| {
        let kind = &machine.kinds[usize::from(machine.cpus[domain.cpus[0]].kind)];
        let opps = green_opps(kind, memory_share);
        domain.at_least(kind.opps[policy::green_opp(&opps, true)].khz)
    };
    clocks.domains.iter().map(of_domain).collect()
}

/// SF up to which work counts as hardly gaining from speed (policy/sets/demand.h).
const HARDLY_GAINS: f64 = 1.2;

/// Logical CPUs of the core that has most.
fn most_threads(machine: &Machine) -> u32 {
    let mut threads = vec![0; machine.nr_cores];
    for cpu in &machine.cpus {
        threads[usize::from(cpu.core)] += 1;
    }
    threads.into_iter().max().unwrap_or(1)
}

/// What of a machine decides which rules `auto` has use for. Watts of the first kind of core; a low one is parked where the machine can. Speeds are
/// those of work that just counts as hardly gaining: SF = (1 - m) * f_top / f_low + m.
pub(super) fn traits(machine: &Machine, rise_ns: u64) -> policy::Traits {
    let kind = &machine.kinds[0];
    let (low, top) = (&kind.opps[0], &kind.opps[kind.opps.len() - 1]);
    let low_uw = machine.park.map_or(low.idle_uw, |park| park.power_uw);
    let low_domain_uw = machine.park.and_then(|park| park.domain_uw).unwrap_or(low.domain_uw);
    let others_uw = (machine.nr_cores as u64 - 1) * low_uw;
    let ratio = top.khz as f64 / low.khz as f64;
    let memory_share = if ratio > HARDLY_GAINS {
        (ratio - HARDLY_GAINS) / (ratio - 1.0)
    } else {
        0.0
    };
    let opps = green_opps(kind, memory_share);
    policy::Traits {
        nr_memory_domains: machine.nr_memory_domains as u32,
        nr_tiers: machine.kinds.len() as u32,
        threads: most_threads(machine),
        machine_mw: mw(machine.base_uw + top.busy_uw + top.domain_uw + others_uw),
        core_mw: mw(top.idle_uw.saturating_sub(low_uw)),
        domain_mw: mw(top.domain_uw.saturating_sub(low_domain_uw)),
        rise_ns,
        domain_rise_ns: rise_ns + machine.park.map_or(0, |park| park.domain_exit_ns),
        green: opps[policy::green_opp(&opps, true)],
        top: opps[opps.len() - 1],
    }
}
