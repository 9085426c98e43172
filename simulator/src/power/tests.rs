// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use lop_machine::{steady_power_w, Activity};
use proptest::prelude::*;
use proptest::sample::Index;

/// A core of the machine, in a state that it can have.
fn state_of(machine: &Machine, core: usize, opp: Index, state: Index) -> lop_machine::CoreState {
    let cpus: Vec<_> = machine
        .cpus
        .iter()
        .filter(|cpu| usize::from(cpu.core) == core)
        .collect();
    let kind = &machine.kinds[usize::from(cpus[0].kind)];
    let (opp, idle_states) = (opp.index(kind.opps.len()), kind.idle_states.len());
    let activity = match state.index(idle_states + cpus.len()) {
        n if n < idle_states => Activity::Idle(n),
        n => Activity::Busy(n - idle_states + 1),
    };
    lop_machine::CoreState { opp, activity }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Cells that are flushed when something changes, beside a plain sum of steady powers over all the time in between. The model rounds the watts of each core
    /// to microwatts, so it may be off by two of these for each core and ns.
    #[test]
    fn energy_is_the_sum_of_steady_powers(
        (name, has_idle_watts) in prop_oneof![Just(("phenom-9750", true)), Just(("laptop-hybrid", true)), Just(("laptop-hybrid", false))],
        changes in prop::collection::vec((any::<Index>(), any::<Index>(), any::<Index>(), 0..2_000_000u64), 1..60),
    ) {
        let mut machine = lop_machine::load(name, &[]).unwrap();
        let states = machine.kinds.iter_mut().flat_map(|kind| &mut kind.idle_states);
        states.filter(|_| !has_idle_watts).for_each(|state| state.power_uw = None);
        let mut power = PowerModel::new(&machine);
        let rest = lop_machine::CoreState { opp: 0, activity: Activity::Idle(0) };
        let mut cores = vec![rest; machine.nr_cores];
        let beside_uw = (machine.base_uw + machine.dram.idle_uw) as f64;
        let (mut now_ns, mut expected_fj) = (0, 0.0);
        for (core, opp, state, passed_ns) in changes {
            expected_fj += (steady_power_w(&machine, &cores) * 1e6 - beside_uw) * passed_ns as f64;
            now_ns += passed_ns;
            let core = core.index(cores.len());
            cores[core] = state_of(&machine, core, opp, state);
            let state = match cores[core].activity {
                Activity::Idle(n) => CoreState::Idle(n),
                Activity::Busy(n) => CoreState::Busy(n),
            };
            power.set_core(core, cores[core].opp, state, now_ns);
        }
        let (cores_fj, domains_fj) = power.energies_fj(now_ns);
        let found_fj: u128 = cores_fj.iter().chain(&domains_fj).sum();
        let most_fj = (2 * cores.len() as u64 * now_ns) as f64 + 1.0;
        prop_assert!((found_fj as f64 - expected_fj).abs() <= most_fj, "{found_fj} fJ, expected {expected_fj}");
    }
}
