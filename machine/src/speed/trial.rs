// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether speed requests have an effect, tried on one CPU of each kind by how much it computes at its lowest and at its highest speed.

use super::change::is_frequency;
use super::describe::restored_lines;
use super::domain::{ClockDomain, Mechanism, CPU_FOLDER};
use super::{Speeds, Wish};
use crate::calibration;
use rustix::thread::{sched_setaffinity, CpuSet};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Least ratio of the two speeds. Other influences change a loop's time by a few percent, so a smaller difference would mean nothing.
const LEAST_RATIO: f64 = 1.1;
/// Share of the way from the low to the high request. Work that rises by less counts as unchanged; above it, heat and power limits may explain the
/// rest.
const NONE_OF_THE_WAY: f64 = 0.2;
const MOST_OF_THE_WAY: f64 = 0.5;
/// Computes on a CPU.
pub trait Worker {
    /// Work per second, in any unit, at the speed that the CPU settles at.
    ///
    /// # Errors
    /// No thread may run there, or there is no time left.
    fn speed(&mut self, cpu: usize) -> Result<f64, String>;
}

/// A loop on that CPU whose instructions depend on one another. Takes about half a second.
pub struct Loop<'a> {
    /// Set to end early.
    pub ends: &'a AtomicBool,
}

impl Worker for Loop<'_> {
    fn speed(&mut self, cpu: usize) -> Result<f64, String> {
        let on_it = || {
            let mut set = CpuSet::new();
            if cpu >= CpuSet::MAX_CPU {
                return Err(format!("CPU {cpu}: its number is too high to bind a thread to it"));
            }
            set.set(cpu);
            sched_setaffinity(None, &set).map_err(|error| format!("no thread can be bound to CPU {cpu}: {error}"))?;
            let mut speed = 0.0;
            // In the first turn the speed of the CPU may still change.
            for _ in 0..2 {
                if self.ends.load(Ordering::SeqCst) {
                    return Err("interrupted".into());
                }
                speed = calibration::speed_while_running();
            }
            Ok(speed)
        };
        std::thread::scope(|scope| scope.spawn(on_it).join()).unwrap_or_else(|_| Err("the loop failed".into()))
    }
}

/// A CPU at one request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seen {
    pub asked_khz: u32,
    /// `scaling_cur_freq` just after the work.
    pub shown_khz: Option<u32>,
    /// Work per second; 1 at the low request.
    pub work: f64,
}

/// The same CPU at both requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub low: Seen,
    pub high: Seen,
}

/// The effect of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Act,
    /// Requests act only if all CPUs have the same one: they share a clock, which the driver does not tell.
    Together,
    /// Less than half of the requested change happens.
    Partly,
    Ignored,
}

/// The result of one CPU of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub verdict: Verdict,
    /// With a request for this CPU only.
    pub alone: Compared,
    /// With the same request for all CPUs; tried if the CPU ignored its own.
    pub together: Option<Compared>,
}

/// CPUs whose speeds are set in the same way, between the same limits.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedKind {
    pub cpus: Vec<usize>,
    /// The CPU that was tried.
    pub cpu: usize,
    pub driver: String,
    /// The result, or why it is not known.
    pub outcome: Result<Outcome, String>,
}

/// The results of the whole machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    pub kinds: Vec<TriedKind>,
    /// What an earlier run had left and was restored first; what could not be restored now.
    pub notes: Vec<String>,
}

/// Sets one CPU of each kind to its lowest and its highest speed within the present limits, and has it compute. `speeds` must be opened for
/// [`super::Asker::Trial`]. Everything is restored before this returns, or else when `speeds` is dropped; the journal has the changes of a process
/// that is killed.
pub fn try_speeds(speeds: &mut Speeds, worker: &mut dyn Worker) -> Tried {
    let mut tried = Tried {
        notes: restored_lines(speeds.recovered()),
        kinds: Vec::new(),
    };
    for (first, cpus) in kinds(speeds.domains()) {
        let outcome = try_kind(speeds, worker, &first);
        tried
            .notes
            .extend(speeds.restore().into_iter().map(|error| error.to_string()));
        tried.kinds.push(TriedKind {
            cpu: first.cpus[0],
            cpus,
            driver: first.driver,
            outcome,
        });
    }
    tried
}

