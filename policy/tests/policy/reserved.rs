// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A core reserved for the operating system's own work.

use crate::bench::{config, flat, siblings, steps, Asked, Bench, HOLD, LAST_HOLD, MS, S, US};
use lop_policy::{rules, Config, CpuPlace, Reserve, Set, Sizing};

fn asked() -> Config {
    Config {
        reserve: Reserve::Asked,
        spare: 0,
        ..config()
    }
}

/// All cores but the reserved one are high, as under the policy `reserved-core`.
fn all_high() -> Config {
    Config {
        sizing: Sizing::All,
        ..asked()
    }
}

fn raised(bench: &Bench) -> Option<u32> {
    let (cpu, raised) = bench.policy.reserved();
    cpu.map(|_| raised)
}

fn system(bench: &mut Bench) -> usize {
    let task = bench.task();
    bench.tasks[task].system = true;
    task
}

#[test]
fn wanted_by_default_from_four_cores_on_and_if_asked_for_from_two_cpus() {
    for (reserve, cpus, smt, expected) in [
        (Reserve::Never, 8, false, false),
        (Reserve::BySize, 3, false, false),
        (Reserve::BySize, 4, false, true),
        (Reserve::BySize, 6, true, false), // three cores
        (Reserve::BySize, 8, true, true),
        (Reserve::Asked, 1, false, false),
        (Reserve::Asked, 2, false, true),
        (Reserve::Asked, 2, true, true), // one core: a sibling is left
    ] {
        let place = if smt { siblings } else { flat };
        let bench = Bench::new(cpus, Config { reserve, ..config() }, place);
        assert_eq!(
            bench.reserved().is_some(),
            expected,
            "{reserve:?} with {cpus} CPUs, SMT {smt}"
        );
    }
}

/// Tier 0 is the fastest kind. Of the slowest kind a CPU without a sibling, and of these the first.
#[test]
fn the_slowest_kind_then_no_sibling_then_the_lowest_number() {
    type Place = fn(usize) -> CpuPlace;
    let cases: [(&str, Place, u32); 4] = [
        ("all equal", flat, 0),
        (
            "fast, slow, slow, fast",
            |cpu| CpuPlace {
                tier: u16::from(cpu == 1 || cpu == 2),
                ..flat(cpu)
            },
            1,
        ),
        (
            "siblings {0, 1}, 2 and 3 alone",
            |cpu| CpuPlace {
                next_sibling: [1, 0, 2, 3][cpu],
                ..flat(cpu)
            },
            2,
        ),
        (
            "the slow kind has siblings, the fast one has not",
            |cpu| CpuPlace {
                tier: u16::from(cpu < 2),
                next_sibling: [1, 0, 2, 3][cpu],
                ..flat(cpu)
            },
            0,
        ),
    ];
    for (what, place, expected) in cases {
        assert_eq!(Bench::new(4, asked(), place).reserved(), Some(expected), "{what}");
    }
}

/// Four tasks on four CPUs of which one is reserved: three run, one waits, and daemons have the reserved CPU for
/// themselves.
#[test]
fn applications_run_on_all_others_and_the_system_on_the_reserved_one() {
    for config in [asked(), all_high()] {
        let mut bench = Bench::new(4, config, flat);
        let (tasks, daemons) = (bench.tasks(4), [system(&mut bench), system(&mut bench)]);
        let placed: Vec<(i32, bool)> = tasks.iter().map(|&task| bench.wake(task)).collect();
        let mut cpus: Vec<i32> = placed[..3]
            .iter()
            .map(|&(cpu, claimed)| if claimed { cpu } else { -1 })
            .collect();
        cpus.sort_unstable();
        assert_eq!(cpus, [1, 2, 3]);
        assert!(!placed[3].1);
        assert_eq!(bench.high(), [1, 2, 3]);
        assert_eq!(bench.target(), 3, "four tasks, three CPUs for them");
        assert_eq!(bench.wake(daemons[0]), (0, true));
        assert_eq!(bench.wake(daemons[1]), (0, false));
        assert_eq!(bench.world.queues_of(daemons[1]), [0], "the queue of that CPU alone");
        assert_eq!((bench.policy.active(Set::High), bench.policy.active(Set::Low)), (4, 2));
        // A waiting application task does not come to the reserved CPU, nor a waiting daemon to another one.
        bench.run_and_block(1, MS);
        assert_eq!(bench.running[1], Some(tasks[3]));
        bench.run_and_block(0, MS);
        assert_eq!(bench.running[0], Some(daemons[1]));
        bench.run_and_block(0, MS);
        assert_eq!((bench.running[0], bench.policy.active(Set::Low)), (None, 0));
    }
}

