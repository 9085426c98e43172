// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whatever happens, in whatever order: no task is lost, no count is wrong, every task runs.

use crate::bench::{config, point, Bench, HOLD, LAST_HOLD, MS};
use lop_policy::{hint_flags, role, Config, CpuPlace, GreenWork, Point, Reserve, Set};
use proptest::prelude::*;
use std::collections::BTreeSet;

const CPUS: usize = 8;
/// LOP_HOME_ENDS_NS of pace.h.
const HOME_ENDS: u64 = 10_000 * MS;
const TASKS: usize = 12;

#[derive(Debug, Clone)]
enum Event {
    Wake(usize),
    /// A clock wakes a task that needs this share of a core, and has been steady.
    Clock(usize, u32),
    Block(usize),
    Preempt(usize),
    Offline(usize),
    Online(usize),
    Affinity(usize, u8),
    /// Binds a task to the isolated CPUs, if there are any.
    Bind(usize),
    Declare(usize, u32),
    Spin(usize),
    /// The owner of a task says that nobody waits for it, or does so no longer.
    Owner(usize),
    /// It hints that others wait for it, or no longer do.
    Awaited(usize),
    Heat(usize),
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..TASKS).prop_map(Event::Wake),
        3 => (0..TASKS, 0..800u32).prop_map(|(task, need)| Event::Clock(task, need)),
        5 => (0..TASKS).prop_map(Event::Block),
        5 => (0..CPUS).prop_map(Event::Preempt),
        1 => (1..CPUS).prop_map(Event::Offline),
        1 => (1..CPUS).prop_map(Event::Online),
        1 => (0..TASKS, any::<u8>()).prop_map(|(task, cpus)| Event::Affinity(task, cpus | 1)),
        1 => (0..TASKS).prop_map(Event::Bind),
        1 => (0..2usize, 0..6u32).prop_map(|(app, parallelism)| Event::Declare(app, parallelism)),
        1 => (0..TASKS).prop_map(Event::Spin),
        2 => (0..TASKS).prop_map(Event::Owner),
        1 => (0..TASKS).prop_map(Event::Awaited),
        1 => (0..CPUS).prop_map(Event::Heat),
        3 => prop_oneof![Just(MS), Just(HOLD - 1), Just(HOLD), Just(200 * LAST_HOLD)].prop_map(Event::Pass),
    ]
}

/// None, one, or two of different nodes, kinds and cores.
fn isolated() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![]), Just(vec![3]), Just(vec![3, 6])]
}

/// What is green, and whether light work has the homes.
fn green() -> impl Strategy<Value = (GreenWork, bool)> {
    use GreenWork::{LowGain, None, Paced};
    prop_oneof![
        Just((None, false)),
        Just((LowGain, false)),
        Just((Paced, false)),
        Just((Paced, true))
    ]
}

/// Cheaper than the fast kind at full speed are its half, and the slow kind.
fn points() -> [Point; 4] {
    [
        point(0, 1000, 1000, 16_000),
        point(0, 500, 500, 5_000),
        point(1, 1000, 400, 2_000),
        point(1, 500, 200, 800),
    ]
}

/// Two nodes of two SMT cores each; one clock and one voltage domain per node.
fn place(cpu: usize) -> CpuPlace {
    CpuPlace {
        tier: u16::from(cpu >= 6),
        clock_domain: (cpu / 4) as u16,
        voltage_domain: (cpu / 4) as u16,
        memory_domain: (cpu / 4) as u16,
        node: (cpu / 4) as u16,
        socket: (cpu / 4) as u16,
        permille: 0,
        next_sibling: (cpu ^ 1) as u16,
    }
}

struct Story {
    bench: Bench,
    runnable: BTreeSet<usize>,
    spinning: BTreeSet<usize>,
    /// Power cap; 0: none.
    most_high: u32,
    /// A rule decides which tasks get the fast cores.
    ranks: bool,
    /// Isolated CPUs; they stay online.
    isolated: Vec<usize>,
    /// Tasks that came to the reserved CPU or an isolated one when they could run nowhere else. They stay there until
    /// they are placed again.
    stale: BTreeSet<usize>,
}

