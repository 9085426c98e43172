// SPDX-License-Identifier: GPL-2.0-only
//! Speeds as far as user space sets them: which governors take the program's requests, and which files follow its sets.

use super::config::SpeedRange;
use super::program::SpeedWishes;
use crate::adapter::{KernelError, Observer, Restored};
use crate::options::{Goal, Options};
use lop_machine::costs::Control;
use lop_machine::live::{LiveCpu, LiveMachine};
use lop_machine::speed::{restore_from_journal, HighSpeed, Mechanism, SpeedError, Speeds, Wish};
use lop_policy::record::{Kind, Record};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Why files are left alone if only some of the tasks are ours: our low CPU may be busy with the kernel's tasks.
const SHARED: &str =
    "with --partial other tasks run on these CPUs too, and only governor schedutil counts both: choose it to have \
                      speeds follow";

/// A processor that chooses speeds itself is slow to follow a preference. So a CPU is only lowered if it does not rise again within this time.
const LOWERED_AFTER: Duration = Duration::from_secs(1);

/// What the goal makes of the speed of high CPUs; `None`: nothing.
fn effect(goal: Goal, speeds: &Speeds) -> Option<&'static str> {
    let any = |control| speeds.controls().any(|of_domain| of_domain == control);
    match goal {
        Goal::Energy => Some("high CPUs at the speed of least energy per work"),
        Goal::Balanced if any(Control::Processor) => Some("high CPUs as the processor chooses, from a lower limit on"),
        Goal::Balanced | Goal::Speed => None,
    }
}

/// The speeds; and with a goal, for people, what it makes of the speed of high CPUs.
fn open(options: &Options, observer: &mut dyn Observer) -> Result<(Speeds, Option<String>), KernelError> {
    let opened = Speeds::open(&options.root, &options.speed_journal);
    let mut speeds =
        opened.map_err(|error| KernelError::new(error.to_string()).mend("--no-speeds does without speeds"))?;
    if options.partial {
        speeds.leave_files_alone(SHARED);
    }
    let of_goal = choose_speed(&mut speeds, options, observer).map_err(|error| KernelError::new(error.to_string()))?;
    Ok((speeds, of_goal))
}

/// Sets the speed of high CPUs. For people: what the goal makes of it, and which CPUs cannot follow, which is reported too.
fn choose_speed(
    speeds: &mut Speeds,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Option<String>, SpeedError> {
    let goal = match (options.high_speed, options.goal) {
        (Some(wanted), _) => return speeds.set_high_speed(wanted).map(|()| None),
        (None, Some(goal)) => goal,
        (None, None) => return Ok(None),
    };
    let (mut of_goal, set) = match speeds.set_high_speed(HighSpeed::ForGoal(goal)) {
        Err(SpeedError::HighSpeed { reason, .. }) => (
            Some(format!("high CPUs at their highest speed: {reason}")),
            speeds.set_high_speed(HighSpeed::Max),
        ),
        set => (effect(goal, speeds).map(str::to_string), set),
    };
    match set {
        Err(error @ SpeedError::KeptSpeed { .. }) => {
            observer.note(&error.to_string());
            let effect = of_goal.map_or(String::new(), |effect| format!("{effect}; but "));
            of_goal = Some(format!("{effect}{error}"));
        }
        set => set?,
    }
    Ok(of_goal)
}

/// The CPU whose speed should be set, and the wish.
fn wish(record: &Record) -> Option<(usize, Wish)> {
    let cpu = usize::try_from(record.cpu).ok()?;
    let wish = match record.value & 0xff {
        0 => Wish::Low,
        1 => Wish::High,
        2 => Wish::Share((record.value >> 8) as u16),
        _ => Wish::Released,
    };
    (record.kind == Kind::Speed).then_some((cpu, wish))
}

/// A program that changes the power profile may report it before it writes the governor, so governors are looked at once more after a change of the goal.
const GOVERNORS_AFTER: Duration = Duration::from_secs(5);

/// When governors are looked at after a change of the goal; `None`: no goal has changed since the last look.
#[derive(Debug, Default)]
pub struct LateGovernors(Option<Instant>);

impl LateGovernors {
    /// The goal changes at `now`.
    pub fn look_after(&mut self, now: Instant) {
        self.0 = Some(now + GOVERNORS_AFTER);
    }

    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        Some(self.0?.saturating_duration_since(now))
    }

    /// Whether it is time to look; once for each change.
    pub fn take_due(&mut self, now: Instant) -> bool {
        self.0.take_if(|at| *at <= now).is_some()
    }
}

