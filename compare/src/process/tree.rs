// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals to a process and all that it started.

use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::fs;
use std::os::fd::OwnedFd;

/// The process and its descendants, parents first, as handles: who outlives its parent is found by its own still, and no signal meets another
/// process of the same number. One that has ended meanwhile is left out.
pub fn handles(root: u32) -> Vec<OwnedFd> {
    let open = |pid: u32| pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok();
    descendants(root, &parents()).into_iter().filter_map(open).collect()
}

/// One that has ended meanwhile needs no signal.
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

/// The fourth field of /proc/PID/stat; the second, the name, stands in brackets and may hold any.
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
