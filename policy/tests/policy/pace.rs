// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Work that a clock paces: how it is found, where it runs, and when it goes back.

use crate::bench::{config, domains_of_two, flat, point, Asked, Bench, HOLD, MS, S, US};
use lop_policy::{hint_flags, rules, Config, CpuPlace, Domains, Point, Reserve, Set};

/// Two kinds. The fast one: 1000 permille for 16 W, 500 for 5 W. The slow one: 400 for 2 W, 200 for 0.8 W. Asleep they draw
/// nothing. By energy per work: 0.8/0.2 = 4, 2/0.4 = 5, 5/0.5 = 10, 16.
pub fn points() -> [Point; 4] {
    [
        point(0, 500, 500, 5_000),
        point(0, 1000, 1000, 16_000),
        point(1, 500, 200, 800),
        point(1, 1000, 400, 2_000),
    ]
}

/// CPUs 0 and 1 are fast, 2 and 3 slow.
pub fn two_kinds(cpu: usize) -> CpuPlace {
    CpuPlace {
        tier: (cpu / 2) as u16,
        permille: if cpu < 2 { 1000 } else { 400 },
        ..flat(cpu)
    }
}

fn paced() -> Bench {
    let config = Config { spare: 0, ..config() };
    Bench::new(4, config.with_ladder(&points()), two_kinds)
}

pub fn clock_wakes(bench: &mut Bench, id: usize) {
    bench.tasks[id].clock_ns = bench.now();
    bench.wake(id);
}

/// One cycle: the task wakes, has this much work for the fastest core, and sleeps until the cycle of `interval_ns` is
/// over. Returns its CPU.
pub fn cycle(bench: &mut Bench, id: usize, work_ns: u64, interval_ns: u64) -> usize {
    clock_wakes(bench, id);
    let cpu = bench.cpu_of(id).expect("it runs at once");
    let ran_ns = work_ns * 1000 / rate_permille(bench, cpu);
    bench.pass(ran_ns);
    bench.run_and_block(cpu, ran_ns);
    bench.pass(interval_ns - ran_ns);
    cpu
}

pub fn rate_permille(bench: &Bench, cpu: usize) -> u64 {
    let clock = usize::from(bench.policy.topology.clock_domain[cpu]);
    let is_high = bench
        .high()
        .iter()
        .any(|&high| usize::from(bench.policy.topology.clock_domain[high]) == clock);
    match bench.green().contains(&cpu) && !is_high {
        true => u64::from(bench.policy.config.rung[bench.policy.pace.rung[cpu] as usize].rate_permille),
        false => u64::from(two_kinds(cpu).permille),
    }
}

fn cycles(bench: &mut Bench, id: usize, count: usize, work_ns: u64, interval_ns: u64) -> Vec<usize> {
    (0..count).map(|_| cycle(bench, id, work_ns, interval_ns)).collect()
}

fn home(bench: &Bench, id: usize) -> Option<usize> {
    (bench.tasks[id].pace.home as usize).checked_sub(1)
}

/// 4 and 5 and 10 are less than 16. With 4.5 W in place of 2, the slow kind's higher speed costs 11.25; with 0.9 W for its
/// voltage and 2 W, 7.25; with 1 W, its lower speed costs more than the higher and is never used.
#[test]
fn the_ladder_is_in_the_order_of_cost() {
    let rates = |points: &[Point]| {
        let config = config().with_ladder(points);
        let rungs = config.rung[..config.nr_rungs as usize].iter();
        rungs.map(|rung| rung.rate_permille).collect::<Vec<_>>()
    };
    assert_eq!(rates(&points()), [200, 400, 500]);
    let with = |busy_mw: [u32; 2], shared_mw| {
        let mut points = points();
        (points[2].busy_mw, points[3].busy_mw, points[3].shared_mw) = (busy_mw[0], busy_mw[1], shared_mw);
        points
    };
    assert_eq!(rates(&with([800, 4_500], 0)), [200, 500, 400]);
    assert_eq!(rates(&with([800, 2_000], 900)), [200, 400, 500]);
    assert_eq!(rates(&with([1_100, 2_000], 0)), [400, 500]);
    assert_eq!(rates(&points()[1..2]), [], "nothing is cheaper than the fastest core");
    let steps: Vec<Point> = (1..=40)
        .map(|n| point(0, 25 * n, 25 * u32::from(n), u32::from(n * n)))
        .collect();
    assert_eq!(
        rates(&steps),
        (1..=31).map(|n| 25 * n).collect::<Vec<_>>(),
        "31 rungs at most"
    );
    assert_eq!(rates(&[]), []);
    let config = config().with_ladder(&points());
    let last = config.rung[config.nr_rungs as usize];
    assert_eq!(
        (last.speed_permille, last.rate_permille),
        (1000, 1000),
        "behind the rungs is full speed"
    );
}

