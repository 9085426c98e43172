// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time in closed form: speed and memory share, sharing of cores, costs, idle exits, SMT, clocks and transitions.

mod common;
use common::*;
use lop_simulator::workload::{Amount, Step};

/// T(f) = W ((1 - m) f_max / f + m), rounded up to whole ns.
#[test]
fn one_task_takes_what_the_formula_says_at_every_speed_and_memory_share() {
    let kind = kind(
        1.5,
        vec![
            opp(800, 1000, 1.0, 2.0, 0.0),
            opp(1700, 1000, 1.0, 3.0, 0.0),
            opp(3000, 1000, 1.0, 5.0, 0.0),
        ],
    );
    let machine = machine_of(kind, 1, 1);
    for m in [0.0, 0.058, 0.5, 1.0] {
        let mut workload = tasks_of(1, vec![run_ms(700)]);
        workload.memory_shares = vec![m];
        for mhz in [800, 1700, 3000] {
            let outcome = run(&machine, &workload, &format!("linux:userspace@{mhz}"));
            let expected_ns = 700e6 / 1.5 * ((1.0 - m) * 3000.0 / mhz as f64 + m);
            let over_ns = outcome.time_ns as f64 - expected_ns;
            assert!((-1e-3..1.001).contains(&over_ns), "m {m}, {mhz} MHz: {over_ns} ns over");
            let lost_ns = expected_ns - 700e6 / 1.5;
            assert!((outcome.counters.lost_fixed_speed_s * 1e9 - lost_ns).abs() < 2.0);
        }
    }
}

#[test]
fn as_many_tasks_as_cores_run_side_by_side() {
    for cores in [1, 2, 7] {
        let outcome = run(
            &machine(cores),
            &tasks_of(u32::from(cores), vec![run_ms(40)]),
            PERFORMANCE,
        );
        assert_eq!(outcome.time_ns, 40 * MS);
        assert_eq!(outcome.counters.migrations, 0);
    }
}

/// n tasks on c cores: all cores busy to within a slice of the end, each task with the same share until then.
#[test]
fn more_tasks_than_cores_share_them_fairly() {
    let (cores, tasks, work_ms) = (2, 5, 300);
    for name in [PERFORMANCE, "highlow", "highlow-spare"] {
        let mut workload = tasks_of(tasks, vec![run_ms(work_ms)]);
        let whole = run(&machine(cores), &workload, name);
        let ideal_ns = u64::from(tasks) * work_ms * MS / u64::from(cores);
        assert!(
            whole.time_ns >= ideal_ns && whole.time_ns <= ideal_ns + 10 * MS,
            "{name}: {}",
            whole.time_ns
        );
        workload.duration_ns = Some(400 * MS);
        let half = run_traced(&machine(cores), &workload, name);
        let shares = cpu_time_ns(&half);
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most - least <= 10 * MS, "{name}: {shares:?}");
        assert_eq!(shares.iter().sum::<u64>(), 800 * MS);
    }
}

/// One core, one task of k bursts with sleeps between: each start costs one switch.
#[test]
fn each_start_on_an_idle_core_costs_a_context_switch() {
    let mut machine = machine(1);
    machine.cost.context_switch_ns = 3_000;
    let burst = || [run_ms(5), sleep_ms(1)];
    let steps: Vec<Step> = (0..10).flat_map(|_| burst()).collect();
    let outcome = run(&machine, &tasks_of(1, steps), PERFORMANCE);
    // Eleven starts: the last one only finds the end of its program.
    assert_eq!(outcome.time_ns, 10 * 6 * MS + 11 * 3_000);
    assert_eq!(outcome.counters.context_switches, 11);
    assert_eq!(outcome.counters.wakeups, 11);
}

/// Longest-idle placement sends a lone sleeper round the cores: each time it pays for a migration, and more where the memory
/// domain changes.
#[test]
fn a_task_pays_for_coming_back_elsewhere() {
    let mut machine = machine(2);
    machine.cost.migration_ns = 5_000;
    machine.cost.memory_domain_ns = 20_000;
    let steps: Vec<Step> = (0..4).flat_map(|_| [run_ms(5), sleep_ms(1)]).collect();
    let workload = tasks_of(1, steps);
    let near = run(&machine, &workload, PERFORMANCE);
    assert_eq!(near.counters.migrations, 4);
    assert_eq!(near.time_ns, 4 * 6 * MS + 4 * 5_000);
    machine.cpus[1].memory_domain = 1;
    machine.nr_memory_domains = 2;
    let far = run(&machine, &workload, PERFORMANCE);
    assert_eq!(far.time_ns, 4 * 6 * MS + 4 * 25_000);
    let staying = run(&machine, &workload, "highlow-spare");
    assert_eq!(staying.counters.migrations, 0, "the policy keeps a task where it was");
}

