// SPDX-License-Identifier: GPL-2.0-only
//! Atomic operations on what all CPUs share: `shared_lines/shared_lines.c`, the policy's rules with atomics that are counted.

mod native;

/// Two count the task among the active ones and take it out again, two claim an idle CPU and give it back. With SMT the sibling's are two more. Before Linux 7.0
/// it also waits at the CPU that it claimed, which is counted and told of, and somebody looks later.
#[test]
fn a_task_that_wakes_and_sleeps_takes_four_atomic_operations() {
    let printed = native::ran("shared_lines", &["-O1", "-Wall", "-Werror"], &[], &[&[]]);
    assert_eq!(printed, "flat 4\nflat, before 7.0 13\nsmt 6\n");
}
