// SPDX-License-Identifier: GPL-2.0-only
//! Which parts of a policy can be enforced from user space.

use crate::pace;
use lop_policy::{rules, Config, Named, PolicyName, Reserve};
use std::time::Duration;

/// The policy for the whole machine, where parking CPUs decides how many CPUs run but not which thread runs where. Of `auto`, the sets remain.
///
/// # Errors
/// A sentence: the policy only decides which thread runs where.
pub fn for_machine(chosen: PolicyName) -> Result<PolicyName, String> {
    match chosen.policy {
        Named::Auto => Ok(Named::HighlowSpare.into()),
        policy if policy.config().only_sizes() => Ok(chosen),
        _ => Err(format!(
            "policy '{chosen}' decides which thread runs where, but parking CPUs only decides how many run"
        )),
    }
}

/// Time until the policy can act on what a command does: until a look, or for policies that only make plans, until a thread has been measured.
#[must_use]
pub fn reaction(policy: Named) -> Duration {
    let config = policy.config();
    match config.plans() && !config.only_known {
        true => Duration::from_nanos(2 * lop_policy::PLAN_PERIOD_NS),
        false => pace::REACTION,
    }
}

/// What is lost of these rules by affinity, apart from reaction time; clauses.
pub(crate) fn left_out(config: &Config) -> impl Iterator<Item = &'static str> {
    let lost = [
        (
            config.reserve == Reserve::BySize,
            "the system's own work is not moved to the reserved core",
        ),
        (
            config.rules & rules::PHASES != 0,
            "holders of locks are only known from hints",
        ),
        (
            config.gathers(),
            "a memory domain without work is left empty, with its speeds left to their governor",
        ),
    ];
    lost.into_iter().filter_map(|(is_lost, what)| is_lost.then_some(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parking_says_how_many_run_and_not_who() {
        let simple = PolicyName::simple_sets(4);
        assert_eq!(for_machine(simple), Ok(simple));
        assert_eq!(for_machine(Named::Auto.into()), Ok(Named::HighlowSpare.into()));
        let refused = for_machine(Named::Phase.into()).unwrap_err();
        assert!(
            refused.contains("'phase'") && refused.contains("parking CPUs"),
            "{refused}"
        );
    }
}
