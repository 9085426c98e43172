// SPDX-License-Identifier: MIT OR Apache-2.0
//! `hwp`: a processor that chooses the speed of each clock domain by itself (Intel's HWP, AMD's CPPC in active mode).
//!
//! No maker publishes the algorithm. Its shape here is that of intel_pstate where the processor does not choose (get_target_pstate in intel_pstate.c):
//!
//! ```text
//! target = (1 + headroom) * busy share of the window * f_max        of the domain's busiest CPU
//! target = target + (last target - target) / 2                      where the last one is higher
//! f      = the lowest frequency >= target
//! ```
//!
//! Work that would keep a core busy for a share w of the time at f_max settles at f = f_max * sqrt((1 + headroom) * w): there the busy share is
//! w * f_max / f, and target = f. Between the frequencies of a machine file it alternates.
//!
//! Beside a policy the preference is that of the domain's set (`engine/policy.rs`), and the speed stays within what its CPUs request.
//!
//! A window lasts from `hwp_window_ms`, drawn uniformly for each (assumed). An idle domain at its lowest frequency has none.

use super::Speeds;
use crate::engine::scheduler::Scheduler;
use crate::engine::time::{Kind, Time};
use crate::engine::world::World;
use crate::random::Stream;
use crate::Governor;
use lop_machine::{EnergyPreference, Machine};

/// Windows of all clock domains.
#[derive(Debug)]
pub(super) struct Windows {
    /// By clock domain: when its window began; `None`: it has none.
    began_ns: Vec<Option<u64>>,
    /// By clock domain: the target of the last window.
    target_khz: Vec<f64>,
    range_ns: (u64, u64),
    random: Stream,
}

impl Windows {
    pub fn new(machine: &Machine, seed: u64) -> Self {
        Self {
            began_ns: vec![None; machine.nr_clock_domains],
            target_khz: vec![0.0; machine.nr_clock_domains],
            range_ns: machine.cpufreq.hwp_window_ns,
            random: Stream::new(seed ^ 0x68_7770),
        }
    }

    pub fn longest_ns(&self) -> u64 {
        self.range_ns.1
    }

    fn begin(&mut self, domain: usize, time: &mut Time) {
        let lasts_ns = self.random.between(self.range_ns.0, self.range_ns.1);
        self.began_ns[domain] = Some(time.now_ns);
        time.after(lasts_ns, Kind::Window, domain as u32);
    }
}

/// The target after a window with this busy share, in kHz.
fn target_khz(headroom: f64, busy: f64, last_khz: f64, top_khz: f64) -> f64 {
    let target_khz = ((1.0 + headroom) * busy).min(1.0) * top_khz;
    target_khz + (last_khz - target_khz).max(0.0) / 2.0
}

impl Speeds<'_> {
    /// `None`: another governor.
    fn preference(&self) -> Option<EnergyPreference> {
        match self.governor {
            Some(Governor::Hwp(preference)) => Some(preference),
            _ => None,
        }
    }
}

impl<S: Scheduler> World<'_, S> {
    /// A task starts on a CPU: the window of its clock domain begins, unless it has one.
    pub(super) fn begin_window(&mut self, cpu: usize) {
        if self.speeds.preference().is_none() {
            return;
        }
        let domain = self.speeds.clocks.domain_index(cpu);
        if self.speeds.windows.began_ns[domain].is_none() {
            self.speeds.windows.begin(domain, &mut self.time);
        }
    }

    pub(in crate::engine) fn window_ends(&mut self, domain: usize) {
        let (Some(shipped), Some(began_ns)) = (self.speeds.preference(), self.speeds.windows.began_ns[domain].take())
        else {
            return;
        };
        let headroom = S::preference(self, domain, shipped).headroom();
        let busy = self.sample_cpus(domain) as f64 / (self.time.now_ns - began_ns) as f64;
        let about = &self.speeds.clocks.domains[domain];
        let last_khz = &mut self.speeds.windows.target_khz[domain];
        *last_khz = target_khz(headroom, busy, *last_khz, about.khz[about.top()] as f64);
        let wanted = about.at_least(last_khz.ceil() as u64);
        let rests = wanted == 0 && about.cpus.iter().all(|&cpu| !self.cores.is_busy(cpu));
        if self.speeds.clocks.choose(domain, wanted).is_some() {
            self.speeds.begin_transition(domain, &mut self.time);
        }
        if !rests {
            self.speeds.windows.begin(domain, &mut self.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half busy at f_max 4 GHz with a headroom of .25: 2.5 GHz from below; from 3.5 GHz half of the way, 3 GHz. A quarter of the time at f_max, that is .447 of it
    /// at 2.236 GHz: there it rests, 4 GHz * sqrt(1.25 / 4).
    #[test]
    fn speed_follows_the_busy_share() {
        let target_mhz = |busy, last_mhz: f64| target_khz(0.25, busy, last_mhz * 1e3, 4e6) / 1e3;
        assert_eq!(target_mhz(0.5, 800.0), 2500.0);
        assert_eq!(target_mhz(0.5, 3500.0), 3000.0);
        assert_eq!(target_mhz(1.0, 800.0), 4000.0);
        assert_eq!(target_mhz(0.0, 800.0), 400.0);
        let rests_mhz = 4000.0 * libm::sqrt(1.25 * 0.25);
        assert!((target_mhz(0.25 * 4000.0 / rests_mhz, rests_mhz) - rests_mhz).abs() < 1e-9);
    }
}