/// 3 of 10 ms are 300 permille where no speed is known, and count as 300 on the fastest core; on a reserved core of the slow kind, which is no home, 2 ms are
/// 0.8 ms of the fastest.
#[test]
fn work_counts_by_the_rate_of_its_core() {
    let unknown = Config { spare: 0, ..config() };
    let mut bench = Bench::new(2, unknown.with_ladder(&points()[..2]), flat);
    let id = bench.task();
    for _ in 0..3 {
        clock_wakes(&mut bench, id);
        bench.pass(3 * MS);
        bench.run_and_block(bench.cpu_of(id).expect("it runs"), 3 * MS);
        bench.pass(7 * MS);
    }
    assert_eq!(bench.tasks[id].pace.need_permille, 300);
    let reserving = Config {
        reserve: Reserve::Asked,
        ..unknown
    };
    let mut bench = Bench::new(4, reserving.with_ladder(&points()), two_kinds);
    let system = bench.task();
    bench.tasks[system].system = true;
    bench.wake(system);
    assert_eq!(bench.cpu_of(system), Some(2));
    bench.pass(2 * MS);
    bench.run_and_block(2, 2 * MS);
    assert_eq!(bench.tasks[system].pace.work_ns, 800 * US);
}

/// Its home ends while the task runs there: until its next wakeup it counts for the high set.
#[test]
fn who_has_lost_its_home_counts_for_the_high_set() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    clock_wakes(&mut bench, id);
    assert!(bench.cpu_of(id).is_some() && bench.cpu_of(id) == home(&bench, id));
    bench.all_leave_home();
    assert_eq!((bench.policy.active(Set::High), bench.target()), (0, 1));
}

/// Eight intervals are alike after nine wakeups, at 1.2 of 10 ms: 120 of the 160 permille that a slow core at its low speed
/// may be busy for. There it takes 6 ms.
#[test]
fn a_steady_task_gets_the_cheapest_home() {
    let mut bench = paced();
    let id = bench.task();
    let cpus = cycles(&mut bench, id, 20, 1_200_000, 10 * MS);
    assert!(cpus[..9].iter().all(|&cpu| cpu < 2), "{cpus:?}");
    assert!(cpus[9..].iter().all(|&cpu| cpu == cpus[9] && cpu >= 2), "{cpus:?}");
    assert_eq!(rate_permille(&bench, cpus[10]), 200);
    assert_eq!((bench.green(), bench.policy.active(Set::High)), (vec![cpus[10]], 0));
}

/// What fits on a slow core is 160 and 320 permille at its two speeds, on a fast one at its low speed 400. More goes as
/// fast as it can.
#[test]
fn its_speed_is_the_cheapest_at_which_it_is_done_in_time() {
    for (work_ns, rate) in [
        (1_600_000, 200),
        (1_700_000, 400),
        (3_200_000, 400),
        (3_300_000, 500),
        (4_000_000, 500),
    ] {
        let mut bench = paced();
        let id = bench.task();
        let cpu = cycles(&mut bench, id, 12, work_ns, 10 * MS)[11];
        assert_eq!(rate_permille(&bench, cpu), rate, "{work_ns} ns of work in 10 ms");
    }
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, 4_100_000, 10 * MS);
    assert_eq!(home(&bench, id), None);
}

/// Intervals of 10 and 13 ms are never eight in a row within a tenth of their mean.
#[test]
fn what_wakes_now_and_then_is_no_work_that_a_clock_paces() {
    let mut bench = paced();
    let id = bench.task();
    for interval_ns in [10 * MS, 13 * MS].into_iter().cycle().take(60) {
        cycle(&mut bench, id, MS, interval_ns);
        assert_eq!(home(&bench, id), None);
    }
}