/// Application tasks that wait further behind do not matter to the reserved CPU: its task goes on, and is forgiven
/// what it pays, one slice, as no task waits there. With another daemon waiting behind it, it stops.
#[test]
fn who_waits_elsewhere_does_not_end_a_slice_on_the_reserved_cpu() {
    let mut bench = Bench::new(2, all_high(), flat);
    let (tasks, daemons) = (bench.tasks(2), [system(&mut bench), system(&mut bench)]);
    bench.wake(daemons[0]);
    bench.wake_all(&tasks);
    bench.pass(100 * MS);
    let before_ns = bench.tasks[daemons[0]].vtime_ns;
    bench.run_and_preempt(0, 100 * MS);
    assert_eq!(bench.running[0], Some(daemons[0]));
    let queues = &bench.policy.queues;
    assert_eq!(bench.tasks[daemons[0]].vtime_ns, queues.clock_ns);
    assert_eq!(queues.clock_ns + queues.forgiven_ns.ns[0], before_ns + 5 * MS);
    let mut running = bench.tasks[daemons[0]];
    running.vtime_ns += 10 * MS;
    assert!(bench.policy.goes_on(&mut bench.world, &running, 0));
    assert_eq!(bench.wake(daemons[1]), (0, false));
    assert!(!bench.policy.goes_on(&mut bench.world, &running, 0));
}

/// The reserved CPU counts as low for ordinary work, but not for a daemon.
#[test]
fn who_comes_to_the_reserved_cpu_stays_if_it_is_for_him() {
    let mut bench = Bench::new(4, asked(), flat);
    let (task, daemon) = (bench.task(), system(&mut bench));
    bench.wake(daemon);
    bench.tasks[task].counted = true;
    let reserved = bench.reserved().expect("asked for");
    assert!(bench.policy.came_too_late(&bench.tasks[task], reserved));
    assert!(!bench.policy.came_too_late(&bench.tasks[daemon], reserved));
}

/// Without a reserved core a daemon is a task like any other.
#[test]
fn without_a_reserved_core_nothing_is_different_for_daemons() {
    let mut bench = Bench::new(
        4,
        Config {
            reserve: Reserve::Never,
            ..asked()
        },
        flat,
    );
    let daemon = system(&mut bench);
    assert_eq!(bench.wake(daemon), (0, true));
    assert_eq!((bench.policy.active(Set::High), bench.high()), (1, vec![0]));
}

/// A thread that the kernel takes to be short would run on a member: here it goes to the reserved CPU too, and waits
/// there.
#[test]
fn short_work_of_the_system_visits_no_member() {
    let mut bench = Bench::new(4, all_high(), flat);
    let threads = [system(&mut bench), system(&mut bench)];
    for &thread in &threads {
        bench.tasks[thread].brief = true;
    }
    assert_eq!(bench.wake(threads[0]), (0, true));
    assert_eq!(bench.wake(threads[1]), (0, false));
}

/// `allowed`, whether it is the system's own, and the CPU where it starts.
#[test]
fn affinity_goes_before_the_reservation() {
    for (allowed, of_system, cpu) in [
        (vec![0], false, 0), // restricted to the reserved CPU
        (vec![0], true, 0),
        (vec![2], true, 2), // a thread of another CPU
        (vec![2, 3], true, 2),
        (vec![0, 2], true, 0),  // allowed there, so it goes there
        (vec![0, 3], false, 3), // not the system's own, so it does not
    ] {
        let mut bench = Bench::new(4, all_high(), flat);
        let task = bench.pinned(allowed.clone());
        bench.tasks[task].system = of_system;
        assert_eq!(bench.wake(task), (cpu, true), "{allowed:?}, system {of_system}");
        assert_eq!(bench.high(), [1, 2, 3], "the reserved CPU is no member");
        // No other task waits when its slice ends: it goes on there.
        bench.run_and_preempt(cpu as usize, MS);
        assert_eq!(bench.running[cpu as usize], Some(task));
    }
}

