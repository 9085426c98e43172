// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the watts of a running machine come from: the first that there is of
//!
//! | source | what it tells |
//! |---|---|
//! | the file of `lop machine measure` | all |
//! | the kernel's energy model | busy cores; the rest is estimated |
//! | a built-in machine with this processor | each kind of core, and what does not depend on cores |
//! | capacities and frequencies | nothing: all is estimated |
//!
//! All but the file need the frequencies of each kind of core. A guest without cpufreq shows none, and no policy in it can choose one.

use super::{estimated, measured_whole, modelled};
use crate::capture::{frequencies, schedutil};
use crate::live::{self, Folder, LiveCpu, LiveMachine, PerformanceDomain, Tree};
use crate::{read, Cpu, Kind, Machine, Opp, Rated};
use std::path::Path;

const MEASURED: &str = "measured (/etc/lopsided/machine.toml)";
const MEASURE: &str = "'lop machine measure -o /etc/lopsided/machine.toml' measures them";

/// A machine as the policy is told of it, and where its watts come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Watts {
    /// With the topology of the running machine; `None`: its watts are not known.
    pub machine: Option<Machine>,
    /// Of this very machine, all of them.
    pub are_measured: bool,
    /// For people. Sources that were refused are named with the reason.
    pub source: String,
}

/// The watts of the machine whose `sys`, `proc` and `etc` are in `root`.
pub fn find(root: &Path, live: &LiveMachine) -> Watts {
    let refused = match measured_whole(root, live) {
        Ok(Some(machine)) => {
            return Watts {
                machine: Some(machine),
                are_measured: true,
                source: MEASURED.to_string(),
            }
        }
        Ok(None) => None,
        Err(reason) => Some(reason),
    };
    let mut watts = unmeasured(&Folder::new(root), live);
    watts.source.extend(refused.map(|reason| not_used(&reason)));
    watts
}

/// The same without a file of `lop machine measure`.
pub fn unmeasured(tree: &dyn Tree, live: &LiveMachine) -> Watts {
    let Some(bare) = bare(tree, live) else {
        return Watts {
            machine: None,
            are_measured: false,
            source: format!("not known, as no driver lists frequencies; {MEASURE}"),
        };
    };
    let (by_kernel, refused) = match by_energy_model(tree, live, &bare) {
        Ok(found) => (found, None),
        Err(reason) => (None, Some(reason)),
    };
    let by_kernel = by_kernel.map(|machine| {
        let source = "modelled: busy cores by the kernel's energy model, the rest estimated";
        (machine, source.to_string())
    });
    let (machine, source) = by_kernel.or_else(|| by_processor(tree, &bare)).unwrap_or_else(|| {
        let source = "estimated from capacities and frequencies";
        (estimated(&bare), source.to_string())
    });
    Watts {
        machine: Some(machine),
        are_measured: false,
        source: format!(
            "{source}; {MEASURE}{}",
            refused.map_or(String::new(), |reason| not_used(&reason))
        ),
    }
}

fn not_used(reason: &str) -> String {
    format!("; not used: {reason}")
}

/// The machine with its operating points, but without watts; `None`: a kind of core lists no frequencies.
fn bare(tree: &dyn Tree, live: &LiveMachine) -> Option<Machine> {
    let kinds: Option<Vec<Kind>> = (0..live.nr_tiers).map(|tier| kind(tree, live, tier)).collect();
    let cpu = |cpu: &LiveCpu| Cpu {
        kind: cpu.tier,
        core: cpu.core,
        clock_domain: cpu.clock_domain,
        voltage_domain: cpu.voltage_domain,
        memory_domain: cpu.memory_domain,
        socket: cpu.socket,
        node: cpu.node,
    };
    let mut machine = read::numbered(live.cpus.iter().map(cpu).collect(), kinds?);
    machine.cpufreq.transition_ns = live.transition_ns;
    machine.ships.governor = schedutil(tree, machine.kinds.len());
    Some(machine)
}

fn kind(tree: &dyn Tree, live: &LiveMachine, tier: u16) -> Option<Kind> {
    let khz = frequencies(tree, live, tier)?;
    let capacity = live.cpus.iter().filter(|cpu| cpu.tier == tier).map(|cpu| cpu.capacity);
    let rated = Rated {
        speed: f64::from(capacity.max()?) / 1024.0,
        khz: *khz.last()?,
    };
    Some(Kind {
        name: format!("kind-{tier}"),
        speed: rated.speed,
        rated_khz: rated.khz,
        fastest: rated,
        smt_speedup: 1.0,
        smt_power: 0.0,
        opps: khz.into_iter().map(|khz| point(khz, 0)).collect(),
        turbo: Vec::new(),
        hardware: tier,
        idle_states: Vec::new(),
    })
}

fn point(khz: u64, busy_uw: u64) -> Opp {
    Opp {
        khz,
        busy_uw,
        mv: 0,
        idle_uw: 0,
        domain_uw: 0,
    }
}

/// `None`: the kernel has no energy model.
fn by_energy_model(tree: &dyn Tree, live: &LiveMachine, bare: &Machine) -> Result<Option<Machine>, String> {
    let domains = live::energy_model(tree).map_err(|error| error.to_string())?;
    if domains.is_empty() {
        return Ok(None);
    }
    let mut machine = bare.clone();
    for (tier, kind) in (0..).zip(&mut machine.kinds) {
        let has_kind = |domain: &&PerformanceDomain| {
            let mut of_kind = live.cpus.iter().filter(|cpu| cpu.tier == tier);
            of_kind.any(|cpu| domain.cpus.contains(&cpu.number))
        };
        let domain = domains.iter().find(has_kind);
        let domain = domain.ok_or_else(|| format!("the kernel's energy model lacks the CPUs of kind {tier}"))?;
        kind.opps = domain.states.iter().map(|state| point(state.khz, state.uw)).collect();
    }
    Ok(Some(modelled(&machine)))
}

/// The kinds of cores of the built-in machine that has this processor, and its base. The topology stays that of the running machine; nothing is parked.
fn by_processor(tree: &dyn Tree, bare: &Machine) -> Option<(Machine, String)> {
    let model = read::of_processor(tree).filter(|model| model.kinds.len() == bare.kinds.len())?;
    let source = format!("modelled: those of {}, which has this processor", model.name);
    let machine = Machine {
        kinds: model.kinds,
        base_uw: model.base_uw,
        ..bare.clone()
    };
    Some((machine, source))
}
