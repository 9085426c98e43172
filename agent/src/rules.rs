// SPDX-License-Identifier: GPL-2.0-only
//! Which parts of a policy can be enforced from user space.

use crate::{pace, plan};
use lop_policy::{Named, PolicyName};
use std::time::Duration;

/// The policy for the whole machine, where parking CPUs decides how many CPUs run but not which thread runs where. Of `auto`, the sets remain.
///
/// # Errors
/// A sentence: the policy only decides which thread runs where.
pub fn for_machine(chosen: PolicyName) -> Result<PolicyName, String> {
    match chosen.policy {
        Named::SimpleSets | Named::Highlow | Named::HighlowSpare => Ok(chosen),
        Named::Auto => Ok(Named::HighlowSpare.into()),
        _ => Err(format!(
            "policy '{chosen}' decides which thread runs where, but parking CPUs only decides how many run"
        )),
    }
}

/// Time until the policy can act on what a command does: until a look, or for policies that only make plans, until a thread has been measured.
#[must_use]
pub fn reaction(policy: Named) -> Duration {
    match policy != Named::Auto && policy.config().plans() {
        true => plan::PERIOD * 2,
        false => pace::REACTION,
    }
}

/// What is lost of the policy by affinity, apart from reaction time; `None`: nothing.
pub(crate) fn left_out(policy: Named) -> Option<&'static str> {
    match policy {
        Named::ReservedCore => Some("the system's own work is not moved to the reserved core"),
        Named::Phase | Named::Auto => Some("holders of locks are only seen if they say so"),
        Named::Gather => Some("a memory domain without work is left empty, with its speeds left to their governor"),
        _ => None,
    }
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
