// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Light work, where energy-aware scheduling ships: what a task counts for, where it runs, how fast, and when it is heavy.

use crate::bench::{config, flat, Asked, Bench, MS, S};
use crate::pace::{one_clock_each, points, two_kinds};
use lop_policy::{Config, CpuPlace, Domains, Point, Reserve, Set};

/// What the fastest core does all the time.
const ALL: u32 = 1000 << 10;
/// 32 periods of 2^20 ns: averages halve.
pub const HALF_LIFE: u64 = 1 << 25;

/// The machine of `pace`: 0 and 1 are fast, 2 and 3 slow; rungs of 200 and 400 permille on slow cores (4 and 5 mJ for a ms of work), 500 on
/// fast ones (10), and their highest speed (16).
pub fn light() -> Bench {
    on(two_kinds)
}

pub fn on(place: impl Fn(usize) -> CpuPlace) -> Bench {
    with(0, &points(), place)
}

pub fn with(spare: u32, points: &[Point], place: impl Fn(usize) -> CpuPlace) -> Bench {
    Bench::new(4, Config { spare, ..base() }.with_ladder(points), place)
}

pub fn base() -> Config {
    Config {
        spare: 0,
        light: true,
        ..config()
    }
}

/// The same, where the slow kind's highest speed costs so many mJ for a ms of work.
fn slow_costs(mj: u32) -> [Point; 4] {
    let mut points = points();
    points[3].busy_mw = 400 * mj;
    points
}

pub fn home(bench: &Bench, id: usize) -> Option<usize> {
    (bench.tasks[id].pace.home as usize).checked_sub(1)
}

pub fn homes(bench: &Bench) -> Vec<usize> {
    bench.policy.set[Set::Green as usize].pinned.cpus()
}

/// Of the fastest core, x 1000, at which the CPU runs as a home.
fn speed(bench: &Bench, cpu: usize) -> u32 {
    bench.policy.config.rung[bench.policy.pace.rung[cpu] as usize].rate_permille
}

/// A task that has used so much of the fastest core for long, and slept for a moment now.
pub fn known(bench: &mut Bench, permille: u32) -> usize {
    let id = bench.task();
    let light = &mut bench.tasks[id].light;
    (light.at_ns, light.used, light.peak) = (bench.world.now_ns, permille << 10, permille << 10);
    id
}

/// Tasks that are known to use so much, in the order in which they wake.
pub fn woken<const N: usize>(bench: &mut Bench, permille: [u32; N]) -> [usize; N] {
    let ids = permille.map(|permille| known(bench, permille));
    bench.wake_all(&ids);
    ids
}

pub fn homes_of<const N: usize>(bench: &Bench, ids: [usize; N]) -> [usize; N] {
    ids.map(|id| home(bench, id).expect("it has a home"))
}

/// A higher class has these CPUs.
pub fn take<const N: usize>(bench: &mut Bench, cpus: [usize; N]) {
    cpus.iter().for_each(|&cpu| bench.cpu_taken(cpu, true));
}

/// How often the CPU was asked to let its task go.
fn asked(bench: &Bench, cpu: u32) -> usize {
    logged(bench, |asked| asked == Asked::Preempted(cpu))
}

/// How often a core's speed changed, or it became green.
fn told(bench: &Bench) -> usize {
    logged(bench, |asked| matches!(asked, Asked::Changed { set: Set::Green, .. }))
}

fn logged(bench: &Bench, is: impl Fn(Asked) -> bool) -> usize {
    bench.world.log.iter().filter(|&&asked| is(asked)).count()
}

/// The CPU where the task runs once it wakes.
pub fn wakes_on(bench: &mut Bench, id: usize) -> usize {
    bench.wake(id);
    bench.cpu_of(id).expect("it runs at once")
}

/// It runs for so long at a time as a light task may, until `ns` are over.
pub fn run(bench: &mut Bench, id: usize, ns: u64) {
    for _ in 0..ns / (2 * MS) {
        bench.pass(2 * MS);
        let cpu = bench.cpu_of(id).expect("it runs");
        bench.run_and_preempt(cpu, 2 * MS);
    }
}

