// SPDX-License-Identifier: GPL-2.0-only
//! More groups and processes than the kernel's program has places for: `tables/tables.c`, with the program compiled natively.

mod native;

/// No task gains an advantage, no wakeup searches for a place, and no place is lost.
#[test]
fn what_finds_no_room_costs_nobody_anything() {
    let kernel = ["interleave/steps.c", "interleave/queues.c", "interleave/kernel.c"];
    native::ran("tables", &["-O1", "-w"], &kernel, &[&[]]);
}
