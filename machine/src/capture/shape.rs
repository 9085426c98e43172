//! How cores lie, in the words of a machine file: the same in each socket, and domains that are a core, a kind, a socket or the machine.

use crate::live::{LiveCpu, LiveError, LiveMachine};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, PartialEq)]
pub struct Shape {
    sockets: usize,
    nodes_per_socket: usize,
    clock: &'static str,
    voltage: &'static str,
    /// A scope, or this many neighbouring cores.
    memory: Result<&'static str, usize>,
    pub kinds: Vec<Kind>,
}

#[derive(Debug, PartialEq)]
pub struct Kind {
    pub tier: u16,
    /// In each socket.
    pub cores: usize,
    pub smt: usize,
    /// Top speed, 1024 the fastest CPU's.
    pub capacity: u32,
}

impl Shape {
    /// The keys of a machine file, one a line.
    pub fn head(&self) -> String {
        let memory = match self.memory {
            Ok(scope) => format!("memory_domain = \"{scope}\""),
            Err(cores) => format!("cores_per_memory_domain = {cores}"),
        };
        format!(
            "sockets = {}\nnodes_per_socket = {}\nclock_domain = \"{}\"\nvoltage_domain = \"{}\"\n{memory}\n",
            self.sockets, self.nodes_per_socket, self.clock, self.voltage
        )
    }
}

type Key = fn(&LiveCpu) -> u16;

/// The nearest shape; what is not so on this machine is noted.
///
/// # Errors
/// No CPU is online, or the machine file would have more CPUs than there is room for.
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
            "This machine has {} CPUs; {cpus} are the nearest that a file describes, whose sockets and cores of a kind are alike.",
            machine.cpus.len()
        ));
    }
    Ok(Shape {
        sockets,
        nodes_per_socket: (usize::from(machine.nr_nodes) / sockets).max(1),
        clock: scope(machine, "clock", |c| c.clock_domain, notes),
        voltage: scope(machine, "voltage", |c| c.voltage_domain, notes),
        memory: memory(machine, kinds.iter().map(|kind| kind.cores).sum(), notes),
        kinds,
    })
}

/// Cores of a kind in the socket that has most; threads of the core that has most.
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
            "Kind {tier} has other numbers of cores in other sockets; {most} are taken in each."
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

/// The scope whose domains are just these; `kind` is that of one kind in one socket.
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

/// The nearest scope by the number of domains.
fn scope(machine: &LiveMachine, what: &str, domain: Key, notes: &mut Vec<String>) -> &'static str {
    same_as(machine, domain).unwrap_or_else(|| {
        let count = |key: Key| machine.cpus.iter().map(key).collect::<BTreeSet<_>>().len();
        let nearest = SCOPES.iter().min_by_key(|(_, key)| count(*key).abs_diff(count(domain)));
        let name = nearest.map_or("core", |(name, _)| *name);
        notes.push(format!(
            "The {} {what} domains are not those of a file; one for each {name} is the nearest.",
            count(domain)
        ));
        name
    })
}

/// Neighbouring cores of a socket, a number that divides those of the socket.
fn memory(machine: &LiveMachine, in_socket: usize, notes: &mut Vec<String>) -> Result<&'static str, usize> {
    if let Some(scope) = same_as(machine, |cpu| cpu.memory_domain) {
        return Ok(scope);
    }
    let mut cores: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
    for cpu in &machine.cpus {
        cores.entry(cpu.memory_domain).or_default().insert(cpu.core);
    }
    let most = cores.values().map(BTreeSet::len).max().unwrap_or(1);
    let divisors = (1..=in_socket).filter(|n| in_socket.is_multiple_of(*n));
    let nearest = divisors.min_by_key(|n| (n.abs_diff(most), in_socket - n)).unwrap_or(1);
    if cores.values().any(|of| of.len() != nearest) {
        notes.push(format!(
            "Memory domains are not of equal size, or not of neighbouring cores; {nearest} neighbouring cores are taken as one."
        ));
    }
    Err(nearest)
}
