// SPDX-License-Identifier: GPL-2.0-only
//! The last task leaves a queue while another arrives and a CPU becomes idle: `queue_empties/queue_empties.c`.

mod native;

/// The CPU that saw an empty queue is notified, because the arriving task had looked for an idle CPU too early.
#[test]
fn a_cpu_that_falls_idle_while_a_queue_empties_hears_of_who_came() {
    native::ran("queue_empties", &["-O1", "-Wall", "-Werror"], &[], &[&[]]);
}
