// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Sets grow before a task is placed and shrink after the hold time, under one lock that no caller waits for.

use crate::bench::{config, flat, Asked, Bench, World, HOLD, LAST_HOLD, MS, S};
use crate::light::{home, homes, homes_of, known, light, take, wakes_on, with, woken};
use crate::pace::{points, two_kinds};
use lop_policy::{Config, CpuBits, Set, Sizing, Task};

fn without_spare(cpus: usize) -> Bench {
    Bench::new(cpus, Config { spare: 0, ..config() }, flat)
}

/// Whoever starts the policy ran until now: one core is high for h_min, and leaves by itself.
#[test]
fn a_core_is_high_from_the_start() {
    let bench = without_spare(4);
    let changes = |set| {
        bench
            .world
            .log
            .iter()
            .filter(|&&asked| asked == Asked::Changed { cpu: 0, set })
            .count()
    };
    assert_eq!((changes(Set::High), changes(Set::Low)), (1, 1));
    assert_eq!((bench.policy.membership.promotions, bench.size()), (1, 0));
}

#[test]
fn the_set_grows_before_the_task_is_placed() {
    let mut bench = without_spare(4);
    let task = bench.task();
    bench.world.log.clear();
    bench.wake(task);
    let (changed, started) = (bench.world.log[0], bench.world.log[1]);
    assert_eq!(changed, Asked::Changed { cpu: 0, set: Set::High });
    assert_eq!(started, Asked::Started { task: 0, cpu: 0 });
}

#[test]
fn more_tasks_than_cores_means_all_cores() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(9);
    bench.wake_all(&tasks);
    assert_eq!(bench.high(), [0, 1, 2, 3]);
    assert_eq!(bench.policy.active(Set::High), 9);
    assert!(bench.running.iter().all(Option::is_some));
}

/// Three members at 0 (active + spare), two from then on: the third is surplus for T_hold, not one nanosecond less.
#[test]
fn a_surplus_member_leaves_at_the_hold_time_and_not_before() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    bench.block(tasks[1]);
    assert_eq!((bench.size(), bench.target()), (3, 2));
    bench.pass(HOLD - 1);
    assert_eq!(bench.size(), 3);
    bench.pass(1);
    assert_eq!(bench.size(), 2);
}

/// A task that wakes 40 times a second changes no set: its member and the spare stay for a second.
#[test]
fn who_wakes_now_and_then_finds_the_spare_high() {
    let mut bench = Bench::flat(8);
    let task = bench.task();
    bench.wake(task);
    let promotions = bench.policy.membership.promotions;
    for _ in 0..40 {
        bench.pass(MS);
        bench.block(task);
        bench.pass(24 * MS);
        bench.wake(task);
    }
    assert_eq!(
        (bench.policy.membership.promotions, bench.policy.membership.demotions),
        (promotions, 0)
    );
    bench.block(task);
    bench.pass(LAST_HOLD - 1);
    assert_eq!((bench.size(), bench.target()), (2, 1));
    bench.pass(1);
    assert_eq!(bench.size(), 1);
}

/// Under auto the last member leaves at once if keeping it costs more than it saves; a spare still has T_hold.
#[test]
fn a_spare_is_held_no_shorter_than_other_members() {
    let short = Config {
        last_hold_ns: MS,
        ..config()
    };
    let mut bench = Bench::new(4, short, flat);
    let task = bench.task();
    bench.wake(task);
    bench.block(task);
    bench.pass(HOLD - 1);
    assert_eq!((bench.size(), bench.target()), (2, 1));
    bench.pass(1);
    assert_eq!(bench.size(), 1);
}

