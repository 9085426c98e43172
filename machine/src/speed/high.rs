// SPDX-License-Identifier: MIT OR Apache-2.0
//! The speed of high CPUs: their highest one, a lower one that the user chose, or what the goal makes of it.

use super::domain::{Controlled, Mechanism, CPU_FOLDER};
use super::error::SpeedError;
use super::files::Files;
use super::limit::step_below;
use super::{describe, domain};
use crate::costs::{self, Control};
use crate::live::LiveMachine;
use crate::meter::OWN_MODEL;
use crate::{live, Machine};
use lop_policy::Goal;
use std::fmt;
use std::str::FromStr;

/// The speed of high CPUs, never above the upper limit that was set before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HighSpeed {
    /// The upper limit that was set before.
    #[default]
    Max,
    /// The highest speed that the processor can sustain: the highest without turbo.
    Base,
    /// The operating point with the least energy per work, according to this machine's own model, if the machine stays on anyway.
    Efficient,
    /// What `auto` does for this goal ([`costs::high_second_mw`]); not on the command line.
    ForGoal(Goal),
}

impl FromStr for HighSpeed {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "max" => Ok(Self::Max),
            "base" => Ok(Self::Base),
            "efficient" => Ok(Self::Efficient),
            _ => Err("max, base or efficient".to_string()),
        }
    }
}

impl fmt::Display for HighSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Max => "max",
            Self::Base => "base",
            Self::Efficient => "efficient",
            Self::ForGoal(Goal::Energy) => "for goal energy",
            Self::ForGoal(Goal::Balanced) => "for goal balanced",
            Self::ForGoal(Goal::Speed) => "for goal speed",
        })
    }
}

/// Highest target of the kernel's scale (`SCX_CPUPERF_ONE`).
pub(super) const PERF_ONE: u32 = 1024;

/// The speed of the high CPUs of a clock domain, kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum High {
    /// The upper limit that was set before.
    AsFound,
    /// This one.
    At(u32),
    /// The processor chooses as it was found, from this one upwards.
    From(u32),
}

/// The speed of each of these clock domains, in their order.
pub(super) fn speeds(files: &dyn Files, wanted: HighSpeed, domains: &[Controlled]) -> Result<Vec<High>, SpeedError> {
    let found = match wanted {
        HighSpeed::Max | HighSpeed::ForGoal(Goal::Speed) => Ok(vec![High::AsFound; domains.len()]),
        HighSpeed::Base => each(files, domains, |d| base_khz(files, d)),
        HighSpeed::Efficient => Model::measured(files).and_then(|model| each(files, domains, |d| model.khz(d, 0))),
        HighSpeed::ForGoal(Goal::Energy) => Model::believed(files).and_then(|model| {
            let second_mw = costs::high_second_mw(&model.machine, Goal::Energy, Control::Kernel);
            each(files, domains, |d| model.khz(d, second_mw.unwrap_or(0)))
        }),
        HighSpeed::ForGoal(Goal::Balanced) => balanced(files, domains),
    };
    found.map_err(|reason| SpeedError::HighSpeed { wanted, reason })
}

/// The speeds of high CPUs for goal balanced ([`costs::high_second_mw`]).
fn balanced(files: &dyn Files, domains: &[Controlled]) -> Result<Vec<High>, String> {
    if domains.iter().all(|d| d.control() == Control::Kernel) {
        return Ok(vec![High::AsFound; domains.len()]);
    }
    let model = Model::believed(files)?;
    // A domain without such a point, or with that alone, keeps its highest.
    let of_domain = |d: &Controlled| {
        let second_mw = costs::high_second_mw(&model.machine, Goal::Balanced, d.control());
        let khz = second_mw.and_then(|second_mw| model.khz(d, second_mw).ok());
        match (khz, d.domain.max_khz) {
            (Some(khz), Some(max_khz)) => High::From(khz.min(max_khz)),
            _ => High::AsFound,
        }
    };
    Ok(domains.iter().map(of_domain).collect())
}

fn each(
    files: &dyn Files,
    domains: &[Controlled],
    khz: impl Fn(&Controlled) -> Result<u32, String>,
) -> Result<Vec<High>, String> {
    domains.iter().try_for_each(|d| can_be_told(files, d))?;
    domains.iter().map(|d| fit(files, d, khz(d)?).map(High::At)).collect()
}

/// Whether a speed between the lowest and the highest can be requested.
fn can_be_told(files: &dyn Files, controlled: &Controlled) -> Result<(), String> {
    let Controlled { folder, domain, .. } = controlled;
    let name = named(controlled);
    match &domain.mechanism {
        Mechanism::Nothing { reason } => Err(format!("speeds of {name} cannot be set: {reason}")),
        Mechanism::Scheduler if !domain::knows_speed(files) => Err(format!(
            "the clock of {name} is not counted (no aperfmperf), and governor schedutil takes requests as shares of the present speed then; \
             another one does it, as after echo ondemand > /{folder}/scaling_governor"
        )),
        _ => Ok(()),
    }
}

