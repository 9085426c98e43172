// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cpufreq tells: clock domains, highest frequencies, transition times.

use super::partition::{Numbering, Partition};
use super::present::Present;
use super::reader::{cpu_file, Reader};
use super::{LiveError, MAX_TRANSITION_NS};

/// Above any clock that a core will have.
const MAX_KHZ: i64 = 100_000_000;

pub struct Clocks {
    pub domains: Numbering,
    /// By index of the CPU; `None` if it is not known.
    pub max_khz: Vec<Option<u64>>,
    /// The longest plausible one.
    pub transition_ns: Option<u64>,
}

/// Reads cpufreq. SMT siblings share a clock even where each has a policy of its own (intel_pstate).
pub fn read(reader: &mut Reader, present: &Present, cores: &Numbering) -> Result<Clocks, LiveError> {
    let mut partition = Partition::new(present.numbers.len());
    partition.join_all(cores);
    let mut unknown = Vec::new();
    let mut max_khz = vec![None; present.numbers.len()];
    let mut transition_ns = None;
    for (i, cpu) in present.online() {
        match reader.sharing_blanks(&cpu_file(cpu, "cpufreq/related_cpus"), cpu)? {
            Some(list) => present.join(&mut partition, i, &list),
            None => unknown.push(i),
        }
        max_khz[i] = frequency(reader, cpu)?;
        transition_ns = transition_ns.max(transition(reader, cpu)?);
    }
    if !unknown.is_empty() {
        let cpus = present.listed(unknown);
        reader.note(format!(
            "No cpufreq policy for CPU {cpus}: each core is taken as a clock domain of its own."
        ));
    }
    Ok(Clocks {
        domains: partition.numbered(),
        max_khz,
        transition_ns,
    })
}

/// Drivers that do not know it report 0.
fn frequency(reader: &mut Reader, cpu: u32) -> Result<Option<u64>, LiveError> {
    let khz = reader.number(
        &cpu_file(cpu, "cpufreq/cpuinfo_max_freq"),
        0..=MAX_KHZ,
        "a frequency in kHz",
    )?;
    Ok(khz.filter(|&khz| khz > 0).map(i64::unsigned_abs))
}

fn transition(reader: &mut Reader, cpu: u32) -> Result<Option<u64>, LiveError> {
    let file = cpu_file(cpu, "cpufreq/cpuinfo_transition_latency");
    let ns = reader.number(&file, 0..=i64::MAX, "a time in ns")?;
    Ok(ns
        .map(i64::unsigned_abs)
        .filter(|ns| (1..=MAX_TRANSITION_NS).contains(ns)))
}
