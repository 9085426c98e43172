// SPDX-License-Identifier: GPL-2.0-only
//! How the policies of a comparison are put in force.

mod affinity;

use crate::commands::enforce::{self, Enforce};
use crate::commands::kernel::Place;
use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::policies;
use crate::terminal;
use affinity::{reaction_s, ByAffinity};
use lop_compare::enforcement::{Enforcement, EnforcementError, Nothing, LINUX};
use lop_kernel::adapter::{Exit, KernelError, Observer};
use lop_kernel::instance::RunDir;
use lop_kernel::options::Options;
use lop_kernel::requests::Requests;
use lop_kernel::status::Status;
use lop_policy::PolicyName;
use lop_simulator::experiment::suggest;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender};
use std::thread::JoinHandle;

/// # Errors
/// An unknown policy, or one that cannot be put in force here.
pub fn choose(policies: &[String], asked: Option<Enforce>, place: &Place) -> Result<Box<dyn Enforcement>, Failure> {
    let enforced = policies.iter().filter(|policy| *policy != LINUX);
    let enforced: Vec<PolicyName> = enforced.map(|policy| parsed(policy)).collect::<Result<_, _>>()?;
    let Some(first) = enforced.first() else {
        return Ok(Box::new(Nothing));
    };
    enforced.iter().try_for_each(|policy| fits(*policy, place))?;
    let mut machine = WholeMachine {
        root: place.root.clone(),
        dir: place.run_dir(),
        way: Enforce::Kernel,
        why: "this kernel has sched_ext, and nothing reacts faster".to_string(),
        slowed: place.slowed()?,
        attached: None,
    };
    let options: Vec<Options> = enforced.iter().map(|&policy| machine.options(policy)).collect();
    let chosen = enforce::choose(asked, &enforce::FOR_COMMAND, &options, &machine.dir).map_err(|failure| {
        Failure::new(FAILED, format!("policy {first}: {}", failure.message()))
            .hint("'--policy linux' always works; '--machine M --workload W' simulates")
    })?;
    Ok(match chosen.way {
        Enforce::Kernel => Box::new(machine),
        Enforce::Cgroup => {
            machine.way = Enforce::Cgroup;
            machine.why = format!("{}; it reacts in 10 ms or more", said(chosen.why));
            Box::new(machine)
        }
        Enforce::Affinity => Box::new(ByAffinity::new(place, &said(chosen.why))),
    })
}

fn said(why: String) -> String {
    match why.is_empty() {
        true => "it was asked for".to_string(),
        false => why,
    }
}

fn parsed(policy: &str) -> Result<PolicyName, Failure> {
    if policy.starts_with("linux:") {
        let message = format!("--policy: '{policy}': on a real machine, set the governor yourself and use 'linux'");
        return Err(Failure::new(BAD_INPUT, message));
    }
    policy
        .parse()
        .map_err(|message: String| match message.starts_with("unknown") {
            true => {
                let names: Vec<&str> = policies::compared();
                let message = format!("--policy: {}", suggest::unknown("policy", policy, &names));
                Failure::new(BAD_INPUT, message).hint("'lop start --help' lists all policies")
            }
            false => Failure::new(BAD_INPUT, format!("--policy: {message}")),
        })
}

/// A set larger than the machine would be cut, and its row would have the wrong name.
fn fits(policy: PolicyName, place: &Place) -> Result<(), Failure> {
    let Some(size) = policy.fixed_size() else {
        return Ok(());
    };
    match enforce::cpus_of(&place.root)? {
        cpus if size > cpus => Err(Failure::new(
            BAD_INPUT,
            format!("--policy: simple-sets:{size}: this machine has {cpus} CPUs; expected at most that many"),
        )),
        _ => Ok(()),
    }
}

/// A scheduler of the whole machine, which runs for one measured run at a time.
struct WholeMachine {
    root: PathBuf,
    dir: RunDir,
    way: Enforce,
    why: String,
    slowed: BTreeMap<u32, u16>,
    attached: Option<Attached>,
}

struct Attached {
    requests: Requests,
    thread: JoinHandle<Result<Exit, KernelError>>,
}

impl WholeMachine {
    fn options(&self, policy: PolicyName) -> Options {
        Options {
            root: self.root.clone(),
            policy,
            speed_journal: self.dir.speed_journal(),
            hints: Some(self.dir.hints()),
            slowed: self.slowed.clone(),
            ..Options::default()
        }
    }
}

impl Enforcement for WholeMachine {
    fn name(&self) -> &str {
        match self.way {
            Enforce::Cgroup => "parked CPUs (cgroup)",
            Enforce::Kernel | Enforce::Affinity => "the kernel (sched_ext)",
        }
    }

    fn why(&self) -> &str {
        &self.why
    }

    fn reaction_s(&self, policy: &str) -> Option<f64> {
        (self.way != Enforce::Kernel).then(|| reaction_s(policy)).flatten()
    }

    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError> {
        let parsed = parsed(policy).map_err(|failure| EnforcementError(failure.message().to_string()))?;
        let (options, dir, way) = (self.options(parsed), self.dir.clone(), self.way);
        let (sender, steps) = channel();
        let thread = std::thread::spawn(move || {
            let service = enforce::open_service(&options, &dir)?;
            // The receiver is gone only after the end.
            let _ = sender.send(Step::Opened(service.requests()));
            service.run(&options, &mut *enforce::scheduler(way, &dir), &mut Watcher(sender))
        });
        let mut requests = None;
        loop {
            match steps.recv() {
                Ok(Step::Opened(opened)) => requests = Some(opened),
                Ok(Step::Attached) if requests.is_some() => break,
                _ => return Err(EnforcementError(format!("policy {policy}: {}", why_it_ended(thread)))),
            }
        }
        self.attached = requests.map(|requests| Attached { requests, thread });
        Ok(())
    }

    fn end(&mut self) -> Result<(), EnforcementError> {
        let Some(attached) = self.attached.take() else {
            return Ok(());
        };
        attached.requests.stop();
        match attached.thread.join() {
            Ok(Ok(exit)) => {
                exit.restored.failed.iter().for_each(|line| terminal::note(line));
                Ok(())
            }
            Ok(Err(error)) => Err(EnforcementError(format!(
                "the scheduler was lost during the run: {error}"
            ))),
            Err(_) => Err(EnforcementError("the scheduler was lost during the run".to_string())),
        }
    }
}

fn why_it_ended(thread: JoinHandle<Result<Exit, KernelError>>) -> String {
    match thread.join() {
        Ok(Err(error)) => error.to_string(),
        _ => "the scheduler ended before it was in charge".to_string(),
    }
}

/// Progress of attaching.
enum Step {
    Opened(Requests),
    Attached,
}

struct Watcher(Sender<Step>);

impl Observer for Watcher {
    fn attached(&mut self, _: &Status) -> Result<(), KernelError> {
        self.0
            .send(Step::Attached)
            .map_err(|_| KernelError::new("the comparison has ended"))
    }

    fn note(&mut self, line: &str) {
        terminal::note(line);
    }

    /// What is measured from now on would not be this policy.
    fn handed_back(&mut self, line: &str) -> Result<(), KernelError> {
        Err(KernelError::new(line))
    }
}
