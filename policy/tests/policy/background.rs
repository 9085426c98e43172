// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Work that nobody waits for: who says so, where it runs, and what it leaves to others.

use crate::bench::{config, flat, point, Bench, HOLD, MS, S};
use crate::pace::{clock_wakes, cycle, points, rate_permille, two_kinds};
use lop_policy::{hint_flags, rules, weight_of_nice, weight_of_share, Config, CpuPlace, Set, Task, FULL_SPEED};

/// CPUs 0 and 1 are fast, 2 and 3 slow. Cheapest first: slow at its low speed, slow at its high one, fast at half speed.
fn bench(spare: u32) -> Bench {
    let config = Config { spare, ..config() };
    Bench::new(4, config.with_ladder(&points()), two_kinds)
}

fn nobody_waits(bench: &mut Bench) -> usize {
    let id = bench.task();
    bench.tasks[id].weight = weight_of_nice(19);
    bench.tasks[id].nobody_waits = true;
    id
}

fn background_of(bench: &mut Bench, count: usize) -> Vec<usize> {
    (0..count).map(|_| nobody_waits(bench)).collect()
}

fn cpus_of(bench: &Bench, ids: &[usize]) -> Vec<Option<usize>> {
    ids.iter().map(|&id| bench.cpu_of(id)).collect()
}

/// Nice 19 and SCHED_IDLE do, nice 18 does not; so do a cpu.weight of 1 (10 of 1024) and what lies in such a group, but not
/// one of 2 (20). The cheapest rung has 200 permille, which is 204.8 of 1024.
#[test]
fn its_owner_says_so() {
    let mut bench = bench(0);
    let (ordinary, light) = (bench.group(1024), bench.group(weight_of_share(1)));
    let heavier = bench.group(weight_of_share(2));
    let says = |weight, group: Option<usize>, most| {
        let task = Task::new(0, weight);
        let group = group.map(|group| &bench.groups[group]);
        bench.policy.owner_says_nobody_waits(&task, group, most)
    };
    for (weight, group, most, expected) in [
        (weight_of_nice(0), None, FULL_SPEED, false),
        (weight_of_nice(18), None, FULL_SPEED, false),
        (weight_of_nice(19), None, FULL_SPEED, true),
        (3, None, FULL_SPEED, true),
        (1024, Some(ordinary), FULL_SPEED, false),
        (1024, Some(light), FULL_SPEED, true),
        (1024, Some(heavier), FULL_SPEED, false),
        (1024, None, 205, false),
        (1024, None, 204, true),
        (1024, None, 0, true),
    ] {
        assert_eq!(says(weight, group, most), expected, "{weight} {group:?} {most}");
    }
    let inner = bench.policy.group(1);
    unsafe {
        *bench.policy.group(0) = bench.groups[light];
        *inner = bench.groups[ordinary];
        (*inner).parent = 0;
        let task = Task::new(0, 1024);
        assert!(bench.policy.owner_says_nobody_waits(&task, Some(&*inner), FULL_SPEED));
    }
}

/// A rung of 125 permille is 128 of 1024 exactly. Without a ladder no speed is known to be cheap, not even for a uclamp.max of 0.
#[test]
fn a_cheapest_speed_that_is_the_most_that_is_asked_for_is_enough() {
    let points = [point(0, 125, 125, 10), point(0, 1000, 1000, 1000)];
    for (config, most, expected) in [
        (config().with_ladder(&points), 129, false),
        (config().with_ladder(&points), 128, true),
        (config(), 0, false),
    ] {
        let bench = Bench::new(1, config, flat);
        let task = Task::new(0, 1024);
        assert_eq!(
            bench.policy.owner_says_nobody_waits(&task, None, most),
            expected,
            "{most}"
        );
    }
}

