// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a plan of memory domains changes about where tasks run, and domains that are off.

use crate::bench::{config, domains_of_two, Bench, HOLD, MS, S};
use lop_policy::{Config, Domains, Reserve, Set, NONE};

fn bench(cpus: usize, domains: Domains) -> Bench {
    Bench::new(
        cpus,
        Config {
            spare: 0,
            domains,
            ..config()
        },
        domains_of_two,
    )
}

fn set_domain(bench: &mut Bench, task: usize, domain: i32) -> bool {
    let cpu = bench.last_cpu[task];
    let task: *mut _ = &mut bench.tasks[task];
    bench.policy.set_domain(unsafe { &mut *task }, domain, cpu)
}

fn switch(bench: &mut Bench, domain: i32, on: bool) {
    let now_ns = bench.now();
    bench.policy.set_domain_on(&mut bench.world, domain, on, now_ns);
    bench.follow_kicks();
}

/// No core of the task's domain is a member: one is promoted for the task.
#[test]
fn a_task_wakes_in_its_memory_domain() {
    let mut bench = bench(4, Domains::Spread);
    let task = bench.task();
    assert!(!set_domain(&mut bench, task, 1), "it does not run");
    let (cpu, claimed) = bench.wake(task);
    assert!(claimed && [2, 3].contains(&cpu), "CPU {cpu}");
    assert!(bench.high().contains(&(cpu as usize)));
    bench.pass(2 * S);
    assert_eq!(bench.size(), 1, "the member that it did not need has left");
}

/// The only member, idle within its hold, is in a domain that goes off. Another CPU takes its place for the rest of the
/// time, so that the machine does not go off with it.
#[test]
fn the_last_member_does_not_leave_with_its_domain() {
    let mut bench = bench(4, Domains::Gather);
    let task = bench.task();
    bench.wake(task);
    let cpu = bench.cpu_of(task).unwrap();
    bench.block(task);
    assert_eq!(bench.high(), [cpu]);
    switch(&mut bench, cpu as i32 / 2, false);
    assert_eq!(bench.size(), 1);
    assert!(bench.high().iter().all(|high| high / 2 != cpu / 2));
    bench.pass(2 * S);
    assert_eq!(bench.size(), 0, "after its hold");
}

/// A domain is a preference: if it is busy, the task does not wait beside an idle member elsewhere.
#[test]
fn with_its_domain_busy_a_task_takes_an_idle_member_elsewhere() {
    let mut bench = bench(4, Domains::Spread);
    let tasks = bench.tasks(3);
    for &task in &tasks {
        set_domain(&mut bench, task, 1);
        bench.wake(task);
    }
    let mut cpus: Vec<Option<usize>> = tasks.iter().map(|&task| bench.cpu_of(task)).collect();
    cpus.sort();
    assert!(cpus[0].is_some_and(|cpu| cpu < 2), "{cpus:?}");
    assert_eq!(cpus[1..], [Some(2), Some(3)]);
}

/// All four CPUs are busy. The tasks of CPUs 0 and 2 exchange domains, in whichever order they stop.
#[test]
fn two_tasks_exchange_their_domains() {
    for order in [[0, 2], [2, 0]] {
        let mut bench = bench(4, Domains::Spread);
        let tasks = bench.tasks(4);
        bench.wake_all(&tasks);
        let at = |bench: &Bench, cpu: usize| bench.running[cpu].expect("all run");
        let (a, b) = (at(&bench, 0), at(&bench, 2));
        for (task, domain) in [(a, 1), (b, 0)] {
            assert!(set_domain(&mut bench, task, domain), "it is elsewhere");
        }
        for cpu in order {
            bench.run_and_preempt(cpu, MS);
        }
        assert_eq!((bench.cpu_of(a), bench.cpu_of(b)), (Some(2), Some(0)), "{order:?}");
        assert!(!set_domain(&mut bench, a, 1), "it is there");
    }
}

