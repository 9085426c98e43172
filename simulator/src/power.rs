// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modelled power and energy, exact in integers: microwatt times nanosecond is femtojoule.
//!
//! ```text
//! P = base + sum over voltage domains P_domain(V) + sum over cores P(kind, OPP, state) * (V / V_opp)^2 + DRAM
//! ```
//!
//! V is the highest OPP voltage of the domain's cores. A core that sleeps without holding the voltage counts at its lowest OPP, in V and in P.
//!
//! Cores of a domain with the same (kind, OPP, state) share a cell, which holds its power and the energy that a core would have drawn in it since time 0. A
//! core stores the cell's energy at the time when it entered. So a change of a core or of a domain's voltage costs the same for any number of cores.

use lop_machine::{Kind, Machine, Opp};
use std::collections::BTreeMap;

/// Power state of a physical core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreState {
    /// Index into the kind's idle states.
    Idle(usize),
    Parked,
    /// This many of its CPUs are busy (at least 1).
    Busy(usize),
}

#[derive(Debug, Clone, Default)]
struct Cell {
    /// Power at the voltage of its OPP.
    own_uw: u64,
    /// That voltage. `None`: its power does not depend on the domain's.
    scaled_from_mv: Option<u64>,
    power_uw: u64,
    cores: u64,
    since_ns: u64,
    /// Energy of a core that has been in this cell since time 0.
    per_core_fj: u128,
    core_ns: u128,
}

#[derive(Debug, Clone)]
struct Domain {
    cells: Vec<Cell>,
    /// Cores that hold the voltage of each (kind, OPP), as `Layout::opp_index` numbers them.
    holders: Vec<u32>,
    /// Cores that are not parked. `off_uw`: the domain's power while all are parked, if it can be switched off.
    awake: u32,
    off_uw: Option<u64>,
    mv: u64,
    power_uw: u64,
    since_ns: u64,
    energy_fj: u128,
}

#[derive(Debug, Clone, Copy)]
struct CorePower {
    domain: usize,
    kind: usize,
    /// The OPP whose voltage it holds.
    holds: usize,
    cell: usize,
    parked: bool,
    entered_at_fj: u128,
    energy_fj: u128,
}

/// Indices of (kind, OPP, state) in a domain's vectors, the same for all domains.
#[derive(Debug, Clone)]
struct Layout {
    /// By kind: first cell, first OPP index, number of states, number of idle states.
    kinds: Vec<(usize, usize, usize, usize)>,
    nr_cells: usize,
    /// By OPP index: (mV, domain power).
    levels: Vec<(u64, u64)>,
    /// OPP indices by voltage, then by domain power, highest first.
    by_voltage: Vec<usize>,
    /// By kind and idle state: whether a core holds the voltage of its OPP.
    idle_holds: Vec<Vec<bool>>,
}

#[derive(Debug, Clone)]
pub struct PowerModel {
    layout: Layout,
    domains: Vec<Domain>,
    cores: Vec<CorePower>,
    /// Of all cores and voltage domains, now.
    total_uw: u64,
}

/// Largest number of SMT threads of a core.
pub(crate) fn threads_per_core(machine: &Machine) -> usize {
    let mut per_core = vec![0usize; machine.nr_cores];
    for cpu in &machine.cpus {
        per_core[usize::from(cpu.core)] += 1;
    }
    per_core.into_iter().max().unwrap_or(1)
}

/// Power of a core with `busy` busy CPUs: the busy power for the first, and for each further one `smt_power` of busy minus idle power.
pub fn busy_uw(kind: &Kind, opp: usize, busy: usize) -> u64 {
    let opp = &kind.opps[opp];
    let above_idle = opp.busy_uw.saturating_sub(opp.idle_uw) as f64;
    opp.busy_uw + (above_idle * kind.smt_power * (busy - 1) as f64).round() as u64
}

impl Layout {
    fn new(machine: &Machine) -> Self {
        let threads = threads_per_core(machine);
        let mut layout = Self {
            kinds: vec![],
            nr_cells: 0,
            levels: vec![],
            by_voltage: vec![],
            idle_holds: vec![],
        };
        for kind in &machine.kinds {
            let states = kind.idle_states.len() + 1 + threads;
            layout
                .kinds
                .push((layout.nr_cells, layout.levels.len(), states, kind.idle_states.len()));
            layout.nr_cells += states * kind.opps.len();
            layout
                .idle_holds
                .push(kind.idle_states.iter().map(|state| state.holds_voltage).collect());
            layout
                .levels
                .extend(kind.opps.iter().map(|opp| (u64::from(opp.mv), opp.domain_uw)));
        }
        layout.by_voltage = (0..layout.levels.len()).collect();
        let levels = &layout.levels;
        layout.by_voltage.sort_by_key(|&index| std::cmp::Reverse(levels[index]));
        layout
    }
    fn cell(&self, kind: usize, opp: usize, state: CoreState) -> usize {
        let (first, _, states, idle_states) = self.kinds[kind];
        let state = match state {
            CoreState::Idle(n) => n,
            CoreState::Parked => idle_states,
            CoreState::Busy(n) => idle_states + n,
        };
        first + opp * states + state
    }
    /// The OPP whose voltage a core needs.
    fn holds(&self, kind: usize, opp: usize, state: CoreState) -> usize {
        let holds = match state {
            CoreState::Idle(n) => self.idle_holds[kind][n],
            CoreState::Parked => false,
            CoreState::Busy(_) => true,
        };
        if holds {
            opp
        } else {
            0
        }
    }
    fn opp_index(&self, kind: usize, opp: usize) -> usize {
        self.kinds[kind].1 + opp
    }
}

