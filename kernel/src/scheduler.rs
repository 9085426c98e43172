//! The scheduler itself: loads the BPF program, follows it, sets the speeds that the kernel's governor does not, and gives
//! everything back.

mod decisions;
mod libbpf_log;
mod native;
mod program;
mod state;

use crate::adapter::{Exit, KernelError, Observer};
use crate::options::{Options, Policy};
use crate::requests::Inbox;
use crate::status::Status;
use decisions::DecisionLog;
use lop_machine::live::{self, LiveMachine};
use lop_machine::speed::{Mechanism, Speeds, Wish};
use program::{Ended, Program, Record, SpeedWishes};
use rustix::event::{PollFd, PollFlags};
use std::collections::BTreeMap;
use std::io;

/// How often the program may be loaded again because the machine changed, before that is taken for a defect.
const MOST_RESTARTS: u32 = 100;

/// Puts the policy in charge until the inbox says stop.
///
/// # Errors
/// The machine cannot be read, the kernel refuses the program, another scheduler is in charge, or the program ended by itself.
/// On every way out the kernel's own scheduler is back and speeds are restored.
pub fn run(options: &Options, inbox: &Inbox, observer: &mut dyn Observer) -> Result<Exit, KernelError> {
    let mut status = Status::begin(options);
    let mut decisions = DecisionLog::open(options)?;
    loop {
        match follow_once(options, inbox, observer, &mut status, &mut decisions)? {
            Some(restored) => return Ok(Exit { last: status, restored }),
            None => status.restarts += 1,
        }
        if status.restarts > MOST_RESTARTS {
            return Err(KernelError::new(format!(
                "the machine's CPUs changed {MOST_RESTARTS} times; giving up"
            )));
        }
        observer.note("a CPU that was not known came online; loading again");
    }
}

/// One life of the program. What was restored after it was asked to stop; `None`: it has to be loaded again.
fn follow_once(
    options: &Options,
    inbox: &Inbox,
    observer: &mut dyn Observer,
    status: &mut Status,
    decisions: &mut DecisionLog,
) -> Result<Option<Vec<String>>, KernelError> {
    let machine = live::read(&options.root).map_err(|error| KernelError::new(error.to_string()))?;
    let mut speeds = SpeedSetter::open(options)?;
    let mut program = Program::load(options, &machine, &speeds.wishes())?;
    decisions.machine(&machine, &program.config())?;
    if speeds.writes() {
        program::stay_out_of_demand(observer);
    }
    program.attach(&options.root)?;
    status.machine = describe(&machine);
    status.speeds = speeds.describe();
    program.fill(status, &machine, speeds.acts());
    if status.restarts == 0 {
        observer.attached(status)?;
    }
    let ended = follow(&mut program, inbox, observer, status, decisions, &mut speeds, &machine);
    program.fill(status, &machine, speeds.acts());
    let ended = ended.and_then(|()| program.detach());
    decisions.records(&program.records())?;
    decisions.end(program.log_faults())?;
    let restored = speeds.restore();
    match ended? {
        Ended::Stopped => Ok(Some(restored)),
        Ended::Restart => Ok(None),
    }
}

/// Sleeps until the program or somebody who asks has something to say.
fn follow(
    program: &mut Program,
    inbox: &Inbox,
    observer: &mut dyn Observer,
    status: &mut Status,
    decisions: &mut DecisionLog,
    speeds: &mut SpeedSetter,
    machine: &LiveMachine,
) -> Result<(), KernelError> {
    while !inbox.stop_wanted() && !program.exited() {
        wait(program, inbox).map_err(|error| KernelError::new(format!("waiting for the scheduler: {error}")))?;
        let records = program.records();
        speeds.follow(&records, observer);
        decisions.records(&records)?;
        inbox.answer(|| {
            program.fill(status, machine, speeds.acts());
            status.clone()
        });
    }
    Ok(())
}

