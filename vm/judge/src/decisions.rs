// SPDX-License-Identifier: GPL-2.0-only
//! Plays the log of decisions that `lop start --log-decisions` writes against the native build of the policy: do the same calls lead to the
//! same decisions?
//!
//! Each line is a JSON object: first the machine and the configuration (again whenever the program is loaded again), then records in the order
//! in which the kernel's build was called. Decisions are: changes of a set, the CPU of a woken task, the queue of a waiting task, preemptions,
//! tasks that must leave their place because of a plan, and the speed of a reserved core. Each follows the call that made it. Every call is logged
//! that makes such a decision or that a later decision depends on, including the orders that follow from plans. `lop_stopping`, `lop_dispatch` and
//! weights are not logged: they only change virtual times, which decide the next task of a queue, but none of the decisions above, except that a task
//! which is ahead of others takes no CPU from them: that is logged where the task stops and wakes.

mod player;

use anyhow::{bail, Context, Result};
use lop_machine::decisions::DecisionLog;
use lop_machine::live::LiveMachine;
use lop_policy::record::{Kind, Record};
use lop_policy::Config;
use player::Player;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::BufRead;

/// One line of the log.
enum Line {
    Begin(Box<Begin>),
    End(End),
    Record(Record),
}

impl Line {
    /// A key that only one kind of line has tells the kind. Any other line is read, and possibly refused, as a record.
    fn read(text: &str) -> serde_json::Result<Self> {
        let line: Value = serde_json::from_str(text)?;
        if line.get("machine").is_some() {
            return Deserialize::deserialize(line).map(|begin| Line::Begin(Box::new(begin)));
        }
        match line.get("end") {
            Some(end) => Deserialize::deserialize(end).map(Line::End),
            None => Deserialize::deserialize(line).map(Line::Record),
        }
    }
}

/// The program has been loaded.
#[derive(Debug, Deserialize)]
struct Begin {
    machine: LiveMachine,
    config: Config,
}

/// The program's statement about the log at its end.
#[derive(Debug, Deserialize)]
struct End {
    lost_records: u64,
    unordered_calls: u64,
}

/// A decision of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// A CPU's new set, as in `enum lop_set`.
    Set { cpu: i32, set: u32 },
    /// The CPU of a task that woke, or of one that starts instead of being queued; -1: none.
    Placed { cpu: i32, claimed: bool },
    /// The queue of the task.
    Queued { queue: u32 },
    /// The task on this CPU is preempted.
    Preempt { cpu: i32 },
    /// The CPU is on the reserved core, whose speed is raised by this many steps.
    Reserved { cpu: i32, raised: u32 },
    /// The task must leave its place.
    Leaves,
}

impl Decision {
    /// `None` if the record is not a decision.
    fn of(record: &Record) -> Option<Self> {
        let (cpu, value) = (record.cpu, record.value);
        match record.kind {
            Kind::Set => Some(Decision::Set { cpu, set: value }),
            Kind::Placed => Some(Decision::Placed {
                cpu,
                claimed: value != 0,
            }),
            Kind::Queued => Some(Decision::Queued { queue: value }),
            Kind::Preempt => Some(Decision::Preempt { cpu }),
            Kind::Reserved => Some(Decision::Reserved { cpu, raised: value }),
            Kind::Leaves => Some(Decision::Leaves),
            _ => None,
        }
    }
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Decision::Set { cpu, set } => {
                let name = ["low", "high", "green", "offline"].get(*set as usize);
                write!(f, "CPU {cpu} becomes {}", name.unwrap_or(&"of no known set"))
            }
            Decision::Placed { cpu, claimed: true } => write!(f, "the task starts on CPU {cpu}"),
            Decision::Placed { cpu, claimed: false } => write!(f, "the task waits at CPU {cpu}"),
            Decision::Queued { queue } => write!(f, "the task waits in queue {queue}"),
            Decision::Preempt { cpu } => write!(f, "what runs on CPU {cpu} makes room"),
            Decision::Reserved { cpu, raised } => {
                write!(f, "CPU {cpu} runs at the reserved core's speed, {raised} steps up")
            }
            Decision::Leaves => write!(f, "the task has to leave where it is"),
        }
    }
}

/// The result of playing a log.
#[derive(Debug, Serialize, PartialEq)]
pub struct Outcome {
    /// Calls of the policy.
    pub calls: u64,
    /// Decisions up to the difference; both builds agree on them.
    pub decisions: u64,
    /// How often the program was loaded.
    pub loads: u64,
    by_kind: BTreeMap<Kind, u64>,
    /// `None` if all decisions were the same.
    pub difference: Option<Difference>,
}