/// Slept 1 ms: shallow state, 2 us to leave it. Slept 50 ms: deep state, 100 us.
#[test]
fn leaving_an_idle_state_delays_the_start_by_its_exit_time() {
    let mut kind = two_speeds();
    kind.idle_states = vec![idle("C1", 2_000, 0, None), idle("C6", 100_000, 10 * MS, Some(0.1))];
    let machine = machine_of(kind, 1, 1);
    let steps = vec![run_ms(1), sleep_ms(1), run_ms(1), sleep_ms(50), run_ms(1)];
    let outcome = run(&machine, &tasks_of(1, steps), PERFORMANCE);
    assert_eq!(outcome.time_ns, (3 + 51) * MS + 2_000 + 2_000 + 100_000);
    let latency_us = outcome.counters.wakeup_latency_us;
    assert_eq!(latency_us.max, 100.0);
    // The first start waits for nobody, one wakeup for 2 us, one for 100: half of them 2 us or less.
    assert_eq!((latency_us.p50, latency_us.p999), (2.0, 100.0));
    let residency = &outcome.counters.idle_state_residency;
    // In C1 for 1 ms and for the 10 ms before it sinks into C6.
    exactly(residency["C1"], 11.0 * MS as f64 / outcome.time_ns as f64);
    exactly(residency["C6"], 40.0 * MS as f64 / outcome.time_ns as f64);
    exactly(residency["busy"], (3 * MS + 104_000) as f64 / outcome.time_ns as f64);
}

/// From when the clock starts a job until it is done; in the mean until its timer expires again, if that is later, and without those of timers in the percentiles. One that is not done when the next is due makes that one wait; one that is not done by the end
/// counts until then. Jobs that a timer started are missed if they are not done when it expires again.
#[test]
fn responses_are_from_when_the_clock_starts_a_job_until_it_is_done() {
    let response_s = |work_ms, pause: Step, end_ms| {
        let forever = Step::Repeat { times: None, end: 4 };
        let mut workload = tasks_of(1, vec![forever, run_ms(work_ms), pause, Step::EndRepeat { start: 0 }]);
        workload.duration_ns = Some(end_ms * MS);
        let counters = run(&machine(1), &workload, PERFORMANCE).counters;
        let longest_us = counters.response_us.map(|us| us.max);
        (counters.mean_response_s.unwrap(), longest_us, counters.missed_share)
    };
    let every_10_ms = || Step::Timer {
        timer: 0,
        period: Amount::Fixed(10 * MS),
    };
    // Three are done, after 3 ms each, with 7 left.
    assert_eq!(response_s(3, every_10_ms(), 25), (0.01, None, Some(0.0)));
    assert_eq!(response_s(3, sleep_ms(5), 24), (0.003, Some(3000.0), None));
    // Due at 0, 10, 20 and 30 ms: done after 15 and 30, not done by 40.
    let late = response_s(15, every_10_ms(), 40);
    assert_eq!(late, (0.055 / 3.0, None, Some(1.0)));
    // The clock starts nothing of what a second task does, and the third ends by itself.
    let repeat = |steps: [Step; 2]| {
        let [first, second] = steps;
        let forever = Step::Repeat { times: None, end: 4 };
        vec![forever, first, second, Step::EndRepeat { start: 0 }]
    };
    let mut beside = workload_of(vec![
        program("clocked", repeat([run_ms(3), every_10_ms()])),
        program("endless", repeat([run_ms(3), run_ms(2)])),
        program("ends", vec![run_ms(4)]),
    ]);
    beside.duration_ns = Some(25 * MS);
    assert_eq!(
        run(&machine(3), &beside, PERFORMANCE).counters.mean_response_s,
        Some(0.01)
    );
    let mut done = tasks_of(1, vec![run_ms(3), every_10_ms(), run_ms(3)]);
    done.duration_ns = Some(25 * MS);
    assert_eq!(
        run(&machine(1), &done, PERFORMANCE).counters.mean_response_s,
        None,
        "the work sets the end"
    );
}