impl Story {
    fn new(
        spare: u32,
        most_high: u32,
        (green, light): (GreenWork, bool),
        rules: u32,
        reserve: Reserve,
        isolated: &[usize],
    ) -> Self {
        let mut bench = Bench::isolating(
            isolated,
            CPUS,
            Config {
                spare,
                most_high,
                green,
                light,
                rules,
                migration_ns: MS / 50,
                grace_ns: HOLD,
                turn_ns: 2 * HOLD,
                reserve,
                ..config().with_ladder(&points())
            },
            place,
        );
        let apps = [bench.app(0), bench.app(2)];
        let group = bench.group(200);
        for n in 0..TASKS {
            let task = match n % 3 {
                2 => bench.task(),
                app => bench.task_of(apps[app]),
            };
            bench.group_of[task] = (n % 4 == 0).then_some(group);
            bench.tasks[task].speedup_permille = if n % 5 == 0 { 1100 } else { 1800 };
            bench.tasks[task].system = n % 6 == 1;
        }
        Self {
            bench,
            runnable: BTreeSet::new(),
            spinning: BTreeSet::new(),
            most_high,
            ranks: rules != 0,
            isolated: isolated.to_vec(),
            stale: BTreeSet::new(),
        }
    }

    fn happen(&mut self, event: &Event) {
        let here = [self.at_reserved(), self.at_isolated()].concat();
        self.stale.retain(|task| here.contains(task));
        if matches!(event, Event::Online(_) | Event::Affinity(..) | Event::Bind(_)) {
            self.stale.extend(here);
        }
        match *event {
            Event::Affinity(task, cpus) => self.change_affinity(task, cpus),
            Event::Bind(task) if !self.isolated.is_empty() => {
                let cpus = self.isolated.iter().fold(0, |cpus, cpu| cpus | 1 << cpu);
                self.change_affinity(task, cpus);
            }
            Event::Offline(cpu) if self.isolated.contains(&cpu) => {}
            _ => self.happen_otherwise(event),
        }
    }

    fn change_affinity(&mut self, task: usize, cpus: u8) {
        let bench = &mut self.bench;
        let waits = self.runnable.contains(&task) && bench.cpu_of(task).is_none();
        if waits {
            bench.take_out(task);
        }
        bench.set_allowed(task, (0..CPUS).filter(|cpu| cpus >> cpu & 1 == 1));
        // A kernel moves a running task off a CPU that it may no longer use.
        let misplaced = bench.cpu_of(task).filter(|&cpu| cpus >> cpu & 1 == 0);
        if let Some(cpu) = misplaced.filter(|_| !self.spinning.contains(&task)) {
            bench.run_and_preempt(cpu, 0);
        }
        if waits {
            bench.wake(task);
        }
    }

    fn happen_otherwise(&mut self, event: &Event) {
        let bench = &mut self.bench;
        match *event {
            Event::Wake(task) if !self.runnable.contains(&task) => {
                self.runnable.insert(task);
                bench.wake(task);
            }
            Event::Clock(task, need_permille) if !self.runnable.contains(&task) => {
                self.runnable.insert(task);
                let now_ns = bench.now();
                let about = &mut bench.tasks[task];
                about.clock_ns = now_ns;
                if about.pace.home == 0 {
                    (about.pace.clock_ns, about.pace.interval_ns) = (now_ns - 100 * MS, 100 * MS);
                    (about.pace.steady, about.pace.need_permille, about.pace.not_before_ns) = (8, need_permille, 0);
                }
                bench.wake(task);
            }
            Event::Block(task) if self.runnable.remove(&task) => {
                self.spinning.remove(&task);
                bench.block(task);
                self.check_cap();
            }
            Event::Preempt(cpu) if bench.running[cpu].is_some_and(|task| !self.spinning.contains(&task)) => {
                bench.pass(MS);
                if bench.running[cpu].is_some_and(|task| !self.spinning.contains(&task)) {
                    bench.run_and_preempt(cpu, MS);
                }
            }
            Event::Offline(cpu)
                if bench.online[cpu] && bench.running[cpu].is_none_or(|task| !self.spinning.contains(&task)) =>
            {
                bench.offline(cpu);
            }
            Event::Online(cpu) if !bench.online[cpu] => bench.online(cpu),
            Event::Declare(app, parallelism) => bench.declare(app, parallelism),
            Event::Spin(task) if bench.cpu_of(task).is_some() => {
                let spins = self.spinning.insert(task) || !self.spinning.remove(&task);
                bench.spin(task, spins);
            }
            Event::Owner(task) => bench.tasks[task].nobody_waits ^= true,
            Event::Awaited(task) => {
                let flags = bench.tasks[task].hint.flags & !hint_flags::SPINNING;
                bench.set_hints(task, flags ^ hint_flags::SEQUENTIAL);
            }
            Event::Heat(cpu) => {
                bench
                    .world
                    .temperature_mc
                    .insert(cpu as u32, 30_000 + 7_000 * (bench.now() % 10) as i32);
                let now_ns = bench.now();
                bench.policy.rotate_heat(&mut bench.world, now_ns);
                bench.follow_kicks();
            }
            Event::Pass(ns) => bench.pass(ns),
            _ => {}
        }
    }

