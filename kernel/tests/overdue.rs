// SPDX-License-Identifier: GPL-2.0-only
//! Two CPUs look for overdue tasks at once: `overdue/overdue.c`.

mod native;

/// Only one CPU at a time searches a queue.
#[test]
fn a_long_queue_has_one_looker() {
    native::ran("overdue", &["-O1", "-Wall", "-Werror"], &[], &[&[]]);
}
