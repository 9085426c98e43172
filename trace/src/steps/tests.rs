// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::lives::lives;
use crate::scripted::scripted;
use Step::{Await, Fork, Join, JoinAny, Release, Run, Sleep};

fn plan(text: &str) -> Plan {
    steps(&lives(&scripted(text)))
}

const US: u64 = 1000;

#[test]
fn a_parent_that_ran_right_after_its_childs_end_waited_for_it() {
    let plan = plan(
        "0 0 exec 10 sh
         100 0 fork 10 11
         120 0 blocked 10
         130 0 in 11
         500 0 exit 11
         520 0 in 10
         600 0 exit 10",
    );
    assert_eq!(
        plan.steps[0],
        [Run(100 * US), Fork(1), Run(20 * US), Join(1), Run(80 * US)]
    );
    assert_eq!(plan.steps[1], [Run(390 * US)]);
    assert_eq!((plan.waits_for_children, plan.waits_unknown, plan.slept_ns), (1, 0, 0));
}

#[test]
fn a_parent_that_slept_on_after_its_childs_end_sleeps_for_the_rest() {
    let plan = plan("0 0 in 10\n10 0 fork 10 11\n20 0 blocked 10\n20 0 in 11\n30 0 exit 11\n30 0 in 0\n100030 0 in 10\n100040 0 exit 10");
    assert_eq!(
        plan.steps[0],
        [
            Run(10 * US),
            Fork(1),
            Run(10 * US),
            Join(1),
            Sleep(100_000 * US),
            Run(10 * US)
        ]
    );
}

#[test]
fn preemption_is_the_schedulers_and_no_step() {
    let plan = plan("0 0 in 10\n100 0 preempted 10\n100 0 in 11\n300 0 exit 11\n300 0 in 10\n400 0 exit 10");
    assert_eq!(plan.steps[0], [Run(200 * US)]);
}

#[test]
fn who_was_blocked_for_something_unknown_sleeps_as_long() {
    let plan = plan("0 0 in 10\n100 0 blocked 10\n2100 0 in 10\n2200 0 exit 10");
    assert_eq!(plan.steps[0], [Run(100 * US), Sleep(2000 * US), Run(100 * US)]);
    assert_eq!((plan.waits_unknown, plan.slept_ns), (1, 2_000_000));
}

#[test]
fn two_threads_that_wake_one_another_wait_for_one_another() {
    let plan = plan(
        "0 0 in 10
         10 0 thread 10 11
         20 0 blocked 10
         20 0 in 11
         50 0 wake 11 10
         60 0 blocked 11
         60 0 in 10
         90 0 wake 10 11
         95 0 blocked 10
         95 0 in 11
         99 0 wake 11 10
         105 0 exit 11
         105 0 in 10
         110 0 exit 10",
    );
    assert_eq!(
        plan.steps[0],
        [
            Run(10 * US),
            Fork(1),
            Run(10 * US),
            Await(1),
            Run(30 * US),
            Release(1),
            Run(5 * US),
            Await(1),
            Run(5 * US)
        ]
    );
    assert_eq!(
        plan.steps[1],
        [
            Run(30 * US),
            Release(0),
            Run(10 * US),
            Await(0),
            Run(4 * US),
            Release(0),
            Run(6 * US)
        ]
    );
    assert_eq!(plan.waits_for_tasks, 3);
}

#[test]
fn who_was_woken_by_an_interrupt_sleeps_until_then_and_not_until_it_ran() {
    let plan = plan(
        "0 0 in 10\n100 0 blocked 10\n100 0 in 11\n600 0 wake 0 10\n900 0 blocked 11\n900 0 in 10\n1000 0 exit 10",
    );
    assert_eq!(plan.steps[0], [Run(100 * US), Sleep(500 * US), Run(100 * US)]);
    assert_eq!(plan.waits_for_outside, 1);
}

#[test]
fn after_vfork_the_parent_waits_until_the_child_executes_its_program() {
    let plan = plan("0 0 in 10\n10 0 fork 10 11\n12 0 blocked 10\n12 0 in 11\n200 0 exec 11 true\n210 1 in 10\n300 1 exit 10\n400 0 exit 11\n410 0 in 0");
    assert_eq!(
        plan.steps[0],
        [Run(10 * US), Fork(1), Run(2 * US), Await(1), Run(90 * US)]
    );
    assert_eq!(plan.steps[1], [Run(188 * US), Release(0), Run(210 * US)]);
}

/// `make -j2`: two children; when the first one ends, another follows.
#[test]
fn with_several_children_alive_the_first_to_end_counts() {
    let plan = plan(
        "0 0 in 10
         10 0 fork 10 11
         20 0 fork 10 12
         30 0 blocked 10
         30 0 in 11
         30 1 in 12
         5000 1 exit 12
         5000 1 in 10
         5010 1 fork 10 13
         5020 1 blocked 10
         5020 1 in 13
         9000 0 exit 11
         9000 0 in 0
         9010 0 in 10
         9020 0 blocked 10
         12000 1 exit 13
         12000 1 in 10
         12010 1 exit 10",
    );
    let run = |us: u64| Run(us * US);
    assert_eq!(
        plan.steps[0],
        [
            run(10),
            Fork(1),
            run(10),
            Fork(2),
            run(10),
            JoinAny,
            run(10),
            Fork(3),
            run(10),
            JoinAny,
            run(10),
            JoinAny,
            run(10)
        ]
    );
}

/// `wait PID`: the other child ended long before, without waking it.
#[test]
fn a_child_that_ended_without_waking_its_parent_was_not_waited_for() {
    let plan = plan("0 0 in 10\n10 0 fork 10 11\n20 0 fork 10 12\n30 0 blocked 10\n30 0 in 11\n30 1 in 12\n100 1 exit 12\n100 1 in 0\n90000 0 exit 11\n90000 0 in 10\n90010 0 exit 10");
    assert_eq!(plan.steps[0][4..], [Run(10 * US), Join(1), Run(10 * US)]);
}
