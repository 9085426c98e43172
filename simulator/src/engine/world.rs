// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated world: construction, the event loop, the end.

use super::scheduler::Scheduler;
use super::stats::{Stats, Trace};
use super::task::State;
use super::time::{Alarm, Due, Kind, Time};
use super::work::Work;
use super::{contend::Contention, governor::BusyTime, governor::Governing, Rates};
use crate::choice::PolicyChoice;
use crate::clocks::Clocks;
use crate::power::{CoreState, PowerModel};
use crate::workload::Workload;
use crate::{RunOptions, SimulationError};
use lop_machine::Machine;
use lop_policy::CpuBits;

/// Steps that one task may take without time passing: more is a loop that does nothing.
pub(super) const MAX_STEPS_AT_ONCE: u32 = 1_000_000;

/// Temperatures are brought up to date this often.
const HEAT_PERIOD_NS: u64 = 1_000_000_000;

#[derive(Debug, Default, Clone)]
pub(super) struct CpuState {
    pub kind: usize,
    /// Its kind's highest OPP.
    pub top_opp: usize,
    pub task: Option<u32>,
    /// Progress is accounted up to here.
    pub settled_ns: u64,
    /// When the task came here, or its slice was renewed.
    pub slice_began_ns: u64,
    pub slice_ns: u64,
    /// `None`: nothing waits, no need to look.
    pub slice_ends_ns: Option<u64>,
    /// Switching, migrating, waking up: busy without progress.
    pub overhead_ns: u64,
    /// Work per ns of the running task.
    pub rate: f64,
    /// Time that it waits for memory, over what its work takes at its core's top speed.
    pub memory_share: f64,
    /// When the running step ends.
    pub step_ends_ns: u64,
    /// Start of what the task has not paid for yet.
    pub charged_ns: u64,
    /// Busy time before `busy_since_ns`, for governors.
    pub busy_ns: u64,
    pub busy_since_ns: Option<u64>,
    /// Busy time at the governor's last sample.
    pub sampled_busy_ns: u64,
    /// When the task started here, the other clock domains had had more work in the governor's period than this one.
    pub load_was_elsewhere: bool,
    /// The governor has looked since then.
    pub measured: bool,
    /// In the list of those whose slice nobody watches.
    pub unwatched: bool,
    pub opp: usize,
    /// Decaying average that `schedutil` looks at, up to `utilisation_at_ns`.
    pub utilisation: f64,
    pub utilisation_at_ns: u64,
}

#[derive(Debug, Clone)]
pub(super) struct CoreStatus {
    pub cpus: Vec<usize>,
    pub kind: usize,
    pub busy: usize,
    pub state: CoreState,
    /// Unparking ends here.
    pub ready_ns: u64,
    pub temperature_c: f64,
    pub energy_at_heat_fj: u128,
}

pub(crate) struct World<'a, S> {
    pub(super) machine: &'a Machine,
    pub(super) workload: &'a Workload,
    pub(super) time: Time,
    pub(super) rates: Rates,
    pub(super) contention: Contention,
    pub(super) cpus: Vec<CpuState>,
    pub(super) cores: Vec<CoreStatus>,
    /// By voltage domain: when it is on again, if it was switched off.
    pub(super) domain_ready_ns: Vec<u64>,
    pub(super) clocks: Clocks,
    /// Of all CPUs, and by clock domain.
    pub(super) busy: BusyTime,
    pub(super) busy_of_domain: Vec<BusyTime>,
    pub(super) power: PowerModel,
    /// Temperatures are accounted up to here.
    pub(super) heat_at_ns: u64,
    pub(super) governing: Governing,
    pub(super) scheduler: S,
    pub(super) work: Work<'a>,
    /// Running CPUs whose slice nobody watches.
    pub(super) unwatched: Vec<u32>,
    pub(super) waiting: usize,
    /// Tasks of this workload may stall.
    pub(super) stalls: bool,
    /// By program: CPUs it may run on, where not all.
    pub(super) allowed: Vec<Option<CpuBits>>,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    /// The duration ended the run before the last task.
    pub(super) cut_short: bool,
    pub(super) failure: Option<SimulationError>,
}