    fn check(&self) {
        self.check_tasks();
        self.check_sets();
        self.check_homes();
        self.check_reserved();
        self.check_isolated();
        self.check_topology();
    }

    /// Each runnable task is on one CPU or in one queue; only these count as active.
    fn check_tasks(&self) {
        let bench = &self.bench;
        for task in 0..TASKS {
            let places = bench.running.iter().filter(|&&running| running == Some(task)).count()
                + bench.world.queues_of(task).len();
            assert_eq!(places, usize::from(self.runnable.contains(&task)), "task {task}");
        }
        let active = self.runnable.len() - self.spinning.len();
        let counted: u32 = [Set::Low, Set::High, Set::Green]
            .map(|set| bench.policy.active(set))
            .iter()
            .sum();
        assert_eq!(counted as usize, active);
        let in_group = self.runnable.iter().filter(|&&task| bench.group_of[task].is_some());
        assert_eq!(
            bench.groups[0].active_weight(),
            in_group.map(|&task| bench.tasks[task].weight).sum::<u32>(),
            "its runnable tasks, spinning or not"
        );
        for role in [
            role::ORDINARY,
            role::RESERVED,
            role::AT_HOME,
            role::BACKGROUND,
            role::LOW_GAIN,
        ] {
            let of_role = bench
                .tasks
                .iter()
                .filter(|task| task.counted && u32::from(task.role) == role);
            assert_eq!(
                of_role.count(),
                bench.policy.active[role as usize] as u32 as usize,
                "role {role}"
            );
        }
        let of_apps: u32 = bench.apps.iter().map(|app| app.active()).sum();
        assert!(of_apps as usize <= active);
        if self.ranks {
            self.check_running();
        }
    }

    /// What an application records of where its active tasks run.
    fn check_running(&self) {
        let bench = &self.bench;
        for (number, app) in bench.apps.iter().enumerate() {
            let cpus: Vec<usize> = (0..CPUS)
                .filter(|&cpu| {
                    bench.running[cpu]
                        .is_some_and(|task| bench.app_of[task] == Some(number) && bench.tasks[task].counted)
                })
                .collect();
            let sum: usize = cpus.iter().sum();
            assert_eq!(
                app.running,
                (cpus.len() as u64) << 32 | sum as u64,
                "application {number} on {cpus:?}"
            );
        }
    }

    fn check_sets(&self) {
        let bench = &self.bench;
        let inside = bench.policy;
        let (high, green) = (bench.high(), bench.green());
        assert_eq!(
            (high.len(), green.len()),
            (bench.size() as usize, bench.policy.size(Set::Green) as usize)
        );
        assert!(
            high.iter().all(|cpu| !green.contains(cpu)),
            "in both sets: {high:?} {green:?}"
        );
        assert!(
            high.iter().chain(&green).all(|&cpu| bench.online[cpu]),
            "an offline member"
        );
        assert_eq!(
            inside.nr_open as usize,
            bench.online.iter().filter(|&&online| online).count() - self.isolated.len()
        );
        assert!(bench.size() >= bench.target(), "growth is never left for later");
        assert!(
            inside.config.green != GreenWork::Paced || inside.size(Set::Green) >= inside.target(Set::Green),
            "nor is that of the green set"
        );
        for cpu in 0..CPUS {
            let idle = bench.online[cpu] && bench.running[cpu].is_none();
            assert_eq!(inside.idle.has(cpu), idle, "CPU {cpu} is idle or claimed");
        }
        let pinned = inside.set[Set::High as usize]
            .pinned
            .cpus()
            .into_iter()
            .chain(inside.set[Set::Green as usize].pinned.cpus());
        for cpu in pinned.filter(|&cpu| bench.online[cpu]) {
            assert!(high.contains(&cpu) || green.contains(&cpu), "CPU {cpu} is counted on");
        }
    }

