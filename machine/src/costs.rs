// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the policy is told about a machine: its shape, and what its cores cost. The simulator and the kernel's loader both ask here, so that `auto` has
//! the same rules on a machine and on its model.

mod estimate;
mod source;

pub use estimate::{estimated, modelled};
pub use source::{find, unmeasured, Watts};

use crate::live::LiveMachine;
use crate::meter::OWN_MODEL;
use crate::ships::Governor;
use crate::{Kind, Machine};
use lop_policy::{Config, Domains, Goal, GreenWork, Named, Point, Power, Rung, Traits, LIGHT_CPUS};
use std::path::Path;

/// The model of this machine that `lop machine measure` wrote; `None`: there is none. `root`: where `etc` is.
///
/// # Errors
/// A sentence: the file is faulty, its watts were not measured, or it is of another machine.
pub fn measured(root: &Path, live: &LiveMachine) -> Result<Option<Machine>, String> {
    let file = root.join(OWN_MODEL);
    if !file.exists() {
        return Ok(None);
    }
    let file = file.display();
    let anew = format!("'lop machine measure --force -o {file}' measures again");
    let machine = crate::load(&file.to_string(), &[]).map_err(|error| error.to_string())?;
    if machine.watts_of.is_some() {
        return Err(format!(
            "{file} has the watts of another machine, as no meter measured these; with one ('lop doctor' lists them) {anew}"
        ));
    }
    if usize::from(live.nr_tiers) != machine.kinds.len() {
        return Err(format!(
            "{file} has other kinds of cores than this machine ({} there, {} here): {anew}",
            machine.kinds.len(),
            live.nr_tiers
        ));
    }
    Ok(Some(machine))
}

/// The same for the policy, which is told the shape of the machine as well.
///
/// # Errors
/// Also if the file has another number of CPUs or of memory domains.
pub fn measured_whole(root: &Path, live: &LiveMachine) -> Result<Option<Machine>, String> {
    let shape = |machine: &Machine| (machine.cpus.len(), machine.nr_memory_domains);
    let here = (live.cpus.len(), usize::from(live.nr_memory_domains));
    match measured(root, live)? {
        Some(machine) if shape(&machine) != here => Err(format!(
            "{} has {} CPUs and {} memory domains, this machine {} and {}: 'lop machine measure' writes a new one",
            root.join(OWN_MODEL).display(),
            machine.cpus.len(),
            machine.nr_memory_domains,
            here.0,
            here.1
        )),
        found => Ok(found),
    }
}

