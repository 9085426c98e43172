// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that count hardware events: one for all CPUs or, if CPUs differ in kind, one for each kind.

use crate::live::parse_cpu_list;
use perf_event::events::Hardware;
use perf_event::Builder;
use std::collections::BTreeSet;
use std::path::Path;

const FOLDER: &str = "sys/bus/event_source/devices";
/// Names of such devices on x86. Elsewhere, their names begin with these.
const NAMES: [&str; 3] = ["cpu", "cpu_core", "cpu_atom"];
const BEGINNINGS: [&str; 2] = ["armv", "apple_"];

/// The counters of some CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// As in `/sys/bus/event_source/devices`.
    pub name: String,
    /// The kernel's number of the device (`perf_event_attr::type`).
    pub number: u32,
    /// Its CPUs; `None`: all.
    pub cpus: Option<BTreeSet<u32>>,
}

/// The devices of the machine below `root`, by name; empty if it has no counters.
#[must_use]
pub fn devices(root: &Path) -> Vec<Device> {
    let folder = root.join(FOLDER);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.flat_map(|entry| entry.file_name().into_string());
    let is_one =
        |name: &String| NAMES.contains(&name.as_str()) || BEGINNINGS.iter().any(|start| name.starts_with(start));
    let device = |name: String| {
        let read = |file: &str| std::fs::read_to_string(folder.join(&name).join(file)).ok();
        let number = read("type")?.trim().parse().ok()?;
        let cpus = read("cpus").and_then(|list| parse_cpu_list(list.trim()));
        Some(Device { name, number, cpus })
    };
    let mut devices: Vec<Device> = names.filter(is_one).filter_map(device).collect();
    devices.sort_by(|one, other| one.name.cmp(&other.name));
    devices
}

/// Counts an event on one of several devices; `None` is the only one. Without a device, an event counts on CPUs of the first kind only
/// (`PERF_TYPE_HARDWARE`, perf_event_open(2): the device stands in the upper half of `config`).
#[must_use]
pub fn builder(event: Hardware, device: Option<&Device>) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.attrs_mut().config |= device.map_or(0, |device| u64::from(device.number) << 32);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(FOLDER).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn each_kind_of_core_has_its_device() {
        let root = tree(&[
            ("cpu_core/type", "4\n"),
            ("cpu_core/cpus", "0-7\n"),
            ("cpu_atom/type", "10\n"),
            ("cpu_atom/cpus", "8,9\n"),
            ("power/type", "21\n"),
        ]);
        let device = |name: &str, number, cpus: &[u32]| Device {
            name: name.into(),
            number,
            cpus: Some(cpus.iter().copied().collect()),
        };
        let found = devices(root.path());
        assert_eq!(
            found,
            [
                device("cpu_atom", 10, &[8, 9]),
                device("cpu_core", 4, &[0, 1, 2, 3, 4, 5, 6, 7])
            ]
        );
        let config = |device| builder(Hardware::CACHE_MISSES, device).attrs().config;
        assert_eq!((config(None), config(Some(&found[0]))), (3, 10 << 32 | 3));
    }

    #[test]
    fn one_device_serves_all_cpus_and_without_there_is_none() {
        let one = devices(tree(&[("armv8_pmuv3_0/type", "8\n")]).path());
        assert_eq!((one.len(), &one[0].cpus), (1, &None));
        assert!(devices(tree(&[("breakpoint/type", "5\n")]).path()).is_empty());
        assert!(devices(Path::new("/nowhere")).is_empty());
    }
}