/// Three tasks: two on the slow cores at their low speed, the third on a fast one at half speed. None counts for the high
/// set.
#[test]
fn each_has_a_core_of_the_cheapest_kind_that_is_free() {
    let mut bench = bench(0);
    let ids = background_of(&mut bench, 3);
    bench.wake_all(&ids);
    let cpus = cpus_of(&bench, &ids);
    assert!(cpus[..2].iter().all(|cpu| cpu.is_some_and(|cpu| cpu >= 2)), "{cpus:?}");
    let fast = cpus[2].expect("it runs");
    assert!(fast < 2);
    assert_eq!([2, 3, fast].map(|cpu| rate_permille(&bench, cpu)), [200, 200, 500]);
    assert_eq!((bench.high(), bench.policy.active(Set::High)), (vec![], 0));
    bench.pass(2 * HOLD);
    bench.block_all(&ids);
    bench.pass(HOLD - 1);
    assert_eq!(bench.green().len(), 3, "T_hold begins when they block");
    bench.pass(1);
    assert_eq!((bench.green(), bench.high()), (vec![], vec![]));
}

/// As many as tasks want to run, and no more: of three tasks on two cores beside one that is high and the spare, the third
/// waits while the spare is idle. It runs when another one's slice is over.
#[test]
fn the_spare_is_for_others() {
    let mut bench = bench(1);
    let busy = bench.task();
    bench.wake(busy);
    let ids = background_of(&mut bench, 3);
    bench.wake_all(&ids);
    assert_eq!((bench.size(), bench.green().len()), (2, 2));
    assert_eq!(cpus_of(&bench, &ids).iter().flatten().count(), 2);
    assert_eq!(bench.running.iter().flatten().count(), 3, "the spare is idle");
    bench.pass(6 * MS);
    let cpu = bench.green()[0];
    let last = *ids.iter().find(|&&id| bench.cpu_of(id).is_none()).expect("one waits");
    bench.run_and_preempt(cpu, 6 * MS);
    assert_eq!(bench.cpu_of(last), Some(cpu));
}

/// A task wakes while all four cores run work that nobody waits for: it starts at once, on a fast core at full speed. With
/// four such tasks the others wait for their share of the high cores, by weight, and have green ones again when two of them
/// block.
#[test]
fn it_gives_way_at_once() {
    let mut bench = bench(0);
    let ids = background_of(&mut bench, 4);
    bench.wake_all(&ids);
    assert_eq!(bench.green().len(), 4);
    bench.pass(MS);
    for cpu in 0..4 {
        bench.run_and_preempt(cpu, MS);
    }
    let ordinary = bench.tasks(4);
    bench.wake(ordinary[0]);
    assert!(bench.cpu_of(ordinary[0]).is_some_and(|cpu| cpu < 2));
    assert_eq!((bench.size(), bench.green().len()), (1, 3));
    bench.wake_all(&ordinary[1..]);
    assert!(cpus_of(&bench, &ordinary).iter().all(Option::is_some));
    assert_eq!((bench.size(), bench.target(), bench.green()), (4, 4, vec![]));
    let mut ran = 0;
    for n in 0..200 {
        let cpu = n % 4;
        bench.pass(2 * MS);
        ran += u32::from(bench.tasks[bench.running[cpu].expect("all are busy")].is_background());
        bench.run_and_preempt(cpu, 2 * MS);
    }
    assert!(ran > 0, "weights count where no core is left");
    bench.block_all(&ordinary[2..]);
    bench.pass(HOLD);
    for cpu in [0, 1, 2, 3, 0, 1, 2, 3] {
        if bench.running[cpu].is_some() {
            bench.run_and_preempt(cpu, MS);
        }
    }
    assert_eq!((bench.size(), bench.green().len()), (2, 2));
    assert!(ordinary[..2].iter().all(|&id| bench.cpu_of(id).is_some()));
}

