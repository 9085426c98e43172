// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated world: construction, the event loop, the end.

use super::scheduler::Scheduler;
use super::stats::{Stats, Trace};
use super::sync::{BarrierState, ConditionState, LoopState, MutexState, PoolState, StartState};
use super::task::{State, Task, WaitsFor};
use super::{contend::Contention, governor::BusyTime, governor::Governing, ideal::Ideal, Rates};
use crate::choice::PolicyChoice;
use crate::clocks::Clocks;
use crate::events::{Alarm, Due, EventQueue, Kind};
use crate::power::{CoreState, PowerModel};
use crate::random::{child_key, Stream};
use crate::workload::{Amount, Step, Waiting, Workload};
use crate::{RunOptions, SimulationError};
use lop_machine::Machine;
use lop_policy::CpuBits;

/// Steps that one task may take without time passing: more is a loop that does nothing.
pub(super) const MAX_STEPS_AT_ONCE: u32 = 1_000_000;

/// Temperatures are brought up to date this often.
const HEAT_PERIOD_NS: u64 = 1_000_000_000;

/// Events at one instant: more is tasks that only yield to one another.
const MAX_EVENTS_AT_ONCE: u32 = 20_000_000;

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
    pub(super) now_ns: u64,
    pub(super) events: EventQueue,
    pub(super) handled: u64,
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
    pub(super) tasks: Vec<Task>,
    pub(super) free: Vec<u32>,
    /// Running CPUs whose slice nobody watches.
    pub(super) unwatched: Vec<u32>,
    pub(super) waiting: usize,
    pub(super) barriers: Vec<BarrierState>,
    pub(super) mutexes: Vec<MutexState>,
    /// Tasks of this workload may stall.
    pub(super) stalls: bool,
    pub(super) conditions: Vec<ConditionState>,
    pub(super) loops: Vec<LoopState>,
    pub(super) pools: Vec<PoolState>,
    pub(super) starts: Vec<StartState>,
    /// Starts that follow each start.
    pub(super) followers: Vec<Vec<u32>>,
    pub(super) start_streams: Vec<Stream>,
    pub(super) seed_key: u64,
    pub(super) live: u64,
    /// Tasks that go on by themselves: runnable and not spinning, or sleeping.
    pub(super) progressing: u64,
    /// Starts that will still bring tasks by themselves.
    pub(super) pending_starts: u64,
    /// By program: CPUs it may run on, where not all.
    pub(super) allowed: Vec<Option<CpuBits>>,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    pub(super) last_exit_ns: u64,
    /// The duration ended the run before the last task.
    pub(super) cut_short: bool,
    pub(super) failure: Option<SimulationError>,
    pub(super) ideal: Ideal,
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