fn cpu_states(machine: &Machine) -> Vec<CpuState> {
    let state = |cpu: &lop_machine::Cpu| CpuState {
        kind: usize::from(cpu.kind),
        top_opp: machine.kinds[usize::from(cpu.kind)].opps.len() - 1,
        ..CpuState::default()
    };
    machine.cpus.iter().map(state).collect()
}

fn core_statuses(machine: &Machine) -> Vec<CoreStatus> {
    let ambient = machine.thermal.map_or(0.0, |thermal| thermal.ambient_c);
    let mut cores: Vec<CoreStatus> = (0..machine.nr_cores)
        .map(|_| CoreStatus {
            cpus: vec![],
            kind: 0,
            busy: 0,
            state: CoreState::Idle(0),
            ready_ns: 0,
            temperature_c: ambient,
            energy_at_heat_fj: 0,
        })
        .collect();
    for (number, cpu) in machine.cpus.iter().enumerate() {
        let core = &mut cores[usize::from(cpu.core)];
        core.cpus.push(number);
        core.kind = usize::from(cpu.kind);
    }
    cores
}

/// Programs must find the CPUs that they are pinned to.
fn allowed_cpus(machine: &Machine, workload: &Workload) -> Result<Vec<Option<CpuBits>>, SimulationError> {
    let nr_cpus = machine.cpus.len();
    let of_program = |program: &crate::workload::Program| match &program.cpus {
        None => Ok(None),
        Some(cpus) => {
            if let Some(missing) = cpus.iter().find(|&&cpu| usize::from(cpu) >= nr_cpus) {
                return Err(SimulationError::Mismatch(format!(
                    "task '{}' is pinned to CPU {missing}, but machine '{}' has CPUs 0 to {}; expected only those",
                    program.name,
                    machine.name,
                    nr_cpus - 1
                )));
            }
            Ok((cpus.len() < nr_cpus).then(|| CpuBits::of(cpus.iter().map(|&cpu| usize::from(cpu)))))
        }
    };
    workload.programs.iter().map(of_program).collect()
}