/// Beside the reserved CPU a restricted task may use only CPU 3. When that goes offline, the task runs on the reserved
/// CPU.
#[test]
fn who_may_run_nowhere_else_any_more_runs_on_the_reserved_cpu() {
    let mut bench = Bench::new(4, all_high(), flat);
    let task = bench.pinned([0, 3]);
    bench.wake(task);
    assert_eq!(bench.cpu_of(task), Some(3));
    bench.offline(3);
    assert_eq!((bench.cpu_of(task), bench.reserved()), (Some(0), Some(0)));
    bench.run_and_block(0, MS);
    bench.online(3);
    assert_eq!(bench.wake(task), (3, true));
}

/// Siblings {0, 1}, {2, 3}, {4, 5}; 0 is reserved. The whole cores join first, then the siblings of busy CPUs, then the
/// sibling of the reserved one.
#[test]
fn the_sibling_of_the_reserved_cpu_joins_last_and_leaves_first() {
    let mut bench = Bench::new(6, asked(), siblings);
    let tasks = bench.tasks(5);
    let order: Vec<i32> = tasks.iter().map(|&task| bench.wake(task).0).collect();
    assert_eq!(order, [2, 4, 3, 5, 1]);
    assert_eq!(bench.high(), [1, 2, 3, 4, 5]);
    bench.block_all(&tasks);
    assert_eq!(bench.policy.leaver(Set::High, u64::MAX), 1);
}

