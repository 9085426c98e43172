// SPDX-License-Identifier: GPL-2.0-only
//! Data from sysfs and /proc at the start and end of a recording: requested speeds, tasks and their affinities.

use crate::trace::{Cpu, CpuSpeed, Pid, TaskInfo};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// PF_KTHREAD of `flags` in /proc/PID/stat.
const FLAG_KERNEL_THREAD: u64 = 0x0020_0000;
/// Fields of /proc/PID/stat after the name in brackets: `flags` is the seventh.
const STAT_FLAGS: usize = 6;

/// Speeds of every online CPU, from a tree like /sys/devices/system/cpu.
///
/// # Errors
/// The tree cannot be read, or a speed in it is not a number.
pub fn cpu_speeds(tree: &Path) -> Result<Vec<CpuSpeed>> {
    let online = read(&tree.join("online"))?.with_context(|| format!("{}: no file `online`", tree.display()))?;
    parse_cpu_list(&online)?
        .into_iter()
        .map(|cpu| cpu_speed(tree, cpu))
        .collect()
}

fn cpu_speed(tree: &Path, cpu: Cpu) -> Result<CpuSpeed> {
    let policy = tree.join(format!("cpu{cpu}/cpufreq"));
    Ok(CpuSpeed {
        cpu,
        low_khz: khz(&policy.join("cpuinfo_min_freq"))?,
        top_khz: khz(&policy.join("cpuinfo_max_freq"))?,
        asked_khz: asked_khz(&policy)?,
    })
}

/// The speed set by the user under governor userspace, else the present one. If the hardware has steps, the nearest step, since a
/// measured speed is slightly off.
fn asked_khz(policy: &Path) -> Result<Option<u64>> {
    let set_by_hand = read(&policy.join("scaling_setspeed"))?.and_then(|text| text.parse().ok());
    let Some(speed) = set_by_hand.or(khz(&policy.join("scaling_cur_freq"))?) else {
        return Ok(None);
    };
    let steps = read(&policy.join("scaling_available_frequencies"))?.unwrap_or_default();
    let steps = steps.split_whitespace().filter_map(|step| step.parse::<u64>().ok());
    Ok(Some(steps.min_by_key(|step| step.abs_diff(speed)).unwrap_or(speed)))
}

fn khz(file: &Path) -> Result<Option<u64>> {
    let parse = |text: String| {
        text.parse()
            .with_context(|| format!("{}: `{text}` is no speed in kHz", file.display()))
    };
    read(file)?.map(parse).transpose()
}

/// The text of a file; `None` if there is none.
fn read(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{}", file.display())),
    }
}

/// All threads of the system by pid; threads that end while they are read are left out.
///
/// # Errors
/// /proc cannot be listed.
pub fn tasks() -> Result<BTreeMap<Pid, TaskInfo>> {
    let mut found = BTreeMap::new();
    for process in fs::read_dir("/proc").context("/proc")?.flatten() {
        let is_process = process.file_name().to_string_lossy().parse::<Pid>().is_ok();
        let threads = if is_process {
            fs::read_dir(process.path().join("task")).ok()
        } else {
            None
        };
        for thread in threads.into_iter().flatten().flatten() {
            if let Some(task) = task(&thread.path()) {
                found.insert(task.pid, task);
            }
        }
    }
    Ok(found)
}

fn task(folder: &Path) -> Option<TaskInfo> {
    let pid = folder.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let (comm, kernel_thread) = parse_stat(&stat)?;
    Some(TaskInfo {
        pid,
        comm,
        kernel_thread,
        cpus: parse_cpu_list(list.trim()).ok()?,
    })
}

/// Name, and whether it is a kernel thread. The name may contain brackets and spaces.
fn parse_stat(stat: &str) -> Option<(String, bool)> {
    let (head, fields) = stat.rsplit_once(')')?;
    let comm = head.split_once('(')?.1.to_owned();
    let flags: u64 = fields.split_whitespace().nth(STAT_FLAGS)?.parse().ok()?;
    Some((comm, flags & FLAG_KERNEL_THREAD != 0))
}

/// Parses a list such as `0-3,8`.
///
/// # Errors
/// A part is not a number or range; the error has it.
pub fn parse_cpu_list(list: &str) -> Result<Vec<Cpu>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim()
                .parse::<Cpu>()
                .with_context(|| format!("CPU list `{list}`: `{part}`"))
        };
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpu_list("0-2,8,10-11").unwrap(), [0, 1, 2, 8, 10, 11]);
        assert_eq!(parse_cpu_list("").unwrap(), [] as [Cpu; 0]);
        assert!(parse_cpu_list("0-x").is_err());
    }

    #[test]
    fn a_name_with_brackets_and_spaces() {
        let rest = "S 2 0 0 0 -1 2129984 0 0";
        assert_eq!(
            parse_stat(&format!("12 (a) b (c) {rest}")),
            Some(("a) b (c".to_owned(), true))
        );
        assert_eq!(
            parse_stat("12 (sh) S 2 0 0 0 -1 4194304 0"),
            Some(("sh".to_owned(), false))
        );
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let file = tree.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        tree
    }

    #[test]
    fn speeds_of_a_tree() {
        let tree = tree(&[
            ("online", "0-2\n"),
            ("cpu0/cpufreq/cpuinfo_min_freq", "1000\n"),
            ("cpu0/cpufreq/cpuinfo_max_freq", "2000\n"),
            ("cpu0/cpufreq/scaling_cur_freq", "1013\n"),
            ("cpu0/cpufreq/scaling_setspeed", "<unsupported>\n"),
            ("cpu0/cpufreq/scaling_available_frequencies", "2000 1000 \n"),
            ("cpu1/cpufreq/scaling_cur_freq", "1013\n"),
            ("cpu1/cpufreq/scaling_setspeed", "2000\n"),
        ]);
        let speed = |cpu, low_khz, top_khz, asked_khz| CpuSpeed {
            cpu,
            low_khz,
            top_khz,
            asked_khz,
        };
        let expected = [
            speed(0, Some(1000), Some(2000), Some(1000)),
            speed(1, None, None, Some(2000)),
            speed(2, None, None, None),
        ];
        assert_eq!(cpu_speeds(tree.path()).unwrap(), expected);
    }

    #[test]
    fn a_speed_that_is_none_is_an_error() {
        let tree = tree(&[("online", "0"), ("cpu0/cpufreq/cpuinfo_max_freq", "fast")]);
        assert!(format!("{:#}", cpu_speeds(tree.path()).unwrap_err()).contains("`fast` is no speed"));
    }
}
