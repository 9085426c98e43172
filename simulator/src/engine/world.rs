// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated world: construction, the event loop, the end.

use super::list::Listing;
use super::plan::Planning;
use super::stats::{Stats, Trace};
use super::sync::{BarrierState, ConditionState, LoopState, MutexState, PoolState, StartState};
use super::task::{State, Task, WaitsFor};
use super::{contend::Contention, governor::BusyTime, governor::Governing, ideal::Ideal, Rates};
use crate::baseline::{FairScheduler, GroupShare};
use crate::choice::{Governor, PolicyChoice, ReservedSpeed, SetsVariant};
use crate::clocks::Clocks;
use crate::events::{Alarm, Due, EventQueue, Kind};
use crate::homes::Homes;
use crate::power::{CoreState, PowerModel};
use crate::random::{child_key, Stream};
use crate::waiting::WaitingTasks;
use crate::workload::{Amount, Step, Waiting, Workload};
use crate::{RunOptions, SimulationError};
use lop_machine::Machine;
use lop_policy as policy;

/// Steps that one task may take without time passing: more is a loop that does nothing.
pub(super) const MAX_STEPS_AT_ONCE: u32 = 1_000_000;

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

/// Who places tasks.
pub(super) enum Scheduler {
    Fair(FairScheduler),
    Policy(PolicySide),
}

pub(super) struct PolicySide {
    /// Owns what `handle` points to.
    _owner: policy::Policy,
    pub handle: policy::PolicyHandle,
    /// By the policy's queue numbers.
    pub queues: Vec<WaitingTasks>,
    /// Slice that the policy named last for a queued task.
    pub queue_slice_ns: u64,
    /// In memory of their own, as the policy writes to them while the world is borrowed.
    #[allow(clippy::vec_box)]
    pub apps: Vec<Box<policy::App>>,
    /// By application; only where a program of it has a cgroup weight of its own.
    pub groups: Vec<Option<Box<policy::Group>>>,
    /// The policy sets the speeds (else a governor does).
    pub sets_speeds: bool,
    pub config: policy::Config,
    /// Set by the policy's last call: a task to start on a CPU it claimed, a task taken for the CPU that asked.
    pub start_here: Option<(u32, u32, u64)>,
    pub taken: Option<u32>,
    /// Frequency index for green cores, by clock domain.
    pub green_index: Vec<usize>,
    /// A core was reserved, for a while at least.
    pub has_reserved: bool,
    /// Frequencies of the reserved core, from its own upwards, in kHz.
    pub reserved_khz: Vec<u64>,
    /// Before time 0: speeds are as if set long ago.
    pub starting: bool,
}

pub(crate) struct World<'a> {
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
    pub(super) scheduler: Scheduler,
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
    pub(super) all_cpus: policy::CpuBits,
    /// By program: CPUs it may run on, where not all.
    pub(super) allowed: Vec<Option<policy::CpuBits>>,
    /// By program: speed-up factor in thousandths, from the class of its first work.
    pub(super) speedup_permille: Vec<u32>,
    pub(super) stats: Stats,
    pub(super) trace: Trace,
    pub(super) last_exit_ns: u64,
    /// The duration ended the run before the last task.
    pub(super) cut_short: bool,
    pub(super) failure: Option<SimulationError>,
    pub(super) ideal: Ideal,
    /// Only where the policy plans which thread runs in which memory domain or on which kind of core.
    pub(super) planning: Option<Box<Planning>>,
    pub(super) listing: Option<Listing>,
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
fn allowed_cpus(machine: &Machine, workload: &Workload) -> Result<Vec<Option<policy::CpuBits>>, SimulationError> {
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
            Ok((cpus.len() < nr_cpus).then(|| policy::CpuBits::of(cpus.iter().map(|&cpu| usize::from(cpu)))))
        }
    };
    workload.programs.iter().map(of_program).collect()
}