/// Microwatts to milliwatts.
pub fn mw(uw: u64) -> u32 {
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

/// Whether work costs less on the slowest kind than on the fastest, both at the top, with all cores busy: each has a share of what a second costs.
///
/// ```text
/// (P_busy - P_sleep + P_shared + second / cores) / rate        second: the machine's power and lambda (policy/core/auto.h)
/// ```
fn slow_is_cheaper(machine: &Machine, goal: Goal, machine_mw: u32) -> bool {
    let second_mw = u64::from(machine_mw) * if goal == Goal::Energy { 1 } else { 2 };
    let of_each_mw = u32::try_from(second_mw / machine.nr_cores as u64).unwrap_or(u32::MAX);
    let points = points(machine);
    let fast = &points[machine.kinds[0].opps.len() - 1];
    points.last().is_some_and(|slow| {
        slow.at.tier > 0 && lop_policy::cost_uj(slow, of_each_mw) < lop_policy::cost_uj(fast, of_each_mw)
    })
}

/// Whether light work runs at the speed that schedutil would choose (policy/sets/light.h): where energy-aware scheduling ships, or schedutil, cores are
/// whole, and work costs less at a lower speed though the machine is on for it.
fn follows_demand(machine: &Machine) -> bool {
    let kind = &machine.kinds[0];
    let saves = match machine.ships.governor {
        Some(Governor::Eas) => true,
        Some(Governor::Schedutil) if most_threads(machine) == 1 => {
            cheapest_opp(kind, 0.0, rest_mw(machine)) + 1 < kind.opps.len()
        }
        _ => false,
    };
    saves && machine.cpus.len() <= LIGHT_CPUS
}

/// Of the machine with one core busy at the highest speed, and the others low, mW.
fn machine_mw(machine: &Machine) -> u32 {
    let top = &machine.kinds[0].opps[machine.kinds[0].opps.len() - 1];
    let others_uw = (machine.nr_cores as u64 - 1) * low_uw(machine);
    mw(machine.base_uw + machine.dram.idle_uw + top.busy_uw + top.domain_uw + others_uw)
}

/// Of a low core: parked, if the machine can park.
fn low_uw(machine: &Machine) -> u64 {
    machine
        .park
        .map_or(machine.kinds[0].opps[0].idle_uw, |park| park.power_uw)
}

/// What `auto` chooses its rules by, for this goal. Watts are those of the first kind of core.
pub fn traits(machine: &Machine, goal: Goal) -> Traits {
    let kind = &machine.kinds[0];
    let (low, top) = (&kind.opps[0], &kind.opps[kind.opps.len() - 1]);
    let low_domain_uw = machine.park.and_then(|park| park.domain_uw).unwrap_or(low.domain_uw);
    let machine_mw = machine_mw(machine);
    Traits {
        goal,
        nr_memory_domains: machine.nr_memory_domains as u32,
        nr_tiers: machine.kinds.len() as u32,
        threads_per_core: most_threads(machine),
        machine_mw,
        slow_is_cheaper: slow_is_cheaper(machine, goal, machine_mw),
        follows_demand: follows_demand(machine),
        core_mw: mw(top.idle_uw.saturating_sub(low_uw(machine))),
        domain_mw: mw(top.domain_uw.saturating_sub(low_domain_uw)),
        domain_rise_ns: rise_ns(machine) + machine.park.map_or(0, |park| park.domain_exit_ns),
    }
}

/// Power that a node saves by parking all of its cores, and that a core draws more when busy than when idle: of the first kind of core, at its
/// highest operating point.
pub fn power(machine: &Machine) -> Power {
    let kind = &machine.kinds[0];
    let opp = &kind.opps[kind.opps.len() - 1];
    let saved = machine.park.map_or(0, |park| {
        let cores = (machine.nr_cores / machine.nr_nodes) as u64;
        let domains = (machine.nr_voltage_domains / machine.nr_nodes) as u64;
        let of_domain = park.domain_uw.map_or(0, |off_uw| opp.domain_uw.saturating_sub(off_uw));
        cores * opp.idle_uw.saturating_sub(park.power_uw) + domains * of_domain
    });
    Power {
        base_mw: mw(machine.base_uw + machine.dram.idle_uw),
        node_mw: mw(saved),
        core_mw: mw(opp.busy_uw - opp.idle_uw),
    }
}

/// A kind of core at each of its speeds. `memory_share`: of the work's time at the highest speed, what does not scale with the frequency.
/// `whole_rate`: the rate that counts as 1000.
fn points_of(tier: usize, kind: &Kind, memory_share: f64, whole_rate: f64) -> Vec<Point> {
    let lowest = &kind.opps[0];
    let deepest_uw = kind.idle_states.iter().filter_map(|state| state.power_uw).min();
    let sleep_uw = deepest_uw.unwrap_or(lowest.idle_uw).min(lowest.idle_uw);
    let top_khz = kind.opps[kind.opps.len() - 1].khz as f64;
    let point = |opp: usize| Point {
        at: Rung {
            tier: tier as u16,
            speed_permille: permille(kind.opps[opp].khz as f64, top_khz) as u16,
            rate_permille: permille(kind.rate(opp, memory_share), whole_rate),
        },
        busy_mw: mw(kind.opps[opp].busy_uw),
        sleep_mw: mw(sleep_uw),
        shared_mw: mw(kind.opps[opp].domain_uw.saturating_sub(lowest.domain_uw)),
    };
    (0..kind.opps.len()).map(point).collect()
}

/// Every kind of core at each of its speeds, for work that scales with the frequency.
pub fn points(machine: &Machine) -> Vec<Point> {
    let of_kind = |(tier, kind)| points_of(tier, kind, 0.0, machine.top_speed());
    machine.kinds.iter().enumerate().flat_map(of_kind).collect()
}

/// Index of the operating point of this kind at which such work costs least, if a second costs so much (policy/sets/green.h).
pub fn cheapest_opp(kind: &Kind, memory_share: f64, second_mw: u32) -> usize {
    let top_rate = kind.rate(kind.opps.len() - 1, memory_share);
    lop_policy::cheapest(&points_of(0, kind, memory_share, top_rate), second_mw)
}

/// What the machine draws beside what a busy core adds, mW.
fn rest_mw(machine: &Machine) -> u32 {
    let top = points(machine)[machine.kinds[0].opps.len() - 1];
    let above_mw = top.busy_mw.saturating_sub(top.sleep_mw) + top.shared_mw;
    machine_mw(machine).saturating_sub(above_mw)
}

/// What sets the speed of a high core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The processor, within a range and by an energy preference.
    Processor,
    /// The kernel: `schedutil` by the scheduler's requests, or another governor within limits that are both set.
    Kernel,
}