/// From nothing, a half-life on the fastest core at its highest speed makes half, and one asleep halves that. Half way, it is 1 / sqrt(2).
#[test]
fn use_is_an_average_with_a_half_life() {
    let mut bench = light();
    let id = known(&mut bench, 900);
    bench.tasks[id].light.used = 0;
    assert_eq!(wakes_on(&mut bench, id), 0, "1125 fit nowhere: the roomiest");
    assert_eq!(speed(&bench, 0), 1000);
    bench.pass(HALF_LIFE);
    bench.run_and_block(0, HALF_LIFE);
    assert_eq!(bench.tasks[id].light.used, ALL / 2);
    bench.pass(HALF_LIFE);
    bench.wake(id);
    assert_eq!(bench.tasks[id].light.used, ALL / 4);
    bench.run_and_block(bench.cpu_of(id).expect("it runs"), 0);
    bench.pass(HALF_LIFE / 2);
    bench.wake(id);
    let half_way = f64::from(ALL / 4) * 0.5_f64.sqrt();
    assert!((f64::from(bench.tasks[id].light.used) - half_way).abs() < half_way / 1000.0);
}

/// After n periods of 2^20 ns 2^(-n/32) is left, and half way to the next one 2^(-(n + 1/2)/32). After 31 half-lives nothing is.
#[test]
fn use_decays_by_halves() {
    let mut bench = light();
    let id = known(&mut bench, 1000);
    bench.pass(100 * S);
    let mut left_after = |ns: u64| {
        let light = &mut bench.tasks[id].light;
        (light.at_ns, light.used) = (bench.world.now_ns - ns, ALL);
        bench.wake(id);
        bench.block(id);
        f64::from(bench.tasks[id].light.used)
    };
    for half_periods in 0..=200_u32 {
        let left = f64::from(ALL) * 0.5_f64.powf(f64::from(half_periods) / 64.0);
        let found = left_after(u64::from(half_periods) << 19);
        assert!(
            (found - left).abs() < left / 10_000.0 + 1.0,
            "{half_periods}: {found}, not {left}"
        );
    }
    for ns in [31 * HALF_LIFE, 1 << 36, 99 * S] {
        assert_eq!(left_after(ns) as u32, 0);
    }
}

/// On a slow core at 400 permille its clock goes at that rate, so that two and a half half-lives count as one; in its sleep it catches up: one and a half
/// half-lives of not running besides those that it sleeps.
#[test]
fn on_a_slow_core_the_clock_is_behind() {
    let mut bench = light();
    let id = known(&mut bench, 320);
    bench.tasks[id].light.used = 0;
    assert_eq!((wakes_on(&mut bench, id), speed(&bench, 2)), (2, 400));
    let ran_ns = HALF_LIFE * 5 / 2;
    bench.pass(ran_ns);
    bench.tasks[id].light.peak = ALL;
    bench.run_and_block(2, ran_ns);
    assert_eq!(bench.tasks[id].light.used, ALL / 2);
    assert_eq!(bench.tasks[id].light.behind_ns, HALF_LIFE * 3 / 2);
    bench.pass(HALF_LIFE / 2);
    bench.wake(id);
    assert_eq!(bench.tasks[id].light.used, ALL / 8);
}

/// A CPU that one task alone uses is used by as much as the task, whether it runs at 400 permille or sleeps: its clock catches up as well, each time.
#[test]
fn a_cpu_is_used_by_what_its_tasks_use() {
    let mut bench = light();
    let id = known(&mut bench, 200);
    for (ran_ns, sleeps_ns) in [(10 * MS, 3 * MS), (7 * MS, 20 * MS), (12 * MS, MS), (3 * MS, 10 * MS)] {
        assert_eq!(wakes_on(&mut bench, id), 2);
        let of_task = bench.tasks[id].light.used;
        assert!(bench.policy.light.used[2].abs_diff(of_task) < 20, "{of_task}");
        bench.pass(ran_ns);
        bench.run_and_block(2, ran_ns);
        bench.pass(sleeps_ns);
    }
}