/// Two members; CPU 1 leaves a second later. A task that was on its way there may not stay; on a member it may. Exempt
/// are tasks of limited affinity, tasks that are not counted, and tasks that cannot leave a CPU that goes offline.
#[test]
fn what_comes_to_a_core_that_has_left_its_set_does_not_stay() {
    let mut bench = Bench::flat(4);
    let (task, other) = (bench.task(), bench.task());
    let (pinned, limited) = (bench.pinned([1]), bench.pinned([1, 2]));
    bench.wake(other);
    for id in [task, pinned, limited] {
        bench.tasks[id].counted = true;
    }
    assert!(!bench.policy.came_too_late(&bench.tasks[task], 1), "a member still");
    bench.block(other);
    bench.pass(LAST_HOLD);
    assert_eq!(bench.high(), [0]);
    for (id, cpu, late) in [
        (task, 1, true),
        (task, 3, true),
        (task, 0, false),
        (pinned, 1, false),
        (limited, 1, false),
        (other, 1, false), // not counted
    ] {
        assert_eq!(
            bench.policy.came_too_late(&bench.tasks[id], cpu),
            late,
            "task {id} on CPU {cpu}"
        );
    }
    bench.offline(3);
    assert!(!bench.policy.came_too_late(&bench.tasks[task], 3), "offline");
}

/// Targets are 4, 3, 2, 1 from 0, 3, 5 ms on: members leave at 10, 13, 15 ms, each after its own hold time.
#[test]
fn each_member_is_held_since_the_target_fell_below_it() {
    let mut bench = without_spare(8);
    let tasks = bench.tasks(4);
    bench.wake_all(&tasks);
    assert_eq!(bench.size(), 4);
    bench.block(tasks[0]);
    bench.pass(3 * MS);
    bench.block(tasks[1]);
    bench.pass(2 * MS);
    bench.block(tasks[2]);
    for (pass_ns, size) in [
        (5 * MS - 1, 4),
        (1, 3),
        (3 * MS - 1, 3),
        (1, 2),
        (2 * MS - 1, 2),
        (1, 1),
        (100 * MS, 1),
    ] {
        bench.pass(pass_ns);
        assert_eq!(bench.size(), size);
    }
}

/// The target falls at 0, rises at 6 ms, falls again at 8 ms: the member leaves at 18 ms.
#[test]
fn a_rise_of_the_target_starts_the_hold_time_anew() {
    let mut bench = without_spare(4);
    let (other, task) = (bench.task(), bench.task());
    bench.wake(other);
    bench.wake(task);
    bench.block(task);
    bench.pass(6 * MS);
    bench.wake(task);
    bench.pass(2 * MS);
    bench.block(task);
    bench.pass(HOLD - 1);
    assert_eq!(bench.size(), 2);
    bench.pass(1);
    assert_eq!(bench.size(), 1);
}

/// h_min: 1 while anything ran in the last second, else 0. (With a spare, one core is always high: min(N, 0 + 1).)
#[test]
fn without_a_spare_the_last_member_leaves_a_second_after_the_last_task() {
    let mut bench = without_spare(4);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    bench.block_all(&tasks);
    bench.pass(HOLD);
    assert_eq!((bench.size(), bench.target()), (1, 0));
    bench.pass(LAST_HOLD - HOLD - 1);
    assert_eq!(bench.size(), 1);
    bench.pass(1);
    assert_eq!(bench.size(), 0);
    assert_eq!(bench.policy.timer_at_ns, 0, "an idle machine stays idle");
}

/// A spinning task is not active, but it runs. It spins for 3 s; the second begins when it stops.
#[test]
fn the_last_second_counts_from_when_anything_ran_be_it_spinning() {
    let mut bench = without_spare(4);
    let task = bench.task();
    bench.wake(task);
    bench.spin(task, true);
    bench.pass(3 * LAST_HOLD);
    assert_eq!(bench.size(), 1, "the member is busy");
    bench.block(task);
    bench.pass(LAST_HOLD - 1);
    assert_eq!(bench.size(), 1);
    bench.pass(1);
    assert_eq!(bench.size(), 0);
}