/// What a policy's name asks for must be there to be had: a result under a name is of what the name says.
fn check_choice(machine: &Machine, choice: &PolicyChoice) -> Result<(), SimulationError> {
    let message = match choice {
        PolicyChoice::Sets(SetsVariant::Simple { size: Some(size) }) if *size as usize > machine.cpus.len() => {
            format!(
                "{choice}: machine '{}' has {} CPUs; expected at most that many",
                machine.name,
                machine.cpus.len()
            )
        }
        PolicyChoice::Sets(SetsVariant::Reserved(_)) if machine.cpus.len() < 2 => {
            format!(
                "{choice}: machine '{}' has one CPU; expected two at least",
                machine.name
            )
        }
        PolicyChoice::Sets(SetsVariant::Reserved(ReservedSpeed::Khz(khz))) => {
            let slowest = machine.cpus.iter().map(|cpu| cpu.kind).max().unwrap_or(0);
            return check_frequency(
                machine,
                choice,
                *khz,
                &machine.kinds[usize::from(slowest)..=usize::from(slowest)],
            );
        }
        PolicyChoice::Linux(Governor::Userspace { khz: Some(khz) }) => {
            return check_frequency(machine, choice, *khz, &machine.kinds);
        }
        _ => return Ok(()),
    };
    Err(SimulationError::Mismatch(message))
}

/// A frequency that a policy's name asks for is one of those that these kinds of cores have.
fn check_frequency(
    machine: &Machine,
    choice: &PolicyChoice,
    khz: u64,
    kinds: &[lop_machine::Kind],
) -> Result<(), SimulationError> {
    let mut all: Vec<u64> = kinds
        .iter()
        .flat_map(|kind| kind.opps.iter().map(|opp| opp.khz))
        .collect();
    all.sort_unstable();
    all.dedup();
    if all.iter().any(|known| known / 1000 == khz / 1000) {
        return Ok(());
    }
    let known: Vec<String> = all.iter().map(|khz| (khz / 1000).to_string()).collect();
    Err(SimulationError::Mismatch(format!(
        "{choice}: expected one of the frequencies of machine '{}', in MHz: {}",
        machine.name,
        known.join(", ")
    )))
}

impl<'a> World<'a> {
    pub fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        choice: &PolicyChoice,
        options: &RunOptions,
    ) -> Result<Self, SimulationError> {
        check_choice(machine, choice)?;
        let rates = Rates::new(machine, workload);
        let scheduler = match choice {
            PolicyChoice::Linux(_) | PolicyChoice::Placed(_) => {
                let groups = group_weights(workload).into_iter().map(|weight| {
                    weight.map(|weight| GroupShare {
                        weight,
                        active_weight: 0,
                    })
                });
                let nr_cpus = machine.cpus.len();
                let mut fair = FairScheduler::new(nr_cpus, options.placement, options.seed, groups.collect());
                if let PolicyChoice::Placed(placing) = choice {
                    fair.homes = Some(Homes::new(machine, *placing, options.seed));
                }
                Scheduler::Fair(fair)
            }
            PolicyChoice::Sets(variant) => {
                Scheduler::Policy(PolicySide::new((machine, &rates), workload, *variant, options)?)
            }
        };
        let config = match &scheduler {
            Scheduler::Policy(side) => Some(side.config),
            Scheduler::Fair(_) => None,
        };
        let planning = config.and_then(|config| Planning::new(&config, machine));
        let listing = config.and_then(|config| Listing::new(&config, workload.apps.len()));
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
            all_cpus: policy::CpuBits::of(0..machine.cpus.len()),
            allowed: allowed_cpus(machine, workload)?,
            speedup_permille: Vec::new(),
            stats: Stats::new(workload.memory_shares.len(), workload.apps.len()),
            trace: Trace::new(options.trace_limit),
            last_exit_ns: 0,
            cut_short: false,
            failure: None,
            ideal: Ideal::new(workload),
            contention: Contention::new(machine, workload),
            planning: planning.map(Box::new),
            listing,
            rates,
        };
        world.speedup_permille = workload.programs.iter().map(|p| world.speedup_of(p)).collect();
        world.set_first_speeds();
        Ok(world)
    }

    /// SF = T(f_low) / T(f_high) of a program's first work on the fastest kind of core, in thousandths; 0 if it has none.
    fn speedup_of(&self, program: &crate::workload::Program) -> u32 {
        let class = program.steps.iter().find_map(|step| match *step {
            crate::workload::Step::Run { class, .. } => Some(class),
            crate::workload::Step::Loop(l) => Some(self.workload.loops[l as usize].class),
            _ => None,
        });
        class.map_or(0, |class| (1000.0 / self.rates.relative(class, 0, 0)).round() as u32)
    }

    /// Speeds and sets as they are before anything runs.
    fn set_first_speeds(&mut self) {
        self.governing.set_initial(&mut self.clocks);
        if let Scheduler::Policy(side) = &self.scheduler {
            let handle = side.handle;
            handle.start(self, 0);
            if let Scheduler::Policy(side) = &mut self.scheduler {
                side.starting = false;
            }
        }
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
            self.events.push(super::adapter::HEAT_PERIOD_NS, Kind::Heat, 0);
        }
        if self.planning.is_some() {
            self.events.push(super::plan::PERIOD_NS, Kind::Plan, 0);
        }
        for start in 0..self.starts.len() {
            if self.starts[start].missing == 0 {
                self.schedule_start(start as u32);
            }
        }
        let end_ns = self.workload.duration_ns.unwrap_or(u64::MAX);
        let mut at_once = 0u32;
        self.trace.power_is(self.now_ns, self.power.total_uw());
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
            self.trace.power_is(at_ns, self.power.total_uw());
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
            Due::Alarm(Alarm::PolicyTimer, _) => self.policy_timer(),
            Due::Event(Kind::TaskWake, id) => {
                if self.tasks[id as usize].state == State::Sleeping {
                    self.progressing -= 1;
                    self.make_runnable(id);
                }
            }
            Due::Event(Kind::Transition, domain) => self.transition_ends(domain as usize),
            Due::Event(Kind::Sample, _) => self.sample(),
            Due::Event(Kind::Kick, cpu) => self.kicked(cpu as usize),
            Due::Event(Kind::Preempt, cpu) => self.preempted(cpu as usize),
            Due::Event(Kind::Start, start) => self.start_comes_due(start),
            Due::Event(Kind::Heat, _) => self.heat(),
            Due::Event(Kind::Plan, _) => self.plan(),
            Due::Event(Kind::List, app) => self.list(app as u16),
        }
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

