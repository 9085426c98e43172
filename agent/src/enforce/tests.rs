// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::policy::{Asked, CpuPlace, Named};
use lop_machine::counters::{Measured, Source};
use proptest::prelude::*;

/// Threads by number: process, whether it runs, affinity, its hints.
#[derive(Default)]
struct Fake {
    now_ns: u64,
    threads: BTreeMap<u32, (u32, bool, Cpus, Hint)>,
    written: Vec<Cpus>,
    /// They have no record.
    silent: BTreeSet<u32>,
    /// By the file.
    said: BTreeMap<u32, Said>,
    /// The first thread creates the second right after the next look, which so misses it.
    creates: Option<(u32, u32)>,
}

impl World for Fake {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn look(&mut self) -> io::Result<Vec<Seen>> {
        let seen = |(&tid, &(pid, runnable, ..)): (&u32, &(u32, bool, Cpus, Hint))| Seen {
            tid,
            pid,
            started: 1,
            cpu: 0,
            runnable,
        };
        let all = self.threads.iter().map(seen).collect();
        if let Some((parent, child)) = self.creates.take() {
            let inherited = self.threads[&parent];
            self.threads.insert(child, inherited);
        }
        Ok(all)
    }
    fn hint(&mut self, tid: u32) -> Option<Hint> {
        (!self.silent.contains(&tid)).then(|| self.threads[&tid].3)
    }
    fn said_of(&mut self, tid: u32) -> Said {
        self.said.get(&tid).copied().unwrap_or_default()
    }
    fn affinity(&mut self, tid: u32) -> io::Result<Cpus> {
        Ok(self.threads.get(&tid).ok_or(io::ErrorKind::NotFound)?.2)
    }
    fn set_affinity(&mut self, tid: u32, cpus: &Cpus) -> io::Result<()> {
        self.threads.get_mut(&tid).ok_or(io::ErrorKind::NotFound)?.2 = *cpus;
        Ok(())
    }
    fn note_set(&mut self, cpus: &Cpus) -> io::Result<()> {
        self.written.push(*cpus);
        Ok(())
    }
}

impl Fake {
    fn runs(&mut self, tid: u32, runs: bool) {
        let entry = self.threads.entry(tid).or_insert((1, runs, four(), Hint::default()));
        entry.1 = runs;
    }
    fn of(&self, tid: u32) -> String {
        self.threads[&tid].2.to_string()
    }
    fn later(&mut self, enforcer: &mut Enforcer, ms: u64) {
        self.now_ns += ms * 1_000_000;
        enforcer.step(self).unwrap();
    }
}

fn hint(length: u32) -> Hint {
    Hint {
        length,
        ..Hint::default()
    }
}

fn four() -> Cpus {
    (0..4).collect()
}

fn enforcer<const N: usize>(policy: Named, permille: [u16; N]) -> Enforcer {
    planned_enforcer(policy, permille, [0; N], None)
}

fn planned_enforcer<const N: usize>(
    policy: Named,
    permille: [u16; N],
    domains: [u16; N],
    measured: Option<Measured>,
) -> Enforcer {
    let place = |cpu: usize| {
        let place = CpuPlace {
            tier: u16::from(permille[cpu] < 1000),
            next_sibling: cpu as u16,
            permille: permille[cpu],
            memory_domain: domains[cpu],
            node: domains[cpu],
            ..CpuPlace::default()
        };
        (cpu as u32, place)
    };
    let cpus: Vec<_> = (0..N).map(place).collect();
    let all: Cpus = (0..N as u32).collect();
    let config = Asked {
        policy,
        fixed_size: 2,
        spare: None,
        nr_cpus: N as u32,
        nr_memory_domains: u32::from(domains[N - 1]) + 1,
        nr_tiers: 1 + u32::from(permille.iter().any(|&speed| speed < 1000)),
        threads: 1,
        most_high: 0,
        hold_ns: None,
        transition_ns: 0,
        migration_ns: 100_000,
    };
    let planner = measured.map(|measured| Planner::new(measured, 0));
    Enforcer::new(Shadow::new(&config, &cpus, 0), planner, all, all)
}