    /// Homes are the pinned CPUs of the green set, each with the tasks that know it and what they count for.
    fn check_homes(&self) {
        let (bench, inside) = (&self.bench, self.bench.policy);
        if inside.config.green != GreenWork::Paced {
            return;
        }
        let homes = inside.set[Set::Green as usize].pinned.cpus();
        assert_eq!(inside.pace.nr_homes as usize, homes.len());
        for cpu in 0..CPUS {
            let lives = |task: &&lop_policy::Task| {
                let knows = inside.config.light || task.pace.epoch == inside.pace.epoch[cpu];
                task.pace.home as usize == cpu + 1 && knows
            };
            let (count, load) = (bench.tasks.iter().filter(lives)).fold((0, 0), |(count, load), task| {
                (count + 1, load + task.pace.taken_permille)
            });
            assert_eq!(
                (inside.pace.tasks[cpu], inside.pace.load_permille[cpu]),
                (count, load),
                "CPU {cpu}"
            );
            // Light tasks count where they are until they sleep, whether or not that is a home still.
            assert!(count > 0 || !homes.contains(&cpu), "CPU {cpu}: {homes:?}");
            assert!(
                count == 0 || inside.config.light || homes.contains(&cpu),
                "CPU {cpu}: {homes:?}"
            );
        }
    }

    /// Once the sets have settled, only members that pinned tasks count on are beyond the cap.
    fn check_cap(&self) {
        let reserved = u32::from(self.bench.policy.reserved().0.is_some());
        let most = self.most_high.saturating_sub(reserved).max(1) as usize;
        let (high, pinned) = (self.bench.high(), self.bench.policy.set[Set::High as usize].pinned);
        let fits = self.most_high == 0 || high.len() <= most || high.iter().all(|&cpu| pinned.has(cpu));
        assert!(fits, "{high:?} with a cap of {}", self.most_high);
    }

    /// The reserved CPU is no member. Beside the system's own work it runs and keeps only tasks that may run nowhere
    /// else.
    fn check_reserved(&self) {
        let bench = &self.bench;
        let Some(cpu) = bench.policy.reserved().0 else {
            return;
        };
        let cpu = cpu as usize;
        assert!(bench.online[cpu]);
        assert!(!bench.high().contains(&cpu) && !bench.green().contains(&cpu));
        for task in self.at_reserved() {
            let mut others = (0..CPUS).filter(|&other| other != cpu && bench.online[other]);
            let elsewhere = others.any(|other| bench.world.allowed[task].is_none_or(|cpus| cpus.has(other)));
            let may = bench.tasks[task].system || !elsewhere || self.stale.contains(&task);
            assert!(may, "task {task} on the reserved CPU");
        }
    }

    /// Isolated CPUs are high only while a task counts on them, are not reserved, and run and keep only tasks that may
    /// run nowhere else.
    fn check_isolated(&self) {
        let bench = &self.bench;
        let pinned = bench.policy.set[Set::High as usize].pinned;
        for &cpu in &self.isolated {
            let counts = pinned.has(cpu) || self.at(&[cpu]).iter().any(|task| self.stale.contains(task));
            assert!(!bench.high().contains(&cpu) || counts, "CPU {cpu} is high");
            assert_ne!(bench.policy.reserved().0, Some(cpu as u32));
        }
        for task in self.at_isolated() {
            let mut others = (0..CPUS).filter(|cpu| !self.isolated.contains(cpu));
            let elsewhere = others.any(|other| bench.world.allowed[task].is_none_or(|cpus| cpus.has(other)));
            assert!(
                !elsewhere || self.stale.contains(&task),
                "task {task} on an isolated CPU"
            );
        }
    }

    /// Tasks on the reserved CPU or in its queue.
    fn at_reserved(&self) -> Vec<usize> {
        let cpu = self.bench.policy.reserved().0.map(|cpu| cpu as usize);
        self.at(cpu.as_slice())
    }

    fn at_isolated(&self) -> Vec<usize> {
        self.at(&self.isolated)
    }

    fn at(&self, cpus: &[usize]) -> Vec<usize> {
        let bench = &self.bench;
        let waits_at = |task, cpu: usize| bench.world.queues_of(task).contains(&(cpu as u32));
        let is_at = |task, cpu| bench.cpu_of(task) == Some(cpu) || waits_at(task, cpu);
        let here = |&task: &usize| cpus.iter().any(|&cpu| is_at(task, cpu));
        (0..TASKS).filter(here).collect()
    }

