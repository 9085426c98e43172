// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler for the whole machine in user space: the number of tasks that want to run decides which CPUs are high, and the others are parked.
//!
//! Only their number is known, so the shadow gets as many anonymous tasks as want to run.

use crate::affinity::{thread_cpu, AgentError, BETWEEN_LOOKS};
use crate::amp::{self, Amp};
use crate::cpus::{Cpus, MAX_CPUS};
use crate::demand::Demand;
use crate::hotplug::Hotplug;
use crate::machine::{Layout, Sizes};
use crate::pace::Pace;
use crate::partition::{groups, journal, Groups, Lack, Partition};
use crate::policy::Facts;
use crate::rules::for_machine;
use crate::shadow::{Place, Shadow};
use lop_machine::live;
use lop_machine::speed::{Asker, HighSpeed, Speeds, Wish};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Share of one CPU that parking and opening CPUs may cost. Each time, the kernel rebuilds its scheduling domains. Together with the looks it is less
/// than the promised 0.5 %.
const PARKING_SHARE: f64 = 0.001;
/// Longest pause before parking. If a change costs more than 5 ms, the share above would keep CPUs open for too long.
const LONGEST_PARKING_PAUSE: Duration = Duration::from_secs(5);
/// Tasks that run for less than this do not count as demand: mostly kernel threads that a tick woke (250 a second).
const VISIT: Duration = Duration::from_millis(6);
/// While CPUs come and go, reading the machine may fail; it is read again after this time.
const READ_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub struct WholeOptions {
    pub sizes: Sizes,
    /// Whether speeds are set.
    pub speeds: bool,
    pub high_speed: HighSpeed,
    /// Where `sys` and `proc` are: `/`, or a fake tree in tests.
    pub root: PathBuf,
    /// Where changes are recorded beforehand.
    pub run_dir: PathBuf,
    pub speed_journal: PathBuf,
}

/// The result of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look again after this time.
    Wait(Duration),
    /// CPUs came or went: begin again.
    CpusChanged,
}

/// Why a CPU is in the high set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberIs {
    /// There is a task for it.
    Busy,
    Spare,
    /// Surplus; leaves after this time.
    Held(Duration),
    /// The last member, kept because something ran in the last second.
    Recent,
}

/// Runs the policy on the whole machine. Dropping it restores everything; [`Whole::end`] also returns what could not be restored.
pub struct Whole {
    eyes: Eyes,
    hands: Hands,
    all: Cpus,
    /// CPUs of the machine that are offline.
    offline: Cpus,
    hotplug: Hotplug,
    began: Instant,
    /// Notes about the machine's kinds and domains, for people.
    notes: Vec<String>,
}

impl Whole {
    /// Reads the machine, restores what a dead run left, and creates the cgroup of parked CPUs; parks nothing yet.
    ///
    /// # Errors
    /// A sentence: something is missing, or the policy cannot be used for a whole machine.
    pub fn begin(options: &WholeOptions) -> Result<Self, AgentError> {
        Self::begin_on(options, &|| groups(&options.root))
    }

    /// The same after [`Step::CpusChanged`]. While CPUs come and go, the machine's files may contradict one another, so it retries for a second.
    ///
    /// # Errors
    /// As [`Whole::begin`].
    pub fn begin_anew(options: &WholeOptions) -> Result<Self, AgentError> {
        let end = Instant::now() + Hotplug::PERIOD;
        loop {
            match Self::begin(options) {
                Err(_) if Instant::now() < end => std::thread::sleep(READ_AGAIN),
                begun => return begun,
            }
        }
    }