#[test]
fn a_busy_surplus_member_stays_until_it_falls_idle() {
    let mut bench = without_spare(4);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    bench.spin(tasks[1], true);
    bench.pass(5 * HOLD);
    assert_eq!((bench.size(), bench.target()), (2, 1));
    bench.block(tasks[1]);
    assert_eq!(bench.size(), 1, "its hold time was over long ago");
}

#[test]
fn no_timer_is_armed_without_a_surplus() {
    let mut bench = Bench::flat(4);
    let tasks = bench.tasks(3);
    bench.world.log.clear();
    bench.wake_all(&tasks);
    assert!(!bench.world.log.iter().any(|asked| matches!(asked, Asked::Armed(_))));
    bench.block(tasks[0]);
    let due_ns = bench.now() + HOLD;
    assert_eq!(bench.world.timer_at_ns, Some(due_ns));
    bench.pass(2 * HOLD);
    assert_eq!((bench.world.timer_at_ns, bench.policy.timer_at_ns), (None, 0));
}

/// A timer that was armed and never fired (a lost interrupt, an adapter that restarts) must not block all later ones.
#[test]
fn a_timer_that_never_came_is_armed_again() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    bench.wake(task);
    bench.block(task);
    bench.world.timer_at_ns = None;
    bench.world.now_ns += LAST_HOLD + 1;
    bench.wake(task);
    bench.block(task);
    assert_eq!(bench.world.timer_at_ns, Some(bench.now() + LAST_HOLD));
}

/// A pinned task had core 3 promoted beyond the target of a fixed size. It ran for 1 ms only, yet core 3 stays for
/// T_hold.
#[test]
fn a_member_beyond_the_target_is_held_since_it_joined() {
    let fixed = Config {
        sizing: Sizing::Fixed,
        fixed_size: 1,
        spare: 0,
        ..config()
    };
    let mut bench = Bench::new(4, fixed, flat);
    let pinned = bench.pinned([3]);
    bench.wake(pinned);
    assert_eq!(bench.high(), [0, 3]);
    bench.pass(MS);
    bench.block(pinned);
    bench.pass(HOLD - MS - 1);
    assert_eq!(bench.high(), [0, 3]);
    bench.pass(1);
    assert_eq!(bench.size(), 1);
}

/// A second CPU wakes tasks while the lock is taken; it has its own view of the world.
pub fn wake_meanwhile(bench: &mut Bench, ids: &[usize]) {
    let policy = bench.policy;
    let tasks: Vec<*mut Task> = ids.iter().map(|&id| &raw mut bench.tasks[id]).collect();
    let now_ns = bench.now();
    bench.world.meanwhile = Some(Box::new(move || {
        let mut world = World::default();
        world.now_ns = now_ns;
        world.allowed = vec![None; 64];
        for task in tasks {
            let (app, group) = (std::ptr::null_mut(), std::ptr::null_mut());
            let (cpu, _) = unsafe { policy.wake(&mut world, task, app, group, 0, now_ns) };
            assert!(cpu >= 0, "it is placed, be the lock taken or not");
            // The bench does not see the queues of that other world.
            unsafe { policy.dequeue(&mut world, task) };
        }
    }));
}

#[test]
fn growth_that_found_the_lock_taken_by_growth_is_made_by_the_holder() {
    let mut bench = Bench::flat(8);
    let tasks = bench.tasks(2);
    wake_meanwhile(&mut bench, &[tasks[1]]);
    bench.wake(tasks[0]);
    assert_eq!((bench.target(), bench.size()), (3, 3));
}

/// While a member leaves, another CPU wakes tasks that need two members: the holder grows the set again.
#[test]
fn growth_that_found_the_lock_taken_by_a_shrink_is_made_by_the_holder() {
    let mut bench = Bench::flat(8);
    let tasks = bench.tasks(3);
    bench.wake(tasks[0]);
    bench.block(tasks[0]);
    wake_meanwhile(&mut bench, &[tasks[1]]);
    bench.pass(LAST_HOLD);
    assert!(bench.world.meanwhile.is_none(), "the shrink took place");
    assert_eq!((bench.target(), bench.size()), (2, 2));
}