/// 350 permille that fast cores have no place for: a slow one has 400 at most, whatever more is asked of it, so that two and a half half-lives are one there.
#[test]
fn a_slow_core_is_no_faster_than_its_kind() {
    let mut bench = light();
    take(&mut bench, [0, 1, 3]);
    let [id] = woken(&mut bench, [350]);
    assert_eq!((bench.cpu_of(id), speed(&bench, 2)), (Some(2), 1000));
    bench.tasks[id].light.used = 0;
    bench.pass(HALF_LIFE * 5 / 2);
    bench.run_and_block(2, HALF_LIFE * 5 / 2);
    assert_eq!(bench.tasks[id].light.used, ALL / 2);
}

/// What a task had used when it slept rises at once, and falls by quarters of the difference.
#[test]
fn the_peak_is_what_a_task_used_when_it_slept() {
    let mut bench = light();
    let id = known(&mut bench, 0);
    for (used, peak) in [(200, 200), (300, 300), (100, 250), (100, 213)] {
        bench.wake(id);
        bench.tasks[id].light.used = used << 10;
        bench.block(id);
        assert_eq!((bench.tasks[id].light.peak + (1 << 9)) >> 10, peak);
    }
}

/// 50 permille cost 0.2 on a slow core at 200 permille and 0.5 on a fast one at 500. 150 need 188: 0.6. 250 need 313, a slow core at 400: 1.25. 350 need
/// 438, more than a slow core has: a fast one at 500, 3.5. 450 need 563, its highest speed.
#[test]
fn light_work_runs_where_it_costs_least() {
    for (permille, cpu, rate) in [
        (50, 2, 200),
        (150, 2, 200),
        (250, 2, 400),
        (350, 0, 500),
        (450, 0, 1000),
    ] {
        let mut bench = light();
        let id = known(&mut bench, permille);
        assert_eq!(wakes_on(&mut bench, id), cpu, "{permille}");
        assert_eq!((home(&bench, id), speed(&bench, cpu)), (Some(cpu), rate), "{permille}");
        assert_eq!((bench.green(), bench.high()), (vec![cpu], vec![]), "{permille}");
    }
}

/// Half a permille costs 4 on a slow core and 10 on a fast one, too: that is little, and not nothing.
#[test]
fn what_does_next_to_nothing_runs_where_it_costs_least() {
    let mut bench = light();
    let id = known(&mut bench, 1);
    let light = &mut bench.tasks[id].light;
    (light.used, light.peak) = (1 << 9, 1 << 9);
    assert_eq!(wakes_on(&mut bench, id), 2);
}

/// Slow cores 2 and 3 have one clock. 100 permille beside 250 that are there: at 400 permille 0.5 more. On a fast core 1.0. If the second task
/// needs 300 and the clock has to rise from 200 to 400 for it, what the first one does costs more as well: (5 * 400 - 4 * 100) / 1000 = 1.6; alone on a
/// fast core at 500 it costs 3.0.
#[test]
fn power_counts_for_all_that_has_the_clock() {
    let mut bench = on(one_clock_each);
    let (first, second) = (known(&mut bench, 250), known(&mut bench, 100));
    assert_eq!((wakes_on(&mut bench, first), wakes_on(&mut bench, second)), (2, 3));
    assert_eq!((speed(&bench, 2), speed(&bench, 3)), (400, 400));
    bench.block(first);
    bench.pass(10 * S);
    bench.block(second);
    assert_eq!(
        (speed(&bench, 2), speed(&bench, 3)),
        (200, 200),
        "what was used is forgotten"
    );
    let (first, second) = (known(&mut bench, 100), known(&mut bench, 300));
    assert_eq!(
        (wakes_on(&mut bench, first), wakes_on(&mut bench, second)),
        (3, 2),
        "busy last, so it sleeps least deeply"
    );
    assert_eq!((speed(&bench, 2), speed(&bench, 3)), (400, 400));
}

