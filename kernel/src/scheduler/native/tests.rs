use super::*;

/// What the BPF program's types and the native ones do not share would be read at the wrong place.
#[test]
fn the_native_types_are_as_large_as_those_of_the_program() {
    let (sched, config) = unsafe { (lop_loader_sched_size(), lop_loader_config_size()) };
    assert_eq!(sched, std::mem::size_of::<lop_sched>());
    assert_eq!(config, std::mem::size_of::<lop_config>());
    assert_eq!(unsafe { lop_loader_app_size() }, std::mem::size_of::<lop_app>());
}

#[test]
fn the_mirrors_of_planned_threads_are_as_large_as_they() {
    assert_eq!(unsafe { lop_loader_planned_size() }, std::mem::size_of::<Planned>());
    assert_eq!(unsafe { lop_loader_declared_size() }, std::mem::size_of::<Declared>());
}

/// 50 us: 100 of them are 5 ms, less than 10 ms. 200 us: 20 ms.
#[test]
fn hold_is_ten_milliseconds_or_a_hundred_transitions() {
    assert_eq!(default_hold_ns(50_000), 10_000_000);
    assert_eq!(default_hold_ns(200_000), 20_000_000);
}

#[test]
fn times_lie_where_rust_reads_them() {
    let times = times(2_000_000_000);
    assert_eq!((times.hold_ns, times.last_hold_ns), (2_000_000_000, 2_000_000_000));
    assert_eq!((times.slice_min_ns, times.slice_max_ns), (1_000_000, 6_000_000));
    assert_eq!((times.period_ns, times.heat_period_ns), (20_000_000, 180_000_000_000));
    assert_eq!((times.nr_cpus, times.transition_ns, times.hot_mc), (0, 0, 0));
}

/// What each name stands for, and what auto leaves out where there is no choice (policy/config.h, policy/auto.h): without figures of what the
/// machine draws the spare stays, and no domain goes off.
#[test]
fn policies_stand_for_their_rules() {
    let all = PHASES | LONGEST | SPEEDUP | TURNS;
    let (as_come, spread, gather) = (0, 1, 2);
    for (policy, nr_domains, nr_tiers, threads, rules, domains, specialise, spare) in [
        (Policy::SimpleSets(3), 2, 2, 1, 0, as_come, false, 0),
        (Policy::HighLow, 2, 2, 1, 0, as_come, false, 0),
        (Policy::HighLowSpare, 2, 2, 1, 0, as_come, false, 1),
        (Policy::ReservedCore, 2, 2, 1, 0, as_come, false, 0),
        (Policy::Phase, 2, 2, 1, PHASES | TURNS, as_come, false, 0),
        (Policy::LongestFirst, 2, 2, 1, LONGEST, as_come, false, 0),
        (Policy::FairShare, 2, 2, 1, TURNS, as_come, false, 0),
        (Policy::Specialise, 2, 2, 1, SPEEDUP, as_come, true, 0),
        (Policy::Spread, 2, 2, 1, 0, spread, false, 0),
        (Policy::Gather, 2, 2, 1, 0, gather, false, 0),
        (Policy::Auto, 1, 1, 1, 0, as_come, false, 1),
        (Policy::Auto, 2, 1, 1, 0, spread, false, 1),
        (Policy::Auto, 1, 2, 1, all, as_come, true, 1),
        (Policy::Auto, 2, 2, 1, all, spread, true, 1),
        (Policy::Auto, 1, 1, 2, WHOLE, as_come, false, 1),
        (Policy::Auto, 1, 2, 2, all | WHOLE, as_come, true, 1),
    ] {
        let found = choice(policy, nr_domains, nr_tiers, threads);
        let specialises = unsafe { found.specialise.assume_init() };
        assert_eq!(
            (found.rules, found.domains.0, specialises, found.spare),
            (rules, domains, specialise, spare),
            "{policy} with {nr_domains} memory domains, {nr_tiers} kinds and {threads} threads of a core"
        );
        let only_known = unsafe { found.only_known.assume_init() };
        assert_eq!(only_known, policy == Policy::Auto, "{policy}");
    }
    let sizing = |policy| choice(policy, 1, 1, 1).sizing.0;
    assert_eq!(
        [Policy::Auto, Policy::SimpleSets(1), Policy::ReservedCore].map(sizing),
        [0, 1, 2]
    );
}

/// The program's state on a machine of 128 CPUs, where no application declares anything.
fn state(active: u32, spare: u32, fixed_size: Option<u32>) -> Box<lop_sched> {
    let mut sched = Box::<lop_sched>::default();
    sched.nr_open = 128;
    sched.config.sizing = crate::scheduler::program::skeleton::types::lop_sizing(u32::from(fixed_size.is_some()));
    sched.config.fixed_size = fixed_size.unwrap_or(0);
    sched.config.spare = spare;
    sched.set[HIGH].demand = u64::from(active) << 32 | u64::from(active);
    sched
}

/// min(open, active + spare), or the fixed size.
#[test]
fn target_of_the_high_set() {
    for (active, spare, fixed_size, target) in [
        (0, 0, None, 0),
        (0, 1, None, 1),
        (5, 1, None, 6),
        (127, 1, None, 128),
        (300, 1, None, 128),
        (5, 0, Some(3), 3),
        (5, 0, Some(200), 128),
    ] {
        let sched = state(active, spare, fixed_size);
        assert_eq!(
            high_target(&sched),
            target,
            "{active} active, {spare} spare, fixed: {fixed_size:?}"
        );
    }
}

/// min(online, active + spare, cap).
#[test]
fn a_power_cap_bounds_the_target() {
    for (active, most_high, target) in [(1, 4, 2), (5, 4, 4), (300, 4, 4), (300, 500, 128), (5, 0, 6)] {
        let mut sched = state(active, 1, None);
        sched.config.most_high = most_high;
        assert_eq!(high_target(&sched), target, "{active} active, cap {most_high}");
    }
}

/// CPUs 1, 2 and 65 are high; 2, 3 and 65 run something that goes before our tasks. Two of them have to be made up for:
/// 4 active + 1 spare + 2 taken = 7. A fixed size stays.
#[test]
fn members_that_are_taken_are_made_up_for() {
    for (fixed_size, target) in [(None, 7), (Some(3), 3)] {
        let mut sched = state(4, 1, fixed_size);
        sched.set[HIGH].cpus.word[..2].copy_from_slice(&[0b0110, 0b10]);
        sched.taken.word[..2].copy_from_slice(&[0b1100, 0b10]);
        assert_eq!(high_target(&sched), target, "fixed: {fixed_size:?}");
    }
}

extern "C" {
    fn lop_loader_sched_size() -> usize;
    fn lop_loader_config_size() -> usize;
    fn lop_loader_planned_size() -> usize;
    fn lop_loader_declared_size() -> usize;
    fn lop_loader_app_size() -> usize;
}
