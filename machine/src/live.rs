// SPDX-License-Identifier: MIT OR Apache-2.0
//! The topology of a running Linux machine, read from sysfs: kinds of cores, SMT siblings, clock, voltage and memory
//! domains, nodes, sockets. What sysfs does not say is assumed, and each assumption is a note.
//!
//! | what | from | else |
//! |---|---|---|
//! | core | `topology/core_cpus_list`, `thread_siblings_list` | each CPU is a core |
//! | kind of core | `cpu_capacity` and others, see live/kinds.rs | one kind |
//! | clock domain | `cpufreq/related_cpus` and SMT siblings | each core has its own |
//! | voltage domain | nowhere on Linux | the clock domain if it spans several cores, else the cores of a kind in a socket |
//! | memory domain | `cache/index*`, see live/caches.rs | the cluster, else the package |
//! | socket | `topology/physical_package_id` | one |
//! | node | `node/nodeN/cpulist` | one |
//! | isolated | `cpu/isolated` and cpuset's, see live/isolated.rs | none is |
//!
//! All numbers but those of the CPUs are dense from 0, in the order of the lowest CPU of each domain; kinds from the fastest.
//!
//! Sysfs tells little about a CPU that is present but offline. It counts as a core of its own, in the clock domain that lists it
//! (else in one of its own), and takes everything else from an online CPU: the lowest of its clock domain, else its next lower
//! neighbour. When such a CPU comes online, the scheduler restarts and reads the machine again; until then the values only need
//! to be plausible.

mod caches;
mod clocks;
mod cores;
mod cpulist;
mod energy_model;
mod error;
mod heat;
mod isolated;
mod kinds;
mod nodes;
mod partition;
mod present;
mod reader;
mod slowed;
mod tree;

pub use cpulist::{format as format_cpu_list, parse as parse_cpu_list};
pub use energy_model::{read as energy_model, PerformanceDomain, PerformanceState};
pub use error::LiveError;
pub use heat::CoreSensors;
pub use slowed::kinds_of;
pub use tree::{Folder, TextTree, Tree};

use partition::{number_by_key, Numbering};
use reader::Reader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Most nodes, and most sockets, that the policy distinguishes (`LOP_MAX_NODES` of policy/core/topology.h).
pub const MAX_NODES: usize = 64;
/// `LOP_MAX_TIERS`
pub const MAX_TIERS: usize = 16;
/// `LOP_MAX_MEMORY_DOMAINS`
pub const MAX_MEMORY_DOMAINS: usize = 256;
/// `LOP_MAX_SMT`
pub const MAX_SMT: usize = 8;

/// Longest transition that is believed; drivers that do not know it report 0 or 4294967295.
const MAX_TRANSITION_NS: u64 = 10_000_000;
/// Assumed if no driver reports it.
const ASSUMED_TRANSITION_NS: u64 = 100_000;

/// A running machine as the policy needs to see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveMachine {
    /// Present CPUs by ascending number; there may be gaps.
    pub cpus: Vec<LiveCpu>,
    /// How many of each there are; the numbers in [`LiveCpu`] are below them.
    pub nr_tiers: u16,
    pub nr_cores: u16,
    pub nr_clock_domains: u16,
    pub nr_voltage_domains: u16,
    pub nr_memory_domains: u16,
    pub nr_nodes: u16,
    pub nr_sockets: u16,
    /// Linux's number of each node; `None`: no node lists its CPUs.
    #[serde(default)]
    pub node_numbers: Vec<Option<u32>>,
    /// Last-level cache of each memory domain; `None`: none is listed, or without its size.
    #[serde(default)]
    pub cache_kib: Vec<Option<u64>>,
    /// How long a change of frequency takes: the longest that a driver reports, or an assumption (then a note says so).
    pub transition_ns: u64,
    /// What could not be read and what was assumed instead, one sentence each.
    pub notes: Vec<String>,
}

/// One logical CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveCpu {
    /// Linux's number, below [`crate::MAX_CPUS`].
    pub number: u32,
    pub online: bool,
    /// Closed to all tasks except those that are bound there.
    #[serde(default)]
    pub isolated: bool,
    /// Kind of core, 0 the fastest.
    pub tier: u16,
    /// Top speed, 1 to 1024; the fastest CPU has 1024. The kernel's own scale can differ if it does not distinguish the kinds:
    /// for `scx_bpf_cpuperf_set()` use `scx_bpf_cpuperf_cap()`.
    pub capacity: u32,
    /// Highest frequency; `None`: not known.
    pub max_khz: Option<u64>,
    /// CPUs with the same number are SMT siblings.
    pub core: u16,
    pub clock_domain: u16,
    pub voltage_domain: u16,
    /// CPUs that share a last-level cache.
    pub memory_domain: u16,
    pub socket: u16,
    pub node: u16,
}

impl LiveMachine {
    /// CPUs of the core that `cpu` belongs to, itself among them, ascending; none if there is no such CPU.
    pub fn siblings(&self, cpu: u32) -> Vec<u32> {
        let Ok(index) = self.cpus.binary_search_by_key(&cpu, |c| c.number) else {
            return Vec::new();
        };
        let core = self.cpus[index].core;
        let same = self.cpus.iter().filter(|c| c.core == core);
        same.map(|c| c.number).collect()
    }

