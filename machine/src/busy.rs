// SPDX-License-Identifier: MIT OR Apache-2.0
//! How busy each CPU was: the kernel's account in `/proc/stat` (proc(5)).

use crate::live::{LiveError, Tree};
use std::collections::BTreeMap;

const FILE: &str = "proc/stat";

/// What a CPU did since the machine started, in the kernel's ticks (`USER_HZ`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub busy_ticks: u64,
    /// Idle, and idle while something waited for a disk.
    pub idle_ticks: u64,
}

impl CpuTimes {
    /// Busy share of the time since `before`, in 1/1000; `None` if not a tick has passed. The kernel's counts may go back by a little.
    #[must_use]
    pub fn busy_permille_since(&self, before: &Self) -> Option<u16> {
        let busy = self.busy_ticks.saturating_sub(before.busy_ticks);
        let all = busy + self.idle_ticks.saturating_sub(before.idle_ticks);
        Some((busy * 1000).checked_div(all)? as u16)
    }
}

/// The times of each online CPU, by its number.
///
/// # Errors
/// The file is missing, or its contents are not what the kernel writes.
pub fn read(tree: &dyn Tree) -> Result<BTreeMap<u32, CpuTimes>, LiveError> {
    let text = tree
        .read(FILE)
        .map_err(|error| LiveError::new(tree.shown(FILE), error.to_string()))?;
    parse(&text).map_err(|line| {
        let expected = format!("line {line}: expected 'cpuN' and four times or more in ticks");
        LiveError::new(tree.shown(FILE), expected)
    })
}

/// The number of the line that is wrong, or the times of each CPU.
fn parse(text: &str) -> Result<BTreeMap<u32, CpuTimes>, usize> {
    let mut cpus = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let Some(rest) = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' ')) else {
            continue;
        };
        let (cpu, times) = parse_line(rest).ok_or(index + 1)?;
        cpus.insert(cpu, times);
    }
    match cpus.is_empty() {
        true => Err(1),
        false => Ok(cpus),
    }
}

/// `0 user nice system idle iowait irq softirq steal guest guest_nice`: guest time is part of user time, and stolen time is not work of this machine.
fn parse_line(rest: &str) -> Option<(u32, CpuTimes)> {
    let mut words = rest.split_ascii_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let ticks: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let sum = |which: &[usize]| {
        which
            .iter()
            .filter_map(|&at| ticks.get(at))
            .try_fold(0u64, |sum, &t| sum.checked_add(t))
    };
    (ticks.len() >= 4).then_some(())?;
    Some((
        cpu,
        CpuTimes {
            busy_ticks: sum(&[0, 1, 2, 5, 6])?,
            idle_ticks: sum(&[3, 4])?,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Busy: 10 + 2 + 3 + 1 + 1 = 17, idle: 80 + 5.
    #[test]
    fn a_cpu_is_busy_with_all_but_waiting_and_what_was_stolen() {
        let text = "cpu  1 2 3 4\ncpu3 10 2 3 80 5 1 1 7 4 0\nintr 5\nctxt 9\n";
        let times = parse(text).unwrap();
        let expected = CpuTimes {
            busy_ticks: 17,
            idle_ticks: 85,
        };
        assert_eq!(times, BTreeMap::from([(3, expected)]));
    }

    #[test]
    fn a_share_is_of_the_time_between() {
        let at = |busy_ticks, idle_ticks| CpuTimes { busy_ticks, idle_ticks };
        assert_eq!(at(130, 270).busy_permille_since(&at(100, 200)), Some(300));
        assert_eq!(at(100, 200).busy_permille_since(&at(100, 200)), None);
        assert_eq!(at(99, 210).busy_permille_since(&at(100, 200)), Some(0), "went back");
    }

    #[test]
    fn what_the_kernel_does_not_write_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("cpu 1 2 3 4\ncpu0 1 2 3\n", 2),
            ("cpu0 1 2 x 4\n", 1),
            ("cpux 1 2 3 4\n", 1),
        ] {
            assert_eq!(parse(text), Err(line), "{text}");
        }
        assert_eq!(parse(&format!("cpu0 {0} {0} 1 1\n", u64::MAX)), Err(1));
    }
}