#[test]
fn threads_have_as_many_cpus_as_want_to_run() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Highlow, [1000; 4]);
    world.runs(10, true);
    world.runs(11, false);
    world.later(&mut enforcer, 1);
    assert_eq!((world.of(10), world.of(11)), ("0".into(), "0".into()));
    world.runs(11, true);
    world.runs(12, true);
    world.later(&mut enforcer, 10);
    assert_eq!((world.of(10), world.of(12)), ("0-2".into(), "0-2".into()));
    world.runs(11, false);
    world.runs(12, false);
    world.later(&mut enforcer, 10);
    assert_eq!(world.of(10), "0-2", "for T_hold");
    world.later(&mut enforcer, 20);
    assert_eq!(world.of(10), "0");
}

#[test]
fn simple_sets_never_change_and_a_spare_is_one_more() {
    let mut world = Fake::default();
    world.runs(10, true);
    enforcer(Named::SimpleSets, [1000; 4]).step(&mut world).unwrap();
    assert_eq!(world.of(10), "0-1");
    let mut world = Fake::default();
    world.runs(10, true);
    enforcer(Named::HighlowSpare, [1000; 4]).step(&mut world).unwrap();
    assert_eq!(world.of(10), "0-1");
}

#[test]
fn one_core_is_kept_from_applications() {
    let mut world = Fake::default();
    (10..16).for_each(|tid| world.runs(tid, true));
    enforcer(Named::ReservedCore, [1000; 4]).step(&mut world).unwrap();
    let cpus = Cpus::parse(&world.of(10)).unwrap();
    assert_eq!(cpus.iter().count(), 3);
    assert!((10..16).all(|tid| world.of(tid) == world.of(10)));
}

#[test]
fn what_a_thread_chose_for_itself_is_kept_and_what_it_inherited_is_not() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Highlow, [1000; 4]);
    world.runs(10, true);
    world.later(&mut enforcer, 1);
    let two = Cpus::parse("2-3").unwrap();
    let inherited = world.threads[&10].2;
    world.threads.insert(11, (1, true, two, Hint::default()));
    world.threads.insert(12, (1, true, inherited, Hint::default()));
    world.later(&mut enforcer, 10);
    assert!(
        Cpus::parse(&world.of(11)).unwrap().without(&two).is_empty(),
        "{}",
        world.of(11)
    );
    assert_eq!(Cpus::parse(&world.of(12)).unwrap().iter().count(), 3);
    // It sets its own affinity while it runs.
    world.threads.get_mut(&12).unwrap().2 = Cpus::parse("3").unwrap();
    world.runs(10, false);
    world.later(&mut enforcer, 10);
    world.later(&mut enforcer, 20);
    assert_eq!(world.of(12), "3");
    enforcer.restore(&mut world);
    assert_eq!(
        (world.of(10), world.of(11), world.of(12)),
        ("0-3".into(), "2-3".into(), "3".into())
    );
}

/// The runtime of an OpenMP program binds its first thread to each CPU in turn, then sets what it found. If the agent meets the thread meanwhile, it is
/// in turn on the fast CPU nevertheless.
#[test]
fn a_choice_that_was_for_a_moment_is_none() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Phase, [1000, 500]);
    let both: Cpus = (0..2).collect();
    let slow = std::iter::once(1).collect();
    enforcer.home = both;
    world.threads.insert(10, (1, true, slow, Hint::default()));
    world.later(&mut enforcer, 1);
    assert_eq!(world.of(10), "1");
    world.threads.get_mut(&10).unwrap().2 = both;
    world.threads.insert(11, (1, true, both, Hint::default()));
    let mut had_fast = BTreeSet::new();
    for _ in 0..300 {
        world.later(&mut enforcer, 10);
        had_fast.extend([10, 11].into_iter().filter(|&tid| world.of(tid) == "0"));
    }
    assert_eq!(had_fast, [10, 11].into());
    enforcer.restore(&mut world);
    assert_eq!((world.of(10), world.of(11)), ("0-1".into(), "0-1".into()));
}

