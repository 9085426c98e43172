// SPDX-License-Identifier: GPL-2.0-only
//! Whether this machine can run the scheduler, and if not, how to fix that.

use crate::options::Options;
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Something the scheduler needs and this machine lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, for people.
    pub what: String,
    /// How to fix it.
    pub mend: String,
}

/// The first kernel with sched_ext.
const OLDEST_RELEASE: (u32, u32) = (6, 12);
/// The first one that tests run on.
const OLDEST_TRIED: (u32, u32) = (6, 16);

/// Bits of `CapEff` in /proc/self/status.
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Everything that keeps the scheduler from starting on the machine below `root` (`/`, or a fake tree in tests).
#[must_use]
pub fn missing(root: &Path) -> Vec<Missing> {
    [
        sched_ext(root),
        isolcpus(root),
        btf(root),
        wrong_types(root),
        lockdown(root),
        privilege(root),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The same, and what keeps the scheduler from starting with these options.
#[must_use]
pub fn lacks(options: &Options) -> Vec<Missing> {
    let mut lacks = missing(&options.root);
    if !options.ignore_cpu_max {
        lacks.extend(limits(&options.root));
    }
    lacks
}

/// Limits of CPU time of groups (`cpu.max`, in cgroup v1 `cpu.cfs_quota_us`): the kernel only enforces them for its own scheduler's tasks.
#[must_use]
pub fn limits(root: &Path) -> Option<Missing> {
    let top = top_group(root);
    let limited = limited_groups(&top);
    let first = limited.first()?;
    let others = match limited.len() - 1 {
        0 => String::new(),
        1 => " and one more".to_string(),
        others => format!(" and {others} more"),
    };
    // Users who may create groups choose their names, so escape them for the terminal.
    let name = first.strip_prefix(&top).unwrap_or(first).to_string_lossy();
    let name = name.escape_debug();
    Some(Missing {
        what: format!(
            "group /{name}{others} may use no more than a share of CPU time (cpu.max), which Lopsided does not enforce"
        ),
        mend: "take the limit away ('systemctl set-property UNIT CPUQuota=' for a unit), or do without it: --ignore-cpu-max".to_string(),
    })
}

fn top_group(root: &Path) -> PathBuf {
    root.join("sys/fs/cgroup")
}

/// The folder of a group that has a limit of CPU time.
#[must_use]
pub fn limited_group(root: &Path) -> Option<PathBuf> {
    limited_groups(&top_group(root)).into_iter().next()
}

/// Folders below `top` whose groups have a limit, in order of their names. A group that vanishes meanwhile has none.
fn limited_groups(top: &Path) -> Vec<PathBuf> {
    let mut limited = Vec::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if has_limit(&folder) {
            limited.push(folder.clone());
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    limited.sort_unstable();
    limited
}

/// `cpu.max` is a quota or `max`, and a period; `cpu.cfs_quota_us` a quota or -1; both in microseconds.
#[must_use]
pub fn has_limit(group: &Path) -> bool {
    let quota_us = |file: &str| -> Option<i64> { trimmed(&group.join(file))?.split_whitespace().next()?.parse().ok() };
    quota_us("cpu.max")
        .or_else(|| quota_us("cpu.cfs_quota_us"))
        .is_some_and(|us| us > 0)
}

/// The name of the sched_ext scheduler that is attached now.
#[must_use]
pub fn attached(root: &Path) -> Option<String> {
    let folder = root.join("sys/kernel/sched_ext");
    match trimmed(&folder.join("state"))?.as_str() {
        "disabled" => None,
        _ => Some(trimmed(&folder.join("root/ops")).unwrap_or_else(|| "a scheduler without a name".to_string())),
    }
}

/// The release of the kernel, as printed by `uname -r`.
#[must_use]
pub fn release(root: &Path) -> String {
    trimmed(&root.join("proc/sys/kernel/osrelease")).unwrap_or_else(|| "of unknown release".to_string())
}

/// Whether Lopsided was tried on a kernel as old as this one.
#[must_use]
pub fn is_tried(root: &Path) -> bool {
    version(&release(root)).is_none_or(|version| version >= OLDEST_TRIED)
}

fn sched_ext(root: &Path) -> Option<Missing> {
    if root.join("sys/kernel/sched_ext").exists() {
        return None;
    }
    let release = release(root);
    let (what, mend) = if version(&release).is_some_and(|version| version < OLDEST_RELEASE) {
        (
            format!("kernel {release} has no sched_ext, which needs 6.12 or later"),
            "boot a kernel of 6.16 or later with CONFIG_SCHED_CLASS_EXT=y (6.12 has it first, and was not tried)"
                .to_string(),
        )
    } else if !root.join("sys/kernel").exists() {
        (
            "/sys/kernel is not there".to_string(),
            "mount sysfs: mount -t sysfs sysfs /sys".to_string(),
        )
    } else {
        let certain = match configured(root, &release) {
            Some(true) => return Some(hidden(&release)),
            Some(false) => "is built without",
            None => "has no /sys/kernel/sched_ext, so it seems built without",
        };
        (
            format!("kernel {release} {certain} sched_ext"),
            "boot a kernel with CONFIG_SCHED_CLASS_EXT=y".to_string(),
        )
    };
    Some(Missing { what, mend })
}

/// Configured, but not visible.
fn hidden(release: &str) -> Missing {
    Missing {
        what: format!(
            "kernel {release} is built with sched_ext by its configuration, but /sys/kernel/sched_ext is not there"
        ),
        mend: "look in 'dmesg' for sched_ext; in a container or sandbox run it on the host".to_string(),
    }
}

/// All kernels so far refuse schedulers if booted with isolcpus=. Isolated cpuset partitions are no problem.
fn isolcpus(root: &Path) -> Option<Missing> {
    let cpus = trimmed(&root.join("sys/devices/system/cpu/isolated")).filter(|cpus| !cpus.is_empty())?;
    root.join("sys/kernel/sched_ext").exists().then(|| Missing {
        what: format!("the kernel was booted with isolcpus={cpus}, and takes no scheduler of sched_ext beside that"),
        mend: "boot without isolcpus=: an isolated partition (cpuset.cpus.partition of a cgroup) keeps others off CPUs as well".to_string(),
    })
}

fn btf(root: &Path) -> Option<Missing> {
    (!root.join("sys/kernel/btf/vmlinux").exists()).then(|| Missing {
        what: "the kernel does not describe its types (/sys/kernel/btf/vmlinux)".to_string(),
        mend: "boot a kernel with CONFIG_DEBUG_INFO_BTF=y".to_string(),
    })
}

/// Debian built these for its release 13 with a pahole that describes sched_ext's functions wrongly, so that every scheduler is refused
/// (observations are in vm/kernels.tsv). Its builds of 6.16 to 6.18 and of 7.3, and all builds for later releases, are fine.
fn wrong_types(root: &Path) -> Option<Missing> {
    let release = release(root);
    let is_wrong = release.contains("+deb13") && matches!(version(&release), Some((7, 1 | 2)));
    (is_wrong && root.join("sys/kernel/sched_ext").exists()).then(|| Missing {
        what: format!("kernel {release} describes its functions of sched_ext wrongly, and refuses every scheduler"),
        mend: "boot a kernel of 7.3 or later".to_string(),
    })
}

/// Only the mode `confidentiality` keeps BPF programs from reading the tasks that they schedule.
fn lockdown(root: &Path) -> Option<Missing> {
    let state = trimmed(&root.join("sys/kernel/security/lockdown"))?;
    state.contains("[confidentiality]").then(|| Missing {
        what: "the kernel is locked down (confidentiality), and refuses BPF programs that read its memory".to_string(),
        mend: "boot with lockdown=integrity or without lockdown".to_string(),
    })
}

fn privilege(root: &Path) -> Option<Missing> {
    let effective = effective_capabilities(root)?;
    let has = |set: u64| effective & set == set;
    let enough = has(CAP_SYS_ADMIN) || has(CAP_BPF | CAP_PERFMON);
    (!enough).then(|| Missing {
        what: "changing the scheduler needs root's rights".to_string(),
        mend: "run it with sudo".to_string(),
    })
}

fn effective_capabilities(root: &Path) -> Option<u64> {
    let status = std::fs::read_to_string(root.join("proc/self/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Whether the kernel was configured with sched_ext; `None` if its configuration cannot be read.
fn configured(root: &Path, release: &str) -> Option<bool> {
    let plain = |path: String| std::fs::read_to_string(root.join(path)).ok();
    let config = compressed(&root.join("proc/config.gz"))
        .or_else(|| plain(format!("boot/config-{release}")))
        .or_else(|| plain(format!("usr/lib/modules/{release}/config")))?;
    Some(config.lines().any(|line| line == "CONFIG_SCHED_CLASS_EXT=y"))
}

fn compressed(path: &Path) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).ok()?)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// `6.12.3-cloud-amd64` is (6, 12).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn trimmed(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_string())
}

#[cfg(test)]
mod tests;
