//! The policy's own rules, compiled natively (`native.c`), about the types of the BPF program.

use super::program::skeleton::types::{lop_config, lop_sched};
use crate::options::Policy;

/// `LOP_HIGH` and `LOP_GREEN`.
pub const HIGH: usize = 1;
pub const GREEN: usize = 2;

/// T_hold where nobody asks for another (policy/config.h).
pub fn default_hold_ns(transition_ns: u64) -> u64 {
    unsafe { lop_loader_default_hold_ns(transition_ns) }
}

/// A configuration with the policy's times for this T_hold (policy/config.h), and nothing else.
pub fn times(hold_ns: u64) -> lop_config {
    let mut config = lop_config::default();
    unsafe { lop_loader_set_times(&mut config, hold_ns) };
    config
}

/// By which rules a policy gives the fast cores: bits of `enum lop_rules` (policy/state.h).
pub fn rules_of(policy: Policy) -> u32 {
    unsafe {
        match policy {
            Policy::Phase => lop_loader_phase(),
            Policy::LongestFirst => lop_loader_longest_first(),
            Policy::FairShare => lop_loader_fair_share(),
            Policy::SimpleSets(_) | Policy::HighLow | Policy::HighLowSpare | Policy::ReservedCore | Policy::Auto => 0,
        }
    }
}

/// Size that the high set should have (policy/demand.h).
pub fn high_target(sched: &lop_sched) -> u32 {
    unsafe { lop_loader_target(sched, HIGH as u32) }
}

extern "C" {
    fn lop_loader_default_hold_ns(transition_ns: u64) -> u64;
    fn lop_loader_set_times(config: *mut lop_config, hold_ns: u64);
    fn lop_loader_phase() -> u32;
    fn lop_loader_longest_first() -> u32;
    fn lop_loader_fair_share() -> u32;
    fn lop_loader_target(sched: *const lop_sched, set: u32) -> u32;
}

#[cfg(test)]
mod tests;
