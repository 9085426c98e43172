// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the policy is told about a machine: its configuration, its CPUs, and the watts and speeds by which `auto` chooses its rules.

use super::Rates;
use crate::choice::{PolicyChoice, PolicyParameters, ReservedSpeed, SetsVariant};
use crate::clocks::{ClockDomain, Clocks, Range};
use crate::workload::{Step, Workload};
use crate::Governor;
use crate::{PowerCap, SimulationError};
use lop_machine::costs::{self, Control};
use lop_machine::live::{LiveCpu, LiveMachine};
use lop_machine::{Cpu, Kind, Machine};
use lop_policy::{Config, CpuPlace, Goal, GreenWork, Reserve, Sched};

/// # Errors
/// The machine does not have what the policy's name asks for: so many CPUs, a core to reserve, a frequency.
pub(super) fn check_choice(machine: &Machine, choice: &PolicyChoice) -> Result<(), SimulationError> {
    let message = match choice {
        PolicyChoice::Sets(SetsVariant::Simple { size: Some(size) }) if *size as usize > machine.cpus.len() => {
            format!(
                "{choice}: machine '{}' has {} CPUs; expected at most that many",
                machine.name,
                machine.cpus.len()
            )
        }
        PolicyChoice::Sets(SetsVariant::Reserved(_)) if machine.cpus.len() < 2 => {
            format!(
                "{choice}: machine '{}' has one CPU; expected two at least",
                machine.name
            )
        }
        PolicyChoice::Sets(SetsVariant::Reserved(ReservedSpeed::Khz(khz))) => {
            let slowest = machine.cpus.iter().map(|cpu| cpu.kind).max().unwrap_or(0);
            return check_frequency(
                machine,
                choice,
                *khz,
                &machine.kinds[usize::from(slowest)..=usize::from(slowest)],
            );
        }
        PolicyChoice::Linux(Some(Governor::Userspace { khz: Some(khz) })) => {
            return check_frequency(machine, choice, *khz, &machine.kinds);
        }
        _ => return Ok(()),
    };
    Err(SimulationError::Choice(message))
}

/// # Errors
/// None of these kinds of cores has the frequency.
fn check_frequency(machine: &Machine, choice: &PolicyChoice, khz: u64, kinds: &[Kind]) -> Result<(), SimulationError> {
    let mut all: Vec<u64> = kinds
        .iter()
        .flat_map(|kind| kind.opps.iter().map(|opp| opp.khz))
        .collect();
    all.sort_unstable();
    all.dedup();
    if all.iter().any(|known| known / 1000 == khz / 1000) {
        return Ok(());
    }
    let known: Vec<String> = all.iter().map(|khz| (khz / 1000).to_string()).collect();
    Err(SimulationError::Choice(format!(
        "{choice}: expected one of the frequencies of machine '{}', in MHz: {}",
        machine.name,
        known.join(", ")
    )))
}

/// The policy's configuration for a variant of sets.
pub(super) fn config(
    machine: &Machine,
    workload: &Workload,
    variant: SetsVariant,
    parameters: &PolicyParameters,
) -> Config {
    let fixed_size = match variant {
        SetsVariant::Simple { size } => size.unwrap_or_else(|| parallelism_of(workload)),
        _ => 0,
    };
    let default_hold_ns = lop_policy::default_hold_ns(machine.cpufreq.transition_ns);
    let hold_ns = parameters.hold_ns.unwrap_or(default_hold_ns);
    let mut chosen = parameters
        .watts
        .config(variant.named(), parameters.goal, hold_ns, machine);
    chosen.hot_mc = machine
        .thermal
        .map_or(i32::MAX, |thermal| (thermal.limit_c * 1000.0) as i32);
    match variant {
        SetsVariant::Auto(without) => without.leave_out(&mut chosen, &Config::of(variant.named(), hold_ns)),
        // Who names it here asks for it, on machines of fewer than four cores too: `lop start --reserve asked`.
        SetsVariant::Reserved(_) => chosen.reserve = Reserve::Asked,
        _ => {}
    }
    let most_high = PowerCap::asked(machine, parameters).map(|cap| cap.most_high);
    let reserved = reserved_khz(machine, variant);
    Config {
        nr_cpus: machine.cpus.len() as u32,
        fixed_size,
        spare: parameters.spare.unwrap_or(chosen.spare),
        most_high: most_high.unwrap_or(0),
        light: chosen.light && most_high.is_none(),
        green: match parameters.green {
            true => GreenWork::LowGain,
            false => chosen.green,
        },
        transition_ns: costs::rise_ns(machine),
        heat_period_ns: parameters.heat_period_ns.unwrap_or(chosen.heat_period_ns),
        migration_ns: migration_ns(machine),
        reserve: parameters.reserve.unwrap_or(chosen.reserve),
        reserve_raises: reserved.len() as u32 - 1,
        reserve_permille: permille_of(&reserved),
        ..chosen
    }
}

