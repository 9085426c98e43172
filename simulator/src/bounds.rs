// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lower bounds on time and energy that no schedule can beat on a machine and workload. The argument is in docs/model.md.

use crate::engine::Rates;
use crate::outcome::Bounds;
use crate::power::{busy_uw, threads_per_core};
use lop_machine::{Kind, Machine};

/// Least power of an idle core of this kind, in uW.
fn floor_uw(machine: &Machine, kind: &Kind) -> u64 {
    let idle = kind.opps.iter().map(|opp| opp.idle_uw);
    let deep = kind.idle_states.iter().filter_map(|state| state.power_uw);
    let parked = machine.park.iter().map(|park| park.power_uw);
    // The first idle state may have its own power, which then replaces the OPP's.
    let clocked = kind.idle_states.iter().any(|state| state.power_uw.is_none());
    idle.filter(|_| clocked).chain(deep).chain(parked).min().unwrap_or(0)
}

/// Least power of the idle machine, in uW: base, DRAM, and every voltage domain and core at its minimum.
fn machine_floor_uw(machine: &Machine) -> u64 {
    let mut seen_core = vec![false; machine.nr_cores];
    let mut domain_uw = vec![u64::MAX; machine.nr_voltage_domains];
    let mut cores_uw = 0;
    for cpu in &machine.cpus {
        let kind = &machine.kinds[usize::from(cpu.kind)];
        if !std::mem::replace(&mut seen_core[usize::from(cpu.core)], true) {
            cores_uw += floor_uw(machine, kind);
        }
        let off = machine.park.and_then(|park| park.domain_uw);
        let least = kind.opps.iter().map(|opp| opp.domain_uw).chain(off).min().unwrap_or(0);
        let domain = &mut domain_uw[usize::from(cpu.voltage_domain)];
        *domain = (*domain).min(least);
    }
    machine.base_uw + machine.dram.idle_uw + cores_uw + domain_uw.iter().filter(|&&uw| uw != u64::MAX).sum::<u64>()
}

/// Cheapest energy above the floor for a ns of work at the reference core's top speed, over kinds, OPPs and busy
/// siblings, in uW ns (femtojoule).
fn cheapest_per_work(machine: &Machine, rates: &Rates, class: u16) -> f64 {
    let mut cheapest = f64::INFINITY;
    for (k, kind) in machine.kinds.iter().enumerate() {
        let floor = floor_uw(machine, kind);
        for opp in 0..kind.opps.len() {
            for busy in 1..=threads_per_core(machine) {
                let above = busy_uw(kind, opp, busy).saturating_sub(floor) as f64;
                cheapest = cheapest.min(above / (busy as f64 * rates.rate(class, k, opp, busy)));
            }
        }
    }
    cheapest
}

/// Minimum of `of_kind` over kinds of cores.
fn least_of_kinds(machine: &Machine, of_kind: impl Fn(usize, &Kind) -> f64) -> f64 {
    let kinds = machine.kinds.iter().enumerate();
    kinds.map(|(k, kind)| of_kind(k, kind)).fold(f64::INFINITY, f64::min)
}

/// Least time for which a ns of work of this class waits for memory, on any core, beside any others: m / speed of the fastest kind, at any OPP.
fn least_waiting(machine: &Machine, rates: &Rates, class: u16) -> f64 {
    least_of_kinds(machine, |k, kind| match rates.alone(class, k) {
        Some(alone) => alone.least_share / kind.fastest.speed,
        None => rates.memory_shares[usize::from(class)] / kind.fastest.speed,
    })
}

/// What the bounds of a finished run are computed from.
pub(crate) struct Finished<'a> {
    pub rates: &'a Rates,
    /// Work done by class, at the reference core's top speed, in ns.
    pub work_by_class: &'a [f64],
    /// Maximum of critical path, longest chain through one lock, and pool work over slots, in ns.
    pub path_ns: f64,
    /// When the workload's duration ended the run, if it did.
    pub cut_short_ns: Option<u64>,
}

/// Least time in ns in which all memory domains together, at full bandwidth, can move the bytes of the work.
fn moving_ns(machine: &Machine, run: &Finished<'_>) -> f64 {
    let Some(mb_s) = machine.memory.and_then(|memory| memory.bandwidth_mb_s) else {
        return 0.0;
    };
    let bytes_per_work = |class: u16| {
        least_of_kinds(machine, |k, kind| {
            let alone = run.rates.alone(class, k);
            alone.map_or(0.0, |alone| {
                alone.least_bytes / (alone.instruction_ns * kind.fastest.speed)
            })
        })
    };
    let moved = run.work_by_class.iter().enumerate();
    let bytes: f64 = moved.map(|(class, work)| work * bytes_per_work(class as u16)).sum();
    bytes / (mb_s / 1e3 * machine.nr_memory_domains as f64)
}

/// Most work per ns of a core of this kind at its highest operating point, over `classes` and numbers of busy siblings. Siblings that contend may do more
/// work than `smt_speedup` says: each runs slower, so it makes less traffic and its misses take less time.
fn core_speed(rates: &Rates, classes: &[u16], number: usize, kind: &Kind, threads: usize) -> f64 {
    let of_class =
        |&class: &u16| (1..=threads).map(move |n| n as f64 * rates.rate(class, number, kind.opps.len() - 1, n));
    classes.iter().flat_map(of_class).fold(0.0, f64::max)
}

/// Upper bound of the machine's work per ns, with work of these classes.
fn total_speed(machine: &Machine, rates: &Rates, classes: &[u16]) -> f64 {
    let mut threads = vec![0usize; machine.nr_cores];
    for cpu in &machine.cpus {
        threads[usize::from(cpu.core)] += 1;
    }
    let mut kind_of = vec![0usize; machine.nr_cores];
    for cpu in &machine.cpus {
        kind_of[usize::from(cpu.core)] = usize::from(cpu.kind);
    }
    let speed = |(&kind, &threads): (&usize, &usize)| core_speed(rates, classes, kind, &machine.kinds[kind], threads);
    kind_of.iter().zip(&threads).map(speed).sum()
}

/// Bounds for a finished run.
pub(crate) fn of(machine: &Machine, run: &Finished<'_>) -> Bounds {
    let rates = run.rates;
    let work: f64 = run.work_by_class.iter().sum();
    let done = run.work_by_class.iter().zip(0..).filter(|(&work, _)| work > 0.0);
    let classes: Vec<u16> = done.map(|(_, class)| class).collect();
    let time_ns = match run.cut_short_ns {
        Some(end_ns) => end_ns as f64,
        None => {
            let work_ns = match classes.is_empty() {
                true => 0.0,
                false => work / total_speed(machine, rates, &classes),
            };
            run.path_ns.max(work_ns).max(moving_ns(machine, run))
        }
    };
    let mut energy_fj = machine_floor_uw(machine) as f64 * time_ns;
    for (class, &work) in run.work_by_class.iter().enumerate().filter(|(_, &work)| work > 0.0) {
        energy_fj += work * cheapest_per_work(machine, rates, class as u16);
        energy_fj += work * least_waiting(machine, rates, class as u16) * machine.dram.stall_uw as f64;
    }
    Bounds {
        time_s: time_ns / 1e9,
        system_energy_j: energy_fj / 1e15,
    }
}
