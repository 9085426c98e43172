// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use lop_machine::counters::Source;
use lop_policy::{Domains, MemoryClass, Named};
use std::mem::MaybeUninit;

const S: u64 = 1_000_000_000;

/// A thread without any known properties.
impl Default for Look {
    fn default() -> Self {
        // A C struct of integers.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}

/// Two memory domains, each a node: CPUs 0 and 1, and CPUs 2 and 3, which are slower.
fn machine(domains: Domains) -> Box<Sched> {
    let mut sched = Box::<Sched>::default();
    sched.config.domains = domains;
    sched.config.rules = if domains == Domains::AsCome { rules::SPEEDUP } else { 0 };
    let top = &mut sched.topology;
    (top.nr_memory_domains, top.nr_nodes, top.nr_tiers) = (2, 2, 2);
    top.tier_permille[..2].copy_from_slice(&[1000, 500]);
    top.cpus.word[0] = 0b1111;
    for cpu in 0..4_u16 {
        let at = usize::from(cpu);
        (top.memory_domain[at], top.node[at], top.tier[at]) = (cpu / 2, cpu / 2, cpu / 2);
        top.next_sibling[at] = cpu;
        top.memory_cpus[at / 2].word[0] |= 1 << cpu;
    }
    sched.open.word[0] = 0b1111;
    sched.nr_open = 4;
    sched
}

/// The same with cores of one speed: between kinds that differ spread balances nothing.
fn of_one_speed(domains: Domains) -> Box<Sched> {
    let mut sched = machine(domains);
    sched.topology.tier_permille[1] = 1000;
    sched
}

/// A thread that has run for `ran_s` in total.
fn look(thread: u32, cpu: i32, memory: u32, ran_s: u64) -> Look {
    Look {
        thread,
        cpu,
        memory,
        ran_ns: ran_s * S,
        waited_ns: 0,
        home: NONE,
        ..Look::default()
    }
}

const VERY_LOW: u32 = MemoryClass::VeryLow as u32;
const INTENSIVE: u32 = MemoryClass::Intensive as u32;

fn by_class() -> Planner {
    Planner::with(Measured::by_none("no counters here", "lop hint --memory"))
}

/// Looks at threads (number, CPU, class) that run all the time, once at the beginning and then once a second. Returns the last orders.
fn orders(planner: &mut Planner, sched: &Sched, threads: &[(u32, i32, u32)], seconds: u64) -> Vec<Order> {
    let mut last = Vec::new();
    for second in 0..=seconds {
        let looks: Vec<Look> = threads
            .iter()
            .map(|&(thread, cpu, memory)| look(thread, cpu, memory, second))
            .collect();
        last = planner.follow(&looks, sched, (10 + second) * S);
    }
    last
}

/// Both intensive threads in the first domain, both of very low intensity in the second: one of each changes.
#[test]
fn spread_sends_intensive_threads_apart() {
    let sched = of_one_speed(Domains::Spread);
    let mut planner = by_class();
    let threads = [
        (7, 0, INTENSIVE),
        (8, 1, INTENSIVE),
        (9, 2, VERY_LOW),
        (10, 3, VERY_LOW),
    ];
    assert_eq!(
        orders(&mut planner, &sched, &threads, 0),
        [],
        "the first look takes a baseline"
    );
    let given = planner.follow(
        &threads.map(|(thread, cpu, memory)| look(thread, cpu, memory, 1)),
        &sched,
        11 * S,
    );
    let domain = |thread| {
        let of = |order: &Order| match order {
            Order::Domain { thread: of, domain } if *of == thread => Some(*domain),
            _ => None,
        };
        given.iter().find_map(of).unwrap()
    };
    assert_ne!(domain(7), domain(8), "{given:?}");
    assert_ne!(domain(9), domain(10), "{given:?}");
    assert!(planner.describe()[1].starts_with("4 threads in the last plan, 4 of them declared; 2 moves"));
}

/// Two threads of very low intensity, in a domain each: one domain suffices, and the other is switched off. After they have ended, it is on again.
#[test]
fn gather_switches_a_domain_off_and_back_on() {
    let mut sched = machine(Domains::Gather);
    let mut planner = by_class();
    let given = orders(&mut planner, &sched, &[(7, 0, VERY_LOW), (8, 2, VERY_LOW)], 1);
    let off = given.iter().find_map(|order| match order {
        Order::Off { domain } => Some(*domain),
        _ => None,
    });
    let domain = off.unwrap_or_else(|| panic!("no domain is off: {given:?}"));
    assert_eq!(given.last(), Some(&Order::Off { domain }), "last: {given:?}");
    sched.off.word[0] = 0b11 << (2 * domain);
    let given = planner.follow(&[], &sched, 12 * S);
    assert_eq!(given, [Order::On { domain }, Order::Rest]);
    assert!(planner.rests());
}

/// SF of an intensive thread (10 MPKI wait half of the time) is 1.5, of one of very low intensity 2; of the others nothing is known.
#[test]
fn specialise_tells_what_threads_gain() {
    let sched = machine(Domains::AsCome);
    let mut planner = by_class();
    let gains = |thread, permille| Order::Speedup { thread, permille };
    let threads = [(7, 0, INTENSIVE), (8, 2, VERY_LOW), (9, 1, 0), (10, 3, 0)];
    assert_eq!(
        orders(&mut planner, &sched, &threads, 1),
        [gains(7, 1500), gains(8, 1996)]
    );
    let later = [look(7, 2, INTENSIVE, 2), look(8, 0, VERY_LOW, 2)];
    assert_eq!(planner.follow(&later, &sched, 12 * S), [], "nothing has changed");
    let unsaid = [look(7, 2, 0, 3), look(8, 0, VERY_LOW, 3)];
    assert_eq!(planner.follow(&unsaid, &sched, 13 * S), [gains(7, 0)]);
    assert_eq!(planner.follow(&unsaid, &sched, 14 * S), [gains(8, 0), Order::Rest]);
    assert!(planner.rests());
}

/// Without the rule by gain no order has it.
#[test]
fn spread_tells_no_gain() {
    let sched = of_one_speed(Domains::Spread);
    let given = orders(&mut by_class(), &sched, &[(7, 0, INTENSIVE), (8, 1, VERY_LOW)], 1);
    let tells = given.iter().any(|order| matches!(order, Order::Speedup { .. }));
    assert!(!given.is_empty() && !tells, "{given:?}");
}

#[test]
fn without_counters_and_classes_it_rests_and_takes_back_what_it_said() {
    let sched = machine(Domains::Spread);
    let mut planner = by_class();
    planner.wake();
    assert!(planner.is_due());
    let said = orders(&mut planner, &sched, &[(7, 0, INTENSIVE), (8, 1, INTENSIVE)], 1);
    assert!(!planner.rests() && !said.is_empty());
    let looks = [look(7, 0, INTENSIVE, 1), look(8, 1, INTENSIVE, 1), look(9, 0, 0, 1)];
    let mut given = planner.follow(&looks, &sched, 12 * S);
    given.sort_by_key(|order| format!("{order:?}"));
    let none = |thread| Order::Domain { thread, domain: NONE };
    assert_eq!(given, [none(7), none(8), Order::Rest]);
    assert!(planner.rests() && planner.due_in().is_none());
    assert!(planner.describe()[0].contains("no counters here"));
}

/// Misses and instructions in each second, as counters reported them.
struct Recorded(HashMap<u32, Vec<(u64, u64)>>);

impl Source for Recorded {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        let readings = self.0.get_mut(&thread)?;
        (!readings.is_empty()).then(|| readings.remove(0))
    }

    fn keep(&mut self, lives: &dyn Fn(u32) -> bool) {
        self.0.retain(|&thread, _| lives(thread));
    }
}

/// 20 MPKI twice and 0.05 MPKI twice: counters distinguish them just as declarations do. One reading of a second is enough.
#[test]
fn counters_tell_threads_apart_where_nothing_is_declared() {
    let sched = of_one_speed(Domains::Spread);
    let readings = |misses| vec![(misses, 1_000_000_000); 3];
    let recorded = [(7, 20_000_000), (8, 20_000_000), (9, 50_000), (10, 50_000)];
    let recorded = recorded
        .into_iter()
        .map(|(thread, misses)| (thread, readings(misses)))
        .collect();
    let mut planner = Planner::with(Measured::by_counters(
        Box::new(Recorded(recorded)),
        false,
        "lop hint --memory",
    ));
    let given = orders(&mut planner, &sched, &[(7, 0, 0), (8, 1, 0), (9, 2, 0), (10, 3, 0)], 1);
    let of = |wanted| {
        given
            .iter()
            .filter(|order| matches!(order, Order::Domain { thread: 7 | 8, domain } if *domain == wanted))
            .count()
    };
    assert_eq!((of(0), of(1)), (1, 1), "{given:?}");
    assert!(planner.describe()[0].starts_with("intensity of each thread from the CPU's counters"));
}

/// The declaration of thread 8 is withdrawn while 7 is still planned, so it loses its domain. A thread that hardly runs is not planned.
#[test]
fn who_is_planned_no_more_may_run_in_any_domain() {
    let mut sched = machine(Domains::Spread);
    sched.config.only_known = true;
    let mut planner = by_class();
    orders(&mut planner, &sched, &[(7, 0, INTENSIVE), (8, 1, INTENSIVE)], 1);
    assert_ne!(planner.known[&8].told, NONE);
    let looks = [look(7, 0, INTENSIVE, 2), look(8, 1, 0, 2)];
    let given = planner.follow(&looks, &sched, 12 * S);
    assert!(
        given.contains(&Order::Domain {
            thread: 8,
            domain: NONE
        }),
        "{given:?}"
    );
    let hardly = Look {
        ran_ns: 2 * S + S / 200,
        ..look(7, 0, INTENSIVE, 2)
    };
    planner.follow(&[hardly, look(8, 1, 0, 2)], &sched, 13 * S);
    assert!(planner.rests());
}

#[test]
fn a_class_of_a_later_version_is_not_said() {
    let sched = machine(Domains::Spread);
    let mut planner = by_class();
    orders(&mut planner, &sched, &[(7, 0, INTENSIVE + 1), (8, 1, 300)], 1);
    assert!(planner.rests());
}

#[test]
fn a_number_that_another_thread_has_now_counts_anew() {
    let sched = machine(Domains::Spread);
    let mut planner = by_class();
    planner.follow(&[look(7, 0, VERY_LOW, 100)], &sched, 10 * S);
    planner.follow(&[look(7, 0, VERY_LOW, 0)], &sched, 11 * S);
    assert!(planner.rests(), "it has not run yet");
    planner.wake();
    planner.follow(&[look(7, 0, VERY_LOW, 5)], &sched, 12 * S);
    planner.follow(&[look(7, 0, VERY_LOW, 6)], &sched, 13 * S);
    assert_eq!(planner.known[&7].planned.active_ns, S);
}

#[test]
fn a_machine_without_a_choice_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let cpus = root.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&cpus).unwrap();
    std::fs::write(cpus.join("present"), "0-1\n").unwrap();
    std::fs::write(cpus.join("online"), "0-1\n").unwrap();
    let machine = lop_machine::live::read(root.path()).unwrap();
    for (policy, what) in [
        (Named::Spread.into(), "one memory domain"),
        (Named::Gather.into(), "one memory domain"),
        (Named::Specialise.into(), "one kind of core"),
    ] {
        let refused = check(policy, &machine).unwrap_err().to_string();
        assert!(
            refused.contains(what) && refused.contains("take highlow-spare"),
            "{refused}"
        );
    }
    assert_eq!(check(Named::HighlowSpare.into(), &machine), Ok(()));
}