/// Slow cores 2 and 3 have one clock, and their higher speed costs 9. A task of 200 needs 250, so that it rises from 200 to 400 permille: alone for
/// 9 * 200 = 1800, less than 10 * 200 on a fast core. If 150 are done beside it, they cost more as well: 9 * 350 - 4 * 150 = 2550. With 300 the clock is
/// there already; a task of 50 adds 600 to them if that speed costs 12, and 500 on a fast core.
#[test]
fn a_rise_of_the_clock_counts_for_all_that_has_it() {
    for (mj, used, peak, permille, cpu) in [
        (9, 0, 0, 200, 2),
        (9, 150, 0, 200, 0),
        (9, 0, 150, 200, 0),
        (12, 0, 0, 50, 2),
        (12, 300, 300, 50, 0),
    ] {
        let mut bench = with(0, &slow_costs(mj), one_clock_each);
        let first = known(&mut bench, used);
        bench.tasks[first].light.peak = peak << 10;
        take(&mut bench, [0, 1]);
        assert_eq!(wakes_on(&mut bench, first), 2);
        [0, 1].iter().for_each(|&fast| bench.next(fast));
        let id = known(&mut bench, permille);
        let found = wakes_on(&mut bench, id);
        assert_eq!(found / 2 * 2, cpu, "{permille} beside {used} and {peak}, {mj} mJ");
    }
}

/// Fast cores 0 and 1 have one clock. A task of 250 costs 10 * 250 there and 12 * 250 on a slow core. While 0 is high and busy the clock stays up, which
/// costs 16, whatever other high core is surplus. The same if 0 is high in case a task comes. If 0 has nothing to do and is surplus, it holds nothing up.
#[test]
fn a_high_core_holds_the_clock_up_unless_it_is_surplus() {
    for (spare, runs, cpu) in [(0, true, 2), (1, false, 2), (0, false, 0)] {
        let mut bench = with(spare, &slow_costs(12), one_clock_each);
        let [pinned, gone] = [bench.pinned([0]), bench.pinned([3])];
        if spare == 0 {
            bench.wake_all(&[pinned, gone]);
            bench.block(gone);
        }
        if spare == 0 && !runs {
            bench.block(pinned);
        }
        assert!(bench.high().contains(&0));
        let id = known(&mut bench, 250);
        assert_eq!(wakes_on(&mut bench, id) / 2 * 2, cpu, "{spare}, {runs}");
    }
}

/// A new task may need much: it starts on the largest idle core, as half of what is spare there. The next one finds half of the other to spare.
#[test]
fn a_new_task_counts_as_half_of_what_is_spare() {
    let mut bench = light();
    let first = bench.task();
    assert_eq!(wakes_on(&mut bench, first), 0);
    assert_eq!(bench.tasks[first].light.used, ALL / 2);
    assert_eq!(speed(&bench, 0), 1000, "625 permille");
    let others = bench.tasks(3);
    let cpus: Vec<usize> = others.iter().map(|&id| wakes_on(&mut bench, id)).collect();
    assert_eq!(cpus, [1, 2, 3], "idle ones come first");
    assert_eq!(bench.tasks[others[1]].light.used, (400 << 10) / 2);
    let beside = bench.task();
    bench.wake(beside);
    assert_eq!(home(&bench, beside), Some(0), "of busy ones that with most room");
    assert_eq!(bench.tasks[beside].light.used, ALL / 4);
}

/// Kinds count, not numbers. With the slow ones first, a new task starts on 2 and a light one runs on 0; 450 fit on fast ones alone.
#[test]
fn the_number_of_a_cpu_does_not_matter() {
    let mut bench = on(|cpu| CpuPlace {
        tier: (1 - cpu / 2) as u16,
        permille: if cpu < 2 { 400 } else { 1000 },
        ..flat(cpu)
    });
    let new = bench.task();
    assert_eq!(wakes_on(&mut bench, new), 2);
    let ids = woken(&mut bench, [50, 450]);
    assert_eq!(homes_of(&bench, ids), [0, 3]);
}