/// All cores are high and four ordinary tasks have just gone. Two others run there meanwhile, and no core is low: each high core
/// becomes green at the end of its slice, long before T_hold is over.
#[test]
fn a_high_core_that_runs_it_is_no_reserve() {
    let mut bench = bench(0);
    let ordinary = bench.tasks(4);
    bench.wake_all(&ordinary);
    let ids = background_of(&mut bench, 4);
    bench.wake_all(&ids);
    assert_eq!((bench.size(), bench.green()), (4, vec![]));
    bench.block_all(&ordinary);
    assert_eq!(cpus_of(&bench, &ids).iter().flatten().count(), 4);
    bench.pass(MS);
    for _ in 0..2 {
        for cpu in 0..4 {
            if bench.running[cpu].is_some() {
                bench.run_and_preempt(cpu, MS);
            }
        }
    }
    assert_eq!(bench.high(), []);
    assert!(cpus_of(&bench, &ids)
        .iter()
        .all(|cpu| cpu.is_some_and(|cpu| bench.green().contains(&cpu))));
}

/// `renice 19` of a task that runs: it goes to a slow core at the end of its slice. It takes a lock that others wait for, and
/// has a high core at the end of its next one; it is done with it, and goes back.
#[test]
fn what_its_owner_and_others_say_counts_from_the_next_slice() {
    let mut bench = bench(0);
    let id = bench.task();
    bench.wake(id);
    let is_slow = |bench: &Bench| bench.cpu_of(id).expect("it runs") >= 2;
    let slice = |bench: &mut Bench| {
        let cpu = bench.cpu_of(id).expect("it runs");
        bench.pass(MS);
        bench.run_and_preempt(cpu, MS);
    };
    assert!(!is_slow(&bench));
    bench.tasks[id].nobody_waits = true;
    slice(&mut bench);
    assert!(is_slow(&bench) && bench.policy.active(Set::High) == 0);
    bench.set_hints(id, hint_flags::LOCK_HOLDER);
    slice(&mut bench);
    assert!(!is_slow(&bench) && bench.policy.active(Set::High) == 1);
    bench.set_hints(id, 0);
    slice(&mut bench);
    assert!(is_slow(&bench));
    bench.tasks[id].nobody_waits = false;
    bench.set_hints(id, hint_flags::BACKGROUND);
    slice(&mut bench);
    assert!(is_slow(&bench));
    bench.set_hints(id, 0);
    slice(&mut bench);
    assert!(!is_slow(&bench));
}

/// A paced task takes the core of one that nobody waits for, if no other is left, and at once.
#[test]
fn homes_come_first() {
    let config = Config { spare: 0, ..config() };
    let mut bench = Bench::new(2, config.with_ladder(&points()[..2]), |cpu| lop_policy::CpuPlace {
        permille: 1000,
        ..flat(cpu)
    });
    let paced = bench.task();
    let ids = background_of(&mut bench, 2);
    bench.wake_all(&ids);
    for _ in 0..12 {
        cycle(&mut bench, paced, MS, 10 * MS);
    }
    let home = bench.policy.set[Set::Green as usize].pinned.cpus();
    assert_eq!(home.len(), 1);
    bench.run_and_preempt(1 - home[0], MS);
    assert_eq!((bench.green(), bench.high()), (vec![0, 1], vec![]));
    clock_wakes(&mut bench, paced);
    assert_eq!(bench.cpu_of(paced), Some(home[0]));
    assert_eq!(cpus_of(&bench, &ids).iter().flatten().count(), 1);
}

/// A task of limited affinity counts on the CPUs that it may use, and without watts no kind of core is known to be cheaper.
#[test]
fn elsewhere_nothing_changes() {
    let mut bench = bench(0);
    let bound = nobody_waits(&mut bench);
    bench.set_allowed(bound, [2, 3]);
    bench.wake(bound);
    assert_eq!((bench.green(), bench.size()), (vec![], 1));
    let mut bench = Bench::flat(4);
    let id = nobody_waits(&mut bench);
    bench.wake(id);
    assert_eq!((bench.green(), bench.policy.active(Set::High)), (vec![], 1));
}

