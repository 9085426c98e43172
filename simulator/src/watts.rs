// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the policy believes that the machine draws. The simulated machine draws what its file says, whatever the policy is told: so the price of not
//! knowing it is a figure.

use crate::random::Stream;
use lop_machine::{costs, Machine};
use lop_policy::{Config, Goal, Named};
use std::borrow::Cow;
use std::str::FromStr;

/// `--set policy.watts=`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Watts {
    /// Those of the machine.
    #[default]
    Measured,
    /// Those of busy cores, as a kernel's energy model has them; the rest is estimated, see [`costs::modelled`].
    Model,
    /// From the speeds of its cores alone, see [`costs::estimated`].
    Estimate,
    /// None, as in the kernel where no driver lists frequencies.
    Unknown,
    /// Each of the machine's, by a factor of its own from 0.7 to 1.3 that follows from this seed.
    Varied(u64),
}

impl FromStr for Watts {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "measured, model, estimate, none or varied:SEED, as varied:1";
        match text {
            "measured" => Ok(Self::Measured),
            "model" => Ok(Self::Model),
            "estimate" => Ok(Self::Estimate),
            "none" => Ok(Self::Unknown),
            _ => {
                let seed = text.strip_prefix("varied:").and_then(|seed| seed.parse().ok());
                seed.map(Self::Varied).ok_or(expected)
            }
        }
    }
}

impl Watts {
    /// The machine as the policy takes it to be; `None` if it knows no watts.
    pub(crate) fn believed(self, machine: &Machine) -> Option<Cow<'_, Machine>> {
        match self {
            Self::Measured => Some(Cow::Borrowed(machine)),
            Self::Model => Some(Cow::Owned(costs::modelled(machine))),
            Self::Estimate => Some(Cow::Owned(costs::estimated(machine))),
            Self::Varied(seed) => Some(Cow::Owned(varied(machine, seed))),
            Self::Unknown => None,
        }
    }

    /// The configuration that the policy's name stands for on this machine, if its watts are taken for these.
    pub(crate) fn config(self, policy: Named, goal: Goal, hold_ns: u64, machine: &Machine) -> Config {
        if let Some(believed) = self.believed(machine) {
            return match self {
                Self::Model | Self::Estimate => costs::config_of_guess(policy, goal, hold_ns, &believed),
                _ => costs::config(policy, goal, hold_ns, &believed),
            };
        }
        let shape = costs::traits(machine, goal);
        Config::on_unmeasured(
            policy,
            goal,
            hold_ns,
            shape.nr_memory_domains,
            shape.nr_tiers,
            shape.threads_per_core,
        )
    }
}

fn varied(machine: &Machine, seed: u64) -> Machine {
    let mut stream = Stream::new(seed);
    let mut vary = |uw: &mut u64| *uw = (u128::from(*uw) * u128::from(700 + stream.below(601)) / 1000) as u64;
    let mut machine = machine.clone();
    vary(&mut machine.base_uw);
    for kind in &mut machine.kinds {
        for opp in &mut kind.opps {
            vary(&mut opp.idle_uw);
            vary(&mut opp.busy_uw);
            vary(&mut opp.domain_uw);
        }
        kind.idle_states
            .iter_mut()
            .filter_map(|state| state.power_uw.as_mut())
            .for_each(&mut vary);
    }
    if let Some(park) = &mut machine.park {
        vary(&mut park.power_uw);
        park.domain_uw.iter_mut().for_each(&mut vary);
    }
    machine
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        lop_machine::load("laptop-hybrid", &[]).unwrap()
    }

    #[test]
    fn each_watt_is_off_by_thirty_percent_at_most() {
        let (machine, other) = (machine(), varied(&machine(), 7));
        let all = |machine: &Machine| {
            let opps = machine.kinds.iter().flat_map(|kind| &kind.opps);
            let of_opps = opps.flat_map(|opp| [opp.idle_uw, opp.busy_uw, opp.domain_uw]);
            of_opps.chain([machine.base_uw]).collect::<Vec<_>>()
        };
        let pairs: Vec<_> = all(&machine).into_iter().zip(all(&other)).collect();
        assert!(
            pairs
                .iter()
                .all(|&(was, is)| 10 * is + 10 >= 7 * was && 10 * is <= 13 * was),
            "{pairs:?}"
        );
        assert!(pairs.iter().filter(|(was, is)| was != is).count() > pairs.len() / 2);
        assert_eq!(varied(&machine, 7), other, "one seed, one machine");
        assert_ne!(varied(&machine, 8), other);
    }

    #[test]
    fn without_watts_auto_is_what_the_kernel_has_without_frequencies() {
        let [measured, unknown] = [Watts::Measured, Watts::Unknown]
            .map(|watts| watts.config(Named::Auto, Goal::Balanced, 10_000_000, &machine()));
        assert_eq!((measured.spare, unknown.spare), (0, 1));
        assert_eq!((unknown.nr_rungs, unknown.room, unknown.power.core_mw), (0, true, 0));
        assert_eq!(unknown.last_hold_ns, 1_000_000_000);
        assert_eq!(unknown.rules, measured.rules);
    }

    #[test]
    fn names_are_read() {
        assert_eq!("varied:12".parse(), Ok(Watts::Varied(12)));
        assert_eq!("model".parse(), Ok(Watts::Model));
        assert_eq!("estimate".parse(), Ok(Watts::Estimate));
        assert!("varied".parse::<Watts>().is_err() && "varied:x".parse::<Watts>().is_err());
    }
}