/// 850 permille on a fast core are more than four fifths, whether a task does so now or did when it slept. Then a task of 50 does not wait for a slow core: it
/// gets an idle one that it fits on, its last one if that is idle, else the largest.
#[test]
fn beside_a_full_cpu_nothing_is_saved_by_waiting() {
    for (used, peak) in [(850, 850), (850, 0), (0, 850)] {
        let mut bench = light();
        let full = known(&mut bench, 0);
        let light = &mut bench.tasks[full].light;
        (light.used, light.peak) = (used << 10, peak << 10);
        assert_eq!(wakes_on(&mut bench, full), 0);
        assert_eq!(bench.policy.pace.load_permille[0], peak);
        let id = known(&mut bench, 50);
        assert_eq!(wakes_on(&mut bench, id), 1, "{used}, {peak}");
        bench.block(id);
        bench.tasks[id].light.counts_at = 1 + 3;
        assert_eq!(wakes_on(&mut bench, id), 3, "its last one");
    }
}

/// 600 are no more than four fifths. After 20 ms without a sleep they are 1000 - 400 * 2^(-20/32) = 741, after 40 ms 832, which need 1040.
#[test]
fn a_cpu_is_used_more_while_its_task_runs() {
    for (ns, cpu) in [(20 * MS, 2), (40 * MS, 1)] {
        let mut bench = light();
        let [long] = woken(&mut bench, [600]);
        bench.pass(ns);
        let [id] = woken(&mut bench, [50]);
        assert_eq!(homes_of(&bench, [long, id]), [0, cpu]);
    }
}

/// Beside a full CPU, 100 run on the fast one that is left. 450 fit there and on no slow one, but those are idle. Once that fast one is idle, too, it comes before
/// the slow one where the task was last.
#[test]
fn of_the_roomiest_the_idle_ones_come_first_and_then_those_where_a_task_fits() {
    let mut bench = light();
    let ids = woken(&mut bench, [850, 100, 450]);
    assert_eq!(homes_of(&bench, ids), [0, 1, 2]);
    bench.block_all(&ids[1..]);
    assert_eq!(wakes_on(&mut bench, ids[2]), 1);
}

/// All CPUs have one clock, so that power decides nothing. An idle one comes first: its last CPU, although another one was busy later; else that one. Once
/// all are busy, the one with most room: of the fast ones, which have 1000 - 100, that which slept for a while.
#[test]
fn in_one_clock_domain_an_idle_cpu_comes_first() {
    let mut bench = on(|cpu| CpuPlace {
        clock_domain: 0,
        ..two_kinds(cpu)
    });
    let ids = woken(&mut bench, [100, 100, 50, 50]);
    assert_eq!(homes_of(&bench, ids), [0, 1, 2, 3]);
    for id in [1, 2] {
        bench.pass(MS);
        bench.block(ids[id]);
    }
    assert_eq!(wakes_on(&mut bench, ids[1]), 1, "its last one");
    bench.block(ids[1]);
    bench.pass(MS);
    bench.block(ids[3]);
    let others = woken(&mut bench, [10; 4]);
    assert_eq!(homes_of(&bench, others), [3, 1, 2, 1]);
}

/// Two tasks of 200 need 500 on one CPU, and a slow one has 400: the second has the other, although the first has just gone to sleep. The first one itself
/// finds the place that it left, as its own use is not counted twice; nor less than nothing, after another CPU's update was lost.
#[test]
fn its_own_use_does_not_keep_a_task_from_its_last_cpu() {
    let mut bench = light();
    let [first] = woken(&mut bench, [200]);
    bench.block(first);
    let [second] = woken(&mut bench, [200]);
    assert_eq!(home(&bench, second), Some(3));
    assert_eq!((wakes_on(&mut bench, first), speed(&bench, 2)), (2, 400));
    bench.block(first);
    bench.owner.sched().light.used[2] = 0;
    assert_eq!(wakes_on(&mut bench, first), 2);
    bench.owner.sched().light.used[2] = 0;
    bench.end(first);
    assert_eq!(bench.policy.light.used[2], 0);
}

