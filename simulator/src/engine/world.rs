// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated world: its parts, and the event loop.

use super::cores::Cores;
use super::power::Power;
use super::power_limit::PowerLimits;
use super::scheduler::Scheduler;
use super::stats::{Stats, Trace};
use super::task::State;
use super::time::{Alarm, Due, Kind, Time};
use super::work::Work;
use super::{contend::Contention, governor::Speeds, Rates};
use crate::choice::PolicyChoice;
use crate::workload::Workload;
use crate::{RunOptions, SimulationError};
use lop_machine::Machine;
use lop_policy::CpuBits;

/// Most steps of one task at one instant. A task that takes more is in a loop that does nothing.
pub(super) const MAX_STEPS_AT_ONCE: u32 = 1_000_000;

/// How often temperatures are updated.
const HEAT_PERIOD_NS: u64 = 1_000_000_000;

pub(crate) struct World<'a, S> {
    pub(super) machine: &'a Machine,
    pub(super) workload: &'a Workload,
    pub(super) time: Time,
    pub(super) rates: Rates,
    pub(super) contention: Contention,
    pub(super) cores: Cores,
    pub(super) speeds: Speeds<'a>,
    pub(super) power: Power<'a>,
    pub(super) power_limits: PowerLimits,
    pub(super) scheduler: S,
    pub(super) work: Work<'a>,
    /// By program: CPUs that it may run on; `None`: all.
    pub(super) allowed: Vec<Option<CpuBits>>,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    /// The CPU whose task takes steps now, and so wakes others.
    pub(super) waker: Option<usize>,
    /// The workload's duration ended the run before the last task exited.
    pub(super) cut_short: bool,
    pub(super) failure: Option<SimulationError>,
}

/// # Errors
/// A program is pinned to a CPU that the machine does not have.
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
            cores: Cores::new(machine, work.can_stall(), S::RENEWS_SLICES),
            speeds: Speeds::new(choice, machine, options),
            power: Power::new(machine, options.seed),
            power_limits: PowerLimits::new(machine),
            scheduler,
            work,
            allowed: allowed_cpus(machine, workload)?,
            stats: Stats::new(workload.memory_shares.len(), workload.apps.len()),
            trace: Trace::new(options.trace_limit),
            waker: None,
            cut_short: false,
            failure: None,
            contention: Contention::new(machine, workload),
            rates,
        };
        world.set_first_speeds();
        Ok(world)
    }

    /// Sets speeds, sets of CPUs and idle states before anything runs.
    fn set_first_speeds(&mut self) {
        self.speeds.set_initial();
        S::set_up(self);
        for domain in 0..self.speeds.clocks.domains.len() {
            self.domain_speed_is_new(domain);
        }
        for core in 0..self.cores.cores.len() {
            self.sink_if_idle(core);
        }
        self.power_limits
            .begin(self.power.model.total_uw(), self.speeds.most_steps());
    }

    /// Runs until the last task exits or the workload's duration is over.
    pub fn run(&mut self) -> Result<(), SimulationError> {
        self.speeds.begin(&mut self.time);
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
        self.trace.power_is(self.time.now_ns, self.power.model.total_uw());
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
            self.keep_power_limits();
            self.trace.power_is(at_ns, self.power.model.total_uw());
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
            Due::Alarm(Alarm::Cpu, cpu) => {
                self.waker = Some(cpu as usize);
                self.cpu_event(cpu as usize);
                self.waker = None;
            }
            Due::Alarm(Alarm::Tick, cpu) => self.tick(cpu as usize),
            Due::Alarm(Alarm::Deepen, core) => self.deepen(core as usize),
            Due::Alarm(Alarm::Scheduler, _) => S::timer(self),
            // Power limits are looked at after every event, so after this one.
            Due::Alarm(Alarm::PowerLimit, _) => {}
            Due::Event(Kind::TaskWake, id) => {
                if self.work.tasks[id as usize].state == State::Sleeping {
                    self.work.progressing -= 1;
                    self.make_runnable(id);
                }
            }
            Due::Event(Kind::Transition, domain) => self.transition_ends(domain as usize),
            Due::Event(Kind::Sample, _) => self.sample(),
            Due::Event(Kind::Window, domain) => self.window_ends(domain as usize),
            Due::Event(Kind::Kick, cpu) => self.kicked(cpu as usize),
            Due::Event(Kind::Start, start) => self.start_comes_due(start),
            Due::Event(Kind::Heat, _) => self.heat(),
            Due::Event(Kind::Scheduler(event), index) => S::own_event(self, event, index),
        }
    }

    /// Updates temperatures, then tells the scheduler.
    fn heat(&mut self) {
        self.power.temperatures_follow(self.time.now_ns);
        S::heated(self);
        self.time.after(HEAT_PERIOD_NS, Kind::Heat, 0);
    }
}
