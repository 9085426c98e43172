// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's energy model: what a busy CPU draws at each of its frequencies. Firmware or a device tree told the kernel.
//!
//! `energy_model/cpuN/` of debugfs is a performance domain, N the first CPU that has its frequencies; other devices have folders without `cpus`. Below
//! it, each `ps:KHZ/` is a performance state (kernel/power/energy_model.c, include/linux/energy_model.h, Linux 6.12).

use super::reader::Reader;
use super::{LiveError, Tree};
use std::collections::BTreeSet;

const FOLDER: &str = "sys/kernel/debug/energy_model";
/// `EM_PERF_DOMAIN_MICROWATTS`. An artificial model lacks it: its powers are steps that make the kernel prefer some CPUs, not watts.
const MICROWATTS: u64 = 1;
/// `EM_MAX_POWER`, in microwatts.
const MAX_UW: i64 = 64_000_000;
const MAX_KHZ: i64 = 100_000_000;
/// As many as a machine file may have operating points.
const MAX_STATES: usize = 64;

/// CPUs that change their frequency together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformanceDomain {
    pub cpus: BTreeSet<u32>,
    /// Lowest frequency first, none twice, at least one.
    pub states: Vec<PerformanceState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerformanceState {
    pub khz: u64,
    /// Of one busy CPU.
    pub uw: u64,
}

/// The performance domains that have CPUs. None: the kernel knows none, debugfs is not mounted, or may not be read.
///
/// # Errors
/// A domain without watts, without states or with more than 64; or a file with something that no kernel writes, by name.
pub fn read(tree: &dyn Tree) -> Result<Vec<PerformanceDomain>, LiveError> {
    let mut reader = Reader::new(tree);
    let mut domains = Vec::new();
    for name in tree.list(FOLDER) {
        let folder = format!("{FOLDER}/{name}");
        if let Some(cpus) = reader.list(&format!("{folder}/cpus"))? {
            has_watts(&mut reader, &folder)?;
            let states = states(tree, &mut reader, &folder)?;
            domains.push(PerformanceDomain { cpus, states });
        }
    }
    Ok(domains)
}

fn has_watts(reader: &mut Reader, folder: &str) -> Result<(), LiveError> {
    let file = format!("{folder}/flags");
    let text = reader.text(&file).unwrap_or_default();
    // The kernel writes 0 without the prefix.
    let flags = u64::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16)
        .map_err(|_| reader.unexpected(&file, &text, "flags such as 0x1"))?;
    match flags & MICROWATTS {
        0 => Err(LiveError::new(
            reader.shown(&file),
            format!("flags {text} say that its powers are no watts"),
        )),
        _ => Ok(()),
    }
}

fn states(tree: &dyn Tree, reader: &mut Reader, folder: &str) -> Result<Vec<PerformanceState>, LiveError> {
    let mut states = Vec::new();
    for name in tree.list(folder).iter().filter(|name| name.starts_with("ps:")) {
        let mut number = |file: &str, most, what| {
            let path = format!("{folder}/{name}/{file}");
            let value = reader.number(&path, 1..=most, what)?;
            value
                .map(i64::unsigned_abs)
                .ok_or_else(|| reader.unexpected(&path, "", what))
        };
        states.push(PerformanceState {
            khz: number("frequency", MAX_KHZ, "a frequency in kHz")?,
            uw: number("power", MAX_UW, "a power in microwatts")?,
        });
    }
    states.sort_unstable();
    let count = states.len();
    states.dedup_by_key(|state| state.khz);
    if count != states.len() || !(1..=MAX_STATES).contains(&count) {
        let found = format!("{count} states of {} frequencies", states.len());
        return Err(reader.unexpected(folder, &found, "1 to 64 states ps:KHZ, each of another frequency"));
    }
    Ok(states)
}
