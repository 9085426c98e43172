// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event loop: arrivals, ends, machines that boot and that are switched off.

use super::application::Application;
use super::asked::{Asked, Scheduler};
use super::bound::{alone_ns, bounds};
use super::model::Pace;
use super::places::Places;
use super::scored::{Score, Scored};
use super::{Counters, Fleet, Outcome, Policy};
use crate::contention::Solver;
use crate::workload::MemoryUse;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// At one time what frees cores comes first, then what switches machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The next application of a domain ends.
    Ends(u32),
    Boots(u32),
    SwitchesOff(u32),
}

/// `count`: that of the domain or machine when the event was made. It is void if that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    what: What,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    On,
    Boots,
    Off,
}

#[derive(Debug)]
struct Machine {
    model: usize,
    domains: std::ops::Range<usize>,
    state: State,
    applications: u32,
    /// Applications that start when it has booted, with their domains.
    waiting: Vec<(u32, u32)>,
    /// Cores that run an application.
    busy: u32,
    /// Up to here its energy is counted.
    since_ns: u64,
    /// Arrivals so far, for events.
    count: u64,
}

#[derive(Debug, Default)]
struct Domain {
    machine: u32,
    runs: Vec<Running>,
    /// Up to here their work is counted.
    since_ns: u64,
    /// Cores that wait for memory.
    waiting_cores: f64,
    /// Changes so far, for events.
    count: u64,
}

#[derive(Debug)]
struct Running {
    application: u32,
    began_ns: u64,
    left: f64,
    pace: Pace,
}

pub(super) enum Placer<'a> {
    Scored(Scored),
    Gather(Places),
    Asked(Asked<'a>),
}

impl<'a> Placer<'a> {
    pub fn asking(scheduler: &'a mut dyn Scheduler, fleet: &Fleet) -> Self {
        Self::Asked(Asked::new(scheduler, fleet))
    }
    fn new(policy: Policy, fleet: &Fleet) -> Self {
        let score = match policy {
            Policy::LeastAllocated | Policy::AlwaysOn => Score::LeastAllocated,
            Policy::MostAllocated => Score::MostAllocated,
            Policy::PowerOnly => Score::PowerOnly,
            Policy::Gather => {
                let mut places = Places::default();
                fleet
                    .machines()
                    .for_each(|(_, model)| places.add_machine(&model.domains));
                return Self::Gather(places);
            }
        };
        Self::Scored(Scored::new(score, fleet))
    }
    fn place(&mut self, number: u32, application: &Application) -> Option<u32> {
        match self {
            Self::Scored(scored) => scored.place(application.cores),
            Self::Gather(places) => places.place(&application.thread()),
            Self::Asked(asked) => asked.place(number, application),
        }
    }
    fn add(&mut self, machine: u32, domain: u32, application: &Application) {
        match self {
            Self::Scored(scored) => scored.change(machine, domain, i64::from(application.cores)),
            Self::Gather(places) => places.add(domain, application.thread()),
            Self::Asked(asked) => asked.add(domain, application.cores),
        }
    }
    fn remove(&mut self, machine: u32, domain: u32, number: u32, application: &Application) {
        match self {
            Self::Scored(scored) => scored.change(machine, domain, -i64::from(application.cores)),
            Self::Gather(places) => places.remove(domain, &application.thread()),
            Self::Asked(asked) => asked.remove(domain, number, application.cores),
        }
    }
    fn set_off(&mut self, machine: u32) {
        match self {
            Self::Scored(scored) => scored.set_off(machine),
            Self::Gather(places) => places.set_off(machine, true),
            Self::Asked(asked) => asked.set_off(machine),
        }
    }
}

struct World<'a> {
    fleet: &'a Fleet,
    applications: &'a [Application],
    now_ns: u64,
    events: BinaryHeap<Reverse<Event>>,
    machines: Vec<Machine>,
    domains: Vec<Domain>,
    placer: Placer<'a>,
    always_on: bool,
    /// Those that fit nowhere, by cores; no queue is empty.
    queue: BTreeMap<u32, VecDeque<u32>>,
    /// Buffers that are reused.
    solver: Solver,
    paces: Vec<Pace>,
    totals: Totals,
    /// By application.
    alone_ns: Vec<f64>,
}

