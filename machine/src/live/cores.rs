// SPDX-License-Identifier: MIT OR Apache-2.0
//! SMT siblings and sockets.

use super::partition::{number_by_key, Numbering, Partition};
use super::present::Present;
use super::reader::{cpu_file, Reader};
use super::{LiveError, MAX_NODES, MAX_SMT};

/// Cores: CPUs that are SMT siblings. An offline CPU is a core of its own, since its siblings do not name it.
pub fn read(reader: &mut Reader, present: &Present) -> Result<Numbering, LiveError> {
    let mut partition = Partition::new(present.numbers.len());
    let mut unknown = Vec::new();
    for (i, cpu) in present.online() {
        let list = match reader.sharing(&cpu_file(cpu, "topology/core_cpus_list"), cpu)? {
            // Its name before Linux 5.3.
            None => reader.sharing(&cpu_file(cpu, "topology/thread_siblings_list"), cpu)?,
            found => found,
        };
        match list {
            Some(list) => present.join(&mut partition, i, &list),
            None => unknown.push(i),
        }
    }
    if !unknown.is_empty() {
        let cpus = present.listed(unknown);
        reader.note(format!(
            "No SMT siblings are listed for CPU {cpus}: taken as a core each."
        ));
    }
    let cores = partition.numbered();
    check_threads(reader, present, &cores)?;
    Ok(cores)
}

fn check_threads(reader: &Reader, present: &Present, cores: &Numbering) -> Result<(), LiveError> {
    let mut threads = vec![0; usize::from(cores.count)];
    for (i, &core) in cores.of.iter().enumerate() {
        threads[usize::from(core)] += 1;
        if threads[usize::from(core)] > MAX_SMT {
            let file = cpu_file(present.numbers[i], "topology/core_cpus_list");
            let way_out = "switch SMT off: 'echo off > /sys/devices/system/cpu/smt/control'";
            return Err(reader.too_many(&file, "found more SMT siblings in a core", MAX_SMT, way_out));
        }
    }
    Ok(())
}

/// Sockets by package number; CPUs without one (-1 on some boards) share a socket.
pub fn sockets(reader: &mut Reader, present: &Present, stand_in: &[usize]) -> Result<Numbering, LiveError> {
    let mut package = vec![None; present.numbers.len()];
    let mut unknown = Vec::new();
    for (i, cpu) in present.online() {
        let file = cpu_file(cpu, "topology/physical_package_id");
        package[i] = reader.number(&file, -1..=i64::from(u32::MAX), "the number of a package")?;
        if package[i].is_none() {
            unknown.push(i);
        }
    }
    if !unknown.is_empty() {
        let cpus = present.listed(unknown);
        reader.note(format!("No package is stated for CPU {cpus}: taken as one socket."));
    }
    let sockets = number_by_key(stand_in.iter().map(|&i| package[i]));
    if usize::from(sockets.count) > MAX_NODES {
        let file = cpu_file(present.numbers[0], "topology/physical_package_id");
        let what = format!("found {} sockets", sockets.count);
        return Err(reader.too_many(
            &file,
            &what,
            MAX_NODES,
            "give a virtual machine sockets of several cores, else raise LOP_MAX_NODES in policy/core/topology.h and build anew",
        ));
    }
    Ok(sockets)
}
