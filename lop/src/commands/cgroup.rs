// SPDX-License-Identifier: GPL-2.0-only
//! The policy for the whole machine from user space, by parking CPUs. It has the interface that the service expects of a scheduler.

use super::enforce;
use lop_agent::{for_machine, AgentError, MemberIs, Step, Whole, WholeOptions};
use lop_kernel::adapter::{Exit, KernelError, Observer, Restored};
use lop_kernel::instance::RunDir;
use lop_kernel::options::Options;
use lop_kernel::requests::Inbox;
use lop_kernel::status::{Asked, Member, Reason, Sets, Status};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::path::Path;
use std::time::Duration;

/// Runs until it is asked to stop. However it ends, all CPUs are open again and speeds are as before.
///
/// # Errors
/// Something is missing here, the kernel refuses a write, or demand can no longer be read.
pub fn run(dir: &RunDir, options: &Options, inbox: &Inbox, observer: &mut dyn Observer) -> Result<Exit, KernelError> {
    let asked = WholeOptions {
        sizes: enforce::sizes(options).map_err(|failure| KernelError::new(failure.message()))?,
        speeds: options.speeds,
        high_speed: options.high_speed.unwrap_or_default(),
        root: options.root.clone(),
        run_dir: dir.path().to_path_buf(),
        speed_journal: options.speed_journal.clone(),
    };
    let mut exit = Exit {
        last: Status::begin(options),
        ..Exit::default()
    };
    stay_out_of_demand(observer);
    while !inbox.stop_wanted() {
        let begun = match exit.was_in_charge {
            true => Whole::begin_anew(&asked),
            false => Whole::begin(&asked),
        };
        let mut life = Life {
            whole: begun.map_err(of_agent)?,
            root: &options.root,
            former: (exit.last.promotions, exit.last.demotions),
        };
        life.introduce(options, &mut exit.last);
        if !exit.was_in_charge {
            observer.attached(&exit.last)?;
            exit.was_in_charge = true;
        }
        let ended = life.follow(inbox, observer, &mut exit.last);
        life.fill(&mut exit.last);
        exit.restored = restored(life.whole.end());
        ended?;
        if !inbox.stop_wanted() {
            exit.restored.tell_failures(observer);
            exit.last.restarts += 1;
            observer.note("CPUs came or went; started again");
        }
    }
    Ok(exit)
}

fn of_agent(error: AgentError) -> KernelError {
    KernelError::new(error.to_string())
}

fn restored(failed: Vec<String>) -> Restored {
    let done = match failed.is_empty() {
        true => vec!["no CPU is parked, and speeds are as they were".to_string()],
        false => Vec::new(),
    };
    Restored { done, failed }
}

/// This thread has to run before those that wait for a CPU: otherwise it looks too late just when CPUs are short.
fn stay_out_of_demand(observer: &mut dyn Observer) {
    if let Err(error) = lop_agent::run_above_others() {
        observer.note(&format!(
            "looks may come late, as this thread cannot run above others: {error}"
        ));
    }
}

/// From one change of the machine's CPUs to the next.
struct Life<'a> {
    whole: Whole,
    root: &'a Path,
    /// Promotions and demotions before that.
    former: (u64, u64),
}

impl Life<'_> {
    fn follow(&mut self, inbox: &Inbox, observer: &mut dyn Observer, status: &mut Status) -> Result<(), KernelError> {
        while !inbox.stop_wanted() {
            let Step::Wait(time) = self.whole.step().map_err(of_agent)? else {
                return Ok(());
            };
            self.whole.complaints().iter().for_each(|line| observer.note(line));
            wait(inbox, time).map_err(|error| KernelError::new(format!("waiting for the next look: {error}")))?;
            inbox.answer(|| {
                self.fill(status);
                status.clone()
            });
        }
        Ok(())
    }

    /// What stays the same until CPUs come or go.
    fn introduce(&self, options: &Options, status: &mut Status) {
        let (enforced, speeds) = self.whole.describe();
        status.enforced = Some(format!("by cgroup: {enforced}"));
        status.lost = Some(self.whole.lost());
        status.speeds = speeds;
        status.machine = self.whole.notes().to_vec();
        let enforced = enforce::rules(options).ok().and_then(|rules| for_machine(rules).ok());
        if let Some(policy) = enforced.map(|rules| rules.to_string()) {
            let asked = options.policy.to_string();
            status.asked_policy = (asked != policy).then_some(asked);
            status.policy = policy;
        }
        status.max_high = options.max_high;
        self.fill(status);
    }

    fn fill(&self, status: &mut Status) {
        let facts = self.whole.facts();
        status.active = facts.active;
        status.target = facts.target;
        status.spare = facts.spare;
        status.hold_ms = facts.hold_ns / 1_000_000;
        status.promotions = self.former.0 + facts.promotions;
        status.demotions = self.former.1 + facts.demotions;
        let asked = if self.whole.speeds_act() {
            Asked::Top
        } else {
            Asked::Nothing
        };
        let members = self.whole.members();
        let high: Vec<Member> = (members.iter())
            .map(|&(cpu, is)| Member {
                cpu,
                reason: reason(is),
                khz: current_khz(self.root, cpu),
                asked,
            })
            .collect();
        let is_high = |cpu: &u32| members.iter().any(|(member, _)| member == cpu);
        status.sets = Sets {
            high,
            low: self.whole.all().iter().filter(|cpu| !is_high(cpu)).collect(),
            offline: self.whole.offline().iter().collect(),
            ..Sets::default()
        };
    }
}

fn reason(is: MemberIs) -> Reason {
    match is {
        MemberIs::Busy => Reason::Busy,
        MemberIs::Spare => Reason::Spare,
        MemberIs::Recent => Reason::Recent,
        MemberIs::Held(time) => Reason::Held {
            for_ms: u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
        },
    }
}

fn current_khz(root: &Path, cpu: u32) -> Option<u64> {
    let path = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Until the time has passed, or a request arrives.
fn wait(inbox: &Inbox, time: Duration) -> std::io::Result<()> {
    let mut fds = [PollFd::from_borrowed_fd(inbox.wake_fd(), PollFlags::IN)];
    match poll(&mut fds, Timespec::try_from(time).ok().as_ref()) {
        Err(rustix::io::Errno::INTR) => Ok(()),
        result => result.map(|_| ()).map_err(std::io::Error::from),
    }
}