#[test]
fn the_longest_thread_has_the_fast_cpu_and_others_the_rest() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::LongestFirst, [500, 500, 500, 1000]);
    for (tid, length) in [(10, 3), (11, 9), (12, 8)] {
        world.threads.insert(tid, (1, true, four(), hint(length)));
    }
    world.later(&mut enforcer, 1);
    assert_eq!(world.of(11), "3");
    for tid in [10, 12] {
        assert!(!Cpus::parse(&world.of(tid)).unwrap().has(3), "{tid}: {}", world.of(tid));
    }
    assert!(!world.written.is_empty() && world.written.iter().all(|set| !set.is_empty()));
    // It ends after 90 ms, so a unit is 10 ms. The next longest has done 45 of its 80 on a slow CPU, and moves to the fast one for the rest.
    world.later(&mut enforcer, 89);
    world.threads.remove(&11);
    world.later(&mut enforcer, 1);
    world.later(&mut enforcer, 30);
    assert_eq!(world.of(12), "3");
}

#[test]
fn after_a_second_of_nothing_no_cpu_is_kept_from_anybody() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Highlow, [1000; 4]);
    world.runs(10, true);
    world.later(&mut enforcer, 1);
    world.runs(10, false);
    world.later(&mut enforcer, 10);
    assert_eq!(world.of(10), "0");
    world.later(&mut enforcer, 1100);
    assert_eq!(world.of(10), "0-3");
}

/// As `matmul` runs: one thread begins, creates two, and waits. Their lengths are read one look after they are seen, in either order.
#[test]
fn lengths_that_are_heard_late_count_from_then_on() {
    for first_hinted in [11, 12] {
        let mut world = Fake::default();
        let mut enforcer = enforcer(Named::LongestFirst, [1000, 500]);
        let both = Cpus::parse("0-1").unwrap();
        world.threads.insert(10, (10, true, both, hint(0)));
        world.later(&mut enforcer, 1);
        assert_eq!(world.of(10), "0");
        world.later(&mut enforcer, 20);
        world.threads.get_mut(&10).unwrap().1 = false;
        let inherited = world.threads[&10].2;
        for tid in [11, 12] {
            world.threads.insert(tid, (10, true, inherited, hint(0)));
        }
        world.later(&mut enforcer, 20);
        let length = |tid| if tid == 11 { 400 } else { 800 };
        world.threads.get_mut(&first_hinted).unwrap().3 = hint(length(first_hinted));
        world.later(&mut enforcer, 20);
        for tid in [11, 12] {
            world.threads.get_mut(&tid).unwrap().3 = hint(length(tid));
        }
        for _ in 0..4 {
            world.later(&mut enforcer, 20);
        }
        assert_eq!(
            (world.of(11), world.of(12)),
            ("1".into(), "0".into()),
            "{first_hinted} first"
        );
        // The short one still ends first, and the long one stays.
        world.threads.remove(&11);
        world.later(&mut enforcer, 20);
        assert_eq!(world.of(12), "0");
    }
}

/// Thread 11 is created after the last look of the run, and 12 after the first look of the restore, each with the one CPU of its parent.
#[test]
fn who_is_created_behind_the_last_look_is_freed_too() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Highlow, [1000; 4]);
    world.runs(10, true);
    world.later(&mut enforcer, 1);
    assert_eq!(world.of(10), "0");
    let inherited = world.threads[&10];
    world.threads.insert(11, inherited);
    world.threads.remove(&10);
    world.creates = Some((11, 12));
    enforcer.restore(&mut world);
    assert_eq!((world.of(11), world.of(12)), ("0-3".into(), "0-3".into()));
}

/// Misses per million instructions of each thread, as counters would report them each second.
struct Counted(BTreeMap<u32, u64>);