/// An application that takes more than this times as long as alone is late.
const LATE: f64 = 1.05;

/// Sums over machines and over applications that have ended; energies in W ns.
#[derive(Default)]
struct Totals {
    energy: f64,
    cpu_energy: f64,
    on_ns: u128,
    response_ns: f64,
    slowdown: f64,
    late: u64,
    counters: Counters,
}

pub(super) fn run(fleet: &Fleet, policy: Policy, applications: &[Application]) -> Outcome {
    run_by(
        fleet,
        Placer::new(policy, fleet),
        policy == Policy::AlwaysOn,
        applications,
    )
}

/// Every application must end. `always_on`: no machine is ever switched off.
pub(super) fn run_by<'a>(
    fleet: &'a Fleet,
    placer: Placer<'a>,
    always_on: bool,
    applications: &'a [Application],
) -> Outcome {
    let mut world = World::new(fleet, placer, always_on, applications);
    let mut arrivals = (0..applications.len() as u32).peekable();
    loop {
        let arrives_ns = arrivals.peek().map(|&next| applications[next as usize].arrives_ns);
        let next = world.events.peek().map(|Reverse(event)| event.at_ns);
        match (arrives_ns, next) {
            (Some(at_ns), next) if next.is_none_or(|next| at_ns < next) => {
                world.now_ns = at_ns;
                arrivals.next().into_iter().for_each(|number| world.arrive(number));
            }
            (None, _) if world.totals.counters.ended == applications.len() as u64 => break,
            _ => world.next_event(),
        }
    }
    world.outcome()
}

impl<'a> World<'a> {
    fn new(fleet: &'a Fleet, placer: Placer<'a>, always_on: bool, applications: &'a [Application]) -> Self {
        let mut world = Self {
            fleet,
            applications,
            now_ns: 0,
            events: BinaryHeap::new(),
            machines: Vec::new(),
            domains: Vec::new(),
            placer,
            always_on,
            queue: BTreeMap::new(),
            solver: Solver::default(),
            paces: Vec::new(),
            totals: Totals::default(),
            alone_ns: applications
                .iter()
                .map(|application| alone_ns(fleet, application))
                .collect(),
        };
        for (number, (model, about)) in (0..).zip(fleet.machines()) {
            let first = world.domains.len();
            world.domains.extend(about.domains.iter().map(|_| Domain {
                machine: number,
                ..Domain::default()
            }));
            world.machines.push(Machine {
                model,
                domains: first..world.domains.len(),
                state: State::On,
                applications: 0,
                waiting: Vec::new(),
                busy: 0,
                since_ns: 0,
                count: 0,
            });
            world.switch_off_later(number);
        }
        world
    }

    fn push(&mut self, after_ns: f64, what: What, count: u64) {
        let at_ns = self.now_ns + after_ns.ceil() as u64;
        self.events.push(Reverse(Event { at_ns, what, count }));
    }

    fn next_event(&mut self) {
        let Some(Reverse(event)) = self.events.pop() else {
            unreachable!("whoever waits fits an empty fleet, which Fleet::new checks, so that something runs or boots");
        };
        self.now_ns = event.at_ns;
        match event.what {
            What::Ends(domain) if self.domains[domain as usize].count == event.count => self.end_next(domain),
            What::Boots(machine) => self.has_booted(machine),
            What::SwitchesOff(machine) if self.machines[machine as usize].count == event.count => {
                self.count_energy(machine);
                self.machines[machine as usize].state = State::Off;
                self.placer.set_off(machine);
            }
            What::Ends(_) | What::SwitchesOff(_) => {}
        }
    }