/// Woken by another task as regularly, a task is never tried: it is a part of what that one does. A task that a clock wakes
/// may wait for others meanwhile: 0.6 ms of work, twice in 10 ms, are as much as 1.2.
#[test]
fn what_a_task_without_a_clock_wakes_is_no_work_that_a_clock_paces() {
    for (by_clock, has_home) in [(false, false), (true, true)] {
        let mut bench = paced();
        let id = bench.task();
        for n in 0..40 {
            bench.tasks[id].clock_ns = if by_clock && n % 2 == 0 { bench.now() } else { 0 };
            bench.wake(id);
            let cpu = bench.cpu_of(id).expect("it runs");
            let ran_ns = 600_000 * 1000 / rate_permille(&bench, cpu);
            bench.run_and_block(cpu, ran_ns);
            bench.pass(5 * MS);
        }
        assert_eq!(home(&bench, id).is_some(), has_home);
        if has_home {
            assert_eq!(
                (bench.tasks[id].pace.interval_ns, bench.tasks[id].pace.need_permille),
                (10 * MS, 120)
            );
        }
    }
}

/// 2 ms of work and then 8 ms of sleep, whatever the speed: on a slow core the cycle takes 5 + 8 ms or more. The task goes
/// back at its first wakeup there, is tried again a second later, then after two, four and so on.
#[test]
fn work_that_waits_for_its_cpu_goes_back_at_once() {
    let mut bench = paced();
    let id = bench.task();
    let (mut at_home, mut tries) = (false, 0);
    let end_ns = bench.now() + 14 * S;
    while bench.now() < end_ns {
        clock_wakes(&mut bench, id);
        let cpu = bench.cpu_of(id).expect("it runs");
        let ran_ns = 2 * MS * 1000 / rate_permille(&bench, cpu);
        let was_at_home = std::mem::replace(&mut at_home, home(&bench, id).is_some());
        tries += u32::from(at_home && !was_at_home);
        assert!(!(at_home && was_at_home), "two cycles in a row");
        bench.pass(ran_ns);
        bench.run_and_block(cpu, ran_ns);
        bench.pass(8 * MS);
    }
    assert_eq!(tries, 4, "at 0.1, 1.1, 3.2 and 7.3 s");
}

/// A frame that is not done after four fifths of its interval takes the rest of it on a fast core. It was 1.6 + 1 ms of work, so
/// the next one has a home that is fast enough: 400 permille.
#[test]
fn a_task_that_is_late_takes_the_rest_of_its_cycle_high() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    let slow = home(&bench, id).expect("it is paced");
    clock_wakes(&mut bench, id);
    bench.pass(3 * MS);
    assert_eq!(bench.policy.until_late_ns(&bench.tasks[id], bench.now()), 5 * MS);
    bench.pass(4 * MS);
    bench.run_and_preempt(slow, 7 * MS);
    assert_eq!(bench.cpu_of(id), Some(slow), "it is not late yet");
    bench.pass(MS);
    bench.run_and_preempt(slow, MS);
    let fast = bench.cpu_of(id).expect("it runs");
    assert!(fast < 2);
    assert_eq!(bench.policy.active(Set::High), 1);
    assert_eq!(bench.policy.until_late_ns(&bench.tasks[id], bench.now()), u64::MAX);
    bench.pass(MS);
    bench.run_and_block(fast, MS);
    bench.pass(MS);
    clock_wakes(&mut bench, id);
    let cpu = bench.cpu_of(id).expect("it runs");
    assert_eq!((home(&bench, id), rate_permille(&bench, cpu)), (Some(cpu), 400));
}

/// One that is not done when its clock comes again has no home from its next wakeup on.
#[test]
fn a_task_that_falls_behind_loses_its_home() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    let slow = home(&bench, id).expect("it is paced");
    clock_wakes(&mut bench, id);
    bench.pass(11 * MS);
    bench.run_and_preempt(slow, 11 * MS);
    assert!(bench.cpu_of(id).expect("it runs") < 2);
    bench.block(id);
    bench.pass(9 * MS);
    clock_wakes(&mut bench, id);
    assert_eq!(home(&bench, id), None);
}