impl Source for Counted {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        Some((*self.0.get(&thread)?, 1_000_000))
    }
    fn keep(&mut self, _: &dyn Fn(u32) -> bool) {}
}

fn counted<const N: usize>(mpmi: [(u32, u64); N]) -> Option<Measured> {
    Some(Measured::by_counters(Box::new(Counted(mpmi.into())), false, "a record"))
}

/// Looks every 20 ms.
fn for_ms(world: &mut Fake, enforcer: &mut Enforcer, ms: u64) {
    (0..ms / 20).for_each(|_| world.later(enforcer, 20));
}

const TWO_DOMAINS: [u16; 4] = [0, 0, 1, 1];

/// The threads by domain; each must have the CPUs of one domain only.
fn by_domain(world: &Fake, tids: impl IntoIterator<Item = u32>) -> [Vec<u32>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for tid in tids {
        let cpus = Cpus::parse(&world.of(tid)).unwrap();
        let domains: BTreeSet<u32> = cpus.iter().map(|cpu| cpu / 2).collect();
        assert_eq!(domains.len(), 1, "{tid} may run in two domains, on {cpus}");
        domains.iter().for_each(|&domain| found[domain as usize].push(tid));
    }
    found
}

/// 30 MPKI twice and 0.05 MPKI twice: each domain gets one of each, wherever they began. A second passes before anything is measured.
#[test]
fn spread_keeps_intensive_threads_in_domains_of_their_own() {
    let mut world = Fake::default();
    let measured = counted([(10, 30_000), (11, 30_000), (12, 50), (13, 50)]);
    let mut enforcer = planned_enforcer(Named::Spread, [1000; 4], TWO_DOMAINS, measured);
    for tid in 10..14 {
        world.runs(tid, true);
        world.later(&mut enforcer, 1);
    }
    assert_eq!(world.of(10), "0-3");
    for_ms(&mut world, &mut enforcer, 1100);
    let found = by_domain(&world, 10..14);
    for domain in &found {
        let intensive = domain.iter().filter(|tid| **tid < 12).count();
        assert_eq!((intensive, domain.len()), (1, 2), "{found:?}");
    }
    // This stays the same, even after a pause.
    world.runs(10, false);
    for_ms(&mut world, &mut enforcer, 100);
    world.runs(10, true);
    for_ms(&mut world, &mut enforcer, 2000);
    assert_eq!(by_domain(&world, 10..14), found);
    enforcer.restore(&mut world);
    assert_eq!(world.of(10), "0-3");
}

/// Hints replace counters that are missing.
#[test]
fn spread_goes_by_what_threads_declare_where_nothing_is_counted() {
    let mut world = Fake::default();
    let measured = Some(Measured::by_none("none here", "a record"));
    let mut enforcer = planned_enforcer(Named::Spread, [1000; 4], TWO_DOMAINS, measured);
    for (tid, memory) in [(10, 3), (11, 3), (12, 1), (13, 1)] {
        let hint = Hint { memory, ..hint(0) };
        world.threads.insert(tid, (1, true, four(), hint));
        world.later(&mut enforcer, 1);
    }
    for_ms(&mut world, &mut enforcer, 1100);
    for domain in by_domain(&world, 10..14) {
        assert_eq!(domain.iter().filter(|tid| **tid < 12).count(), 1);
    }
}

