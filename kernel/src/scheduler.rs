// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler itself: loads the BPF program, follows it, sets the speeds that the kernel's governor does not set, and restores
//! everything.

mod above;
mod config;
mod decisions;
mod heat;
mod isolation;
mod libbpf_log;
mod limits;
mod locks;
mod pages;
mod places;
mod plan;
mod program;
mod reserved;
mod speeds;
mod state;

use crate::adapter::{Exit, KernelError, Observer, Restored};
use crate::goal::{Aim, Follower};
use crate::options::{resolved, Named, Options};
use crate::requests::{GoalRequest, Inbox};
use crate::status::{Counts, Status};
use crate::support::Missing;
use decisions::DecisionLog;
use heat::Heat;
use isolation::Isolation;
use limits::Limits;
use lop_machine::costs::{self, Watts};
use lop_machine::live::{self, LiveMachine};
use lop_policy::record::Kind;
use lop_policy::Config;
use pages::Pages;
pub use plan::check as check_choice;
use plan::Planner;
use program::interface::lop_look as Look;
use program::{Ended, Program, Readings};
use reserved::Reservation;
use rustix::event::{PollFd, PollFlags};
use speeds::{LateGovernors, SpeedSetter};
use std::io;
use std::time::{Duration, Instant};

/// How often the program may be loaded again for new CPUs before that counts as a bug.
const MOST_RESTARTS: u32 = 100;

/// After so long in charge a limit is no longer one of a row, each of which doubles the time until the next take-over.
const LONG_IN_CHARGE: Duration = Duration::from_secs(600);

/// How one load of the program ended.
enum End {
    /// It was asked to stop, with what was restored.
    Stopped(Restored),
    /// It must be loaded again, because an unknown CPU came online.
    NewCpu,
    /// It must be loaded again, because other CPUs are isolated now.
    Isolated,
    /// It must be loaded again for this goal: a governor has changed, or light work has homes with one of the two goals only (policy/sets/goal.h).
    Goal(Aim),
    /// Speeds must be opened again, because a governor changed soon after the goal.
    Governor,
    /// A group has a limit of CPU time, which only the kernel's own scheduler enforces.
    Limited(Missing),
}

/// What outlives a load of the program.
struct Kept {
    /// Has the counts of earlier loads.
    status: Status,
    decisions: DecisionLog,
    was_in_charge: bool,
    goals: Follower,
    /// Requests for the goal that the next load of the program has; answered once that is in charge.
    waiting: Vec<GoalRequest>,
    governors: LateGovernors,
    pages: Option<Pages>,
}

/// Puts the policy in charge until the inbox says stop.
///
/// # Errors
/// The machine cannot be read, the kernel refuses the program, another scheduler is in charge, or the program ended by itself.
/// However it returns, the kernel's own scheduler is back and speeds are restored.
pub fn run(options: &Options, inbox: &Inbox, observer: &mut dyn Observer) -> Result<Exit, KernelError> {
    let mut kept = Kept {
        status: Status::begin(options),
        decisions: DecisionLog::open(options)?,
        was_in_charge: false,
        goals: Follower::begin(options),
        waiting: Vec::new(),
        governors: LateGovernors::default(),
        pages: open_pages(options, observer),
    };
    let (mut new_cpus, mut handed_back) = (0, 0);
    loop {
        let begin = Instant::now();
        match follow_once(options, inbox, observer, &mut kept)? {
            End::Stopped(restored) => {
                return Ok(Exit {
                    last: kept.status,
                    was_in_charge: kept.was_in_charge,
                    restored,
                })
            }
            End::NewCpu if new_cpus == MOST_RESTARTS => {
                return Err(KernelError::new(format!(
                    "the machine's CPUs changed {MOST_RESTARTS} times; giving up"
                )))
            }
            End::NewCpu => {
                new_cpus += 1;
                observer.note("a CPU that was not known came online; loading again");
            }
            End::Isolated => observer.note("other CPUs are isolated than before; loading again"),
            End::Goal(Aim { goal, why }) => observer.note(&format!("the goal is {goal} now ({why}); loading again")),
            End::Governor => observer.note("a governor changed with the goal; loading again"),
            End::Limited(limits) => {
                handed_back = if begin.elapsed() < LONG_IN_CHARGE {
                    handed_back + 1
                } else {
                    1
                };
                kept.pages.iter().for_each(Pages::refuse);
                hand_back(options, inbox, observer, &mut kept, &limits, handed_back)?;
                if inbox.stop_wanted() {
                    return Ok(Exit {
                        last: kept.status,
                        was_in_charge: kept.was_in_charge,
                        restored: Restored::default(),
                    });
                }
            }
        }
        kept.status.restarts += 1;
    }
}

