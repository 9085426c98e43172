// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tasks that may run on a few crowded CPUs only, which get less than others, and who comes to them.

use crate::bench::{config, domains_of_two, flat, Bench, MS};
use lop_policy::{Config, GreenWork, Sizing};

/// Three tasks restricted to CPU 0 and one to CPU 1, after 3 s: that one has run 3 s, the others 1 s each.
fn two_cpus_apart() -> (Bench, Vec<usize>) {
    let mut bench = Bench::flat(2);
    let tasks: Vec<usize> = [0, 0, 0, 1].into_iter().map(|cpu| bench.pinned([cpu])).collect();
    bench.wake_all(&tasks);
    for _ in 0..3000 {
        bench.pass(MS);
        bench.run_and_preempt(0, MS);
        bench.run_and_preempt(1, MS);
    }
    (bench, tasks)
}

/// Milliseconds of the next 200 that each of the four tasks runs on a CPU.
fn next_200_ms(bench: &mut Bench, cpu: usize) -> [u32; 4] {
    let mut ran = [0; 4];
    for _ in 0..200 {
        bench.pass(MS);
        ran[bench.run_and_preempt(cpu, MS)] += 1;
    }
    ran
}

/// Three tasks restricted to CPU 0 and three to CPU 1 have run 1 s each when two others, on CPUs of their own, have run
/// 3 s. A task that may run on CPUs 0 and 1 wakes: from then on it has one of 7 parts of them, 57 ms of 400, and does
/// not wait for the 2 s. The same holds for a task that may also run on a third CPU, which is offline.
#[test]
fn a_task_of_two_crowded_cpus_has_its_share_of_them() {
    for allowed in [&[0, 1][..], &[0, 1, 4]] {
        let ran = ran_beside_crowds(allowed);
        assert!((45..=65).contains(&ran), "{ran} of 400 ms on {allowed:?}");
    }
}

fn ran_beside_crowds(allowed: &[usize]) -> usize {
    let mut bench = Bench::flat(5);
    bench.offline(4);
    let restricted = [0, 0, 0, 1, 1, 1, 2, 3].map(|cpu| bench.pinned([cpu]));
    bench.wake_all(&restricted);
    for _ in 0..3000 {
        bench.pass(MS);
        (0..4).for_each(|cpu| assert!(bench.run_and_preempt(cpu, MS) < 8));
    }
    let late = bench.pinned(allowed.iter().copied());
    bench.wake(late);
    let mut ran = 0;
    for _ in 0..200 {
        bench.pass(MS);
        ran += (0..4).filter(|&cpu| bench.run_and_preempt(cpu, MS) == late).count();
    }
    ran
}

/// Milliseconds that each task runs, on all CPUs together, of so many. As in the kernel, a task goes on that is furthest behind.
fn run(bench: &mut Bench, ms: usize) -> Vec<usize> {
    let mut ran = vec![0; bench.tasks.len()];
    for _ in 0..ms {
        bench.pass(MS);
        for cpu in 0..bench.running.len() {
            if bench.running[cpu].is_some() && bench.online[cpu] {
                ran[bench.run_on(cpu, MS)] += 1;
            }
        }
    }
    ran
}

fn wake_on(bench: &mut Bench, count: usize, cpus: &[usize]) -> Vec<usize> {
    let tasks: Vec<usize> = (0..count).map(|_| bench.pinned(cpus.iter().copied())).collect();
    bench.wake_all(&tasks);
    tasks
}

fn wake_light(bench: &mut Bench, weight: u32, cpus: &[usize]) -> usize {
    let task = bench.pinned(cpus.iter().copied());
    bench.set_weight(task, weight);
    bench.wake(task);
    task
}

/// Milliseconds of the next so many that a task has which comes now.
fn late_has(bench: &mut Bench, cpus: &[usize], ms: usize) -> usize {
    let late = wake_on(bench, 1, cpus)[0];
    run(bench, ms)[late]
}

/// A higher class takes a CPU, and is busy there.
fn take(bench: &mut Bench, cpu: usize) {
    bench.cpu_taken(cpu, true);
    let now_ns = bench.now();
    bench.policy.cpu_idle(&mut bench.world, cpu as u32, false, now_ns);
}

fn near(ran: usize, fair: usize) -> bool {
    ran.abs_diff(fair) <= fair / 5
}

