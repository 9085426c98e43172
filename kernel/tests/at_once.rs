// SPDX-License-Identifier: GPL-2.0-only
//! The policy's rules, called by several CPUs at once: `at_once/at_once.c`, compiled with the atomics of the kernel's program.

mod native;

/// If two CPUs send the same task, or tasks to the same CPU, at the same moment, one wins. In an earlier version, a fast CPU stayed claimed without
/// a task, and so closed to all, after ten moves.
#[test]
fn no_cpu_stays_claimed_and_no_task_is_lost() {
    let flags = ["-O2", "-pthread", "-Wall", "-Werror"];
    native::ran("at_once", &flags, &[], &[&["0"], &["1"], &["2"], &["3"]]);
}