    /// SMT siblings form a ring: the one after `cpu`; itself without SMT, or if there is no such CPU.
    pub fn next_sibling(&self, cpu: u32) -> u32 {
        let siblings = self.siblings(cpu);
        let at = siblings.iter().position(|&sibling| sibling == cpu);
        at.map_or(cpu, |at| siblings[(at + 1) % siblings.len()])
    }

    /// CPUs that are closed to all tasks except those that are bound there, ascending.
    pub fn isolated(&self) -> BTreeSet<u32> {
        let isolated = self.cpus.iter().filter(|cpu| cpu.isolated);
        isolated.map(|cpu| cpu.number).collect()
    }

    /// Threads of the core that has the most; 1 without SMT.
    pub fn threads(&self) -> u16 {
        let of_core = |cpu: &LiveCpu| self.siblings(cpu.number).len() as u16;
        self.cpus.iter().map(of_core).max().unwrap_or(1)
    }
}

impl LiveCpu {
    /// Its speed relative to the fastest kind, x 1000.
    pub fn permille(&self) -> u16 {
        (self.capacity * 1000 / 1024) as u16
    }
}

/// Reads the machine whose `sys` lies in the folder `root`; `/` for the one this runs on.
///
/// # Errors
/// The lists of CPUs are missing, a file holds something that no kernel writes, or the machine has more of something than
/// the policy has room for. The error names the file.
pub fn read(root: &Path) -> Result<LiveMachine, LiveError> {
    read_tree(&Folder::new(root))
}

/// The same from any [`Tree`].
///
/// # Errors
/// As [`read`].
pub fn read_tree(tree: &dyn Tree) -> Result<LiveMachine, LiveError> {
    let mut reader = Reader::new(tree);
    let present = present::read(&mut reader)?;
    let isolated = isolated::read(&mut reader, &present)?;
    let cores = cores::read(&mut reader, &present)?;
    let clocks = clocks::read(&mut reader, &present, &cores)?;
    let stand_in = present.stand_ins(&clocks.domains);
    let sockets = cores::sockets(&mut reader, &present, &stand_in)?;
    let (nodes, node_numbers) = nodes::read(&mut reader, &present, &stand_in)?;
    let (memory, cache_kib) = caches::read(&mut reader, &present, &cores, &sockets, &stand_in)?;
    let kinds = kinds::read(&mut reader, &present, &cores, &clocks.max_khz, &stand_in)?;
    let voltage = voltage_domains(
        &mut reader,
        &present.online,
        &cores,
        &clocks.domains,
        &sockets,
        &kinds.tier,
    );
    let transition_ns = transition(&mut reader, clocks.transition_ns);
    let cpu = |i: usize| LiveCpu {
        number: present.numbers[i],
        online: present.online[i],
        isolated: isolated.contains(&present.numbers[i]),
        tier: kinds.tier[i],
        capacity: kinds.capacity[i],
        max_khz: clocks.max_khz[i],
        core: cores.of[i],
        clock_domain: clocks.domains.of[i],
        voltage_domain: voltage.of[i],
        memory_domain: memory.of[i],
        socket: sockets.of[i],
        node: nodes.of[i],
    };
    Ok(LiveMachine {
        cpus: (0..present.numbers.len()).map(cpu).collect(),
        nr_tiers: kinds.nr_tiers,
        nr_cores: cores.count,
        nr_clock_domains: clocks.domains.count,
        nr_voltage_domains: voltage.count,
        nr_memory_domains: memory.count,
        nr_nodes: nodes.count,
        nr_sockets: sockets.count,
        node_numbers,
        cache_kib,
        transition_ns,
        notes: reader.into_notes(),
    })
}

/// Which CPUs are isolated now, as [`LiveMachine::isolated`]. Cpuset partitions change it at run time.
///
/// # Errors
/// As [`read`].
pub fn isolated(root: &Path) -> Result<BTreeSet<u32>, LiveError> {
    let tree = Folder::new(root);
    let mut reader = Reader::new(&tree);
    let present = present::read(&mut reader)?;
    isolated::read(&mut reader, &present)
}

/// Cores that share a clock usually share a supply too. Cores with a clock each usually share the supply with the others of their
/// kind in the socket. Offline siblings do not count as cores here.
fn voltage_domains(
    reader: &mut Reader,
    online: &[bool],
    cores: &Numbering,
    clocks: &Numbering,
    sockets: &Numbering,
    tier: &[u16],
) -> Numbering {
    reader.note("Voltage domains cannot be read on Linux: a clock domain of several cores is taken as one, other cores by kind and socket.");
    let mut first_core: Vec<Option<u16>> = vec![None; usize::from(clocks.count)];
    let mut spans_cores = vec![false; usize::from(clocks.count)];
    for i in (0..online.len()).filter(|&i| online[i]) {
        let clock = usize::from(clocks.of[i]);
        spans_cores[clock] |= *first_core[clock].get_or_insert(cores.of[i]) != cores.of[i];
    }
    number_by_key((0..online.len()).map(|i| match clocks.of[i] {
        clock if spans_cores[usize::from(clock)] => (true, clock, 0),
        _ => (false, sockets.of[i], tier[i]),
    }))
}

fn transition(reader: &mut Reader, stated_ns: Option<u64>) -> u64 {
    stated_ns.unwrap_or_else(|| {
        reader.note(format!(
            "No driver reports how long a change of frequency takes: {} µs are assumed.",
            ASSUMED_TRANSITION_NS / 1000
        ));
        ASSUMED_TRANSITION_NS
    })
}