/// Eight tasks have shared two CPUs for 3 s and are 1.1 or 2.2 s behind those on the other two. A task that comes has its share
/// at once, neither nothing nor a CPU for itself: one of 9 parts of two CPUs beside the eight (44 ms), one of 3 or of 5 parts
/// beside two or four others (133, 80 ms). Whether it may run on one of the CPUs or on both, in one memory domain or in two; in
/// one also if it may run on one of each kind, or the others anywhere.
#[test]
fn who_comes_late_has_its_share_beside_tasks_that_fell_behind() {
    const ALL: &[usize] = &[0, 1, 2, 3];
    for (apart, crowded, free) in [
        (false, [0, 1], [2, 3]),
        (false, [2, 3], [0, 1]),
        (true, [0, 1], [2, 3]),
        (true, [2, 3], [0, 1]),
    ] {
        let place = if apart { domains_of_two } else { flat };
        for (others, allowed) in [(2, &free[..]), (2, ALL), (4, ALL)]
            .into_iter()
            .take(if apart { 1 } else { 3 })
        {
            for (late, parts) in [
                (&crowded[..1], 9),
                (&crowded, 9),
                (&[crowded[1], 4], 9),
                (&free[..1], others + 1),
                (&free, others + 1),
                (&[crowded[0], free[0]], others + 1),
            ]
            .into_iter()
            .take(if apart { 5 } else { 6 })
            {
                let mut bench = Bench::new(4, config(), place);
                wake_on(&mut bench, 8, &crowded);
                wake_on(&mut bench, others, allowed);
                run(&mut bench, 3000);
                let ran = late_has(&mut bench, late, 200);
                assert!(
                    near(ran, 400 / parts),
                    "{ran} of {} ms on {late:?}, {crowded:?} crowded, {others} others on {allowed:?}",
                    400 / parts
                );
            }
        }
    }
}

/// CPU 1 has run nothing for 10 s and then is claimed, or comes back from a higher class, or goes online. Who may run there only
/// comes at that moment, and has no 10 s to make up for: of 16 tasks on two CPUs it has an eighth of one.
#[test]
fn a_cpu_that_ran_nothing_does_not_say_how_far_its_tasks_are() {
    let all = Config {
        spare: 0,
        sizing: Sizing::All,
        ..config()
    };
    for case in ["claimed", "taken", "online"] {
        let mut bench = Bench::new(2, all, flat);
        wake_on(&mut bench, 1, &[0]);
        let others = wake_on(&mut bench, 3, &[1]);
        run(&mut bench, 10);
        if case == "claimed" {
            bench.block_all(&others);
        } else {
            let stopped = bench.leave(1, 0, true);
            others
                .into_iter()
                .filter(|&other| other != stopped)
                .for_each(|other| bench.block(other));
        }
        match case {
            "taken" => take(&mut bench, 1),
            "online" => bench.offline(1),
            _ => {}
        }
        run(&mut bench, 10_000);
        let now_ns = bench.now();
        let claims = bench.task();
        match case {
            "claimed" => {
                let (task, app, group) = bench.pointers(claims);
                let placed = unsafe { bench.policy.wake(&mut bench.world, task, app, group, 1, now_ns) };
                assert_eq!(placed, (1, true));
            }
            "online" => {
                bench.online[1] = true;
                bench.policy.cpu_online(&mut bench.world, 1, now_ns);
                bench.wake(claims);
            }
            _ => _ = bench.wake(claims),
        }
        let late = wake_on(&mut bench, 1, &[1])[0];
        let many = bench.tasks(13);
        bench.wake_all(&many);
        if case == "taken" {
            bench.cpu_taken(1, false);
        }
        if bench.running[1].is_none() {
            bench.next(1);
        }
        let ran = run(&mut bench, 4000)[late];
        assert!(near(ran, 500), "{case}: {ran} of 500 ms");
    }
}

/// The two that were ahead sleep, and a higher class has their CPUs. Who comes competes with the crowd of the other two, whether
/// it may run anywhere or on these and one that is taken.
#[test]
fn who_comes_does_not_compete_with_tasks_that_are_gone() {
    for late in [&[0, 1, 2, 3][..], &[0, 1, 2]] {
        let mut bench = Bench::flat(4);
        wake_on(&mut bench, 8, &[0, 1]);
        let ahead = wake_on(&mut bench, 2, &[2, 3]);
        run(&mut bench, 3000);
        bench.block_all(&ahead);
        (2..4).for_each(|cpu| take(&mut bench, cpu));
        let ran = late_has(&mut bench, late, 400);
        assert!(near(ran, 89), "{ran} of 89 ms on {late:?}");
    }
}

/// Green cores run green work only, however far it is.
#[test]
fn who_may_run_on_a_green_core_too_does_not_compete_there() {
    let two = Config {
        green: GreenWork::LowGain,
        spare: 0,
        sizing: Sizing::Fixed,
        fixed_size: 2,
        ..config()
    };
    let mut bench = Bench::new(4, two, flat);
    let (high, green) = (bench.high(), bench.tasks(3));
    for &task in &green {
        bench.tasks[task].speedup_permille = 1100;
    }
    bench.wake_all(&green);
    wake_on(&mut bench, 8, &high);
    run(&mut bench, 3000);
    let green = bench.green()[0];
    let ran = late_has(&mut bench, &[high[0], high[1], green], 400);
    assert!(near(ran, 89), "{ran} of 89 ms");
}