impl Outcome {
    /// Whether these records have decisions, and all of them came out the same.
    #[must_use]
    pub fn agrees_on(&self, records: &[Record]) -> bool {
        let decisions = records.iter().filter(|record| record.kind.is_decision()).count() as u64;
        self.difference.is_none() && self.decisions == decisions && decisions > 0
    }
}

#[derive(Debug, Serialize, PartialEq)]
pub struct Difference {
    /// Line of the log, counted from 1.
    pub line: usize,
    pub what: String,
}

/// Plays a log up to its end or to the first difference. After a difference only the log's end is read, which may explain it.
///
/// # Errors
/// The log is faulty or incomplete: an unknown line, a task that was never introduced, lost records, no end.
pub fn replay(log: impl BufRead) -> Result<Outcome> {
    let mut run = Run::default();
    for (index, line) in log.lines().enumerate() {
        let number = index + 1;
        let line = Line::read(&line?).with_context(|| format!("line {number} is none of a log of decisions"))?;
        run.line(number, line).with_context(|| format!("line {number}"))?;
    }
    if run.player.is_some() {
        bail!("the log does not end: the scheduler was killed, or still runs");
    }
    let outcome = &run.outcome;
    anyhow::ensure!(
        outcome.calls > 0 || outcome.difference.is_some(),
        "the log has no calls: nothing to compare"
    );
    Ok(run.outcome)
}

/// Plays the log of what a native policy recorded on this machine.
///
/// # Errors
/// Those of [`replay`].
pub fn replay_records(machine: &LiveMachine, config: &Config, records: &[Record]) -> Result<Outcome> {
    let mut text = Vec::new();
    let mut log = DecisionLog(&mut text);
    log.machine(machine, config)?;
    log.records(records)?;
    log.end((0, 0))?;
    replay(&text[..])
}

struct Run {
    outcome: Outcome,
    /// `None` while the program is not loaded.
    player: Option<Player>,
}

impl Default for Run {
    fn default() -> Self {
        let outcome = Outcome {
            calls: 0,
            decisions: 0,
            loads: 0,
            by_kind: BTreeMap::new(),
            difference: None,
        };
        Run { outcome, player: None }
    }
}

impl Run {
    fn line(&mut self, number: usize, line: Line) -> Result<()> {
        match line {
            Line::Begin(begin) => {
                anyhow::ensure!(
                    self.player.is_none(),
                    "the program is loaded again, but the life before has no end"
                );
                self.outcome.loads += 1;
                self.player = Some(Player::new(&begin.machine, &begin.config)?);
            }
            Line::Record(record) => self.record(number, &record)?,
            Line::End(end) => self.end(number, &end)?,
        }
        Ok(())
    }

    fn record(&mut self, number: usize, record: &Record) -> Result<()> {
        anyhow::ensure!(
            !record.kind.is_request(),
            "this kind of record asks something of the loader, which is not logged"
        );
        if self.outcome.difference.is_some() {
            return Ok(());
        }
        let player = self
            .player
            .as_mut()
            .context("no machine and configuration stand before this record")?;
        if let Some(logged) = Decision::of(record) {
            match player.next_decision() {
                Some(decision) if decision == logged => self.count(record.kind),
                Some(decision) => self.differ(number, format!("in the kernel {logged}, natively {decision}")),
                None => self.differ(number, format!("in the kernel {logged}, natively nothing")),
            }
            return Ok(());
        }
        if record.kind.is_call() {
            self.all_decisions_told(number);
            self.count(record.kind);
        }
        match (&self.outcome.difference, &mut self.player) {
            (None, Some(player)) => player.apply(record),
            _ => Ok(()),
        }
    }

    fn end(&mut self, number: usize, end: &End) -> Result<()> {
        self.all_decisions_told(number);
        anyhow::ensure!(self.player.take().is_some(), "an end without a beginning");
        if end.lost_records > 0 {
            bail!(
                "{} records were lost: the log is not whole; log a shorter run",
                end.lost_records
            );
        }
        if end.unordered_calls > 0 {
            bail!(
                "{} calls were made out of order: the log's order is not theirs",
                end.unordered_calls
            );
        }
        Ok(())
    }

    fn count(&mut self, kind: Kind) {
        self.outcome.decisions += u64::from(kind.is_decision());
        self.outcome.calls += u64::from(kind.is_call());
        *self.outcome.by_kind.entry(kind).or_default() += 1;
    }

    fn all_decisions_told(&mut self, number: usize) {
        if self.outcome.difference.is_some() {
            return;
        }
        if let Some(decision) = self.player.as_mut().and_then(Player::next_decision) {
            self.differ(
                number,
                format!("before this, natively {decision}, in the kernel nothing"),
            );
        }
    }

    fn differ(&mut self, line: usize, what: String) {
        self.outcome.difference = Some(Difference { line, what });
    }
}

#[cfg(test)]
mod tests;
