// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::scripted::scripted;

fn us(moments: &[Moment]) -> Vec<String> {
    let span = |name: &str, from_ns: u64, to_ns: u64| format!("{name} {} {}", from_ns / 1000, to_ns / 1000);
    let text = |moment: &Moment| match *moment {
        Moment::Run { from_ns, to_ns } => span("run", from_ns, to_ns),
        Moment::Ready { from_ns, to_ns } => span("ready", from_ns, to_ns),
        Moment::Wait { from_ns, to_ns, .. } => span("wait", from_ns, to_ns),
        Moment::Fork { at_ns, child } => format!("fork {} #{child}", at_ns / 1000),
        Moment::Exec { at_ns } => format!("exec {}", at_ns / 1000),
        Moment::Woke { at_ns, whom } => format!("woke {} #{whom}", at_ns / 1000),
    };
    moments.iter().map(text).collect()
}

#[test]
fn a_fork_a_wait_and_the_end_of_the_child() {
    // The child begins to exit at 500; its CPU goes to the parent at 520, so its end took 20.
    let lives = lives(&scripted(
        "0 0 exec 10 sh
         100 0 fork 10 11
         120 0 blocked 10
         130 0 in 11
         500 0 exit 11
         520 0 in 10
         600 0 exit 10",
    ));
    assert_eq!(
        us(&lives[0].moments),
        [
            "run 0 0",
            "exec 0",
            "run 0 100",
            "fork 100 #1",
            "run 100 120",
            "wait 120 520",
            "run 520 600"
        ]
    );
    assert_eq!(us(&lives[1].moments), ["ready 100 130", "run 130 500", "run 500 520"]);
    assert_eq!(
        (lives[1].parent, lives[1].exit_ns, lives[1].end_ns),
        (Some(0), Some(500_000), 520_000)
    );
    assert_eq!(lives[1].name, "sh");
}

#[test]
fn an_end_that_took_too_long_was_something_else() {
    let lives = lives(&scripted("0 0 in 10\n100 0 exit 10\n50100 0 in 11\n50200 0 exit 11"));
    assert_eq!(us(&lives[0].moments), ["run 0 100"]);
}

#[test]
fn who_is_preempted_is_ready_not_blocked() {
    let lives = lives(&scripted(
        "0 0 in 10\n100 0 preempted 10\n100 0 in 11\n300 0 blocked 11\n300 0 in 10\n400 0 exit 10",
    ));
    assert_eq!(us(&lives[0].moments), ["run 0 100", "ready 100 300", "run 300 400"]);
}

#[test]
fn who_was_there_before_ran_since_the_last_event_of_its_cpu() {
    let lives = lives(&scripted(
        "50 1 blocked 10\n70 1 in 11\n200 1 blocked 11\n250 1 blocked 12",
    ));
    assert_eq!(us(&lives[0].moments), ["run 0 50"]);
    assert_eq!(us(&lives[2].moments), ["run 200 250"]);
}

#[test]
fn a_number_used_again_is_another_task() {
    let lives = lives(&scripted("0 0 in 10\n10 0 exit 10\n20 0 in 10\n30 0 exit 10"));
    assert_eq!(lives.len(), 2);
    assert_eq!(us(&lives[1].moments), ["run 20 30"]);
}

#[test]
fn a_waker_at_its_end_is_the_task_that_exited_not_a_new_one() {
    let lives = lives(&scripted(
        "0 0 in 10\n1 0 fork 10 11\n2 0 blocked 10\n3 1 in 11\n40 1 exit 11\n50 1 wake 11 10\n55 1 blocked 11\n60 0 in 10\n70 0 exit 10",
    ));
    assert_eq!(lives.len(), 2);
    let waker = Some(Waker {
        at_ns: 50_000,
        task: Some(1),
    });
    assert!(lives[0].moments.contains(&Moment::Wait {
        from_ns: 2_000,
        to_ns: 60_000,
        waker
    }));
    assert_eq!(lives[1].end_ns, 55_000);
}

#[test]
fn events_that_do_not_fit_are_taken_as_they_come() {
    for text in [
        "0 0 in 10\n5 1 in 10\n9 0 blocked 10",
        "0 0 exit 10\n5 0 exit 10\n6 0 blocked 10",
        "0 0 wake 10 10",
        "0 0 fork 0 0\n1 0 fork 10 10",
    ] {
        for life in lives(&scripted(text)) {
            assert!(
                life.moments.windows(2).all(|pair| pair[0].to_ns() <= pair[1].to_ns()),
                "{text}: {life:?}"
            );
        }
    }
}
