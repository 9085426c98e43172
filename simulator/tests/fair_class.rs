// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's fair class on small machines, step by step: where tasks wake, what balancing moves, and the speeds that follow.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{Amount, Condition, Program, Step, Waiting, Workload};
use lop_simulator::{simulate, Outcome, Placement, RunOptions, TraceEvent};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn fair_class(machine: &Machine, workload: &Workload, name: &str) -> Outcome {
    placed(Placement::FairClass, machine, workload, name)
}

fn placed(placement: Placement, machine: &Machine, workload: &Workload, name: &str) -> Outcome {
    let options = RunOptions {
        seed: 1,
        placement: Some(placement),
        trace_limit: usize::MAX,
        ..RunOptions::default()
    };
    simulate(machine, workload, &policy(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// (ms, CPU) of each start of the task.
fn starts_of(outcome: &Outcome, serial: u32) -> Vec<(u64, u16)> {
    let start = |event: &TraceEvent| match *event {
        TraceEvent::Start { at_ns, task, cpu, .. } if task == serial => Some((at_ns / MS, cpu)),
        _ => None,
    };
    outcome.trace.iter().filter_map(start).collect()
}

/// Cores 0 and 1 share a cache, and so do 2 and 3.
fn two_caches(threads: u16) -> Machine {
    let mut machine = machine_of(two_speeds(), 4, threads);
    for cpu in &mut machine.cpus {
        cpu.memory_domain = cpu.core / 2;
    }
    machine.nr_memory_domains = 2;
    machine.cache_kib = vec![None; 2];
    machine
}

/// CPU 0 is big, CPU 1 is half as fast.
fn big_and_little() -> Machine {
    let mut machine = machine(2);
    add_kind(&mut machine, kind(0.5, vec![opp(1000, 1000, 0.1, 0.5, 0.0)]));
    machine.cpus[1].kind = 1;
    machine
}

fn again(times: usize, steps: [Step; 2]) -> Vec<Step> {
    std::iter::repeat_n(steps, times).flatten().collect()
}

/// Runs for so long on this CPU alone, from `at_ms` on.
fn busy(workload: &mut Workload, cpu: u16, at_ms: u64, ms: u64) {
    workload.programs.push(Program {
        cpus: Some([cpu].into()),
        ..program("busy", vec![run_ms(ms)])
    });
    let mut begins = start(workload.programs.len() as u32 - 1, 1);
    begins.at = Amount::Fixed(at_ms * MS);
    workload.starts.push(begins);
}

/// Runs from 0 to 5 ms and from 10 ms on.
fn sleeper() -> Workload {
    tasks_of(1, vec![run_ms(5), sleep_ms(5), run_ms(5)])
}

#[test]
fn a_task_wakes_where_it_was() {
    let workload = tasks_of(1, again(10, [run_ms(5), sleep_ms(5)]));
    let outcome = fair_class(&two_caches(1), &workload, PERFORMANCE);
    assert!(starts_of(&outcome, 0).iter().all(|&(_, cpu)| cpu == 0));
    let counters = &outcome.counters;
    assert_eq!((counters.migrations, counters.woken_on_last_cpu), (0, 10));
    exactly(counters.cpus_used, 1.0);
}

#[test]
fn if_its_cpu_is_busy_it_wakes_beside_it() {
    let mut workload = sleeper();
    busy(&mut workload, 0, 6, 20);
    assert_eq!(
        starts_of(&fair_class(&two_caches(1), &workload, PERFORMANCE), 0),
        [(0, 0), (10, 1)]
    );
}

/// CPU 1 is the sibling of the busy CPU 0; CPUs 2 and 3 are a whole core with the same cache.
#[test]
fn a_whole_idle_core_goes_before_a_sibling() {
    let mut workload = sleeper();
    busy(&mut workload, 0, 6, 20);
    assert_eq!(
        starts_of(&fair_class(&two_caches(2), &workload, PERFORMANCE), 0),
        [(0, 0), (10, 2)]
    );
    busy(&mut workload, 2, 6, 20);
    assert_eq!(
        starts_of(&fair_class(&two_caches(2), &workload, PERFORMANCE), 0),
        [(0, 0), (10, 1)]
    );
}

/// Its cache domain is busy, so it waits there while the other domain idles: until the tick at 12 ms, or until a CPU of the other domain falls idle.
#[test]
fn a_wakeup_does_not_leave_the_cache_but_balancing_does() {
    let mut workload = sleeper();
    busy(&mut workload, 0, 9, 20);
    busy(&mut workload, 1, 9, 20);
    let outcome = fair_class(&two_caches(1), &workload, PERFORMANCE);
    let woke_at_0 =
        |event: &TraceEvent| matches!(event, TraceEvent::Wakeup { at_ns, task: 0, cpu: 0 } if *at_ns == 10 * MS);
    assert!(outcome.trace.iter().any(woke_at_0));
    assert_eq!(starts_of(&outcome, 0), [(0, 0), (12, 2)]);
    busy(&mut workload, 3, 6, 5);
    assert_eq!(
        starts_of(&fair_class(&two_caches(1), &workload, PERFORMANCE), 0),
        [(0, 0), (11, 3)]
    );
}

/// The first task runs on CPU 0 and signals the second one, whose last CPU is 2. If it waits after that, the second one comes to its cache.
#[test]
fn a_waker_that_waits_next_draws_the_woken_task_near() {
    for (then, cpu) in [(sleep_ms(5), 1), (run_ms(5), 2)] {
        let wait = Step::Wait {
            condition: 0,
            mutex: None,
        };
        let mut workload = workload_of(vec![
            program("waker", vec![run_ms(10), Step::Signal(0), then]),
            program("woken", vec![run_ms(2), wait, run_ms(2)]),
        ]);
        workload.conditions.push(Condition {
            name: "c".into(),
            counting: false,
            waiting: Waiting::Block,
        });
        assert_eq!(
            starts_of(&fair_class(&two_caches(1), &workload, PERFORMANCE), 1),
            [(0, 2), (10, cpu)]
        );
    }
}

/// The same with a lock, a barrier (wakeups by futex) and an exit: the woken task, which was on CPU 2 last, or on 0 if it is the parent, wakes there.
#[test]
fn locks_barriers_and_exits_draw_nobody_near() {
    for (tasks, woken, cpu) in [
        (
            r#"[task.a]
            steps = [{ lock = "m" }, { run_ms = 10 }, { unlock = "m" }, { sleep_ms = 5 }]
            [task.b]
            steps = [{ run_ms = 2 }, { lock = "m" }, { run_ms = 2 }, { unlock = "m" }]
            [mutex.m]
            waiting = "block""#,
            1,
            2,
        ),
        (
            r#"[task.a]
            steps = [{ run_ms = 10 }, { barrier = "b" }, { sleep_ms = 5 }]
            [task.b]
            steps = [{ run_ms = 2 }, { barrier = "b" }, { run_ms = 2 }]
            [barrier.b]
            parties = 2
            waiting = "block""#,
            1,
            2,
        ),
        (
            r#"[task.a]
            steps = [{ fork = "b" }, { join = "all" }, { run_ms = 2 }]
            [task.b]
            count = 0
            steps = [{ run_ms = 10 }]"#,
            0,
            0,
        ),
    ] {
        let workload = toml(&format!("name = \"two\"\n{tasks}"));
        let outcome = fair_class(&two_caches(1), &workload, PERFORMANCE);
        assert_eq!(starts_of(&outcome, woken), [(0, cpu), (10, cpu)], "{tasks}");
    }
}

/// A task wakes while its last CPU, 0, is busy and CPU 3 idle. If the others began at 300 ms, it is found. If they are busy since the beginning, more than
/// 85 % of the domain was in use when it was balanced last, so no idle CPU is looked for, and the task queues at CPU 0.
#[test]
fn in_a_busy_domain_no_idle_cpu_is_searched_for() {
    for (from_ms, woken_on) in [(300, 3), (1, 0)] {
        let mut workload = workload_of(vec![program("woken", vec![run_ns(MS / 2), sleep_ms(305), run_ms(1)])]);
        for cpu in 0..3 {
            busy(&mut workload, cpu, from_ms, 400);
        }
        busy(&mut workload, 3, 1, 302 - 1);
        let outcome = fair_class(&machine(4), &workload, PERFORMANCE);
        let woken = |event: &TraceEvent| match *event {
            TraceEvent::Wakeup { at_ns, task: 0, cpu } => Some((at_ns / MS, cpu)),
            _ => None,
        };
        let last = outcome.trace.iter().rev().find_map(woken);
        assert_eq!(last, Some((305, woken_on)));
    }
}

/// Three tasks on two CPUs: CPU 1 has one of them alone, and runs idle 0.3 ms after the two on CPU 0 changed places. Which waits there ran just now.
#[test]
fn what_ran_just_now_stays_where_its_cache_is() {
    for (alone_us, at_ms) in [(4300, 8), (4700, 4)] {
        let mut workload = tasks_of(1, vec![run_ms(40)]);
        workload.programs.push(program("alone", vec![run_ns(alone_us * 1000)]));
        workload.starts.extend([start(1, 1), start(0, 1)]);
        let outcome = fair_class(&machine(2), &workload, PERFORMANCE);
        let first_on_1 = (0..3)
            .flat_map(|task| starts_of(&outcome, task))
            .filter(|&(ms, cpu)| cpu == 1 && ms > 0)
            .min();
        assert_eq!(first_on_1, Some((at_ms, 1)), "{alone_us}");
    }
}

/// Two tasks wait for each other on one CPU while the third has the other CPU: they change places, so that each has two thirds of a CPU, and all are done at
/// about the same time, 1800 ms / 2. Otherwise one of them is done after 600 ms.
#[test]
fn busy_cpus_take_their_share() {
    let outcome = fair_class(&machine(2), &tasks_of(3, vec![run_ms(600)]), PERFORMANCE);
    let first = last_stop_ns(&outcome).into_iter().min();
    assert!(first.is_some_and(|ns| ns > 700 * MS), "{first:?}");
    assert!(outcome.counters.migrations >= 4, "{}", outcome.counters.migrations);
}

/// 20 ms on one CPU, and on the other one 10.
#[test]
fn cpus_used_is_the_mean_while_any_is_busy() {
    let mut workload = tasks_of(1, vec![run_ms(20), sleep_ms(50)]);
    busy(&mut workload, 1, 5, 10);
    exactly(fair_class(&machine(2), &workload, PERFORMANCE).counters.cpus_used, 1.5);
}

/// New tasks go to the cache domain with most idle CPUs, or stay in the one where they began: as the third does, at CPU 2.
#[test]
fn new_tasks_spread_over_the_caches() {
    let outcome = fair_class(&two_caches(1), &tasks_of(4, vec![run_ms(5)]), PERFORMANCE);
    let cpus: Vec<u16> = (0..4).map(|task| starts_of(&outcome, task)[0].1).collect();
    assert_eq!(cpus, [0, 2, 3, 1]);
}

/// The little CPU has capacity 512, and the task begins with half of that. It no longer fits once 1.25 u >= 512:
///
///     u(t) = 256 y^t + 1024 (1 - y^t) = 409.6    y^t = 0.8    t = 32 log2(1.25) = 10.3 periods at half speed: 21.6 ms
///
/// So the tick at 24 ms moves it to the big CPU, which is idle.
#[test]
fn a_task_that_does_not_fit_its_cpu_goes_up() {
    let mut workload = tasks_of(1, vec![run_ms(40)]);
    workload.starts[0].at = Amount::Fixed(MS / 2);
    busy(&mut workload, 0, 0, 10);
    let outcome = fair_class(&big_and_little(), &workload, PERFORMANCE);
    // The other task starts first.
    assert_eq!(starts_of(&outcome, 1), [(0, 1), (24, 0)]);
}

/// A task with a short job stays on the little CPU. One that was there for 22 ms (10.5 periods at half speed: u = 412, see above) wakes on the big one.
#[test]
fn a_woken_task_goes_where_it_fits() {
    for (work_ms, cpu) in [(1, 1), (11, 0)] {
        let mut workload = tasks_of(1, vec![run_ms(work_ms), sleep_ms(30), run_ms(1)]);
        workload.starts[0].at = Amount::Fixed(MS / 2);
        busy(&mut workload, 0, 0, 23);
        let starts = starts_of(&fair_class(&big_and_little(), &workload, PERFORMANCE), 1);
        assert_eq!((starts.len(), starts[0].1, starts[1].1), (2, 1, cpu), "{work_ms} ms");
    }
}

/// Ten tasks of equal work on four CPUs, all begun at CPU 0's queue or beside it: balancing leaves no CPU without work for long.
#[test]
fn waiting_tasks_are_shared_out() {
    let outcome = fair_class(&two_caches(1), &tasks_of(10, vec![run_ms(100)]), PERFORMANCE);
    // 1000 ms of work on four CPUs, and at the end at most one task's rest and a period of balancing.
    assert!(outcome.time_ns < 300 * MS + 8 * MS, "{}", outcome.time_ns);
    let total: u64 = cpu_time_ns(&outcome).iter().sum();
    assert_eq!(total, 1000 * MS);
}

/// A task that ran for 10 ms and slept for 90 is expected to need as much again, so it wakes at full speed. By what is left of its average
/// (608 y^85.8 = 95, 1.25 * 2000 * 95 / 1024 = 232 MHz) it would wake at the lowest.
#[test]
fn speed_goes_by_what_a_task_had_before_its_sleep() {
    let opps = [500, 1000, 2000].map(|mhz| opp(mhz, 1000, 1.0, 4.0, 0.0));
    let machine = machine_of(kind(1.0, opps.to_vec()), 1, 1);
    let workload = tasks_of(1, vec![run_ms(10), sleep_ms(90), run_ms(10)]);
    let at_top = |outcome: Outcome| outcome.counters.run_share_by_speed["2000 MHz"];
    exactly(at_top(fair_class(&machine, &workload, SCHEDUTIL)), 1.0);
    assert!(at_top(run(&machine, &workload, SCHEDUTIL)) < 0.9);
}

/// After 50 ms at the top the task on CPU 0 sleeps, with u = 512 y^47.7 + 1024 (1 - y^47.7) = 842. 1000 MHz will do below 409.6, after another
/// 32 log2(842 / 409.6) = 33.3 periods, 34.9 ms. Speeds of idle CPUs are looked at when the task on CPU 1 falls idle, every 21 ms or so, if the last
/// look was 32 ms ago.
#[test]
fn an_idle_cpu_gives_up_its_speed() {
    let mut workload = workload_of(vec![
        program("long", vec![run_ms(50), sleep_ms(500)]),
        program("short", again(20, [run_ms(1), sleep_ms(20)])),
    ]);
    workload.programs[1].cpus = Some([1].into());
    let outcome = fair_class(&machine(2), &workload, SCHEDUTIL);
    let mut speeds = outcome.trace.iter().filter_map(|event| match *event {
        TraceEvent::Speed { at_ns, cpu: 0, khz } => Some((at_ns / MS, khz / 1000)),
        _ => None,
    });
    let (since_ms, mhz) = speeds.next_back().unwrap();
    assert!(
        mhz == 1000 && (84..84 + 32 + 22).contains(&since_ms),
        "{since_ms} ms, {mhz} MHz"
    );
}

/// A task of 2 ms in 20 at full speed is used by the same at any speed that leaves it idle time. In the long run it goes to sleep with
///
///     u = 1024 (1 - y^1.907) / (1 - y^19.07) = 122.4      in periods of 1.048576 ms; 1.25 * 2000 MHz * u / 1024 = 299 MHz
#[test]
fn speed_comes_down_to_what_is_used() {
    let opps = [280, 310, 500, 2000].map(|mhz| opp(mhz, 1000, 1.0, 4.0, 0.0));
    let machine = machine_of(kind(1.0, opps.to_vec()), 1, 1);
    let timer = Step::Timer {
        timer: 0,
        period: Amount::Fixed(20 * MS),
    };
    let outcome = fair_class(&machine, &tasks_of(1, again(200, [run_ms(2), timer])), SCHEDUTIL);
    let speeds = outcome.trace.iter().filter_map(|event| match *event {
        TraceEvent::Speed { at_ns, khz, .. } if at_ns > 2 * SECOND => Some(khz / 1000),
        _ => None,
    });
    assert!(
        speeds.clone().all(|mhz| mhz == 310 || mhz == 280),
        "{:?}",
        speeds.collect::<Vec<_>>()
    );
    assert!(
        outcome.counters.run_share_by_speed["310 MHz"] > 0.8,
        "{:?}",
        outcome.counters.run_share_by_speed
    );
}

/// The task begins on the big CPU and counts as half of it. Once it is known to be small, it wakes where that takes less: on the little one it adds
/// u / 512 * 0.5 W, on the big one at least u / 512 * 2 W.
#[test]
fn eas_wakes_a_small_task_on_the_little_cpu() {
    let workload = tasks_of(1, again(30, [run_ms(1), sleep_ms(20)]));
    let machine = big_and_little();
    let last_cpu = |outcome: &Outcome| starts_of(outcome, 0).last().unwrap().1;
    let (class, eas) = (
        fair_class(&machine, &workload, SCHEDUTIL),
        run_traced(&machine, &workload, "linux:eas"),
    );
    assert_eq!((last_cpu(&class), last_cpu(&eas)), (0, 1));
    assert!(eas.cpu_energy_j < class.cpu_energy_j);
    assert_eq!(eas.counters.migrations, 1);
}

/// Two tasks on two equal little CPUs. Whatever the other one left of its utilisation, a task adds what it needs to either, so each stays where it went.
#[test]
fn eas_keeps_a_task_where_another_cpu_saves_nothing() {
    let mut machine = machine(3);
    add_kind(&mut machine, big_and_little().kinds[1].clone());
    (machine.cpus[1].kind, machine.cpus[2].kind) = (1, 1);
    let workload = workload_of(vec![
        program("a", again(100, [run_ms(1), sleep_ms(20)])),
        program("b", again(100, [run_ms(2), sleep_ms(30)])),
    ]);
    let outcome = run_traced(&machine, &workload, "linux:eas");
    for task in [0, 1] {
        let cpus: BTreeSet<u16> = starts_of(&outcome, task).iter().skip(10).map(|&(_, cpu)| cpu).collect();
        assert_eq!(cpus.len(), 1, "{task}: {cpus:?}");
        assert!(!cpus.contains(&0));
    }
}

/// Another big CPU is busy all the time, hence over-utilised, and so the task wakes where it was.
#[test]
fn eas_rests_while_a_cpu_is_over_utilised() {
    let mut machine = machine(3);
    add_kind(&mut machine, big_and_little().kinds[1].clone());
    machine.cpus[2].kind = 1;
    let mut workload = tasks_of(1, again(30, [run_ms(1), sleep_ms(20)]));
    assert_eq!(
        starts_of(&run_traced(&machine, &workload, "linux:eas"), 0)
            .last()
            .unwrap()
            .1,
        2
    );
    busy(&mut workload, 1, 0, 1000);
    let outcome = run_traced(&machine, &workload, "linux:eas");
    assert!(starts_of(&outcome, 0).iter().all(|&(_, cpu)| cpu == 0));
}

/// As in the kernel, which has EAS off there, and with SMT.
#[test]
fn on_equal_cores_eas_is_schedutil_and_says_so() {
    let workload = tasks_of(3, again(5, [run_ms(3), sleep_ms(5)]));
    let machine = two_caches(1);
    assert_eq!(
        run_traced(&machine, &workload, "linux:eas"),
        fair_class(&machine, &workload, SCHEDUTIL)
    );
    for (id, notes) in [("recorded-build", 1), ("hybrid-laptop", 1)] {
        let study = study(id, |experiment| {
            experiment.policies = vec![policy("linux:eas")];
            experiment.runs = 1;
        });
        let about_eas = study.notes.iter().filter(|note| note.starts_with("linux:eas on "));
        assert_eq!(about_eas.count(), notes, "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same twice; all work is done; one task alone never migrates on equal cores.
    #[test]
    fn nothing_is_lost_and_nothing_moves_without_need(
        tasks in 1u32..12,
        jobs in prop::collection::vec((1u64..12, 0u64..20), 1..8),
        threads in 1u16..=2,
        governor in prop::sample::select(vec![PERFORMANCE, ONDEMAND, SCHEDUTIL]),
    ) {
        let steps = jobs.iter().flat_map(|&(run, sleep)| [run_ms(run), sleep_ms(sleep)]).collect();
        let workload = tasks_of(tasks, steps);
        let machine = two_caches(threads);
        let outcome = fair_class(&machine, &workload, governor);
        prop_assert_eq!(&fair_class(&machine, &workload, governor), &outcome);
        prop_assert!(tasks > 1 || outcome.counters.migrations == 0);
        if threads == 1 {
            let work_ns = u64::from(tasks) * jobs.iter().map(|&(run, _)| run * MS).sum::<u64>();
            let total: u64 = cpu_time_ns(&outcome).iter().sum();
            // Two speeds, 1:2; a piece is rounded up at each change.
            prop_assert!(total >= work_ns && total <= 2 * work_ns + 1000);
            prop_assert!(governor != PERFORMANCE || total == work_ns);
        }
    }
}

/// Slices of 4 ms. At 4 ms the second task begins at 0 beside a virtual time of 4 ms; after 1 ms it sleeps at 1 beside 4, 1.5 ms behind their average. At 15 ms the
/// first one is at 14: it comes to 14 - 1.5 * 2 = 11, the average is 12.5, and the first one is ahead of it.
#[test]
fn a_task_that_is_behind_preempts_when_it_wakes() {
    let mut workload = workload_of(vec![
        program("first", vec![run_ms(40)]),
        program("second", vec![run_ms(1), sleep_ms(10), run_ms(1)]),
    ]);
    let outcome = fair_class(&machine(1), &workload, PERFORMANCE);
    assert_eq!(starts_of(&outcome, 1), [(4, 0), (15, 0)]);
    // One that ran alone for 30 ms, and then slept, owes nothing and is owed nothing: it comes to the first one's virtual time, whose slice from 34 to 38 ms
    // ends first.
    workload.programs[1].steps = vec![run_ms(30), sleep_ms(5), run_ms(1)];
    workload.starts[0].at = Amount::Fixed(30 * MS);
    let outcome = fair_class(&machine(1), &workload, PERFORMANCE);
    assert_eq!(starts_of(&outcome, 0), [(0, 0), (38, 0)]);
}

/// A big core of two threads, CPUs 0 and 1, and a little one, CPU 2.
fn big_with_threads_and_little() -> Machine {
    let mut machine = machine_of(two_speeds(), 2, 2);
    add_kind(&mut machine, kind(0.5, vec![opp(1000, 1000, 0.1, 0.5, 0.0)]));
    machine.cpus.pop();
    machine.cpus[2].kind = 1;
    machine
}

/// A task that begins at 1 ms, whatever else there is.
fn late() -> Workload {
    let mut workload = workload_of(vec![program("late", vec![run_ms(30)])]);
    workload.starts[0].at = Amount::Fixed(MS);
    workload
}

/// Where and when that task starts, on the big core and the little one.
fn starts_of_late(placement: Placement, workload: &Workload) -> Vec<(u64, u16)> {
    let outcome = placed(placement, &big_with_threads_and_little(), workload, PERFORMANCE);
    let late = outcome.task_names.iter().position(|name| name.starts_with("late"));
    starts_of(&outcome, late.unwrap() as u32)
}

/// It begins on the little core, as the big one is busy until 10 ms, and is there for life but for asym packing: at the tick at 12 ms the big one ranks higher.
#[test]
fn asym_packing_lifts_a_running_task_to_a_core_of_higher_rank() {
    let mut workload = late();
    busy(&mut workload, 0, 0, 10);
    let of = |placement| starts_of_late(placement, &workload);
    assert_eq!(of(Placement::FairClass), [(1, 2)]);
    assert_eq!(of(Placement::AsymPacking), [(1, 2), (12, 0)]);
}

/// Performance cores, then efficiency cores, then siblings: beside a busy sibling, and with the little core busy until 10 ms, it goes there at the next tick. The
/// 50 ms on CPU 0, half as fast for 11 ms, take until 55.5 ms; then the big core is idle.
#[test]
fn asym_packing_prefers_a_slow_core_to_a_sibling() {
    let mut workload = late();
    busy(&mut workload, 0, 0, 50);
    busy(&mut workload, 2, 0, 5);
    let of = |placement| starts_of_late(placement, &workload);
    assert_eq!(of(Placement::FairClass), [(1, 1)]);
    assert_eq!(of(Placement::AsymPacking), [(1, 1), (12, 2), (56, 0)]);
}

/// With SMT the kernel has neither capacities nor energy-aware scheduling.
#[test]
fn with_smt_eas_is_schedutil() {
    let mut workload = late();
    busy(&mut workload, 0, 0, 10);
    let of = |name| fair_class(&big_with_threads_and_little(), &workload, name);
    let (eas, schedutil) = (of("linux:eas"), of(SCHEDUTIL));
    assert_eq!(eas.trace, schedutil.trace);
    assert_eq!(eas.system_energy_j, schedutil.system_energy_j);
}
