// SPDX-License-Identifier: GPL-2.0-only
//! Speeds after a change of the goal: `goal/goal.c`, with the program compiled natively.

mod native;

#[test]
fn cpus_have_the_speed_of_the_goal_without_a_wakeup() {
    let kernel = ["interleave/steps.c", "interleave/queues.c", "interleave/kernel.c"];
    native::ran("goal", &["-O1", "-w"], &kernel, &[&[]]);
}