/// In each cycle of 10 ms the clock wakes the first task, which has 0.8 ms of work and wakes the second, with 0.6 ms. Once the first
/// has a home, at 200 permille, the second is woken 4 ms after the clock, with 6 ms left: it needs 100 permille.
#[test]
fn whom_a_paced_task_wakes_shares_its_clock() {
    let mut bench = paced();
    let [first, second] = [bench.task(), bench.task()];
    for _ in 0..40 {
        let began_ns = bench.now();
        clock_wakes(&mut bench, first);
        for (id, work_ns) in [(first, 800_000), (second, 600_000)] {
            let cpu = bench.cpu_of(id).expect("it runs");
            let ran_ns = work_ns * 1000 / rate_permille(&bench, cpu);
            bench.pass(ran_ns);
            if id == first {
                bench.tasks[second].clock_ns = bench.policy.clock_of(&bench.tasks[first]);
                bench.wake(second);
            }
            bench.run_and_block(cpu, ran_ns);
        }
        bench.pass(began_ns + 10 * MS - bench.now());
    }
    assert!(home(&bench, first).is_some() && home(&bench, second).is_some());
    let about = &bench.tasks[second].pace;
    assert_eq!(
        (about.interval_ns, about.offset_ns, about.need_permille),
        (10 * MS, 4 * MS, 100)
    );
    assert_eq!(bench.tasks[first].pace.clock_ns, about.clock_ns);
    assert_eq!(bench.policy.active(Set::High), 0);
}

/// Woken when it should be done already, the second one runs high in that cycle, and keeps its home.
#[test]
fn who_is_woken_late_in_a_chain_runs_high_in_this_cycle() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    let slow = home(&bench, id);
    bench.tasks[id].clock_ns = bench.now();
    bench.pass(8 * MS);
    bench.wake(id);
    let cpu = bench.cpu_of(id).expect("it runs");
    assert!(cpu < 2);
    bench.run_and_block(cpu, 100 * US);
    bench.pass(2 * MS);
    clock_wakes(&mut bench, id);
    assert!(bench.cpu_of(id) == slow && slow.is_some());
}

/// As above, and in the cycle before it did twice its work: it moves to another home, and is still late.
#[test]
fn who_is_late_and_has_outgrown_its_home_runs_high_in_this_cycle() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS / 2, 10 * MS);
    let taken_permille = bench.tasks[id].pace.taken_permille;
    cycle(&mut bench, id, MS, 10 * MS);
    bench.tasks[id].clock_ns = bench.now();
    bench.pass(8 * MS);
    bench.wake(id);
    assert!(home(&bench, id).is_some() && bench.tasks[id].pace.taken_permille > taken_permille);
    assert!(bench.cpu_of(id).expect("it runs") < 2);
    assert!(bench.tasks[id].pace.raised);
}

/// Three tasks of 80 permille: two share a slow core at its low speed, up to 160, and the third has the other. Each can
/// wait for 6 of its 10 ms, which is a slice of the other. With intervals of 8 ms it is 4.8 ms, and each has a core of its own.
/// With 75 permille it is 8 * (1 - 75 / 200) = 5 ms, a slice, and with 76 less than that.
/// Three of 50 permille have room on one core by their load. Each can wait for 7.5 of its 10 ms, which is one slice of 5 ms
/// and not two: the third has the other core. With intervals of 14 ms it is 10.5 ms, and all three share.
/// The shortest wait of all counts: with 101 permille it is 4.95 ms, whatever the other one needs.
#[test]
fn homes_are_shared_as_long_as_they_have_room() {
    for (interval_ns, needs_permille, tasks) in [
        (10 * MS, &[80; 3][..], [2, 1]),
        (10 * MS, &[80; 2], [2, 0]),
        (10 * MS, &[81; 2], [1, 1]),
        (8 * MS, &[80; 2], [1, 1]),
        (8 * MS, &[75; 2], [2, 0]),
        (8 * MS, &[76; 2], [1, 1]),
        (10 * MS, &[50; 3], [2, 1]),
        (14 * MS, &[50; 3], [3, 0]),
        (10 * MS, &[100, 59], [2, 0]),
        (10 * MS, &[101, 59], [1, 1]),
    ] {
        let mut bench = paced();
        let ids = bench.tasks(needs_permille.len());
        for _ in 0..12 {
            for (&id, need_permille) in ids.iter().zip(needs_permille) {
                clock_wakes(&mut bench, id);
                let cpu = bench.cpu_of(id).expect("no other one runs");
                let ran_ns = interval_ns * need_permille / rate_permille(&bench, cpu);
                bench.run_and_block(cpu, ran_ns);
            }
            bench.pass(interval_ns);
        }
        let mut found = [2, 3].map(|cpu: usize| bench.policy.pace.tasks[cpu] as usize);
        found.sort_by_key(|&n| std::cmp::Reverse(n));
        assert_eq!(found, tasks, "{interval_ns} ns, {needs_permille:?} permille");
        assert!(bench.green().iter().all(|&cpu| rate_permille(&bench, cpu) == 200));
    }
}

