// SPDX-License-Identifier: GPL-2.0-only
//! Places for groups of tasks and for applications, according to the machine's size, since the program's arrays cannot grow while it runs.

use super::program::skeleton::{types, BpfSkel, OpenBpfSkel};
use anyhow::Result;
use libbpf_rs::OpenMapMut;
use std::mem::size_of;
use std::path::Path;

/// Lower bound for any machine.
const FEWEST: u32 = 1 << 12;
const MOST: u32 = 1 << 16;

/// A power of two: half of the kernel's limit of threads, rounded down. That limit depends on the memory, of which places for this many groups and
/// applications take less than two thousandths. `asked`: for tests.
fn places(root: &Path, asked: Option<u32>) -> u32 {
    let by_memory = || {
        let text = std::fs::read_to_string(root.join("proc/sys/kernel/threads-max")).ok()?;
        let threads: u32 = text.trim().parse().ok()?;
        Some(1 << (threads / 2).clamp(FEWEST, MOST).ilog2())
    };
    match asked {
        Some(places) => places.clamp(1, MOST).next_power_of_two(),
        None => by_memory().unwrap_or(FEWEST),
    }
}

/// To be called before the program is loaded. Without rules, applications are not used.
pub fn make(skel: &mut OpenBpfSkel<'_>, root: &Path, asked: Option<u32>, has_rules: bool) -> Result<()> {
    let groups = places(root, asked);
    let apps = if has_rules { groups } else { 1 };
    let rodata = skel.maps.rodata_data.as_mut().expect("the program has constants");
    (rodata.last_group, rodata.last_app) = (groups - 1, apps - 1);
    let maps = &mut skel.maps;
    lengthen(&mut maps.data_groups, groups, size_of::<types::lop_group_slot>())?;
    lengthen(&mut maps.data_apps, apps, size_of::<types::lop_app_state>())?;
    maps.free_slots.set_max_entries(groups)?;
    maps.slot_of_group.set_max_entries(groups)?;
    maps.free_apps.set_max_entries(apps)?;
    maps.app_of_process.set_max_entries(apps)?;
    Ok(())
}

/// After this, the skeleton's pointer to this memory must not be used until the program is loaded, because the memory moves.
fn lengthen(array: &mut OpenMapMut<'_>, length: u32, element: usize) -> Result<()> {
    Ok(array.set_value_size(length * u32::try_from(element)?)?)
}

/// How many groups have a place; there are places for as many applications.
pub fn count(skel: &BpfSkel<'_>) -> u32 {
    skel.maps
        .rodata_data
        .as_ref()
        .expect("the program has constants")
        .last_group
        + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_by_memory_within_bounds() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/sys/kernel");
        assert_eq!(places(root.path(), None), 4096, "the kernel does not tell");
        std::fs::create_dir_all(&folder).unwrap();
        for (threads_max, expected) in [(3_000, 4096), (62_977, 16_384), (131_072, 65_536), (8_000_000, 65_536)] {
            std::fs::write(folder.join("threads-max"), format!("{threads_max}\n")).unwrap();
            assert_eq!(places(root.path(), None), expected, "{threads_max}");
        }
        assert_eq!(places(root.path(), Some(100)), 128, "asked for");
    }
}