/// A job counts by the clock that began it: 3 ms from each expiry on are the timer's job, which counts for its period in the mean and in no percentile, and
/// 30 ms from each end of the sleep on are no timer's. Expiries at 100 and 200 ms, before which nothing was done: (100 + 30 + 100 + 30) / 4.
#[test]
fn a_job_counts_by_the_clock_that_began_it() {
    let timer = Step::Timer {
        timer: 0,
        period: Amount::Fixed(100 * MS),
    };
    let forever = Step::Repeat { times: None, end: 6 };
    let end = Step::EndRepeat { start: 0 };
    let mut workload = tasks_of(1, vec![forever, timer, run_ms(3), sleep_ms(10), run_ms(30), end]);
    workload.duration_ns = Some(300 * MS);
    let counters = run(&machine(1), &workload, PERFORMANCE).counters;
    assert_eq!(counters.missed_share, Some(0.0));
    assert_eq!(
        counters.response_us.map(|us| (us.p50, us.max)),
        Some((30_000.0, 30_000.0))
    );
    assert_eq!(counters.mean_response_s, Some(0.065));
}

/// Periods of 9 to 11 ms are drawn, and counted from expiry to expiry: how long the work takes moves none. A job is in time within the mean period, which is
/// what it counts for in the mean.
#[test]
fn a_timer_whose_periods_are_drawn_does_not_drift() {
    let wakeups = |work_ms| {
        let timer = Step::Timer {
            timer: 0,
            period: Amount::Uniform {
                min_ns: 9 * MS,
                max_ns: 11 * MS,
            },
        };
        let forever = Step::Repeat { times: None, end: 3 };
        let mut workload = tasks_of(1, vec![forever, run_ms(work_ms), timer, Step::EndRepeat { start: 0 }]);
        workload.duration_ns = Some(1000 * MS);
        let counters = run(&machine(1), &workload, PERFORMANCE).counters;
        assert_eq!(
            (counters.missed_share, counters.mean_response_s),
            (Some(0.0), Some(0.01))
        );
        counters.wakeups
    };
    assert_eq!(wakeups(1), wakeups(8));
    assert!((95..106).contains(&wakeups(1)));
}

/// Two jobs of 3 ms; the exit after the second sleep is none.
#[test]
fn an_exit_without_work_is_no_job() {
    let twice = Step::Repeat { times: Some(2), end: 4 };
    let forever = Step::Repeat { times: None, end: 3 };
    let mut workload = workload_of(vec![
        program(
            "exits",
            vec![twice, run_ms(3), sleep_ms(5), Step::EndRepeat { start: 0 }],
        ),
        program("endless", vec![forever, run_ms(3), Step::EndRepeat { start: 0 }]),
    ]);
    workload.duration_ns = Some(40 * MS);
    assert_eq!(
        run(&machine(2), &workload, PERFORMANCE).counters.mean_response_s,
        Some(0.003)
    );
}

/// Throughput of a core with both threads busy is 1.3 of one: each gets 0.65.
#[test]
fn smt_siblings_share_their_core() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.3;
    let machine = machine_of(kind, 1, 2);
    let both = run(&machine, &tasks_of(2, vec![run_ms(65)]), PERFORMANCE);
    assert_eq!(both.time_ns, 100 * MS);
    let alone = run(&machine, &tasks_of(1, vec![run_ms(65)]), PERFORMANCE);
    assert_eq!(alone.time_ns, 65 * MS);
    // 20 ms alone: the first 13 of 26 ms of work in 20 ms beside the other, then the rest at full speed.
    let uneven = workload_of(vec![
        program("short", vec![run_ms(13)]),
        program("long", vec![run_ms(26)]),
    ]);
    assert_eq!(run(&machine, &uneven, PERFORMANCE).time_ns, 33 * MS);
}

#[test]
fn a_whole_idle_core_is_taken_before_a_sibling_of_a_busy_one() {
    let mut kind = two_speeds();
    kind.smt_speedup = 1.2;
    let machine = one_voltage(machine_of(kind, 3, 2));
    for name in [PERFORMANCE, "highlow", "highlow-spare"] {
        assert_eq!(
            run(&machine, &tasks_of(3, vec![run_ms(30)]), name).time_ns,
            30 * MS,
            "{name}"
        );
    }
}

