// SPDX-License-Identifier: GPL-2.0-only
//! The policy's rules, called by several CPUs at once: `at_once/at_once.c`, compiled with the atomics that the kernel's program has.

mod native;

/// Of two CPUs that send one task, or tasks to one CPU, in the same moment, one wins. Before that was so, a fast CPU was promised to nobody, and so
/// closed to all, after ten moves.
#[test]
fn no_cpu_stays_promised_and_no_task_is_lost() {
    let flags = ["-O2", "-pthread", "-Wall", "-Werror"];
    native::ran("at_once", &flags, &[], &[&["0"], &["1"], &["2"], &["3"]]);
}