/// Leaves the kernel's own scheduler in charge until no group has a limit, and answers meanwhile.
fn hand_back(
    options: &Options,
    inbox: &Inbox,
    observer: &mut dyn Observer,
    kept: &mut Kept,
    limits: &Missing,
    times: u32,
) -> Result<(), KernelError> {
    let Kept { status, goals, .. } = kept;
    let line = format!(
        "{}: the kernel's own scheduler is in charge until no group has a limit",
        limits.what
    );
    observer.handed_back(&line)?;
    above::step_down();
    status.hand_back(line);
    inbox.set_loading(false);
    limits::wait_until_gone(&options.root, limits::calm_after(times), inbox, || {
        inbox.answer(|| status.clone());
        for request in inbox.goals() {
            goals.choose(request.choice);
            status.aim_at(goals.aim().as_ref());
            request.done();
        }
    })
    .map_err(|error| KernelError::new(format!("waiting until no group has a limit: {error}")))?;
    if !inbox.stop_wanted() {
        status.handed_back = None;
        observer.note("no group has a limit of CPU time any more; taking over again");
    }
    Ok(())
}

/// `None`: programs cannot give hints themselves, which is no reason not to run.
fn open_pages(options: &Options, observer: &mut dyn Observer) -> Option<Pages> {
    let folder = options.hints.as_ref()?;
    Pages::open(folder)
        .map_err(|error| observer.note(&format!("programs give no hints: {}: {error}", folder.display())))
        .ok()
}

/// Loads and follows the program once.
fn follow_once(
    options: &Options,
    inbox: &Inbox,
    observer: &mut dyn Observer,
    kept: &mut Kept,
) -> Result<End, KernelError> {
    let Kept {
        status,
        decisions,
        was_in_charge,
        goals,
        waiting,
        governors,
        pages,
    } = kept;
    inbox.set_loading(true);
    let former = status.counts();
    let machine = live::read(&options.root)
        .map_err(|error| KernelError::new(error.to_string()))?
        .slowed(&options.slowed);
    let asked = options.policy;
    let (mut options, cut) = options.fitted(u32::try_from(machine.cpus.len()).unwrap_or(u32::MAX));
    let aim = goals.aim();
    options.goal = aim.as_ref().map(|aim| aim.goal);
    if let (Some(cut), 0) = (cut, status.restarts) {
        observer.note(&cut);
    }
    let mut speeds = SpeedSetter::open(&options, observer)?;
    plan::check(options.policy, &machine)?;
    let watts = costs::find(&options.root, &machine);
    let heat = Heat::of(&options, &machine);
    let config = config_of(&options, &machine, &watts, &speeds, heat.as_ref());
    let planner = Planner::of(&config, &options);
    if planner.is_none() && options.intensity.is_some() {
        observer.note("--intensity is not needed: with one memory domain and one kind of core nothing is planned");
    }
    let readings = Readings {
        misses: planner.as_ref().is_some_and(Planner::measures),
        heat: heat.as_ref().is_some_and(Heat::is_watched),
    };
    let map = pages.as_ref().and_then(Pages::map);
    let mut program = Program::load(&options, &machine, config, &speeds.wishes(), readings, map)?;
    decisions.machine(&machine, &program.config())?;
    // Writing a log takes long: above the policy, it would keep a CPU from all tasks that may run nowhere else.
    let is_brief = options.decisions.is_none();
    if is_brief && (speeds.writes() || planner.is_some() || readings.heat) {
        above::stay_out_of_demand(observer);
    }
    if inbox.stop_wanted() {
        return Ok(End::Stopped(speeds.restore()));
    }
    program.attach(&options.root)?;
    inbox.set_loading(false);
    if let Some(Err(error)) = pages
        .as_mut()
        .map(|pages| program.pages().and_then(|loaded| pages.load(loaded)))
    {
        observer.note(&format!("programs give no hints: {error}"));
    }
    let policy = match watts.machine {
        Some(_) => options.policy,
        None => resolved(
            options.policy,
            machine.nr_memory_domains,
            machine.nr_tiers,
            machine.threads(),
        ),
    };
    status.policy = policy.to_string();
    status.asked_policy = (policy != asked).then(|| asked.to_string());
    status.machine = describe(&machine);
    status.watts = (asked.policy == Named::Auto).then(|| watts.source.clone());
    status.lock_holders = program.lock_holders();
    let reservation = Reservation::begin(
        options.reserve(),
        program.reserved(),
        &options.root,
        &machine,
        &mut speeds,
    );
    let mut life = Life {
        program,
        pages: pages.as_ref(),
        speeds,
        reservation,
        planner,
        heat,
        isolation: Isolation::of(&options.root, &machine, Instant::now()),
        limits: Limits::of(&options, Instant::now()),
        goals,
        waiting,
        governors,
        aim,
        options,
        watts,
        machine,
        former,
        lost_records: 0,
        is_blind: false,
    };
    life.fill_goal(status);
    life.fill(status);
    // A program that fails while it takes over its tasks attaches too, but has ended by now.
    if !*was_in_charge && !inbox.stop_wanted() && !life.program.exited() {
        observer.attached(status)?;
        *was_in_charge = true;
    }
    life.waiting.drain(..).for_each(GoalRequest::done);
    let ended = life.follow(inbox, observer, status, decisions);
    life.fill(status);
    let Life {
        mut program,
        mut speeds,
        pages,
        ..
    } = life;
    pages.iter().for_each(|pages| pages.unload());
    let ended = ended.and_then(|reload| Ok((program.detach()?, reload)));
    decisions.records(&program.last_records())?;
    decisions.end(program.log_faults())?;
    let restored = speeds.restore();
    let end = match ended {
        Ok((Ended::Stopped, None)) => return Ok(End::Stopped(restored)),
        Ok((Ended::Stopped, Some(end))) => Ok(end),
        Ok((Ended::Restart, _)) => Ok(End::NewCpu),
        Err(error) => Err(error),
    };
    restored.tell_failures(observer);
    end
}