    fn check_topology(&self) {
        let bench = &self.bench;
        let inside = bench.policy;
        let high = bench.high();
        for domain in 0..2 {
            let members = high.iter().filter(|&&cpu| cpu / 4 == domain).count() as u32;
            assert_eq!(bench.policy.membership.clock_high[domain], members);
            assert_eq!(bench.policy.membership.voltage_high[domain], members);
            assert_eq!(bench.policy.membership.node_high[domain], members);
            for cpu in domain * 4..domain * 4 + 4 {
                assert_eq!(inside.membership.warm.has(cpu), members > 0);
            }
        }
        for cpu in 0..CPUS {
            assert_eq!(
                inside.membership.beside_high.has(cpu),
                high.contains(&(cpu ^ 1)),
                "beside high: {cpu}"
            );
            assert_eq!(
                inside.beside_busy.has(cpu),
                bench.running[cpu ^ 1].is_some(),
                "beside busy: {cpu}"
            );
        }
    }

    /// All tasks block: the sets shrink to their targets, and no timer is left.
    fn come_to_rest(&mut self) {
        for task in std::mem::take(&mut self.runnable) {
            self.bench.block(task);
        }
        self.spinning.clear();
        self.bench.all_leave_home();
        self.bench.pass(2 * LAST_HOLD);
        // The last look at homes may still be ahead, though all are closed.
        self.bench.pass(HOME_ENDS);
        self.check();
        let inside = self.bench.policy;
        // What light work left stays green.
        let green = inside.size(Set::Green) * u32::from(!inside.config.light);
        assert_eq!((self.bench.size(), green), (self.bench.target(), 0));
        assert_eq!((self.bench.world.timer_at_ns, inside.timer_at_ns), (None, 0));
        let counts = &inside.membership;
        assert_eq!((inside.undeclared(), counts.declared_sum), (0, 0));
        assert_eq!((counts.nr_declared, counts.over_declared), (0, 0));
        assert_eq!(
            (
                inside.set[Set::High as usize].pinned.cpus(),
                inside.set[Set::Green as usize].pinned.cpus()
            ),
            (vec![], vec![])
        );
        assert_eq!(self.bench.groups[0].active_weight(), 0);
        assert_eq!(
            (inside.fast.claimed.cpus(), inside.queues.given.cpus()),
            (vec![], vec![])
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sets_counts_and_queues_stay_consistent(
        spare in 0..3u32,
        most_high in 0..6u32,
        green in green(),
        rules in 0..16u32,
        reserve in prop_oneof![Just(Reserve::Never), Just(Reserve::Asked)],
        isolated in isolated(),
        events in prop::collection::vec(event(), 1..150),
    ) {
        let mut story = Story::new(spare, most_high, green, rules, reserve, &isolated);
        for event in &events {
            story.happen(event);
            story.check();
        }
        story.come_to_rest();
    }

    /// After any beginning, all CPUs go on in slices of 1 ms, and within a bound every runnable task has run. A task
    /// may have to wait until each of the others has used its credit and its debt (15 slices at most), and for five
    /// queues to be served, each once in LOP_ASK_CYCLE (61).
    #[test]
    fn every_runnable_task_runs_within_a_bound(
        spare in 0..2u32,
        green in green(),
        rules in 0..16u32,
        reserve in prop_oneof![Just(Reserve::Never), Just(Reserve::Asked)],
        isolated in isolated(),
        events in prop::collection::vec(event(), 1..100),
    ) {
        let mut story = Story::new(spare, 0, green, rules, reserve, &isolated);
        for event in &events {
            story.happen(event);
        }
        let spinning = std::mem::take(&mut story.spinning);
        for task in spinning {
            story.bench.spin(task, false);
        }
        let mut waiting = story.runnable.clone();
        for _ in 0..61 * 5 + 15 * TASKS {
            for cpu in 0..CPUS {
                if let Some(task) = story.bench.running[cpu] {
                    waiting.remove(&task);
                    story.bench.pass(MS / CPUS as u64);
                }
                // A rule may have sent it elsewhere meanwhile.
                if story.bench.running[cpu].is_some() {
                    story.bench.run_and_preempt(cpu, MS);
                }
            }
        }
        prop_assert!(waiting.is_empty(), "left behind: {waiting:?}");
    }
}