/// Number of cores for `simple-sets` when none is given: the workload's slots, else what its applications declared, else the tasks that it
/// starts. All cores if these fork others, as their number is not known.
fn parallelism_of(workload: &Workload) -> u32 {
    let slots = workload.pools.iter().map(|pool| pool.slots).max().unwrap_or(0);
    let declared: u32 = workload.apps.iter().filter_map(|app| app.declared_parallelism).sum();
    let started: u64 = workload.starts.iter().map(|start| u64::from(start.count)).sum();
    let forks = workload
        .programs
        .iter()
        .flat_map(|p| &p.steps)
        .any(|s| matches!(s, Step::Fork { .. }));
    match (slots, declared) {
        (0, 0) if forks => u32::MAX,
        (0, 0) => started.clamp(1, u64::from(u32::MAX)) as u32,
        (0, declared) => declared,
        (slots, _) => slots,
    }
}

/// What it costs to move a running task to another CPU: two context switches and the migration, to another memory domain if there are several.
fn migration_ns(machine: &Machine) -> u64 {
    let cost = machine.cost;
    let elsewhere_ns = if machine.nr_memory_domains > 1 {
        cost.memory_domain_ns
    } else {
        0
    };
    2 * cost.context_switch_ns + cost.migration_ns + elsewhere_ns
}

/// Each frequency relative to the last one, x 1000.
fn permille_of(khz: &[u64]) -> [u16; lop_policy::RESERVE_SPEEDS] {
    let mut permille = [0; lop_policy::RESERVE_SPEEDS];
    for (of, khz_of) in permille.iter_mut().zip(khz) {
        *of = (1000 * khz_of / khz[khz.len() - 1]) as u16;
    }
    permille
}

/// Frequencies that the reserved core may run at, in kHz: from its own one to the highest of its kind, which is the slowest kind
/// (policy/reserved/reserved.h). Of more than the policy has room for, the first, the last, and as many between at equal distances.
pub(super) fn reserved_khz(machine: &Machine, variant: SetsVariant) -> Vec<u64> {
    let slowest = machine.cpus.iter().map(|cpu| cpu.kind).max().unwrap_or(0);
    let khz: Vec<u64> = (machine.kinds[usize::from(slowest)].opps.iter().map(|opp| opp.khz)).collect();
    let highest = khz[khz.len() - 1];
    let speed = match variant {
        SetsVariant::Reserved(speed) => speed,
        _ => ReservedSpeed::DEFAULT,
    };
    let own = match speed {
        ReservedSpeed::Khz(khz) => khz.min(highest),
        ReservedSpeed::Share { part, of } => (highest * u64::from(part)).div_ceil(u64::from(of)),
    };
    let khz: Vec<u64> = khz.into_iter().filter(|&khz| khz >= own).collect();
    let most = khz.len().min(lop_policy::RESERVE_SPEEDS);
    (0..most)
        .map(|step| khz[step * (khz.len() - 1) / (most - 1).max(1)])
        .collect()
}

/// # Errors
/// The machine exceeds a limit of policy/core/topology.h.
fn check_limits(machine: &Machine) -> Result<(), SimulationError> {
    let limits = [
        ("CPUs", machine.cpus.len(), lop_policy::MAX_CPUS),
        ("kinds of cores", machine.kinds.len(), lop_policy::MAX_TIERS),
        (
            "memory domains",
            machine.nr_memory_domains,
            lop_policy::MAX_MEMORY_DOMAINS,
        ),
        ("nodes", machine.nr_nodes, lop_policy::MAX_NODES),
        ("sockets", machine.nr_sockets, lop_policy::MAX_NODES),
    ];
    match limits.iter().find(|(_, has, most)| has > most) {
        None => Ok(()),
        Some((what, has, most)) => Err(SimulationError::Mismatch(format!(
            "machine '{}' has {has} {what}, expected at most {most}",
            machine.name
        ))),
    }
}

/// Speed of a kind relative to the fastest, x 1000, for work that does not wait for memory.
pub(super) fn kind_permille(machine: &Machine, kind: u16) -> u16 {
    (1000.0 * machine.kinds[usize::from(kind)].top_rate() / machine.top_speed()).round() as u16
}

/// The kind of a CPU as the policy is told.
fn tier(machine: &Machine, cpu: usize, variant: SetsVariant) -> u16 {
    match variant.knows_kinds() {
        true => machine.cpus[cpu].kind,
        false => 0,
    }
}

