// SPDX-License-Identifier: GPL-2.0-only
//! Which way a policy is enforced: in the kernel, by parking CPUs (cgroup), or by affinities of a command's threads.

use super::cgroup;
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::terminal;
use lop_agent::{for_machine, partition, Sizes};
use lop_kernel::adapter::{KernelError, Run};
use lop_kernel::instance::{self, already_running, RunDir};
use lop_kernel::options::Options;
use lop_kernel::scheduler;
use lop_kernel::service::{self, Service};
use lop_kernel::support;
use lop_machine::live;
use lop_machine::speed::HighSpeed;
use lop_policy::PolicyName;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The first loses least, the last needs least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforce {
    Kernel,
    Cgroup,
    Affinity,
}

/// Ways for a command, in the order in which they are tried.
pub const FOR_COMMAND: [Enforce; 3] = [Enforce::Kernel, Enforce::Cgroup, Enforce::Affinity];
/// Ways for the whole machine.
pub const FOR_MACHINE: [Enforce; 2] = [Enforce::Kernel, Enforce::Cgroup];

impl FromStr for Enforce {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        FOR_COMMAND
            .into_iter()
            .find(|way| way.to_string() == name)
            .ok_or_else(|| format!("expected kernel, cgroup or affinity, found '{name}'"))
    }
}

impl fmt::Display for Enforce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Cgroup => "cgroup",
            Self::Affinity => "affinity",
        })
    }
}

/// What this way of enforcing a policy loses, for people.
pub fn loss(way: Enforce, clauses: &str) -> String {
    format!("lost by {way}: {clauses}")
}

/// A way, and for people why no earlier one was taken; empty for the first.
#[derive(Debug)]
pub struct Chosen {
    pub way: Enforce,
    pub why: String,
}

impl Chosen {
    /// Prints which way and why, unless it is the first.
    pub fn tell(&self) {
        if !self.why.is_empty() {
            terminal::note(&format!(
                "enforced by {} ({}); 'lop doctor' says more",
                self.way, self.why
            ));
        }
    }
}

/// What was asked for, or else the first of `ways` that works here for all of these options.
///
/// # Errors
/// What was asked for does not work here, or none of the ways does.
pub fn choose(asked: Option<Enforce>, ways: &[Enforce], all: &[Options], dir: &RunDir) -> Result<Chosen, Failure> {
    if let Some(way) = asked {
        let why = String::new();
        return all
            .iter()
            .try_for_each(|options| possible(way, options, dir))
            .map(|()| Chosen { way, why })
            .map_err(|failure| with_way_out(failure, way, all));
    }
    let mut closed = Vec::new();
    for &way in ways {
        let refused = |options: &Options| Some((possible(way, options, dir).err()?, options.clone()));
        let Some((failure, options)) = all.iter().find_map(refused) else {
            let reason = |(way, why): &(Enforce, String)| format!("not by {way}: {why}");
            let why = closed.iter().map(reason).collect::<Vec<_>>().join("; ");
            return Ok(Chosen { way, why });
        };
        if all.iter().any(|options| is_final(way, options, dir)) {
            return Err(failure);
        }
        closed.push((way, lack(way, &failure, &options)));
    }
    let way_out = match all.iter().any(is_about_threads) {
        true => FOR_THREADS,
        false => "'lop doctor' says how to mend each of them",
    };
    let mut message = "cannot start: nothing here can put this policy in force".to_string();
    for (way, why) in &closed {
        message += &format!("\n  by {way}: {why}");
    }
    Err(Failure::new(FAILED, message).hint(way_out))
}

/// The way out if a policy is about threads and parking is about CPUs.
const FOR_THREADS: &str =
    "'lop run --enforce affinity' has it for a command; auto, highlow-spare, highlow and simple-sets:CORES are for the whole machine";

fn is_about_threads(options: &Options) -> bool {
    rules(options).is_ok_and(|rules| for_machine(rules).is_err())
}

/// For one way that was asked for, on one line.
fn with_way_out(failure: Failure, way: Enforce, all: &[Options]) -> Failure {
    let message = failure.message();
    if way == Enforce::Cgroup && all.iter().any(is_about_threads) {
        return Failure::new(FAILED, format!("{message}: {FOR_THREADS}"));
    }
    match message.starts_with("cannot start") {
        true => Failure::new(FAILED, format!("{message}; 'lop doctor' says more")),
        false => failure,
    }
}