/// The floor of a processor that chooses speeds: the cheapest point if a second counts for this share of the machine's power.
const FLOOR_SHARE: (u32, u32) = (1, 4);

/// What a second counts for where the speed of a high core is chosen, mW (lambda); `None`: the speed is the highest, whatever it costs.
///
/// ```text
/// energy      what the machine draws beside the core: it is on for the work
/// balanced    processor    a quarter of the machine's power: the processor chooses from that speed upwards
///             kernel       none: what keeps a core busy is at the highest speed as shipped, too, and slower it would be later
/// speed       none
/// ```
pub fn high_second_mw(machine: &Machine, goal: Goal, control: Control) -> Option<u32> {
    match (goal, control) {
        (Goal::Energy, _) => Some(rest_mw(machine)),
        (Goal::Balanced, Control::Processor) => Some(machine_mw(machine) * FLOOR_SHARE.0 / FLOOR_SHARE.1),
        (Goal::Balanced, Control::Kernel) | (Goal::Speed, _) => None,
    }
}

/// Such a configuration where cores cannot be told any speed: light work has no homes, and what a clock paces can have a cheaper kind of core, at the highest speed that it has.
#[must_use]
pub fn without_speeds(config: Config, machine: &Machine) -> Config {
    match config.green {
        GreenWork::Paced => {
            let mut points = points(machine);
            points.retain(|point| point.at.speed_permille == 1000);
            Config { light: false, ..config }.with_ladder(&points)
        }
        _ => config,
    }
}

/// The configuration that a policy's name stands for on this machine; `auto` without the rules that the machine has no use for, or that do not
/// serve the goal.
pub fn config(policy: Named, goal: Goal, hold_ns: u64, machine: &Machine) -> Config {
    let config = Config {
        power: power(machine),
        ..Config::of(policy, hold_ns)
    };
    match policy {
        Named::Auto => config.leave_out(&traits(machine, goal)).with_ladder(&points(machine)),
        _ => config,
    }
}