fn cells_of(machine: &Machine, layout: &Layout) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); layout.nr_cells];
    for (k, kind) in machine.kinds.iter().enumerate() {
        for (o, opp) in kind.opps.iter().enumerate() {
            let mut set = |state, own_uw, scaled_from: Option<&Opp>| {
                cells[layout.cell(k, o, state)] = Cell {
                    own_uw,
                    scaled_from_mv: scaled_from.map(|opp| u64::from(opp.mv).max(1)),
                    ..Cell::default()
                };
            };
            for (n, idle) in kind.idle_states.iter().enumerate() {
                let at = &kind.opps[layout.holds(k, o, CoreState::Idle(n))];
                let clocked = Some(at).filter(|_| idle.power_uw.is_none());
                set(CoreState::Idle(n), idle.power_uw.unwrap_or(at.idle_uw), clocked);
            }
            set(CoreState::Parked, machine.park.map_or(0, |park| park.power_uw), None);
            let threads = layout.kinds[k].2 - layout.kinds[k].3 - 1;
            for busy in 1..=threads {
                set(CoreState::Busy(busy), busy_uw(kind, o, busy), Some(opp));
            }
        }
    }
    cells
}

impl Cell {
    fn flush(&mut self, now_ns: u64) {
        let passed = now_ns - self.since_ns;
        if passed != 0 {
            self.per_core_fj += u128::from(self.power_uw) * u128::from(passed);
            self.core_ns += u128::from(self.cores) * u128::from(passed);
            self.since_ns = now_ns;
        }
    }
    fn set_voltage(&mut self, mv: u64) {
        self.power_uw = match self.scaled_from_mv {
            Some(own_mv) => {
                let own = u128::from(own_mv * own_mv);
                ((u128::from(self.own_uw) * u128::from(mv * mv) + own / 2) / own) as u64
            }
            None => self.own_uw,
        };
    }
}

impl Domain {
    fn flush(&mut self, now_ns: u64) {
        self.energy_fj += u128::from(self.power_uw) * u128::from(now_ns - self.since_ns);
        self.since_ns = now_ns;
    }
    /// The domain's voltage is the highest that any of its cores needs. Returns how much more the domain and its cores draw now, in microwatts.
    fn settle_voltage(&mut self, layout: &Layout, now_ns: u64) -> i64 {
        let Some(&top) = layout.by_voltage.iter().find(|&&index| self.holders[index] != 0) else {
            return 0;
        };
        let (mv, on_uw) = layout.levels[top];
        let power_uw = self.off_uw.filter(|_| self.awake == 0).unwrap_or(on_uw);
        if mv == self.mv && power_uw == self.power_uw {
            return 0;
        }
        self.flush(now_ns);
        let mut more_uw = power_uw as i64 - self.power_uw as i64;
        self.power_uw = power_uw;
        if mv != self.mv {
            self.mv = mv;
            for cell in &mut self.cells {
                let before_uw = cell.power_uw as i64;
                cell.flush(now_ns);
                cell.set_voltage(mv);
                more_uw += cell.cores as i64 * (cell.power_uw as i64 - before_uw);
            }
        }
        more_uw
    }
}

impl PowerModel {
    /// All cores at their lowest OPP, in the first idle state, at time 0.
    pub fn new(machine: &Machine) -> Self {
        let layout = Layout::new(machine);
        let cells = cells_of(machine, &layout);
        let domain = Domain {
            cells,
            holders: vec![0; layout.levels.len()],
            awake: 0,
            off_uw: machine.park.and_then(|park| park.domain_uw),
            mv: 0,
            power_uw: 0,
            since_ns: 0,
            energy_fj: 0,
        };
        let mut domains = vec![domain; machine.nr_voltage_domains];
        let mut cores = vec![None; machine.nr_cores];
        for cpu in &machine.cpus {
            let (domain, kind) = (usize::from(cpu.voltage_domain), usize::from(cpu.kind));
            let core = &mut cores[usize::from(cpu.core)];
            if core.is_none() {
                let cell = layout.cell(kind, 0, CoreState::Idle(0));
                domains[domain].holders[layout.opp_index(kind, 0)] += 1;
                domains[domain].cells[cell].cores += 1;
                domains[domain].awake += 1;
                *core = Some(CorePower {
                    domain,
                    kind,
                    holds: 0,
                    cell,
                    parked: false,
                    entered_at_fj: 0,
                    energy_fj: 0,
                });
            }
        }
        let draws = domains.iter_mut().map(|domain| domain.settle_voltage(&layout, 0));
        Self {
            total_uw: draws.sum::<i64>() as u64,
            layout,
            domains,
            cores: cores.into_iter().flatten().collect(),
        }
    }

