// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use std::mem::MaybeUninit;

const MS: u64 = 1_000_000;

/// A thread without any known properties.
impl Default for Look {
    fn default() -> Self {
        // A C struct of integers.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}

/// CPU 0 is twice as fast as the others.
fn machine(cpus: u32) -> Box<Sched> {
    let mut sched = Box::<Sched>::default();
    sched.config.migration_ns = 20_000;
    let top = &mut sched.topology;
    top.nr_tiers = 2;
    top.tier_permille[..2].copy_from_slice(&[1000, 500]);
    for cpu in 0..cpus as usize {
        top.tier[cpu] = u16::from(cpu > 0);
        top.cpus.word[0] |= 1 << cpu;
    }
    sched.open = top.cpus;
    sched.nr_open = cpus;
    sched
}

/// Room for two applications. A unit of length takes this long on the fast CPU; 0: not known.
fn apps(unit_ns: u64) -> Vec<lop_app_state> {
    let mut about = lop_app_state::default();
    about.app.unit_ns = unit_ns;
    vec![about, about]
}

/// A thread of the first application that waits for its first turn.
fn look(thread: u32, length: u32) -> Look {
    Look {
        thread,
        length,
        app: 1,
        began_ns: u64::from(thread),
        ..Look::default()
    }
}

fn looks(lengths: &[u32]) -> Vec<Look> {
    (1..)
        .zip(lengths)
        .map(|(thread, &length)| look(thread, length))
        .collect()
}

fn to(thread: u32, cpu: i32) -> Order {
    Order::List { thread, cpu }
}

fn orders(looks: &[Look], sched: &Sched) -> Vec<Order> {
    Lister::default().follow(looks, sched, &apps(0))
}

/// Carries out orders.
fn told(looks: &mut [Look], orders: &[Order]) {
    for order in orders {
        let Order::List { thread, cpu } = *order else {
            panic!("{order:?} is not an order of lists");
        };
        let look = looks.iter_mut().find(|look| look.thread == thread).unwrap();
        look.listed = (cpu + 1) as u32;
    }
}

/// The example of list.h: 6, 5, 4 and 3 on cores of speed 1 and 1/2. A look need not be in the order of creation, which decides between equals.
#[test]
fn the_next_longest_waits_where_it_would_be_done_first() {
    let mut threads = looks(&[6, 5, 4, 3]);
    let expected = [to(1, 0), to(2, 1), to(3, 0), to(4, 0)];
    assert_eq!(orders(&threads, &machine(2)), expected);
    threads.reverse();
    assert_eq!(orders(&threads, &machine(2)), expected);
    let mut equal = looks(&[4, 4, 4]);
    (equal[0].began_ns, equal[2].began_ns) = (3, 1);
    assert_eq!(orders(&equal, &machine(2)), [to(3, 0), to(2, 0), to(1, 1)]);
}

#[test]
fn as_many_threads_as_cpus_need_no_list_and_come_off_theirs() {
    let mut lister = Lister::default();
    let mut threads = looks(&[6, 5, 4]);
    let sched = machine(2);
    let given = lister.follow(&threads, &sched, &apps(0));
    assert_eq!(given.len(), 3);
    assert!(
        lister.describe().starts_with("lists: 3 threads of 1 application wait"),
        "{}",
        lister.describe()
    );
    told(&mut threads, &given);
    assert_eq!(
        lister.follow(&threads, &sched, &apps(0)),
        [],
        "all orders were given already"
    );
    threads.remove(0);
    assert_eq!(lister.follow(&threads, &sched, &apps(0)), [to(2, NONE), to(3, NONE)]);
    assert!(lister.describe().starts_with("no lists: "), "{}", lister.describe());
}

/// An offline CPU and the reserved one do not count: two of four CPUs are left for three threads.
#[test]
fn cpus_that_run_no_applications_are_on_no_list() {
    let mut sched = machine(4);
    let threads = looks(&[6, 5, 4]);
    assert_eq!(orders(&threads, &sched), []);
    sched.open.word[0] &= !0b10;
    assert_eq!(orders(&threads, &sched), []);
    sched.reserved.exists = true;
    (sched.reserved.cpu, sched.reserved.cpus.word[0]) = (0, 0b1);
    assert_eq!(orders(&threads, &sched), [to(1, 2), to(2, 3), to(3, 3)]);
}

/// A thread that may not run everywhere, or is about to end, has length 0 in a look. Without it, there is a CPU for each thread.
#[test]
fn who_does_not_fit_a_list_any_more_comes_off_it() {
    let mut threads = looks(&[6, 5, 4, 3]);
    let sched = machine(2);
    let given = orders(&threads, &sched);
    told(&mut threads, &given);
    threads[0].length = 0;
    let given = orders(&threads, &sched);
    assert_eq!(given.last(), Some(&to(1, NONE)), "{given:?}");
    assert!(
        given[..given.len() - 1]
            .iter()
            .all(|order| matches!(order, Order::List { cpu, .. } if *cpu >= 0)),
        "{given:?}"
    );
    threads[0].app = 0;
    assert_eq!(
        orders(&threads[..1], &sched),
        [to(1, NONE)],
        "nor does a thread without an application"
    );
}

#[test]
fn applications_have_lists_of_their_own() {
    let mut threads = looks(&[6, 5, 4, 3, 2]);
    threads[3].app = 2;
    threads[4].app = 2;
    let mut lister = Lister::default();
    assert_eq!(
        lister.follow(&threads, &machine(2), &apps(0)),
        [to(1, 0), to(2, 1), to(3, 0)],
        "two threads have a CPU each"
    );
    threads.push(look(6, 1));
    threads[5].app = 2;
    assert_eq!(lister.follow(&threads, &machine(2), &apps(0)).len(), 6);
    assert!(
        lister.describe().starts_with("lists: 6 threads of 2 applications"),
        "{}",
        lister.describe()
    );
}

/// 8 and 4 ms on CPU 1 and 2 ms on CPU 0, which is twice as fast: done after 24 ms. With a new list (8 and 2 on CPU 0, 4 on CPU 1), after 10 ms. Once the
/// two on CPU 1 only have 0.1 and 0.05 ms left, the gain is less than ten migrations of 20 us.
#[test]
fn running_threads_change_cpus_for_ten_migrations_or_more() {
    let (sched, apps) = (machine(2), apps(MS));
    let mut threads = looks(&[8, 4, 2]);
    for (look, cpu) in threads.iter_mut().zip([1, 1, 0]) {
        (look.listed, look.cpu) = (cpu + 1, cpu as i32);
    }
    let mut lister = Lister::default();
    assert_eq!(lister.follow(&threads, &sched, &apps), [to(1, 0)]);
    for (look, done_ns) in threads.iter_mut().zip([7_900_000, 3_950_000, 1_990_000]) {
        look.done_ns = done_ns;
    }
    assert_eq!(lister.follow(&threads, &sched, &apps), []);
}

/// An idle CPU took the thread, which should continue where the list has it.
#[test]
fn who_runs_elsewhere_is_told_again() {
    let sched = machine(2);
    let mut threads = looks(&[6, 5, 4]);
    let given = orders(&threads, &sched);
    told(&mut threads, &given);
    (threads[0].runs, threads[0].cpu) = (1, 0);
    assert_eq!(orders(&threads, &sched), []);
    let apps = apps(MS);
    (threads[1].runs, threads[1].cpu) = (1, 0);
    (threads[0].runs, threads[0].cpu) = (1, 1);
    assert_eq!(
        Lister::default().follow(&threads, &sched, &apps),
        [to(1, 0), to(2, 1)],
        "the same list"
    );
}

/// The first list is made at once. Others come after a pause that counts from the end of the last look: 20 ms, or 20 times what that look took.
#[test]
fn a_program_that_creates_threads_without_end_costs_a_bounded_share() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut lister = Lister::default();
    assert_eq!(lister.due_in(at(0)), None);
    // Each look begins as soon as it may: when it began, when it ended, and when the next one is due.
    for (begins, ends, next) in [(0, 0, 20), (20, 21, 41), (41, 51, 251), (251, 252, 272)] {
        lister.wake(at(begins));
        assert!(lister.is_due(at(begins)));
        lister.begin();
        assert_eq!(lister.due_in(at(begins)), None, "nobody has asked again");
        lister.end(at(begins), at(ends));
        lister.wake(at(ends));
        assert_eq!(lister.due_in(at(ends)), Some(Duration::from_millis(next - ends)));
        assert!(!lister.is_due(at(next - 1)));
    }
}