/// While a member leaves, a higher class takes the other member's CPU from its task, which had looked for an idle
/// member just before. The timer is armed for now, so that the adapter checks which CPUs are taken.
#[test]
fn who_came_while_a_member_left_is_looked_for_at_once() {
    let mut bench = without_spare(2);
    let tasks = bench.tasks(2);
    bench.wake_all(&tasks);
    bench.block(tasks[1]);
    let (policy, now_ns) = (bench.policy, bench.now() + LAST_HOLD);
    let task: *mut Task = &mut bench.tasks[tasks[0]];
    bench.world.now_ns = now_ns;
    bench.world.timer_at_ns = None;
    bench.world.meanwhile = Some(Box::new(move || {
        let mut world = World::default();
        world.now_ns = now_ns;
        world.allowed = vec![None; 64];
        unsafe { policy.enqueue(&mut world, task, std::ptr::null(), 0) };
    }));
    bench.policy.timer(&mut bench.world, now_ns);
    assert_eq!((bench.size(), bench.world.timer_at_ns), (1, Some(now_ns)));
}

#[test]
fn a_pinned_task_that_found_the_lock_taken_has_its_core_promoted_by_the_holder() {
    let mut bench = Bench::flat(8);
    let pinned = bench.pinned([6]);
    let other = bench.task();
    wake_meanwhile(&mut bench, &[pinned]);
    bench.wake(other);
    assert!(bench.high().contains(&6));
}

/// A heat swap holds the lock, too.
#[test]
fn growth_that_found_the_lock_taken_by_a_heat_swap_is_made_by_the_holder() {
    let mut bench = Bench::flat(4);
    let task = bench.task();
    bench.world.temperature_mc.insert(0, 90_000);
    bench.pass(200 * LAST_HOLD);
    wake_meanwhile(&mut bench, &[task]);
    let now_ns = bench.now();
    bench.policy.rotate_heat(&mut bench.world, now_ns);
    assert_eq!(bench.policy.heat.swaps, 1);
    assert_eq!((bench.target(), bench.size()), (2, 2));
}

/// While the lock stays taken (its holder will look again), nothing is lost: the task waits in a queue.
#[test]
fn a_task_that_no_member_can_be_found_for_waits_in_a_queue() {
    let mut bench = without_spare(4);
    let tasks = [bench.task(), bench.pinned([2]), bench.pinned([1, 3])];
    bench.policy.hold_lock(true);
    bench.wake_all(&tasks);
    for task in tasks {
        assert_eq!(bench.world.queues_of(task).len(), 1, "task {task}");
    }
    bench.policy.hold_lock(false);
    let now_ns = bench.now();
    bench.policy.timer(&mut bench.world, now_ns);
    bench.follow_kicks();
    assert_eq!(bench.cpu_of(tasks[1]), Some(2));
    assert!(tasks.iter().all(|&task| bench.cpu_of(task).is_some()));
    assert!(CpuBits::of(bench.high()).has(2));
}

/// A core that is high in case a task comes stays so: a new light task starts on the next one. One that is surplus, idle and cheapest leaves the set.
#[test]
fn a_high_core_becomes_a_home_of_light_work_if_it_is_surplus() {
    let mut bench = with(1, &points(), two_kinds);
    let new = bench.task();
    assert_eq!((bench.high(), wakes_on(&mut bench, new)), (vec![0], 1));
    let mut bench = light();
    let pinned = bench.pinned([2]);
    bench.wake(pinned);
    bench.block(pinned);
    assert_eq!(bench.high(), [2]);
    let [id] = woken(&mut bench, [50]);
    assert_eq!(homes_of(&bench, [id]), [2]);
    assert_eq!((bench.high(), bench.green()), (vec![], vec![2]));
}