/// The machine as the loader of the kernel's policy would read it from sysfs.
pub(super) fn live_machine(machine: &Machine, variant: SetsVariant) -> LiveMachine {
    let live_cpu = |(number, cpu): (usize, &Cpu)| {
        let tier = tier(machine, number, variant);
        LiveCpu {
            number: number as u32,
            online: true,
            isolated: false,
            tier,
            // The lowest whose share of 1024 is the kind's speed in thousandths.
            capacity: (u32::from(kind_permille(machine, tier)) * 1024).div_ceil(1000),
            max_khz: None,
            core: cpu.core,
            clock_domain: cpu.clock_domain,
            voltage_domain: cpu.voltage_domain,
            memory_domain: cpu.memory_domain,
            socket: cpu.socket,
            node: cpu.node,
        }
    };
    let cpus: Vec<LiveCpu> = machine.cpus.iter().enumerate().map(live_cpu).collect();
    LiveMachine {
        nr_tiers: cpus.iter().map(|cpu| cpu.tier + 1).max().unwrap_or(0),
        nr_cores: machine.nr_cores as u16,
        nr_clock_domains: machine.nr_clock_domains as u16,
        nr_voltage_domains: machine.nr_voltage_domains as u16,
        nr_memory_domains: machine.nr_memory_domains as u16,
        nr_nodes: machine.nr_nodes as u16,
        nr_sockets: machine.nr_sockets as u16,
        node_numbers: Vec::new(),
        cache_kib: Vec::new(),
        transition_ns: machine.cpufreq.transition_ns,
        notes: Vec::new(),
        cpus,
    }
}

pub(super) fn describe_cpus(sched: &mut Sched, machine: &Machine, variant: SetsVariant) -> Result<(), SimulationError> {
    check_limits(machine)?;
    let mut of_core = vec![Vec::new(); machine.nr_cores];
    for (number, cpu) in machine.cpus.iter().enumerate() {
        of_core[usize::from(cpu.core)].push(number as u16);
    }
    for (number, cpu) in machine.cpus.iter().enumerate() {
        let tier = tier(machine, number, variant);
        let siblings = &of_core[usize::from(cpu.core)];
        let at = siblings.iter().position(|&s| usize::from(s) == number).unwrap_or(0);
        let place = CpuPlace {
            tier,
            permille: kind_permille(machine, tier),
            clock_domain: cpu.clock_domain,
            voltage_domain: cpu.voltage_domain,
            memory_domain: cpu.memory_domain,
            node: cpu.node,
            socket: cpu.socket,
            next_sibling: siblings[(at + 1) % siblings.len()],
        };
        sched.add_cpu(number, place);
    }
    Ok(())
}

/// By clock domain: the frequency index of the operating point that `choose` takes from those of its kind.
fn indices(machine: &Machine, choose: impl Fn(&Kind) -> usize) -> Vec<usize> {
    let of_domain = |domain: &ClockDomain| {
        let kind = &machine.kinds[usize::from(machine.cpus[domain.cpus[0]].kind)];
        domain.at_least(kind.opps[choose(kind)].khz)
    };
    Clocks::new(machine).domains.iter().map(of_domain).collect()
}

/// By clock domain: the most energy-efficient frequency for the workload's most memory-bound work.
pub(super) fn green_indices(machine: &Machine, rates: &Rates) -> Vec<usize> {
    let memory_share = rates.memory_shares.iter().copied().fold(0.0, f64::max);
    indices(machine, |kind| costs::cheapest_opp(kind, memory_share, 0))
}

/// By clock domain: what high cores request, by goal and by the watts that the policy knows ([`costs::high_second_mw`]).
pub(super) fn high_requests(machine: &Machine, variant: SetsVariant, parameters: &PolicyParameters) -> Vec<Range> {
    let (goal, control) = (parameters.goal, machine.ships.control());
    let believed = parameters.watts.believed(machine).filter(|_| variant.goes_by_goal());
    let chosen = believed.and_then(|believed| {
        let second_mw = costs::high_second_mw(&believed, goal, control)?;
        Some(indices(&believed, |kind| costs::cheapest_opp(kind, 0.0, second_mw)))
    });
    let upwards = control == Control::Processor && goal == Goal::Balanced;
    let request = |(domain, about): (usize, &ClockDomain)| match &chosen {
        Some(chosen) if upwards => Range {
            least: chosen[domain],
            most: Some(about.top()),
        },
        Some(chosen) => Range::only(chosen[domain]),
        None => Range::only(about.top()),
    };
    Clocks::new(machine).domains.iter().enumerate().map(request).collect()
}
