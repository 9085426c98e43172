// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layout of the cores as a machine file describes it: the same in each socket, with domains that are a core, a kind, a socket or the machine.

use crate::live::{LiveCpu, LiveError, LiveMachine};
use crate::schema::Scope;
use crate::topology::{CoreCount, Layout, MemoryScope};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, PartialEq)]
pub struct Shape {
    sockets: usize,
    nodes_per_socket: usize,
    clock: &'static str,
    voltage: &'static str,
    memory: Memory,
    /// Cache of each memory domain, if all have the same.
    cache_kib: Option<u64>,
    pub kinds: Vec<Kind>,
}

#[derive(Debug, PartialEq)]
enum Memory {
    /// The domains of a scope, by its name.
    Shared(&'static str),
    /// This many neighbouring cores.
    Cores(usize),
    /// The domains of a socket, one by one.
    Listed(Vec<MemoryDomain>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MemoryDomain {
    /// By tier.
    cores: BTreeMap<u16, usize>,
    cache_kib: Option<u64>,
}

#[derive(Debug, PartialEq)]
pub struct Kind {
    pub tier: u16,
    /// In each socket.
    pub cores: usize,
    pub smt: usize,
    /// Top speed; 1024 is that of the fastest CPU.
    pub capacity: u32,
}

impl Shape {
    /// The keys of a machine file, one a line.
    pub fn head(&self) -> String {
        let memory = match &self.memory {
            Memory::Shared(scope) => format!("memory_domain = \"{scope}\""),
            Memory::Cores(cores) => format!("cores_per_memory_domain = {cores}"),
            Memory::Listed(domains) => listed(domains),
        };
        let memory = match self.cache_kib {
            Some(kib) => format!("{memory}\ncache_mib = {}", mib(kib)),
            None => memory,
        };
        format!(
            "sockets = {}\nnodes_per_socket = {}\nclock_domain = \"{}\"\nvoltage_domain = \"{}\"\n{memory}\n",
            self.sockets, self.nodes_per_socket, self.clock, self.voltage
        )
    }
}

fn listed(domains: &[MemoryDomain]) -> String {
    let line = |domain: &MemoryDomain| {
        let cores = domain
            .cores
            .iter()
            .map(|(tier, cores)| format!("kind-{tier} = {cores}"));
        let cores = cores.collect::<Vec<_>>().join(", ");
        let cache = domain.cache_kib.map(|kib| format!(", cache_mib = {}", mib(kib)));
        format!("  {{ cores = {{ {cores} }}{} }},\n", cache.unwrap_or_default())
    };
    format!("memory_domain = [\n{}]", domains.iter().map(line).collect::<String>())
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

type Key = fn(&LiveCpu) -> u16;

/// The nearest shape. Each difference from this machine becomes a note.
///
/// # Errors
/// No CPU is online, or the file would have more than [`crate::MAX_CPUS`] CPUs.
pub fn of(machine: &LiveMachine, notes: &mut Vec<String>) -> Result<Shape, LiveError> {
    let sockets = usize::from(machine.nr_sockets).max(1);
    let kinds: Vec<Kind> = (0..machine.nr_tiers)
        .filter_map(|tier| kind(machine, tier, sockets, notes))
        .collect();
    let cpus: usize = kinds.iter().map(|kind| kind.cores * kind.smt * sockets).sum();
    if kinds.is_empty() || cpus > crate::MAX_CPUS {
        let message = format!("{cpus} CPUs in a regular shape, expected 1 to {}", crate::MAX_CPUS);
        return Err(LiveError::new("this machine", message));
    }
    if cpus != machine.cpus.len() {
        notes.push(format!(
            "This machine has {} CPUs; the file has {cpus}, since its sockets, and the cores of a kind, must be alike.",
            machine.cpus.len()
        ));
    }
    let nodes_per_socket = (usize::from(machine.nr_nodes) / sockets).max(1);
    let clock = scope(machine, "clock", |c| c.clock_domain, notes);
    let voltage = scope(machine, "voltage", |c| c.voltage_domain, notes);
    let memory = memory(machine, (sockets, nodes_per_socket), &kinds, notes);
    let listed = matches!(memory, Memory::Listed(_));
    Ok(Shape {
        sockets,
        nodes_per_socket,
        clock,
        voltage,
        memory,
        cache_kib: same_cache(machine).filter(|_| !listed),
        kinds,
    })
}

/// The most cores of this kind in a socket, and the most threads of such a core.
fn kind(machine: &LiveMachine, tier: u16, sockets: usize, notes: &mut Vec<String>) -> Option<Kind> {
    let of_kind = || machine.cpus.iter().filter(move |cpu| cpu.tier == tier);
    let count = |key: Key| {
        let mut numbers: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
        for cpu in of_kind() {
            numbers.entry(cpu.socket).or_default().insert(key(cpu));
        }
        numbers
    };
    let cores: Vec<usize> = count(|cpu| cpu.core).values().map(BTreeSet::len).collect();
    let smt = of_kind().map(|cpu| machine.siblings(cpu.number).len()).max()?;
    let most = *cores.iter().max()?;
    if cores.len() < sockets || cores.iter().any(|&n| n != most) {
        notes.push(format!(
            "Sockets differ in their number of cores of kind {tier}; {most} are assumed in each."
        ));
    }
    Some(Kind {
        tier,
        cores: most,
        smt,
        capacity: of_kind().map(|cpu| cpu.capacity).max()?,
    })
}

const SCOPES: [(&str, Key); 3] = [
    ("machine", |_| 0),
    ("socket", |cpu| cpu.socket),
    ("core", |cpu| cpu.core),
];

/// The scope that has exactly these domains; `kind` means the cores of one kind in one socket.
fn same_as(machine: &LiveMachine, domain: Key) -> Option<&'static str> {
    let same = |scope: &dyn Fn(&LiveCpu) -> (u16, u16)| {
        let pairs: BTreeSet<_> = machine.cpus.iter().map(|cpu| (domain(cpu), scope(cpu))).collect();
        let of: BTreeSet<u16> = pairs.iter().map(|pair| pair.0).collect();
        let to: BTreeSet<(u16, u16)> = pairs.iter().map(|pair| pair.1).collect();
        of.len() == pairs.len() && to.len() == pairs.len()
    };
    let simple = SCOPES
        .iter()
        .find(|(_, key)| same(&|cpu| (key(cpu), 0)))
        .map(|(name, _)| *name);
    simple.or_else(|| same(&|cpu| (cpu.socket, cpu.tier)).then_some("kind"))
}

/// The scope whose number of domains is nearest.
fn scope(machine: &LiveMachine, what: &str, domain: Key, notes: &mut Vec<String>) -> &'static str {
    same_as(machine, domain).unwrap_or_else(|| {
        let count = |key: Key| machine.cpus.iter().map(key).collect::<BTreeSet<_>>().len();
        let nearest = SCOPES.iter().min_by_key(|(_, key)| count(*key).abs_diff(count(domain)));
        let name = nearest.map_or("core", |(name, _)| *name);
        notes.push(format!(
            "A file cannot describe the {} {what} domains; one for each {name} is the nearest.",
            count(domain)
        ));
        name
    })
}

/// The domains in the shortest form that describes them; if sockets differ, neighbouring cores in domains of the most frequent size.
fn memory(
    machine: &LiveMachine,
    (sockets, nodes_per_socket): (usize, usize),
    kinds: &[Kind],
    notes: &mut Vec<String>,
) -> Memory {
    let by_socket = domains_by_socket(machine);
    let domains = || by_socket.values().flatten();
    let same_cache = same_cache(machine).is_some() || machine.cache_kib.iter().all(Option::is_none);
    if let Some(scope) = same_as(machine, |cpu| cpu.memory_domain).filter(|_| same_cache) {
        return Memory::Shared(scope);
    }
    let in_socket: usize = kinds.iter().map(|kind| kind.cores).sum();
    let size = |domain: &MemoryDomain| domain.cores.values().sum::<usize>();
    let most = domains().map(size).max().unwrap_or(1);
    let alike = domains().all(|domain| size(domain) == most);
    if alike && same_cache && kinds.len() == 1 && in_socket.is_multiple_of(most) {
        return Memory::Cores(most);
    }
    let mut lists = by_socket.values();
    let first = lists.next().filter(|first| lists.all(|other| other == *first));
    let complete = |listed: &&Vec<MemoryDomain>| {
        let of_kind = |tier| {
            listed
                .iter()
                .filter_map(|domain| domain.cores.get(&tier))
                .sum::<usize>()
        };
        kinds.iter().all(|kind| of_kind(kind.tier) == kind.cores)
    };
    if let Some(listed) = first
        .filter(complete)
        .filter(|listed| !straddles(listed, kinds, sockets, nodes_per_socket))
    {
        return Memory::Listed(listed.clone());
    }
    let divisors = (1..=in_socket).filter(|n| in_socket.is_multiple_of(*n));
    let nearest = divisors.min_by_key(|n| (n.abs_diff(most), in_socket - n)).unwrap_or(1);
    notes.push(format!(
        "Memory domains differ between sockets, or straddle nodes; each {nearest} neighbouring cores are assumed to be one."
    ));
    Memory::Cores(nearest)
}

/// The domains of each socket, in the order of their first CPUs.
fn domains_by_socket(machine: &LiveMachine) -> BTreeMap<u16, Vec<MemoryDomain>> {
    let mut cores: BTreeMap<(u16, u16), BTreeSet<(u16, u16)>> = BTreeMap::new();
    for cpu in &machine.cpus {
        let domain = cores.entry((cpu.socket, cpu.memory_domain)).or_default();
        domain.insert((cpu.tier, cpu.core));
    }
    let mut by_socket: BTreeMap<u16, Vec<MemoryDomain>> = BTreeMap::new();
    for ((socket, number), members) in cores {
        let mut domain = MemoryDomain {
            cores: BTreeMap::new(),
            cache_kib: machine.cache_kib[usize::from(number)],
        };
        for (tier, _) in members {
            *domain.cores.entry(tier).or_default() += 1;
        }
        by_socket.entry(socket).or_default().push(domain);
    }
    by_socket
}

/// The cache size that all domains share.
fn same_cache(machine: &LiveMachine) -> Option<u64> {
    let first = *machine.cache_kib.first()?;
    first.filter(|_| machine.cache_kib.iter().all(|other| *other == first))
}

/// Whether the reader would refuse a file with these domains because of its nodes.
fn straddles(listed: &[MemoryDomain], kinds: &[Kind], sockets: usize, nodes_per_socket: usize) -> bool {
    let of_kinds = |domain: &MemoryDomain| {
        let cores = kinds
            .iter()
            .map(|kind| domain.cores.get(&kind.tier).copied().unwrap_or(0));
        cores.collect()
    };
    let count = |kind: &Kind| CoreCount {
        cores: kind.cores,
        smt: kind.smt,
    };
    let layout = Layout {
        sockets,
        nodes_per_socket,
        kinds: kinds.iter().map(count).collect(),
        clock: Scope::Core,
        voltage: Scope::Core,
        memory: MemoryScope::Listed(listed.iter().map(of_kinds).collect()),
    };
    layout.straddling().is_some()
}