/// The first clock domain of each kind that can be set, and all CPUs of the kind, ascending.
fn kinds(domains: &[ClockDomain]) -> Vec<(ClockDomain, Vec<usize>)> {
    let mut kinds: Vec<(ClockDomain, Vec<usize>)> = Vec::new();
    for domain in settable(domains) {
        match kinds.iter_mut().find(|(first, _)| is_alike(first, domain)) {
            Some((_, cpus)) => cpus.extend(&domain.cpus),
            None => kinds.push((domain.clone(), domain.cpus.clone())),
        }
    }
    kinds.iter_mut().for_each(|(_, cpus)| cpus.sort_unstable());
    kinds
}

fn settable(domains: &[ClockDomain]) -> impl Iterator<Item = &ClockDomain> {
    let acts = |domain: &&ClockDomain| !matches!(domain.mechanism, Mechanism::Nothing { .. });
    domains.iter().filter(acts)
}

fn is_alike(one: &ClockDomain, other: &ClockDomain) -> bool {
    let how = |domain: &ClockDomain| (domain.driver.clone(), domain.governor.clone(), domain.mechanism.clone());
    how(one) == how(other) && (one.min_khz, one.max_khz) == (other.min_khz, other.max_khz)
}

/// A CPU, and the lowest and the highest frequency that can be requested for it.
struct Subject {
    cpu: usize,
    low_khz: u32,
    high_khz: u32,
}

impl Subject {
    /// None if no frequency can be requested.
    fn of(speeds: &Speeds, domain: &ClockDomain) -> Option<Self> {
        let controlled = speeds.domains.iter().find(|of| of.domain.cpus == domain.cpus)?;
        let knob = controlled.knobs.iter().find(|knob| is_frequency(&knob.path))?;
        let khz = |value: &Option<String>| value.as_ref()?.parse().ok();
        Some(Self {
            cpu: domain.cpus[0],
            low_khz: khz(&knob.low)?,
            high_khz: khz(&knob.high)?,
        })
    }

    /// How much faster it should be.
    fn ratio(&self) -> f64 {
        f64::from(self.high_khz) / f64::from(self.low_khz)
    }

    /// The share of the requested change that happened, 0 to about 1.
    fn share(&self, seen: &Compared) -> f64 {
        (seen.high.work - 1.0) / (self.ratio() - 1.0)
    }
}

fn try_kind(speeds: &mut Speeds, worker: &mut dyn Worker, first: &ClockDomain) -> Result<Outcome, String> {
    let subject = Subject::of(speeds, first).ok_or("no frequency can be requested")?;
    if subject.ratio() < LEAST_RATIO {
        let percent = (subject.ratio() - 1.0) * 100.0;
        return Err(format!(
            "its limits are {percent:.0} % apart, too little to tell: widen scaling_min_freq and scaling_max_freq"
        ));
    }
    let alone = compare(speeds, worker, &subject, &[subject.cpu])?;
    let outcome = |verdict, together| Outcome {
        verdict,
        alone,
        together,
    };
    let share = subject.share(&alone);
    if share >= NONE_OF_THE_WAY {
        let most = share >= MOST_OF_THE_WAY;
        return Ok(outcome(if most { Verdict::Act } else { Verdict::Partly }, None));
    }
    let all: Vec<usize> = settable(speeds.domains()).flat_map(|of| of.cpus.clone()).collect();
    if all == first.cpus {
        return Ok(outcome(Verdict::Ignored, None));
    }
    // If a request for the others fails, the result of this CPU stands.
    let together = compare(speeds, worker, &subject, &all).ok();
    let act = together.is_some_and(|together| subject.share(&together) >= MOST_OF_THE_WAY);
    let verdict = if act { Verdict::Together } else { Verdict::Ignored };
    Ok(outcome(verdict, together))
}

/// The subject at its lowest and at its highest speed, with the same request for all of `asked`.
fn compare(
    speeds: &mut Speeds,
    worker: &mut dyn Worker,
    subject: &Subject,
    asked: &[usize],
) -> Result<Compared, String> {
    let mut at = |wish, asked_khz| {
        for &cpu in asked {
            speeds.apply(cpu, wish).map_err(|error| error.to_string())?;
        }
        let work = worker.speed(subject.cpu)?;
        let shown = format!("{CPU_FOLDER}/cpu{}/cpufreq/scaling_cur_freq", subject.cpu);
        Ok::<Seen, String>(Seen {
            asked_khz,
            shown_khz: speeds.files.read_khz(&shown),
            work,
        })
    };
    let low = at(Wish::Low, subject.low_khz)?;
    let high = at(Wish::High, subject.high_khz)?;
    let relative = |seen: Seen| Seen {
        work: seen.work / low.work,
        ..seen
    };
    Ok(Compared {
        low: relative(low),
        high: relative(high),
    })
}