/// Speeds as far as user space sets them.
pub struct SpeedSetter {
    /// `None` if speeds are left alone.
    speeds: Option<Speeds>,
    why_not: &'static str,
    of_goal: Option<String>,
    /// CPUs whose speed could not be set; reported once.
    failed: Vec<usize>,
    /// Low CPUs, and when to lower each.
    lowered_at: BTreeMap<usize, Instant>,
}

impl SpeedSetter {
    /// Restores what a dead run left changed, even if speeds are left alone from now on.
    ///
    /// # Errors
    /// Another process sets the speeds of this machine, or their journal is damaged or cannot be written.
    pub fn open(options: &Options, observer: &mut dyn Observer) -> Result<Self, KernelError> {
        let why_not = match (options.speeds, options.policy.fixed_size()) {
            (false, _) => "left alone, as asked for (--no-speeds)",
            (_, Some(_)) => "left to the governor, as simple-sets has it",
            _ => "",
        };
        let (speeds, of_goal) = match why_not {
            "" => open(options, observer).map(|(speeds, of_goal)| (Some(speeds), of_goal))?,
            _ => {
                put_back(options, observer);
                (None, None)
            }
        };
        Ok(Self {
            speeds,
            why_not,
            of_goal,
            failed: Vec::new(),
            lowered_at: BTreeMap::new(),
        })
    }

    /// The options have another goal: high CPUs get their new speed. Where a file cannot be written they keep the former one, which is reported.
    pub fn follow_goal(&mut self, options: &Options, observer: &mut dyn Observer) {
        let (Some(speeds), None) = (&mut self.speeds, options.high_speed) else {
            return;
        };
        self.of_goal = choose_speed(speeds, options, observer).unwrap_or_else(|error| {
            observer.note(&error.to_string());
            Some(format!("high CPUs keep their former speed: {error}"))
        });
    }

    /// Whether speeds should be opened again, because a governor has changed since.
    pub fn has_changed_governor(&self) -> bool {
        self.speeds.as_ref().is_some_and(Speeds::has_changed_governor)
    }

    /// For people: what the goal does to the speed of high CPUs, or why it cannot.
    pub fn of_goal(&self) -> Option<&str> {
        self.of_goal.as_deref()
    }

    fn domains(&self) -> impl Iterator<Item = &lop_machine::speed::ClockDomain> {
        self.speeds.iter().flat_map(|speeds| speeds.domains())
    }

    pub fn wishes(&self) -> SpeedWishes {
        let by_kernel = self.domains().filter(|d| matches!(d.mechanism, Mechanism::Scheduler));
        SpeedWishes {
            asked_by_kernel: by_kernel
                .flat_map(|d| d.cpus.iter().map(|&cpu| (cpu, d.high_perf)))
                .collect(),
            requests_to_top: self.speeds.as_ref().map_or(1, Speeds::requests_to_top),
            rate_limit_ns: self.speeds.as_ref().map_or(0, Speeds::rate_limit_ns),
            told: self.writes(),
        }
    }

    /// Whether files may be written when sets change.
    pub fn writes(&self) -> bool {
        self.domains()
            .any(|d| !matches!(d.mechanism, Mechanism::Scheduler | Mechanism::Nothing { .. }))
    }

    /// Whether a wish for speed has an effect anywhere.
    pub fn acts(&self) -> bool {
        self.domains()
            .any(|d| !matches!(d.mechanism, Mechanism::Nothing { .. }))
    }

    /// Whether a CPU can be told any speed between its lowest and its highest. A governor that takes requests as shares of the present speed cannot
    /// ([`Speeds::requests_to_top`]).
    fn tells_any_speed(&self) -> bool {
        let in_steps = self.speeds.as_ref().is_some_and(|speeds| speeds.requests_to_top() > 1);
        let tells = |d: &lop_machine::speed::ClockDomain| match d.mechanism {
            Mechanism::Nothing { .. } => false,
            Mechanism::Scheduler => !in_steps,
            _ => true,
        };
        self.acts() && self.domains().all(tells)
    }

    /// The speeds that can be set on this machine.
    pub fn range(&self, machine: &LiveMachine) -> SpeedRange {
        let slowest = machine.cpus.iter().filter(|cpu| cpu.tier + 1 == machine.nr_tiers);
        let share = |about: &LiveCpu| {
            let mut domains = self.domains();
            let domain = domains.find(|d| d.cpus.contains(&(about.number as usize)))?;
            let share = 1000 * u64::from(domain.min_khz?) / about.max_khz?;
            Some(share.min(1000) as u16)
        };
        SpeedRange {
            any_speed: self.tells_any_speed(),
            lowest_permille: slowest.filter_map(share).min().unwrap_or(0),
        }
    }