/// The same where the watts are not measured ones of this machine. What it saves to switch a memory domain off is then not known, so `auto` switches none off.
pub fn config_of_guess(policy: Named, goal: Goal, hold_ns: u64, machine: &Machine) -> Config {
    let config = config(policy, goal, hold_ns, machine);
    match (policy, config.domains) {
        (Named::Auto, Domains::Gather) => Config {
            domains: Domains::Spread,
            ..config
        },
        _ => config,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Override;

    /// (0.364 - 0.01) W at 0.137 of the rate; (17 - 0.01 + 3 - 0.94) W.
    #[test]
    fn paced_work_costs_least_on_efficiency_cores() {
        let points = points(&crate::load("laptop-hybrid", &[]).unwrap());
        let costs_uj: Vec<u64> = points.iter().map(|point| lop_policy::cost_uj(point, 0)).collect();
        let (performance, efficiency) = costs_uj.split_at(6);
        assert_eq!((efficiency[0], performance[5]), (2_583, 19_050));
    }

    /// With 12 cores and 24.6 W a second costs each 4.1 W: (16.99 + 2.06 + 4.1) W on a performance core, (3.49 + 1.37 + 4.1) W at 0.58 of its rate on an
    /// efficiency core. Cores that only have lower clocks share the power of the machine for longer.
    #[test]
    fn slow_cores_are_cheaper_where_they_are_of_another_kind() {
        let of =
            |name: &str, sets: &[Override]| traits(&crate::load(name, sets).unwrap(), Goal::Balanced).slow_is_cheaper;
        for name in ["laptop-hybrid", "laptop-three-kinds", "desktop-hybrid"] {
            assert!(of(name, &[]), "{name}");
        }
        let slowed = Override {
            key: "max_mhz".to_string(),
            value: "[2000, 1000]".to_string(),
        };
        assert!(!of("opteron-8350-x4", &[slowed]));
        assert!(!of("opteron-16", &[]) && !of("phenom-9750", &[]));
    }

    /// On the phone a core at 1190 MHz costs least with the 0.56 W of all else, and on the server, with 34 W, one at the highest speed. EAS places light work
    /// whatever that costs. With SMT siblings half of a core is no core, and no machine here of more CPUs has energy-aware scheduling.
    #[test]
    fn light_work_follows_demand_where_that_saves() {
        let sets = |pairs: &[(&str, &str)]| -> Vec<Override> {
            let set = |&(key, value): &(&str, &str)| Override {
                key: key.to_string(),
                value: value.to_string(),
            };
            pairs.iter().map(set).collect()
        };
        let schedutil = ("ships.governor", "schedutil");
        for (name, changes, follows) in [
            ("phone-2024", &[][..], true),
            ("phone-2024", &[schedutil], true),
            ("phone-2024", &[("ships.governor", "performance")], false),
            ("phone-2024", &[schedutil, ("base_w", "40")], false),
            ("phone-2024", &[("base_w", "40")], true),
            ("server-arm-80", &[("kind.0.cores", "16")], false),
            (
                "server-arm-80",
                &[("kind.0.cores", "16"), ("base_w", "0.1"), ("dram.idle_w", "0")],
                true,
            ),
            ("server-arm-80", &[("base_w", "0.1"), ("dram.idle_w", "0")], false),
            ("desktop-two-chiplets", &[schedutil], false),
        ] {
            let machine = crate::load(name, &sets(changes)).unwrap();
            assert_eq!(
                traits(&machine, Goal::Balanced).follows_demand,
                follows,
                "{name} {changes:?}"
            );
        }
    }

    /// A laptop with one core busy at the top draws 4 + 0.5 + 17 + 3 + 11 * 0.01 W, of which (17 - 0.01) + (3 - 0.94) W are the core's.
    #[test]
    fn what_a_second_counts_for_follows_from_who_sets_the_speed() {
        let laptop = crate::load("laptop-hybrid", &[]).unwrap();
        for (goal, control, second_mw) in [
            (Goal::Balanced, Control::Processor, Some(6_152)),
            (Goal::Balanced, Control::Kernel, None),
            (Goal::Energy, Control::Processor, Some(5_560)),
            (Goal::Speed, Control::Processor, None),
        ] {
            assert_eq!(
                high_second_mw(&laptop, goal, control),
                second_mw,
                "{goal:?}, {control:?}"
            );
        }
    }

    /// At their highest speeds an efficiency core takes (3.5 - 0.01 + 1.4) W at 0.58 of the rate, less than a performance core.
    #[test]
    fn without_speeds_the_rungs_are_kinds() {
        let machine = crate::load("laptop-hybrid", &[]).unwrap();
        let config = without_speeds(config(Named::Auto, Goal::Balanced, 10_000_000, &machine), &machine);
        let rungs: Vec<_> = config.rung[..config.nr_rungs as usize]
            .iter()
            .map(|rung| (rung.tier, rung.speed_permille))
            .collect();
        assert_eq!(rungs, [(1, 1000)]);
        let one_kind = crate::load("phenom-9750", &[]).unwrap();
        let alike = without_speeds(
            super::config(Named::Auto, Goal::Balanced, 10_000_000, &one_kind),
            &one_kind,
        );
        assert_eq!((alike.nr_rungs, alike.green), (0, GreenWork::None));
    }

    /// By energy per work: 0.483, 0.75, .. J per reference second on efficiency cores, less than on any performance core but at its lowest speed.
    #[test]
    fn slow_kinds_are_the_first_rungs_of_a_laptop() {
        let machine = crate::load("laptop-hybrid", &[]).unwrap();
        let config = config(Named::Auto, Goal::Balanced, 10_000_000, &machine);
        let rungs = &config.rung[..config.nr_rungs as usize];
        let first: Vec<_> = rungs
            .iter()
            .take(2)
            .map(|rung| (rung.tier, rung.speed_permille))
            .collect();
        assert_eq!(first, [(1, 235), (1, 441)]);
        assert!(
            rungs.iter().all(|rung| rung.rate_permille < 1000),
            "the fastest core at its top is the limit"
        );
    }
}