/// The same use of a core that has become high since fills no CPU where light work may go.
#[test]
fn what_a_high_core_was_used_for_does_not_count() {
    let mut bench = light();
    let [full] = woken(&mut bench, [850]);
    bench.block(full);
    let pinned = bench.pinned([0]);
    bench.wake(pinned);
    let [id] = woken(&mut bench, [50]);
    assert_eq!((bench.high(), home(&bench, id)), (vec![0], Some(2)));
}

/// 64 ms without a sleep: then it is one of those that the high set is for. A sleep ends that.
#[test]
fn what_runs_for_64_ms_is_heavy() {
    let mut bench = light();
    let id = known(&mut bench, 50);
    bench.wake(id);
    run(&mut bench, id, 62 * MS);
    assert_eq!((bench.high(), home(&bench, id).is_some()), (vec![], true));
    run(&mut bench, id, 2 * MS);
    let cpu = bench.cpu_of(id).expect("it runs");
    assert_eq!((bench.high(), home(&bench, id)), (vec![cpu], None));
    assert!(cpu < 2, "of the fastest kind");
    bench.pass(MS);
    bench.run_and_preempt(cpu, MS);
    assert_eq!(bench.policy.light.used.iter().sum::<u32>(), 0, "it counts at no CPU");
    bench.block(id);
    bench.pass(S);
    bench.wake(id);
    assert!(home(&bench, id).is_some());
}

/// A task of 100 permille has grown to 350, which need 438: a slow core has 400, so it goes to a fast one.
#[test]
fn a_task_that_does_not_fit_any_more_moves() {
    let mut bench = light();
    let id = known(&mut bench, 100);
    assert_eq!(wakes_on(&mut bench, id), 2);
    bench.tasks[id].light.used = 350 << 10;
    bench.pass(2 * MS);
    bench.run_and_preempt(2, 2 * MS);
    assert_eq!(bench.tasks[id].light.behind_ns, 0, "only where it was");
    assert_eq!((bench.cpu_of(id), homes(&bench)), (Some(0), vec![0]));
    assert_eq!(bench.green(), [0, 2], "what it left sleeps by itself");
}

/// Three tasks of 60 permille. Two slow cores carry them at 4 mJ for a ms of work, so that the third waits at one rather than take a fast core. When the
/// other falls idle, who runs beside the waiting one goes there.
#[test]
fn a_core_that_falls_idle_takes_one_of_two() {
    let mut bench = light();
    let ids = [(); 3].map(|()| known(&mut bench, 60));
    bench.wake_all(&ids);
    assert_eq!(ids.map(|id| home(&bench, id)), [Some(2), Some(3), Some(2)]);
    assert_eq!((bench.cpu_of(ids[0]), bench.cpu_of(ids[2])), (Some(2), None));
    bench.pass(MS);
    bench.run_and_block(3, MS);
    assert_eq!((bench.cpu_of(ids[0]), bench.cpu_of(ids[2])), (Some(3), Some(2)));
    assert_eq!(homes(&bench), [2, 3]);
    assert!(bench.policy.light.asked.cpus().is_empty());
}

/// Two tasks share a slow core, and another has the other one. A fast core that falls idle would save the one that waits some ms, and cost more.
#[test]
fn a_dearer_core_that_falls_idle_takes_none() {
    let mut bench = light();
    let pinned = bench.pinned([0]);
    bench.wake(pinned);
    let ids = woken(&mut bench, [50, 50, 50, 600]);
    assert_eq!(homes_of(&bench, ids), [2, 3, 2, 1]);
    bench.block(pinned);
    assert_eq!((asked(&bench, 2), bench.cpu_of(ids[2])), (0, None));
}

