// SPDX-License-Identifier: GPL-2.0-only
//! Policies as they can be enforced from user space.

use crate::{pace, plan};
use lop_policy::{Named, PolicyName};
use std::time::Duration;

/// What the whole machine can have of it by parking CPUs: how many CPUs, and not who runs on which. `auto` is its sets alone.
///
/// # Errors
/// A sentence: all of the policy is about who runs where.
pub fn for_machine(chosen: PolicyName) -> Result<PolicyName, String> {
    match chosen.policy {
        Named::SimpleSets | Named::Highlow | Named::HighlowSpare => Ok(chosen),
        Named::Auto => Ok(Named::HighlowSpare.into()),
        _ => Err(format!(
            "policy '{chosen}' says which thread runs where, and parking CPUs says only how many run"
        )),
    }
}

/// Time that passes before it can act on what a command does: a look, or for those that only make plans as many of them as a thread has to be measured for.
#[must_use]
pub fn reaction(policy: Named) -> Duration {
    match policy != Named::Auto && policy.config().plans() {
        true => plan::PERIOD * 2,
        false => pace::REACTION,
    }
}

/// What of it is lost by affinity beside reaction time; `None`: nothing.
pub(crate) fn left_out(policy: Named) -> Option<&'static str> {
    match policy {
        Named::ReservedCore => Some("the system's own work is not moved to the reserved core"),
        Named::Phase | Named::Auto => Some("who holds a lock is seen only if it says so"),
        Named::Gather => Some("a memory domain without work is left empty, and its speeds to their governor"),
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
