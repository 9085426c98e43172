// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory domains: the CPUs that share a last-level cache.
//!
//! The last-level cache of a CPU is its highest unified one in `cache/index*`. So two chiplets with caches of 96 and 32 MiB are two
//! domains. Low-power cores outside the ring, whose highest cache is a shared L2 while the others have an L3, are a separate domain.
//!
//! Some machines list only part of their caches (phones: the private L2 but not the L3 behind it; guests: nothing). A cache of level 2
//! or less that belongs to a single core counts as the last only if another core of the socket lists a better one.
//! If no core of a socket does, the domains are its clusters (`topology/cluster_cpus_list`), provided that one of them spans several
//! cores, else the whole socket.

use super::partition::{Numbering, Partition};
use super::present::Present;
use super::reader::{cpu_file, Reader};
use super::{LiveError, MAX_MEMORY_DOMAINS};
use std::collections::BTreeSet;

/// Linux numbers the caches of a CPU from 0 without gaps.
const MAX_CACHES: usize = 16;
/// From this level on, a cache is the last one even if only one core has it (servers with few cores per chiplet).
const LAST_LEVEL: i64 = 3;

/// Anything larger is not a cache: 64 GiB.
const MAX_KIB: u64 = 1 << 26;

struct Cache {
    level: i64,
    cpus: BTreeSet<u32>,
    kib: Option<u64>,
}

/// Reads the memory domains, and the size of the cache of each in KiB. Offline CPUs belong to the domain of their stand-in.
pub fn read(
    reader: &mut Reader,
    present: &Present,
    cores: &Numbering,
    sockets: &Numbering,
    stand_in: &[usize],
) -> Result<(Numbering, Vec<Option<u64>>), LiveError> {
    let mut caches: Vec<Option<Cache>> = present.numbers.iter().map(|_| None).collect();
    for (i, cpu) in present.online() {
        caches[i] = last_cache(reader, cpu)?;
    }
    let mut partition = Partition::new(present.numbers.len());
    partition.join_all(cores);
    for socket in 0..sockets.count {
        let members: Vec<usize> = present
            .online()
            .map(|(i, _)| i)
            .filter(|&i| sockets.of[i] == socket)
            .collect();
        let believed = members.iter().flat_map(|&i| &caches[i]);
        match believed.into_iter().any(|cache| is_last(cache, present, cores)) {
            true => join_by_caches(reader, present, &members, &caches, &mut partition),
            false => {
                join_by_clusters(reader, present, cores, &members, &mut partition)?;
                members.iter().for_each(|&i| caches[i] = None);
            }
        }
    }
    for (i, &other) in stand_in.iter().enumerate() {
        partition.join(i, other);
    }
    let domains = partition.numbered();
    if usize::from(domains.count) > MAX_MEMORY_DOMAINS {
        let what = format!("found {} memory domains (last-level caches)", domains.count);
        let way_out = "raise LOP_MAX_MEMORY_DOMAINS in policy/core/topology.h and build anew";
        return Err(reader.too_many(
            &cpu_file(present.numbers[0], "cache"),
            &what,
            MAX_MEMORY_DOMAINS,
            way_out,
        ));
    }
    let size = |domain: u16| {
        let members = (0..caches.len()).filter(|&i| domains.of[i] == domain);
        members.flat_map(|i| &caches[i]).find_map(|cache| cache.kib)
    };
    let sizes = (0..domains.count).map(size).collect();
    Ok((domains, sizes))
}

fn last_cache(reader: &mut Reader, cpu: u32) -> Result<Option<Cache>, LiveError> {
    let mut last: Option<Cache> = None;
    for index in 0..MAX_CACHES {
        let file = |name: &str| cpu_file(cpu, &format!("cache/index{index}/{name}"));
        let Some(level) = reader.number(&file("level"), 0..=9, "the level of a cache")? else {
            break;
        };
        if reader.text(&file("type")).as_deref() != Some("Unified") || last.as_ref().is_some_and(|c| c.level >= level) {
            continue;
        }
        if let Some(cpus) = reader.sharing(&file("shared_cpu_list"), cpu)? {
            let kib = reader.text(&file("size")).and_then(|text| size_kib(&text));
            last = Some(Cache { level, cpus, kib });
        }
    }
    Ok(last)
}

/// Parses `24576K`, as the kernel writes it. Any other text means an unknown size, on which nothing else depends.
fn size_kib(text: &str) -> Option<u64> {
    let kib = text.strip_suffix('K')?.parse().ok()?;
    (1..=MAX_KIB).contains(&kib).then_some(kib)
}

fn is_last(cache: &Cache, present: &Present, cores: &Numbering) -> bool {
    cache.level >= LAST_LEVEL || cores.spans_several(present.indices(&cache.cpus))
}

fn join_by_caches(
    reader: &mut Reader,
    present: &Present,
    members: &[usize],
    caches: &[Option<Cache>],
    partition: &mut Partition,
) {
    let mut unknown = Vec::new();
    for &i in members {
        match &caches[i] {
            Some(cache) => present.join(partition, i, &cache.cpus),
            None => unknown.push(i),
        }
    }
    if !unknown.is_empty() {
        let cpus = present.listed(unknown);
        reader.note(format!(
            "No last-level cache is listed for CPU {cpus}: each core is taken as a memory domain."
        ));
    }
}

fn join_by_clusters(
    reader: &mut Reader,
    present: &Present,
    cores: &Numbering,
    members: &[usize],
    partition: &mut Partition,
) -> Result<(), LiveError> {
    let mut clusters = Vec::new();
    for &i in members {
        let cpu = present.numbers[i];
        clusters.push(reader.sharing(&cpu_file(cpu, "topology/cluster_cpus_list"), cpu)?);
    }
    let spans = |cluster: &BTreeSet<u32>| cores.spans_several(present.indices(cluster));
    let by_cluster = clusters.iter().flatten().any(spans);
    for (&i, cluster) in members.iter().zip(&clusters) {
        match cluster {
            Some(cluster) if by_cluster => present.join(partition, i, cluster),
            _ if by_cluster => {}
            _ => partition.join(i, members[0]),
        }
    }
    let taken = if by_cluster { "its clusters are" } else { "it is" };
    let domains = if by_cluster {
        "memory domains"
    } else {
        "a memory domain"
    };
    let cpus = present.listed(members.iter().copied());
    reader.note(format!(
        "No shared cache is listed in the socket of CPU {cpus}: {taken} taken as {domains}."
    ));
    Ok(())
}