/// The program while it is attached.
struct Life<'a> {
    program: Program,
    pages: Option<&'a Pages>,
    speeds: SpeedSetter,
    reservation: Reservation,
    planner: Option<Planner>,
    heat: Option<Heat>,
    isolation: Isolation,
    limits: Limits,
    goals: &'a mut Follower,
    waiting: &'a mut Vec<GoalRequest>,
    governors: &'a mut LateGovernors,
    aim: Option<Aim>,
    /// With the goal that is in force.
    options: Options,
    watts: Watts,
    machine: LiveMachine,
    former: Counts,
    /// Records known to be lost for lack of room.
    lost_records: u64,
    /// Whether it was reported that threads cannot be looked at.
    is_blind: bool,
}

impl Life<'_> {
    fn fill(&self, status: &mut Status) {
        self.program.fill(status, &self.machine, self.speeds.acts());
        status.add(&self.former);
        status.programs = self.pages.map_or(0, Pages::given);
        status.speeds = self.speeds.describe();
        let reserved = self.program.reserved();
        status.reserved_cpu = reserved.map(|reserved| reserved.cpu);
        status.reserved = self.reservation.describe(reserved);
        status.heat = self.heat.as_ref().map(Heat::describe);
        status.plan = self.planner.as_ref().map(Planner::describe).unwrap_or_default();
    }

    /// After lost records, takes speeds from the sets. Reports of limits may be among the lost records too.
    fn catch_up(&mut self, observer: &mut dyn Observer) {
        let (lost_records, _) = self.program.log_faults();
        if lost_records != self.lost_records {
            self.lost_records = lost_records;
            self.speeds.set(self.program.wishes(&self.machine), observer);
            self.limits.look(Instant::now());
            self.heat.iter_mut().for_each(|heat| heat.wake(Instant::now()));
        }
    }

    /// Sleeps until there is a record or a request, or until it is time to plan. How it ended, if it must be loaded again.
    fn follow(
        &mut self,
        inbox: &Inbox,
        observer: &mut dyn Observer,
        status: &mut Status,
        decisions: &mut DecisionLog,
    ) -> Result<Option<End>, KernelError> {
        while !inbox.stop_wanted() && !self.program.exited() {
            let plan_in = self.planner.as_ref().and_then(Planner::due_in);
            let now = Instant::now();
            let isolation_in = self.isolation.due_in(now);
            let next = [
                plan_in,
                self.heat.as_ref().and_then(|heat| heat.due_in(now)),
                self.speeds.due_in(),
                isolation_in,
                self.limits.due_in(now),
                self.governors.due_in(now),
            ];
            let next = next.into_iter().flatten().min();
            wait(&self.program, inbox, self.goals, next)
                .map_err(|error| KernelError::new(format!("waiting for the scheduler: {error}")))?;
            let records = self.program.records();
            self.limits.follow(&records, Instant::now());
            if let Some(limits) = self.limits.find(Instant::now()) {
                decisions.records(&records)?;
                return Ok(Some(End::Limited(limits)));
            }
            self.speeds.follow(&records, observer);
            self.catch_up(observer);
            let has = |kind| records.iter().any(|record| record.kind == kind);
            if has(Kind::GivenUp) {
                self.reservation.end(&mut self.speeds, observer);
            }
            self.plan(has(Kind::Look), observer)?;
            self.swap_hot(has(Kind::Warms), Instant::now(), observer)?;
            decisions.records(&records)?;
            inbox.answer(|| {
                self.fill(status);
                status.clone()
            });
            self.isolation.follow(&records, Instant::now());
            let end = self.follow_goal(inbox, observer, status)?;
            if inbox.stop_wanted() {
                break;
            }
            if self.isolation.has_changed(Instant::now()) {
                return Ok(Some(End::Isolated));
            }
            if end.is_some() {
                return Ok(end);
            }
            if self.governors.take_due(Instant::now()) && self.speeds.has_changed_governor() {
                return Ok(Some(End::Governor));
            }
        }
        Ok(None)
    }
}