impl<'a, S: Scheduler> World<'a, S> {
    pub fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        choice: &PolicyChoice,
        options: &RunOptions,
        rates: Rates,
        scheduler: S,
    ) -> Result<Self, SimulationError> {
        let work = Work::new(workload, options.seed);
        let mut world = Self {
            machine,
            workload,
            time: Time::new(machine.cpus.len()),
            cpus: cpu_states(machine),
            cores: core_statuses(machine),
            domain_ready_ns: vec![0; machine.nr_voltage_domains],
            clocks: Clocks::new(machine),
            busy: BusyTime::default(),
            busy_of_domain: vec![BusyTime::default(); machine.nr_clock_domains],
            power: PowerModel::new(machine),
            heat_at_ns: 0,
            governing: Governing::new(choice, machine),
            scheduler,
            unwatched: Vec::new(),
            waiting: 0,
            stalls: work.can_stall(),
            work,
            allowed: allowed_cpus(machine, workload)?,
            stats: Stats::new(workload.memory_shares.len(), workload.apps.len()),
            trace: Trace::new(options.trace_limit),
            cut_short: false,
            failure: None,
            contention: Contention::new(machine, workload),
            rates,
        };
        world.set_first_speeds();
        Ok(world)
    }

    /// Speeds and sets as they are before anything runs.
    fn set_first_speeds(&mut self) {
        self.governing.set_initial(&mut self.clocks);
        S::set_up(self);
        for domain in 0..self.clocks.domains.len() {
            self.domain_speed_is_new(domain);
        }
        for cpu in 0..self.cpus.len() {
            self.sink_if_core_idle(cpu);
        }
    }

    /// Runs to the end: the last exit, or the workload's duration.
    pub fn run(&mut self) -> Result<(), SimulationError> {
        self.governing.begin(&mut self.time);
        if self.machine.thermal.is_some() {
            self.time.at(HEAT_PERIOD_NS, Kind::Heat, 0);
        }
        S::begin(self);
        for start in 0..self.work.starts.len() {
            if self.work.starts[start].missing == 0 {
                self.schedule_start(start as u32);
            }
        }
        let end_ns = self.workload.duration_ns.unwrap_or(u64::MAX);
        while !self.work.is_over() {
            if self.work.is_stuck() {
                return Err(self.work.deadlock(self.time.now_ns));
            }
            let Some((at_ns, due)) = self.time.pop() else {
                return Err(self.work.deadlock(self.time.now_ns));
            };
            if at_ns > end_ns {
                break;
            }
            if !self.time.advance(at_ns) {
                return Err(self.standstill());
            }
            self.handle(due);
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
        }
        self.cut_short = !self.work.is_over();
        self.time.now_ns = if self.cut_short { end_ns } else { self.work.last_exit_ns };
        Ok(())
    }

    fn standstill(&self) -> SimulationError {
        SimulationError::Mismatch(format!(
            "time stands still at {:.6} s: tasks keep yielding without work; expected work or sleep in their loops",
            self.time.now_ns as f64 / 1e9
        ))
    }

    fn handle(&mut self, due: Due) {
        match due {
            Due::Alarm(Alarm::Cpu, cpu) => self.cpu_event(cpu as usize),
            Due::Alarm(Alarm::Tick, cpu) => self.tick(cpu as usize),
            Due::Alarm(Alarm::Deepen, core) => self.deepen(core as usize),
            Due::Alarm(Alarm::Scheduler, _) => S::timer(self),
            Due::Event(Kind::TaskWake, id) => {
                if self.work.tasks[id as usize].state == State::Sleeping {
                    self.work.progressing -= 1;
                    self.make_runnable(id);
                }
            }
            Due::Event(Kind::Transition, domain) => self.transition_ends(domain as usize),
            Due::Event(Kind::Sample, _) => self.sample(),
            Due::Event(Kind::Kick, cpu) => self.kicked(cpu as usize),
            Due::Event(Kind::Start, start) => self.start_comes_due(start),
            Due::Event(Kind::Heat, _) => self.heat(),
            Due::Event(Kind::Scheduler(turn), index) => S::turn(self, turn, index),
        }
    }

    /// dT/dt = (ambient + c_per_w P - T) / tau with the mean power since the last time.
    pub(super) fn temperatures_follow(&mut self) {
        let Some(thermal) = self.machine.thermal else { return };
        let passed_ns = self.time.now_ns - self.heat_at_ns;
        if passed_ns == 0 {
            return;
        }
        self.heat_at_ns = self.time.now_ns;
        let kept = libm::exp(-(passed_ns as f64) / 1e9 / thermal.time_constant_s);
        for core in 0..self.cores.len() {
            let energy_fj = self.power.core_fj(core, self.time.now_ns);
            let watts = (energy_fj - self.cores[core].energy_at_heat_fj) as f64 / 1e6 / passed_ns as f64;
            let about = &mut self.cores[core];
            let target_c = thermal.ambient_c + thermal.c_per_w * watts;
            about.temperature_c = target_c + (about.temperature_c - target_c) * kept;
            about.energy_at_heat_fj = energy_fj;
            self.stats.hottest_c = self.stats.hottest_c.max(about.temperature_c);
        }
    }

    /// Temperatures, then the scheduler's turn.
    fn heat(&mut self) {
        self.temperatures_follow();
        S::heated(self);
        self.time.after(HEAT_PERIOD_NS, Kind::Heat, 0);
    }
}