/// Cores that work under `simple-sets` is confined to when no number is given: the workload's slots, else what its
/// applications declared, else the tasks it starts; all cores where these fork others, as nobody knows how many.
pub(super) fn parallelism_of(workload: &Workload) -> u32 {
    let slots = workload.pools.iter().map(|pool| pool.slots).max().unwrap_or(0);
    let declared: u32 = workload.apps.iter().filter_map(|app| app.declared_parallelism).sum();
    let started: u64 = workload.starts.iter().map(|start| u64::from(start.count)).sum();
    let forks = workload
        .programs
        .iter()
        .flat_map(|p| &p.steps)
        .any(|s| matches!(s, Step::Fork { .. }));
    match (slots, declared) {
        (0, 0) if forks => u32::MAX,
        (0, 0) => started.clamp(1, u64::from(u32::MAX)) as u32,
        (0, declared) => declared,
        (slots, _) => slots,
    }
}

/// By application: the weight of its cgroup (policy/queue/weight.h), where a program of it names one.
fn group_weights(workload: &Workload) -> Vec<Option<u32>> {
    let weight_of = |app: usize| {
        let of_app = workload.programs.iter().filter(|p| usize::from(p.app) == app);
        of_app
            .map(|p| p.cgroup_weight)
            .find(|&weight| weight != 100)
            .map(lop_policy::weight_of_share)
    };
    (0..workload.apps.len()).map(weight_of).collect()
}

impl PolicySide {
    fn new(
        (machine, rates): (&Machine, &Rates),
        workload: &Workload,
        variant: SetsVariant,
        options: &RunOptions,
    ) -> Result<Self, SimulationError> {
        let config = super::adapter::config(machine, workload, variant, &options.policy);
        let mut owner = policy::Policy::new(config);
        super::adapter::describe_cpus(owner.sched(), machine, variant)?;
        let handle = owner.handle();
        let apps = workload.apps.iter().map(|app| {
            let of_policy = policy::App::new(app.declared_parallelism.unwrap_or(0));
            Box::new(policy::App {
                shares_memory: app.shares_memory,
                ..of_policy
            })
        });
        let groups = group_weights(workload)
            .into_iter()
            .map(|weight| weight.map(|weight| Box::new(policy::Group::new(weight))));
        Ok(Self {
            apps: apps.collect(),
            groups: groups.collect(),
            _owner: owner,
            handle,
            queues: (0..policy::QUEUES).map(|_| WaitingTasks::default()).collect(),
            queue_slice_ns: 0,
            sets_speeds: variant.sets_speeds(),
            config,
            start_here: None,
            taken: None,
            green_index: super::traits::green_indices(machine, rates),
            has_reserved: false,
            reserved_khz: super::adapter::reserved_khz(machine, variant),
            starting: true,
        })
    }
}