/// All CPUs are high and wait for the paced tasks alone: their own cores become homes.
#[test]
fn an_idle_high_core_becomes_a_home_where_no_other_is_left() {
    let config = Config { spare: 0, ..config() };
    let mut bench = Bench::new(2, config.with_ladder(&points()[..2]), |cpu| CpuPlace {
        permille: 1000,
        ..flat(cpu)
    });
    let ids = bench.tasks(2);
    for _ in 0..12 {
        ids.iter().for_each(|&id| clock_wakes(&mut bench, id));
        let cpus = [0, 1].map(|n: usize| bench.cpu_of(ids[n]).expect("both run"));
        bench.pass(4 * MS);
        for cpu in cpus {
            bench.run_and_block(cpu, 2 * MS);
        }
        bench.pass(HOLD / 2);
    }
    assert_eq!((bench.green(), bench.high()), (vec![0, 1], vec![]));
}

/// Two tasks run, and three cores more are kept in case others come: of the four cores that leaves the home alone.
#[test]
fn what_is_kept_in_case_takes_no_home() {
    let config = Config { spare: 3, ..config() };
    let mut bench = Bench::new(4, config.with_ladder(&points()), two_kinds);
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    assert!(home(&bench, id).is_some());
    let others = bench.tasks(2);
    bench.wake_all(&others);
    assert_eq!((home(&bench, id), bench.target()), (bench.green().pop(), 3));
    let third = bench.task();
    bench.wake(third);
    assert_eq!((bench.target(), bench.green().len()), (3, 1));
    let fourth = bench.task();
    bench.wake(fourth);
    assert_eq!((bench.target(), bench.green()), (4, vec![]));
}

/// Four ordinary tasks want all four cores: the home becomes high, its task is ordinary again, and later gets a home
/// anew.
#[test]
fn homes_give_way_where_all_cores_are_wanted() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    assert!(home(&bench, id).is_some());
    let others = bench.tasks(4);
    bench.wake_all(&others);
    assert_eq!((bench.green(), bench.size()), (vec![], 4));
    bench.wake(id);
    assert_eq!((home(&bench, id), bench.policy.active(Set::High)), (None, 5));
}

/// Two CPUs are on, one of them a home, and two ordinary tasks want both: the home becomes high, and no CPU of the domain that is
/// off, which would have to leave at once.
#[test]
fn a_home_gives_way_before_a_domain_that_is_off() {
    let gathered = Config {
        spare: 0,
        domains: Domains::Gather,
        ..config()
    };
    let mut bench = Bench::new(4, gathered.with_ladder(&points()[..2]), domains_of_two);
    let now_ns = bench.now();
    bench.policy.set_domain_on(&mut bench.world, 1, false, now_ns);
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    assert!(home(&bench, id).is_some());
    bench.pass(2 * S);
    assert_eq!(bench.size(), 0);
    let promotions = bench.policy.membership.promotions;
    let others = bench.tasks(2);
    bench.wake_all(&others);
    assert_eq!((bench.high(), bench.green()), (vec![0, 1], vec![]));
    assert_eq!(bench.policy.membership.promotions, promotions + 2);
}

/// The last task of a home closes it, and the core leaves the green set T_hold later.
#[test]
fn a_home_ends_with_its_tasks() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    clock_wakes(&mut bench, id);
    bench.end(id);
    assert_eq!(bench.policy.pace.nr_homes, 0);
    bench.pass(HOLD);
    assert_eq!(bench.green(), []);
}

/// The speed of a home follows its load, and the world is told.
#[test]
fn a_home_rises_with_its_load() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, 1_500_000, 10 * MS);
    let cpu = home(&bench, id).expect("it is paced");
    bench.world.log.clear();
    cycles(&mut bench, id, 3, 1_900_000, 10 * MS);
    assert_eq!((home(&bench, id), rate_permille(&bench, cpu)), (Some(cpu), 400));
    let told = |asked: &&Asked| matches!(asked, Asked::Changed { set: Set::Green, .. });
    assert_eq!(bench.world.log.iter().filter(told).count(), 1);
}