/// Of two of the threads it says what they say nothing of, and of one the opposite of what that says.
#[test]
fn spread_goes_by_a_file_where_threads_say_nothing_themselves() {
    let qos = r#"{ "a": { "profile": "MEMORY_BOUND", "thread_profile": { "computes": "COMPUTE_BOUND" } } }"#;
    let qos = crate::qos::Qos::parse("qos.json", qos).unwrap();
    let [intensive, computes] = ["a", "computes"].map(|name| qos.of("a", name));
    let mut world = Fake::default();
    let measured = Some(Measured::by_none("none here", "a record"));
    let mut enforcer = planned_enforcer(Named::Spread, [1000; 4], TWO_DOMAINS, measured);
    world.silent.extend([10, 12]);
    for (tid, memory, said) in [
        (10, 0, intensive),
        (11, 3, computes),
        (12, 0, computes),
        (13, 1, intensive),
    ] {
        let hint = Hint { memory, ..hint(0) };
        world.threads.insert(tid, (1, true, four(), hint));
        world.said.insert(tid, said);
        world.later(&mut enforcer, 1);
    }
    for_ms(&mut world, &mut enforcer, 1100);
    for domain in by_domain(&world, 10..14) {
        assert_eq!(domain.iter().filter(|tid| **tid < 12).count(), 1);
    }
}

/// Two threads that hardly use memory fit one domain, and a new one may run there too. A third and a fourth that use much open the other domain. Each is a
/// program, since threads of one would be on one node.
#[test]
fn gather_leaves_a_domain_empty_until_it_pays() {
    let mut world = Fake::default();
    for tid in 10..14 {
        world.threads.insert(tid, (tid, false, four(), hint(0)));
    }
    let measured = counted([(10, 50), (11, 50), (12, 30_000), (13, 30_000)]);
    let mut enforcer = planned_enforcer(Named::Gather, [1000; 4], TWO_DOMAINS, measured);
    world.runs(10, true);
    world.runs(11, true);
    world.later(&mut enforcer, 1);
    assert_eq!(world.of(10), "0,2", "nothing is known yet");
    for_ms(&mut world, &mut enforcer, 3100);
    let found = by_domain(&world, 10..12);
    assert!(found.iter().any(Vec::is_empty), "{found:?}");
    world.runs(12, true);
    world.runs(13, true);
    for_ms(&mut world, &mut enforcer, 3100);
    let found = by_domain(&world, 10..14);
    let intensive = found
        .clone()
        .map(|domain| domain.iter().filter(|tid| **tid >= 12).count());
    assert_eq!(intensive, [1, 1], "{found:?}");
    (11..14).for_each(|tid| world.runs(tid, false));
    for_ms(&mut world, &mut enforcer, 3100);
    (10..14).for_each(|tid| world.runs(tid, false));
    for_ms(&mut world, &mut enforcer, 2100);
    world.runs(10, true);
    world.runs(11, true);
    world.later(&mut enforcer, 20);
    let domains: BTreeSet<u32> = Cpus::parse(&world.of(10)).unwrap().iter().map(|cpu| cpu / 2).collect();
    assert_eq!(domains.len(), 2, "after a second of nothing no plan holds");
}

/// The thread that only computes gets the fast CPU, although the one that waits for memory was there first.
#[test]
fn specialise_gives_the_fast_cpu_to_who_gains_most() {
    let mut world = Fake::default();
    let measured = counted([(10, 30_000), (11, 50)]);
    let mut enforcer = planned_enforcer(Named::Specialise, [1000, 500], [0; 2], measured);
    let two = Cpus::parse("0-1").unwrap();
    for tid in [10, 11] {
        world.threads.insert(tid, (tid, true, two, hint(0)));
        world.later(&mut enforcer, 20);
    }
    assert_eq!((world.of(10), world.of(11)), ("0".into(), "1".into()));
    for_ms(&mut world, &mut enforcer, 2100);
    assert_eq!((world.of(10), world.of(11)), ("1".into(), "0".into()));
}

/// On two kinds of cores `auto` does both.
#[test]
fn auto_plans_where_the_machine_has_a_choice() {
    let mut world = Fake::default();
    let measured = counted([(10, 30_000), (11, 50)]);
    let mut enforcer = planned_enforcer(Named::Auto, [1000, 500], [0, 1], measured);
    let two = Cpus::parse("0-1").unwrap();
    for tid in [10, 11] {
        world.threads.insert(tid, (tid, true, two, hint(0)));
        world.later(&mut enforcer, 20);
    }
    for_ms(&mut world, &mut enforcer, 4100);
    assert_eq!((world.of(10), world.of(11)), ("1".into(), "0".into()));
}

