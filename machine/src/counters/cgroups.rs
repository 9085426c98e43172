// SPDX-License-Identifier: MIT OR Apache-2.0
//! Misses and instructions of cgroups. The kernel counts a cgroup on one CPU at a time, so there are two counters for each CPU.

use super::Pair;
use crate::intensity::Counts;
use crate::live::parse_cpu_list;
use crate::pmu::{builder, devices, Device};
use perf_event::events::Hardware;
use rustix::io::Errno;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Counts misses and instructions of cgroups.
pub trait CountsCgroups: Send {
    /// The counts of all threads of a cgroup and of those below since the last call for it; `None` at the first call. `folder`: that of the cgroup.
    ///
    /// # Errors
    /// Why it is not counted, for people.
    fn read(&mut self, folder: &Path) -> Result<Option<Counts>, String>;
    /// Stops counting cgroups for which `wanted` is false.
    fn keep(&mut self, wanted: &dyn Fn(&Path) -> bool);
}

/// By the CPU's counters. A cgroup is counted on the CPUs that were online at its first call.
pub struct OfCgroups {
    open: HashMap<PathBuf, Vec<Pair>>,
}

impl OfCgroups {
    /// Lets this process open as many files as it may. Processes that it starts would inherit that, and some rely on less, as those that call select(2).
    #[must_use]
    pub fn begin() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let current = limit.maximum;
        // To raise it that far needs no privilege.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
        Self { open: HashMap::new() }
    }
}

impl CountsCgroups for OfCgroups {
    fn read(&mut self, folder: &Path) -> Result<Option<Counts>, String> {
        let Some(pairs) = self.open.get_mut(folder) else {
            let pairs = open(folder).map_err(|error| why(&error))?;
            self.open.insert(folder.to_path_buf(), pairs);
            return Ok(None);
        };
        let sum = pairs.iter_mut().try_fold(Counts::default(), |sum, pair| {
            let (misses, instructions) = pair.since()?;
            Ok(Counts {
                misses: sum.misses + misses,
                instructions: sum.instructions + instructions,
            })
        });
        sum.map(Some)
            .map_err(|error: io::Error| format!("its counters cannot be read: {error}"))
    }

    fn keep(&mut self, wanted: &dyn Fn(&Path) -> bool) {
        self.open.retain(|folder, _| wanted(folder));
    }
}

fn open(folder: &Path) -> io::Result<Vec<Pair>> {
    let cgroup = File::open(folder)?;
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let online = parse_cpu_list(online.trim()).ok_or(io::ErrorKind::InvalidData)?;
    let devices = devices(Path::new("/"));
    let pair = |cpu: u32| {
        let device = device_of(&devices, cpu);
        let of = |event| {
            builder(event, device)
                .observe_cgroup(&cgroup)
                .one_cpu(cpu as usize)
                .clone()
        };
        Pair::of(of(Hardware::CACHE_MISSES), of(Hardware::INSTRUCTIONS))
    };
    online.into_iter().map(pair).collect()
}

fn why(error: &io::Error) -> String {
    let mend = match Errno::from_io_error(error) {
        Some(Errno::MFILE) => "it takes two for each CPU: raise the hard limit of open files, as by LimitNOFILE= of the service that starts it",
        _ => "'lop doctor' says what is missing",
    };
    format!("no counters of cache misses and instructions of cgroups here ({error}): {mend}")
}

/// `None`: there is one kind of CPU only.
fn device_of(devices: &[Device], cpu: u32) -> Option<&Device> {
    let has = |device: &&Device| device.cpus.as_ref().is_some_and(|cpus| cpus.contains(&cpu));
    devices.iter().filter(|_| devices.len() > 1).find(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_counts_on_the_device_of_its_kind() {
        let device = |name: &str, cpus: &[u32]| Device {
            name: name.into(),
            number: 4,
            cpus: Some(cpus.iter().copied().collect()),
        };
        let two = [device("cpu_atom", &[2, 3]), device("cpu_core", &[0, 1])];
        let name = |devices, cpu| device_of(devices, cpu).map(|device| device.name.as_str());
        assert_eq!((name(&two, 1), name(&two, 3)), (Some("cpu_core"), Some("cpu_atom")));
        assert_eq!(name(&two[..1], 2), None);
    }

    #[test]
    fn what_is_no_cgroup_is_not_counted_and_it_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let said = OfCgroups::begin().read(folder.path()).unwrap_err();
        assert!(
            said.starts_with("no counters of cache misses and instructions of cgroups here (")
                && said.ends_with("): 'lop doctor' says what is missing"),
            "{said}"
        );
        let said = why(&Errno::MFILE.into());
        assert!(said.contains("raise the hard limit of open files"), "{said}");
    }
}