/// A player is paused: 10 s after its last wakeup the core is free again.
#[test]
fn a_home_ends_when_its_tasks_sleep_for_long() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    bench.pass(9 * S);
    assert_eq!(bench.policy.pace.nr_homes, 1);
    bench.pass(2 * S);
    assert_eq!((bench.policy.pace.nr_homes, bench.green()), (0, vec![]));
    assert_eq!(bench.world.timer_at_ns, None, "nothing is left to look at");
    clock_wakes(&mut bench, id);
    assert!(
        bench.cpu_of(id).expect("it runs") < 2,
        "ordinary work until it is steady again"
    );
}

/// Who holds a lock says that others wait for it.
#[test]
fn a_paced_task_that_others_wait_for_runs_high() {
    let mut bench = paced();
    let id = bench.task();
    cycles(&mut bench, id, 12, MS, 10 * MS);
    bench.tasks[id].hint.flags = hint_flags::LOCK_HOLDER;
    clock_wakes(&mut bench, id);
    assert!(bench.cpu_of(id).expect("it runs") < 2);
}

/// A home on a fast core at half speed is no idle fast core: of three ordinary tasks one has the other fast core, and two
/// stay on slow ones.
#[test]
fn rank_moves_no_ordinary_work_to_a_home() {
    let config = Config {
        spare: 0,
        rules: rules::TURNS,
        migration_ns: MS / 100,
        turn_ns: 20 * MS,
        ..config()
    };
    let mut bench = Bench::new(4, config.with_ladder(&points()), two_kinds);
    let id = bench.task();
    let home = cycles(&mut bench, id, 12, 4 * MS, 10 * MS)[11];
    assert_eq!((home < 2, rate_permille(&bench, home)), (true, 500));
    let others = bench.tasks(3);
    bench.wake_all(&others);
    for _ in 0..50 {
        bench.pass(10 * MS);
        assert!(others
            .iter()
            .all(|&other| bench.cpu_of(other).is_some_and(|cpu| cpu != home)));
    }
}

/// The cores of a kind have one clock.
pub fn one_clock_each(cpu: usize) -> CpuPlace {
    CpuPlace {
        clock_domain: (cpu / 2) as u16,
        ..two_kinds(cpu)
    }
}

fn paced_by_kind() -> Bench {
    let config = Config { spare: 0, ..config() };
    Bench::new(4, config.with_ladder(&points()), one_clock_each)
}

/// 3.5 of 10 ms fit on a fast core at half speed. While the other one is high the home works at the top, too: the task is
/// done in 3.5 ms and still needs 350 permille, not the half of it.
#[test]
fn a_home_works_at_the_top_while_a_high_core_has_its_clock() {
    let mut bench = paced_by_kind();
    let id = bench.task();
    let home = cycles(&mut bench, id, 12, 3_500_000, 10 * MS)[11];
    assert_eq!(
        (home < 2, rate_permille(&bench, home)),
        (true, 1000),
        "the other one is still high"
    );
    cycles(&mut bench, id, 200, 3_500_000, 10 * MS);
    assert_eq!((bench.high(), rate_permille(&bench, home)), (vec![], 500));
    let other = bench.task();
    bench.wake(other);
    assert_eq!(bench.high(), [1 - home]);
    for _ in 0..20 {
        clock_wakes(&mut bench, id);
        bench.pass(3_500_000);
        bench.run_and_block(home, 3_500_000);
        bench.pass(6_500_000);
    }
    assert_eq!(bench.tasks[id].pace.need_permille, 350);
    assert_eq!(self::home(&bench, id), Some(home));
}

/// Two homes of one clock: the one with most to do sets it. When its task ends, it falls.
#[test]
fn homes_of_one_clock_have_one_speed() {
    let mut bench = paced_by_kind();
    let ids = [bench.task(), bench.task()];
    cycles(&mut bench, ids[0], 12, 1_200_000, 10 * MS);
    cycles(&mut bench, ids[1], 12, 3_000_000, 10 * MS);
    let homes = ids.map(|id| home(&bench, id).expect("it is paced"));
    assert_ne!(homes[0], homes[1]);
    assert_eq!(homes.map(|cpu| rate_permille(&bench, cpu)), [400, 400]);
    clock_wakes(&mut bench, ids[1]);
    bench.end(ids[1]);
    assert_eq!(rate_permille(&bench, homes[0]), 200);
}