impl Life<'_> {
    fn config(&self) -> Config {
        config_of(
            &self.options,
            &self.machine,
            &self.watts,
            &self.speeds,
            self.heat.as_ref(),
        )
    }

    fn fill_goal(&self, status: &mut Status) {
        status.aim_at(self.aim.as_ref());
        status.rules = config::rules_for_people(&self.program.config());
        status.goal_effects = config::effects(
            &self.options,
            &self.machine,
            &self.watts,
            self.speeds.range(&self.machine),
        );
        status.goal_effects.extend(self.speeds.of_goal().map(str::to_string));
    }

    /// Takes the goals that root chose, and goes by the one that holds now.
    fn follow_goal(
        &mut self,
        inbox: &Inbox,
        observer: &mut dyn Observer,
        status: &mut Status,
    ) -> Result<Option<End>, KernelError> {
        let requests = inbox.goals();
        requests.iter().for_each(|request| self.goals.choose(request.choice));
        self.goals.quiet();
        let former = std::mem::replace(&mut self.aim, self.goals.aim());
        let mut end = None;
        if self.aim != former {
            end = self.change_goal(observer)?;
            self.fill_goal(status);
        }
        match end {
            None => requests.into_iter().for_each(GoalRequest::done),
            Some(_) => {
                inbox.set_loading(true);
                self.waiting.extend(requests);
            }
        }
        Ok(end)
    }

    /// Changes nothing if there is only a new reason for the same goal. `Some`: the program must be loaded again.
    fn change_goal(&mut self, observer: &mut dyn Observer) -> Result<Option<End>, KernelError> {
        let Some(aim) = self.aim.clone().filter(|aim| self.options.goal != Some(aim.goal)) else {
            return Ok(None);
        };
        self.options.goal = Some(aim.goal);
        let config = self.config();
        self.governors.look_after(Instant::now());
        let goal = match self.program.config().goal_change(&config) {
            Some(goal) if !self.speeds.has_changed_governor() => goal,
            _ => return Ok(Some(End::Goal(aim))),
        };
        self.speeds.follow_goal(&self.options, observer);
        self.program.set_goal(config, goal, &self.speeds.wishes())?;
        observer.note(&format!("the goal is {} now ({})", aim.goal, aim.why));
        Ok(None)
    }
}

