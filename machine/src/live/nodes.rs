// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA nodes.

use super::partition::{number_by_key, Numbering};
use super::present::Present;
use super::reader::Reader;
use super::{LiveError, MAX_NODES};

const ONLINE: &str = "sys/devices/system/node/online";

/// Nodes that have CPUs, and the kernel's number of each; `None`: no node lists its CPUs. A kernel without NUMA lists none; then there is one node.
pub fn read(
    reader: &mut Reader,
    present: &Present,
    stand_in: &[usize],
) -> Result<(Numbering, Vec<Option<u32>>), LiveError> {
    let mut node_of: Vec<Option<u32>> = vec![None; present.numbers.len()];
    for node in reader.list(ONLINE)?.unwrap_or_default() {
        let file = format!("sys/devices/system/node/node{node}/cpulist");
        let Some(list) = reader.list(&file)? else { continue };
        for i in present.indices(&list) {
            if let Some(other) = node_of[i].replace(node) {
                let cpu = present.numbers[i];
                let expected = format!("a list without CPU {cpu}, which is in node {other} already");
                return Err(reader.unexpected(&file, &cpu.to_string(), &expected));
            }
        }
    }
    note_unknown(reader, present, &node_of);
    let nodes = number_by_key(stand_in.iter().map(|&i| node_of[i]));
    if usize::from(nodes.count) > MAX_NODES {
        let what = format!("found {} nodes with CPUs", nodes.count);
        let way_out =
            "boot with numa=off on the kernel's command line, or raise LOP_MAX_NODES in policy/core/topology.h and build anew";
        return Err(reader.too_many(ONLINE, &what, MAX_NODES, way_out));
    }
    let mut kernel_numbers = vec![None; usize::from(nodes.count)];
    for (&node, &i) in nodes.of.iter().zip(stand_in) {
        kernel_numbers[usize::from(node)] = node_of[i];
    }
    Ok((nodes, kernel_numbers))
}

fn note_unknown(reader: &mut Reader, present: &Present, node_of: &[Option<u32>]) {
    let unknown = || present.online().filter(|&(i, _)| node_of[i].is_none()).map(|(i, _)| i);
    if unknown().next().is_some() {
        let cpus = present.listed(unknown());
        reader.note(format!("No NUMA node lists CPU {cpus}: taken as one node."));
    }
}