/// A task of nice 19 is bound to CPU 0 beside a crowd, which is behind it. It has a slice once in a cycle of looks, and a task
/// that comes just then does not start as far ahead as it is. Nor does one that comes to the queue in which it waits.
#[test]
fn a_light_task_that_runs_out_of_turn_takes_no_other_ahead() {
    for (late, runs) in [(&[0, 1][..], true), (&[0], false)] {
        let mut bench = Bench::new(3, Config { spare: 0, ..config() }, flat);
        wake_on(&mut bench, 8, &[0, 1]);
        let light = wake_light(&mut bench, 15, &[0]);
        run(&mut bench, 3000);
        while bench.cpu_of(light).is_some() != runs {
            run(&mut bench, 1);
        }
        let ran = late_has(&mut bench, late, 400);
        assert!(near(ran, 80), "{ran} of 80 ms on {late:?}");
    }
}

/// The same where it is overdue and its time is forgiven, which takes it to the clock that two others have moved on.
#[test]
fn an_overdue_task_takes_no_other_ahead() {
    let mut bench = Bench::flat(4);
    wake_on(&mut bench, 80, &[0, 1]);
    wake_on(&mut bench, 2, &[2, 3]);
    run(&mut bench, 1000);
    let light = wake_light(&mut bench, 3, &[0, 1]);
    for waits in [false, true] {
        while bench.cpu_of(light).is_none() == waits {
            run(&mut bench, 1);
        }
    }
    let ran = late_has(&mut bench, &[0, 1], 2000);
    assert!(near(ran, 49), "{ran} of 49 ms");
}

/// Two tasks may run on CPUs 0 and 1, one on CPU 0 only, beside others elsewhere. A third of two CPUs for each: while one of the
/// two has CPU 1 for itself, the bound one waits at CPU 0, so the clock of those elsewhere says nothing about it.
#[test]
fn who_could_have_helped_out_elsewhere_was_not_alone() {
    for weight in [1024, 335, 15] {
        let mut bench = Bench::flat(4);
        wake_on(&mut bench, 2, &[0, 1]);
        (2..4).for_each(|cpu| _ = wake_light(&mut bench, weight, &[cpu]));
        wake_on(&mut bench, 1, &[0]);
        run(&mut bench, 1000);
        let ran = run(&mut bench, 5000);
        let three = [ran[0], ran[1], ran[4]];
        assert!(
            three.iter().all(|&ran| near(ran, 3333)),
            "{three:?} beside weight {weight}"
        );
    }
}

/// One of those that are ahead may run where the crowd is from now on, or one of the crowd where those are. All are in the queue of
/// one domain, before and after.
#[test]
fn who_may_run_elsewhere_now_competes_from_there() {
    for (who, cpus, fair) in [(8, [0, 1], 89), (0, [2, 3], 267)] {
        let mut bench = Bench::flat(4);
        let mut tasks = wake_on(&mut bench, 8, &[0, 1]);
        tasks.extend(wake_on(&mut bench, 2, &[2, 3]));
        run(&mut bench, 3000);
        while bench.cpu_of(tasks[who]).is_none() {
            run(&mut bench, 1);
        }
        bench.set_allowed(tasks[who], cpus);
        let cpu = bench.cpu_of(tasks[who]).expect("it runs");
        bench.run_and_preempt(cpu, MS);
        let ran = run(&mut bench, 400)[tasks[who]];
        assert!(near(ran, fair), "{ran} of {fair} ms on {cpus:?}");
    }
}

/// When the task of CPU 1 is sent to CPU 0, it does not wait for the 2 s that the tasks there are behind, but for a
/// slice of each and what it may owe. When one of those is sent to CPU 1, it does not keep CPU 1 for 2 s.
#[test]
fn a_task_that_changes_queues_competes_from_there() {
    for (who, from, to) in [(3_usize, 1, 0), (0, 0, 1)] {
        let (mut bench, tasks) = two_cpus_apart();
        while bench.cpu_of(tasks[who]) != Some(from) {
            bench.pass(MS);
            bench.run_and_preempt(from, MS);
        }
        bench.set_allowed(tasks[who], [to]);
        bench.run_and_preempt(from, MS);
        let ran = next_200_ms(&mut bench, to);
        let there = if to == 0 { 4 } else { 2 };
        assert!(ran[tasks[who]].abs_diff(200 / there) <= 20, "to CPU {to}: {ran:?}");
    }
}