/// A parked core takes its exit time when it is wanted at once; the spare was unparked before.
#[test]
fn a_parked_core_is_ready_after_its_exit_time() {
    let mut machine = machine(2);
    machine.park = Some(lop_machine::Park {
        exit_ns: 300_000,
        power_uw: 0,
        domain_uw: None,
        domain_exit_ns: 300_000,
    });
    let late = program("late", vec![sleep_ms(100), run_ms(10)]);
    let workload = workload_of(vec![program("first", vec![run_ms(200)]), late]);
    let highlow = run(&machine, &workload, "highlow");
    assert_eq!(highlow.counters.wakeup_latency_us.max, 300.0);
    let only_late = workload_of(vec![program("late", vec![run_ms(1), sleep_ms(100), run_ms(10)])]);
    let spare = run(&machine, &only_late, "highlow-spare");
    assert_eq!(spare.time_ns, 111 * MS);
    assert_eq!(
        spare.counters.wakeup_latency_us.max, 0.0,
        "the spare is there before the first task"
    );
    machine.shortest_exit_share = 0.4;
    let drawn_us = run(&machine, &workload, "highlow").counters.wakeup_latency_us.max;
    assert!((120.0..300.0).contains(&drawn_us), "{drawn_us}");
}

/// At 1000 MHz until a transition of 2 ms ends: half of those 2 ms is work.
#[test]
fn the_old_speed_holds_until_a_transition_ends() {
    let mut machine = machine(1);
    machine.cpufreq.transition_ns = 2 * MS;
    machine.cpufreq.ondemand_period_ns = 10 * MS;
    // Sampled at 10 ms with 100 % load: 1000 MHz until 12 ms, 6 ms of work done; the other 20 ms at 2000 MHz.
    let outcome = run(&machine, &tasks_of(1, vec![run_ms(26)]), ONDEMAND);
    assert_eq!(outcome.time_ns, 32 * MS);
    assert_eq!(outcome.counters.frequency_transitions, 1);
    exactly(outcome.counters.frequency_residency["1000 MHz"], 12.0 / 32.0);
    exactly(outcome.counters.full_speed_share, 20.0 / 26.0);
    // Lost: 12 ms at half speed. All of it was mis-measured: with one core the load cannot have been elsewhere.
    exactly(outcome.counters.lost_mismeasured_s, 6e-3);
    assert_eq!(outcome.counters.lost_slow_start_s, 0.0);
}

/// Two cores on one clock: the busy one takes the idle one along.
#[test]
fn cores_of_one_clock_domain_run_at_the_speed_of_the_busiest() {
    let machine = one_clock(machine(2));
    let late = program("late", vec![sleep_ms(10), run_ms(10)]);
    let workload = workload_of(vec![program("first", vec![run_ms(45)]), late]);
    let outcome = run_traced(&machine, &workload, ONDEMAND);
    // First: 5 ms of work in the period up to 10 ms, then 40 at full speed. The late one never sees 1000 MHz.
    assert_eq!(last_stop_ns(&outcome), [50 * MS, 20 * MS]);
    exactly(outcome.counters.frequency_residency["1000 MHz"], 10.0 / 50.0);
}

#[test]
fn without_a_common_clock_the_late_core_starts_slow() {
    let late = program("late", vec![sleep_ms(10), run_ms(10)]);
    let workload = workload_of(vec![program("first", vec![run_ms(45)]), late]);
    let outcome = run_traced(&machine(2), &workload, ONDEMAND);
    // Starts at 10 ms on the core at 1000 MHz, sampled at 20 ms after 5 ms of work.
    assert_eq!(last_stop_ns(&outcome)[1], 25 * MS);
}

#[test]
fn work_below_a_nanosecond_and_none_at_all_end() {
    let workload = tasks_of(2, vec![run_ns(0), run_ns(1), Step::Sleep(Amount::Fixed(0)), run_ns(0)]);
    for name in policy_names().into_iter().filter(|&name| name != "reserved-core") {
        let outcome = run(&machine(1), &workload, name);
        assert!((2..=4).contains(&outcome.time_ns), "{name}: {}", outcome.time_ns);
    }
}