    pub fn describe(&self) -> Vec<String> {
        match &self.speeds {
            Some(speeds) => speeds.describe(),
            None => vec![self.why_not.to_string()],
        }
    }

    /// Applies the last wish for each CPU.
    pub fn follow(&mut self, records: &[Record], observer: &mut dyn Observer) {
        self.set(records.iter().filter_map(wish).collect(), observer);
    }

    /// CPUs that rise come first, since work waits for them. CPUs that fall are delayed if their processor chooses speeds.
    pub fn set(&mut self, wishes: BTreeMap<usize, Wish>, observer: &mut dyn Observer) {
        self.set_at(Instant::now(), wishes, observer);
    }

    fn set_at(&mut self, now: Instant, wishes: BTreeMap<usize, Wish>, observer: &mut dyn Observer) {
        let (rise, fall): (Vec<_>, Vec<_>) = wishes.into_iter().partition(|(_, wish)| *wish == Wish::High);
        for (cpu, wish) in rise.into_iter().chain(fall) {
            if wish == Wish::Low && self.processor_chooses(cpu) {
                self.lowered_at.entry(cpu).or_insert(now + LOWERED_AFTER);
                continue;
            }
            self.lowered_at.remove(&cpu);
            self.apply(cpu, wish, observer);
        }
        while let Some(cpu) = self.due(now) {
            self.lowered_at.remove(&cpu);
            self.apply(cpu, Wish::Low, observer);
        }
    }

    fn processor_chooses(&self, cpu: usize) -> bool {
        self.domains()
            .any(|domain| domain.mechanism == Mechanism::Preference && domain.cpus.contains(&cpu))
    }

    fn due(&self, now: Instant) -> Option<usize> {
        let mut waiting = self.lowered_at.iter();
        waiting.find_map(|(&cpu, &at)| (at <= now).then_some(cpu))
    }

    /// Time until [`SpeedSetter::set`] has something to do even if no set changes.
    pub fn due_in(&self) -> Option<Duration> {
        let next = self.lowered_at.values().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn apply(&mut self, cpu: usize, wish: Wish, observer: &mut dyn Observer) {
        let Some(speeds) = &mut self.speeds else { return };
        let Err(error) = speeds.apply(cpu, wish) else { return };
        if !self.failed.contains(&cpu) {
            observer.note(&error.to_string());
            match error {
                SpeedError::Governor { cpus, .. } => self.failed.extend(cpus),
                _ => self.failed.push(cpu),
            }
        }
    }

    /// Sends interrupts to `cpu`. Returns, for people, how many went there.
    pub fn steer_interrupts(&mut self, cpu: u32) -> String {
        let Some(speeds) = &mut self.speeds else {
            return format!("interrupts stay where they are, as speeds do ({})", self.why_not);
        };
        match speeds.steer_interrupts(cpu as usize) {
            Ok(steered) => format!(
                "interrupts: {} go there, {} stay where the machine binds them",
                steered.there, steered.elsewhere
            ),
            Err(error) => format!("interrupts stay where they are: {error}"),
        }
    }

    pub fn release_interrupts(&mut self, observer: &mut dyn Observer) {
        let errors = self.speeds.iter_mut().flat_map(Speeds::release_interrupts);
        errors.for_each(|error| observer.note(&error.to_string()));
    }

    pub fn restore(&mut self) -> Restored {
        let writes = self.writes();
        let Some(speeds) = &mut self.speeds else {
            return Restored::default();
        };
        let failed: Vec<String> = speeds.restore().iter().map(ToString::to_string).collect();
        let done = match writes && failed.is_empty() {
            true => vec!["speeds are as they were".to_string()],
            false => Vec::new(),
        };
        Restored { done, failed }
    }
}

/// Restores what a dead run left changed. Nothing here needs these speeds, so a failure is only reported.
fn put_back(options: &Options, observer: &mut dyn Observer) {
    match restore_from_journal(&options.root, &options.speed_journal) {
        Ok(restored) => restored
            .skipped
            .iter()
            .for_each(|skipped| observer.note(&format!("left {}: {}", skipped.file.display(), skipped.reason))),
        Err(error) => observer.note(&error.to_string()),
    }
}

#[cfg(test)]
mod tests;