/// After that one task is alone on CPU 0 while CPU 1 goes ahead: the task that comes from CPU 1 does not make up for
/// it.
#[test]
fn who_runs_alone_is_owed_nothing() {
    let (mut bench, tasks) = two_cpus_apart();
    let mut others = 2;
    while others > 0 {
        bench.pass(MS);
        if bench.running[0] == Some(tasks[0]) {
            bench.run_and_preempt(0, MS);
        } else {
            bench.run_and_block(0, MS);
            others -= 1;
        }
    }
    for _ in 0..10 {
        bench.pass(MS);
        bench.run_and_preempt(0, MS);
    }
    bench.set_allowed(tasks[3], [0]);
    bench.run_and_preempt(1, MS);
    let ran = next_200_ms(&mut bench, 0);
    assert!(ran[tasks[3]].abs_diff(100) <= 20, "{ran:?}");
}

/// Tasks compete with those that wait where they come, and a restricted one with what runs where it may run: at 100 ms tasks wait,
/// and at 1100 ms each CPU runs one. One that comes 1000 ms ahead of these may be two slices of 5 ms ahead. A restricted one
/// of the green set competes with what waits there, since only the high CPUs note what they run.
#[test]
fn who_comes_competes_with_what_waits_or_runs_there() {
    let green = Config {
        green: GreenWork::LowGain,
        sizing: Sizing::Fixed,
        fixed_size: 2,
        ..config()
    };
    for (speedup, allowed, queue, expected_ms) in [
        (2000, &[0, 1, 2][..], 512, 110),
        (2000, &[0, 1], 512, 1110),
        (1100, &[0, 1, 2], 513, 110),
        (1100, &[1, 2], 513, 110),
    ] {
        let mut bench = Bench::new(3, green, flat);
        let tasks = bench.tasks(5);
        for (&task, speedup) in tasks.iter().zip([2000, 2000, 1100, 2000, 1100]) {
            bench.tasks[task].speedup_permille = speedup;
            bench.wake(task);
        }
        assert!(bench.policy.waits(512) && bench.policy.waits(513));
        let queues = &mut bench.owner.sched().queues;
        (queues.front_ns[512], queues.front_ns[513]) = (100 * MS, 100 * MS);
        queues.clock_ns = 1100 * MS;
        queues.started_ns.ns = [1100 * MS; 512];
        let comes = bench.pinned(allowed.iter().copied());
        bench.tasks[comes].speedup_permille = speedup;
        bench.tasks[comes].vtime_ns = 2100 * MS;
        bench.wake(comes);
        assert_eq!(bench.world.queues_of(comes), [queue]);
        assert_eq!(bench.tasks[comes].vtime_ns, expected_ms * MS, "{speedup} {allowed:?}");
    }
}

/// A task that may run on CPUs 1 and 2 only has put the front of the shared queue 100 ms behind. What CPU 0 takes from there is no further
/// behind than the task that it ran, so one that waits for CPU 0 alone, 1 ms behind that, goes first.
#[test]
fn a_task_of_one_cpu_does_not_wait_for_one_that_may_not_run_there() {
    let mut bench = Bench::new(3, Config { spare: 0, ..config() }, flat);
    let tasks = bench.tasks(4);
    for &task in &tasks {
        bench.tasks[task].vtime_ns = 1000 * MS;
    }
    bench.policy_clock_to(tasks[0]);
    bench.wake_all(&tasks);
    let restricted = bench.pinned([0]);
    bench.tasks[restricted].vtime_ns = 999 * MS;
    bench.wake(restricted);
    bench.owner.sched().queues.front_ns[512] = 900 * MS;
    bench.run_and_preempt(0, 5 * MS);
    assert_eq!(bench.running[0], Some(restricted));
}

/// One task waits in the first of two domains, and in the second one that is 1 ms further behind: less than a slice. What CPU 0
/// has alone is nothing, so it compares these two, and takes the one of its domain.
#[test]
fn an_empty_queue_does_not_send_a_cpu_to_another_domain() {
    let mut bench = Bench::new(4, Config { spare: 0, ..config() }, domains_of_two);
    let tasks = bench.tasks(4);
    bench.wake_all(&tasks);
    for (last_cpu, vtime_ms) in [(0, 3), (3, 2)] {
        let task = bench.task();
        bench.last_cpu[task] = last_cpu;
        bench.tasks[task].vtime_ns = vtime_ms * MS;
        bench.wake(task);
    }
    bench.owner.sched().queues.next_queue[0] = 1;
    bench.run_and_block(0, MS);
    assert_eq!(bench.running[0], Some(4));
}
