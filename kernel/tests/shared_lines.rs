// SPDX-License-Identifier: GPL-2.0-only
//! Atomic operations on data that all CPUs share: `shared_lines/shared_lines.c`, the policy's rules with counted atomics.

mod native;

/// Two operations count the task as active and remove it again, two claim an idle CPU and return it. With SMT there are two more for the sibling.
/// Before Linux 7.0 the task also waits at the CPU that it claimed, which is counted and announced, and looked at later.
#[test]
fn a_task_that_wakes_and_sleeps_takes_four_atomic_operations() {
    let printed = native::ran("shared_lines", &["-O1", "-Wall", "-Werror"], &[], &[&[]]);
    assert_eq!(printed, "flat 4\nflat, before 7.0 13\nsmt 6\n");
}