/// With rules for the fast cores: one ordinary task too many for the cores takes that of a task that nobody waits for, not at
/// the end of its slice but at once.
#[test]
fn it_ranks_behind_all_others() {
    let config = Config {
        spare: 0,
        rules: rules::PHASES | rules::TURNS,
        migration_ns: MS / 100,
        turn_ns: 20 * MS,
        ..config()
    };
    let mut bench = Bench::new(4, config.with_ladder(&points()), two_kinds);
    let ordinary = bench.tasks(4);
    bench.wake_all(&ordinary);
    let id = nobody_waits(&mut bench);
    bench.wake(id);
    bench.block(ordinary[3]);
    assert!(bench.cpu_of(id).is_some(), "no core is left for green work");
    bench.wake(ordinary[3]);
    assert!(bench.cpu_of(ordinary[3]).is_some() && bench.cpu_of(id).is_none());
}

/// It runs for 5 s, which is 341 s of virtual time at nice 19. Who wakes then does not start so far behind a task that has run as
/// long.
#[test]
fn its_virtual_time_moves_no_clock() {
    let mut bench = bench(0);
    let id = nobody_waits(&mut bench);
    bench.wake(id);
    let before_ns = bench.policy.queues.clock_ns;
    for _ in 0..1000 {
        let cpu = bench.cpu_of(id).expect("it runs");
        bench.pass(5 * MS);
        bench.run_and_preempt(cpu, 5 * MS);
    }
    assert!(bench.tasks[id].vtime_ns > 340 * S);
    assert_eq!(bench.policy.queues.clock_ns, before_ns);
}

/// Three or four ordinary tasks have all cores that are not isolated, and ten of this kind wait for a high one. Then the others sleep, and the cores step down
/// to green ones. All ten have run after a while, as what waits where no high core serves it runs on green ones: an isolated high core serves its own queue
/// only, and keeps the set from being empty.
#[test]
fn what_waited_for_a_high_core_runs_on_a_green_one() {
    for isolated in [&[][..], &[1]] {
        let config = Config { spare: 0, ..config() };
        let mut bench = Bench::isolating(isolated, 4, config.with_ladder(&points()), two_kinds);
        let bound: Vec<usize> = isolated.iter().map(|&cpu| bench.pinned([cpu])).collect();
        bench.wake_all(&bound);
        let busy = bench.tasks(4 - isolated.len());
        bench.wake_all(&busy);
        let light = background_of(&mut bench, 10);
        bench.wake_all(&light);
        assert_eq!(cpus_of(&bench, &light), [None; 10]);
        bench.block_all(&busy);
        let mut left = light.clone();
        for _ in 0..400 {
            for cpu in 0..4 {
                left.retain(|&id| bench.running[cpu] != Some(id));
                if bench.running[cpu].is_some() {
                    bench.pass(MS / 4);
                    bench.run_and_preempt(cpu, MS);
                }
            }
        }
        assert_eq!((left, bench.high()), (vec![], isolated.to_vec()));
    }
}

/// A program declared one core and computes with two threads. The green core runs neither, though one of them waits and falls behind.
#[test]
fn a_green_core_leaves_ordinary_work_to_the_high_one() {
    let mut bench = bench(0);
    let app = bench.app(1);
    let ordinary = [bench.task_of(app), bench.task_of(app)];
    bench.wake_all(&ordinary);
    let light = nobody_waits(&mut bench);
    bench.wake(light);
    let green = bench.cpu_of(light).unwrap();
    assert_eq!((bench.green(), bench.size()), (vec![green], 1));
    for _ in 0..100 {
        bench.pass(MS);
        bench.run_and_preempt(green, MS);
        assert_eq!(bench.running[green], Some(light));
    }
}

/// Of cores of one kind an ordinary task gets one that is not green, though the green one has been out of the high set as long.
#[test]
fn a_high_core_is_no_green_one_while_there_is_another() {
    let config = Config { spare: 0, ..config() };
    let mut bench = Bench::new(4, config.with_ladder(&points()[..2]), |cpu| CpuPlace {
        permille: 1000,
        ..flat(cpu)
    });
    let background = nobody_waits(&mut bench);
    bench.wake(background);
    let green = bench.green();
    let ordinary = bench.task();
    bench.wake(ordinary);
    assert_eq!((bench.green(), bench.high().len()), (green, 1));
}