/// Three tasks want domain 1, which has two CPUs. The third waits for 20 ms, in which each should get a slice; then an
/// idle member elsewhere takes it.
#[test]
fn nobody_waits_for_a_domain_longer_than_the_period() {
    let mut bench = bench(4, Domains::Spread);
    let tasks = bench.tasks(3);
    for (&task, domain) in tasks.iter().zip([1, 1, 0]) {
        set_domain(&mut bench, task, domain);
        bench.wake(task);
    }
    assert!(set_domain(&mut bench, tasks[2], 1));
    let cpu = bench.cpu_of(tasks[2]).unwrap();
    bench.run_and_preempt(cpu, MS);
    assert_eq!(bench.cpu_of(tasks[2]), None);
    bench.pass(20 * MS - 1);
    assert_eq!(bench.cpu_of(tasks[2]), None);
    bench.pass(1);
    assert!(bench.cpu_of(tasks[2]).is_some_and(|cpu| cpu < 2));
}

/// A plan does not apply to a task that may not run everywhere.
#[test]
fn affinity_goes_before_a_plan() {
    let mut bench = bench(4, Domains::Spread);
    let task = bench.pinned([0, 1]);
    assert!(!set_domain(&mut bench, task, 1));
    let (cpu, _) = bench.wake(task);
    assert!([0, 1].contains(&cpu));
}

/// Domain 1 is off: its members leave at once, new work goes elsewhere, and the target counts only the CPUs that are
/// on.
#[test]
fn a_domain_that_is_off_has_no_members() {
    let mut bench = bench(4, Domains::Gather);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    switch(&mut bench, 1, false);
    let late = bench.task();
    bench.block(tasks[0]);
    bench.wake(late);
    bench.pass(2 * HOLD);
    assert!(bench.high().iter().all(|&cpu| cpu < 2), "{:?}", bench.high());
    switch(&mut bench, 1, true);
    assert!(bench.policy.off.cpus().is_empty());
}

/// Two CPUs are on and busy: a third task switches the other domain on before it is placed.
#[test]
fn a_domain_is_back_on_before_work_needs_it() {
    let mut bench = bench(4, Domains::Gather);
    switch(&mut bench, 1, false);
    let tasks = bench.tasks(3);
    bench.wake_all(&tasks[..2]);
    assert_eq!(bench.policy.off.cpus(), [2, 3]);
    let (cpu, claimed) = bench.wake(tasks[2]);
    assert!(claimed && [2, 3].contains(&cpu), "CPU {cpu}");
    assert!(bench.policy.off.cpus().is_empty());
}

/// A pinned task has its core in a domain that is off; the other core there joins no set.
#[test]
fn a_pinned_task_keeps_its_core_in_a_domain_that_is_off() {
    let mut bench = bench(4, Domains::Gather);
    switch(&mut bench, 1, false);
    let task = bench.pinned([3]);
    assert_eq!(bench.wake(task), (3, true));
    assert!(bench.high().contains(&3) && !bench.high().contains(&2));
    bench.block(task);
    bench.pass(2 * S);
    assert!(!bench.high().contains(&3));
}

/// Without plans domains do not matter: tasks go where they would without one, though a domain is set for them.
#[test]
fn other_policies_do_not_look_at_domains() {
    let mut bench = bench(4, Domains::AsCome);
    let tasks = bench.tasks(2);
    for &task in &tasks {
        assert!(!set_domain(&mut bench, task, 1));
        bench.wake(task);
    }
    assert_eq!([bench.cpu_of(0), bench.cpu_of(1)], [Some(0), Some(1)]);
    assert_eq!(bench.policy.members(Set::High).cpus(), [0, 1]);
    assert_ne!(bench.tasks[0].wanted_domain, NONE);
}

/// CPU 0 is reserved, and its domain is off. Ordinary work has only the two CPUs of the other domain, so the third task
/// switches it on again.
#[test]
fn a_reserved_cpu_in_a_domain_that_is_off_is_not_missed_twice() {
    let config = Config {
        spare: 0,
        domains: Domains::Gather,
        reserve: Reserve::Asked,
        ..config()
    };
    let mut bench = Bench::new(4, config, domains_of_two);
    assert_eq!(bench.policy.reserved().0, Some(0));
    switch(&mut bench, 0, false);
    let tasks = bench.tasks(3);
    bench.wake(tasks[0]);
    bench.wake(tasks[1]);
    assert_eq!(bench.policy.off.cpus(), [0, 1]);
    assert_eq!(bench.policy.target(Set::High), 2);
    assert_eq!(bench.high(), [2, 3]);
    bench.wake(tasks[2]);
    assert!(bench.policy.off.cpus().is_empty());
    assert_eq!(bench.high(), [1, 2, 3]);
}