    fn begin_on(
        options: &WholeOptions,
        groups: &dyn Fn() -> Result<Box<dyn Groups>, Lack>,
    ) -> Result<Self, AgentError> {
        let setup = |error: &dyn std::fmt::Display| AgentError::Setup(error.to_string());
        let rules = for_machine(options.sizes.rules).map_err(AgentError::Setup)?;
        // Before the machine is read, so that the first look sees what changes meanwhile.
        let hotplug = Hotplug::of(&options.root);
        let machine = live::read(&options.root).map_err(|error| setup(&error))?;
        let amp = Amp::load(&amp::folder(Some(&options.run_dir))).map_err(|error| setup(&error))?;
        none_held_by_threads(&amp).map_err(AgentError::Setup)?;
        let groups = groups().map_err(|lack| AgentError::Setup(lack.into()))?;
        let partition = Partition::open(groups, &journal(&options.run_dir)).map_err(AgentError::Setup)?;
        let mut layout = Layout::of(&machine, &amp);
        if let Some(usable) = partition.usable() {
            layout.cpus.retain(|(cpu, _)| usable.has(*cpu));
        }
        let has_speeds = options.speeds && rules.fixed_size().is_none();
        let open = || {
            let mut speeds = Speeds::open_for(Asker::UserSpace, &options.root, &options.speed_journal)?;
            speeds.set_high_speed(options.high_speed).map(|()| speeds)
        };
        let speeds = has_speeds.then(open).transpose().map_err(|error| setup(&error))?;
        let offline = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.number);
        let sizes = Sizes { rules, ..options.sizes };
        Ok(Self {
            eyes: Eyes::new(Demand::open(&options.root).map_err(AgentError::Setup)?, &layout, &sizes),
            all: layout.all(),
            hands: Hands::new(partition, speeds),
            offline: offline.filter(|cpu| (*cpu as usize) < MAX_CPUS).collect(),
            hotplug,
            began: Instant::now(),
            notes: machine.notes.clone(),
        })
    }

    /// Looks once, and carries out the policy's decisions.
    ///
    /// # Errors
    /// A sentence: demand can no longer be read, or the kernel refuses to park CPUs.
    pub fn step(&mut self) -> Result<Step, AgentError> {
        if self.hotplug.has_changed_lately() {
            return Ok(Step::CpusChanged);
        }
        let now = self.began.elapsed();
        let wait = self
            .eyes
            .look(now)
            .map_err(|error| AgentError::Setup(error.to_string()))?;
        let members = self.eyes.shadow.members();
        match self.hands.bring_about(&members, &self.all, now) {
            Ok(()) => Ok(Step::Wait(wait)),
            // The kernel refuses a partition if all its CPUs, or all other CPUs, are offline; this is not final.
            Err(_) if self.hotplug.changes_soon() => Ok(Step::CpusChanged),
            Err(sentence) => Err(AgentError::Setup(sentence)),
        }
    }

    /// The policy's own numbers.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.eyes.shadow.facts()
    }

    /// The high set, ascending, and why each is in it.
    #[must_use]
    pub fn members(&self) -> Vec<(u32, MemberIs)> {
        self.eyes.members()
    }

    /// All CPUs of the policy, in whatever set.
    #[must_use]
    pub fn all(&self) -> Cpus {
        self.all
    }

    /// Offline CPUs of the machine; once online, they are included after the restart.
    #[must_use]
    pub fn offline(&self) -> Cpus {
        self.offline
    }

    /// The parked CPUs.
    #[must_use]
    pub fn parked(&self) -> Cpus {
        self.hands.partition.parked()
    }

    /// What is lost by enforcing it from user space, for people; clauses.
    #[must_use]
    pub fn lost(&self) -> String {
        format!("{BETWEEN_LOOKS}; idle CPUs are not seen either, so a CPU may be parked under a task that goes on elsewhere; the kernel decides who runs where, order and shares")
    }

    /// For people, one line each: how CPUs are parked and speeds set.
    #[must_use]
    pub fn describe(&self) -> (String, Vec<String>) {
        let speeds = match &self.hands.speeds {
            Some(speeds) => speeds.describe(),
            None => vec!["left alone, as requested or as in simple-sets".to_string()],
        };
        (
            format!(
                "parked CPUs are an isolated partition, {}",
                self.hands.partition.shown()
            ),
            speeds,
        )
    }

    /// Assumptions about the machine.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Sentences about speeds that could not be set, each returned once.
    pub fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.hands.complaints)
    }

    /// Whether a wish for speed has an effect anywhere.
    #[must_use]
    pub fn speeds_act(&self) -> bool {
        self.hands.speeds_act()
    }

    /// Gives all CPUs back and restores speeds. Returns what could not be restored.
    pub fn end(mut self) -> Vec<String> {
        let mut failed: Vec<String> = self.hands.partition.close().err().into_iter().collect();
        if let Some(speeds) = &mut self.hands.speeds {
            failed.extend(speeds.restore().iter().map(ToString::to_string));
        }
        failed
    }
}

/// Refuses CPUs slowed by a thread of `lop amp`: if its CPU were parked, the thread would move to an open CPU and take that one's time.
fn none_held_by_threads(amp: &Amp) -> Result<(), String> {
    match amp.iter().find(|(_, slowed)| slowed.way == amp::Way::Duty) {
        None => Ok(()),
        Some((cpu, _)) => Err(format!(
            "a thread of lop amp takes part of the time of CPU {cpu}, and would take that of others if the CPU were parked: 'lop amp reset', or slow \
             it by a limit of frequency"
        )),
    }
}

/// Lets the calling thread, but not its children, run before ordinary ones: looks must be in time especially when there are too few CPUs.
///
/// # Errors
/// It lacks the privilege.
pub fn run_above_others() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call only reads the parameters, and affects this thread only.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Observes demand, and consults the policy.
struct Eyes {
    demand: Demand,
    shadow: Shadow,
    /// How many of the anonymous tasks are active, the first ones.
    crowd: u32,
    /// Most tasks that make a difference.
    most: u32,
    pace: Pace,
    /// Time of the last look, since the beginning.
    now: Duration,
}

impl Eyes {
    fn new(demand: Demand, layout: &Layout, sizes: &Sizes) -> Self {
        let mut shadow = Shadow::new(&layout.config(sizes), &layout.cpus, 0);
        let most = layout.cpus.len() as u32 * 2;
        (0..most).for_each(|id| shadow.add(id, id, &layout.all(), 0));
        Self {
            demand,
            shadow,
            crowd: 0,
            most,
            pace: Pace::default(),
            now: Duration::ZERO,
        }
    }