/// Two tasks that may run on CPU 3 alone: a light one that leaves CPU 2 asks nothing of them.
#[test]
fn a_core_that_falls_idle_asks_homes_alone() {
    let mut bench = light();
    let [id] = woken(&mut bench, [50]);
    let pinned = [bench.pinned([3]), bench.pinned([3])];
    bench.wake_all(&pinned);
    bench.block(id);
    assert_eq!(asked(&bench, 3), 0);
}

/// A core that falls idle twice before the home answers asks it once.
#[test]
fn a_home_is_asked_once() {
    let mut bench = light();
    let pinned = bench.pinned([3]);
    bench.wake(pinned);
    let ids = woken(&mut bench, [50, 50]);
    assert_eq!(homes_of(&bench, ids), [2, 2]);
    bench.leave(3, MS, true);
    let now_ns = bench.now();
    (0..2).for_each(|_| bench.policy.cpu_idle(&mut bench.world, 3, true, now_ns));
    assert_eq!(asked(&bench, 2), 1);
    bench.follow_kicks();
    assert_eq!(ids.map(|id| bench.cpu_of(id)), [Some(3), Some(2)]);
}

/// CPU 2 would cost least, but is isolated, or in a domain that is off, or reserved, or promised to another task, or a higher class has it, although it is
/// a home, or a task that may run nowhere else is about to start there. Where 0 is isolated, a new task starts on 1. The system's own work has the reserved
/// CPU, and work that nobody waits for has cores of its own: neither has a home.
#[test]
fn light_work_stays_away_from_cpus_that_are_for_others() {
    for case in ["isolated", "off", "reserved", "claimed", "taken", "pinned"] {
        let mut config = base();
        let mut isolated: &[usize] = &[];
        match case {
            "isolated" => isolated = &[0, 2],
            "off" => config.domains = Domains::Gather,
            "reserved" => config.reserve = Reserve::Asked,
            _ => {}
        }
        let place = |cpu: usize| CpuPlace {
            memory_domain: u16::from(cpu == 2),
            ..two_kinds(cpu)
        };
        let mut bench = Bench::isolating(isolated, 4, config.with_ladder(&points()), place);
        let now_ns = bench.now();
        match case {
            "off" => bench.policy.set_domain_on(&mut bench.world, 1, false, now_ns),
            "isolated" => {
                let new = bench.task();
                assert_eq!(wakes_on(&mut bench, new), 1);
            }
            "reserved" => {
                let ids = [known(&mut bench, 50), known(&mut bench, 50)];
                bench.tasks[ids[0]].system = true;
                bench.tasks[ids[1]].nobody_waits = true;
                bench.wake_all(&ids);
                assert_eq!((bench.reserved(), homes(&bench)), (Some(2), vec![]));
                bench.block_all(&ids);
            }
            "claimed" => bench.owner.sched().fast.claimed.add(2),
            "taken" => {
                let ids = woken(&mut bench, [10, 10]);
                assert_eq!(homes_of(&bench, ids), [2, 3]);
                take(&mut bench, [2]);
            }
            "pinned" => {
                take(&mut bench, [2]);
                let [waits, gone] = [bench.pinned([2]), bench.pinned([3])];
                bench.wake_all(&[waits, gone]);
                bench.block(gone);
                bench.policy.cpu_idle(&mut bench.world, 2, true, now_ns);
            }
            _ => {}
        }
        let [id] = woken(&mut bench, [50]);
        assert_eq!(home(&bench, id), Some(3), "{case}");
    }
}

/// A home is one while light tasks are active there. Then another set may have its core at once.
#[test]
fn the_last_task_to_sleep_closes_the_home() {
    let mut bench = light();
    let id = known(&mut bench, 100);
    assert_eq!(wakes_on(&mut bench, id), 2);
    assert_eq!((homes(&bench), bench.policy.pace.nr_homes), (vec![2], 1));
    bench.block(id);
    assert_eq!((homes(&bench), bench.policy.pace.nr_homes), (vec![], 0));
    assert!(bench.policy.light.left.cpus().is_empty());
    assert_eq!(bench.green(), [2]);
    let pinned = bench.pinned([2]);
    bench.wake(pinned);
    assert_eq!((bench.high(), bench.green()), (vec![2], vec![]));
}