    /// Who asks for as much as one that waits, or more, waits behind it.
    fn arrive(&mut self, number: u32) {
        self.totals.counters.arrivals += 1;
        let cores = self.applications[number as usize].cores;
        let waits = self.queue.range(..=cores).next().is_some();
        if waits || !self.place(number) {
            self.queue.entry(cores).or_default().push_back(number);
        }
    }

    /// False: it fits nowhere.
    fn place(&mut self, number: u32) -> bool {
        let application = &self.applications[number as usize];
        let Some(domain) = self.placer.place(number, application) else {
            return false;
        };
        let machine = self.domains[domain as usize].machine;
        self.count_energy(machine);
        self.placer.add(machine, domain, application);
        self.totals.counters.placed += 1;
        let about = &mut self.machines[machine as usize];
        about.applications += 1;
        about.count += 1;
        match about.state {
            State::On => self.start(number, domain),
            State::Boots => about.waiting.push((number, domain)),
            State::Off => {
                about.state = State::Boots;
                about.waiting.push((number, domain));
                self.totals.counters.boots += 1;
                self.push(self.fleet.setup.boot_s * 1e9, What::Boots(machine), 0);
            }
        }
        true
    }

    fn has_booted(&mut self, machine: u32) {
        self.count_energy(machine);
        let about = &mut self.machines[machine as usize];
        about.state = State::On;
        for (number, domain) in std::mem::take(&mut about.waiting) {
            self.start(number, domain);
        }
    }

    fn start(&mut self, number: u32, domain: u32) {
        let application = &self.applications[number as usize];
        let waited_ns = self.now_ns - application.arrives_ns;
        let counters = &mut self.totals.counters;
        counters.waited += u64::from(waited_ns > 0);
        counters.longest_wait_s = counters.longest_wait_s.max(waited_ns as f64 / 1e9);
        let machine = self.count_work(domain);
        self.machines[machine as usize].busy += application.cores;
        self.domains[domain as usize].runs.push(Running {
            application: number,
            began_ns: self.now_ns,
            left: application.work,
            pace: Pace { rate: 0.0, waits: 0.0 },
        });
        self.set_paces(domain);
    }

    /// The application of a domain that has least time left ends; what fits then of those that wait follows.
    fn end_next(&mut self, domain: u32) {
        let machine = self.count_work(domain);
        let runs = &mut self.domains[domain as usize].runs;
        let Some(next) = next_to_end(runs) else { return };
        let ended = runs.remove(next);
        let application = &self.applications[ended.application as usize];
        let about = &mut self.machines[machine as usize];
        about.busy -= application.cores;
        about.applications -= 1;
        let empty = about.applications == 0;
        self.placer.remove(machine, domain, ended.application, application);
        self.note_end(&ended);
        self.set_paces(domain);
        if empty {
            self.switch_off_later(machine);
        }
        self.place_waiting();
    }

    fn note_end(&mut self, ended: &Running) {
        let application = &self.applications[ended.application as usize];
        let slowdown = (self.now_ns - ended.began_ns) as f64 / self.alone_ns[ended.application as usize];
        let totals = &mut self.totals;
        totals.response_ns += (self.now_ns - application.arrives_ns) as f64;
        totals.slowdown += slowdown;
        totals.late += u64::from(slowdown > LATE);
        totals.counters.worst_slowdown = totals.counters.worst_slowdown.max(slowdown);
        totals.counters.ended += 1;
    }

    /// Who has waited longest first. Whether one fits depends on its cores alone, so who asks for as much as one that does not fit is not asked.
    fn place_waiting(&mut self) {
        let mut too_many = u32::MAX;
        loop {
            let heads = self
                .queue
                .range(..too_many)
                .filter_map(|(&cores, queue)| Some((*queue.front()?, cores)));
            let Some((number, cores)) = heads.min() else { return };
            if !self.place(number) {
                too_many = cores;
                continue;
            }
            let queue = self.queue.entry(cores).or_default();
            queue.pop_front();
            if queue.is_empty() {
                self.queue.remove(&cores);
            }
        }
    }