    /// How long to wait for the next look.
    fn look(&mut self, now: Duration) -> io::Result<Duration> {
        let before = thread_cpu();
        self.now = now;
        self.shadow.time_is(now.as_nanos() as u64);
        let mut wanted = self.demand.now()?.min(self.most);
        if wanted > self.crowd {
            std::thread::sleep(VISIT);
            wanted = wanted.min(self.demand.now()?);
        }
        self.follow(wanted);
        self.shadow.tick();
        Ok(self.pace.next(thread_cpu() - before, wanted))
    }

    /// Adjusts the crowd to the demand. When demand falls, waiting tasks are removed first.
    fn follow(&mut self, wanted: u32) {
        let is = |shadow: &Shadow, id: u32| shadow.place(id);
        while self.crowd > wanted {
            let active = |&id: &u32| is(&self.shadow, id) != Some(Place::Blocked);
            let waiting = (0..self.most)
                .rev()
                .find(|&id| is(&self.shadow, id) == Some(Place::Waits));
            let Some(id) = waiting.or_else(|| (0..self.most).rev().find(active)) else {
                break;
            };
            self.shadow.block(id);
            self.crowd -= 1;
        }
        while self.crowd < wanted {
            let blocked = |&id: &u32| is(&self.shadow, id) == Some(Place::Blocked);
            let Some(id) = (0..self.most).find(blocked) else { break };
            let last = self.shadow.last_cpu(id).unwrap_or(0);
            self.shadow.wake(id, last);
            self.crowd += 1;
        }
    }

    fn members(&self) -> Vec<(u32, MemberIs)> {
        let facts = self.shadow.facts();
        let members = self.shadow.members();
        let mut level = members.iter().count() as u32;
        let mut surplus = level.saturating_sub(facts.target);
        let mut is = |cpu: u32| {
            if self.shadow.is_busy(cpu) {
                return MemberIs::Busy;
            }
            if surplus == 0 {
                return MemberIs::Spare;
            }
            surplus -= 1;
            level -= 1;
            match level {
                0 => MemberIs::Recent,
                _ => MemberIs::Held(self.until(self.shadow.leaves_ns(level + 1))),
            }
        };
        members.iter().map(|cpu| (cpu, is(cpu))).collect()
    }

    fn until(&self, at_ns: u64) -> Duration {
        Duration::from_nanos(at_ns).saturating_sub(self.now)
    }
}

/// Parks CPUs and sets speeds.
struct Hands {
    partition: Partition,
    /// `None` if speeds are left alone.
    speeds: Option<Speeds>,
    /// CPUs whose failure to set a speed was reported.
    failed: BTreeSet<u32>,
    complaints: Vec<String>,
    /// Earliest time to park CPUs.
    park_at: Duration,
    /// CPU time of changes since CPUs were last parked.
    spent: Duration,
}

impl Hands {
    fn new(partition: Partition, speeds: Option<Speeds>) -> Self {
        Self {
            partition,
            speeds,
            failed: BTreeSet::new(),
            complaints: Vec::new(),
            park_at: Duration::ZERO,
            spent: Duration::ZERO,
        }
    }

    fn speeds_act(&self) -> bool {
        self.speeds.as_ref().is_some_and(Speeds::acts)
    }

    /// Work waits for joining CPUs, so they are opened and sped up at once, while parking may be delayed:
    ///     pause before CPUs are parked = CPU time of all changes since they were parked last / [`PARKING_SHARE`]
    /// An empty set means the lowest speed everywhere, and open CPUs stay open, since the next task to wake must run somewhere.
    fn bring_about(&mut self, members: &Cpus, all: &Cpus, now: Duration) -> Result<(), String> {
        self.wish(members, Wish::High);
        let parked = self.partition.parked();
        let wanted = match members.is_empty() {
            true => parked,
            false => all.without(members),
        };
        let put_off = now < self.park_at && !wanted.without(&parked).is_empty();
        let wanted = if put_off { wanted.and(&parked) } else { wanted };
        let before = thread_cpu();
        if self.partition.park(&wanted)? {
            self.spent += thread_cpu() - before;
            let pause = self.spent.div_f64(PARKING_SHARE).min(LONGEST_PARKING_PAUSE);
            self.park_at = self.park_at.max(now + pause);
            if !wanted.without(&parked).is_empty() {
                self.spent = Duration::ZERO;
            }
        }
        if !put_off {
            self.wish(&all.without(members), Wish::Low);
        }
        Ok(())
    }

    fn wish(&mut self, cpus: &Cpus, wish: Wish) {
        let Some(speeds) = &mut self.speeds else { return };
        for cpu in cpus.iter() {
            if let Err(error) = speeds.apply(cpu as usize, wish) {
                if self.failed.insert(cpu) {
                    self.complaints.push(error.to_string());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