/// While another CPU changes the sets, no home opens for light work: the task counts for none, and runs high. A home that is open takes it.
#[test]
fn while_another_cpu_has_the_lock_only_open_homes_take_light_tasks() {
    for (opened, count) in [(false, (0, 0)), (true, (2, 100))] {
        let mut bench = light();
        let [first, id, pinned] = [known(&mut bench, 50), known(&mut bench, 50), bench.pinned([0])];
        take(&mut bench, [3]);
        if opened {
            bench.wake(first);
        }
        wake_meanwhile(&mut bench, &[id]);
        bench.wake(pinned);
        assert_eq!(home(&bench, id), opened.then_some(2));
        let pace = &bench.policy.pace;
        assert_eq!((pace.tasks[2], pace.load_permille[2]), count);
    }
}

/// Two homes that light tasks leave at once close at once.
#[test]
fn all_homes_that_light_work_left_close() {
    let mut bench = light();
    let ids = woken(&mut bench, [100, 300]);
    assert_eq!(homes_of(&bench, ids), [2, 3]);
    bench.all_leave_home();
    assert_eq!((homes(&bench), bench.policy.pace.nr_homes), (vec![], 0));
    assert_eq!(ids.map(|id| home(&bench, id)), [None; 2]);
}

/// The high set takes the core of a home while a light task is active there: that counts until it sleeps.
#[test]
fn a_home_of_light_work_that_the_high_set_takes_counts_down_by_itself() {
    let mut bench = light();
    let [id] = woken(&mut bench, [100]);
    let pinned = bench.pinned([2]);
    bench.wake(pinned);
    assert!(bench.high().contains(&2) && !homes(&bench).contains(&2));
    bench.block(id);
    let pace = &bench.policy.pace;
    assert_eq!((&pace.tasks[..4], &pace.load_permille[..4]), (&[0; 4][..], &[0; 4][..]));
}

/// A light task has outgrown CPU 2, but a higher class has all others. It leaves its home and comes back: the home stays the same, and the task keeps it.
#[test]
fn a_light_task_may_come_back_to_the_home_that_it_left() {
    let mut bench = light();
    take(&mut bench, [0, 1, 3]);
    let [id] = woken(&mut bench, [100]);
    bench.tasks[id].light.used = 350 << 10;
    bench.pass(2 * MS);
    bench.run_and_preempt(2, 2 * MS);
    assert_eq!((bench.cpu_of(id), homes_of(&bench, [id])), (Some(2), [2]));
    assert!(bench.high().is_empty());
    assert_eq!(bench.tasks[id].pace.epoch, bench.policy.pace.epoch[2]);
    assert!(bench.policy.light.left.cpus().is_empty());
}

/// Homes of light tasks (light.h) end with those, and not because no clock has woken any for 10 s.
#[test]
fn a_home_lasts_as_long_as_its_light_task() {
    let mut bench = light();
    bench.pass(20 * S);
    let [id, pinned] = [known(&mut bench, 50), bench.pinned([0])];
    bench.wake_all(&[id, pinned]);
    bench.block(pinned);
    bench.pass(2 * S);
    assert_eq!((homes(&bench), bench.high()), (vec![2], vec![]));
}

/// All CPUs but 39 of 40 are high because of pinned tasks: light work finds the last one of the word, too.
#[test]
fn light_work_has_a_home_on_any_cpu_of_a_large_phone() {
    let config = Config {
        spare: 0,
        light: true,
        ..config()
    };
    let mut bench = Bench::new(40, config.with_ladder(&points()[..2]), flat);
    let pinned: Vec<usize> = (0..39).map(|cpu| bench.pinned([cpu])).collect();
    bench.wake_all(&pinned);
    let id = known(&mut bench, 50);
    assert_eq!((wakes_on(&mut bench, id), home(&bench, id)), (39, Some(39)));
}