/// The same where all are members from the start: the choice is among idle ones, and even the CPU that the task ran on
/// last does not count.
#[test]
fn the_sibling_of_the_reserved_cpu_is_the_last_to_be_given_work() {
    let mut bench = Bench::new(6, all_high(), siblings);
    let tasks = bench.tasks(5);
    bench.last_cpu[tasks[0]] = 1;
    let order: Vec<i32> = tasks.iter().map(|&task| bench.wake(task).0).collect();
    assert_eq!(order[..2].iter().map(|cpu| cpu / 2).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(order[4], 1);
}

/// What the adapter is told of a CPU: its set, and, on the reserved core, its speed.
#[test]
fn the_reserved_core_has_a_speed_of_its_own_siblings_included() {
    let bench = Bench::new(4, all_high(), siblings);
    let of = |cpu: u32| -> Vec<Asked> {
        let about = |asked: &&Asked| match **asked {
            Asked::Changed { cpu: of, .. } | Asked::Raised { cpu: of, .. } => of == cpu,
            _ => false,
        };
        bench.world.log.iter().filter(about).copied().collect()
    };
    let changed = |cpu, set| Asked::Changed { cpu, set };
    assert_eq!(of(0), [Asked::Raised { cpu: 0, raised: 0 }, changed(0, Set::Low)]);
    assert_eq!(of(1), [Asked::Raised { cpu: 1, raised: 0 }, changed(1, Set::High)]);
    assert_eq!(of(2), [changed(2, Set::High)]);
    assert_eq!(
        [0, 1, 2, 3].map(|cpu| bench.policy.on_reserved_core(cpu)),
        [true, true, false, false]
    );
}

/// The task works for `work_ns` and rests for `rest_ns`, again and again, until `until_ns` have passed.
fn busy(bench: &mut Bench, task: usize, work_ns: u64, rest_ns: u64, until_ns: u64) {
    let end_ns = bench.now() + until_ns;
    while bench.now() < end_ns {
        bench.wake(task);
        let cpu = bench.cpu_of(task);
        bench.pass(work_ns.min(end_ns - bench.now()));
        match cpu {
            Some(cpu) => drop(bench.run_and_block(cpu, work_ns)),
            None => bench.block(task),
        }
        bench.pass(rest_ns.min(end_ns - bench.now()));
    }
}

/// Work and rest over a second, and the steps by which the speed was raised. There are two steps, so the third time the
/// reservation is given up (`None`).
#[test]
fn more_than_ninety_percent_for_a_hundred_milliseconds_raise_it() {
    for (work_us, rest_us, expected) in [
        (50, 9_950, Some(0)),
        (5_000, 5_000, Some(0)),
        (8_900, 1_100, Some(0)),
        (45_000, 5_000, Some(0)), // 90 % and not more
        (9_100, 900, None),
        (91_000, 9_000, None),
        (1_000_000, 0, None),
    ] {
        let mut bench = Bench::new(4, all_high(), flat);
        let daemon = system(&mut bench);
        busy(&mut bench, daemon, work_us * US, rest_us * US, 1000 * MS);
        assert_eq!(raised(&bench), expected, "{work_us} us of work, {rest_us} us of rest");
    }
}

/// The worked example of lop_reserve_saturated(): work until 89 ms, and again from 98 or from 99 ms on.
#[test]
fn a_window_ends_early_when_it_has_rested_for_a_tenth() {
    for (rest_ms, first_raise_ms) in [(9, 100), (10, 199)] {
        let mut bench = Bench::new(4, all_high(), flat);
        let daemon = system(&mut bench);
        let began_ns = bench.now();
        bench.wake(daemon);
        bench.pass(89 * MS);
        bench.run_and_block(0, 89 * MS);
        bench.pass(rest_ms * MS);
        bench.wake(daemon);
        bench.pass(first_raise_ms * MS - (bench.now() - began_ns) - 1);
        assert_eq!(raised(&bench), Some(0), "rested for {rest_ms} ms");
        bench.pass(1);
        assert_eq!(raised(&bench), Some(1), "rested for {rest_ms} ms");
    }
}

/// Always busy: a step every 100 ms, told for the CPU and its sibling; then the whole core is ordinary, at the speed of
/// its sets.
#[test]
fn it_is_raised_step_by_step_and_then_given_up() {
    let mut bench = Bench::new(8, all_high(), siblings);
    let daemon = system(&mut bench);
    bench.wake(daemon);
    bench.world.log.clear();
    for step in 1..=2 {
        bench.pass(100 * MS - 1);
        assert_eq!(raised(&bench), Some(step - 1));
        bench.pass(1);
        assert_eq!(raised(&bench), Some(step));
        for cpu in [0, 1] {
            assert!(bench.world.log.contains(&Asked::Raised { cpu, raised: step }));
        }
    }
    bench.world.log.clear();
    bench.pass(100 * MS);
    assert_eq!(bench.reserved(), None);
    assert_eq!(bench.high(), (0..8).collect::<Vec<_>>(), "all are high now");
    assert!(bench.world.log.contains(&Asked::Changed { cpu: 0, set: Set::High }));
    assert!(bench.world.log.contains(&Asked::Changed { cpu: 1, set: Set::High }));
    assert!(!bench
        .world
        .log
        .iter()
        .any(|asked| matches!(asked, Asked::Raised { .. })));
    // The reservation stays given up, and the daemon is a task like any other.
    bench.run_and_block(0, MS);
    bench.pass(10 * LAST_HOLD);
    let others = bench.tasks(8);
    bench.wake_all(&others);
    assert!((0..8).all(|cpu| bench.running[cpu].is_some()));
}

/// A reserved core that was busy for 100 ms since the start, and so is one step up; its task has just blocked.
fn one_step_up(permille: [u16; 3]) -> (Bench, usize) {
    let config = Config {
        reserve_permille: steps(permille),
        ..all_high()
    };
    let mut bench = Bench::new(4, config, flat);
    let daemon = system(&mut bench);
    raise(&mut bench, daemon);
    (bench, daemon)
}

/// Work without a pause, until the speed is a step higher; at 100 ms it is.
fn raise(bench: &mut Bench, daemon: usize) {
    let before = raised(bench).expect("reserved");
    bench.wake(daemon);
    bench.pass(100 * MS);
    bench.run_and_block(0, 100 * MS);
    assert_eq!(raised(bench), Some(before + 1));
}

fn rest_then_work(bench: &mut Bench, daemon: usize, rest_ns: u64, work_ns: u64) {
    bench.pass(rest_ns);
    bench.wake(daemon);
    bench.pass(work_ns);
    bench.run_and_block(0, work_ns);
}

/// The worked example of lop_reserve_fits_below(), beside one whose lower speed is nearer and one whose lower speed is not
/// known. The work of a second comes in ten equal parts.
#[test]
fn a_step_down_where_three_quarters_of_the_time_are_enough() {
    for (permille, busy_us, expected) in [
        ([500, 1000, 1000], 375_000, 0),
        ([500, 1000, 1000], 375_001, 1),
        ([800, 1000, 1000], 600_000, 0),
        ([800, 1000, 1000], 600_001, 1),
        ([0, 1000, 1000], 1, 1),
    ] {
        let (mut bench, daemon) = one_step_up(permille);
        for _ in 0..10 {
            let work_ns = busy_us * US / 10;
            rest_then_work(&mut bench, daemon, 100 * MS - work_ns, work_ns);
        }
        assert_eq!(raised(&bench), Some(expected), "{permille:?}, busy for {busy_us} us");
    }
}

/// Twenty steps from 500 to 1000. At the 17th the core has 925, and one below 900: it fits if busy for 3/4 * 900 / 925 of the time, 0.7297.
#[test]
fn each_of_many_steps_has_its_speed() {
    for (busy_us, expected) in [(729_000, 16), (730_000, 17)] {
        let config = Config {
            reserve_raises: 20,
            reserve_permille: steps(std::array::from_fn::<_, 21, _>(|step| 500 + 25 * step as u16)),
            ..all_high()
        };
        let mut bench = Bench::new(4, config, flat);
        let daemon = system(&mut bench);
        (0..17).for_each(|_| raise(&mut bench, daemon));
        for _ in 0..10 {
            let work_ns = busy_us * US / 10;
            rest_then_work(&mut bench, daemon, 100 * MS - work_ns, work_ns);
        }
        assert_eq!(raised(&bench), Some(expected), "busy for {busy_us} us");
    }
}

/// Ten windows of 100 ms: the core falls idle 999 ms after the step up, and 1 s after it.
#[test]
fn a_pause_of_less_than_a_second_lowers_nothing() {
    for (rest_ms, expected) in [(998, 1), (999, 0)] {
        let (mut bench, daemon) = one_step_up([500, 1000, 1000]);
        rest_then_work(&mut bench, daemon, rest_ms * MS, MS);
        assert_eq!(raised(&bench), Some(expected), "rested for {rest_ms} ms");
    }
}

/// Two steps up; a step down at the end of each second, told for the CPU and its sibling, and none below the first speed.
#[test]
fn it_goes_down_step_by_step() {
    let mut bench = Bench::new(8, all_high(), siblings);
    let daemon = system(&mut bench);
    raise(&mut bench, daemon);
    raise(&mut bench, daemon);
    for expected in [1, 0] {
        bench.world.log.clear();
        rest_then_work(&mut bench, daemon, 999 * MS, MS);
        for cpu in [0, 1] {
            assert!(bench.world.log.contains(&Asked::Raised { cpu, raised: expected }));
        }
        assert_eq!(raised(&bench), Some(expected));
    }
    bench.world.log.clear();
    rest_then_work(&mut bench, daemon, 999 * MS, MS);
    assert!(!bench
        .world
        .log
        .iter()
        .any(|asked| matches!(asked, Asked::Raised { .. })));
}

/// A second with too much work is over when the core falls idle: the next one begins then.
#[test]
fn a_busy_second_begins_another_one() {
    let (mut bench, daemon) = one_step_up([500, 1000, 1000]);
    for _ in 0..10 {
        rest_then_work(&mut bench, daemon, 50 * MS, 50 * MS);
    }
    assert_eq!(raised(&bench), Some(1), "1 s, half of it busy");
    for (rest_ms, expected) in [(500, 1), (498, 0)] {
        rest_then_work(&mut bench, daemon, rest_ms * MS, MS);
        assert_eq!(raised(&bench), Some(expected));
    }
}

/// Bursts of 100 ms that need the higher speed: the pause after which it is lowered doubles from 1 s to 64 s.
#[test]
fn bursts_change_the_speed_less_and_less_often() {
    let (mut bench, daemon) = one_step_up([500, 1000, 1000]);
    for calm_s in [1, 2, 4, 8, 16, 32, 64, 64] {
        rest_then_work(&mut bench, daemon, calm_s * S - 2 * MS, MS);
        assert_eq!(raised(&bench), Some(1), "1 ms before {calm_s} s");
        rest_then_work(&mut bench, daemon, 0, MS);
        assert_eq!(raised(&bench), Some(0), "at {calm_s} s");
        bench.pass(10 * MS);
        raise(&mut bench, daemon);
    }
}

/// Raised twice in a row is no failed step down.
#[test]
fn only_a_step_up_after_a_step_down_backs_off() {
    let (mut bench, daemon) = one_step_up([250, 500, 1000]);
    raise(&mut bench, daemon);
    rest_then_work(&mut bench, daemon, 999 * MS, MS);
    assert_eq!(raised(&bench), Some(1));
    rest_then_work(&mut bench, daemon, 999 * MS, MS);
    assert_eq!(raised(&bench), Some(0));
}

/// An hour at a higher speed without work: nothing wakes the core to lower it. Its next work, of a millisecond, does.
#[test]
fn no_timer_lowers_a_core_that_sleeps() {
    let (mut bench, daemon) = one_step_up([500, 1000, 1000]);
    bench.pass(200 * MS);
    assert_eq!(bench.world.timer_at_ns, None);
    rest_then_work(&mut bench, daemon, 3_600 * S, MS);
    assert_eq!(raised(&bench), Some(0));
}

/// Sets by demand: tasks that were active for the reserved CPU when it was given up are demand like any other, and
/// those that waited there run.
#[test]
fn what_waited_for_the_reserved_cpu_is_demand_once_it_is_given_up() {
    let mut bench = Bench::new(4, asked(), flat);
    let daemons = [system(&mut bench), system(&mut bench), system(&mut bench)];
    bench.wake_all(&daemons);
    assert_eq!((bench.policy.active(Set::Low), bench.target()), (3, 0));
    bench.pass(300 * MS);
    assert_eq!((bench.reserved(), bench.target()), (None, 3));
    for _ in 0..20 {
        for cpu in 0..4 {
            if bench.running[cpu].is_some() {
                bench.run_and_preempt(cpu, MS);
            }
        }
        bench.pass(MS);
    }
    assert!(
        daemons.iter().all(|&daemon| bench.cpu_of(daemon).is_some()),
        "each has a CPU"
    );
    bench.block_all(&daemons);
    assert_eq!((bench.policy.active(Set::Low), bench.target()), (0, 0));
}

/// T_hold begins when they block, also for those that were not looked at since it was given up.
#[test]
fn what_ran_on_the_reserved_cpu_leaves_its_member_after_t_hold() {
    let mut bench = Bench::new(4, asked(), flat);
    let daemons = [system(&mut bench), system(&mut bench), system(&mut bench)];
    bench.wake_all(&daemons);
    bench.pass(300 * MS);
    bench.pass(2 * HOLD);
    assert_eq!((bench.reserved(), bench.size()), (None, 3));
    assert_eq!(bench.policy.active(Set::Low), 3);
    bench.block_all(&daemons);
    bench.pass(HOLD - 1);
    assert_eq!(bench.size(), 3);
    bench.pass(1);
    assert_eq!(bench.size(), 1);
}

/// Of a set of fixed size it is no demand: two of four CPUs are high, and stay two.
#[test]
fn a_set_of_fixed_size_does_not_grow_once_the_reserved_cpu_is_given_up() {
    let fixed = Config {
        sizing: Sizing::Fixed,
        fixed_size: 2,
        ..asked()
    };
    let mut bench = Bench::new(4, fixed, flat);
    let daemon = system(&mut bench);
    bench.wake(daemon);
    bench.pass(300 * MS);
    assert_eq!((bench.reserved(), bench.policy.active(Set::Low)), (None, 1));
    assert_eq!(bench.target(), 2);
}

/// An hour of a daemon that does little: the speed is not raised, and no timer is left once the daemon rests.
#[test]
fn no_timer_runs_while_the_reserved_core_rests() {
    let mut bench = Bench::new(4, all_high(), flat);
    let daemon = system(&mut bench);
    busy(&mut bench, daemon, MS, 99 * MS, 3_600 * 1000 * MS);
    assert_eq!(raised(&bench), Some(0));
    bench.pass(100 * MS);
    assert_eq!(bench.world.timer_at_ns, None);
}

/// The reserved CPU goes offline, or is the last one: the reservation ends.
#[test]
fn it_is_given_up_when_it_goes_offline_and_when_no_other_is_left() {
    let mut bench = Bench::new(3, all_high(), flat);
    let (task, daemon) = (bench.task(), system(&mut bench));
    bench.wake_all(&[task, daemon]);
    bench.offline(0);
    assert_eq!((bench.reserved(), bench.high()), (None, vec![1, 2]));
    assert!(bench.cpu_of(daemon).is_some());

    let mut bench = Bench::new(2, all_high(), flat);
    let (task, daemon) = (bench.task(), system(&mut bench));
    bench.wake_all(&[task, daemon]);
    bench.offline(1);
    assert_eq!((bench.reserved(), bench.high()), (None, vec![0]));
    bench.block(daemon);
    assert_eq!(bench.cpu_of(task), Some(0));
}

/// The spare is another member, never the reserved CPU; with all other CPUs at work there is none.
#[test]
fn the_reserved_cpu_is_never_the_spare() {
    let mut bench = Bench::new(4, Config { spare: 1, ..asked() }, flat);
    let tasks = bench.tasks(3);
    for (woken, high) in [(0, vec![1, 2]), (1, vec![1, 2, 3]), (2, vec![1, 2, 3])] {
        bench.wake(tasks[woken]);
        assert_eq!(bench.high(), high);
    }
    bench.block_all(&tasks);
    bench.pass(HOLD + LAST_HOLD);
    assert_eq!(bench.size(), 1);
    assert!(!bench.high().contains(&0));
}

/// The hottest high core does not change places with the reserved one, though that is the coolest.
#[test]
fn heat_does_not_bring_the_reserved_cpu_into_the_set() {
    let mut bench = Bench::new(4, Config { spare: 1, ..asked() }, flat);
    let task = bench.task();
    bench.wake(task);
    assert_eq!((bench.cpu_of(task), bench.high()), (Some(1), vec![1, 2]));
    for (cpu, mc) in [(0, 30_000), (1, 60_000), (2, 90_000), (3, 50_000)] {
        bench.world.temperature_mc.insert(cpu, mc);
    }
    bench.pass(61 * LAST_HOLD);
    let now_ns = bench.now();
    bench.policy.rotate_heat(&mut bench.world, now_ns);
    assert_eq!(bench.high(), [1, 3]);
}

/// One fast core and two slow ones, of which the first is reserved. The daemon there stays, though the fast core is
/// idle and rules move running tasks.
#[test]
fn rules_about_fast_cores_leave_the_reserved_cpu_alone() {
    let one_fast = |cpu| CpuPlace {
        tier: u16::from(cpu > 0),
        ..flat(cpu)
    };
    let config = Config {
        rules: rules::PHASES | rules::TURNS,
        migration_ns: MS / 50,
        grace_ns: HOLD,
        turn_ns: 2 * HOLD,
        ..asked()
    };
    let mut bench = Bench::new(3, config, one_fast);
    assert_eq!(bench.reserved(), Some(1));
    let daemon = system(&mut bench);
    assert_eq!(bench.wake(daemon), (1, true));
    bench.pass(50 * MS);
    assert_eq!(bench.cpu_of(daemon), Some(1));
    // Three tasks share the other two CPUs; none is sent to the reserved one when the daemon has blocked.
    let tasks = bench.tasks(3);
    for &task in &tasks {
        bench.wake(task);
    }
    bench.block(daemon);
    bench.pass(50 * MS);
    assert_eq!(bench.running[1], None);
}