/// Why a way does not work, without how to mend it.
fn lack(way: Enforce, failure: &Failure, options: &Options) -> String {
    let lacks: Vec<String> = match way {
        Enforce::Kernel => support::lacks(options).into_iter().map(|lack| lack.what).collect(),
        Enforce::Cgroup if rules(options).is_ok_and(|rules| for_machine(rules).is_ok()) => {
            partition::check(&options.root)
                .err()
                .map(|lack| lack.what)
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    };
    match lacks.is_empty() {
        true => failure.message().to_string(),
        false => lacks.join(", "),
    }
}

/// Another way does not help against another scheduler, another instance, or an option that only this way has.
fn is_final(way: Enforce, options: &Options, dir: &RunDir) -> bool {
    let lacks_nothing = match way {
        Enforce::Kernel => support::lacks(options).is_empty() || support::attached(&options.root).is_some(),
        Enforce::Cgroup => partition::check(&options.root).is_ok() && matches!(instance::running(dir), Ok(Some(_))),
        Enforce::Affinity => false,
    };
    lacks_nothing || needs_kernel(options).is_some()
}

fn possible(way: Enforce, options: &Options, dir: &RunDir) -> Result<(), Failure> {
    match way {
        Enforce::Kernel => service::check(options, dir).map_err(Failure::from),
        Enforce::Affinity => {
            rules(options)?;
            if options.high_speed.is_some_and(|speed| speed != HighSpeed::Max) {
                let sentence = "--high-speed: binding threads leaves speeds to their governor";
                return Err(Failure::new(FAILED, sentence));
            }
            let machine = live::read(&options.root).map_err(|error| Failure::new(FAILED, error.to_string()))?;
            Ok(scheduler::check_choice(
                options.policy,
                &machine.slowed(&options.slowed),
            )?)
        }
        Enforce::Cgroup => {
            let refuse = |sentence: String| Failure::new(FAILED, sentence);
            for_machine(rules(options)?).map_err(refuse)?;
            if options.intensity.is_some() {
                return Err(refuse(
                    "--intensity is about threads, and parking CPUs is not".to_string(),
                ));
            }
            partition::check(&options.root).map_err(|lack| refuse(lack.into()))?;
            match instance::running(dir)? {
                Some(_) => Err(already_running(dir).into()),
                None => Ok(()),
            }
        }
    }
}

/// The scheduler for the whole machine, which runs until it is asked to stop.
pub fn scheduler(way: Enforce, dir: &RunDir) -> Box<Run<'static>> {
    let dir = dir.clone();
    match way {
        Enforce::Cgroup => Box::new(move |options, inbox, observer| cgroup::run(&dir, options, inbox, observer)),
        Enforce::Kernel | Enforce::Affinity => Box::new(scheduler::run),
    }
}

/// Becomes the one instance, and opens CPUs that a killed one left parked.
///
/// # Errors
/// As [`Service::open`], or parked CPUs cannot be opened.
pub fn open_service(options: &Options, dir: &RunDir) -> Result<Service, KernelError> {
    let service = Service::open(dir)?;
    partition::restore(&options.root, &partition::journal(dir.path())).map_err(KernelError::new)?;
    Ok(service)
}

/// The policy, if these options work from user space.
///
/// # Errors
/// An option needs the kernel.
pub fn rules(options: &Options) -> Result<PolicyName, Failure> {
    if let Some(option) = needs_kernel(options) {
        let message = format!("{option}: works only if the kernel enforces the policy");
        return Err(Failure::new(BAD_INPUT, message));
    }
    Ok(options.policy)
}

/// CPUs that the machine below `root` has, online or not.
///
/// # Errors
/// It cannot be read.
pub fn cpus_of(root: &Path) -> Result<u32, Failure> {
    let machine = live::read(root).map_err(|error| Failure::new(FAILED, error.to_string()))?;
    Ok(u32::try_from(machine.cpus.len()).unwrap_or(u32::MAX))
}

/// The same with the sizes that were asked for, cut to the size of the machine; a note says so.
///
/// # Errors
/// As [`rules`].
pub fn sizes(options: &Options) -> Result<Sizes, Failure> {
    let (options, cut) = &options.fitted(cpus_of(&options.root)?);
    if let Some(cut) = cut {
        terminal::note(cut);
    }
    Ok(Sizes {
        spare: options.spare,
        max_high: options.max_high,
        hold: options.hold,
        ..Sizes::new(rules(options)?)
    })
}

/// An option that was given and only works in the kernel.
fn needs_kernel(options: &Options) -> Option<&'static str> {
    [
        ("--partial", options.partial),
        ("--goal", options.goal.is_some()),
        ("--reserve", options.reserve.is_some()),
        ("--log-decisions", options.decisions.is_some()),
        ("--fail-after", options.fail_after.is_some()),
        ("--watchdog", options.watchdog.is_some()),
    ]
    .into_iter()
    .find_map(|(name, given)| given.then_some(name))
}
