// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals a process and all its descendants.

use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::fs;
use std::os::fd::OwnedFd;

/// Handles of the process and its descendants, parents first. A process that outlives its parent can still be signalled, and no signal hits
/// another process that got the same number. Processes that have ended meanwhile are left out.
pub fn handles(root: u32) -> Vec<OwnedFd> {
    let open = |pid: u32| pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok();
    descendants(root, &parents()).into_iter().filter_map(open).collect()
}

/// Signals a process; one that has ended meanwhile needs no signal.
pub fn tell(process: &OwnedFd, signal: Signal) {
    let _ = pidfd_send_signal(process, signal);
}

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries
        .filter_map(pid)
        .filter_map(|pid: u32| Some((pid, parent(pid)?)))
        .collect()
}

/// The fourth field of /proc/PID/stat. The second, the name, is in parentheses and may itself contain any characters.
fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn descendants(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let children = parents
            .iter()
            .filter(|(pid, parent)| *parent == found[next] && !found.contains(pid));
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        found.extend(children);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_its_root_and_all_below() {
        let parents = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 3), (7, 7)];
        assert_eq!(descendants(2, &parents), [2, 3, 4, 6]);
        assert_eq!(descendants(7, &parents), [7]);
    }

    #[test]
    fn this_process_has_a_parent() {
        let me = std::process::id();
        assert_eq!(parent(me), Some(std::os::unix::process::parent_id()));
        assert!(parents().iter().any(|(pid, _)| *pid == me));
    }
}