/// Others wait for a task that holds a lock, but it is done soon: it stays where it is.
#[test]
fn a_lock_holder_is_light_too() {
    let mut bench = light();
    let id = known(&mut bench, 100);
    bench.wake(id);
    bench.set_hints(id, lop_policy::hint_flags::LOCK_HOLDER);
    bench.pass(2 * MS);
    bench.run_and_preempt(2, 2 * MS);
    assert_eq!(home(&bench, id), Some(2));
}

/// The clock of a home changes while a task runs there longer than it used to: every 2 ms, and not before.
#[test]
fn the_clock_follows_while_it_runs() {
    let mut bench = light();
    let [id, pinned] = [known(&mut bench, 150), bench.pinned([0])];
    bench.wake(id);
    assert_eq!((speed(&bench, 2), bench.world.slice_ns, told(&bench)), (200, 2 * MS, 1));
    run(&mut bench, id, 10 * MS);
    assert_eq!((speed(&bench, 2), told(&bench)), (400, 2));
    bench.wake(pinned);
    assert!(bench.world.slice_ns > 2 * MS, "of high work it does not");
}

/// CPUs 2 and 3 have clocks of their own: 250 need 400 permille, and 50 need 200; each core is told once. If they share one, it falls once the first task sleeps,
/// whose peak was 250 and which had used little now.
#[test]
fn a_clock_is_as_fast_as_the_tasks_that_are_active_need() {
    let speeds = |bench: &Bench| [2, 3].map(|cpu| speed(bench, cpu));
    let mut bench = light();
    let ids = woken(&mut bench, [250, 50]);
    assert_eq!((homes_of(&bench, ids), speeds(&bench)), ([2, 3], [400, 200]));
    assert_eq!(told(&bench), 2);
    let mut bench = on(one_clock_each);
    let ids = [known(&mut bench, 250), known(&mut bench, 50)];
    ids.iter().for_each(|&id| bench.tasks[id].light.used = 0);
    bench.wake_all(&ids);
    assert_eq!((homes_of(&bench, ids), speeds(&bench)), ([2, 3], [400, 400]));
    bench.block(ids[0]);
    assert_eq!(speeds(&bench), [200, 200]);
}

/// Two tasks of 60 share a slow core at 200 permille. The second waits for half of a half-life: 60 / sqrt(2) = 42. After a tenth of one at that rate the first has
/// brought their CPU to 1000 - 880 * 2^(-0.1) = 179, so that the second runs at 400, for a fifth: 1000 - 958 * 2^(-0.2) = 166.
#[test]
fn what_a_task_uses_decays_while_it_waits() {
    let mut bench = light();
    take(&mut bench, [3]);
    let ids = woken(&mut bench, [60, 60]);
    assert_eq!((homes_of(&bench, ids), speed(&bench, 2)), ([2, 2], 200));
    for id in ids {
        assert_eq!(bench.cpu_of(id), Some(2));
        bench.pass(HALF_LIFE / 2);
        bench.run_and_block(2, HALF_LIFE / 2);
    }
    assert_eq!(bench.tasks[ids[1]].light.used >> 10, 166);
}

/// A task that exits leaves nothing behind.
#[test]
fn a_task_that_exits_counts_nowhere() {
    let mut bench = light();
    let id = known(&mut bench, 100);
    bench.wake(id);
    bench.pass(MS);
    bench.end(id);
    let (pace, light) = (&bench.policy.pace, &bench.policy.light);
    assert_eq!((pace.tasks[2], pace.load_permille[2], light.used[2]), (0, 0, 0));
    assert_eq!(homes(&bench), [0; 0]);
}
