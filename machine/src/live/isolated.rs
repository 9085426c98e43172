// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that are kept from all tasks but those that are bound there: `isolcpus=` of the kernel's command line, and isolated partitions of
//! cpuset (cgroup v2). Not those of `nohz_full=` alone: the kernel stops their tick and keeps its own work away, but any task may run there.

use super::present::Present;
use super::reader::Reader;
use super::{cpulist, LiveError};
use std::collections::BTreeSet;

/// As booted; by partitions, where cgroup v2 is mounted alone or beside v1.
const LISTS: [&str; 3] = [
    "sys/devices/system/cpu/isolated",
    "sys/fs/cgroup/cpuset.cpus.isolated",
    "sys/fs/cgroup/unified/cpuset.cpus.isolated",
];

/// Those of the present CPUs that are isolated. An online one that is not there has to be.
pub fn read(reader: &mut Reader, present: &Present) -> Result<BTreeSet<u32>, LiveError> {
    let mut isolated = BTreeSet::new();
    for list in LISTS {
        isolated.extend(reader.list(list)?.unwrap_or_default());
        if present.online().all(|(_, cpu)| isolated.contains(&cpu)) {
            return Err(reader.unexpected(list, &cpulist::format(isolated), "an online CPU that is not isolated"));
        }
    }
    isolated.retain(|cpu| present.numbers.binary_search(cpu).is_ok());
    Ok(isolated)
}
