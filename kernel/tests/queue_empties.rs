// SPDX-License-Identifier: GPL-2.0-only
//! The last task leaves a queue while another comes and a CPU falls idle: `queue_empties/queue_empties.c`.

mod native;

/// The CPU that saw nobody wait is told, as the one who came had looked for it too early.
#[test]
fn a_cpu_that_falls_idle_while_a_queue_empties_hears_of_who_came() {
    native::ran("queue_empties", &["-O1", "-Wall", "-Werror"], &[], &[&[]]);
}