/// Its CPU stays in the set while it spins there (policy/sets/sets.h: members leave when they are idle), but it asks for none.
#[test]
fn who_spins_keeps_a_cpu_and_counts_for_none() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Highlow, [1000; 4]);
    world.runs(10, true);
    world.runs(11, true);
    world.later(&mut enforcer, 1);
    world.threads.get_mut(&11).unwrap().3.flags = 1;
    world.later(&mut enforcer, 100);
    assert_eq!((enforcer.active(), world.of(10)), (1, "0-1".into()));
    world.runs(12, true);
    world.later(&mut enforcer, 10);
    assert_eq!((enforcer.active(), world.of(12)), (2, "0-1".into()));
    world.threads.get_mut(&11).unwrap().3.flags = 0;
    world.later(&mut enforcer, 10);
    assert_eq!((enforcer.active(), world.of(12)), (3, "0-2".into()));
}

/// The declaration of another thread stands when one gives its record back, sets its own affinity, or has another length.
#[test]
fn only_a_declaration_takes_the_place_of_another() {
    let mut world = Fake::default();
    let mut enforcer = enforcer(Named::Highlow, [1000; 4]);
    let declares =
        |world: &mut Fake, tid, parallelism| world.threads.get_mut(&tid).unwrap().3.parallelism = parallelism;
    world.runs(10, true);
    world.runs(11, false);
    world.runs(12, false);
    world.later(&mut enforcer, 1);
    for tid in [11, 12] {
        declares(&mut world, tid, 4);
        world.later(&mut enforcer, 20);
    }
    declares(&mut world, 10, 2);
    let stands = |world: &mut Fake, enforcer: &mut Enforcer, what: &str| {
        for _ in 0..3 {
            world.later(enforcer, 20);
        }
        assert_eq!(Cpus::parse(&world.of(10)).unwrap().iter().count(), 2, "{what}");
    };
    stands(&mut world, &mut enforcer, "the last one");
    world.silent.insert(11);
    stands(&mut world, &mut enforcer, "a record was given back");
    world.threads.get_mut(&12).unwrap().3.length = 7;
    stands(&mut world, &mut enforcer, "another length");
    world.threads.get_mut(&12).unwrap().2 = std::iter::once(3).collect();
    stands(&mut world, &mut enforcer, "another affinity");
    assert_eq!(world.of(12), "3");
    world.threads.remove(&12);
    stands(&mut world, &mut enforcer, "an end");
}

/// What a thread says at a look: whether it runs, and its hints.
fn lies() -> impl Strategy<Value = (u32, bool, Hint)> {
    (0..6u32, any::<bool>(), 0..16u32, any::<(u32, u32, u8)>()).prop_map(
        |(tid, runs, flags, (length, parallelism, memory))| {
            let hint = Hint {
                flags,
                length,
                parallelism,
                memory,
            };
            (tid, runs, hint)
        },
    )
}

proptest! {
    /// The policy's own assertions hold, and each thread has CPUs that it may use.
    #[test]
    fn whatever_threads_say_each_has_cpus(
        policy in prop::sample::select(vec![Named::Highlow, Named::Phase, Named::LongestFirst, Named::Spread, Named::Auto]),
        said in prop::collection::vec((lies(), 0..300u64), 1..60),
    ) {
        let mut world = Fake::default();
        let mut enforcer = planned_enforcer(policy, [1000, 1000, 500, 500], [0, 0, 1, 1], counted([]));
        for ((tid, runs, hint), ms) in said {
            world.runs(tid, runs);
            let thread = world.threads.get_mut(&tid).unwrap();
            (thread.0, thread.3) = (tid / 3, hint);
            world.later(&mut enforcer, ms);
            prop_assert!(world.threads.values().all(|thread| !thread.2.is_empty() && thread.2.without(&four()).is_empty()));
            prop_assert!(enforcer.active() <= 6);
        }
    }
}
