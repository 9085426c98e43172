//! What the policy keeps beside its sets, looked at from outside: for tests.

use super::native::*;
use super::{CpuBits, PolicyHandle, Set};

/// What the policy keeps beside its sets, for tests to compare with what follows from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    pub idle: CpuBits,
    pub online: CpuBits,
    /// Those that are online and not isolated.
    pub open: CpuBits,
    pub hot: CpuBits,
    /// CPUs of voltage domains that have a high member.
    pub warm: CpuBits,
    pub beside_high: CpuBits,
    pub beside_busy: CpuBits,
    pub pinned_high: CpuBits,
    pub pinned_green: CpuBits,
    /// CPUs that a task is on its way to, and those in whose queue one waits that goes first.
    pub awaited: CpuBits,
    pub given: CpuBits,
    pub nr_open: u32,
    pub undeclared_apps: u32,
    pub declared_sum: u32,
    /// 0: not armed.
    pub timer_at_ns: u64,
    pub clock_ns: u64,
    pub slice_ns: u64,
}

impl PolicyHandle {
    pub fn inside(self) -> Inside {
        let s = self.0;
        unsafe {
            Inside {
                idle: *lop_native_idle(s),
                online: *lop_native_online(s),
                open: *lop_native_open(s),
                hot: *lop_native_hot(s),
                warm: *lop_native_warm(s),
                beside_high: *lop_native_beside_high(s),
                beside_busy: *lop_native_beside_busy(s),
                pinned_high: *lop_native_pinned(s, Set::High as u32),
                pinned_green: *lop_native_pinned(s, Set::Green as u32),
                awaited: *lop_native_awaited(s),
                given: *lop_native_given(s),
                nr_open: lop_native_nr_open(s),
                undeclared_apps: lop_native_undeclared_apps(s),
                declared_sum: lop_native_declared_sum(s),
                timer_at_ns: lop_native_timer_at_ns(s),
                clock_ns: lop_native_clock_ns(s),
                slice_ns: lop_native_slice_ns(s),
            }
        }
    }
    /// High members by voltage domain, and by node.
    pub fn voltage_high(self, domain: u32) -> u32 {
        unsafe { lop_native_voltage_high(self.0, domain) }
    }
    pub fn node_high(self, node: u32) -> u32 {
        unsafe { lop_native_node_high(self.0, node) }
    }
    /// Whether the policy takes this queue to have tasks.
    pub fn waits(self, queue: u32) -> bool {
        unsafe { lop_native_waits(self.0, queue) }
    }
    /// As if another CPU were changing memberships (`true`), until it lets go.
    pub fn hold_lock(self, held: bool) {
        unsafe { lop_native_hold_lock(self.0, held) }
    }
}