fn wait(program: &Program, inbox: &Inbox) -> io::Result<()> {
    let mut fds = [
        PollFd::from_borrowed_fd(inbox.wake_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(program.records_fd(), PollFlags::IN),
    ];
    match rustix::event::poll(&mut fds, None) {
        Err(rustix::io::Errno::INTR) => Ok(()),
        result => result.map(|_| ()).map_err(io::Error::from),
    }
}

/// Speeds as far as user space sets them.
struct SpeedSetter {
    /// `None`: speeds are left alone.
    speeds: Option<Speeds>,
    why_not: &'static str,
    /// CPUs whose speed could not be set; said once.
    failed: Vec<usize>,
}

impl SpeedSetter {
    fn open(options: &Options) -> Result<Self, KernelError> {
        let why_not = match (options.speeds, options.policy.resolved()) {
            (false, _) => "left alone, as asked for (--no-speeds)",
            (_, Policy::SimpleSets(_)) => "left to the governor, as simple-sets has it",
            _ => "",
        };
        let open = || Speeds::open(&options.root, &options.speed_journal);
        let speeds = match why_not {
            "" => Some(open().map_err(|error| {
                KernelError::new(error.to_string())
                    .mend("'lop restore' puts back what can be; --no-speeds does without")
            })?),
            _ => None,
        };
        Ok(Self {
            speeds,
            why_not,
            failed: Vec::new(),
        })
    }

    fn domains(&self) -> impl Iterator<Item = &lop_machine::speed::ClockDomain> {
        self.speeds.iter().flat_map(|speeds| speeds.domains())
    }

    fn wishes(&self) -> SpeedWishes {
        let by_kernel = self.domains().filter(|d| matches!(d.mechanism, Mechanism::Scheduler));
        SpeedWishes {
            asked_by_kernel: by_kernel.flat_map(|d| d.cpus.iter().copied()).collect(),
            requests_to_top: self.speeds.as_ref().map_or(1, Speeds::requests_to_top),
            rate_limit_ns: self.speeds.as_ref().map_or(0, Speeds::rate_limit_ns),
            told: self.writes(),
        }
    }

    /// Whether any file may be written when sets change.
    fn writes(&self) -> bool {
        self.domains()
            .any(|d| !matches!(d.mechanism, Mechanism::Scheduler | Mechanism::Nothing { .. }))
    }

    /// Whether a wish for speed has an effect anywhere.
    fn acts(&self) -> bool {
        self.domains()
            .any(|d| !matches!(d.mechanism, Mechanism::Nothing { .. }))
    }

    fn describe(&self) -> Vec<String> {
        match &self.speeds {
            Some(speeds) => speeds.describe(),
            None => vec![self.why_not.to_string()],
        }
    }

    /// The last word on each CPU counts. Work waits for those that rise: they come first.
    fn follow(&mut self, records: &[Record], observer: &mut dyn Observer) {
        let Some(speeds) = &mut self.speeds else { return };
        let wishes: BTreeMap<usize, Wish> = records.iter().filter_map(Record::wish).collect();
        let (rise, fall): (Vec<_>, Vec<_>) = wishes.into_iter().partition(|(_, wish)| *wish == Wish::High);
        for (cpu, wish) in rise.into_iter().chain(fall) {
            if let Err(error) = speeds.apply(cpu, wish) {
                if !self.failed.contains(&cpu) {
                    self.failed.push(cpu);
                    observer.note(&error.to_string());
                }
            }
        }
    }

    fn restore(&mut self) -> Vec<String> {
        let writes = self.writes();
        let Some(speeds) = &mut self.speeds else {
            return Vec::new();
        };
        let failed = speeds.restore();
        match (writes, failed.is_empty()) {
            (_, false) => failed.iter().map(ToString::to_string).collect(),
            (true, true) => vec!["speeds are as they were".to_string()],
            (false, true) => Vec::new(),
        }
    }
}

/// For people: how many CPUs of which kind in how many domains, then what had to be assumed.
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
    lines.extend(machine.notes.iter().cloned());
    lines
}
