// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Applications that arrive one at a time: which memory domain each goes to (`arrive.h`).

use super::ffi;
use super::{Intensity, MemoryClass, Thread, NONE};

pub use ffi::{lop_domain_load as DomainLoad, lop_fit as Fit, lop_node_state as NodeState};

impl Thread {
    /// An application that arrives: it asks for `demand_permille`, 1000 for each core, in one memory domain. `mpmi`: misses of the last-level
    /// cache per million instructions; `None`: unknown, which counts as intensive.
    #[must_use]
    pub fn arriving(mpmi: Option<u32>, demand_permille: u32) -> Self {
        let intensity = mpmi.map_or_else(Intensity::default, |mpmi| Intensity {
            measured_ns: u64::MAX,
            mpmi,
            declared: MemoryClass::Unknown as u8,
        });
        Self {
            mpmi: intensity.planned_mpmi(),
            demand_permille,
            domain: NONE,
            memory: intensity.class() as u8,
            ..Self::new(0, NONE)
        }
    }
}

impl DomainLoad {
    /// Of a machine in this state, with these applications. `capacity_permille`: 1000 for each core.
    #[must_use]
    pub fn of(capacity_permille: u32, node: NodeState, there: &[Thread]) -> Self {
        let mut load = Self {
            capacity_permille,
            node: node as u8,
            ..Self::default()
        };
        for thread in there {
            unsafe { ffi::lop_count_arrived(&mut load, thread) }
        }
        load
    }
}

impl Fit {
    /// Whether a domain is a better place for `t` than the best so far, which it then becomes; of equals the first stays. Before the first domain
    /// the best is the default. `there`: the applications that `load` counts.
    ///
    /// # Panics
    /// `there` has another number of applications than `load`.
    pub fn is_bettered_by(&mut self, load: &DomainLoad, there: &[Thread], t: &Thread) -> bool {
        assert_eq!(load.applications as usize, there.len());
        unsafe { ffi::lop_is_better_place(self, load, there.as_ptr(), t) }
    }
}
