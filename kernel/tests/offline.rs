// SPDX-License-Identifier: GPL-2.0-only
//! Affinity while CPUs that are not isolated go offline and come back: `offline/offline.c`, with the program compiled natively.

mod native;

#[test]
fn isolated_cpus_count_while_no_other_is_online() {
    let kernel = ["interleave/steps.c", "interleave/queues.c", "interleave/kernel.c"];
    native::ran("offline", &["-O1", "-w"], &kernel, &[&[]]);
}