fn named(controlled: &Controlled) -> String {
    describe::named_cpus(&controlled.domain.cpus)
}

/// The base frequency from the driver, else from the firmware, else the highest frequency if boost is off.
fn base_khz(files: &dyn Files, controlled: &Controlled) -> Result<u32, String> {
    let Controlled { folder, domain, .. } = controlled;
    let nominal = format!("{CPU_FOLDER}/cpu{}/acpi_cppc/nominal_freq", domain.cpus[0]);
    let without_boost = || {
        let is_off = domain::boost_is_off(files, folder);
        is_off.then(|| files.read_khz(&format!("{folder}/cpuinfo_max_freq")))?
    };
    // Firmware that does not know it reports 0.
    let told = files
        .read_khz(&format!("{folder}/base_frequency"))
        .filter(|&khz| khz > 0);
    told.or_else(|| files.read_khz(&nominal)?.checked_mul(1000).filter(|&khz| khz > 0))
        .or_else(without_boost)
        .ok_or_else(|| {
            format!(
                "nothing tells the base frequency of {} (driver {}: neither base_frequency nor acpi_cppc/nominal_freq); switch boost off and \
                 have max, where there is /{CPU_FOLDER}/cpufreq/boost",
                named(controlled),
                domain.driver,
            )
        })
}

/// A model of this machine.
struct Model {
    /// Where it is from, for people.
    source: String,
    machine: Machine,
    /// The kind of each CPU.
    kinds: Vec<(usize, usize)>,
}

impl Model {
    /// The one that `lop machine measure` wrote.
    fn measured(files: &dyn Files) -> Result<Self, String> {
        let path = files.absolute(OWN_MODEL);
        let file = path.display().to_string();
        let live = live::read(files.root()).map_err(|error| error.to_string())?;
        let machine = costs::measured(files.root(), &live)?.ok_or_else(|| {
            let folder = path.parent().unwrap_or(files.root()).display();
            format!("the power of this machine at each speed is not known: to measure it, run 'mkdir -p {folder}; lop machine measure -o {file}'")
        })?;
        Ok(Self::new(&live, file, machine))
    }

    /// The one that `auto` goes by.
    fn believed(files: &dyn Files) -> Result<Self, String> {
        let live = live::read(files.root()).map_err(|error| error.to_string())?;
        let watts = costs::find(files.root(), &live);
        let source = format!("watts: {}", watts.source);
        match watts.machine {
            Some(machine) => Ok(Self::new(&live, source, machine)),
            None => Err(source),
        }
    }

    fn new(live: &LiveMachine, source: String, machine: Machine) -> Self {
        let cpus = live.cpus.iter();
        Self {
            kinds: cpus.map(|cpu| (cpu.number as usize, usize::from(cpu.tier))).collect(),
            source,
            machine,
        }
    }

    fn khz(&self, controlled: &Controlled, second_mw: u32) -> Result<u32, String> {
        let first = controlled.domain.cpus[0];
        let of_first = self.kinds.iter().find(|(cpu, _)| *cpu == first);
        let kind = of_first.map(|(_, kind)| &self.machine.kinds[*kind]);
        match kind.filter(|kind| kind.opps.len() > 1) {
            None => Err(format!(
                "{} has fewer than two operating points of {} to choose from: 'lop machine measure' says why",
                self.source,
                named(controlled)
            )),
            Some(kind) => {
                Ok(u32::try_from(kind.opps[costs::cheapest_opp(kind, 0.0, second_mw)].khz).unwrap_or(u32::MAX))
            }
        }
    }
}

/// The nearest speed that these CPUs can have: within the present limits, a step of the driver's table if it has one, and above that of low CPUs.
fn fit(files: &dyn Files, controlled: &Controlled, khz: u32) -> Result<u32, String> {
    let Controlled { folder, domain, .. } = controlled;
    let (Some(min_khz), Some(max_khz)) = (domain.min_khz, domain.max_khz) else {
        return Err(format!("/{folder} shows no limits"));
    };
    let khz = step_below(files, folder, khz.min(max_khz));
    match khz > min_khz {
        true => Ok(khz),
        false => Err(format!(
            "that is {} MHz for {}, and low is {} MHz already",
            khz / 1000,
            named(controlled),
            min_khz / 1000
        )),
    }
}

/// [`perf()`] for this share of the highest frequency, x 1000.
#[must_use]
pub fn perf_of_permille(permille: u16) -> u32 {
    perf(permille.into(), 1000)
}

/// What to request of `schedutil` for this frequency, in 1024ths of the CPU's own capacity:
///
/// frequency = 1.25 * target / capacity * highest frequency     (kernel/sched/cpufreq_schedutil.c)
///
/// Rounded down, since the governor takes the next higher step.
pub(super) fn perf(khz: u32, highest_khz: u32) -> u32 {
    if khz >= highest_khz {
        return PERF_ONE;
    }
    let share = u64::from(PERF_ONE) * 4 * u64::from(khz) / (5 * u64::from(highest_khz));
    share as u32
}