fn can_stall(workload: &Workload) -> bool {
    let mutexes = workload.mutexes.iter().map(|mutex| mutex.waiting);
    let barriers = workload.barriers.iter().map(|barrier| barrier.waiting);
    let conditions = workload.conditions.iter().map(|condition| condition.waiting);
    (mutexes.chain(barriers).chain(conditions)).any(|waiting| waiting == Waiting::Stall)
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
        let seed_key = child_key(0x6c_6f70, options.seed);
        let starts: Vec<StartState> = workload
            .starts
            .iter()
            .map(|s| StartState {
                missing: s.after.len() as u32,
                open: true,
                ..StartState::default()
            })
            .collect();
        let mut followers = vec![Vec::new(); starts.len()];
        for (index, start) in workload.starts.iter().enumerate() {
            for &before in &start.after {
                followers[before as usize].push(index as u32);
            }
        }
        let mut world = Self {
            machine,
            workload,
            now_ns: 0,
            events: EventQueue::new(machine.cpus.len()),
            handled: 0,
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
            tasks: Vec::new(),
            free: Vec::new(),
            unwatched: Vec::new(),
            waiting: 0,
            barriers: workload.barriers.iter().map(|_| BarrierState::default()).collect(),
            mutexes: workload.mutexes.iter().map(|_| MutexState::default()).collect(),
            stalls: can_stall(workload),
            conditions: workload.conditions.iter().map(|_| ConditionState::default()).collect(),
            loops: vec![LoopState::default(); workload.loops.len()],
            pools: workload.pools.iter().map(|_| PoolState::default()).collect(),
            start_streams: (0..starts.len())
                .map(|s| Stream::new(child_key(seed_key ^ 1, s as u64)))
                .collect(),
            starts,
            followers,
            seed_key,
            live: 0,
            progressing: 0,
            pending_starts: 0,
            allowed: allowed_cpus(machine, workload)?,
            stats: Stats::new(workload.memory_shares.len(), workload.apps.len()),
            trace: Trace::new(options.trace_limit),
            last_exit_ns: 0,
            cut_short: false,
            failure: None,
            ideal: Ideal::new(workload),
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
        self.governing.begin(&mut self.events);
        if self.machine.thermal.is_some() {
            self.events.push(HEAT_PERIOD_NS, Kind::Heat, 0);
        }
        S::begin(self);
        for start in 0..self.starts.len() {
            if self.starts[start].missing == 0 {
                self.schedule_start(start as u32);
            }
        }
        let end_ns = self.workload.duration_ns.unwrap_or(u64::MAX);
        let mut at_once = 0u32;
        while self.live > 0 || self.pending_starts > 0 {
            if self.live > 0 && self.progressing == 0 && self.pending_starts == 0 && !self.spinner_will_block() {
                return Err(self.deadlock());
            }
            let Some((at_ns, due)) = self.events.pop() else {
                return Err(self.deadlock());
            };
            if at_ns > end_ns {
                break;
            }
            at_once = if at_ns == self.now_ns { at_once + 1 } else { 0 };
            if at_once > MAX_EVENTS_AT_ONCE {
                return Err(self.standstill());
            }
            self.now_ns = at_ns;
            self.handle(due);
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
        }
        self.cut_short = self.live > 0 || self.pending_starts > 0;
        self.now_ns = if self.cut_short { end_ns } else { self.last_exit_ns };
        Ok(())
    }

    fn standstill(&self) -> SimulationError {
        SimulationError::Mismatch(format!(
            "time stands still at {:.6} s: tasks keep yielding without work; expected work or sleep in their loops",
            self.now_ns as f64 / 1e9
        ))
    }

    fn handle(&mut self, due: Due) {
        self.handled += 1;
        match due {
            Due::Alarm(Alarm::Cpu, cpu) => self.cpu_event(cpu as usize),
            Due::Alarm(Alarm::Tick, cpu) => self.tick(cpu as usize),
            Due::Alarm(Alarm::Deepen, core) => self.deepen(core as usize),
            Due::Alarm(Alarm::Scheduler, _) => S::timer(self),
            Due::Event(Kind::TaskWake, id) => {
                if self.tasks[id as usize].state == State::Sleeping {
                    self.progressing -= 1;
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
        let passed_ns = self.now_ns - self.heat_at_ns;
        if passed_ns == 0 {
            return;
        }
        self.heat_at_ns = self.now_ns;
        let kept = libm::exp(-(passed_ns as f64) / 1e9 / thermal.time_constant_s);
        for core in 0..self.cores.len() {
            let energy_fj = self.power.core_fj(core, self.now_ns);
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
        self.events.push(self.now_ns + HEAT_PERIOD_NS, Kind::Heat, 0);
    }

    /// When a start begins, drawn from its own stream.
    pub(super) fn schedule_start(&mut self, start: u32) {
        let at: Amount = self.workload.starts[start as usize].at;
        let delay = self.start_streams[start as usize].draw(&at);
        self.starts[start as usize].ideal_due_ns += delay as f64;
        self.pending_starts += 1;
        self.events.push(self.now_ns.saturating_add(delay), Kind::Start, start);
    }

    /// A task that spins for a limited time will block, which is progress of a kind.
    fn spinner_will_block(&self) -> bool {
        self.tasks
            .iter()
            .any(|t| t.state == State::Runnable && (t.granted || t.spin_left_ns != u64::MAX))
    }

    /// Who waits for whom.
    pub(super) fn deadlock(&self) -> SimulationError {
        let stuck = self
            .tasks
            .iter()
            .filter(|t| t.state != State::Exited && t.waits_for.is_some());
        let waits = stuck.map(|task| {
            let name = self.task_name(task);
            let how = if task.spinning { "spins on" } else { "waits for" };
            format!("{name} {how} {}", self.explain(task))
        });
        SimulationError::Deadlock {
            at_ns: self.now_ns,
            waits: waits.take(20).collect(),
        }
    }

    pub(super) fn task_name(&self, task: &Task) -> String {
        format!("{}#{}", self.workload.programs[task.program as usize].name, task.serial)
    }

    /// Tasks whose programs have such a step and that do not wait for the same: whom the waiting ones wait for.
    fn others(&self, has: impl Fn(&Step) -> bool, waits_for: Option<WaitsFor>) -> String {
        let could = |task: &&Task| {
            let steps = &self.workload.programs[task.program as usize].steps;
            task.waits_for != waits_for && steps.iter().any(&has)
        };
        let named = self.tasks.iter().filter(could).take(5).map(|task| {
            let ended = if task.state == State::Exited {
                " (has ended)"
            } else {
                ""
            };
            format!("{}{ended}", self.task_name(task))
        });
        match named.collect::<Vec<_>>() {
            none if none.is_empty() => ", and no other task could".to_string(),
            some => format!(", of {}", some.join(", ")),
        }
    }

    fn explain(&self, task: &Task) -> String {
        let holder = |id: u32| self.task_name(&self.tasks[id as usize]);
        let w = self.workload;
        match task.waits_for {
            Some(WaitsFor::Mutex(m)) => {
                let name = &w.mutexes[m as usize].name;
                match self.mutexes[m as usize].owner {
                    Some(owner) => format!("mutex '{name}' held by {}", holder(owner)),
                    None => format!("mutex '{name}'"),
                }
            }
            Some(WaitsFor::Barrier(b)) => {
                let about = &w.barriers[b as usize];
                let came = self.barriers[b as usize].waiting.len();
                let absent = self.others(|step| *step == Step::Barrier(b), task.waits_for);
                format!(
                    "barrier '{}' where {came} of {} have come{absent}",
                    about.name, about.parties
                )
            }
            Some(WaitsFor::Condition(c)) => {
                let absent = self.others(|s| *s == Step::Signal(c) || *s == Step::Broadcast(c), task.waits_for);
                format!("a signal on condition '{}'{absent}", w.conditions[c as usize].name)
            }
            Some(WaitsFor::AllChildren | WaitsFor::AnyChild) => {
                format!(
                    "its children ({} live)",
                    task.children.iter().map(|c| c.live).sum::<u32>()
                )
            }
            Some(WaitsFor::Program(p)) => format!("its children of '{}'", w.programs[p as usize].name),
            Some(WaitsFor::Pool(p)) => format!("pool '{}'", w.pools[p as usize].name),
            None => "a CPU that it may run on".to_string(),
        }
    }
}