impl Life<'_> {
    /// Plans once a second while there is something to plan.
    fn plan(&mut self, asked: bool, observer: &mut dyn Observer) -> Result<(), KernelError> {
        let Some(planner) = &mut self.planner else {
            return Ok(());
        };
        if asked {
            planner.wake();
        }
        if !planner.is_due() {
            return Ok(());
        }
        let Some(looks) = look(&self.program, &mut self.is_blind, observer) else {
            planner.look_later();
            return Ok(());
        };
        for order in planner.follow(&looks, self.program.sched(), state::now_ns()) {
            self.program.order(order)?;
        }
        if planner.rests() {
            self.program.look_no_more();
        }
        Ok(())
    }
}

impl Life<'_> {
    /// Reads temperatures, and lets the policy swap CPUs by them, every 10 s while the set of high CPUs is partial.
    fn swap_hot(&mut self, warms: bool, now: Instant, observer: &mut dyn Observer) -> Result<(), KernelError> {
        let Some(heat) = self.heat.as_mut().filter(|heat| heat.is_watched()) else {
            return Ok(());
        };
        if warms {
            heat.wake(now);
        }
        if heat.due_in(now).is_none_or(|left| !left.is_zero()) {
            return Ok(());
        }
        heat.take_due(now);
        self.program.read_heat_no_more();
        if !self.program.sched().is_partial() {
            return Ok(());
        }
        let (temperatures_mc, fault) = heat.read();
        fault.iter().for_each(|line| observer.note(line));
        self.program.swap_by(&temperatures_mc)
    }
}

/// The configuration, with the limit of the sensors.
fn config_of(
    options: &Options,
    machine: &LiveMachine,
    watts: &Watts,
    speeds: &SpeedSetter,
    heat: Option<&Heat>,
) -> Config {
    Config {
        hot_mc: heat.map_or(i32::MAX, Heat::hot_mc),
        ..config::of(options, machine, watts, speeds.range(machine))
    }
}

/// `None` if the threads could not be looked at, which is reported once.
fn look(program: &Program, is_blind: &mut bool, observer: &mut dyn Observer) -> Option<Vec<Look>> {
    match program.look() {
        Ok(looks) => Some(looks),
        Err(error) => {
            if !std::mem::replace(is_blind, true) {
                observer.note(&format!(
                    "{error}; tried again once a second, and until then nothing is planned"
                ));
            }
            None
        }
    }
}

fn wait(program: &Program, inbox: &Inbox, goals: &Follower, due_in: Option<Duration>) -> io::Result<()> {
    let mut fds = vec![
        PollFd::from_borrowed_fd(inbox.wake_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(program.records_fd(), PollFlags::IN),
    ];
    fds.extend(goals.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let due_in = due_in.and_then(|time| time.try_into().ok());
    match rustix::event::poll(&mut fds, due_in.as_ref()) {
        Err(rustix::io::Errno::INTR) => Ok(()),
        result => result.map(|_| ()).map_err(io::Error::from),
    }
}

/// For people: how many CPUs of which kind in how many domains, then the assumptions.
fn describe(machine: &LiveMachine) -> Vec<String> {
    let kinds: Vec<String> = (0..machine.nr_tiers)
        .map(|tier| {
            let cpus: Vec<u32> = machine
                .cpus
                .iter()
                .filter(|c| c.tier == tier)
                .map(|c| c.number)
                .collect();
            match machine.nr_tiers {
                1 => format!("{} CPUs of one kind", cpus.len()),
                _ => format!("{} of kind {tier} ({})", cpus.len(), crate::status::ranges(&cpus)),
            }
        })
        .collect();
    let count = |number: u16, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let mut lines = vec![format!(
        "{}; {}, {}, {}",
        kinds.join(", "),
        count(machine.nr_cores, "core"),
        count(machine.nr_memory_domains, "memory domain"),
        count(machine.nr_clock_domains, "clock domain"),
    )];
    let isolated: Vec<u32> = machine.isolated().into_iter().collect();
    if !isolated.is_empty() {
        let isolated = crate::status::ranges(&isolated);
        lines.push(format!("isolated: CPUs {isolated}, left to tasks that are bound there"));
    }
    lines.extend(machine.notes.iter().cloned());
    lines
}

/// A record of the program that only says that something happened.
#[cfg(test)]
fn report(kind: Kind) -> lop_policy::record::Record {
    lop_policy::record::Record {
        kind,
        at_ns: 0,
        task: 0,
        cpu: 0,
        value: 0,
        words: Vec::new(),
    }
}
