// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power states of cores and voltage domains: idle states, parking, switched-off domains; and core temperatures.

use super::time::{Alarm, Time};
use crate::power::{CoreState, PowerModel};
use crate::random::Stream;
use lop_machine::Machine;

pub(super) struct Power<'a> {
    machine: &'a Machine,
    pub model: PowerModel,
    cores: Vec<Core>,
    /// Draws exit times where they vary.
    random: Stream,
    /// By voltage domain: when it is on again after it was last switched off.
    domain_ready_ns: Vec<u64>,
    /// When temperatures were last updated.
    heat_at_ns: u64,
    /// Highest temperature of any core so far; `None`: the machine has no thermal model, or nothing was computed yet.
    pub hottest_c: Option<f64>,
}

struct Core {
    kind: usize,
    voltage_domain: usize,
    opp: usize,
    state: CoreState,
    /// A core that was unparked can run tasks from this time on.
    ready_ns: u64,
    temperature_c: f64,
    energy_at_heat_fj: u128,
}

impl<'a> Power<'a> {
    pub fn new(machine: &'a Machine, seed: u64) -> Self {
        let of_core = |core: usize| {
            let cpu = machine.cpus.iter().find(|cpu| usize::from(cpu.core) == core);
            Core {
                kind: cpu.map_or(0, |cpu| usize::from(cpu.kind)),
                voltage_domain: cpu.map_or(0, |cpu| usize::from(cpu.voltage_domain)),
                opp: 0,
                state: CoreState::Idle(0),
                ready_ns: 0,
                temperature_c: machine.thermal.map_or(0.0, |thermal| thermal.ambient_c),
                energy_at_heat_fj: 0,
            }
        };
        Self {
            machine,
            model: PowerModel::new(machine),
            cores: (0..machine.nr_cores).map(of_core).collect(),
            random: Stream::new(seed ^ 0x65_7869_7473),
            domain_ready_ns: vec![0; machine.nr_voltage_domains],
            heat_at_ns: 0,
            hottest_c: None,
        }
    }

    pub fn set_opp(&mut self, core: usize, opp: usize, now_ns: u64) {
        let about = &mut self.cores[core];
        about.opp = opp;
        self.model.set_core(core, opp, about.state, now_ns);
    }
    pub fn set_state(&mut self, core: usize, state: CoreState, time: &mut Time) {
        let about = &mut self.cores[core];
        about.state = state;
        time.cancel(Alarm::Deepen, core);
        self.model.set_core(core, about.opp, state, time.now_ns);
    }

    /// An exit that takes `longest_ns` at most: uniform from the machine's shortest share of it on.
    fn draw_exit_ns(&mut self, longest_ns: u64) -> u64 {
        let shortest_ns = (longest_ns as f64 * self.machine.shortest_exit_share) as u64;
        self.random.between(shortest_ns, longest_ns)
    }

    /// How long the core takes to wake up from its present state.
    pub fn exit_ns(&mut self, core: usize, now_ns: u64) -> u64 {
        let about = &self.cores[core];
        let exit_ns = match about.state {
            CoreState::Idle(n) => self.draw_exit_ns(self.machine.kinds[about.kind].idle_states[n].exit_ns),
            CoreState::Parked => self.unparking_ns(core, now_ns),
            CoreState::Busy(_) => 0,
        };
        exit_ns.max(self.cores[core].ready_ns.saturating_sub(now_ns))
    }

    /// The same for a parked core. Its voltage domain, if switched off, begins to switch on.
    fn unparking_ns(&mut self, core: usize, now_ns: u64) -> u64 {
        let Some(park) = self.machine.park else { return 0 };
        let exit_ns = self.draw_exit_ns(park.exit_ns);
        let ready_ns = &mut self.domain_ready_ns[self.cores[core].voltage_domain];
        if self.model.is_off(core) {
            *ready_ns = now_ns + park.domain_exit_ns;
        }
        exit_ns.max(ready_ns.saturating_sub(now_ns))
    }

    /// Parks an idle core, or arms the alarm for its next deeper idle state.
    pub fn sink(&mut self, core: usize, parks: bool, time: &mut Time) {
        if parks {
            self.set_state(core, CoreState::Parked, time);
            return;
        }
        let about = &self.cores[core];
        if let CoreState::Idle(now) = about.state {
            let states = &self.machine.kinds[about.kind].idle_states;
            if let Some(next) = states.get(now + 1) {
                let wait_ns = next.residency_ns.saturating_sub(states[now].residency_ns);
                time.set(time.now_ns + wait_ns, Alarm::Deepen, core);
            }
        }
    }
    /// Returns whether the core is idle and went one state deeper.
    pub fn deepen(&mut self, core: usize, time: &mut Time) -> bool {
        let CoreState::Idle(n) = self.cores[core].state else {
            return false;
        };
        self.set_state(core, CoreState::Idle(n + 1), time);
        true
    }
    /// Wakes a parked core up. Returns whether it was parked.
    pub fn unpark(&mut self, core: usize, time: &mut Time) -> bool {
        let parked = self.cores[core].state == CoreState::Parked;
        if parked {
            self.cores[core].ready_ns = time.now_ns + self.unparking_ns(core, time.now_ns);
            self.set_state(core, CoreState::Idle(0), time);
        }
        parked
    }

    pub fn temperature_c(&self, core: usize) -> f64 {
        self.cores[core].temperature_c
    }
    /// dT/dt = (ambient + c_per_w P - T) / tau, P being the mean power since the last update.
    pub fn temperatures_follow(&mut self, now_ns: u64) {
        let Some(thermal) = self.machine.thermal else { return };
        let passed_ns = now_ns - self.heat_at_ns;
        if passed_ns == 0 {
            return;
        }
        self.heat_at_ns = now_ns;
        let kept = libm::exp(-(passed_ns as f64) / 1e9 / thermal.time_constant_s);
        for (core, about) in self.cores.iter_mut().enumerate() {
            let energy_fj = self.model.core_fj(core, now_ns);
            let watts = (energy_fj - about.energy_at_heat_fj) as f64 / 1e6 / passed_ns as f64;
            let target_c = thermal.ambient_c + thermal.c_per_w * watts;
            about.temperature_c = target_c + (about.temperature_c - target_c) * kept;
            about.energy_at_heat_fj = energy_fj;
            self.hottest_c = Some(self.hottest_c.unwrap_or(f64::MIN).max(about.temperature_c));
        }
    }
}
