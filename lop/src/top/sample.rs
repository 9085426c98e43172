// SPDX-License-Identifier: GPL-2.0-only
//! One sample: the kernel's times of the CPUs, their speeds, and the status of the scheduler if one runs.

use crate::failure::{Failure, FAILED};
use lop_kernel::instance::RunDir;
use lop_kernel::status::{Reason, Status};
use lop_kernel::{status_server, support};
use lop_machine::busy::{self, CpuTimes};
use lop_machine::live::{self, Folder, LiveMachine, Tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// In which set a CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    High,
    /// High and idle, for the next task.
    Spare,
    Green,
    Low,
    /// Runs only the system's own work.
    Reserved,
    /// No scheduler with sets runs.
    None,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cpu {
    pub number: u32,
    pub memory_domain: u16,
    pub online: bool,
    pub set: Set,
    /// Runs a thread that others wait for.
    pub awaited: bool,
    /// Share of the time since the last sample; `None`: not known yet.
    pub busy_permille: Option<u16>,
    pub khz: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Sample {
    pub cpus: Vec<Cpu>,
    /// Of Lopsided, if it runs.
    pub status: Option<Status>,
    /// Name of another sched_ext scheduler.
    pub other: Option<String>,
}

/// Takes one sample after another.
pub struct Sampler {
    root: PathBuf,
    dir: RunDir,
    machine: LiveMachine,
    before: BTreeMap<u32, CpuTimes>,
}

impl Sampler {
    /// # Errors
    /// The machine's topology cannot be read.
    pub fn new(root: &Path, dir: RunDir) -> Result<Self, Failure> {
        let machine = live::read(root).map_err(|error| Failure::new(FAILED, error.to_string()))?;
        Ok(Self {
            root: root.to_path_buf(),
            dir,
            machine,
            before: BTreeMap::new(),
        })
    }

    /// # Errors
    /// `/proc/stat` cannot be read, or an instance is there and does not answer.
    pub fn sample(&mut self) -> Result<Sample, Failure> {
        let tree = Folder::new(&self.root);
        let now = busy::read(&tree).map_err(|error| Failure::new(FAILED, error.to_string()))?;
        let status = status_server::fetch(&self.dir)?;
        let about = |cpu: &live::LiveCpu| Cpu {
            number: cpu.number,
            memory_domain: cpu.memory_domain,
            online: now.contains_key(&cpu.number),
            set: status.as_ref().map_or(Set::None, |status| set_of(status, cpu.number)),
            awaited: status
                .as_ref()
                .is_some_and(|status| status.awaited.contains(&cpu.number)),
            busy_permille: busy_permille(now.get(&cpu.number), self.before.get(&cpu.number)),
            khz: khz(&tree, cpu.number),
        };
        let cpus = self.machine.cpus.iter().map(about).collect();
        self.before = now;
        let other = match status {
            Some(_) => None,
            None => support::attached(&self.root),
        };
        Ok(Sample { cpus, status, other })
    }
}

fn busy_permille(now: Option<&CpuTimes>, before: Option<&CpuTimes>) -> Option<u16> {
    now?.busy_permille_since(before?)
}

fn khz(tree: &dyn Tree, cpu: u32) -> Option<u64> {
    let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    tree.read(&path).ok()?.trim().parse().ok()
}

fn set_of(status: &Status, cpu: u32) -> Set {
    let sets = &status.sets;
    if status.reserved_cpu == Some(cpu) {
        return Set::Reserved;
    }
    match sets.high.iter().find(|member| member.cpu == cpu) {
        Some(member) if member.reason == Reason::Spare => Set::Spare,
        Some(_) => Set::High,
        None if sets.green.iter().any(|member| member.cpu == cpu) => Set::Green,
        None => Set::Low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lop_kernel::status::{Asked, Member, Sets};

    fn member(cpu: u32, reason: Reason) -> Member {
        Member {
            cpu,
            reason,
            khz: None,
            asked: Asked::Top,
        }
    }

    #[test]
    fn a_cpu_is_in_the_set_that_the_scheduler_says() {
        let status = Status {
            reserved_cpu: Some(3),
            sets: Sets {
                high: vec![member(0, Reason::Busy), member(1, Reason::Spare)],
                green: vec![member(2, Reason::Busy)],
                low: vec![3, 4],
                offline: vec![],
            },
            ..Status::default()
        };
        let sets: Vec<Set> = (0..5).map(|cpu| set_of(&status, cpu)).collect();
        assert_eq!(sets, [Set::High, Set::Spare, Set::Green, Set::Reserved, Set::Low]);
    }

    #[test]
    fn the_share_of_a_cpu_is_known_from_the_second_sample_on() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/present", "0-1\n");
        write("sys/devices/system/cpu/online", "0\n");
        write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2100000\n");
        write("proc/stat", "cpu0 100 0 0 100\n");
        let mut sampler = Sampler::new(root.path(), RunDir::new(root.path())).unwrap();
        let first = sampler.sample().unwrap();
        assert_eq!(first.cpus[0].busy_permille, None);
        assert_eq!((first.cpus[0].khz, first.cpus[1].online), (Some(2_100_000), false));
        write("proc/stat", "cpu0 125 0 0 175\n");
        assert_eq!(sampler.sample().unwrap().cpus[0].busy_permille, Some(250));
        write("proc/stat", "nonsense\n");
        assert!(sampler.sample().is_err());
    }
}
