// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the policy is told about a machine: its shape, and what its cores cost. The simulator, the kernel's loader and the agent all ask here, so that
//! `auto` has the same rules on a machine and on its model.

use crate::{Kind, Machine};
use lop_policy::{Config, Named, Point, Rung, Traits};

fn mw(uw: u64) -> u32 {
    u32::try_from(uw / 1000).unwrap_or(u32::MAX)
}

/// Rates and speeds, x 1000; at least 1.
fn permille(part: f64, whole: f64) -> u32 {
    ((1000.0 * part / whole).round() as u32).max(1)
}

/// Most SMT threads of any core.
fn most_threads(machine: &Machine) -> u32 {
    let mut threads = vec![0; machine.nr_cores];
    for cpu in &machine.cpus {
        threads[usize::from(cpu.core)] += 1;
    }
    threads.into_iter().max().unwrap_or(1)
}

/// Until a low core runs at the highest speed.
pub fn rise_ns(machine: &Machine) -> u64 {
    machine.cpufreq.transition_ns + machine.park.map_or(0, |park| park.exit_ns)
}

/// What `auto` chooses its rules by. Watts are those of the first kind of core; a low core is parked if the machine can park.
pub fn traits(machine: &Machine) -> Traits {
    let kind = &machine.kinds[0];
    let (low, top) = (&kind.opps[0], &kind.opps[kind.opps.len() - 1]);
    let low_uw = machine.park.map_or(low.idle_uw, |park| park.power_uw);
    let low_domain_uw = machine.park.and_then(|park| park.domain_uw).unwrap_or(low.domain_uw);
    let others_uw = (machine.nr_cores as u64 - 1) * low_uw;
    Traits {
        nr_memory_domains: machine.nr_memory_domains as u32,
        nr_tiers: machine.kinds.len() as u32,
        threads_per_core: most_threads(machine),
        machine_mw: mw(machine.base_uw + top.busy_uw + top.domain_uw + others_uw),
        core_mw: mw(top.idle_uw.saturating_sub(low_uw)),
        domain_mw: mw(top.domain_uw.saturating_sub(low_domain_uw)),
        rise_ns: rise_ns(machine),
        domain_rise_ns: rise_ns(machine) + machine.park.map_or(0, |park| park.domain_exit_ns),
    }
}

/// Every kind of core at each of its speeds, for work that scales with the frequency.
pub fn points(machine: &Machine) -> Vec<Point> {
    let of_kind = |(tier, kind): (usize, &Kind)| {
        let lowest = &kind.opps[0];
        let deepest_uw = kind.idle_states.iter().filter_map(|state| state.power_uw).min();
        let sleep_uw = deepest_uw.unwrap_or(lowest.idle_uw).min(lowest.idle_uw);
        let top_khz = kind.opps[kind.opps.len() - 1].khz as f64;
        let point = |opp: usize| Point {
            at: Rung {
                tier: tier as u16,
                speed_permille: permille(kind.opps[opp].khz as f64, top_khz) as u16,
                rate_permille: permille(kind.rate(opp, 0.0), machine.top_speed()),
            },
            busy_mw: mw(kind.opps[opp].busy_uw),
            sleep_mw: mw(sleep_uw),
            shared_mw: mw(kind.opps[opp].domain_uw.saturating_sub(lowest.domain_uw)),
        };
        (0..kind.opps.len()).map(point).collect::<Vec<_>>()
    };
    machine.kinds.iter().enumerate().flat_map(of_kind).collect()
}

/// The configuration that a policy's name stands for on this machine; `auto` without the rules that the machine has no use for.
pub fn config(policy: Named, hold_ns: u64, machine: &Machine) -> Config {
    let config = Config::of(policy, hold_ns);
    match policy {
        Named::Auto => config.leave_out(&traits(machine)).with_ladder(&points(machine)),
        _ => config,
    }
}