    /// Power of all cores and voltage domains.
    pub fn total_uw(&self) -> u64 {
        self.total_uw
    }

    pub fn set_core(&mut self, core: usize, opp: usize, state: CoreState, now_ns: u64) {
        let about = &mut self.cores[core];
        let cell = self.layout.cell(about.kind, opp, state);
        if cell == about.cell {
            return;
        }
        let domain = &mut self.domains[about.domain];
        let old = &mut domain.cells[about.cell];
        old.flush(now_ns);
        old.cores -= 1;
        about.energy_fj += old.per_core_fj - about.entered_at_fj;
        let new = &mut domain.cells[cell];
        new.flush(now_ns);
        new.cores += 1;
        about.entered_at_fj = new.per_core_fj;
        let mut more_uw = new.power_uw as i64;
        more_uw -= domain.cells[about.cell].power_uw as i64;
        about.cell = cell;
        let parked = state == CoreState::Parked;
        if parked != std::mem::replace(&mut about.parked, parked) {
            domain.awake = if parked { domain.awake - 1 } else { domain.awake + 1 };
            more_uw += domain.settle_voltage(&self.layout, now_ns);
        }
        let holds = self.layout.holds(about.kind, opp, state);
        if holds != about.holds {
            domain.holders[self.layout.opp_index(about.kind, about.holds)] -= 1;
            domain.holders[self.layout.opp_index(about.kind, holds)] += 1;
            about.holds = holds;
            more_uw += domain.settle_voltage(&self.layout, now_ns);
        }
        self.total_uw = (self.total_uw as i64 + more_uw) as u64;
    }

    /// Whether the voltage domain of a core is switched off: all of its cores are parked, and the machine can switch it off.
    pub fn is_off(&self, core: usize) -> bool {
        let domain = &self.domains[self.cores[core].domain];
        domain.awake == 0 && domain.off_uw.is_some()
    }

    /// Energy that a core has drawn until now, without that of its domain.
    pub fn core_fj(&mut self, core: usize, now_ns: u64) -> u128 {
        let about = &self.cores[core];
        let cell = &mut self.domains[about.domain].cells[about.cell];
        cell.flush(now_ns);
        about.energy_fj + cell.per_core_fj - about.entered_at_fj
    }

    /// Energy of the cores, and of the voltage domains without their cores.
    pub fn energies_fj(&mut self, now_ns: u64) -> (Vec<u128>, Vec<u128>) {
        let cores = (0..self.cores.len()).map(|core| self.core_fj(core, now_ns)).collect();
        let domains = self.domains.iter_mut().map(|domain| {
            domain.flush(now_ns);
            domain.energy_fj
        });
        (cores, domains.collect())
    }

    /// Core-nanoseconds by frequency (busy or not), by state, and busy ones by frequency.
    pub fn residencies(&mut self, machine: &Machine, now_ns: u64) -> Residencies {
        let mut residencies = Residencies::default();
        for domain in &mut self.domains {
            for (k, kind) in machine.kinds.iter().enumerate() {
                let (first, _, states, idle_states) = self.layout.kinds[k];
                for (index, cell) in domain.cells[first..first + states * kind.opps.len()]
                    .iter_mut()
                    .enumerate()
                {
                    cell.flush(now_ns);
                    if cell.core_ns == 0 {
                        continue;
                    }
                    let (opp, state) = (index / states, index % states);
                    let speed = format!("{} MHz", kind.opps[opp].khz / 1000);
                    let name = match state {
                        s if s < idle_states => kind.idle_states[s].name.as_str(),
                        s if s == idle_states => "parked",
                        _ => "busy",
                    };
                    *residencies.by_state.entry(name.to_string()).or_default() += cell.core_ns;
                    if state > idle_states {
                        *residencies.busy_by_speed.entry(speed.clone()).or_default() += cell.core_ns;
                    }
                    *residencies.by_speed.entry(speed).or_default() += cell.core_ns;
                }
            }
        }
        residencies
    }
}

/// Core-nanoseconds.
#[derive(Debug, Default, PartialEq)]
pub struct Residencies {
    pub by_speed: BTreeMap<String, u128>,
    pub by_state: BTreeMap<String, u128>,
    pub busy_by_speed: BTreeMap<String, u128>,
}

impl Residencies {
    /// Shares of the total; empty if nothing was counted.
    pub fn shares(of: &BTreeMap<String, u128>) -> BTreeMap<String, f64> {
        let total: u128 = of.values().sum();
        of.iter()
            .map(|(name, &ns)| (name.clone(), ns as f64 / total as f64))
            .collect()
    }
}

#[cfg(test)]
mod tests;
