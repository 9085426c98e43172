// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that are closed to all tasks except those that are bound there: `isolcpus=` on the kernel's command line, and isolated partitions of
//! cpuset (cgroup v2). CPUs of `nohz_full=` alone do not count: the kernel stops their tick and keeps its own work away, but any task may run there.

use super::present::Present;
use super::reader::Reader;
use super::{cpulist, LiveError};
use std::collections::BTreeSet;

/// Isolated at boot; by partitions, with cgroup v2 mounted alone; and with it mounted beside v1.
const LISTS: [&str; 3] = [
    "sys/devices/system/cpu/isolated",
    "sys/fs/cgroup/cpuset.cpus.isolated",
    "sys/fs/cgroup/unified/cpuset.cpus.isolated",
];

/// The present CPUs that are isolated. At least one online CPU must not be.
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