    fn switch_off_later(&mut self, machine: u32) {
        if self.always_on {
            return;
        }
        let count = self.machines[machine as usize].count;
        self.push(self.fleet.setup.off_after_s * 1e9, What::SwitchesOff(machine), count);
    }

    /// Counts the work of a domain and the energy of its machine up to now; whatever changes in it comes after that. Returns the machine.
    fn count_work(&mut self, number: u32) -> u32 {
        let domain = &mut self.domains[number as usize];
        let passed_ns = (self.now_ns - domain.since_ns) as f64;
        domain.since_ns = self.now_ns;
        for running in &mut domain.runs {
            running.left = (running.left - passed_ns * running.pace.rate).max(0.0);
        }
        let machine = domain.machine;
        self.count_energy(machine);
        machine
    }

    /// How fast the applications of a domain run from now on, and when the first of them ends.
    fn set_paces(&mut self, number: u32) {
        let domain = &mut self.domains[number as usize];
        let model = &self.fleet.models[self.machines[domain.machine as usize].model];
        let about = |running: &Running| &self.applications[running.application as usize];
        let sharing: Vec<(&MemoryUse, u32)> = domain
            .runs
            .iter()
            .map(about)
            .map(|application| (application.memory_use, application.cores))
            .collect();
        model.paces(&mut self.solver, &sharing, &mut self.paces);
        domain.waiting_cores = 0.0;
        for ((running, pace), (_, cores)) in domain.runs.iter_mut().zip(&self.paces).zip(&sharing) {
            running.pace = *pace;
            domain.waiting_cores += pace.waits * f64::from(*cores);
        }
        domain.count += 1;
        let count = domain.count;
        if let Some(next) = next_to_end(&domain.runs) {
            let left_ns = domain.runs[next].left_ns();
            self.push(left_ns, What::Ends(number), count);
        }
    }

    /// Of a machine, up to now.
    fn count_energy(&mut self, number: u32) {
        let machine = &mut self.machines[number as usize];
        let passed_ns = self.now_ns - machine.since_ns;
        machine.since_ns = self.now_ns;
        let model = &self.fleet.models[machine.model];
        let (watts, cpu_w) = match machine.state {
            State::Off => (self.fleet.setup.off_w, 0.0),
            State::Boots => (model.power_w(1), model.power_w(1) - model.rest_w),
            State::On => {
                let waiting: f64 = self.domains[machine.domains.clone()]
                    .iter()
                    .map(|domain| domain.waiting_cores)
                    .sum();
                let cores_w = model.power_w(machine.busy);
                (cores_w + model.stall_w * waiting, cores_w - model.rest_w)
            }
        };
        let totals = &mut self.totals;
        totals.energy += watts * passed_ns as f64;
        totals.cpu_energy += cpu_w * passed_ns as f64;
        totals.on_ns += if machine.state == State::Off {
            0
        } else {
            u128::from(passed_ns)
        };
    }

    fn outcome(mut self) -> Outcome {
        (0..self.machines.len() as u32).for_each(|machine| self.count_energy(machine));
        let totals = self.totals;
        let ended = totals.counters.ended as f64;
        let end_ns = self.now_ns as f64;
        Outcome {
            mean_response_s: totals.response_ns / ended / 1e9,
            energy_j: totals.energy / 1e9,
            cpu_energy_j: totals.cpu_energy / 1e9,
            bounds: bounds(self.fleet, self.applications, &self.alone_ns),
            counters: Counters {
                mean_slowdown: totals.slowdown / ended,
                late_share: totals.late as f64 / ended,
                machines_on: totals.on_ns as f64 / end_ns,
                end_s: end_ns / 1e9,
                ..totals.counters
            },
        }
    }
}

impl Running {
    fn left_ns(&self) -> f64 {
        self.left / self.pace.rate
    }
}

/// Of equals the one that came first.
fn next_to_end(runs: &[Running]) -> Option<usize> {
    (0..runs.len()).min_by(|&a, &b| runs[a].left_ns().total_cmp(&runs[b].left_ns()))
}
