// SPDX-License-Identifier: GPL-2.0-only
//! Two CPUs look at once for who waits too long: `overdue/overdue.c`.

mod native;

/// A queue is looked through by one at a time.
#[test]
fn a_long_queue_has_one_looker() {
    native::ran("overdue", &["-O1", "-Wall", "-Werror"], &[], &[&[]]);
}
